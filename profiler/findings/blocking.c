#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/host_part.h"

/* Launches that return only when the device is done: CUDA_LAUNCH_BLOCKING, ASCEND_LAUNCH_BLOCKING. */

/* Fewer launches say nothing; shorter kernels may end before any launch call returns. */
#define LAUNCHES_LEAST 20
#define KERNEL_LEAST_NS 20000

struct call {
	int64_t start;
	uint32_t lane;
	bool waits;
};

struct calls {
	struct call *items;
	size_t count;
};

static void calls_free(struct calls *c)
{
	free(c->items);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return sb_compare((const int64_t[]){x->lane, x->start, x->waits},
	                  (const int64_t[]){y->lane, y->start, y->waits}, 3);
}

/* On Ascend each launch is followed by a wait for the stream (msprof-analyze, synchronize stream). */
static int ratio_on_ascend(const struct host_part *h, double *out)
{
	__attribute__((cleanup(calls_free))) struct calls c = {0};
	const struct trace *t = &h->c->trace;
	size_t launches = 0, followed = 0;

	for (size_t i = 0; i < t->count; i++) {
		const char *name;
		bool waits;

		if (t->kind[i] != EVENT_HOST_RUNTIME)
			continue;
		name = trace_text(t, t->name[i], NULL);
		waits = strstr(name, "aclrtSynchronizeStream") != NULL;
		if (!waits && strcmp(name, "Node@launch") != 0)
			continue;
		if (sb_grow(&c.items, c.count, sizeof(*c.items)) != SB_OK)
			return SB_ENOMEM;
		c.items[c.count++] = (struct call){t->start_ns[i], t->lane[i], waits};
	}
	if (c.count > 0)
		qsort(c.items, c.count, sizeof(*c.items), by_thread_and_time);
	for (size_t i = 0; i < c.count; i++) {
		if (c.items[i].waits)
			continue;
		launches++;
		followed += i + 1 < c.count && c.items[i + 1].waits && c.items[i + 1].lane == c.items[i].lane;
	}
	if (launches >= LAUNCHES_LEAST)
		*out = (double)followed / (double)launches;
	return SB_OK;
}

/* On GPUs the call itself lasts until its kernel has ended. */
static void ratio_on_gpu(const struct host_part *h, double *out)
{
	const struct trace *t = &h->c->trace;
	size_t launches = 0, blocked = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct launch *l;

		if (t->kind[i] != EVENT_KERNEL || t->dur_ns[i] < KERNEL_LEAST_NS)
			continue;
		l = launches_find(&h->launches, t->link[i]);
		if (!l)
			continue;
		launches++;
		blocked +=
		    interval_end(l->start, t->dur_ns[l->event]) >= interval_end(t->start_ns[i], t->dur_ns[i]);
	}
	if (launches >= LAUNCHES_LEAST)
		*out = (double)blocked / (double)launches;
}

int launch_blocking_ratio(const struct host_part *h, double *out)
{
	*out = NAN;
	if (capture_is_ascend(h->c))
		return ratio_on_ascend(h, out);
	ratio_on_gpu(h, out);
	return SB_OK;
}
