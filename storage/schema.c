#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/internal.h"

#define APPLICATION_ID 0x53424f58 /* "SBOX" */

/* Public ids are time-ordered, so their order is the order of creation. `attempts` counts how often reading a
 * profile was begun without an end: one that kills the process must not do so for ever. No CHECK calls
 * json_valid(): SQLite 3.40 takes it for unsafe under trusted_schema=OFF. */
static const char STEP_1[] = "CREATE TABLE profiles ("
                             " seq INTEGER PRIMARY KEY,"
                             " id TEXT NOT NULL UNIQUE,"
                             " name TEXT NOT NULL,"
                             " state TEXT NOT NULL CHECK (state IN ('queued','reading','ready','failed')),"
                             " sha256 TEXT NOT NULL CHECK (length(sha256) = 64),"
                             " bytes INTEGER NOT NULL CHECK (bytes >= 0),"
                             " created_us INTEGER NOT NULL,"
                             " attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),"
                             " facts TEXT,"
                             " files TEXT NOT NULL"
                             ") STRICT;"
                             "CREATE INDEX profiles_state ON profiles (state, id);"
                             "CREATE TABLE documents ("
                             " profile INTEGER NOT NULL REFERENCES profiles (seq) ON DELETE CASCADE,"
                             " name TEXT NOT NULL,"
                             " text TEXT NOT NULL,"
                             " UNIQUE (profile, name)"
                             ") STRICT;"
                             "CREATE TABLE plans ("
                             " seq INTEGER PRIMARY KEY,"
                             " id TEXT NOT NULL UNIQUE,"
                             " digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 64),"
                             " kind TEXT NOT NULL,"
                             " created_us INTEGER NOT NULL,"
                             " text TEXT NOT NULL"
                             ") STRICT;"
                             "CREATE TABLE named ("
                             " family TEXT NOT NULL CHECK (family IN ('models','clusters')),"
                             " name TEXT NOT NULL,"
                             " updated_us INTEGER NOT NULL,"
                             " text TEXT NOT NULL,"
                             " PRIMARY KEY (family, name)"
                             ") STRICT, WITHOUT ROWID;"
                             "CREATE TABLE idempotency ("
                             " key TEXT NOT NULL,"
                             " route TEXT NOT NULL,"
                             " digest TEXT NOT NULL,"
                             " created_us INTEGER NOT NULL,"
                             " answer TEXT NOT NULL,"
                             " PRIMARY KEY (key, route)"
                             ") STRICT, WITHOUT ROWID;"
                             "CREATE INDEX idempotency_age ON idempotency (created_us);";

/* Calibrations are named documents too; and which profile measured the run that a plan foretold, with what
 * both say of a step. */
static const char STEP_2[] = "CREATE TABLE named_2 ("
                             " family TEXT NOT NULL CHECK (family IN ('models','clusters','calibrations')),"
                             " name TEXT NOT NULL,"
                             " updated_us INTEGER NOT NULL,"
                             " text TEXT NOT NULL,"
                             " PRIMARY KEY (family, name)"
                             ") STRICT, WITHOUT ROWID;"
                             "INSERT INTO named_2 (family, name, updated_us, text)"
                             " SELECT family, name, updated_us, text FROM named;"
                             "DROP TABLE named;"
                             "ALTER TABLE named_2 RENAME TO named;"
                             "CREATE TABLE measurements ("
                             " seq INTEGER PRIMARY KEY,"
                             " plan INTEGER NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,"
                             " profile INTEGER NOT NULL REFERENCES profiles (seq) ON DELETE CASCADE,"
                             " created_us INTEGER NOT NULL,"
                             " steps INTEGER NOT NULL CHECK (steps > 0),"
                             " measured_ns INTEGER NOT NULL CHECK (measured_ns > 0),"
                             " predicted_ns INTEGER NOT NULL CHECK (predicted_ns > 0),"
                             " measured_bytes INTEGER,"
                             " predicted_bytes INTEGER,"
                             " UNIQUE (plan, profile)"
                             ") STRICT;"
                             "CREATE INDEX measurements_profile ON measurements (profile);";

/* Append only: step i brings the schema from version i to i + 1. */
static const char *const STEPS[] = {STEP_1, STEP_2};
#define VERSION ((int64_t)(sizeof(STEPS) / sizeof(STEPS[0])))

/* The first row of a check that answers "ok" or nothing when all is well. */
static int check(struct conn *c, const char *sql, struct sb_error *err)
{
	sqlite3_stmt *st;
	int rc = SB_OK, step;

	if (sqlite3_prepare_v2(conn_db(c), sql, -1, &st, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	step = sqlite3_step(st);
	if (step == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		if (!text || strcmp(text, "ok") != 0)
			rc =
			    sb_fail(err, SB_EIO, "corrupt", "the database is damaged: %s", text ? text : "?");
	} else if (step != SQLITE_DONE) {
		rc = conn_fail(c, err);
	}
	sqlite3_finalize(st);
	return rc;
}

int schema_check(struct conn *c, struct sb_error *err)
{
	int rc = check(c, "PRAGMA quick_check(1)", err);

	return rc == SB_OK ? check(c, "PRAGMA foreign_key_check", err) : rc;
}

static int copy_first(struct conn *c, const char *dir, int64_t version, struct sb_error *err)
{
	char path[4096];
	sqlite3_stmt *st;
	int rc = SB_OK;

	snprintf(path, sizeof(path), "%s/signalbox.db.v%lld", dir, (long long)version);
	unlink(path);
	if (sqlite3_prepare_v2(conn_db(c), "VACUUM INTO ?1", -1, &st, NULL) != SQLITE_OK)
		return conn_fail(c, err);
	bind_text(st, 1, path);
	if (sqlite3_step(st) != SQLITE_DONE)
		rc = conn_fail(c, err);
	sqlite3_finalize(st);
	return rc;
}

static int apply(struct conn *c, int64_t version, struct sb_error *err)
{
	char sql[80];
	int rc = SB_OK;

	for (int64_t v = version; rc == SB_OK && v < VERSION; v++)
		rc = conn_exec(c, STEPS[v], err);
	if (rc != SB_OK)
		return rc;
	snprintf(sql, sizeof(sql), "PRAGMA application_id=%d;PRAGMA user_version=%lld;", APPLICATION_ID,
	         (long long)VERSION);
	rc = conn_exec(c, sql, err);
	return rc == SB_OK ? schema_check(c, err) : rc;
}

int schema_migrate(struct conn *c, const char *dir, bool *out_new, struct sb_error *err)
{
	int64_t version, application, tables;
	int rc = conn_int(c, "PRAGMA user_version", &version, err);

	if (rc == SB_OK)
		rc = conn_int(c, "PRAGMA application_id", &application, err);
	if (rc == SB_OK)
		rc = conn_int(c, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (rc != SB_OK)
		return rc;
	if (application != APPLICATION_ID && (tables > 0 || application != 0))
		return sb_fail(err, SB_ECONFLICT, "foreign_database",
		               "signalbox.db was not made by this program; it is left as it is");
	if (version > VERSION)
		return sb_fail(
		    err, SB_ECONFLICT, "newer_database",
		    "signalbox.db has schema version %lld, this program knows %lld: use a newer program",
		    (long long)version, (long long)VERSION);
	*out_new = tables == 0;
	rc = conn_use_wal(c, err);
	if (rc != SB_OK || version == VERSION)
		return rc;
	if (tables > 0)
		rc = copy_first(c, dir, version, err);
	if (rc == SB_OK)
		rc = conn_exec(c, "BEGIN EXCLUSIVE", err);
	if (rc != SB_OK)
		return rc;
	rc = apply(c, version, err);
	if (rc == SB_OK)
		rc = conn_exec(c, "COMMIT", err);
	if (rc != SB_OK)
		conn_exec(c, "ROLLBACK", NULL);
	return rc;
}
