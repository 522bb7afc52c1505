#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_db.h"
#include "profiler/read/ascend_kind.h"

/* TASK: every row of the hardware. What it was stands in COMPUTE_TASK_INFO, or in COMMUNICATION_TASK_INFO for
 * the tasks of a collective, or nowhere but in its task type. */

/* One row of COMMUNICATION_TASK_INFO. */
struct transfer {
	int64_t bytes, collective;
	uint32_t group, plane;
	uint32_t name, link; /* text ids */
};

struct tasks {
	struct ascend_db *r;
	struct task_index kernels, transfers;
	struct transfer *items; /* of the index transfers */
	size_t count;
	struct task_index copies;
	struct copy {
		int64_t bytes;
		uint32_t direction;
	} * copied;
	size_t copy_count;
	bool described; /* the database says which tasks are kernels */
};

static void tasks_free(struct tasks *t)
{
	task_index_free(&t->kernels);
	task_index_free(&t->transfers);
	task_index_free(&t->copies);
	free(t->items);
	free(t->copied);
}

static int transfer_row(struct tasks *t, const struct database_rows *rows)
{
	struct ascend_db *r = t->r;
	int64_t task = database_int(rows, 0), plane = database_int(rows, 2);
	struct transfer x = {.bytes = database_int(rows, 4),
	                     .collective = database_int(rows, 7),
	                     .plane = plane >= 0 && plane < UINT32_MAX ? (uint32_t)plane : 0,
	                     .name = db_name(r, NAMES_STRING, database_int(rows, 1)),
	                     .link = db_name(r, NAMES_LINK, database_int(rows, 5))};
	int rc;

	if (task == SB_NULL)
		return SB_OK;
	if (x.link == 0)
		x.link = db_name(r, NAMES_TRANSPORT, database_int(rows, 6));
	rc = db_group(r, database_int(rows, 3), &x.group);
	if (rc == SB_OK)
		rc = t->count < UINT32_MAX ? task_index_add(&t->transfers, task, (uint32_t)t->count)
		                           : SB_ELIMIT;
	if (rc == SB_OK)
		rc = sb_grow(&t->items, t->count, sizeof(x));
	if (rc != SB_OK)
		return db_fail(r, rc);
	t->items[t->count++] = x;
	return SB_OK;
}

static int read_transfers(struct tasks *t)
{
	static const char table[] = "COMMUNICATION_TASK_INFO";
	struct ascend_db *r = t->r;
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "globalTaskId"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT globalTaskId, %s, %s, %s, %s, %s, %s, %s FROM %w",
	                    db_column(r, table, "taskType"), db_column(r, table, "planeId"),
	                    db_column(r, table, "groupName"), db_column(r, table, "size"),
	                    db_column(r, table, "linkType"), db_column(r, table, "transportType"),
	                    db_column(r, table, "opId"), table);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = transfer_row(t, rows);
	(void)task_index_sort(&t->transfers);
	return rc;
}

/* MEMCPY_INFO: newer exporters say how much a copy moved, and where to. */
static int read_copies(struct tasks *t)
{
	static const char table[] = "MEMCPY_INFO";
	struct ascend_db *r = t->r;
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "globalTaskId"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT globalTaskId, %s, %s FROM %w",
	                    db_column(r, table, "size"), db_column(r, table, "memcpyOperation"), table);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct copy x = {database_int(rows, 1), db_name(r, NAMES_MEMCPY, database_int(rows, 2))};

		if (database_int(rows, 0) == SB_NULL || t->copy_count == UINT32_MAX)
			continue;
		if (task_index_add(&t->copies, database_int(rows, 0), (uint32_t)t->copy_count) != SB_OK ||
		    sb_grow(&t->copied, t->copy_count, sizeof(x)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		t->copied[t->copy_count++] = x;
	}
	(void)task_index_sort(&t->copies);
	return rc;
}

/* A kernel that no table describes: only its task type is known. */
static int undescribed(struct tasks *t, const struct event *e)
{
	struct kernel k = kernel_unknown();

	k.start_ns = e->start_ns;
	k.dur_ns = e->dur_ns;
	k.name = k.core = e->name;
	return capture_add_kernel(t->r->cap, &k) == SB_OK ? SB_OK : db_fail(t->r, SB_ENOMEM);
}

static int other_task(struct tasks *t, int64_t task, int64_t stream, struct event *e, uint32_t type)
{
	struct event_detail d = {.bytes = SB_NULL, .sequence = SB_NULL};
	const char *text = sb_strings_get(t->r->cap->trace.strings, type, NULL);
	uint32_t at;
	int rc = SB_OK;

	e->name = type;
	e->kind = ascend_hardware_kind(text, text);
	/* what is not described is the frame around tasks that are, and counts twice */
	if (e->kind == EVENT_KERNEL && t->described)
		e->kind = EVENT_DEVICE_OTHER;
	if (e->kind == EVENT_KERNEL) {
		d.type = type;
		rc = undescribed(t, e);
	}
	if (e->kind == EVENT_MEMCPY && task_index_find(&t->copies, task, &at)) {
		d.bytes = t->copied[at].bytes >= 0 ? t->copied[at].bytes : SB_NULL;
		d.type = t->copied[at].direction;
	}
	return rc == SB_OK ? db_event(t->r, DB_HARDWARE, stream, e, &d) : rc;
}

/* A task of a collective: on its stream, and once more on its plane. */
static int transfer_task(struct tasks *t, const struct transfer *x, int64_t stream, struct event *e,
                         uint32_t type)
{
	struct event_detail d = {
	    .type = x->link, .bytes = x->bytes >= 0 ? x->bytes : SB_NULL, .sequence = SB_NULL};
	struct ascend_db *r = t->r;
	const char *text = sb_strings_get(r->cap->trace.strings, type, NULL);
	int rc;

	e->name = type;
	e->kind = ascend_hardware_kind(text, text);
	if (e->kind == EVENT_KERNEL)
		e->kind = EVENT_DEVICE_OTHER;
	rc = db_event(r, DB_HARDWARE, stream, e, NULL);
	if (rc != SB_OK)
		return rc;
	if (r->many_devices && x->collective != SB_NULL) {
		rc = id_map_put(&r->ids, db_key(x->collective, MAP_COLLECTIVE), 1);
		if (rc != SB_OK)
			return db_fail(r, rc);
	}
	e->name = x->name ? x->name : type;
	e->kind = EVENT_COMMUNICATION_TASK;
	/* waits and records of a plane move nothing */
	return db_event(r, DB_PLANE, (int64_t)x->group << 32 | x->plane, e, d.bytes == 0 ? NULL : &d);
}

static int kernel_task(struct tasks *t, struct kernel *k, int64_t stream, struct event *e)
{
	struct event_detail d = {.type = k->core, .bytes = SB_NULL, .sequence = SB_NULL};

	if (k->start_ns != SB_NULL) {
		warnings_add(&t->r->ctx->profile->warnings, "duplicate_event", database_path(t->r->db), 0, -1,
		             "Table TASK: of tasks with one globalTaskId the first is used.");
		return SB_OK;
	}
	k->start_ns = e->start_ns;
	k->dur_ns = e->dur_ns;
	k->stream = stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
	e->name = k->name;
	e->kind = EVENT_KERNEL;
	return db_event(t->r, DB_HARDWARE, stream, e, &d);
}

static int task_row(struct tasks *t, const struct database_rows *rows)
{
	struct event e = {0};
	struct ascend_db *r = t->r;
	int64_t task = database_int(rows, 2), stream = database_int(rows, 4);
	uint32_t at, type = db_name(r, NAMES_STRING, database_int(rows, 3));

	if (!db_times(r, rows, "TASK", &e.start_ns, &e.dur_ns))
		return SB_OK;
	e.link = db_link(database_int(rows, 5));
	if (stream == SB_NULL)
		stream = -1;
	if (task_index_find(&t->kernels, task, &at))
		return kernel_task(t, &r->cap->kernels[at], stream, &e);
	if (task_index_find(&t->transfers, task, &at))
		return transfer_task(t, &t->items[at], stream, &e, type);
	return other_task(t, task, stream, &e, type);
}

static int scan_tasks(struct tasks *t)
{
	static const char table[] = "TASK";
	struct ascend_db *r = t->r;
	DATABASE_ROWS_AUTO rows = NULL;
	char where[64];
	bool more = true;
	int rc;

	if (!database_has(r->db, table))
		return SB_OK;
	db_where(r, table, where, sizeof(where));
	rc = database_query(r->db, &rows, r->err, "SELECT startNs, endNs, %s, %s, %s, %s FROM TASK %s",
	                    db_column(r, table, "globalTaskId"), db_column(r, table, "taskType"),
	                    db_column(r, table, "streamId"), db_column(r, table, "connectionId"), where);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = task_row(t, rows);
	return rc;
}

int db_read_tasks(struct ascend_db *r)
{
	__attribute__((cleanup(tasks_free))) struct tasks t = {.r = r};
	int rc = db_read_compute(r, &t.kernels);

	t.described = t.kernels.count > 0;
	if (rc == SB_OK)
		rc = db_read_counters(r, &t.kernels);
	if (rc == SB_OK)
		rc = read_transfers(&t);
	if (rc == SB_OK)
		rc = read_copies(&t);
	return rc == SB_OK ? scan_tasks(&t) : rc;
}
