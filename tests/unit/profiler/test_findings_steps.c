#include "tests/unit/profiler/judged.h"

/* What the host does to some steps or to one rank: collections, contention, compilation, and captures whose
 * idle time is not to be believed. All by hand. */

#define US INT64_C(1000)
#define MS INT64_C(1000000)

struct lanes {
	struct capture *c;
	uint32_t gpu, host, gc, link;
};

static struct lanes make_lanes(struct profile *p, int64_t rank)
{
	struct lanes l = {.c = make_capture(p, FORMAT_KINETO, rank)};

	l.gpu = add_lane(l.c, "GPU 0", "7", 0);
	l.link = add_lane(l.c, "GPU 0", "20", 0);
	l.host = add_lane(l.c, "python", "1", -1);
	l.gc = add_lane(l.c, "Python GC", "1", -1);
	return l;
}

static int64_t work(const struct lanes *l, uint32_t lane, enum event_kind kind, const char *name,
                    int64_t launch, int64_t start, int64_t dur)
{
	int64_t link = (int64_t)l->c->trace.count + 1;

	add_event(l->c, l->host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", launch, 5 * US, link);
	add_event(l->c, lane, kind, name, start, dur, link);
	return start + dur;
}

/* Ten launches of graphs, one every 10 ms, whose kernels take 4 ms; the work of `lost` of them is not
 * recorded. */
static void make_graphs(struct profile *p, int lost)
{
	struct lanes l = make_lanes(p, 0);

	for (int64_t i = 0; i < 10; i++) {
		add_event(l.c, l.host, EVENT_HOST_RUNTIME, "cudaGraphLaunch", i * 10 * MS - 10 * US, 8 * US,
		          i + 1);
		if (i < 3 || i >= 3 + lost)
			add_event(l.c, l.gpu, EVENT_KERNEL, "gemm", i * 10 * MS, 4 * MS, i + 1);
	}
}

/* A capture that lacks kernels of graphs shows idle time that was none: it is told, but as nothing sure. */
static void idle_time_of_graphs_that_are_not_recorded_is_doubted(void **state)
{
	(void)state;
	/* of ten one may be missing */
	for (int lost = 1; lost <= 3; lost += 2) {
		JUDGED_AUTO j = {0};
		const struct finding *f;

		make_graphs(&j.p, lost);
		judge(&j);
		f = found(&j, "cpu.host_bound");
		assert_non_null(f);
		/* 94 ms from first to last, of which 4 a recorded graph are work */
		is_near(f->share_of_step, (94.0 - 4 * (10 - lost)) / 94);
		if (lost == 1) {
			assert_true(f->severity > SEVERITY_INFO);
			assert_string_equal(j.a.component, "cpu");
			continue;
		}
		assert_int_equal(f->severity, SEVERITY_INFO);
		assert_int_equal(f->confidence, CONFIDENCE_LOW);
		is_near(evidence_of(f, "graph_launches_without_kernels"), 3);
		is_near(evidence_of(f, "graph_launches"), 10);
		assert_null(j.a.component);
	}
}

/* On GPUs it is not the number of compilations but what the device waits for them: over 2 % of the span. */
static void compilation_on_gpus_counts_by_idle_time(void **state)
{
	static const char *const names[] = {
	    "cuModuleLoadData", "torch/_dynamo/convert_frame.py(500): _compile", "CompileFx (dynamo_timed)"};

	(void)state;
	for (size_t k = 0; k < 3; k++)
		for (int64_t ms = 2; ms <= 3; ms++) {
			JUDGED_AUTO j = {0};
			struct lanes l = make_lanes(&j.p, 0);
			const struct finding *f;

			/* 100 ms; the gap ends with the call. Thirty more calls while the device works are
			 * free. */
			work(&l, l.gpu, EVENT_KERNEL, "a", -10 * US, 0, 50 * MS);
			work(&l, l.gpu, EVENT_KERNEL, "b", (50 + ms) * MS - 6 * US, (50 + ms) * MS,
			     (50 - ms) * MS);
			add_event(l.c, l.host, k == 0 ? EVENT_HOST_RUNTIME : EVENT_HOST_PYTHON, names[k],
			          50 * MS, ms * MS, -1);
			for (int64_t i = 0; i < 30; i++)
				add_event(l.c, l.host, EVENT_HOST_RUNTIME, "cuModuleLoadData", i * MS,
				          500 * US, -1);
			judge(&j);
			f = found(&j, "cpu.compilation");
			assert_int_equal(f != NULL, ms == 3);
			assert_false(left_open(&j, "cpu.compilation"));
			if (!f)
				continue;
			is_near(f->share_of_step, 0.03);
			is_near(evidence_of(f, "device_idle_while_compiling_us"), 3000);
			is_near(evidence_of(f, "compilations"), 31);
		}
}

/* Ten steps of 100 ms with 90 ms of work; those in `hit` last longer by a collection that the device waits
 * for. */
static void make_collected(struct profile *p, int64_t rank, const bool hit[10], int64_t ms)
{
	struct lanes l = make_lanes(p, rank);
	int64_t at = 0;

	for (int64_t s = 0; s < 10; s++) {
		int64_t more = hit[s] ? ms * MS : 0;

		add_step(l.c, s + 1, at, 100 * MS + more);
		work(&l, l.gpu, EVENT_KERNEL, "a", at, at + 10 * US, 45 * MS);
		if (more > 0)
			add_event(l.c, l.gc, EVENT_HOST_GARBAGE, "GC", at + 45 * MS + 10 * US, more, -1);
		work(&l, l.gpu, EVENT_KERNEL, "b", at + 45 * MS + more, at + 45 * MS + 10 * US + more,
		     55 * MS - 10 * US);
		at += 100 * MS + more;
	}
}

/* The large-scale case of the paper: the collections and the drops are in the same steps. */
static void collections_are_told_with_the_steps_they_slow_down(void **state)
{
	static const bool hit[10] = {[5] = true, [8] = true}, early[10] = {[0] = true, [6] = true};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO first = {0};
	const struct finding *f;

	(void)state;
	make_collected(&j.p, 0, hit, 50);
	judge(&j);
	f = found(&j, "cpu.garbage_collection");
	/* 2 * 50 ms of 10 * 100 + 100, less the 10 us before the first kernel */
	assert_true(fabs(f->share_of_step - 100.0 / 1100) < 1e-4);
	is_near(evidence_of(f, "steps_with_collections"), 2);
	is_near(evidence_of(f, "slow_steps"), 2);
	is_near(evidence_of(f, "slow_steps_with_collections"), 2);
	assert_string_equal(j.a.component, "cpu");
	assert_string_equal(j.a.cause, "garbage_collection");
	/* the first step is warm-up and is not judged: one slow step of two that collect */
	make_collected(&first.p, 0, early, 50);
	judge(&first);
	f = found(&first, "cpu.garbage_collection");
	is_near(evidence_of(f, "steps_with_collections"), 2);
	is_near(evidence_of(f, "slow_steps"), 1);
	is_near(evidence_of(f, "slow_steps_with_collections"), 1);
}

/* Four ranks, eight steps of 100 ms that end with a collective. One of the ranks collects for 60 ms in a
 * step, -1 = none; the others wait for it in their collective. */
static void make_waiting_ranks(struct profile *p, const int64_t collecting[8])
{
	for (int64_t r = 0; r < 4; r++) {
		struct lanes l = make_lanes(p, r);
		int64_t at = 0;

		for (int64_t s = 0; s < 8; s++) {
			int64_t more = collecting[s] >= 0 ? 60 * MS : 0, own = r == collecting[s] ? more : 0;
			struct event_detail d = {.type = text_id(l.c, "allreduce"),
			                         .group = text_id(l.c, "dp"),
			                         .ranks = text_id(l.c, "[0, 1, 2, 3]"),
			                         .bytes = 1000000,
			                         .sequence = s};
			int64_t end;

			add_step(l.c, s + 1, at, 100 * MS + more);
			work(&l, l.gpu, EVENT_KERNEL, "a", at, at + 10 * US, 40 * MS);
			if (own > 0)
				add_event(l.c, l.gc, EVENT_HOST_GARBAGE, "GC", at + 40 * MS + 10 * US, own,
				          -1);
			end = work(&l, l.gpu, EVENT_KERNEL, "b", at + 40 * MS + own,
			           at + 40 * MS + 10 * US + own, 50 * MS);
			work(&l, l.link, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce", end - 10 * MS, end,
			     at + 100 * MS + more - 10 * US - end);
			d.event = (uint32_t)(l.c->trace.count - 1);
			assert_int_equal(trace_append_detail(&l.c->trace, &d), SB_OK);
			add_event(l.c, l.host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", end - 9 * MS,
			          at + 100 * MS + more - end + 9 * MS - 5 * US, -1);
			at += 100 * MS + more;
		}
	}
}

/* The paper's 9000 cards in small: the collection is the verdict and its rank is named, in a few steps, where
 * no rank is slow for long, as well as in all of them, where one is. */
static void one_rank_that_collects_delays_the_others_and_is_named(void **state)
{
	static const int64_t cases[2][8] = {{-1, -1, -1, -1, 2, -1, 2, -1}, {2, 2, 2, 2, 2, 2, 2, 2}};

	(void)state;
	for (int k = 0; k < 2; k++) {
		JUDGED_AUTO j = {0};
		const struct finding *f;
		double n = k ? 8 : 2;

		make_waiting_ranks(&j.p, cases[k]);
		judge(&j);
		f = found(&j, "cpu.garbage_collection");
		assert_non_null(f);
		assert_true(f->rank == 2);
		assert_true(fabs(f->share_of_step - n * 60 / (800 + n * 60)) < 1e-3);
		is_near(evidence_of(f, "slow_steps_with_collections"), k ? 0 : 2);
		is_near(evidence_of(f, "ranks_affected"), 1);
		/* all ranks gain what this one does: 60 ms in each of the steps */
		assert_true(llabs(f->gain_ns - (int64_t)n * 60 * MS / 8) < 500 * US);
		assert_string_equal(j.a.component, "cpu");
		assert_string_equal(j.a.cause, "garbage_collection");
		assert_null(found(&j, "unexplained"));
		assert_int_equal(found(&j, "communication.slow_rank") != NULL, k);
		if (!k)
			continue;
		f = found(&j, "communication.slow_rank");
		assert_true(f->rank == 2);
		/* without the collections it is not late: these 60 ms are won once, and weigh all the same */
		assert_true(f->gain_ns >= 0 && f->gain_ns < 500 * US);
		assert_true(f->severity > SEVERITY_INFO);
	}
}

/* Collections at different times on different ranks: each rank has one, and all wait for each of the four. */
static void collections_of_all_ranks_are_counted_together(void **state)
{
	static const int64_t turns[8] = {-1, -1, -1, 0, 1, 2, 3, -1};
	JUDGED_AUTO j = {0};
	const struct finding *f;

	(void)state;
	make_waiting_ranks(&j.p, turns);
	judge(&j);
	f = found(&j, "cpu.garbage_collection");
	is_near(evidence_of(f, "steps_with_collections"), 1);
	is_near(evidence_of(f, "steps_with_collections_on_any_rank"), 4);
	is_near(evidence_of(f, "ranks_affected"), 4);
	/* without any of them four times 60 ms go */
	assert_true(llabs(f->gain_ns - 30 * MS) < 300 * US);
	assert_string_equal(j.a.cause, "garbage_collection");
}

/* Ten steps: six host calls and kernels each. In the steps 8 and 9 the calls take three times as long. */
static void make_fluctuation(struct profile *p, int64_t kernel_factor)
{
	static const char *const names[] = {"aten::a", "aten::b", "aten::c", "aten::d", "aten::e", "aten::f"};
	struct lanes l = make_lanes(p, 0);
	int64_t at = 0;

	for (int64_t s = 0; s < 10; s++) {
		bool slow = s == 7 || s == 8;
		int64_t start = at, call = (slow ? 6 : 2) * MS, kernel = (slow ? kernel_factor : 1) * MS;

		for (int64_t i = 0; i < 12; i++, at += call + kernel) {
			add_event(l.c, l.host, EVENT_HOST_OP, names[i % 6], at, call - 10 * US, -1);
			work(&l, l.gpu, EVENT_KERNEL, names[i % 6] + 6, at + call - 6 * US, at + call,
			     kernel);
		}
		add_step(l.c, s + 1, start, at - start);
	}
}

static void a_host_slower_than_in_its_own_other_steps_is_contention(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO more = {0};
	const struct finding *f;

	(void)state;
	make_fluctuation(&j.p, 1);
	judge(&j);
	f = found(&j, "cpu.contention");
	assert_non_null(f);
	/* 5990 us and 1990 us */
	is_near(evidence_of(f, "host_over_other_steps"), 5990.0 / 1990);
	is_near(evidence_of(f, "kernels_over_the_same"), 1);
	is_near(evidence_of(f, "slow_steps"), 2);
	/* steps in which the device does more are no contention */
	make_fluctuation(&more.p, 3);
	judge(&more);
	assert_null(found(&more, "cpu.contention"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(idle_time_of_graphs_that_are_not_recorded_is_doubted),
	    cmocka_unit_test(compilation_on_gpus_counts_by_idle_time),
	    cmocka_unit_test(collections_are_told_with_the_steps_they_slow_down),
	    cmocka_unit_test(one_rank_that_collects_delays_the_others_and_is_named),
	    cmocka_unit_test(collections_of_all_ranks_are_counted_together),
	    cmocka_unit_test(a_host_slower_than_in_its_own_other_steps_is_contention),
	};

	return cmocka_run_group_tests_name("host and steps", tests, NULL, NULL);
}
