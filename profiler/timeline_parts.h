#ifndef SB_PROFILER_TIMELINE_PARTS_H
#define SB_PROFILER_TIMELINE_PARTS_H
#include "profiler/timeline.h"

/* Shared inside timeline_*.c only. */

/* Change the version whenever what is stored changes its meaning: the file is made again then. */
#define TIMELINE_MAGIC "SBEVENTS"
#define TIMELINE_VERSION 2

/* ---- order (timeline_order.c) ---- */

/* Events of a trace lane by lane: lanes without events are left out. */
struct timeline_order {
	uint32_t *events; /* indices of the trace: one lane after the other, each by start */
	struct timeline_ordered {
		uint32_t lane;  /* of the trace */
		uint32_t kinds; /* bit k: it holds events of kind k */
		size_t first, count;
	} * lanes;
	size_t lane_count;
};
/* SB_ENOMEM. Nothing in the result depends on the order of the events in the trace, other than which comes
 * first of events that are equal in all that is shown. */
int timeline_order(const struct trace *t, struct timeline_order *out);
void timeline_order_free(struct timeline_order *o);
#define TIMELINE_ORDER_AUTO __attribute__((cleanup(timeline_order_free))) struct timeline_order
/* What a lane with events of these kinds is. */
enum timeline_lane_kind timeline_lane_kind(uint32_t kinds, int32_t device);
bool timeline_is_host(uint32_t kinds, int32_t device);

/* ---- texts (timeline_texts.c) ---- */

/* New ids for the texts that events, lanes and details of a trace use: the others are not written. */
struct timeline_texts {
	uint32_t *ids; /* by old id; 0 = not used, or the empty text. free() it. */
	size_t count;
	uint32_t used; /* new ids, the empty text's among them */
};
/* SB_ENOMEM. */
int timeline_texts(const struct trace *t, struct timeline_texts *out);
/* Writes the used texts: their starts, one more for the end, and their bytes. */
int timeline_texts_add(const struct trace *t, const struct timeline_texts *x, struct chunkfile_writer *file,
                       struct timeline_section *section, struct sb_error *err);

/* ---- marks (timeline_mark.c) ---- */

/* Busy time of events taken one by one in order of their start. */
struct timeline_sum {
	uint64_t busy; /* of their union, ns */
	int64_t reach; /* the largest end, INT64_MIN at first */
	uint64_t count;
};

/* All that is summed over a lane: [0] every event, [1 + i] the events of its i-th kind, when there is more
 * than one. */
struct timeline_sums {
	struct timeline_sum of[1 + EVENT_KIND_COUNT];
	uint8_t slot[256]; /* of a kind, 0 = not summed apart */
	uint8_t kind[1 + EVENT_KIND_COUNT];
	size_t kinds; /* summed apart: 0 or >= 2 */
};
/* Nothing summed yet, for a lane with these kinds. */
void timeline_sums_init(struct timeline_sums *s, uint32_t kinds);
void timeline_sums_add(struct timeline_sums *s, int64_t start, int64_t dur, uint8_t kind);
/* Of the busy time, what lies before t; every event summed up must start before t. */
static inline uint64_t timeline_busy(const struct timeline_sum *s, int64_t t)
{
	return s->reach > t ? s->busy - ((uint64_t)s->reach - (uint64_t)t) : s->busy;
}

/* The marks of a lane are three arrays of 64-bit words behind each other. One row a mark: busy and reach of
 * all events before it, then busy, reach and count for each kind summed apart. Then the start of each mark's
 * first event, then the largest end of each mark's events: apart, because they are searched. */
enum { MARK_BUSY, MARK_REACH, MARK_KINDS, MARK_KIND_WORDS = 3 };
#define MARK_WORDS_MAX (MARK_KINDS + MARK_KIND_WORDS * EVENT_KIND_COUNT)
static inline size_t timeline_mark_words(size_t kinds)
{
	return MARK_KINDS + MARK_KIND_WORDS * kinds;
}
static inline size_t timeline_mark_count(uint64_t events)
{
	return (size_t)((events + TIMELINE_MARK_EVENTS - 1) / TIMELINE_MARK_EVENTS);
}
/* Sums to a row, and back; count is the number of events before it. */
void timeline_mark_put(const struct timeline_sums *s, int64_t *row);
void timeline_mark_get(const int64_t *row, uint64_t count, struct timeline_sums *s);

/* ---- walking along a lane (timeline_walk.c) ---- */

/* Some events of a lane. */
struct timeline_piece {
	const int64_t *start, *dur;
	const uint8_t *kind;
	size_t count;
};

/* The events of a lane that start before some moment, which only grows. */
struct timeline_walk {
	const struct timeline *t;
	const struct timeline_section *section;
	const struct timeline_lane *lane;
	const int64_t *rows, *starts, *ends; /* of the marks */
	size_t mark_count, mark_words;
	size_t done;                 /* events that start before the moment */
	int64_t next;                /* start of the first that does not, INT64_MAX when there is none */
	size_t at;                   /* of the piece */
	struct timeline_piece piece; /* events from `at` on; `done` lies in it or behind it */
	struct timeline_sums sums;   /* of the events that are done */
};
/* SB_EFORMAT when the lane's marks are damaged. */
int timeline_walk_begin(const struct timeline *t, const struct timeline_section *s,
                        const struct timeline_lane *lane, struct timeline_walk *out);
/* The last mark from `mark` on that starts before `until` (`mark` itself is not looked at). Its events are
 * fetched into the cache meanwhile: memory that is far apart is all that a wide view waits for. */
size_t timeline_walk_find(const struct timeline_walk *w, size_t mark, int64_t until);
/* Goes on to the events that start before `until`, of which the last are behind `mark`. SB_EFORMAT. */
int timeline_walk_to(struct timeline_walk *w, int64_t until, size_t mark);
/* The events from the at-th of the lane up to the next mark. SB_EFORMAT. */
int timeline_piece(const struct timeline_walk *w, size_t at, struct timeline_piece *out);

/* ---- rows (timeline_rows.c) ---- */

struct timeline_looking {
	const struct timeline *t;
	const struct timeline_query *q;
	const struct timeline_lane *lanes;
	int64_t *edges; /* px + 1 moments */
	struct timeline_view view;
	size_t bin_capacity, event_capacity;
};
/* Events of the lane that overlap the view, counted up to `most`: those that start in it (*out_in_view,
 * counted in full) and those that reach into it. SB_EFORMAT. */
int timeline_count(const struct timeline_looking *l, const struct timeline_lane *lane, uint64_t most,
                   uint64_t *out_in_view, uint64_t *out_overlapping);
/* Appends the lane's columns or events to the view. SB_EFORMAT, SB_ENOMEM. */
int timeline_add_bins(struct timeline_looking *l, const struct timeline_lane *lane);
int timeline_add_events(struct timeline_looking *l, const struct timeline_lane *lane);
#endif
