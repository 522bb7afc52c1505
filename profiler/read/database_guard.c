#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "profiler/read/database_impl.h"

#define OPERATIONS_A_CALL 200
#define CALLS_A_QUESTION 64 /* how often it is asked whether to go on */

/* Functions that our queries may need: none of them can do more than compute. */
static bool harmless(const char *function)
{
	static const char *const NAMES[] = {"count",  "sum",      "total",  "avg",    "min",
	                                    "max",    "coalesce", "ifnull", "nullif", "abs",
	                                    "length", "substr",   "instr"};

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		if (strcasecmp(function, NAMES[i]) == 0)
			return true;
	}
	return false;
}

static int while_opening(int action, const char *what)
{
	if (action == SQLITE_PRAGMA || action == SQLITE_SELECT)
		return SQLITE_OK;
	return action == SQLITE_READ && strncasecmp(what, "sqlite_", 7) == 0 ? SQLITE_OK : SQLITE_DENY;
}

/* inner: the view or trigger that asks, NULL for the statement itself. */
static int authorize(void *self, int action, const char *what, const char *detail, const char *database,
                     const char *inner)
{
	const struct database *db = self;

	(void)database;
	if (inner)
		return SQLITE_DENY;
	if (db->opening)
		return while_opening(action, what ? what : "");
	switch (action) {
	case SQLITE_SELECT: return SQLITE_OK;
	case SQLITE_READ: break;
	case SQLITE_FUNCTION: return detail && harmless(detail) ? SQLITE_OK : SQLITE_DENY;
	default: return SQLITE_DENY;
	}
	/* no column: the rows are only counted */
	if (!what || !detail)
		return SQLITE_DENY;
	if (detail[0] == '\0' || strcasecmp(detail, "ROWID") == 0)
		detail = NULL;
	return database_knows(db, what, detail) ? SQLITE_OK : SQLITE_DENY;
}

/* Bytes of pages looked at since it was asked last. */
static int64_t looked(const struct database *db)
{
	int hits = 0, misses = 0, peak;

	sqlite3_db_status(db->sql, SQLITE_DBSTATUS_CACHE_HIT, &hits, &peak, 1);
	sqlite3_db_status(db->sql, SQLITE_DBSTATUS_CACHE_MISS, &misses, &peak, 1);
	return ((int64_t)hits + misses) * db->page_bytes;
}

static int work(void *self)
{
	struct database *db = self;
	struct sb_error why = {0};
	int64_t bytes = looked(db);

	db->work = sb_add_sat(db->work, OPERATIONS_A_CALL + bytes / DATABASE_BYTES_PER_WORK);
	if (db->parsing)
		db->looked_left -= bytes;
	if (db->looked_left < 0)
		sb_fail_at(&why, SB_EFORMAT, "bad_database", db->path, 0, -1,
		           "parsing the schema of the database takes more than %lld bytes",
		           (long long)DATABASE_SCHEMA_LOOKED);
	else if (db->work > db->work_limit)
		sb_fail_at(&why, SB_ELIMIT, "too_much_work", db->path, 0, -1,
		           "reading the tables of the database takes too much work for its size");
	else if (++db->calls % CALLS_A_QUESTION == 0 && read_canceled(db->hooks))
		sb_fail_at(&why, SB_ECANCELED, "canceled", db->path, 0, -1, "the work was canceled");
	if (why.code == SB_OK)
		return 0;
	database_stop(db, &why);
	return 1;
}

void database_guard(struct database *db)
{
	sqlite3_set_authorizer(db->sql, authorize, db);
	sqlite3_progress_handler(db->sql, OPERATIONS_A_CALL, work, db);
}
