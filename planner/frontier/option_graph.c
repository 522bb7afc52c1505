#include "planner/frontier/option_graph.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/frontier/eliminate.h"
#include "planner/frontier/thin.h"
#include "planner/frontier/weighted.h"

#define SUMS_MAX 32    /* weighted sums */
#define SUMS_GUESSED 6 /* where nodes are settled by guess: more prove nothing, and may find nothing */
#define SUMS_WORK 4    /* times the work for sets: one point a cell goes faster than a set */
#define SUMS_LEAST 4   /* sums that must be had: else nodes are settled by guess before */

void option_front_free(struct option_front *f)
{
	free(f->points);
	free(f->bounds);
	pareto_arena_free(&f->arena);
	*f = (struct option_front){0};
}

void option_graph_sum(const struct option_graph *g, const uint16_t *options, double *out_memory,
                      double *out_time)
{
	double memory = 0, time = 0;

	for (int64_t n = 0; n < g->node_count; n++) {
		memory += g->nodes[n].memory ? g->nodes[n].memory[options[n]] : 0;
		time += g->nodes[n].time[options[n]];
	}
	for (int64_t k = 0; k < g->edge_count; k++) {
		const struct option_edge *e = &g->edges[k];
		size_t cell = (size_t)options[e->from] * (size_t)g->nodes[e->to].options + options[e->to];

		memory += e->memory ? e->memory[cell] : 0;
		time += e->time[cell];
	}
	*out_memory = memory;
	*out_time = time;
}

int option_front_options(const struct option_front *f, const struct option_graph *g, size_t point,
                         uint16_t *out)
{
	uint32_t *stack = calloc((size_t)g->node_count + 1, sizeof(*stack));

	if (!stack)
		return SB_ENOMEM;
	for (int64_t n = 0; n < g->node_count; n++)
		out[n] = 0;
	pareto_decisions(&f->arena, f->points[point].back, stack, out);
	free(stack);
	return SB_OK;
}

int64_t option_front_within(const struct option_front *f, double memory)
{
	int64_t best = -1;

	for (size_t i = 0; i < f->count && f->points[i].memory <= memory; i++)
		best = (int64_t)i;
	return best;
}

/* Each node and each edge at its fastest. */
static double fastest(const struct option_graph *g)
{
	double sum = 0;

	for (int64_t n = 0; n < g->node_count; n++) {
		double low = INFINITY;

		for (int64_t o = 0; o < g->nodes[n].options; o++)
			low = fmin(low, g->nodes[n].time[o]);
		sum += low;
	}
	for (int64_t k = 0; k < g->edge_count; k++) {
		const struct option_edge *e = &g->edges[k];
		double low = INFINITY;

		for (int64_t i = 0; i < g->nodes[e->from].options * g->nodes[e->to].options; i++)
			low = fmin(low, e->time[i]);
		sum += low;
	}
	return sum;
}

double option_front_bound(const struct option_front *f, const struct option_graph *g, double memory)
{
	int64_t best = option_front_within(f, memory);
	double bound;

	if (f->whole && g->memory_step == 0 && best >= 0)
		return f->points[best].time;
	if (best < 0 && f->guessed == 0 && g->memory_step == 0)
		return INFINITY; /* the leanest plan was found, and it does not fit */
	bound = fastest(g);
	for (size_t i = 0; i < f->bound_count; i++)
		bound = fmax(bound, f->bounds[i].value -
		                        (f->bounds[i].weight > 0 ? f->bounds[i].weight * memory : 0));
	return best < 0 ? bound : fmin(bound, f->points[best].time);
}

static int leaner_first(const void *a, const void *b)
{
	const struct option_point *x = a, *y = b;

	if (x->memory != y->memory)
		return x->memory < y->memory ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* Sums up what was decided for each point, and drops what is then beaten: rounded memory hid it. */
static int settle(struct option_front *f, const struct option_graph *g)
{
	uint16_t *options = calloc((size_t)g->node_count, sizeof(*options));
	size_t kept = 0;
	int rc = options ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < f->count; i++) {
		rc = option_front_options(f, g, i, options);
		option_graph_sum(g, options, &f->points[i].memory, &f->points[i].time);
	}
	free(options);
	if (rc != SB_OK || f->count == 0)
		return rc;
	qsort(f->points, f->count, sizeof(*f->points), leaner_first);
	for (size_t i = 0; i < f->count; i++)
		if (kept == 0 || f->points[i].time < f->points[kept - 1].time)
			f->points[kept++] = f->points[i];
	f->count = kept;
	return SB_OK;
}

static int add_point(struct option_front *f, const struct pareto_point *p, uint32_t back)
{
	int rc = sb_grow(&f->points, f->count, sizeof(*f->points));

	if (rc == SB_OK)
		f->points[f->count++] = (struct option_point){p->memory, p->time, back};
	return rc;
}

/* All points at once. */
static int solve_sets(const struct option_graph *g, double allowed, struct option_front *out)
{
	struct pareto_work work = {.arena = &out->arena, .left = allowed, .watch = g->watch};
	PARETO_SET_AUTO set = {0};
	int rc = eliminate(g, &work, &set, &out->guessed);

	for (size_t i = 0; rc == SB_OK && i < set.count; i++)
		rc = add_point(out, &set.points[i], set.points[i].back);
	out->work += allowed - work.left;
	out->whole = rc == SB_OK && out->guessed == 0;
	pareto_work_free(&work);
	return rc;
}

/* What the sums share. */
struct sums {
	const struct option_graph *g;
	struct option_front *out;
	struct pareto_work work;
	double each; /* work of one sum */
	double cells_most;
	uint16_t *options;
};

/* A plan with its options as steps. */
static int add_plan(struct sums *s, const struct weighted_plan *plan)
{
	struct pareto_point point = {.memory = plan->memory, .time = plan->time};
	uint32_t back = 0;
	int rc = SB_OK;

	for (int64_t n = 0; rc == SB_OK && n < s->g->node_count; n++)
		rc = pareto_record(&s->out->arena, (struct pareto_step){back, 0, (uint16_t)n, s->options[n]},
		                   &back);
	return rc == SB_OK ? add_point(s->out, &point, back) : rc;
}

/* The plan of the least weighted sum, added to the points; *out_value is that sum. */
static int solve_sum(struct sums *s, double memory, double time, double *out_value)
{
	const struct weighted_sum sum = {memory, time, s->cells_most};
	struct option_front *f = s->out;
	struct weighted_plan plan;
	double left = s->work.left;
	int rc = left < s->each ? SB_ELIMIT : weighted_least(s->g, &sum, &s->work, s->options, &plan);

	f->work += left - s->work.left;
	if (rc != SB_OK)
		return rc;
	f->guessed = plan.guessed;
	if (isinf(plan.time))
		return SB_OK;
	*out_value = time * plan.time + memory * plan.memory;
	rc = add_plan(s, &plan);
	if (rc == SB_OK && plan.guessed == 0 && time > 0)
		rc = sb_grow(&f->bounds, f->bound_count, sizeof(*f->bounds));
	if (rc == SB_OK && plan.guessed == 0 && time > 0)
		f->bounds[f->bound_count++] = (struct option_bound){memory, *out_value};
	return rc;
}

/* Two points of the hull, by their places in the front, between which another one may lie. */
struct gap {
	size_t lean, fast;
};

/* The points of the lower hull, from both ends inwards, the widest gaps' ends first come first served. */
static int solve_hull(struct sums *s)
{
	struct option_front *out = s->out;
	struct gap gaps[2 * SUMS_MAX];
	size_t done = 0, count = 0;
	double value;
	int rc = solve_sum(s, 1, 0, &value);

	if (rc == SB_OK && out->count > 0)
		rc = solve_sum(s, 0, 1, &value);
	if (rc != SB_OK || out->count < 2)
		return rc;
	gaps[count++] = (struct gap){0, 1};
	while (rc == SB_OK && done < count && out->count < (out->guessed > 0 ? SUMS_GUESSED : SUMS_MAX)) {
		struct gap gap = gaps[done++];
		struct option_point lean = out->points[gap.lean], fast = out->points[gap.fast];
		double weight = (lean.time - fast.time) / (fast.memory - lean.memory), sum;
		size_t found = out->count;

		if (!(fast.memory > lean.memory) || !(lean.time > fast.time) || !(weight > 0))
			continue;
		rc = solve_sum(s, weight, 1, &value);
		sum = lean.time + weight * lean.memory;
		if (rc != SB_OK || value >= sum * (1 - 1e-12))
			continue;
		gaps[count++] = (struct gap){gap.lean, found};
		gaps[count++] = (struct gap){found, gap.fast};
	}
	out->cut_short = rc == SB_ELIMIT;
	/* what was found so far is good */
	return rc == SB_ELIMIT ? SB_OK : rc;
}

/* Tables as large as the work lasts for: without both ends the points say nothing. */
static int solve_sums(const struct option_graph *g, double allowed, struct option_front *out)
{
	struct sums s = {.g = g,
	                 .out = out,
	                 .work = {.left = allowed, .watch = g->watch},
	                 .cells_most = ELIMINATE_CELLS_MAX};
	int rc = weighted_work(g, s.cells_most, &s.each);

	while (rc == SB_OK && SUMS_LEAST * s.each > allowed && s.cells_most > 1) {
		s.cells_most /= 4;
		rc = weighted_work(g, s.cells_most, &s.each);
	}
	if (rc == SB_OK && SUMS_LEAST * s.each > allowed)
		rc = SB_ELIMIT;
	s.options = rc == SB_OK ? calloc((size_t)g->node_count, sizeof(*s.options)) : NULL;
	if (rc == SB_OK)
		rc = s.options ? solve_hull(&s) : SB_ENOMEM;
	free(s.options);
	return rc;
}

/* Options by their numbers in the whole graph. */
static void name_options(const struct thin_graph *t, struct option_front *f)
{
	for (size_t i = 1; t->left && i < f->arena.count; i++) {
		struct pareto_step *step = &f->arena.steps[i];

		if (step->node != PARETO_JOIN)
			step->option = t->left[step->node][step->option];
	}
}

static int solve_thin(const struct option_graph *g, double work, struct option_front *out)
{
	double least;
	int rc = weighted_work(g, ELIMINATE_CELLS_MAX, &least);

	/* sets of one point each would be too much already */
	if (rc == SB_OK)
		rc = least > work ? SB_ELIMIT : solve_sets(g, work, out);
	if (rc == SB_ELIMIT) {
		double done = out->work;

		option_front_free(out);
		out->work = done;
		rc = solve_sums(g, SUMS_WORK * work, out);
	}
	return rc;
}

int option_graph_solve(const struct option_graph *g, double work, struct option_front *out)
{
	struct thin_graph thin __attribute__((cleanup(thin_free)));
	int rc = thin_graph(g, work, &thin);

	*out = (struct option_front){0};
	if (rc == SB_OK)
		rc = solve_thin(&thin.graph, work, out);
	if (rc == SB_OK) {
		name_options(&thin, out);
		rc = settle(out, g);
	}
	if (rc == SB_OK && out->count == 0)
		rc = out->guessed > 0 ? SB_ELIMIT : SB_EINFEASIBLE;
	return rc;
}
