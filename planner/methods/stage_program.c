#include "planner/methods/stage_program.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/search.h"
#include "planner/frontier/pareto.h"

#define RANGES_MAX 256
#define REDUCE_FROM 512 /* points of a set that are worth sorting before all are in */

/* Of bounds on the largest stable time: the least tail of all stages at both ends. */
struct range {
	double low, low_tail, high, high_tail;
};

/* A set's points have the sum of stable from a stage on as memory, and as time the tail: the largest sum of
 * one stage's delta and of stable from it on. In front of it comes a stage: sum + stable, and max(tail, that
 * + delta): both only grow with both, so that a Pareto set is enough. */
struct solver {
	const struct stage_program *p;
	double *stables; /* all, ascending */
	size_t stable_count;
	struct pareto_set *here, *ahead; /* [layers + 1], by layers that stand from this stage on */
	struct pareto_arena arena;
	uint16_t *decided, *best; /* [stages]: an option's number among all of its stage */
	uint32_t *stack;          /* [stages + 1] */
	struct stage_result *out;
	int64_t effort;
	double limit, bound;
	struct range ranges[RANGES_MAX];
	int range_count;
};

static void solver_free(struct solver *s)
{
	for (int64_t r = 0; r <= s->p->layers; r++) {
		if (s->here)
			pareto_set_free(&s->here[r]);
		if (s->ahead)
			pareto_set_free(&s->ahead[r]);
	}
	free(s->here);
	free(s->ahead);
	free(s->stables);
	free(s->decided);
	free(s->best);
	free(s->stack);
	pareto_arena_free(&s->arena);
}

/* The options of a stage, one after another. */
static const struct stage_option *option_at(const struct stage_program *p, int64_t stage, int64_t number,
                                            struct stage_choice *out)
{
	int64_t k = 0;

	for (; number >= p->choices[stage][k].count; k++)
		number -= p->choices[stage][k].count;
	*out = (struct stage_choice){k, number};
	return &p->choices[stage][k].options[number];
}

static int64_t options_of(const struct stage_program *p, int64_t stage)
{
	int64_t all = 0;

	for (int64_t k = 0; k < p->sizes[stage]; k++)
		all += p->choices[stage][k].count;
	return all;
}

static int solver_open(const struct stage_program *p, struct solver *s)
{
	size_t stages = (size_t)p->stages, all = 0;
	struct stage_choice ignored;

	for (int64_t i = 0; i < p->stages; i++) {
		assert(options_of(p, i) < UINT16_MAX);
		all += (size_t)options_of(p, i);
	}
	s->here = calloc((size_t)p->layers + 1, sizeof(*s->here));
	s->ahead = calloc((size_t)p->layers + 1, sizeof(*s->ahead));
	s->stables = calloc(all + 1, sizeof(*s->stables));
	s->decided = calloc(stages, sizeof(*s->decided));
	s->best = calloc(stages, sizeof(*s->best));
	s->stack = calloc(stages + 1, sizeof(*s->stack));
	if (!s->here || !s->ahead || !s->stables || !s->decided || !s->best || !s->stack)
		return SB_ENOMEM;
	for (int64_t i = 0; i < p->stages; i++) {
		for (int64_t n = 0; n < options_of(p, i); n++)
			s->stables[s->stable_count++] = option_at(p, i, n, &ignored)->stable;
	}
	qsort(s->stables, s->stable_count, sizeof(*s->stables), sb_by_double);
	return SB_OK;
}

static double further(const struct solver *s, double most)
{
	return (double)(s->p->micro_batches - 1) * most;
}

static double useless_from(const struct solver *s)
{
	return fmin(s->limit, s->out->seconds);
}

/* The next larger stable time; INFINITY = there is none. */
static double next_stable(const struct solver *s, double than)
{
	size_t at = SB_BISECT(i, 0, s->stable_count, s->stables[i] <= than);

	return at < s->stable_count ? s->stables[at] : INFINITY;
}

/* Puts one size of a stage, in all its options, in front of all points that stand behind `layers`. */
static int put_in_front(struct solver *s, const struct stage_options *c, int64_t first, double most,
                        int64_t layers)
{
	const struct pareto_set *from = &s->ahead[layers];
	struct pareto_set *to = &s->here[layers + c->layers];

	s->out->steps += c->count * (int64_t)from->count;
	for (int64_t o = 0; o < c->count; o++) {
		const struct stage_option *option = &c->options[o];

		if (option->stable > most)
			continue;
		if (to->count + from->count > REDUCE_FROM && to->count + from->count > to->room)
			to->count = pareto_reduce(to->points, to->count);
		if (pareto_set_reserve(to, to->count + from->count) != SB_OK)
			return SB_ENOMEM;
		for (size_t i = 0; i < from->count; i++) {
			const struct pareto_point *x = &from->points[i];
			double sum = x->memory + option->stable, tail = fmax(x->time, sum + option->delta);

			if (tail < useless_from(s))
				to->points[to->count++] =
				    (struct pareto_point){sum, tail, x->back, (uint32_t)(first + o)};
		}
	}
	return SB_OK;
}

/* The sets of the stages from i on, from those behind it. SB_ELIMIT when they grow past all bounds;
 * SB_ECANCELED. */
static int add_stage(struct solver *s, int64_t i, double most)
{
	const struct stage_program *p = s->p;
	struct pareto_set *row;

	for (int64_t r = 0; r <= p->layers; r++)
		s->here[r].count = 0;
	for (int64_t r = 0; r <= p->layers; r++) {
		int64_t first = 0;

		if (sb_stopped(p->watch))
			return SB_ECANCELED;
		for (int64_t k = 0; k < p->sizes[i]; first += p->choices[i][k++].count) {
			const struct stage_options *c = &p->choices[i][k];

			if (s->ahead[r].count > 0 && r + c->layers <= p->layers &&
			    put_in_front(s, c, first, most, r) != SB_OK)
				return SB_ENOMEM;
		}
	}
	for (int64_t r = 0; r <= p->layers; r++) {
		struct pareto_set *set = &s->here[r];

		if (set->count > 0)
			set->count = pareto_reduce(set->points, set->count);
		for (size_t n = 0; n < set->count; n++) {
			struct pareto_point *x = &set->points[n];
			int rc = pareto_record(
			    &s->arena, (struct pareto_step){x->back, 0, (uint16_t)i, (uint16_t)x->option},
			    &x->back);

			if (rc != SB_OK)
				return rc;
		}
	}
	row = s->ahead;
	s->ahead = s->here;
	s->here = row;
	return SB_OK;
}

/* The least tail with no stable time above `most`, INFINITY when there is none that is of use; what was
 * decided for it, and its largest stable time. */
static int least_tail(struct solver *s, double most, double *out_tail, double *out_largest)
{
	const struct stage_program *p = s->p;
	const struct pareto_set *all;
	int rc = SB_OK;

	pareto_arena_free(&s->arena);
	s->arena = (struct pareto_arena){0};
	for (int64_t r = 0; r <= p->layers; r++)
		s->ahead[r].count = 0;
	if (pareto_set_reserve(&s->ahead[0], 1) != SB_OK)
		return SB_ENOMEM;
	s->ahead[0].points[0] = (struct pareto_point){.memory = 0, .time = -INFINITY};
	s->ahead[0].count = 1;
	for (int64_t i = p->stages - 1; rc == SB_OK && i >= 0; i--)
		rc = add_stage(s, i, most);
	all = &s->ahead[p->layers];
	*out_tail = INFINITY;
	*out_largest = most;
	if (rc != SB_OK || all->count == 0)
		return rc;
	*out_tail = all->points[all->count - 1].time;
	*out_largest = 0;
	pareto_decisions(&s->arena, all->points[all->count - 1].back, s->stack, s->decided);
	for (int64_t i = 0; i < p->stages; i++) {
		struct stage_choice ignored;

		*out_largest = fmax(*out_largest, option_at(p, i, s->decided[i], &ignored)->stable);
	}
	return SB_OK;
}

static int try_bound(struct solver *s, double most, double *out_tail, double *out_largest)
{
	int rc = least_tail(s, most, out_tail, out_largest);

	if (rc == SB_OK && further(s, *out_largest) + *out_tail < useless_from(s)) {
		s->out->seconds = further(s, *out_largest) + *out_tail;
		for (int64_t i = 0; i < s->p->stages; i++)
			s->best[i] = s->decided[i];
	}
	return rc;
}

static void look_later(struct solver *s, double low, double low_tail, double high, double high_tail)
{
	if (!(low < high) || low_tail <= high_tail)
		return;
	if (s->range_count < RANGES_MAX)
		s->ranges[s->range_count++] = (struct range){low, low_tail, high, high_tail};
	else
		s->bound = fmin(s->bound, further(s, next_stable(s, low)) + high_tail);
}

/* Halves one range. */
static int look_into(struct solver *s, const struct range *r)
{
	double first = next_stable(s, r->low), middle, tail, largest;
	int rc;

	if (first >= r->high || further(s, first) + r->high_tail >= useless_from(s))
		return SB_OK;
	if (s->out->steps >= s->effort) {
		s->bound = fmin(s->bound, further(s, first) + r->high_tail);
		return SB_OK;
	}
	middle = fmax(first, r->low + (r->high - r->low) / 2);
	if (middle >= r->high)
		middle = first;
	rc = try_bound(s, middle, &tail, &largest);
	if (rc == SB_ELIMIT)
		s->bound = fmin(s->bound, further(s, first) + r->high_tail);
	if (rc != SB_OK)
		return rc == SB_ELIMIT ? SB_OK : rc;
	look_later(s, r->low, r->low_tail, isfinite(tail) ? largest : r->low, tail);
	look_later(s, middle, tail, r->high, r->high_tail);
	return SB_OK;
}

static int search(struct solver *s)
{
	double tail, largest;
	int rc = try_bound(s, INFINITY, &tail, &largest); /* the least tail of all */

	if (rc == SB_ELIMIT) {
		s->bound = 0;
		return SB_OK;
	}
	if (rc == SB_OK && isfinite(tail))
		look_later(s, -1, INFINITY, largest, tail);
	while (rc == SB_OK && s->range_count > 0) {
		struct range r = s->ranges[--s->range_count];

		rc = look_into(s, &r);
	}
	return rc;
}

int stage_program_solve(const struct stage_program *p, int64_t effort, double limit,
                        struct stage_choice *out_choices, struct stage_result *out, struct sb_error *err)
{
	struct solver s
	    __attribute__((cleanup(solver_free))) = {.p = p,
	                                             .out = out,
	                                             .effort = effort > 0 ? effort : STAGE_PROGRAM_EFFORT,
	                                             .limit = limit,
	                                             .bound = INFINITY};
	int rc;

	*out = (struct stage_result){.seconds = INFINITY};
	rc = solver_open(p, &s);
	if (rc == SB_OK)
		rc = search(&s);
	if (rc != SB_OK)
		return rc == SB_ENOMEM ? sb_no_memory(err) : rc;
	out->feasible = isfinite(out->seconds);
	out->lower_bound = fmin(out->seconds, s.bound);
	out->optimal = out->lower_bound >= out->seconds;
	for (int64_t i = 0; out->feasible && i < p->stages; i++)
		option_at(p, i, s.best[i], &out_choices[i]);
	return SB_OK;
}

double stage_program_seconds(const struct stage_program *p, const struct stage_choice *choices)
{
	double sum = 0, largest = 0, delta = -INFINITY;

	for (int64_t i = 0; i < p->stages; i++) {
		const struct stage_option *o = &p->choices[i][choices[i].size].options[choices[i].option];

		delta = fmax(delta, o->delta - sum);
		largest = fmax(largest, o->stable);
		sum += o->stable;
	}
	return (double)(p->micro_batches - 1) * largest + sum + delta;
}
