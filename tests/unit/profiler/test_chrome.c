#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profiler/read/chrome.h"

static const char *const ARGS[] = {"correlation", "stream", "name", "bytes", NULL};

/* What a walk saw, as text: one line an event, then the warnings; ended by the error's word if there was one.
 */
static char *walk(const char *text, size_t len, size_t block, const struct chrome_options *options)
{
	static const struct chrome_options PLAIN = {.args = ARGS};
	SB_BUF_AUTO b;
	struct warnings w = {0};
	CHROME_AUTO c = NULL;
	struct memory_stream m;
	struct sb_error err = {0};
	const struct chrome_event *e;
	int rc;

	sb_buf_init(&b, 1 << 24);
	memory_stream_init(&m, "t.json", text, len, block);
	assert_int_equal(chrome_open(&m.base, &w, options ? options : &PLAIN, &c), SB_OK);
	while ((rc = chrome_next(c, &e, &err)) == SB_OK && e) {
		sb_buf_addf(&b, "%c|%s|%s|%s|%s|", e->ph ? e->ph : '-', e->name.text, e->cat.text,
		            e->pid.text, e->tid.text);
		sb_buf_addf(&b, "%d:%lld|%d:%lld|", e->ts, (long long)e->ts_ns, e->dur, (long long)e->dur_ns);
		for (int i = 0; i < 4; i++)
			sb_buf_addf(&b, "%s%s", e->args[i].token == JPULL_END ? "." : e->args[i].text,
			            i < 3 ? "," : "\n");
	}
	for (size_t i = 0; i < w.count; i++)
		sb_buf_addf(&b, "!%s@%lld*%llu\n", w.items[i].code, (long long)w.items[i].offset,
		            (unsigned long long)w.items[i].count);
	if (rc != SB_OK)
		sb_buf_addf(&b, "?%s@%lld\n", err.word, (long long)err.offset);
	free(w.items);
	return sb_buf_take(&b);
}

/* The same in blocks of every size up to 40 and whole. */
static void expect(const char *text, const char *wanted)
{
	size_t len = strlen(text);

	for (size_t block = 0; block <= 40; block++) {
		char *got = walk(text, len, block, NULL);

		assert_string_equal(got, wanted);
		free(got);
	}
}

static void test_containers(void **state)
{
	(void)state;
	expect("[]", "");
	expect("{\"traceEvents\":[]}", "");
	expect("[{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":\"s 7\",\"ts\":1.5,\"dur\":2}]",
	       "X|a|c|1|s 7|1:1500|1:2000|.,.,.,.\n");
	expect("{\"a\":{\"traceEvents\":[1]},\"traceEvents\":[{\"ph\":\"i\"},{}],\"z\":[{\"ph\":\"X\"}]}",
	       "i|||||0:0|0:0|.,.,.,.\n");
	expect("\xEF\xBB\xBF [ {\"ph\":\"B\"} ] ", "B|||||0:0|0:0|.,.,.,.\n");
}

static void test_no_trace(void **state)
{
	(void)state;
	expect("", "?empty@0\n");
	expect("  ", "?empty@2\n");
	expect("null", "?not_a_trace@4\n");
	expect("{}", "?not_a_trace@2\n");
	expect("{\"traceEvents\":{}}", "?not_a_trace@16\n");
	expect("{\"traceEvents\":null}", "?not_a_trace@19\n");
	expect("<html></html>", "?bad_json@0\n");
	expect("{\"a\":1", "?truncated@6\n");
	expect("{\"a\" 1}", "?bad_json@5\n");
	/* the raw form of a memory timeline: rows, no events */
	expect("[[1,2,3,4],[1,2,3,5]]", "!not_an_event@1*2\n");
}

static void test_times(void **state)
{
	(void)state;
	expect("[{\"ts\":\"1736408883688177.930\",\"dur\":0.12345678},{\"ts\":1.4e12,\"dur\":-3},"
	       "{\"ts\":\"100a\",\"dur\":NaN},{\"ts\":null,\"dur\":\"5.1\"},{\"ts\":9223372036854775.807,"
	       "\"dur\":9223372036854775.808},{\"ts\":[1],\"dur\":1.0005}]",
	       "-|||||1:1736408883688177930|1:123|.,.,.,.\n"
	       "-|||||1:1400000000000000|1:-3000|.,.,.,.\n"
	       "-|||||2:0|2:0|.,.,.,.\n"
	       "-|||||2:0|1:5100|.,.,.,.\n"
	       "-|||||1:9223372036854775807|2:0|.,.,.,.\n"
	       "-|||||2:0|1:1000|.,.,.,.\n"
	       "!bad_value@90*1\n");
}

/* Eight digits are read at once: every length, the largest time, and bytes that are no digits in between. */
static void test_digits(void **state)
{
	(void)state;
	expect("[{\"ts\":1,\"dur\":1234567},{\"ts\":12345678,\"dur\":12345678.5},"
	       "{\"ts\":123456789.25,\"dur\":1234567890123456},{\"ts\":\"0000000000000000.001\",\"dur\":"
	       "\"00000000000000001\"},{\"ts\":9999999999999999,\"dur\":\"1234567/.1\"},"
	       "{\"ts\":\"12345:78\",\"dur\":\"1234567812345;78\"}]",
	       "-|||||1:1000|1:1234567000|.,.,.,.\n"
	       "-|||||1:12345678000|1:12345678500|.,.,.,.\n"
	       "-|||||1:123456789250|1:1234567890123456000|.,.,.,.\n"
	       "-|||||1:1|1:1000|.,.,.,.\n"
	       "-|||||2:0|2:0|.,.,.,.\n"
	       "-|||||2:0|2:0|.,.,.,.\n");
}

static void test_args(void **state)
{
	(void)state;
	expect("[{\"args\":{\"x\":{\"stream\":9},\"stream\":7,\"correlation\":\"0x1\",\"name\":[1],\"bytes\":"
	       "null}}]",
	       "-|||||0:0|0:0|0x1,7,,\n");
	expect("[{\"args\":{\"stream\":7,\"stream\":8},\"args\":{\"bytes\":1}}]",
	       "-|||||0:0|0:0|.,.,.,1\n!duplicate_key@21*2\n");
	expect("[{\"name\":\"a\",\"name\":\"b\",\"args\":[1,2]}]",
	       "-|b||||0:0|0:0|.,.,.,.\n!duplicate_key@13*1\n");
}

static bool skip_cpu(void *self, const struct chrome_event *e)
{
	(*(int *)self)++;
	return chrome_is(&e->cat, "cpu_op");
}

static void test_skip_args(void **state)
{
	static const char TEXT[] =
	    "[{\"cat\":\"cpu_op\",\"args\":{\"stream\":7}},{\"args\":{\"stream\":7},\"cat\":"
	    "\"cpu_op\"},{\"cat\":\"kernel\",\"args\":{\"stream\":7}}]";
	int asked = 0;
	struct chrome_options o = {.args = ARGS, .self = &asked, .skip_args = skip_cpu};
	char *got = walk(TEXT, sizeof(TEXT) - 1, 0, &o);

	(void)state;
	assert_string_equal(got, "-||cpu_op|||0:0|0:0|.,.,.,.\n-||cpu_op|||0:0|0:0|.,7,.,.\n"
	                         "-||kernel|||0:0|0:0|.,7,.,.\n");
	assert_int_equal(asked, 3);
	free(got);
}

static int member(void *self, struct jpull *j, const char *key, size_t len, bool *out_read,
                  struct sb_error *err)
{
	struct jpull_value v;
	int rc;

	if (len != 4 || memcmp(key, "base", 4) != 0)
		return SB_OK;
	rc = jpull_next(j, &v, err);
	if (rc == SB_OK)
		snprintf(self, 32, "%.*s", (int)v.len, v.text);
	*out_read = true;
	return rc;
}

static void test_members(void **state)
{
	static const char TEXT[] = "{\"x\":[[{}]],\"traceEvents\":[],\"y\":{\"base\":1},\"base\":12345}";
	char seen[32] = "";
	struct chrome_options o = {.self = seen, .member = member};

	(void)state;
	for (size_t block = 0; block < 30; block++) {
		free(walk(TEXT, sizeof(TEXT) - 1, block, &o));
		assert_string_equal(seen, "12345");
		seen[0] = '\0';
	}
}

static void test_broken_event(void **state)
{
	(void)state;
	/* an unescaped quote costs its event only */
	expect("[{\"ph\":\"X\",\"name\":\"a\"},{\"ph\":\"X\",\"name\":\"{\"device\": "
	       "\"cpu\"}(1)\",\"args\":{}},\n"
	       "{\"ph\":\"X\",\"name\":\"b\"}]",
	       "X|a||||0:0|0:0|.,.,.,.\nX|b||||0:0|0:0|.,.,.,.\n!broken_event@43*1\n");
	/* an odd one too, and a backslash that hides the closing quote */
	expect("[{\"name\":\"a\"b\",\"pid\":1},{\"ph\":\"i\"},{\"name\":\"C:\\\",\"pid\":2},{\"ph\":\"e\"}]",
	       "i|||||0:0|0:0|.,.,.,.\ne|||||0:0|0:0|.,.,.,.\n!broken_event@12*2\n");
	/* the last event of the list: what comes after the list is still read */
	expect("{\"traceEvents\":[{\"ph\":\"i\"},{\"name\":\"x\"y\"} ], \"traceEvents\":[]}",
	       "i|||||0:0|0:0|.,.,.,.\n!broken_event@38*1\n!duplicate_key@45*1\n");
	expect("[{\"ph\":\"i\"},{\"name\":\"x\"y\"} ]", "i|||||0:0|0:0|.,.,.,.\n!broken_event@23*1\n");
	/* in skipped args */
	expect("[{\"ph\":\"i\",\"args\":{\"q\":{\"stack\":\"a\"b;c\"}}},{\"ph\":\"e\"}]",
	       "e|||||0:0|0:0|.,.,.,.\n!broken_event@35*1\n");
}

static void test_wrong_place_is_noticed(void **state)
{
	(void)state;
	/* the nested list looks like the events for a moment; the next event counts again */
	expect("{\"traceEvents\":[{\"name\":\"x\"y\",\"args\":{\"l\":[{\"a\":1},{\"name\":\"n\"}]}},"
	       "{\"ph\":\"X\",\"name\":\"good\"}],\"k\":1}",
	       "-|n||||0:0|0:0|.,.,.,.\nX|good||||0:0|0:0|.,.,.,.\n!broken_event@27*1\n");
	expect("[{\"name\":\"x\"y\",\"args\":{\"l\":[{\"a\":1}]}},{\"ph\":\"X\",\"name\":\"good\"}]",
	       "X|good||||0:0|0:0|.,.,.,.\n!broken_event@12*1\n");
}

static void test_broken_metadata(void **state)
{
	(void)state;
	expect("{\"pg\":\"{\"a\":\"b\"}\",\"traceEvents\" : [{\"ph\":\"i\"}],\"z\":1}",
	       "i|||||0:0|0:0|.,.,.,.\n!broken_metadata@9*1\n");
	expect("{\"traceEvents\":[{\"ph\":\"i\"}],\"pg\":\"{\"a\"}\"}",
	       "i|||||0:0|0:0|.,.,.,.\n!broken_metadata@36*1\n");
	expect("[{\"ph\":\"i\"}] x", "i|||||0:0|0:0|.,.,.,.\n!broken_metadata@13*1\n");
}

static void test_small_flaws(void **state)
{
	(void)state;
	expect(
	    "[{\"ph\":\"X\",\"name\":\"a\nb\\qc\xFF\",\"args\":{\"x\":N/"
	    "A,\"y\":,\"z\":18446744073709551615,}},]",
	    "X|a\nb\\qc\xFF||||0:0|0:0|.,.,.,.\n!bad_value@40*2\n!big_integer@53*1\n!control_character@20*1\n"
	    "!trailing_comma@74*2\n!bad_utf8@18*1\n!bad_escape@22*1\n");
	expect("[1,{\"ph\":\"X\"},null,[{}]]", "X|||||0:0|0:0|.,.,.,.\n!not_an_event@1*3\n");
}

static void test_cut_anywhere(void **state)
{
	static const char TEXT[] =
	    "{\"s\":1,\"traceEvents\":[\n  {\"ph\":\"X\",\"name\":\"a\\u00e9\",\"ts\":12.5,"
	    "\"args\":{\"stream\":7}},\n  {\"ph\":\"X\",\"name\":\"b\"}\n],\"n\":true}";
	size_t whole = sizeof(TEXT) - 1, first = (size_t)(strstr(TEXT, "}},\n") + 2 - TEXT);
	size_t second = (size_t)(strstr(TEXT, "\"b\"}") + 4 - TEXT);

	(void)state;
	for (size_t len = 0; len < whole; len++) {
		size_t events = len >= second ? 2 : len >= first ? 1 : 0, lines = 0;
		char tail[64];
		char *got = walk(TEXT, len, 0, NULL), *pieces = walk(TEXT, len, 1, NULL);

		assert_string_equal(got, pieces);
		for (char *p = got; *p == 'X'; p = strchr(p, '\n') + 1)
			lines++;
		assert_int_equal(lines, events);
		if (len == 0)
			snprintf(tail, sizeof(tail), "?empty@0\n");
		else if (len < 22)
			snprintf(tail, sizeof(tail), "?truncated@%zu\n", len);
		else
			snprintf(tail, sizeof(tail), "!truncated@%zu*1\n", len);
		assert_true(strlen(got) >= strlen(tail));
		assert_string_equal(got + strlen(got) - strlen(tail), tail);
		free(got);
		free(pieces);
	}
}

static void test_too_deep(void **state)
{
	char *text = malloc(20100);
	char *got;

	(void)state;
	assert_non_null(text);
	memcpy(text, (const char[]){'[', '{', '"', 'a', '"', ':'}, 6);
	memset(text + 6, '[', 10000);
	memset(text + 10006, ']', 10000);
	memcpy(text + 20006, "}]", 3);
	got = walk(text, 20008, 0, NULL);
	/* depth 512 is allowed: the list, the event and 510 more brackets */
	assert_string_equal(got, "?too_deep@516\n");
	free(got);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_containers),
	    cmocka_unit_test(test_no_trace),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_digits),
	    cmocka_unit_test(test_args),
	    cmocka_unit_test(test_skip_args),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_broken_event),
	    cmocka_unit_test(test_wrong_place_is_noticed),
	    cmocka_unit_test(test_broken_metadata),
	    cmocka_unit_test(test_small_flaws),
	    cmocka_unit_test(test_cut_anywhere),
	    cmocka_unit_test(test_too_deep),
	};

	return cmocka_run_group_tests_name("chrome", tests, NULL, NULL);
}
