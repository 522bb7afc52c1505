#ifndef SB_PROFILER_READ_DATABASE_H
#define SB_PROFILER_READ_DATABASE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/read/reader.h"

/* Databases that profilers export (SQLite), read as what they are: files from strangers. Opened immutable
 * through a read-only VFS of our own that sees the bytes of the upload and nothing else of the disk, with
 * trusted_schema off, every SQLite limit small, an authorizer that lets only SELECTs over plain tables pass,
 * and a bound on the work of all queries of one database (database_impl.h). A sort or a join that outgrows
 * the cache of a few MiB goes to unnamed temporary files, which are bounded, too.
 * Exports have no indexes: read each table once, in its own order, and join in memory. */

struct database;
/* Opens the database in the stream (borrowed): where its bytes lie in a file as they are it is read from
 * there, else it is written to an unnamed temporary file first, within the bounds of the upload. SB_EFORMAT
 * "bad_database" (damaged, encrypted, a schema that is refused), SB_ELIMIT, SB_EIO, SB_ENOSPC, SB_ENOMEM. */
int database_open(struct read_context *ctx, struct stream *in, struct database **out, struct sb_error *err);
void database_close(struct database **db);
#define DATABASE_AUTO __attribute__((cleanup(database_close))) struct database *
/* The path of the upload that it was opened from. */
const char *database_path(const struct database *db);
/* Is there a plain table (no view, no virtual table) of this name? Case matters not. */
bool database_has(struct database *db, const char *table);
/* Has the table a stored column of this name? False when there is no such table. */
bool database_has_column(struct database *db, const char *table, const char *column);
/* The first of several columns that the table has, or NULL; the list ends with NULL. For renamed columns. */
const char *database_column_any(struct database *db, const char *table, const char *const *columns);

struct database_rows;
/* Starts a query: one SELECT, written by us, over stored columns of plain tables; no WITH; of functions only
 * count(1) (count(*) cannot be stopped and is refused), sum, total, avg, min, max, coalesce, ifnull, nullif,
 * abs, length, substr and instr. format is printf-like (table and column names from the lists
 * above only; quote them with %w as sqlite3_mprintf does). SB_EFORMAT "bad_database" naming table or column
 * that is missing. */
int database_query(struct database *db, struct database_rows **out, struct sb_error *err, const char *format,
                   ...);
void database_rows_free(struct database_rows **r);
#define DATABASE_ROWS_AUTO __attribute__((cleanup(database_rows_free))) struct database_rows *
/* The next row; false in *out_more at the end. SB_EFORMAT "bad_database", SB_ELIMIT (too much work),
 * SB_ECANCELED, SB_ENOMEM. */
int database_next(struct database_rows *r, bool *out_more, struct sb_error *err);
/* The number of the present row among those of the query, from 1. */
int64_t database_row(const struct database_rows *r);
/* Column i of the present row as an integer: also of a text that holds one ("1736408883704643212"); a real
 * number only when it is whole. Everything else, NULL included, is SB_NULL. */
int64_t database_int(const struct database_rows *r, int i);
/* … as a double, NaN when it is none. */
double database_double(const struct database_rows *r, int i);
/* … as text: borrowed until the next row, NUL-terminated, "" for NULL. Blobs are "". */
const char *database_text(const struct database_rows *r, int i, size_t *out_len);

/* The table of databases that are read: one file and one row each (read/database_formats.c). */
struct database_format {
	/* Is this database mine? 0 = no; larger wins. */
	int (*recognise)(struct database *db);
	/* Reads it into one or more captures of ctx. As format_reader.read. */
	int (*read)(struct read_context *ctx, struct database *db, struct sb_error *err);
};
extern const struct database_format *const DATABASE_FORMATS[]; /* ends with NULL */
extern const struct database_format NSYS_DATABASE;
#endif
