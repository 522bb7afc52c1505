#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "profiler/breakdown.h"
#include "tests/one_capture.h"
#include "tests/unit/profiler/made_profile.h"

static int read_blocks(const char *text, size_t len, size_t block, struct profile *out, struct sb_error *err)
{
	struct read_context ctx = {.profile = out, .capture = one_capture};
	struct memory_stream m;

	memory_stream_init(&m, "a.json", text, len, block);
	return SIGNALBOX_READER.read(&ctx, &m.base, err);
}

static void read_ok(const char *text, struct profile *out)
{
	struct sb_error err = {0};

	if (read_blocks(text, strlen(text), 0, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(out->count, 1);
	assert_int_equal(out->captures[0].format, FORMAT_SIGNALBOX);
}

static void expect_error(const char *text, const char *word)
{
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};

	assert_int_equal(read_blocks(text, strlen(text), 0, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, word);
	assert_true(strlen(err.text) > 10);
	assert_int_equal(p.count, 0);
}

static void expect_warning(const struct profile *p, const char *code, uint64_t count, int64_t offset)
{
	const struct warning *w = warning_of(p, code);

	if (!w) {
		fail_msg("no warning %s", code);
		return;
	}
	assert_int_equal(w->count, count);
	assert_int_equal(w->offset, offset);
}

/* One of everything, by the documentation. */
static const char ALL[] =
    "{\"signalbox_profile\": 1, \"producer\": {\"name\": \"mine\", \"deep\": [1, {}]}, \"rank\": 3,\n"
    " \"world_size\": 8, \"chip\": \"H100\", \"origin_ns\": \"1736408883000000000\",\n"
    " \"lanes\": [{\"id\": 0, \"process\": \"python\", \"thread\": \"main\"},\n"
    "           {\"id\": 9000000000, \"process\": \"gpu\", \"thread\": \"stream 7\", \"device\": 2}],\n"
    " \"groups\": [{\"name\": \"dp\", \"ranks\": [3, 11]}],\n"
    " \"steps\": [{\"number\": 11, \"start_ns\": 1000, \"duration_ns\": 500},\n"
    "           {\"number\": 10, \"start_ns\": 0, \"duration_ns\": 1000}],\n"
    " \"events\": [\n"
    "  {\"lane\": 0, \"kind\": \"host_call\", \"name\": \"launch\", \"start_ns\": 10, \"duration_ns\": 5,"
    " \"link\": 77},\n"
    "  {\"lane\": 9000000000, \"kind\": \"kernel\", \"name\": \"gemm\", \"start_ns\": 20, \"duration_ns\": "
    "30,"
    " \"link\": 77},\n"
    "  {\"lane\": 9000000000, \"kind\": \"communication\", \"name\": \"ring\", \"start_ns\": 40,"
    " \"duration_ns\": 60, \"link\": 77, \"collective\": \"all_reduce\", \"bytes\": 4096,"
    " \"group\": \"dp\", \"sequence\": 5},\n"
    "  {\"lane\": 9000000000, \"kind\": \"memcpy\", \"name\": \"copy\", \"start_ns\": 100,"
    " \"duration_ns\": 7, \"link\": 77, \"direction\": \"host_to_device\", \"bytes\": 12}\n"
    " ]}\n";

static void check_all(const struct profile *p)
{
	const struct capture *c = &p->captures[0];
	const struct trace *t = &c->trace;
	const struct event_detail *d = trace_detail(t, 2);

	assert_int_equal(p->warnings.count, 0);
	assert_int_equal(c->rank, 3);
	assert_int_equal(c->world_size, 8);
	assert_string_equal(c->chip, "H100");
	assert_int_equal(t->count, 4);
	assert_int_equal(t->start_ns[0], 1736408883000000010);
	assert_int_equal(t->dur_ns[1], 30);
	assert_int_equal(t->kind[0], EVENT_HOST_RUNTIME);
	assert_int_equal(t->kind[1], EVENT_KERNEL);
	assert_int_equal(t->link[1], 77);
	assert_int_equal(t->lanes[t->lane[0]].device, -1);
	assert_int_equal(t->lanes[t->lane[1]].device, 2);
	assert_string_equal(text_of(c, t->lanes[t->lane[1]].thread), "stream 7");
	assert_non_null(d);
	assert_string_equal(text_of(c, d->type), "all_reduce");
	assert_string_equal(text_of(c, d->group), "dp");
	assert_string_equal(text_of(c, d->ranks), "[3, 11]");
	assert_int_equal(d->bytes, 4096);
	assert_int_equal(d->sequence, 5);
	assert_string_equal(text_of(c, trace_detail(t, 3)->type), "HtoD");
	assert_null(trace_detail(t, 1));
	assert_int_equal(c->step_count, 2);
	assert_int_equal(c->steps[0].number, 10);
	assert_int_equal(c->steps[1].start_ns, 1736408883000001000);
}

static void test_everything(void **state)
{
	(void)state;
	for (size_t block = 0; block < 70; block += 1 + block / 8) {
		PROFILE_AUTO p = {0};

		assert_int_equal(read_blocks(ALL, sizeof(ALL) - 1, block, &p, NULL), SB_OK);
		check_all(&p);
	}
}

/* By hand: kernel 20..50, collective 40..100, copy 100..107, all launched in step 10. */
static void test_breakdown(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct warnings none = {0};

	(void)state;
	read_ok(ALL, &p);
	assert_int_equal(breakdown_compute(&p, &none, &b, NULL), SB_OK);
	assert_int_equal(b.count, 3);
	assert_int_equal(b.rows[0].step_ns, 1000);
	assert_int_equal(b.rows[0].span_ns, 87);
	assert_int_equal(b.rows[0].compute_ns, 30);
	assert_int_equal(b.rows[0].communication_ns, 60);
	assert_int_equal(b.rows[0].exposed_ns, 50);
	assert_int_equal(b.rows[0].copy_exposed_ns, 7);
	assert_int_equal(b.rows[0].free_ns, 0);
	assert_int_equal(b.rows[1].busy_ns, 0);
}

/* Members in any order, the events before what explains them. */
static void test_order(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_ok("{\"events\":[{\"duration_ns\":30,\"start_ns\":20,\"name\":\"gemm\",\"group\":\"dp\","
	        "\"kind\":\"communication\",\"lane\":1}],\"groups\":[{\"ranks\":[0],\"name\":\"dp\"}],"
	        "\"lanes\":[{\"device\":0,\"id\":1}],\"origin_ns\":1000,\"signalbox_profile\":1}",
	        &p);
	assert_int_equal(p.captures[0].trace.start_ns[0], 1020);
	assert_int_equal(p.captures[0].trace.lanes[0].device, 0);
	assert_string_equal(text_of(&p.captures[0], trace_detail(&p.captures[0].trace, 0)->ranks), "[0]");
	assert_int_equal(p.captures[0].rank, SB_NULL);
	assert_int_equal(p.warnings.count, 0);
}

#define ONE(members) "{\"signalbox_profile\":1,\"lanes\":[{\"id\":0}],\"events\":[{" members "}]}"
#define KERNEL "\"lane\":0,\"kind\":\"kernel\",\"start_ns\":1"

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} GOOD[] = {{"5", 5},
	            {"\"5\"", 5},
	            {"5.0", 5},
	            {"5e2", 500},
	            {"0", 0},
	            {"9223372036854775807", INT64_MAX},
	            {"\"9223372036854775807\"", INT64_MAX}};
	static const char *const BAD[] = {"5.5", "\"5.0\"",   "\"\"",  "true",
	                                  "[5]", "{\"a\":5}", "1e300", "9223372036854775808"};
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
		PROFILE_AUTO p = {0};

		snprintf(text, sizeof(text), ONE(KERNEL ",\"duration_ns\":%s"), GOOD[i].text);
		read_ok(text, &p);
		assert_int_equal(p.captures[0].trace.dur_ns[0], GOOD[i].value);
		/* 292 years are told of as a jump of the clock */
		assert_int_equal(p.warnings.count, GOOD[i].value == INT64_MAX);
	}
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		PROFILE_AUTO p = {0};

		snprintf(text, sizeof(text), ONE(KERNEL ",\"duration_ns\":%s"), BAD[i]);
		read_ok(text, &p);
		assert_int_equal(p.captures[0].trace.dur_ns[0], 0);
		assert_non_null(warning_of(&p, "missing_duration"));
	}
}

static void test_tolerated(void **state)
{
	static const struct {
		const char *text, *code;
		size_t events;
	} CASES[] = {
	    {ONE(KERNEL ",\"duration_ns\":-4"), "negative_duration", 1},
	    {ONE(KERNEL), "missing_duration", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"color\":[\"red\"]"), "unknown_member", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"link\":-1"), "bad_value", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"bytes\":\"many\""), "bad_value", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"bytes\":NaN"), "bad_value", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"direction\":\"up\""), "bad_value", 1},
	    {ONE(KERNEL ",\"duration_ns\":1,\"lane\":0"), "duplicate_key", 1},
	    {ONE("\"lane\":0,\"kind\":\"dance\",\"start_ns\":1,\"duration_ns\":1"), "unknown_kind", 1},
	    {ONE("\"lane\":5,\"kind\":\"kernel\",\"start_ns\":1,\"duration_ns\":1"), "unknown_lane", 1},
	    {ONE(KERNEL ",\"duration_ns\":1},{\"kind\":\"kernel\",\"start_ns\":1"), "bad_event", 1},
	    {ONE(KERNEL ",\"duration_ns\":1},7,{" KERNEL ",\"duration_ns\":1"), "not_an_event", 2},
	    {"{\"signalbox_profile\":1,\"rank\":-2,\"steps\":{},\"lanes\":[{\"id\":0},{\"id\":0}],\"events\":"
	     "[{" KERNEL ",\"duration_ns\":1}],\"events\":[{" KERNEL ",\"duration_ns\":1}]}",
	     "duplicate_lane", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};

		read_ok(CASES[i].text, &p);
		assert_int_equal(p.captures[0].trace.count, CASES[i].events);
		if (!warning_of(&p, CASES[i].code))
			fail_msg("%s: no warning %s", CASES[i].text, CASES[i].code);
		assert_int_equal(warning_of(&p, CASES[i].code)->count, 1);
	}
}

static void test_refused(void **state)
{
	(void)state;
	expect_error("{\"signalbox_profile\":2,\"events\":[]}", "unsupported_version");
	expect_error("{\"signalbox_profile\":{},\"events\":[]}", "unsupported_version");
	expect_error("{\"events\":[{" KERNEL "}],\"signalbox_profile\":3}", "unsupported_version");
	expect_error("{\"events\":[{" KERNEL "}]}", "not_a_trace");
	expect_error("[1]", "not_a_trace");
	expect_error("{\"signalbox_profile\":1}", "no_events");
	expect_error("{\"signalbox_profile\":1,\"events\":[{}]}", "no_events");
	expect_error("{\"signalbox_profile\":1,\"events\":[", "truncated");
	expect_error("{\"signalbox_profile\":1,\"events\":[}", "bad_json");
	expect_error("", "empty");
}

/* Every cut of a whole profile: what stands before it is used. */
static void test_cut_anywhere(void **state)
{
	size_t len = sizeof(ALL) - 2;

	(void)state;
	for (size_t n = 0; n < len; n++) {
		struct sb_error err = {0};
		PROFILE_AUTO whole = {0};
		PROFILE_AUTO pieces = {0};
		int rc = read_blocks(ALL, n, 0, &whole, &err);

		assert_int_equal(read_blocks(ALL, n, 3, &pieces, NULL), rc);
		assert_true(rc == SB_OK || rc == SB_EFORMAT);
		if (rc != SB_OK)
			continue;
		assert_int_equal(whole.captures[0].trace.count, pieces.captures[0].trace.count);
		assert_int_equal(whole.captures[0].trace.dur_ns[0], 5);
		expect_warning(&whole, "truncated", 1, (int64_t)n);
	}
}

/* A quote in a name costs that element only, in each of the lists. */
static void test_broken(void **state)
{
	static const char LAST[] = ONE(KERNEL ",\"duration_ns\":1},{" KERNEL ",\"name\":\"a\"b\"");
	static const char LISTS[] =
	    "{\"signalbox_profile\":1,\"lanes\":[{\"id\":0,\"process\":\"a\"b\"},{\"id\":1,\"device\":4}],"
	    "\"steps\":[{\"number\":\"1\"2\"}, {\"number\":7,\"start_ns\":0,\"duration_ns\":9}],"
	    "\"events\":[{\"lane\":1,\"kind\":\"kernel\",\"start_ns\":5,\"duration_ns\":1},"
	    "{\"name\":\"C:\\\",\"lane\":1,\"kind\":\"kernel\",\"start_ns\":6,\"duration_ns\":1},\n"
	    "{\"duration_ns\":2,\"lane\":1,\"kind\":\"kernel\",\"start_ns\":7}],\"rank\":3}";
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_ok(LAST, &p);
	assert_int_equal(p.captures[0].trace.count, 1);
	expect_warning(&p, "broken_event", 1, (int64_t)(strstr(LAST, "b\"}]") - LAST));
	read_ok(LISTS, &q);
	expect_warning(&q, "broken_event", 3, (int64_t)(strstr(LISTS, "b\"},{") - LISTS));
	assert_int_equal(q.captures[0].trace.count, 2);
	assert_int_equal(q.captures[0].trace.start_ns[1], 7);
	assert_int_equal(q.captures[0].trace.lanes[0].device, 4);
	assert_int_equal(q.captures[0].step_count, 1);
	assert_int_equal(q.captures[0].steps[0].number, 7);
	assert_int_equal(q.captures[0].rank, 3);
}

/* Without anything usable behind it, a broken element ends the file. */
static void test_broken_end(void **state)
{
	static const char TEXT[] =
	    "{\"signalbox_profile\":1,\"lanes\":[{\"id\":0}],\"events\":[{" KERNEL "},{\"name\":\"a\"b";
	PROFILE_AUTO p = {0};

	(void)state;
	read_ok(TEXT, &p);
	assert_int_equal(p.captures[0].trace.count, 1);
	expect_warning(&p, "bad_json", 1, (int64_t)sizeof(TEXT) - 2);
}

/* Found by content among other files; several files are several ranks. */
static void test_ranks(void **state)
{
	static const struct text_file FILES[] = {
	    {"job/b.txt",
	     "{\"signalbox_profile\":1,\"rank\":0,\"lanes\":[{\"id\":0}],\"events\":[{" KERNEL "}]}", 0},
	    {"job/a",
	     "\xEF\xBB\xBF {\"signalbox_profile\" : 1,\"rank\":1,\"lanes\":[{\"id\":0}],\"events\":[{" KERNEL
	     "}]}",
	     0},
	    {"job/notes", "some text", 0},
	};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(FILES, 3, &p, &err), SB_OK);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.captures[1].rank, 1);
	assert_string_equal(p.captures[1].source, "job/a");
	assert_string_equal(capture_format_name(p.captures[0].format), "signalbox-v1");
	assert_int_equal(p.left_out_count, 1);
}

/* By the documentation: series by device and allocator, in order of time, the origin added (here it stands
 * behind); the host's last. Left out: a record without a time, one without bytes, and one a minute after the
 * last event (1 ns). */
static void test_memory(void **state)
{
	static const char TEXT[] =
	    "{\"signalbox_profile\":1,\"lanes\":[{\"id\":0,\"device\":1}],\"memory\":["
	    "{\"time_ns\":3,\"allocated_bytes\":70},"
	    "{\"device\":1,\"time_ns\":9,\"allocated_bytes\":20,\"reserved_bytes\":\"64\"},"
	    "{\"device\":1,\"time_ns\":7,\"allocated_bytes\":10,\"reserved_bytes\":32,\"capacity_bytes\":100}"
	    ","
	    "{\"device\":1,\"allocator\":\"nccl\",\"time_ns\":8,\"reserved_bytes\":5},"
	    "{\"device\":1,\"allocated_bytes\":20},{\"device\":1,\"time_ns\":9},"
	    "{\"device\":1,\"time_ns\":60000000002,\"allocated_bytes\":999}],"
	    "\"events\":[{" KERNEL "}],\"origin_ns\":1000}";
	PROFILE_AUTO p = {0};
	const struct capture *c;
	const struct memory_series *s;

	(void)state;
	read_ok(TEXT, &p);
	c = &p.captures[0];
	assert_int_equal(c->memory_count, 3);
	s = &c->memories[0];
	assert_int_equal(s->device, 1);
	assert_string_equal(text_of(c, s->component), "");
	assert_int_equal(s->capacity_bytes, 100);
	assert_int_equal(s->count, 2);
	assert_true(s->points[0].time_ns == 1007 && s->points[0].allocated == 10 &&
	            s->points[0].reserved == 32);
	assert_true(s->points[1].time_ns == 1009 && s->points[1].allocated == 20 &&
	            s->points[1].reserved == 64);
	s = &c->memories[1];
	assert_string_equal(text_of(c, s->component), "nccl");
	assert_true(s->count == 1 && s->points[0].allocated == SB_NULL && s->points[0].reserved == 5);
	assert_int_equal(s->capacity_bytes, SB_NULL);
	assert_int_equal(c->memories[2].device, MEMORY_HOST);
	assert_int_equal(warning_of(&p, "bad_value")->count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_everything),   cmocka_unit_test(test_breakdown),
	    cmocka_unit_test(test_order),        cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_tolerated),    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_broken),
	    cmocka_unit_test(test_broken_end),   cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("signalbox profile", tests, NULL, NULL);
}
