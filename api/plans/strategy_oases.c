#include <math.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_methods.h"
#include "planner/intra/oases_model.h"
#include "planner/strategy/space.h"

/* Oases: a tensor degree for each half-layer, by this service's cost model (systems.md 3.1). */

#define TRIES_MAX 32
#define FRONTIER_MAX 64

/* The batch in so many steps, and what that can be. */
struct
try {
	int64_t steps;
	struct oases_degree degrees[OASES_DEGREES_MAX];
	struct oases_graph graph;
	struct option_front front;
};
struct oases_search {
	struct search_request request;
	struct try tries[TRIES_MAX];
	int count;
	double work;
};
/* A plan: a point of the front of one try. */
struct plan {
	const struct try *from;
	size_t point;
	double seconds, bytes;
};

static void search_free(struct oases_search *s)
{
	for (int i = 0; i < s->count; i++) {
		oases_graph_free(&s->tries[i].graph);
		option_front_free(&s->tries[i].front);
	}
	free(s);
}

/* What Oases does not do must be allowed to be off. */
static int check_request(const struct search_request *r, struct sb_error *err)
{
	static const struct {
		enum constraint constraint;
		int64_t value;
	} fixed[] = {{ONLY_TP_X, 1},
	             {ONLY_PP, 1},
	             {ONLY_CP, 1},
	             {ONLY_VPP, 1},
	             {ONLY_EP, 1},
	             {ONLY_ETP, 1},
	             {ONLY_RECOMPUTE, RECOMPUTE_FULL},
	             {ONLY_ZERO, 0},
	             {ONLY_SEQUENCE_PARALLEL, 0}};

	if (r->problem.model.has_moe)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/model/moe",
		                     "Oases plans models without experts");
	if (r->problem.model.layers > OASES_LAYERS_MAX)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "/model/layers",
		                     "this method takes %d layers at most", OASES_LAYERS_MAX);
	if (r->stack.given)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/constraints/overlap",
		                     "Oases has its own schedule of what runs under compute");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		char field[80];

		snprintf(field, sizeof(field), "/constraints/%s",
		         strategy_constraint_name(fixed[i].constraint));
		if (!allowed_value(r, fixed[i].constraint, fixed[i].value))
			return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", field,
			                     "Oases has tensor and data ranks only, and recomputes all");
	}
	return SB_OK;
}

/* Degrees for 1, 2, 4, … steps of the batch. */
static int solve_tries(struct oases_search *s)
{
	const struct cost_problem *p = &s->request.problem;
	int rc = SB_OK;

	for (int64_t steps = 1; rc == SB_OK && p->sequences % steps == 0 && s->count < TRIES_MAX;
	     steps *= 2) {
		struct try *t = &s->tries[s->count];
		struct oases_problem o = {
		    .layers = p->model.layers, .degrees = t->degrees, .schedule = OASES_FULL};

		o.degree_count = oases_model_degrees(&s->request, steps, t->degrees);
		if (o.degree_count == 0)
			continue;
		t->steps = steps;
		s->count++;
		rc = oases_graph_open(&o, &t->graph);
		t->graph.graph.watch = s->request.watch;
		if (rc == SB_OK)
			rc = option_graph_solve(&t->graph.graph, OPTION_WORK / TRIES_MAX, &t->front);
		s->work += t->front.work;
	}
	return rc;
}

static int by_bytes(const void *a, const void *b)
{
	const struct plan *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* The plans of all tries that are worth their memory, leanest first; the caller frees *out. */
static int gather(const struct oases_search *s, struct plan **out, size_t *out_count)
{
	struct strategy any = strategy_default(&s->request.problem.model, &s->request.problem.cluster);
	size_t n = 0, kept = 0;

	for (int i = 0; i < s->count; i++)
		n += s->tries[i].front.count;
	*out = calloc(n + 1, sizeof(**out));
	if (!*out)
		return SB_ENOMEM;
	n = 0;
	any.dp = cluster_devices(&s->request.problem.cluster);
	for (int i = 0; i < s->count; i++) {
		const struct try *t = &s->tries[i];

		for (size_t k = 0; k < t->front.count; k++)
			(*out)[n++] = (struct plan){t, k,
			                            cost_outside(&s->request.problem, &any,
			                                         (double)t->steps * t->front.points[k].time),
			                            ceil(t->front.points[k].memory)};
	}
	qsort(*out, n, sizeof(**out), by_bytes);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || (*out)[i].seconds < (*out)[kept - 1].seconds)
			(*out)[kept++] = (*out)[i];
	*out_count = kept;
	return SB_OK;
}

/* {devices_used, pp, steps, schedule, recompute, zero, degrees: [{nodes, tp, dp, micro_batch}]}: nodes are
 * attention and MLP blocks in turn; micro_batch is that of one half. */
static json_t *solution_of(const struct oases_search *s, const struct plan *p)
{
	const struct option_graph *g = &p->from->graph.graph;
	int64_t devices = cluster_devices(&s->request.problem.cluster), from = 0;
	uint16_t *options = calloc((size_t)g->node_count, sizeof(*options));
	json_t *runs = json_array();

	if (options && option_front_options(&p->from->front, g, p->point, options) == SB_OK) {
		for (int64_t i = 1; i <= g->node_count; i++) {
			const struct oases_degree *d = &p->from->degrees[options[from]];

			if (i < g->node_count && options[i] == options[from])
				continue;
			json_array_append_new(
			    runs, json_pack("{s:I,s:I,s:I,s:I}", "nodes", (json_int_t)(i - from), "tp",
			                    (json_int_t)d->degree, "dp", (json_int_t)(devices / d->degree),
			                    "micro_batch", (json_int_t)(d->sequences / 2)));
			from = i;
		}
	}
	free(options);
	return json_pack("{s:I,s:i,s:I,s:s,s:s,s:i,s:o}", "devices_used", (json_int_t)devices, "pp", 1,
	                 "steps", (json_int_t)p->from->steps, "schedule", oases_schedule_words[OASES_FULL],
	                 "recompute", recompute_words[RECOMPUTE_FULL], "zero", 0, "degrees", runs);
}

static json_t *predicted_of(const struct oases_search *s, const struct plan *p)
{
	const struct cost_problem *c = &s->request.problem;
	double devices = (double)cluster_devices(&c->cluster);

	return json_pack("{s:f,s:f,s:f,s:n,s:I,s:b}", "step_seconds", p->seconds, "tokens_per_second",
	                 (double)c->sequences * (double)c->model.seq_len / p->seconds, "mfu",
	                 model_step_flops(&c->model, c->sequences, 1) /
	                     (p->seconds * devices * c->cluster.device.peak_flops),
	                 "hfu", "memory_bytes", (json_int_t)p->bytes, "fits", 1);
}

static json_t *frontier_of(const struct oases_search *s, const struct plan *plans, size_t count)
{
	size_t shown = count < FRONTIER_MAX ? count : FRONTIER_MAX;
	json_t *list = json_array();

	for (size_t i = 0; i < shown; i++) {
		const struct plan *p = &plans[shown == count ? i : i * (count - 1) / (shown - 1)];

		json_array_append_new(list, json_pack("{s:f,s:I,s:o}", "seconds", p->seconds, "bytes",
		                                      (json_int_t)p->bytes, "solution", solution_of(s, p)));
	}
	return list;
}

static int answer_of(const struct oases_search *s, const struct plan *plans, size_t count, double start,
                     json_t **out, json_t **out_extra, struct sb_error *err)
{
	const struct cost_problem *p = &s->request.problem;
	bool whole = true;
	size_t best = count;

	for (size_t i = 0; i < count && plans[i].bytes <= (double)p->memory_bytes; i++)
		best = i;
	if (best == count) {
		*out_extra = plan_least_memory(plans[0].bytes);
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "no plan of Oases fits: the leanest needs %.0f bytes a device",
		               plans[0].bytes);
	}
	for (int i = 0; i < s->count; i++)
		whole = whole && s->tries[i].front.whole;
	*out =
	    json_pack("{s:o,s:o,s:o,s:[],s:o,s:[],s:[]}", "solution", solution_of(s, &plans[best]),
	              "predicted", predicted_of(s, &plans[best]), "quality",
	              quality_to_json(whole ? 1 : -1, whole ? plans[best].seconds : NAN, plans[best].seconds,
	                              (int64_t)s->work, plan_clock() - start, p->constants.model_error),
	              "alternatives", "frontier", frontier_of(s, plans, count), "rejected", "warnings");
	if (!*out)
		return sb_no_memory(err);
	strategy_proved(
	    *out, "oases_seconds",
	    whole ? "the fastest choice of degrees for each half-layer by the seconds of a step with "
	            "overlapping halves, over steps that double"
	          : "a plan that a weighted sum of time and memory finds");
	json_warn(
	    json_object_get(*out, "warnings"), "restricted",
	    "tensor and data ranks on all devices, degrees and steps that are powers of two, all recomputed, "
	    "zero 0; no pipeline, context ranks or sequence parallelism: method exact searches them too, "
	    "with one degree for all layers and without overlapping halves");
	return SB_OK;
}

int strategy_oases(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                   struct sb_error *err)
{
	struct oases_search *s = calloc(1, sizeof(*s));
	struct plan *plans = NULL;
	double start = plan_clock();
	bool attention_given = false;
	size_t count = 0;
	int rc =
	    s ? strategy_request_from_json(request, &s->request, &attention_given, err) : sb_no_memory(err);

	if (rc == SB_OK) {
		s->request.watch = watch;
		rc = check_request(&s->request, err);
	}
	if (rc == SB_OK && (solve_tries(s) != SB_OK || gather(s, &plans, &count) != SB_OK))
		rc = sb_no_memory(err);
	if (rc == SB_OK && count == 0)
		rc = sb_fail_field(
		    err, SB_EIMPOSSIBLE, "no_degree", "/batch/global_sequences",
		    "no tensor degree divides the model and leaves two equal halves of the batch");
	if (rc == SB_OK)
		rc = answer_of(s, plans, count, start, out, out_extra, err);
	free(plans);
	if (s)
		search_free(s);
	return rc;
}
