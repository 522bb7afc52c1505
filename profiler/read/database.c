#include "profiler/read/database_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The first hundred bytes say enough to tell a cut file from a damaged one. */
static int check_header(struct database *db, struct sb_error *err)
{
	unsigned char h[100];
	ssize_t n = pread(db->bytes.fd, h, sizeof(h), db->bytes.offset);
	int64_t page, whole;

	if (n < 0)
		return sb_fail_at(err, SB_EIO, "read_failed", db->path, 0, 0, "the file cannot be read");
	if (db->bytes.length < (int64_t)sizeof(h) || n < (ssize_t)sizeof(h))
		return sb_fail_at(err, SB_EFORMAT, "truncated", db->path, 0, db->bytes.length,
		                  "the database ends inside its header");
	page = h[16] * 256 + h[17];
	if (page == 1)
		page = 65536;
	if (memcmp(h, "SQLite format 3", 16) != 0 || page < 512 || (page & (page - 1)) != 0 || h[18] > 2 ||
	    h[19] > 2)
		return sb_fail_at(err, SB_EFORMAT, "bad_database", db->path, 0, 16,
		                  "the header is none of a SQLite database: it is damaged or encrypted");
	db->page_bytes = page;
	whole = ((int64_t)h[28] << 24 | h[29] << 16 | h[30] << 8 | h[31]) * page;
	/* the count holds only when it was written last */
	if (memcmp(h + 24, h + 92, 4) == 0 && whole > db->bytes.length)
		return sb_fail_at(err, SB_EFORMAT, "truncated", db->path, 0, db->bytes.length,
		                  "the database has %lld bytes, but only %lld of them are there",
		                  (long long)whole, (long long)db->bytes.length);
	return SB_OK;
}

static void set_limits(sqlite3 *sql)
{
	static const int LIMITS[][2] = {
	    {SQLITE_LIMIT_LENGTH, DATABASE_ROW_BYTES},
	    {SQLITE_LIMIT_SQL_LENGTH, DATABASE_SQL_BYTES},
	    {SQLITE_LIMIT_EXPR_DEPTH, 200},
	    {SQLITE_LIMIT_COMPOUND_SELECT, 20},
	    {SQLITE_LIMIT_FUNCTION_ARG, 16},
	    {SQLITE_LIMIT_ATTACHED, 0},
	    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
	    {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
	    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
	    {SQLITE_LIMIT_WORKER_THREADS, 0},
	};
	static const int SWITCHES[][2] = {
	    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},        {SQLITE_DBCONFIG_DEFENSIVE, 1},
	    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},           {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
	    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
	    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},       {SQLITE_DBCONFIG_DQS_DML, 0},
	};

	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++)
		sqlite3_limit(sql, LIMITS[i][0], LIMITS[i][1]);
	for (size_t i = 0; i < sizeof(SWITCHES) / sizeof(SWITCHES[0]); i++)
		sqlite3_db_config(sql, SWITCHES[i][0], SWITCHES[i][1], NULL);
	/* no module: a virtual table cannot even be connected to */
	sqlite3_drop_modules(sql, NULL);
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
/* temp_store: sorts and joins spill to files, because in memory nothing would bound them. */
static const char SETTINGS[] = "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; "
                               "PRAGMA temp_store=FILE; PRAGMA cache_size=-" TEXT(DATABASE_CACHE_KIB) ";";

static int connect_to(struct database *db, struct sb_error *err)
{
	int rc;

	database_vfs_init(db);
	/* It only has to be known by name until the connection holds it. */
	rc = sqlite3_vfs_register(&db->vfs, 0);
	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2("capture", &db->sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
		                     db->vfs_name);
	sqlite3_vfs_unregister(&db->vfs);
	if (rc != SQLITE_OK || !db->sql)
		return database_fail(db, rc, err);
	sqlite3_extended_result_codes(db->sql, 1);
	set_limits(db->sql);
	database_guard(db);
	rc = sqlite3_exec(db->sql, SETTINGS, NULL, NULL, NULL);
	return rc == SQLITE_OK ? SB_OK : database_fail(db, rc, err);
}

static void finalize(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}
#define STATEMENT_AUTO __attribute__((cleanup(finalize))) sqlite3_stmt *

static int learn_columns(struct database *db, const char *table, struct sb_error *err)
{
	STATEMENT_AUTO s = NULL;
	char *text = sqlite3_mprintf("PRAGMA table_xinfo(\"%w\")", table);
	int rc = text ? sqlite3_prepare_v2(db->sql, text, -1, &s, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 1);

		/* hidden and generated columns are none that a profiler wrote */
		if (name && sqlite3_column_int(s, 6) == 0 && database_learn(db, table, name) != SB_OK)
			return sb_no_memory(err);
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? SB_OK : database_fail(db, rc, err);
}

/* What stands in the schema as a plain table. SQLite writes these statements in one way only. */
static bool plain(const char *sql)
{
	return strncasecmp(sql, "CREATE TABLE ", 13) == 0;
}

static int learn_tables(struct database *db, struct sb_error *err)
{
	STATEMENT_AUTO s = NULL;
	int rc = sqlite3_prepare_v2(
	    db->sql, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 1", -1, &s,
	    NULL);

	db->parsing = false;
	for (int n = 0; rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW; n++) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		const char *text = (const char *)sqlite3_column_text(s, 1);
		int learned = SB_OK;

		if (n >= DATABASE_TABLES)
			return sb_fail_at(err, SB_EFORMAT, "bad_database", db->path, 0, -1,
			                  "the database has more than %d tables", DATABASE_TABLES);
		if (name && text && plain(text) && strncasecmp(name, "sqlite_", 7) != 0) {
			if (database_learn(db, name, NULL) != SB_OK)
				return sb_no_memory(err);
			learned = learn_columns(db, name, err);
		}
		if (learned != SB_OK)
			return learned;
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? SB_OK : database_fail(db, rc, err);
}

int database_open(struct read_context *ctx, struct stream *in, struct database **out, struct sb_error *err)
{
	DATABASE_AUTO db = calloc(1, sizeof(*db));
	int rc;

	if (!db)
		return sb_no_memory(err);
	db->path = in->path;
	db->in = in;
	db->hooks = ctx->hooks;
	db->spool = -1;
	db->schema_left = DATABASE_SCHEMA_BYTES;
	db->looked_left = DATABASE_SCHEMA_LOOKED;
	db->opening = db->parsing = true;
	if (sb_strings_new(&db->names) != SB_OK)
		return sb_no_memory(err);
	rc = database_locate(db, err);
	if (rc == SB_OK)
		rc = check_header(db, err);
	if (rc != SB_OK)
		return rc;
	db->work_limit = DATABASE_WORK_FREE + db->bytes.length * DATABASE_WORK_PER_BYTE;
	db->temp_limit = DATABASE_TEMP_FREE + db->bytes.length * DATABASE_TEMP_PER_BYTE;
	rc = connect_to(db, err);
	if (rc == SB_OK)
		rc = learn_tables(db, err);
	if (rc != SB_OK)
		return rc;
	db->opening = false;
	*out = db;
	db = NULL;
	return SB_OK;
}

void database_close(struct database **db)
{
	struct database *d = *db;

	if (!d)
		return;
	/* tables that nobody asked for were passed over, not left unread */
	if (d->spool < 0 && d->in->took && !d->opening)
		(void)d->in->took(d->in, d->bytes.length - d->told, NULL);
	sqlite3_close(d->sql);
	if (d->spool >= 0)
		close(d->spool);
	sb_strings_free(&d->names);
	free(d);
	*db = NULL;
}

const char *database_path(const struct database *db)
{
	return db->path;
}
