#include "tests/generate/ascend.h"

static void fill_lanes(struct ascend_rank *r)
{
	SPANS_AUTO busy = {0};

	for (int64_t i = 0; i < r->kernel_count; i++)
		spans_add(&r->computing, r->kernels[i].start, r->kernels[i].start + r->kernels[i].dur);
	for (int64_t i = 0; i < r->link_count; i++)
		spans_add(&r->communication, r->links[i].start, r->links[i].start + r->links[i].dur);
	spans_merge(&r->computing);
	spans_merge(&r->communication);
	spans_minus(&r->communication, &r->computing, &r->exposed);
	for (int64_t i = 0; i < r->computing.count; i++)
		spans_add(&busy, r->computing.items[i].start, r->computing.items[i].end);
	for (int64_t i = 0; i < r->communication.count; i++)
		spans_add(&busy, r->communication.items[i].start, r->communication.items[i].end);
	spans_merge(&busy);
	spans_gaps(&busy, &r->gaps);
}

/* Sum of the spans that start in [from, to); widens [*first, *last] to them. */
static int64_t sum_within(const struct spans *s, int64_t from, int64_t to, int64_t *first, int64_t *last)
{
	int64_t total = 0;
	int64_t low = 0;
	int64_t high = s->count;

	while (low < high) {
		int64_t middle = (low + high) / 2;

		if (s->items[middle].start < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (int64_t i = low; i < s->count && s->items[i].start < to; i++) {
		const struct span *x = &s->items[i];

		total += x->end - x->start;
		*first = x->start < *first ? x->start : *first;
		*last = x->end > *last ? x->end : *last;
	}
	return total;
}

/* The definitions of the profiler: sums of the lane's spans that start in the window; Stage = last end -
 * first start - Bubble. */
static struct truth_row measure(const struct ascend_rank *r, int64_t from, int64_t to, bool with_tail)
{
	int64_t first = INT64_MAX;
	int64_t last = 0;
	int64_t last_work;
	int64_t work_first;
	struct truth_row row = {.step_ns = -1, .copy_ns = -1, .copy_exposed_ns = -1, .preparing_ns = -1};

	row.compute_ns = sum_within(&r->computing, from, to, &first, &last);
	row.communication_ns = sum_within(&r->communication, from, to, &first, &last);
	row.communication_exposed_ns = sum_within(&r->exposed, from, to, &first, &last);
	row.overlap_ns = row.communication_ns - row.communication_exposed_ns;
	work_first = first;
	last_work = last;
	row.free_ns = sum_within(&r->gaps, from, to, &first, &last);
	for (int64_t i = 0; i < r->link_count; i++)
		if (r->links[i].kind[0] == 'r' && r->links[i].start >= from && r->links[i].start < to)
			row.bubble_ns += r->links[i].dur;
	if (!with_tail) {
		row.free_ns -= last - last_work;
		last = last_work;
	}
	row.span_ns = last - first - row.bubble_ns;
	row.busy_ns = row.span_ns + row.bubble_ns - row.free_ns;
	if (from > 0) {
		row.step_ns = to - from;
		row.preparing_ns = work_first - from;
	}
	return row;
}

int64_t ascend_mean_step(const struct ascend_options *o, const struct ascend_rank *ranks)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < o->ranks; i++)
		for (int64_t step = 0; step < o->steps; step++)
			sum += ranks[i].steps[step].end - ranks[i].steps[step].start;
	return sum / (o->ranks * o->steps);
}

/* Another machine's clock: everything the rank wrote down is off by the same. */
static void shift(const struct ascend_options *o, struct ascend_rank *r)
{
	for (int64_t i = 0; i < r->kernel_count; i++) {
		r->kernels[i].op += r->shift;
		r->kernels[i].launch += r->shift;
		r->kernels[i].task += r->shift;
		r->kernels[i].start += r->shift;
		r->kernels[i].sync_start += r->shift;
	}
	for (int64_t i = 0; i < r->link_count; i++) {
		r->links[i].op += r->shift;
		r->links[i].launch += r->shift;
		r->links[i].start += r->shift;
	}
	for (int64_t i = 0; i < r->call_count; i++)
		r->calls[i].start += r->shift;
	for (int64_t i = 0; i < r->copy_count; i++) {
		r->copies[i].launch += r->shift;
		r->copies[i].start += r->shift;
	}
	for (int64_t i = 0; i < o->steps; i++) {
		r->steps[i].start += r->shift;
		r->steps[i].end += r->shift;
	}
	r->host += r->shift;
}

void ascend_measure(const struct ascend_options *o, struct ascend_rank *r)
{
	shift(o, r);
	fill_lanes(r);
	r->whole = measure(r, 0, INT64_MAX, true);
	for (int64_t step = 0; step < o->steps; step++) {
		r->steps[step].lane = measure(r, r->steps[step].start, r->steps[step].end, true);
		r->steps[step].kernels = measure(r, r->steps[step].start, r->steps[step].end, false);
	}
}
