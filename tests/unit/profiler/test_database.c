#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

static const char TASKS[] = "CREATE TABLE TASK (startNs INTEGER, name TEXT, \"odd \"\"name\" REAL);"
                            "INSERT INTO TASK VALUES (5, 'a', 1.5), (NULL, 'b', NULL);";

static void names_are_found(void **state)
{
	MADE_AUTO m = made_database(TASKS);
	MADE_OPEN_AUTO o;
	const char *const newer[] = {"blockNum", "STARTNS", "name", NULL}, *const none[] = {"x", NULL};

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_string_equal(database_path(o.db), "made.db");
	assert_true(database_has(o.db, "TASK"));
	assert_true(database_has(o.db, "task"));
	assert_false(database_has(o.db, "TAS"));
	assert_false(database_has(o.db, "sqlite_schema"));
	assert_true(database_has_column(o.db, "TASK", "odd \"name"));
	assert_false(database_has_column(o.db, "TASK", "rowid"));
	assert_false(database_has_column(o.db, "TASK", ""));
	assert_false(database_has_column(o.db, "OTHER", "name"));
	assert_string_equal(database_column_any(o.db, "TASK", newer), "STARTNS");
	assert_null(database_column_any(o.db, "TASK", none));
	assert_int_equal(made_count(o.db, "TASK"), 2);
}

static void cells_are_converted(void **state)
{
	MADE_AUTO m = made_database(
	    "CREATE TABLE T (i);"
	    "INSERT INTO T VALUES (7), (-9223372036854775808), ('1736408883704643212'), (' 12 '), ('x'),"
	    "(3.0), (3.5), (1e300), (NULL), (x'0102'), ('9223372036854775808'), ('2.5');");
	const int64_t ints[] = {
	    7,       SB_NULL, 1736408883704643212, 12, SB_NULL, 3, SB_NULL, SB_NULL, SB_NULL, SB_NULL,
	    SB_NULL, SB_NULL};
	const double doubles[] = {7,      -0x1p63, 1736408883704643212.0, 12, NAN, 3, 3.5, 1e300, NAN, NAN,
	                          0x1p63, 2.5};
	const char *const texts[] = {"7",
	                             "-9223372036854775808",
	                             "1736408883704643212",
	                             " 12 ",
	                             "x",
	                             "3.0",
	                             "3.5",
	                             "1.0e+300",
	                             "",
	                             "",
	                             "9223372036854775808",
	                             "2.5"};
	MADE_OPEN_AUTO o;
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(database_query(o.db, &r, &o.err, "SELECT i FROM T ORDER BY rowid"), SB_OK);
	for (size_t i = 0; i < 12; i++) {
		size_t len;
		double d;

		assert_int_equal(database_next(r, &more, &o.err), SB_OK);
		assert_true(more);
		assert_int_equal(database_int(r, 0), ints[i]);
		d = database_double(r, 0);
		assert_true(isnan(doubles[i]) ? isnan(d) : d == doubles[i]);
		assert_string_equal(database_text(r, 0, &len), texts[i]);
		assert_int_equal(len, strlen(texts[i]));
	}
	assert_int_equal(database_next(r, &more, &o.err), SB_OK);
	assert_false(more);
}

static void what_is_missing_is_named(void **state)
{
	MADE_AUTO m = made_database(TASKS);
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(made_run(&o, "SELECT endNs FROM TASK"), SB_EFORMAT);
	assert_string_equal(o.err.word, "bad_database");
	assert_non_null(strstr(o.err.text, "endNs"));
	assert_string_equal(o.err.file, "made.db");
	assert_int_equal(made_run(&o, "SELECT x FROM COMMUNICATION_OP"), SB_EFORMAT);
	assert_non_null(strstr(o.err.text, "COMMUNICATION_OP"));
	/* a double-quoted name that is no column is no text either */
	assert_int_equal(made_run(&o, "SELECT \"endNs\" FROM TASK"), SB_EFORMAT);
}

/* Statements that reach for more than the rows of a plain table. */
static void only_selects_of_plain_tables_pass(void **state)
{
	static const char *const REFUSED[] = {
	    "ATTACH '/etc/passwd' AS x",
	    "ATTACH ':memory:' AS x",
	    "VACUUM INTO '/tmp/signalbox-test-never'",
	    "INSERT INTO TASK VALUES (1, 'c', 2)",
	    "DELETE FROM TASK",
	    "UPDATE TASK SET startNs = 0",
	    "DROP TABLE TASK",
	    "CREATE TABLE X (i)",
	    "CREATE TEMP TABLE X (i)",
	    "PRAGMA page_count",
	    "PRAGMA writable_schema = ON",
	    "BEGIN",
	    "SELECT * FROM sqlite_schema",
	    "SELECT load_extension('x')",
	    "SELECT randomblob(1000000000)",
	    "SELECT zeroblob(1000000000)",
	    "SELECT hex(name) FROM TASK",
	    "SELECT name FROM pragma_table_info('TASK')",
	    "SELECT value FROM json_each('[1]')",
	    "SELECT * FROM dbstat",
	    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
	};
	MADE_AUTO m = made_database(TASKS);
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
		if (made_run(&o, REFUSED[i]) == SB_OK)
			fail_msg("%s was let pass", REFUSED[i]);
		assert_string_equal(o.err.word, "bad_database");
	}
	assert_int_equal(made_run(&o, "SELECT count(*) FROM TASK"), SB_EINVAL);
	assert_int_equal(made_run(&o, ""), SB_EINVAL);
	assert_int_equal(made_int(&o, "SELECT sum(startNs) + count(1) FROM TASK"), 7);
	assert_int_equal(made_int(&o, "SELECT max(rowid) FROM TASK"), 2);
}

/* A schema may call a view, a virtual table or a computed column by a name that is read. */
static void tables_that_are_none_are_not_there(void **state)
{
	MADE_AUTO m = made_database(
	    "CREATE TABLE BASE (i INTEGER, j INTEGER AS (i * 2), k INTEGER AS (i * 3) STORED);"
	    "INSERT INTO BASE VALUES (1);"
	    "CREATE VIEW TASK AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
	    "SELECT x AS startNs FROM c;"
	    "CREATE VIRTUAL TABLE CANN_API USING fts4(name);"
	    "CREATE TRIGGER t AFTER INSERT ON BASE BEGIN DELETE FROM BASE; END;");
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_true(database_has_column(o.db, "BASE", "i"));
	assert_false(database_has_column(o.db, "BASE", "j"));
	assert_false(database_has_column(o.db, "BASE", "k"));
	assert_false(database_has(o.db, "TASK"));
	assert_false(database_has_column(o.db, "TASK", "startNs"));
	assert_false(database_has(o.db, "CANN_API"));
	assert_int_equal(made_run(&o, "SELECT startNs FROM TASK"), SB_EFORMAT);
	assert_int_equal(made_run(&o, "SELECT name FROM CANN_API"), SB_EFORMAT);
	assert_int_equal(made_run(&o, "SELECT j FROM BASE"), SB_EFORMAT);
	assert_int_equal(made_run(&o, "SELECT * FROM BASE"), SB_EFORMAT);
	assert_int_equal(made_int(&o, "SELECT i FROM BASE"), 1);
}

/* A schema edited by hand, whose rows say one thing and whose statements another. */
static void a_forged_schema_reaches_nothing(void **state)
{
	static const char *const FORGED[] = {
	    "UPDATE sqlite_schema SET type = 'table', rootpage = 2 WHERE name = 'V'",
	    "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE BASE USING fts4(i)' WHERE name = 'BASE'",
	    "UPDATE sqlite_schema SET sql = 'CREATE TABLE V(i)' WHERE name = 'BASE'",
	    "UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'BASE'",
	    "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'BASE'",
	    "UPDATE sqlite_schema SET sql = NULL",
	    "UPDATE sqlite_schema SET sql = x'00ff', name = x'fe'",
	    "UPDATE sqlite_schema SET sql = 'CREATE TABLE BASE(i, CHECK(hex(1)))'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(FORGED) / sizeof(FORGED[0]); i++) {
		char sql[600];
		MADE_AUTO m = {0};
		MADE_OPEN_AUTO o;
		int rc;

		snprintf(sql, sizeof(sql),
		         "CREATE TABLE BASE (i); INSERT INTO BASE VALUES (1); CREATE VIEW V AS SELECT "
		         "randomblob(i) AS i FROM BASE; PRAGMA writable_schema = ON; %s",
		         FORGED[i]);
		m = made_database(sql);
		rc = made_open(&o, &m);
		if (rc == SB_OK)
			rc = made_run(&o, "SELECT i FROM V");
		assert_int_equal(rc, SB_EFORMAT);
		assert_string_equal(o.err.word, "bad_database");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_found),
	    cmocka_unit_test(cells_are_converted),
	    cmocka_unit_test(what_is_missing_is_named),
	    cmocka_unit_test(only_selects_of_plain_tables_pass),
	    cmocka_unit_test(tables_that_are_none_are_not_there),
	    cmocka_unit_test(a_forged_schema_reaches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
