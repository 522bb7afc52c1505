#ifndef SB_PLANNER_PIPELINE_DRAFT_H
#define SB_PLANNER_PIPELINE_DRAFT_H
#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"
#include "planner/schedule/replay.h"

/* Inside planner/pipeline only: plans while the one of least makespan is looked for. */

/* A stage of a draft: a run of layers, and one way to recompute in it. */
struct draft_stage {
	int32_t first, count, way;
	double forward, backward, weight, saved; /* with its end; saved: half of what its own pair saves */
	double send;                             /* behind it */
};

/* What each time of a stage counts: along a path through the schedule, or a mean of several paths. The price
 * of a draft along any path of its schedule is no more than its makespan. */
struct price {
	double forward, backward, weight, saved, send; /* backward: without what weight holds */
};

/* All that drafts of one problem share. */
struct drafts {
	const struct pipeline_problem *p;
	struct schedule_program program;
	struct schedule_replay *replay;
	struct cells *cells;
	struct device *devices;
	int64_t device_count, layers, stages;
	int32_t *device, *chunk; /* of each stage */
	double *weight, *saved;  /* of all layers before each */
	struct lightest lightest;
	bool splits, pairs;
	bool guessed; /* the weight's part of a backward hangs on what is recomputed: times here are not exact
	               */
	/* times of one simulation, borrowed by `times` */
	double *forward, *backward, *weights, *overlapped, *send;
	struct schedule_times times;
	struct schedule_visits *visits;
	int64_t weighed; /* simulations so far */
	/* Done so far: operations simulated, prices of stages, ways to recompute looked at; some 2 ns each.
	 */
	double work;
};

/* *out is to be freed by drafts_free(); it borrows the problem. SB_EIMPOSSIBLE for a schedule that cannot be;
 * SB_ELIMIT for too many chunks; SB_ENOMEM. */
int drafts_open(const struct pipeline_problem *p, struct drafts **out, struct sb_error *err);
void drafts_free(struct drafts **s);
#define DRAFTS_AUTO __attribute__((cleanup(drafts_free))) struct drafts *
/* Fills *out. SB_ENOMEM. */
int draft_set(struct drafts *s, int64_t stage, int64_t first, int64_t count, int64_t way,
              struct draft_stage *out);
/* A draft from a plan; each stage as fast as what it keeps allows. SB_ENOMEM. */
int draft_of_plan(struct drafts *s, const struct pipeline_stage *plan, struct draft_stage *out);
int draft_to_plan(struct drafts *s, const struct draft_stage *draft, struct pipeline_stage *out);
/* The simulated time; INFINITY as soon as it is sure to be above `bound`. */
double draft_time(struct drafts *s, const struct draft_stage *draft, double bound);
/* The path that the end of the last simulation waited for. out: one a stage. */
void draft_path(struct drafts *s, struct price *out);
double draft_price(struct drafts *s, const struct price *path, const struct draft_stage *draft);

/* Chooses the ways of a device's stages, the layers of which are given: cheap by the price, within its
 * memory; the only ones that are not worse with one chunk. *out_fits: is there any? SB_ENOMEM. */
int draft_fit(struct drafts *s, struct draft_stage *draft, int64_t device, const struct price *price,
              bool *out_fits);
/* The most that a stage's activation of one micro-batch may be, given the stages of its device before it;
 * those behind it hold as little as can be. -INFINITY: there is no room. parameters: of the stage itself. */
double draft_limit(struct drafts *s, const struct draft_stage *draft, int64_t stage, double parameters);
/* The same, with nothing given, prepared for many runs of layers: of the moments that can be the peak those
 * that can bind. It falls as the parameters rise. */
struct stage_limit {
	double room, parameters; /* parameters: of the other stages of the device, at the least */
	struct limit_moment {
		double own, others; /* in flight of the stage; what the others keep, at the least */
	} * moments;
	size_t count;
};
/* SB_ENOMEM. */
int stage_limit_open(struct drafts *s, int64_t stage, struct stage_limit *out);
double stage_limit(const struct stage_limit *l, double parameters);
void stage_limit_free(struct stage_limit *l);
#endif
