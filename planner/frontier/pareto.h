#ifndef SB_PLANNER_FRONTIER_PARETO_H
#define SB_PLANNER_FRONTIER_PARETO_H
#include <stddef.h>
#include <stdint.h>

#include "base/watch.h"

/* Pareto sets of (memory, time), sorted by memory: each point takes more memory than the one before and less
 * time. Both are sums over what was decided, and the two are all that may be compared: pruning by a part of
 * the time loses plans that are slower in that part and fit (search-algorithms.md 2.1, 2.3). */
struct pareto_point {
	double memory, time;
	uint32_t back;   /* the step that it came from; 0 = nothing was decided yet */
	uint32_t option; /* of the node that is being decided: not yet a step */
};

/* How a point came about: two earlier steps (0 = none) and one decision (node PARETO_JOIN = none). */
struct pareto_step {
	uint32_t left, right;
	uint16_t node, option;
};
#define PARETO_JOIN UINT16_MAX
#define PARETO_STEPS_MAX ((size_t)1 << 22) /* 48 MiB */

struct pareto_arena {
	struct pareto_step *steps; /* the first stands for nothing */
	size_t count;
};
void pareto_arena_free(struct pareto_arena *a);
/* SB_ENOMEM; SB_ELIMIT past PARETO_STEPS_MAX. */
int pareto_record(struct pareto_arena *a, struct pareto_step step, uint32_t *out);
/* Writes the option of each node decided on the way to `back` to out[node]; stack: room for one step more
 * than there are nodes. */
void pareto_decisions(const struct pareto_arena *a, uint32_t back, uint32_t *stack, uint16_t *out);

/* Sorts n points and drops those that another one beats or equals; returns how many are left. */
size_t pareto_reduce(struct pareto_point *points, size_t n);
/* The reduced union of two reduced sets into out (room for both); returns its size. Of equal points the first
 * set's stays. */
size_t pareto_union(const struct pareto_point *x, size_t nx, const struct pareto_point *y, size_t ny,
                    struct pareto_point *out);

/* A set that grows. */
struct pareto_set {
	struct pareto_point *points;
	size_t count, room;
};
void pareto_set_free(struct pareto_set *s);
#define PARETO_SET_AUTO __attribute__((cleanup(pareto_set_free))) struct pareto_set
/* Room for n points. SB_ENOMEM. */
int pareto_set_reserve(struct pareto_set *s, size_t n);

/* What a computation may still do, in points gone through, and what it does it with. */
struct pareto_work {
	struct pareto_arena *arena;
	struct pareto_set moved, merged; /* room to work in */
	double left;
	const struct sb_watch *watch; /* is asked now and then; NULL: nobody waits */
	double unasked;               /* work since it was asked */
};
void pareto_work_free(struct pareto_work *w);
/* So much work is done now. SB_ELIMIT when it is used up; SB_ECANCELED. */
int pareto_spend(struct pareto_work *w, double work);
/* *io becomes the reduced union of itself and y, each point of y by (memory, time) further and with that
 * option. SB_ENOMEM; as pareto_spend(). */
int pareto_add(struct pareto_work *w, struct pareto_set *io, const struct pareto_point *y, size_t ny,
               const struct pareto_point *by);
/* out = the reduced set of all sums of a point of x and one of y, joined in the arena. out is none of the
 * two. SB_ENOMEM; as pareto_spend(). */
int pareto_product(struct pareto_work *w, const struct pareto_point *x, size_t nx,
                   const struct pareto_point *y, size_t ny, struct pareto_set *out);
#endif
