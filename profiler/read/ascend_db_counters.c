#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_counters.h"
#include "profiler/read/ascend_db.h"
#include "profiler/read/ascend_kind.h"

/* TASK_PMU_INFO and AICORE_FREQ: hardware counters and clocks. */

/* A counter that is the ratio of a pipe, or one of operations or bytes. Of equal ratios the pipe that
 * kernel_details.csv has first counts. */
struct pmu {
	int64_t id;    /* of STRING_IDS */
	uint32_t name; /* of a pipe, without "_ratio" */
	uint8_t order;
	bool inner;
	struct counter counter; /* COUNTER_NONE = a pipe */
};
#define PMU_MAX 64
struct pmus {
	struct pmu items[PMU_MAX];
	size_t count, counters;
	char ids[PMU_MAX * 24]; /* as a list for SQL */
};

/* What one kernel has had so far. */
struct counted {
	uint8_t order; /* of the pipe that is kept */
	struct counter_sums sums;
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

static int add_pmu(struct ascend_db *r, struct pmus *p, int64_t id, const char *text, size_t len)
{
	struct pmu *x = &p->items[p->count];
	size_t pipe = ascend_pipe_name(text, len), used = strlen(p->ids);
	int rc;

	*x = (struct pmu){.id = id, .counter = counter_of(text, len)};
	if (id == SB_NULL || (pipe == 0 && x->counter.kind == COUNTER_NONE))
		return SB_OK;
	if (pipe > 0) {
		x->order = pipe_order(text);
		rc = sb_strings_add(r->cap->trace.strings, text, pipe, &x->name);
		if (rc != SB_OK)
			return db_fail(r, rc);
		x->inner = pipe_is_inner(trace_text(&r->cap->trace, x->name, NULL));
	} else {
		p->counters++;
	}
	snprintf(p->ids + used, sizeof(p->ids) - used, "%s%lld", p->count ? "," : "", (long long)id);
	p->count++;
	return SB_OK;
}

/* The counters' names are looked for among all texts, so that only their rows need to be looked at. */
static int find_pmus(struct ascend_db *r, struct pmus *p)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc = database_query(r->db, &rows, r->err, "SELECT id, value FROM STRING_IDS");

	while (rc == SB_OK && p->count < PMU_MAX && (rc = database_next(rows, &more, r->err)) == SB_OK &&
	       more) {
		size_t len;
		const char *text = database_text(rows, 1, &len);

		rc = add_pmu(r, p, database_int(rows, 0), text, len);
	}
	return rc;
}

static const struct pmu *pmu_of(const struct pmus *p, int64_t id)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].id == id)
			return &p->items[i];
	}
	return NULL;
}

static void take_ratio(struct kernel *k, uint8_t *order, const struct pmu *pipe, double ratio)
{
	float v = (float)ratio;

	if (!(ratio >= 0) || !isfinite(v))
		return;
	if (pipe->inner && !(v <= k->inner_ratio))
		k->inner_ratio = v;
	if (v < k->pipe_ratio || (v == k->pipe_ratio && *order <= pipe->order))
		return;
	k->pipe_ratio = v;
	k->pipe = v > 0 ? pipe->name : 0;
	*order = pipe->order;
}

static int read_values(struct ascend_db *r, struct task_index *kernels, const struct pmus *p,
                       struct counted *each)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc =
	    database_query(r->db, &rows, r->err,
	                   "SELECT globalTaskId, name, value FROM TASK_PMU_INFO WHERE name IN (%s)", p->ids);

	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		const struct pmu *x = pmu_of(p, database_int(rows, 1));
		double value = database_double(rows, 2);
		uint32_t at;

		if (!x || !task_index_find(kernels, database_int(rows, 0), &at))
			continue;
		if (x->counter.kind == COUNTER_NONE)
			take_ratio(&r->cap->kernels[at], &each[at].order, x, value);
		else if (!isnan(value))
			counter_add(&each[at].sums, &x->counter, value);
	}
	return rc;
}

int db_read_counters(struct ascend_db *r, struct task_index *kernels)
{
	struct pmus p = {.count = 0};
	struct counted *each;
	size_t n = r->cap->kernel_count;
	int rc;

	if (kernels->count == 0 || !r->named[NAMES_STRING] ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "globalTaskId") ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "name") ||
	    !database_has_column(r->db, "TASK_PMU_INFO", "value"))
		return SB_OK;
	rc = find_pmus(r, &p);
	if (rc != SB_OK || p.count == 0)
		return rc;
	each = calloc(n, sizeof(*each));
	if (!each)
		return db_fail(r, SB_ENOMEM);
	for (size_t i = 0; i < n; i++)
		each[i].sums = COUNTERS_NONE;
	rc = read_values(r, kernels, &p, each);
	for (size_t i = 0; p.counters > 0 && i < n; i++)
		counter_finish(&each[i].sums, &r->cap->kernels[i]);
	free(each);
	return rc;
}

/* AICORE_FREQ: the clock where it changes, in any order. */
int db_read_clocks(struct ascend_db *r)
{
	static const char *const table = "AICORE_FREQ";
	DATABASE_ROWS_AUTO rows = NULL;
	char where[64];
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "timestampNs") || !database_has_column(r->db, table, "freq"))
		return SB_OK;
	db_where(r, table, where, sizeof(where));
	rc = database_query(r->db, &rows, r->err, "SELECT timestampNs, freq, %s FROM %s %s",
	                    db_column(r, table, "deviceId"), table, where);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t device = database_int(rows, 2);

		if (capture_add_clock(r->cap, database_int(rows, 0), database_double(rows, 1),
		                      device >= 0 && device <= INT32_MAX ? (int32_t)device : -1) != SB_OK)
			return db_fail(r, SB_ENOMEM);
	}
	return rc;
}
