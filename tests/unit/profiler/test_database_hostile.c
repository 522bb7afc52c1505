#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

static const char TASKS[] = "CREATE TABLE TASK (startNs INTEGER, name TEXT, \"odd \"\"name\" REAL);"
                            "INSERT INTO TASK VALUES (5, 'a', 1.5), (NULL, 'b', NULL);";

static void damaged_headers_are_told_apart(void **state)
{
	MADE_AUTO m = made_database(TASKS);
	MADE_OPEN_AUTO a, b, c, d;
	struct made cut = {.data = m.data, .len = m.len - 4096}, stub = {.data = m.data, .len = 60};

	(void)state;
	assert_int_equal(made_open(&a, &cut), SB_EFORMAT);
	assert_string_equal(a.err.word, "truncated");
	assert_int_equal(a.err.offset, 4096);
	assert_int_equal(made_open(&b, &stub), SB_EFORMAT);
	assert_string_equal(b.err.word, "truncated");
	/* a page count of 2^32-1 claims 16 TiB */
	memset(m.data + 28, 0xff, 4);
	assert_int_equal(made_open(&c, &m), SB_EFORMAT);
	assert_string_equal(c.err.word, "truncated");
	/* as sqlcipher and others leave it: the magic, and noise behind it */
	for (size_t i = 16; i < m.len; i++)
		m.data[i] = (char)(i * 2654435761u >> 13);
	assert_int_equal(made_open(&d, &m), SB_EFORMAT);
	assert_string_equal(d.err.word, "bad_database");
	assert_non_null(strstr(d.err.text, "encrypted"));
}

/* A database in WAL mode whose log is gone is read as it is, and nothing is written beside it. */
static void wal_mode_is_no_obstacle(void **state)
{
	MADE_AUTO m = made_database(TASKS);
	MADE_OPEN_AUTO o;

	(void)state;
	m.data[18] = m.data[19] = 2;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(made_count(o.db, "TASK"), 2);
}

static void an_empty_database_has_no_tables(void **state)
{
	MADE_AUTO m = made_database("CREATE TABLE X (i); DROP TABLE X;");
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_false(database_has(o.db, "X"));
}

static void two_thousand_columns_are_read(void **state)
{
	char *sql = malloc(40000);
	size_t n;
	MADE_AUTO m = {0};
	MADE_OPEN_AUTO o;

	(void)state;
	assert_non_null(sql);
	n = (size_t)snprintf(sql, 40000, "CREATE TABLE WIDE (c0");
	for (int i = 1; i < 2000; i++)
		n += (size_t)snprintf(sql + n, 40000 - n, ", c%d", i);
	snprintf(sql + n, 40000 - n, "); INSERT INTO WIDE (c1999) VALUES (42);");
	m = made_database(sql);
	free(sql);
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_true(database_has_column(o.db, "WIDE", "c1999"));
	assert_int_equal(made_int(&o, "SELECT c1999 FROM WIDE"), 42);
}

static void huge_cells_end_the_query_only(void **state)
{
	MADE_AUTO m = made_database("CREATE TABLE T (name, i);"
	                            "INSERT INTO T SELECT replace(hex(zeroblob(10000000)), '0', 'x'), 3;");
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(made_run(&o, "SELECT name FROM T"), SB_EFORMAT);
	assert_string_equal(o.err.word, "bad_database");
	assert_int_equal(made_int(&o, "SELECT i FROM T"), 3);
}

static void many_tables_are_refused(void **state)
{
	sqlite3 *db = NULL;
	MADE_AUTO m = {0};
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	made_sql(db, "CREATE TABLE A (i); PRAGMA writable_schema = ON; BEGIN;");
	for (int i = 0; i < 10001; i++) {
		char sql[200];

		snprintf(sql, sizeof(sql),
		         "INSERT INTO sqlite_schema VALUES ('table', 't%d', 't%d', 2, 'CREATE TABLE t%d(i)')",
		         i, i, i);
		made_sql(db, sql);
	}
	made_sql(db, "COMMIT");
	m = made_taken(db);
	assert_int_equal(made_open(&o, &m), SB_EFORMAT);
	assert_non_null(strstr(o.err.text, "tables"));
}

static void a_huge_schema_is_refused(void **state)
{
	MADE_AUTO m =
	    made_rows("CREATE TABLE A (i); PRAGMA writable_schema = ON;",
	              "INSERT INTO sqlite_schema VALUES ('table', 't' || ?1, 't' || ?1, 2, 'CREATE TABLE "
	              "t' || ?1 || '(i /*' || hex(zeroblob(50000)) || '*/)')",
	              100);
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_EFORMAT);
	assert_non_null(strstr(o.err.text, "schema"));
}

static bool give_up(void *self)
{
	return ++*(int *)self > 2;
}

static void a_query_can_be_canceled(void **state)
{
	MADE_AUTO m = made_rows("CREATE TABLE T (i)", "INSERT INTO T VALUES (?1)", 20000);
	MADE_OPEN_AUTO o;
	int asked = 0;
	struct read_hooks hooks = {.self = &asked, .canceled = give_up};

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	database_close(&o.db);
	memory_stream_init(&o.stream, "made.db", m.data, m.len, 0);
	o.context.hooks = &hooks;
	assert_int_equal(database_open(&o.context, &o.stream.base, &o.db, &o.err), SB_OK);
	assert_int_equal(made_run(&o, "SELECT i FROM T"), SB_ECANCELED);
}

/* 200,000,000 pairs out of a file of 140 KB. */
static void work_is_bounded(void **state)
{
	MADE_AUTO m = made_rows("CREATE TABLE T (i)", "INSERT INTO T VALUES (?1)", 14142);
	MADE_OPEN_AUTO o;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(made_run(&o, "SELECT sum(a.i * b.i) FROM T a, T b"), SB_ELIMIT);
	assert_string_equal(o.err.word, "too_much_work");
}

/* Sorts and joins spill into unnamed files, and come back right. */
static void large_joins_spill(void **state)
{
	MADE_AUTO m = made_rows("CREATE TABLE T (i, name TEXT)",
	                        "INSERT INTO T VALUES (?1, hex(zeroblob(40)) || ?1)", 200000);
	MADE_OPEN_AUTO o;
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int64_t at = 199999;

	(void)state;
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(made_int(&o, "SELECT count(1) FROM T a JOIN T b ON a.i = b.i"), 200000);
	assert_int_equal(database_query(o.db, &r, &o.err, "SELECT i, name FROM T ORDER BY i DESC"), SB_OK);
	while (database_next(r, &more, &o.err) == SB_OK && more)
		assert_int_equal(database_int(r, 0), at--);
	assert_int_equal(at, -1);
}

static uint32_t big_endian(const char *p, int bytes)
{
	uint32_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

/* Texts whose records keep the same few bytes beside their chain of pages, whichever of the two they are. */
#define SHORT_TEXT 17249
#define LONG_TEXT 965685

static void put_varint(char *at, uint32_t v)
{
	at[0] = (char)(0x80 | v >> 14);
	at[1] = (char)(0x80 | (v >> 7 & 0x7f));
	at[2] = (char)(v & 0x7f);
}

/* Makes the short texts of table T claim the length and the pages of the long one, which comes first. */
static size_t share_pages(char *data, size_t len)
{
	enum { LOCAL = 39, HEAD = 4 };
	char was[3], *chain = NULL;
	size_t changed = 0;

	put_varint(was, SHORT_TEXT + HEAD);
	for (size_t at = 512; at < len; at += 512) {
		for (uint32_t i = 0; data[at] == 13 && i < big_endian(data + at + 3, 2); i++) {
			char *cell = data + at + big_endian(data + at + 8 + (size_t)2 * i, 2);

			if (!chain) {
				chain = cell + 4 + LOCAL;
			} else if (memcmp(cell, was, 3) == 0) {
				put_varint(cell, LONG_TEXT + HEAD);
				put_varint(cell + 5, 2 * LONG_TEXT + 13);
				memcpy(cell + 4 + LOCAL, chain, 4);
				changed++;
			}
		}
	}
	return changed;
}

/* 96 MB of text out of a file of 2.7 MB. */
static void long_texts_cannot_share_their_pages(void **state)
{
	MADE_AUTO m = made_rows("PRAGMA page_size = 512; CREATE TABLE T (name TEXT);"
	                        "INSERT INTO T SELECT substr(hex(zeroblob(500000)), 1, 965685);",
	                        "INSERT INTO T SELECT substr(hex(zeroblob(9000)) || ?1, 1, 17249)", 100);
	MADE_OPEN_AUTO o;
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	size_t len, all = 0;
	int rc = SB_OK;

	(void)state;
	assert_int_equal(share_pages(m.data, m.len), 100);
	assert_int_equal(made_open(&o, &m), SB_OK);
	assert_int_equal(database_query(o.db, &r, &o.err, "SELECT name FROM T"), SB_OK);
	while (rc == SB_OK && more) {
		rc = database_next(r, &more, &o.err);
		if (rc == SB_OK && more)
			(void)database_text(r, 0, &len);
		all += rc == SB_OK && more ? len : 0;
	}
	assert_int_equal(rc, SB_ELIMIT);
	assert_string_equal(o.err.word, "too_much_work");
	assert_true(all > LONG_TEXT && all < 6 * m.len);
	/* the same where no row comes out: 20 GB to be compared */
	database_rows_free(&r);
	assert_int_equal(made_run(&o, "SELECT count(1) FROM T a, T b WHERE a.name < b.name"), SB_ELIMIT);
}

/* Makes all children of each interior page the same page. Returns how many were changed. */
static size_t tangle(char *data, size_t len, bool to_itself)
{
	size_t changed = 0;

	for (size_t at = 512; at < len; at += 512) {
		char *page = data + at;
		uint32_t to = to_itself ? (uint32_t)(at / 512) + 1 : big_endian(page + 8, 4);

		for (uint32_t i = 0; page[0] == 5 && i < big_endian(page + 3, 2); i++) {
			char *cell = page + big_endian(page + 12 + (size_t)2 * i, 2);

			for (int b = 0; b < 4; b++)
				cell[b] = (char)(to >> (24 - 8 * b));
			changed++;
		}
	}
	return changed;
}

/* The pages of a table lead back to themselves, or to one page over and over. */
static void cyclic_pages_end(void **state)
{
	static const bool TO_ITSELF[] = {true, false};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		MADE_AUTO m = made_rows("PRAGMA page_size = 512; CREATE TABLE T (i)",
		                        "INSERT INTO T VALUES (?1)", 60000);
		MADE_OPEN_AUTO o;
		int rc;

		assert_true(tangle(m.data, m.len, TO_ITSELF[k]) > 100);
		assert_int_equal(made_open(&o, &m), SB_OK);
		rc = made_run(&o, "SELECT i FROM T");
		assert_true(rc == SB_EFORMAT || (rc == SB_OK && !TO_ITSELF[k]));
	}
}

/* Whatever byte is wrong: an error or an answer, never a crash. */
static void flipped_bytes_do_no_harm(void **state)
{
	MADE_AUTO m = made_rows("PRAGMA page_size = 512; CREATE TABLE T (i INTEGER, name TEXT);"
	                        "CREATE INDEX x ON T (name); CREATE TABLE W (k PRIMARY KEY, v) WITHOUT ROWID;"
	                        "INSERT INTO W VALUES (1, 2);",
	                        "INSERT INTO T VALUES (?1, 'name ' || ?1 || hex(zeroblob(?1 * 3)))", 200);
	uint32_t seed = 1;
	int failed = 0;

	(void)state;
	for (int i = 0; i < 600; i++) {
		MADE_OPEN_AUTO o;
		size_t at[4];
		char old[4];
		int rc;

		for (int k = 0; k < 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			at[k] = (seed >> 4) % (i % 3 == 0 ? 1024 : m.len);
			old[k] = m.data[at[k]];
			m.data[at[k]] = (char)(seed >> 24);
		}
		rc = made_open(&o, &m);
		if (rc == SB_OK && database_has(o.db, "T"))
			rc = made_run(&o, "SELECT i, name FROM T ORDER BY name");
		if (rc == SB_OK && database_has(o.db, "W"))
			rc = made_run(&o, "SELECT k, v FROM W");
		if (rc != SB_OK) {
			assert_true(rc == SB_EFORMAT || rc == SB_ELIMIT);
			assert_true(o.err.word[0] != '\0');
			failed++;
		}
		for (int k = 3; k >= 0; k--)
			m.data[at[k]] = old[k];
	}
	assert_true(failed > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(damaged_headers_are_told_apart),
	    cmocka_unit_test(wal_mode_is_no_obstacle),
	    cmocka_unit_test(an_empty_database_has_no_tables),
	    cmocka_unit_test(two_thousand_columns_are_read),
	    cmocka_unit_test(huge_cells_end_the_query_only),
	    cmocka_unit_test(many_tables_are_refused),
	    cmocka_unit_test(a_huge_schema_is_refused),
	    cmocka_unit_test(a_query_can_be_canceled),
	    cmocka_unit_test(work_is_bounded),
	    cmocka_unit_test(large_joins_spill),
	    cmocka_unit_test(long_texts_cannot_share_their_pages),
	    cmocka_unit_test(cyclic_pages_end),
	    cmocka_unit_test(flipped_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
