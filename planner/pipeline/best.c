#include "planner/pipeline/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "planner/pipeline/makespan.h"
#include "planner/pipeline/methods.h"

/* More of them than this help nobody: each adds hops, and a stage less than a layer (Megatron's own runs have
 * no more than 8 or so). */
#define CHUNKS_WORTH 8
/* What is looked at closer: the plans within this much of the best, and how many of them at most. Margins
 * that were chosen, not derived: a plan that a closer look would improve by more is missed. The bound from
 * below knows of it all the same. */
#define MAY_IMPROVE 1.03
#define CLOSER_MOST 4
/* Stages times layers up to which the thorough search takes no longer than some milliseconds. */
#define SMALL 256

/* The simplest first. */
static const enum schedule_kind simple[] = {SCHEDULE_1F1B,
                                            SCHEDULE_GPIPE,
                                            SCHEDULE_EAGER_1F1B,
                                            SCHEDULE_1F1B_EARLY_RECOMPUTE,
                                            SCHEDULE_INTERLEAVED_LESS_MEMORY,
                                            SCHEDULE_INTERLEAVED,
                                            SCHEDULE_ZB_H1,
                                            SCHEDULE_ZB_H2,
                                            SCHEDULE_ZB_V,
                                            SCHEDULE_DUALPIPE_V,
                                            SCHEDULE_DUALPIPE,
                                            SCHEDULE_SEQ_1F1B,
                                            SCHEDULE_TERAPIPE};
_Static_assert(sizeof(simple) / sizeof(simple[0]) == SCHEDULE_KINDS, "every schedule has its place");

struct trial {
	const struct pipeline_problem *p;
	const struct pipeline_best_options *options;
	struct pipeline_best *all;
	double least; /* time of all plans so far */
};

void pipeline_best_free(struct pipeline_best *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->tries[i].plan);
	free(b->tries);
	*b = (struct pipeline_best){0};
}

static struct pipeline_problem problem_of(const struct trial *t, const struct schedule_shape *shape)
{
	struct pipeline_problem p = *t->p;

	p.shape = *shape;
	return p;
}

/* Scores what a method planned. */
static int score(const struct pipeline_problem *p, struct pipeline_try *y)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	int rc = pipeline_scorer_open(p, &scorer, &y->why);

	if (rc == SB_OK)
		rc = pipeline_score(scorer, y->plan, &y->score, NULL, &y->why);
	if (rc == SB_OK && !y->score.fits)
		rc = sb_fail(&y->why, SB_EINFEASIBLE, "infeasible", "the plan of this method does not fit");
	return rc;
}

static bool says_no(int rc)
{
	return rc == SB_EINFEASIBLE || rc == SB_EIMPOSSIBLE || rc == SB_ELIMIT;
}

/* The search for the least time takes all of a backward to wait for the gradient, which early recomputing
 * does not. */
static bool is_searched(const struct schedule_shape *s)
{
	return !schedule_facts(s->kind)->recomputes;
}

/* Plans it, quickly or thoroughly, or by another method; the better plan stays. */
static int plan(struct trial *t, struct pipeline_try *y, const struct pipeline_effort *effort, double beat)
{
	struct pipeline_problem p = problem_of(t, &y->shape);
	size_t cells = (size_t)schedule_stages(&y->shape) * (size_t)p.body_count;
	struct pipeline_try now = *y;
	int rc = sb_watch_rc(p.watch);

	if (rc != SB_OK)
		return rc;
	now.plan = calloc(cells, sizeof(*now.plan));
	if (!now.plan)
		return SB_ENOMEM;
	rc = effort
	         ? pipeline_search_makespan(&p, effort, beat, now.plan, &now.proof, &now.why)
	         : pipeline_method_of(y->method)->plan(&p, PIPELINE_MAKESPAN, now.plan, &now.proof, &now.why);
	if (rc == SB_OK)
		rc = score(&p, &now);
	now.rc = rc;
	if (rc == SB_OK && y->plan)
		now.proof.lower_bound = fmax(now.proof.lower_bound, y->proof.lower_bound);
	if (rc != SB_OK || (y->plan && now.score.makespan > y->score.makespan)) {
		free(now.plan);
		now.plan = NULL;
	}
	if (now.plan || !y->plan) {
		free(y->plan);
		*y = now;
	} else if (rc == SB_OK) {
		y->proof.lower_bound = now.proof.lower_bound;
	}
	if (rc == SB_OK)
		t->least = fmin(t->least, now.score.makespan);
	return rc == SB_OK || says_no(rc) ? SB_OK : rc;
}

static int add(struct trial *t, const struct schedule_shape *shape, const char *method,
               struct pipeline_try **out)
{
	struct pipeline_best *b = t->all;

	if (sb_grow(&b->tries, b->count, sizeof(*b->tries)) != SB_OK)
		return SB_ENOMEM;
	b->tries[b->count] = (struct pipeline_try){.shape = *shape, .method = method};
	*out = &b->tries[b->count++];
	return SB_OK;
}

static bool tells_weight(const struct pipeline_problem *p)
{
	for (int64_t b = 0; b < p->body_count; b++)
		if (p->bodies[b].count > 0 && isnan(p->bodies[b].weight))
			return false;
	return true;
}

static bool offers_recompute(const struct pipeline_problem *p)
{
	for (int64_t b = 0; b < p->body_count; b++)
		for (int r = KEEP_ALL + 1; r < PIPELINE_RECOMPUTES; r++)
			if (!isnan(p->bodies[b].activation[r]))
				return true;
	return false;
}

/* What the problem has to tell for a schedule that nobody asked for. */
static int check_told(const struct trial *t, enum schedule_kind kind, struct sb_error *why)
{
	if (t->options->kinds == 0 && schedule_facts(kind)->splits && !tells_weight(t->p))
		return sb_fail(why, SB_EIMPOSSIBLE, "not_told",
		               "%s needs the time of the gradient of the weights, which not all layers tell",
		               schedule_facts(kind)->name);
	if (t->options->kinds == 0 && schedule_facts(kind)->recomputes && !offers_recompute(t->p))
		return sb_fail(why, SB_EIMPOSSIBLE, "not_told", "%s needs to know what layers can recompute",
		               schedule_facts(kind)->name);
	return SB_OK;
}

/* One schedule; *out_time: of its plan, INFINITY when there is none. */
static int try_shape(struct trial *t, const struct schedule_shape *shape, double *out_time)
{
	struct pipeline_problem p = problem_of(t, shape);
	struct pipeline_try *y;
	bool small;
	int rc = add(t, shape, pipeline_methods()[0].name, &y);

	*out_time = INFINITY;
	if (rc != SB_OK)
		return rc;
	y->rc = check_told(t, shape->kind, &y->why);
	if (y->rc == SB_OK)
		y->rc = schedule_check(shape, &y->why);
	if (y->rc == SB_OK)
		y->rc = pipeline_check_layers(&p, &y->why);
	if (y->rc != SB_OK)
		return says_no(y->rc) ? SB_OK : y->rc;
	small = schedule_stages(shape) * pipeline_layers(&p) <= SMALL;
	if (is_searched(shape))
		rc = plan(t, y, small ? &PIPELINE_THOROUGH : &PIPELINE_QUICK,
		          t->least * (small ? 1 : MAY_IMPROVE));
	else
		rc = plan(t, y, NULL, INFINITY);
	if (rc == SB_OK && y->rc == SB_OK)
		*out_time = y->score.makespan;
	return rc;
}

/* All chunks of one schedule that are worth it. */
static int try_kind(struct trial *t, enum schedule_kind kind)
{
	const struct schedule_facts *f = schedule_facts(kind);
	struct schedule_shape s = {.kind = kind,
	                           .devices = t->p->shape.devices,
	                           .micro_batches = t->p->shape.micro_batches,
	                           .slices = f->sliced ? t->p->shape.slices : 1};
	int64_t first = f->chunks > 0 ? f->chunks : 2, most = pipeline_layers(t->p) / s.devices;
	double time, least = INFINITY;
	int worse = 0, rc = SB_OK;

	most = most < CHUNKS_WORTH ? most : CHUNKS_WORTH;
	if (f->chunks == 0 && t->options->chunks > 1)
		first = most = t->options->chunks;
	if (f->chunks > 0 || t->options->kinds != 0)
		most = most < first ? first : most;
	for (s.chunks = first; s.chunks <= (f->chunks > 0 ? first : most) && worse < 2 && rc == SB_OK;
	     s.chunks++) {
		rc = try_shape(t, &s, &time);
		worse = time < least ? 0 : worse + 1;
		least = fmin(least, time);
	}
	return rc;
}

/* Of equal times, rounding apart, the one that was tried first: the simplest. */
static bool goes_before(const struct pipeline_try *x, const struct pipeline_try *y)
{
	if (x->rc != SB_OK || y->rc != SB_OK)
		return x->rc == SB_OK || y->rc != SB_OK;
	return x->score.makespan <= y->score.makespan * (1 + PIPELINE_ROUNDING);
}

static void sort(struct pipeline_best *b)
{
	b->planned = 0;
	for (size_t i = 0; i < b->count; i++) {
		struct pipeline_try y = b->tries[i];
		size_t at = i;

		for (; at > 0 && !goes_before(&b->tries[at - 1], &y); at--)
			b->tries[at] = b->tries[at - 1];
		b->tries[at] = y;
		b->planned += y.rc == SB_OK;
	}
}

/* Looks at the plans again that may still be the best; the best of them thoroughly. */
static int look_closer(struct trial *t)
{
	struct pipeline_best *b = t->all;
	int rc = SB_OK;

	for (size_t i = 0; i < b->planned && i < CLOSER_MOST && rc == SB_OK; i++) {
		struct pipeline_try *y = &b->tries[i];

		if (is_searched(&y->shape) && !y->proof.optimal &&
		    y->score.makespan <= t->least * MAY_IMPROVE && y->proof.lower_bound < t->least)
			rc = plan(t, y, &PIPELINE_CLOSER, INFINITY);
	}
	sort(b);
	if (rc == SB_OK && is_searched(&b->tries[0].shape) && !b->tries[0].proof.optimal)
		rc = plan(t, &b->tries[0], &PIPELINE_THOROUGH, INFINITY);
	sort(b);
	return rc;
}

/* One more method, unless it does not know the schedule. */
static int try_method(struct trial *t, const struct schedule_shape *shape, const char *method)
{
	struct pipeline_try *y;
	int rc = add(t, shape, method, &y);

	if (rc == SB_OK)
		rc = plan(t, y, NULL, INFINITY);
	if (rc == SB_OK && y->rc != SB_OK && y->rc != SB_EINFEASIBLE)
		t->all->count--;
	return rc;
}

/* The other methods, on the schedule that is the best, on 1F1B, which most of them are made for, and each on
 * its own. */
static int try_others(struct trial *t)
{
	size_t planned = t->all->planned;
	int rc = SB_OK;

	for (size_t i = 0; i < planned; i++)
		for (const struct pipeline_method *m = pipeline_methods() + 1; m->name && rc == SB_OK; m++) {
			const struct pipeline_try y = t->all->tries[i]; /* they may move */

			if (i == 0 || y.shape.kind == SCHEDULE_1F1B ||
			    (y.shape.kind == m->schedule && y.score.makespan <= t->least * MAY_IMPROVE))
				rc = try_method(t, &y.shape, m->name);
		}
	sort(t->all);
	return rc;
}

/* Neither a plan nor a proof that there is none: it could be the quickest of all. */
static bool is_open(const struct pipeline_try *y)
{
	return y->method == pipeline_methods()[0].name &&
	       (y->rc == SB_ELIMIT ||
	        (y->rc == SB_EINFEASIBLE && strcmp(y->why.word, PIPELINE_NONE_FOUND) == 0));
}

static void finish(struct pipeline_best *b)
{
	double best = b->tries[0].score.makespan;

	b->lower_bound = best;
	for (size_t i = b->planned; i < b->count; i++)
		if (is_open(&b->tries[i]))
			b->lower_bound = 0;
	for (size_t i = 0; i < b->planned; i++) {
		b->tries[i].loses_by = best > 0 ? b->tries[i].score.makespan / best - 1 : 0;
		/* the bounds of other methods are of their own objectives */
		if (b->tries[i].method == pipeline_methods()[0].name)
			b->lower_bound = fmin(b->lower_bound, b->tries[i].proof.lower_bound);
	}
}

int pipeline_best(const struct pipeline_problem *p, const struct pipeline_best_options *options,
                  struct pipeline_best *out, struct sb_error *err)
{
	PIPELINE_BEST_AUTO all = {0};
	struct trial t = {p, options, &all, INFINITY};
	int rc = SB_OK;

	for (size_t i = 0; i < SCHEDULE_KINDS && rc == SB_OK; i++) {
		bool asked = options->kinds & 1u << simple[i];

		if (asked ||
		    (options->kinds == 0 && (!schedule_facts(simple[i])->sliced || p->shape.slices > 1)))
			rc = try_kind(&t, simple[i]);
	}
	if (rc != SB_OK)
		return sb_no_memory(err);
	sort(&all);
	if (all.planned == 0) {
		if (all.count == 0)
			return sb_fail(err, SB_EIMPOSSIBLE, "out_of_range", "no schedule is to be tried");
		if (err)
			*err = all.tries[0].why;
		return all.tries[0].rc;
	}
	rc = look_closer(&t);
	if (rc == SB_OK)
		rc = try_others(&t);
	if (rc != SB_OK)
		return sb_no_memory(err);
	finish(&all);
	*out = all;
	all = (struct pipeline_best){0};
	return SB_OK;
}
