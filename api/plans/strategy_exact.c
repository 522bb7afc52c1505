#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_methods.h"
#include "planner/strategy/space.h"

/* The part of the step in which a strategy loses most against the best, and what it wins back or loses in the
 * others: the part alone is not the whole loss. */
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
	    {"waiting for the host", b->offload - a->offload},
	};
	double rest = c->step_seconds - best->step_seconds;
	size_t worst = 0;

	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].more > parts[worst].more)
			worst = i;
	}
	rest -= parts[worst].more;
	if (parts[worst].more <= 0)
		snprintf(out, room, "as fast as the best, within rounding");
	else if (fabs(rest) >= 0.01 * parts[worst].more)
		snprintf(out, room, "more %s: %.3g s; %s of all else: %.3g s", parts[worst].name,
		         parts[worst].more, rest < 0 ? "less" : "more", fabs(rest));
	else
		snprintf(out, room, "more %s: %.3g s", parts[worst].name, parts[worst].more);
}

static json_t *alternatives_of(const struct search_request *r, const struct search_result *x)
{
	json_t *list = json_array();

	for (int i = 0; i < x->alternative_count; i++) {
		const struct choice *c = &x->alternatives[i];
		char reason[120];

		why_slower(&x->best.cost, &c->cost, reason, sizeof(reason));
		json_array_append_new(list, json_pack("{s:o,s:o,s:f,s:s}", "solution",
		                                      strategy_to_json(&r->problem, &c->strategy),
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

		json_array_append_new(list, frontier_point(c->cost.step_seconds,
		                                           (double)memory_bytes_of(&c->cost.memory),
		                                           strategy_to_json(&r->problem, &c->strategy)));
	}
	return list;
}

/* By how much the example misses: its memory and time in full, or the least time that it can have. */
static void add_miss(const struct search_request *r, enum rejection why, const struct rejected *j,
                     json_t *row)
{
	const struct cost_problem *p = &r->problem;
	struct strategy_cost c;

	if (why == REJECT_SLOWER && !isnan(j->example_seconds))
		json_object_set_new(row, "at_least_seconds", json_real(j->example_seconds));
	if ((why != REJECT_MEMORY && why != REJECT_HOST) ||
	    strategy_fit(&p->model, &p->cluster, &j->example, p->sequences) != FIT_OK ||
	    strategy_cost(p, &j->example, &c, NULL) != SB_OK)
		return;
	json_object_set_new(row, "step_seconds", json_real(c.step_seconds));
	json_object_set_new(row, "memory_bytes", json_integer((json_int_t)memory_bytes_of(&c.memory)));
	if (why == REJECT_HOST) {
		json_object_set_new(row, "host_memory_bytes", json_integer((json_int_t)ceil(c.host_bytes)));
		json_object_set_new(
		    row, "over_bytes",
		    json_integer((json_int_t)ceil(c.host_bytes) - (json_int_t)p->cluster.host_memory_bytes));
		return;
	}
	json_object_set_new(row, "over_bytes",
	                    json_integer((json_int_t)(memory_bytes_of(&c.memory) - p->memory_bytes)));
}

static json_t *rejected_of(const struct search_request *r, const struct search_result *x)
{
	json_t *list = json_array();

	for (int i = 0; i < REJECTIONS; i++) {
		const struct rejected *j = &x->rejected[i];
		const struct strategy *s = &j->example;
		json_t *example, *row;

		if (j->count == 0)
			continue;
		example = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:I,s:s,s:o}", "dp", (json_int_t)s->dp,
		                    "tp", (json_int_t)s->tp, "cp", (json_int_t)s->cp, "pp", (json_int_t)s->pp,
		                    "vpp", (json_int_t)s->vpp, "ep", (json_int_t)s->ep, "zero", s->zero,
		                    "micro_batch", (json_int_t)s->micro_batch, "recompute",
		                    recompute_words[s->recompute], "offload", offload_to_json(&s->offload));
		if (s->tp_x > 1)
			json_object_set_new(example, "tp_x", json_integer(s->tp_x));
		if (s->node_devices > 0)
			json_object_set_new(example, "devices_per_node", json_integer(s->node_devices));
		row = json_pack("{s:s,s:I,s:o}", "reason", rejection_word((enum rejection)i), "count",
		                (json_int_t)j->count, "example", example);
		add_miss(r, (enum rejection)i, j, row);
		json_array_append_new(list, row);
	}
	return list;
}

/* The constraints of which each, dropped alone, lets a strategy fit. */
static json_t *in_the_way(const struct search_request *r, int64_t *effort)
{
	json_t *list = json_array();
	bool frees[CONSTRAINTS];

	if (strategy_nearest_constraints(r, effort, frees, NULL) != SB_OK)
		return list;
	for (int i = 0; i < CONSTRAINTS; i++)
		if (frees[i])
			json_array_append_new(list,
			                      json_string(strategy_constraint_name((enum constraint)i)));
	return list;
}

/* What would make it feasible: more nodes, more memory on each device or on each node's host, or one
 * constraint less. */
static int explain_infeasible(const struct search_request *r, const struct search_result *x,
                              json_t **out_extra, struct sb_error *err)
{
	struct sb_error ignored = {0};
	json_int_t least = (json_int_t)ceil(x->least_memory);
	int64_t effort = x->effort, nodes = 0, host = 0; /* one effort in all */
	json_t *nearest = json_object(), *rejected = rejected_of(r, x), *way;

	/* the nodes last: they may take all the effort that is left */
	strategy_nearest_host(r, &effort, &host, &ignored);
	way = in_the_way(r, &effort);
	if (strategy_nearest_nodes(r, &effort, &nodes, &ignored) == SB_OK && nodes > 0) {
		json_object_set_new(nearest, "nodes", json_integer(nodes));
		json_object_set_new(nearest, "devices",
		                    json_integer(nodes * r->problem.cluster.devices_per_node));
	}
	json_object_set_new(nearest, "memory_bytes", json_integer(least));
	if (host > 0)
		json_object_set_new(nearest, "host_memory_bytes", json_integer(host));
	json_object_set_new(nearest, "without_constraint", way);
	*out_extra = json_pack("{s:I,s:o,s:o,s:o,s:I}", "least_memory_bytes", least, "nearest", nearest,
	                       "leanest", strategy_to_json(&r->problem, &x->leanest), "rejected", rejected,
	                       "candidates", (json_int_t)x->candidates);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no strategy fits: the leanest needs %lld bytes a device, %lld may be used%s",
	               (long long)least, (long long)r->problem.memory_bytes,
	               host > 0 && r->problem.cluster.host_link_bytes_per_second <= 0
	                   ? "; nothing was offloaded, as the cluster has no host_link_bytes_per_second"
	                   : "");
}

void warn_half_host(const struct search_request *r, json_t *warnings)
{
	bool memory = r->problem.cluster.host_memory_bytes > 0,
	     link = r->problem.cluster.host_link_bytes_per_second > 0, may = false;

	for (int i = 0; i < OFFLOADABLES; i++)
		may |= allowed_value(r, ONLY_OFFLOAD, i);
	if (!may || (memory && link) || (!memory && !link && r->only[ONLY_OFFLOAD].count == 0))
		return;
	json_warn(warnings, "offload_not_considered",
	          memory ? "nothing was offloaded: the cluster has host_memory_bytes, but no "
	                   "host_link_bytes_per_second"
	          : link ? "nothing was offloaded: the cluster has host_link_bytes_per_second, but no "
	                   "host_memory_bytes"
	                 : "nothing was offloaded: the cluster has neither host_memory_bytes nor "
	                   "host_link_bytes_per_second");
}

static json_t *warnings_of(const struct search_request *r, const struct search_result *x,
                           bool attention_given)
{
	json_t *list = warnings_to_json(&r->problem, &x->best.strategy, &x->best.cost, attention_given);

	warn_half_host(r, list);
	if (x->cut_short)
		json_warn(list, "search_cut_short",
		          "the space is too large to search in full: what was not looked at may be faster; "
		          "constrain some degrees");
	if (x->values_left_out)
		json_warn(list, "values_left_out",
		          "of a degree with more than about 500 values some were not tried: constrain it to "
		          "the values that matter");
	if (x->frontier_in_part && !x->cut_short)
		json_warn(
		    list, "frontier_in_part",
		    "there are too many plans to simulate them all for the frontier: between its points "
		    "others may be faster; the plan itself is not concerned");
	if (x->frontier_without_offload)
		json_warn(list, "frontier_without_offload",
		          "in less memory than the plan's, a plan that offloads may be faster than the "
		          "frontier says: ask with that memory_bytes");
	return list;
}

static json_t *answer_of(const struct search_request *r, const struct search_result *x, double seconds,
                         bool attention_given)
{
	const struct choice *best = &x->best;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "solution",
	                 strategy_to_json(&r->problem, &best->strategy), "predicted",
	                 predicted_to_json(&best->cost), "quality",
	                 quality_to_json(x->optimal, x->lower_bound, best->cost.step_seconds, x->candidates,
	                                 seconds, r->problem.constants.model_error),
	                 "alternatives", alternatives_of(r, x), "frontier", frontier_of(r, x), "rejected",
	                 rejected_of(r, x), "warnings", warnings_of(r, x, attention_given));
}

int strategy_search_answer(const struct search_request *r, bool attention_given, json_t **out,
                           json_t **out_extra, struct sb_error *err)
{
	double start = plan_clock();
	struct search_result *x = malloc(sizeof(*x));
	int64_t effort;
	int rc;

	if (!x)
		return sb_no_memory(err);
	rc = strategy_search(r, x, err);
	effort = x->effort;
	if (rc == SB_OK) {
		*out = answer_of(r, x, plan_clock() - start, attention_given);
		strategy_proved(*out, "step_time",
		                x->optimal ? "no strategy within the constraints is faster by this model"
		                : isnan(x->lower_bound)
		                    ? "nothing: not all of the strategies were looked at"
		                    : "no strategy within the constraints is faster than lower_bound");
	} else if (rc == SB_EINFEASIBLE) {
		rc = explain_infeasible(r, x, out_extra, err);
	} else if (rc == SB_EIMPOSSIBLE && strcmp(err->word, "no_strategy") == 0) {
		*out_extra = json_pack("{s:{s:o}}", "nearest", "without_constraint", in_the_way(r, &effort));
	}
	if (rc == SB_OK)
		rc = *out ? strategy_explain_json(&r->problem, &x->best.strategy, &x->best.cost, *out, err)
		          : sb_no_memory(err);
	free(x);
	return rc;
}

int strategy_exact(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                   struct sb_error *err)
{
	struct search_request r = {.watch = watch};
	bool attention_given = false;
	int rc = strategy_request_from_json(request, &r, &attention_given, err);

	return rc == SB_OK ? strategy_search_answer(&r, attention_given, out, out_extra, err) : rc;
}
