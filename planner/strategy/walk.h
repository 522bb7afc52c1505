#ifndef SB_PLANNER_STRATEGY_WALK_H
#define SB_PLANNER_STRATEGY_WALK_H
#include <stddef.h>

#include "planner/strategy/keep.h"
#include "planner/strategy/layout.h"
#include "planner/strategy/space.h"

/* The walk through the whole space of strategies, best first. Private to the search. */

/* One way to cut the layers into stages, with its runs. */
struct cut {
	int64_t vpp, last_fewer, first_more;
	int64_t first_run, runs;
	int64_t chunk; /* layers of the shortest first chunk of the stages before the last */
	int64_t steps; /* of effort to tell a stage's memory: uneven chunks are gone through one by one */
};
struct pipeline {
	int64_t pp;
	int first_cut, cuts;
	int straight;        /* cuts without chunks, which come first */
	bool interleaves;    /* some cuts have chunks, */
	int64_t least_chunk; /* and these cut.chunk at least */
};

/* The degrees of the attention's ranks, and a bound of the seconds of every strategy that has them. */
struct layout {
	int64_t tp, tp_x, cp, dp;
	int pipeline;
	int least; /* its row of x->least */
	double bound;
};
/* Seconds of one micro-batch: all layers and ends, and the lightest layer. */
struct work {
	double all, layer;
};
/* And by kind of layers, of the embedding and of the head. */
struct parts_work {
	struct work of;
	double layer[LAYER_KINDS], embedding, head;
};

/* The least work of one tp, tp_x and cp, by its index and sequence parallelism. */
struct least_work {
	struct work of[VALUES_MAX][2];
};

/* What a strategy is beside its degrees, its order and its batch; the memory does not depend on the order. */
struct body {
	const struct cut *cut;
	int zero;
	enum recompute recompute;
	bool overlap_gradients;
	bool fit;                /* as few layers recomputed as fit */
	bool family;             /* all recomputed, and any fewer may be */
	int64_t first_run, runs; /* in x->fitted where fit, else in x->runs */
	double memory, host;     /* bytes of a device, and on the host for it */
	struct offload offload;
	double least; /* seconds below its step's for what it offloads, 0 = not known */
};

#define KNOWN_COSTS_BITS 12
#define KNOWN_COSTS (1 << KNOWN_COSTS_BITS)
#define KNOWN_WORK_BITS 15
#define KNOWN_WORK (1 << KNOWN_WORK_BITS)
/* The nearest that a strategy's groups may lie, whatever the order of its ranks. */
#define NEAREST_GROUPS 6
struct nearest {
	struct group at[NEAREST_GROUPS]; /* tp, tp_x, tp_y, cp, ep, etp */
};
/* Numbers of devices of each node with which the nearest groups of a division lie alike. */
struct node_class {
	struct nearest nearest;
	size_t first_use, last_use; /* in x->uses, */
	int64_t uses;               /* so many */
	bool listed;                /* the placements on all of these are in x->placements: */
	size_t first_placement, placements;
};
struct node_use {
	int64_t node_devices;
	size_t next; /* of its class, to the last */
};
/* One way to divide the experts over the ranks of a layout. */
struct division {
	int64_t ep, etp;
	double memory;      /* no strategy needs less */
	bool too_large;     /* nothing fitted in a smaller batch */
	size_t first_class; /* of its placements, in x->classes */
	int classes;        /* 0 = not listed yet */
};

/* Costs of a micro-batch that were worked out before, by everything that they depend on. */
struct costs_key {
	int64_t tp, tp_x, cp, ep, etp, micro_batch, node_devices;
	int64_t inside[6][LINK_SCOPES]; /* of tp, tp_x, tp_y, cp, ep, etp */
	int64_t flags;
};
/* Likewise, of search_least_work(). */
struct known_work {
	int64_t tp, tp_x, cp, ep, etp, micro_batch, flags;
	struct parts_work work;
};
/* Where the entries of a table of hashes lie, side by side in the order of their coming: a page is touched
 * only once the ones before it are full. */
struct places {
	uint32_t *at; /* by hash; from 1 on, 0 = empty */
	uint32_t used;
};
struct known_outside {
	int64_t devices;
	struct outside outside;
};
struct known_share {
	double slots;
	int64_t pp;
	double share;
};
struct known_costs {
	struct costs_key key;
	struct layer_costs costs;
	struct parts_work work;
	struct parts_work kept; /* where no layer is recomputed */
};

enum node_walk { NODES_ANY, NODES_WHOLE, NODES_IN_PART }; /* any number; all; or any but all */

struct search {
	const struct search_request *r;
	struct cost_problem swift; /* the problem on a network without latency: for bounds */
	struct network network;    /* the problem's, with what is known of spreads on it */
	bool inner_faster;         /* no link is faster than one further in */
	bool inner_twice;          /* nor than half of it: all-to-all uses both at once */
	struct search_result *out;
	struct keep *keep;
	struct pipeline *pipelines;
	int pipeline_count;
	struct cut *cuts;
	int cut_count;
	struct stage_run *runs;
	int64_t run_count, run_room;
	struct stage_run *fitted; /* runs of the bodies that recompute as little as fits */
	int64_t fitted_count, fitted_room;
	struct values batch;   /* divisors of the global batch */
	struct values ep, etp; /* how experts may be divided */
	struct least_work *least;
	struct layout *layouts;
	size_t layout_count;
	struct division *divisions; /* of one layout */
	int division_count;
	struct node_class *classes; /* of all these */
	struct node_use *uses;
	size_t class_count, use_count;
	struct placements placements;
	struct body *bodies; /* of one layout and batch */
	int body_count;
	double *cut_least;          /* of the pipeline at hand, seconds of each cut are not below */
	uint16_t *plain;            /* by cut and ZeRO level, what fits without recomputation: a bit for
	                               each set of enum offloadable on the host, the first for none */
	unsigned offloadable;       /* such a set: what may be offloaded, */
	unsigned away;              /* and what this walk offloads some of: 0 in the first */
	double without;             /* seconds of the fastest that offloads nothing */
	enum node_walk node_walk;   /* on how many devices of each node this walk has its ranks */
	double host_bytes;          /* of a node, for it */
	bool host_wanted;           /* there are none: least_host is looked for */
	double least_host;          /* of a node, for what the devices could hold and it cannot */
	struct offload_room *rooms; /* of the runs of one body, */
	double *totals;             /* and what the devices need without offload */
	bool batch_fits;            /* in device memory, some body of the batch does */
	struct places works_at;     /* by hash, KNOWN_WORK of them: a new one takes the place of another */
	struct known_work *works;
	struct places known_at; /* KNOWN_COSTS of them, likewise */
	struct known_costs *known;
	struct known_share share;     /* of least_seconds() */
	struct known_outside outside; /* of search_outside() */
	int modes;                    /* ways to recompute */
	double reached;               /* seconds of x->out->best, the fastest that was simulated */
	bool out_of_memory;
	bool unlisted;      /* some layouts were not listed: the effort did not last, */
	bool left_out;      /* or some values of a degree were left out */
	int64_t list_until; /* effort */
	double open;        /* no strategy of those that were not looked at takes less: seconds */
	bool memory_only;   /* stop at the first strategy that fits */
	bool any_fits;
	int64_t effort; /* steps of the walk so far: runs of stages weighed, and what is cut off in one go as
	                   one */
	int64_t ask_at; /* with so much effort: whether to stop */
	bool stopped;
};

/* Lists the cuts, batch sizes and layouts. SB_ENOMEM. */
int search_prepare(struct search *x, struct sb_error *err);
/* Is a strategy of at least these seconds and bytes worth costing in this walk? */
bool search_wants(const struct search *x, double bound, double memory);
/* Has the walk taken more steps than the request allows, or was it stopped? */
bool search_exhausted(struct search *x);
/* Weighs every strategy that offloads nothing, or, with x->away, those that do and may be faster than any
 * that does not; what is worth keeping is in x->keep. False when it gave up after SEARCH_EFFORT steps. */
bool search_walk(struct search *x);
void search_free(struct search *x);
#define SEARCH_AUTO __attribute__((cleanup(search_free))) struct search

/* Costs of one micro-batch of the strategy whose groups are g, from those known; valid until the next call.
 */
const struct known_costs *search_costs(struct search *x, const struct strategy *s, const struct groups *g);
/* Work below that of any order of ranks: every group on neighbouring ranks, no latency. experts: their
 * exchange counts. Valid until the next call. */
const struct parts_work *search_least_work(struct search *x, const struct strategy *s, bool experts);
/* Of any order of ranks on those numbers of devices of each node. */
const struct parts_work *search_least_work_on(struct search *x, const struct strategy *s,
                                              struct node_range nodes, bool experts);
/* cost_outside(), worked out once for neighbours on as many devices. */
double search_outside(struct search *x, const struct strategy *s, double seconds);
/* Seconds of a step below those of any with m micro-batches whose pipeline has, among its stages, those of
 * `count` runs, and first chunks of at least `chunk` layers before the last. kept, done: work where layers
 * are kept, and where they are recomputed. */
double least_runs_seconds(struct search *x, const struct strategy *s, const struct stage_run *runs,
                          int64_t count, int64_t chunk, const struct parts_work *kept,
                          const struct parts_work *done, int64_t m);
/* Likewise of any cut. */
double least_seconds(struct search *x, const struct strategy *s, const struct pipeline *q, struct work w,
                     int64_t m);
/* Simulates what may be the best, the lowest bound first, until `room` more fit into x->keep->top or nothing
 * is left of it. SB_ENOMEM. */
int search_settle(struct search *x, int room, struct sb_error *err);
/* Weighs all strategies of these degrees. */
void weigh_layout(struct search *x, const struct layout *y);
/* Counts all strategies of these degrees as slower than the best. */
void cut_off_layout(struct search *x, const struct layout *y);
#endif
