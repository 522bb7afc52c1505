/* Reads the broken Kineto samples of $SIGNALBOX_SHARED ("Made-up data" of samples/kineto/expected.md), and
 * files that are no traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/field/kineto_file.h"

/* "Made-up data": the code of the one warning, NULL where the flaw is legal; one event more or not. */
static const struct broken {
	const char *name, *warning;
	int extra_kernels, extra_collectives;
} BROKEN[] = {
    {"string_ts", NULL, 0, 0},
    {"bare_array", NULL, 0, 0},
    {"trailing_comma", "trailing_comma", 0, 0},
    {"truncate", "truncated", 0, 0},
    {"dup_keys", "duplicate_key", 0, 0},
    {"ctrl_char", "control_character", 0, 0},
    {"bad_utf8", "bad_utf8", 0, 0},
    {"unescaped_quote", "broken_event", 0, 0},
    {"nan", "bad_value", 1, 0},
    {"na_token", "bad_value", 1, 0},
    {"big_ints", "big_integer", 0, 1},
};

static void check_broken(const struct broken *b)
{
	char name[64], truth_name[64];
	struct text t, expected;
	PROFILE_AUTO p = {0};
	const struct trace *x;
	struct sums kernels, collectives, copies, sets;

	snprintf(name, sizeof(name), "%s.json.gz", b->name);
	snprintf(truth_name, sizeof(truth_name), "%s.json.truth.json", b->name);
	t = load("samples/kineto/invalid", name);
	expected = load("samples/kineto/invalid", truth_name);
	read_sample(name, &t, 0, &p);
	x = &p.captures[0].trace;
	kernels = sum(x, EVENT_KERNEL);
	collectives = sum(x, EVENT_COMMUNICATION);
	copies = sum(x, EVENT_MEMCPY);
	sets = sum(x, EVENT_MEMSET);
	assert_int_equal(kernels.count + collectives.count,
	                 truth(&expected, "counts/kernel") + b->extra_kernels + b->extra_collectives);
	assert_int_equal(collectives.count, truth(&expected, "collectives/allreduce/count") +
	                                        truth(&expected, "collectives/all_gather/count") +
	                                        truth(&expected, "collectives/reduce_scatter/count") +
	                                        b->extra_collectives);
	/* the flawed event lasts 1 us */
	assert_int_equal(collectives.dur, truth(&expected, "comm_ns") + INT64_C(1000) * b->extra_collectives);
	assert_int_equal(copies.count, truth(&expected, "counts/gpu_memcpy"));
	assert_int_equal(sets.count, truth(&expected, "counts/gpu_memset"));
	assert_int_equal(sum(x, EVENT_HOST_RUNTIME).count, truth(&expected, "counts/cuda_runtime"));
	assert_int_equal(p.captures[0].step_count, 3);
	assert_int_equal(p.captures[0].steps[0].number, 100);
	assert_int_equal(p.captures[0].steps[0].dur_ns, 28247682);
	assert_int_equal(p.captures[0].steps[2].dur_ns, 6840358);
	assert_int_equal(p.warnings.count, b->warning ? 1 : 0);
	if (b->warning) {
		assert_string_equal(p.warnings.items[0].code, b->warning);
		assert_true(p.warnings.items[0].offset > 0);
	}
	free(t.data);
	free(expected.data);
}

static void test_broken(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BROKEN) / sizeof(BROKEN[0]); i++)
		check_broken(&BROKEN[i]);
}

static void test_last_duplicate_wins(void **state)
{
	struct text t = load("samples/kineto/invalid", "dup_keys.json.gz");
	PROFILE_AUTO p = {0};

	(void)state;
	read_sample("dup_keys.json.gz", &t, 0, &p);
	assert_int_not_equal(sb_strings_find(p.captures[0].trace.strings, "defect_dup_second", 17), 0);
	assert_int_equal(sb_strings_find(p.captures[0].trace.strings, "defect_dup", 10), 0);
	free(t.data);
}

/* The memory timeline is told by its head; the other one is a JSON object like any other until it ends. */
static void test_no_traces(void **state)
{
	struct text rows = load("samples/kineto", "memory_timeline.raw.gz");
	struct text other = load("samples/kineto", "result_check_file.txt");
	struct sniff s = {.path = "memory_timeline.raw", .head = rows.data, .len = SNIFF_BYTES};
	PROFILE_AUTO p = {0};
	struct read_context ctx = {.profile = &p, .capture = one_capture};
	struct memory_stream m;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(KINETO_READER.sniff(&s), 0);
	memory_stream_init(&m, "result_check_file.txt", other.data, other.len, 0);
	assert_int_equal(KINETO_READER.read(&ctx, &m.base, &err), SB_EFORMAT);
	assert_string_equal(err.word, "not_a_trace");
	free(rows.data);
	free(other.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_broken),
	    cmocka_unit_test(test_last_duplicate_wins),
	    cmocka_unit_test(test_no_traces),
	};

	return cmocka_run_group_tests_name("broken kineto field", tests, NULL, NULL);
}
