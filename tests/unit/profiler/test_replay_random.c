#include "tests/unit/profiler/replayed.h"

/* Captures without any sense: few times, so that equal ones, overlaps and zero lengths are common. */

struct random {
	uint64_t state;
};

static int64_t below(struct random *r, int64_t n)
{
	/* xorshift64*, Vigna 2016 */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (int64_t)((r->state * UINT64_C(2685821657736338717) >> 1) % (uint64_t)n);
}

static int64_t any_time(struct random *r, bool wild)
{
	static const int64_t extremes[] = {INT64_MAX, INT64_MIN + 1, 0, -1, INT64_MAX / 2};

	if (wild && below(r, 20) == 0)
		return extremes[below(r, 5)];
	return below(r, 50) * 10 * US;
}

static void add_any(struct random *r, struct capture *c, bool wild)
{
	static const struct {
		enum event_kind kind;
		const char *name;
	} host_events[] = {{EVENT_HOST_RUNTIME, "cudaLaunchKernel"},
	                   {EVENT_HOST_RUNTIME, "cudaStreamSynchronize"},
	                   {EVENT_HOST_RUNTIME, "cudaStreamWaitEvent"},
	                   {EVENT_HOST_QUEUE, "Enqueue"},
	                   {EVENT_HOST_QUEUE, "Dequeue@op"},
	                   {EVENT_HOST_OP, "aten::item"},
	                   {EVENT_HOST_LOADING, "next"},
	                   {EVENT_HOST_GARBAGE, "gc"},
	                   {EVENT_HOST_PYTHON, "f"},
	                   {EVENT_HOST_WAIT, "wait"}};
	static const enum event_kind work[] = {EVENT_KERNEL, EVENT_COMMUNICATION, EVENT_MEMCPY, EVENT_MEMSET,
	                                       EVENT_DEVICE_WAIT};
	bool host = below(r, 2) == 0;
	size_t k = (size_t)below(r, host ? 10 : 5);
	int64_t start = any_time(r, wild), dur = below(r, 3) == 0 ? 0 : any_time(r, wild);

	if (host)
		add_event(c, below(r, 2) ? MAIN : AUTOGRAD, host_events[k].kind, host_events[k].name, start,
		          dur < 0 ? 0 : dur, below(r, 30) - 1);
	else
		add_event(c, below(r, 2) ? COMPUTE : LINK, work[k], below(r, 2) ? "gemm" : "ncclAllReduce",
		          start, dur < 0 ? 0 : dur, below(r, 30) - 1);
}

static void make_any(struct random *r, struct profile *p, bool wild)
{
	int64_t ranks = 1 + below(r, 3), events = 1 + below(r, 120);

	for (int64_t i = 0; i < ranks; i++) {
		struct capture *c = gpu_rank(p, i);

		for (int64_t k = 0; k < events; k++)
			add_any(r, c, wild);
		if (below(r, 4) == 0)
			add_kernel(c, "row", NULL, "AI_CORE", any_time(r, wild), 10 * US);
	}
}

/* Some changes by a factor. */
static size_t make_reliefs(struct random *r, const struct profile *p, float factor, struct relief *out,
                           size_t most)
{
	size_t n = (size_t)below(r, (int64_t)most) + 1;

	for (size_t i = 0; i < n; i++)
		out[i] =
		    (struct relief){(enum relief_kind)below(r, 5), (uint32_t)below(r, (int64_t)p->count + 1),
		                    (uint32_t)below(r, 130), factor};
	return n;
}

static void unchanged_is_measured_and_less_is_never_more(void **state)
{
	struct random r = {.state = 11};
	size_t graphs = 0, moved = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		PROFILE_AUTO p = {0};
		REPLAY_AUTO g = NULL;
		struct replay_result plain, same, half, none;
		struct replay_span spans[3];
		struct relief reliefs[12];
		struct random again;
		size_t n;

		make_any(&r, &p, false);
		assert_int_equal(replay_build(&p, &g, NULL), SB_OK);
		if (!g)
			continue;
		graphs++;
		assert_int_equal(replay_run(g, NULL, 0, &plain, spans, NULL), SB_OK);
		for (size_t i = 0; i < p.count; i++)
			assert_int_equal(spans[i].replayed_ns, spans[i].measured_ns);
		again = r;
		n = make_reliefs(&r, &p, 1, reliefs, 12);
		assert_int_equal(replay_run(g, reliefs, n, &same, NULL, NULL), SB_OK);
		assert_int_equal(same.replayed_ns, plain.measured_ns);
		r = again;
		n = make_reliefs(&r, &p, 0.5F, reliefs, 12);
		assert_int_equal(replay_run(g, reliefs, n, &half, NULL, NULL), SB_OK);
		r = again;
		n = make_reliefs(&r, &p, 0, reliefs, 12);
		assert_int_equal(replay_run(g, reliefs, n, &none, NULL, NULL), SB_OK);
		/* a rounded half may be 1 ns more on each step of a way */
		assert_true(half.replayed_ns <= plain.replayed_ns + 200);
		assert_true(none.replayed_ns <= half.replayed_ns + 200);
		moved += none.replayed_ns < plain.replayed_ns;
	}
	assert_true(graphs > 2500);
	assert_true(moved > 500);
}

static void wild_times_are_harmless(void **state)
{
	struct random r = {.state = 12};
	size_t graphs = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		PROFILE_AUTO p = {0};
		REPLAY_AUTO g = NULL;
		struct replay_result a, b;
		struct relief reliefs[12];
		size_t n;

		make_any(&r, &p, true);
		assert_int_equal(replay_build(&p, &g, NULL), SB_OK);
		if (!g)
			continue;
		graphs++;
		n = make_reliefs(&r, &p, below(&r, 2) ? 0 : 1e30F, reliefs, 12);
		reliefs[0].factor = NAN;
		assert_int_equal(replay_run(g, reliefs, n, &a, NULL, NULL), SB_OK);
		assert_int_equal(replay_run(g, reliefs, n, &b, NULL, NULL), SB_OK);
		assert_true(a.replayed_ns == b.replayed_ns && a.measured_ns == b.measured_ns);
	}
	assert_true(graphs > 1500);
}

/* A job of three ranks, with all times as many times as long. */
static void make_job(struct profile *p, int64_t times)
{
	for (int64_t rank = 0; rank < 3; rank++) {
		struct capture *c = gpu_rank(p, rank);

		host(c, MAIN, "aten::mm", 0, 1);
		for (int64_t i = 0; i < 30; i++)
			launched(c, 400 * i * times, COMPUTE, (400 * i + 50) * times,
			         (200 + 20 * rank) * times);
		launched(c, 12000 * times, LINK, (12050 + 30 * rank) * times, (500 - 30 * rank) * times);
	}
}

static void times_that_grow_let_the_answer_grow(void **state)
{
	static const enum relief_kind kinds[] = {RELIEF_HOST, RELIEF_DEVICE, RELIEF_LINK};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		PROFILE_AUTO one = {0};
		PROFILE_AUTO seven = {0};
		int64_t a, b;

		make_job(&one, 1);
		make_job(&seven, 7);
		const struct relief all[] = {
		    {kinds[i], 0, 0, 0.5F}, {kinds[i], 1, 0, 0.5F}, {kinds[i], 2, 0, 0.5F}};

		a = replayed(&one, all, 3, NULL);
		b = replayed(&seven, all, 3, NULL);
		/* the last collective waits for its launch, not for the kernels */
		assert_int_equal(a < 12550 * US, kinds[i] != RELIEF_DEVICE);
		/* a gap without a sample is 1 us at any scale */
		assert_true(7 * a - b < 7 * 30 * US && b - 7 * a < 7 * 30 * US);
	}
}

/* Two collectives that are matched crosswise cannot both be: nothing hangs. */
static void collectives_that_wait_for_one_another_are_taken_apart(void **state)
{
	PROFILE_AUTO p = {0};
	uint32_t last = 0;

	(void)state;
	for (int64_t rank = 0; rank < 2; rank++) {
		struct capture *c = gpu_rank(&p, rank);

		for (int64_t i = 0; i < 2; i++)
			last = launched_from(c, MAIN, 10 * i, LINK, EVENT_COMMUNICATION,
			                     i == rank ? "ncclAllReduce_a" : "ncclBroadcast_b", 100 + 100 * i,
			                     100);
	}
	assert_int_equal(changed(&p, RELIEF_EVENT, 1, last, 1), 300 * US);
	assert_int_equal(changed(&p, RELIEF_LINK, 1, 0, 1), 300 * US);
}

static void the_order_of_events_does_not_matter(void **state)
{
	struct random r = {.state = 5};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};
	struct capture *a, *b;

	(void)state;
	make_job(&p, 1);
	for (int64_t rank = 0; rank < 3; rank++) {
		a = &p.captures[rank];
		b = gpu_rank(&q, rank);
		for (size_t i = 0; i < a->trace.count; i++) {
			struct event e = trace_event(&a->trace, a->trace.count - 1 - i);

			add_event(b, e.lane, e.kind, trace_text(&a->trace, e.name, NULL), e.start_ns,
			          e.dur_ns, e.link);
		}
	}
	for (int i = 0; i < 10; i++) {
		float factor = (float)below(&r, 100) / 100;

		for (int kind = RELIEF_HOST; kind <= RELIEF_LINK; kind++)
			assert_int_equal(changed(&p, (enum relief_kind)kind, 2, 0, factor),
			                 changed(&q, (enum relief_kind)kind, 2, 0, factor));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unchanged_is_measured_and_less_is_never_more),
	    cmocka_unit_test(wild_times_are_harmless),
	    cmocka_unit_test(times_that_grow_let_the_answer_grow),
	    cmocka_unit_test(collectives_that_wait_for_one_another_are_taken_apart),
	    cmocka_unit_test(the_order_of_events_does_not_matter),
	};

	return cmocka_run_group_tests_name("replay of anything", tests, NULL, NULL);
}
