#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/timeline_parts.h"

#define BATCH 4096

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "side_file", "No memory to write the timeline.");
}

int timeline_begin(struct timeline_writer *w, int fd, struct sb_error *err)
{
	w->sections = NULL;
	w->count = 0;
	return chunkfile_begin(&w->file, fd, TIMELINE_MAGIC, TIMELINE_VERSION, err);
}

void timeline_drop(struct timeline_writer *w)
{
	chunkfile_drop(&w->file);
	free(w->sections);
	w->sections = NULL;
	w->count = 0;
}

int timeline_end(struct timeline_writer *w, struct sb_error *err)
{
	uint64_t at = 0;
	int rc = chunkfile_place(&w->file, &at, err);

	if (rc == SB_OK && w->count > 0)
		rc = chunkfile_add(&w->file, w->sections, w->count * sizeof(*w->sections), err);
	return rc == SB_OK ? chunkfile_end(&w->file, at, w->count, err) : rc;
}

/* What one call of timeline_add() works on. */
struct adding {
	struct chunkfile_writer *file;
	const struct trace *t;
	struct timeline_order order;
	struct timeline_texts texts;
	struct timeline_lane *lanes;
	struct timeline_section section;
	union {
		int64_t wide[BATCH];
		uint32_t narrow[BATCH];
		uint8_t byte[BATCH];
	} batch;
};

static uint32_t new_id(const struct adding *a, uint32_t id)
{
	return id < a->texts.count ? a->texts.ids[id] : 0;
}

static int add_wide(struct adding *a, const int64_t *column, uint64_t *out_at, struct sb_error *err)
{
	int rc = chunkfile_place(a->file, out_at, err);

	for (size_t i = 0; rc == SB_OK && i < a->t->count;) {
		size_t n = 0;

		for (; n < BATCH && i < a->t->count; i++)
			a->batch.wide[n++] = column[a->order.events[i]];
		rc = chunkfile_add(a->file, a->batch.wide, n * sizeof(*a->batch.wide), err);
	}
	return rc;
}

static int add_names(struct adding *a, struct sb_error *err)
{
	int rc = chunkfile_place(a->file, &a->section.name, err);

	for (size_t i = 0; rc == SB_OK && i < a->t->count;) {
		size_t n = 0;

		for (; n < BATCH && i < a->t->count; i++)
			a->batch.narrow[n++] = new_id(a, a->t->name[a->order.events[i]]);
		rc = chunkfile_add(a->file, a->batch.narrow, n * sizeof(*a->batch.narrow), err);
	}
	return rc;
}

static int add_kinds(struct adding *a, struct sb_error *err)
{
	int rc = chunkfile_place(a->file, &a->section.kind, err);

	for (size_t i = 0; rc == SB_OK && i < a->t->count;) {
		size_t n = 0;

		for (; n < BATCH && i < a->t->count; i++)
			a->batch.byte[n++] = a->t->kind[a->order.events[i]];
		rc = chunkfile_add(a->file, a->batch.byte, n, err);
	}
	return rc;
}

/* Adds events [first, end) to the sums; the largest end among them. One without length ends after its start,
 * so that a view up to the last end shows it. */
static int64_t sum_up(const struct adding *a, size_t first, size_t end, struct timeline_sums *s)
{
	const struct trace *t = a->t;
	int64_t last = INT64_MIN;

	for (size_t i = first; i < end; i++) {
		uint32_t e = a->order.events[i];
		int64_t stop = sb_add_sat(t->start_ns[e], t->dur_ns[e] > 0 ? t->dur_ns[e] : 1);

		timeline_sums_add(s, t->start_ns[e], t->dur_ns[e], t->kind[e]);
		last = stop > last ? stop : last;
	}
	return last;
}

static int add_rows(struct adding *a, const struct timeline_ordered *lane, int64_t *starts, int64_t *ends,
                    struct sb_error *err)
{
	struct timeline_sums sums;
	int64_t row[MARK_WORDS_MAX];
	size_t end = lane->first + lane->count, mark = 0;
	int rc = SB_OK;

	timeline_sums_init(&sums, lane->kinds);
	for (size_t i = lane->first; rc == SB_OK && i < end; i += TIMELINE_MARK_EVENTS, mark++) {
		size_t stop = end - i < TIMELINE_MARK_EVENTS ? end : i + TIMELINE_MARK_EVENTS;

		timeline_mark_put(&sums, row);
		starts[mark] = a->t->start_ns[a->order.events[i]];
		ends[mark] = sum_up(a, i, stop, &sums);
		if (ends[mark] > a->section.end_ns)
			a->section.end_ns = ends[mark];
		rc = chunkfile_add(a->file, row, timeline_mark_words(sums.kinds) * sizeof(*row), err);
	}
	return rc;
}

static int add_marks(struct adding *a, const struct timeline_ordered *lane, uint64_t *out_at,
                     struct sb_error *err)
{
	size_t n = timeline_mark_count(lane->count);
	int64_t *searched = calloc(2 * n, sizeof(*searched));
	int rc;

	if (!searched)
		return no_memory(err);
	rc = chunkfile_place(a->file, out_at, err);
	if (rc == SB_OK)
		rc = add_rows(a, lane, searched, searched + n, err);
	if (rc == SB_OK)
		rc = chunkfile_add(a->file, searched, 2 * n * sizeof(*searched), err);
	free(searched);
	return rc;
}

static int add_lanes(struct adding *a, struct sb_error *err)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < a->order.lane_count; i++) {
		const struct timeline_ordered *o = &a->order.lanes[i];
		const struct lane *l = &a->t->lanes[o->lane];
		int64_t start = a->t->start_ns[a->order.events[o->first]];

		a->lanes[i] = (struct timeline_lane){.first = o->first,
		                                     .count = o->count,
		                                     .process = new_id(a, l->process),
		                                     .thread = new_id(a, l->thread),
		                                     .device = l->device,
		                                     .kinds = o->kinds,
		                                     .kind = timeline_lane_kind(o->kinds, l->device)};
		if (start < a->section.origin_ns)
			a->section.origin_ns = start;
		rc = add_marks(a, o, &a->lanes[i].marks, err);
	}
	a->section.lane_count = a->order.lane_count;
	if (rc == SB_OK)
		rc = chunkfile_place(a->file, &a->section.lanes, err);
	if (rc == SB_OK)
		rc = chunkfile_add(a->file, a->lanes, a->order.lane_count * sizeof(*a->lanes), err);
	return rc;
}

/* Details in the new order of their events. A bit an event spares a search for those without. */
static int add_details(struct adding *a, struct sb_error *err)
{
	const struct trace *t = a->t;
	uint64_t *has;
	int rc = chunkfile_place(a->file, &a->section.details, err);

	a->section.detail_count = t->detail_count;
	if (rc != SB_OK || t->detail_count == 0)
		return rc;
	has = calloc(t->count / 64 + 1, sizeof(*has));
	if (!has)
		return no_memory(err);
	for (size_t i = 0; i < t->detail_count; i++)
		has[t->details[i].event / 64] |= UINT64_C(1) << t->details[i].event % 64;
	for (size_t i = 0; rc == SB_OK && i < t->count; i++) {
		uint32_t e = a->order.events[i];
		const struct event_detail *from = NULL;

		if (has[e / 64] >> e % 64 & 1)
			from = trace_detail(t, e);
		for (; rc == SB_OK && from && from < t->details + t->detail_count && from->event == e;
		     from++) {
			struct event_detail d = {.event = (uint32_t)i,
			                         .type = new_id(a, from->type),
			                         .group = new_id(a, from->group),
			                         .ranks = new_id(a, from->ranks),
			                         .bytes = from->bytes,
			                         .sequence = from->sequence};

			rc = chunkfile_add(a->file, &d, sizeof(d), err);
		}
	}
	free(has);
	return rc;
}

static int add_columns(struct adding *a, struct sb_error *err)
{
	int rc = add_wide(a, a->t->start_ns, &a->section.start, err);

	if (rc == SB_OK)
		rc = add_wide(a, a->t->dur_ns, &a->section.dur, err);
	if (rc == SB_OK)
		rc = add_wide(a, a->t->link, &a->section.link, err);
	if (rc == SB_OK)
		rc = add_names(a, err);
	return rc == SB_OK ? add_kinds(a, err) : rc;
}

static int add_all(struct timeline_writer *w, struct adding *a, struct sb_error *err)
{
	int rc = timeline_texts(a->t, &a->texts);

	if (rc == SB_OK)
		rc = timeline_order(a->t, &a->order);
	if (rc == SB_OK && !(a->lanes = calloc(a->order.lane_count, sizeof(*a->lanes))))
		rc = SB_ENOMEM;
	if (rc != SB_OK)
		return no_memory(err);
	rc = timeline_texts_add(a->t, &a->texts, a->file, &a->section, err);
	if (rc == SB_OK)
		rc = add_columns(a, err);
	if (rc == SB_OK)
		rc = add_lanes(a, err);
	if (rc == SB_OK)
		rc = add_details(a, err);
	if (rc == SB_OK && sb_grow(&w->sections, w->count, sizeof(*w->sections)) != SB_OK)
		rc = no_memory(err);
	if (rc == SB_OK)
		w->sections[w->count++] = a->section;
	return rc;
}

int timeline_add(struct timeline_writer *w, const struct trace *t, int64_t rank, const char *source,
                 struct sb_error *err)
{
	struct adding *a;
	int rc;

	if (t->count == 0)
		return SB_OK;
	a = calloc(1, sizeof(*a));
	if (!a)
		return no_memory(err);
	a->file = &w->file;
	a->t = t;
	a->section = (struct timeline_section){
	    .rank = rank, .count = t->count, .origin_ns = INT64_MAX, .end_ns = INT64_MIN};
	a->section.source_bytes = strlen(source);
	rc = chunkfile_place(&w->file, &a->section.source, err);
	if (rc == SB_OK)
		rc = chunkfile_add(&w->file, source, a->section.source_bytes, err);
	if (rc == SB_OK)
		rc = add_all(w, a, err);
	timeline_order_free(&a->order);
	free(a->texts.ids);
	free(a->lanes);
	free(a);
	return rc;
}
