#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/batch_copus.h"
#include "api/plans/kinds.h"
#include "api/plans/schema.h"

#define SECONDS_MAX 1e9

static const char *const rule_words[] = {"sqrt", "none", NULL};

void copus_clear(struct copus *c)
{
	batch_table_clear(&c->table);
	noise_series_clear(&c->noise);
	free(c->points);
	free(c->steps);
	free(c->intervals);
}
static int read_rule(const json_t *request, struct copus_rule *r, struct sb_error *err)
{
	struct place root = place_of("");
	int word = 0;
	int rc = parse_number(request, &root, "reference_batch", OPTIONAL, 1, (double)BATCH_MAX,
	                      &r->reference_batch, err);

	if (rc == SB_OK)
		rc = parse_word(request, &root, "learning_rate_rule", OPTIONAL, rule_words, &word, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "switch_threshold", OPTIONAL, 0, 100, &r->threshold, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "reconfiguration_seconds", OPTIONAL, 0, SECONDS_MAX,
		                  &r->reconfiguration, err);
	r->square_root = word == 0;
	return rc;
}

/* The row that runs now: of several of that batch the named plan's, else the fastest. */
static int read_current(const json_t *request, struct copus *c, struct sb_error *err)
{
	static const char *const members[] = {"batch", "plan", NULL};
	struct place root = place_of(""), here = place_of("/current");
	const struct copus_row *rows = c->table.rows;
	const char *plan = NULL;
	const json_t *o;
	int64_t batch = 0;
	int rc = parse_object(request, &root, "current", OPTIONAL, &o, err);

	c->current = SIZE_MAX;
	if (rc != SB_OK || !o)
		return rc;
	rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc = parse_integer(o, &here, "batch", REQUIRED, 1, BATCH_MAX, &batch, err);
	if (rc == SB_OK)
		rc = parse_text(o, &here, "plan", OPTIONAL, &plan, err);
	for (size_t i = 0; rc == SB_OK && i < c->table.count; i++) {
		const char *name =
		    json_string_value(json_object_get(json_array_get(c->table.plans, i), "plan"));

		if (rows[i].batch != (double)batch || (plan && (!name || strcmp(name, plan) != 0)))
			continue;
		if (c->current == SIZE_MAX || rows[i].throughput > rows[c->current].throughput)
			c->current = i;
	}
	if (rc == SB_OK && c->current == SIZE_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "unknown_row", &root, "current",
		                  "is none of the configurations that can be run");
	return rc;
}

static int read_points(const json_t *request, struct copus *c, struct sb_error *err)
{
	size_t n = c->noise.count;
	double *seconds = calloc(n, sizeof(*seconds));
	int rc;

	c->points = calloc(n, sizeof(*c->points));
	c->steps = calloc(n, sizeof(*c->steps));
	c->intervals = calloc(c->table.count, sizeof(*c->intervals));
	if (!seconds || !c->points || !c->steps || !c->intervals) {
		free(seconds);
		return sb_no_memory(err);
	}
	for (size_t i = 0; i < n; i++)
		seconds[i] = NAN;
	rc = series_from_json(request, "interval_seconds", OPTIONAL, 0, SECONDS_MAX, seconds, n, err);
	for (size_t i = 0; i < n; i++)
		c->points[i] = (struct copus_point){c->noise.phi[i], seconds[i]};
	free(seconds);
	return rc;
}

static int read_copus(const json_t *request, const struct sb_watch *watch, struct copus *c,
                      json_t **out_extra, struct sb_error *err)
{
	static const char *const members[] = {"kind",
	                                      "method",
	                                      "table",
	                                      "model",
	                                      "cluster",
	                                      "batches",
	                                      "constraints",
	                                      "calibration",
	                                      "noise_scale",
	                                      "gradient_norms",
	                                      "smoothing",
	                                      "reference_batch",
	                                      "learning_rate_rule",
	                                      "switch_threshold",
	                                      "reconfiguration_seconds",
	                                      "interval_seconds",
	                                      "current",
	                                      NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = read_rule(request, &c->rule, err);
	if (rc == SB_OK)
		rc = noise_from_json(request, &c->noise, err);
	if (rc == SB_OK)
		rc = batch_table_from_json(request, watch, &c->table, out_extra, err);
	if (rc != SB_OK)
		return rc;
	if (isnan(c->rule.reference_batch)) {
		c->rule.reference_batch = c->table.rows[0].batch;
		for (size_t i = 1; i < c->table.count; i++)
			c->rule.reference_batch = fmin(c->rule.reference_batch, c->table.rows[i].batch);
	}
	rc = read_current(request, c, err);
	return rc == SB_OK ? read_points(request, c, err) : rc;
}

static int solve_copus(struct copus *c, size_t *out_first, struct sb_error *err)
{
	size_t n = c->noise.count, first = 0;

	while (first < n && isnan(c->noise.phi[first]))
		first++;
	if (first == n)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "noise_unknown", "/gradient_norms",
		                     "say nothing about the noise: the larger batch must have the smaller "
		                     "norm, and not too small a one");
	*out_first = first;
	copus_schedule(c->table.rows, c->table.count, &c->rule, c->points, n, c->current, c->steps);
	return copus_intervals(c->table.rows, c->table.count, &c->rule, c->intervals, &c->interval_count) ==
	               SB_OK
	           ? SB_OK
	           : sb_no_memory(err);
}

int batch_copus(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err)
{
	COPUS_AUTO c = {.rule = {NAN, true, COPUS_THRESHOLD, NAN}};
	double start = plan_clock();
	size_t first = 0;
	int rc = read_copus(request, watch, &c, out_extra, err);

	if (rc == SB_OK)
		rc = solve_copus(&c, &first, err);
	if (rc != SB_OK)
		return rc;
	*out = copus_answer(&c, first, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *table_schema(void)
{
	static const char *const needs[] = {"batch", "throughput", NULL};
	json_t *row = json_pack("{s:o,s:o,s:{s:s}}", "batch", schema_integer(1, BATCH_MAX), "throughput",
	                        schema_number(1e-12, 1e15, "in any one unit, such as samples a second"),
	                        "plan", "type", "string");

	return schema_list(TABLE_ROWS_MAX, schema_object(row, needs),
	                   "configurations that fit, several of one batch too; instead of a model");
}

json_t *batch_copus_schema(void)
{
	static const char *const needs[] = {"batch", NULL};
	json_t *p = json_object();

	noise_schema(p);
	batch_search_schema(p);
	json_object_set_new(p, "table", table_schema());
	json_object_set_new(
	    p, "reference_batch",
	    schema_number(
	        1, (double)BATCH_MAX,
	        "where a sample counts in full, and the learning rate is as it is; default: the smallest"));
	json_object_set_new(p, "learning_rate_rule", schema_words(rule_words));
	json_object_set_new(p, "switch_threshold",
	                    schema_number(0, 100, "what a change must gain; default 0.1, as COPUS"));
	json_object_set_new(
	    p, "reconfiguration_seconds",
	    schema_number(0, SECONDS_MAX, "of a change; COPUS measured 30 to 56 for a model of 3e9"));
	json_object_set_new(
	    p, "interval_seconds",
	    series_schema(
	        0, SECONDS_MAX,
	        "how long each noise scale lasts: then a change must also pay within what is left"));
	json_object_set_new(p, "current",
	                    schema_object(json_pack("{s:o,s:{s:s}}", "batch", schema_integer(1, BATCH_MAX),
	                                            "plan", "type", "string"),
	                                  needs));
	return p;
}
