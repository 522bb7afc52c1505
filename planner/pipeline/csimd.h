#ifndef SB_PLANNER_PIPELINE_CSIMD_H
#define SB_PLANNER_PIPELINE_CSIMD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/watch.h"

/* Joint division of a model over stages and of its data over micro-batches, for GPipe, when times are not
 * linear in the samples (CSIMD: Euro-Par 2024; TPDS 36(8)). Times in seconds, or in any one unit.
 *
 * Stages and the links between them are machines in a line, each with one micro-batch at a time, in order:
 *     C(i, j) = max(C(i - 1, j), C(i, j - 1)) + time of machine i for micro-batch j.
 * Backward begins when forward has ended, with machines and micro-batches in reverse. A flow shop that runs
 * in reverse takes as long as the same one forward, so both passes are computed in one direction. */

enum csimd_pass { CSIMD_FORWARD, CSIMD_BACKWARD, CSIMD_PASSES };

/* Of one layer, by the samples b of a micro-batch. */
struct csimd_time {
	/* A table: lines between its points; below the first its time, beyond the last as between the last
	 * two, never below 0. */
	size_t points; /* 0: the form below */
	const int64_t *samples;
	const double *seconds[CSIMD_PASSES];
	/* a + k max(b, b0) + q b^2, or for slices of a sequence behind `context` samples
	 * a + k max(b, b0) + q b (context + b / 2); backward is rho times that. */
	double a, k, b0, q, rho;
	bool attention; /* the second one */
};
double csimd_time_at(const struct csimd_time *t, enum csimd_pass pass, int64_t samples, int64_t context);
/* The least of any number of samples in low..high, without context. */
double csimd_time_least(const struct csimd_time *t, enum csimd_pass pass, int64_t low, int64_t high);

/* Identical layers behind one another. */
struct csimd_layers {
	int64_t count;
	struct csimd_time time;
	double parameters; /* bytes of a layer: weights, gradients and optimizer */
	double activation; /* bytes of a layer and sample */
};

struct csimd_problem {
	const struct csimd_layers *rows;
	size_t row_count;
	int64_t layers; /* of all rows */
	int64_t stages;
	int64_t samples;
	int64_t samples_max;   /* of a micro-batch */
	int64_t micro_batches; /* 0: to be found */
	int64_t sequences;     /* with slices: of `samples` tokens each; else 1 */
	/* A transfer over the cut behind layer i, or with send_by_link from stage i to the next, takes
	 * send_fixed[i] + send_per_sample[i] * samples, each way. NULL: no links. */
	const double *send_fixed, *send_per_sample;
	bool send_by_link;
	const double *speeds;         /* of a stage: it takes a layer's time / speed. NULL: 1 */
	const double *memory;         /* bytes of a stage, for its layers. NULL: no bound */
	const struct sb_watch *watch; /* stopped, a search has no steps left; NULL: never */
};
#define CSIMD_LAYERS_MAX 100000
#define CSIMD_STAGES_MAX 4096
#define CSIMD_SAMPLES_MAX 1000000000
/* Layers times stages where links, speeds or memories differ. */
#define CSIMD_CELLS_MAX (1 << 22)

/* Micro-batches of one size, behind one another. */
struct csimd_run {
	int64_t samples, count;
};
struct csimd_plan {
	int64_t *cuts; /* stages + 1: stage s holds the layers from cuts[s] up to cuts[s + 1] */
	struct csimd_run *runs;
	size_t run_count;
	int64_t micro_batches; /* of all runs */
	int64_t sequences;     /* that run through so one after the other; without slices 1 */
	bool sliced;           /* the runs are slices of a sequence: each stands behind those before */
	double makespan;
};
void csimd_plan_clear(struct csimd_plan *p);
#define CSIMD_PLAN_AUTO __attribute__((cleanup(csimd_plan_clear))) struct csimd_plan

/* How the micro-batches may differ. */
enum csimd_sizes {
	CSIMD_EQUAL, /* the first (samples mod m) hold one more than the others */
	CSIMD_FREE   /* any sizes, in any order */
};
enum csimd_search {
	CSIMD_EXACT, /* every number of micro-batches, whole ranges dropped by a bound */
	CSIMD_CROSS  /* best division, best number, and again; from several starts */
};

struct csimd_result {
	struct csimd_plan plan;
	double lower_bound; /* of all plans of the space that was searched */
	bool optimal;       /* proved for that space */
	int64_t candidates; /* divisions weighed */
};

/* Finds the plan of least makespan. The bounds above hold already (csimd_check()). *out is to be cleared by
 * csimd_plan_clear(&out->plan). SB_EINFEASIBLE when no division fits the memory; SB_ENOMEM. */
int csimd_solve_plan(const struct csimd_problem *p, enum csimd_sizes sizes, enum csimd_search search,
                     struct csimd_result *out, struct sb_error *err);
/* SB_EIMPOSSIBLE with the field for more stages than layers, more micro-batches than samples, too few of
 * them for samples_max, more than CSIMD_CELLS_MAX. */
int csimd_check(const struct csimd_problem *p, struct sb_error *err);
/* The place in send_fixed and send_per_sample of the link behind a stage that ends before layer j. */
int64_t csimd_link(const struct csimd_problem *p, int64_t stage, int64_t j);
/* The least memory of every stage, the same for all, that some division fits; INFINITY past memory. */
double csimd_least_memory(const struct csimd_problem *p);

/* ---- the flow shop (csimd_flow.c) ---- */

/* By the recurrence above, micro-batch by micro-batch; m * stages steps. NaN past memory. */
double csimd_makespan(const struct csimd_problem *p, const struct csimd_plan *plan);
/* What goes through the machines at once. */
struct csimd_piece {
	int64_t samples, context;
};
/* What the stages and the links take for a piece: machines[2s] is stage s and machines[2s + 1] the link
 * behind it; 2 * stages - 1 of them. */
void csimd_machines(const struct csimd_problem *p, const int64_t *cuts, const struct csimd_piece *piece,
                    enum csimd_pass pass, double *machines);
/* One pass of two runs over n machines, exactly: the longest way through the grid of machines and
 * micro-batches that only goes on. It turns from the first run to the rest at one machine; within a run of
 * equal times it spends all it can at the slowest machine it may reach. first_count may be 0, rest_count not.
 * scratch: 2n. */
double csimd_pass(const double *first, double first_count, const double *rest, double rest_count, int64_t n,
                  double *scratch);
/* SB_EINFEASIBLE, with the least memory that would do. */
int csimd_infeasible(const struct csimd_problem *p, struct sb_error *err);
/* Bytes of each stage: GPipe holds the activations of all micro-batches at once. */
void csimd_memory(const struct csimd_problem *p, const int64_t *cuts, double *out);

/* ---- what a plan is compared with (csimd_baselines.c) ---- */

/* MBPP-E: equal numbers of layers, the larger ones first, and as many micro-batches as stages (or the nearest
 * number that can be). MBPP-R: the mean over all divisions with the same micro-batches; past
 * CSIMD_DIVISIONS_MAX of them over as many drawn by a fixed seed. Both are our reading of the paper's
 * baselines, and look at no memory. */
struct csimd_baselines {
	struct csimd_plan even;
	double random_mean;
	int64_t random_divisions;
	bool random_sampled;
};
#define CSIMD_DIVISIONS_MAX 10000
/* out->even is to be cleared. SB_ENOMEM. */
int csimd_compare(const struct csimd_problem *p, struct csimd_baselines *out);

/* ---- TeraPipe: slices of the sequence (csimd_slices.c) ---- */

/* The plan's runs are the slices of a sequence of p->samples tokens. A stage's time of a slice depends on
 * what stands before it. `unit`: slices are multiples of so many tokens, the last one has the rest; 0:
 * chosen, 1 up to CSIMD_SLICE_UNITS of them. *out_unit: what it was. As csimd_solve_plan();
 * SB_EIMPOSSIBLE where so many slices are too many. */
#define CSIMD_SLICE_UNITS 1024
int csimd_solve_slices(const struct csimd_problem *p, int64_t unit, struct csimd_result *out,
                       int64_t *out_unit, struct sb_error *err);
#endif
