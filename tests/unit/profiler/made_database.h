#ifndef SB_TESTS_UNIT_PROFILER_MADE_DATABASE_H
#define SB_TESTS_UNIT_PROFILER_MADE_DATABASE_H
#include <sqlite3.h>
#include <stdio.h>

#include "profiler/read/database.h"
#include "tests/unit/profiler/made_archive.h"

/* Databases made in memory for the tests. Every failure here is a fault of the test. */

static inline void made_sql(sqlite3 *db, const char *sql)
{
	char *text = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, text);
		abort();
	}
}

/* Closes the database and hands its bytes out. */
static inline struct made made_taken(sqlite3 *db)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
	struct made out = {0};
	FILE *f = open_memstream(&out.data, &out.len);

	made_check(bytes != NULL && f != NULL);
	made_check(fwrite(bytes, 1, (size_t)size, f) == (size_t)size && fclose(f) == 0);
	sqlite3_free(bytes);
	sqlite3_close(db);
	return out;
}

/* The bytes of a database that statements have filled, and then `row`, one INSERT whose parameter ?1 counts
 * from 0 on (NULL with 0: none). */
static inline struct made made_rows(const char *sql, const char *row, int64_t count)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	made_check(sqlite3_open(":memory:", &db) == SQLITE_OK);
	made_sql(db, sql);
	made_sql(db, "BEGIN");
	for (int64_t i = 0; i < count; i++) {
		if (!s)
			made_check(sqlite3_prepare_v2(db, row, -1, &s, NULL) == SQLITE_OK);
		sqlite3_bind_int64(s, 1, i);
		made_check(sqlite3_step(s) == SQLITE_DONE);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	made_sql(db, "COMMIT");
	return made_taken(db);
}

static inline struct made made_database(const char *sql)
{
	return made_rows(sql, NULL, 0);
}

/* A database opened for a test, from a stream over its bytes. */
struct made_open {
	struct memory_stream stream;
	struct profile profile;
	struct read_context context;
	struct database *db;
	struct sb_error err;
};

static inline int made_open(struct made_open *o, const struct made *m)
{
	*o = (struct made_open){0};
	memory_stream_init(&o->stream, "made.db", m->data, m->len, 1000);
	o->context.profile = &o->profile;
	return database_open(&o->context, &o->stream.base, &o->db, &o->err);
}

static inline void made_close(struct made_open *o)
{
	database_close(&o->db);
	profile_free(&o->profile);
}
#define MADE_OPEN_AUTO __attribute__((cleanup(made_close))) struct made_open

/* Runs a query to its end. */
static inline int made_run(struct made_open *o, const char *sql)
{
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = database_query(o->db, &r, &o->err, "%s", sql);

	while (rc == SB_OK && more)
		rc = database_next(r, &more, &o->err);
	return rc;
}

/* The first cell of the first row. */
static inline int64_t made_int(struct made_open *o, const char *sql)
{
	DATABASE_ROWS_AUTO r = NULL;
	bool more = false;

	made_check(database_query(o->db, &r, &o->err, "%s", sql) == SB_OK);
	made_check(database_next(r, &more, &o->err) == SB_OK && more);
	return database_int(r, 0);
}

/* How many rows a table has, -1 when they cannot be counted. */
static inline int64_t made_count(struct database *db, const char *table)
{
	DATABASE_ROWS_AUTO r = NULL;
	bool more = false;

	if (database_query(db, &r, NULL, "SELECT count(1) FROM \"%w\"", table) != SB_OK ||
	    database_next(r, &more, NULL) != SB_OK || !more)
		return -1;
	return database_int(r, 0);
}
#endif
