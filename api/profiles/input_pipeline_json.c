#include "api/profiles/documents.h"
#include "api/profiles/json_build.h"
#include "base/num.h"
#include "profiler/input_pipeline.h"

/* GET /v1/profiles/{id}/input-pipeline. */

static json_t *iteration_json(const struct capture *c, const struct iteration *i)
{
	json_t *o = json_object();

	json_object_set_new(o, "rank", json_int_or_null(c->rank));
	json_object_set_new(o, "step", json_int_or_null(i->step));
	json_object_set_new(o, "total_us", json_us(i->total_ns));
	json_object_set_new(o, "interval_us", json_us(i->interval_ns));
	json_object_set_new(o, "forward_backward_us", json_us(i->forward_backward_ns));
	json_object_set_new(o, "tail_us", json_us(i->tail_ns));
	return o;
}

static json_t *queue_json(const struct queue_summary *s)
{
	const struct queue *q = s->queue;
	json_t *o = json_object();

	json_object_set_new(o, "rank", json_int_or_null(s->capture->rank));
	json_object_set_new(o, "name", json_string_id(s->capture->trace.strings, q->name));
	json_object_set_new(o, "kind", json_string(queue_kind_name(q->kind)));
	json_object_set_new(o, "operator", json_int_or_null(q->operator_id));
	json_object_set_new(o, "parent", json_int_or_null(q->parent_id));
	json_object_set_new(o, "workers", json_int_or_null(q->workers));
	json_object_set_new(o, "capacity", json_int_or_null(q->capacity));
	json_object_set_new(o, "samples", json_integer(s->samples));
	json_object_set_new(o, "sampling_interval_us", json_us(q->interval_ns));
	json_object_set_new(o, "empty", json_int_or_null(s->empty));
	json_object_set_new(o, "full", json_int_or_null(s->full));
	json_object_set_new(o, "mean_size", json_real_or_null(s->mean_size));
	json_object_set_new(o, "get_us", json_real_or_null(s->get_us));
	json_object_set_new(o, "push_us", json_real_or_null(s->push_us));
	json_object_set_new(o, "total_us", json_real_or_null(s->total_us));
	return o;
}

static json_t *bounds_json(const struct capture *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "rank", json_int_or_null(c->rank));
	json_object_set_new(o, "forward_start", json_string_id(c->trace.strings, c->forward_start));
	json_object_set_new(o, "backward_end", json_string_id(c->trace.strings, c->backward_end));
	return o;
}

json_t *document_input_pipeline(const struct profile *p)
{
	INPUT_PIPELINE_AUTO sums = {0};
	json_t *bounds, *iterations, *queues;

	if (input_pipeline_compute(p, &sums, NULL) != SB_OK)
		return NULL;
	bounds = json_array();
	iterations = json_array();
	queues = json_array();
	for (size_t i = 0; i < p->count; i++) {
		const struct capture *c = &p->captures[i];

		if (c->forward_start != 0 || c->backward_end != 0)
			json_array_append_new(bounds, bounds_json(c));
		for (size_t k = 0; k < c->iteration_count; k++)
			json_array_append_new(iterations, iteration_json(c, &c->iterations[k]));
	}
	for (size_t i = 0; i < sums.count; i++)
		json_array_append_new(queues, queue_json(&sums.queues[i]));
	return json_pack("{s:o, s:o, s:o}", "iterations", iterations, "bounds", bounds, "queues", queues);
}
