#include "tests/generate/kineto.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

const int64_t kineto_base_ns = 1735689600000000000;
const int64_t kineto_start_ns = 1735689600000000000 + 2764800000000000 + 123456000;

enum { FUSED = 20, EXPERT_NS = 60000 };

int64_t kineto_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The old dialect knows whole microseconds only: then every draw is one. */
int64_t kineto_round(const struct kineto_options *o, int64_t ns)
{
	return o->old ? (ns + 999) / 1000 * 1000 : ns;
}

int64_t kineto_draw(const struct kineto_options *o, struct kineto_rank *r, int64_t low, int64_t high)
{
	return kineto_round(o, random_between(&r->random, low, high));
}

int64_t kineto_culprit(const struct kineto_options *o)
{
	return o->culprit < o->ranks ? o->culprit : o->ranks - 1;
}

/* ns on the host of a rank: longer where another process takes its cores. */
static int64_t host(const struct kineto_options *o, struct kineto_rank *r, int64_t low, int64_t high)
{
	int64_t ns = kineto_draw(o, r, low, high);

	return r->rank == kineto_culprit(o) ? kineto_round(o, faults_longer(&o->faults, FAULT_CONTENTION, ns))
	                                    : ns;
}

struct unit *kineto_unit(struct kineto_rank *r, enum unit_kind kind, enum unit_phase phase, int64_t step)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 1024;
		r->units = out_alloc(r->units, r->cap, sizeof(*r->units));
	}
	r->units[r->count] = (struct unit){
	    .kind = (uint8_t)kind, .phase = (uint8_t)phase, .step = (int16_t)step, .size = 2048};
	return &r->units[r->count++];
}

void kineto_issue(const struct kineto_options *o, struct kineto_rank *r, struct unit *u)
{
	int64_t *slot = &r->queue[r->launches++ % 1024];

	u->op = r->host;
	u->launch = u->op + host(o, r, 9000, 15000);
	u->launch_dur = host(o, r, 2000, 4000);
	if (*slot > u->launch + u->launch_dur)
		u->launch_dur = *slot - u->launch;
	u->op_dur = u->launch + u->launch_dur - u->op + host(o, r, 1000, 2000);
	u->extra = random_next(&r->random) % 4 == 0;
	u->memory = random_next(&r->random) % 4 == 0;
	r->host = u->op + u->op_dur + host(o, r, 6000, 12000);
	r->host += kineto_round(o, llround(o->faults.size[FAULT_HOST_BOUND] * 1000));
}

/* The device side on the compute stream. */
static void run(const struct kineto_options *o, struct kineto_rank *r, struct unit *u, int64_t dur)
{
	int64_t ready = u->launch + u->launch_dur + kineto_draw(o, r, 2000, 4000);

	u->device = kineto_later(ready, r->compute + kineto_draw(o, r, 700, 1100));
	u->device_dur = dur;
	r->last = r->count;
	if (o->prefetch)
		kineto_wait(r, u, r->holds);
	r->holds = 0;
	r->compute = u->device + dur;
	r->queue[(r->launches - 1) % 1024] = u->device;
}

static int64_t device(const struct kineto_options *o, const struct kineto_rank *r, const struct work *w,
                      int64_t ns)
{
	bool culprit = r->rank == kineto_culprit(o);

	ns = faults_longer(&o->faults, FAULT_UNDERUTILIZED, ns);
	if (culprit && kineto_is_attention(w))
		ns = faults_longer(&o->faults, FAULT_SLOW_RANK, ns);
	if (culprit && o->faults.size[FAULT_FREQUENCY] > 0)
		ns = llround((double)ns / (1 - o->faults.size[FAULT_FREQUENCY]));
	return ns;
}

static int works_of(enum unit_phase phase)
{
	switch (phase) {
	case PHASE_FORWARD: return kineto_forward_count;
	case PHASE_BACKWARD: return kineto_backward_count;
	case PHASE_SMALL: return kineto_small_count;
	case PHASE_EXPERTS: return 1;
	default: return kineto_optimizer_count;
	}
}

/* The launch of the whole graph is the launch of each of its kernels. */
static void in_graph(struct kineto_rank *r, struct unit *u, int64_t index)
{
	const struct kineto_call *c = &r->calls[r->call_count - 1];

	u->op = u->launch = c->start;
	u->op_dur = u->launch_dur = c->dur;
	u->graph = true;
	u->hidden = index % 10 != 0;
	r->launches++;
}

static struct unit *compute(const struct kineto_options *o, struct kineto_rank *r, enum unit_phase phase,
                            int64_t step, int64_t index)
{
	struct unit *u = kineto_unit(r, UNIT_COMPUTE, phase, step);
	const struct work *w;
	int64_t dur;

	u->work = (int16_t)(index % works_of(phase));
	w = kineto_work(u);
	if (o->graphs && phase == PHASE_FORWARD)
		in_graph(r, u, index);
	else
		kineto_issue(o, r, u);
	dur = random_between(&r->shared, w->low, w->high);
	if (!kineto_is_dense(w))
		dur = faults_longer(&o->faults, FAULT_MEMORY_BOUND, dur);
	u->size = kineto_size(w, dur);
	dur += random_between(&r->random, 0, dur * o->noise / 100);
	run(o, r, u, kineto_round(o, device(o, r, w, dur)));
	return u;
}

/* Every eighth kernel needs what was fetched four before it. */
static void forward(const struct kineto_options *o, struct kineto_rank *r, int64_t step, int64_t k)
{
	if (o->prefetch && k % 8 == 0)
		kineto_prefetch(o, r, step);
	if (o->prefetch && k % 8 == 4) {
		r->compute = kineto_later(r->compute, r->side);
		r->holds = r->fetched;
	}
	compute(o, r, PHASE_FORWARD, step, k);
	if (k % 8 == 4)
		r->fence = r->count;
}

static void copy(const struct kineto_options *o, struct kineto_rank *r, enum unit_kind kind, int64_t step)
{
	struct unit *u = kineto_unit(r, kind, PHASE_FORWARD, step);
	const struct work *w = kineto_work(u);
	int64_t more = kind == UNIT_COPY_IN ? faults_ms(&o->faults, FAULT_FETCHING) : 0;

	kineto_issue(o, r, u);
	run(o, r, u, kineto_draw(o, r, w->low, w->high) + kineto_round(o, more));
	u->bytes = kind == UNIT_COPY_OUT ? 4 : u->device_dur * 20;
	if (kind == UNIT_COPY_OUT) {
		u->sync_dur =
		    kineto_later(r->compute - (u->launch + u->launch_dur), 0) + host(o, r, 3000, 5000);
		u->op_dur += u->sync_dur;
		r->host += u->sync_dur;
	}
}

static void call(const struct kineto_options *o, struct kineto_rank *r, enum kineto_call_kind kind,
                 int64_t ns)
{
	if (r->call_count == r->call_cap) {
		r->call_cap = r->call_cap ? r->call_cap * 2 : 64;
		r->calls = out_alloc(r->calls, r->call_cap, sizeof(*r->calls));
	}
	r->calls[r->call_count++] =
	    (struct kineto_call){r->host, kineto_round(o, ns), kind, r->units[r->count - 1].step};
	r->host += kineto_round(o, ns);
}

void kineto_swap_draws(struct kineto_rank *r, enum fault fault)
{
	struct random random = r->random, shared = r->shared;

	r->random = r->extra[fault];
	r->shared = r->also[fault];
	r->extra[fault] = random;
	r->also[fault] = shared;
}

static void begin_step(const struct kineto_options *o, struct kineto_rank *r, int64_t step)
{
	const struct faults *f = &o->faults;

	r->steps[step].start = r->host;
	r->steps[step].load = kineto_draw(o, r, 80000, 120000) + faults_ms(f, FAULT_LOADING);
	r->host += r->steps[step].load + kineto_draw(o, r, 5000, 9000);
	copy(o, r, UNIT_COPY_IN, step);
	copy(o, r, UNIT_CLEAR, step);
	if (o->graphs)
		call(o, r, CALL_GRAPH, 400000);
	if (!f->given[FAULT_DISPATCH])
		return;
	kineto_swap_draws(r, FAULT_DISPATCH);
	for (int64_t k = 0; k < FUSED; k++)
		for (int n = 0; n <= faults_due(f->size[FAULT_DISPATCH] * FUSED, k, FUSED); n++)
			compute(o, r, PHASE_SMALL, step, faults_small(n));
	kineto_swap_draws(r, FAULT_DISPATCH);
}

/* As many units as leave about a seventh of the events for the rows that fill up. */
static int64_t units_per_step(const struct kineto_options *o)
{
	int64_t units = o->units ? o->units : (o->events - 64 - 16 * o->steps) / o->steps / 8;

	if (units < 24)
		out_die("at least %" PRId64 " events are needed for %" PRId64 " steps", 64 + 216 * o->steps,
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

/* Memory of the device can only be given back when the device is done with it. */
static void allocate(const struct kineto_options *o, struct kineto_rank *r)
{
	int64_t each = faults_ms(&o->faults, FAULT_ALLOCATION) / 8;

	if (each == 0)
		return;
	call(o, r, CALL_FREE, kineto_later(r->compute - r->host, 0) + each);
	call(o, r, CALL_TAKE, each);
}

static void in_forward(const struct kineto_options *o, struct kineto_rank *r, int64_t step, int64_t k,
                       int64_t n)
{
	if (k % kineto_later(n / 4, 1) == n / 8)
		allocate(o, r);
	if (k == n / 3 && r->rank == kineto_culprit(o) && o->faults.size[FAULT_GARBAGE_COLLECTION] > 0)
		call(o, r, CALL_GARBAGE, faults_ms(&o->faults, FAULT_GARBAGE_COLLECTION));
	for (int64_t i = faults_due(o->faults.size[FAULT_COMPILATION], k, n); i > 0; i--)
		call(o, r, CALL_COMPILE, random_between(&r->extra[FAULT_COMPILATION], 900000, 1100000));
	forward(o, r, step, k);
	if (faults_due(o->faults.size[FAULT_SYNCHRONIZATION], k, n) == 0)
		return;
	kineto_swap_draws(r, FAULT_SYNCHRONIZATION);
	copy(o, r, UNIT_COPY_OUT, step);
	r->host += kineto_draw(o, r, 150000, 250000);
	kineto_swap_draws(r, FAULT_SYNCHRONIZATION);
}

/* The product of the tokens that the router gave to a rank's experts, between two exchanges. */
static void expert_layer(const struct kineto_options *o, struct kineto_rank *ranks, int64_t step)
{
	double more = o->faults.size[FAULT_IMBALANCE];

	kineto_collective(o, ranks, UNIT_ALL_TO_ALL, step, EXPERT_NS);
	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];
		double share =
		    i == kineto_culprit(o) ? 1 + more : 1 - more / (double)kineto_later(o->ranks - 1, 1);
		struct unit *u = compute(o, r, PHASE_EXPERTS, step, 0);
		int64_t even = u->size + random_between(&r->random, -u->size / 50, u->size / 50);
		int64_t tokens = kineto_later(llround((double)even * share), 16);

		u->device_dur = kineto_round(o, u->device_dur * tokens / u->size);
		u->size = tokens;
		r->compute = u->device + u->device_dur;
	}
	kineto_collective(o, ranks, UNIT_ALL_TO_ALL, step, EXPERT_NS);
}

static void end_step(const struct kineto_options *o, struct kineto_rank *r, int64_t step, int64_t n)
{
	if (r->link > r->compute)
		r->holds = kineto_last_collective(r);
	r->compute = kineto_later(r->compute, r->link);
	for (int64_t k = 0; k < n; k++)
		compute(o, r, PHASE_OPTIMIZER, step, k);
	copy(o, r, UNIT_COPY_OUT, step);
	r->units[r->count - 1].loss = true;
	r->steps[step].end = r->host;
	r->host += 1000;
}

static void play_step(const struct kineto_options *o, struct kineto_rank *ranks, int64_t step, int64_t units)
{
	int64_t n_forward = o->layers ? o->layers * kineto_forward_count : units * 36 / 100;
	int64_t n_backward = o->layers ? o->layers * kineto_backward_count : units * 52 / 100;
	int64_t buckets = kineto_later(units / 160, 2), every = kineto_later(n_backward / buckets, 1);
	int64_t late = llround((double)buckets * o->faults.size[FAULT_POOR_OVERLAP]);
	/* where they could be small, gradients are few: then what each costs besides its bytes is what counts
	 */
	int64_t transit = every * (o->faults.given[FAULT_SMALL_PACKETS] ? 2000 : 36000);
	int64_t first = ranks[0].count, turn;
	/* The last bucket cannot hide under anything: as in real jobs it is kept small. */
	int64_t last = transit / 16000 * 1000;

	for (int64_t i = 0; i < o->ranks; i++)
		begin_step(o, &ranks[i], step);
	if (o->shape == KINETO_PIPELINE)
		kineto_hand_on(o, ranks, true, step);
	for (int64_t k = 0; k < n_forward; k++) {
		for (int64_t i = 0; i < o->ranks; i++)
			in_forward(o, &ranks[i], step, k, n_forward);
		if (o->shape == KINETO_EXPERTS && k % 16 == 8)
			expert_layer(o, ranks, step);
	}
	if (o->shape == KINETO_PIPELINE)
		kineto_hand_on(o, ranks, false, step);
	turn = ranks[0].count;
	for (int64_t k = 0; k < n_backward; k++) {
		for (int64_t i = 0; i < o->ranks; i++)
			compute(o, &ranks[i], PHASE_BACKWARD, step, k);
		if (k % every == every - 1 && k / every < buckets - late)
			kineto_collective(o, ranks, UNIT_COLLECTIVE, step,
			                  k + every < n_backward ? transit : last);
		if (o->shape == KINETO_EXPERTS && k % 16 == 8)
			expert_layer(o, ranks, step);
	}
	for (int64_t k = buckets - late; k < buckets; k++)
		kineto_collective(o, ranks, UNIT_COLLECTIVE, step, k < buckets - 1 ? transit : last);
	for (int64_t i = 0; i < o->ranks; i++) {
		pair_passes(&ranks[i], first, turn, n_forward / 3, (int32_t)(step * n_forward + 1));
		end_step(o, &ranks[i], step, units * 6 / 100);
	}
}

void kineto_play(const struct kineto_options *o, struct kineto_rank *ranks)
{
	struct random clocks = {.state = o->seed + 77};
	int64_t units = units_per_step(o);

	for (int64_t i = 0; i < o->ranks; i++) {
		struct kineto_rank *r = &ranks[i];

		r->rank = i;
		r->random.state = o->seed * 1000003 + (uint64_t)i;
		r->shared.state = o->seed;
		for (int f = 0; f < FAULTS; f++) {
			r->extra[f].state = o->seed * 7000003 + (uint64_t)f * 65537 + (uint64_t)i + 900;
			r->also[f].state = o->seed + (uint64_t)f * 65537 + 31;
		}
		r->steps = out_alloc(NULL, o->steps, sizeof(*r->steps));
		r->host = kineto_start_ns;
		r->early = kineto_start_ns - INT64_C(2) * KINETO_EARLY * KINETO_EARLY_NS;
		r->compute = r->link = r->exchange = r->side = kineto_start_ns;
		r->shift = kineto_round(o, random_between(&clocks, 0, o->skew * 1000000));
	}
	for (int64_t step = 0; step < o->steps; step++)
		play_step(o, ranks, step, units);
	for (int64_t i = 0; i < o->ranks; i++)
		kineto_shift(o, &ranks[i]);
}
