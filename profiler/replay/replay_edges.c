#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/replay/graph.h"

/* How many pieces of work are looked back at for the one that a collective, or the work behind it, waits for.
 */
#define LOOK_BACK 256
/* Of a kernel table: two streams a device, one of them for communication; devices are numbered from 0. */
#define ROW_LANES ((size_t)2 * (UINT16_MAX + 1))

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Slots of the devices that the lanes belong to. */
static int find_devices(struct replay_linking *l, size_t *out_devices)
{
	const struct trace *t = &l->from->trace;
	int32_t *ids = calloc(l->lane_count + 1, sizeof(*ids));
	size_t n = 0;

	if (!ids)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++)
		ids[i] = t->lanes[i].device;
	qsort(ids, t->lane_count, sizeof(*ids), by_number);
	for (size_t i = 0; i < t->lane_count; i++)
		if (i == 0 || ids[i] != ids[n - 1])
			ids[n++] = ids[i];
	for (size_t i = 0; i < t->lane_count; i++) {
		const int32_t *at = bsearch(&t->lanes[i].device, ids, n, sizeof(*ids), by_number);

		l->device_of_lane[i] = at ? (uint32_t)(at - ids) : 0;
	}
	free(ids);
	*out_devices = n + 1;
	return SB_OK;
}

static int begin(struct replay_linking *l)
{
	const struct trace *t = &l->from->trace;
	size_t n = l->c->end - l->c->first, devices = ROW_LANES / 2;
	int rc = SB_OK;

	l->lane_count = l->c->rows ? ROW_LANES : t->lane_count;
	if (!l->c->rows)
		rc = replay_threads(t, &l->c->threads, &l->thread_count);
	l->lanes = calloc(n + 1, sizeof(*l->lanes));
	l->lane_last = calloc(l->lane_count + 1, sizeof(*l->lane_last));
	l->device_of_lane = calloc(l->lane_count + 1, sizeof(*l->device_of_lane));
	l->threads = calloc(l->thread_count + 1, sizeof(*l->threads));
	if (rc != SB_OK || !l->lanes || !l->lane_last || !l->device_of_lane || !l->threads)
		return SB_ENOMEM;
	if (!l->c->rows)
		rc = find_devices(l, &devices);
	for (size_t i = 0; l->c->rows && i < ROW_LANES; i++)
		l->device_of_lane[i] = (uint32_t)(i / 2);
	l->latest = calloc(devices, sizeof(*l->latest));
	l->running = (struct replay_running){.nodes = &l->g->nodes,
	                                     .lanes = l->lanes,
	                                     .first = l->c->first,
	                                     .last = REPLAY_NONE,
	                                     .devices = calloc(devices, sizeof(*l->running.devices)),
	                                     .device_of_lane = l->device_of_lane};
	return rc == SB_OK && l->latest && l->running.devices ? SB_OK : SB_ENOMEM;
}

static void end(struct replay_linking *l)
{
	free(l->lanes);
	free(l->lane_last);
	free(l->device_of_lane);
	free(l->threads);
	free(l->latest);
	free(l->running.devices);
	free(l->running.items);
	free(l->handed);
}

static uint32_t lane_of(const struct replay_linking *l, uint32_t event)
{
	if (l->c->rows) {
		const struct kernel *k = &l->from->kernels[event];

		return 2U * k->device + (k->communication ? 1 : 0);
	}
	return l->from->trace.lane[event] < l->lane_count ? l->from->trace.lane[event]
	                                                  : (uint32_t)l->lane_count;
}

/* The moment of an event of the host, before the node v. */
static uint32_t moment_of(const struct replay_linking *l, uint32_t v, int64_t at, uint32_t event)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t lo = SB_BISECT(
	    i, l->c->first, v,
	    n->at[i] < at || (n->at[i] == at && replay_kind(n, i) == NODE_HOST && n->event[i] < event));

	/* where the host's time begins the event may stand twice: the later one is the call */
	while (lo + 1 < v && n->at[lo] == at && n->event[lo] == event && n->wait[lo] == ENTRY_BEGIN)
		lo++;
	return lo < v && n->at[lo] == at && replay_kind(n, lo) == NODE_HOST && n->event[lo] == event
	           ? lo
	           : REPLAY_NONE;
}

/* The launch of device work: it stands at the start of its call, or at its end when it had to wait. */
static uint32_t launch_of(const struct replay_linking *l, uint32_t v)
{
	const struct trace *t = &l->from->trace;
	const struct launch *by = NULL;
	uint32_t found;

	if (l->launches)
		by = launches_find(l->launches, t->link[l->g->nodes.event[v]]);
	if (!by)
		return REPLAY_NONE;
	found = moment_of(l, v, interval_bound(t->start_ns[by->event]) - l->c->host_shift, by->event);
	if (found == REPLAY_NONE)
		found = moment_of(
		    l, v, interval_end(t->start_ns[by->event], t->dur_ns[by->event]) - l->c->host_shift,
		    by->event);
	return found;
}

/* Of the work of a stream up to `from` (+ 1), the last that was launched before a time and was over by
 * another. */
static uint32_t launched_before(const struct replay_linking *l, uint32_t from, int64_t launched, int64_t over)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t u = from ? from - 1 : REPLAY_NONE;

	for (int i = 0; i < LOOK_BACK && u != REPLAY_NONE; i++, u = n->chain[u]) {
		if (n->cause[u] == REPLAY_NONE)
			return REPLAY_NONE;
		if (n->at[n->cause[u]] < launched && replay_end(n, u) <= over)
			return u;
	}
	return REPLAY_NONE;
}

/* A framework lets a collective wait for the work that was launched before it (PyTorch's syncStreams), and
 * the work behind a stream's wait call for the collective before that, or for the kernel of another stream
 * where no collective can be meant. */
static uint32_t ordered_behind(const struct replay_linking *l, uint32_t v, const struct replay_latest *latest)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t launch = n->cause[v], u;
	enum node_kind kind = replay_kind(n, v);
	bool waits = launch != REPLAY_NONE && n->flags[launch] & NODE_AFTER_WAIT;

	if (launch == REPLAY_NONE || (kind == NODE_COMPUTE && !waits))
		return REPLAY_NONE;
	if (kind == NODE_COMMUNICATION)
		u = launched_before(l, latest->compute, n->at[launch], n->at[v]);
	else
		u = launched_before(l, latest->communication, n->at[launch], n->at[v]);
	if (u == REPLAY_NONE && kind == NODE_COMPUTE)
		u = launched_before(l, latest->compute, n->at[launch], n->at[v]);
	return u == REPLAY_NONE || l->lanes[u - l->c->first] == l->lanes[v - l->c->first] ? REPLAY_NONE : u;
}

/* Did the other work end just now, and may this one wait for it? What was launched later it does not wait
 * for. Of work without a launch nothing else is known. */
static bool is_near(const struct replay_linking *l, uint32_t v, uint32_t other)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t mine = n->cause[v], its = n->cause[other];

	if (mine == REPLAY_NONE)
		return true;
	return n->at[v] - replay_end(n, other) <= REPLAY_ALIGN_NS &&
	       (its == REPLAY_NONE || n->at[its] <= n->at[mine]);
}

/* What the ids say that the work waits for: what was over last is its `wait`, and all else is kept beside it.
 */
static int link_by_id(struct replay_linking *l, uint32_t v, uint32_t *out_first)
{
	size_t capture = (size_t)(l->c - l->g->captures), n = 0;
	const struct event_wait *w =
	    l->c->rows ? NULL : event_waits_of(l->waits_by_id, l->g->nodes.event[v], &n);

	*out_first = REPLAY_NONE;
	for (size_t i = 0; i < n; i++) {
		uint32_t u = replay_node_of(l->g, capture, w[i].behind);

		if (u == REPLAY_NONE || u >= v)
			continue;
		if (*out_first == REPLAY_NONE) {
			*out_first = u;
			continue;
		}
		if (sb_grow(&l->g->waits, l->g->wait_count, sizeof(*l->g->waits)) != SB_OK)
			return SB_ENOMEM;
		l->g->waits[l->g->wait_count++] = (struct replay_wait){v, u};
	}
	return SB_OK;
}

/* What other streams the work waits for: by ids, else by the order of the calls, or by time. */
static int link_wait(struct replay_linking *l, uint32_t v, uint32_t lane, const struct replay_latest *latest)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t known, ordered, near;
	int rc = link_by_id(l, v, &known);

	ordered = known != REPLAY_NONE ? known : ordered_behind(l, v, latest);
	n->wait[v] = ordered;
	near = known != REPLAY_NONE ? REPLAY_NONE : replay_running_other(&l->running, lane);
	if (near != REPLAY_NONE && is_near(l, v, near))
		n->wait[v] = near;
	if (ordered != REPLAY_NONE && n->wait[v] == ordered)
		n->flags[v] |= NODE_ORDERED;
	return rc;
}

static int link_work(struct replay_linking *l, uint32_t v)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t lane = lane_of(l, n->event[v]);
	struct replay_latest *latest = &l->latest[l->device_of_lane[lane]];
	int rc;

	l->lanes[v - l->c->first] = lane;
	n->chain[v] = l->lane_last[lane] ? l->lane_last[lane] - 1 : REPLAY_NONE;
	n->cause[v] = launch_of(l, v);
	if (n->cause[v] == REPLAY_NONE)
		n->flags[v] |= NODE_UNLAUNCHED;
	rc = link_wait(l, v, lane, latest);
	/* the first work of all, where nobody says what launched it */
	if (n->chain[v] == REPLAY_NONE && n->cause[v] == REPLAY_NONE && n->wait[v] == REPLAY_NONE)
		n->wait[v] = l->begin;
	l->lane_last[lane] = v + 1;
	if (replay_kind(n, v) == NODE_COMPUTE)
		latest->compute = v + 1;
	if (replay_kind(n, v) == NODE_COMMUNICATION)
		latest->communication = v + 1;
	return rc == SB_OK ? replay_running_add(&l->running, v) : rc;
}

/* The nodes of the capture stand behind all that are there. */
static void fill(struct replay_linking *l, const struct replay_entries *e)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t v = l->c->first;

	for (size_t i = 0; i < e->count; i++, v++) {
		uint32_t event = e->items[i].event;
		bool work = e->items[i].what == ENTRY_WORK;
		int64_t dur =
		    l->c->rows ? l->from->kernels[work ? event : 0].dur_ns : l->from->trace.dur_ns[event];

		n->at[v] = interval_bound(e->items[i].at);
		n->dur[v] = work ? dur : 0;
		n->event[v] = event;
		n->chain[v] = n->cause[v] = REPLAY_NONE;
		n->wait[v] = work ? REPLAY_NONE : e->items[i].what;
		n->thread[v] = 0;
		n->flags[v] = e->items[i].kind;
	}
}

int replay_edges(struct replay_graph *g, size_t capture, struct replay_entries *e, const struct launches *l,
                 const struct event_waits *w)
{
	struct replay_linking x = {.g = g,
	                           .c = &g->captures[capture],
	                           .from = &g->profile->captures[capture],
	                           .launches = l,
	                           .waits_by_id = w,
	                           .begin = REPLAY_NONE,
	                           .moment = REPLAY_NONE,
	                           .stream_waits = e->waits,
	                           .stream_wait_count = e->wait_count};
	int rc;

	x.c->host_shift = e->host_shift;
	fill(&x, e);
	free(e->items);
	e->items = NULL;
	e->count = 0;
	rc = begin(&x);
	if (rc == SB_OK)
		rc = replay_assign_threads(&x);
	for (uint32_t v = x.c->first; v < x.c->end && rc == SB_OK; v++) {
		replay_running_until(&x.running, g->nodes.at[v]);
		rc = replay_kind(&g->nodes, v) == NODE_HOST ? replay_link_host(&x, v) : link_work(&x, v);
	}
	end(&x);
	return rc;
}
