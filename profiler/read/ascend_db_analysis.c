#include <string.h>
#include <strings.h>

#include "profiler/read/ascend_db.h"
#include "profiler/read/analysis_rows.h"

/* analysis.db and communication_analyzer.db: what step_trace_time.csv and communication.json hold. Times of
 * StepTraceTime are us, those of the Comm tables ms, sizes MB of 10^6 bytes. */

static int recognise(struct database *db)
{
	if (database_has_column(db, "StepTraceTime", "computing") ||
	    database_has_column(db, "CommAnalyzerTime", "hccl_op_name") ||
	    database_has_column(db, "CommAnalyzerBandwidth", "hccl_op_name"))
		return SNIFF_CONTENT;
	return SNIFF_NO;
}

static int read_steps(struct ascend_db *r)
{
	static const char table[] = "StepTraceTime";
	DATABASE_ROWS_AUTO rows = NULL;
	char columns[256];
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "computing"))
		return SB_OK;
	analysis_step_columns(r->db, table, columns, sizeof(columns));
	rc = database_query(r->db, &rows, r->err, "SELECT %s, %s FROM StepTraceTime",
	                    db_column(r, table, "step"), columns);
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct step_trace t;
		size_t len;
		const char *step = database_text(rows, 0, &len);

		if (!analysis_step_number(step, len, &t.step) || !analysis_step(rows, 1, &t))
			warnings_add(
			    &r->ctx->profile->warnings, "bad_value", database_path(r->db), 0, -1,
			    "Table StepTraceTime: a row whose step or times cannot be used is left out.");
		else if (capture_add_step_trace(r->cap, &t) != SB_OK)
			rc = db_fail(r, SB_ENOMEM);
	}
	return rc;
}

/* The columns that name an operator: step, type, hccl_op_name, group_name; first in both tables' queries. */
static int operator_of(struct ascend_db *r, struct link_table *t, const struct database_rows *rows,
                       bool *out_is, struct communication_op **out_op)
{
	size_t step_len, name_len, group_len;
	const char *step = database_text(rows, 0, &step_len);
	const char *name = database_text(rows, 2, &name_len), *group = database_text(rows, 3, &group_len);
	struct link_operator key = {.name = name,
	                            .name_len = name_len,
	                            .group = group,
	                            .group_len = group_len,
	                            .p2p = strcasecmp(database_text(rows, 1, NULL), "p2p") == 0};
	int rc;

	/* a row of sums: counting it would double everything */
	*out_is = name_len > 0 && strncasecmp(name, "total", 5) != 0;
	if (!*out_is)
		return SB_OK;
	if (!analysis_step_number(step, step_len, &key.step)) {
		warnings_add(&r->ctx->profile->warnings, "bad_value", database_path(r->db), 0, -1,
		             "A communication operator whose step cannot be used is left out.");
		*out_is = false;
		return SB_OK;
	}
	rc = link_table_operator(t, r->cap, &key, out_op);
	return rc == SB_OK ? SB_OK : db_fail(r, rc);
}

static int read_times(struct ascend_db *r, struct link_table *t)
{
	static const char table[] = "CommAnalyzerTime";
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "hccl_op_name"))
		return SB_OK;
	rc = database_query(r->db, &rows, r->err,
	                    "SELECT %s, %s, hccl_op_name, %s, %s, %s, %s, %s, %s, %s FROM CommAnalyzerTime",
	                    db_column(r, table, "step"), db_column(r, table, "type"),
	                    db_column(r, table, "group_name"), db_column(r, table, "elapse_time"),
	                    db_column(r, table, "transit_time"), db_column(r, table, "wait_time"),
	                    db_column(r, table, "synchronization_time"), db_column(r, table, "idle_time"),
	                    db_column(r, table, "start_timestamp"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct communication_op *op;
		bool is;

		rc = operator_of(r, t, rows, &is, &op);
		if (rc == SB_OK && is)
			link_table_times(r->ctx, database_path(r->db), rows, 4, op);
	}
	return rc;
}

static int read_links(struct ascend_db *r, struct link_table *t)
{
	static const char table[] = "CommAnalyzerBandwidth";
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (!database_has_column(r->db, table, "hccl_op_name"))
		return SB_OK;
	rc = database_query(
	    r->db, &rows, r->err,
	    "SELECT %s, %s, hccl_op_name, %s, %s, %s, %s, %s, %s, %s, %s FROM CommAnalyzerBandwidth",
	    db_column(r, table, "step"), db_column(r, table, "type"), db_column(r, table, "group_name"),
	    db_column(r, table, "transport_type"), db_column(r, table, "transit_size"),
	    db_column(r, table, "transit_time"), db_column(r, table, "large_packet_ratio"),
	    db_column(r, table, "package_size"), db_column(r, table, "count"),
	    db_column(r, table, "total_duration"));
	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct communication_op *op;
		bool is;

		rc = operator_of(r, t, rows, &is, &op);
		if (rc == SB_OK && is && link_table_row(r->ctx, database_path(r->db), rows, 4, op) != SB_OK)
			rc = db_fail(r, SB_ENOMEM);
	}
	return rc;
}

static int read_analysis(struct read_context *ctx, struct database *db, struct sb_error *err)
{
	const char *path = database_path(db);
	LINK_TABLE_AUTO t = {0};
	struct ascend_db r = {
	    .ctx = ctx, .db = db, .err = err, .device = SB_NULL, .format = FORMAT_ASCEND_DB};
	char key[2048];
	int rc;

	if (path_is(path, "communication_analyzer", ".db") || strstr(path, "_ascend_ms/"))
		r.format = FORMAT_MINDSPORE_DB;
	db_capture_key(path, r.format, key, sizeof(key));
	rc = ctx->capture(ctx, key, r.format, &r.cap);
	if (rc != SB_OK)
		return db_fail(&r, rc);
	rc = read_steps(&r);
	if (rc == SB_OK)
		rc = read_times(&r, &t);
	return rc == SB_OK ? read_links(&r, &t) : rc;
}

const struct database_format ASCEND_ANALYSIS_DATABASE = {.recognise = recognise, .read = read_analysis};
