#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/batch_schedule.h"
#include "api/plans/counts.h"
#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_methods.h"

#define THROUGHPUT_LEAST 1e-12
#define THROUGHPUT_MAX 1e15

void batch_table_clear(struct batch_table *t)
{
	free(t->rows);
	json_decref(t->plans);
	json_decref(t->rejected);
	*t = (struct batch_table){0};
}

static int read_row(const json_t *v, const struct place *at, struct batch_table *t, struct sb_error *err)
{
	static const char *const members[] = {"batch", "throughput", "plan", NULL};
	struct copus_row *row = &t->rows[t->count];
	const char *plan = NULL;
	int64_t batch = 0;
	json_t *o;
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(v, at, "batch", REQUIRED, 1, BATCH_MAX, &batch, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "throughput", REQUIRED, THROUGHPUT_LEAST, THROUGHPUT_MAX,
		                  &row->throughput, err);
	if (rc == SB_OK)
		rc = parse_text(v, at, "plan", OPTIONAL, &plan, err);
	if (rc != SB_OK)
		return rc;
	row->batch = (double)batch;
	o = plan ? json_pack("{s:s}", "plan", plan) : json_object();
	if (json_array_append_new(t->plans, o) != 0)
		return sb_no_memory(err);
	t->count++;
	return SB_OK;
}

static int make_room(struct batch_table *t, size_t rows, struct sb_error *err)
{
	t->rows = calloc(rows, sizeof(*t->rows));
	t->plans = json_array();
	t->rejected = json_array();
	t->least_memory = INFINITY;
	return t->rows && t->plans && t->rejected ? SB_OK : sb_no_memory(err);
}

static int read_table(const json_t *list, struct batch_table *t, struct sb_error *err)
{
	struct place here = place_of("/table");
	size_t n = json_array_size(list);
	int rc;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if (n < 1 || n > TABLE_ROWS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 1000 rows");
	rc = make_room(t, n, err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_row(json_array_get(list, i), &p, t, err);
	}
	t->candidates = (int64_t)n;
	return rc;
}

int batch_search_from_json(const json_t *request, struct search_request *r, int64_t *batches,
                           size_t *out_count, struct sb_error *err)
{
	struct place root = place_of("");
	JSON_AUTO whole = json_copy(json_readable(request));
	bool attention_given = false;
	int rc = counts_from_json(request, "batches", SEQUENCES_MAX, batches, out_count, err);

	if (rc == SB_OK && *out_count == 0)
		return parse_missing(err, request, &root, "batches");
	if (rc != SB_OK)
		return rc;
	if (!whole ||
	    json_object_set_new(whole, "batch",
	                        json_pack("{s:I}", "global_sequences", (json_int_t)batches[0])) != 0)
		return sb_no_memory(err);
	return strategy_request_from_json(whole, r, &attention_given, err);
}

void batch_reject(json_t *rejected, int64_t batch, const struct point_result *found)
{
	const char *reason = found->rc == SB_EINFEASIBLE ? "memory"
	                     : found->gave_up            ? "not_searched"
	                                                 : "no_strategy";
	json_t *row = NULL, *batches;

	for (size_t i = 0; !row && i < json_array_size(rejected); i++) {
		json_t *r = json_array_get(rejected, i);

		if (strcmp(json_string_value(json_object_get(r, "reason")), reason) == 0)
			row = r;
	}
	if (!row) {
		row = json_pack("{s:s,s:i,s:{s:I},s:[]}", "reason", reason, "count", 0, "example", "batch",
		                (json_int_t)batch, "batches");
		json_array_append_new(rejected, row);
	}
	batches = json_object_get(row, "batches");
	json_array_append_new(batches, json_integer(batch));
	json_object_set_new(row, "count", json_integer((json_int_t)json_array_size(batches)));
}

int batch_nothing_found(const json_t *rejected, double least_memory, json_t **out_extra, struct sb_error *err)
{
	bool gave_up = false;

	for (size_t i = 0; i < json_array_size(rejected); i++)
		gave_up |= strcmp(json_string_value(json_object_get(json_array_get(rejected, i), "reason")),
		                  "not_searched") == 0;
	if (gave_up)
		return sb_fail_field(
		    err, SB_EIMPOSSIBLE, "search_too_large", "/batches",
		    "the space of strategies is too large to search: constrain some degrees, "
		    "or name fewer batches");
	if (!isfinite(least_memory))
		return sb_fail_field(
		    err, SB_EIMPOSSIBLE, "no_strategy", "/batches",
		    "leave no strategy that the model, the cluster and the constraints allow");
	*out_extra = plan_least_memory(least_memory);
	return sb_fail_field(err, SB_EINFEASIBLE, "infeasible", "/batches",
	                     "none of them fits: the leanest strategy needs %.0f bytes a device",
	                     ceil(least_memory));
}

static int keep_row(void *self, size_t index, const struct point_result *found)
{
	struct batch_table *t = self;
	const struct search_result *x = found->result;
	int64_t sequences = found->request->problem.sequences;
	json_t *o;

	(void)index;
	t->candidates += x->candidates;
	if (found->rc != SB_OK) {
		t->all_proved &= !found->gave_up;
		if (found->rc == SB_EINFEASIBLE)
			t->least_memory = fmin(t->least_memory, x->least_memory);
		batch_reject(t->rejected, sequences, found);
		return SB_OK;
	}
	t->all_proved &= x->optimal;
	o = json_pack("{s:o,s:f,s:I}", "strategy",
	              strategy_to_json(&found->request->problem, &x->best.strategy), "step_seconds",
	              x->best.cost.step_seconds, "memory_bytes",
	              (json_int_t)memory_bytes_of(&x->best.cost.memory));
	if (json_array_append_new(t->plans, o) != 0)
		return SB_ENOMEM;
	t->rows[t->count++] =
	    (struct copus_row){(double)sequences, (double)sequences / x->best.cost.step_seconds};
	return SB_OK;
}

static int search_table(const json_t *request, const struct sb_watch *watch, struct batch_table *t,
                        json_t **out_extra, struct sb_error *err)
{
	int64_t batches[SCALING_COUNTS_MAX];
	struct search_point points[SCALING_COUNTS_MAX] = {{0}};
	size_t count = 0;
	int rc = batch_search_from_json(request, &t->request, batches, &count, err);

	if (rc == SB_OK)
		rc = make_room(t, count, err);
	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < count; i++)
		points[i].sequences = batches[i];
	t->searched = true;
	t->all_proved = true;
	t->request.alternatives = 0;
	t->request.watch = watch;
	rc = search_points(&t->request, points, count, keep_row, t, err);
	return rc == SB_OK && t->count == 0
	           ? batch_nothing_found(t->rejected, t->least_memory, out_extra, err)
	           : rc;
}

int batch_table_from_json(const json_t *request, const struct sb_watch *watch, struct batch_table *out,
                          json_t **out_extra, struct sb_error *err)
{
	static const char *const search[] = {"model",       "cluster",     "batches",
	                                     "constraints", "calibration", NULL};
	struct place root = place_of("");
	const json_t *table = parse_given(request, "table");

	if (!table)
		return search_table(request, watch, out, out_extra, err);
	for (int i = 0; search[i]; i++)
		if (parse_given(request, search[i]))
			return parse_fail(err, SB_EINVAL, "unknown_member", &root, search[i],
			                  "stands beside no table: that has the throughput already");
	return read_table(table, out, err);
}

void batch_search_schema(json_t *properties)
{
	static const char *const members[] = {"model", "cluster", "constraints", "calibration", NULL};
	JSON_AUTO all = strategy_kind.schema();

	for (int i = 0; members[i]; i++)
		json_object_set(properties, members[i],
		                json_object_get(json_object_get(all, "properties"), members[i]));
	json_object_set_new(properties, "batches",
	                    counts_schema(SEQUENCES_MAX, "global batches to search, in sequences"));
}
