#include "profiler/gpu_works.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/intervals.h"
#include "profiler/launches.h"

#define NONE UINT32_MAX
#define DEPTH_MAX 64 /* such operators hardly nest at all */

/* A host operator whose work is known. */
struct work_span {
	uint32_t lane;
	uint32_t work;   /* index into host_works */
	uint32_t parent; /* the span that this one lies in, NONE = none */
	int64_t start, end;
};

struct work_spans {
	struct work_span *items; /* by lane and start, the longer first */
	size_t count;
};

static int by_place(const void *a, const void *b)
{
	const struct work_span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->work > y->work) - (x->work < y->work);
}

static void sort_spans(struct work_spans *s, const struct capture *c)
{
	const struct trace *t = &c->trace;

	for (size_t i = 0; i < c->host_work_count; i++) {
		uint32_t e = c->host_works[i].event;

		if (e < t->count && t->kind[e] == EVENT_HOST_OP)
			s->items[s->count++] =
			    (struct work_span){t->lane[e], (uint32_t)i, NONE, t->start_ns[e],
			                       interval_end(t->start_ns[e], t->dur_ns[e])};
	}
	qsort(s->items, s->count, sizeof(*s->items), by_place);
	for (size_t i = 1; i < s->count; i++) {
		uint32_t up = (uint32_t)i - 1;

		while (up != NONE &&
		       (s->items[up].lane != s->items[i].lane || s->items[up].end < s->items[i].end))
			up = s->items[up].parent;
		s->items[i].parent = up;
	}
}

/* The innermost span of the lane that holds the time. */
static uint32_t span_at(const struct work_spans *s, uint32_t lane, int64_t time)
{
	size_t n =
	    SB_BISECT(i, 0, s->count,
	              s->items[i].lane < lane || (s->items[i].lane == lane && s->items[i].start <= time));
	uint32_t at = n > 0 ? (uint32_t)n - 1 : NONE;

	for (int depth = 0; at != NONE && (s->items[at].lane != lane || s->items[at].end < time); depth++)
		at = depth < DEPTH_MAX ? s->items[at].parent : NONE;
	return at == NONE ? NONE : s->items[at].work;
}

static int join(struct capture *c, const struct work_spans *s, const struct launches *l)
{
	const struct trace *t = &c->trace;

	for (size_t i = 0; i < t->count; i++) {
		const struct launch *from;
		struct host_work *w;
		uint32_t work;

		if (t->kind[i] != EVENT_KERNEL || !(from = launches_find(l, t->link[i])))
			continue;
		work = span_at(s, t->lane[from->event], from->start);
		if (work == NONE)
			continue;
		if (sb_grow(&c->work_kernels, c->work_kernel_count, sizeof(*c->work_kernels)) != SB_OK)
			return SB_ENOMEM;
		c->work_kernels[c->work_kernel_count++] = (struct work_kernel){(uint32_t)i, work};
		w = &c->host_works[work];
		w->kernel_ns += (double)t->dur_ns[i];
		/* cuBLAS, cutlass and cuDNN: fp32 operands on the tensor cores */
		if (w->precision == PRECISION_FP32 && !w->tf32) {
			const char *name = trace_text(t, t->name[i], NULL);

			w->tf32 = strstr(name, "tf32") || strstr(name, "s1688");
		}
	}
	return SB_OK;
}

int gpu_works_join(struct capture *c)
{
	LAUNCHES_AUTO l = {0};
	struct work_spans s = {0};
	int rc;

	if (c->host_work_count == 0)
		return SB_OK;
	s.items = malloc(c->host_work_count * sizeof(*s.items));
	rc = s.items ? launches_build(&c->trace, &l) : SB_ENOMEM;
	if (rc == SB_OK) {
		sort_spans(&s, c);
		rc = join(c, &s, &l);
	}
	free(s.items);
	return rc;
}

static int by_event(const void *key, const void *item)
{
	const uint32_t *event = key;
	const struct work_kernel *k = item;

	return (*event > k->event) - (*event < k->event);
}

const struct host_work *gpu_work_of(const struct capture *c, uint32_t event)
{
	const struct work_kernel *k = NULL;

	if (c->work_kernel_count > 0)
		k = bsearch(&event, c->work_kernels, c->work_kernel_count, sizeof(*k), by_event);
	return k ? &c->host_works[k->work] : NULL;
}

enum precision gpu_work_precision(const struct host_work *w)
{
	return w->tf32 ? PRECISION_TF32 : (enum precision)w->precision;
}
