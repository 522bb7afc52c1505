#ifndef SB_PROFILER_REPLAY_H
#define SB_PROFILER_REPLAY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profiler/profile.h"

/* What-if replay. A graph of all captures of a profile: nodes are the device's work and the calls of the host
 * that start it or wait for it; edges are the order of a stream and of a thread, launches, events, and
 * collectives across ranks. Each node starts when the last of its predecessors has ended, plus the delay that
 * was measured behind that one. Replayed unchanged it gives the measured times; with some durations changed
 * it tells what the job would have taken. */
struct replay_graph;

/* What is changed. A finding's reliefs say what its cost would come down to; a user's question is turned into
 * the same. */
enum relief_kind {
	RELIEF_EVENT,  /* one event of the timeline, host or device */
	RELIEF_KERNEL, /* one row of the kernel table */
	RELIEF_HOST,   /* all host time of a capture: factor 0 = launches are free */
	RELIEF_DEVICE, /* all compute kernels of a capture */
	RELIEF_LINK,   /* all transmission of a capture's collectives; waiting is not scaled */
	/* The host's time for one operator, between the moment before its launch and the launch: of device
	 * work on the timeline, or of a row of the kernel table. Where the operator was handed over by
	 * another thread, that one's time for it too; where no launch is known, what the device idled before
	 * it. */
	RELIEF_EVENT_LAUNCH,
	RELIEF_KERNEL_LAUNCH
};
struct relief {
	enum relief_kind kind;
	uint32_t capture; /* index into the profile's captures */
	uint32_t index;   /* of the event or kernel row; 0 where all is meant */
	float factor;     /* new over old duration, >= 0; work with 0 is gone, with the gap before it */
};

struct replay_result {
	int64_t
	    measured_ns; /* of the whole capture, on the rank that takes longest: their clocks may differ */
	int64_t replayed_ns; /* the same, with the changes */
	int64_t steps;       /* that the two cover, >= 1 */
};

/* One capture of a replay; SB_NULL when it is not in the graph. */
struct replay_span {
	int64_t measured_ns, replayed_ns; /* from its first node to its last end */
};

/* Nodes of all captures together; 36 bytes each, and 8 more while replaying. A node is a piece of device
 * work, or a host call that starts it, hands it over or waits for it: in traces of PyTorch about two in five
 * events.
 */
#define REPLAY_NODES_MAX 3000000

/* Builds the graph of all captures that have a timeline or kernel rows. The profile must outlive it. *out is
 * to be freed by replay_free(); NULL when no capture has any, or when they have more than REPLAY_NODES_MAX
 * nodes: half a job would not tell what all of it waits for. SB_ENOMEM. */
int replay_build(const struct profile *p, struct replay_graph **out, struct sb_error *err);
/* Replays with changes; n 0 = unchanged. Reliefs of captures that are not in the graph are passed over; of
 * several that name the same work or time the smallest factor counts. spans: room for one of each capture, or
 * NULL. Deterministic, O(nodes + n log n). SB_ENOMEM. */
int replay_run(const struct replay_graph *g, const struct relief *reliefs, size_t n,
               struct replay_result *out, struct replay_span *spans, struct sb_error *err);
/* What a capture's nodes are and how long they take, measured: compute is the sum of its kernels, host the
 * time between the moments of the host that was no waiting. Zeros for one that is not in the graph. */
struct replay_totals {
	int64_t compute_ns, host_ns;
	uint64_t kernels, collectives, copies, launches;
};
struct replay_totals replay_total(const struct replay_graph *g, uint32_t capture);
/* The profile that the graph was built from. */
const struct profile *replay_profile(const struct replay_graph *g);
/* Is this capture in the graph? */
bool replay_holds(const struct replay_graph *g, uint32_t capture);
void replay_free(struct replay_graph **g);
#define REPLAY_AUTO __attribute__((cleanup(replay_free))) struct replay_graph *
#endif
