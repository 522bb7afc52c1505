#include "tests/unit/profiler/replayed.h"

/* The device waits for each launch: kernels of 10 us, launched each 100 us, 6 us before they start. */
static void launches_that_come_late_hold_the_device_up(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t last = 0;

	(void)state;
	host(c, MAIN, "aten::mm", 0, 1);
	for (int64_t i = 0; i < 10; i++)
		last = launched(c, 100 * i, COMPUTE, 100 * i + 6, 10);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, last, 1), 916 * US);
	/* only the last kernel is on the way to the end */
	assert_int_equal(changed(&p, RELIEF_DEVICE, 0, 0, 0.5), 911 * US);
	/* without it, its launch is the last that happens */
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, last, 0), 900 * US);
	/* without the host: 6 us, ten kernels, and nine gaps of 1 us, which is the lag without a sample */
	is_about(changed(&p, RELIEF_HOST, 0, 0, 0), 6 + 10 * 10 + 9);
	/* half the host: the launches come each 50 us */
	assert_int_equal(changed(&p, RELIEF_HOST, 0, 0, 0.5), (450 + 6 + 10) * US);
}

/* Kernels of 100 us behind one another with gaps of 1 us, launched each 5 us. */
static void a_queue_hides_the_launches(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		launched(c, 5 * i, COMPUTE, 6 + 101 * i, 100);
	assert_int_equal(changed(&p, RELIEF_HOST, 0, 0, 0), 1015 * US);
	assert_int_equal(changed(&p, RELIEF_DEVICE, 0, 0, 0.5), (6 + 10 * 50 + 9) * US);
	/* at 1 us each, the launches hold it up: the last is launched at 45 */
	is_about(changed(&p, RELIEF_DEVICE, 0, 0, 0.01), 45 + 6 + 1);
}

static void work_that_starts_as_other_work_ends_waits_for_it(void **state)
{
	PROFILE_AUTO waits = {0};
	PROFILE_AUTO beside = {0};
	struct capture *c = gpu_rank(&waits, 0);
	uint32_t a = launched(c, 0, COMPUTE, 10, 100);

	(void)state;
	launched(c, 5, LINK, 112, 50);
	assert_int_equal(changed(&waits, RELIEF_EVENT, 0, a, 0.5), 112 * US);
	/* a longer one holds it up longer */
	assert_int_equal(changed(&waits, RELIEF_EVENT, 0, a, 2), 262 * US);
	assert_int_equal(changed(&waits, RELIEF_LINK, 0, 0, 0.5), 137 * US);
	c = gpu_rank(&beside, 0);
	a = launched(c, 0, COMPUTE, 10, 100);
	launched(c, 54, LINK, 60, 100);
	assert_int_equal(changed(&beside, RELIEF_EVENT, 0, a, 0.5), 160 * US);
	assert_int_equal(changed(&beside, RELIEF_EVENT, 0, a, 2), 210 * US);
}

/* Kernels of two streams, the second behind a wait for the first's event, but launched 35 us after that is
 * over: as the host comes earlier, it still runs behind the first. */
static void a_kernel_behind_a_streams_wait_follows_the_other_stream(void **state)
{
	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		PROFILE_AUTO p = {0};
		struct capture *c = gpu_rank(&p, 0);

		launched(c, 0, COMPUTE, 5, 100);
		if (waits)
			host(c, MAIN, "cudaStreamWaitEvent", 5, 1);
		launched_from(c, MAIN, 140, LINK, EVENT_KERNEL, "gemm", 145, 50);
		assert_true(changed(&p, RELIEF_HOST, 0, 0, 0) <= 156 * US);
		assert_int_equal(changed(&p, RELIEF_HOST, 0, 0, 0) >= 155 * US, waits);
	}
}

/* A call that waits for the device is no work of the host. */
static void a_synchronising_call_ends_with_its_work(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t work = launched(c, 0, COMPUTE, 6, 100), call;

	(void)state;
	call = host(c, MAIN, "cudaDeviceSynchronize", 5, 105);
	launched(c, 120, COMPUTE, 126, 10);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, work, 0.5), (136 - 50) * US);
	/* without the call the second launch is early, and its kernel comes 1 us behind the first */
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, call, 0), (106 + 1 + 10) * US);
	/* free launches do not make the call shorter: it still returns 4 us behind the work */
	is_about(changed(&p, RELIEF_HOST, 0, 0, 0), 6 + 100 + 4 + 6 + 10);
}

/* The host waits for a collective until 162, then launches what may need it. */
static void what_follows_a_wait_for_a_collective_needs_it(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t call;

	(void)state;
	launched(c, 0, COMPUTE, 6, 100);
	launched(c, 5, LINK, 112, 50);
	call = host(c, MAIN, "cudaDeviceSynchronize", 10, 157);
	launched(c, 170, COMPUTE, 176, 10);
	/* without the call it is launched at 13, and yet runs 1 us behind the collective */
	is_about(changed(&p, RELIEF_EVENT, 0, call, 0), 163 + 10);
}

/* Twenty times in 200 us: a thread launches three kernels of 40 us, `apart` us from one another, and the main
 * thread waits for the device, from 30 on. Returns what all takes without the waits. */
static int64_t without_waits(int64_t apart, int64_t until)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	struct relief waits[20];

	for (int64_t i = 0; i < 20; i++) {
		int64_t at = 200 * i, step = apart > 40 ? apart : 40;

		for (int64_t k = 0; k < 3; k++)
			launched_from(c, AUTOGRAD, at + apart * k, COMPUTE, EVENT_KERNEL, "k",
			              at + 6 + step * k, 40);
		waits[i] = (struct relief){RELIEF_EVENT, 0,
		                           host(c, MAIN, "cudaDeviceSynchronize", at + 30, until - 30), 0};
	}
	return replayed(&p, waits, 20, NULL);
}

static void threads_that_stop_together_are_one(void **state)
{
	(void)state;
	/* all launches come before the wait: of 200 us the host needs 30 and 70, the device 120 */
	is_about(without_waits(10, 130), 6 + 20 * 120);
	/* launched at 0, 50 and 100: nobody waits with the main thread */
	assert_int_equal(without_waits(50, 150), (19 * 200 + 106 + 40) * US);
}

static void host_time_that_is_gone_moves_all_that_follows(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t first, second, inner;

	(void)state;
	first = host(c, MAIN, "enumerate(DataLoader)#__next__", 0, 1000);
	launched(c, 1010, COMPUTE, 1016, 10);
	second = host(c, MAIN, "enumerate(DataLoader)#__next__", 1020, 500);
	inner = host(c, MAIN, "gc", 1100, 100);
	launched(c, 1530, COMPUTE, 1536, 10);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, first, 0), 546 * US);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, second, 0.5), (1546 - 250) * US);
	/* what lies inside is not taken twice; the smaller factor counts for its part */
	const struct relief both[] = {{RELIEF_EVENT, 0, second, 0.5F}, {RELIEF_EVENT, 0, inner, 0}};

	assert_int_equal(replayed(&p, both, 2, NULL), (1546 - 200 - 100) * US);
}

/* A kernel of 10 us whose launch is not in the capture, 100 us behind the one before it and 5 us ahead of the
 * next: it takes no more of the gap along than it is long. With a gap of 4 us it takes all of that. */
static void a_long_gap_of_unknown_cause_stays(void **state)
{
	for (int64_t gap = 4; gap <= 100; gap += 96) {
		PROFILE_AUTO p = {0};
		struct capture *c = gpu_rank(&p, 0);
		uint32_t gone;

		(void)state;
		add_event(c, COMPUTE, EVENT_KERNEL, "gemm", 0, 50 * US, -1);
		add_event(c, COMPUTE, EVENT_KERNEL, "cast", (50 + gap) * US, 10 * US, -1);
		gone = (uint32_t)(c->trace.count - 1);
		add_event(c, COMPUTE, EVENT_KERNEL, "gemm", (65 + gap) * US, 50 * US, -1);
		assert_int_equal(changed(&p, RELIEF_EVENT, 0, gone, 0),
		                 (50 + (gap > 10 ? gap - 10 : 0) + 5 + 50) * US);
	}
}

/* Two ranks, whose clocks are 40 ms apart: rank 1 comes to the collective 50 us later. */
static void make_ranks(struct profile *p, uint32_t *out_work)
{
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = gpu_rank(p, r);
		int64_t at = 40000 * r, late = 50 * r;

		out_work[r] = launched(c, at, COMPUTE, at + 10, 100 + late);
		launched(c, at + 5, LINK, at + 112 + late, 70 - late);
		launched(c, at + 15, COMPUTE, at + 184, 10);
	}
}

static void a_collective_ends_when_the_last_rank_has_come(void **state)
{
	PROFILE_AUTO p = {0};
	struct replay_span spans[2];
	uint32_t work[2];

	(void)state;
	make_ranks(&p, work);
	const struct relief late = {RELIEF_EVENT, 1, work[1], 2.0F / 3},
	                    early = {RELIEF_EVENT, 0, work[0], 0.5F}, link = {RELIEF_LINK, 0, 0, 0.5F};

	assert_int_equal(replayed(&p, &late, 1, spans), 144 * US);
	assert_true(spans[0].replayed_ns == 144 * US && spans[1].replayed_ns == 144 * US);
	assert_true(spans[0].measured_ns == 194 * US && spans[1].measured_ns == 194 * US);
	/* the early rank waits longer, and nobody gains */
	assert_int_equal(replayed(&p, &early, 1, NULL), 194 * US);
	/* the transmission takes 20 us: of its half, the others' waiting is no part */
	assert_int_equal(replayed(&p, &link, 1, NULL), 184 * US);
}

/* The backward pass runs on a thread of its own, for which the main thread waits. */
static void threads_that_take_turns_wait_for_one_another(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t slow;

	(void)state;
	for (int64_t i = 0; i < 5; i++)
		launched(c, 10 * i, COMPUTE, 10 * i + 6, 2);
	for (int64_t i = 0; i < 5; i++)
		launched_from(c, AUTOGRAD, 100 + 10 * i, COMPUTE, EVENT_KERNEL, "bwd", 106 + 10 * i, 2);
	slow = host(c, AUTOGRAD, "aten::slow", 145, 50);
	launched_from(c, AUTOGRAD, 200, COMPUTE, EVENT_KERNEL, "bwd", 206, 2);
	launched(c, 220, COMPUTE, 226, 2);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, slow, 1), 228 * US);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, slow, 0), 178 * US);
}

/* Ascend: one thread hands tasks over, another launches them. */
static void a_task_follows_its_hand_over(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	uint32_t main = add_lane(c, "Python", "Thread 1", -1), queue = add_lane(c, "Python", "Thread 2", -1);
	uint32_t driver = add_lane(c, "CANN", "Thread 2", -1),
	         stream = add_lane(c, "Ascend Hardware", "2", 0);
	uint32_t op, third;

	(void)state;
	for (int64_t i = 0; i < 3; i++) {
		add_event(c, main, EVENT_HOST_QUEUE, "Enqueue", 100 * i * US, US, -1);
		add_event(c, queue, EVENT_HOST_QUEUE, "Dequeue@aclnnAdd", (100 * i + 10) * US, 20 * US, -1);
		add_event(c, driver, EVENT_HOST_RUNTIME, "Node@launch", (100 * i + 15) * US, 5 * US, i + 1);
		add_event(c, stream, EVENT_KERNEL, "Add", (100 * i + 25) * US, 10 * US, i + 1);
	}
	third = (uint32_t)(c->trace.count - 1);
	add_event(c, main, EVENT_HOST_OP, "aten::slow", 110 * US, 80 * US, -1);
	op = (uint32_t)(c->trace.count - 1);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, op, 1), 235 * US);
	/* the third hand-over comes at 120: its thread is free again at 130, when the task before is done */
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, op, 0), (120 + 10 + 5 + 10 + 10) * US);
	/* without the third operator's time on either thread it is launched at 115 as well, with the second:
	 * its kernel runs 1 us behind that one's, which ends at 135 */
	is_about(changed(&p, RELIEF_EVENT_LAUNCH, 0, third, 0), 136 + 10);
}

/* The second call compiles from 20 to 809 before it launches; its kernel starts in it, at 815. */
static void a_launch_that_compiles_is_host_time(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t call;

	(void)state;
	launched(c, 0, COMPUTE, 6, 10);
	add_event(c, MAIN, EVENT_HOST_RUNTIME, "compile", 20 * US, 800 * US, 99);
	call = (uint32_t)(c->trace.count - 1);
	add_event(c, COMPUTE, EVENT_KERNEL, "gemm", 815 * US, 10 * US, 99);
	launched(c, 830, COMPUTE, 836, 10);
	/* 20 + 6 + 10, a gap of 1, and the last kernel, whose launch comes at 30 */
	is_about(changed(&p, RELIEF_EVENT, 0, call, 0), 36 + 1 + 10);
}

/* What a thread waits for that calls for the device: first for the tasks, the second of which compiles for
 * 500 us, until 545, then for the device. 45 us later it goes on. */
static void a_call_that_waits_lets_the_tasks_run_out(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	uint32_t main = add_lane(c, "Python", "Thread 1", -1), queue = add_lane(c, "Python", "Thread 2", -1);
	uint32_t driver = add_lane(c, "CANN", "Thread 2", -1),
	         stream = add_lane(c, "Ascend Hardware", "2", 0), compilation;
	const int64_t tasks[3][4] = {{0, 5, 10, 20}, {10, 25, 530, 540}, {600, 605, 610, 620}};

	(void)state;
	for (int64_t i = 0; i < 3; i++) {
		add_event(c, main, EVENT_HOST_QUEUE, "Enqueue", tasks[i][0] * US, US, -1);
		add_event(c, queue, EVENT_HOST_QUEUE, "Dequeue@aclnnAdd", tasks[i][1] * US,
		          (tasks[i][2] + 15 - tasks[i][1]) * US, -1);
		add_event(c, driver, EVENT_HOST_RUNTIME, "Node@launch", tasks[i][2] * US, 5 * US, i + 1);
		add_event(c, stream, EVENT_KERNEL, "Add", tasks[i][3] * US, 10 * US, i + 1);
	}
	add_event(c, driver, EVENT_HOST_RUNTIME, "aclopCompileAndExecute", 28 * US, 500 * US, -1);
	compilation = (uint32_t)(c->trace.count - 1);
	add_event(c, main, EVENT_HOST_RUNTIME, "AscendCL@aclrtSynchronizeDevice", 550 * US, 5 * US, -1);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, compilation, 0), (630 - 500) * US);
}

/* Ten kernels of 10 us, launched each 100 us. */
static void a_launch_goes_with_the_time_before_it(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t last = 0;

	(void)state;
	host(c, MAIN, "aten::mm", 0, 1);
	for (int64_t i = 0; i < 10; i++)
		last = launched(c, 100 * i, COMPUTE, 100 * i + 6, 10);
	const struct relief both[] = {{RELIEF_EVENT_LAUNCH, 0, last, 0}, {RELIEF_EVENT, 0, last, 0}};

	/* the last is launched at 800 too, and runs 1 us behind the one before it */
	is_about(replayed(&p, both, 1, NULL), 816 + 1 + 10);
	assert_int_equal(replayed(&p, both, 2, NULL), 816 * US);
	/* half of it: launched at 850 */
	assert_int_equal(changed(&p, RELIEF_EVENT_LAUNCH, 0, last, 0.5), (850 + 6 + 10) * US);
	/* what is no work has no launch */
	assert_int_equal(changed(&p, RELIEF_EVENT_LAUNCH, 0, 0, 0), 916 * US);
	assert_int_equal(changed(&p, RELIEF_KERNEL_LAUNCH, 0, 0, 0), 916 * US);
}

static void a_kernel_table_is_a_graph_too(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	struct kernel *k;

	(void)state;
	add_kernel(c, "a", "MatMul", "AI_CORE", 0, 100 * US);
	add_kernel(c, "b", "MatMul", "AI_CORE", 150 * US, 100 * US);
	k = add_kernel(c, "hcom_allReduce__1_0", "hcom", "HCCL", 251 * US, 40 * US);
	k->communication = true;
	assert_int_equal(changed(&p, RELIEF_KERNEL, 0, 0, 0.5), 241 * US);
	assert_int_equal(changed(&p, RELIEF_LINK, 0, 0, 0.5), 271 * US);
	/* what the device idled, 50 us, is the host's but for the gap */
	is_about(changed(&p, RELIEF_HOST, 0, 0, 0), 291 - 49);
	/* and so is what it idled before the second row alone */
	is_about(changed(&p, RELIEF_KERNEL_LAUNCH, 0, 1, 0), 291 - 49);
	assert_int_equal(changed(&p, RELIEF_KERNEL_LAUNCH, 0, 0, 0), 291 * US);
}

/* A row of the table is the event that starts with it. */
static void a_kernel_row_finds_its_event(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);

	(void)state;
	launched(c, 0, COMPUTE, 6, 100);
	launched(c, 5, COMPUTE, 107, 100);
	add_kernel(c, "other", NULL, "AI_CORE", 3 * US, 100 * US);
	add_kernel(c, "gemm", NULL, "AI_CORE", 107 * US + 900, 100 * US);
	assert_int_equal(changed(&p, RELIEF_KERNEL, 0, 1, 0.5), 157 * US);
	assert_int_equal(changed(&p, RELIEF_KERNEL, 0, 0, 0.5), 207 * US);
	assert_int_equal(changed(&p, RELIEF_KERNEL, 0, 7, 0.5), 207 * US);
}

static void what_has_no_device_work_is_in_no_graph(void **state)
{
	PROFILE_AUTO p = {0};
	REPLAY_AUTO g = NULL;

	(void)state;
	host(gpu_rank(&p, 0), MAIN, "aten::mm", 0, 1);
	assert_int_equal(replay_build(&p, &g, NULL), SB_OK);
	assert_null(g);
	launched(gpu_rank(&p, 1), 0, COMPUTE, 6, 100);
	assert_int_equal(replay_build(&p, &g, NULL), SB_OK);
	assert_false(replay_holds(g, 0));
	assert_true(replay_holds(g, 1));
	assert_false(replay_holds(g, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_that_come_late_hold_the_device_up),
	    cmocka_unit_test(a_queue_hides_the_launches),
	    cmocka_unit_test(work_that_starts_as_other_work_ends_waits_for_it),
	    cmocka_unit_test(a_kernel_behind_a_streams_wait_follows_the_other_stream),
	    cmocka_unit_test(a_synchronising_call_ends_with_its_work),
	    cmocka_unit_test(what_follows_a_wait_for_a_collective_needs_it),
	    cmocka_unit_test(threads_that_stop_together_are_one),
	    cmocka_unit_test(host_time_that_is_gone_moves_all_that_follows),
	    cmocka_unit_test(a_long_gap_of_unknown_cause_stays),
	    cmocka_unit_test(a_collective_ends_when_the_last_rank_has_come),
	    cmocka_unit_test(threads_that_take_turns_wait_for_one_another),
	    cmocka_unit_test(a_task_follows_its_hand_over),
	    cmocka_unit_test(a_launch_that_compiles_is_host_time),
	    cmocka_unit_test(a_call_that_waits_lets_the_tasks_run_out),
	    cmocka_unit_test(a_launch_goes_with_the_time_before_it),
	    cmocka_unit_test(a_kernel_table_is_a_graph_too),
	    cmocka_unit_test(a_kernel_row_finds_its_event),
	    cmocka_unit_test(what_has_no_device_work_is_in_no_graph),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
