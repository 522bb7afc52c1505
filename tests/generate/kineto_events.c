#include "tests/generate/kineto.h"
#include <stddef.h>

void kineto_wait(struct kineto_rank *r, struct unit *u, int64_t behind)
{
	u->behind = (int32_t)behind;
	if (behind)
		r->units[behind - 1].recorded = true;
}

void kineto_prefetch(const struct kineto_options *o, struct kineto_rank *r, int64_t step)
{
	struct unit *u = kineto_unit(r, UNIT_PREFETCH, PHASE_FORWARD, step);
	const struct unit *fence = r->fence ? &r->units[r->fence - 1] : NULL;

	kineto_issue(o, r, u);
	u->device = kineto_later(u->launch + u->launch_dur + kineto_draw(o, r, 2000, 4000), r->side + 800);
	if (fence)
		u->device = kineto_later(u->device, fence->device + fence->device_dur + 1000);
	kineto_wait(r, u, r->fence);
	u->device_dur = o->prefetch * 1000;
	u->bytes = u->device_dur * 20;
	r->side = u->device + u->device_dur;
	r->queue[(r->launches - 1) % 1024] = u->device;
	r->fetched = r->count;
}

int64_t kineto_last_collective(const struct kineto_rank *r)
{
	int64_t i = r->count;

	while (i > 0 && r->units[i - 1].kind != UNIT_COLLECTIVE)
		i--;
	return i;
}
