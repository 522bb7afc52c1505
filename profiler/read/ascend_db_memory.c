#include <stdio.h>

#include "profiler/read/ascend_db.h"
#include "profiler/read/memory_rows.h"

/* MEMORY_RECORD (else NPU_OP_MEM, which msprof writes), OP_MEMORY and NPU_MODULE_MEM: what memory_record.csv,
 * operator_memory.csv and npu_module_mem.csv hold. Sizes are bytes. */

/* Bytes that can be, else SB_NULL. */
static int64_t bytes_at(const struct database_rows *rows, int i)
{
	double v = database_double(rows, i);

	return v >= 0 && v < 4e18 ? (int64_t)v : SB_NULL;
}

static int64_t device_at(const struct database_rows *rows, int i)
{
	int64_t v = database_int(rows, i);

	return v >= 0 && v <= INT32_MAX ? v : SB_NULL;
}

static bool bad_time(struct ascend_db *r, const char *table, int64_t time)
{
	if (time != SB_NULL && time >= 0)
		return false;
	warnings_add(&r->ctx->profile->warnings, "bad_value", database_path(r->db), 0, -1,
	             "Table %s: a row whose time cannot be used is left out.", table);
	return true;
}

static int read_records(struct ascend_db *r, const char *table, const char *time, const char *allocated,
                        const char *reserved)
{
	DATABASE_ROWS_AUTO rows = NULL;
	char where[64];
	bool more = true;
	int rc;

	db_where(r, table, where, sizeof(where));
	rc = database_query(r->db, &rows, r->err, "SELECT %s, %s, %s, %s, %s FROM %s %s", time,
	                    db_column(r, table, "component"), db_column(r, table, allocated),
	                    db_column(r, table, reserved), db_column(r, table, "deviceId"), table, where);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t at = database_int(rows, 0);
		struct memory_series *s = NULL;

		if (bad_time(r, table, at))
			continue;
		if (memory_series(r->cap, device_at(rows, 4), db_name(r, NAMES_STRING, database_int(rows, 1)),
		                  &s) != SB_OK ||
		    memory_add(s, at, bytes_at(rows, 2), bytes_at(rows, 3)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
	}
	return rc;
}

/* What was freed only had been allocated before the capture: it has no time or a negative size. */
static int read_operators(struct ascend_db *r)
{
	static const char table[] = "OP_MEMORY";
	DATABASE_ROWS_AUTO rows = NULL;
	char where[64];
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "allocationTime") ||
	    !database_has_column(r->db, table, "size"))
		return SB_OK;
	db_where(r, table, where, sizeof(where));
	rc = database_query(r->db, &rows, r->err, "SELECT allocationTime, %s, size, %s, %s FROM %s %s",
	                    db_column(r, table, "releaseTime"), db_column(r, table, "name"),
	                    db_column(r, table, "deviceId"), table, where);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t device = device_at(rows, 4);
		struct allocation a = {.start_ns = database_int(rows, 0),
		                       .end_ns = database_int(rows, 1),
		                       .bytes = bytes_at(rows, 2),
		                       .name = db_name(r, NAMES_STRING, database_int(rows, 3))};

		a.device = device == SB_NULL ? 0 : (int32_t)device;
		if (a.start_ns == SB_NULL || a.start_ns <= 0 || a.bytes == SB_NULL)
			continue;
		if (memory_allocated(r->cap, &a) != SB_OK)
			return db_fail(r, SB_ENOMEM);
	}
	return rc;
}

/* The names of CANN's modules, as texts of the capture: "module HCCL". */
#define MODULES_MAX 256
static int read_module_names(struct ascend_db *r, uint32_t names[MODULES_MAX])
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, "ENUM_MODULE", "id") ||
	    !database_has_column(r->db, "ENUM_MODULE", "name"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT id, name FROM ENUM_MODULE");
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t id = database_int(rows, 0);
		char text[64];

		snprintf(text, sizeof(text), "module %.40s", database_text(rows, 1, NULL));
		if (id >= 0 && id < MODULES_MAX)
			rc = db_add_text(r, text, &names[id]);
	}
	return rc;
}

static int read_modules(struct ascend_db *r)
{
	static const char table[] = "NPU_MODULE_MEM";
	uint32_t names[MODULES_MAX] = {0};
	DATABASE_ROWS_AUTO rows = NULL;
	char where[64];
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "timestampNs") ||
	    !database_has_column(r->db, table, "moduleId") ||
	    !database_has_column(r->db, table, "totalReserved"))
		return SB_OK;
	rc = read_module_names(r, names);
	if (rc != SB_OK)
		return rc;
	db_where(r, table, where, sizeof(where));
	rc =
	    database_query(r->db, &rows, r->err, "SELECT timestampNs, moduleId, totalReserved, %s FROM %s %s",
	                   db_column(r, table, "deviceId"), table, where);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t at = database_int(rows, 0), module = database_int(rows, 1);
		struct memory_series *s = NULL;

		if (bad_time(r, table, at) || module < 0 || module >= MODULES_MAX || names[module] == 0)
			continue;
		if (memory_series(r->cap, device_at(rows, 3), names[module], &s) != SB_OK ||
		    memory_add(s, at, SB_NULL, bytes_at(rows, 2)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
	}
	return rc;
}

int db_read_memory(struct ascend_db *r)
{
	int rc = SB_OK;

	if (database_has_column(r->db, "MEMORY_RECORD", "timestamp"))
		rc = read_records(
		    r, "MEMORY_RECORD", "timestamp",
		    database_has_column(r->db, "MEMORY_RECORD", "totalAllocated") ? "totalAllocated"
		                                                                  : "totalAllocate",
		    database_has_column(r->db, "MEMORY_RECORD", "totalReserved") ? "totalReserved"
		                                                                 : "totalReserve");
	else if (database_has_column(r->db, "NPU_OP_MEM", "timestampNs"))
		rc = read_records(r, "NPU_OP_MEM", "timestampNs", "totalAllocate", "totalReserve");
	if (rc == SB_OK)
		rc = read_operators(r);
	return rc == SB_OK ? read_modules(r) : rc;
}
