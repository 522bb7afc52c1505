#include "planner/pipeline/embedding_placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

/* The kind `embedding-placement`: where a pipeline has embedding and head, tied or not. */

static const char *const methods[] = {"simulation", NULL};
static const char *const places[] = {"both-ends", "one-device", "split-vocabulary", "one-device-stale"};

struct placement_input {
	struct cost_problem problem;
	struct strategy strategy;
	int64_t *stage_layers; /* a cut in the request is passed over: it is chosen here */
	bool stale;
};

static void input_clear(struct placement_input *in)
{
	free(in->stage_layers);
}

static int read_input(const json_t *request, struct placement_input *in, struct sb_error *err)
{
	static const char *const members[] = {"kind",        "method",   "model",           "cluster",
	                                      "batch",       "strategy", "stale_gradients", "calibration",
	                                      "constraints", NULL};
	static const char *const bounds[] = {"memory_bytes", NULL};
	struct place root = place_of(""), constraints = place_of("/constraints"), at = place_of("/strategy");
	const json_t *value = NULL, *strategy = NULL;
	int64_t micro = 0;
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);
	if (rc == SB_OK && value)
		rc = parse_members(value, &constraints, bounds, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "stale_gradients", &in->stale, err);
	if (rc == SB_OK)
		rc = parse_object(request, &root, "strategy", REQUIRED, &strategy, err);
	if (rc == SB_OK)
		rc = cost_problem_from_json(request, &in->problem, &micro, err);
	if (rc != SB_OK)
		return rc;
	in->strategy = strategy_default(&in->problem.model, &in->problem.cluster);
	in->strategy.micro_batch = micro > 0 ? micro : 1;
	rc = strategy_from_json(strategy, &at, &in->strategy, &in->stage_layers, err);
	if (rc == SB_OK && in->strategy.vpp > 1)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &at, "vpp",
		                "must be 1: the schedule is chosen here");
	return rc == SB_OK ? strategy_check(&in->problem, &in->strategy, err) : rc;
}

/* Bytes that one parameter of a device takes: as memory_parts of a pipeline stage. */
static double state_bytes(const struct strategy *s)
{
	double dp = (double)(s->dp * s->cp);

	return (s->zero >= 3 ? 2 / dp : 2) + 4 + (s->zero >= 1 ? 12 / dp : 12);
}

/* A mean layer: kinds of layers are not told apart. */
static void mean_layer(const struct model *m, const struct layer_costs *l, double state,
                       struct embedding_problem *out)
{
	for (int k = 0; k < LAYER_KINDS; k++) {
		double share = (double)model_layers_of(m, m->layers, (enum layer_kind)k) / (double)m->layers;

		out->layer.forward += share * l->layer[k].forward;
		out->layer.backward += share * l->layer[k].backward;
		out->layer.bytes +=
		    share * state * (l->memory.dense_parameters[k] + l->memory.expert_parameters[k]);
		out->activation += share * l->memory.stored[k];
	}
}

static struct embedding_problem problem_of(const struct placement_input *in)
{
	const struct cost_problem *p = &in->problem;
	const struct strategy *s = &in->strategy;
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = layer_costs_of(p, s, &g);
	double rows = (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp, tp = (double)s->tp;
	double matrix = (double)(p->model.vocab * p->model.hidden) / tp, state = state_bytes(s);
	double hidden = 2 * rows * (double)p->model.hidden / tp;
	struct group ends = {.ranks = 2};
	struct embedding_problem out = {
	    .stages = s->pp,
	    .micro_batches = strategy_micro_batches(s, p->sequences),
	    .layers = p->model.layers,
	    .embedding = {l.embedding.forward, l.embedding.backward, state * l.memory.embedding_parameters},
	    .head = {l.head.forward, l.head.backward, state * l.memory.head_parameters},
	    .logits = p->constants.fragmentation * l.memory.last_transient,
	    .shared_bytes = p->model.tied_embedding ? state * matrix : 0,
	    .constant = p->constants.fragmentation * l.memory.transient + p->constants.context_bytes,
	    .memory = (double)p->memory_bytes,
	    .send = l.send,
	    .stale = in->stale};

	/* the first device and the last one lie in one domain only where all of the pipeline does */
	for (int i = 0; i < p->network.levels; i++)
		ends.inside[i] = g.pp.inside[i] >= g.pp.ranks ? 2 : 1;
	ends.inside[p->network.levels - 1] = 2;
	out.exchange = all_reduce_seconds(&p->network, &ends, 4 * matrix);
	/* the input of the head to all, its gradient back, and two 32-bit sums a row for the softmax */
	out.vocabulary = all_gather_seconds(&p->network, &g.pp, hidden) +
	                 all_reduce_seconds(&p->network, &g.pp, hidden) +
	                 all_reduce_seconds(&p->network, &g.pp, 8 * rows);
	mean_layer(&p->model, &l, state, &out);
	out.activation *= p->constants.fragmentation;
	return out;
}

static json_t *numbers(const double *x, int64_t n, bool bytes)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++)
		json_array_append_new(list,
		                      bytes ? json_integer((json_int_t)llround(x[i])) : json_real(x[i]));
	return list;
}

static json_t *solution_to_json(const struct embedding_problem *p, const struct embedding_plan *plan,
                                int place)
{
	json_t *layers = json_array();

	for (int64_t d = 0; d < p->stages; d++)
		json_array_append_new(layers, json_integer(plan->layers[d]));
	return json_pack("{s:s,s:o,s:o}", "placement", places[place], "schedule",
	                 place == PLACE_STALE ? json_null()
	                                      : json_string(schedule_facts(plan->schedule)->name),
	                 "layers", layers);
}

static json_t *expected_to_json(const struct embedding_problem *p, const struct embedding_plan *plan)
{
	double busy = 0;

	for (int64_t d = 0; d < p->stages; d++)
		busy += plan->busy[d] / (double)p->stages;
	return json_pack("{s:f,s:f,s:f,s:f,s:o,s:o}", "step_seconds", plan->step, "makespan_seconds",
	                 plan->makespan, "exchange_seconds", plan->exchange, "bubble_share",
	                 1 - busy / plan->makespan, "busy_seconds", numbers(plan->busy, p->stages, false),
	                 "memory_bytes", numbers(plan->memory, p->stages, true));
}

static const char *why(const struct embedding_plan *best, const struct embedding_plan *plan)
{
	if (plan->step <= best->step)
		return "it takes as long";
	if (plan->makespan <= best->makespan)
		return "adding up the gradients of the two copies takes what it gains";
	return "its devices are busy longer, or wait longer for each other";
}

static void list_others(const struct embedding_problem *p, const struct embedding_plan *plans, int best,
                        json_t *alternatives, json_t *rejected)
{
	for (int k = 0; k < EMBEDDING_PLACEMENTS; k++) {
		const struct embedding_plan *plan = &plans[k];

		if (k == best)
			continue;
		if (plan->reason || !plan->fits)
			json_array_append_new(
			    rejected,
			    json_pack("{s:s,s:i,s:s}", "reason",
			              plan->reason ? plan->reason : "needs more memory than a device may use",
			              "count", 1, "example", places[k]));
		else
			json_array_append_new(
			    alternatives,
			    json_pack("{s:o,s:o,s:f,s:s}", "solution", solution_to_json(p, plan, k),
			              "predicted", expected_to_json(p, plan), "loses_by",
			              plan->step / plans[best].step - 1, "reason", why(&plans[best], plan)));
	}
}

static json_t *warnings_of(const struct placement_input *in, const struct embedding_plan *plans, int best)
{
	json_t *list = json_array();

	if (best == PLACE_STALE)
		json_warn(list, "stale_gradients",
		          "the steps are those of another training: gradients are of older weights");
	if (!in->problem.model.tied_embedding)
		json_warn(list, "not_tied",
		          "embedding and head are two matrices: copies on both ends need no exchange");
	if (best == PLACE_SPLIT)
		json_warn(
		    list, "waits_left_out",
		    "that the last stage waits for the others' shares of the vocabulary is not simulated");
	if (!schedule_facts(plans[best].schedule)->splits)
		return list;
	json_warn(list, "backward_halved", "half of the backward counts as the gradients of the weights");
	return list;
}

static json_t *answer_of(const struct placement_input *in, const struct embedding_problem *p,
                         const struct embedding_plan *plans, int best, double seconds)
{
	json_t *alternatives = json_array(), *rejected = json_array();

	list_others(p, plans, best, alternatives, rejected);
	return json_pack("{s:o,s:o,s:o,s:o,s:[],s:o,s:o}", "solution",
	                 solution_to_json(p, &plans[best], best), "predicted",
	                 expected_to_json(p, &plans[best]), "quality",
	                 quality_to_json(-1, NAN, plans[best].step, EMBEDDING_PLACEMENTS, seconds,
	                                 in->problem.constants.model_error),
	                 "alternatives", alternatives, "frontier", "rejected", rejected, "warnings",
	                 warnings_of(in, plans, best));
}

static int infeasible(const struct embedding_plan *plans, json_t **out_extra, struct sb_error *err)
{
	double least = INFINITY;

	for (int k = 0; k < EMBEDDING_PLACEMENTS; k++)
		if (!plans[k].reason)
			least = fmin(least, plans[k].peak);
	*out_extra = plan_least_memory(least);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no placement fits: the leanest needs %.0f bytes on a device", ceil(least));
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct placement_input in = {0};
	struct embedding_plan plans[EMBEDDING_PLACEMENTS];
	struct embedding_problem p;
	struct sb_error why_not = {0};
	double start = plan_clock();
	int best, rc = read_input(request, &in, err);

	if (rc != SB_OK)
		return rc;
	p = problem_of(&in);
	rc = embedding_plans(&p, plans, &why_not);
	if (rc == SB_EIMPOSSIBLE)
		return sb_fail_field(err, rc, why_not.word,
		                     strcmp(why_not.field, "micro_batches") == 0 ? "/batch/global_sequences"
		                                                                 : "/strategy/pp",
		                     "%s", why_not.text);
	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "out of memory");
	best = embedding_best(plans);
	if (best == EMBEDDING_PLACEMENTS)
		return infeasible(plans, out_extra, err);
	*out = answer_of(&in, &p, plans, best, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *schema(void)
{
	return request_schema(
	    json_pack("{s:o,s:o}", "strategy", strategy_schema(), "stale_gradients",
	              schema_boolean("gradients may be of older weights; default false: never suggested")),
	    "strategy");
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i}", "stages", EMBEDDING_STAGES_MAX, "operations", SCHEDULE_OPERATIONS_MAX);
}

const struct plan_kind embedding_placement_kind = {
    .name = "embedding-placement", .methods = methods, .solve = solve, .schema = schema, .limits = limits_of};
