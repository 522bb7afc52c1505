/* The critical path: chains worked out by hand, and what must hold for any trace. */
#include <time.h>

#include "tests/unit/profiler/fixture.h"

#include "profiler/critical_path.h"

static void find(const struct profile *p, struct critical_paths *out)
{
	COLLECTIVES_AUTO c = {0};

	assert_int_equal(collectives_match(p, &c), SB_OK);
	assert_int_equal(critical_paths_find(p, &c, out, NULL), SB_OK);
}

static void is_piece(const struct critical_paths *all, const struct critical_path *path, size_t i,
                     enum path_part part, const char *name, int64_t start, int64_t dur)
{
	const struct path_piece *p;

	assert_true(i < path->count);
	p = &path->pieces[i];
	assert_string_equal(path_part_name((enum path_part)p->part), path_part_name(part));
	assert_string_equal(sb_strings_get(all->texts, p->name, NULL), name);
	assert_int_equal(p->start_ns, start);
	assert_int_equal(p->dur_ns, dur);
}

static void are_parts(const struct critical_path *path, int64_t compute, int64_t communication, int64_t copy,
                      int64_t host, int64_t gap)
{
	assert_int_equal(path->part_ns[PATH_COMPUTE], compute);
	assert_int_equal(path->part_ns[PATH_COMMUNICATION], communication);
	assert_int_equal(path->part_ns[PATH_COPY], copy);
	assert_int_equal(path->part_ns[PATH_HOST], host);
	assert_int_equal(path->part_ns[PATH_GAP], gap);
	assert_int_equal(path->span_ns, compute + communication + copy + host + gap);
}

/* Report HTA#89 and its like: back-to-back kernels of one stream are all on the path, and their sum is it. */
static void one_stream_is_its_own_path(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t stream = add_lane(c, "GPU 0", "stream 7", 0);

	(void)state;
	add_event(c, stream, EVENT_KERNEL, "a", 1000, 5000, -1);
	add_event(c, stream, EVENT_KERNEL, "b", 6000, 2000, -1);
	add_event(c, stream, EVENT_KERNEL, "c", 8900, 1000, -1); /* 0.9 us later: still the same stream */
	find(&p, &paths);
	assert_int_equal(paths.count, 1);
	is_piece(&paths, &paths.items[0], 0, PATH_COMPUTE, "a", 1000, 5000);
	is_piece(&paths, &paths.items[0], 1, PATH_COMPUTE, "b", 6000, 2000);
	is_piece(&paths, &paths.items[0], 2, PATH_GAP, "", 8000, 900);
	is_piece(&paths, &paths.items[0], 3, PATH_COMPUTE, "c", 8900, 1000);
	are_parts(&paths.items[0], 8000, 0, 0, 0, 900);
	assert_int_equal(paths.items[0].works, 3);
	assert_int_equal(paths.across.count, 0);
}

/* b waits for the collective on the other stream, not for a, which ended long before. */
static void the_work_that_ended_last_is_the_reason(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t one = add_lane(c, "GPU 0", "stream 7", 0), two = add_lane(c, "GPU 0", "stream 9", 0);

	(void)state;
	add_event(c, one, EVENT_KERNEL, "a", 0, 10000, -1);
	add_event(c, two, EVENT_COMMUNICATION, "ring", 4000, 26000, -1);
	add_event(c, two, EVENT_MEMCPY, "before", 0, 3500, -1);
	add_event(c, one, EVENT_KERNEL, "b", 32000, 8000, -1);
	find(&p, &paths);
	/* before → ring (0.5 us later on its stream) → 2 us of nothing → b */
	are_parts(&paths.items[0], 8000, 26000, 3500, 0, 2500);
	is_piece(&paths, &paths.items[0], 0, PATH_COPY, "before", 0, 3500);
	is_piece(&paths, &paths.items[0], 2, PATH_COMMUNICATION, "ring", 4000, 26000);
	assert_int_equal(paths.items[0].count, 5);
}

/* The launch of b came when the device had been idle for 4 us: what the thread did till then is on the path.
 * A wait of the host while the device was busy is not. */
static void a_late_launch_puts_the_host_on_the_path(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t stream = add_lane(c, "GPU 0", "stream 7", 0), thread = add_lane(c, "python", "1", -1);

	(void)state;
	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", 2000, 9000, -1);
	add_event(c, stream, EVENT_KERNEL, "a", 0, 10000, -1);
	add_event(c, thread, EVENT_HOST_OP, "aten::mul", 12000, 4000, -1);
	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 14000, 1500, 5);
	add_event(c, stream, EVENT_KERNEL, "b", 20000, 3000, 5);
	find(&p, &paths);
	/* 10..11 the end of the wait, 11..12 unrecorded, 12..15.5 aten::mul, then 4.5 us until the kernel */
	is_piece(&paths, &paths.items[0], 0, PATH_COMPUTE, "a", 0, 10000);
	is_piece(&paths, &paths.items[0], 1, PATH_HOST, "cudaStreamSynchronize", 10000, 1000);
	is_piece(&paths, &paths.items[0], 2, PATH_HOST, "", 11000, 1000);
	is_piece(&paths, &paths.items[0], 3, PATH_HOST, "aten::mul", 12000, 3500);
	is_piece(&paths, &paths.items[0], 4, PATH_GAP, "", 15500, 4500);
	is_piece(&paths, &paths.items[0], 5, PATH_COMPUTE, "b", 20000, 3000);
	are_parts(&paths.items[0], 13000, 0, 0, 5500, 4500);
}

static void a_launch_in_time_leaves_a_gap(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t stream = add_lane(c, "GPU 0", "stream 7", 0), thread = add_lane(c, "python", "1", -1);

	(void)state;
	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 1000, 1500, 5);
	add_event(c, stream, EVENT_KERNEL, "a", 0, 10000, -1);
	add_event(c, stream, EVENT_KERNEL, "b", 13000, 3000, 5);
	find(&p, &paths);
	are_parts(&paths.items[0], 13000, 0, 0, 0, 3000);
}

/* Rank 1 comes to the collective last (it takes 2 us there, 7 us on rank 0), and its clock is 40 ms ahead. */
static void across_ranks_the_last_to_come_is_followed(void **state)
{
	const int64_t ahead = 40000000;
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		int64_t at = rank * ahead;
		struct capture *c = make_capture(&p, FORMAT_KINETO, rank);
		uint32_t stream = add_lane(c, "GPU 0", "stream 7", 0),
		         ring = add_lane(c, "GPU 0", "stream 9", 0);
		struct event_detail d = {.group = text_id(c, "dp"), .bytes = 100, .sequence = 1};

		add_event(c, stream, EVENT_KERNEL, rank == 0 ? "quick" : "slow", at, rank == 0 ? 3000 : 8000,
		          -1);
		add_event(c, ring, EVENT_COMMUNICATION, "ring", at + (rank == 0 ? 3000 : 8000),
		          rank == 0 ? 7000 : 2000, -1);
		d.event = 1;
		assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
		add_event(c, stream, EVENT_KERNEL, "after", at + 10000, rank == 0 ? 5000 : 4000, -1);
	}
	find(&p, &paths);
	assert_int_equal(paths.count, 2);
	are_parts(&paths.items[0], 8000, 7000, 0, 0, 0);
	/* after (rank 0) ← the 2 us that the collective takes ← slow (rank 1) */
	are_parts(&paths.across, 13000, 2000, 0, 0, 0);
	assert_int_equal(paths.across.capture, 0);
	is_piece(&paths, &paths.across, 0, PATH_COMPUTE, "slow", ahead, 8000);
	assert_int_equal(paths.across.pieces[0].capture, 1);
	is_piece(&paths, &paths.across, paths.across.count - 1, PATH_COMPUTE, "after", 10000, 5000);
	assert_int_equal(paths.across.pieces[paths.across.count - 1].capture, 0);
}

static void kernel_rows_go_by_their_stream(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	/* x ends last before c, but the row before c on its own stream ended only 1 us earlier */
	add_kernel(c, "b", "MatMul", "AI_CORE", 0, 9000)->stream = 2;
	add_kernel(c, "x", "Add", "AI_VECTOR_CORE", 0, 9900)->stream = 3;
	add_kernel(c, "c", "MatMul", "AI_CORE", 10000, 5000)->stream = 2;
	add_kernel(c, "ring", "hcom_allReduce_", "HCCL", 16500, 2000)->communication = true;
	find(&p, &paths);
	are_parts(&paths.items[0], 14000, 2000, 0, 0, 2500);
	is_piece(&paths, &paths.items[0], 0, PATH_COMPUTE, "b", 0, 9000);
}

static void nothing_on_a_device_is_no_path(void **state)
{
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);

	(void)state;
	add_event(c, add_lane(c, "python", "1", -1), EVENT_HOST_OP, "aten::mul", 0, 10, -1);
	find(&p, &paths);
	assert_true(paths.count == 0 && paths.across.count == 0);
}

/* A file may name a device an event: the work of each is looked at once, not all work for each device. */
static void very_many_devices_have_a_path_each(void **state)
{
	enum { DEVICES = 40000 };
	PROFILE_AUTO p = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	clock_t begin;

	(void)state;
	for (int i = 0; i < DEVICES; i++)
		add_lane(c, "GPU", "stream 7", DEVICES - 1 - i);
	for (int i = 0; i < 2 * DEVICES; i++)
		add_event(c, (uint32_t)(i % DEVICES), EVENT_KERNEL, "k", (int64_t)i * 1000, 500, -1);
	begin = clock();
	find(&p, &paths);
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
	assert_int_equal(paths.count, DEVICES);
	for (int i = 0; i < DEVICES; i++) {
		assert_int_equal(paths.items[i].device, i);
		assert_int_equal(paths.items[i].works, 2);
		are_parts(&paths.items[i], 1000, 0, 0, 0, (int64_t)DEVICES * 1000 - 500);
	}
}

static uint64_t next(uint64_t *state)
{
	/* xorshift64*, Vigna 2016 */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* Equal times, no length, overlaps in a stream, ends out of order, links to nothing: the walk ends, pieces
 * touch each other, and reach from the first start to the last end. */
static void any_trace_has_a_path_without_holes(void **state)
{
	static const enum event_kind kinds[] = {EVENT_KERNEL, EVENT_COMMUNICATION, EVENT_MEMCPY,
	                                        EVENT_HOST_RUNTIME, EVENT_HOST_OP};
	uint64_t seed = 88172645463325252;

	(void)state;
	for (int round = 0; round < 400; round++) {
		PROFILE_AUTO p = {0};
		CRITICAL_PATHS_AUTO paths = {0};
		int64_t first = INT64_MAX, last = INT64_MIN;

		for (int rank = 0; rank < 2; rank++) {
			struct capture *c = make_capture(&p, FORMAT_KINETO, rank);

			for (int i = 0; i < 3; i++)
				add_lane(c, "p", i == 0 ? "a" : i == 1 ? "b" : "c", i < 2 ? 0 : -1);
			for (int i = 0; i < 40; i++) {
				enum event_kind kind = kinds[next(&seed) % 5];
				bool device = kind <= EVENT_MEMCPY;
				int64_t start = (int64_t)(next(&seed) % 60) * 500;
				int64_t dur = next(&seed) % 3 == 0 ? 0 : (int64_t)(next(&seed) % 5000);

				add_event(c, device ? (uint32_t)(next(&seed) % 2) : 2, kind, "x", start, dur,
				          (int64_t)(next(&seed) % 12) - 1);
				if (!device || rank > 0)
					continue;
				first = start < first ? start : first;
				last = start + dur > last ? start + dur : last;
			}
		}
		find(&p, &paths);
		assert_int_equal(paths.count, 2);
		for (size_t i = 0; i < paths.count; i++) {
			const struct critical_path *path = &paths.items[i];
			int64_t at = path->pieces[0].start_ns, sum = 0;

			for (size_t k = 0; k < path->count; k++) {
				assert_int_equal(path->pieces[k].start_ns, at);
				assert_true(path->pieces[k].dur_ns >= 0);
				at += path->pieces[k].dur_ns;
				sum += path->pieces[k].dur_ns;
			}
			assert_int_equal(sum, path->span_ns);
			if (i == 0)
				assert_true(path->pieces[0].start_ns == first && at == last);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_stream_is_its_own_path),
	    cmocka_unit_test(the_work_that_ended_last_is_the_reason),
	    cmocka_unit_test(a_late_launch_puts_the_host_on_the_path),
	    cmocka_unit_test(a_launch_in_time_leaves_a_gap),
	    cmocka_unit_test(across_ranks_the_last_to_come_is_followed),
	    cmocka_unit_test(kernel_rows_go_by_their_stream),
	    cmocka_unit_test(nothing_on_a_device_is_no_path),
	    cmocka_unit_test(very_many_devices_have_a_path_each),
	    cmocka_unit_test(any_trace_has_a_path_without_holes),
	};

	return cmocka_run_group_tests_name("critical path", tests, NULL, NULL);
}
