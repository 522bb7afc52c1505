#include "api/profiles/memory_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/json_build.h"
#include "base/num.h"
#include "profiler/memory.h"

/* Of all stored curves together: some 15 MB of text. */
#define POINTS_MAX 400000
#define COLUMNS_LEAST 50

/* Where the timeline of the capture begins, or else the records. */
static int64_t origin_of(const struct capture *c)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < c->trace.count; i++)
		first = c->trace.start_ns[i] < first ? c->trace.start_ns[i] : first;
	for (size_t i = 0; i < c->memory_count && c->trace.count == 0; i++)
		if (c->memories[i].count > 0 && c->memories[i].points[0].time_ns < first)
			first = c->memories[i].points[0].time_ns;
	return first == INT64_MAX ? 0 : first;
}

static json_t *curve_json(const struct memory_point *points, size_t count, size_t columns, int64_t origin)
{
	struct memory_point *curve = NULL;
	size_t n = 0;
	json_t *list;

	if (memory_curve(points, count, columns, &curve, &n) != SB_OK)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list,
		                      json_pack("[o, o, o]", json_us(sb_sub_sat(curve[i].time_ns, origin)),
		                                json_int_or_null(curve[i].allocated),
		                                json_int_or_null(curve[i].reserved)));
	free(curve);
	return list;
}

static json_t *operators_json(const struct memory_row *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->operator_count; i++) {
		const struct memory_operator *x = &r->operators[i];

		json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "name",
		                                      json_text(x->name, strlen(x->name)), "bytes",
		                                      (json_int_t)x->bytes, "count", (json_int_t)x->count));
	}
	return list;
}

/* What nobody uses of what is held at the peak. */
static int64_t fragmentation_of(const struct memory_row *r)
{
	return r->peak_bytes == SB_NULL || r->reserved_at_peak == SB_NULL ||
	               r->reserved_at_peak < r->peak_bytes
	           ? SB_NULL
	           : r->reserved_at_peak - r->peak_bytes;
}

static json_t *row_json(const struct memory_row *r, size_t columns, int64_t origin)
{
	const struct memory_series *s = r->series;
	json_t *o = json_object();
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)origin);
	json_object_set_new(o, "rank", json_int_or_null(r->capture->rank));
	json_object_set_new(o, "device",
	                    s->device == MEMORY_HOST ? json_null() : json_int_or_null(s->device));
	json_object_set_new(o, "host", json_boolean(s->device == MEMORY_HOST));
	json_object_set_new(o, "component", json_string_id(r->capture->trace.strings, s->component));
	json_object_set_new(o, "relative", json_boolean(s->relative));
	json_object_set_new(o, "peak_bytes", json_int_or_null(r->peak_bytes));
	json_object_set_new(o, "peak_at_us",
	                    r->peak_at_ns == SB_NULL ? json_null()
	                                             : json_us(sb_sub_sat(r->peak_at_ns, origin)));
	json_object_set_new(o, "reserved_peak_bytes", json_int_or_null(r->reserved_peak_bytes));
	json_object_set_new(o, "fragmentation_bytes", json_int_or_null(fragmentation_of(r)));
	json_object_set_new(o, "capacity_bytes", json_int_or_null(r->capacity_bytes));
	json_object_set_new(o, "operators", operators_json(r));
	json_object_set_new(o, "records", json_integer((json_int_t)s->count));
	json_object_set_new(o, "origin_ns", json_string(text));
	json_object_set_new(o, "curve", curve_json(s->points, s->count, columns, origin));
	return o;
}

json_t *document_memory(const struct profile *p)
{
	MEMORY_AUTO report = {0};
	size_t columns = MEMORY_COLUMNS_MAX;
	int64_t origin = 0;
	json_t *rows;

	if (memory_compute(p, &report, NULL) != SB_OK)
		return NULL;
	if (report.count > 0 && POINTS_MAX / report.count < columns)
		columns =
		    POINTS_MAX / report.count > COLUMNS_LEAST ? POINTS_MAX / report.count : COLUMNS_LEAST;
	rows = json_array();
	for (size_t i = 0; i < report.count; i++) {
		if (i == 0 || report.rows[i].capture != report.rows[i - 1].capture)
			origin = origin_of(report.rows[i].capture);
		json_array_append_new(rows, row_json(&report.rows[i], columns, origin));
	}
	return json_pack("{s:o}", "ranks", rows);
}

static int64_t int_at(const json_t *point, size_t i)
{
	const json_t *v = json_array_get(point, i);

	return json_is_integer(v) ? json_integer_value(v) : SB_NULL;
}

/* The points as they were before they were written, on the clock of the document. */
static struct memory_point *points_of(const json_t *curve, size_t n)
{
	struct memory_point *points = calloc(n + 1, sizeof(*points));

	for (size_t i = 0; points && i < n; i++) {
		const json_t *p = json_array_get(curve, i);
		double us = json_number_value(json_array_get(p, 0)) * 1000;

		points[i] = (struct memory_point){fabs(us) < 9e18 ? (int64_t)llround(us) : 0, int_at(p, 1),
		                                  int_at(p, 2)};
	}
	return points;
}

bool memory_json_fit(json_t *document, size_t columns)
{
	json_t *rows = json_object_get(document, "ranks"), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *curve = json_object_get(row, "curve");
		size_t n = json_array_size(curve);
		struct memory_point *points;
		json_t *fit;

		if (n <= columns)
			continue;
		points = points_of(curve, n);
		fit = points ? curve_json(points, n, columns, 0) : NULL;
		free(points);
		if (!fit || json_object_set_new(row, "curve", fit) != 0)
			return false;
	}
	return json_is_array(rows);
}
