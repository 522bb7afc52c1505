/* Reports of users about times (research page user-pain, section B) and about size and wrong names (E), by
 * their numbers. */
#include "tests/unit/profiler/asked.h"

#include <stdio.h>

#include "profiler/read/reader.h"
#include "tests/one_capture.h"

/* pytorch#122425, #113564, #121219: nothing is rounded to microseconds, so a child stays inside its parent
 * and the shortest gap is seen */
static void b11_nanoseconds_are_kept(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json",
	    TRACE(HOST("parent", "1712195495502094.565", "3.000") "," HOST(
	        "child", "1712195495502094.566",
	        "2.999") "," KERNEL("k", "1712195495502100.001", "0.250",
	                            "1") "," KERNEL("l", "1712195495502100.252", "1.001", "2")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_true(t->start_ns[0] == INT64_C(1712195495502094565));
	assert_true(t->start_ns[1] + t->dur_ns[1] == t->start_ns[0] + t->dur_ns[0]);
	assert_int_equal(whole(&a)->compute_ns, 1251);
	assert_int_equal(whole(&a)->free_ns, 1);
	assert_int_equal(whole(&a)->span_ns, 1252);
}

/* perfetto#106 */
static void b12_the_unit_of_display_changes_nothing(void **state)
{
	static const char *const UNITS[] = {"ms", "ns"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};
		char text[1024];

		snprintf(text, sizeof(text), "{\"displayTimeUnit\":\"%s\",\"traceEvents\":[%s,%s]}", UNITS[i],
		         KERNEL("k", "1.5", "2.25", "1"), KERNEL("l", "10", "0.001", "2"));
		ask("a.json", text, &a);
		assert_int_equal(whole(&a)->span_ns, 8501);
		assert_int_equal(whole(&a)->busy_ns, 2251);
	}
}

/* kineto#646; pytorch#101861: a time of ours is never below 0 */
static void b14_negative_durations_are_0_and_told(void **state)
{
	ASKED_AUTO a = {0};
	static const char TEXT[] = TRACE(KERNEL("k", "1", "2", "1") "," KERNEL(
	    "neg", "5", "-3", "2") "," KERNEL("neg", "6", "-0.001", "3") "," HOST("op", "7", "-1"));
	const struct warning *w;

	(void)state;
	ask("a.json", TEXT, &a);
	w = warning_of(&a.p, "negative_duration");
	assert_non_null(w);
	assert_int_equal(w->count, 3);
	assert_int_equal(w->offset, strstr(TEXT, ",{\"ph\"") + 1 - TEXT);
	assert_int_equal(whole(&a)->compute_ns, 2000);
	assert_int_equal(whole(&a)->span_ns, 5000);
	for (size_t i = 0; i < a.o.count; i++)
		assert_true(a.o.rows[i].min_ns >= 0 && a.o.rows[i].total_ns >= 0);
}

/* One slip of a clock does not make the span (kineto clamps to 0 what began before its base). */
static void absurd_times_are_left_out_and_told(void **state)
{
	static const char *const ABSURD[] = {"0", "99999999999999", "-77777777777777.5"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ASKED_AUTO a = {0};
		char text[2048];
		const struct warning *w;

		snprintf(
		    text, sizeof(text),
		    "{\"baseTimeNanoseconds\":1000,\"traceEvents\":[%s,%s,{\"ph\":\"X\",\"cat\":\"kernel\","
		    "\"name\":\"ncclX\",\"pid\":0,\"tid\":7,\"ts\":%s,\"dur\":1,\"args\":{\"Collective "
		    "name\":\"x\"}},%s,%s]}",
		    STEP("1", "1419247332972", "9"), KERNEL("k", "1419247332973", "2", "1"), ABSURD[i],
		    KERNEL("l", "1419247332978", "1", "2"),
		    EVENT("kernel", "ncclY", "0", "7", "1419247332979", "1", "\"Seq\":4"));
		ask("a.json", text, &a);
		w = warning_of(&a.p, "clock_jump");
		assert_non_null(w);
		assert_int_equal(w->count, 1);
		assert_int_equal(w->offset,
		                 strstr(text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclX") - text);
		assert_int_equal(whole(&a)->span_ns, 7000);
		assert_int_equal(whole(&a)->busy_ns, 4000);
		/* the details of the others still are theirs */
		assert_int_equal(a.p.captures[0].trace.detail_count, 1);
		assert_int_equal(trace_detail(&a.p.captures[0].trace, 3)->sequence, 4);
		assert_int_equal(a.p.captures[0].step_count, 1);
		assert_int_equal(a.p.captures[0].steps[0].dur_ns, 9000);
	}
}

/* Half of the work a year later is no slip: it is kept, and told. Host and device may differ, too. */
static void clocks_that_differ_are_told_and_kept(void **state)
{
	ASKED_AUTO a = {0};
	ASKED_AUTO b = {0};
	ASKED_AUTO fine = {0};

	(void)state;
	ask("a.json",
	    TRACE(KERNEL("k", "1", "1", "1") "," KERNEL("k", "2", "1", "2") "," KERNEL(
	        "k", "3", "1", "3") "," KERNEL("k", "31536000000000", "1",
	                                       "4") "," KERNEL("k", "31536000000001", "1", "5")),
	    &a);
	assert_int_equal(whole(&a)->compute_ns, 5000);
	assert_int_equal(warning_of(&a.p, "clock_jump")->count, 2);
	ask("b.json",
	    TRACE(LAUNCH("l", "31536000000000", "1", "4") "," LAUNCH(
	        "l", "31536000000001", "1",
	        "5") "," LAUNCH("l", "31536000000003", "1",
	                        "6") "," STEP("3", "31536000000000",
	                                      "9") "," KERNEL("k", "100", "1", "4") "," KERNEL("k", "105",
	                                                                                       "1", "5")),
	    &b);
	assert_int_equal(whole(&b)->span_ns, 6000);
	assert_non_null(warning_of(&b.p, "clock_jump"));
	assert_true(b.b.rows[0].step == 3 && b.b.rows[0].compute_ns == 2000);
	ask("c.json", TRACE(KERNEL("k", "0", "1", "1") "," KERNEL("k", "50000000", "1", "2")), &fine);
	assert_int_equal(whole(&fine)->span_ns, 50000001000);
	assert_null(warning_of(&fine.p, "clock_jump"));
}

/* The same work written twice counts once; rows of no length in whole microseconds may be two. */
static void work_written_twice_counts_once(void **state)
{
	ASKED_AUTO a = {0};
	static const char TEXT[] = TRACE(KERNEL("k", "1", "2", "1") "," KERNEL("z", "9", "0", "3") "," KERNEL(
	    "z", "9", "0", "3") "," KERNEL("k", "1", "2",
	                                   "2") "," KERNEL("k", "1", "2",
	                                                   "1") "," HOST("h", "1", "2") "," HOST("h", "1",
	                                                                                         "2"));

	(void)state;
	ask("a.json", TEXT, &a);
	assert_int_equal(warning_of(&a.p, "duplicate_event")->count, 1);
	assert_int_equal(warning_of(&a.p, "duplicate_event")->offset,
	                 strstr(TEXT, "},{\"ph\":\"X\",\"cat\":\"cpu_op\"") -
	                     (sizeof(KERNEL("k", "1", "2", "1")) - 2) - TEXT);
	assert_int_equal(a.p.captures[0].trace.count, 6);
	assert_int_equal(whole(&a)->compute_ns, 2000);
}

/* A trace of a million events that exists only while it is read. */
struct endless {
	struct stream base;
	char block[256];
	int64_t left, at;
};

static int more(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct endless *e = (struct endless *)s;
	int n = 0;

	(void)err;
	if (e->left > 0)
		n = snprintf(e->block, sizeof(e->block), "%s" KERNEL("k", "%lld", "1", "%lld"),
		             e->at == 0 ? "[" : ",", 2 * (long long)e->at, (long long)e->at + 1);
	e->left--;
	e->at++;
	*out_data = e->block;
	*out_len = (size_t)n;
	return SB_OK;
}

/* HTA#250, #48, #110, kineto#760, #805, perfetto#3537: what is kept is 33 bytes an event, not the text */
static void e41_a_trace_is_a_stream(void **state)
{
	struct endless e = {.base = {.next = more, .path = "a"}, .left = 1000000};
	PROFILE_AUTO p = {0};
	struct read_context ctx = {.profile = &p, .capture = one_capture};
	const struct trace *t;

	(void)state;
	assert_int_equal(KINETO_READER.read(&ctx, &e.base, NULL), SB_OK);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 1000000);
	assert_int_equal(t->start_ns[999999], 1999998000);
	assert_int_equal(warning_of(&p, "truncated")->count, 1);
	assert_int_equal(t->detail_count, 0);
	assert_true(sb_strings_count(t->strings) < 10);
}

/* Content decides, not the name; what is inflated is bounded. */
static void e42_names_may_lie(void **state)
{
	static const char TEXT[] = TRACE(KERNEL("k", "1", "2", "1") "," KERNEL("l", "5", "1", "2"));
	size_t len = sizeof(TEXT) - 1;
	MADE_AUTO whole_text = made_gzip(TEXT, len);
	MADE_AUTO first = made_gzip(TEXT, 100);
	MADE_AUTO second = made_gzip(TEXT + 100, len - 100);
	char *zeros = calloc(1, 10 << 20), *members = malloc(first.len + second.len);
	const struct text_file good[] = {{"a.json", whole_text.data, whole_text.len},
	                                 {"a.json.gz", TEXT, len},
	                                 {"a", members, first.len + second.len}};
	struct sb_error err = {0};

	(void)state;
	assert_true(zeros && members);
	memcpy(members, first.data, first.len);
	memcpy(members + first.len, second.data, second.len);
	for (size_t i = 0; i < 3; i++) {
		ASKED_AUTO a = {0};

		ask_files(&good[i], 1, &a);
		assert_int_equal(whole(&a)->busy_ns, 3000);
		assert_int_equal(a.p.warnings.count, 0);
	}
	MADE_AUTO bomb = made_gzip(zeros, 10 << 20);
	const struct text_file bad = {"bomb.json.gz", bomb.data, bomb.len};
	PROFILE_AUTO p = {0};

	assert_int_equal(read_texts(&bad, 1, &p, &err), SB_EFORMAT);
	assert_true(strlen(err.text) > 20);
	free(zeros);
	free(members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b11_nanoseconds_are_kept),
	    cmocka_unit_test(b12_the_unit_of_display_changes_nothing),
	    cmocka_unit_test(b14_negative_durations_are_0_and_told),
	    cmocka_unit_test(absurd_times_are_left_out_and_told),
	    cmocka_unit_test(clocks_that_differ_are_told_and_kept),
	    cmocka_unit_test(work_written_twice_counts_once),
	    cmocka_unit_test(e41_a_trace_is_a_stream),
	    cmocka_unit_test(e42_names_may_lie),
	};

	return cmocka_run_group_tests_name("user pain: time and size", tests, NULL, NULL);
}
