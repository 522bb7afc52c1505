#include "profiler/read/ascend_db.h"
#include "profiler/read/msprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ascend_pytorch_profiler_{rank}.db, ascend_mindspore_profiler_{rank}.db and msprof_*.db. The tables that
 * MindStudio Insight adds when it opens one (OVERLAP_ANALYSIS, columns depth and waitNs, …) are not used:
 * they may be half done. HBM and the other counters of links and memory are not read. */

#define RANK_MAX INT32_MAX

static void ascend_db_free(struct ascend_db *r)
{
	id_map_free(&r->ids);
}

static bool any_table(struct database *db)
{
	static const char *const tables[] = {"TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API",
	                                     "STEP_TIME"};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (database_has_column(db, tables[i], "startNs") &&
		    database_has_column(db, tables[i], "endNs"))
			return true;
	}
	return false;
}

static int recognise(struct database *db)
{
	if (!database_has(db, "STRING_IDS"))
		return database_has_column(db, "TASK", "globalTaskId") ? SNIFF_CONTENT : SNIFF_NO;
	/* names alone are the rest of such a database: the reader says so */
	return any_table(db) ? SNIFF_SURE : 1;
}

static enum capture_format format_of(struct database *db)
{
	const char *path = database_path(db);

	if (path_is(path, "ascend_mindspore_profiler", ".db") || strstr(path, "_ascend_ms/"))
		return FORMAT_MINDSPORE_DB;
	if (path_is(path, "ascend_pytorch_profiler", ".db") || database_has(db, "PYTORCH_API") ||
	    strstr(path, "_ascend_pt/"))
		return FORMAT_ASCEND_DB;
	if (path_is(path, "msprof_", ".db") || !database_has(db, "STEP_TIME"))
		return FORMAT_MSPROF_DB;
	return FORMAT_ASCEND_DB;
}

void db_capture_key(const char *path, enum capture_format format, char *out, size_t size)
{
	static const char folder[] = "ASCEND_PROFILER_OUTPUT/";
	size_t len = (size_t)(path_base(path) - path), n = sizeof(folder) - 1;
	char beside[2048];

	if (format == FORMAT_MSPROF_DB) {
		msprof_key(path, out, size);
		return;
	}
	/* outside of such a folder the databases of many ranks may lie side by side */
	if (len >= n && memcmp(path + len - n, folder, n) == 0 && len + 16 < sizeof(beside)) {
		snprintf(beside, sizeof(beside), "%.*sanalysis.db", (int)len, path);
		path = beside;
	}
	ascend_key(path, out, size);
}

/* ascend_pytorch_profiler_3.db is rank 3. */
static int64_t rank_of_name(const char *path)
{
	static const char mark[] = "_profiler_";
	const char *at = strstr(path_base(path), mark);

	return at ? path_number(at + sizeof(mark) - 1, '.') : SB_NULL;
}

static int read_rank(struct ascend_db *r)
{
	DATABASE_ROWS_AUTO rows = NULL;
	int64_t named = r->many_devices ? SB_NULL : rank_of_name(database_path(r->db)), inside = SB_NULL;
	bool more = true;
	int rc;

	r->cap->rank = named;
	r->cap->rank_from = RANK_NAME;
	if (!database_has_column(r->db, "RANK_DEVICE_MAP", "rankId") ||
	    !database_has_column(r->db, "RANK_DEVICE_MAP", "deviceId"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT rankId, deviceId FROM RANK_DEVICE_MAP");
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t rank = database_int(rows, 0);

		/* -1 stands for "not distributed" */
		if (inside == SB_NULL && rank >= 0 && rank <= RANK_MAX &&
		    (r->device == SB_NULL || database_int(rows, 1) == r->device))
			inside = rank;
	}
	if (inside != SB_NULL && named != SB_NULL && inside != named)
		warnings_add(&r->ctx->profile->warnings, "rank_conflict", database_path(r->db), 0, -1,
		             "The file name says rank %" PRId64 ", its RANK_DEVICE_MAP %" PRId64
		             ": the table is used.",
		             named, inside);
	if (inside != SB_NULL) {
		r->cap->rank = inside;
		r->cap->rank_from = RANK_MAP;
	}
	return rc;
}

static int read_chip(struct ascend_db *r)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true, exact = false;
	int rc;

	if (!database_has_column(r->db, "NPU_INFO", "id") || !database_has_column(r->db, "NPU_INFO", "name"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT id, name FROM NPU_INFO");
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		bool mine = r->device == SB_NULL || database_int(rows, 0) == r->device;

		if (exact || (r->cap->chip[0] != '\0' && !mine))
			continue;
		exact = mine;
		snprintf(r->cap->chip, sizeof(r->cap->chip), "%s", database_text(rows, 1, NULL));
	}
	return rc;
}

/* Megatron's arguments. */
static void read_arguments(struct ascend_db *r, struct jpull *j)
{
	struct jpull_value key;
	struct sb_error ignored = {.offset = -1};
	bool more = false;
	int rc = object_enter(j, &more, &ignored);

	while (object_member(j, &rc, &more, &key, &ignored)) {
		bool world = key_is(&key, "world_size");
		const char *value;
		size_t n;
		int64_t v;

		rc = value_scalar(j, &value, &n, &ignored);
		if (rc == SB_OK && world && sb_parse_int(value, n, &v) == SB_OK && v > 0 && v <= RANK_MAX)
			r->cap->world_size = v;
	}
}

/* META_DATA holds texts of JSON. What is wrong with them does not matter to the rest. */
static int read_metadata(struct ascend_db *r)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, "META_DATA", "name") ||
	    !database_has_column(r->db, "META_DATA", "value"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err,
	                    "SELECT name, value FROM META_DATA WHERE name IN ('distributed_args', "
	                    "'parallel_group_info', 'ENV_VARIABLES')");
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		const char *name = database_text(rows, 0, NULL);
		bool groups = strcmp(name, "parallel_group_info") == 0,
		     environment = strcmp(name, "ENV_VARIABLES") == 0;
		struct sb_error ignored = {.offset = -1};
		struct memory_stream in;
		JPULL_AUTO j = NULL;
		size_t len;
		const char *text = database_text(rows, 1, &len);

		memory_stream_init(&in, database_path(r->db), text, len, 0);
		if (jpull_new(&in.base, &j) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		if (!groups && !environment)
			read_arguments(r, j);
		else if ((groups ? ascend_groups : ascend_environment)(j, r->cap, &ignored) == SB_ENOMEM)
			return db_fail(r, SB_ENOMEM);
	}
	return rc;
}

static int read_steps(struct ascend_db *r)
{
	static const char table[] = "STEP_TIME";
	DATABASE_ROWS_AUTO rows = NULL;
	struct capture *cap = r->cap;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "id"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT startNs, endNs, id FROM STEP_TIME");
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct step s = {.number = database_int(rows, 2)};

		if (!db_times(r, rows, table, &s.start_ns, &s.dur_ns))
			continue;
		if (s.number < 0) {
			warnings_add(&r->ctx->profile->warnings, "bad_value", database_path(r->db), 0, -1,
			             "Table STEP_TIME: a step without a usable number is left out.");
			continue;
		}
		if (sb_grow(&cap->steps, cap->step_count, sizeof(s)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		cap->steps[cap->step_count++] = s;
	}
	return rc;
}

static int read_identity(struct ascend_db *r)
{
	int rc = read_rank(r);

	if (rc == SB_OK)
		rc = read_chip(r);
	if (rc == SB_OK)
		rc = read_metadata(r);
	return rc == SB_OK ? read_steps(r) : rc;
}

static void settle_clock(struct ascend_db *r)
{
	const struct clock_file f = {
	    .warnings = &r->ctx->profile->warnings, .path = database_path(r->db), .unit = CLOCK_ROW};

	clock_settle(r->cap, &r->range, &f);
}

/* One device of the database into its capture. */
static int read_device(struct read_context *ctx, struct database *db, int64_t device, bool many,
                       struct sb_error *err)
{
	__attribute__((cleanup(ascend_db_free))) struct ascend_db r = {.ctx = ctx,
	                                                               .db = db,
	                                                               .err = err,
	                                                               .format = format_of(db),
	                                                               .device = device,
	                                                               .many_devices = many};
	char key[2048];
	int rc;

	db_capture_key(database_path(db), r.format, key, sizeof(key));
	if (many) {
		size_t n = strlen(key);

		snprintf(key + n, sizeof(key) - n, "#%" PRId64, device);
	}
	rc = ctx->capture(ctx, key, r.format, &r.cap);
	if (rc != SB_OK)
		return db_fail(&r, rc);
	rc = db_names_load(&r);
	if (rc == SB_OK)
		rc = read_identity(&r);
	if (rc == SB_OK)
		rc = db_read_tasks(&r);
	if (rc == SB_OK)
		rc = db_read_clocks(&r);
	if (rc == SB_OK)
		rc = db_read_collectives(&r);
	if (rc == SB_OK)
		rc = db_read_host(&r);
	if (rc == SB_OK)
		rc = db_read_memory(&r);
	if (rc != SB_OK)
		return rc;
	db_order_kernels(&r);
	r.cap->event_count = (int64_t)r.cap->trace.count;
	settle_clock(&r);
	return SB_OK;
}

/* More than any host has. */
#define DEVICES_MAX 64

static int list_devices(struct database *db, int64_t *devices, size_t *out_count, struct sb_error *err)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	size_t n = 0;
	int rc;

	*out_count = 0;
	if (!database_has_column(db, "TASK", "deviceId"))
		return SB_OK;
	rc = database_query(db, &rows, err, "SELECT DISTINCT deviceId FROM TASK ORDER BY deviceId LIMIT %d",
	                    DEVICES_MAX + 2);
	while (rc == SB_OK && (rc = database_next(rows, &more, err)) == SB_OK && more) {
		int64_t v = database_int(rows, 0);

		if (v == SB_NULL)
			continue;
		if (n == DEVICES_MAX)
			return sb_fail_at(err, SB_EFORMAT, "bad_database", database_path(db), 0, -1,
			                  "table TASK names more than %d devices", DEVICES_MAX);
		devices[n++] = v;
	}
	*out_count = n;
	return rc;
}

static int read_profiler(struct read_context *ctx, struct database *db, struct sb_error *err)
{
	int64_t devices[DEVICES_MAX];
	size_t count;
	int rc;

	if (!any_table(db))
		return sb_fail_at(err, SB_EFORMAT, "no_events", database_path(db), 0, -1,
		                  "the database holds names, but none of the tables of the profiler (TASK, "
		                  "COMMUNICATION_OP, CANN_API, PYTORCH_API): export the capture again");
	rc = list_devices(db, devices, &count, err);
	if (rc == SB_OK && count == 0)
		return read_device(ctx, db, SB_NULL, false, err);
	for (size_t i = 0; rc == SB_OK && i < count; i++)
		rc = read_device(ctx, db, devices[i], count > 1, err);
	return rc;
}

const struct database_format ASCEND_PROFILER_DATABASE = {.recognise = recognise, .read = read_profiler};
