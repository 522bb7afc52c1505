#ifndef SB_PROFILER_REPLAY_GRAPH_H
#define SB_PROFILER_REPLAY_GRAPH_H
#include "profiler/activity.h"
#include "profiler/event_waits.h"
#include "profiler/replay.h"

/* Inside profiler/replay/ only.
 *
 * A node is a piece of device work, with a start and a length, or a moment of a host thread: the start of a
 * call that launches work, of a task that another thread hands over, or the end of a call that waits for the
 * device. What the host does between two such moments is the lag between them. Nodes of a capture stand in
 * order of their time (device work: of its start; of equal times the host first), and every edge goes from
 * an earlier node to a later one: there are no cycles, whatever the times are. */

#define REPLAY_NONE UINT32_MAX
/* Work that starts this long behind the end of work on another stream was held up by it (a stream's event
 * wait costs a few us; the paper gives no tolerance for "aligns", 4.2; msprof's critical path takes 1 us). */
#define REPLAY_ALIGN_NS 20000
/* What stream order and launch explain up to this needs no other cause. */
#define REPLAY_SLACK_NS 2000
/* So many sets are taken apart before all are. */
#define REPLAY_TRIES 100

enum node_kind { NODE_HOST, NODE_COMPUTE, NODE_COMMUNICATION, NODE_COPY, NODE_KINDS };
enum {
	NODE_KIND_BITS = 3,
	/* which predecessor was the last: the delay behind it is the measured one */
	NODE_BY_CHAIN = 0,
	NODE_BY_CAUSE = 4,
	NODE_BY_WAIT = 8,
	NODE_BY_BITS = 12,
	NODE_UNLAUNCHED = 16, /* no launch is known: what the device idled before it is the host's time */
	NODE_TASK = 32,       /* host: a task taken from another thread's queue */
	NODE_ORDERED = 32,    /* device: ids or the order of the calls say that it waits for `wait` */
	NODE_AFTER_WAIT = 64, /* host: a launch right behind a call that makes a stream wait for an event of
	                         which no more is known, or the host for a collective */
	NODE_MEMBER = 128     /* one of a collective that other ranks take part in */
};

/* 36 bytes a node. Predecessors are REPLAY_NONE or lower node numbers of the same capture. */
struct replay_nodes {
	size_t count;
	int64_t *at;      /* start of device work, or the moment; cut by interval_bound() */
	int64_t *dur;     /* of device work; of a moment: how much of the time before it was waiting */
	uint32_t *event;  /* of the trace, or row of the kernel table */
	uint32_t *chain;  /* the node before it on its stream or thread */
	uint32_t *cause;  /* device: its launch; host: what it waited for */
	uint32_t *wait;   /* device: work of another stream that it waits for; host: enum entry_what */
	uint16_t *thread; /* host: of the capture */
	uint8_t *flags;   /* enum node_kind and the bits above */
};

/* Typical lags of a capture, ns. */
struct replay_lags {
	int64_t gap;                /* between two pieces of work of one stream that was not kept waiting */
	int64_t launch[NODE_KINDS]; /* from a launch call's start to its work on an idle stream */
	int64_t task;               /* from a task's hand-over to its start on an idle thread */
};

struct replay_capture {
	bool held;            /* it is in the graph */
	bool rows;            /* its nodes are rows of the kernel table */
	uint32_t first, end;  /* its nodes */
	uint32_t *threads;    /* of each lane: its thread; UINT16_MAX is none. NULL without a timeline */
	uint16_t main_thread; /* the one with most moments */
	uint16_t task_thread; /* the one that runs what others hand over; the main thread without one */
	int64_t host_shift;   /* what was taken off host times so that no launch follows its work */
	int64_t last;         /* the measured end */
	struct replay_lags lags;
};

/* A matched collective's part on one rank, and the collective. */
struct replay_member {
	uint32_t node, set, capture;
};
struct replay_set {
	uint32_t first, count; /* in set_members; count 0: it was taken apart */
	int64_t transmission;  /* the shortest duration: of the rank that came last */
};

/* More that device work waits for, beside the `wait` that was over last. */
struct replay_wait {
	uint32_t node, behind;
};

struct replay_graph {
	const struct profile *profile;
	size_t count;
	struct replay_capture *captures; /* as in the profile */
	struct replay_nodes nodes;
	struct replay_member *members; /* by node */
	uint32_t *set_members;         /* places in members, by set */
	size_t member_count;
	struct replay_set *sets;
	size_t set_count;
	struct replay_wait *waits; /* by node */
	size_t wait_count;
	int64_t steps;
};

static inline enum node_kind replay_kind(const struct replay_nodes *n, size_t i)
{
	return (enum node_kind)(n->flags[i] & NODE_KIND_BITS);
}
/* The measured end of a node. */
static inline int64_t replay_end(const struct replay_nodes *n, size_t i)
{
	return replay_kind(n, i) == NODE_HOST ? n->at[i] : interval_end(n->at[i], n->dur[i]);
}

/* ---- what is a node (replay_events.c) ---- */

/* What will be a node, before it is one. */
struct replay_entry {
	int64_t at;
	uint32_t event;
	uint8_t kind; /* enum node_kind */
	uint8_t what; /* enum entry_what */
};
enum entry_what {
	ENTRY_WORK,
	ENTRY_BEGIN, /* where the host's time begins */
	ENTRY_LAUNCH,
	ENTRY_FULL,    /* the end of a launch that waited for room in the device's queue */
	ENTRY_BLOCKED, /* the end of a call that waits for work */
	ENTRY_HAND_OVER,
	ENTRY_TASK
};
struct replay_entries {
	struct replay_entry *items; /* by time; of equal times the host first, then by event */
	size_t count;
	int64_t *waits; /* starts of the calls that make a stream wait for an event whose record is not known,
	                   in order */
	size_t wait_count;
	int64_t host_shift;
};
/* Lists the nodes of a capture, at most `most`: *out_fits is false, and nothing is listed, when there are
 * more. SB_ENOMEM. */
int replay_entries(const struct capture *c, const struct launches *l, const struct event_waits *w,
                   size_t most, struct replay_entries *out, bool *out_fits);
void replay_entries_free(struct replay_entries *e);
/* Puts launches that found the device's queue full at the ends of their calls (replay_queue.c). */
void replay_full_queues(const struct capture *c, const struct launches *l, struct replay_entries *e);
void replay_entries_sort(struct replay_entries *e);
/* Does the capture's graph come from its timeline? Else from its kernel table, if any. */
bool replay_from_timeline(const struct capture *c);

/* ---- threads (replay_threads.c) ---- */

/* The thread of each lane of a host: out[lane] counts from 0, UINT16_MAX for other lanes. Lanes of one thread
 * in two processes of the file (Ascend's Python and CANN) are one thread. *out is to be freed. SB_ENOMEM. */
int replay_threads(const struct trace *t, uint32_t **out, size_t *out_count);

/* ---- work that is running (replay_running.c) ---- */

/* Device work by its end, and what ended last of each device. */
struct replay_running {
	const struct replay_nodes *nodes;
	uint32_t *items; /* a heap: the first ends first */
	size_t count;
	const uint32_t *lanes; /* of the nodes, from `first` on */
	uint32_t first;
	uint32_t last; /* that ended, REPLAY_NONE before */
	struct replay_ended {
		uint32_t last, other; /* + 1, 0 = none; `other` is of another lane than `last` */
	} * devices;
	const uint32_t *device_of_lane;
};
/* Adds a node. SB_ENOMEM. */
int replay_running_add(struct replay_running *r, uint32_t node);
/* Ends all that has ended by a time that never falls. */
void replay_running_until(struct replay_running *r, int64_t time);
/* What ended last on the lane's device, on another lane; REPLAY_NONE when nothing did. */
uint32_t replay_running_other(const struct replay_running *r, uint32_t lane);

/* ---- edges (replay_edges.c, replay_host.c, replay_binding.c) ---- */

struct replay_linking {
	struct replay_graph *g;
	struct replay_capture *c;
	const struct capture *from;
	const struct launches *launches; /* NULL without a timeline */
	const struct event_waits *waits_by_id;
	const int64_t *stream_waits; /* starts of calls, in order */
	size_t stream_wait_count;
	struct replay_running running;
	uint32_t *lanes;          /* of device nodes, from c->first on */
	size_t lane_count;        /* of streams */
	uint32_t *lane_last;      /* by lane: its last node + 1 */
	uint32_t *device_of_lane; /* slot */
	struct replay_latest {
		uint32_t compute, communication; /* that started last, + 1 */
	} * latest;                              /* by slot of the device */
	struct replay_thread {
		uint32_t last; /* node + 1 */
		int64_t free;  /* when the last task of the thread was done */
		size_t waits;  /* of streams, up to the last launch */
		size_t link_waits;
	} * threads;
	size_t thread_count;
	uint32_t *handed; /* hand-overs that no task took yet, from `taken` on */
	size_t handed_count, taken;
	uint32_t begin;    /* where the host's time begins, REPLAY_NONE without */
	uint32_t moment;   /* the last of any thread */
	size_t first_task; /* tasks before this one were handed over before the capture began */
	size_t tasks, waits;
	size_t link_waits; /* of the host, for collectives */
};
/* Fills the predecessors of the nodes of a capture; frees the entries meanwhile. SB_ENOMEM. */
int replay_edges(struct replay_graph *g, size_t capture, struct replay_entries *e, const struct launches *l,
                 const struct event_waits *w);
/* Of one node of a host, of one thread of it. SB_ENOMEM. */
int replay_link_host(struct replay_linking *l, uint32_t node);
/* Which thread each host node is of; merges threads that take turns. SB_ENOMEM. */
int replay_assign_threads(struct replay_linking *l);
/* Finds the typical lags, and which predecessor held each node up. */
void replay_bind(struct replay_graph *g, size_t capture);

/* ---- collectives of several ranks (replay_sets.c) ---- */

/* Matches the collectives of the captures that are held. SB_ENOMEM. */
int replay_match(struct replay_graph *g);
/* Takes a set apart: its members keep their measured durations. */
void replay_dissolve(struct replay_graph *g, uint32_t set);

/* ---- changes (replay_changes.c) ---- */

/* Device work that is changed. */
struct replay_scaled {
	uint32_t node;
	float factor;
};
/* Host time that is changed: disjoint pieces of a thread. */
struct replay_piece {
	uint32_t capture;
	uint16_t thread;
	int64_t start, end;
	double factor;
	int64_t saved; /* of the pieces of this thread before this one */
};
struct replay_changes {
	struct replay_scaled *work; /* by node, each once */
	size_t work_count;
	struct replay_piece *pieces; /* by capture, thread and time */
	size_t piece_count;
	size_t *first_piece;         /* of each capture, one more at the end */
	float *host, *device, *link; /* factors, by capture */
};
/* Free *out also after a failure; zero before. SB_ENOMEM. */
int replay_changes(const struct replay_graph *g, const struct relief *reliefs, size_t n,
                   struct replay_changes *out);
/* Makes the pieces disjoint and sums them up (replay_pieces.c). SB_ENOMEM. */
int replay_pieces(const struct replay_graph *g, struct replay_changes *c);
void replay_changes_free(struct replay_changes *c);
/* How much of [start, end) of a thread is saved. */
int64_t replay_saved(const struct replay_changes *c, size_t capture, uint16_t thread, int64_t start,
                     int64_t end);
/* Of device work: the node of an event or row, REPLAY_NONE when it is none. O(log n). */
uint32_t replay_node_of(const struct replay_graph *g, size_t capture, uint32_t event);

/* ---- running (replay_run.c) ---- */

/* The end of each node with the changes, by node. *out_stuck: a set that others wait for and that waits for
 * them, then not all ends are there; UINT32_MAX when all went well. SB_ENOMEM. */
int replay_ends(const struct replay_graph *g, const struct replay_changes *c, int64_t *ends,
                uint32_t *out_stuck);
#endif
