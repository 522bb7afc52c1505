#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <math.h>
#include <string.h>

const int64_t ascend_start_ns = 1738454400123456789;

enum { GAP_NS = 1200, TASK_NS = 800, FUSED = 20, TOKENS = 10240 };

int64_t ascend_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t ascend_host(const struct ascend_options *o, struct ascend_rank *r, int64_t low, int64_t high)
{
	int64_t ns = random_between(&r->random, low, high);

	if (r->rank == ascend_culprit(o))
		ns = faults_longer(&o->faults, FAULT_CONTENTION, ns);
	return ns + llround(o->faults.size[FAULT_ENVIRONMENT] * 1000);
}

static bool is_type(int work, const char *type)
{
	return strcmp(ascend_works[work].type, type) == 0;
}

/* ns on the device. */
static int64_t device(const struct ascend_options *o, const struct ascend_rank *r, int work, int64_t ns)
{
	const struct faults *f = &o->faults;
	bool culprit = r->rank == ascend_culprit(o);

	if (work == ascend_aicpu_work)
		return ns;
	ns = faults_longer(f, FAULT_UNDERUTILIZED, ns);
	if (strcmp(ascend_works[work].core, "AI_VECTOR_CORE") == 0)
		ns = faults_longer(f, FAULT_MEMORY_BOUND, ns);
	if (is_type(work, "MatMulV2"))
		ns = faults_longer(f, FAULT_AFFINITY, ns);
	if (culprit && is_type(work, "FlashAttentionScore"))
		ns = faults_longer(f, FAULT_SLOW_RANK, ns);
	if (culprit && f->size[FAULT_FREQUENCY] > 0)
		ns = llround((double)ns / (1 - f->size[FAULT_FREQUENCY]));
	return ns;
}

/* One operator: Python issues it, another thread launches it, the device runs it when all are ready.
 * compiled: when its compilation began, or 0. */
static struct ascend_kernel *kernel_after(const struct ascend_options *o, struct ascend_rank *r, int64_t step,
                                          int work, int64_t compiled)
{
	struct ascend_kernel *k;

	if (r->kernel_count == r->kernel_cap) {
		r->kernel_cap = r->kernel_cap ? r->kernel_cap * 2 : 256;
		r->kernels = out_alloc(r->kernels, r->kernel_cap, sizeof(*r->kernels));
	}
	k = &r->kernels[r->kernel_count++];
	*k = (struct ascend_kernel){.step = step, .work = work, .op = r->host};
	k->first = r->kernel_count == 1 || k[-1].step != step;
	k->launch = k->op + ascend_host(o, r, 6000, 9000);
	k->launch_dur = ascend_host(o, r, 3000, 5000);
	k->op_dur = k->launch + k->launch_dur + ascend_host(o, r, 1000, 2000) - k->op;
	k->launch = ascend_later(k->launch, r->queue + TASK_NS);
	k->task = (compiled > 0 ? compiled : k->launch) - TASK_NS;
	r->queue = k->launch + k->launch_dur + TASK_NS;
	k->task_dur = r->queue - k->task;
	r->host = k->op + k->op_dur + ascend_host(o, r, 4000, 8000);
	r->host += llround(o->faults.size[FAULT_HOST_BOUND] * 1000);
	k->start = ascend_later(k->launch + k->launch_dur + random_between(&r->random, 5000, 9000),
	                        r->compute + GAP_NS);
	k->dur = random_between(&r->shared, ascend_works[work].low, ascend_works[work].high);
	k->dur += random_between(&r->random, 0, k->dur * o->noise / 100);
	k->dur = device(o, r, work, k->dur);
	r->compute = k->start + k->dur;
	return k;
}

static struct ascend_kernel *kernel(const struct ascend_options *o, struct ascend_rank *r, int64_t step,
                                    int work)
{
	return kernel_after(o, r, step, work, 0);
}

/* What only a fault brings: the draws of the rest of the job go on as if it were not there. */
static void extra_kernel(const struct ascend_options *o, struct ascend_rank *r, int64_t step, int work,
                         enum fault fault)
{
	struct random random = r->random, shared = r->shared;

	r->random = r->extra[fault];
	r->shared = r->also[fault];
	kernel(o, r, step, work);
	r->extra[fault] = r->random;
	r->also[fault] = r->shared;
	r->random = random;
	r->shared = shared;
}

static void note(struct ascend_rank *r, enum ascend_call_kind kind, int64_t start, int64_t ns)
{
	if (r->call_count == r->call_cap) {
		r->call_cap = r->call_cap ? r->call_cap * 2 : 64;
		r->calls = out_alloc(r->calls, r->call_cap, sizeof(*r->calls));
	}
	r->calls[r->call_count++] = (struct ascend_call){start, ns, kind};
}

static void call(struct ascend_rank *r, enum ascend_call_kind kind, int64_t ns)
{
	note(r, kind, r->host, ns);
	r->host += ns;
}

/* Compiles the operator that Python is about to issue, on the thread that will launch it. Returns when it
 * began. */
static int64_t compile(struct ascend_rank *r)
{
	int64_t start = ascend_later(r->host + 4000, r->queue + TASK_NS);
	int64_t ns = random_between(&r->extra[FAULT_COMPILATION], 900000, 1100000);

	note(r, CALL_COMPILE, start, ns);
	r->queue = start + ns;
	return start;
}

/* The host waits until the device is done. */
static void wait_for_device(struct ascend_rank *r, int64_t done, int64_t more)
{
	struct ascend_kernel *k = &r->kernels[r->kernel_count - 1];

	k->sync_start = r->host;
	k->sync = ascend_later(done - r->host, 0) + more;
	r->host += k->sync;
}

static void synchronise(struct ascend_rank *r)
{
	wait_for_device(r, r->compute, random_between(&r->extra[FAULT_SYNCHRONIZATION], 20000, 30000));
	r->host += random_between(&r->extra[FAULT_SYNCHRONIZATION], 150000, 250000);
}

/* Memory of the device can only be given back when the device is done with it. */
static void allocate(const struct ascend_options *o, struct ascend_rank *r)
{
	int64_t each = faults_ms(&o->faults, FAULT_ALLOCATION) / 8;

	if (each == 0)
		return;
	call(r, CALL_FREE, ascend_later(r->compute - r->host, 0) + each);
	call(r, CALL_TAKE, each);
}

static void fetch(const struct ascend_options *o, struct ascend_rank *r)
{
	int64_t ns = faults_ms(&o->faults, FAULT_FETCHING);
	struct ascend_copy *c;

	if (ns == 0)
		return;
	if (r->copy_count == r->copy_cap) {
		r->copy_cap = r->copy_cap ? r->copy_cap * 2 : 16;
		r->copies = out_alloc(r->copies, r->copy_cap, sizeof(*r->copies));
	}
	c = &r->copies[r->copy_count++];
	*c = (struct ascend_copy){.launch = r->host, .launch_dur = 8000, .dur = ns, .bytes = ns * 6};
	c->start = ascend_later(c->launch + 12000, r->compute + GAP_NS);
	r->compute = c->start + c->dur;
	r->host += c->launch_dur + 2000;
}

static void begin_step(const struct ascend_options *o, struct ascend_rank *ranks, int64_t i, int64_t step)
{
	struct ascend_rank *r = &ranks[i];
	struct ascend_step *s = &r->steps[step];
	const struct faults *f = &o->faults;

	s->start = r->host;
	s->load = random_between(&r->random, 50000, 80000) + faults_ms(f, FAULT_LOADING) +
	          faults_ms(f, FAULT_READING) + faults_ms(f, FAULT_PROCESSING);
	r->host += s->load + 10000;
	fetch(o, r);
	if (o->shape == ASCEND_PIPELINE && i >= o->ranks / 2)
		ascend_receive(o, r, step, o->ranks > 1 ? &ranks[i - o->ranks / 2] : NULL);
	for (int64_t k = 0; f->given[FAULT_DISPATCH] && k < FUSED; k++)
		for (int n = 0; n <= faults_due(f->size[FAULT_DISPATCH] * FUSED, k, FUSED); n++)
			extra_kernel(o, r, step, ascend_small_work + faults_small(n), FAULT_DISPATCH);
}

/* A printed loss makes the host wait for the device. */
static void end_step(struct ascend_rank *r, int64_t step)
{
	wait_for_device(r, ascend_later(r->compute, r->link), random_between(&r->random, 20000, 40000));
	r->kernels[r->kernel_count - 1].loss = true;
	r->steps[step].end = r->host;
	r->host += 1000;
}

/* Collectors that nobody tells to run together run one after the other: each holds up all ranks (Hermes 8.3).
 */
static bool collects_garbage(const struct ascend_options *o, const struct ascend_rank *r, int64_t k)
{
	if (o->scatter)
		return k == (2 * r->rank + 1) * o->kernels / (2 * o->ranks);
	return r->rank == ascend_culprit(o) && k == o->kernels / 3;
}

static void before_kernel(const struct ascend_options *o, struct ascend_rank *r, int64_t step, int64_t k)
{
	const struct faults *f = &o->faults;
	int64_t n = o->kernels;

	if (f->size[FAULT_GARBAGE_COLLECTION] > 0 && collects_garbage(o, r, k))
		call(r, CALL_GARBAGE, faults_ms(f, FAULT_GARBAGE_COLLECTION));
	if (k % (n / 4) == n / 8)
		allocate(o, r);
	for (int64_t i = faults_due(f->size[FAULT_FORMAT_CONVERSION], k, n); i > 0; i--)
		extra_kernel(o, r, step, ascend_trans_work, FAULT_FORMAT_CONVERSION);
	for (int64_t i = faults_due(f->size[FAULT_AICPU], k, n); i > 0; i--)
		extra_kernel(o, r, step, ascend_aicpu_work, FAULT_AICPU);
}

static int64_t compilation(const struct ascend_options *o, struct ascend_rank *r, int64_t k)
{
	int64_t due = faults_due(o->faults.size[FAULT_COMPILATION], k, o->kernels), first = 0;

	for (int64_t i = 0; i < due; i++) {
		int64_t start = compile(r);

		first = i == 0 ? start : first;
	}
	return first;
}

/* The product of the tokens that the router gave to a rank's experts. */
static void experts(const struct ascend_options *o, struct ascend_rank *ranks, int64_t i, int64_t step)
{
	double more = o->faults.size[FAULT_IMBALANCE];
	double share =
	    i == ascend_culprit(o) ? 1 + more : 1 - more / (double)(o->ranks > 1 ? o->ranks - 1 : 1);
	struct ascend_rank *r = &ranks[i];
	struct ascend_kernel *k = kernel(o, r, step, ascend_grouped_work);
	int64_t even = TOKENS + random_between(&r->random, -TOKENS / 50, TOKENS / 50);

	k->tokens = ascend_later(llround((double)even * share), 16);
	if (o->padding >= 0)
		k->tokens = TOKENS * (100 + o->padding) / 100;
	k->dur = llround((double)k->dur * (double)k->tokens / TOKENS);
	r->compute = k->start + k->dur;
}

static void groups(const struct ascend_options *o, struct ascend_rank *ranks, int64_t step, const char *kind,
                   bool last)
{
	for (int64_t i = 0; i < o->ranks; i = ascend_group_end(o, &ranks[i]))
		ascend_collective(o, ranks, i, ascend_group_end(o, &ranks[i]), step, kind, last);
}

static void expert_layer(const struct ascend_options *o, struct ascend_rank *ranks, int64_t step)
{
	for (int64_t i = 0; i < o->ranks && o->padding >= 0; i++)
		kernel(o, &ranks[i], step, ascend_gate_work);
	groups(o, ranks, step, "alltoallv", false);
	for (int64_t i = 0; i < o->ranks; i++) {
		experts(o, ranks, i, step);
		kernel(o, &ranks[i], step, 6);
		experts(o, ranks, i, step);
	}
	groups(o, ranks, step, "alltoallv", false);
}

static void play_step(const struct ascend_options *o, struct ascend_rank *ranks, int64_t step)
{
	int64_t n = o->kernels, reduces = o->reduces;
	int64_t early = reduces - llround((double)reduces * o->faults.size[FAULT_POOR_OVERLAP]);

	for (int64_t i = 0; i < o->ranks; i++)
		begin_step(o, ranks, i, step);
	for (int64_t k = 0; k < n; k++) {
		for (int64_t i = 0; i < o->ranks; i++) {
			before_kernel(o, &ranks[i], step, k);
			/* gradients are reduced in the last micro-batch only: no receive waits behind that */
			if (o->shape == ASCEND_PIPELINE && i < o->ranks / 2 && k == n / 5)
				ascend_receive(o, &ranks[i], step, NULL);
			kernel_after(o, &ranks[i], step, (int)(k % ascend_plain_works),
			             compilation(o, &ranks[i], k));
			if (faults_due(o->faults.size[FAULT_SYNCHRONIZATION], k, n) > 0)
				synchronise(&ranks[i]);
		}
		/* as soon as their gradients are there: the later in the step, the nearer to its end */
		for (int64_t i = 0; i < early; i++)
			if (k == n / 5 + i * n * 3 / 4 / reduces)
				groups(o, ranks, step, "allReduce", false);
		if (o->shape == ASCEND_EXPERTS && k == n / 2)
			expert_layer(o, ranks, step);
	}
	for (int64_t i = early; i < reduces; i++)
		groups(o, ranks, step, "allReduce", false);
	groups(o, ranks, step, "allReduce", true);
	for (int64_t i = 0; i < o->ranks; i++)
		end_step(&ranks[i], step);
}

void ascend_play(const struct ascend_options *o, struct ascend_rank *ranks)
{
	struct random clocks = {.state = o->seed + 77};

	for (int64_t i = 0; i < o->ranks; i++) {
		struct ascend_rank *r = &ranks[i];

		r->rank = i;
		r->random.state = o->seed * 1000003 + (uint64_t)i + 500;
		r->shared.state = o->seed;
		for (int f = 0; f < FAULTS; f++) {
			r->extra[f].state = o->seed * 7000003 + (uint64_t)f * 65537 + (uint64_t)i + 900;
			r->also[f].state = o->seed + (uint64_t)f * 65537 + 31;
		}
		r->steps = out_alloc(NULL, o->steps, sizeof(*r->steps));
		r->host = r->queue = ascend_start_ns;
		r->shift = random_between(&clocks, 0, o->skew * 1000000);
	}
	for (int64_t step = 0; step < o->steps; step++)
		play_step(o, ranks, step);
	for (int64_t i = 0; i < o->ranks; i++)
		ascend_measure(o, &ranks[i]);
}
