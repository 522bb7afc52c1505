#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/msprof.h"

/* op_summary says more of a kernel than task_time, and more of a collective than step_trace. */
static void drop_poorer(struct capture *c)
{
	bool rows = false, communication = false;
	size_t kept = 0;

	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];

		rows = rows || (k->origin == KERNEL_ROW && !k->communication);
		communication = communication || (k->origin == KERNEL_ROW && k->communication);
	}
	for (size_t i = 0; i < c->trace.count; i++)
		communication = communication || c->trace.kind[i] == EVENT_COMMUNICATION;
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];

		if ((k->origin == KERNEL_TASK && rows) || (k->origin == KERNEL_REDUCE && communication))
			continue;
		c->kernels[kept++] = *k;
	}
	c->kernel_count = kept;
}

static int by_number(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	const int64_t left[] = {x->number, x->start_ns, x->dur_ns};
	const int64_t right[] = {y->number, y->start_ns, y->dur_ns};

	return sb_compare(left, right, 3);
}

/* step_trace and the timeline know the same iterations: windows of one number that overlap are one. */
static void drop_twins(struct capture *c)
{
	size_t kept = 0;

	if (c->step_count < 2)
		return;
	qsort(c->steps, c->step_count, sizeof(*c->steps), by_number);
	for (size_t i = 0; i < c->step_count; i++) {
		const struct step *s = &c->steps[i], *last = kept > 0 ? &c->steps[kept - 1] : NULL;

		if (!last || s->number != last->number || s->start_ns == SB_NULL ||
		    last->start_ns == SB_NULL || s->start_ns >= sb_add_sat(last->start_ns, last->dur_ns))
			c->steps[kept++] = *s;
	}
	c->step_count = kept;
}

void msprof_finish(struct capture *c)
{
	drop_poorer(c);
	drop_twins(c);
}
