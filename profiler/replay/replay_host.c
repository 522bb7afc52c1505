#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/replay/graph.h"

/* Two threads that act in turns are one: while one acts the other waits for it (the thread of the backward
 * pass). Two that act at the same time change far more often, and one goes on while the other waits for the
 * device. */
#define TURNS_SHARE 5
#define WAITS_LEAST 4
/* A call that returns this long behind the work that ended last did not wait for that work. */
#define RETURN_NS 500000

static uint16_t thread_of_event(const struct replay_linking *l, uint32_t event)
{
	uint32_t lane = l->from->trace.lane[event];

	return (uint16_t)(lane < l->from->trace.lane_count ? l->c->threads[lane] : 0);
}

struct turns {
	size_t *moments; /* by thread, weighed */
	size_t hosts, changes, tasks, handed;
};

static void count_turns(const struct replay_linking *l, struct turns *out)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint32_t before = UINT32_MAX;

	for (uint32_t v = l->c->first; v < l->c->end; v++) {
		uint16_t thread;

		if (replay_kind(n, v) != NODE_HOST)
			continue;
		thread = thread_of_event(l, n->event[v]);
		n->thread[v] = thread;
		/* the thread that hands tasks over leads, however much the other one does with them */
		out->moments[thread] += n->wait[v] == ENTRY_HAND_OVER ? 4 : 1;
		out->hosts++;
		out->changes += before != UINT32_MAX && before != thread;
		out->tasks += n->wait[v] == ENTRY_TASK;
		if (n->wait[v] == ENTRY_TASK)
			l->c->task_thread = thread;
		out->handed += n->wait[v] == ENTRY_HAND_OVER;
		before = thread;
	}
}

/* Do all threads stop while one of them waits for the device? Asked of waits so long that others who went on
 * would have acted twice. */
static bool stop_together(const struct replay_linking *l, size_t hosts)
{
	const struct replay_nodes *n = &l->g->nodes;
	const struct trace *t = &l->from->trace;
	int64_t spacing, last_at = INT64_MIN, other_at = INT64_MIN;
	uint32_t last = UINT32_MAX;
	size_t waits = 0, broken = 0;

	if (hosts == 0)
		return false;
	spacing = (n->at[l->c->end - 1] - n->at[l->c->first]) / (int64_t)hosts;
	for (uint32_t v = l->c->first; v < l->c->end; v++) {
		if (replay_kind(n, v) != NODE_HOST)
			continue;
		if (n->wait[v] == ENTRY_BLOCKED && t->dur_ns[n->event[v]] >= 2 * spacing) {
			waits++;
			broken +=
			    (n->thread[v] == last ? other_at : last_at) > n->at[v] - t->dur_ns[n->event[v]];
		}
		if (n->thread[v] != last)
			other_at = last_at;
		last = n->thread[v];
		last_at = n->at[v];
	}
	return waits >= WAITS_LEAST && broken * TURNS_SHARE <= waits;
}

int replay_assign_threads(struct replay_linking *l)
{
	const struct replay_nodes *n = &l->g->nodes;
	struct turns t = {.moments = calloc(l->thread_count + 1, sizeof(*t.moments))};
	size_t main = 0;
	bool merge;

	if (!t.moments)
		return SB_ENOMEM;
	if (l->c->threads)
		count_turns(l, &t);
	for (size_t i = 1; i < l->thread_count; i++)
		main = t.moments[i] > t.moments[main] ? i : main;
	l->c->main_thread = (uint16_t)main;
	if (t.tasks == 0)
		l->c->task_thread = (uint16_t)main;
	merge = t.tasks == 0 && (t.changes * TURNS_SHARE <= t.hosts || stop_together(l, t.hosts));
	/* of a thread that does not act, nothing is known but that somebody may wait for it: that is taken to
	 * be the main thread */
	for (size_t i = 0; l->c->threads && i < l->from->trace.lane_count; i++)
		if (merge || t.moments[l->c->threads[i]] == 0)
			l->c->threads[i] = (uint32_t)main;
	for (uint32_t v = l->c->first; merge && v < l->c->end; v++)
		n->thread[v] = (uint16_t)main;
	l->first_task = t.tasks > t.handed ? t.tasks - t.handed : 0;
	free(t.moments);
	return SB_OK;
}

/* PyTorch for Ascend lets the tasks that were handed over run out before it calls what waits for the device:
 * then the wait began with the last that the thread is known to have done. */
static bool queue_ran_out(const struct replay_linking *l, uint32_t v, int64_t call)
{
	const struct replay_nodes *n = &l->g->nodes;
	uint16_t tasks = l->c->task_thread;
	int64_t done = l->threads[tasks].free;

	return n->thread[v] != tasks && n->chain[v] != REPLAY_NONE && done > n->at[n->chain[v]] &&
	       done <= call && call - done <= REPLAY_ALIGN_NS;
}

/* The work that a call waited for: that before the event it names, else what ended last before it returned.
 */
static uint32_t waited_for(const struct replay_linking *l, uint32_t v)
{
	size_t n;
	const struct event_wait *w = event_waits_of(l->waits_by_id, l->g->nodes.event[v], &n);
	uint32_t u;

	if (!w)
		return l->running.last;
	if (w->behind == EVENT_WAIT_NOTHING)
		return REPLAY_NONE;
	u = replay_node_of(l->g, (size_t)(l->c - l->g->captures), w->behind);
	return u < v ? u : REPLAY_NONE;
}

/* A call that waits for the device. */
static void link_blocked(struct replay_linking *l, uint32_t v)
{
	const struct replay_nodes *n = &l->g->nodes;
	const struct trace *t = &l->from->trace;
	uint32_t u = waited_for(l, v), event = n->event[v];
	int64_t begin = interval_bound(t->start_ns[event]) - l->c->host_shift, end, late;

	if (u == REPLAY_NONE)
		return;
	end = replay_end(n, u);
	late = n->at[v] - end;
	if (n->chain[v] != REPLAY_NONE && (n->at[n->chain[v]] > begin || queue_ran_out(l, v, begin)))
		begin = n->at[n->chain[v]];
	if (end <= begin || (late > RETURN_NS && late > (n->at[v] - begin) / 2))
		return;
	n->cause[v] = u;
	n->dur[v] = end - begin;
	n->flags[v] |= NODE_BY_CAUSE;
	l->link_waits += replay_kind(n, u) == NODE_COMMUNICATION;
}

static void link_task(struct replay_linking *l, uint32_t v, struct replay_thread *thread)
{
	const struct replay_nodes *n = &l->g->nodes;
	const struct trace *t = &l->from->trace;
	uint32_t event = n->event[v];

	n->flags[v] |= NODE_TASK;
	if (l->tasks++ >= l->first_task && l->taken < l->handed_count)
		n->cause[v] = l->handed[l->taken++];
	/* a task that was there before the thread was free did not keep it waiting */
	if (n->cause[v] != REPLAY_NONE && thread->last && n->at[v] - thread->free > REPLAY_SLACK_NS &&
	    n->at[n->cause[v]] > thread->free) {
		n->dur[v] = n->at[v] - thread->free;
		n->flags[v] |= NODE_BY_CAUSE;
	} else if (n->cause[v] != REPLAY_NONE && !thread->last) {
		/* what the other thread did until then is not this one's time */
		n->chain[v] = REPLAY_NONE;
		n->flags[v] |= NODE_BY_CAUSE;
	}
	thread->free = interval_end(t->start_ns[event], t->dur_ns[event]) - l->c->host_shift;
}

static void link_launch(struct replay_linking *l, uint32_t v, struct replay_thread *thread)
{
	const struct replay_nodes *n = &l->g->nodes;

	while (l->waits < l->stream_wait_count && l->stream_waits[l->waits] <= n->at[v])
		l->waits++;
	/* a host that waited for a collective issues work that may need it, as a stream does that is told to
	 */
	if (l->waits > thread->waits || l->link_waits > thread->link_waits)
		n->flags[v] |= NODE_AFTER_WAIT;
	thread->waits = l->waits;
	thread->link_waits = l->link_waits;
}

int replay_link_host(struct replay_linking *l, uint32_t v)
{
	const struct replay_nodes *n = &l->g->nodes;
	struct replay_thread *thread = &l->threads[n->thread[v]];

	/* a thread that begins to act follows what the others did */
	n->chain[v] = thread->last ? thread->last - 1 : l->moment;
	switch ((enum entry_what)n->wait[v]) {
	case ENTRY_LAUNCH: link_launch(l, v, thread); break;
	case ENTRY_FULL:
		link_launch(l, v, thread);
		link_blocked(l, v);
		break;
	case ENTRY_BLOCKED: link_blocked(l, v); break;
	case ENTRY_TASK: link_task(l, v, thread); break;
	case ENTRY_HAND_OVER:
		if (sb_grow(&l->handed, l->handed_count, sizeof(*l->handed)) != SB_OK)
			return SB_ENOMEM;
		l->handed[l->handed_count++] = v;
		break;
	case ENTRY_BEGIN: l->begin = v; break;
	case ENTRY_WORK: break;
	}
	thread->last = v + 1;
	l->moment = v;
	return SB_OK;
}
