#ifndef SB_PROFILER_TIMELINE_H
#define SB_PROFILER_TIMELINE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/num.h"
#include "profiler/chunkfile.h"
#include "profiler/trace.h"

/* The events of all captures of a profile in one side file, ordered for looking at a part of them.
 *
 * A lane's events stand together, by start. Before each 64th of them stands a mark: how long the lane was
 * busy (the union of its events) up to there and how far the events before it reach, for the whole lane and
 * for each kind of event on it. The busy time up to any moment t is then that of the events that start before
 * t, less what of them lies beyond t, which is one piece, because the event that reaches furthest starts
 * before t. So a column of the view is the difference of two sums, each found by a search in the marks and at
 * most 64 events: exact, and as quick for ten million events in it as for ten. This is why there is no
 * pyramid of coarser levels.
 *
 * 29 bytes an event, and a mark of 32 (one kind on the lane) or 32 + 24 an event kind bytes for each 64. */

#define TIMELINE_MARK_EVENTS 64

struct capture;

/* ---- writing ---- */

struct timeline_writer {
	struct chunkfile_writer file;
	struct timeline_section *sections;
	size_t count;
};

/* Starts a file, written from the start of fd. SB_ENOMEM. End with timeline_drop(). */
int timeline_begin(struct timeline_writer *w, int fd, struct sb_error *err);
/* Adds the events of one capture; one without events is left out. Needs 4 bytes an event more, 8 when they
 * are not in order. rank: SB_NULL = unknown; source: its path in the upload. SB_EIO, SB_ENOSPC, SB_ENOMEM;
 * SB_ELIMIT past 4 GiB of names. */
int timeline_add(struct timeline_writer *w, const struct trace *t, int64_t rank, const char *source,
                 struct sb_error *err);
/* Adds a capture: its events or, where it has none, the rows of its kernel table, one lane a core and one for
 * all communication. The rows need 33 bytes each more, and room for their names. Errors as above. */
int timeline_add_capture(struct timeline_writer *w, const struct capture *c, struct sb_error *err);
/* Completes the file: without this call it is not valid. Does not sync. */
int timeline_end(struct timeline_writer *w, struct sb_error *err);
void timeline_drop(struct timeline_writer *w);
#define TIMELINE_WRITER_AUTO __attribute__((cleanup(timeline_drop))) struct timeline_writer

/* ---- reading ---- */

/* What a lane is, from the kinds of its events. */
enum timeline_lane_kind {
	TIMELINE_HOST,
	TIMELINE_DEVICE,
	TIMELINE_COMMUNICATION, /* on a device, nothing but communication and waiting for it */
	TIMELINE_ANNOTATION,    /* annotations, of host or device */
	TIMELINE_OVERLAP,       /* of Ascend's overlap analysis */
	TIMELINE_LANE_KINDS
};

/* One lane, as stored. */
struct timeline_lane {
	uint64_t first, count;    /* events of the capture: [first, first + count) */
	uint64_t marks;           /* place of its marks */
	uint32_t process, thread; /* texts of the capture */
	int32_t device;           /* -1 on the host or unknown */
	uint32_t kinds;           /* bit k: it holds events of kind k (enum event_kind) */
	uint32_t kind;            /* enum timeline_lane_kind */
	uint32_t reserved;
};

/* One capture, as stored: places of its columns. Lanes are ordered by device (hosts last), process and
 * thread, numbers in names by value. */
struct timeline_section {
	int64_t rank;                          /* SB_NULL = unknown */
	int64_t origin_ns, end_ns;             /* first start, last end */
	uint64_t count;                        /* events, > 0 */
	uint64_t start, dur, link, name, kind; /* columns as in struct trace */
	uint64_t lanes, lane_count;
	uint64_t details, detail_count; /* struct event_detail, by event */
	uint64_t text_starts, text_count, texts, text_bytes;
	uint64_t source, source_bytes; /* its path in the upload, which no other capture has */
};

/* An opened file. Reading is thread-safe. */
struct timeline {
	struct chunkfile file;
	const struct timeline_section *sections; /* in the order they were added */
	size_t count;
};

/* Maps a file; fd may be closed afterwards. Takes the same time however large the file is: what else is
 * damaged shows when it is used. SB_EFORMAT ("bad_side_file"), SB_EIO, SB_ENOMEM. */
int timeline_open(int fd, struct timeline *out, struct sb_error *err);
void timeline_close(struct timeline *t);
#define TIMELINE_AUTO __attribute__((cleanup(timeline_close))) struct timeline
/* The lanes of a capture, NULL when they are damaged. */
const struct timeline_lane *timeline_lanes(const struct timeline *t, const struct timeline_section *s);
/* A text of a capture: borrowed, not ended by NUL. "" with *out_len 0 for an unknown id; NULL when damaged.
 */
const char *timeline_text(const struct timeline *t, const struct timeline_section *s, uint32_t id,
                          size_t *out_len);

/* The path of a capture in the upload: borrowed, not ended by NUL; NULL when damaged. */
const char *timeline_source(const struct timeline *t, const struct timeline_section *s, size_t *out_len);

/* Brings a capture's events back as a trace of its own, lane by lane and each lane by start: what analyses
 * that come later walk over. Only rank, source and trace of *out are set, with format FORMAT_SIGNALBOX; a
 * capture that was but a kernel table has its rows as events. Free with capture_free(). 33 bytes an event.
 * SB_EFORMAT, SB_ENOMEM. */
int timeline_load(const struct timeline *t, const struct timeline_section *s, struct capture *out,
                  struct sb_error *err);

/* ---- looking ---- */

struct timeline_query {
	const struct timeline_section *section;
	int64_t from_ns, to_ns; /* from the origin; events that overlap [from, to) are looked at; from < to */
	uint32_t px; /* columns, 1..TIMELINE_PX_MAX; column i begins at from + floor(i (to-from) / px) */
	const uint32_t *lanes; /* only these, in rising order; NULL = all */
	size_t lane_count;
	size_t
	    lane_limit;   /* lanes at most: those of devices first, then those with the most events in view */
	size_t row_limit; /* bins and events at most */
};
#define TIMELINE_PX_MAX 10000

/* What of a lane lies in one column; columns without anything are left out. */
struct timeline_bin {
	uint32_t px;
	uint32_t category;          /* kind of event that takes most time; the lower number of equals */
	uint64_t count;             /* events that start in it, so that the columns' counts add up */
	uint64_t busy_ns, width_ns; /* covered by events of the lane; length of the column */
};

struct timeline_event {
	int64_t start_ns, dur_ns; /* start from the origin; not cut to the view */
	uint32_t name;
	uint32_t category; /* enum event_kind */
};

struct timeline_row {
	uint32_t lane;      /* index into the lanes of the section */
	bool binned;        /* rows are bins, else events */
	uint64_t in_view;   /* events that start in [from, to) */
	size_t first, rows; /* in bins or events of the view */
};

struct timeline_view {
	int64_t origin_ns;
	struct timeline_row *lanes; /* by lane */
	size_t lane_count;
	struct timeline_bin *bins;
	size_t bin_count;
	struct timeline_event *events; /* by start, longer first */
	size_t event_count;
	uint64_t left_lanes, left_events; /* what the limits cut off, events that start in view */
};

/* Looks at a part of a capture. A lane with at most px events in view shows them, another its columns.
 * SB_EFORMAT when what is needed of the file is damaged, SB_ENOMEM; SB_EINVAL for a query out of bounds. */
int timeline_look(const struct timeline *t, const struct timeline_query *q, struct timeline_view *out,
                  struct sb_error *err);
void timeline_view_free(struct timeline_view *v);
#define TIMELINE_VIEW_AUTO __attribute__((cleanup(timeline_view_free))) struct timeline_view
#endif
