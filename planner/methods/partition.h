#ifndef SB_PLANNER_METHODS_PARTITION_H
#define SB_PLANNER_METHODS_PARTITION_H
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"

/* Cutting a chain of layers into stages by AMP's objective (research page search-algorithms, section 5):
 *
 *   (micro_batches - 1) x slowest stage + all layers + the cuts + the longest exchange
 *
 * where a stage takes the sum of its layers, cut j behind layer l costs cut_seconds[l][j], and stage j
 * exchanges the sum of its layers' weights at exchange_seconds[j] each. */

#define PARTITION_LAYERS_MAX 4096

struct partition_problem {
	int64_t layers, stages; /* 1 <= stages <= layers <= PARTITION_LAYERS_MAX */
	int64_t micro_batches;  /* at least 1 */
	const double *seconds;  /* [layers], of one micro-batch, finite and not negative */
	/* [layers - 1][stages - 1]: of the cut behind layer l that is the pipeline's cut j, finite and not
	 * negative. NULL = all 0. */
	const double *cut_seconds;
	/* In its stead, where it is a product: [layers - 1] and [stages - 1]. */
	const double *cut_size, *cut_rate;
	/* [layers] and [stages], finite and not negative. NULL = nothing is exchanged. */
	const double *weight, *exchange_seconds;
	/* [stages][layers + 1]: the first layer that stage j may hold where it ends before layer i; i = it
	 * may not end there. It never falls with i. NULL = every stage may hold all layers. */
	const int16_t *earliest;
	const struct sb_watch *watch; /* stopped, a search ends with what it has; NULL: never */
};
struct partition {
	double seconds;     /* of the cut that was found, by the objective; INFINITY = none is allowed */
	double lower_bound; /* no cut is below it: equal to seconds where optimal */
	bool optimal;
	int64_t steps; /* cells of the dynamic program that were worked out */
};

/* Steps after which a search settles for what it has: about half a second. */
#define PARTITION_EFFORT ((int64_t)1 << 27)

/* The cut of least cost: out_layers[stages] counts of layers. Exact: for a bound on the slowest stage, and
 * one on the exchange, the cheapest cuts are a dynamic program over stages and layers; the bounds between
 * which they do not change are left out. effort: steps at most, 0 = PARTITION_EFFORT; past it optimal is
 * false. SB_ENOMEM. */
int partition_least(const struct partition_problem *p, int64_t effort, int64_t *out_layers,
                    struct partition *out, struct sb_error *err);
/* A cut that p->earliest allows; *out_any: there is one. SB_ENOMEM. */
int partition_any(const struct partition_problem *p, int64_t *out_layers, bool *out_any);
/* The parts of the objective of a given cut. */
struct partition_parts {
	double pipeline, cuts, exchange;
};
struct partition_parts partition_parts_of(const struct partition_problem *p, const int64_t *layers);
/* Their sum. */
double partition_seconds(const struct partition_problem *p, const int64_t *layers);
/* As many layers in each stage, the first ones one more where they do not come out even. */
void partition_even(int64_t layers, int64_t stages, int64_t *out_layers);
#endif
