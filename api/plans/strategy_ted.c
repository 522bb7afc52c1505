#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_methods.h"
#include "planner/methods/ted.h"
#include "planner/strategy/space.h"

#define TILE_MAX 1e15

static int read_switches(const json_t *request, struct ted_switches *w, struct sb_error *err)
{
	static const char *const members[] = {"drop_duplicate_tokens", "keep_collectives", "tile_parameters",
	                                      NULL};
	struct place root = place_of(""), here = place_of("/ted");
	const json_t *o = NULL;
	int rc = parse_object(request, &root, "ted", OPTIONAL, &o, err);

	if (rc != SB_OK || !o)
		return rc;
	rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, &here, "drop_duplicate_tokens", &w->drop_duplicates, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, &here, "keep_collectives", &w->keep_collectives, err);
	return rc == SB_OK ? parse_number(o, &here, "tile_parameters", OPTIONAL, 0, TILE_MAX,
	                                  &w->tile_parameters, err)
	                   : rc;
}

/* TED has no pipeline and no context parallelism: a request that asks for them cannot be met. */
static int check_constraints(const struct search_request *r, struct sb_error *err)
{
	static const enum constraint alone[] = {ONLY_TP_X, ONLY_PP, ONLY_VPP, ONLY_CP};
	struct place here = place_of("/constraints");

	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		if (!allowed_value(r, alone[i], 1))
			return parse_fail(err, SB_EIMPOSSIBLE, "outside_of_method", &here,
			                  strategy_constraint_name(alone[i]),
			                  "must allow 1: TED is tensor, expert and data parallelism only");
	return SB_OK;
}

static json_t *ted_to_json(const struct ted_choice *c)
{
	const struct strategy *s = &c->strategy;
	const struct ted_memory *m = &c->memory;

	return json_pack("{s:f,s:{s:I,s:I,s:I,s:I},s:{s:f,s:f,s:f,s:f}}", "step_seconds", c->seconds,
	                 "groups", "tensor", (json_int_t)s->tp, "expert", (json_int_t)s->ep, "data",
	                 (json_int_t)s->dp, "expert_data", (json_int_t)(s->dp / s->ep), "memory",
	                 "weights_gradients", m->weights_gradients, "optimizer", m->optimizer,
	                 "optimizer_temporary", m->temporary, "activations", c->activations);
}

static int entry_of(const struct search_request *r, const struct ted_choice *c, bool attention_given,
                    json_t **out, json_t *warnings, struct sb_error *err)
{
	struct strategy_cost cost;
	json_t *predicted;
	int rc = strategy_cost(&r->problem, &c->strategy, &cost, err);

	if (rc != SB_OK)
		return rc;
	predicted = predicted_to_json(&cost);
	json_object_set_new(predicted, "ted", ted_to_json(c));
	*out = json_pack("{s:o,s:o}", "solution", strategy_to_json(&r->problem, &c->strategy), "predicted",
	                 predicted);
	if (warnings) {
		JSON_AUTO list = warnings_to_json(&r->problem, &c->strategy, &cost, attention_given);

		json_array_extend(warnings, list);
	}
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *rejected_of(const struct search_request *r, const struct ted_result *x)
{
	json_t *list = json_array();

	for (int f = 0; f < MISFITS; f++)
		if (x->unfit[f] > 0)
			json_array_append_new(list, json_pack("{s:s,s:I,s:o}", "reason",
			                                      misfit_word((enum misfit)f), "count",
			                                      (json_int_t)x->unfit[f], "example",
			                                      strategy_to_json(&r->problem, &x->example[f])));
	if (x->over > 0)
		json_array_append_new(list, json_pack("{s:s,s:I,s:o}", "reason", "memory", "count",
		                                      (json_int_t)x->over, "example",
		                                      strategy_to_json(&r->problem, &x->leanest)));
	return list;
}

static int alternatives_of(const struct search_request *r, const struct ted_result *x, json_t *list,
                           struct sb_error *err)
{
	const struct ted_choice *best = &x->kept[0];

	for (int i = 1; i < x->count && i <= r->alternatives; i++) {
		const struct ted_choice *c = &x->kept[i];
		json_t *entry = NULL;
		int rc = entry_of(r, c, true, &entry, NULL, err);

		if (rc != SB_OK)
			return rc;
		json_object_set_new(entry, "loses_by", json_real(c->seconds / best->seconds - 1));
		json_object_set_new(entry, "reason",
		                    json_string(c->strategy.tp > best->strategy.tp
		                                    ? "more tensor ranks: more all-reduces in every layer"
		                                : c->strategy.tp < best->strategy.tp
		                                    ? "fewer tensor ranks: less of its memory is free for "
		                                      "larger micro-batches, and more gradients to reduce"
		                                    : "another number of expert ranks: all-to-alls against "
		                                      "gradients of the experts"));
		json_array_append_new(list, entry);
	}
	return SB_OK;
}

static json_t *frontier_of(const struct search_request *r, const struct ted_result *x)
{
	json_t *list = json_array();

	for (int i = 0; i < x->front.count; i++) {
		const struct plan_point *p = &x->front.point[i];

		json_array_append_new(
		    list, frontier_point(p->seconds, p->bytes,
		                         strategy_to_json(&r->problem, &x->on_front[p->slot].strategy)));
	}
	return list;
}

static int answer(const struct search_request *r, const struct ted_result *x, bool attention_given,
                  double start, json_t **out, struct sb_error *err)
{
	JSON_AUTO warnings = json_array();
	JSON_AUTO others = json_array();
	json_t *entry = NULL;
	int rc = entry_of(r, &x->kept[0], attention_given, &entry, warnings, err);

	if (rc == SB_OK)
		rc = alternatives_of(r, x, others, err);
	if (rc != SB_OK) {
		json_decref(entry);
		return rc;
	}
	json_object_set_new(entry, "quality",
	                    quality_to_json(true, x->kept[0].seconds, x->kept[0].seconds, x->candidates,
	                                    plan_clock() - start, r->problem.constants.model_error));
	json_object_set_new(json_object_get(entry, "quality"), "value", json_real(x->kept[0].seconds));
	json_object_set(entry, "alternatives", others);
	json_object_set_new(entry, "frontier", frontier_of(r, x));
	json_object_set_new(entry, "rejected", rejected_of(r, x));
	json_object_set(entry, "warnings", warnings);
	strategy_proved(entry, "ted_seconds",
	                "the least of all layouts of TED, by its own cost without overlap; memory is TED's "
	                "states with the activations of the cost model, and the frontier is of both");
	*out = entry;
	return SB_OK;
}

static int solve(const struct search_request *r, const struct ted_switches *w, bool attention_given,
                 json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct ted_result *x = malloc(sizeof(*x));
	double start = plan_clock();
	int rc = x ? ted_search(r, w, x, err) : sb_no_memory(err);

	if (rc == SB_OK && x->count > 0) {
		rc = answer(r, x, attention_given, start, out, err);
	} else if (rc == SB_OK) {
		*out_extra = plan_least_memory(x->least_memory);
		rc = sb_fail(err, SB_EINFEASIBLE, "infeasible",
		             "no layout fits: the leanest needs %.0f bytes a device, %lld may be used",
		             ceil(x->least_memory), (long long)r->problem.memory_bytes);
	}
	free(x);
	return rc;
}

int strategy_ted(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                 struct sb_error *err)
{
	struct search_request r = {.watch = watch};
	struct ted_switches w = {true, true, TED_TILE};
	bool attention_given = false;
	int rc = strategy_request_from_json(request, &r, &attention_given, err);

	if (rc == SB_OK)
		rc = read_switches(request, &w, err);
	if (rc == SB_OK)
		rc = check_constraints(&r, err);
	return rc == SB_OK ? solve(&r, &w, attention_given, out, out_extra, err) : rc;
}

json_t *strategy_ted_schema(void)
{
	json_t *p = json_object();

	json_object_set_new(p, "drop_duplicate_tokens",
	                    schema_boolean("each tensor rank sends its share of the tokens, and they gather "
	                                   "after; default true"));
	json_object_set_new(
	    p, "keep_collectives",
	    schema_boolean(
	        "communication-aware checkpointing: recomputing repeats compute only; default true"));
	json_object_set_new(
	    p, "tile_parameters",
	    schema_number(0, TILE_MAX, "of the optimizer's 32-bit copy; default 1.8e6, 0: no tiles"));
	return json_pack("{s:o}", "ted", schema_object(p, NULL));
}
