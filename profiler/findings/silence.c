#include <stdlib.h>

#include "base/search.h"
#include "profiler/findings/idle.h"

/* Long idle times in which the host makes hardly a call (advisor-rules 1.4, "conjectured GC"): without a lane
 * of the collector they are all that is seen of it. */

struct silence {
	struct interval span;
	int64_t calls, busy_ns;
};

struct silences {
	struct silence *items; /* by time */
	size_t count;
};

static void silences_free(struct silences *s)
{
	free(s->items);
}

static double value_of(const struct thresholds *t, const char *name)
{
	return threshold_get(t, name)->value;
}

static int list(const struct interval_set *left, int64_t least_ns, struct silences *out)
{
	out->items = calloc(left->count + 1, sizeof(*out->items));
	if (!out->items)
		return SB_ENOMEM;
	for (size_t i = 0; i < left->count; i++)
		if (left->items[i].end - left->items[i].start > least_ns)
			out->items[out->count++].span = left->items[i];
	return SB_OK;
}

/* The first that ends after `time`. */
static size_t first_after(const struct silences *s, int64_t time)
{
	return SB_BISECT(i, 0, s->count, s->items[i].span.end <= time);
}

static void hear(struct silences *s, int64_t start, int64_t dur)
{
	int64_t from = interval_bound(start), to = interval_end(start, dur);

	for (size_t i = first_after(s, from); i < s->count && s->items[i].span.start < to; i++) {
		struct silence *x = &s->items[i];
		int64_t first = from > x->span.start ? from : x->span.start;

		x->busy_ns = sb_add_sat(x->busy_ns, (to < x->span.end ? to : x->span.end) - first);
		x->calls += from >= x->span.start;
	}
}

static bool is_call(uint8_t kind)
{
	return kind == EVENT_HOST_RUNTIME || kind == EVENT_HOST_OP;
}

int silence_find(const struct thresholds *t, const struct host_part *host, struct rank_view *v,
                 const struct interval_set *left)
{
	__attribute__((cleanup(silences_free))) struct silences s = {0};
	const struct trace *trace = &host->c->trace;
	int rc;

	/* where the collector is recorded there is nothing to guess, and without calls nothing is silent */
	if (host->seen.gc_known || !host->seen.cann_known)
		return SB_OK;
	rc = list(left, (int64_t)(value_of(t, "conjectured_gc_us") * 1000), &s);
	if (rc != SB_OK || s.count == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return rc;
	for (size_t i = 0; i < trace->count; i++)
		if (is_call(trace->kind[i]))
			hear(&s, trace->start_ns[i], trace->dur_ns[i]);
	for (size_t i = 0; i < s.count; i++) {
		const struct silence *x = &s.items[i];
		double us = (double)(x->span.end - x->span.start) / 1000;

		if ((double)x->calls >= us * value_of(t, "conjectured_gc_calls") ||
		    (double)x->busy_ns >= us * 1000 * value_of(t, "conjectured_gc_busy_share"))
			continue;
		v->host.silent_ns = sb_add_sat(v->host.silent_ns, x->span.end - x->span.start);
		v->host.silent_count++;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return SB_OK;
}
