#include "tests/unit/profiler/timeline_made.h"

/* By hand. Stream 7, in ns from the origin 1000: a kernel [0, 40) with a copy [10, 20) under it, a kernel
 * [60, 100), a memset without length at 50. */
static void by_hand(struct trace *t)
{
	uint32_t stream;

	assert_int_equal(trace_init(t), SB_OK);
	made_lane(t, "python", "no event", -1);
	stream = made_lane(t, "GPU 0", "stream 7", 0);
	made_event(t, stream, EVENT_KERNEL, "late", 1060, 40);
	made_event(t, stream, EVENT_MEMCPY, "copy", 1010, 10);
	made_event(t, stream, EVENT_MEMSET, "clear", 1050, 0);
	made_event(t, stream, EVENT_KERNEL, "first", 1000, 40);
}

static void assert_bin(const struct timeline_bin *b, uint32_t px, uint64_t busy, uint32_t category,
                       uint64_t count)
{
	assert_int_equal(b->px, px);
	assert_int_equal(b->busy_ns, busy);
	assert_int_equal(b->category, category);
	assert_int_equal(b->count, count);
}

static void columns_by_hand(void **state)
{
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;

	(void)state;
	by_hand(&t);
	made_open(&t, 3, &f);
	assert_int_equal(f.count, 1);
	assert_true(f.sections[0].rank == 3 && f.sections[0].origin_ns == 1000 &&
	            f.sections[0].end_ns == 1100);
	assert_int_equal(f.sections[0].lane_count, 1);
	/* columns of 35, 35 and 35 ns: [0,35) [35,70) [70,105) */
	q = made_query(&f, 0, 105, 3);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_int_equal(v.lane_count, 1);
	assert_true(v.origin_ns == 1000);
	assert_true(v.lanes[0].binned && v.lanes[0].in_view == 4 && v.lanes[0].rows == 3);
	assert_bin(&v.bins[0], 0, 35, EVENT_KERNEL, 2);
	assert_bin(&v.bins[1], 1, 15, EVENT_KERNEL, 2);
	assert_bin(&v.bins[2], 2, 30, EVENT_KERNEL, 0);
	assert_int_equal(v.bins[0].width_ns, 35);
	timeline_view_free(&v);
	/* [10,20) belongs to both kinds: the lower number; [50,60) holds only what has no length */
	q = made_query(&f, 10, 60, 1);
	q.px = 1;
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_bin(&v.bins[0], 0, 30, EVENT_KERNEL, 2);
	timeline_view_free(&v);
	q = made_query(&f, 45, 55, 1);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_false(v.lanes[0].binned);
	assert_int_equal(v.event_count, 1);
	assert_true(v.events[0].start_ns == 50 && v.events[0].dur_ns == 0 &&
	            v.events[0].category == EVENT_MEMSET);
}

static void events_by_hand(void **state)
{
	static const char *const names[] = {"first", "copy", "clear"};
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;

	(void)state;
	by_hand(&t);
	made_open(&t, SB_NULL, &f);
	/* [15, 60): two reach into it, one starts in it, one starts where it ends */
	q = made_query(&f, 15, 60, 10);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_false(v.lanes[0].binned);
	assert_int_equal(v.lanes[0].in_view, 1);
	assert_int_equal(v.event_count, 3);
	for (size_t i = 0; i < 3; i++) {
		size_t len;
		const char *name = timeline_text(&f, q.section, v.events[i].name, &len);

		assert_int_equal(len, strlen(names[i]));
		assert_memory_equal(name, names[i], len);
	}
	assert_true(v.events[0].start_ns == 0 && v.events[0].dur_ns == 40);
	timeline_view_free(&v);
	/* an end is not part of an event: nothing is there from 40 to 50 */
	q = made_query(&f, 40, 50, 10);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_true(v.lane_count == 1 && v.lanes[0].rows == 0);
	timeline_view_free(&v);
	q = made_query(&f, 5000, 9000, 10);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_true(v.lane_count == 1 && v.lanes[0].rows == 0);
	timeline_view_free(&v);
	q = made_query(&f, 10, 10, 10);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_EINVAL);
	q = made_query(&f, 0, 10, 0);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_EINVAL);
	q = made_query(&f, 0, 10, TIMELINE_PX_MAX + 1);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_EINVAL);
}

static void times_at_the_ends_of_their_range(void **state)
{
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;
	uint32_t lane;

	(void)state;
	assert_int_equal(trace_init(&t), SB_OK);
	lane = made_lane(&t, "p", "t", -1);
	made_event(&t, lane, EVENT_HOST_OP, "a", -INT64_MAX, INT64_MAX);
	made_event(&t, lane, EVENT_HOST_OP, "b", INT64_MAX - 5, INT64_MAX);
	made_event(&t, lane, EVENT_HOST_PYTHON, "c", 0, INT64_MAX);
	made_open(&t, 0, &f);
	q = made_query(&f, 0, INT64_MAX, 2);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	/* the view ends where "c" starts: one event is left */
	assert_false(v.lanes[0].binned);
	assert_int_equal(v.event_count, 1);
	assert_true(v.events[0].start_ns == 0 && v.events[0].dur_ns == INT64_MAX);
	timeline_view_free(&v);
	q = made_query(&f, INT64_MAX - 1, INT64_MAX, TIMELINE_PX_MAX);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_int_equal(v.event_count, 1);
}

/* A step's annotation covers idle time: it must not make the stream look busy. */
static void annotations_have_lanes_of_their_own(void **state)
{
	static const enum timeline_lane_kind kinds[] = {TIMELINE_ANNOTATION, TIMELINE_DEVICE,
	                                                TIMELINE_OVERLAP, TIMELINE_ANNOTATION, TIMELINE_HOST};
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO v = {0};
	const struct timeline_lane *lanes;
	struct timeline_query q;
	uint32_t lane;

	(void)state;
	assert_int_equal(trace_init(&t), SB_OK);
	lane = made_lane(&t, "python", "main", -1);
	made_event(&t, lane, EVENT_HOST_OP, "op", 0, 10);
	made_event(&t, lane, EVENT_HOST_ANNOTATION, "step", 0, 100);
	lane = made_lane(&t, "gpu", "stream 7", 0);
	made_event(&t, lane, EVENT_DEVICE_ANNOTATION, "step", 0, 100);
	made_event(&t, lane, EVENT_KERNEL, "k", 20, 10);
	made_event(&t, lane, EVENT_COMMUNICATION, "all", 40, 10);
	lane = made_lane(&t, "overlap", "free", 0);
	made_event(&t, lane, EVENT_LANE_FREE, "Free", 0, 20);
	made_open(&t, 0, &f);
	lanes = timeline_lanes(&f, &f.sections[0]);
	assert_int_equal(f.sections[0].lane_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(lanes[i].kind, kinds[i]);
	q = made_query(&f, 0, 100, 1);
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_int_equal(v.lane_count, 5);
	assert_true(v.lanes[1].binned && v.bin_count == 1);
	/* 10 of each: the lower kind */
	assert_bin(&v.bins[0], 0, 20, EVENT_KERNEL, 2);
}

/* Devices before hosts, then those with the most events in view; what is cut is told. */
static void limits_tell_what_they_cut(void **state)
{
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	struct timeline_query q;
	uint32_t lane;

	(void)state;
	assert_int_equal(trace_init(&t), SB_OK);
	for (int i = 0; i < 5; i++) {
		char thread[8];

		/* 10, 20, 30, 40 and 50 events, the first two on a device */
		snprintf(thread, sizeof(thread), "t%d", i);
		lane = made_lane(&t, "p", thread, i < 2 ? 0 : -1);
		for (int64_t k = 0; k < INT64_C(10) * (i + 1); k++)
			made_event(&t, lane, i < 2 ? EVENT_KERNEL : EVENT_HOST_OP, "e", 100 * k, 1);
	}
	made_open(&t, 0, &f);
	q = made_query(&f, 0, 100000, 5);
	for (size_t limit = 1; limit <= 6; limit++) {
		/* devices: 20, then 10; hosts: 50, 40, 30 */
		static const uint32_t shown[][5] = {{1}, {0, 1}, {0, 1, 4}, {0, 1, 3, 4}, {0, 1, 2, 3, 4}};
		static const uint64_t left[] = {130, 120, 70, 30, 0};
		TIMELINE_VIEW_AUTO v = {0};
		size_t n = limit < 5 ? limit : 5;

		q.lane_limit = limit;
		assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
		assert_int_equal(v.lane_count, n);
		assert_int_equal(v.left_lanes, 5 - n);
		assert_int_equal(v.left_events, left[n - 1]);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(v.lanes[i].lane, shown[n - 1][i]);
	}
	/* the lanes end before the one that would pass the limit of rows */
	for (size_t rows = 0; rows <= 6; rows++) {
		TIMELINE_VIEW_AUTO v = {0};

		q = made_query(&f, 0, 5000, 5);
		q.row_limit = rows;
		assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
		/* columns of 1000 ns: lane i has events in i + 1 of them */
		assert_int_equal(v.lane_count, rows == 0 ? 0 : rows < 3 ? 1 : rows < 6 ? 2 : 3);
		assert_int_equal(v.lane_count + v.left_lanes, 5);
		assert_true(v.bin_count + v.event_count <= rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(columns_by_hand),
	    cmocka_unit_test(events_by_hand),
	    cmocka_unit_test(annotations_have_lanes_of_their_own),
	    cmocka_unit_test(limits_tell_what_they_cut),
	    cmocka_unit_test(times_at_the_ends_of_their_range),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
