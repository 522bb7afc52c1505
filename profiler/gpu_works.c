#include "profiler/gpu_works.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/chips.h"
#include "profiler/intervals.h"
#include "profiler/launches.h"

#define NONE GPU_WORK_NONE
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

void gpu_works_free(struct gpu_works *g)
{
	free(g->ns);
	free(g->tf32);
	free(g->work_of);
	*g = (struct gpu_works){0};
}

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
	size_t lo = 0, hi = s->count;
	uint32_t at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct work_span *x = &s->items[mid];

		if (x->lane < lane || (x->lane == lane && x->start <= time))
			lo = mid + 1;
		else
			hi = mid;
	}
	at = lo > 0 ? (uint32_t)lo - 1 : NONE;
	for (int depth = 0; at != NONE && (s->items[at].lane != lane || s->items[at].end < time); depth++)
		at = depth < DEPTH_MAX ? s->items[at].parent : NONE;
	return at == NONE ? NONE : s->items[at].work;
}

static void join(struct gpu_works *g, const struct capture *c, const struct work_spans *s,
                 const struct launches *l)
{
	const struct trace *t = &c->trace;

	for (size_t i = 0; i < t->count; i++) {
		const struct launch *from;
		uint32_t work;

		g->work_of[i] = NONE;
		if (t->kind[i] != EVENT_KERNEL || !(from = launches_find(l, t->link[i])))
			continue;
		work = span_at(s, t->lane[from->event], from->start);
		if (work == NONE)
			continue;
		g->work_of[i] = work;
		g->ns[work] += (double)t->dur_ns[i];
		/* cuBLAS, cutlass and cuDNN: fp32 operands on the tensor cores */
		if (c->host_works[work].precision == PRECISION_FP32 && !g->tf32[work]) {
			const char *name = trace_text(t, t->name[i], NULL);

			g->tf32[work] = strstr(name, "tf32") || strstr(name, "s1688");
		}
	}
}

int gpu_works_build(const struct capture *c, struct gpu_works *out)
{
	LAUNCHES_AUTO l = {0};
	struct work_spans s = {.items = calloc(c->host_work_count + 1, sizeof(*s.items))};
	int rc;

	out->ns = calloc(c->host_work_count + 1, sizeof(*out->ns));
	out->tf32 = calloc(c->host_work_count + 1, sizeof(*out->tf32));
	out->work_of = calloc(c->trace.count + 1, sizeof(*out->work_of));
	rc = s.items && out->ns && out->tf32 && out->work_of ? launches_build(&c->trace, &l) : SB_ENOMEM;
	if (rc == SB_OK) {
		sort_spans(&s, c);
		join(out, c, &s, &l);
	}
	free(s.items);
	return rc;
}

enum precision gpu_work_precision(const struct gpu_works *g, const struct capture *c, uint32_t work)
{
	return g->tf32[work] ? PRECISION_TF32 : (enum precision)c->host_works[work].precision;
}
