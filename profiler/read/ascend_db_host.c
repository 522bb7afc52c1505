#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_db.h"

/* What the host did: CANN_API, PYTORCH_API, GC_RECORD and MSTX_EVENTS. */

/* Events of CANN are called by level and API, as in trace_view.json. */
static const struct {
	const char *level, *prefix;
} LEVELS[] = {{"acl", "AscendCL"}, {"runtime", "Runtime"}, {"node", "Node"},
              {"model", "Model"},  {"hccl", "Hccl"},       {"communication", "Communication"}};
#define LEVEL_COUNT (sizeof(LEVELS) / sizeof(LEVELS[0]))

struct apis {
	struct ascend_db *r;
	uint32_t *events; /* of each row of capture.apis: the name of its events */
	size_t count;
};

static void apis_free(struct apis *a)
{
	free(a->events);
}

static int new_api(struct apis *a, uint32_t level, uint32_t name)
{
	struct ascend_db *r = a->r;
	struct capture *cap = r->cap;
	struct sb_strings *strings = cap->trace.strings;
	const char *prefix = sb_strings_get(strings, level, NULL);
	char text[1024];
	int rc;

	for (size_t i = 0; i < LEVEL_COUNT; i++) {
		if (strcmp(prefix, LEVELS[i].level) == 0) {
			prefix = LEVELS[i].prefix;
			break;
		}
	}
	snprintf(text, sizeof(text), "%s%s%s", prefix, *prefix ? "@" : "",
	         sb_strings_get(strings, name, NULL));
	if (sb_grow(&a->events, a->count, sizeof(*a->events)) != SB_OK ||
	    sb_grow(&cap->apis, cap->api_count, sizeof(*cap->apis)) != SB_OK)
		return db_fail(r, SB_ENOMEM);
	rc = db_add_text(r, text, &a->events[a->count]);
	if (rc != SB_OK)
		return rc;
	cap->apis[cap->api_count++] = (struct api_row){.level = level, .name = name};
	a->count++;
	return SB_OK;
}

static int api_of(struct apis *a, int64_t type, int64_t id, uint32_t *out_at)
{
	struct ascend_db *r = a->r;
	uint32_t level = db_name(r, NAMES_API, type), name = db_name(r, NAMES_STRING, id);
	struct id_key key = {level, name, MAP_API};
	int rc;

	if (id_map_get(&r->ids, key, out_at) && *out_at < a->count)
		return SB_OK;
	rc = new_api(a, level, name);
	if (rc != SB_OK)
		return rc;
	*out_at = (uint32_t)a->count - 1;
	return id_map_put(&r->ids, key, *out_at) == SB_OK ? SB_OK : db_fail(r, SB_ENOMEM);
}

static int api_row(struct apis *a, const struct database_rows *rows)
{
	struct event e = {.kind = EVENT_HOST_RUNTIME};
	struct api_row *sum;
	uint32_t at;
	int rc;

	if (!db_times(a->r, rows, "CANN_API", &e.start_ns, &e.dur_ns))
		return SB_OK;
	rc = api_of(a, database_int(rows, 2), database_int(rows, 5), &at);
	if (rc != SB_OK)
		return rc;
	sum = &a->r->cap->apis[at];
	sum->time_ns = sb_add_sat(sum->time_ns, e.dur_ns);
	sum->count++;
	e.link = db_link(database_int(rows, 4));
	e.name = a->events[at];
	return db_event(a->r, DB_CANN, database_int(rows, 3), &e, NULL);
}

static int read_cann(struct ascend_db *r)
{
	static const char table[] = "CANN_API";
	__attribute__((cleanup(apis_free))) struct apis a = {.r = r};
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has(r->db, table))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err, "SELECT startNs, endNs, %s, %s, %s, %s FROM CANN_API",
	                    db_column(r, table, "type"), db_column(r, table, "globalTid"),
	                    db_column(r, table, "connectionId"), db_column(r, table, "name"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = api_row(&a, rows);
	return rc;
}

/* The step that an event marks: ProfilerStep#N. */
static bool is_step(const char *name, int64_t *out_number)
{
	static const char mark[] = "ProfilerStep#";
	size_t n = sizeof(mark) - 1;

	return strncmp(name, mark, n) == 0 && sb_parse_int(name + n, strlen(name + n), out_number) == SB_OK &&
	       *out_number >= 0;
}

static enum event_kind host_kind(struct ascend_db *r, int64_t type)
{
	static const struct {
		const char *name;
		int64_t number;
		enum event_kind kind;
	} kinds[] = {{"op", 50001, EVENT_HOST_OP},
	             {"queue", 50002, EVENT_HOST_QUEUE},
	             {"trace", 50003, EVENT_HOST_PYTHON},
	             {"mstx", 50004, EVENT_HOST_ANNOTATION}};
	const char *name = r->named[NAMES_API] ? db_text(r, NAMES_API, type) : "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (*name ? strcmp(name, kinds[i].name) == 0 : type == kinds[i].number)
			return kinds[i].kind;
	}
	return EVENT_HOST_OP;
}

static int framework_row(struct ascend_db *r, const char *table, const struct database_rows *rows,
                         const struct db_stacks *stacks, bool steps)
{
	struct event e = {.link = -1};
	struct event_detail d = {.bytes = SB_NULL, .sequence = SB_NULL};
	struct step s = {0};
	const char *name;
	int64_t type = database_int(rows, 2);

	if (!db_times(r, rows, table, &e.start_ns, &e.dur_ns))
		return SB_OK;
	e.kind = host_kind(r, type);
	e.name = db_name(r, NAMES_STRING, database_int(rows, 4));
	name = sb_strings_get(r->cap->trace.strings, e.name, NULL);
	if (is_step(name, &s.number)) {
		e.kind = EVENT_HOST_ANNOTATION;
		s.start_ns = e.start_ns;
		s.dur_ns = e.dur_ns;
		if (steps && sb_grow(&r->cap->steps, r->cap->step_count, sizeof(s)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		if (steps)
			r->cap->steps[r->cap->step_count++] = s;
	} else if (stacks->frame_count > 0 && e.kind == EVENT_HOST_OP && db_stack_wanted(r, e.name)) {
		int rc = db_stack_text(r, stacks, database_int(rows, 5), &d.type);

		if (rc != SB_OK)
			return rc;
	}
	return db_event(r, DB_HOST, database_int(rows, 3), &e, &d);
}

static int read_framework(struct ascend_db *r, const char *table)
{
	__attribute__((cleanup(db_stacks_free))) struct db_stacks stacks = {0};
	DATABASE_ROWS_AUTO rows = NULL;
	/* STEP_TIME is the better source */
	bool more = true, steps = r->cap->step_count == 0;
	int rc;

	if (!database_has_column(r->db, table, "startNs") || !database_has_column(r->db, table, "endNs"))
		return SB_OK;
	rc = db_stacks_load(r, table, &stacks);
	if (rc != SB_OK)
		return rc;
	rc = database_query(r->db, &rows, r->err, "SELECT startNs, endNs, %s, %s, %s, %s FROM %w",
	                    db_column(r, table, "type"), db_column(r, table, "globalTid"),
	                    db_column(r, table, "name"), db_column(r, table, "callchainId"), table);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more)
		rc = framework_row(r, table, rows, &stacks, steps);
	return rc;
}

static int read_garbage(struct ascend_db *r)
{
	static const char table[] = "GC_RECORD";
	DATABASE_ROWS_AUTO rows = NULL;
	struct event e = {.link = -1, .kind = EVENT_HOST_ANNOTATION};
	bool more = true;
	int rc;

	if (!database_has(r->db, table))
		return SB_OK;
	rc = db_add_text(r, "GC", &e.name);
	if (rc == SB_OK)
		rc = database_query(r->db, &rows, r->err, "SELECT startNs, endNs, %s FROM GC_RECORD",
		                    db_column(r, table, "globalTid"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		if (db_times(r, rows, table, &e.start_ns, &e.dur_ns))
			rc = db_event(r, DB_GC, database_int(rows, 2), &e, NULL);
	}
	return rc;
}

static int read_marks(struct ascend_db *r)
{
	static const char table[] = "MSTX_EVENTS";
	DATABASE_ROWS_AUTO rows = NULL;
	struct event e = {.link = -1, .kind = EVENT_HOST_ANNOTATION};
	bool more = true;
	int rc;

	if (!database_has(r->db, table))
		return SB_OK;
	/* a mark has no end */
	rc = database_query(r->db, &rows, r->err,
	                    "SELECT startNs, coalesce(endNs, startNs), %s, %s FROM MSTX_EVENTS",
	                    db_column(r, table, "globalTid"), db_column(r, table, "message"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		e.name = db_name(r, NAMES_STRING, database_int(rows, 3));
		if (db_times(r, rows, table, &e.start_ns, &e.dur_ns))
			rc = db_event(r, DB_MSTX, database_int(rows, 2), &e, NULL);
	}
	return rc;
}

int db_read_host(struct ascend_db *r)
{
	static const char *const tables[] = {"PYTORCH_API", "MINDSPORE_API"};
	int rc = read_cann(r);

	for (size_t i = 0; rc == SB_OK && i < sizeof(tables) / sizeof(tables[0]); i++)
		rc = read_framework(r, tables[i]);
	if (rc == SB_OK)
		rc = read_garbage(r);
	return rc == SB_OK ? read_marks(r) : rc;
}
