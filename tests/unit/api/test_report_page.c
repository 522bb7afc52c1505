#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report_page.h"
#include "base/err.h"
#include "base/num.h"

#define MARKUP "<script>alert(1)</script>|`*_[x](javascript:y)<img src=x onerror=z>&'\""

static char *page(const struct report_documents *d, bool html, size_t *out_len)
{
	SB_BUF_AUTO b;
	char *text;

	sb_buf_init(&b, REPORT_PAGE_MAX);
	assert_int_equal(report_page(d, html, &b), SB_OK);
	*out_len = b.len;
	text = sb_buf_take(&b);
	assert_int_equal(strlen(text), *out_len); /* no NUL byte gets through */
	return text;
}

static char *written(bool html, const char *text, size_t len)
{
	SB_BUF_AUTO b;
	struct report_writer w = {.out = &b, .html = html};

	sb_buf_init(&b, 1 << 20);
	write_text_n(&w, text, len);
	assert_int_equal(b.status, SB_OK);
	return sb_buf_take(&b);
}

static void writes(bool html, const char *text, const char *wanted)
{
	char *got = written(html, text, strlen(text));

	assert_string_equal(got, wanted);
	free(got);
}

static void test_escaping(void **state)
{
	char *text, cut[REPORT_TEXT_MAX + 3];

	(void)state;
	writes(true, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
	writes(true, "a\nb\tc\x7f", "a b c ");
	{
		/* U+202E turns the text around, U+0085 is a control; spelt out, so that nobody's editor turns
		 */
		const char turned[] = {'x', '\xE2', '\x80', '\xAE', 'y', '\xC2', '\x85', 'z', '\0'};

		writes(true, turned, "x\xEF\xBF\xBDy\xEF\xBF\xBDz");
	}
	writes(true, "\xC3\xA4\xF0\x9F\x98\x80", "\xC3\xA4\xF0\x9F\x98\x80");
	writes(false, "a|b`c*d_e", "a\\|b\\`c\\*d\\_e");
	writes(false, "<b>&", "&lt;b&gt;&amp;");
	writes(false, "[x](http://y) a@b", "\\[x\\]\\(http\\://y\\) a\\@b");
	writes(false, "- x\n# y", "\\- x \\# y");
	writes(false, "1. x", "1\\. x");
	writes(false, "1.5", "1.5");
	text = written(true, "a\0b", 3);
	assert_string_equal(text, "a b");
	free(text);
	/* a cut never leaves half a character: U+00E4 would end one byte too far */
	memset(cut, 'x', sizeof(cut));
	cut[REPORT_TEXT_MAX - 1] = '\xC3';
	cut[REPORT_TEXT_MAX] = '\xA4';
	text = written(true, cut, sizeof(cut));
	assert_int_equal(strlen(text), REPORT_TEXT_MAX - 1 + 3);
	assert_string_equal(text + REPORT_TEXT_MAX - 1, "\xE2\x80\xA6");
	free(text);
}

static void code_is(const char *text, const char *wanted)
{
	SB_BUF_AUTO b;
	struct report_writer w = {.out = &b};

	sb_buf_init(&b, 1 << 16);
	write_code(&w, text);
	assert_string_equal(b.data ? b.data : "", wanted);
}

static void test_code_in_markdown(void **state)
{
	(void)state;
	code_is("x=1", "` x=1 `");
	code_is("a`b", "`` a`b ``");
	code_is("a``b`", "``` a``b` ```");
	code_is("a|b", "a\\|b");
	code_is("", "");
}

static void quantity_is(json_t *value, const char *unit, const char *wanted)
{
	char text[VALUE_MAX];

	assert_string_equal(quantity_text(value, unit, text), wanted);
	json_decref(value);
}

static void test_quantities(void **state)
{
	(void)state;
	quantity_is(json_real(72800), "us", "72.8 ms");
	quantity_is(json_real(0.25), "us", "0.25 us");
	quantity_is(json_real(2.5e6), "us", "2.5 s");
	quantity_is(json_real(-1500), "us", "-1.5 ms");
	quantity_is(json_integer(12810000), "bytes", "12.81 MB");
	quantity_is(json_real(0.288), "share", "28.8 %");
	quantity_is(json_integer(3), "ranks", "3 ranks");
	quantity_is(json_integer(1), "ranks", "1 rank");
	quantity_is(json_integer(75718), "", "75718");
	quantity_is(json_null(), "us", "\xE2\x80\x93");
	quantity_is(json_string("x"), "us", "\xE2\x80\x93");
}

/* A row of which nothing is known but the span. */
static struct breakdown_row spanned(int64_t rank, int64_t step, int64_t span_us)
{
	return (struct breakdown_row){.rank = rank,
	                              .device = 0,
	                              .step = step,
	                              .step_ns = SB_NULL,
	                              .span_ns = span_us * 1000,
	                              .busy_ns = SB_NULL,
	                              .compute_ns = SB_NULL,
	                              .communication_ns = SB_NULL,
	                              .exposed_ns = SB_NULL,
	                              .overlap_ns = SB_NULL,
	                              .copy_ns = SB_NULL,
	                              .copy_exposed_ns = SB_NULL,
	                              .free_ns = SB_NULL,
	                              .bubble_ns = SB_NULL,
	                              .preparing_ns = SB_NULL};
}

static struct breakdown_row rows_of_two[] = {{.device = SB_NULL,
                                              .step = SB_NULL,
                                              .span_ns = 100000,
                                              .compute_ns = 60000,
                                              .copy_exposed_ns = SB_NULL,
                                              .bubble_ns = SB_NULL,
                                              .free_ns = 40000},
                                             {.device = 1, .step = 3, .span_ns = 50000}};
static const struct breakdown two_rows = {rows_of_two, 2};

/* Every text of every document is markup. */
static struct report_documents hostile(void)
{
	struct report_documents d = {0};

	d.profile =
	    json_pack("{s:s,s:s,s:s,s:[i,i,i,i],s:[{s:s,s:s,s:i}]}", "name", MARKUP, "format", MARKUP, "chip",
	              MARKUP, "ranks", 0, 1, 2, 7, "warnings", "detail", MARKUP, "file", MARKUP, "count", 2);
	d.breakdown = &two_rows;
	d.operators = json_pack("{s:[{s:s,s:s,s:s,s:i,s:i}]}", "rows", "name", MARKUP, "class", MARKUP,
	                        "unit", MARKUP, "count", 1, "total_us", 5);
	d.analysis = json_pack(
	    "{s:{s:s,s:s,s:s,s:f},s:{s:s,s:f,s:[{s:s}]},s:[{s:s,s:s,s:s,s:n,s:n,s:f,s:[{s:s,s:f,s:s,s:f,s:s}]"
	    ","
	    "s:{s:f,s:f,s:s},s:[{s:s,s:f}]}],s:[{s:s,s:s}]}",
	    "verdict", "component", MARKUP, "cause", MARKUP, "confidence", MARKUP, "share_of_step", 0.5,
	    "tree", "label", MARKUP, "share", 1.0, "children", "label", MARKUP, "findings", "code", MARKUP,
	    "severity", MARKUP, "confidence", MARKUP, "rank", "step", "share_of_step", 0.5, "evidence",
	    "metric", MARKUP, "value", 1.5, "unit", MARKUP, "threshold", 1.0, "origin", MARKUP,
	    "estimated_gain", "step_us", 5.0, "speedup", 2.0, "method", MARKUP, "operators", "name", MARKUP,
	    "contribution_us", 3.0, "not_evaluated", "code", MARKUP, "needs", MARKUP);
	d.advice =
	    json_pack("{s:[{s:s,s:s,s:[{s:s,s:s,s:s}],s:s}]}", "items", "finding", MARKUP, "title", MARKUP,
	              "actions", "summary", MARKUP, "how", MARKUP, "check", MARKUP, "source", MARKUP);
	d.critical_path = json_pack("{s:f,s:f,s:f,s:f,s:[{s:s,s:s,s:i,s:f}]}", "span_us", 10.0, "compute_us",
	                            6.0, "gap_us", 4.0, "from_us", 1.0, "operators", "name", MARKUP,
	                            "category", MARKUP, "count", 1, "total_us", 2.0);
	assert_non_null(d.analysis);
	return d;
}

static void clear(struct report_documents *d)
{
	json_decref(d->profile);
	json_decref(d->operators);
	json_decref(d->analysis);
	json_decref(d->advice);
	json_decref(d->critical_path);
}

static void test_markup_stays_text(void **state)
{
	struct report_documents d = hostile();
	size_t len;
	char *html = page(&d, true, &len), *markdown = page(&d, false, &len);

	(void)state;
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "<img"));
	assert_null(strstr(html, "<a "));
	assert_null(strstr(html, "src=\""));
	assert_non_null(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(html, "<svg viewBox"));
	/* outside code no angle bracket of theirs, and no link */
	assert_null(strstr(markdown, "](javascript"));
	assert_null(strstr(markdown, "| <"));
	assert_null(strstr(markdown, "# <"));
	free(html);
	free(markdown);
	clear(&d);
}

/* Members of any other type, or none at all. */
static void test_other_shapes(void **state)
{
	static const char *const texts[] = {
	    "{}", "[]", "{\"rows\":7,\"items\":{},\"findings\":3,\"tree\":[],\"verdict\":1}",
	    "{\"rows\":[1,null,{}],\"items\":[2,{}],\"findings\":[null,{}],\"tree\":{},"
	    "\"verdict\":{},\"not_evaluated\":[7],\"warnings\":[1],\"ranks\":[\"x\"],"
	    "\"name\":5,\"span_us\":1,\"operators\":[[]]}"};
	const struct report_documents none = {0};
	size_t len;

	(void)state;
	free(page(&none, true, &len));
	free(page(&none, false, &len));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *x = json_loads(texts[i], 0, NULL);
		const struct report_documents d = {x, x, x, x, x, NULL};

		assert_non_null(x);
		free(page(&d, true, &len));
		free(page(&d, false, &len));
		json_decref(x);
	}
}

static void test_ten_thousand_captures_stay_small(void **state)
{
	json_t *findings = json_array(), *warnings = json_array(), *ranks = json_array();
	struct breakdown rows = {calloc(20000, sizeof(*rows.rows)), 20000};
	struct report_documents d = {0};
	size_t html_len, markdown_len;

	(void)state;
	assert_non_null(rows.rows);
	for (int i = 0; i < 10000; i++) {
		json_array_append_new(ranks, json_integer(2 * (json_int_t)i));
		rows.rows[(size_t)i * 2] = spanned(i, SB_NULL, i);
		rows.rows[(size_t)i * 2 + 1] = spanned(i, 1, i);
		json_array_append_new(findings, json_pack("{s:s,s:s,s:i,s:[{s:s,s:i,s:s}]}", "code",
		                                          i % 2 ? "io.loading" : "cpu.host_bound", "severity",
		                                          "warning", "rank", i, "evidence", "metric", "x_us",
		                                          "value", i, "unit", "us"));
		json_array_append_new(warnings, json_pack("{s:s,s:s}", "detail", MARKUP, "file", MARKUP));
	}
	d.profile = json_pack("{s:o,s:o}", "ranks", ranks, "warnings", warnings);
	d.breakdown = &rows;
	d.analysis = json_pack("{s:o}", "findings", findings);
	char *html = page(&d, true, &html_len), *markdown = page(&d, false, &markdown_len);

	assert_true(html_len < 200000 && markdown_len < 200000);
	assert_non_null(strstr(html, "The 50 longest of 10000."));
	assert_non_null(strstr(html, "<td>9999</td>")); /* the longest is among them */
	assert_non_null(strstr(html, "The first 4 of 5000 places."));
	breakdown_free(&rows);
	free(html);
	free(markdown);
	clear(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_escaping),     cmocka_unit_test(test_code_in_markdown),
	    cmocka_unit_test(test_quantities),   cmocka_unit_test(test_markup_stays_text),
	    cmocka_unit_test(test_other_shapes), cmocka_unit_test(test_ten_thousand_captures_stay_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
