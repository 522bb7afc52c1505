#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "server/log.h"

static void a_line_is_one_json_object(void **state)
{
	const struct log_field fields[] = {LOG_TEXT("route", "/v1/\"x\"\\"), LOG_NUM("status", -7)};
	struct sb_buf out;

	(void)state;
	sb_buf_init(&out, 4096);
	/* 2024-02-29T12:34:56.789Z is 1709210096.789 s after the epoch */
	assert_int_equal(log_format(&out, INT64_C(1709210096789123), LOG_WARN, "re\nquest", fields, 2),
	                 SB_OK);
	assert_string_equal(out.data, "{\"ts\":\"2024-02-29T12:34:56.789Z\",\"level\":\"warn\","
	                              "\"msg\":\"re\\u000aquest\",\"route\":\"/v1/\\\"x\\\"\\\\\","
	                              "\"status\":-7}");
	sb_buf_free(&out);
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
	/* lone continuation, overlong, surrogate, beyond U+10FFFF, cut at the end; é stays */
	const struct log_field f =
	    LOG_TEXT("t", "\x80|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xc3\xa9|\xe2\x82");
	struct sb_buf out;

	(void)state;
	sb_buf_init(&out, 4096);
	assert_int_equal(log_format(&out, 0, LOG_INFO, "m", &f, 1), SB_OK);
	assert_non_null(strstr(out.data, "\"t\":\"\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|"
	                                 "\\ufffd\\ufffd\\ufffd\\ufffd|\xc3\xa9|\\ufffd\\ufffd\"}"));
	sb_buf_free(&out);
}

static void lines_are_bounded(void **state)
{
	char text[3000];
	const struct log_field f = LOG_TEXT("t", text);
	struct sb_buf out;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sb_buf_init(&out, 4096);
	assert_int_equal(log_format(&out, 0, LOG_INFO, "m", &f, 1), SB_OK);
	assert_int_equal(strspn(strstr(out.data, "\"t\":\"") + 5, "a"), 1024);
	sb_buf_free(&out);
	sb_buf_init(&out, 100);
	assert_int_equal(log_format(&out, 0, LOG_INFO, "m", &f, 1), SB_ELIMIT);
	sb_buf_free(&out);
}

static void levels_filter(void **state)
{
	int ends[2];
	char got[512] = "";

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	LOG((&(struct log){ends[1], LOG_WARN}), LOG_INFO, "quiet", LOG_NUM("n", 1));
	assert_int_equal(read(ends[0], got, sizeof(got) - 1), -1);
	LOG((&(struct log){ends[1], LOG_WARN}), LOG_ERROR, "loud", LOG_NUM("n", 1));
	assert_true(read(ends[0], got, sizeof(got) - 1) > 0);
	assert_non_null(strstr(got, "\"level\":\"error\",\"msg\":\"loud\",\"n\":1}\n"));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_line_is_one_json_object),
	    cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
	    cmocka_unit_test(lines_are_bounded),
	    cmocka_unit_test(levels_filter),
	};

	return cmocka_run_group_tests_name("server/log", tests, NULL, NULL);
}
