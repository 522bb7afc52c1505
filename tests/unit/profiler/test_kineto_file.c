#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/read/kineto_impl.h"
#include "tests/unit/profiler/kineto_text.h"

static void expect_error(const char *text, const char *word)
{
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};

	assert_int_equal(read_in_blocks("a.json", text, strlen(text), 0, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, word);
	assert_true(strlen(err.text) > 10);
	assert_int_equal(p.count, 0);
}

static void test_nothing_usable(void **state)
{
	(void)state;
	expect_error("[]", "no_events");
	expect_error("{\"traceEvents\":[]}", "no_events");
	expect_error("{\"traceEvents\":[{}]}", "no_events");
	expect_error("{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}]}", "no_events");
	expect_error("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":\"no\"}]}", "no_events");
	expect_error("[[1,2,3,4]]", "no_events");
	expect_error("{}", "not_a_trace");
	expect_error("{\"traceEvents\":{}}", "not_a_trace");
	expect_error("null", "not_a_trace");
	expect_error("", "empty");
	expect_error("<html>", "bad_json");
	expect_error("{\"traceEvents\"", "truncated");
}

static void test_rank_of_name(void **state)
{
	PROFILE_AUTO p = {0};
	static const char TEXT[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]";

	(void)state;
	assert_int_equal(kineto_rank_of_name("x/rank3.json"), 3);
	assert_int_equal(kineto_rank_of_name("rank-12_a.json"), 12);
	assert_int_equal(kineto_rank_of_name("RANK_007.pt.trace.json.gz"), 7);
	assert_true(kineto_rank_of_name("rank_non_gpu.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank5/trace.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank3x.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank99999999999999999999.json") == SB_NULL);
	assert_true(kineto_rank_of_name("worker0.1623143089861.pt.trace.json") == SB_NULL);
	assert_int_equal(read_in_blocks("rank4.json", TEXT, sizeof(TEXT) - 1, 0, &p, NULL), SB_OK);
	assert_int_equal(p.captures[0].rank, 4);
	assert_non_null(warning_of(&p, "rank_from_name"));
}

static int score(const char *head, bool whole)
{
	struct sniff s = {.path = "x", .head = head, .len = strlen(head), .whole = whole};

	return KINETO_READER.sniff(&s);
}

static void test_sniff(void **state)
{
	(void)state;
	assert_int_equal(score("{\"schemaVersion\":1,\"traceEvents\":[]}", true), 50);
	assert_int_equal(score("\xEF\xBB\xBF\n { \"schemaVersion\": 1, \"dev", false), 50);
	assert_int_equal(score("[ {\"ph\": \"X\"}]", true), 50);
	assert_true(score("{\"metadata\":{\"pip_packages\":[", false) > 0);
	assert_true(score("{\"metadata\":{\"pip_packages\":[", false) < 50);
	assert_int_equal(score("{\"a\":1}", true), 0);
	assert_true(score("{}", true) > 0);
	assert_true(score("[]", true) > 0);
	assert_int_equal(score("[[1,2,3,4],[", false), 0);
	assert_int_equal(score("[{\"a\":1}]", true), 0);
	assert_int_equal(score("{\"schema\": \"1.1\", \"pid\": 3, \"nodes\": [", false), 0);
	assert_int_equal(score("", true), 0);
	assert_int_equal(score("\x89PNG", false), 0);
	assert_int_equal(score("Name,Type\n", false), 0);
	assert_int_equal(score("{", true), 0);
	assert_int_equal(score("[", true), 0);
}

static bool cancel(void *self)
{
	return ++*(int *)self > 0;
}

static void test_cancel(void **state)
{
	static const char TEXT[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]";
	PROFILE_AUTO p = {0};
	int calls = 0;
	struct read_hooks hooks = {.self = &calls, .canceled = cancel};
	struct read_context ctx = {.profile = &p, .hooks = &hooks, .capture = one_capture};
	struct memory_stream m;

	(void)state;
	memory_stream_init(&m, "a", TEXT, sizeof(TEXT) - 1, 0);
	assert_int_equal(KINETO_READER.read(&ctx, &m.base, NULL), SB_ECANCELED);
	assert_int_equal(calls, 1);
	assert_int_equal(p.count, 0);
}

/* Every cut of a small trace, in blocks of one byte and whole: never a crash, and what was whole stays. */
static void test_cut_anywhere(void **state)
{
	static const char TEXT[] =
	    "{\"deviceProperties\":[{\"name\":\"g\"}],\"traceEvents\":["
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\\u00e9\",\"pid\":0,\"tid\":7,\"ts\":1.25,"
	    "\"dur\":2,\"args\":{\"device\":0,\"Collective name\":\"x\",\"l\":[[1],{}]}},"
	    "{\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"dur\":1}],\"distributedInfo\":{\"rank\":1}}";
	size_t len = sizeof(TEXT) - 1, first = (size_t)(strstr(TEXT, "{}]}}") + 5 - TEXT);

	(void)state;
	for (size_t n = 0; n <= len; n++) {
		struct sb_error err = {0};
		PROFILE_AUTO whole = {0};
		PROFILE_AUTO pieces = {0};
		int rc = read_in_blocks("a", TEXT, n, 0, &whole, &err);

		assert_int_equal(read_in_blocks("a", TEXT, n, 1, &pieces, NULL), rc);
		assert_int_equal(rc, n >= first ? SB_OK : SB_EFORMAT);
		if (rc != SB_OK)
			continue;
		assert_int_equal(whole.captures[0].trace.count, pieces.captures[0].trace.count);
		assert_int_equal(whole.captures[0].trace.start_ns[0], 1250);
		if (n < len)
			assert_int_equal(warning_of(&whole, "truncated")->offset, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_usable), cmocka_unit_test(test_rank_of_name),
	    cmocka_unit_test(test_sniff),          cmocka_unit_test(test_cancel),
	    cmocka_unit_test(test_cut_anywhere),
	};

	return cmocka_run_group_tests_name("kineto file", tests, NULL, NULL);
}
