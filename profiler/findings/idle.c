#include "profiler/findings/idle.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"

/* Ascend's lane of gaps and its rows of kernels differ by some ns. */
#define TOLERANCE_NS 100

int gaps_from(const struct interval_set *idle, struct gaps *out)
{
	out->items = calloc(idle->count + 1, sizeof(*out->items));
	if (!out->items)
		return SB_ENOMEM;
	for (size_t i = 0; i < idle->count; i++)
		out->items[i] =
		    (struct gap){idle->items[i].start, idle->items[i].end, GAP_NO_EVENT, GAP_UNKNOWN};
	out->count = idle->count;
	return SB_OK;
}

static enum gap_cause cause_of(const struct gap *g, const struct trace *t, const struct launch *launch)
{
	int64_t end;

	if (!launch)
		return GAP_UNKNOWN;
	end = interval_end(launch->start, t->dur_ns[launch->event]);
	/* a call that began before the gap and ended behind it was what the work waited for, too */
	return launch->start > g->start || end >= g->end ? GAP_HOST : GAP_DEVICE;
}

/* The first gap that ends at `time` or later. */
static size_t first_ending(const struct gaps *g, int64_t time)
{
	return SB_BISECT(i, 0, g->count, g->items[i].end < time);
}

void gaps_meet(struct gaps *g, const struct trace *t, const struct launches *l, size_t event)
{
	int64_t start = interval_bound(t->start_ns[event]);
	size_t i = first_ending(g, start - TOLERANCE_NS);
	enum gap_cause cause;

	if (i == g->count || g->items[i].end > start + TOLERANCE_NS)
		return;
	cause = cause_of(&g->items[i], t, launches_find(l, t->link[event]));
	/* of several that start together one in the queue is enough: the host had done its part */
	if (g->items[i].next != GAP_NO_EVENT && (uint8_t)cause <= g->items[i].cause)
		return;
	g->items[i].next = (uint32_t)event;
	g->items[i].cause = (uint8_t)cause;
}

int gaps_of_cause(const struct gaps *g, enum gap_cause cause, struct interval_set *out)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->items[i].cause == cause &&
		    intervals_add(out, g->items[i].start, g->items[i].end) != SB_OK)
			return SB_ENOMEM;
	return SB_OK;
}

/* Keeps the longest, in falling order of length; of equal ones the first. */
static void list_longest(struct idle_sum *s, const struct gap *g)
{
	size_t at = s->longest_count;

	while (at > 0 && s->longest[at - 1].end - s->longest[at - 1].start < g->end - g->start)
		at--;
	if (at == GAPS_LISTED)
		return;
	if (s->longest_count < GAPS_LISTED)
		s->longest_count++;
	for (size_t i = s->longest_count - 1; i > at; i--)
		s->longest[i] = s->longest[i - 1];
	s->longest[at] = (struct interval){g->start, g->end};
}

/* How much of a gap is in the set; *at moves on with the gaps. */
static int64_t common(const struct interval_set *set, size_t *at, const struct gap *g)
{
	int64_t sum = 0;

	while (*at < set->count && set->items[*at].end <= g->start)
		++*at;
	for (size_t i = *at; i < set->count && set->items[i].start < g->end; i++) {
		int64_t from = set->items[i].start > g->start ? set->items[i].start : g->start;
		int64_t to = set->items[i].end < g->end ? set->items[i].end : g->end;

		sum += to - from;
	}
	return sum;
}

/* A short gap of the host, of which `rest` has no other cause. */
static int starve(struct idle_sum *s, const struct gap *g, int64_t rest, int64_t work_ns)
{
	if (sb_grow(&s->starved_gaps, (size_t)s->starved, sizeof(*s->starved_gaps)) != SB_OK)
		return SB_ENOMEM;
	s->starved_gaps[s->starved++] = *g;
	s->starved_ns = sb_add_sat(s->starved_ns, rest);
	s->starved_work_ns = sb_add_sat(s->starved_work_ns, work_ns);
	return SB_OK;
}

int gaps_sum(const struct gaps *g, const struct interval_set *left, int64_t short_ns, const struct trace *t,
             struct idle_sum *out)
{
	size_t at = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct gap *x = &g->items[i];
		int64_t length = x->end - x->start, rest = common(left, &at, x);

		out->total_ns = sb_add_sat(out->total_ns, length);
		out->gaps++;
		list_longest(out, x);
		if (x->cause == GAP_HOST)
			out->host_ns = sb_add_sat(out->host_ns, length);
		else if (x->cause == GAP_DEVICE)
			out->queued_ns = sb_add_sat(out->queued_ns, length);
		if (x->cause != GAP_HOST || length >= short_ns || rest == 0)
			continue;
		if (starve(out, x, rest, t->dur_ns[x->next]) != SB_OK)
			return SB_ENOMEM;
	}
	for (size_t i = 0; i < out->longest_count; i++)
		out->listed_ns = sb_add_sat(out->listed_ns, out->longest[i].end - out->longest[i].start);
	return SB_OK;
}

void gaps_free(struct gaps *g)
{
	free(g->items);
	*g = (struct gaps){0};
}
