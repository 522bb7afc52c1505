#include <math.h>

#include "api/plans/kinds.h"
#include "api/plans/scaling.h"

void scaling_rows_clear(struct scaling_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		json_decref(rows->row[i].solution);
		json_decref(rows->row[i].predicted);
	}
	rows->count = 0;
}

int scaling_share_from_json(const json_t *request, double *out, struct sb_error *err)
{
	struct place root = place_of("");

	return parse_number(request, &root, "efficiency", OPTIONAL, 0.01, 1, out, err);
}

static double cost_of(const struct scaling_row *r)
{
	return r->point.seconds * (double)r->point.devices;
}

/* Nothing is both faster and cheaper: of equals the fewest devices. */
static bool on_frontier(const struct scaling_rows *rows, size_t at)
{
	const struct scaling_row *r = &rows->row[at];

	for (size_t i = 0; i < rows->count; i++) {
		const struct scaling_row *o = &rows->row[i];
		bool faster = o->point.seconds < r->point.seconds, cheaper = cost_of(o) < cost_of(r);

		if (o->point.seconds <= r->point.seconds && cost_of(o) <= cost_of(r) &&
		    (faster || cheaper || i < at))
			return false;
	}
	return true;
}

static json_t *frontier_of(const struct scaling_rows *rows)
{
	json_t *list = json_array();

	for (size_t i = rows->count; i-- > 0;) {
		const struct scaling_row *r = &rows->row[i];

		if (on_frontier(rows, i))
			json_array_append_new(list, json_pack("{s:f,s:o,s:f,s:O}", "seconds",
			                                      r->point.seconds, "bytes",
			                                      json_whole_or_real(r->bytes), "device_seconds",
			                                      cost_of(r), "solution", r->solution));
	}
	return list;
}

static void add_alternative(json_t *list, const struct scaling_row *r, double loses_by, const char *reason)
{
	json_array_append_new(list, json_pack("{s:O,s:O,s:o,s:s}", "solution", r->solution, "predicted",
	                                      r->predicted, "loses_by", json_real_or_null(fmax(loses_by, 0)),
	                                      "reason", reason));
}

/* The cheapest and the fastest, where they are not the knee. */
static json_t *alternatives_of(const struct scaling_rows *rows, size_t knee)
{
	const struct scaling_row *best = &rows->row[knee];
	size_t cheapest = 0, fastest = 0;
	json_t *list = json_array();

	for (size_t i = 1; i < rows->count; i++) {
		if (cost_of(&rows->row[i]) < cost_of(&rows->row[cheapest]))
			cheapest = i;
		if (rows->row[i].point.seconds < rows->row[fastest].point.seconds)
			fastest = i;
	}
	if (fastest != knee)
		add_alternative(list, &rows->row[fastest], cost_of(&rows->row[fastest]) / cost_of(best) - 1,
		                "the fastest: more device-seconds for the same work");
	if (cheapest != knee && cheapest != fastest)
		add_alternative(list, &rows->row[cheapest],
		                rows->row[cheapest].point.seconds / best->point.seconds - 1,
		                "the fewest device-seconds for the work: a longer step");
	return list;
}

json_t *scaling_answer(const struct scaling_rows *rows, json_t *quality)
{
	struct scaling_point points[SCALING_COUNTS_MAX];
	json_t *predicted, *list = json_array();
	size_t knee;

	for (size_t i = 0; i < rows->count; i++) {
		points[i] = rows->row[i].point;
		json_array_append(list, rows->row[i].predicted);
	}
	knee = scaling_knee(points, rows->count, rows->share);
	predicted = json_copy(rows->row[knee].predicted);
	json_object_set_new(predicted, "rows", list);
	json_object_set_new(predicted, "wanted_efficiency", json_real(rows->share));
	return json_pack("{s:O,s:o,s:o*,s:o,s:o,s:[],s:[]}", "solution", rows->row[knee].solution,
	                 "predicted", predicted, "quality", quality, "alternatives",
	                 alternatives_of(rows, knee), "frontier", frontier_of(rows), "rejected", "warnings");
}
