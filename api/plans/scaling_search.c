#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/counts.h"
#include "api/plans/kinds.h"
#include "api/plans/scaling.h"
#include "api/plans/strategy_methods.h"

struct searched {
	struct search_request request;
	bool attention_given;
	int64_t devices[SCALING_COUNTS_MAX];
	size_t count;
	struct scaling_found *found;
	int64_t candidates;
	bool optimal;
};

static int read_request(const json_t *request, struct searched *x, double *out_share, struct sb_error *err)
{
	static const char *const members[] = {"kind",        "method",      "model",   "cluster",    "batch",
	                                      "calibration", "constraints", "devices", "efficiency", NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = strategy_request_from_json(request, &x->request, &x->attention_given, err);
	if (rc == SB_OK)
		rc = scaling_share_from_json(request, out_share, err);
	if (rc != SB_OK)
		return rc;
	x->count = scaling_counts(&x->request.problem.cluster, x->devices);
	return counts_from_json(request, "devices", cluster_devices(&x->request.problem.cluster), x->devices,
	                        &x->count, err);
}

static json_t *predicted_of(const struct scaling_found *f, const struct scaling_point *base,
                            double efficiency)
{
	const struct strategy_cost *c = &f->best.cost;

	return json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:b}", "devices", (json_int_t)f->devices,
	                 "step_seconds", c->step_seconds, "tokens_per_second", c->tokens_per_second,
	                 "speedup", base->seconds / c->step_seconds, "efficiency", efficiency,
	                 "device_seconds", (double)f->devices * c->step_seconds, "device_seconds_per_token",
	                 (double)f->devices / c->tokens_per_second, "memory_bytes",
	                 (json_int_t)memory_bytes_of(&c->memory), "optimal", f->optimal);
}

static void add_row(struct scaling_rows *rows, const struct searched *x, const struct scaling_found *f)
{
	struct scaling_row *r = &rows->row[rows->count++];

	r->point = (struct scaling_point){f->devices, f->best.cost.step_seconds};
	r->efficiency = scaling_efficiency(&rows->row[0].point, &r->point);
	r->bytes = (double)memory_bytes_of(&f->best.cost.memory);
	r->solution = json_pack("{s:I,s:o}", "devices", (json_int_t)f->devices, "strategy",
	                        strategy_to_json(&x->request.problem, &f->best.strategy));
	r->predicted = predicted_of(f, &rows->row[0].point, r->efficiency);
}

/* The lemma that comes nearest to the searched steps, beside them. */
static json_t *lemma_to_json(const struct scaling_rows *rows)
{
	struct scaling_point points[SCALING_COUNTS_MAX];
	struct scaling_lemma l;
	json_t *steps;
	double error;

	for (size_t i = 0; i < rows->count; i++)
		points[i] = rows->row[i].point;
	if (lemma_fit(points, rows->count, &l, &error) != SB_OK)
		return json_null();
	steps = json_array();
	for (size_t i = 0; i < rows->count; i++)
		json_array_append_new(steps,
		                      json_pack("{s:I,s:f}", "devices", (json_int_t)points[i].devices,
		                                "step_seconds", lemma_step(&l, (double)points[i].devices)));
	return json_pack("{s:f,s:f,s:o,s:o,s:f,s:i,s:o}", "compute_seconds", l.compute, "overhead_seconds",
	                 l.overhead, "overhead_ratio", json_real_or_null(l.overhead / l.compute),
	                 "limit_speedup", json_real_or_null(l.compute > 0 ? lemma_limit(&l) : NAN),
	                 "mean_error", error, "points", (int)rows->count, "rows", steps);
}

static json_t *rejected_of(const struct searched *x)
{
	const struct {
		const char *reason;
		int code;
		bool gave_up;
	} reasons[] = {{"memory", SB_EINFEASIBLE, false},
	               {"no_strategy", SB_EIMPOSSIBLE, false},
	               {"not_searched", SB_EIMPOSSIBLE, true}};
	json_t *list = json_array();

	for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++) {
		json_t *devices = json_array();
		size_t n;

		for (size_t i = 0; i < x->count; i++)
			if (x->found[i].rc == reasons[k].code && x->found[i].gave_up == reasons[k].gave_up)
				json_array_append_new(devices, json_integer(x->found[i].devices));
		n = json_array_size(devices);
		if (n > 0)
			json_array_append_new(list,
			                      json_pack("{s:s,s:I,s:{s:O},s:O}", "reason", reasons[k].reason,
			                                "count", (json_int_t)n, "example", "devices",
			                                json_array_get(devices, 0), "devices", devices));
		json_decref(devices);
	}
	return list;
}

/* Nothing could be planned. What was not searched to its end may still have a plan: then there is no telling.
 */
static int nothing_found(const struct searched *x, json_t **out_extra, struct sb_error *err)
{
	bool gave_up = false;
	double least = INFINITY;

	for (size_t i = 0; i < x->count; i++) {
		gave_up |= x->found[i].gave_up;
		if (x->found[i].rc == SB_EINFEASIBLE)
			least = fmin(least, x->found[i].least_memory);
	}
	if (gave_up)
		return sb_fail(err, SB_EIMPOSSIBLE, "search_too_large",
		               "the space of strategies is too large to search: constrain some degrees, or "
		               "name fewer devices");
	if (!isfinite(least))
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "the constraints leave no strategy that the model and the cluster allow");
	*out_extra = plan_least_memory(least);
	return sb_fail(
	    err, SB_EINFEASIBLE, "infeasible",
	    "nothing fits on any of these numbers of devices: the leanest needs %.0f bytes a device, "
	    "%lld may be used",
	    ceil(least), (long long)x->request.problem.memory_bytes);
}

static void add_warnings(json_t *answer, const struct searched *x, const struct scaling_found *best)
{
	JSON_AUTO list =
	    warnings_to_json(&x->request.problem, &best->best.strategy, &best->best.cost, x->attention_given);
	json_t *warnings = json_object_get(answer, "warnings");

	warn_half_host(&x->request, list);
	for (size_t i = 0; i < x->count; i++) {
		if (x->found[i].gave_up || (x->found[i].rc == SB_OK && !x->found[i].optimal)) {
			json_warn(list, "not_searched",
			          "the effort did not last for all numbers of devices: name fewer, or "
			          "constrain some degrees");
			break;
		}
	}
	json_array_extend(warnings, list);
}

static int answer_of(const struct searched *x, struct scaling_rows *rows, double seconds, json_t **out)
{
	const struct scaling_found *best = NULL;
	json_t *answer = scaling_answer(rows, NULL);
	int64_t devices;

	if (!answer)
		return SB_ENOMEM;
	devices = json_integer_value(json_object_get(json_object_get(answer, "solution"), "devices"));
	for (size_t i = 0; i < x->count; i++)
		if (x->found[i].devices == devices)
			best = &x->found[i];
	json_object_set_new(answer, "quality",
	                    quality_to_json(x->optimal, best->lower_bound, best->best.cost.step_seconds,
	                                    x->candidates, seconds,
	                                    x->request.problem.constants.model_error));
	json_object_set_new(json_object_get(answer, "predicted"), "lemma", lemma_to_json(rows));
	json_object_set_new(answer, "rejected", rejected_of(x));
	add_warnings(answer, x, best);
	*out = answer;
	return SB_OK;
}

static int answer(struct searched *x, double share, json_t **out, json_t **out_extra, struct sb_error *err)
{
	SCALING_ROWS_AUTO rows = {.share = share};
	struct place root = place_of("");
	struct sb_error why = {0};
	double start = plan_clock();
	int rc = scaling_search(&x->request, x->devices, x->count, x->found, &why);

	if (rc != SB_OK)
		return parse_fail(err, rc, why.word, &root, why.field, why.text);
	x->optimal = true;
	for (size_t i = 0; i < x->count; i++) {
		x->candidates += x->found[i].candidates;
		x->optimal &= x->found[i].rc == SB_OK ? x->found[i].optimal : !x->found[i].gave_up;
		if (x->found[i].rc == SB_OK)
			add_row(&rows, x, &x->found[i]);
	}
	if (rows.count == 0)
		return nothing_found(x, out_extra, err);
	return answer_of(x, &rows, plan_clock() - start, out) == SB_OK ? SB_OK : sb_no_memory(err);
}

int scaling_searched(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                     struct sb_error *err)
{
	struct searched *x = calloc(1, sizeof(*x));
	double share = SCALING_EFFICIENCY;
	int rc;

	if (!x)
		return sb_no_memory(err);
	x->request.watch = watch;
	x->found = calloc(SCALING_COUNTS_MAX, sizeof(*x->found));
	rc = x->found ? read_request(request, x, &share, err) : sb_no_memory(err);
	if (rc == SB_OK)
		rc = answer(x, share, out, out_extra, err);
	free(x->found);
	free(x);
	return rc;
}
