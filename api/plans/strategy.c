#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_json.h"
#include "planner/strategy/search.h"

#define ALTERNATIVES_DEFAULT 5

static const char *const methods[] = {"exhaustive", NULL};
static const char *const boolean_words[] = {"false", "true", NULL};

/* The constraints by name; words, where given, stand for the values 0, 1, 2. */
static const struct {
	const char *member;
	enum constraint constraint;
	int64_t low, high;
	const char *const *words;
} only[] = {
    {"dp", ONLY_DP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"tp", ONLY_TP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"cp", ONLY_CP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"pp", ONLY_PP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"vpp", ONLY_VPP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"ep", ONLY_EP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"etp", ONLY_ETP, 1, STRATEGY_MAX_DEGREE, NULL},
    {"micro_batch", ONLY_MICRO_BATCH, 1, STRATEGY_MAX_DEGREE, NULL},
    {"zero", ONLY_ZERO, 0, 3, NULL},
    {"recompute", ONLY_RECOMPUTE, 0, 2, recompute_words},
    {"sequence_parallel", ONLY_SEQUENCE_PARALLEL, 0, 1, boolean_words},
};

static int read_value(const json_t *v, const struct place *at, size_t row, int64_t *out, struct sb_error *err)
{
	if (!only[row].words)
		return parse_integer_value(v, at, only[row].low, only[row].high, out, err);
	if (only[row].words == boolean_words && json_is_boolean(v)) {
		*out = json_is_true(v);
		return SB_OK;
	}
	if (only[row].words == boolean_words || !json_is_string(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "has the wrong type");
	for (int i = 0; only[row].words[i]; i++) {
		if (strcmp(only[row].words[i], json_string_value(v)) == 0) {
			*out = i;
			return SB_OK;
		}
	}
	return parse_fail(err, SB_EIMPOSSIBLE, "unknown_value", at, NULL, "is none of the known values");
}

/* One value or a list of them. */
static int read_allowed(const json_t *v, const struct place *at, size_t row, struct allowed *a,
                        struct sb_error *err)
{
	int rc = SB_OK;

	if (!json_is_array(v)) {
		a->count = 1;
		return read_value(v, at, row, &a->value[0], err);
	}
	if (json_array_size(v) < 1 || json_array_size(v) > ALLOWED_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL, "must list 1 to 16 values");
	a->count = (int)json_array_size(v);
	for (int i = 0; rc == SB_OK && i < a->count; i++) {
		struct place p = place_index(at, (size_t)i);

		rc = read_value(json_array_get(v, (size_t)i), &p, row, &a->value[i], err);
	}
	return rc;
}

static int read_constraints(const json_t *request, struct search_request *r, bool *out_attention,
                            struct sb_error *err)
{
	static const char *const members[] = {"dp",
	                                      "tp",
	                                      "cp",
	                                      "pp",
	                                      "vpp",
	                                      "ep",
	                                      "etp",
	                                      "micro_batch",
	                                      "zero",
	                                      "recompute",
	                                      "memory_bytes",
	                                      "sequence_parallel",
	                                      "attention",
	                                      "gradient_dtype",
	                                      NULL};
	struct place root = place_of(""), here = place_of("/constraints");
	const json_t *value;
	int attention = (int)r->attention, dtype = 1;
	int rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, members, err);
	for (size_t i = 0; rc == SB_OK && i < sizeof(only) / sizeof(only[0]); i++) {
		const json_t *v = json_object_get(value, only[i].member);
		struct place p = place_member(&here, only[i].member);

		if (v && !json_is_null(v))
			rc = read_allowed(v, &p, i, &r->only[only[i].constraint], err);
	}
	if (rc == SB_OK)
		rc = parse_word(value, &here, "attention", OPTIONAL, attention_words, &attention, err);
	if (rc == SB_OK)
		rc = parse_word(value, &here, "gradient_dtype", OPTIONAL, dtype_words, &dtype, err);
	r->attention = (enum attention)attention;
	r->gradient_bytes = dtype == 1 ? 4 : 2;
	*out_attention = json_object_get(value, "attention") != NULL;
	return rc;
}

static int read_request(const json_t *request, struct search_request *r, bool *out_attention,
                        struct sb_error *err)
{
	static const char *const members[] = {"kind",      "method",      "model",       "cluster", "batch",
	                                      "objective", "constraints", "calibration", "limit",   NULL};
	static const char *const objectives[] = {"time", NULL};
	struct place root = place_of("");
	int64_t micro = 0, limit = ALTERNATIVES_DEFAULT;
	int objective = 0, rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = cost_problem_from_json(request, &r->problem, &micro, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "objective", OPTIONAL, objectives, &objective, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "limit", OPTIONAL, 0, SEARCH_ALTERNATIVES, &limit, err);
	if (rc != SB_OK)
		return rc;
	r->attention = strategy_attention(&r->problem.model, &r->problem.cluster);
	r->gradient_bytes = 4;
	r->alternatives = (int)limit;
	if (micro > 0) {
		r->only[ONLY_MICRO_BATCH].count = 1;
		r->only[ONLY_MICRO_BATCH].value[0] = micro;
	}
	return read_constraints(request, r, out_attention, err);
}

/* The part of the step in which a strategy loses most against the best. */
static void why_slower(const struct strategy_cost *best, const struct strategy_cost *c, char *out,
                       size_t room)
{
	const struct breakdown_seconds *a = &best->breakdown, *b = &c->breakdown;
	const struct {
		const char *name;
		double more;
	} parts[] = {
	    {"compute", b->compute - a->compute},
	    {"recomputation", b->recompute - a->recompute},
	    {"tensor-parallel communication", b->tensor_parallel - a->tensor_parallel},
	    {"context-parallel communication", b->context_parallel - a->context_parallel},
	    {"expert-parallel communication", b->expert_parallel - a->expert_parallel},
	    {"sends between stages", b->pipeline_send - a->pipeline_send},
	    {"pipeline bubble", b->bubble - a->bubble},
	    {"gradient and weight exchange", b->gradient_exchange - a->gradient_exchange},
	    {"optimizer step", b->optimizer - a->optimizer},
	};
	size_t worst = 0;

	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].more > parts[worst].more)
			worst = i;
	}
	if (parts[worst].more <= 0)
		snprintf(out, room, "as fast as the best, within rounding");
	else
		snprintf(out, room, "more %s: %.3g s", parts[worst].name, parts[worst].more);
}

static json_t *alternatives_of(const struct search_request *r, const struct search_result *x)
{
	const struct model *m = &r->problem.model;
	json_t *list = json_array();

	for (int i = 0; i < x->alternative_count; i++) {
		const struct choice *c = &x->alternatives[i];
		char reason[120];

		why_slower(&x->best.cost, &c->cost, reason, sizeof(reason));
		json_array_append_new(list, json_pack("{s:o,s:o,s:f,s:s}", "solution",
		                                      strategy_to_json(m, &c->strategy, r->problem.sequences),
		                                      "predicted", predicted_to_json(&c->cost), "loses_by",
		                                      c->cost.step_seconds / x->best.cost.step_seconds - 1,
		                                      "reason", reason));
	}
	return list;
}

static json_t *frontier_of(const struct search_request *r, const struct search_result *x)
{
	json_t *list = json_array();

	for (int i = 0; i < x->frontier_count; i++) {
		const struct choice *c = &x->frontier[i];

		json_array_append_new(
		    list, json_pack("{s:f,s:I,s:o}", "seconds", c->cost.step_seconds, "bytes",
		                    (json_int_t)memory_bytes_of(&c->cost.memory), "solution",
		                    strategy_to_json(&r->problem.model, &c->strategy, r->problem.sequences)));
	}
	return list;
}

static json_t *rejected_of(const struct search_request *r, const struct search_result *x)
{
	json_t *list = json_array();

	for (int i = 0; i < REJECTIONS; i++) {
		const struct rejected *j = &x->rejected[i];
		const struct strategy *s = &j->example;
		json_t *example;

		if (j->count == 0)
			continue;
		example =
		    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:I,s:s}", "dp", (json_int_t)s->dp, "tp",
		              (json_int_t)s->tp, "cp", (json_int_t)s->cp, "pp", (json_int_t)s->pp, "vpp",
		              (json_int_t)s->vpp, "ep", (json_int_t)s->ep, "zero", s->zero, "micro_batch",
		              (json_int_t)s->micro_batch, "recompute", recompute_words[s->recompute]);
		json_array_append_new(list,
		                      json_pack("{s:s,s:I,s:o}", "reason", rejection_word((enum rejection)i),
		                                "count", (json_int_t)j->count, "example", example));
	}
	(void)r;
	return list;
}

/* What would make it feasible: more nodes, or more memory on each device. */
static int explain_infeasible(const struct search_request *r, const struct search_result *x,
                              json_t **out_extra, struct sb_error *err)
{
	struct sb_error ignored = {0};
	json_int_t least = (json_int_t)ceil(x->least_memory);
	int64_t nodes = 0;
	json_t *nearest = json_object(), *rejected = rejected_of(r, x);

	if (strategy_nearest_nodes(r, &nodes, &ignored) == SB_OK && nodes > 0) {
		json_object_set_new(nearest, "nodes", json_integer(nodes));
		json_object_set_new(nearest, "devices",
		                    json_integer(nodes * r->problem.cluster.devices_per_node));
	}
	json_object_set_new(nearest, "memory_bytes", json_integer(least));
	*out_extra =
	    json_pack("{s:I,s:o,s:o,s:o,s:I}", "least_memory_bytes", least, "nearest", nearest, "leanest",
	              strategy_to_json(&r->problem.model, &x->leanest, r->problem.sequences), "rejected",
	              rejected, "candidates", (json_int_t)x->candidates);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no strategy fits: the leanest needs %lld bytes a device, %lld may be used",
	               (long long)least, (long long)r->problem.memory_bytes);
}

static json_t *answer_of(const struct search_request *r, const struct search_result *x, double seconds,
                         bool attention_given)
{
	const struct choice *best = &x->best;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "solution",
	                 strategy_to_json(&r->problem.model, &best->strategy, r->problem.sequences),
	                 "predicted", predicted_to_json(&best->cost), "quality",
	                 quality_to_json(x->optimal, x->lower_bound, best->cost.step_seconds, x->candidates,
	                                 seconds, r->problem.constants.model_error),
	                 "alternatives", alternatives_of(r, x), "frontier", frontier_of(r, x), "rejected",
	                 rejected_of(r, x), "warnings",
	                 warnings_to_json(&r->problem, &best->strategy, &best->cost, attention_given));
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct search_request r = {0};
	struct search_result *x;
	bool attention_given = false;
	double start = plan_clock();
	int rc = read_request(request, &r, &attention_given, err);

	if (rc != SB_OK)
		return rc;
	x = malloc(sizeof(*x));
	if (!x)
		return sb_no_memory(err);
	rc = strategy_search(&r, x, err);
	if (rc == SB_OK)
		*out = answer_of(&r, x, plan_clock() - start, attention_given);
	else if (rc == SB_EINFEASIBLE)
		rc = explain_infeasible(&r, x, out_extra, err);
	free(x);
	if (rc == SB_OK && !*out)
		return sb_no_memory(err);
	return rc;
}

/* One value, or a list of those that are allowed. */
static json_t *value_or_list(size_t row)
{
	json_t *one, *list;

	if (only[row].words == boolean_words) {
		one = json_pack("{s:s}", "type", "boolean");
	} else if (only[row].words) {
		json_t *values = json_array();

		for (int i = 0; only[row].words[i]; i++)
			json_array_append_new(values, json_string(only[row].words[i]));
		one = json_pack("{s:o}", "enum", values);
	} else {
		one = json_pack("{s:s,s:I,s:I}", "type", "integer", "minimum", (json_int_t)only[row].low,
		                "maximum", (json_int_t)only[row].high);
	}
	list = json_pack("{s:s,s:i,s:i,s:O}", "type", "array", "minItems", 1, "maxItems", ALLOWED_MAX,
	                 "items", one);
	return json_pack("{s:[o,o]}", "anyOf", one, list);
}

static json_t *schema(void)
{
	json_t *own = json_object(), *constraints = json_object();

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		json_object_set_new(constraints, only[i].member, value_or_list(i));
	json_object_set_new(constraints, "attention", json_pack("{s:[s,s]}", "enum", "unfused", "flash"));
	json_object_set_new(constraints, "gradient_dtype", json_pack("{s:[s,s]}", "enum", "fp32", "bf16"));
	json_object_set_new(constraints, "memory_bytes",
	                    json_pack("{s:s,s:s}", "type", "integer", "description",
	                              "what a device may use; default 95% of its memory"));
	json_object_set_new(own, "objective", json_pack("{s:[s]}", "enum", "time"));
	json_object_set_new(
	    own, "limit",
	    json_pack("{s:s,s:i,s:i}", "type", "integer", "minimum", 0, "maximum", SEARCH_ALTERNATIVES));
	json_object_set_new(own, "constraints",
	                    json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0,
	                              "properties", constraints));
	return request_schema(own, NULL);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:i}", "layers", 4096, "nodes", 1 << 17, "alternatives",
	                 SEARCH_ALTERNATIVES);
}

const struct plan_kind strategy_kind = {.name = "strategy",
                                        .methods = methods,
                                        .solve = solve,
                                        .schema = schema,
                                        .limits = limits_of,
                                        .export = strategy_export};
