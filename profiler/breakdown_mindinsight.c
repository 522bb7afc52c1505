#include "profiler/breakdown_parts.h"

#include "base/search.h"

/* MindInsight's step trace knows every iteration, its timeline the kernels of some: time without kernels in
 * an iteration that the timeline does not show is no free time. */

/* The timeline shows an iteration when its kernels reach from the first forward operator to the last backward
 * one; the operators that mark these points need not be kernels. */
#define EDGE_PARTS 100 /* of the iteration */

static const struct iteration *iteration_of(const struct capture *c, int64_t number, int64_t start)
{
	size_t at = SB_BISECT(i, 0, c->iteration_count,
	                      c->iterations[i].step < number ||
	                          (c->iterations[i].step == number && c->iterations[i].start_ns < start));

	return at < c->iteration_count && c->iterations[at].step == number &&
	               c->iterations[at].start_ns == start
	           ? &c->iterations[at]
	           : NULL;
}

static int64_t or_zero(int64_t v)
{
	return v == SB_NULL ? 0 : v;
}

static bool reaches(const struct iteration *from, const struct iteration *to,
                    const struct interval_set *compute)
{
	int64_t begin = sb_add_sat(from->start_ns, or_zero(from->interval_ns));
	int64_t end =
	    sb_add_sat(sb_add_sat(to->start_ns, or_zero(to->interval_ns)), or_zero(to->forward_backward_ns));

	return compute->items[0].start <= sb_add_sat(begin, from->total_ns / EDGE_PARTS) &&
	       compute->items[compute->count - 1].end >= sb_add_sat(end, -(to->total_ns / EDGE_PARTS));
}

bool mindinsight_covers(const struct capture *c, uint32_t step, const struct activity *a)
{
	const struct iteration *from = c->iterations, *to;

	if (a->compute.count == 0)
		return false;
	if (c->iteration_count == 0)
		return true;
	to = &c->iterations[c->iteration_count - 1];
	if (step != NO_STEP)
		from = to = iteration_of(c, c->steps[step].number, c->steps[step].start_ns);
	/* without a window nothing says which iterations the timeline shows */
	for (size_t i = 0; step == NO_STEP && i < c->step_count; i++)
		if (c->steps[i].start_ns == SB_NULL)
			return false;
	return from && to && from->start_ns != SB_NULL && to->start_ns != SB_NULL &&
	       reaches(from, to, &a->compute);
}
