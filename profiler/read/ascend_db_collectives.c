#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_db.h"
#include "profiler/read/ascend_kind.h"

/* COMMUNICATION_OP: collectives, sends and receives as a whole. */

#define NAME_MAX_BYTES 512 /* of a longer name only this much is looked into */

int db_group(struct ascend_db *r, int64_t name, uint32_t *out_group)
{
	struct id_key key = db_key(name, MAP_GROUP);

	if (id_map_get(&r->ids, key, out_group))
		return SB_OK;
	*out_group = r->group_count++;
	return id_map_put(&r->ids, key, *out_group);
}

static bool collective_here(const struct ascend_db *r, const struct database_rows *rows)
{
	uint32_t unused;
	int64_t device = database_int(rows, 9);

	if (!r->many_devices)
		return true;
	if (device != SB_NULL)
		return device == r->device;
	/* older exporters do not say: the tasks do */
	return id_map_get(&r->ids, db_key(database_int(rows, 5), MAP_COLLECTIVE), &unused);
}

/* "hcom_allReduce_", as kernel_details.csv has it. Old exporters have no such column; at level 0 it is N/A.
 */
static int type_of(struct ascend_db *r, const char *name, uint32_t given, uint32_t *out_type)
{
	const char *mark = strstr(name, "__");
	int rc;

	*out_type = given;
	if (given != 0 || !mark || database_has_column(r->db, "COMMUNICATION_OP", "opType"))
		return SB_OK;
	rc = sb_strings_add(r->cap->trace.strings, name, (size_t)(mark - name) + 1, out_type);
	return rc == SB_OK ? SB_OK : db_fail(r, rc);
}

static int collective_row(struct ascend_db *r, const struct database_rows *rows, uint32_t core)
{
	struct event e = {.kind = EVENT_COMMUNICATION};
	struct event_detail d = {.sequence = SB_NULL};
	struct kernel k = kernel_unknown();
	struct capture *cap = r->cap;
	char name[NAME_MAX_BYTES];
	uint32_t group;
	int rc;

	if (!collective_here(r, rows) || !db_times(r, rows, "COMMUNICATION_OP", &e.start_ns, &e.dur_ns))
		return SB_OK;
	e.name = db_name(r, NAMES_STRING, database_int(rows, 2));
	e.link = db_link(database_int(rows, 3));
	/* adding texts moves those that are there */
	snprintf(name, sizeof(name), "%s", sb_strings_get(cap->trace.strings, e.name, NULL));
	d.bytes =
	    ascend_data_bytes(database_int(rows, 6), db_text(r, NAMES_DATA_TYPE, database_int(rows, 7)));
	rc = type_of(r, name, db_name(r, NAMES_STRING, database_int(rows, 8)), &k.type);
	if (rc != SB_OK)
		return rc;
	rc = ascend_collective(cap->trace.strings, name, &d);
	if (rc == SB_OK)
		rc = db_group(r, database_int(rows, 4), &group);
	k.start_ns = e.start_ns;
	k.dur_ns = e.dur_ns;
	k.name = e.name;
	k.core = core;
	k.communication = true;
	if (rc == SB_OK)
		rc = capture_add_kernel(cap, &k);
	if (rc != SB_OK)
		return db_fail(r, rc);
	return db_event(r, DB_GROUP, group, &e, &d);
}

int db_read_collectives(struct ascend_db *r)
{
	static const char table[] = "COMMUNICATION_OP";
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	uint32_t core;
	int rc;

	if (!database_has(r->db, table))
		return SB_OK;
	rc = db_add_text(r, "COMMUNICATION", &core);
	if (rc == SB_OK)
		rc = database_query(
		    r->db, &rows, r->err,
		    "SELECT startNs, endNs, %s, %s, %s, %s, %s, %s, %s, %s FROM COMMUNICATION_OP",
		    db_column(r, table, "opName"), db_column(r, table, "connectionId"),
		    db_column(r, table, "groupName"), db_column(r, table, "opId"),
		    db_column(r, table, "count"), db_column(r, table, "dataType"),
		    db_column(r, table, "opType"), db_column(r, table, "deviceId"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = collective_row(r, rows, core);
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->dur_ns != y->dur_ns)
		return x->dur_ns < y->dur_ns ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

void db_order_kernels(struct ascend_db *r)
{
	struct capture *cap = r->cap;
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 0; i < cap->kernel_count; i++) {
		if (cap->kernels[i].start_ns == SB_NULL) {
			/* with several devices it is on another one */
			if (!r->many_devices)
				warnings_add(&r->ctx->profile->warnings, "missing_task", database_path(r->db),
				             0, -1, "A kernel without its row in table TASK is left out.");
			continue;
		}
		cap->kernels[kept] = cap->kernels[i];
		sorted = sorted && (kept == 0 || by_start(&cap->kernels[kept - 1], &cap->kernels[kept]) <= 0);
		kept++;
	}
	cap->kernel_count = kept;
	if (!sorted)
		qsort(cap->kernels, kept, sizeof(*cap->kernels), by_start);
}
