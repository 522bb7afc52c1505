#ifndef SB_PLANNER_STRATEGY_KEEP_H
#define SB_PLANNER_STRATEGY_KEEP_H
#include "planner/strategy/search.h"

/* What the search remembers of the strategies that it costed. Private to the search. */

#define KEEP_TOP 48
#define KEEP_DEGREES 32
#define KEEP_FRONT 1024
#define KEEP_FAMILIES 512
#define SAME_TIME 1e-12 /* rounding of one sum in another order */

struct kept {
	struct strategy strategy;
	double bound, memory;
	double upper; /* no simulation takes longer */
	double least; /* on the front: the least upper of the points up to this one */
};

/* Strategies that differ in how many layers they recompute, from all of them to none: how many may be best
 * depends on the memory that one asks for. */
struct family {
	struct strategy strategy; /* recompute_fit */
	double bound;             /* seconds of none of them are below */
	double memory;            /* of the leanest, which recomputes all layers */
	int fitted;               /* the last rung of the ladder that it was fitted to (front.c) */
	bool settled;             /* and simulated there */
};

struct keep {
	struct kept top[KEEP_TOP]; /* what may be the best, to be simulated: bounds ascending */
	int top_count;
	struct kept degrees[KEEP_DEGREES]; /* the best of each set of degrees, ascending */
	int degrees_count;
	/* What no other point is sure to dominate, which takes at most its upper: memory ascending. */
	struct kept front[KEEP_FRONT];
	int front_count;
	struct family families[KEEP_FAMILIES];
	int family_count, uncleared; /* taken in with no room since what is not wanted was cleared */
	bool left_out;               /* of front or families, for want of room */
	double best;                 /* lowest bound so far, INFINITY before any */
};

/* Nothing is remembered yet. */
void keep_init(struct keep *k);
/* Takes the lowest bound of `top` out of it. False when there is none below `reached`. */
bool keep_next(struct keep *k, double reached, struct strategy *out);
/* Takes in a strategy that fits; `top` must have room. Ties keep the first. */
void keep_offer(struct keep *k, const struct strategy *s, double bound, double upper, double memory);
/* Can a strategy of at least these seconds and bytes still be the best, one of the best sets of degrees, or
 * on the front? `reached`: seconds that some strategy is known to take. */
bool keep_wants(const struct keep *k, double reached, double bound, double memory);
/* Can some of a family whose seconds and bytes are at least these be on the front? */
bool keep_wants_family(const struct keep *k, double reached, double bound, double memory);
/* Takes in a family, if it is wanted. With no room those with the highest bounds are left out. */
void keep_family(struct keep *k, double reached, const struct strategy *s, double bound, double memory);
/* Same dp, tp and tp_x, cp, pp, ep. */
bool same_degrees(const struct strategy *a, const struct strategy *b);
#endif
