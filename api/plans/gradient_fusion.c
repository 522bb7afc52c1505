#include "api/plans/gradient_fusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"

static const char *const methods[] = {"optimal", "greedy", NULL};
enum method { OPTIMAL, GREEDY };

/* A way to cut, and what it comes to. */
struct candidate {
	const char *rule;
	int64_t bucket_bytes; /* 0: the segments say it all */
	struct fusion_plan plan;
	struct fusion_time time;
};
enum { BEST, PAPER, BUCKETS, NONE, ONE, CANDIDATES };

struct answer {
	const struct fusion_problem *problem;
	struct candidate list[CANDIDATES];
	bool there[CANDIDATES];
	int64_t weighed;
};

static void answer_clear(struct answer *a)
{
	for (int i = 0; i < CANDIDATES; i++)
		fusion_plan_clear(&a->list[i].plan);
}

/* Scores what a search has found by the recurrence itself. A plan that breaks the bound is no candidate. */
static int enter(struct answer *a, int place, const char *rule, int found)
{
	struct candidate *c = &a->list[place];
	int rc = found;

	if (rc == SB_OK)
		rc = fusion_evaluate(a->problem, &c->plan, &c->time, NULL);
	c->rule = rule;
	a->there[place] = rc == SB_OK;
	return rc == SB_EINVAL ? SB_OK : rc;
}

/* The optimum may lose its last digit to rounding: then it takes over the plan that did not. */
static int settle(struct answer *a)
{
	struct candidate *best = &a->list[BEST];
	size_t size;

	for (int i = 0; i < CANDIDATES; i++) {
		const struct candidate *c = &a->list[i];
		struct fusion_segment *copy;

		if (!a->there[i] || c->time.end_seconds >= best->time.end_seconds)
			continue;
		size = c->plan.count * sizeof(*copy);
		copy = malloc(size);
		if (!copy)
			return SB_ENOMEM;
		memcpy(copy, c->plan.segments, size);
		free(best->plan.segments);
		best->plan = (struct fusion_plan){copy, c->plan.count};
		best->time = c->time;
	}
	return SB_OK;
}

static int search(struct answer *a)
{
	const struct fusion_problem *p = a->problem;
	struct candidate *c = a->list;
	int rc = enter(a, BEST, "optimal", fusion_optimal(p, &c[BEST].plan, &a->weighed));

	if (rc == SB_OK)
		rc = enter(a, PAPER, "greedy", fusion_greedy(p, &c[PAPER].plan));
	if (rc == SB_OK)
		rc = fusion_best_bucket(p, &c[BUCKETS].bucket_bytes, &c[BUCKETS].time);
	if (rc == SB_OK)
		rc =
		    enter(a, BUCKETS, "bucket", fusion_buckets(p, c[BUCKETS].bucket_bytes, &c[BUCKETS].plan));
	if (rc == SB_OK || rc == SB_ENOENT)
		rc = enter(a, NONE, "none", fusion_buckets(p, 1, &c[NONE].plan));
	if (rc == SB_OK)
		rc = enter(a, ONE, "one", fusion_buckets(p, INT64_MAX, &c[ONE].plan));
	if (rc != SB_OK)
		return rc;
	/* what a search of ours gave must be a plan */
	return a->there[BEST] && a->there[PAPER] && a->there[NONE] ? settle(a) : SB_EIO;
}

static json_t *solution_to_json(const struct answer *a, const struct candidate *c, bool segments)
{
	json_t *o = json_pack("{s:s}", "rule", c->rule), *list;

	json_object_set_new(o, "collectives", json_integer((json_int_t)c->plan.count));
	if (c->bucket_bytes > 0)
		json_object_set_new(o, "bucket_bytes", json_integer(c->bucket_bytes));
	if (!segments)
		return o;
	list = json_array();
	for (size_t k = 0; k < c->plan.count; k++) {
		const struct fusion_segment *s = &c->plan.segments[k];
		json_int_t bytes = 0;

		for (size_t i = 0; i < s->count; i++)
			bytes += a->problem->gradients[s->first + i].bytes;
		json_array_append_new(list, json_pack("{s:I,s:I,s:I}", "first", (json_int_t)s->first, "count",
		                                      (json_int_t)s->count, "bytes", bytes));
	}
	json_object_set_new(o, "segments", list);
	return o;
}

/* null when there is nothing to compare with, or nothing to divide by. */
static json_t *speedup(const struct answer *a, int over, const struct candidate *c)
{
	return json_real_or_null(a->there[over] && c->time.end_seconds > 0
	                             ? a->list[over].time.end_seconds / c->time.end_seconds
	                             : NAN);
}

static json_t *predicted_to_json(const struct answer *a, const struct candidate *c)
{
	const struct fusion_time *t = &c->time;
	double exposed = fmax(0, t->end_seconds - t->compute_seconds);
	json_t *o = json_pack("{s:f,s:f,s:f,s:f,s:f}", "end_seconds", t->end_seconds, "compute_seconds",
	                      t->compute_seconds, "communication_seconds", t->communication_seconds,
	                      "communication_exposed_seconds", exposed, "overlap_seconds",
	                      fmax(0, t->communication_seconds - exposed));

	json_object_set_new(o, "largest_segment_bytes", json_integer(t->largest_bytes));
	json_object_set_new(o, "speedup_over_none", speedup(a, NONE, c));
	json_object_set_new(o, "speedup_over_one", speedup(a, ONE, c));
	return o;
}

/* When each all-reduce of the answer runs. */
static int add_events(json_t *predicted, const struct answer *a, const struct candidate *c)
{
	struct fusion_event *events = calloc(c->plan.count, sizeof(*events));
	struct fusion_time t;
	json_t *list = json_array();

	if (!events || fusion_evaluate(a->problem, &c->plan, &t, events) != SB_OK) {
		json_decref(list);
		free(events);
		return SB_ENOMEM;
	}
	for (size_t k = 0; k < c->plan.count; k++)
		json_array_append_new(list,
		                      json_pack("{s:f,s:f,s:f}", "ready_seconds", events[k].ready_seconds,
		                                "start_seconds", events[k].start_seconds, "end_seconds",
		                                events[k].end_seconds));
	free(events);
	return json_object_set_new(predicted, "segments", list) == 0 ? SB_OK : SB_ENOMEM;
}

static void why(const struct candidate *chosen, const struct candidate *c, char *out, size_t room)
{
	double more = c->time.communication_seconds - chosen->time.communication_seconds;
	double later = c->time.end_seconds - chosen->time.end_seconds;

	if (later < 0)
		snprintf(out, room, "it ends earlier, by %.3g s", -later);
	else if (later == 0)
		snprintf(out, room, "it ends at the same time");
	else if (more > 0)
		snprintf(out, room, "%zu all-reduces instead of %zu: %.3g s more communication",
		         c->plan.count, chosen->plan.count, more);
	else
		snprintf(out, room, "its last all-reduces start too late: %.3g s more after backward", later);
}

static json_t *alternatives_of(const struct answer *a, int chosen)
{
	const struct candidate *best = &a->list[chosen];
	json_t *list = json_array();

	for (int i = 0; i < CANDIDATES; i++) {
		const struct candidate *c = &a->list[i];
		double end = best->time.end_seconds;
		char reason[160];

		if (i == chosen || !a->there[i])
			continue;
		why(best, c, reason, sizeof(reason));
		json_array_append_new(list, json_pack("{s:o,s:o,s:f,s:s}", "solution",
		                                      solution_to_json(a, c, i == PAPER || i == BEST),
		                                      "predicted", predicted_to_json(a, c), "loses_by",
		                                      end > 0 ? c->time.end_seconds / end - 1 : 0.0, "reason",
		                                      reason));
	}
	return list;
}

static json_t *rejected_of(const struct answer *a)
{
	static const int bounded[] = {BUCKETS, ONE};
	static const char *const rules[] = {"bucket", "one"};
	json_t *list = json_array();

	for (int i = 0; i < 2; i++) {
		if (!a->there[bounded[i]])
			json_array_append_new(list, json_pack("{s:s,s:i,s:s}", "reason", "max_segment_bytes",
			                                      "count", 1, "example", rules[i]));
	}
	return list;
}

static json_t *warnings_of(const struct answer *a, const struct candidate *c)
{
	const struct fusion_problem *p = a->problem;
	json_t *list = json_array();
	bool larger = false;

	for (size_t i = 0; i < p->count; i++)
		larger = larger || p->gradients[i].bytes > p->max_segment_bytes;
	if (p->cost.raised)
		json_warn(list, "cost_not_monotone",
		          "a measured time is below that of a smaller size; it was raised to that");
	if ((double)c->time.largest_bytes > p->cost.measured_to)
		json_warn(list, "cost_extrapolated",
		          "the largest segment is larger than any measured size: its time is extrapolated");
	if (larger)
		json_warn(list, "larger_than_max_segment",
		          "a gradient is larger than max_segment_bytes: it is reduced alone");
	return list;
}

static json_t *quality_of(const struct answer *a, const struct candidate *c, double seconds)
{
	double bound = a->list[BEST].time.end_seconds;
	double end = c->time.end_seconds;

	return json_pack("{s:b,s:f,s:f,s:I,s:f,s:n}", "optimal", end <= bound, "lower_bound", bound, "gap",
	                 end > 0 ? (end - bound) / end : 0.0, "candidates", (json_int_t)a->weighed,
	                 "search_seconds", seconds, "model_error");
}

static json_t *answer_of(const struct answer *a, int chosen, double seconds)
{
	const struct candidate *c = &a->list[chosen];
	json_t *predicted = predicted_to_json(a, c), *solution = solution_to_json(a, c, true);

	if (add_events(predicted, a, c) != SB_OK) {
		json_decref(predicted);
		json_decref(solution);
		return NULL;
	}
	json_object_set_new(solution, "bucket_bytes",
	                    a->there[BUCKETS] ? json_integer(a->list[BUCKETS].bucket_bytes) : json_null());
	return json_pack("{s:o,s:o,s:o,s:o,s:[],s:o,s:o}", "solution", solution, "predicted", predicted,
	                 "quality", quality_of(a, c, seconds), "alternatives", alternatives_of(a, chosen),
	                 "frontier", "rejected", rejected_of(a), "warnings", warnings_of(a, c));
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct place root = place_of("");
	FUSION_INPUT_AUTO input = {0};
	struct answer a = {.problem = &input.problem};
	double start = plan_clock();
	int method = OPTIMAL;
	int rc = fusion_from_json(request, &input, err);

	(void)out_extra;
	if (rc == SB_OK)
		rc = parse_word(request, &root, "method", OPTIONAL, methods, &method, err);
	if (rc != SB_OK)
		return rc;
	rc = search(&a);
	if (rc == SB_OK)
		*out = answer_of(&a, method == GREEDY ? PAPER : BEST, plan_clock() - start);
	answer_clear(&a);
	if (rc == SB_EIO)
		return sb_fail(err, rc, "search_failed", "the search gave no plan");
	return rc == SB_OK && *out ? SB_OK : sb_no_memory(err);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:I}", "gradients", FUSION_GRADIENTS_MAX, "cost_rows", CURVE_ROWS_MAX,
	                 "bytes", (json_int_t)FUSION_BYTES_MAX);
}

const struct plan_kind gradient_fusion_kind = {.name = "gradient-fusion",
                                               .methods = methods,
                                               .solve = solve,
                                               .schema = fusion_schema,
                                               .limits = limits_of};
