#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"

/* Chunks of layers that a device shows. */
static int64_t rows_of(const struct schedule_shape *s)
{
	return schedule_stages(s) / s->devices;
}

/* A whole number as one: bytes and layers are mostly that. */
static json_t *number_of(double v)
{
	return fabs(v) < 9e15 && v == floor(v) ? json_integer((json_int_t)v) : json_real_or_null(v);
}

/* Layers of a body (-1: of all) that recompute so (-1: in any way), [[per device] per chunk]. */
static json_t *layers_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t body,
                         int recompute)
{
	json_t *rows = json_array();

	for (int64_t k = 0; k < rows_of(&p->shape); k++) {
		json_t *row = json_array();

		for (int64_t d = 0; d < p->shape.devices; d++) {
			int64_t stage = schedule_stage(&p->shape, d, k), n = 0;

			for (int64_t b = 0; b < p->body_count; b++)
				for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
					if ((body < 0 || b == body) && (recompute < 0 || r == recompute))
						n += plan[stage * p->body_count + b].layers[r];
			json_array_append_new(row, json_integer((json_int_t)n));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* What the body offers; body -1: what any of them does. */
static json_t *recompute_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t body)
{
	json_t *o = json_object();

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		bool offered = false;

		for (int64_t b = 0; b < p->body_count; b++)
			offered = offered || ((body < 0 || b == body) && !isnan(p->bodies[b].activation[r]));
		if (offered)
			json_object_set_new(o, pipeline_recompute_words[r], layers_of(p, plan, body, r));
	}
	return o;
}

json_t *pipeline_solution(const struct pipeline_input *in, const struct pipeline_stage *plan)
{
	const struct pipeline_problem *p = &in->problem;
	json_t *types = NULL;

	if (p->body_count > 1)
		types = json_array();
	for (int64_t b = 0; types && b < p->body_count; b++)
		json_array_append_new(types, json_pack("{s:s?,s:o,s:o}", "name", in->names[b], "layers",
		                                       layers_of(p, plan, b, -1), "recompute",
		                                       recompute_of(p, plan, b)));
	return json_pack("{s:o,s:o,s:o*,s:s,s:I}", "layers", layers_of(p, plan, -1, -1), "recompute",
	                 recompute_of(p, plan, -1), "types", types, "schedule",
	                 schedule_facts(p->shape.kind)->name, "interleave", (json_int_t)rows_of(&p->shape));
}

json_t *pipeline_predicted(const struct pipeline_problem *p, const struct pipeline_score *s,
                           const double *peaks)
{
	json_t *bytes = json_array();

	for (int64_t d = 0; d < p->shape.devices; d++)
		json_array_append_new(bytes, number_of(peaks[d]));
	return json_pack("{s:o,s:o,s:o,s:o}", "bottleneck", number_of(s->bottleneck), "makespan",
	                 number_of(s->makespan), "bubble_share", json_real_or_null(s->bubble_share),
	                 "memory_bytes", bytes);
}

json_t *pipeline_quality(const struct pipeline_proof *proof, double seconds)
{
	double gap = proof->value > 0 ? (proof->value - proof->lower_bound) / proof->value : 0;

	return json_pack("{s:b,s:s,s:o,s:o,s:o,s:I,s:f,s:n}", "optimal", proof->optimal, "objective",
	                 proof->objective, "value", number_of(proof->value), "lower_bound",
	                 json_real_or_null(proof->lower_bound), "gap",
	                 json_real_or_null(isnan(proof->lower_bound) ? NAN : gap), "candidates",
	                 (json_int_t)proof->candidates, "search_seconds", seconds, "model_error");
}
