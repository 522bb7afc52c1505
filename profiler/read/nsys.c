#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/kineto_impl.h"
#include "profiler/read/nsys_impl.h"

static const char *const EVENT_TABLES[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL",          "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",         "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", NULL};

/* nvprof has tables of the same kind, but keeps its texts in StringTable. */
static int recognise(struct database *db)
{
	char name[64];
	bool ours = nsys_find(db, "StringIds", name, sizeof(name)) || database_has(db, "META_DATA_EXPORT");

	for (size_t i = 0; ours && EVENT_TABLES[i]; i++) {
		if (nsys_find(db, EVENT_TABLES[i], name, sizeof(name)))
			return 100;
	}
	return database_has(db, "META_DATA_EXPORT") && database_has(db, "META_DATA_CAPTURE") ? 50 : 0;
}

/* The first cell of the first row of a table, by the order of `order`. */
static int first_cell(struct nsys *n, const char *table, const char *column, const char *order,
                      struct database_rows **out, bool *out_more, struct sb_error *err)
{
	char name[64];
	int rc;

	*out_more = false;
	table = nsys_find(n->db, table, name, sizeof(name));
	if (!table || !database_has_column(n->db, table, column) || !database_has_column(n->db, table, order))
		return SB_OK;
	rc = database_query(n->db, out, err, "SELECT \"%w\" FROM \"%w\" ORDER BY \"%w\" LIMIT 1", column,
	                    table, order);
	return rc == SB_OK ? database_next(*out, out_more, err) : rc;
}

static int read_base(struct nsys *n, struct sb_error *err)
{
	DATABASE_ROWS_AUTO r = NULL;
	bool more;
	int rc = first_cell(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "utcEpochNs", &r, &more, err);

	if (rc == SB_OK && more && database_int(r, 0) > 0)
		n->base_ns = database_int(r, 0);
	return rc;
}

static int read_chip(struct nsys *n, char *out, size_t size, struct sb_error *err)
{
	DATABASE_ROWS_AUTO r = NULL;
	bool more;
	int rc = first_cell(n, "TARGET_INFO_GPU", "name", "id", &r, &more, err);

	if (rc == SB_OK && more)
		snprintf(out, size, "%s", database_text(r, 0, NULL));
	return rc;
}

#define KNOWN_SCHEMA 3

/* A schema of a later generation is read by its columns' names all the same, but nobody has seen it. */
static int check_version(struct nsys *n, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"name", "value", NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "META_DATA_EXPORT", COLUMNS, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		if (strcmp(database_text(r, 0, NULL), "EXPORT_SCHEMA_VERSION_MAJOR") == 0 &&
		    database_int(r, 1) > KNOWN_SCHEMA)
			warnings_add(
			    &n->ctx->profile->warnings, "newer_schema", n->path, 0, -1,
			    "The export has schema version %lld; known is %d. It is read by the names "
			    "of its columns.",
			    (long long)database_int(r, 1), KNOWN_SCHEMA);
	}
	return rc;
}

/* Errors that the profiler itself met, such as events that it lost (ENUM_DIAGNOSTIC_SEVERITY_LEVEL). */
static int tell_errors(struct nsys *n, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"severity", "text", NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "DIAGNOSTIC_EVENT", COLUMNS, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		if (database_int(r, 0) == 3)
			warnings_add(&n->ctx->profile->warnings, "profiler_error", n->path, 0, -1,
			             "Nsight Systems says: %.200s", database_text(r, 1, NULL));
	}
	return rc;
}

static void drop_jumps(struct nsys *n)
{
	const struct clock_file f = {
	    .warnings = &n->ctx->profile->warnings, .path = n->path, .unit = CLOCK_ROW};
	const struct trace *t = &n->trace;
	struct clock_judge j;

	if (!clock_judge_trace(t, &n->range, &f, &j))
		return;
	nsys_drop_steps(n, &j);
	clock_drop_events(&j, &n->trace);
	n->last_end = INT64_MIN;
	for (size_t i = 0; i < t->count; i++) {
		int64_t end = sb_add_sat(t->start_ns[i], t->dur_ns[i] > 0 ? t->dur_ns[i] : 0);

		n->last_end = end > n->last_end ? end : n->last_end;
	}
}

/* Ranges that were never closed last as long as the capture. */
static void close_ranges(struct trace *t, int64_t end)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->dur_ns[i] < 0)
			t->dur_ns[i] = end > t->start_ns[i] ? sb_add_sat(end, -t->start_ns[i]) : 0;
	}
}

static int64_t rank_of(const struct nsys *n)
{
	int64_t rank = kineto_rank_of_name(n->path);

	if (rank != SB_NULL)
		warnings_add(&n->ctx->profile->warnings, "rank_from_name", n->path, 0, -1,
		             "The export does not tell its rank: %lld was taken from the file name.",
		             (long long)rank);
	return rank;
}

/* Hands everything over to the capture. */
static int deliver(struct nsys *n, const char *chip, struct capture **out)
{
	struct capture *c = NULL;
	int rc = n->ctx->capture(n->ctx, n->path, FORMAT_NSYS, &c);

	if (rc != SB_OK)
		return rc;
	rc = nsys_make_steps(n, &c->steps, &c->step_count);
	if (rc != SB_OK)
		return rc;
	trace_free(&c->trace);
	c->trace = n->trace;
	n->trace = (struct trace){0};
	c->rank = rank_of(n);
	c->rank_from = RANK_NAME;
	c->world_size = SB_NULL;
	c->event_count = n->event_count;
	snprintf(c->chip, sizeof(c->chip), "%s", chip);
	*out = c;
	return SB_OK;
}

static void nsys_free(struct nsys *n)
{
	trace_free(&n->trace);
	nsys_names_free(n);
	nsys_steps_free(n);
}

static int read_tables(struct nsys *n, char *chip, size_t size, struct sb_error *err)
{
	int rc = check_version(n, err);

	if (rc == SB_OK)
		rc = tell_errors(n, err);
	if (rc == SB_OK)
		rc = read_base(n, err);
	if (rc == SB_OK)
		rc = read_chip(n, chip, size, err);
	if (rc == SB_OK)
		rc = nsys_read_names(n, err);
	if (rc == SB_OK)
		rc = nsys_read_device(n, err);
	return rc == SB_OK ? nsys_read_host(n, err) : rc;
}

static int nsys_read(struct read_context *ctx, struct database *db, struct sb_error *err)
{
	__attribute__((cleanup(nsys_free))) struct nsys n = {.ctx = ctx, .db = db, .path = database_path(db)};
	struct capture *c = NULL;
	char chip[64] = "";
	int rc = trace_init(&n.trace);

	if (rc == SB_OK)
		rc = sb_strings_new(&n.texts);
	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "There is no memory left to read the database.");
	rc = read_tables(&n, chip, sizeof(chip), err);
	if (rc != SB_OK)
		return rc;
	nsys_report(&n);
	if (n.trace.count == 0)
		return sb_fail_at(
		    err, SB_EFORMAT, "no_events", n.path, 0, -1,
		    "the export of Nsight Systems holds no kernel, copy, call or range: profile "
		    "with --trace=cuda,nvtx");
	drop_jumps(&n);
	close_ranges(&n.trace, n.last_end);
	rc = nsys_match_processes(&n.trace);
	nsys_link_waits(&n.trace);
	if (rc == SB_OK)
		rc = nsys_name_collectives(&n.trace);
	if (rc == SB_OK)
		rc = deliver(&n, chip, &c);
	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "The capture could not be kept: %s.", sb_strerror(rc));
	return nsys_read_memory(&n, c, err);
}

const struct database_format NSYS_DATABASE = {.recognise = recognise, .read = nsys_read};
