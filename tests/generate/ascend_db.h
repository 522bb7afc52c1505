#ifndef SB_TESTS_GENERATE_ASCEND_DB_H
#define SB_TESTS_GENERATE_ASCEND_DB_H
#include "tests/generate/ascend.h"
#include <sqlite3.h>

/* One database while it is written. Any failure ends the program. */
struct ascend_db {
	sqlite3 *sql;
	const struct ascend_options *o;
	const struct ascend_rank *r;
	struct ascend_texts {
		struct ascend_text {
			char *text; /* owned */
			int64_t id;
		} * slots;
		int64_t size, count;
	} texts;
	int64_t tasks; /* globalTaskId given out */
};

/* Opens a new database in ASCEND_PROFILER_OUTPUT, within one transaction. */
void ascend_db_open(struct ascend_db *db, const struct ascend_options *o, const struct ascend_rank *r,
                    const char *name);
/* Ends the transaction, sets the mode of the journal in the file to WAL as the exporter leaves it, closes. */
void ascend_db_close(struct ascend_db *db);
void ascend_db_run(struct ascend_db *db, const char *sql);
/* A statement for many rows; values are bound by ascend_db_row() by the letters of format: i int64_t, d
 * double, t text, T int64_t as text, s text by its number in STRING_IDS, n NULL. */
sqlite3_stmt *ascend_db_insert(struct ascend_db *db, const char *sql);
void ascend_db_row(struct ascend_db *db, sqlite3_stmt *s, const char *format, ...);
/* The number of a text in STRING_IDS. */
int64_t ascend_db_text(struct ascend_db *db, const char *text);

void ascend_db_device(struct ascend_db *db);
void ascend_db_host(struct ascend_db *db);
void ascend_db_analysis(const struct ascend_options *o, const struct ascend_rank *r);
#endif
