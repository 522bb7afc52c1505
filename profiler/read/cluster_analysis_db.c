#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/read/analysis_rows.h"
#include "profiler/read/ascend_db.h"
#include "profiler/read/cluster_analysis.h"
#include "profiler/read/group_use.h"

/* cluster_analysis.db (research page ascend-formats 4): the tables of all ranks' analysis.db. Each rank gets
 * a capture. Older versions called the tables ClusterCommAnalyzerTime and …Bandwidth. */

#define STEPS "ClusterStepTraceTime"
#define GROUPS "CommunicationGroupMapping"
static const char *const TIMES[] = {"ClusterCommunicationTime", "ClusterCommAnalyzerTime"};
static const char *const LINKS[] = {"ClusterCommunicationBandwidth", "ClusterCommAnalyzerBandwidth"};

struct member {
	struct capture *cap;
	struct link_table operators;
};

struct cluster {
	struct read_context *ctx;
	struct database *db;
	struct sb_error *err;
	struct id_map at; /* rank: index into members */
	struct member *members;
	size_t count;
	struct staged {
		int64_t first, rank; /* first: the lowest rank of its stage */
	} * staged;
	size_t staged_count;
	struct sb_strings *names; /* names of groups */
	struct id_map groups;     /* name of a group: what it is called here, 0 for a pair */
};

static void cluster_free(struct cluster *c)
{
	for (size_t i = 0; i < c->count; i++)
		link_table_free(&c->members[i].operators);
	free(c->members);
	id_map_free(&c->at);
	id_map_free(&c->groups);
	free(c->staged);
	sb_strings_free(&c->names);
}

static int recognise(struct database *db)
{
	for (size_t i = 0; i < 2; i++) {
		if (database_has_column(db, TIMES[i], "hccl_op_name") ||
		    database_has_column(db, LINKS[i], "hccl_op_name"))
			return SNIFF_SURE;
	}
	return database_has_column(db, STEPS, "computing") ? SNIFF_SURE : SNIFF_NO;
}

static int no_memory(struct cluster *c, int rc)
{
	bool full = rc == SB_ELIMIT;

	(void)sb_fail_at(c->err, full ? SB_EFORMAT : rc, "no_memory", database_path(c->db), 0, -1,
	                 full ? "the database holds too many names" : "out of memory");
	return full ? SB_EFORMAT : rc;
}

static void bad_value(struct cluster *c, const char *table)
{
	warnings_add(&c->ctx->profile->warnings, "bad_value", database_path(c->db), 0, -1,
	             "Table %s: a row whose rank, step or times cannot be used is left out.", table);
}

static bool is_rank(int64_t v)
{
	return v >= 0 && v <= INT32_MAX;
}

static int member_of(struct cluster *c, int64_t rank, struct member **out)
{
	uint32_t at;
	int rc;

	if (!id_map_get(&c->at, db_key(rank, 0), &at)) {
		struct member m = {0};

		rc = cluster_capture(c->ctx, database_path(c->db), rank, &m.cap, c->err);
		if (rc != SB_OK)
			return rc;
		if (sb_grow(&c->members, c->count, sizeof(m)) != SB_OK ||
		    id_map_put(&c->at, db_key(rank, 0), (uint32_t)c->count) != SB_OK)
			return no_memory(c, SB_ENOMEM);
		c->members[c->count] = m;
		at = (uint32_t)c->count++;
	}
	*out = &c->members[at];
	return SB_OK;
}

/* "(0, 1, 2, 3)": the ranks of a stage. Its times are maxima over them and are no one's. */
static int stage_row(struct cluster *c, const char *text, size_t len)
{
	size_t at = 0, from = c->staged_count;
	struct staged x = {.first = INT64_MAX};

	while ((x.rank = cluster_next_rank(text, len, &at)) != SB_NULL) {
		if (sb_grow(&c->staged, c->staged_count, sizeof(x)) != SB_OK)
			return no_memory(c, SB_ENOMEM);
		x.first = x.rank < x.first ? x.rank : x.first;
		c->staged[c->staged_count++] = x;
	}
	for (size_t i = from; i < c->staged_count; i++)
		c->staged[i].first = x.first;
	return SB_OK;
}

static int by_first(const void *a, const void *b)
{
	const struct staged *x = a, *y = b;
	const int64_t left[] = {x->first, x->rank}, right[] = {y->first, y->rank};

	return sb_compare(left, right, 2);
}

/* Stages are numbered by their lowest ranks, as from the text files. */
static void set_stages(struct cluster *c)
{
	int64_t stage = -1;

	if (c->staged_count > 0)
		qsort(c->staged, c->staged_count, sizeof(*c->staged), by_first);
	for (size_t i = 0; i < c->staged_count; i++) {
		uint32_t at;

		stage += i == 0 || c->staged[i].first != c->staged[i - 1].first;
		if (id_map_get(&c->at, db_key(c->staged[i].rank, 0), &at) &&
		    c->members[at].cap->stage == SB_NULL)
			c->members[at].cap->stage = stage;
	}
}

static int step_row(struct cluster *c, const struct database_rows *rows)
{
	struct step_trace t;
	struct member *m;
	size_t len, type_len;
	int64_t rank = database_int(rows, 2), stage = database_int(rows, 3);
	const char *step = database_text(rows, 0, &len), *type = database_text(rows, 1, &type_len);
	int rc;

	if (strcasecmp(type, "stage") == 0) {
		const char *ranks = database_text(rows, 2, &len);

		return stage_row(c, ranks, len);
	}
	if (!is_rank(rank) || (type_len > 0 && strcasecmp(type, "rank") != 0) ||
	    !analysis_step_number(step, len, &t.step) || !analysis_step(rows, 4, &t)) {
		bad_value(c, STEPS);
		return SB_OK;
	}
	rc = member_of(c, rank, &m);
	if (rc != SB_OK)
		return rc;
	if (is_rank(stage))
		m->cap->stage = stage;
	return capture_add_step_trace(m->cap, &t) == SB_OK ? SB_OK : no_memory(c, SB_ENOMEM);
}

static int read_steps(struct cluster *c)
{
	DATABASE_ROWS_AUTO rows = NULL;
	char columns[256];
	bool more = true;
	int rc;

	if (!database_has_column(c->db, STEPS, "computing") || !database_has_column(c->db, STEPS, "index"))
		return SB_OK;
	analysis_step_columns(c->db, STEPS, columns, sizeof(columns));
	rc = database_query(c->db, &rows, c->err, "SELECT %s, %s, \"index\", %s, %s FROM " STEPS,
	                    analysis_column(c->db, STEPS, "step", NULL),
	                    analysis_column(c->db, STEPS, "type", NULL),
	                    analysis_column(c->db, STEPS, "pp_index", NULL), columns);
	while (rc == SB_OK && (rc = database_next(rows, &more, c->err)) == SB_OK && more)
		rc = step_row(c, rows);
	if (rc == SB_OK)
		set_stages(c);
	return rc;
}

/* Each of its ranks is told what a group is for: any of them may be left out of the profile. */
static int group_use(struct cluster *c, const struct database_rows *rows, const char *called)
{
	size_t len, use_len, at = 0;
	const char *ranks = database_text(rows, 1, &len), *use = database_text(rows, 4, &use_len);
	int64_t rank;

	while (use_len > 0 && (rank = cluster_next_rank(ranks, len, &at)) != SB_NULL) {
		struct member *m;
		int rc = member_of(c, rank, &m);

		if (rc != SB_OK)
			return rc;
		rc = group_use_add(m->cap, called, strlen(called), use, use_len);
		if (rc != SB_OK)
			return no_memory(c, rc);
	}
	return SB_OK;
}

/* A group is called by its ranks, as the text files call it; sends and receives are "p2p" there. */
static int group_row(struct cluster *c, const struct database_rows *rows)
{
	char called[CLUSTER_GROUP_MAX];
	uint32_t name, text = 0;
	size_t len;
	const char *ranks;
	bool pair = strcasecmp(database_text(rows, 0, NULL), "p2p") == 0;
	int rc;

	ranks = database_text(rows, 1, &len);
	cluster_group_name(ranks, len, called, sizeof(called));
	if (pair || len > 0) {
		const char *of = pair ? "p2p" : called;

		rc = sb_strings_add(c->names, of, strlen(of), &text);
		if (rc != SB_OK)
			return no_memory(c, rc);
	}
	for (int i = 2; i < 4; i++) {
		const char *key = database_text(rows, i, &len);

		if (len == 0)
			continue;
		rc = sb_strings_add(c->names, key, len, &name);
		if (rc == SB_OK)
			rc = id_map_put(&c->groups, (struct id_key){name, 0, 0}, text);
		if (rc != SB_OK)
			return no_memory(c, rc);
	}
	return pair ? SB_OK : group_use(c, rows, called);
}

static int read_groups(struct cluster *c)
{
	static const char *const tables[] = {GROUPS, "CommunicationGroup"};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < 2; i++) {
		DATABASE_ROWS_AUTO rows = NULL;
		bool more = true;

		if (!database_has_column(c->db, tables[i], "rank_set"))
			continue;
		rc = database_query(c->db, &rows, c->err, "SELECT %s, rank_set, %s, %s, %s FROM %w",
		                    analysis_column(c->db, tables[i], "type", NULL),
		                    analysis_column(c->db, tables[i], "group_name", NULL),
		                    analysis_column(c->db, tables[i], "group_id", NULL),
		                    analysis_column(c->db, tables[i], "pg_name", NULL), tables[i]);
		while (rc == SB_OK && (rc = database_next(rows, &more, c->err)) == SB_OK && more)
			rc = group_row(c, rows);
	}
	return rc;
}

static const char *group_name(const struct cluster *c, const char *text, size_t *len)
{
	uint32_t name = sb_strings_find(c->names, text, *len), called;

	if (name == 0 || !id_map_get(&c->groups, (struct id_key){name, 0, 0}, &called) || called == 0)
		return text;
	return sb_strings_get(c->names, called, len);
}

/* The operator of a row: step, rank_id, hccl_op_name and group_name come first. NULL for none. */
static int operator_of(struct cluster *c, const char *table, const struct database_rows *rows,
                       struct communication_op **out)
{
	struct link_operator key = {0};
	struct member *m;
	size_t len;
	int64_t rank = database_int(rows, 1);
	const char *step = database_text(rows, 0, &len);
	int rc;

	*out = NULL;
	key.name = database_text(rows, 2, &key.name_len);
	/* a row of sums: counting it would double everything */
	if (strncasecmp(key.name, "total", 5) == 0)
		return SB_OK;
	if (!is_rank(rank) || key.name_len == 0 || !analysis_step_number(step, len, &key.step)) {
		bad_value(c, table);
		return SB_OK;
	}
	rc = member_of(c, rank, &m);
	if (rc != SB_OK)
		return rc;
	key.group = database_text(rows, 3, &key.group_len);
	key.group = group_name(c, key.group, &key.group_len);
	key.p2p = key.group_len == 3 && memcmp(key.group, "p2p", 3) == 0;
	rc = link_table_operator(&m->operators, m->cap, &key, out);
	return rc == SB_OK ? SB_OK : no_memory(c, rc);
}

static int read_times(struct cluster *c, const char *table)
{
	DATABASE_ROWS_AUTO rows = NULL;
	struct database *db = c->db;
	bool more = true;
	int rc = database_query(
	    db, &rows, c->err, "SELECT %s, rank_id, hccl_op_name, %s, %s, %s, %s, %s, %s, %s FROM %w",
	    analysis_column(db, table, "step", NULL), analysis_column(db, table, "group_name", NULL),
	    analysis_column(db, table, "elapsed_time", "elapse_time"),
	    analysis_column(db, table, "transit_time", NULL), analysis_column(db, table, "wait_time", NULL),
	    analysis_column(db, table, "synchronization_time", NULL),
	    analysis_column(db, table, "idle_time", NULL),
	    analysis_column(db, table, "start_timestamp", "start_time"), table);

	while (rc == SB_OK && (rc = database_next(rows, &more, c->err)) == SB_OK && more) {
		struct communication_op *op;

		rc = operator_of(c, table, rows, &op);
		if (rc == SB_OK && op)
			link_table_times(c->ctx, database_path(db), rows, 4, op);
	}
	return rc;
}

static int read_links(struct cluster *c, const char *table)
{
	DATABASE_ROWS_AUTO rows = NULL;
	struct database *db = c->db;
	bool more = true;
	int rc = database_query(
	    db, &rows, c->err, "SELECT %s, rank_id, hccl_op_name, %s, %s, %s, %s, %s, %s, %s, %s FROM %w",
	    analysis_column(db, table, "step", NULL), analysis_column(db, table, "group_name", NULL),
	    analysis_column(db, table, "band_type", "transport_type"),
	    analysis_column(db, table, "transit_size", NULL),
	    analysis_column(db, table, "transit_time", NULL),
	    analysis_column(db, table, "large_packet_ratio", NULL),
	    analysis_column(db, table, "package_size", NULL), analysis_column(db, table, "count", NULL),
	    analysis_column(db, table, "total_duration", NULL), table);

	while (rc == SB_OK && (rc = database_next(rows, &more, c->err)) == SB_OK && more) {
		struct communication_op *op;

		rc = operator_of(c, table, rows, &op);
		if (rc == SB_OK && op && link_table_row(c->ctx, database_path(db), rows, 4, op) != SB_OK)
			rc = no_memory(c, SB_ENOMEM);
	}
	return rc;
}

static bool by_rank(struct database *db, const char *table)
{
	return database_has_column(db, table, "hccl_op_name") && database_has_column(db, table, "rank_id");
}

static int read_cluster(struct read_context *ctx, struct database *db, struct sb_error *err)
{
	__attribute__((cleanup(cluster_free))) struct cluster c = {.ctx = ctx, .db = db, .err = err};
	int rc = SB_OK;

	if (sb_strings_new(&c.names) != SB_OK)
		return no_memory(&c, SB_ENOMEM);
	rc = read_steps(&c);
	if (rc == SB_OK)
		rc = read_groups(&c);
	for (size_t i = 0; rc == SB_OK && i < 2; i++) {
		if (by_rank(db, TIMES[i]))
			rc = read_times(&c, TIMES[i]);
		if (rc == SB_OK && by_rank(db, LINKS[i]))
			rc = read_links(&c, LINKS[i]);
	}
	return rc;
}

const struct database_format CLUSTER_ANALYSIS_DATABASE = {.recognise = recognise, .read = read_cluster};
