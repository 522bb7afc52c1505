#ifndef SB_PLANNER_STRATEGY_KEEP_H
#define SB_PLANNER_STRATEGY_KEEP_H
#include "planner/strategy/search.h"

/* What the search remembers of the strategies that it costed. Private to the search. */

#define KEEP_TOP 48
#define KEEP_DEGREES 32
#define KEEP_FRONT 1024

struct kept {
	struct strategy strategy;
	double bound, memory;
};

struct keep {
	struct kept top[KEEP_TOP]; /* the lowest bounds, ascending */
	int top_count;
	double discarded;                  /* lowest bound of what fell out of `top` */
	struct kept degrees[KEEP_DEGREES]; /* the best of each set of degrees, ascending */
	int degrees_count;
	struct kept front[KEEP_FRONT]; /* not dominated: memory ascending, bound descending */
	int front_count;
	double best; /* lowest bound so far, INFINITY before any */
};

/* Nothing is remembered yet. */
void keep_init(struct keep *k);
/* Takes in a strategy that fits. Ties keep the first. */
void keep_offer(struct keep *k, const struct strategy *s, double bound, double memory);
/* Same dp, tp, cp, pp, ep. */
bool same_degrees(const struct strategy *a, const struct strategy *b);
#endif
