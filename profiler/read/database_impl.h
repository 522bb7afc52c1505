#ifndef SB_PROFILER_READ_DATABASE_IMPL_H
#define SB_PROFILER_READ_DATABASE_IMPL_H
#include <sqlite3.h>

#include "base/strings.h"
#include "profiler/read/database.h"

/* The parts of the database layer. */

/* A schema is a few hundred KiB in the largest export known. SQLite keeps it parsed in memory, so its bytes
 * and its tables are bounded. */
#define DATABASE_SCHEMA_BYTES (INT64_C(8) << 20)
#define DATABASE_TABLES 10000
/* The longest row or text, and the longest statement of a schema. */
#define DATABASE_ROW_BYTES (16 << 20)
#define DATABASE_SQL_BYTES (1 << 20)
/* Pages that are kept, and what a sort or a join holds in memory before it goes to a temporary file. */
#define DATABASE_CACHE_KIB 4096
/* Work is counted in operations of SQLite's machine and in each 32 bytes of pages looked at, over all queries
 * of one database. A scan of every column of every table costs less than one operation a byte, so this leaves
 * room for a few joins, and ends a query whose work grows beyond the size of the file. Pages count by their
 * size because rows of a made-up file may all end in one long chain of pages. */
#define DATABASE_WORK_FREE INT64_C(100000000)
#define DATABASE_WORK_PER_BYTE 8
#define DATABASE_BYTES_PER_WORK 32
/* What parsing the schema may look at, pages that are kept in memory included: each text in it is copied. */
#define DATABASE_SCHEMA_LOOKED (4 * DATABASE_SCHEMA_BYTES)
/* The smallest row takes more than four bytes: a query that yields more reads pages over and over. */
#define DATABASE_ROWS_FREE 1000
#define DATABASE_BYTES_PER_ROW 4
/* Texts that one query hands out: each stands in the file once. UTF-16 grows by half, and a reader may ask
 * for a cell twice. */
#define DATABASE_TEXT_FREE (INT64_C(1) << 20)
#define DATABASE_TEXT_PER_BYTE 4
/* Temporary files of sorts and joins, all together: as large as four copies of the database. */
#define DATABASE_TEMP_FREE (INT64_C(64) << 20)
#define DATABASE_TEMP_PER_BYTE 4

struct database {
	sqlite3 *sql;
	sqlite3_vfs vfs;
	char vfs_name[40];
	const char *path;
	struct stream *in;
	const struct read_hooks *hooks;
	struct extent bytes;
	int spool; /* the temporary file that holds the bytes, or -1 */
	bool main_open;
	bool opening; /* our own first look: what the guard lets pass then */
	int64_t page_bytes;
	int64_t schema_left;      /* bytes that may still be read while opening */
	int64_t looked_left;      /* bytes that may still be looked at while the schema is parsed */
	bool parsing;             /* the schema is not known yet */
	int64_t told;             /* bytes told to the stream */
	int64_t work, work_limit; /* see above */
	unsigned calls;
	int64_t temp, temp_limit;
	int64_t text_left;        /* bytes of texts that the query begun last may still hand out */
	struct sb_strings *names; /* plain tables and their stored columns */
	struct sb_error fault;    /* why we stopped SQLite, SB_OK while we did not */
};

struct database_rows {
	struct database *db;
	sqlite3_stmt *statement;
	int64_t count, limit;
};

/* An unnamed file in the directory for temporary files ($TMPDIR, else /tmp): nothing is left of it when it is
 * closed, however the process ends. SB_EIO. */
int database_temp_file(int *out_fd, struct sb_error *err);
/* Finds out where the bytes lie; without an extent they are written to a temporary file first. */
int database_locate(struct database *db, struct sb_error *err);
/* Fills db->vfs: a file system that holds the one database and temporary files without names. */
void database_vfs_init(struct database *db);
/* Puts the guards around the connection: authorizer and bound on the work. */
void database_guard(struct database *db);
/* Keeps the first reason why SQLite was stopped. */
void database_stop(struct database *db, const struct sb_error *why);
/* Turns a result code of SQLite into an error. */
int database_fail(struct database *db, int rc, struct sb_error *err);
/* Is the table, or with a column that column of it, in the catalog? */
bool database_knows(const struct database *db, const char *table, const char *column);
/* Adds a table, or a column of it, to the catalog. SB_ENOMEM, SB_ELIMIT. */
int database_learn(struct database *db, const char *table, const char *column);
#endif
