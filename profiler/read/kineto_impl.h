#ifndef SB_PROFILER_READ_KINETO_IMPL_H
#define SB_PROFILER_READ_KINETO_IMPL_H
#include "profiler/read/chrome.h"
#include "profiler/read/clock.h"
#include "profiler/read/id_map.h"
#include "profiler/read/reader.h"

/* Inside of the Kineto reader: the files kineto*.c only. */

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
	ARG_COMMUNICATOR,
	ARG_CORRELATION_ID, /* as JAX spells it */
	ARG_STEP_NUMBER,    /* of JAX's and TensorFlow's step annotations */
	ARG_INPUT_DIMS,     /* of the host operators of kineto_work.c; the next two, too */
	ARG_INPUT_TYPE,
	ARG_CONCRETE_INPUTS,
	ARG_BLOCKS, /* of kernels */
	ARG_OCCUPANCY,
	ARG_STACK,        /* of operators, before Python's frames were spans */
	ARG_MEMORY_BYTES, /* of instants of memory, as the five below */
	ARG_ALLOCATED,
	ARG_RESERVED,
	ARG_DEVICE_TYPE,
	ARG_DEVICE_ID,
	ARG_ADDRESS,
	ARG_RECORD, /* of waits for an event: the call that recorded it, and the stream */
	ARG_RECORD_STREAM,
	ARG_COUNT
};

/* What is told beside the events. */
struct kineto_head {
	int64_t base_ns; /* added to every start */
	int64_t rank, world_size;
	enum rank_source rank_from;
	char chip[64];
	int64_t *capacities; /* bytes of memory, by device */
	size_t capacity_count;
};

/* One change of a device's memory. */
struct kineto_memory {
	int64_t ts_ns, bytes;                 /* bytes below 0: released */
	int64_t allocated, reserved, address; /* SB_NULL = not told */
	uint32_t order;                       /* in the file */
	uint32_t lane;                        /* of the thread; UINT32_MAX = none with spans before it */
	int32_t device;                       /* -1 = the host's memory */
};

struct kineto_lanes {
	struct id_map lanes; /* pid, tid, device → lane */
	struct id_map names; /* pid, tid, is it a thread → name */
};

/* A begin or an end (ph B, E), on its way to the other one. */
struct kineto_mark {
	int64_t ts_ns, offset;
	uint32_t place; /* pid and tid together */
	uint32_t event; /* of a begin: its span; KINETO_END of an end */
	uint64_t order; /* in the file */
};
#define KINETO_END UINT32_MAX

struct kineto_pairs {
	struct id_map places; /* pid, tid → place */
	struct kineto_mark *marks;
	size_t count;
};

/* A step's mark among the spans: its window is known once all begins have met their ends. */
struct kineto_step {
	int64_t number;
	uint32_t event;
};

/* Work on a device that was seen already, by content. */
struct kineto_seen {
	int64_t *latest; /* by lane: the latest start so far */
	size_t lane_count;
	bool needed; /* a lane was not in order of time: from then on the slots are kept */
	struct kineto_slot {
		uint32_t event; /* index of the span + 1, 0 = free */
		uint32_t hash;
	} * slots;
	size_t size, count;
	uint64_t seed; /* of the hash */
};

struct kineto {
	struct read_context *ctx;
	const char *path;
	struct trace trace;
	int64_t event_count;
	struct kineto_step *steps; /* by event */
	size_t step_count;
	struct kineto_head head;
	struct kineto_pairs pairs;
	struct {
		struct kineto_memory *items;
		size_t count;
	} memory;
	struct clock_range range; /* before the base is added */
	struct kineto_seen seen;
	struct kineto_lanes lanes;
	uint8_t *marks; /* by name id: is it a collective? see kineto_is_collective() */
	size_t mark_count;
	struct host_work *works; /* by event */
	size_t work_count;
	struct kernel_fill *fills; /* in order of appearance */
	size_t fill_count;
	struct id_map fill_places; /* name → fill */
	struct jpull_flaw bad_ts, no_dur, negative_dur, skipped, repeated;
};

/* kineto_report.c */
/* Adds the warnings of what was tolerated. */
void kineto_report(struct kineto *k);
/* Warns when the trace holds no work of a device. */
void kineto_report_host_only(struct kineto *k);
/* Adds the flaw's warning, if there is any; `what` is a sentence. */
void kineto_warn(struct kineto *k, const struct jpull_flaw *f, const char *code, const char *what);

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
/* Has the name of a kernel the mark of a collective library? For other readers, too. */
bool kineto_collective_name(const char *name);
/* Is this the name (whose id is `name`) of a collective library's kernel? SB_ENOMEM. */
int kineto_is_collective(struct kineto *k, const char *text, uint32_t name, bool *out);

/* kineto_lanes.c */
int kineto_lane(struct kineto *k, const struct chrome_event *e, enum event_kind kind, uint32_t *out_lane);
/* The lane of a thread that spans were seen on; *out_lane is left alone when there is none. */
void kineto_known_lane(struct kineto *k, const struct chrome_event *e, uint32_t *out_lane);
/* A metadata event. */
int kineto_metadata(struct kineto *k, const struct chrome_event *e);
/* Gives the lanes their names, once all metadata has been seen. */
void kineto_name_lanes(struct kineto *k);
void kineto_lanes_free(struct kineto_lanes *l);

/* kineto_devices.c */
/* Traces of JAX and TensorFlow have no categories: a process named "/device:GPU:0" is a device, one of its
 * threads a stream or a view derived from the streams. Settles the kinds of such spans, and the devices of
 * their lanes. Call before kineto_name_lanes(). SB_ENOMEM. */
int kineto_devices(struct kineto *k);

/* kineto_pairs.c */
/* Notes a begin, whose span has the index `event`, or an end (KINETO_END). SB_ENOMEM, SB_ELIMIT. */
int kineto_mark(struct kineto *k, const struct chrome_event *e, uint32_t event);
/* Joins begins and ends, which nest on one pid and tid. The spans that were never closed keep a duration of
 * -1 until kineto_close_spans() ends them where the trace ends. SB_ENOMEM. */
int kineto_join_marks(struct kineto *k);
void kineto_close_spans(struct kineto *k);

/* kineto_repeat.c */
/* Was this very work on a device (place, time, name and correlation) read before? One stream does nothing
 * twice at one time, so it is the same event, written twice. SB_ENOMEM. */
int kineto_repeated(struct kineto *k, const struct event *span, bool *out);

/* kineto_memory.c */
/* Is this an instant of the framework's allocator? */
bool kineto_is_memory(const struct chrome_event *e);
/* Keeps it. SB_ENOMEM. */
int kineto_memory(struct kineto *k, const struct chrome_event *e);
/* Gives the capture the series of all devices. Call when the spans have their final times. SB_ENOMEM. */
int kineto_take_memory(struct kineto *k, struct capture *c);

/* kineto_attribute.c */
/* Gives the capture the allocations that are held at the peak of one device, whose changes these are, by
 * time. SB_ENOMEM. */
int kineto_attribute(struct kineto *k, struct kineto_memory *m, size_t n, struct capture *c);

/* kineto.c */
/* A correlation, -1 = none: AMD writes 0 and -1 (and -1 as an unsigned number) where there is no launch, and
 * such rows are not each other's. */
int64_t kineto_correlation(const struct chrome_text *t);

/* kineto_detail.c */
/* Adds what only collectives, copies and waits have, for the span appended last. */
int kineto_detail(struct kineto *k, const struct chrome_event *e, enum event_kind kind);
/* kineto_work.c */
/* Is this a host operator whose shapes are read? */
bool kineto_wants_shapes(const char *name, size_t len);
/* Adds what the host operator appended last has to do, where its args tell. SB_ENOMEM. */
int kineto_work(struct kineto *k, const struct chrome_event *e);
/* Notes how far a kernel fills the device, where its args tell. SB_ENOMEM. */
int kineto_fill(struct kineto *k, const struct chrome_event *e, const struct event *span);

/* kineto_detail.c, too */
/* Bytes of one element of a dtype as PyTorch prints it, 0 = unknown. */
int64_t kineto_dtype_bytes(const char *dtype, size_t len);
#endif
