#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/internal.h"

#define STATEMENTS_MAX 48
#define READ_SECONDS 2.0
#define PROGRESS_OPS 20000

struct conn {
	sqlite3 *db;
	enum conn_kind kind;
	double deadline; /* of the query at hand; 0 = none */
	size_t count;
	struct {
		const char *sql;
		sqlite3_stmt *stmt;
	} cache[STATEMENTS_MAX];
};

static const char WRITER_SETUP[] = "PRAGMA auto_vacuum=INCREMENTAL;"
                                   "PRAGMA synchronous=FULL;"
                                   "PRAGMA cache_size=-65536;"
                                   "PRAGMA secure_delete=OFF;";
static const char READER_SETUP[] = "PRAGMA cache_size=-8192;"
                                   "PRAGMA mmap_size=268435456;"
                                   "PRAGMA query_only=ON;";
static const char COMMON_SETUP[] = "PRAGMA foreign_keys=ON;"
                                   "PRAGMA trusted_schema=OFF;"
                                   "PRAGMA temp_store=MEMORY;"
                                   "PRAGMA wal_autocheckpoint=0;";

sqlite3 *conn_db(struct conn *c)
{
	return c->db;
}

static int fail_code(struct sb_error *err, int rc, int sys_errno, const char *text)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM: return sb_fail(err, SB_ENOMEM, "out_of_memory", "the database ran out of memory");
	case SQLITE_FULL:
		return sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory is full");
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return sb_fail(err, SB_EREADONLY, "read_only", "the database is read-only: %s", text);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return sb_fail(err, SB_EIO, "corrupt", "the database is damaged: %s", text);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_INTERRUPT:
		return sb_fail(err, SB_EBUSY, "busy", "the database did not answer in time: %s", text);
	case SQLITE_CONSTRAINT:
		return sb_fail(err, SB_ECONFLICT, "conflict", "the record was refused: %s", text);
	case SQLITE_TOOBIG: return sb_fail(err, SB_ELIMIT, "too_large", "the record is too large: %s", text);
	default: break;
	}
	if (sys_errno == ENOSPC || sys_errno == EDQUOT)
		return sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory is full");
	if (sys_errno == EROFS || sys_errno == EACCES)
		return sb_fail(err, SB_EREADONLY, "read_only", "the data directory is read-only");
	return sb_fail(err, SB_EIO, "database", "the database failed: %s", text);
}

int conn_fail(struct conn *c, struct sb_error *err)
{
	return fail_code(err, sqlite3_extended_errcode(c->db), sqlite3_system_errno(c->db),
	                 sqlite3_errmsg(c->db));
}

static int past_deadline(void *arg)
{
	const struct conn *c = arg;

	return c->deadline > 0 && now_seconds() > c->deadline;
}

int conn_exec(struct conn *c, const char *sql, struct sb_error *err)
{
	if (sqlite3_exec(c->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	return SB_OK;
}

int conn_int(struct conn *c, const char *sql, int64_t *out, struct sb_error *err)
{
	sqlite3_stmt *st;
	int rc = SB_OK;

	if (sqlite3_prepare_v2(c->db, sql, -1, &st, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	if (sqlite3_step(st) == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	else
		rc = conn_fail(c, err);
	sqlite3_finalize(st);
	return rc;
}

/* The answer must be read: the pragma fails silently. */
int conn_use_wal(struct conn *c, struct sb_error *err)
{
	sqlite3_stmt *st;
	int rc = SB_OK;

	if (sqlite3_prepare_v2(c->db, "PRAGMA journal_mode=WAL", -1, &st, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	if (sqlite3_step(st) != SQLITE_ROW)
		rc = conn_fail(c, err);
	else if (strcmp((const char *)sqlite3_column_text(st, 0), "wal") != 0)
		rc = sb_fail(err, SB_EIO, "database", "the database cannot use a write-ahead log here");
	sqlite3_finalize(st);
	return rc;
}

static int set_up(struct conn *c, struct sb_error *err)
{
	int64_t on = 0;
	int rc;

	sqlite3_busy_timeout(c->db, 5000);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	/* a reader that checkpoints could meet the writer: the race of SQLite before 3.51.3 */
	if (c->kind == CONN_READER)
		sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	rc = conn_exec(c, COMMON_SETUP, err);
	if (rc == SB_OK)
		rc = conn_exec(c, c->kind == CONN_WRITER ? WRITER_SETUP : READER_SETUP, err);
	if (rc == SB_OK)
		rc = conn_int(c, "PRAGMA foreign_keys", &on, err);
	if (rc == SB_OK && on != 1)
		rc = sb_fail(err, SB_EIO, "database", "this SQLite has no foreign keys");
	if (c->kind == CONN_READER)
		sqlite3_progress_handler(c->db, PROGRESS_OPS, past_deadline, c);
	return rc;
}

int conn_open(const char *path, enum conn_kind kind, struct conn **out, struct sb_error *err)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	struct conn *c = calloc(1, sizeof(*c));
	int rc = SB_OK;

	if (!c)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	c->kind = kind;
	flags |= kind == CONN_WRITER ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	if (sqlite3_open_v2(path, &c->db, flags, NULL) != SQLITE_OK)
		rc = c->db ? conn_fail(c, err) : sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	if (rc == SB_OK)
		rc = set_up(c, err);
	if (rc != SB_OK) {
		conn_close(&c);
		return rc;
	}
	*out = c;
	return SB_OK;
}

void conn_close(struct conn **c)
{
	if (!*c)
		return;
	for (size_t i = 0; i < (*c)->count; i++)
		sqlite3_finalize((*c)->cache[i].stmt);
	sqlite3_close((*c)->db);
	free(*c);
	*c = NULL;
}

int conn_prepare(struct conn *c, const char *sql, sqlite3_stmt **out, struct sb_error *err)
{
	sqlite3_stmt *st;

	for (size_t i = 0; i < c->count; i++) {
		if (c->cache[i].sql == sql) {
			*out = c->cache[i].stmt;
			return SB_OK;
		}
	}
	if (c->count == STATEMENTS_MAX)
		return sb_fail(err, SB_ELIMIT, "database", "too many prepared statements");
	if (sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	c->cache[c->count].sql = sql;
	c->cache[c->count].stmt = st;
	c->count++;
	*out = st;
	return SB_OK;
}

int conn_step(struct conn *c, sqlite3_stmt *st, bool *out_row, struct sb_error *err)
{
	int rc;

	if (c->kind == CONN_READER && !sqlite3_stmt_busy(st))
		c->deadline = now_seconds() + READ_SECONDS;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return conn_fail(c, err);
	*out_row = rc == SQLITE_ROW;
	return SB_OK;
}

int conn_run(struct conn *c, sqlite3_stmt *st, struct sb_error *err)
{
	bool row = true;
	int rc = SB_OK;

	while (rc == SB_OK && row)
		rc = conn_step(c, st, &row, err);
	return rc;
}

void stmt_reset(sqlite3_stmt **st)
{
	if (!*st)
		return;
	sqlite3_reset(*st);
	sqlite3_clear_bindings(*st);
	*st = NULL;
}

void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	if (text)
		sqlite3_bind_text64(st, at, text, strlen(text), SQLITE_STATIC, SQLITE_UTF8);
	else
		sqlite3_bind_null(st, at);
}

int column_dup(sqlite3_stmt *st, int at, char **out, size_t *out_len)
{
	const void *text = sqlite3_column_text(st, at);
	size_t len = (size_t)sqlite3_column_bytes(st, at);
	char *copy;

	if (!text) {
		if (sqlite3_column_type(st, at) != SQLITE_NULL)
			return SB_ENOMEM;
		*out = NULL;
		return SB_OK;
	}
	copy = malloc(len + 1);
	if (!copy)
		return SB_ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = copy;
	if (out_len)
		*out_len = len;
	return SB_OK;
}

void column_copy(sqlite3_stmt *st, int at, char *out, size_t size)
{
	const void *text = sqlite3_column_text(st, at);
	size_t len = text ? (size_t)sqlite3_column_bytes(st, at) : 0;

	if (len >= size)
		len = size - 1;
	if (text)
		memcpy(out, text, len);
	out[len] = '\0';
}
