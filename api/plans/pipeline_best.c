#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/pipeline.h"
#include "planner/pipeline/best.h"
#include "planner/pipeline/rows.h"

#define ALTERNATIVES_MAX 24

/* What may be tried. */
struct choice_of_schedules {
	unsigned kinds;                               /* 1 << enum schedule_kind; 0 = all */
	int64_t interleave[PIPELINE_INTERLEAVES_MAX]; /* chunks of a device */
	size_t count;                                 /* 0 = all */
};

/* All that was tried, one search after another, and the plans of them by rising time. */
struct search {
	struct pipeline_best results[PIPELINE_INTERLEAVES_MAX];
	size_t count;
	struct pipeline_choice *plans;
	size_t planned;
	double lower_bound;
	int64_t candidates;
};

static void search_clear(struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		pipeline_best_free(&s->results[i]);
	for (size_t i = 0; i < s->planned; i++)
		pipeline_choice_clear(&s->plans[i]);
	free(s->plans);
}

static int read_schedule(const json_t *value, const struct place *at, unsigned *io, struct sb_error *err)
{
	enum schedule_kind kind;

	if (!json_is_string(value))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be a text");
	if (schedule_kind_of(json_string_value(value), &kind) != SB_OK)
		return parse_fail(err, SB_EINVAL, "unknown_word", at, NULL,
		                  "is no schedule (GET /v1/plan-kinds lists them)");
	*io |= 1u << kind;
	return SB_OK;
}

static int read_schedules(const json_t *request, unsigned *out, struct sb_error *err)
{
	struct place here = place_of("/schedule");
	const json_t *v = parse_given(request, "schedule");
	int rc = SB_OK;

	if (!v)
		return SB_OK;
	if (!json_is_array(v))
		return read_schedule(v, &here, out, err);
	if (json_array_size(v) < 1 || json_array_size(v) > SCHEDULE_KINDS)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must list 1 value, and at most one a schedule");
	for (size_t i = 0; rc == SB_OK && i < json_array_size(v); i++) {
		struct place at = place_index(&here, i);

		rc = read_schedule(json_array_get(v, i), &at, out, err);
	}
	return rc;
}

static int read_interleaves(const json_t *request, struct choice_of_schedules *c, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/interleave");
	const json_t *v = parse_given(request, "interleave");
	int rc = SB_OK;

	if (!json_is_array(v)) {
		c->count = v ? 1 : 0;
		return parse_integer(request, &root, "interleave", OPTIONAL, 1, SCHEDULE_CHUNKS_MAX,
		                     c->interleave, err);
	}
	if (json_array_size(v) < 1 || json_array_size(v) > PIPELINE_INTERLEAVES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must list 1 to 16 values");
	c->count = json_array_size(v);
	for (size_t i = 0; rc == SB_OK && i < c->count; i++) {
		struct place at = place_index(&here, i);

		rc = parse_integer_value(json_array_get(v, i), &at, 1, SCHEDULE_CHUNKS_MAX, &c->interleave[i],
		                         err);
	}
	return rc;
}

/* The rest of the request, which is the same for all schedules; with its own where it names one. */
static int read_input(const json_t *request, struct pipeline_input *in, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *schedule = json_object_get(request, "schedule");
	const json_t *interleave = json_object_get(request, "interleave");
	JSON_AUTO one = json_copy(json_readable(request));
	int64_t slices = 1;
	int rc = parse_integer(request, &root, "slices", OPTIONAL, 1, UINT16_MAX, &slices, err);

	if (rc != SB_OK)
		return rc;
	if (json_is_array(schedule) || json_is_array(interleave)) {
		json_object_del(one, "interleave");
		json_object_del(one, "schedule");
	}
	if (slices > 1 && !parse_given(one, "schedule"))
		json_object_set_new(one, "schedule", json_string("seq1f1b"));
	rc = pipeline_from_json(one, in, err);
	if (rc == SB_OK && in->objective != PIPELINE_MAKESPAN)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "objective",
		                "must be makespan: plans of several schedules are told apart by their time");
	return rc == SB_OK ? pipeline_check_layers(&in->problem, err) : rc;
}

/* Does the problem tell what a schedule asks for? */
static bool is_told(const struct pipeline_problem *p, const struct schedule_facts *f)
{
	bool weights = true;

	for (int64_t b = 0; b < p->body_count; b++)
		weights = weights && !isnan(p->bodies[b].weight);
	return (weights || !f->splits) && (p->shape.slices > 1 || !f->sliced);
}

/* Schedules whose devices show so many chunks of layers; where none is asked for, those of pipeline_best().
 */
static unsigned kinds_of(const struct pipeline_problem *p, unsigned asked, int64_t interleave)
{
	unsigned kinds = 0;

	for (int k = 0; k < SCHEDULE_KINDS; k++) {
		const struct schedule_facts *f = schedule_facts((enum schedule_kind)k);
		int64_t chunks = f->two_way ? 1 : f->chunks;

		if ((asked == 0 ? is_told(p, f) : asked >> k & 1) &&
		    (chunks > 0 ? chunks == interleave : interleave > 1))
			kinds |= 1u << k;
	}
	return kinds;
}

static int search_one(const struct pipeline_problem *p, const struct pipeline_best_options *o,
                      struct search *s, struct sb_error *err)
{
	struct pipeline_best *best = &s->results[s->count];
	int rc = pipeline_best(p, o, best, err);

	if (rc != SB_OK)
		return rc;
	s->count++;
	s->lower_bound = fmin(s->lower_bound, best->lower_bound);
	for (size_t i = 0; i < best->planned; i++)
		s->candidates += best->tries[i].proof.candidates;
	return SB_OK;
}

/* One search, or one for each number of chunks; they fail when all do, with the reason of the first. */
static int search_all(const struct pipeline_problem *p, const struct choice_of_schedules *c, struct search *s,
                      struct sb_error *err)
{
	struct place root = place_of("");
	struct sb_error first = {0};

	if (c->count == 0)
		return search_one(p, &(struct pipeline_best_options){.kinds = c->kinds}, s, err);
	for (size_t i = 0; i < c->count; i++) {
		struct pipeline_best_options o = {kinds_of(p, c->kinds, c->interleave[i]), c->interleave[i]};
		struct sb_error why = {0};
		int rc = o.kinds ? search_one(p, &o, s, &why)
		                 : parse_fail(&why, SB_EIMPOSSIBLE, "out_of_range", &root, "interleave",
		                              "is what no schedule that is asked for has");

		if (rc == SB_ENOMEM)
			return sb_fail(err, rc, "no_memory", "out of memory");
		/* what has no plan without a proof could be the quickest of all */
		if (rc == SB_ELIMIT || (rc == SB_EINFEASIBLE && strcmp(why.word, PIPELINE_NONE_FOUND) == 0))
			s->lower_bound = 0;
		if (rc != SB_OK && first.code == SB_OK)
			first = why;
	}
	if (s->count > 0)
		return SB_OK;
	*err = first;
	return first.code;
}

/* Takes a plan over, and scores it once more: no search is believed. */
static int take(const struct pipeline_input *in, struct pipeline_try *t, struct pipeline_choice *out,
                struct sb_error *err)
{
	struct pipeline_problem p = in->problem;
	PIPELINE_SCORER_AUTO scorer = NULL;
	int rc;

	p.shape = t->shape;
	*out = (struct pipeline_choice){t->method, t->shape, t->plan, t->proof, t->score, NULL};
	t->plan = NULL;
	out->peaks = calloc((size_t)p.shape.devices, sizeof(*out->peaks));
	if (!out->peaks)
		return sb_no_memory(err);
	rc = pipeline_scorer_open(&p, &scorer, err);
	if (rc == SB_OK)
		rc = pipeline_score(scorer, out->plan, &out->score, out->peaks, err);
	if (rc == SB_OK && !out->score.fits)
		rc = sb_fail(err, SB_EIO, "search_failed", "the search gave a plan beyond the memory");
	return rc;
}

/* Stable, by insertion: they are few, and each search has given its own in order. */
static void sort(struct pipeline_choice *plans, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct pipeline_choice plan = plans[i];
		size_t k = i;

		for (; k > 0 && plans[k - 1].score.makespan > plan.score.makespan; k--)
			plans[k] = plans[k - 1];
		plans[k] = plan;
	}
}

/* The searches know nothing of rows: of their plans those count that happen to keep to them. */
static bool keeps_to_rows(const struct pipeline_input *in, const struct pipeline_try *t)
{
	struct pipeline_problem p = in->problem;

	p.shape = t->shape;
	return rows_hold(&p, t->plan);
}

static int take_all(const struct pipeline_input *in, struct search *s, struct sb_error *err)
{
	size_t all = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < s->count; i++)
		all += s->results[i].planned;
	s->plans = calloc(all + 1, sizeof(*s->plans));
	if (!s->plans)
		return sb_no_memory(err);
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; rc == SB_OK && k < s->results[i].planned; k++)
			if (keeps_to_rows(in, &s->results[i].tries[k]))
				rc = take(in, &s->results[i].tries[k], &s->plans[s->planned++], err);
	if (rc == SB_OK && s->planned == 0)
		rc = sb_fail_field(
		    err, SB_EINFEASIBLE, "infeasible", "/rows",
		    "no plan that was found keeps to the rows: only method bmpipe looks for one "
		    "that does");
	if (rc == SB_OK)
		sort(s->plans, s->planned);
	return rc;
}

static json_t *rejected_of(const struct search *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = s->results[i].planned; k < s->results[i].count; k++) {
			const struct pipeline_try *t = &s->results[i].tries[k];

			json_array_append_new(
			    list, json_pack("{s:s,s:i,s:{s:s,s:s,s:I,s:s}}", "reason",
			                    t->why.word[0] ? t->why.word : "infeasible", "count", 1,
			                    "example", "method", t->method, "schedule",
			                    schedule_facts(t->shape.kind)->name, "interleave",
			                    (json_int_t)(schedule_stages(&t->shape) / t->shape.devices),
			                    "detail", t->why.text));
		}
	}
	return list;
}

/* One method may find plans of one schedule in more than one way: the quickest counts. */
static bool is_told_before(const struct search *s, size_t i)
{
	const struct pipeline_choice *c = &s->plans[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(s->plans[k].method, c->method) == 0 && s->plans[k].shape.kind == c->shape.kind &&
		    s->plans[k].shape.chunks == c->shape.chunks)
			return true;
	return false;
}

static json_t *answer_of(const struct pipeline_input *in, const struct search *s, double seconds)
{
	const struct pipeline_choice *best = &s->plans[0];
	struct pipeline_proof proof = {"makespan", best->score.makespan, s->lower_bound, false,
	                               s->candidates};
	json_t *o = pipeline_choice_to_json(in, best), *alternatives = json_array();

	proof.optimal = proof.value <= proof.lower_bound * (1 + PIPELINE_ROUNDING);
	for (size_t i = 1; i < s->planned && json_array_size(alternatives) < ALTERNATIVES_MAX; i++)
		if (!is_told_before(s, i))
			json_array_append_new(alternatives,
			                      pipeline_alternative_to_json(in, best, &s->plans[i]));
	json_object_set_new(o, "quality", pipeline_quality_to_json(&proof, seconds));
	json_object_set_new(o, "alternatives", alternatives);
	json_object_set_new(o, "frontier", pipeline_frontier_to_json(in, s->plans, s->planned));
	json_object_set_new(o, "rejected", rejected_of(s));
	json_object_set_new(o, "warnings", pipeline_warnings_to_json(in, best));
	return o;
}

int pipeline_solve_best(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                        struct sb_error *err)
{
	PIPELINE_INPUT_AUTO in = {0};
	__attribute__((cleanup(search_clear))) struct search s = {.lower_bound = INFINITY};
	struct choice_of_schedules c = {0};
	JSON_AUTO answer = NULL;
	double start = plan_clock();
	int rc = read_schedules(request, &c.kinds, err);

	if (rc == SB_OK)
		rc = read_interleaves(request, &c, err);
	if (rc == SB_OK)
		rc = read_input(request, &in, err);
	in.problem.watch = watch;
	if (rc == SB_OK)
		rc = pipeline_check_given(&in, err);
	if (rc == SB_OK)
		rc = search_all(&in.problem, &c, &s, err);
	if (rc == SB_EINFEASIBLE)
		return pipeline_explain(&in, &(struct pipeline_choice){0}, out_extra, err);
	if (rc == SB_OK)
		rc = take_all(&in, &s, err);
	if (rc != SB_OK)
		return rc;
	answer = answer_of(&in, &s, plan_clock() - start);
	if (!answer)
		return sb_no_memory(err);
	if (parse_given(in.request, "given"))
		rc = pipeline_compare(&in, "given", &s.plans[0], answer, err);
	if (rc == SB_OK)
		*out = json_incref(answer);
	return rc;
}
