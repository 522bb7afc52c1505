#include <math.h>
#include <stddef.h>

#include "api/plans/strategy_json.h"
#include "planner/strategy/explain.h"

/* Where the seconds and bytes of a strategy go, as the member `explanation` of an answer. */

static json_t *stages_json(const struct explanation *e)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < e->stage_count; i++) {
		const struct explained_stages *s = &e->stages[i];
		const struct stage_time *t = &s->seconds;
		json_int_t layers = 0;

		for (int k = 0; k < LAYER_KINDS; k++)
			layers += (json_int_t)s->run.layers[k];
		json_array_append_new(
		    list,
		    json_pack("{s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:o}", "first_stage",
		              (json_int_t)s->run.first, "stages", (json_int_t)s->run.count, "layers", layers,
		              "forward_seconds", t->forward + t->head_forward, "backward_seconds",
		              t->backward + t->head_backward, "exchange_seconds", t->exchange,
		              "optimizer_seconds", t->optimizer, "offload_seconds",
		              t->offload + t->offload_update, "memory_bytes",
		              (json_int_t)memory_bytes_of(&s->memory), "host_bytes",
		              (json_int_t)llround(s->memory.host), "memory", memory_to_json(&s->memory)));
	}
	return list;
}

static json_t *traffic_json(const struct explanation *e)
{
	static const char *const names[TRAFFICS] = {
	    [TRAFFIC_TENSOR] = "tensor",       [TRAFFIC_TENSOR_X] = "tensor_x",
	    [TRAFFIC_TENSOR_Y] = "tensor_y",   [TRAFFIC_CONTEXT] = "context",
	    [TRAFFIC_EXPERT] = "expert",       [TRAFFIC_PIPELINE] = "pipeline",
	    [TRAFFIC_GRADIENTS] = "gradients", [TRAFFIC_HOST] = "host"};
	json_t *list = json_array();

	for (int i = 0; i < TRAFFICS; i++) {
		const struct explained_traffic *t = &e->traffic[i];

		if (t->bytes > 0)
			json_array_append_new(
			    list, json_pack("{s:s,s:I,s:I,s:f,s:f,s:o,s:o}", "between", names[i], "ranks",
			                    (json_int_t)t->ranks, "ranks_inside", (json_int_t)t->ranks_inside,
			                    "bytes", t->bytes, "seconds", t->seconds, "exposed_seconds",
			                    json_real_or_null(t->exposed), "hidden_seconds",
			                    json_real_or_null(
			                        isnan(t->exposed) ? NAN : fmax(0, t->seconds - t->exposed))));
	}
	return list;
}

int strategy_explain_json(const struct cost_problem *p, const struct strategy *s,
                          const struct strategy_cost *c, json_t *answer, struct sb_error *err)
{
	EXPLANATION_AUTO e = {0};
	int rc = strategy_explain(p, s, c, &e, err);

	if (rc == SB_OK && json_object_set_new(answer, "explanation",
	                                       json_pack("{s:o,s:o}", "stages", stages_json(&e), "traffic",
	                                                 traffic_json(&e))) != 0)
		rc = sb_no_memory(err);
	return rc;
}
