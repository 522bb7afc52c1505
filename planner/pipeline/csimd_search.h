#ifndef SB_PLANNER_PIPELINE_CSIMD_SEARCH_H
#define SB_PLANNER_PIPELINE_CSIMD_SEARCH_H
#include "planner/pipeline/csimd_division.h"

/* The searches over the numbers of micro-batches, and over their sizes. */

/* Steps that a search may take: about two seconds of one core. Counted, not timed, so that the same request
 * has the same answer everywhere. */
#define CSIMD_STEPS ((int64_t)1 << 30)

struct csimd_search_state {
	const struct csimd_problem *p;
	int64_t least, most; /* micro-batches that may be */
	double speeds, fastest;
	double link_fixed, link_per_sample; /* the least of all cuts */
	struct csimd_costs costs;
	struct csimd_scratch scratch;
	int64_t *best, *trial, *other; /* divisions */
	int64_t steps, candidates;
	double makespan; /* of the best */
	int64_t micro_batches;
	double lower_bound;
};
/* SB_ENOMEM. *x is to be cleared in any case. */
int csimd_search_open(const struct csimd_problem *p, struct csimd_search_state *x);
void csimd_search_clear(struct csimd_search_state *x);

/* What no plan of equal sizes with `least` to `most` micro-batches can be below. */
double csimd_data_bound(struct csimd_search_state *x, int64_t least, int64_t most);
/* The best division for a number of micro-batches; takes it over when it is the best so far. out->cuts is
 * x->trial. */
int csimd_try(struct csimd_search_state *x, int64_t micro_batches, double cutoff, struct csimd_division *out);
/* The exact outer loop over every number of micro-batches: of ranges of them that of the least bound is
 * looked into first, and none that cannot be better than the best. x->lower_bound is of all of them. Without
 * `divide` it only sharpens the bound. */
int csimd_every_count(struct csimd_search_state *x, bool divide);
/* The best number of micro-batches for an even division: a start. */
int64_t csimd_likely_count(struct csimd_search_state *x);
/* The cross-search from one start: best division for the number, best number for the division, until neither
 * changes. It ends where no one of the two helps alone, which may not be the best of all. *out_reached: its
 * makespan. */
int csimd_cross(struct csimd_search_state *x, int64_t start, double *out_reached);
/* The makespan of a division with m micro-batches of equal sizes. */
double csimd_equal_makespan(const struct csimd_problem *p, const int64_t *cuts, int64_t m, double *scratch);
/* Micro-batches of any sizes, in any order, from the plan of equal ones. Where divisions and samples are few,
 * all of them; else samples are moved between neighbours, and layers over cuts, while that helps. *plan: that
 * one, in and out. x->lower_bound is of all of them then. */
int csimd_free_sizes(struct csimd_search_state *x, struct csimd_plan *plan);
/* The first of these two, where there are few: *out_all says whether it has looked at all. plan: in and out.
 */
int csimd_every_size(struct csimd_search_state *x, struct csimd_plan *plan, bool *out_all);
/* How many divisions there are, at most `most` + 1. */
int64_t csimd_divisions(int64_t layers, int64_t stages, int64_t most);
#endif
