#include "profiler/timeline_parts.h"

int timeline_walk_begin(const struct timeline *t, const struct timeline_section *s,
                        const struct timeline_lane *lane, struct timeline_walk *out)
{
	struct timeline_walk *w = out;

	w->t = t;
	w->section = s;
	w->lane = lane;
	w->done = 0;
	timeline_sums_init(&w->sums, lane->kinds);
	w->mark_words = timeline_mark_words(w->sums.kinds);
	w->mark_count = (size_t)((lane->count + TIMELINE_MARK_EVENTS - 1) / TIMELINE_MARK_EVENTS);
	w->marks = chunkfile_get(&t->file, lane->marks, w->mark_count * w->mark_words * sizeof(*w->marks));
	return w->marks ? SB_OK : SB_EFORMAT;
}

int timeline_piece(const struct timeline_walk *w, size_t at, struct timeline_piece *out)
{
	const struct chunkfile *f = &w->t->file;
	const struct timeline_section *s = w->section;
	uint64_t first = w->lane->first + at, left = w->lane->count - at;
	uint64_t n = TIMELINE_MARK_EVENTS - at % TIMELINE_MARK_EVENTS;

	if (n > left)
		n = left;
	out->count = (size_t)n;
	out->start = chunkfile_get(f, s->start + first * sizeof(*out->start), n * sizeof(*out->start));
	out->dur = chunkfile_get(f, s->dur + first * sizeof(*out->dur), n * sizeof(*out->dur));
	out->kind = chunkfile_get(f, s->kind + first, n);
	return out->start && out->dur && out->kind ? SB_OK : SB_EFORMAT;
}

static int64_t mark_start(const struct timeline_walk *w, size_t mark)
{
	return w->marks[mark * w->mark_words + MARK_START];
}

/* The last mark from `mark` on that starts before `until`; its own need not be looked at. */
static size_t last_mark(const struct timeline_walk *w, size_t mark, int64_t until)
{
	size_t step = 1, end;

	while (mark + step < w->mark_count && mark_start(w, mark + step) < until) {
		mark += step;
		step *= 2;
	}
	end = mark + step < w->mark_count ? mark + step : w->mark_count;
	while (mark + 1 < end) {
		size_t mid = mark + (end - mark) / 2;

		if (mark_start(w, mid) < until)
			mark = mid;
		else
			end = mid;
	}
	return mark;
}

int timeline_walk_to(struct timeline_walk *w, int64_t until)
{
	size_t mark = w->done / TIMELINE_MARK_EVENTS;
	struct timeline_piece p;

	if (w->done == w->lane->count ||
	    (w->done % TIMELINE_MARK_EVENTS == 0 && mark_start(w, mark) >= until))
		return SB_OK;
	mark = last_mark(w, mark, until);
	if (mark * TIMELINE_MARK_EVENTS > w->done) {
		w->done = mark * TIMELINE_MARK_EVENTS;
		timeline_mark_get(w->marks + mark * w->mark_words, w->done, &w->sums);
	}
	if (timeline_piece(w, w->done, &p) != SB_OK)
		return SB_EFORMAT;
	for (size_t i = 0; i < p.count && p.start[i] < until; i++) {
		timeline_sums_add(&w->sums, p.start[i], p.dur[i], p.kind[i]);
		w->done++;
	}
	return SB_OK;
}
