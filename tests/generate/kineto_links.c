#include "tests/generate/kineto.h"
#include <math.h>

/* What 85 % of an NVLink of 450 GB/s leave of a collective: bytes for ns of transfer. */
static int64_t bytes_of(const struct kineto_options *o, enum unit_kind kind, int64_t ns)
{
	double n = o->ranks > 1 ? (double)o->ranks : 8;

	return llround(382.0 * (double)ns * n / (n - 1) / (kind == UNIT_COLLECTIVE ? 2 : 1)) / 2 * 2;
}

void kineto_collective(const struct kineto_options *o, struct kineto_rank *ranks, enum unit_kind kind,
                       int64_t step, int64_t transit)
{
	int64_t barrier = 0, bytes;

	if (kind == UNIT_ALL_TO_ALL)
		transit = kineto_round(o, faults_longer(&o->faults, FAULT_ALL_TO_ALL, transit));
	bytes = bytes_of(o, kind, transit);
	/* a ring is as fast as its slowest link: all ranks see it */
	transit = kineto_round(o, faults_longer(&o->faults, FAULT_SLOW_LINK, transit));
	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];
		struct unit *u = kineto_unit(r, kind, PHASE_BACKWARD, step);

		kineto_issue(o, r, u);
		u->bytes = bytes;
		/* The gradients it sends must be there: it never starts before the kernels launched so far.
		 */
		u->device = kineto_later(u->launch + u->launch_dur + kineto_draw(o, r, 3000, 5000),
		                         (kind == UNIT_ALL_TO_ALL ? r->exchange : r->link) + 1000);
		u->device = kineto_later(u->device, r->compute + 1000);
		r->queue[(r->launches - 1) % 1024] = u->device;
		barrier = kineto_later(barrier, u->device);
	}
	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];
		struct unit *u = &r->units[r->count - 1];

		u->device_dur = barrier + transit - u->device;
		if (kind == UNIT_ALL_TO_ALL)
			r->exchange = r->compute = barrier + transit;
		else
			r->link = barrier + transit;
	}
}

void kineto_shift(const struct kineto_options *o, struct kineto_rank *r)
{
	for (int64_t i = 0; i < r->count; i++) {
		r->units[i].op += r->shift;
		r->units[i].launch += r->shift;
		r->units[i].device += r->shift;
	}
	for (int64_t i = 0; i < r->call_count; i++)
		r->calls[i].start += r->shift;
	for (int64_t i = 0; i < o->steps; i++) {
		r->steps[i].start += r->shift;
		r->steps[i].end += r->shift;
	}
	r->host += r->shift;
	r->early += r->shift;
}
