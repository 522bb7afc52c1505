#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "profiler/read/database_impl.h"

#define NAME_MAX_BYTES 1000

/* Names differ from each other by more than the case of their ASCII letters, as in SQLite. The length of the
 * table's name keeps "a" with column "b:c" apart from "a:b" with column "c". 0: too long to be ours. */
static size_t key(const char *table, const char *column, char *out, size_t size)
{
	int n = snprintf(out, size, "%zu:%s:%s", strlen(table), table, column ? column : "");

	if (n < 0 || (size_t)n >= size)
		return 0;
	for (int i = 0; i < n; i++) {
		if (out[i] >= 'A' && out[i] <= 'Z')
			out[i] = (char)(out[i] - 'A' + 'a');
	}
	return (size_t)n;
}

bool database_knows(const struct database *db, const char *table, const char *column)
{
	char text[NAME_MAX_BYTES];
	size_t n = key(table, column, text, sizeof(text));

	return n > 0 && sb_strings_find(db->names, text, n) != 0;
}

int database_learn(struct database *db, const char *table, const char *column)
{
	char text[NAME_MAX_BYTES];
	size_t n = key(table, column, text, sizeof(text));
	uint32_t id;

	return n > 0 ? sb_strings_add(db->names, text, n, &id) : SB_OK;
}

int database_fail(struct database *db, int rc, struct sb_error *err)
{
	const char *text = db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc);

	if (db->fault.code != SB_OK) {
		if (err)
			*err = db->fault;
		return db->fault.code;
	}
	switch (rc & 0xff) {
	case SQLITE_NOMEM: return sb_no_memory(err);
	case SQLITE_FULL:
		return sb_fail_at(err, SB_ENOSPC, "no_space", db->path, 0, -1,
		                  "there is no room left for temporary files");
	case SQLITE_NOTADB: text = "it is damaged or encrypted"; break;
	case SQLITE_CORRUPT:
		if (strcmp(text, sqlite3_errstr(SQLITE_CORRUPT)) == 0)
			text = "it is damaged";
		break;
	case SQLITE_TOOBIG: text = "a row or a statement of its schema is too long"; break;
	default: break;
	}
	return sb_fail_at(err, SB_EFORMAT, "bad_database", db->path, 0, -1, "the database cannot be read: %s",
	                  text);
}

bool database_has(struct database *db, const char *table)
{
	return database_knows(db, table, NULL);
}

bool database_has_column(struct database *db, const char *table, const char *column)
{
	return column[0] != '\0' && database_knows(db, table, column);
}

const char *database_column_any(struct database *db, const char *table, const char *const *columns)
{
	for (; *columns; columns++) {
		if (database_has_column(db, table, *columns))
			return *columns;
	}
	return NULL;
}

static int prepare(struct database *db, struct database_rows *r, const char *text, struct sb_error *err)
{
	int rc;

	/* SQLite counts the rows of a table in one operation, which nothing can stop */
	if (strcasestr(text, "count(*)"))
		return sb_fail(err, SB_EINVAL, "bad_query", "count(1) must be used instead of count(*)");
	rc = sqlite3_prepare_v2(db->sql, text, -1, &r->statement, NULL);
	if (rc != SQLITE_OK)
		return database_fail(db, rc, err);
	return r->statement ? SB_OK : sb_fail(err, SB_EINVAL, "bad_query", "the query is empty");
}

int database_query(struct database *db, struct database_rows **out, struct sb_error *err, const char *format,
                   ...)
{
	struct database_rows *r = calloc(1, sizeof(*r));
	char *text;
	va_list args;
	int rc;

	if (!r)
		return sb_no_memory(err);
	va_start(args, format);
	text = sqlite3_vmprintf(format, args);
	va_end(args);
	r->db = db;
	db->text_left = DATABASE_TEXT_FREE + db->bytes.length * DATABASE_TEXT_PER_BYTE;
	r->limit = DATABASE_ROWS_FREE + db->bytes.length / DATABASE_BYTES_PER_ROW;
	rc = text ? prepare(db, r, text, err) : sb_no_memory(err);
	sqlite3_free(text);
	if (rc == SB_OK)
		*out = r;
	else
		database_rows_free(&r);
	return rc;
}

void database_rows_free(struct database_rows **r)
{
	if (!*r)
		return;
	sqlite3_finalize((*r)->statement);
	free(*r);
	*r = NULL;
}

int database_next(struct database_rows *r, bool *out_more, struct sb_error *err)
{
	int rc;

	if (r->db->text_left < 0)
		return sb_fail_at(err, SB_ELIMIT, "too_much_work", r->db->path, 0, -1,
		                  "a table of the database has longer texts than its bytes can hold");
	rc = sqlite3_step(r->statement);
	if (rc == SQLITE_DONE) {
		*out_more = false;
		return SB_OK;
	}
	if (rc != SQLITE_ROW)
		return database_fail(r->db, rc, err);
	if (++r->count > r->limit)
		return sb_fail_at(err, SB_ELIMIT, "too_much_work", r->db->path, 0, -1,
		                  "a table of the database has more rows than its bytes can hold");
	*out_more = true;
	return SB_OK;
}

int64_t database_row(const struct database_rows *r)
{
	return r->count;
}

int64_t database_int(const struct database_rows *r, int i)
{
	int64_t v;
	double d;

	switch (sqlite3_column_type(r->statement, i)) {
	case SQLITE_INTEGER: return sqlite3_column_int64(r->statement, i);
	case SQLITE_FLOAT:
		d = sqlite3_column_double(r->statement, i);
		/* 2^63 does not fit, and -2^63 is null */
		return fabs(d) < 9223372036854775808.0 && trunc(d) == d ? (int64_t)d : SB_NULL;
	case SQLITE_TEXT: {
		size_t len;
		const char *text = database_text(r, i, &len);

		sb_trim(&text, &len);
		return sb_parse_int(text, len, &v) == SB_OK ? v : SB_NULL;
	}
	default: return SB_NULL;
	}
}

double database_double(const struct database_rows *r, int i)
{
	double v;

	switch (sqlite3_column_type(r->statement, i)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT: return sqlite3_column_double(r->statement, i);
	case SQLITE_TEXT: {
		size_t len;
		const char *text = database_text(r, i, &len);

		return sb_parse_double(text, len, &v) == SB_OK ? v : NAN;
	}
	default: return NAN;
	}
}

const char *database_text(const struct database_rows *r, int i, size_t *out_len)
{
	const char *text = NULL;
	size_t len;

	if (sqlite3_column_type(r->statement, i) != SQLITE_BLOB)
		text = (const char *)sqlite3_column_text(r->statement, i);
	len = text ? (size_t)sqlite3_column_bytes(r->statement, i) : 0;
	r->db->text_left -= (int64_t)len;
	if (out_len)
		*out_len = len;
	return text ? text : "";
}
