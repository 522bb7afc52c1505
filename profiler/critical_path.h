#ifndef SB_PROFILER_CRITICAL_PATH_H
#define SB_PROFILER_CRITICAL_PATH_H
#include "profiler/collectives.h"
#include "profiler/profile.h"

/* The critical path: the chain of work that set the length of a capture, found backwards from the work that
 * ended last (Hermes 4.2.1; the rule is that of CANN msprof's critical_path_parser.py, hermes-paper 4.2). The
 * step before a piece of work that a stream held back for an event is the last of the work before the event's
 * record and the work before it on its own stream (event_waits.h). Where no ids tell, it is the work before
 * it on its stream, when that ended at most PATH_GAP_NS before; else the work that ended last before it, on
 * any stream. Time in which the device waits for a launch that came late is the host's; other time without
 * work on the path is a gap. */
#define PATH_GAP_NS 1000

enum path_part { PATH_COMPUTE, PATH_COMMUNICATION, PATH_COPY, PATH_HOST, PATH_GAP, PATH_PARTS };

/* A stretch of the path. Pieces touch each other: where one ends the next begins. */
struct path_piece {
	int64_t start_ns, dur_ns; /* dur > 0 or, for work without length, 0 */
	uint32_t name;            /* text id of the path; 0 = nothing was recorded, as in a gap */
	uint32_t capture;         /* index into the profile's captures: whose work it is */
	uint8_t part;             /* enum path_part */
};

struct critical_path {
	uint32_t capture;          /* index into the profile's captures; across ranks: where the path ends */
	int64_t device;            /* SB_NULL = the capture names none, and across ranks */
	struct path_piece *pieces; /* from first to last; across ranks each start is on its capture's clock */
	size_t count;
	size_t works; /* of the device, from which the path was taken */
	int64_t part_ns[PATH_PARTS];
	int64_t span_ns; /* first start to last end: the sum of the parts */
};

struct critical_paths {
	struct critical_path
	    *items; /* by capture, then device; those without work on a device are left out */
	size_t count;
	struct critical_path across; /* through the collectives of all captures; count 0 = there are none */
	struct sb_strings *texts;
};

/* Finds the paths of all devices of all captures, and the one across them: there a collective leads to the
 * rank that came last to it, the one on which it took least time; clocks are not compared. Ascend: the rows
 * of the kernel table where there are any, copies being free time there (ascend-formats 1.1). Deterministic,
 * O(n log n). *out is to be freed by critical_paths_free(). SB_ENOMEM; SB_ELIMIT with too many texts. */
int critical_paths_find(const struct profile *p, const struct collectives *c, struct critical_paths *out,
                        struct sb_error *err);
void critical_paths_free(struct critical_paths *p);
#define CRITICAL_PATHS_AUTO __attribute__((cleanup(critical_paths_free))) struct critical_paths
/* "compute", "communication", "copy", "host", "gap". */
const char *path_part_name(enum path_part part);
#endif
