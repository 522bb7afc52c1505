#ifndef SB_PLANNER_PIPELINE_CSIMD_DIVISION_H
#define SB_PLANNER_PIPELINE_CSIMD_DIVISION_H
#include "planner/pipeline/csimd.h"

/* The division of the layers for given micro-batches: `first_count` of `first` samples, then `rest_count` of
 * `rest`. Costs of layers as prefix sums, so that a stage's is one difference. */
struct csimd_costs {
	const struct csimd_problem *p;
	int64_t first, rest;
	double first_count, rest_count;
	double share; /* see `from`; 0 where speeds differ */
	bool uniform; /* all stages alike and no links: only the slowest stage matters */
	/* [layers + 1] each */
	double *of_first[CSIMD_PASSES], *of_rest[CSIMD_PASSES];
	/* What a machine that all others wait for adds: first_count * its first + (rest_count - 1) * its
	 * rest, and a share of what the machines before it take longer for the first run than `once` counts:
	 * the layers from i up to j weigh to[j] - from[i]. */
	double *to[CSIMD_PASSES], *from[CSIMD_PASSES];
	double *once[CSIMD_PASSES]; /* the lesser of the two: what every stage adds, whichever run is in it */
	double *bytes;
	/* [csimd_link()]: a link both ways once, and its weight each way; zeros without links. */
	double *link_work, *link_weight;
	double *room; /* what holds all of them */
};
/* Fills the arrays for micro-batches of equal sizes. *c is zero, or was filled for the same problem.
 * SB_ENOMEM. */
int csimd_costs_fill(struct csimd_costs *c, const struct csimd_problem *p, int64_t micro_batches);
/* How many links there are to choose from. */
int64_t csimd_links(const struct csimd_problem *p);
void csimd_costs_clear(struct csimd_costs *c);
#define CSIMD_COSTS_AUTO __attribute__((cleanup(csimd_costs_clear))) struct csimd_costs
/* With another share, 0 to 1; only where speeds do not differ. The whole gives the best bound, less often the
 * better divisions: the first run waits for the slowest machine so far, so that the first stages had better
 * be no larger than the others. */
void csimd_costs_share(struct csimd_costs *c, double share);
/* The makespan of a division, exactly; scratch: 8 * stages. */
double csimd_costs_makespan(const struct csimd_costs *c, const int64_t *cuts, double *scratch);
/* Whether a division fits the memory. */
bool csimd_costs_fit(const struct csimd_costs *c, const int64_t *cuts);
/* What the stage of the layers from i up to j weighs, and the link behind it. */
double csimd_weight(const struct csimd_costs *c, enum csimd_pass pass, int64_t stage, int64_t i, int64_t j);
double csimd_link_weight(const struct csimd_costs *c, enum csimd_pass pass, int64_t stage, int64_t j);

/* No machine may weigh more. */
struct csimd_bound {
	double of[CSIMD_PASSES];
};
struct csimd_scratch {
	int64_t *cuts;    /* stages + 1: the division found */
	double *least;    /* 2 * (layers + 1) */
	int32_t *queue;   /* layers + 1 */
	int32_t *choice;  /* stages * (layers + 1); NULL where all stages are alike */
	double *machines; /* 8 * stages */
};
int csimd_scratch_open(const struct csimd_costs *c, struct csimd_scratch *out);
void csimd_scratch_clear(struct csimd_scratch *s);
#define CSIMD_SCRATCH_AUTO __attribute__((cleanup(csimd_scratch_clear))) struct csimd_scratch

/* The division of least work within a bound and within the memory; s->cuts. Where all stages are alike, every
 * stage takes what it can: O(stages log layers). Else by dynamic programming over the last cut, whose least
 * is a sliding window's minimum, because the window's start never goes back: O(stages * layers). false: there
 * is none. *out_work: of the stages and links; *out_got: the largest weights, not above the bound. */
bool csimd_divide(const struct csimd_costs *c, const struct csimd_bound *bound, struct csimd_scratch *s,
                  double *out_work, struct csimd_bound *out_got);
/* Steps that one csimd_divide() takes, about. */
int64_t csimd_divide_steps(const struct csimd_costs *c);
/* The least bound of one pass alone (the improved multi-dimensional dichotomy, where all stages are alike): a
 * bisection that ends at what a division has. INFINITY: nothing fits. */
double csimd_least_bound(const struct csimd_costs *c, enum csimd_pass pass, struct csimd_scratch *s);

/* The division of least makespan for the micro-batches of the costs. */
struct csimd_division {
	int64_t *cuts;      /* stages + 1, the caller's: the best division */
	double makespan;    /* INFINITY: none fits the memory */
	double lower_bound; /* of all divisions; at most the makespan */
	int64_t weighed;
};
/* steps: what it may still take, counted down; past it the bound is what is proved so far. Only a makespan
 * below `cutoff` is looked for. SB_ENOMEM. */
int csimd_best_division(const struct csimd_costs *c, double cutoff, struct csimd_scratch *s, int64_t *steps,
                        struct csimd_division *out);
/* Looks for a better division of two runs where all stages are alike, among those whose stages get smaller as
 * far as the first run lets them; out: in and out. */
void csimd_profiles(const struct csimd_costs *c, struct csimd_scratch *s, int64_t *steps,
                    struct csimd_division *out);
/* Sharpens a best division of two runs, where the bound above is not the makespan itself: all divisions stage
 * by stage, those dropped that another one beats in all that matters behind it, or that cannot get below what
 * is known. Leaves out->lower_bound as it is when that takes too many. SB_ENOMEM. */
int csimd_prove_division(const struct csimd_costs *c, double cutoff, int64_t *steps,
                         struct csimd_division *out);

/* No steps are left once nobody waits. */
static inline void csimd_ask(const struct csimd_problem *p, int64_t *steps)
{
	if (sb_stopped(p->watch))
		*steps = 0;
}

/* ---- the best-first search that division and data share (csimd_nodes.c) ---- */

/* A box of which nothing is better than `bound`. */
struct csimd_node {
	double bound;
	double low[2], high[2];
	double got[2], work;
};
struct csimd_nodes {
	struct csimd_node *items;
	size_t count;
};
int csimd_nodes_push(struct csimd_nodes *n, const struct csimd_node *node);
/* The one of least bound; false when there is none. */
bool csimd_nodes_pop(struct csimd_nodes *n, struct csimd_node *out);
void csimd_nodes_clear(struct csimd_nodes *n);
#define CSIMD_NODES_AUTO __attribute__((cleanup(csimd_nodes_clear))) struct csimd_nodes

/* Makespans are sums of doubles: what differs by less is taken as equal. */
#define CSIMD_ROUNDING 1e-10
#endif
