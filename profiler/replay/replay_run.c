#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/replay/graph.h"

/* Ranks are walked one after the other, each in its own order, until one needs the end of a collective that
 * not all ranks have come to yet. The last to come sets the end for all, and the walk goes on with those that
 * waited for it. */

#define UNKNOWN SB_NULL
#define NO_SET UINT32_MAX

struct progress {
	uint32_t next;  /* node of the capture */
	size_t member;  /* of all, the next of this capture */
	size_t work;    /* of the changed work, the next of this capture */
	size_t wait;    /* of the graph's, the next of this capture */
	uint32_t waits; /* for a set; NO_SET = not waiting */
};

struct meeting {
	uint32_t come; /* members that have started */
	int64_t late;  /* the largest of how much later than the measured last one they started */
	float factor;  /* of the transmission */
};

struct run {
	const struct replay_graph *g;
	const struct replay_changes *c; /* NULL: unchanged */
	int64_t *ends;
	struct progress *progress; /* by capture */
	struct meeting *meetings;  /* by set */
	uint32_t *ready;           /* captures to go on with */
	size_t ready_count;
};

static int64_t scaled(int64_t ns, double factor)
{
	double x = factor == 1 ? 0 : (double)ns * factor;

	if (factor == 1)
		return ns;
	return x < 4e18 ? llround(x) : INT64_C(4000000000000000000);
}

/* The set of a member's node: members are walked in order of nodes. */
static uint32_t set_of(struct run *r, size_t capture, uint32_t node)
{
	struct progress *p = &r->progress[capture];

	while (r->g->members[p->member].node < node)
		p->member++;
	return r->g->members[p->member].set;
}

/* The node that an item of a list begins with. */
static uint32_t node_at(const void *items, size_t size, size_t i)
{
	uint32_t node;

	memcpy(&node, (const char *)items + i * size, sizeof(node));
	return node;
}

/* Of a list by node, whose items begin with it: the place of the first at or behind a node. */
static size_t first_from(const void *items, size_t count, size_t size, uint32_t node)
{
	return SB_BISECT(i, 0, count, node_at(items, size, i) < node);
}

/* Whose end is not known yet: that of the member `node`. */
static uint32_t set_of_node(const struct run *r, uint32_t node)
{
	return r->g->members[first_from(r->g->members, r->g->member_count, sizeof(*r->g->members), node)].set;
}

/* False when a predecessor's end is not known: the capture then waits for its set. */
static bool is_known(struct run *r, size_t capture, uint32_t u)
{
	if (u == REPLAY_NONE || r->ends[u] != UNKNOWN)
		return true;
	r->progress[capture].waits = set_of_node(r, u);
	return false;
}

/* A host's lag of `lag` ns up to the time `until`, with what is changed of it. */
static int64_t host_lag(const struct run *r, size_t capture, uint16_t thread, int64_t until, int64_t lag)
{
	int64_t saved;

	if (!r->c || lag <= 0)
		return sb_larger(lag, 0);
	saved = replay_saved(r->c, capture, thread, until - lag, until);
	return scaled(sb_larger(sb_sub_sat(lag, saved), 0), r->c->host[capture]);
}

/* How much of the waiting before a moment goes with the call that waits. */
static double share_gone(const struct run *r, size_t capture, uint32_t v)
{
	const struct replay_nodes *n = &r->g->nodes;

	if (!r->c || n->dur[v] <= 0)
		return 0;
	return (double)replay_saved(r->c, capture, n->thread[v], n->at[v] - n->dur[v], n->at[v]) /
	       (double)n->dur[v];
}

static int64_t host_time(const struct run *r, size_t capture, uint32_t v)
{
	const struct replay_nodes *n = &r->g->nodes;
	const struct replay_lags *lags = &r->g->captures[capture].lags;
	uint32_t p = n->chain[v], u = n->cause[v];
	int64_t base = n->at[v], until = n->at[v] - n->dur[v], lag, at;

	if (p != REPLAY_NONE)
		base = sb_add_sat(r->ends[p], host_lag(r, capture, n->thread[v], until, until - n->at[p]));
	if (u == REPLAY_NONE)
		return base;
	lag = n->at[v] - replay_end(n, u);
	if (!(n->flags[v] & NODE_BY_CAUSE))
		lag = sb_smaller(lag, lags->task);
	at = sb_add_sat(r->ends[u], lag);
	if (p == REPLAY_NONE)
		return at;
	if (at <= base || n->flags[v] & NODE_TASK)
		return sb_larger(at, base);
	return sb_sub_sat(at, scaled(at - base, share_gone(r, capture, v)));
}

/* When work could start behind one predecessor. */
static int64_t behind(const struct run *r, uint32_t v, uint32_t u, uint8_t by, int64_t typical)
{
	const struct replay_nodes *n = &r->g->nodes;
	int64_t lag;

	if (u == REPLAY_NONE)
		return INT64_MIN + 1;
	lag = n->at[v] - replay_end(n, u);
	if ((n->flags[v] & NODE_BY_BITS) != by)
		lag = sb_smaller(lag, typical);
	return sb_add_sat(r->ends[u], lag);
}

/* The same for the one that held it up, when no launch is known: what the device idled is the host's, be it
 * for the thread that issues the work or for the one that launches it. */
static int64_t behind_host(const struct run *r, size_t capture, uint32_t v, uint32_t u)
{
	const struct replay_nodes *n = &r->g->nodes;
	const struct replay_capture *c = &r->g->captures[capture];
	int64_t lag = n->at[v] - replay_end(n, u), own = sb_smaller(lag, c->lags.gap);

	if (lag > own)
		own += sb_smaller(host_lag(r, capture, c->main_thread, n->at[v], lag - own),
		                  host_lag(r, capture, c->task_thread, n->at[v], lag - own));
	return sb_add_sat(r->ends[u], own);
}

/* The same for its launch. What the launching call does before that is host time, where it takes longer than
 * a launch does: it may compile the operator first. */
static int64_t behind_launch(const struct run *r, size_t capture, uint32_t v)
{
	const struct replay_nodes *n = &r->g->nodes;
	const struct replay_capture *c = &r->g->captures[capture];
	const struct trace *t = &r->g->profile->captures[capture].trace;
	int64_t typical = c->lags.launch[replay_kind(n, v)], until, own;
	uint32_t u = n->cause[v];

	if (u == REPLAY_NONE || (n->flags[v] & NODE_BY_BITS) != NODE_BY_CAUSE)
		return behind(r, v, u, NODE_BY_CAUSE, typical);
	until = interval_end(t->start_ns[n->event[u]], t->dur_ns[n->event[u]]) - c->host_shift;
	until = sb_smaller(until, n->at[v] - typical);
	if (until <= n->at[u])
		return behind(r, v, u, NODE_BY_CAUSE, typical);
	own = n->at[v] - until;
	return sb_add_sat(r->ends[u], own + host_lag(r, capture, n->thread[u], until, until - n->at[u]));
}

static int64_t work_start(const struct run *r, size_t capture, uint32_t v)
{
	const struct replay_nodes *n = &r->g->nodes;
	const struct replay_lags *lags = &r->g->captures[capture].lags;
	uint8_t by = n->flags[v] & NODE_BY_BITS;
	uint32_t held_by = by == NODE_BY_CHAIN ? n->chain[v] : n->wait[v];
	int64_t at = INT64_MIN + 1;

	if (n->chain[v] == REPLAY_NONE && n->cause[v] == REPLAY_NONE && n->wait[v] == REPLAY_NONE)
		return n->at[v];
	if (n->flags[v] & NODE_UNLAUNCHED && held_by != REPLAY_NONE)
		at = behind_host(r, capture, v, held_by);
	if (!(n->flags[v] & NODE_UNLAUNCHED) || by != NODE_BY_CHAIN)
		at = sb_larger(at, behind(r, v, n->chain[v], NODE_BY_CHAIN, lags->gap));
	if (!(n->flags[v] & NODE_UNLAUNCHED) || by != NODE_BY_WAIT)
		at = sb_larger(at, behind(r, v, n->wait[v], NODE_BY_WAIT, lags->gap));
	for (size_t i = r->progress[capture].wait; i < r->g->wait_count && r->g->waits[i].node == v; i++)
		at = sb_larger(at, behind(r, v, r->g->waits[i].behind, NODE_BY_BITS, lags->gap));
	return sb_larger(at, behind_launch(r, capture, v));
}

static float work_factor(struct run *r, size_t capture, uint32_t v)
{
	struct progress *p = &r->progress[capture];
	float factor = 1;

	if (!r->c)
		return 1;
	while (p->work < r->c->work_count && r->c->work[p->work].node < v)
		p->work++;
	if (p->work < r->c->work_count && r->c->work[p->work].node == v)
		factor = r->c->work[p->work].factor;
	switch (replay_kind(&r->g->nodes, v)) {
	case NODE_COMPUTE: return factor * r->c->device[capture];
	case NODE_COMMUNICATION: return factor * r->c->link[capture];
	default: return factor;
	}
}

/* All have come: the end moves by how much later the last one is, and by what the transmission saves. */
static void meet(struct run *r, uint32_t set)
{
	const struct replay_graph *g = r->g;
	const struct replay_set *s = &g->sets[set];
	const struct meeting *m = &r->meetings[set];
	int64_t moved = sb_add_sat(m->late, sb_sub_sat(scaled(s->transmission, m->factor), s->transmission));

	for (uint32_t i = 0; i < s->count; i++) {
		const struct replay_member *x = &g->members[g->set_members[s->first + i]];
		struct progress *p = &r->progress[x->capture];

		r->ends[x->node] = sb_add_sat(replay_end(&g->nodes, x->node), moved);
		if (p->waits == set) {
			p->waits = NO_SET;
			r->ready[r->ready_count++] = x->capture;
		}
	}
}

static void come(struct run *r, size_t capture, uint32_t v, int64_t start, float factor)
{
	const struct replay_nodes *n = &r->g->nodes;
	uint32_t set = set_of(r, capture, v);
	struct meeting *m = &r->meetings[set];
	int64_t waited = n->dur[v] - r->g->sets[set].transmission;
	int64_t late = sb_sub_sat(sb_sub_sat(start, n->at[v]), waited);

	m->late = m->come == 0 ? late : sb_larger(m->late, late);
	m->factor = m->come == 0 ? factor : fminf(m->factor, factor);
	r->ends[v] = UNKNOWN;
	if (++m->come == r->g->sets[set].count)
		meet(r, set);
}

/* When the stream is free where this work is gone: it needs no launch and leaves no gap, but the stream still
 * waits for what it was told to; a collective takes its waits along. Where launches are not known, a gap
 * longer than the work may well have another cause, and no more than the work's own time of it goes. */
static int64_t without(const struct run *r, size_t capture, uint32_t v, int64_t start)
{
	const struct replay_nodes *n = &r->g->nodes;
	int64_t before = r->ends[n->chain[v]];

	if (n->flags[v] & NODE_ORDERED && replay_kind(n, v) != NODE_COMMUNICATION) {
		before = sb_larger(before, r->ends[n->wait[v]]);
		for (size_t i = r->progress[capture].wait; i < r->g->wait_count && r->g->waits[i].node == v;
		     i++)
			before = sb_larger(before, r->ends[r->g->waits[i].behind]);
	}
	if (n->cause[v] == REPLAY_NONE)
		before = sb_larger(before, sb_sub_sat(start, n->dur[v]));
	return sb_smaller(start, before);
}

/* Are the ends of all that the node follows known? */
static bool is_ready(struct run *r, size_t capture, uint32_t v)
{
	const struct replay_nodes *n = &r->g->nodes;
	struct progress *p = &r->progress[capture];

	if (!is_known(r, capture, n->chain[v]) || !is_known(r, capture, n->cause[v]))
		return false;
	if (replay_kind(n, v) == NODE_HOST)
		return true;
	while (p->wait < r->g->wait_count && r->g->waits[p->wait].node < v)
		p->wait++;
	for (size_t i = p->wait; i < r->g->wait_count && r->g->waits[i].node == v; i++)
		if (!is_known(r, capture, r->g->waits[i].behind))
			return false;
	return is_known(r, capture, n->wait[v]);
}

/* Walks on; stops at the end, or where it must wait. */
static void walk(struct run *r, size_t capture)
{
	const struct replay_nodes *n = &r->g->nodes;
	struct progress *p = &r->progress[capture];

	for (; p->next < r->g->captures[capture].end; p->next++) {
		uint32_t v = p->next;
		bool host = replay_kind(n, v) == NODE_HOST;
		int64_t start;
		float factor;

		if (!is_ready(r, capture, v))
			return;
		if (host) {
			r->ends[v] = host_time(r, capture, v);
			continue;
		}
		start = work_start(r, capture, v);
		factor = work_factor(r, capture, v);
		if (n->flags[v] & NODE_MEMBER)
			come(r, capture, v, start, factor);
		else if (factor > 0 || n->chain[v] == REPLAY_NONE)
			r->ends[v] = sb_add_sat(start, scaled(n->dur[v], factor));
		else
			r->ends[v] = without(r, capture, v, start);
	}
}

static void begin(struct run *r)
{
	const struct replay_graph *g = r->g;

	/* the last in comes first out: the lowest capture first */
	for (size_t i = g->count; i-- > 0;) {
		uint32_t first = g->captures[i].first;

		r->progress[i] = (struct progress){
		    .next = first,
		    .member = first_from(g->members, g->member_count, sizeof(*g->members), first),
		    .work = r->c ? first_from(r->c->work, r->c->work_count, sizeof(*r->c->work), first) : 0,
		    .wait = first_from(g->waits, g->wait_count, sizeof(*g->waits), first),
		    .waits = NO_SET};
		r->ready[r->ready_count++] = (uint32_t)i;
	}
}

int replay_ends(const struct replay_graph *g, const struct replay_changes *c, int64_t *ends,
                uint32_t *out_stuck)
{
	struct run r = {.g = g, .c = c, .ends = ends};
	uint32_t stuck = NO_SET;

	r.progress = calloc(g->count + 1, sizeof(*r.progress));
	r.meetings = calloc(g->set_count + 1, sizeof(*r.meetings));
	r.ready = calloc(g->count + 1, sizeof(*r.ready));
	if (r.progress && r.meetings && r.ready) {
		begin(&r);
		while (r.ready_count > 0)
			walk(&r, r.ready[--r.ready_count]);
		for (size_t i = g->count; i-- > 0;)
			stuck = r.progress[i].waits != NO_SET ? r.progress[i].waits : stuck;
		*out_stuck = stuck;
	} else {
		stuck = NO_SET - 1;
	}
	free(r.progress);
	free(r.meetings);
	free(r.ready);
	return stuck == NO_SET - 1 ? SB_ENOMEM : SB_OK;
}
