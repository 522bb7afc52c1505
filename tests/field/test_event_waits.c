/* Real captures of $SIGNALBOX_SHARED that name the records of their waits. Expected by hand from the files'
 * own ids, by HTA's rule (research/traces/analyses.md, 5.5): the work launched last to the stream
 * `wait_on_stream` before the call `wait_on_cuda_event_record_corr_id` comes before the work launched next to
 * the stream of the "Stream Wait Event" row after the call of its correlation; of an "Event Sync" row the
 * call itself waits. All are told by their correlation. */
#include "tests/field/answer.h"

#include "profiler/event_waits.h"

struct pair {
	int64_t waits, behind; /* correlations */
};

struct stated {
	const char *name;
	struct pair pairs[8];
	size_t count;
};

/* alexnet: stream 20 waits for record 5169 of stream 7 (before it 5144) and launches 5181; it waits for 5180
 * (5178) and launches 5188; stream 7 waits for 5193 of stream 20 (5190) and launches 5213. The streams 21 to
 * 27 have no work at all. The same three once more in the second pass. event_sync: cudaEventSynchronize 1536
 * and cudaEventQuery 1537 wait for record 1533, before it kernel 1526. multi_stream: queries 54 and 1410 for
 * records 32 (27) and 62 (57); query 24 names no record (-1); stream 24 waits for 1385 of stream 20, to which
 * 27 was the last launch, and launches the fill 1411. simple_add: its rows name events, but no records. */
static const struct stated FILES[] = {
    {"samples/kineto/cp_alexnet.json.gz",
     {{5181, 5144}, {5188, 5178}, {5213, 5190}, {5597, 5560}, {5604, 5594}, {5629, 5606}},
     6},
    {"samples/kineto/cp_event_sync.json.gz", {{1536, 1526}, {1537, 1526}}, 2},
    {"samples/kineto/cp_event_sync_multi_stream.json.gz", {{54, 27}, {1410, 57}, {1411, 27}}, 3},
    {"samples/kineto/cp_simple_add.json.gz", {{0, 0}}, 0},
};

static int by_waits(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->waits > y->waits) - (x->waits < y->waits);
}

static void waits_are_those_of_the_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
		ANSWER_AUTO x = {0};
		LAUNCHES_AUTO launches = {0};
		EVENT_WAITS_AUTO w = {0};
		struct pair found[8];
		const struct trace *t;
		size_t n = 0;

		answer_of(".", FILES[i].name, &x);
		t = &x.p.captures[0].trace;
		assert_int_equal(launches_build(t, &launches), SB_OK);
		assert_int_equal(event_waits_build(t, &launches, &w), SB_OK);
		for (size_t k = 0; k < w.count; k++) {
			if (w.items[k].behind == EVENT_WAIT_NOTHING)
				continue;
			assert_true(n < 8);
			found[n++] = (struct pair){t->link[w.items[k].event], t->link[w.items[k].behind]};
		}
		qsort(found, n, sizeof(*found), by_waits);
		assert_int_equal(n, FILES[i].count);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(found[k].waits, FILES[i].pairs[k].waits);
			assert_int_equal(found[k].behind, FILES[i].pairs[k].behind);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(waits_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
