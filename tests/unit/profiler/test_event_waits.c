/* Waits for events and the records that they name: which work depends on which, told by ids where the time
 * would say otherwise. */
#include <time.h>

#include "tests/unit/profiler/waited.h"

#include "profiler/critical_path.h"

enum { THIRD = 4 };

static struct capture *three_streams(struct profile *p)
{
	struct capture *c = gpu_rank(p, 0);

	add_lane(c, "gpu", "stream 24", 0); /* THIRD */
	return c;
}

static void find_paths(const struct profile *p, struct critical_paths *out)
{
	COLLECTIVES_AUTO c = {0};

	assert_int_equal(collectives_match(p, &c), SB_OK);
	assert_int_equal(critical_paths_find(p, &c, out, NULL), SB_OK);
}

/* The kernels on the path, in order, joined by blanks. */
static void path_is(const struct profile *p, const char *expected)
{
	CRITICAL_PATHS_AUTO paths = {0};
	char text[200] = "";

	find_paths(p, &paths);
	assert_int_equal(paths.count, 1);
	for (size_t i = 0; i < paths.items[0].count; i++) {
		const struct path_piece *x = &paths.items[0].pieces[i];

		if (x->part != PATH_GAP && x->part != PATH_HOST)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? " " : "",
			         sb_strings_get(paths.texts, x->name, NULL));
	}
	assert_string_equal(text, expected);
}

/* Does the work wait for just this other one? */
static void waits_for(const struct event_waits *w, uint32_t event, uint32_t behind)
{
	size_t n;
	const struct event_wait *x = event_waits_of(w, event, &n);

	assert_non_null(x);
	assert_int_equal(n, 1);
	assert_int_equal(x->behind, behind);
}

static void waits_for_nothing(const struct event_waits *w, uint32_t event)
{
	size_t n;

	assert_null(event_waits_of(w, event, &n));
	assert_int_equal(n, 0);
}

/* b waits for a, which ended at 100; x of a third stream ended at 102, just before b began at 103, by chance.
 */
static void the_path_follows_the_event(void **state)
{
	(void)state;
	for (int ids = 0; ids < 2; ids++) {
		PROFILE_AUTO p = {0};
		struct capture *c = three_streams(&p);
		int64_t record;

		kernel(c, 0, COMPUTE, "a", 5, 95);
		record = recorded(c, 3);
		kernel(c, 6, THIRD, "x", 10, 92);
		if (ids)
			waits(c, 9, LINK, "stream 7", record);
		kernel(c, 12, LINK, "b", 103, 47);
		/* by time x follows a, since a was at work when x began */
		path_is(&p, ids ? "a b" : "a x b");
	}
}

/* The stream's own kernel ended 0.5 us before b, which is near; but a, of which the event is, ended later. */
static void the_later_of_stream_and_event_holds_work_up(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		PROFILE_AUTO p = {0};
		struct capture *c = gpu_rank(&p, 0);
		int64_t record;

		/* both begin at 5, so whichever is on the path is the first of it */
		launched_from(c, MAIN, 0, COMPUTE, EVENT_KERNEL, "a", 5, 0);
		c->trace.dur_ns[c->trace.count - 1] = late ? 94800 : 90000;
		record = recorded(c, 3);
		launched_from(c, MAIN, 4, LINK, EVENT_KERNEL, "own", 5, 0);
		c->trace.dur_ns[c->trace.count - 1] = 94500;
		waits(c, 7, LINK, "stream 7", record);
		kernel(c, 9, LINK, "b", 100, 50);
		path_is(&p, late ? "a b" : "own b");
	}
}

/* The record stands between two kernels: b follows the first, and is no later for the second. */
static void what_is_launched_behind_the_record_does_not_count(void **state)
{
	(void)state;
	for (int ids = 0; ids < 2; ids++) {
		PROFILE_AUTO p = {0};
		EVENT_WAITS_AUTO w = {0};
		struct capture *c = gpu_rank(&p, 0);
		uint32_t first = kernel(c, 0, COMPUTE, "first", 5, 45), own, b;
		int64_t record = recorded(c, 3);

		kernel(c, 6, COMPUTE, "second", 51, 49);
		own = kernel(c, 10, LINK, "own", 15, 86);
		if (ids)
			waits(c, 13, LINK, "stream 7", record);
		else
			host(c, MAIN, "cudaStreamWaitEvent", 13, 1);
		b = kernel(c, 16, LINK, "b", 102, 60);
		find_waits(c, &w);
		if (ids)
			waits_for(&w, b, first);
		else
			waits_for_nothing(&w, b);
		/* own of half its length is over at 58; streams go on after 1 us, so b would run from 59 to
		 * 119. By time it is held by `second`, which ended at 100, just before it began: from 101 to
		 * 161. */
		is_about(changed(&p, RELIEF_EVENT, 0, own, 0.5), ids ? 119 : 161);
	}
}

/* The event was recorded on a stream on which nothing was launched since it had waited for another: what that
 * one waited for counts. */
static void an_event_behind_a_wait_passes_it_on(void **state)
{
	PROFILE_AUTO p = {0};
	EVENT_WAITS_AUTO w = {0};
	struct capture *c = three_streams(&p);
	uint32_t a = kernel(c, 0, COMPUTE, "a", 5, 95), b;
	int64_t record = recorded(c, 3);

	(void)state;
	waits(c, 5, LINK, "stream 7", record);
	record = recorded(c, 7);
	waits(c, 9, THIRD, "stream 20", record);
	b = kernel(c, 12, THIRD, "b", 102, 40);
	find_waits(c, &w);
	waits_for(&w, b, a);
	path_is(&p, "a b");
}

/* b waits for two streams. When the one that was over last, at 100, is gone, the other one, until 90, holds
 * it: b runs 1 us behind it. */
static void all_that_work_waits_for_holds_it(void **state)
{
	PROFILE_AUTO p = {0};
	EVENT_WAITS_AUTO w = {0};
	struct capture *c = three_streams(&p);
	uint32_t a = kernel(c, 0, COMPUTE, "a", 5, 95), other, b;
	int64_t record = recorded(c, 3), second;
	size_t n;
	const struct event_wait *x;

	(void)state;
	other = kernel(c, 5, THIRD, "other", 10, 80);
	second = recorded(c, 8);
	waits(c, 10, LINK, "stream 7", record);
	waits(c, 12, LINK, "stream 24", second);
	b = kernel(c, 14, LINK, "b", 101, 40);
	find_waits(c, &w);
	x = event_waits_of(&w, b, &n);
	assert_int_equal(n, 2);
	assert_int_equal(x[0].behind, a);
	assert_int_equal(x[1].behind, other);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, a, 0.5), (90 + 1 + 40) * US);
	assert_int_equal(changed(&p, RELIEF_EVENT, 0, other, 0.5), 141 * US);
}

/* The kernel b, before which the stream waits for a, is gone: the next one still does not run before a is
 * over, at 100, though the stream itself is free from 20 on. */
static void a_wait_stays_when_its_kernel_goes(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = gpu_rank(&p, 0);
	int64_t record;
	uint32_t b;

	(void)state;
	kernel(c, 0, COMPUTE, "a", 5, 95);
	record = recorded(c, 3);
	kernel(c, 5, LINK, "own", 10, 10);
	waits(c, 8, LINK, "stream 7", record);
	b = kernel(c, 10, LINK, "b", 102, 10);
	kernel(c, 13, LINK, "next", 113, 50);
	is_about(changed(&p, RELIEF_EVENT, 0, b, 0), 101 + 50);
}

/* The host waits for the event behind a until 101. x ended at 99, too, and later than a; yet with half of a
 * the call returns 3 us behind it, at 54, and the next kernel 7 us later. */
static void the_host_waits_for_what_the_event_says(void **state)
{
	(void)state;
	for (int ids = 0; ids < 2; ids++) {
		PROFILE_AUTO p = {0};
		struct capture *c = three_streams(&p);
		uint32_t a = kernel(c, 0, COMPUTE, "a", 5, 93);
		int64_t record = recorded(c, 3);

		kernel(c, 5, THIRD, "x", 10, 89);
		if (ids)
			host_waits(c, 8, 93, "stream 7", record);
		else
			host(c, MAIN, "cudaEventSynchronize", 8, 93);
		kernel(c, 103, LINK, "next", 108, 92);
		/* ends: a at 5 + 46.5, the call 3 us later, next 7 + 92 us behind that; else x holds the call
		 */
		assert_int_equal(changed(&p, RELIEF_EVENT, 0, a, 0.5),
		                 ids ? (5 + 3 + 7 + 92) * US + 46500 : 200 * US);
	}
}

/* The stream may be told at the record alone. */
static void the_record_may_tell_its_stream(void **state)
{
	PROFILE_AUTO p = {0};
	EVENT_WAITS_AUTO w = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t a = kernel(c, 0, COMPUTE, "a", 5, 95), b;
	int64_t record = recorded(c, 3);

	(void)state;
	add_event(c, COMPUTE, EVENT_DEVICE_OTHER, "cudaEventRecord", 100 * US, 0, record);
	waits(c, 5, LINK, NULL, record);
	b = kernel(c, 7, LINK, "b", 101, 10);
	find_waits(c, &w);
	waits_for(&w, b, a);
}

/* What ids cannot mean: records that are not there or come later than their waits, streams nobody knows, work
 * that ran while it should have waited, a stream that waits for itself. */
static void ids_that_cannot_be_are_passed_over(void **state)
{
	static const int64_t records[] = {7, 0, -1, INT64_MAX, SB_NULL};
	PROFILE_AUTO p = {0};
	EVENT_WAITS_AUTO w = {0};
	struct capture *c = three_streams(&p);
	uint32_t held[12];
	size_t n = 0;
	int64_t record, at = 200;

	(void)state;
	kernel(c, 0, COMPUTE, "a", 5, 95);
	record = recorded(c, 3);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++, at += 20) {
		waits(c, at, LINK, "stream 7", records[i]);
		held[n++] = kernel(c, at + 3, LINK, "b", at + 8, 5);
	}
	waits(c, at, LINK, "stream 99", record); /* of no stream: the record's stays unknown, as this one */
	held[n++] = kernel(c, at + 3, LINK, "b", at + 8, 5);
	record = recorded(c, at + 30);
	waits(c, at + 20, LINK, "stream 7", record); /* before its record */
	held[n++] = kernel(c, at + 23, LINK, "b", at + 26, 1);
	waits(c, at + 34, COMPUTE, "stream 7", record); /* for itself */
	held[n++] = kernel(c, at + 37, COMPUTE, "c", at + 40, 50);
	record = recorded(c, at + 42);
	waits(c, at + 44, LINK, "stream 7", record); /* began at 50 although c lasts until 90 */
	held[n++] = kernel(c, at + 46, LINK, "b", at + 50, 5);
	find_waits(c, &w);
	for (size_t i = 0; i < n; i++)
		waits_for_nothing(&w, held[i]);
	/* and all of it has a path and a replay */
	path_is(&p, "a b b b b b b b c");
	assert_true(replayed(&p, NULL, 0, NULL) > 0);
}

static uint64_t next(uint64_t *state)
{
	/* xorshift64*, Vigna 2016 */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static void add_anything(struct capture *c, uint64_t *seed)
{
	static const char *const streams[] = {"stream 7", "stream 20", "stream 24", "x", NULL};
	int64_t at = (int64_t)(next(seed) % 60) - 5, link = (int64_t)(next(seed) % 16) - 2;
	uint32_t lane = (uint32_t)(next(seed) % 3);

	lane = lane == 0 ? COMPUTE : lane == 1 ? LINK : THIRD;
	switch (next(seed) % 5) {
	case 0: add_event(c, MAIN, EVENT_HOST_RUNTIME, "cudaEventRecord", at * US, US, link); break;
	case 1: add_event(c, MAIN, EVENT_HOST_RUNTIME, "cudaEventSynchronize", at * US, US, link); break;
	case 2:
		add_wait(c, lane, next(seed) % 3 ? "Stream Wait Event" : "Event Sync", at, 1, link,
		         streams[next(seed) % 5], next(seed) % 20 ? (int64_t)(next(seed) % 14) : INT64_MAX);
		break;
	case 3: add_event(c, lane, EVENT_DEVICE_OTHER, "event", at * US, 0, link); break;
	default:
		add_event(c, lane, next(seed) % 4 ? EVENT_KERNEL : EVENT_COMMUNICATION, "k", at * US,
		          (int64_t)(next(seed) % 9) * US, link);
		break;
	}
}

/* Links that stand for several things at once, cycles, all times wrong: what is found starts before what
 * waits for it, the path has no holes, and the replay gives back what was measured. */
static void anything_has_a_path_and_a_replay(void **state)
{
	uint64_t seed = 88172645463325252;

	(void)state;
	for (int round = 0; round < 500; round++) {
		PROFILE_AUTO p = {0};
		EVENT_WAITS_AUTO w = {0};
		CRITICAL_PATHS_AUTO paths = {0};
		struct capture *c = three_streams(&p);
		const struct trace *t = &c->trace;

		kernel(c, 0, COMPUTE, "k", 5, 3);
		for (int i = 0; i < 60; i++)
			add_anything(c, &seed);
		find_waits(c, &w);
		for (size_t i = 0; i < w.count; i++)
			assert_true(w.items[i].behind == EVENT_WAIT_NOTHING ||
			            t->kind[w.items[i].event] == EVENT_HOST_RUNTIME ||
			            t->start_ns[w.items[i].behind] < t->start_ns[w.items[i].event]);
		find_paths(&p, &paths);
		for (size_t i = 0; i < paths.count; i++) {
			const struct critical_path *x = &paths.items[i];
			int64_t sum = 0;

			for (size_t k = 0; k < x->count; k++)
				sum += x->pieces[k].dur_ns;
			assert_int_equal(sum, x->span_ns);
		}
		(void)replayed(&p, NULL, 0, NULL);
	}
}

/* Very many waits for one event, and as many events with one wait, on as many streams: no look at all of them
 * for each. */
static void very_many_waits_are_quick(void **state)
{
	enum { MANY = 30000 };
	PROFILE_AUTO p = {0};
	EVENT_WAITS_AUTO w = {0};
	struct capture *c = gpu_rank(&p, 0);
	uint32_t a = kernel(c, 0, COMPUTE, "a", 5, 95), b;
	int64_t record = recorded(c, 3);
	clock_t begin;

	(void)state;
	for (int64_t i = 0; i < MANY; i++) {
		char name[24];
		uint32_t lane;
		int64_t again;

		snprintf(name, sizeof(name), "stream %lld", (long long)(100 + i));
		lane = add_lane(c, "gpu", name, 0);
		waits(c, 4 + 4 * i, lane, "stream 7", record);
		again = recorded(c, 5 + 4 * i);
		waits(c, 7 + 4 * i, LINK, name, again);
	}
	b = kernel(c, 8 + 4 * MANY, LINK, "b", 10 + 4 * MANY, 5);
	begin = clock();
	find_waits(c, &w);
	path_is(&p, "a b");
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 3);
	waits_for(&w, b, a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_path_follows_the_event),
	    cmocka_unit_test(the_later_of_stream_and_event_holds_work_up),
	    cmocka_unit_test(what_is_launched_behind_the_record_does_not_count),
	    cmocka_unit_test(an_event_behind_a_wait_passes_it_on),
	    cmocka_unit_test(all_that_work_waits_for_holds_it),
	    cmocka_unit_test(a_wait_stays_when_its_kernel_goes),
	    cmocka_unit_test(the_host_waits_for_what_the_event_says),
	    cmocka_unit_test(the_record_may_tell_its_stream),
	    cmocka_unit_test(ids_that_cannot_be_are_passed_over),
	    cmocka_unit_test(anything_has_a_path_and_a_replay),
	    cmocka_unit_test(very_many_waits_are_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
