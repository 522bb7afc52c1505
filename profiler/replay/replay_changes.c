#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/replay/graph.h"

/* A kernel row and the event of the same kernel start this close together: two files of one profiler. */
#define SAME_KERNEL_NS 1000
/* Nothing real becomes a million times as long. */
#define FACTOR_MAX 1e6

/* The first node of a capture that is not before (time, event); `host`: of the host's, which stand first. */
static uint32_t search(const struct replay_graph *g, size_t capture, int64_t at, uint32_t event)
{
	const struct replay_nodes *n = &g->nodes;

	return SB_BISECT(i, g->captures[capture].first, g->captures[capture].end,
	                 n->at[i] < at ||
	                     (n->at[i] == at && (replay_kind(n, i) == NODE_HOST || n->event[i] < event)));
}

uint32_t replay_node_of(const struct replay_graph *g, size_t capture, uint32_t event)
{
	const struct replay_capture *c = &g->captures[capture];
	const struct capture *from = &g->profile->captures[capture];
	int64_t at = c->rows ? from->kernels[event].start_ns : from->trace.start_ns[event];
	uint32_t v = search(g, capture, interval_bound(at), event);

	return v < c->end && g->nodes.event[v] == event && g->nodes.at[v] == interval_bound(at) ? v
	                                                                                        : REPLAY_NONE;
}

static bool may_be(const struct replay_nodes *n, uint32_t v, bool communication)
{
	enum node_kind kind = replay_kind(n, v);

	return communication ? kind == NODE_COMMUNICATION : kind == NODE_COMPUTE || kind == NODE_COPY;
}

/* The event of a kernel row: the one that starts nearest. */
static uint32_t node_of_row(const struct replay_graph *g, size_t capture, const struct kernel *k)
{
	const struct replay_capture *c = &g->captures[capture];
	const struct replay_nodes *n = &g->nodes;
	int64_t at = interval_bound(k->start_ns), best = SAME_KERNEL_NS + 1;
	uint32_t found = REPLAY_NONE, v = search(g, capture, at - SAME_KERNEL_NS, 0);

	for (; v < c->end && n->at[v] <= at + SAME_KERNEL_NS; v++) {
		int64_t off = n->at[v] < at ? at - n->at[v] : n->at[v] - at;

		if (off < best && may_be(n, v, k->communication)) {
			best = off;
			found = v;
		}
		if (n->at[v] >= at && found != REPLAY_NONE)
			break;
	}
	return found;
}

struct collecting {
	const struct replay_graph *g;
	struct replay_changes *out;
};

static int scale_node(struct collecting *c, uint32_t node, float factor)
{
	struct replay_changes *out = c->out;

	if (node == REPLAY_NONE)
		return SB_OK;
	if (sb_grow(&out->work, out->work_count, sizeof(*out->work)) != SB_OK)
		return SB_ENOMEM;
	out->work[out->work_count++] = (struct replay_scaled){node, factor};
	return SB_OK;
}

static int scale_time(struct collecting *c, const struct relief *r, uint16_t thread, int64_t start,
                      int64_t end)
{
	struct replay_changes *out = c->out;

	if (start >= end)
		return SB_OK;
	if (sb_grow(&out->pieces, out->piece_count, sizeof(*out->pieces)) != SB_OK)
		return SB_ENOMEM;
	out->pieces[out->piece_count++] = (struct replay_piece){
	    .capture = r->capture, .thread = thread, .start = start, .end = end, .factor = r->factor};
	return SB_OK;
}

static int scale_event(struct collecting *c, const struct relief *r)
{
	const struct replay_capture *capture = &c->g->captures[r->capture];
	const struct trace *t = &c->g->profile->captures[r->capture].trace;

	if (capture->rows || r->index >= t->count)
		return SB_OK;
	if (event_is_device_work(t->kind[r->index]))
		return scale_node(c, replay_node_of(c->g, r->capture, r->index), r->factor);
	if (t->kind[r->index] < EVENT_HOST_OP || t->lane[r->index] >= t->lane_count)
		return SB_OK;
	return scale_time(c, r, (uint16_t)capture->threads[t->lane[r->index]],
	                  interval_bound(t->start_ns[r->index]) - capture->host_shift,
	                  interval_end(t->start_ns[r->index], t->dur_ns[r->index]) - capture->host_shift);
}

/* What a thread did between the moment before this one and the moment, but for the waiting. */
static int scale_moment(struct collecting *c, const struct relief *r, uint32_t moment)
{
	const struct replay_nodes *n = &c->g->nodes;
	uint32_t before = n->chain[moment];

	if (before == REPLAY_NONE)
		return SB_OK;
	return scale_time(c, r, n->thread[moment], n->at[before], n->at[moment] - n->dur[moment]);
}

/* The host's time for the launch of the work `node`. */
static int scale_launch(struct collecting *c, const struct relief *r, uint32_t node)
{
	const struct replay_nodes *n = &c->g->nodes;
	uint32_t launch = node == REPLAY_NONE ? REPLAY_NONE : n->cause[node], task, before;
	int rc;

	if (node == REPLAY_NONE)
		return SB_OK;
	if (launch == REPLAY_NONE) {
		bool by_wait = (n->flags[node] & NODE_BY_BITS) == NODE_BY_WAIT;

		before = by_wait ? n->wait[node] : n->chain[node];
		if (before == REPLAY_NONE)
			return SB_OK;
		return scale_time(c, r, c->g->captures[r->capture].main_thread, replay_end(n, before),
		                  n->at[node]);
	}
	rc = scale_moment(c, r, launch);
	task = n->chain[launch];
	if (rc != SB_OK || task == REPLAY_NONE || !(n->flags[task] & NODE_TASK))
		return rc;
	rc = scale_moment(c, r, task);
	return rc == SB_OK && n->cause[task] != REPLAY_NONE ? scale_moment(c, r, n->cause[task]) : rc;
}

/* The node of a row of the kernel table, REPLAY_NONE without one. */
static uint32_t row_node(const struct replay_graph *g, const struct relief *r)
{
	const struct capture *from = &g->profile->captures[r->capture];

	if (r->index >= from->kernel_count || from->kernels[r->index].start_ns == SB_NULL)
		return REPLAY_NONE;
	return g->captures[r->capture].rows ? replay_node_of(g, r->capture, r->index)
	                                    : node_of_row(g, r->capture, &from->kernels[r->index]);
}

/* The node of device work on the timeline, REPLAY_NONE for anything else. */
static uint32_t work_node(const struct replay_graph *g, const struct relief *r)
{
	const struct trace *t = &g->profile->captures[r->capture].trace;

	if (g->captures[r->capture].rows || r->index >= t->count || !event_is_device_work(t->kind[r->index]))
		return REPLAY_NONE;
	return replay_node_of(g, r->capture, r->index);
}

static int add(struct collecting *c, const struct relief *relief)
{
	struct relief r = *relief;

	if (r.capture >= c->g->count || !c->g->captures[r.capture].held || !(r.factor >= 0))
		return SB_OK;
	if (r.factor > (float)FACTOR_MAX)
		r.factor = (float)FACTOR_MAX;
	switch (r.kind) {
	case RELIEF_EVENT: return scale_event(c, &r);
	case RELIEF_KERNEL: return scale_node(c, row_node(c->g, &r), r.factor);
	case RELIEF_EVENT_LAUNCH: return scale_launch(c, &r, work_node(c->g, &r));
	case RELIEF_KERNEL_LAUNCH: return scale_launch(c, &r, row_node(c->g, &r));
	/* of several that mean the same the most is done once */
	case RELIEF_HOST: c->out->host[r.capture] = fminf(c->out->host[r.capture], r.factor); break;
	case RELIEF_DEVICE: c->out->device[r.capture] = fminf(c->out->device[r.capture], r.factor); break;
	case RELIEF_LINK: c->out->link[r.capture] = fminf(c->out->link[r.capture], r.factor); break;
	}
	return SB_OK;
}

static int by_node(const void *a, const void *b)
{
	const struct replay_scaled *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->factor > y->factor) - (x->factor < y->factor);
}

static void once_a_node(struct replay_changes *c)
{
	size_t kept = 0;

	if (c->work_count > 0)
		qsort(c->work, c->work_count, sizeof(*c->work), by_node);
	for (size_t i = 0; i < c->work_count; i++)
		if (kept == 0 || c->work[kept - 1].node != c->work[i].node)
			c->work[kept++] = c->work[i];
	c->work_count = kept;
}

static int begin(struct replay_changes *out, size_t captures)
{
	out->host = calloc(3 * captures + 1, sizeof(*out->host));
	out->first_piece = calloc(captures + 1, sizeof(*out->first_piece));
	if (!out->host || !out->first_piece)
		return SB_ENOMEM;
	out->device = out->host + captures;
	out->link = out->device + captures;
	for (size_t i = 0; i < 3 * captures; i++)
		out->host[i] = INFINITY;
	return SB_OK;
}

int replay_changes(const struct replay_graph *g, const struct relief *reliefs, size_t n,
                   struct replay_changes *out)
{
	struct collecting c = {g, out};
	int rc = begin(out, g->count);

	for (size_t i = 0; i < n && rc == SB_OK; i++)
		rc = add(&c, &reliefs[i]);
	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < 3 * g->count; i++)
		if (isinf(out->host[i]))
			out->host[i] = 1;
	once_a_node(out);
	return replay_pieces(g, out);
}

void replay_changes_free(struct replay_changes *c)
{
	free(c->work);
	free(c->pieces);
	free(c->first_piece);
	free(c->host);
	*c = (struct replay_changes){0};
}
