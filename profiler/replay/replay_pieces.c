#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/replay/graph.h"

/* Host time that is changed: of pieces that overlap, the smallest factor counts. */

static int by_place(const void *a, const void *b)
{
	const struct replay_piece *x = a, *y = b;
	const int64_t left[] = {x->capture, x->thread, x->start, x->end};
	const int64_t right[] = {y->capture, y->thread, y->start, y->end};
	int order = sb_compare(left, right, 4);

	return order ? order : (x->factor > y->factor) - (x->factor < y->factor);
}

/* The pieces that are open while sweeping over the time of one thread: a heap, the smallest factor first. */
struct sweep {
	const struct replay_piece *in;
	size_t *heap;
	size_t open;
	struct replay_piece *out;
	size_t count;
	int64_t at;
};

static bool above(const struct sweep *s, size_t i, size_t k)
{
	return s->in[s->heap[i]].factor < s->in[s->heap[k]].factor;
}

static void swap(struct sweep *s, size_t i, size_t k)
{
	size_t x = s->heap[i];

	s->heap[i] = s->heap[k];
	s->heap[k] = x;
}

static void push(struct sweep *s, size_t piece)
{
	size_t i = s->open++;

	s->heap[i] = piece;
	for (; i > 0 && above(s, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(s, i, (i - 1) / 2);
}

static void pop(struct sweep *s)
{
	size_t i = 0;

	s->heap[0] = s->heap[--s->open];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < s->open && above(s, child + 1, child))
			child++;
		if (child >= s->open || !above(s, child, i))
			return;
		swap(s, i, child);
		i = child;
	}
}

/* Hands the time up to `until` to the open piece with the smallest factor. */
static int sweep_to(struct sweep *s, int64_t until)
{
	while (s->open > 0 && s->at < until) {
		const struct replay_piece *top = &s->in[s->heap[0]];
		int64_t end = top->end < until ? top->end : until;

		if (end > s->at) {
			if (sb_grow(&s->out, s->count, sizeof(*s->out)) != SB_OK)
				return SB_ENOMEM;
			s->out[s->count] = *top;
			s->out[s->count].start = s->at;
			s->out[s->count++].end = end;
			s->at = end;
		}
		if (top->end <= s->at)
			pop(s);
	}
	s->at = until;
	return SB_OK;
}

static bool same_thread(const struct replay_piece *a, const struct replay_piece *b)
{
	return a->capture == b->capture && a->thread == b->thread;
}

static int sweep_all(struct sweep *s, size_t n)
{
	int rc = SB_OK;

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		if (i > 0 && !same_thread(&s->in[i], &s->in[i - 1]))
			rc = sweep_to(s, INT64_MAX);
		if (rc == SB_OK && s->open > 0)
			rc = sweep_to(s, s->in[i].start);
		s->at = s->in[i].start;
		push(s, i);
	}
	return rc == SB_OK ? sweep_to(s, INT64_MAX) : rc;
}

static int64_t saved_by(const struct replay_piece *p, int64_t until)
{
	int64_t len = (until < p->end ? until : p->end) - p->start;

	return (int64_t)((1 - p->factor) * (double)len);
}

int replay_pieces(const struct replay_graph *g, struct replay_changes *c)
{
	struct sweep s = {.in = c->pieces, .heap = calloc(c->piece_count + 1, sizeof(*s.heap))};
	size_t at = 0;
	int rc = s.heap ? SB_OK : SB_ENOMEM;

	if (c->piece_count > 0)
		qsort(c->pieces, c->piece_count, sizeof(*c->pieces), by_place);
	if (rc == SB_OK)
		rc = sweep_all(&s, c->piece_count);
	free(s.heap);
	free(c->pieces);
	c->pieces = s.out;
	c->piece_count = s.count;
	for (size_t i = 1; i < s.count; i++)
		if (same_thread(&s.out[i], &s.out[i - 1]))
			s.out[i].saved = sb_add_sat(s.out[i - 1].saved, saved_by(&s.out[i - 1], INT64_MAX));
	for (size_t i = 0; i < g->count; i++) {
		while (at < s.count && s.out[at].capture < i)
			at++;
		c->first_piece[i] = at;
	}
	c->first_piece[g->count] = s.count;
	return rc;
}

/* What is saved of a thread's time up to `time`. */
static int64_t saved_until(const struct replay_changes *c, size_t first, size_t end, uint16_t thread,
                           int64_t time)
{
	size_t at = SB_BISECT(i, first, end,
	                      c->pieces[i].thread < thread ||
	                          (c->pieces[i].thread == thread && c->pieces[i].start < time));

	if (at == first || c->pieces[at - 1].thread != thread)
		return 0;
	return sb_add_sat(c->pieces[at - 1].saved, saved_by(&c->pieces[at - 1], time));
}

int64_t replay_saved(const struct replay_changes *c, size_t capture, uint16_t thread, int64_t start,
                     int64_t end)
{
	size_t lo = c->first_piece[capture], hi = c->first_piece[capture + 1];

	if (lo == hi || start >= end)
		return 0;
	return sb_sub_sat(saved_until(c, lo, hi, thread, end), saved_until(c, lo, hi, thread, start));
}
