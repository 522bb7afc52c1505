#include "profiler/timeline_parts.h"

#include "base/search.h"

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
	w->mark_count = timeline_mark_count(lane->count);
	w->at = 0;
	w->piece.count = 0;
	w->rows =
	    chunkfile_get(&t->file, lane->marks, w->mark_count * (w->mark_words + 2) * sizeof(*w->rows));
	if (!w->rows)
		return SB_EFORMAT;
	w->starts = w->rows + w->mark_count * w->mark_words;
	w->ends = w->starts + w->mark_count;
	w->next = w->starts[0];
	return SB_OK;
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

static void prefetch(const struct timeline_walk *w, size_t mark)
{
	const struct timeline_section *s = w->section;
	uint64_t first = w->lane->first + (uint64_t)mark * TIMELINE_MARK_EVENTS;
	const char *body = w->t->file.map + CHUNK_BYTES;
	const char *start = body + s->start + first * sizeof(int64_t);
	const char *dur = body + s->dur + first * sizeof(int64_t);

	for (size_t at = 0; at < TIMELINE_MARK_EVENTS * sizeof(int64_t); at += 64) {
		__builtin_prefetch(start + at);
		__builtin_prefetch(dur + at);
	}
	__builtin_prefetch(body + s->kind + first);
	__builtin_prefetch(w->rows + mark * w->mark_words);
}

size_t timeline_walk_find(const struct timeline_walk *w, size_t mark, int64_t until)
{
	size_t step = 1, end, first = mark;

	while (mark + step < w->mark_count && w->starts[mark + step] < until) {
		mark += step;
		step *= 2;
	}
	end = mark + step < w->mark_count ? mark + step : w->mark_count;
	mark = SB_BISECT(i, mark + 1, end, w->starts[i] < until) - 1;
	if (mark > first + 1)
		prefetch(w, mark);
	return mark;
}

/* Goes over the piece that holds the first event not done, which starts before `until`. */
static int walk_piece(struct timeline_walk *w, int64_t until)
{
	size_t i;

	if (w->done >= w->at + w->piece.count || w->done < w->at) {
		if (timeline_piece(w, w->done, &w->piece) != SB_OK)
			return SB_EFORMAT;
		w->at = w->done;
	}
	for (i = w->done - w->at; i < w->piece.count && w->piece.start[i] < until; i++)
		timeline_sums_add(&w->sums, w->piece.start[i], w->piece.dur[i], w->piece.kind[i]);
	w->done = w->at + i;
	if (i < w->piece.count)
		w->next = w->piece.start[i];
	else if (w->done < w->lane->count)
		w->next = w->starts[w->done / TIMELINE_MARK_EVENTS];
	else
		w->next = INT64_MAX;
	return SB_OK;
}

int timeline_walk_to(struct timeline_walk *w, int64_t until, size_t mark)
{
	if (w->done == w->lane->count || w->next >= until)
		return SB_OK;
	if (mark * TIMELINE_MARK_EVENTS > w->done) {
		w->done = mark * TIMELINE_MARK_EVENTS;
		timeline_mark_get(w->rows + mark * w->mark_words, w->done, &w->sums);
	}
	return walk_piece(w, until);
}
