#include <math.h>
#include <string.h>

#include "planner/pipeline/makespan_search.h"

/* Drafts that differ from this one by little. */
struct near {
	struct cuts *x;
	struct draft_stage *now; /* as quick as `time` */
	double time;
	const struct price *path; /* its longest */
	double limit;             /* of the work done */
};

/* What a layer of stage `from` would add to the path in stage `to` instead, recomputing left as it is. */
static double added(const struct near *n, int64_t from, int64_t to, int64_t layer)
{
	const struct relaxation *r = n->x->relaxed;
	const struct price *a = &n->path[from], *b = &n->path[to];
	struct cell_ways w;

	if (!r || cells_ways(n->x->s->cells, layer, 1, &w) != SB_OK)
		return -1;
	return (b->forward - a->forward) * (r->forward[layer + 1] - r->forward[layer]) +
	       (b->backward - a->backward) * w.backward[0];
}

/* Moves one layer; all stages between the two hand one on. False: it cannot be. */
static int move_layer(const struct near *n, int64_t from, int64_t to, bool *out_can)
{
	struct drafts *s = n->x->s;
	struct draft_stage *d = n->x->try;
	int64_t low = from < to ? from : to, high = from < to ? to : from;
	bool one = s->p->body_count == 1;
	int rc = SB_OK;

	*out_can = n->now[from].count > (s->p->allow_empty ? 0 : 1);
	if (!*out_can)
		return SB_OK;
	s->work += 2 * (double)s->stages;
	memcpy(d, n->now, (size_t)s->stages * sizeof(*d));
	d[from].count--;
	d[to].count++;
	for (int64_t i = low; i <= high && rc == SB_OK; i++) {
		bool same = one && i != from && i != to;

		rc = draft_set(s, i, i == 0 ? 0 : d[i - 1].first + d[i - 1].count, d[i].count,
		               same ? d[i].way : 0, &d[i]);
	}
	for (int64_t i = low; i <= high && rc == SB_OK && *out_can; i++)
		if (!one || i == from || i == to)
			rc = draft_fit(s, d, s->device[i], n->path, out_can);
	return rc;
}

/* Takes the draft over if it is quicker. */
static bool take(struct near *n)
{
	struct cuts *x = n->x;
	double time;

	if (cuts_is_slow(x, x->try, n->time * (1 - PIPELINE_ROUNDING)))
		return false;
	time = draft_time(x->s, x->try, n->time);
	if (!(time < n->time * (1 - PIPELINE_ROUNDING)))
		return false;
	memcpy(n->now, x->try, (size_t)x->s->stages * sizeof(*n->now));
	n->time = time;
	cuts_keep_path(x);
	n->path = cuts_path(x, 1);
	return true;
}

static int move_from(struct near *n, int64_t from, bool *out_better)
{
	struct drafts *s = n->x->s;

	for (int64_t step = 1; step < s->stages && s->work < n->limit; step++) {
		for (int side = -1; side <= 1; side += 2) {
			int64_t to = from + side * step;
			const struct draft_stage *a = &n->now[from];
			bool can;
			int rc;

			if (to < 0 || to >= s->stages || a->count == 0 ||
			    added(n, from, to, side < 0 ? a->first : a->first + a->count - 1) > 0)
				continue;
			rc = move_layer(n, from, to, &can);
			if (rc != SB_OK)
				return rc;
			*out_better = (can && take(n)) || *out_better;
			if (sb_stopped(s->p->watch))
				return SB_ECANCELED;
		}
	}
	return SB_OK;
}

/* Recomputes on a device what is cheapest along the longest path. */
static int move_recompute(struct near *n, int64_t device, bool *out_better)
{
	struct cuts *x = n->x;
	bool fits = true;
	int rc;

	memcpy(x->try, n->now, (size_t)x->s->stages * sizeof(*n->now));
	rc = draft_fit(x->s, x->try, device, n->path, &fits);
	if (rc == SB_OK && fits)
		*out_better = take(n) || *out_better;
	return rc;
}

int cuts_near(struct cuts *x, int kept, double work)
{
	struct near n = {.x = x, .now = x->draft, .limit = x->s->work + work};
	bool better = true;
	int rc = SB_OK;

	memcpy(x->draft, x->kept[kept], (size_t)x->s->stages * sizeof(*x->draft));
	n.time = draft_time(x->s, x->draft, INFINITY);
	cuts_keep_path(x);
	n.path = cuts_path(x, 1);
	while (better && rc == SB_OK && x->s->work < n.limit) {
		better = false;
		for (int64_t i = 0; i < x->s->stages && rc == SB_OK; i++)
			rc = move_from(&n, i, &better);
		if (x->s->p->shape.chunks == 1)
			continue;
		for (int64_t d = 0; d < x->s->device_count && rc == SB_OK; d++)
			rc = move_recompute(&n, d, &better);
	}
	if (rc == SB_OK)
		cuts_keep(x, n.now, n.time);
	return rc;
}
