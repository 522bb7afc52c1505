#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_methods.h"

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

int strategy_search_answer(const struct search_request *r, bool attention_given, json_t **out,
                           json_t **out_extra, struct sb_error *err)
{
	double start = plan_clock();
	struct search_result *x = malloc(sizeof(*x));
	int rc;

	if (!x)
		return sb_no_memory(err);
	rc = strategy_search(r, x, err);
	if (rc == SB_OK) {
		*out = answer_of(r, x, plan_clock() - start, attention_given);
		strategy_proved(*out, "step_time",
		                x->optimal ? "no strategy within the constraints is faster by this model"
		                           : "no strategy within the constraints is faster than lower_bound");
	} else if (rc == SB_EINFEASIBLE)
		rc = explain_infeasible(r, x, out_extra, err);
	if (rc == SB_OK)
		rc = *out ? strategy_explain_json(&r->problem, &x->best.strategy, *out, err) : sb_no_memory(err);
	free(x);
	return rc;
}

int strategy_exact(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct search_request r = {0};
	bool attention_given = false;
	int rc = strategy_request_from_json(request, &r, &attention_given, err);

	return rc == SB_OK ? strategy_search_answer(&r, attention_given, out, out_extra, err) : rc;
}
