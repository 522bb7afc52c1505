#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const int64_t ascend_start_ns = 1738454400123456789;

const struct ascend_work ascend_works[] = {
    {"RmsNorm", "AI_VECTOR_CORE", "npu_rms_norm", "8192,4096;4096", "ND;ND", "ND;ND", 30000, 45000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,12288", "ND;ND", "ND", 150000, 230000, 24},
    {"FlashAttentionScore", "MIX_AIC", "npu_fusion_attention", "2,4096,4096;2,4096,4096;2,4096,4096",
     "ND;ND;ND", "ND", 160000, 240000, 24},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,4096", "ND;ND", "ND", 90000, 120000, 24},
    {"Add", "AI_VECTOR_CORE", "aten::add", "8192,4096;8192,4096", "ND;ND", "ND", 40000, 60000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,22016", "ND;ND", "ND", 190000, 280000, 24},
    {"SwiGlu", "AI_VECTOR_CORE", "npu_swiglu", "8192,22016", "ND", "ND", 60000, 90000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,11008;11008,4096", "ND;ND", "ND", 110000, 150000, 24},
    {"TransData", "AI_VECTOR_CORE", "npu_format_cast", "8192,4096", "ND", "FRACTAL_NZ", 50000, 90000, 48},
    {"Unique2", "AI_CPU", "aten::unique_consecutive", "8192", "ND", "ND;ND;ND", 300000, 900000, 1},
};
const int ascend_plain_works = 8;
const int ascend_trans_work = 8;
const int ascend_aicpu_work = 9;

enum { PLANES = 7, GAP_NS = 1200 };

int64_t ascend_group_first(const struct ascend_options *o, const struct ascend_rank *r)
{
	return o->fault == ASCEND_BUBBLE && r->rank >= o->ranks / 2 ? o->ranks / 2 : 0;
}

int64_t ascend_group_end(const struct ascend_options *o, const struct ascend_rank *r)
{
	return o->fault == ASCEND_BUBBLE && r->rank < o->ranks / 2 ? o->ranks / 2 : o->ranks;
}

const char *ascend_group_name(const struct ascend_options *o, const struct ascend_rank *r)
{
	return ascend_group_first(o, r) == 0 ? "9021077551983401622" : "6614209873350127518";
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void ascend_kernel_name(const struct ascend_options *o, const struct ascend_rank *r, int64_t index,
                        char *name, int64_t size)
{
	const struct ascend_kernel *k = &r->kernels[index];
	const char *type = ascend_works[k->work].type;

	if (k->first && o->name)
		snprintf(name, (size_t)size, "%s", o->name);
	else if (k->work == ascend_trans_work)
		snprintf(name, (size_t)size, "trans_TransData_%" PRId64, index % 512);
	else
		snprintf(name, (size_t)size, "aclnn%s_%sAiCore_%s", type, type, type);
}

/* One operator: the host issues it, the device runs it when both are ready. */
static void kernel(const struct ascend_options *o, struct ascend_rank *r, int64_t step, int work)
{
	bool host_bound = o->fault == ASCEND_HOST_BOUND;
	struct ascend_kernel *k;

	if (r->kernel_count == r->kernel_cap) {
		r->kernel_cap = r->kernel_cap ? r->kernel_cap * 2 : 256;
		r->kernels = out_alloc(r->kernels, r->kernel_cap, sizeof(*r->kernels));
	}
	k = &r->kernels[r->kernel_count++];
	*k = (struct ascend_kernel){.step = step, .work = work, .op = r->host};
	k->first = r->kernel_count == 1 || k[-1].step != step;
	k->launch = k->op + random_between(&r->random, 6000, 9000);
	k->launch_dur = random_between(&r->random, 3000, 5000);
	k->op_dur = k->launch + k->launch_dur + random_between(&r->random, 1000, 2000) - k->op;
	r->host = k->op + k->op_dur + random_between(&r->random, 4000, 8000);
	if (host_bound)
		r->host += random_between(&r->random, 150000, 250000);
	k->start =
	    later(k->launch + k->launch_dur + random_between(&r->random, 5000, 9000), r->compute + GAP_NS);
	k->dur = random_between(&r->shared, ascend_works[work].low, ascend_works[work].high);
	k->dur += random_between(&r->random, 0, k->dur / 100);
	if (o->fault == ASCEND_SLOW_RANK && r->rank == 1)
		k->dur += k->dur / 2;
	if (host_bound)
		k->dur /= 4;
	r->compute = k->start + k->dur;
}

static void synchronise(struct ascend_rank *r)
{
	struct ascend_kernel *k = &r->kernels[r->kernel_count - 1];
	int64_t from = k->op + k->op_dur;

	k->sync = later(r->compute - from, 0) + random_between(&r->random, 20000, 30000);
	r->host = from + k->sync + random_between(&r->random, 150000, 250000);
}

static void pack(const struct ascend_options *o, struct ascend_link *l)
{
	bool small = o->fault == ASCEND_SMALL_PACKETS;
	int64_t bytes = small ? 1048576 : 41943040;
	int64_t ns = small ? 150000 : 1560000; /* 7 and 26.9 GB/s */
	int64_t each = small ? 80 : 2;

	l->packets[0] = (struct ascend_packets){bytes, each * PLANES, each * PLANES * ns};
	l->packet_kinds = 1;
	l->transit = each * ns;
	if (o->fault == ASCEND_ALIGNMENT) {
		l->packets[0] = (struct ascend_packets){bytes, PLANES, (int64_t)PLANES * ns};
		l->packets[1] = (struct ascend_packets){bytes - 300, PLANES, (int64_t)PLANES * 4 * ns};
		l->packet_kinds = 2;
		l->transit = 5 * ns;
	}
}

static struct ascend_link *new_link(struct ascend_rank *r, int64_t step, const char *kind)
{
	struct ascend_link *l;
	int64_t order = 0;

	if (r->link_count == r->link_cap) {
		r->link_cap = r->link_cap ? r->link_cap * 2 : 64;
		r->links = out_alloc(r->links, r->link_cap, sizeof(*r->links));
	}
	l = &r->links[r->link_count++];
	*l = (struct ascend_link){.step = step, .kind = kind};
	for (int64_t i = r->link_count - 1; i > 0 && r->links[i - 1].step == step; i--)
		order++;
	snprintf(l->text, sizeof(l->text), "hcom_%s__221_%" PRId64 "_%" PRId64, kind, order, step + 1);
	return l;
}

/* One all-reduce of a group of ranks: it starts on each when that rank is ready, and ends on all together. */
static void all_reduce(const struct ascend_options *o, struct ascend_rank *ranks, int64_t begin, int64_t end,
                       int64_t step)
{
	int64_t barrier = 0;

	for (int64_t i = begin; i < end; i++) {
		struct ascend_rank *r = &ranks[i];
		struct ascend_link *l = new_link(r, step, "allReduce");

		pack(o, l);
		l->launch = r->host;
		l->launch_dur = random_between(&r->random, 9000, 14000);
		r->host += l->launch_dur + random_between(&r->random, 3000, 5000);
		l->start =
		    later(later(l->launch + l->launch_dur + 5000, r->link + GAP_NS), r->compute + GAP_NS);
		barrier = later(barrier, l->start);
	}
	for (int64_t i = begin; i < end; i++) {
		struct ascend_link *l = &ranks[i].links[ranks[i].link_count - 1];

		l->wait = barrier - l->start;
		l->dur = l->wait + l->transit + 20000; /* 20 us of neither */
		ranks[i].link = l->start + l->dur;
	}
}

static void all_reduce_groups(const struct ascend_options *o, struct ascend_rank *ranks, int64_t step)
{
	for (int64_t i = 0; i < o->ranks; i = ascend_group_end(o, &ranks[i]))
		all_reduce(o, ranks, i, ascend_group_end(o, &ranks[i]), step);
}

static void receive(struct ascend_rank *r, int64_t step)
{
	struct ascend_link *l = new_link(r, step, "receive");

	l->launch = r->host;
	l->launch_dur = 10000;
	l->start = later(l->launch + 15000, r->link + GAP_NS);
	l->wait = random_between(&r->random, 7000000, 9000000);
	l->transit = 1560000;
	l->dur = l->wait + l->transit;
	l->packets[0] = (struct ascend_packets){41943040, 1, 1560000};
	l->packet_kinds = 1;
	r->link = l->start + l->dur;
	r->compute = r->link;
	r->host += l->launch_dur + 2000;
}

static void begin_step(const struct ascend_options *o, struct ascend_rank *r, int64_t step)
{
	struct ascend_step *s = &r->steps[step];

	s->start = r->host;
	s->load = o->fault == ASCEND_LOADER ? random_between(&r->random, 25000000, 35000000)
	                                    : random_between(&r->random, 50000, 80000);
	r->host += s->load + 10000;
	if (o->fault == ASCEND_BUBBLE && r->rank >= o->ranks / 2)
		receive(r, step);
}

static void end_step(struct ascend_rank *r, int64_t step)
{
	/* The host closes a step after its device work, as a loss that is printed makes it do. */
	r->host = later(r->host, later(r->compute, r->link)) + random_between(&r->random, 20000, 40000);
	r->steps[step].end = r->host;
	r->host += 1000;
}

static void one_kernel(const struct ascend_options *o, struct ascend_rank *r, int64_t step, int64_t k)
{
	if (o->fault == ASCEND_FORMAT_CONVERSION && k % 3 == 0)
		kernel(o, r, step, ascend_trans_work);
	kernel(o, r, step, (int)(k % ascend_plain_works));
	if (o->fault == ASCEND_FORMAT_CONVERSION && k % 3 == 0)
		kernel(o, r, step, ascend_trans_work);
	if (o->fault == ASCEND_AICPU && k % 16 == 5)
		kernel(o, r, step, ascend_aicpu_work);
	if (o->fault == ASCEND_SYNC && k % 8 == 7)
		synchronise(r);
}

static void play_step(const struct ascend_options *o, struct ascend_rank *ranks, int64_t step)
{
	int64_t n = o->kernels;

	for (int64_t i = 0; i < o->ranks; i++)
		begin_step(o, &ranks[i], step);
	for (int64_t k = 0; k < n; k++) {
		for (int64_t i = 0; i < o->ranks; i++)
			one_kernel(o, &ranks[i], step, k);
		if (o->fault != ASCEND_POOR_OVERLAP && (k == n / 5 || k == n * 9 / 20 || k == n * 7 / 10))
			all_reduce_groups(o, ranks, step);
	}
	for (int k = 0; o->fault == ASCEND_POOR_OVERLAP && k < 3; k++)
		all_reduce_groups(o, ranks, step);
	for (int64_t i = 0; i < o->ranks; i++)
		end_step(&ranks[i], step);
}

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

void ascend_play(const struct ascend_options *o, struct ascend_rank *ranks)
{
	for (int64_t i = 0; i < o->ranks; i++) {
		ranks[i].rank = i;
		ranks[i].random.state = o->seed * 1000003 + (uint64_t)i + 500;
		ranks[i].shared.state = o->seed;
		ranks[i].steps = out_alloc(NULL, o->steps, sizeof(*ranks[i].steps));
		ranks[i].host = ascend_start_ns;
	}
	for (int64_t step = 0; step < o->steps; step++)
		play_step(o, ranks, step);
	for (int64_t i = 0; i < o->ranks; i++) {
		struct ascend_rank *r = &ranks[i];

		fill_lanes(r);
		r->whole = measure(r, 0, INT64_MAX, true);
		for (int64_t step = 0; step < o->steps; step++) {
			r->steps[step].lane = measure(r, r->steps[step].start, r->steps[step].end, true);
			r->steps[step].kernels = measure(r, r->steps[step].start, r->steps[step].end, false);
		}
	}
}
