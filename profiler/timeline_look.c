#include <stdlib.h>
#include <string.h>

#include "profiler/timeline_parts.h"

/* A lane that may be shown. */
struct candidate {
	uint32_t lane;
	bool host;
	uint64_t in_view, overlapping; /* the latter counted up to px + 1 */
};

static int by_weight(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->host != b->host)
		return a->host ? 1 : -1;
	if (a->in_view != b->in_view)
		return a->in_view > b->in_view ? -1 : 1;
	return a->lane < b->lane ? -1 : a->lane > b->lane;
}

static int by_lane(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return a->lane < b->lane ? -1 : a->lane > b->lane;
}

static int count_lanes(const struct timeline_looking *l, struct candidate *out, size_t *out_count)
{
	const struct timeline_query *q = l->q;
	size_t total = q->lanes ? q->lane_count : (size_t)q->section->lane_count, n = 0;

	for (size_t i = 0; i < total; i++) {
		uint32_t lane = q->lanes ? q->lanes[i] : (uint32_t)i;
		struct candidate c = {.lane = lane};
		int rc;

		if (lane >= q->section->lane_count || (n > 0 && lane <= out[n - 1].lane))
			continue;
		c.host = timeline_is_host(l->lanes[lane].kinds, l->lanes[lane].device);
		rc = timeline_count(l, &l->lanes[lane], (uint64_t)q->px + 1, &c.in_view, &c.overlapping);
		if (rc != SB_OK)
			return rc;
		out[n++] = c;
	}
	*out_count = n;
	return SB_OK;
}

static void leave_out(struct timeline_view *v, const struct candidate *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		v->left_events += lanes[i].in_view;
	v->left_lanes += count;
}

static int add_lane(struct timeline_looking *l, const struct candidate *c)
{
	struct timeline_view *v = &l->view;
	const struct timeline_lane *lane = &l->lanes[c->lane];
	struct timeline_row row = {
	    .lane = c->lane, .in_view = c->in_view, .binned = c->overlapping > l->q->px};
	int rc;

	row.first = row.binned ? v->bin_count : v->event_count;
	rc = row.binned ? timeline_add_bins(l, lane) : timeline_add_events(l, lane);
	if (rc != SB_OK)
		return rc;
	row.rows = (row.binned ? v->bin_count : v->event_count) - row.first;
	v->lanes[v->lane_count++] = row;
	return SB_OK;
}

static int add_lanes(struct timeline_looking *l, struct candidate *lanes, size_t count)
{
	struct timeline_view *v = &l->view;
	size_t shown = count < l->q->lane_limit ? count : l->q->lane_limit;

	if (shown < count)
		qsort(lanes, count, sizeof(*lanes), by_weight);
	leave_out(v, lanes + shown, count - shown);
	qsort(lanes, shown, sizeof(*lanes), by_lane);
	v->lanes = calloc(shown + 1, sizeof(*v->lanes));
	if (!v->lanes)
		return SB_ENOMEM;
	for (size_t i = 0; i < shown; i++) {
		size_t bins = v->bin_count, events = v->event_count;
		int rc = add_lane(l, &lanes[i]);

		if (rc != SB_OK)
			return rc;
		if (v->bin_count + v->event_count > l->q->row_limit) {
			v->bin_count = bins;
			v->event_count = events;
			v->lane_count--;
			leave_out(v, lanes + i, shown - i);
			break;
		}
	}
	return SB_OK;
}

/* Exact in 64 bits: px is small. */
static void set_edges(struct timeline_looking *l)
{
	const struct timeline_query *q = l->q;
	int64_t from = sb_add_sat(q->section->origin_ns, q->from_ns);
	int64_t to = sb_add_sat(q->section->origin_ns, q->to_ns);
	uint64_t span = (uint64_t)to - (uint64_t)from, whole = span / q->px, rest = span % q->px;

	for (uint64_t i = 0; i <= q->px; i++)
		l->edges[i] = (int64_t)((uint64_t)from + whole * i + rest * i / q->px);
}

static int look(struct timeline_looking *l)
{
	size_t n = l->q->lanes ? l->q->lane_count : (size_t)l->q->section->lane_count;
	struct candidate *lanes = calloc(n + 1, sizeof(*lanes));
	int rc = SB_ENOMEM;

	l->edges = calloc((size_t)l->q->px + 1, sizeof(*l->edges));
	if (lanes && l->edges) {
		set_edges(l);
		rc = count_lanes(l, lanes, &n);
	}
	if (rc == SB_OK)
		rc = add_lanes(l, lanes, n);
	free(l->edges);
	free(lanes);
	return rc;
}

int timeline_look(const struct timeline *t, const struct timeline_query *q, struct timeline_view *out,
                  struct sb_error *err)
{
	struct timeline_looking l = {.t = t, .q = q, .view = {.origin_ns = q->section->origin_ns}};
	int rc;

	if (q->px < 1 || q->px > TIMELINE_PX_MAX || q->from_ns >= q->to_ns)
		return sb_fail(err, SB_EINVAL, "bad_view", "A view needs columns and a time to show.");
	l.lanes = timeline_lanes(t, q->section);
	rc = l.lanes ? look(&l) : SB_EFORMAT;
	if (rc == SB_OK) {
		*out = l.view;
		return SB_OK;
	}
	timeline_view_free(&l.view);
	if (rc == SB_EFORMAT)
		return sb_fail(err, rc, "bad_side_file", "The side file of the timeline is damaged.");
	return sb_fail(err, rc, "side_file", "No memory to show a timeline.");
}

void timeline_view_free(struct timeline_view *v)
{
	free(v->lanes);
	free(v->bins);
	free(v->events);
	*v = (struct timeline_view){0};
}
