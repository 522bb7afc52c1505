#ifndef SB_PLANNER_METHODS_STAGE_PROGRAM_H
#define SB_PLANNER_METHODS_STAGE_PROGRAM_H
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"

/* Mist's choice between stages (search-algorithms section 9; the paper solves it as a MILP): each stage takes
 * a number of layers and one of its options for that number, with the seconds of a steady micro-batch
 * (stable) and what the first and the last one add (delta). Least of
 *
 *   (micro_batches - 1) x max stable + sum of stable + max over i of (delta_i - sum of stable before i). */

struct stage_option {
	double stable, delta; /* finite and not negative; delta may be negative */
};
struct stage_options {
	int64_t layers;
	int64_t count;
	const struct stage_option *options;
};
struct stage_program {
	int64_t stages, layers, micro_batches;
	/* [stages], each a list of `sizes[i]`: the numbers of layers that stage i may have. */
	const struct stage_options *const *choices;
	const int64_t *sizes;
	const struct sb_watch *watch; /* NULL: nobody waits */
};
struct stage_choice {
	int64_t size, option; /* indices into choices[i] and its options */
};
struct stage_result {
	double seconds, lower_bound;
	bool optimal;
	bool feasible; /* else there is no plan below the limit */
	int64_t steps;
};
#define STAGE_PROGRAM_EFFORT ((int64_t)1 << 26)

/* The best choice of each stage. Exact: for a bound on the largest stable time, a dynamic program from the
 * last stage to the first over (sum of stable, largest tail), whose Pareto sets are kept whole. effort: steps
 * at most, 0 = STAGE_PROGRAM_EFFORT; past it optimal is false. limit: plans that take so long are of no use
 * (INFINITY = any is). SB_ECANCELED; SB_ENOMEM. */
int stage_program_solve(const struct stage_program *p, int64_t effort, double limit,
                        struct stage_choice *out_choices, struct stage_result *out, struct sb_error *err);
/* The objective of given choices. */
double stage_program_seconds(const struct stage_program *p, const struct stage_choice *choices);
#endif
