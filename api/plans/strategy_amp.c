#include "api/plans/strategy_amp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "planner/methods/partition.h"
#include "planner/strategy/space.h"

#define KEPT_MAX (SEARCH_ALTERNATIVES + 1)

/* A candidate with its cut. */
struct weighed {
	struct amp_candidate candidate;
	enum recompute recompute;
	struct amp_cost cost;
	int64_t *stages; /* [layers], the first pp of them used */
};
struct race {
	struct amp_input *in;
	struct weighed kept[KEPT_MAX]; /* the fastest that fit, ascending */
	int count, wanted;
	struct weighed trial;
	struct stage_run *runs;
	double *room;                                /* [layers] */
	int64_t candidates, rejected[MISFITS], over; /* over: of those that do not fit in memory */
	struct strategy unfit[MISFITS], fullest;
	double bound, least_memory;
	int64_t effort;
};

static void race_free(struct race *x)
{
	for (int i = 0; i < KEPT_MAX; i++)
		free(x->kept[i].stages);
	free(x->trial.stages);
	free(x->runs);
	free(x->room);
}
#define RACE_AUTO __attribute__((cleanup(race_free))) struct race

static int race_open(struct amp_input *in, struct race *x)
{
	size_t layers = (size_t)in->problem.layers;

	*x = (struct race){.in = in,
	                   .wanted = in->request.alternatives + 1,
	                   .bound = INFINITY,
	                   .least_memory = INFINITY,
	                   .effort = PARTITION_EFFORT};
	x->runs = calloc(layers, sizeof(*x->runs));
	x->room = calloc(layers, sizeof(*x->room));
	x->trial.stages = calloc(layers, sizeof(*x->trial.stages));
	for (int i = 0; i < x->wanted; i++) {
		x->kept[i].stages = calloc(layers, sizeof(*x->kept[i].stages));
		if (!x->kept[i].stages)
			return SB_ENOMEM;
	}
	return x->runs && x->room && x->trial.stages ? SB_OK : SB_ENOMEM;
}

/* Takes the trial in among the fastest; equal ones keep their order. */
static void keep(struct race *x)
{
	int at = x->count;
	struct weighed last;

	while (at > 0 && x->kept[at - 1].cost.seconds > x->trial.cost.seconds)
		at--;
	if (at == x->wanted)
		return;
	if (x->count < x->wanted)
		x->count++;
	last = x->kept[x->count - 1];
	memmove(&x->kept[at + 1], &x->kept[at], (size_t)(x->count - 1 - at) * sizeof(x->kept[0]));
	x->kept[at] = x->trial;
	x->trial = last; /* its stages are free for the next one */
}

static bool fits(struct race *x, const struct strategy *s)
{
	const struct cost_problem *p = &x->in->request.problem;
	struct groups g = groups_of(&p->network, s);
	struct layer_costs costs = layer_costs_of(p, s, &g);
	int64_t stage, count = strategy_runs(&p->model, s, x->runs);
	struct memory_parts memory =
	    peak_memory(p, &costs, s, x->runs, count, strategy_micro_batches(s, p->sequences), &stage);
	double bytes = memory_total(&memory);

	if (bytes < x->least_memory) {
		x->least_memory = bytes;
		x->fullest = *s;
		x->fullest.stage_layers = NULL;
	}
	return bytes <= (double)p->memory_bytes;
}

/* Cuts a candidate, recomputing as little as lets it fit. AMP knows neither memory nor recomputation: a plan
 * that cannot be run is of no use. */
static int weigh(struct race *x, const struct amp_candidate *c, const struct amp_wires *w)
{
	struct amp_input *in = x->in;

	for (int r = 0; r < RECOMPUTES; r++) {
		struct weighed *t = &x->trial;
		struct strategy s;
		int rc;

		if (!allowed_value(&in->request, ONLY_RECOMPUTE, r) ||
		    (r == RECOMPUTE_SELECTIVE && in->profile_count > 0))
			continue;
		in->recompute = (enum recompute)r;
		if (x->count == x->wanted &&
		    amp_least(&in->problem, c, x->room) >= x->kept[x->count - 1].cost.seconds)
			return SB_OK;
		t->candidate = *c;
		t->recompute = in->recompute;
		rc = amp_cut(&in->problem, c, w, &x->effort, t->stages, &t->cost);
		if (rc != SB_OK)
			return rc;
		s = amp_strategy(in, c, t->stages);
		if (fits(x, &s)) {
			x->bound = fmin(x->bound, t->cost.lower_bound);
			keep(x);
			return SB_OK;
		}
	}
	x->over++;
	return SB_OK;
}

static bool wanted(const struct amp_input *in, const struct amp_candidate *c)
{
	const struct search_request *r = &in->request;
	const struct {
		enum constraint constraint;
		int64_t value;
	} fixed[] = {{ONLY_TP, c->tp}, {ONLY_DP, c->dp}, {ONLY_PP, c->pp}, {ONLY_MICRO_BATCH, c->micro_batch},
	             {ONLY_CP, 1},     {ONLY_VPP, 1},    {ONLY_EP, 1},     {ONLY_ETP, 1}};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!allowed_value(r, fixed[i].constraint, fixed[i].value))
			return false;
	}
	return amp_has_times(in, c->tp);
}

static int run(struct race *x, const struct amp_candidate *all, int64_t count)
{
	const struct cost_problem *p = &x->in->request.problem;
	const struct amp_candidate *last = NULL;
	AMP_WIRES_AUTO w = {0};

	for (int64_t i = 0; i < count; i++) {
		const struct amp_candidate *c = &all[i];
		struct strategy s = amp_strategy(x->in, c, NULL);
		enum misfit f;
		int rc = SB_OK;

		if (!wanted(x->in, c) || (s.zero >= 2 && c->pp > 1))
			continue;
		x->candidates++;
		f = strategy_fit(&p->model, &p->cluster, &s, p->sequences);
		if (f != FIT_OK) {
			x->unfit[f] = s;
			x->rejected[f]++;
			continue;
		}
		if (!last || last->tp != c->tp || last->dp != c->dp) {
			amp_wires_free(&w);
			rc = amp_wires_of(&x->in->problem, c, &w);
			last = c;
		}
		if (rc == SB_OK)
			rc = weigh(x, c, &w);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int race(struct race *x, struct sb_error *err)
{
	struct amp_candidate *all = calloc(AMP_CANDIDATES_MAX, sizeof(*all));
	int64_t count;
	int rc = all ? SB_OK : sb_no_memory(err);

	if (rc != SB_OK)
		return rc;
	count = amp_candidates(&x->in->problem, all);
	if (count > AMP_CANDIDATES_MAX)
		rc = sb_fail(err, SB_EIMPOSSIBLE, "search_too_large", "there are more than %d candidates",
		             AMP_CANDIDATES_MAX);
	else if (run(x, all, count) != SB_OK)
		rc = sb_no_memory(err);
	free(all);
	if (rc == SB_OK && x->count == 0 && x->over == 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "the constraints leave no candidate that the model allows");
	return rc;
}

static json_t *rejection(const struct race *x, const char *reason, int64_t count, const struct strategy *s)
{
	return json_pack("{s:s,s:I,s:o}", "reason", reason, "count", (json_int_t)count, "example",
	                 strategy_to_json(&x->in->request.problem, s));
}

static json_t *rejections(const struct race *x)
{
	json_t *list = json_array();

	for (int f = 0; f < MISFITS; f++) {
		if (x->rejected[f] > 0)
			json_array_append_new(
			    list, rejection(x, misfit_word((enum misfit)f), x->rejected[f], &x->unfit[f]));
	}
	if (x->over > 0)
		json_array_append_new(list, rejection(x, "memory", x->over, &x->fullest));
	return list;
}

/* Where AMP's own cost puts it behind the best. */
static const char *why_slower(const struct amp_cost *best, const struct amp_cost *c)
{
	double pipeline = c->pipeline - best->pipeline, sends = c->sends - best->sends,
	       all_reduce = c->all_reduce - best->all_reduce;

	if (pipeline >= sends && pipeline >= all_reduce)
		return "longer pipeline: layers and its slowest stage";
	return sends >= all_reduce ? "more sends between stages" : "longer all-reduce of gradients";
}

/* solution and predicted of one of the kept, by our own cost model. */
static int entry_of(struct race *x, int i, json_t **out, json_t *warnings, struct sb_error *err)
{
	const struct cost_problem *p = &x->in->request.problem;
	const struct weighed *w = &x->kept[i];
	struct strategy s;
	struct strategy_cost c;
	int rc;

	x->in->recompute = w->recompute;
	s = amp_strategy(x->in, &w->candidate, w->stages);
	rc = strategy_cost(p, &s, &c, err);
	if (rc != SB_OK)
		return rc;
	*out =
	    json_pack("{s:o,s:o}", "solution", strategy_to_json(p, &s), "predicted", predicted_to_json(&c));
	if (warnings) { /* of the best */
		JSON_AUTO more = warnings_to_json(p, &s, &c, x->in->attention_given);

		json_array_extend(warnings, more);
		return strategy_explain_json(p, &s, *out, err);
	}
	return SB_OK;
}

static int alternatives(struct race *x, json_t *list, struct sb_error *err)
{
	const struct amp_cost *best = &x->kept[0].cost;

	for (int i = 1; i < x->count; i++) {
		const struct amp_cost *c = &x->kept[i].cost;
		json_t *entry = NULL;
		int rc = entry_of(x, i, &entry, NULL, err);

		if (rc != SB_OK)
			return rc;
		json_object_set_new(entry, "value", json_real(c->seconds));
		json_object_set_new(entry, "loses_by", json_real(c->seconds / best->seconds - 1));
		json_object_set_new(entry, "reason", json_string(why_slower(best, c)));
		json_array_append_new(list, entry);
	}
	return SB_OK;
}

static void warn(const struct amp_input *in, json_t *warnings)
{
	if (in->profile_count == 0)
		plan_warn(warnings, "layer_seconds_modelled",
		          "no measured layer_seconds were given: the layers' times come from the cost model");
	if (in->links_given)
		plan_warn(warnings, "links_unequal",
		          "node_links decide the plan; predicted knows the cluster's links only");
}

static int answer(struct race *x, double start, const char *proved, json_t **out, struct sb_error *err)
{
	const struct amp_cost *best = &x->kept[0].cost;
	json_t *quality, *others = json_array(), *warnings = json_array(), *entry = NULL;
	int rc = entry_of(x, 0, &entry, warnings, err);

	if (rc == SB_OK)
		rc = alternatives(x, others, err);
	if (rc != SB_OK) {
		json_decref(entry);
		json_decref(others);
		json_decref(warnings);
		return rc;
	}
	warn(x->in, warnings);
	quality = quality_to_json(best->seconds <= x->bound, x->bound, best->seconds, x->candidates,
	                          plan_clock() - start, x->in->request.problem.constants.model_error);
	json_object_set_new(quality, "value", json_real(best->seconds));
	json_object_set_new(entry, "quality", quality);
	json_object_set_new(entry, "alternatives", others);
	json_object_set_new(entry, "frontier", json_array());
	json_object_set_new(entry, "rejected", rejections(x));
	json_object_set_new(entry, "warnings", warnings);
	strategy_proved(entry, "amp_seconds", proved);
	*out = entry;
	return SB_OK;
}

static int solve(const json_t *request, bool tables, const char *proved, json_t **out, json_t **out_extra,
                 struct sb_error *err)
{
	AMP_INPUT_AUTO in = {0};
	RACE_AUTO x = {0};
	double start = plan_clock();
	int rc = amp_input_from_json(request, tables, &in, err);

	if (rc == SB_OK && race_open(&in, &x) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		rc = race(&x, err);
	if (rc != SB_OK)
		return rc;
	if (x.count > 0)
		return answer(&x, start, proved, out, err);
	*out_extra = plan_least_memory(x.least_memory);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no candidate fits: the leanest needs %.0f bytes a device, %lld may be used",
	               ceil(x.least_memory), (long long)in.request.problem.memory_bytes);
}

int strategy_amp(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	return solve(
	    request, true,
	    "the least of AMP's candidates, each cut where it takes least (an exact dynamic program) and "
	    "recomputing as little as then fits in memory",
	    out, out_extra, err);
}

int strategy_apss(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	return solve(request, false,
	             "as of amp, without the gradients of embedding and head; an exact dynamic program "
	             "stands for APSS's trained network, so that no cut of that is better",
	             out, out_extra, err);
}

json_t *strategy_amp_schema(void)
{
	json_t *seconds =
	    schema_either(schema_number(0, 1e6, NULL),
	                  schema_list(PARTITION_LAYERS_MAX + 2, schema_number(0, 1e6, NULL), NULL));
	json_t *node = schema_object(json_pack("{s:o,s:o}", "node", schema_number(1, 1e15, NULL), "cluster",
	                                       schema_number(1, 1e15, NULL)),
	                             NULL);

	return json_pack(
	    "{s:{s:s,s:s,s:{s:o}},s:o}", "layer_seconds", "type", "object", "description",
	    "by tensor degree: forward seconds of one sequence, one for all layers, or a list of the layers, "
	    "the embedding in front and the head behind where they are measured; default: the cost model's",
	    "patternProperties", "^[1-9][0-9]*$", seconds, "node_links",
	    schema_list(1 << 17, node,
	                "of each node in the order of ranks: bytes per second of a device, in the node and "
	                "to other nodes; default: the cluster's links"));
}
