#include "tests/generate/ascend_db.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ascend_db_run(struct ascend_db *db, const char *sql)
{
	if (sqlite3_exec(db->sql, sql, NULL, NULL, NULL) != SQLITE_OK)
		out_die("%s: %s", sqlite3_errmsg(db->sql), sql);
}

void ascend_db_open(struct ascend_db *db, const struct ascend_options *o, const struct ascend_rank *r,
                    const char *name)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/ASCEND_PROFILER_OUTPUT/%s", r->directory, name);

	*db = (struct ascend_db){.o = o, .r = r};
	if (n < 0 || (size_t)n >= sizeof(path))
		out_die("a path is too long");
	remove(path);
	if (sqlite3_open(path, &db->sql) != SQLITE_OK)
		out_die("%s cannot be written", path);
	ascend_db_run(db, "PRAGMA synchronous=OFF");
	ascend_db_run(db, "BEGIN");
}

void ascend_db_close(struct ascend_db *db)
{
	ascend_db_run(db, "COMMIT");
	ascend_db_run(db, "PRAGMA journal_mode=WAL");
	if (sqlite3_close(db->sql) != SQLITE_OK)
		out_die("a database cannot be closed");
	for (int64_t i = 0; i < db->texts.size; i++)
		free(db->texts.slots[i].text);
	free(db->texts.slots);
}

sqlite3_stmt *ascend_db_insert(struct ascend_db *db, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK)
		out_die("%s: %s", sqlite3_errmsg(db->sql), sql);
	return s;
}

void ascend_db_row(struct ascend_db *db, sqlite3_stmt *s, const char *format, ...)
{
	va_list args;
	char number[32];

	va_start(args, format);
	for (int i = 0; format[i]; i++)
		switch (format[i]) {
		case 'i': sqlite3_bind_int64(s, i + 1, va_arg(args, int64_t)); break;
		case 'd': sqlite3_bind_double(s, i + 1, va_arg(args, double)); break;
		case 't':
			sqlite3_bind_text(s, i + 1, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
			break;
		case 'T':
			snprintf(number, sizeof(number), "%" PRId64, va_arg(args, int64_t));
			sqlite3_bind_text(s, i + 1, number, -1, SQLITE_TRANSIENT);
			break;
		case 's': sqlite3_bind_int64(s, i + 1, ascend_db_text(db, va_arg(args, const char *))); break;
		default: sqlite3_bind_null(s, i + 1);
		}
	va_end(args);
	if (sqlite3_step(s) != SQLITE_DONE)
		out_die("%s", sqlite3_errmsg(db->sql));
	sqlite3_reset(s);
}

/* 64-bit FNV-1a. */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return h;
}

static struct ascend_text *place(const struct ascend_texts *t, const char *text)
{
	int64_t i = (int64_t)(hash(text) & (uint64_t)(t->size - 1));

	while (t->slots[i].text && strcmp(t->slots[i].text, text) != 0)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static void grow(struct ascend_texts *t)
{
	struct ascend_texts old = *t;

	t->size = old.size ? old.size * 2 : 1024;
	t->slots = out_alloc(NULL, t->size, sizeof(*t->slots));
	for (int64_t i = 0; i < old.size; i++)
		if (old.slots[i].text)
			*place(t, old.slots[i].text) = old.slots[i];
	free(old.slots);
}

int64_t ascend_db_text(struct ascend_db *db, const char *text)
{
	struct ascend_texts *t = &db->texts;
	struct ascend_text *p;

	if (t->count * 2 >= t->size)
		grow(t);
	p = place(t, text);
	if (!p->text) {
		p->text = strdup(text);
		if (!p->text)
			out_die("out of memory");
		p->id = t->count++ + 1;
	}
	return p->id;
}

static void write_texts(struct ascend_db *db)
{
	sqlite3_stmt *s;

	ascend_db_run(db, "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT)");
	s = ascend_db_insert(db, "INSERT INTO STRING_IDS VALUES (?,?)");
	for (int64_t i = 0; i < db->texts.size; i++)
		if (db->texts.slots[i].text)
			ascend_db_row(db, s, "it", db->texts.slots[i].id, db->texts.slots[i].text);
	sqlite3_finalize(s);
}

static void identity(struct ascend_db *db)
{
	sqlite3_stmt *s;
	const struct ascend_rank *r = db->r;

	ascend_db_run(db, "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
	                  "CREATE TABLE NPU_INFO (id INTEGER,name TEXT);"
	                  "CREATE TABLE HOST_INFO (hostUid TEXT,hostName TEXT);"
	                  "CREATE TABLE META_DATA (name TEXT,value TEXT);"
	                  "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
	                  "CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER);"
	                  "INSERT INTO HOST_INFO VALUES ('3538958389648580163','node0');"
	                  "INSERT INTO META_DATA VALUES ('SCHEMA_VERSION','1.0.0')");
	s = ascend_db_insert(db, "INSERT INTO RANK_DEVICE_MAP VALUES (?,?)");
	ascend_db_row(db, s, "ii", r->rank, r->rank % 8);
	sqlite3_finalize(s);
	s = ascend_db_insert(db, "INSERT INTO META_DATA VALUES ('distributed_args',?)");
	{
		char text[80];

		snprintf(text, sizeof(text), "{\"tp\": 1, \"world_size\": %" PRId64 "}", db->o->ranks);
		ascend_db_row(db, s, "t", text);
	}
	sqlite3_finalize(s);
	/* all NPUs of the host, whichever is used */
	s = ascend_db_insert(db, "INSERT INTO NPU_INFO VALUES (?,?)");
	for (int64_t i = 0; i < 8; i++)
		ascend_db_row(db, s, "it", i, "Ascend910B");
	sqlite3_finalize(s);
	s = ascend_db_insert(db, "INSERT INTO STEP_TIME VALUES (?,?,?)");
	for (int64_t i = 0; i < db->o->steps; i++)
		ascend_db_row(db, s, "iii", ASCEND_FIRST_STEP + i, r->steps[i].start, r->steps[i].end);
	sqlite3_finalize(s);
	/* not in the order of time, as seen */
	s = ascend_db_insert(db, "INSERT INTO AICORE_FREQ VALUES (?,?,?)");
	for (int64_t i = 3; i > 0; i--)
		ascend_db_row(db, s, "iii", r->rank % 8, ascend_start_ns + r->shift + i * 1000000,
		              (int64_t)ascend_megahertz(db->o, r));
	sqlite3_finalize(s);
}

static void enums(struct ascend_db *db)
{
	ascend_db_run(
	    db,
	    "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	    "INSERT INTO ENUM_API_TYPE VALUES (5000,'runtime'),(5500,'hccl'),(10000,'node'),(15000,'model'),"
	    "(20000,'acl'),(50001,'op'),(50002,'queue'),(50003,'trace'),(50004,'mstx')");
	if (db->o->layout == ASCEND_OLD)
		return;
	ascend_db_run(db,
	              "CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	              "CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	              "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	              "INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (4,'FP32'),(11,'BFP16'),(65535,'INVALID_TYPE');"
	              "INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES "
	              "(0,'SDMA'),(1,'RDMA'),(2,'LOCAL'),(65535,'INVALID_TYPE');"
	              "INSERT INTO ENUM_HCCL_LINK_TYPE VALUES "
	              "(0,'ON_CHIP'),(1,'HCCS'),(3,'ROCE'),(65535,'INVALID_TYPE')");
}

/* What MindStudio Insight adds while it looks at a database: rows of its own that are half done. */
static void insight(struct ascend_db *db)
{
	ascend_db_run(
	    db, "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY AUTOINCREMENT, deviceId integer, "
	        "startNs integer, endNs integer, type integer);"
	        "CREATE TABLE status_info (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, value TEXT);"
	        "INSERT INTO OVERLAP_ANALYSIS VALUES (1,0,1738454400123456789,1738454500123456789,0);"
	        "INSERT INTO status_info VALUES (1,'OVERLAP_ANALYSIS_STATUS','NOT_FINISH');"
	        "ALTER TABLE TASK ADD COLUMN depth integer;"
	        "ALTER TABLE CANN_API ADD COLUMN depth integer;"
	        "CREATE INDEX TASK_INDEX ON TASK (globalTaskId, startNs);"
	        "CREATE VIEW SLOW AS SELECT * FROM TASK");
}

void ascend_write_databases(const struct ascend_options *o, const struct ascend_rank *r)
{
	struct ascend_db db;
	char name[64];

	snprintf(name, sizeof(name), "ascend_pytorch_profiler_%" PRId64 ".db", r->rank);
	ascend_db_open(&db, o, r, name);
	identity(&db);
	enums(&db);
	ascend_db_device(&db);
	ascend_db_host(&db);
	if (o->layout == ASCEND_INSIGHT)
		insight(&db);
	write_texts(&db);
	ascend_db_close(&db);
	ascend_db_analysis(o, r);
}
