#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/problem.h"
#include "api/plans/strategy_json.h"
#include "api/plans/strategy_overlap.h"
#include "planner/cost/offload.h"
#include "planner/cost/overlap.h"

/* Stage i, with the chunks of an interleaved pipeline. start: the first layer of each slice. */
static json_t *stage_to_json(const struct strategy *s, int64_t layers, int64_t i, const int64_t *start,
                             int64_t recomputed)
{
	json_t *chunks, *o = json_pack("{s:I,s:I,s:s,s:I}", "first_layer", (json_int_t)start[i], "layers",
	                               (json_int_t)strategy_stage_layers(s, layers, i), "recompute",
	                               recompute_words[recomputed > 0 ? s->recompute : RECOMPUTE_NONE],
	                               "recompute_layers", (json_int_t)recomputed);

	if (s->vpp == 1)
		return o;
	chunks = json_array();
	for (int64_t k = i; k < s->pp * s->vpp; k += s->pp)
		json_array_append_new(chunks,
		                      json_pack("{s:I,s:I}", "first_layer", (json_int_t)start[k], "layers",
		                                (json_int_t)strategy_slice_layers(s, layers, k)));
	json_object_set_new(o, "chunks", chunks);
	return o;
}

/* NULL when out of memory. */
static json_t *stages_to_json(const struct cost_problem *p, const struct strategy *s)
{
	int64_t slices = s->pp * s->vpp, *start = calloc((size_t)(slices + s->pp), sizeof(*start));
	int64_t next = 0, *recomputed = start ? start + slices : NULL;
	json_t *list = NULL;

	if (start && strategy_recomputed(p, s, recomputed, NULL) == SB_OK) {
		for (int64_t i = 0; i < slices; i++) {
			start[i] = next;
			next += strategy_slice_layers(s, p->model.layers, i);
		}
		list = json_array();
		for (int64_t i = 0; i < s->pp; i++)
			json_array_append_new(list,
			                      stage_to_json(s, p->model.layers, i, start, recomputed[i]));
	}
	free(start);
	return list;
}

static json_t *order_to_json(const struct strategy *s)
{
	static const char *const dimension_words[] = {"tp", "cp", "dp", "pp"};
	json_t *order = json_array();

	for (int i = 0; i < DIMS; i++)
		json_array_append_new(order, json_string(dimension_words[s->order[i]]));
	return order;
}

json_t *offload_to_json(const struct offload *o)
{
	if (!offload_any(o))
		return json_string("none");
	return json_pack("{s:f,s:f,s:f,s:f}", "weights", o->weights, "gradients", o->gradients, "optimizer",
	                 o->optimizer, "activations", o->activations);
}

json_t *strategy_to_json(const struct cost_problem *p, const struct strategy *s)
{
	json_t *stages = stages_to_json(p, s);
	struct tensor_grid grid = tensor_grid_of(s);
	json_t *o;
	const struct {
		const char *member;
		int64_t value;
	} rows[] = {{"devices_used", strategy_devices(s)},
	            {"dp", s->dp},
	            {"tp", s->tp},
	            {"cp", s->cp},
	            {"pp", s->pp},
	            {"vpp", s->vpp},
	            {"ep", s->ep},
	            {"etp", s->etp},
	            {"zero", s->zero},
	            {"micro_batch", s->micro_batch},
	            {"micro_batches", strategy_micro_batches(s, p->sequences)}};

	if (!stages)
		return NULL;
	o = json_object();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(o, rows[i].member, json_integer(rows[i].value));
	if (s->node_devices > 0 && s->node_devices < p->cluster.devices_per_node)
		json_object_set_new(o, "devices_per_node", json_integer(s->node_devices));
	if (grid.x > 1) {
		json_object_set_new(o, "tp_x", json_integer(grid.x));
		json_object_set_new(o, "tp_y", json_integer(grid.y));
	}
	json_object_set_new(o, "schedule", json_string(schedule_words[s->schedule]));
	json_object_set_new(o, "sequence_parallel", json_boolean(s->sequence_parallel));
	json_object_set_new(o, "recompute", json_string(recompute_words[s->recompute]));
	json_object_set_new(o, "attention", json_string(attention_words[s->attention]));
	overlap_to_json(s, o);
	json_object_set_new(o, "gradient_dtype", json_string(dtype_words[s->gradient_bytes == 4 ? 1 : 0]));
	json_object_set_new(o, "offload", offload_to_json(&s->offload));
	json_object_set_new(o, "order", order_to_json(s));
	json_object_set_new(o, "stages", stages);
	return o;
}

/* Rounded down, but for what floating point loses. */
static json_int_t whole_bytes(double bytes)
{
	return (json_int_t)floor(bytes + 1.0 / 1024);
}

json_t *memory_to_json(const struct memory_parts *m)
{
	const json_int_t weights = whole_bytes(m->weights), gradients = whole_bytes(m->gradients);
	const json_int_t optimizer = whole_bytes(m->optimizer), activations = whole_bytes(m->activations);

	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "weights", weights, "gradients", gradients, "optimizer",
	                 optimizer, "activations", activations, "workspace",
	                 (json_int_t)memory_bytes_of(m) - weights - gradients - optimizer - activations);
}

json_t *predicted_to_json(const struct strategy_cost *c)
{
	const struct breakdown_seconds *b = &c->breakdown;
	const struct memory_parts *m = &c->memory;
	json_t *breakdown =
	    json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "compute_seconds", b->compute,
	              "recompute_seconds", b->recompute, "tensor_parallel_seconds", b->tensor_parallel,
	              "context_parallel_seconds", b->context_parallel, "expert_parallel_seconds",
	              b->expert_parallel, "pipeline_send_seconds", b->pipeline_send, "bubble_seconds",
	              b->bubble, "gradient_exchange_seconds", b->gradient_exchange, "optimizer_seconds",
	              b->optimizer, "offload_seconds", b->offload, "other_seconds", b->other);

	return json_pack("{s:f,s:f,s:f,s:f,s:I,s:I,s:b,s:I,s:o,s:o}", "step_seconds", c->step_seconds,
	                 "tokens_per_second", c->tokens_per_second, "mfu", c->mfu, "hfu", c->hfu,
	                 "memory_bytes", (json_int_t)memory_bytes_of(m), "host_memory_bytes",
	                 (json_int_t)ceil(c->host_bytes), "fits", c->fits, "fullest_stage",
	                 (json_int_t)c->fullest_stage, "breakdown", breakdown, "memory", memory_to_json(m));
}

json_t *frontier_point(double seconds, double bytes, json_t *solution)
{
	return json_pack("{s:f,s:I,s:o}", "seconds", seconds, "bytes", (json_int_t)ceil(bytes), "solution",
	                 solution);
}

json_t *quality_to_json(int optimal, double bound, double value, int64_t candidates, double seconds,
                        double model_error)
{
	json_t *o = json_object();

	json_object_set_new(o, "optimal", optimal < 0 ? json_null() : json_boolean(optimal));
	json_object_set_new(o, "lower_bound", json_real_or_null(bound));
	json_object_set_new(o, "gap", json_real_or_null((value - bound) / value));
	json_object_set_new(o, "candidates", json_integer(candidates));
	json_object_set_new(o, "search_seconds", json_real_or_null(seconds));
	json_object_set_new(o, "model_error", json_real_or_null(model_error));
	return o;
}

void warn_host_assumed(const struct cost_problem *p, json_t *warnings)
{
	if (p->cluster.host_assumed)
		json_warn(
		    warnings, "host_assumed",
		    "the rates of the host in this cluster preset are in part what such links and memories "
		    "usually reach, not measured: give host_link_bytes_per_second and "
		    "host_memory_bandwidth where you know them");
}

json_t *warnings_to_json(const struct cost_problem *p, const struct strategy *s,
                         const struct strategy_cost *c, bool attention_given)
{
	json_t *list = json_array();

	if (memory_total(&c->memory) > (double)p->memory_bytes)
		json_warn(list, "does_not_fit", "the fullest stage needs more memory than a device may use");
	if (!c->host_fits)
		json_warn(list, "host_does_not_fit",
		          "what is offloaded needs more host memory than a node has");
	if (s->offload.optimizer > 0 && p->cluster.host_memory_bandwidth <= 0)
		json_warn(list, "device_updates",
		          "without the cluster's host_memory_bandwidth the offloaded optimizer states are "
		          "predicted to come to the device for its update, and to go back");
	if (offload_any(&s->offload))
		warn_host_assumed(p, list);
	if (!attention_given)
		json_warn(list, "attention_assumed",
		          s->attention == ATTENTION_FLASH
		              ? "a fused attention kernel is assumed; say attention: \"unfused\" otherwise"
		              : "unfused attention is assumed, as usual for this model and device; say "
		                "attention: \"flash\" otherwise");
	if (s->overlap_expert && s->ep > 1 && !overlap_in_pairs(s) && s->schedule != PIPELINE_DUALPIPE)
		json_warn(list, "overlap_without_partner",
		          "a plain 1F1B pipeline runs no two micro-batches side by side: the traffic of "
		          "experts is not hidden (vpp above 1, or no pipeline, does)");
	if (s->overlap_tensor && s->tp > 1 && !overlap_tensor_ranks(s))
		json_warn(list, "overlap_without_sequence_parallel",
		          "collectives of tensor ranks run under products with sequence_parallel, in one "
		          "dimension, alone: they are not hidden");
	if (isnan(p->constants.model_error))
		json_warn(
		    list, "uncalibrated",
		    "no measured run of this device stands behind the constants: expect larger errors, or "
		    "give calibration");
	if (s->pp > 1 && s->zero >= 2)
		json_warn(
		    list, "zero_with_pipeline",
		    "ZeRO 2 and 3 in a pipeline reduce gradients in every micro-batch: torchtitan (FSDP2) "
		    "runs that, Megatron-LM, DeepSpeed and MindFormers do not");
	if (!c->simulated)
		json_warn(list, "extrapolated",
		          "the schedule is too long to simulate whole: its steady state was extrapolated");
	return list;
}
