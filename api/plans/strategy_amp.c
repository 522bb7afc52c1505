#include "api/plans/strategy_amp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "planner/methods/partition.h"
#include "planner/strategy/space.h"

static json_t *rejection(const struct amp_race *x, const char *reason, int64_t count,
                         const struct strategy *s)
{
	return json_pack("{s:s,s:I,s:o}", "reason", reason, "count", (json_int_t)count, "example",
	                 strategy_to_json(&x->in->request.problem, s));
}

static json_t *rejections(const struct amp_race *x)
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

/* With the order of the nodes, where they differ. */
static json_t *solution_of(struct amp_race *x, const struct amp_weighed *w)
{
	struct strategy s = amp_weighed_strategy(x->in, w);
	json_t *o = strategy_to_json(&x->in->request.problem, &s), *order = json_array();

	for (int64_t i = 0; i < x->in->problem.nodes; i++)
		json_array_append_new(order, json_integer(w->nodes[i]));
	if (x->in->links_given)
		json_object_set(o, "node_order", order);
	json_decref(order);
	return o;
}

static json_t *frontier_of(struct amp_race *x)
{
	json_t *list = json_array();

	for (int i = 0; i < x->front.count; i++) {
		const struct plan_point *p = &x->front.point[i];

		json_array_append_new(
		    list, frontier_point(p->seconds, p->bytes, solution_of(x, &x->on_front[p->slot])));
	}
	return list;
}

/* solution and predicted of one of the kept, by our own cost model. */
static int entry_of(struct amp_race *x, int i, json_t **out, json_t *warnings, struct sb_error *err)
{
	const struct cost_problem *p = &x->in->request.problem;
	const struct amp_weighed *w = &x->kept[i];
	struct strategy s;
	struct strategy_cost c;
	int rc;

	s = amp_weighed_strategy(x->in, w);
	rc = strategy_cost(p, &s, &c, err);
	if (rc != SB_OK)
		return rc;
	*out = json_pack("{s:o,s:o}", "solution", solution_of(x, w), "predicted", predicted_to_json(&c));
	if (warnings) { /* of the best */
		JSON_AUTO more = warnings_to_json(p, &s, &c, x->in->attention_given);

		json_array_extend(warnings, more);
		return strategy_explain_json(p, &s, &c, *out, err);
	}
	return SB_OK;
}

static int alternatives(struct amp_race *x, json_t *list, struct sb_error *err)
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
		json_warn(warnings, "layer_seconds_modelled",
		          "no measured layer_seconds were given: the layers' times come from the cost model");
	if (in->links_given)
		json_warn(warnings, "links_unequal",
		          "node_links decide the plan; predicted knows the cluster's links only");
}

static int answer(struct amp_race *x, double start, const char *proved, json_t **out, struct sb_error *err)
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
	json_object_set_new(entry, "frontier", frontier_of(x));
	json_object_set_new(entry, "rejected", rejections(x));
	json_object_set_new(entry, "warnings", warnings);
	strategy_proved(entry, "amp_seconds", proved);
	*out = entry;
	return SB_OK;
}

static void race_free(struct amp_race **x)
{
	if (*x)
		amp_race_free(*x);
	free(*x);
}

static int solve(const json_t *request, const struct sb_watch *watch, bool apss, const char *proved,
                 json_t **out, json_t **out_extra, struct sb_error *err)
{
	AMP_INPUT_AUTO in = {0};
	struct amp_race *x __attribute__((cleanup(race_free))) = calloc(1, sizeof(*x));
	double start = plan_clock();
	int rc = amp_input_from_json(request, apss, &in, err);

	in.problem.watch = watch;
	if (rc == SB_OK && !x)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		rc = amp_race_run(&in, x, err);
	if (rc == SB_OK)
		rc = sb_watch_rc(watch);
	if (rc != SB_OK)
		return rc;
	if (x->count > 0)
		return answer(x, start, proved, out, err);
	*out_extra = plan_least_memory(x->least_memory);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no candidate fits: the leanest needs %.0f bytes a device, %lld may be used",
	               ceil(x->least_memory), (long long)in.request.problem.memory_bytes);
}

int strategy_amp(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                 struct sb_error *err)
{
	return solve(
	    request, watch, false,
	    "the least of AMP's candidates, each with the placement, the cut and the recomputation that take "
	    "least of those that fit in memory (an exact dynamic program; a placement is an order of the "
	    "nodes and of the ranks, not any tiling); the frontier is of AMP's seconds and the cost model's "
	    "bytes",
	    out, out_extra, err);
}

int strategy_apss(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	return solve(request, watch, true,
	             "as of amp, without placements and the gradients of embedding and head; an exact "
	             "dynamic program stands for APSS's trained network, so that no cut of that is better",
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
	    "{s:{s:s,s:b,s:s,s:{s:o}},s:o}", "layer_seconds", "type", "object", "additionalProperties", 0,
	    "description",
	    "by tensor degree: forward seconds of one sequence, one for all layers, or a list of the layers, "
	    "the embedding in front and the head behind where they are measured; default: the cost model's",
	    "patternProperties", "^[1-9][0-9]*$", seconds, "node_links",
	    schema_list(1 << 17, node,
	                "one for each node in the order of ranks: bytes per second of a device, in the node "
	                "(needed where it has several devices) and to other nodes (needed where there are "
	                "several); default: the cluster's links"));
}
