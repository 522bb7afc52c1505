#include <math.h>

#include "api/profiles/documents.h"
#include "api/profiles/json_build.h"
#include "base/num.h"

/* GET /v1/profiles/{id}/layers: rows, head and tail as a request of kind `pipeline` takes them. */

static json_t *row_json(const struct profile_layers *l, const struct layer_row *r)
{
	json_t *activation = isnan(r->activation_bytes)
	                         ? json_null()
	                         : json_pack("{s:o}", "none", json_real_or_null(r->activation_bytes));

	return json_pack("{s:o, s:I, s:o, s:o, s:n, s:o}", "name", json_string_id(l->texts, r->name), "count",
	                 (json_int_t)r->count, "forward", json_real_or_null(r->forward), "backward",
	                 json_real_or_null(r->backward), "parameters_bytes", "activation_bytes", activation);
}

static json_t *end_json(const struct layer_end *e)
{
	return json_pack("{s:o, s:o, s:n}", "forward", json_real_or_null(e->forward), "backward",
	                 json_real_or_null(e->backward), "parameters_bytes");
}

static json_t *stage_json(const struct layer_stage *s)
{
	return json_pack("{s:o, s:I, s:I, s:o, s:o}", "stage", json_int_or_null(s->stage), "ranks",
	                 (json_int_t)s->ranks, "layers", (json_int_t)s->layers, "forward",
	                 json_real_or_null(s->forward), "backward", json_real_or_null(s->backward));
}

static json_t *warnings_json(const struct profile_layers *l)
{
	json_t *list = json_array();

	for (unsigned bit = 1; bit <= l->warnings; bit *= 2)
		if (l->warnings & bit)
			json_array_append_new(list, json_pack("{s:s, s:s}", "code",
			                                      layers_warning_code((enum layers_warning)bit),
			                                      "detail",
			                                      layers_warning_text((enum layers_warning)bit)));
	return list;
}

static json_t *rows_json(const struct profile_layers *l)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(rows, row_json(l, &l->rows[i]));
	return rows;
}

json_t *document_layers(const struct profile *p)
{
	static const char *const sources[] = {NULL, "names", "repetition"};
	static const char *const confidences[] = {"low", "medium", "high"};
	PROFILE_LAYERS_AUTO l = {0};
	json_t *stages, *o;

	if (profile_layers_find(p, &l, NULL) != SB_OK)
		return NULL;
	stages = json_array();
	for (size_t i = 0; i < l.stage_count; i++)
		json_array_append_new(stages, stage_json(&l.stages[i]));
	o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "layers", rows_json(&l), "head", end_json(&l.head),
	              "tail", end_json(&l.tail), "micro_batches", json_int_or_null(l.micro_batches), "stages",
	              stages, "warnings", warnings_json(&l));
	json_object_set_new(o, "source", sources[l.source] ? json_string(sources[l.source]) : json_null());
	json_object_set_new(o, "confidence", l.reason ? json_null() : json_string(confidences[l.confidence]));
	json_object_set_new(o, "reason", l.reason ? json_string(l.reason) : json_null());
	return o;
}

/* In a request what is not known is not there. */
static void leave_out_nulls(json_t *o)
{
	void *next;

	for (void *i = json_object_iter(o); i; i = next) {
		const char *member = json_object_iter_key(i);

		next = json_object_iter_next(o, i);
		if (json_is_null(json_object_iter_value(i)))
			json_object_del(o, member);
	}
}

json_t *layers_problem(const struct profile *p)
{
	PROFILE_LAYERS_AUTO l = {0};
	json_t *o;

	if (profile_layers_find(p, &l, NULL) != SB_OK)
		return NULL;
	if (l.count == 0 || l.stage_count < 2 || l.micro_batches < 1 || (l.warnings & LAYERS_STAGES_MISSING))
		return NULL;
	o = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "kind", "pipeline", "stages",
	              (json_int_t)l.stage_count, "micro_batches", (json_int_t)l.micro_batches, "layers",
	              rows_json(&l), "head", end_json(&l.head), "tail", end_json(&l.tail));
	leave_out_nulls(json_object_get(o, "head"));
	leave_out_nulls(json_object_get(o, "tail"));
	for (size_t i = 0; i < l.count; i++)
		leave_out_nulls(json_array_get(json_object_get(o, "layers"), i));
	return o;
}
