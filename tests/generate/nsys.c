#include "tests/generate/kineto_rows.h"
#include "tests/generate/options.h"
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The job of the Kineto dialect, as Nsight Systems would export it to SQLite: names by id, times since the
 * start of the session, serialized thread ids, tables without keys. */

#define SESSION_NS INT64_C(1000000000) /* the session begins a second before the first step */
#define GLOBAL_PID ((int64_t)1 << 48 | (int64_t)KINETO_PID << 24)
#define NAMES_MAX 400

enum table { KERNEL, MEMCPY, MEMSET, RUNTIME, SYNC, NVTX, TABLES };

static const char *const INSERTS[TABLES] = {
    [KERNEL] =
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, ?3, 1, NULL, ?4, ?5, ?6, ?7, ?7, NULL, "
        "128, 1, 1, 256, 1, 1, NULL)",
    [MEMCPY] = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?1, ?2, ?3, 1, NULL, ?4, ?5, ?6, ?7, ?8, ?9, "
               "?10)",
    [MEMSET] = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?1, ?2, ?3, 1, NULL, ?4, ?5, ?6, 0, ?7, 2)",
    [RUNTIME] = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, NULL)",
    [SYNC] = "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?1, ?2, ?3, 1, NULL, ?4, ?5, ?6, 3, "
             "4294967295)",
    [NVTX] = "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, NULL, NULL, ?3, ?4, NULL, ?5, 0)",
};

static const char SCHEMA[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'),"
    "('EXPORT_SCHEMA_VERSION', '3.24.14'), ('EXPORT_SCHEMA_VERSION_MAJOR', '3');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT,"
    "systemClockNs INTEGER);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,"
    "contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "demangledName INTEGER, shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER,"
    "gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,"
    "contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,"
    "contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "value INTEGER, bytes INTEGER, memKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER,"
    "callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    "deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    "globalPid INTEGER, syncType INTEGER, eventId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"
    "rangeId INTEGER, category INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,"
    "domainId INTEGER);";

struct export
{
	sqlite3 *db;
	sqlite3_stmt *insert[TABLES];
	const struct kineto_options *o;
	const struct kineto_rank *r;
	int64_t left; /* rows of events still to be written */
	const char *names[NAMES_MAX];
	int name_count;
};

static void sql(struct export *x, const char *text)
{
	if (sqlite3_exec(x->db, text, NULL, NULL, NULL) != SQLITE_OK)
		out_die("sqlite: %s", sqlite3_errmsg(x->db));
}

/* The id of a text that lives as long as the program. */
static int64_t name_id(struct export *x, const char *text)
{
	int i = 0;

	while (i < x->name_count && x->names[i] != text && strcmp(x->names[i], text) != 0)
		i++;
	if (i == NAMES_MAX)
		out_die("too many names");
	if (i == x->name_count)
		x->names[x->name_count++] = text;
	return i + 1;
}

/* A row of an event: times, then numbers, the first of them ?3. Ranges have a text or the id of one there. */
static void row(struct export *x, enum table table, int64_t start, int64_t dur, int count,
                const int64_t *numbers, const char *text)
{
	sqlite3_stmt *s = x->insert[table];
	int64_t base = kineto_start_ns - SESSION_NS;

	sqlite3_bind_int64(s, 1, start - base);
	sqlite3_bind_int64(s, 2, start + dur - base);
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(s, 3 + i, numbers[i]);
	if (table == NVTX) {
		if (text)
			sqlite3_bind_text(s, 3, text, -1, SQLITE_TRANSIENT);
		else
			sqlite3_bind_null(s, 3);
		if (numbers[2] == 0)
			sqlite3_bind_null(s, 5);
	}
	if (sqlite3_step(s) != SQLITE_DONE)
		out_die("sqlite: %s", sqlite3_errmsg(x->db));
	sqlite3_reset(s);
	x->left--;
}

#define ROW(x, table, start, dur, ...)                                                                       \
	row(x, table, start, dur, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
	    (const int64_t[]){__VA_ARGS__}, NULL)

/* Both ways to name a range occur in one file. */
static void range_text(struct export *x, int64_t tid, const char *text, int64_t start, int64_t dur)
{
	row(x, NVTX, start, dur, 3, (const int64_t[]){0, GLOBAL_PID | tid, 0}, text);
}

static void range_id(struct export *x, int64_t tid, const char *text, int64_t start, int64_t dur)
{
	row(x, NVTX, start, dur, 3, (const int64_t[]){0, GLOBAL_PID | tid, name_id(x, text)}, NULL);
}

static int64_t correlation_of(int64_t index)
{
	return 10000 + 2 * index;
}

static void device_row(struct export *x, const struct unit *u, int64_t index)
{
	int64_t device = kineto_device(x->r), correlation = correlation_of(index);

	if (u->kind == UNIT_COPY_IN || u->kind == UNIT_COPY_OUT) {
		bool in = u->kind == UNIT_COPY_IN;

		ROW(x, MEMCPY, u->device, u->device_dur, device, KINETO_STREAM, correlation, GLOBAL_PID,
		    u->bytes, in ? 1 : 2, in ? 1 : 2, in ? 2 : 1);
	} else if (u->kind == UNIT_CLEAR) {
		ROW(x, MEMSET, u->device, u->device_dur, device, KINETO_STREAM, correlation, GLOBAL_PID,
		    u->bytes);
	} else {
		ROW(x, KERNEL, u->device, u->device_dur, device, kineto_stream(u), correlation, GLOBAL_PID,
		    name_id(x, kineto_work(u)->kernel));
	}
}

static const char *call_name(const struct unit *u)
{
	switch (u->kind) {
	case UNIT_COPY_IN:
	case UNIT_COPY_OUT: return "cudaMemcpyAsync_v3020";
	case UNIT_CLEAR: return "cudaMemsetAsync_v3020";
	default: return kineto_is_link(u) ? "cudaLaunchKernelExC_v11060" : "cudaLaunchKernel_v7000";
	}
}

static void unit_rows(struct export *x, const struct unit *u, int64_t index, const char *name)
{
	const struct work *k = kineto_work(u);
	int64_t tid = u->phase == PHASE_BACKWARD ? KINETO_AUTOGRAD : KINETO_MAIN;
	int64_t correlation = correlation_of(index), device = kineto_device(x->r);
	char text[400];

	snprintf(text, sizeof(text), "%s, op_id = %" PRId64, name ? name : k->outer, index);
	range_text(x, tid, text, u->op, u->op_dur);
	range_id(x, tid, k->inner, u->op + 1000, u->op_dur - 1500);
	ROW(x, RUNTIME, u->launch, u->launch_dur, GLOBAL_PID | tid, correlation, name_id(x, call_name(u)));
	device_row(x, u, index);
	if (!u->sync_dur)
		return;
	ROW(x, RUNTIME, u->launch + u->launch_dur, u->sync_dur, GLOBAL_PID | tid, correlation + 1,
	    name_id(x, "cudaStreamSynchronize_v3020"));
	ROW(x, SYNC, u->launch + u->launch_dur, u->sync_dur, device, KINETO_STREAM, correlation + 1,
	    GLOBAL_PID);
}

static void other_rows(struct export *x)
{
	const struct kineto_rank *r = x->r;

	for (int64_t i = 0; i < x->o->steps; i++) {
		char text[40];

		snprintf(text, sizeof(text), "iteration %" PRId64, KINETO_FIRST_STEP + i);
		range_text(x, KINETO_MAIN, text, r->steps[i].start, r->steps[i].end - r->steps[i].start);
		range_id(x, KINETO_MAIN, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		         r->steps[i].start + 1000, r->steps[i].load);
	}
	for (int64_t i = 0; i < r->call_count; i++) {
		const struct kineto_call *c = &r->calls[i];

		/* the collector is no call of CUDA's: gc.callbacks put a range around it */
		if (c->kind == CALL_GARBAGE)
			range_text(x, KINETO_MAIN, kineto_call_name(c), c->start, c->dur);
		else
			ROW(x, RUNTIME, c->start, c->dur, GLOBAL_PID | KINETO_MAIN, 3000 + i,
			    name_id(x, kineto_call_name(c)));
	}
	for (int i = 0; i < KINETO_EARLY; i++)
		ROW(x, KERNEL, r->early + 2 * (int64_t)i * KINETO_EARLY_NS, KINETO_EARLY_NS, kineto_device(r),
		    KINETO_STREAM, 4000 + i, GLOBAL_PID, name_id(x, kineto_optimizer[0].kernel));
	/* up to the wanted number */
	for (int64_t i = 0; x->left > 0; i++) {
		const struct unit *u = &r->units[i % r->count];

		range_id(x, u->phase == PHASE_BACKWARD ? KINETO_AUTOGRAD : KINETO_MAIN, "training_step",
		         u->op, u->op_dur);
	}
}

static void secondary_tables(struct export *x)
{
	char text[400];

	snprintf(text, sizeof(text),
	         "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%" PRId64 ", NULL, NULL, NULL);"
	         "INSERT INTO TARGET_INFO_GPU VALUES (0, %" PRId64 ", 'NVIDIA H100 80GB HBM3');"
	         "INSERT INTO PROCESSES VALUES (%" PRId64 ", %d, 'python3');"
	         "INSERT INTO ThreadNames VALUES (%" PRId64 ", 20, %" PRId64 ");",
	         kineto_start_ns - SESSION_NS, kineto_device(x->r), GLOBAL_PID, (int)KINETO_PID,
	         name_id(x, "pt_autograd_0"), GLOBAL_PID | KINETO_AUTOGRAD);
	sql(x, text);
	for (int i = 0; i < x->name_count; i++) {
		char *insert = sqlite3_mprintf("INSERT INTO StringIds VALUES (%d, %Q)", i + 1, x->names[i]);

		sql(x, insert);
		sqlite3_free(insert);
	}
}

static int64_t write_export(const struct kineto_options *o, const struct kineto_rank *r, const char *path)
{
	struct export x = {.o = o, .r = r, .left = o->events};
	struct stat st = {0};

	unlink(path);
	if (sqlite3_open(path, &x.db) != SQLITE_OK)
		out_die("%s cannot be written", path);
	sql(&x, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA auto_vacuum = NONE; BEGIN;");
	sql(&x, SCHEMA);
	for (int i = 0; i < TABLES; i++)
		if (sqlite3_prepare_v2(x.db, INSERTS[i], -1, &x.insert[i], NULL) != SQLITE_OK)
			out_die("sqlite: %s", sqlite3_errmsg(x.db));
	for (int64_t i = 0; i < r->count; i++) {
		bool first = i == 0 || r->units[i].step != r->units[i - 1].step;

		unit_rows(&x, &r->units[i], i, first ? o->name : NULL);
	}
	other_rows(&x);
	if (o->events && x.left != 0)
		out_die("these options need %" PRId64 " events at least", o->events - x.left);
	secondary_tables(&x);
	for (int i = 0; i < TABLES; i++)
		sqlite3_finalize(x.insert[i]);
	sql(&x, "COMMIT");
	sqlite3_close(x.db);
	if (stat(path, &st) != 0)
		out_die("%s cannot be written", path);
	return st.st_size;
}

static int run(int argc, char **argv)
{
	struct kineto_options o = {
	    .steps = 3, .ranks = 1, .seed = 1, .format = "nsys", .suffix = "sqlite", .write = write_export};

	return kineto_run(argc, argv, IN_NSYS, "eausrdfntpixc", &o);
}

const struct dialect NSYS_DIALECT = {
    .name = "nsys",
    .usage = "generate nsys --events N [options] OUT       the job of kineto as an export of Nsight Systems\n"
             "  --units N operators a step instead of --events\n",
    .run = run,
};
