#ifndef SB_PLANNER_PIPELINE_PIPELINE_H
#define SB_PLANNER_PIPELINE_PIPELINE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"
#include "planner/schedule/schedule.h"

/* The problem of all pipeline planners: layers to be cut into the stages of a schedule, and what each of them
 * computes again in backward, under the memory of each device. Times in seconds, or in any one unit. */

/* Times and bytes are sums of doubles: a bound is kept when it is passed by rounding alone. */
#define PIPELINE_ROUNDING 1e-9

/* What a layer computes again, from nothing to all of it (BMPipe; algorithms.md 1.2). */
enum pipeline_recompute {
	KEEP_ALL,
	REDO_SELECT, /* chosen operators */
	REDO_COMM,   /* the outputs of communication */
	REDO_BOTH,   /* the two above */
	REDO_FULL,   /* the whole layer */
	PIPELINE_RECOMPUTES
};

/* Identical layers. */
struct pipeline_body {
	int64_t count;
	double forward;
	double backward[PIPELINE_RECOMPUTES];   /* recomputing included; NaN = not offered */
	double activation[PIPELINE_RECOMPUTES]; /* bytes of one micro-batch; NaN = not offered */
	double parameters;                      /* bytes: weights, gradients and optimizer */
	/* The gradient of the weights, a part of each backward, where the schedule splits it; NaN = half of
	 * the backward that recomputes nothing. */
	double weight;
	double overlapped; /* its forward beside another micro-batch's backward, as one pair; NaN = the sum */
};

/* What stands before the first layer, or behind the last; its activations are not counted. */
struct pipeline_end {
	double forward, backward, parameters;
};

struct pipeline_row;
struct lp_solver;

struct pipeline_problem {
	struct schedule_shape shape;
	const struct pipeline_body *bodies; /* in the order of the model */
	int64_t body_count;
	struct pipeline_end head, tail;
	const double *memory; /* bytes of each device; INFINITY = no bound */
	double constant;      /* bytes that each device needs besides */
	bool allow_empty;     /* stages without layers */
	/* Bounds that the user sets on layers (rows.h), and who solves what needs an ILP (lp.h; NULL =
	 * nobody): for `bmpipe`. */
	const struct pipeline_row *rows;
	int64_t row_count;
	const struct lp_solver *lp;
	/* A hop from one device to the next, and back. */
	double send_seconds;
	const double *cut_send;  /* over the cut behind each layer, [layers - 1]; NULL = send_seconds */
	const double *link_send; /* over the link behind each device, [devices - 1]; added; may be NULL */
	bool blocking;           /* a hop keeps both of its devices busy; else it only delays the arrival */
	const struct sb_watch *watch; /* stopped, every search ends with SB_ECANCELED; NULL: never */
};
/* Layers of all bodies. */
int64_t pipeline_layers(const struct pipeline_problem *p);

/* SB_EINFEASIBLE with fewer layers than stages, unless stages may be empty. */
int pipeline_check_layers(const struct pipeline_problem *p, struct sb_error *err);
/* From the device of a stage to that of the next one, or back, over the cut between the layers before and
 * those behind it. */
double pipeline_hop(const struct pipeline_problem *p, int64_t stage, int64_t before, int64_t behind);

/* A plan is an array of these, [stage * body_count + body]: layers of one body in one stage by what they
 * recompute. Stages take the layers in the order of the model: body 0's first. */
struct pipeline_stage {
	int64_t layers[PIPELINE_RECOMPUTES];
};
/* Layers that a stage holds. */
int64_t pipeline_stage_layers(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                              int64_t stage);
/* Does a plan hold every layer once, and leave no stage empty that may not be? */
bool pipeline_is_whole(const struct pipeline_problem *p, const struct pipeline_stage *plan);

/* Times of a stage with its end, and its activation of one micro-batch. */
struct pipeline_load {
	double forward, backward; /* backward: all of it */
	double weight, overlapped;
	double activation, parameters;
	/* What recomputing adds to the backward, and what of one micro-batch is there again until its
	 * backward where that comes early; of layers that are never kept whole it is not known, and left out.
	 */
	double recompute, rebuilt;
};
struct pipeline_load pipeline_load(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                                   int64_t stage);
/* The bottleneck of a plan, T = max over devices of (max over its chunks of F + max of B): the time of one
 * pair of the steady phase (SAPP's objective B; algorithms.md 1.6). stages: one a stage of the schedule. */
double pipeline_bottleneck(const struct pipeline_problem *p, const struct pipeline_stage *plan);

/* A layer's bytes that do not grow with the micro-batches in flight: its parameters; where a schedule
 * recomputes early also all that it keeps, since one micro-batch, no longer counted in flight, has it there
 * again until its backward. */
double pipeline_fixed_bytes(const struct pipeline_problem *p, const struct pipeline_body *b);
/* SB_EIMPOSSIBLE, with the field, where a schedule recomputes early and a layer does not keep most without
 * recomputing: what would be there again is not known. */
int pipeline_check_recompute(const struct pipeline_problem *p, struct sb_error *err);

/* Scores many plans of one problem: the order of its schedule is listed once. */
struct pipeline_scorer;
/* *out is to be freed by pipeline_scorer_free(); it borrows the problem. SB_EIMPOSSIBLE for a schedule that
 * cannot be; SB_ENOMEM. */
int pipeline_scorer_open(const struct pipeline_problem *p, struct pipeline_scorer **out,
                         struct sb_error *err);
void pipeline_scorer_free(struct pipeline_scorer **s);
#define PIPELINE_SCORER_AUTO __attribute__((cleanup(pipeline_scorer_free))) struct pipeline_scorer *
/* The simulated time of a plan, exact for the order of its schedule. Stages without layers pass on at once.
 */
int pipeline_makespan(struct pipeline_scorer *s, const struct pipeline_stage *plan, double *out,
                      struct sb_error *err);
/* Exact peak of each device in out, by the order of the schedule. */
void pipeline_peaks(const struct pipeline_scorer *s, const struct pipeline_stage *plan, double *out);
struct pipeline_score {
	double bottleneck, makespan;
	double bubble_share; /* idle part of all devices' time until the end; NaN where nothing takes time */
	bool fits;           /* every device within its memory */
};
/* All of it; peaks: one a device, may be NULL. */
int pipeline_score(struct pipeline_scorer *s, const struct pipeline_stage *plan, struct pipeline_score *out,
                   double *peaks, struct sb_error *err);
/* The times that a plan gives its schedule's simulation, and the list it runs: borrowed from the scorer, as
 * pipeline_makespan() or pipeline_score() last left them. */
const struct schedule_times *pipeline_times(const struct pipeline_scorer *s);
const struct schedule_program *pipeline_program(const struct pipeline_scorer *s);

/* What a planner can say of its plan. */
enum pipeline_objective {
	PIPELINE_MAKESPAN,   /* the simulated time */
	PIPELINE_BOTTLENECK, /* of one pair in the steady phase */
	PIPELINE_WHOLE       /* SAPP's estimate of the whole pipeline (algorithms.md 1.6, A) */
};
struct pipeline_proof {
	const char *objective; /* what was minimised; static */
	double value;          /* of the plan, by that objective */
	double lower_bound;    /* that no plan of this problem goes below; NaN = none is known */
	bool optimal;          /* proved */
	int64_t candidates;    /* plans that were weighed */
};

#define PIPELINE_NONE_FOUND "none_found"

/* The plan of least bottleneck, and of those one that recomputes least. Exact wherever that is not too much
 * to try (planner/pipeline/frontier.h, runs.h); out_proof says whether it is. out: a plan. SB_EINFEASIBLE
 * with the reason, and the word PIPELINE_NONE_FOUND where it is not proved; SB_EIMPOSSIBLE for a problem that
 * cannot be; SB_ELIMIT past SCHEDULE_CHUNKS_MAX chunks; SB_ENOMEM. */
int pipeline_least_bottleneck(const struct pipeline_problem *p, struct pipeline_stage *out,
                              struct pipeline_proof *out_proof, struct sb_error *err);

/* The least memory of a device, the same for all, with which some plan fits; the problem's own memory does
 * not count. Exact where a device has one stage; else the peak of a plan, with no other one found 1e-9 below
 * by the solver of the least bottleneck. SB_EINFEASIBLE with the reason when no memory would do;
 * SB_EIMPOSSIBLE; SB_ELIMIT; SB_ENOMEM. */
int pipeline_least_memory(const struct pipeline_problem *p, double *out_bytes, struct sb_error *err);
#endif
