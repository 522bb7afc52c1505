#include "planner/pipeline/weight_pipeline.h"

#include <math.h>
#include <stdio.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

/* The kind `weight-pipeline`: whether to pass weights or activations round. */

static const char *const methods[] = {"best", "1f1b", "fsdp", "weipipe", "tawpipe", NULL};
static const char *const *const way_words = methods + 1; /* by enum weight_way */

struct weight_input {
	struct cost_problem problem;
	struct weight_options options;
	int way; /* WEIGHT_WAYS: the best */
};

static int read_input(const json_t *request, struct weight_input *in, struct sb_error *err)
{
	static const char *const members[] = {"kind",        "method",    "model",      "cluster",
	                                      "batch",       "recompute", "shared_nic", "calibration",
	                                      "constraints", NULL};
	static const char *const bounds[] = {"memory_bytes", NULL};
	struct place root = place_of(""), constraints = place_of("/constraints");
	const json_t *value = NULL;
	int method = 0, recompute = RECOMPUTES, rc = parse_members(request, &root, members, err);
	int64_t micro = 0;

	if (rc == SB_OK)
		rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);
	if (rc == SB_OK && value)
		rc = parse_members(value, &constraints, bounds, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "recompute", OPTIONAL, recompute_words, &recompute, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "shared_nic", &in->options.shared_nic, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "method", OPTIONAL, methods, &method, err);
	if (rc == SB_OK)
		rc = cost_problem_from_json(request, &in->problem, &micro, err);
	in->options.micro_batch = micro > 0 ? micro : 1;
	in->options.recompute = (enum recompute)recompute;
	in->way = method > 0 ? method - 1 : WEIGHT_WAYS;
	return rc;
}

/* Which rank keeps which layers; null where none keeps more than its own stage or shard. */
static json_t *storage_to_json(const struct weight_input *in, const struct weight_comparison *x, int way)
{
	json_t *list;

	if (way != WAY_WEIPIPE && way != WAY_TAWPIPE)
		return json_null();
	list = json_array();
	for (int64_t i = 0; i < x->weights; i++) {
		int64_t rank = way == WAY_TAWPIPE ? weight_rank(i, x->ranks, x->groups) : i, first;
		int64_t layers = weight_layers(i, in->problem.model.layers, x->weights, &first);

		json_array_append_new(list, json_pack("{s:I,s:I,s:I,s:I,s:I}", "weight", (json_int_t)i,
		                                      "first_layer", (json_int_t)first, "layers",
		                                      (json_int_t)layers, "rank", (json_int_t)rank, "group",
		                                      (json_int_t)(rank / (x->ranks / x->groups))));
	}
	return list;
}

static json_t *solution_to_json(const struct weight_input *in, const struct weight_comparison *x, int way,
                                bool storage)
{
	const struct strategy *s = &x->way[way].strategy;
	json_t *o = json_pack("{s:s,s:I,s:I,s:s,s:I,s:I}", "way", way_words[way], "ranks",
	                      (json_int_t)x->ranks, "groups", (json_int_t)x->groups, "recompute",
	                      recompute_words[s->recompute], "micro_batch", (json_int_t)s->micro_batch,
	                      "micro_batches", (json_int_t)strategy_micro_batches(s, in->problem.sequences));

	if (storage)
		json_object_set_new(o, "storage", storage_to_json(in, x, way));
	return o;
}

static json_t *cost_to_json(const struct weight_cost *c)
{
	const struct memory_parts *m = &c->memory;

	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:b,s:o}", "step_seconds", c->step_seconds,
	                 "tokens_per_second", c->tokens_per_second, "compute_seconds", c->compute_seconds,
	                 "network_seconds", c->network_seconds, "bubble_share", c->bubble_share,
	                 "elements_per_layer", c->elements, "sent_bytes", c->sent_bytes, "memory_bytes",
	                 (json_int_t)memory_bytes_of(m), "fits", c->fits, "memory", memory_to_json(m));
}

static const char *why(const struct weight_cost *best, const struct weight_cost *c)
{
	if (c->step_seconds < best->step_seconds)
		return "it is faster";
	if (c->network_seconds > c->compute_seconds)
		return "its transfers take longer than its compute";
	if (c->compute_seconds > best->compute_seconds * (1 + 1e-9))
		return "its devices compute longer: uneven stages, or more recomputing to fit the memory";
	if (c->bubble_share > best->bubble_share)
		return "its bubble is larger";
	return "more of its transfers is not hidden by compute";
}

static json_t *alternatives_of(const struct weight_input *in, const struct weight_comparison *x, int chosen)
{
	const struct weight_cost *best = &x->way[chosen];
	json_t *list = json_array();

	for (int k = 0; k < WEIGHT_WAYS; k++) {
		const struct weight_cost *c = &x->way[k];

		if (k == chosen || c->misfit != FIT_OK || !c->fits)
			continue;
		json_array_append_new(
		    list, json_pack("{s:o,s:o,s:f,s:s}", "solution", solution_to_json(in, x, k, false),
		                    "predicted", cost_to_json(c), "loses_by",
		                    c->step_seconds / best->step_seconds - 1, "reason", why(best, c)));
	}
	return list;
}

static json_t *rejected_of(const struct weight_comparison *x)
{
	json_t *list = json_array();

	for (int k = 0; k < WEIGHT_WAYS; k++) {
		const struct weight_cost *c = &x->way[k];

		if (c->misfit != FIT_OK || !c->fits)
			json_array_append_new(list, json_pack("{s:s,s:i,s:s}", "reason",
			                                      c->misfit != FIT_OK ? misfit_text(c->misfit)
			                                                          : "needs more memory",
			                                      "count", 1, "example", way_words[k]));
	}
	return list;
}

static json_t *warnings_of(const struct weight_comparison *x, int chosen)
{
	json_t *list = json_array();
	bool weights = chosen == WAY_WEIPIPE || chosen == WAY_TAWPIPE, rule = x->tokens > x->threshold_tokens;

	if (chosen != WAY_FSDP && weights != rule && x->way[WAY_TAWPIPE].fits)
		json_warn(
		    list, "rule_disagrees",
		    "the rule counts what is sent for one layer as if each layer was a stage; the plan is "
		    "chosen "
		    "by the predicted step");
	return list;
}

static json_t *answer_of(const struct weight_input *in, const struct weight_comparison *x, int chosen,
                         double seconds)
{
	const struct weight_cost *c = &x->way[chosen];
	json_t *predicted = cost_to_json(c);

	json_object_set_new(predicted, "rule",
	                    json_pack("{s:f,s:f,s:b}", "tokens", x->tokens, "threshold_tokens",
	                              x->threshold_tokens, "pass_weights", x->tokens > x->threshold_tokens));
	return json_pack("{s:o,s:o,s:o,s:o,s:[],s:o,s:o}", "solution", solution_to_json(in, x, chosen, true),
	                 "predicted", predicted, "quality",
	                 quality_to_json(-1, NAN, c->step_seconds, WEIGHT_WAYS, seconds,
	                                 in->problem.constants.model_error),
	                 "alternatives", alternatives_of(in, x, chosen), "frontier", "rejected",
	                 rejected_of(x), "warnings", warnings_of(x, chosen));
}

/* The fastest way that fits; SB_EIMPOSSIBLE when none can be run, SB_EINFEASIBLE when none fits. */
static int choose(const struct weight_input *in, const struct weight_comparison *x, int *out,
                  json_t **out_extra, struct sb_error *err)
{
	enum misfit misfit = x->way[in->way < WEIGHT_WAYS ? in->way : WAY_TAWPIPE].misfit;
	struct place batch = place_of("/batch");
	double least = INFINITY;
	int best = WEIGHT_WAYS;

	for (int k = 0; k < WEIGHT_WAYS; k++) {
		const struct weight_cost *c = &x->way[k];

		if ((in->way < WEIGHT_WAYS && k != in->way) || c->misfit != FIT_OK)
			continue;
		least = fmin(least, memory_total(&c->memory));
		if (c->fits && (best == WEIGHT_WAYS || c->step_seconds < x->way[best].step_seconds))
			best = k;
	}
	*out = best;
	if (best < WEIGHT_WAYS)
		return SB_OK;
	if (isinf(least)) {
		struct place at =
		    misfit == MISFIT_BATCH ? place_member(&batch, "global_sequences") : place_of("/cluster");

		return parse_fail(err, SB_EIMPOSSIBLE, misfit_word(misfit), &at, NULL, misfit_text(misfit));
	}
	*out_extra = plan_least_memory(least);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "none of the ways fits: the leanest needs %.0f bytes a device, %lld may be used",
	               ceil(least), (long long)in->problem.memory_bytes);
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct weight_input in = {0};
	struct weight_comparison x;
	double start = plan_clock();
	int chosen, rc = read_input(request, &in, err);

	if (rc == SB_OK)
		rc = weight_compare(&in.problem, &in.options, &x, err);
	if (rc == SB_OK)
		rc = choose(&in, &x, &chosen, out_extra, err);
	if (rc != SB_OK)
		return rc;
	*out = answer_of(&in, &x, chosen, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *schema(void)
{
	return request_schema(
	    json_pack("{s:o,s:o}", "recompute", schema_words(recompute_words), "shared_nic",
	              schema_boolean("the devices of a node share one interface of the "
	                             "cluster link's rate; default false: each has its own")),
	    NULL);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i}", "layers", 4096, "nodes", 1 << 17);
}

const struct plan_kind weight_pipeline_kind = {
    .name = "weight-pipeline", .methods = methods, .solve = solve, .schema = schema, .limits = limits_of};
