#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/breakdown_read.h"
#include "api/profiles/documents.h"
#include "api/profiles/report.h"
#include "api/profiles/report_parts.h"
#include "base/num.h"

static void assert_json(json_t *value, const char *expected)
{
	char *text = json_write(value, NULL);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	json_decref(value);
}

static void times_keep_their_nanoseconds(void **state)
{
	(void)state;
	assert_json(json_us(101963203), "101963.203");
	assert_json(json_us(0), "0.0");
	assert_json(json_us(-1), "-0.001");
	/* eleven days in ns: the largest value whose digits all show */
	assert_json(json_us(INT64_C(950400000000001)), "950400000000.001");
	/* beyond: whole microseconds stay exact, an absolute time of the year 2026 too */
	assert_json(json_us(INT64_C(1771234567890123000)), "1771234567890123");
	assert_json(json_us(-INT64_C(9223372036854775000)), "-9223372036854775");
	assert_json(json_us(SB_NULL), "null");
	assert_json(json_real_or_null(NAN), "null");
	assert_json(json_real_or_null(INFINITY), "null");
	assert_json(json_real_or_null(237.94471875), "237.94471875");
}

static void texts_become_valid_utf8(void **state)
{
	(void)state;
	assert_json(json_text("a\xFFz", 3), "\"a\xEF\xBF\xBDz\"");
	assert_json(json_text("\xC3\xA9", 2), "\"\xC3\xA9\"");
	/* cut inside a character, an overlong form, a surrogate, past the last code point */
	assert_json(json_text("\xE4\xB8", 2), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
	assert_json(json_text("\xC0\xAF", 2), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
	assert_json(json_text("\xED\xA0\x80", 3), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
	assert_json(json_text("\xF4\x90\x80\x80", 4), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
	assert_json(json_text("x\0y", 3), "\"x\\u0000y\"");
}

static void long_texts_are_cut_between_characters(void **state)
{
	static const char character[3] = {'\xE4', '\xB8', '\xAD'};
	char *long_text = malloc((size_t)3 * 2000);
	json_t *value;

	(void)state;
	assert_non_null(long_text);
	for (int i = 0; i < 2000; i++)
		memcpy(long_text + (size_t)i * 3, character, sizeof(character));
	value = json_text(long_text, 6000);
	assert_int_equal(json_string_length(value), 4095);
	json_decref(value);
	free(long_text);
}

static void a_breakdown_row_shows_null_for_what_is_not_there(void **state)
{
	struct breakdown_row row = {.rank = 0,
	                            .device = SB_NULL,
	                            .step = 50,
	                            .step_ns = 155985800,
	                            .span_ns = 136581009,
	                            .busy_ns = 110836959,
	                            .compute_ns = 8873756,
	                            .communication_ns = 105991878,
	                            .exposed_ns = 101963203,
	                            .overlap_ns = 4028675,
	                            .copy_ns = SB_NULL,
	                            .copy_exposed_ns = SB_NULL,
	                            .free_ns = 25744050,
	                            .bubble_ns = 0,
	                            .preparing_ns = 17902502};
	struct breakdown b = {.rows = &row, .count = 1};
	BREAKDOWN_AUTO read = {0};
	SB_BUF_AUTO out;

	(void)state;
	sb_buf_init(&out, 10000);
	assert_int_equal(document_breakdown(&b, &out), SB_OK);
	assert_string_equal(
	    out.data,
	    "{\"rows\":[{\"rank\":0,\"device\":null,\"step\":50,\"step_us\":155985.8,\"span_us\":136581.009,"
	    "\"busy_us\":110836.959,\"compute_us\":8873.756,\"communication_us\":105991.878,"
	    "\"communication_exposed_us\":101963.203,\"overlap_us\":4028.675,\"copy_us\":null,"
	    "\"copy_exposed_us\":null,\"free_us\":25744.05,\"bubble_us\":0.0,\"preparing_us\":17902.502}]}");
	assert_int_equal(breakdown_read(out.data, out.len, &read), SB_OK);
	assert_int_equal(read.count, 1);
	assert_memory_equal(read.rows, &row, sizeof(row));
}

static void a_damaged_breakdown_is_none(void **state)
{
	static const char *const texts[] = {"",
	                                    "{\"rows\":[",
	                                    "{\"rows\":[{\"rank\":0}",
	                                    "{\"rows\":[{\"rank\":0},",
	                                    "{\"rows\":[{\"rank\":0]}",
	                                    "{\"rows\":[7]}",
	                                    "{\"rows\":{}}",
	                                    "[]"};
	BREAKDOWN_AUTO b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(breakdown_read(texts[i], strlen(texts[i]), &b), SB_EFORMAT);
	assert_int_equal(breakdown_read("{\"rows\":[]}", 11, &b), SB_OK);
	assert_int_equal(b.count, 0);
	breakdown_free(&b);
	/* members of another type, and times past ours, are not known; the row of a whole capture ends it */
	static const char odd[] =
	    "{\"rows\":[{\"rank\":\"x\",\"step\":null,\"span_us\":1e300},{\"step\":4}]}";

	assert_int_equal(breakdown_read(odd, strlen(odd), &b), SB_OK);
	assert_int_equal(b.count, 2);
	assert_true(b.rows[0].rank == SB_NULL && b.rows[0].span_ns == SB_NULL);
	assert_int_equal(b.rows[1].step, 4);
	assert_int_equal(b.rows[1].capture, 1);
}

static void a_profile_that_is_queued_has_empty_lists(void **state)
{
	(void)state;
	assert_json(
	    document_profile("id-1", "run", "queued", 0, 5, NULL, NULL, NULL),
	    "{\"id\":\"id-1\",\"name\":\"run\",\"state\":\"queued\",\"created_at\":null,\"bytes\":5,"
	    "\"sha256\":null,\"format\":null,\"ranks\":[],\"unranked\":[],\"steps\":[],\"devices\":[],"
	    "\"chip\":null,\"captures\":null,\"events\":null,\"warnings\":[],\"left_out\":[],"
	    "\"left_out_total\":null,\"verdict\":null,"
	    "\"error\":null}");
}

static void a_verdict_in_short_has_the_severity_of_its_finding(void **state)
{
	struct finding findings[] = {{.code = "io.reading", .severity = SEVERITY_CRITICAL},
	                             {.code = "io.read", .severity = SEVERITY_WARNING},
	                             {.code = "unexplained", .severity = SEVERITY_INFO}};
	struct analysis a = {.findings = findings,
	                     .count = 3,
	                     .component = "io",
	                     .cause = "read",
	                     .confidence = CONFIDENCE_HIGH,
	                     .share_of_step = 0.25};

	(void)state;
	assert_json(document_verdict(&a),
	            "{\"component\":\"io\",\"cause\":\"read\",\"confidence\":\"high\",\"share_of_step\":0.25,"
	            "\"severity\":\"warning\"}");
	a.component = "unexplained";
	a.cause = NULL;
	assert_json(
	    document_verdict(&a),
	    "{\"component\":\"unexplained\",\"cause\":null,\"confidence\":\"high\",\"share_of_step\":0.25,"
	    "\"severity\":\"info\"}");
	a.component = NULL;
	a.share_of_step = NAN;
	assert_json(document_verdict(&a),
	            "{\"component\":null,\"cause\":null,\"confidence\":\"high\",\"share_of_step\":null,"
	            "\"severity\":null}");
}

static void a_failure_names_file_and_position(void **state)
{
	struct sb_error e = {0};

	(void)state;
	sb_fail_at(&e, SB_EFORMAT, "truncated", "trace.json", 0, 1234, "the trace ends inside an event");
	json_t *o = document_profile(NULL, "x", "failed", 0, 0, NULL, NULL, &e);

	assert_json(
	    json_incref(json_object_get(o, "error")),
	    "{\"code\":\"truncated\",\"detail\":\"the trace ends inside an event\",\"file\":\"trace.json\","
	    "\"line\":null,\"offset\":1234}");
	json_decref(o);
}

static void a_terminal_is_not_steered(void **state)
{
	json_t *rows = json_pack("{s:[{s:s, s:s, s:s, s:i, s:f}]}", "rows", "name", "\x1b[31mevil\xC2\x9B",
	                         "type", "t", "unit", "gpu", "count", 1, "total_us", 2.5);
	SB_BUF_AUTO out;

	(void)state;
	sb_buf_init(&out, 10000);
	assert_int_equal(print_operators(rows, &out), SB_OK);
	assert_null(strchr(out.data, 0x1b));
	assert_null(strstr(out.data, "\xC2\x9B"));
	assert_non_null(strstr(out.data, "?[31mevil?"));
	json_decref(rows);
}

static void a_foreign_answer_is_refused_or_harmless(void **state)
{
	struct sb_error e = {0};
	SB_BUF_AUTO out;

	(void)state;
	sb_buf_init(&out, 10000);
	assert_int_equal(report_verdict("[]", "{}", &out, &e), SB_EFORMAT);
	assert_int_equal(
	    report_verdict("{\"verdict\":7,\"findings\":{\"a\":1}}", "{\"items\":[3]}", &out, &e), SB_OK);
	assert_non_null(strstr(out.data, "no bottleneck"));
}

static void a_code_is_printed_once_with_its_worst_rank(void **state)
{
	static const char finding[] =
	    "{\"severity\":\"critical\",\"code\":\"communication.small_packets\",\"rank\":%d,"
	    "\"confidence\":\"medium\",\"evidence\":["
	    "{\"metric\":\"large_packet_share\",\"value\":0.125,\"unit\":\"share\",\"threshold\":0.8,"
	    "\"origin\":"
	    "\"paper\"},"
	    "{\"metric\":\"packets\",\"value\":5040.0,\"unit\":\"packets\",\"threshold\":null,\"origin\":"
	    "null},"
	    "{\"metric\":\"ranks_affected\",\"value\":2.0,\"unit\":\"ranks\",\"threshold\":null}]}";
	char worst[600], other[600], text[1300];
	json_t *analysis;
	SB_BUF_AUTO out;

	(void)state;
	snprintf(worst, sizeof(worst), finding, 3);
	snprintf(other, sizeof(other), finding, 0);
	snprintf(text, sizeof(text), "{\"findings\":[%s,%s]}", worst, other);
	analysis = json_loads(text, 0, NULL);
	assert_non_null(analysis);
	sb_buf_init(&out, 10000);
	assert_int_equal(print_findings(analysis, &out), SB_OK);
	assert_string_equal(out.data,
	                    "\nFindings (--json has the numbers of each rank)\n"
	                    "  [critical] communication.small_packets, rank 3 (worst of 2 ranks), confidence "
	                    "medium\n"
	                    "      large_packet_share 12.5 % (threshold 80 %, paper)\n"
	                    "      packets 5040 packets\n");
	json_decref(analysis);
}

static void advice_tells_what_it_gains(void **state)
{
	json_t *advice =
	    json_loads("{\"items\":["
	               "{\"title\":\"A\",\"finding\":\"x.y\",\"estimated_speedup\":1.25,"
	               "\"actions\":[{\"summary\":\"s\",\"how\":\"h\"}]},"
	               "{\"title\":\"B\",\"finding\":\"x.z\",\"estimated_speedup\":null,\"actions\":[]}]}",
	               0, NULL);
	json_t *analysis =
	    json_loads("{\"findings\":[{\"code\":\"x.y\",\"estimated_gain\":{\"method\":\"m\"}}]}", 0, NULL);
	SB_BUF_AUTO out;

	(void)state;
	assert_non_null(advice);
	assert_non_null(analysis);
	sb_buf_init(&out, 10000);
	assert_int_equal(print_advice(advice, analysis, &out), SB_OK);
	assert_string_equal(out.data, "\nAdvice\n"
	                              "  1. A (x.y)\n"
	                              "     estimated speedup 1.250 (m)\n"
	                              "     - s: h\n"
	                              "  2. B (x.z)\n");
	json_decref(advice);
	json_decref(analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_keep_their_nanoseconds),
	    cmocka_unit_test(texts_become_valid_utf8),
	    cmocka_unit_test(long_texts_are_cut_between_characters),
	    cmocka_unit_test(a_breakdown_row_shows_null_for_what_is_not_there),
	    cmocka_unit_test(a_damaged_breakdown_is_none),
	    cmocka_unit_test(a_profile_that_is_queued_has_empty_lists),
	    cmocka_unit_test(a_verdict_in_short_has_the_severity_of_its_finding),
	    cmocka_unit_test(a_failure_names_file_and_position),
	    cmocka_unit_test(a_terminal_is_not_steered),
	    cmocka_unit_test(a_foreign_answer_is_refused_or_harmless),
	    cmocka_unit_test(a_code_is_printed_once_with_its_worst_rank),
	    cmocka_unit_test(advice_tells_what_it_gains),
	};

	return cmocka_run_group_tests_name("documents", tests, NULL, NULL);
}
