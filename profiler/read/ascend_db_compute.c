#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_db.h"
#include "profiler/read/ascend_kind.h"

/* COMPUTE_TASK_INFO and TASK_PMU_INFO: what kernel_details.csv holds of a kernel, without its time. */

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

/* A counter that is the ratio of a pipe. Of equal ratios the pipe that kernel_details.csv has first counts.
 */
struct pipe {
	int64_t id;    /* of STRING_IDS */
	uint32_t name; /* without "_ratio" */
	uint8_t order;
};
#define PIPES_MAX 32
struct pipes {
	struct pipe items[PIPES_MAX];
	size_t count;
	char ids[PIPES_MAX * 24]; /* as a list for SQL */
};

static uint8_t pipe_order(const char *text)
{
	static const char *const order[] = {"mac", "vec", "scalar", "mte1", "mte2", "mte3", "fixpipe"};
	uint8_t vector = strncmp(text, "aiv_", 4) == 0;
	const char *name = vector || strncmp(text, "aic_", 4) == 0 ? text + 4 : text;
	uint8_t i = 0;

	while (i < 7 && strncmp(name, order[i], strlen(order[i])) != 0)
		i++;
	return (uint8_t)(8 * vector + i);
}

/* The counters' names are looked for among all texts, so that only their rows need to be looked at. */
static int find_pipes(struct ascend_db *r, struct pipes *p)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	size_t used = 0;
	int rc = database_query(r->db, &rows, r->err, "SELECT id, value FROM STRING_IDS");

	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more &&
	       p->count < PIPES_MAX) {
		size_t len, keep;
		const char *text = database_text(rows, 1, &len);
		struct pipe *x = &p->items[p->count];

		keep = ascend_pipe_name(text, len);
		x->id = database_int(rows, 0);
		if (keep == 0 || x->id == SB_NULL)
			continue;
		x->order = pipe_order(text);
		rc = sb_strings_add(r->cap->trace.strings, text, keep, &x->name);
		if (rc != SB_OK)
			return db_fail(r, rc);
		used += (size_t)snprintf(p->ids + used, sizeof(p->ids) - used, "%s%lld", p->count ? "," : "",
		                         (long long)x->id);
		p->count++;
	}
	return rc;
}

static const struct pipe *pipe_of(const struct pipes *p, int64_t id)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].id == id)
			return &p->items[i];
	}
	return NULL;
}

static void take_ratio(struct kernel *k, uint8_t *order, const struct pipe *pipe, double ratio)
{
	float v = (float)ratio;

	if (!(ratio >= 0) || !isfinite(v) || v < k->pipe_ratio ||
	    (v == k->pipe_ratio && *order <= pipe->order))
		return;
	k->pipe_ratio = v;
	k->pipe = v > 0 ? pipe->name : 0;
	*order = pipe->order;
}

static int read_ratios(struct ascend_db *r, struct task_index *kernels, const struct pipes *p,
                       uint8_t *orders)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc =
	    database_query(r->db, &rows, r->err,
	                   "SELECT globalTaskId, name, value FROM TASK_PMU_INFO WHERE name IN (%s)", p->ids);

	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		const struct pipe *pipe = pipe_of(p, database_int(rows, 1));
		uint32_t at;

		if (pipe && task_index_find(kernels, database_int(rows, 0), &at))
			take_ratio(&r->cap->kernels[at], &orders[at], pipe, database_double(rows, 2));
	}
	return rc;
}

int db_read_counters(struct ascend_db *r, struct task_index *kernels)
{
	struct pipes p = {.count = 0};
	uint8_t *orders;
	int rc;

	if (kernels->count == 0 || !r->named[NAMES_STRING] ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "globalTaskId") ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "name") ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "value"))
		return SB_OK;
	rc = find_pipes(r, &p);
	if (rc != SB_OK || p.count == 0)
		return rc;
	orders = calloc(r->cap->kernel_count, 1);
	if (!orders)
		return db_fail(r, SB_ENOMEM);
	rc = read_ratios(r, kernels, &p, orders);
	free(orders);
	return rc;
}
