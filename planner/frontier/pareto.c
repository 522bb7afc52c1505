#include "planner/frontier/pareto.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/grow.h"

/* A point must be faster by more than rounding to be worth its memory: else sums of the same parts in another
 * order would be kept apart, and their number would explode. */
#define FASTER (1 - 1e-12)
/* Work between two questions whether it is still wanted: well below a millisecond. */
#define ASK 1e5

void pareto_arena_free(struct pareto_arena *a)
{
	free(a->steps);
	*a = (struct pareto_arena){0};
}

int pareto_record(struct pareto_arena *a, struct pareto_step step, uint32_t *out)
{
	int rc = SB_OK;

	if (a->count >= PARETO_STEPS_MAX)
		return SB_ELIMIT;
	if (a->count == 0) {
		rc = sb_grow(&a->steps, 0, sizeof(*a->steps));
		if (rc != SB_OK)
			return rc;
		a->steps[a->count++] = (struct pareto_step){.node = PARETO_JOIN};
	}
	rc = sb_grow(&a->steps, a->count, sizeof(*a->steps));
	if (rc != SB_OK)
		return rc;
	a->steps[a->count] = step;
	*out = (uint32_t)a->count++;
	return SB_OK;
}

void pareto_decisions(const struct pareto_arena *a, uint32_t back, uint32_t *stack, uint16_t *out)
{
	size_t waiting = 0;

	/* each step that waits holds a decision of its own: there are never more than nodes */
	while (back != 0 || waiting > 0) {
		const struct pareto_step *s;

		if (back == 0)
			back = stack[--waiting];
		s = &a->steps[back];
		if (s->node != PARETO_JOIN)
			out[s->node] = s->option;
		if (s->left != 0 && s->right != 0)
			stack[waiting++] = s->right;
		back = s->left != 0 ? s->left : s->right;
	}
}

static int by_memory(const void *a, const void *b)
{
	const struct pareto_point *x = a, *y = b;

	if (x->memory != y->memory)
		return x->memory < y->memory ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

size_t pareto_reduce(struct pareto_point *points, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(points, n, sizeof(*points), by_memory);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || points[i].time < points[kept - 1].time * FASTER)
			points[kept++] = points[i];
	return kept;
}

size_t pareto_union(const struct pareto_point *x, size_t nx, const struct pareto_point *y, size_t ny,
                    struct pareto_point *out)
{
	size_t i = 0, k = 0, kept = 0;

	while (i < nx || k < ny) {
		const struct pareto_point *next;

		if (k == ny || (i < nx && by_memory(&x[i], &y[k]) <= 0))
			next = &x[i++];
		else
			next = &y[k++];
		if (kept == 0 || next->time < out[kept - 1].time * FASTER)
			out[kept++] = *next;
	}
	return kept;
}

void pareto_set_free(struct pareto_set *s)
{
	free(s->points);
	*s = (struct pareto_set){0};
}

int pareto_set_reserve(struct pareto_set *s, size_t n)
{
	size_t room = s->room < 16 ? 16 : s->room;
	struct pareto_point *p;

	if (n <= s->room)
		return SB_OK;
	while (room < n)
		room *= 2;
	p = realloc(s->points, room * sizeof(*p));
	if (!p)
		return SB_ENOMEM;
	s->points = p;
	s->room = room;
	return SB_OK;
}

void pareto_work_free(struct pareto_work *w)
{
	pareto_set_free(&w->moved);
	pareto_set_free(&w->merged);
}

int pareto_spend(struct pareto_work *w, double work)
{
	w->left -= work;
	w->unasked += work;
	if (w->left < 0)
		return SB_ELIMIT;
	if (w->unasked < ASK)
		return SB_OK;
	w->unasked = 0;
	return sb_watch_rc(w->watch);
}

int pareto_add(struct pareto_work *w, struct pareto_set *io, const struct pareto_point *y, size_t ny,
               const struct pareto_point *by)
{
	struct pareto_set old = *io;
	int rc = pareto_spend(w, (double)(io->count + ny));

	if (rc == SB_OK)
		rc = pareto_set_reserve(&w->moved, ny);
	if (rc == SB_OK)
		rc = pareto_set_reserve(&w->merged, io->count + ny);
	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < ny; i++)
		w->moved.points[i] = (struct pareto_point){y[i].memory + by->memory, y[i].time + by->time,
		                                           y[i].back, by->option};
	w->merged.count = pareto_union(io->points, io->count, w->moved.points, ny, w->merged.points);
	*io = w->merged;
	w->merged = old;
	return SB_OK;
}

int pareto_product(struct pareto_work *w, const struct pareto_point *x, size_t nx,
                   const struct pareto_point *y, size_t ny, struct pareto_set *out)
{
	const struct pareto_point *few = nx < ny ? x : y, *many = nx < ny ? y : x;
	size_t few_count = nx < ny ? nx : ny, many_count = nx < ny ? ny : nx;
	int rc = SB_OK;

	out->count = 0;
	for (size_t i = 0; rc == SB_OK && i < few_count; i++) {
		struct pareto_point by = few[i];

		/* which of the few it came from waits in the place of an option */
		by.option = few[i].back;
		rc = pareto_add(w, out, many, many_count, &by);
	}
	for (size_t i = 0; rc == SB_OK && i < out->count; i++) {
		struct pareto_point *p = &out->points[i];

		if (p->back == 0)
			p->back = p->option;
		else if (p->option != 0)
			rc = pareto_record(w->arena, (struct pareto_step){p->back, p->option, PARETO_JOIN, 0},
			                   &p->back);
		p->option = 0;
	}
	return rc;
}
