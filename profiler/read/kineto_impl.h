#ifndef SB_PROFILER_READ_KINETO_IMPL_H
#define SB_PROFILER_READ_KINETO_IMPL_H
#include "profiler/read/chrome.h"
#include "profiler/read/id_map.h"
#include "profiler/read/reader.h"

/* Inside of the Kineto reader: kineto.c, kineto_head.c, kineto_kind.c, kineto_lanes.c and kineto_detail.c
 * only. */

enum kineto_arg {
	ARG_NAME, /* of metadata events */
	ARG_CORRELATION,
	ARG_DEVICE,
	ARG_STREAM,
	ARG_BYTES,
	ARG_COPY_KIND,
	ARG_COLLECTIVE,
	ARG_DTYPE,
	ARG_IN_ELEMENTS,
	ARG_OUT_ELEMENTS,
	ARG_GROUP,
	ARG_RANKS,
	ARG_SEQUENCE,
	ARG_COUNT
};

/* What is told beside the events. */
struct kineto_head {
	int64_t base_ns; /* added to every start */
	int64_t rank, world_size;
	char chip[64];
};

struct kineto_lanes {
	struct id_map lanes; /* pid, tid, device → lane */
	struct id_map names; /* pid, tid, is it a thread → name */
};

struct kineto {
	struct read_context *ctx;
	const char *path;
	struct trace trace;
	int64_t event_count;
	struct step *steps;
	size_t step_count;
	struct kineto_head head;
	struct kineto_lanes lanes;
	uint8_t *marks; /* by name id: is it a collective? see kineto_is_collective() */
	size_t mark_count;
	struct jpull_flaw bad_ts, no_dur, negative_dur, begin_end;
};

/* kineto_head.c */
/* chrome_options.member for the members that matter; self is the kineto. */
int kineto_member(void *self, struct jpull *j, const char *key, size_t len, bool *out_read,
                  struct sb_error *err);
/* The rank in a file name such as "rank3", "rank-3" or "rank_3", or SB_NULL. */
int64_t kineto_rank_of_name(const char *path);
/* format_reader.sniff */
int kineto_sniff(const struct sniff *s);

/* kineto_kind.c */
/* What a category stands for, in any case of letters and any era. Collectives and MTIA's copies are told
 * apart by kineto_kind(). */
enum event_kind kineto_category(const char *cat, size_t len);
/* The kind of a span from category and name (whose id is `name`). */
int kineto_kind(struct kineto *k, const struct chrome_event *e, uint32_t name, enum event_kind *out_kind);
/* Does work or waiting on a device; its lane carries a device number. */
bool kineto_on_device(enum event_kind kind);

/* kineto_lanes.c */
int kineto_lane(struct kineto *k, const struct chrome_event *e, enum event_kind kind, uint32_t *out_lane);
/* A metadata event. */
int kineto_metadata(struct kineto *k, const struct chrome_event *e);
/* Gives the lanes their names, once all metadata has been seen. */
void kineto_name_lanes(struct kineto *k);
void kineto_lanes_free(struct kineto_lanes *l);

/* kineto_detail.c */
/* Adds what only collectives and copies have, for the span appended last. */
int kineto_detail(struct kineto *k, const struct chrome_event *e, enum event_kind kind);
/* Bytes of one element of a dtype as PyTorch prints it, 0 = unknown. */
int64_t kineto_dtype_bytes(const char *dtype, size_t len);
#endif
