#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"
#include "profiler/read/ascend_db.h"

/* What the tables have in common: times, lanes, columns that come and go, rows found by task. */

#define NO_CONNECTION UINT32_MAX /* 0 is none, too */

int db_fail(struct ascend_db *r, int rc)
{
	if (rc == SB_ELIMIT)
		return sb_fail_at(r->err, SB_EFORMAT, "too_many_events", database_path(r->db), 0, -1,
		                  "the database holds too many events or names");
	return sb_fail_at(r->err, rc, "no_memory", database_path(r->db), 0, -1, "out of memory");
}

const char *db_column(struct ascend_db *r, const char *table, const char *column)
{
	return database_has_column(r->db, table, column) ? column : "NULL";
}

void db_where(struct ascend_db *r, const char *table, char *out, size_t size)
{
	if (r->many_devices && database_has_column(r->db, table, "deviceId"))
		snprintf(out, size, "WHERE deviceId = %" PRId64, r->device);
	else
		snprintf(out, size, "%s", "");
}

bool db_times(struct ascend_db *r, const struct database_rows *rows, const char *table, int64_t *out_start,
              int64_t *out_dur)
{
	struct warnings *w = &r->ctx->profile->warnings;
	int64_t start = database_int(rows, 0), end = database_int(rows, 1), dur;

	if (start == SB_NULL || end == SB_NULL || __builtin_sub_overflow(end, start, &dur) ||
	    dur == SB_NULL) {
		warnings_add(w, "bad_value", database_path(r->db), 0, -1,
		             "Table %s: a row whose times cannot be used is left out.", table);
		return false;
	}
	if (dur < 0)
		warnings_add(w, "negative_duration", database_path(r->db), 0, -1,
		             "Table %s: a row that ends before it starts counts as one of 0.", table);
	*out_start = start;
	*out_dur = dur < 0 ? 0 : dur;
	r->range.table = table;
	clock_see(&r->range, start, dur, database_row(rows));
	return true;
}

int64_t db_link(int64_t connection)
{
	return connection <= 0 || connection == NO_CONNECTION ? -1 : connection;
}

static void lane_text(enum db_process process, int64_t number, char *out, size_t size)
{
	uint32_t low = (uint32_t)(uint64_t)number;

	switch (process) {
	case DB_HARDWARE: snprintf(out, size, "Stream %" PRId64, number); break;
	case DB_GROUP: snprintf(out, size, "Group %" PRId64 " Communication", number); break;
	case DB_PLANE: snprintf(out, size, "Plane %" PRIu32, low); break;
	default: snprintf(out, size, "Thread %" PRIu32, low); break;
	}
}

static int process_text(struct ascend_db *r, enum db_process process)
{
	static const char *const names[DB_PROCESS_COUNT] = {
	    [DB_HOST] = "Python",
	    [DB_CANN] = "CANN",
	    [DB_GC] = "Python GC",
	    [DB_MSTX] = "MSTX",
	    [DB_HARDWARE] = "Ascend Hardware",
	    [DB_GROUP] = "Communication",
	    [DB_PLANE] = "Communication",
	};

	if (r->process[process] != 0)
		return SB_OK;
	return db_add_text(
	    r, process == DB_HOST && r->format == FORMAT_MINDSPORE_DB ? "MindSpore" : names[process],
	    &r->process[process]);
}

static int new_lane(struct ascend_db *r, enum db_process process, int64_t number, uint32_t *out_lane)
{
	bool host = process < DB_HARDWARE;
	struct lane lane = {.device =
	                        host || r->device < 0 || r->device > INT32_MAX ? -1 : (int32_t)r->device};
	char text[64];
	int rc = process_text(r, process);

	if (rc != SB_OK)
		return rc;
	lane.process = r->process[process];
	lane_text(process, number, text, sizeof(text));
	rc = db_add_text(r, text, &lane.thread);
	if (rc != SB_OK)
		return rc;
	rc = trace_add_lane(&r->cap->trace, &lane, out_lane);
	if (rc == SB_OK)
		rc = id_map_put(&r->ids, db_key(number, MAP_LANE + process), *out_lane);
	return rc == SB_OK ? SB_OK : db_fail(r, rc);
}

static int lane_of(struct ascend_db *r, enum db_process process, int64_t number, uint32_t *out_lane)
{
	if (r->last.set && r->last.process == process && r->last.number == number) {
		*out_lane = r->last.lane;
		return SB_OK;
	}
	if (!id_map_get(&r->ids, db_key(number, MAP_LANE + process), out_lane)) {
		int rc = new_lane(r, process, number, out_lane);

		if (rc != SB_OK)
			return rc;
	}
	r->last.process = process;
	r->last.number = number;
	r->last.lane = *out_lane;
	r->last.set = true;
	return SB_OK;
}

int db_event(struct ascend_db *r, enum db_process process, int64_t number, struct event *e,
             struct event_detail *d)
{
	int rc = lane_of(r, process, number, &e->lane);

	if (rc != SB_OK)
		return rc;
	rc = trace_append(&r->cap->trace, e);
	if (rc == SB_OK && d && (d->type != 0 || d->group != 0 || d->bytes != SB_NULL))
		rc = trace_append_detail(&r->cap->trace, d);
	return rc == SB_OK ? SB_OK : db_fail(r, rc);
}

int task_index_add(struct task_index *x, int64_t task, uint32_t at)
{
	if (sb_grow(&x->items, x->count, sizeof(*x->items)) != SB_OK)
		return SB_ENOMEM;
	x->items[x->count++] = (struct task_key){task, at};
	return SB_OK;
}

static int by_task(const void *a, const void *b)
{
	const struct task_key *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

size_t task_index_sort(struct task_index *x)
{
	bool sorted = true;
	size_t kept = 0, count = x->count;

	for (size_t i = 1; i < count && sorted; i++)
		sorted = x->items[i - 1].task < x->items[i].task;
	if (sorted)
		return 0;
	qsort(x->items, count, sizeof(*x->items), by_task);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || x->items[kept - 1].task != x->items[i].task)
			x->items[kept++] = x->items[i];
	}
	x->count = kept;
	return count - kept;
}

bool task_index_find(struct task_index *x, int64_t task, uint32_t *out_at)
{
	size_t lo = 0, hi = x->count;

	if (task == SB_NULL)
		return false;
	/* between the last found and its neighbour, or that neighbour */
	if ((x->next == 0 || x->items[x->next - 1].task < task) &&
	    (x->next == x->count || x->items[x->next].task >= task))
		lo = hi = x->next;
	lo = SB_BISECT(i, lo, hi, x->items[i].task < task);
	x->next = lo;
	if (lo == x->count || x->items[lo].task != task)
		return false;
	*out_at = x->items[lo].at;
	x->next++;
	return true;
}

void task_index_free(struct task_index *x)
{
	free(x->items);
}
