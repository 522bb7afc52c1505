#include <stdlib.h>

#include "profiler/efficiency/efficiency.h"

/* A call counts as beside communication when that covers it nearly all the time, as alone when hardly ever.
 */
#define BESIDE 0.9
#define ALONE 0.05

int communication_covered(const struct capture *c, struct covered *out)
{
	const struct trace *t = &c->trace;
	INTERVALS_AUTO set = {0};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < t->count; i++)
		if (t->kind[i] == EVENT_COMMUNICATION)
			rc = intervals_add(&set, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
	for (size_t i = 0; rc == SB_OK && t->count == 0 && i < c->kernel_count; i++)
		if (c->kernels[i].communication)
			rc = intervals_add(&set, c->kernels[i].start_ns,
			                   interval_end(c->kernels[i].start_ns, c->kernels[i].dur_ns));
	if (rc != SB_OK)
		return rc;
	intervals_normalise(&set);
	return covered_of(&set, out);
}

static int by_product(const struct product_call *x, const struct product_call *y)
{
	const int64_t left[] = {x->name, x->shapes, x->precision};
	const int64_t right[] = {y->name, y->shapes, y->precision};
	int order = sb_compare(left, right, 3);

	return order != 0 ? order : (x->flops > y->flops) - (x->flops < y->flops);
}

static int by_kind(const void *a, const void *b)
{
	const struct product_call *x = a, *y = b;
	int order = by_product(x, y);

	if (order != 0)
		return order;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void overlap_add(const struct covered *s, struct product_call *calls, size_t count, struct overlap_sum *io)
{
	size_t next;

	if (count > 0)
		qsort(calls, count, sizeof(*calls), by_kind);
	for (size_t i = 0; i < count; i = next) {
		double beside = 0, alone = 0;
		int64_t n_beside = 0, n_alone = 0;

		for (next = i; next < count && by_product(&calls[next], &calls[i]) == 0; next++) {
			int64_t start = interval_bound(calls[next].start_ns);
			int64_t end = interval_end(start, calls[next].dur_ns);
			double share = (double)covered_ns(s, start, end) / (double)calls[next].dur_ns;

			if (share >= BESIDE) {
				beside += (double)calls[next].dur_ns / 1e9;
				n_beside++;
			} else if (share <= ALONE) {
				alone += (double)calls[next].dur_ns / 1e9;
				n_alone++;
			}
		}
		if (n_beside == 0 || n_alone == 0)
			continue;
		io->calls += n_beside;
		io->beside += beside;
		io->alone += alone / (double)n_alone * (double)n_beside;
	}
}
