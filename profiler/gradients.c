#include "profiler/gradients.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "profiler/activity.h"
#include "profiler/communication.h"
#include "profiler/kernel_name.h"

/* All spellings: ncclDevKernel_AllReduce_…, hcom_allReduce_…, allreduce, reduce_scatter. */
static bool is_reduction(const char *name)
{
	return name_has(name, "allreduce") || name_has(name, "all_reduce") ||
	       name_has(name, "reducescatter") || name_has(name, "reduce_scatter");
}

/* A reduction and the step that it belongs to. */
struct found {
	int64_t step; /* number, SB_NULL = none */
	struct gradient_reduce r;
};

struct search {
	const struct capture *c;
	struct launches launches;
	struct step_windows windows;
	struct found *items;
	size_t count;
	const struct communication_op **by_name; /* of communication.json, by name and step */
	size_t op_count;
};

static void search_free(struct search *s)
{
	launches_free(&s->launches);
	step_windows_free(&s->windows);
	free(s->items);
	free(s->by_name);
}

static int by_name(const void *a, const void *b)
{
	const struct communication_op *x = *(const struct communication_op *const *)a;
	const struct communication_op *y = *(const struct communication_op *const *)b;
	const int64_t left[] = {x->name, x->step}, right[] = {y->name, y->step};

	return sb_compare(left, right, 2);
}

static int index_operators(struct search *s)
{
	const struct capture *c = s->c;

	s->by_name = malloc((c->communication_count + 1) * sizeof(*s->by_name));
	if (!s->by_name)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->communication_count; i++)
		s->by_name[s->op_count++] = &c->communications[i];
	qsort(s->by_name, s->op_count, sizeof(*s->by_name), by_name);
	return SB_OK;
}

static const struct communication_op *operator_of(const struct search *s, uint32_t name, int64_t step)
{
	const struct communication_op key = {.name = name, .step = step}, *at = &key;
	const struct communication_op **found =
	    bsearch(&at, s->by_name, s->op_count, sizeof(*s->by_name), by_name);

	return found ? *found : NULL;
}

static int64_t step_of(const struct search *s, size_t event)
{
	const struct trace *t = &s->c->trace;
	int64_t launch = launches_start(&s->launches, t->link[event]);
	uint32_t step = step_windows_at(&s->windows, launch != SB_NULL ? launch : t->start_ns[event]);

	return step == NO_STEP ? SB_NULL : s->c->steps[step].number;
}

static int add_event(struct search *s, size_t event)
{
	const struct trace *t = &s->c->trace;
	const struct event_detail *d = trace_detail(t, (uint32_t)event);
	int64_t step = step_of(s, event);
	const struct communication_op *op = operator_of(s, t->name[event], step);
	struct found f = {.step = step,
	                  .r = {.bytes = d ? d->bytes : SB_NULL,
	                        .ready_ns = launches_start(&s->launches, t->link[event]),
	                        .start_ns = interval_bound(t->start_ns[event]),
	                        .end_ns = interval_end(t->start_ns[event], t->dur_ns[event]),
	                        .transit_us = op ? op->transit_us : NAN}};

	if (f.r.bytes == SB_NULL && op)
		f.r.bytes = communication_bytes(op);
	if (f.r.bytes == SB_NULL || f.r.bytes <= 0)
		return SB_OK;
	if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
		return SB_ENOMEM;
	s->items[s->count++] = f;
	return SB_OK;
}

static int collect(struct search *s)
{
	const struct trace *t = &s->c->trace;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		const struct event_detail *d;

		if (t->kind[i] != EVENT_COMMUNICATION)
			continue;
		d = trace_detail(t, (uint32_t)i);
		if (is_reduction(trace_text(t, t->name[i], NULL)) ||
		    (d && d->type && is_reduction(trace_text(t, d->type, NULL))))
			rc = add_event(s, i);
	}
	return rc;
}

static int by_step(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	const int64_t left[] = {x->step, x->r.start_ns, x->r.end_ns, x->r.bytes};
	const int64_t right[] = {y->step, y->r.start_ns, y->r.end_ns, y->r.bytes};

	return sb_compare(left, right, 4);
}

/* The longest stretch of one step; the last of equals. */
static void choose(const struct search *s, size_t *out_first, size_t *out_count)
{
	*out_first = *out_count = 0;
	for (size_t from = 0, to = 0; from < s->count; from = to) {
		while (to < s->count && s->items[to].step == s->items[from].step)
			to++;
		if (to - from >= *out_count) {
			*out_first = from;
			*out_count = to - from;
		}
	}
}

/* The compute of the step, from its first to the last that begins before the last reduction does. */
static void find_backward(const struct search *s, struct gradient_reduces *r)
{
	const struct trace *t = &s->c->trace;
	int64_t last = r->items[r->count - 1].start_ns;

	r->backward_start_ns = r->items[0].start_ns;
	r->backward_end_ns = r->items[0].start_ns;
	for (size_t i = 0; i < t->count; i++) {
		int64_t start = t->start_ns[i], end = interval_end(start, t->dur_ns[i]);

		if (t->kind[i] != EVENT_KERNEL || start > last || step_of(s, i) != r->step)
			continue;
		r->backward_start_ns = start < r->backward_start_ns ? start : r->backward_start_ns;
		r->backward_end_ns = end > r->backward_end_ns ? end : r->backward_end_ns;
	}
}

static int take(const struct search *s, struct gradient_reduces *out)
{
	struct gradient_reduces r = {.step = SB_NULL};
	size_t first;

	choose(s, &first, &r.count);
	r.items = malloc((r.count + 1) * sizeof(*r.items));
	if (!r.items)
		return SB_ENOMEM;
	for (size_t i = 0; i < r.count; i++)
		r.items[i] = s->items[first + i].r;
	if (r.count > 0) {
		r.step = s->items[first].step;
		find_backward(s, &r);
	}
	*out = r;
	return SB_OK;
}

int gradient_reduces_find(const struct capture *c, struct gradient_reduces *out)
{
	__attribute__((cleanup(search_free))) struct search s = {.c = c};
	int rc = launches_build(&c->trace, &s.launches);

	if (rc == SB_OK)
		rc = step_windows_build(c, &s.windows);
	if (rc == SB_OK)
		rc = index_operators(&s);
	if (rc == SB_OK)
		rc = collect(&s);
	if (rc != SB_OK)
		return rc;
	if (s.count > 0)
		qsort(s.items, s.count, sizeof(*s.items), by_step);
	return take(&s, out);
}

void gradient_reduces_free(struct gradient_reduces *r)
{
	free(r->items);
	*r = (struct gradient_reduces){0};
}
