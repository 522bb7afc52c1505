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
	RELIEF_LINK    /* all transmission of a capture's collectives; waiting is not scaled */
};
struct relief {
	enum relief_kind kind;
	uint32_t capture; /* index into the profile's captures */
	uint32_t index;   /* of the event or kernel row; else 0 */
	float factor;     /* new over old duration, >= 0 */
};

struct replay_result {
	int64_t measured_ns; /* of the whole capture, on the rank whose end is last */
	int64_t replayed_ns; /* the same, with the changes */
	int64_t steps;       /* that the two cover, >= 1 */
};

/* Builds the graph of all captures that have a timeline or kernel rows. *out is to be freed by replay_free();
 * NULL when no capture has any. SB_ENOMEM. */
int replay_build(const struct profile *p, struct replay_graph **out, struct sb_error *err);
/* Replays with changes; n 0 = unchanged. Reliefs of captures that are not in the graph are passed over.
 * Deterministic, O(nodes + edges + n log n). SB_ENOMEM. */
int replay_run(const struct replay_graph *g, const struct relief *reliefs, size_t n,
               struct replay_result *out, struct sb_error *err);
/* Is this capture in the graph? */
bool replay_holds(const struct replay_graph *g, uint32_t capture);
void replay_free(struct replay_graph **g);
#define REPLAY_AUTO __attribute__((cleanup(replay_free))) struct replay_graph *
#endif
