#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "profiler/read/ascend_db.h"

/* COMPUTE_TASK_INFO: what kernel_details.csv holds of a kernel, without its time and counters. */

#define TABLE "COMPUTE_TASK_INFO"

/* The columns of texts, and where their ids stand in a kernel. */
static const struct {
	const char *column;
	size_t place;
} TEXTS[] = {
    {"name", offsetof(struct kernel, name)},
    {"opType", offsetof(struct kernel, type)},
    {"taskType", offsetof(struct kernel, core)},
    {"opState", offsetof(struct kernel, state)},
    {"inputShapes", offsetof(struct kernel, input_shapes)},
    {"inputDataTypes", offsetof(struct kernel, input_types)},
    {"inputFormats", offsetof(struct kernel, input_formats)},
    {"outputShapes", offsetof(struct kernel, output_shapes)},
    {"outputDataTypes", offsetof(struct kernel, output_types)},
    {"outputFormats", offsetof(struct kernel, output_formats)},
};
#define TEXT_COUNT (sizeof(TEXTS) / sizeof(TEXTS[0]))

static int query_compute(struct ascend_db *r, struct database_rows **out)
{
	static const char *const blocks[] = {"blockDim", "blockNum", "block_dim", "block_num", NULL};
	const char *block = database_column_any(r->db, TABLE, blocks);
	char columns[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < TEXT_COUNT; i++)
		used += (size_t)snprintf(columns + used, sizeof(columns) - used, ", %s",
		                         db_column(r, TABLE, TEXTS[i].column));
	return database_query(r->db, out, r->err, "SELECT globalTaskId, %s%s FROM " TABLE,
	                      block ? block : "NULL", columns);
}

static int compute_row(struct ascend_db *r, const struct database_rows *rows, struct task_index *kernels)
{
	struct kernel k = kernel_unknown();
	struct capture *cap = r->cap;
	int64_t task = database_int(rows, 0), block = database_int(rows, 1);

	if (task == SB_NULL) {
		warnings_add(&r->ctx->profile->warnings, "bad_value", database_path(r->db), 0, -1,
		             "Table " TABLE ": a row without a globalTaskId is left out.");
		return SB_OK;
	}
	if (block >= 0 && block <= INT32_MAX)
		k.block_dim = (int32_t)block;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		uint32_t id = db_name(r, NAMES_STRING, database_int(rows, 2 + (int)i));

		memcpy((char *)&k + TEXTS[i].place, &id, sizeof(id));
	}
	if (cap->kernel_count >= UINT32_MAX)
		return db_fail(r, SB_ELIMIT);
	if (task_index_add(kernels, task, (uint32_t)cap->kernel_count) != SB_OK ||
	    capture_add_kernel(cap, &k) != SB_OK)
		return db_fail(r, SB_ENOMEM);
	return SB_OK;
}

int db_read_compute(struct ascend_db *r, struct task_index *kernels)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	size_t repeated;
	int rc;

	if (!database_has_column(r->db, TABLE, "globalTaskId"))
		return SB_OK;
	rc = query_compute(r, &rows);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = compute_row(r, rows, kernels);
	repeated = task_index_sort(kernels);
	if (repeated > 0) {
		warnings_add(&r->ctx->profile->warnings, "duplicate_task", database_path(r->db), 0, -1,
		             "Table " TABLE ": of rows with one globalTaskId the first is used.");
		warnings_repeat(&r->ctx->profile->warnings, "duplicate_task", database_path(r->db),
		                repeated - 1);
	}
	return rc;
}
