/* Reports of users about files that are no clean JSON (research page user-pain, section A), by their numbers.
 */
#include "tests/unit/profiler/asked.h"

#include "profiler/read/chrome.h"
#include "profiler/read/reader.h"

static const struct warning *told(const struct asked *a, const char *code)
{
	const struct warning *w = warning_of(&a->p, code);

	if (!w)
		fail_msg("%s is not told", code);
	return w;
}

static bool holds_name(const struct asked *a, const char *name)
{
	return sb_strings_find(a->p.captures[0].trace.strings, name, strlen(name)) != 0;
}

/* kineto#336, #1459 */
static void a1_unescaped_texts_cost_one_event_at_most(void **state)
{
	ASKED_AUTO paths = {0};
	ASKED_AUTO quotes = {0};
	static const char QUOTES[] = TRACE(
	    HOST("first", "1", "1") ",\n" HOST("say \"hi\" twice", "2", "1") ",\n" HOST("last", "3", "1"));

	(void)state;
	ask("a.json", TRACE(HOST("C:\\new\\users\\x", "1", "1") ",\n" HOST("b", "2", "1")), &paths);
	assert_int_equal(paths.p.captures[0].trace.count, 2);
	/* \\u and \\x; \\n is a legal escape */
	assert_int_equal(told(&paths, "bad_escape")->count, 2);
	ask("a.json", QUOTES, &quotes);
	assert_int_equal(quotes.p.captures[0].trace.count, 2);
	assert_true(holds_name(&quotes, "first") && holds_name(&quotes, "last"));
	assert_int_equal(told(&quotes, "broken_event")->count, 1);
	assert_int_equal(told(&quotes, "broken_event")->offset, strstr(QUOTES, "hi") - QUOTES);
	assert_string_equal(told(&quotes, "broken_event")->file, "a.json");
}

/* perfetto#598, pytorch#130622 */
static void a2_control_characters_are_taken(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json", TRACE(KERNEL("k\x01\n\t", "1", "2", "1") "," KERNEL("k", "5", "1", "2")), &a);
	assert_int_equal(whole(&a)->compute_ns, 3000);
	assert_int_equal(whole(&a)->span_ns, 5000);
	assert_int_equal(told(&a, "control_character")->count, 3);
	assert_true(holds_name(&a, "k\x01\n\t"));
}

/* kineto#80, #988, HTA#324: the number of a communicator names the group where nothing else does */
static void a3_bytes_and_numbers_past_the_usual_are_kept(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json",
	    TRACE(EVENT("kernel", "nccl\xE4\xB8", "0", "7", "1", "2",
	                "\"Comms Id\":17446744073709551614,\"Collective name\":\"allreduce\"")),
	    &a);
	assert_int_equal(whole(&a)->communication_ns, 2000);
	assert_int_equal(told(&a, "bad_utf8")->count, 1);
	assert_int_equal(told(&a, "big_integer")->count, 1);
	assert_int_equal(a.c.row_count, 1);
	assert_string_equal(sb_strings_get(a.c.strings, a.c.rows[0].group, NULL), "17446744073709551614");
}

/* kineto#728 */
static void a5_a_bare_list_is_a_trace_too(void **state)
{
	ASKED_AUTO list = {0};
	ASKED_AUTO object = {0};
	ASKED_AUTO texts = {0};

	(void)state;
	ask("a.json", "[" KERNEL("k", "1", "2", "1") "," KERNEL("l", "5", "1", "2") "]", &list);
	ask("a.json", TRACE(KERNEL("k", "1", "2", "1") "," KERNEL("l", "5", "1", "2")), &object);
	assert_int_equal(whole(&list)->busy_ns, 3000);
	assert_memory_equal(whole(&list), whole(&object), sizeof(struct breakdown_row));
	/* with times as texts, too, which Ascend's lists have */
	ask("a.json", "[" KERNEL("k", "\"1.0\"", "\"2\"", "1") "," KERNEL("l", "\"5e0\"", "1", "2") "]",
	    &texts);
	assert_memory_equal(whole(&texts), whole(&object), sizeof(struct breakdown_row));
}

/* chakra#192, #166, pytorch#126703 */
static void a7_what_is_whole_before_the_break_is_used(void **state)
{
	static const char TEXT[] = TRACE(KERNEL("k", "1", "2", "1") "," KERNEL("l", "5", "1", "2"));
	size_t second = (size_t)(strstr(TEXT, "},{") + 2 - TEXT);
	ASKED_AUTO cut = {0};
	ASKED_AUTO comma = {0};

	(void)state;
	struct text_file file = {"a.json", TEXT, second + 20};

	ask_files(&file, 1, &cut);
	assert_int_equal(whole(&cut)->busy_ns, 2000);
	assert_int_equal(told(&cut, "truncated")->offset, second + 20);
	/* two threads wrote: a comma is missing; a half event takes along the one it runs into, no more */
	ask("a.json",
	    TRACE(KERNEL("k", "1", "2", "1") KERNEL("m", "4", "1", "1") ",{\"ph\":\"X\",\"ca," KERNEL(
	        "lost", "5", "1", "2") "," KERNEL("l", "7", "1", "3")),
	    &comma);
	assert_true(holds_name(&comma, "k") && holds_name(&comma, "l"));
	assert_true(told(&comma, "broken_event")->count >= 1);
}

/* Ascend/pytorch#27 */
static void a8_joined_lists_give_the_first(void **state)
{
	ASKED_AUTO a = {0};
	static const char TEXT[] = "[" KERNEL("k", "1", "2", "1") "][" KERNEL("l", "5", "1", "2") "]";

	(void)state;
	ask("a.json", TEXT, &a);
	assert_int_equal(whole(&a)->busy_ns, 2000);
	assert_int_equal(told(&a, "broken_metadata")->offset, strstr(TEXT, "][") + 1 - TEXT);
}

/* Ascend/pytorch#133, #156 */
static void a9_texts_of_times_and_ids_stay_exact(void **state)
{
	static const char TEXT[] =
	    "[{\"ph\":\"s\",\"id\":1736408883688177931,\"name\":\"f\",\"ts\":\"1736408883688177.930\"},"
	    "{\"ph\":\"s\",\"id\":\"1736408883688177932\",\"name\":\"f\",\"ts\":\"1736408883688178.030\"}]";
	ASKED_AUTO a = {0};
	struct memory_stream m;
	struct chrome_options none = {0};
	struct warnings w = {0};
	CHROME_AUTO c = NULL;
	const struct chrome_event *e = NULL;

	(void)state;
	memory_stream_init(&m, "a", TEXT, sizeof(TEXT) - 1, 0);
	assert_int_equal(chrome_open(&m.base, &w, &none, &c), SB_OK);
	assert_int_equal(chrome_next(c, &e, NULL), SB_OK);
	assert_string_equal(e->id.text, "1736408883688177931");
	assert_true(e->ts_ns == INT64_C(1736408883688177930));
	assert_int_equal(chrome_next(c, &e, NULL), SB_OK);
	assert_string_equal(e->id.text, "1736408883688177932");
	/* two NPU kernels, the second 100 ns after the first one's end */
	ask("x_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
	    "[{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":\"1736408883688177.930\",\"dur\":1.5,"
	    "\"args\":{\"Task Type\":\"AI_CORE\"}},"
	    "{\"name\":\"b\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":\"1736408883688179.530\",\"dur\":1,"
	    "\"args\":{\"Task Type\":\"AI_CORE\"}}]",
	    &a);
	assert_int_equal(a.p.captures[0].trace.start_ns[1] - a.p.captures[0].trace.start_ns[0], 1600);
	assert_int_equal(a.p.captures[0].trace.dur_ns[0], 1500);
}

/* HTA#233 */
static void a10_the_wrong_kind_of_file_is_named(void **state)
{
	static const struct {
		struct text_file file;
		const char *hint;
	} CASES[] = {
	    {{"et.json", "{\"schema\":\"1.1.1-chakra.0.0.4\",\"nodes\":[{\"id\":1}]}", 0}, "execution trace"},
	    {{"et.json", "{\"schema\": \"1.0.3\", \"pid\": 7, \"nodes\": []}", 0}, "execution trace"},
	    {{"memory.raw", "[[-1, 1, 37888, 7], [5, 2, 512, 0]]", 0}, "memory timeline"},
	    {{"memory.json", "[[1, 2, 3], [[4, 5], [6, 7], [8, 9]]]", 0}, "JSON"},
	    {{"label.json", "{\"fixture\":\"mock\",\"must_raise\":[\"idle\"]}", 0}, "JSON"},
	    {{"page.json", "<!doctype html><title>502</title>", 0}, "HTML"},
	    {{"snapshot.pickle", "\x80\x04\x95", 3}, "pickle"},
	    {{"answers.txt", "steps: 5\n", 0}, "text"},
	};
	ASKED_AUTO host = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};
		struct sb_error err = {0};

		assert_int_equal(read_texts(&CASES[i].file, 1, &p, &err), SB_EFORMAT);
		if (!strstr(err.text, CASES[i].hint))
			fail_msg("%s: %s", CASES[i].file.path, err.text);
		assert_string_equal(err.file, CASES[i].file.path);
	}
	/* a trace of the host alone is answered, and says what it lacks */
	ask("cpu.json", TRACE(HOST("aten::add", "1", "5")), &host);
	assert_non_null(strstr(told(&host, "no_device_activity")->detail, "no work of a device"));
	assert_true(whole(&host)->compute_ns == SB_NULL && whole(&host)->free_ns == SB_NULL);
	assert_int_equal(host.o.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a1_unescaped_texts_cost_one_event_at_most),
	    cmocka_unit_test(a2_control_characters_are_taken),
	    cmocka_unit_test(a3_bytes_and_numbers_past_the_usual_are_kept),
	    cmocka_unit_test(a5_a_bare_list_is_a_trace_too),
	    cmocka_unit_test(a7_what_is_whole_before_the_break_is_used),
	    cmocka_unit_test(a8_joined_lists_give_the_first),
	    cmocka_unit_test(a9_texts_of_times_and_ids_stay_exact),
	    cmocka_unit_test(a10_the_wrong_kind_of_file_is_named),
	};

	return cmocka_run_group_tests_name("user pain: JSON", tests, NULL, NULL);
}
