#ifndef SB_PLANNER_FRONTIER_PLANS_H
#define SB_PLANNER_FRONTIER_PLANS_H
#include <stdbool.h>

/* The Pareto set of plans that were costed one by one: each takes more seconds than the one before and fewer
 * bytes. The plans themselves lie with the caller, in slots. */
#define PLAN_FRONT_MAX 256

struct plan_point {
	double seconds, bytes;
	int slot; /* of the caller's [PLAN_FRONT_MAX] plans */
};
struct plan_front {
	struct plan_point point[PLAN_FRONT_MAX];
	int count;
	bool used[PLAN_FRONT_MAX]; /* slots */
};

/* Is no plan as fast that needs as little? */
bool plan_front_wants(const struct plan_front *f, double seconds, double bytes);
/* Takes in a plan that is wanted, in the place of those that it beats; of a full set every second plan but
 * the ends is left out first. Returns the slot to lay it in. */
int plan_front_add(struct plan_front *f, double seconds, double bytes);
/* Leaves those of at most so many seconds, and of more than `wanted` (at least 1) as many evenly, both ends
 * included. */
void plan_front_trim(struct plan_front *f, double seconds, int wanted);
#endif
