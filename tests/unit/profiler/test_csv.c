#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/csv.h"

/* Every text is read whole and in blocks of one byte: where blocks are cut must not matter. */
static const size_t BLOCKS[] = {0, 1, 3};
#define BLOCK_COUNT (sizeof(BLOCKS) / sizeof(BLOCKS[0]))

static void expect_field(const struct csv *c, size_t i, const char *want)
{
	size_t len;
	const char *text = csv_field(c, i, &len);

	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

/* Records are separated by '|' and fields by ';' in `want`. */
static void expect_records(const char *text, const char *want)
{
	for (size_t b = 0; b < BLOCK_COUNT; b++) {
		struct memory_stream m;
		CSV_AUTO c = NULL;
		struct sb_error err;
		const char *w = want;
		bool more;

		memory_stream_init(&m, "t.csv", text, strlen(text), BLOCKS[b]);
		assert_int_equal(csv_new(&m.base, &c), SB_OK);
		while (*w) {
			size_t i = 0;

			assert_int_equal(csv_next(c, &more, &err), SB_OK);
			assert_true(more);
			do {
				char field[128] = "";
				size_t n = strcspn(w, ";|");

				memcpy(field, w, n);
				expect_field(c, i++, field);
				w += n;
			} while (*w++ == ';');
			assert_int_equal(csv_count(c), i);
			if (w[-1] == '\0')
				w--;
		}
		assert_int_equal(csv_next(c, &more, &err), SB_OK);
		assert_false(more);
		assert_int_equal(csv_next(c, &more, &err), SB_OK);
		assert_false(more);
	}
}

static void line_ends_are_found_per_file(void **state)
{
	(void)state;
	expect_records("a,b\n1,2\n", "a;b|1;2");
	expect_records("a,b\r\n1,2\r\n", "a;b|1;2");
	expect_records("a,b\r1,2\r", "a;b|1;2");
	expect_records("a,b\r1,2\r3,4\r", "a;b|1;2|3;4");
	expect_records("a,b\n1,2", "a;b|1;2");
	expect_records("a,b\r\n1,2\r", "a;b|1;2");
	/* a stray CR inside a field of an LF file is data */
	expect_records("a,b\n1\r2,3\n", "a;b|1\r2;3");
}

static void empty_lines_are_skipped_and_empty_fields_kept(void **state)
{
	(void)state;
	expect_records("\n\na,,c\n\n,,\n\n", "a;;c|;;");
	expect_records("", "");
	expect_records("\r\n\r\n", "");
}

static void quoted_fields_hold_commas_quotes_and_lines(void **state)
{
	(void)state;
	expect_records("\"a,b\",c\n", "a,b;c");
	expect_records("\"x\r\ny\nz\",c\r\n", "x\r\ny\nz;c");
	/* the shapes of Ascend files: the value itself begins and ends with a quote */
	expect_records("\"\"\"32,3,224,224\"\"\",FLOAT\n", "\"32,3,224,224\";FLOAT");
	expect_records("\"1736413971558972.912\t\",1\n", "1736413971558972.912\t;1");
	expect_records("\"a\" ,b\n", "a ;b");
	expect_records("x\"y,z\n", "x\"y;z");
	expect_records("\"\",\"\"\n", ";");
}

/* Longer than the steps of the fast path, with what it must leave to the slow one at every place in a step.
 */
static void long_records_are_read_in_steps(void **state)
{
	static const char *const middles[] = {
	    ",", ",,,", "\"", ",\"q,\n\"\"\",", ",\"\"\"1,2\"\"\",", "\r", ",\"a\" b,", ",\"\","};
	static const char *const fields[] = {";", ";;;", "\"", ";q,\n\";", ";\"1,2\";", "\r", ";a b;", ";;"};

	(void)state;
	for (size_t i = 0; i < sizeof(middles) / sizeof(middles[0]); i++) {
		for (int n = 1; n < 40; n++) {
			char text[256], want[256];

			(void)snprintf(text, sizeof(text), "h\n%0*d%s%030d,x\n%020d\n", n, 5, middles[i], 6,
			               7);
			(void)snprintf(want, sizeof(want), "h|%0*d%s%030d;x|%020d", n, 5, fields[i], 6, 7);
			expect_records(text, want);
		}
	}
}

static void byte_order_mark_is_skipped(void **state)
{
	(void)state;
	expect_records("\xEF\xBB\xBF\"a,b\",c\n", "a,b;c");
	expect_records("\xEF\xBB\xBF"
	               "a,c\n",
	               "a;c");
	/* not a whole mark */
	expect_records("\xEF\xBB"
	               "a,c\n",
	               "\xEF\xBB"
	               "a;c");
}

static void lines_count_quoted_breaks(void **state)
{
	struct memory_stream m;
	CSV_AUTO c = NULL;
	const char *text = "h\n\"1\n2\n3\"\n\nx\n";
	bool more;

	(void)state;
	memory_stream_init(&m, "t.csv", text, strlen(text), 2);
	assert_int_equal(csv_new(&m.base, &c), SB_OK);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_true(csv_line(c) == 1);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_true(csv_line(c) == 2);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_true(more);
	assert_true(csv_line(c) == 6);
}

static void a_cut_inside_quotes_is_told(void **state)
{
	struct memory_stream m;
	CSV_AUTO c = NULL;
	struct sb_error err = {0};
	const char *text = "a,b\n1,\"2";
	bool more;

	(void)state;
	memory_stream_init(&m, "dir/t.csv", text, strlen(text), 0);
	assert_int_equal(csv_new(&m.base, &c), SB_OK);
	assert_int_equal(csv_next(c, &more, &err), SB_OK);
	assert_int_equal(csv_next(c, &more, &err), SB_EFORMAT);
	assert_string_equal(err.word, "truncated");
	assert_string_equal(err.file, "dir/t.csv");
	assert_true(err.line == 2);
	assert_int_equal(csv_count(c), 0);
}

static void records_are_bounded(void **state)
{
	size_t len = CSV_RECORD_MAX + 10;
	char *text = malloc(len);
	struct memory_stream m;
	struct sb_error err = {0};
	bool more;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	for (int many = 0; many < 2; many++) {
		CSV_AUTO c = NULL;

		memory_stream_init(&m, "t.csv", text, len, 65536);
		assert_int_equal(csv_new(&m.base, &c), SB_OK);
		assert_int_equal(csv_next(c, &more, &err), SB_ELIMIT);
		assert_string_equal(err.word, "record_too_large");
		assert_true(err.line == 1);
		memset(text, ',', CSV_FIELDS_MAX + 1);
	}
	free(text);
}

static void columns_and_numbers(void **state)
{
	static const char *const either[] = {"Block Num", "Block Dim", NULL};
	const char *text = "Start Time(us), Block Dim ,Rate\n1736408883704643.212\t, 32 , 0.5\nN/A,,x\n";
	struct memory_stream m;
	CSV_AUTO c = NULL;
	int64_t v = 7;
	double d = 7;
	bool more;

	(void)state;
	memory_stream_init(&m, "t.csv", text, strlen(text), 0);
	assert_int_equal(csv_new(&m.base, &c), SB_OK);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_int_equal(csv_header(c), SB_OK);
	assert_int_equal(csv_column(c, "Rate"), 2);
	assert_int_equal(csv_column(c, "rate"), -1);
	assert_int_equal(csv_column_any(c, either), 1);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_int_equal(csv_us(c, 0, &v), SB_OK);
	assert_true(v == INT64_C(1736408883704643212));
	assert_int_equal(csv_int(c, 1, &v), SB_OK);
	assert_true(v == 32);
	assert_int_equal(csv_double(c, 2, &d), SB_OK);
	assert_true(d == 0.5);
	assert_int_equal(csv_next(c, &more, NULL), SB_OK);
	assert_int_equal(csv_us(c, 0, &v), SB_ENOENT);
	assert_int_equal(csv_int(c, 1, &v), SB_ENOENT);
	assert_int_equal(csv_double(c, 2, &d), SB_EINVAL);
	assert_int_equal(csv_int(c, -1, &v), SB_ENOENT);
	assert_int_equal(csv_int(c, 99, &v), SB_ENOENT);
	assert_true(v == 32 && d == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(line_ends_are_found_per_file),
	    cmocka_unit_test(empty_lines_are_skipped_and_empty_fields_kept),
	    cmocka_unit_test(quoted_fields_hold_commas_quotes_and_lines),
	    cmocka_unit_test(long_records_are_read_in_steps),
	    cmocka_unit_test(byte_order_mark_is_skipped),
	    cmocka_unit_test(lines_count_quoted_breaks),
	    cmocka_unit_test(a_cut_inside_quotes_is_told),
	    cmocka_unit_test(records_are_bounded),
	    cmocka_unit_test(columns_and_numbers),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
