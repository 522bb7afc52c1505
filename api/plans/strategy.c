#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_export.h"
#include "api/plans/strategy_methods.h"
#include "api/plans/strategy_overlap.h"

#define ALTERNATIVES_DEFAULT 5

static const char *const shared_members[] = {"kind",      "method",      "model",       "cluster", "batch",
                                             "objective", "constraints", "calibration", "limit",   NULL};
/* As enum recompute, and as few layers of each stage as make it fit. */
static const char *const recomputed_words[] = {"none", "selective", "full", "fewest", NULL};
/* As enum offloadable, and nothing. */
static const char *const offload_words[] = {OFFLOAD_WORDS, "none", NULL};
static const char *const boolean_words[] = {"false", "true", NULL};
/* Dimensions of tensor parallelism: "2d" tries its grids beside one dimension. */
static const char *const tensor_words[] = {"1d", "2d", NULL};

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
    {"recompute", ONLY_RECOMPUTE, 0, RECOMPUTES, recomputed_words},
    {"sequence_parallel", ONLY_SEQUENCE_PARALLEL, 0, 1, boolean_words},
    {"offload", ONLY_OFFLOAD, 0, OFFLOADABLES, offload_words},
    {"tensor", ONLY_TENSOR, 0, 1, tensor_words},
    {"tp_x", ONLY_TP_X, 1, STRATEGY_MAX_DEGREE, NULL},
};

const char *strategy_constraint_name(enum constraint c)
{
	size_t i = 0;

	while (only[i].constraint != c)
		i++;
	return only[i].member;
}

static int read_value(const json_t *v, const struct place *at, size_t row, int64_t *out, struct sb_error *err)
{
	if (!only[row].words)
		return parse_integer_value(v, at, only[row].low, only[row].high, out, err);
	if (only[row].words == boolean_words && json_is_boolean(v)) {
		*out = json_is_true(v);
		return SB_OK;
	}
	if (only[row].words == offload_words && json_is_false(v)) { /* as method mist has it */
		*out = OFFLOADABLES;
		return SB_OK;
	}
	if (only[row].words == boolean_words)
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be true or false");
	if (!json_is_string(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL,
		                  "must be a word or a list of words");
	for (int i = 0; only[row].words[i]; i++) {
		if (strcmp(only[row].words[i], json_string_value(v)) == 0) {
			*out = i;
			return SB_OK;
		}
	}
	return parse_unknown(err, SB_EIMPOSSIBLE, "unknown_value", at, NULL, only[row].words);
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

static int read_stack(const json_t *value, const struct place *at, struct stack *out, struct sb_error *err)
{
	struct strategy s = {.overlap_gradients = false};
	int rc = overlap_from_json(value, at, &s, &out->given, err);

	out->gradients = s.overlap_gradients;
	out->tensor = s.overlap_tensor;
	out->expert = s.overlap_expert;
	out->sends = s.overlap_sends;
	out->dispatch_fp8 = s.dispatch_fp8;
	return rc;
}

static int read_constraints(const json_t *request, struct search_request *r, bool *out_attention,
                            struct sb_error *err)
{
	static const char *const members[] = {"dp",
	                                      "tp",
	                                      "tp_x",
	                                      "tensor",
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
	                                      "offload",
	                                      "attention",
	                                      "gradient_dtype",
	                                      "overlap",
	                                      "dispatch_dtype",
	                                      NULL};
	struct place root = place_of(""), here = place_of("/constraints");
	const json_t *value;
	int attention = (int)r->attention, dtype = r->gradient_bytes == 4 ? 1 : 0;
	int rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, members, err);
	for (size_t i = 0; rc == SB_OK && i < sizeof(only) / sizeof(only[0]); i++) {
		const json_t *v = parse_given(value, only[i].member);
		struct place p = place_member(&here, only[i].member);

		if (v)
			rc = read_allowed(v, &p, i, &r->only[only[i].constraint], err);
	}
	if (rc == SB_OK)
		rc = parse_word(value, &here, "attention", OPTIONAL, attention_words, &attention, err);
	if (rc == SB_OK)
		rc = parse_word(value, &here, "gradient_dtype", OPTIONAL, dtype_words, &dtype, err);
	if (rc == SB_OK)
		rc = read_stack(value, &here, &r->stack, err);
	r->attention = (enum attention)attention;
	r->gradient_bytes = dtype == 1 ? 4 : 2;
	*out_attention = parse_given(value, "attention") != NULL;
	return rc;
}

int strategy_request_from_json(const json_t *request, struct search_request *r, bool *out_attention,
                               struct sb_error *err)
{
	static const char *const objectives[] = {"step_time", "time", NULL};
	struct place root = place_of("");
	int64_t micro = 0, limit = ALTERNATIVES_DEFAULT;
	int objective = 0, rc = cost_problem_from_json(request, &r->problem, &micro, err);

	if (rc == SB_OK)
		rc = parse_word(request, &root, "objective", OPTIONAL, objectives, &objective, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "limit", OPTIONAL, 0, SEARCH_ALTERNATIVES, &limit, err);
	if (rc != SB_OK)
		return rc;
	r->attention = strategy_attention(&r->problem.model, &r->problem.cluster);
	r->gradient_bytes = strategy_gradient_bytes(&r->problem.model);
	r->alternatives = (int)limit;
	if (micro > 0) {
		r->only[ONLY_MICRO_BATCH].count = 1;
		r->only[ONLY_MICRO_BATCH].value[0] = micro;
	}
	return read_constraints(request, r, out_attention, err);
}

/* What a request for this method may say: what all methods share, and the method's own. */
static int check_members(const json_t *request, const struct strategy_method *method, struct sb_error *err)
{
	JSON_AUTO own = method->schema ? method->schema() : json_object();
	struct place root = place_of("");
	const char *member;
	json_t *value;

	json_object_foreach(json_readable(request), member, value)
	{
		bool known = json_object_get(own, member) != NULL;

		for (int i = 0; !known && shared_members[i]; i++)
			known = strcmp(shared_members[i], member) == 0;
		if (!known)
			return parse_fail(err, SB_EINVAL, "unknown_member", &root, member,
			                  "is no member of a request for this method");
	}
	return SB_OK;
}

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	const struct strategy_method *method =
	    strategy_method_of(json_string_value(json_object_get(request, "method")));
	int rc = check_members(request, method, err);

	return rc == SB_OK ? method->solve(request, watch, out, out_extra, err) : rc;
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
		if (only[row].words == offload_words)
			json_array_append_new(values, json_false());
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
	overlap_schema(constraints);
	json_object_set_new(constraints, "memory_bytes",
	                    json_pack("{s:s,s:s}", "type", "integer", "description",
	                              "what a device may use; default 95% of its memory"));
	json_object_set_new(own, "objective",
	                    json_pack("{s:[{s:s},{s:s,s:b}],s:s}", "anyOf", "const", "step_time", "const",
	                              "time", "deprecated", true, "description",
	                              "what is made least, as quality.objective of the answer has it"));
	json_object_set_new(
	    own, "limit",
	    json_pack("{s:s,s:i,s:i}", "type", "integer", "minimum", 0, "maximum", SEARCH_ALTERNATIVES));
	json_object_set_new(own, "constraints",
	                    json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0,
	                              "properties", constraints));
	return strategy_methods_schema(request_schema(own, NULL));
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:i}", "layers", 4096, "nodes", 1 << 17, "alternatives",
	                 SEARCH_ALTERNATIVES);
}

const struct plan_kind strategy_kind = {.name = "strategy",
                                        .methods = strategy_method_names,
                                        .search = search,
                                        .schema = schema,
                                        .limits = limits_of,
                                        .export = strategy_export};
