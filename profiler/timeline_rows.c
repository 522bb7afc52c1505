#include <stdlib.h>

#include "base/search.h"
#include "profiler/timeline_parts.h"

/* Room for `more` elements behind `count`. */
static int reserve(void **items, size_t *capacity, size_t count, size_t more, size_t element)
{
	size_t n = *capacity;
	void *p;

	if (more <= n - count)
		return SB_OK;
	while (n - count < more)
		n = n ? 2 * n : 1024;
	p = realloc(*items, n * element);
	if (!p)
		return SB_ENOMEM;
	*items = p;
	*capacity = n;
	return SB_OK;
}

/* What was summed up to an edge. */
struct at_edge {
	uint64_t busy[1 + EVENT_KIND_COUNT];
	uint64_t count[1 + EVENT_KIND_COUNT];
};

static void take(const struct timeline_walk *w, int64_t edge, struct at_edge *out)
{
	for (size_t i = 0; i <= w->sums.kinds; i++) {
		out->busy[i] = timeline_busy(&w->sums.of[i], edge);
		out->count[i] = w->sums.of[i].count;
	}
}

/* The kind with most time between two edges. Where no time passes, the first that has an event there. */
static uint32_t category(const struct timeline_walk *w, const struct at_edge *a, const struct at_edge *b)
{
	uint64_t most = 0;
	size_t best = 0;

	if (w->sums.kinds == 0)
		return (uint32_t)__builtin_ctz(w->lane->kinds);
	for (size_t i = 1; i <= w->sums.kinds; i++) {
		uint64_t time = b->busy[i] - a->busy[i];

		if (time > most || (best == 0 && b->count[i] > a->count[i])) {
			most = time;
			best = i;
		}
	}
	return w->sums.kind[best > 0 ? best : 1];
}

static void add_bin(struct timeline_view *v, const struct timeline_walk *w, uint32_t px, uint64_t width,
                    const struct at_edge *a, const struct at_edge *b)
{
	struct timeline_bin bin = {.px = px,
	                           .count = b->count[0] - a->count[0],
	                           .busy_ns = b->busy[0] - a->busy[0],
	                           .width_ns = width};

	if (bin.count == 0 && bin.busy_ns == 0)
		return;
	bin.category = category(w, a, b);
	v->bins[v->bin_count++] = bin;
}

/* Goes on to a moment that is not one of a row of many. */
static int walk_far(struct timeline_walk *w, int64_t until)
{
	return timeline_walk_to(w, until, timeline_walk_find(w, w->done / TIMELINE_MARK_EVENTS, until));
}

/* Marks of the next edges, found while the events of the edge at hand are on their way. */
#define AHEAD 8

/* The columns of a lane whose walk stands at the first edge. */
static int add_columns(struct timeline_looking *l, struct timeline_walk *w)
{
	struct at_edge edges[2] = {0}, *last = &edges[0], *next = &edges[1], *spare;
	size_t marks[AHEAD], mark = w->done / TIMELINE_MARK_EVENTS;
	uint32_t found = 0;

	take(w, l->edges[0], last);
	for (uint32_t px = 0; px < l->q->px; px++) {
		int64_t from = l->edges[px], to = l->edges[px + 1];

		for (; found < l->q->px && found < px + AHEAD; found++)
			marks[found % AHEAD] = mark = timeline_walk_find(w, mark, l->edges[found + 1]);
		if (from == to)
			continue;
		if (timeline_walk_to(w, to, marks[px % AHEAD]) != SB_OK)
			return SB_EFORMAT;
		take(w, to, next);
		add_bin(&l->view, w, px, (uint64_t)to - (uint64_t)from, last, next);
		spare = last;
		last = next;
		next = spare;
	}
	return SB_OK;
}

int timeline_add_bins(struct timeline_looking *l, const struct timeline_lane *lane)
{
	struct timeline_view *v = &l->view;
	struct timeline_walk w;
	int rc = timeline_walk_begin(l->t, l->q->section, lane, &w);

	if (rc == SB_OK)
		rc = reserve((void **)&v->bins, &l->bin_capacity, v->bin_count, l->q->px, sizeof(*v->bins));
	if (rc == SB_OK)
		rc = walk_far(&w, l->edges[0]);
	return rc == SB_OK ? add_columns(l, &w) : rc;
}

/* The first block of events of which one may end after `from`: the marks know how far all before them reach.
 */
static size_t first_reaching(const struct timeline_walk *w, size_t blocks, int64_t from)
{
	return SB_BISECT(i, 0, blocks,
	                 i + 1 < w->mark_count && w->rows[(i + 1) * w->mark_words + MARK_REACH] <= from);
}

/* Calls for each event among the first `before` of the lane that ends after `from`, until `take_event` says
 * false. */
static int each_reaching(const struct timeline_walk *w, size_t before, int64_t from,
                         bool (*take_event)(void *self, const struct timeline_piece *p, size_t i, size_t at),
                         void *self)
{
	size_t blocks = (before + TIMELINE_MARK_EVENTS - 1) / TIMELINE_MARK_EVENTS;

	for (size_t b = first_reaching(w, blocks, from); b < blocks; b++) {
		struct timeline_piece p;
		size_t at = b * TIMELINE_MARK_EVENTS;

		if (w->ends[b] <= from)
			continue;
		if (timeline_piece(w, at, &p) != SB_OK)
			return SB_EFORMAT;
		for (size_t i = 0; i < p.count && at + i < before; i++) {
			if (sb_add_sat(p.start[i], p.dur[i]) > from && !take_event(self, &p, i, at + i))
				return SB_OK;
		}
	}
	return SB_OK;
}

struct counting {
	uint64_t count, most;
};

static bool count_event(void *self, const struct timeline_piece *p, size_t i, size_t at)
{
	struct counting *c = self;

	(void)p;
	(void)i;
	(void)at;
	return ++c->count < c->most;
}

int timeline_count(const struct timeline_looking *l, const struct timeline_lane *lane, uint64_t most,
                   uint64_t *out_in_view, uint64_t *out_overlapping)
{
	struct counting c = {.most = most};
	struct timeline_walk w;
	size_t before;
	int rc = timeline_walk_begin(l->t, l->q->section, lane, &w);

	if (rc == SB_OK)
		rc = walk_far(&w, l->edges[0]);
	before = w.done;
	if (rc == SB_OK)
		rc = walk_far(&w, l->edges[l->q->px]);
	if (rc != SB_OK)
		return rc;
	c.count = w.done - before;
	*out_in_view = c.count;
	if (c.count < most)
		rc = each_reaching(&w, before, l->edges[0], count_event, &c);
	*out_overlapping = c.count;
	return rc;
}

struct collecting {
	struct timeline_looking *l;
	const struct timeline_lane *lane;
	int rc;
};

static int64_t from_origin(const struct timeline_section *s, int64_t start)
{
	uint64_t d = (uint64_t)start - (uint64_t)s->origin_ns;

	return d > INT64_MAX ? INT64_MAX : (int64_t)d;
}

static bool collect(void *self, const struct timeline_piece *p, size_t i, size_t at)
{
	struct collecting *c = self;
	struct timeline_view *v = &c->l->view;
	const struct timeline_section *s = c->l->q->section;
	const uint32_t *name =
	    chunkfile_get(&c->l->t->file, s->name + (c->lane->first + at) * sizeof(*name), sizeof(*name));

	if (!name || p->kind[i] >= EVENT_KIND_COUNT)
		c->rc = SB_EFORMAT;
	else
		c->rc = reserve((void **)&v->events, &c->l->event_capacity, v->event_count, 1,
		                sizeof(*v->events));
	if (c->rc != SB_OK)
		return false;
	v->events[v->event_count++] =
	    (struct timeline_event){from_origin(s, p->start[i]), p->dur[i], *name, p->kind[i]};
	return true;
}

int timeline_add_events(struct timeline_looking *l, const struct timeline_lane *lane)
{
	struct collecting c = {.l = l, .lane = lane};
	struct timeline_walk w;
	int64_t to = l->edges[l->q->px];
	int rc = timeline_walk_begin(l->t, l->q->section, lane, &w);

	if (rc == SB_OK)
		rc = walk_far(&w, l->edges[0]);
	if (rc == SB_OK)
		rc = each_reaching(&w, w.done, l->edges[0], collect, &c);
	for (size_t at = w.done; rc == SB_OK && c.rc == SB_OK && at < lane->count;) {
		struct timeline_piece p;

		rc = timeline_piece(&w, at, &p);
		if (rc != SB_OK || p.start[0] >= to)
			break;
		for (size_t i = 0; i < p.count && p.start[i] < to && collect(&c, &p, i, at + i);)
			i++;
		at += p.count;
	}
	return rc == SB_OK ? c.rc : rc;
}
