#ifndef SB_PLANNER_PIPELINE_PIPEDREAM_H
#define SB_PLANNER_PIPELINE_PIPEDREAM_H
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"

/* PipeDream's whole optimizer: stages of unlike layers that several machines share, level by level of a
 * network (Narayanan et al., SOSP 2019, section 3.1; algorithms.md 5: as published in
 * optimizer_graph_hierarchical.py). It looks at the steady state alone, without a flush. */

#define PIPEDREAM_LEVELS_MAX 4

/* From the innermost on: GPUs of a server, servers of a rack, … */
struct pipedream_level {
	int64_t machines; /* of the level below, in one of this level */
	double bandwidth; /* bytes per second between them */
};

struct pipedream_problem {
	int64_t layers;
	const double *time;       /* forward and backward of each layer, seconds of one micro-batch */
	const double *weights;    /* bytes that copies of each layer exchange */
	const double *parameters; /* bytes of each layer: weights, gradients and optimizer */
	const double *activation; /* bytes that each layer keeps of a micro-batch */
	const double *output;     /* bytes over the cut behind each layer, [layers - 1]; NULL = not counted */
	const struct pipedream_level *levels;
	int64_t level_count;
	double memory;                /* bytes of each machine of the innermost level; INFINITY = no bound */
	const struct sb_watch *watch; /* NULL: nobody follows */
};

/* Layers that a group of machines holds in copies. */
struct pipedream_stage {
	int64_t first, count;
	int64_t replicas[PIPEDREAM_LEVELS_MAX]; /* by level; the copies are their product */
};

struct pipedream_plan {
	struct pipedream_stage *stages; /* grown; freed by pipedream_plan_free() */
	int64_t stage_count;
	double bottleneck;    /* time a micro-batch of the slowest stage or link */
	double data_parallel; /* the same of one stage on all machines; INFINITY = does not fit */
	int64_t candidates;
};

/* Exact for its model: a stage of layers i to j in M copies at a level takes (C + 4 (M - 1) P / (M bw)) / M,
 * C the time of one machine of the level for them and P their weights; the first stage of a level shares the
 * exchange of weights among the machines of the level below, as published. A cut takes 2 output / (bw M) of
 * the stage behind it. All machines are used. A machine keeps the weights and the activations of each
 * micro-batch that is under way behind its stage, ceil(machines behind / M) of them, and of its own, which
 * the published code leaves out. Each level asks for itself, as published: above the innermost one the layers
 * of a stage must fit into one machine of that whole, though several share them, and below it the
 * micro-batches under way behind the level are not counted. SB_EINFEASIBLE, SB_ELIMIT, SB_ENOMEM,
 * SB_ECANCELED. */
int pipedream_replicate(const struct pipedream_problem *p, struct pipedream_plan *out, struct sb_error *err);
/* The least whole number of bytes with which some stages fit, whatever p->memory. As above, some 30 times. */
int pipedream_least_memory(const struct pipedream_problem *p, double *out_bytes, struct sb_error *err);
void pipedream_plan_free(struct pipedream_plan *plan);
#define PIPEDREAM_PLAN_AUTO __attribute__((cleanup(pipedream_plan_free))) struct pipedream_plan
#endif
