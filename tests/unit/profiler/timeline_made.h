#ifndef SB_TESTS_UNIT_PROFILER_TIMELINE_MADE_H
#define SB_TESTS_UNIT_PROFILER_TIMELINE_MADE_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/timeline.h"

/* Traces made up for the timeline, and what a view of them must hold, computed the plain way: every event is
 * looked at for every column. */

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	/* xorshift64*, Vigna 2016 */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * UINT64_C(2685821657736338717);
}

/* In [0, below). */
static inline int64_t random_below(struct random *r, int64_t below)
{
	return (int64_t)(random_next(r) % (uint64_t)below);
}

static inline uint32_t made_text(struct trace *t, const char *text)
{
	uint32_t id = 0;

	assert_int_equal(sb_strings_add(t->strings, text, strlen(text), &id), SB_OK);
	return id;
}

static inline uint32_t made_lane(struct trace *t, const char *process, const char *thread, int32_t device)
{
	struct lane lane = {
	    .process = made_text(t, process), .thread = made_text(t, thread), .device = device};
	uint32_t id = 0;

	assert_int_equal(trace_add_lane(t, &lane, &id), SB_OK);
	return id;
}

static inline void made_event(struct trace *t, uint32_t lane, enum event_kind kind, const char *name,
                              int64_t start, int64_t dur)
{
	struct event e = {start, dur, -1, made_text(t, name), lane, kind};

	assert_int_equal(trace_append(t, &e), SB_OK);
}

/* An empty file in memory. */
static inline FILE *made_file(void)
{
	int fd = memfd_create("timeline", MFD_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "w+") : NULL;

	assert_non_null(f);
	return f;
}

/* A file of one capture, opened. */
static inline void made_open(const struct trace *t, int64_t rank, struct timeline *out)
{
	FILE *f = made_file();
	TIMELINE_WRITER_AUTO w;

	assert_int_equal(timeline_begin(&w, fileno(f), NULL), SB_OK);
	assert_int_equal(timeline_add(&w, t, rank, "made", NULL), SB_OK);
	assert_int_equal(timeline_end(&w, NULL), SB_OK);
	assert_int_equal(timeline_open(fileno(f), out, NULL), SB_OK);
	fclose(f);
}

/* A view without limits. */
static inline struct timeline_query made_query(const struct timeline *t, int64_t from, int64_t to,
                                               uint32_t px)
{
	return (struct timeline_query){.section = &t->sections[0],
	                               .from_ns = from,
	                               .to_ns = to,
	                               .px = px,
	                               .lane_limit = SIZE_MAX,
	                               .row_limit = SIZE_MAX};
}

/* The lane of the trace that a lane of the file stands for: by its names, which differ in made-up traces. */
static inline uint32_t made_lane_of(const struct trace *t, const struct timeline *f, uint32_t lane)
{
	const struct timeline_section *s = &f->sections[0];
	const struct timeline_lane *l = timeline_lanes(f, s) + lane;
	size_t n, m, x, y;
	const char *process = timeline_text(f, s, l->process, &n),
	           *thread = timeline_text(f, s, l->thread, &m);

	for (uint32_t i = 0; i < t->lane_count; i++) {
		const char *a = trace_text(t, t->lanes[i].process, &x),
		           *b = trace_text(t, t->lanes[i].thread, &y);

		if (x == n && y == m && memcmp(a, process, n) == 0 && memcmp(b, thread, m) == 0)
			return i;
	}
	fail();
	return 0;
}

struct span {
	int64_t start, end;
};

static inline int by_start(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Length of the union of the lane's events (of one kind, or any: -1) inside [from, to). */
static inline uint64_t plain_busy(const struct trace *t, uint32_t lane, int kind, int64_t from, int64_t to)
{
	struct span *spans = calloc(t->count + 1, sizeof(*spans));
	size_t n = 0;
	int64_t end = from;
	uint64_t sum = 0;

	assert_non_null(spans);
	for (size_t i = 0; i < t->count; i++) {
		int64_t a = t->start_ns[i], b = a + t->dur_ns[i];

		if (t->lane[i] != lane || (kind >= 0 && t->kind[i] != kind))
			continue;
		a = a < from ? from : a;
		b = b > to ? to : b;
		if (a < b)
			spans[n++] = (struct span){a, b};
	}
	qsort(spans, n, sizeof(*spans), by_start);
	for (size_t i = 0; i < n; i++) {
		int64_t a = spans[i].start > end ? spans[i].start : end;

		if (spans[i].end > a) {
			sum += (uint64_t)(spans[i].end - a);
			end = spans[i].end;
		}
	}
	free(spans);
	return sum;
}

static inline uint64_t plain_count(const struct trace *t, uint32_t lane, int kind, int64_t from, int64_t to)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->lane[i] == lane && (kind < 0 || t->kind[i] == kind) && t->start_ns[i] >= from &&
		     t->start_ns[i] < to;
	return n;
}

/* Most time; of equals the lower kind; without any time the lowest that has an event there. */
static inline uint32_t plain_category(const struct trace *t, uint32_t lane, int64_t from, int64_t to)
{
	uint64_t most = 0;
	int best = -1;

	for (int k = 0; k < EVENT_KIND_COUNT; k++) {
		uint64_t busy = plain_busy(t, lane, k, from, to);

		if (busy > most) {
			most = busy;
			best = k;
		}
	}
	for (int k = 0; best < 0 && k < EVENT_KIND_COUNT; k++) {
		if (plain_count(t, lane, k, from, to) > 0)
			best = k;
	}
	return (uint32_t)best;
}

/* Events of the lane that overlap [from, to), those without length among them when they start in it. */
static inline uint64_t plain_overlapping(const struct trace *t, uint32_t lane, int64_t from, int64_t to)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		int64_t a = t->start_ns[i], b = a + t->dur_ns[i];

		n += t->lane[i] == lane && a < to && (a >= from || b > from);
	}
	return n;
}
#endif
