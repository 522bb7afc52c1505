#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

#define TRACE "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2}]"

static void unknown_databases_are_named(void **state)
{
	static const struct {
		const char *sql, *want;
	} CASES[] = {
	    {"CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start, end)", "nvprof"},
	    {"CREATE TABLE android_metadata (locale)", "application"},
	    {"CREATE TABLE x (i)", "SQLite"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		MADE_AUTO db = made_database(CASES[i].sql);
		const struct text_file alone = {"a.db", db.data, db.len};
		const struct text_file beside[] = {alone, {"t.json", TRACE, 0}};
		PROFILE_AUTO p = {0};
		struct sb_error err;

		assert_int_equal(read_texts(&alone, 1, &p, &err), SB_EFORMAT);
		assert_string_equal(err.word, "unknown_format");
		assert_string_equal(err.file, "a.db");
		assert_non_null(strstr(err.text, CASES[i].want));
		assert_int_equal(read_texts(beside, 2, &p, &err), SB_OK);
		assert_int_equal(p.left_out_count, 1);
		assert_string_equal(p.left_out[0].file, "a.db");
		assert_non_null(strstr(p.left_out[0].reason, CASES[i].want));
		assert_int_equal(p.warnings.count, 0);
	}
}

static void a_broken_database_does_not_stop_the_others(void **state)
{
	MADE_AUTO db = made_database("CREATE TABLE x (i)");
	const struct text_file files[] = {{"a.db", db.data, db.len - 1}, {"t.json", TRACE, 0}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 1, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "truncated");
	assert_int_equal(read_texts(files, 2, &p, &err), SB_OK);
	assert_non_null(warning_of(&p, "truncated"));
}

/* Which rows a cut database has lost cannot be told: it is refused wherever it ends. */
static void a_cut_database_is_told(void **state)
{
	MADE_AUTO db =
	    made_rows("CREATE TABLE StringIds (id, value); CREATE TABLE NVTX_EVENTS (start, end, eventType, "
	              "text);",
	              "INSERT INTO NVTX_EVENTS VALUES (?1, ?1 + 1, 59, 'range')", 5000);

	(void)state;
	for (size_t i = 1; i <= 100; i++) {
		const struct text_file file = {"a.db", db.data, db.len * i / 101};
		PROFILE_AUTO p = {0};
		struct sb_error err;

		assert_int_equal(read_texts(&file, 1, &p, &err), SB_EFORMAT);
		assert_string_equal(err.word, "truncated");
		assert_int_equal(err.offset, file.len);
	}
}

/* The magics of the file format: https://www.sqlite.org/fileformat2.html, 3 and 4.1. */
static void logs_of_databases_are_left_out(void **state)
{
	const struct text_file files[] = {{"a.db-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0\0\0\1", 12},
	                                  {"a.db-wal", "\x37\x7f\x06\x82\0\x2d\xe2\x18\0\0\x10\0", 12},
	                                  {"b.db-wal", "\x37\x7f\x06\x83\0\x2d\xe2\x18\0\0\x10\0", 12},
	                                  {"t.json", TRACE, 0}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 4, &p, &err), SB_OK);
	assert_int_equal(p.left_out_count, 3);
	assert_int_equal(p.warnings.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(p.left_out[i].file, files[i].path);
		assert_string_equal(p.warnings.items[i].code, "database_log");
		assert_string_equal(p.warnings.items[i].file, files[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unknown_databases_are_named),
	    cmocka_unit_test(a_broken_database_does_not_stop_the_others),
	    cmocka_unit_test(a_cut_database_is_told),
	    cmocka_unit_test(logs_of_databases_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
