#include "tests/generate/kineto.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stddef.h>

const int64_t kineto_base_ns = 1735689600000000000;
const int64_t kineto_start_ns = 1735689600000000000 + 2764800000000000 + 123456000;

/* The old dialect knows whole microseconds only: then every draw is one. */
static int64_t round_up(const struct kineto_options *o, int64_t ns)
{
	return o->old ? (ns + 999) / 1000 * 1000 : ns;
}

static int64_t draw(const struct kineto_options *o, struct kineto_rank *r, int64_t low, int64_t high)
{
	return round_up(o, random_between(&r->random, low, high));
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct unit *new_unit(struct kineto_rank *r, enum unit_kind kind, enum unit_phase phase, int64_t step)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 1024;
		r->units = out_alloc(r->units, r->cap, sizeof(*r->units));
	}
	r->units[r->count] =
	    (struct unit){.kind = (uint8_t)kind, .phase = (uint8_t)phase, .step = (int16_t)step};
	return &r->units[r->count++];
}

/* The host side of an operator: where it starts, and when its launch call returns. */
static void issue(const struct kineto_options *o, struct kineto_rank *r, struct unit *u)
{
	int64_t slow = o->fault == KINETO_HOST_BOUND ? 9 : o->fault == KINETO_SYNC ? 1 : 3;
	int64_t *slot = &r->queue[r->launches++ % 1024];

	u->op = r->host;
	u->launch = u->op + draw(o, r, 3000 * slow, 5000 * slow);
	u->launch_dur = draw(o, r, 2000, 4000);
	if (*slot > u->launch + u->launch_dur)
		u->launch_dur = *slot - u->launch;
	u->op_dur = u->launch + u->launch_dur - u->op + draw(o, r, 1000, 2000);
	u->extra = random_next(&r->random) % 4 == 0;
	u->memory = random_next(&r->random) % 4 == 0;
	r->host = u->op + u->op_dur + draw(o, r, 2000 * slow, 4000 * slow);
}

/* The device side on the compute stream. */
static void run(const struct kineto_options *o, struct kineto_rank *r, struct unit *u, int64_t dur)
{
	int64_t ready = u->launch + u->launch_dur + draw(o, r, 2000, 4000);

	u->device = later(ready, r->compute + draw(o, r, 700, 1100));
	u->device_dur = dur;
	r->compute = u->device + dur;
	r->queue[(r->launches - 1) % 1024] = u->device;
}

static void compute(const struct kineto_options *o, struct kineto_rank *r, enum unit_phase phase,
                    int64_t step, int64_t index)
{
	struct unit *u = new_unit(r, UNIT_COMPUTE, phase, step);
	const struct work *w;
	int64_t dur;

	u->work = (int16_t)(index % (phase == PHASE_FORWARD    ? kineto_forward_count
	                             : phase == PHASE_BACKWARD ? kineto_backward_count
	                                                       : kineto_optimizer_count));
	w = kineto_work(u);
	issue(o, r, u);
	dur = random_between(&r->shared, w->low, w->high);
	dur += random_between(&r->random, 0, dur / 100);
	if (o->fault == KINETO_HOST_BOUND)
		dur = dur % 4000 + 2000;
	/* Longer than the host takes for an operator: but for the waits the device would never be idle. */
	if (o->fault == KINETO_SYNC)
		dur = dur % 4000 + 16000;
	if (o->fault == KINETO_SLOW_RANK && r->rank == 1)
		dur += dur * 2 / 5;
	run(o, r, u, round_up(o, dur));
}

static void copy(const struct kineto_options *o, struct kineto_rank *r, enum unit_kind kind, int64_t step)
{
	struct unit *u = new_unit(r, kind, PHASE_FORWARD, step);
	const struct work *w = kineto_work(u);

	issue(o, r, u);
	run(o, r, u, draw(o, r, w->low, w->high));
	u->bytes = kind == UNIT_COPY_OUT ? 4 : u->device_dur * 20;
	if (kind == UNIT_COPY_OUT) {
		u->sync_dur = later(r->compute - (u->launch + u->launch_dur), 0) + draw(o, r, 3000, 5000);
		u->op_dur += u->sync_dur;
		r->host += u->sync_dur;
	}
}

static void begin_step(const struct kineto_options *o, struct kineto_rank *r, int64_t step)
{
	bool slow = o->fault == KINETO_LOADER;

	r->steps[step].start = r->host;
	r->steps[step].load = slow ? draw(o, r, 80000000, 100000000) : draw(o, r, 80000, 120000);
	r->host += r->steps[step].load + draw(o, r, 5000, 9000);
	copy(o, r, UNIT_COPY_IN, step);
	copy(o, r, UNIT_CLEAR, step);
}

/* One collective of all ranks: it starts on each when that rank is ready, and ends on all together. */
static void collective(const struct kineto_options *o, struct kineto_rank *ranks, int64_t step,
                       int64_t transit, int64_t bytes)
{
	int64_t barrier = 0;

	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];
		struct unit *u = new_unit(r, UNIT_COLLECTIVE, PHASE_BACKWARD, step);

		issue(o, r, u);
		u->bytes = bytes;
		/* The gradients it sends must be there: it never starts before the kernels launched so far.
		 */
		u->device = later(later(u->launch + u->launch_dur + draw(o, r, 3000, 5000), r->link + 1000),
		                  r->compute + 1000);
		r->queue[(r->launches - 1) % 1024] = u->device;
		barrier = later(barrier, u->device);
	}
	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];
		struct unit *u = &r->units[r->count - 1];

		u->device_dur = barrier + transit - u->device;
		r->link = barrier + transit;
	}
}

/* As many units as leave about a seventh of the events for the rows that fill up. */
static int64_t units_per_step(const struct kineto_options *o)
{
	int64_t units = (o->events - 64 - 8 * o->steps) / o->steps / 8;

	/* every second forward operator brings a copy and a wait along */
	if (o->fault == KINETO_SYNC)
		units -= units / 6;
	if (units < 24)
		out_die("at least %" PRId64 " events are needed for %" PRId64 " steps", 64 + 208 * o->steps,
		        o->steps);
	return units;
}

static void pair_passes(struct kineto_rank *r, int64_t forward, int64_t backward, int64_t n, int32_t id)
{
	while (n-- > 0 && backward < r->count) {
		while (forward < r->count && r->units[forward].kind != UNIT_COMPUTE)
			forward++;
		while (backward < r->count && r->units[backward].kind != UNIT_COMPUTE)
			backward++;
		if (backward >= r->count || r->units[backward].phase != PHASE_BACKWARD ||
		    r->units[forward].phase != PHASE_FORWARD)
			return;
		r->units[forward].pair = r->units[backward].pair = id++;
		forward += 3;
		backward += 3;
	}
}

static void play_step(const struct kineto_options *o, struct kineto_rank *ranks, int64_t step, int64_t units)
{
	int64_t n_forward = units * 36 / 100;
	int64_t n_backward = units * 52 / 100;
	int64_t n_optimizer = units * 6 / 100;
	int64_t buckets = o->fault == KINETO_SMALL_PACKETS ? units / 8 + 2 : later(units / 160, 2);
	int64_t every = later(n_backward / buckets, 1);
	bool tiny = o->fault == KINETO_HOST_BOUND || o->fault == KINETO_SYNC;
	int64_t transit = o->fault == KINETO_SMALL_PACKETS ? 120000 : every * (tiny ? 2000 : 36000);
	int64_t bytes = o->fault == KINETO_SMALL_PACKETS ? 65536 : transit * 150;
	int64_t first = ranks[0].count;
	int64_t turn;

	for (int64_t i = 0; i < o->ranks; i++)
		begin_step(o, &ranks[i], step);
	for (int64_t k = 0; k < n_forward; k++)
		for (int64_t i = 0; i < o->ranks; i++) {
			compute(o, &ranks[i], PHASE_FORWARD, step, k);
			if (o->fault == KINETO_SYNC && k % 2 == 1)
				copy(o, &ranks[i], UNIT_COPY_OUT, step);
		}
	turn = ranks[0].count;
	for (int64_t k = 0; k < n_backward; k++) {
		for (int64_t i = 0; i < o->ranks; i++)
			compute(o, &ranks[i], PHASE_BACKWARD, step, k);
		/* The last bucket cannot hide under anything: as in real jobs it is kept small. */
		if (o->fault != KINETO_POOR_OVERLAP && k % every == every - 1)
			collective(o, ranks, step, k + every < n_backward ? transit : transit / 16000 * 1000,
			           bytes);
	}
	for (int64_t k = 0; o->fault == KINETO_POOR_OVERLAP && k < buckets; k++)
		collective(o, ranks, step, transit, bytes);
	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];

		pair_passes(r, first, turn, n_forward / 3, (int32_t)(step * n_forward + 1));
		r->compute = later(r->compute, r->link);
		for (int64_t k = 0; k < n_optimizer; k++)
			compute(o, r, PHASE_OPTIMIZER, step, k);
		r->steps[step].end = r->host;
		r->host += 1000;
	}
}

void kineto_play(const struct kineto_options *o, struct kineto_rank *ranks)
{
	int64_t units = units_per_step(o);

	for (int64_t i = 0; i < o->ranks; i++) {
		ranks[i].rank = i;
		ranks[i].random.state = o->seed * 1000003 + (uint64_t)i;
		ranks[i].shared.state = o->seed;
		ranks[i].steps = out_alloc(NULL, o->steps, sizeof(*ranks[i].steps));
		ranks[i].host = kineto_start_ns;
		ranks[i].early = kineto_start_ns - INT64_C(2) * KINETO_EARLY * KINETO_EARLY_NS;
		ranks[i].compute = ranks[i].link = kineto_start_ns;
	}
	for (int64_t step = 0; step < o->steps; step++)
		play_step(o, ranks, step, units);
}
