#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/strategy_mist.h"
#include "planner/cost/offload.h"
#include "planner/strategy/stages.h"

int mist_zero(const struct mist_stage *s)
{
	return s->shard[MIST_WEIGHTS] ? 3 : s->shard[MIST_GRADIENTS] ? 2 : 1;
}

static bool any_offload(const struct mist_plan *plan)
{
	for (int64_t i = 0; i < plan->stages; i++) {
		for (int k = 0; k <= MIST_ACTIVATIONS; k++) {
			if (plan->stage[i].offload[k] > 0)
				return true;
		}
	}
	return false;
}

static bool host_known(const struct cluster *c)
{
	return c->host_link_bytes_per_second > 0 && c->host_memory_bytes > 0;
}

/* Can `estimate` say it? All stages alike but for their layers and how many are checkpointed; and something
 * on the host only where the cluster tells of it. */
static bool plain(const struct mist_input *in, const struct mist_plan *plan)
{
	const struct mist_stage *a = &plan->stage[0];

	for (int64_t i = 1; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];

		for (int k = 0; k <= MIST_ACTIVATIONS; k++) {
			if (s->offload[k] < a->offload[k] || s->offload[k] > a->offload[k])
				return false;
		}
		if (s->micro_batch != a->micro_batch || s->dp != a->dp || s->tp != a->tp ||
		    mist_zero(s) != mist_zero(a))
			return false;
	}
	return host_known(&in->request.problem.cluster) || !any_offload(plan);
}

/* A stage as one of a strategy of ours. */
static struct strategy stage_strategy(const struct mist_input *in, const struct mist_plan *plan, int64_t i)
{
	const struct cost_problem *p = &in->request.problem;
	const struct mist_stage *a = &plan->stage[i];
	struct strategy s = strategy_default(&p->model, &p->cluster);

	s.dp = a->dp;
	s.tp = a->tp;
	s.pp = plan->stages;
	s.micro_batch = a->micro_batch;
	s.zero = mist_zero(a);
	s.overlap_gradients = true;
	s.attention = in->problem.attention;
	s.gradient_bytes = in->problem.gradient_bytes;
	s.offload = (struct offload){a->offload[MIST_WEIGHTS], a->offload[MIST_GRADIENTS],
	                             a->offload[MIST_OPTIMIZER], a->offload[MIST_ACTIVATIONS]};
	for (int64_t k = 0; k < plan->stages; k++) {
		if (plan->stage[k].checkpointed > 0)
			s.recompute = RECOMPUTE_FULL;
	}
	return s;
}

/* The whole plan, with its cut in layers[2 * stages]. */
static struct strategy plain_strategy(const struct mist_input *in, const struct mist_plan *plan,
                                      int64_t *layers)
{
	struct strategy s = stage_strategy(in, plan, 0);

	for (int64_t i = 0; i < plan->stages; i++) {
		layers[i] = plan->stage[i].layers;
		layers[plan->stages + i] = plan->stage[i].checkpointed;
	}
	s.slice_layers = layers;
	if (s.recompute == RECOMPUTE_FULL)
		s.stage_recompute = layers + plan->stages;
	return s;
}

static json_t *own_stages(const struct mist_plan *plan)
{
	json_t *list = json_array();
	int64_t next = 0;

	for (int64_t i = 0; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];

		json_array_append_new(
		    list, json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:{s:f,s:f,s:f,s:f}}", "first_layer",
		                    (json_int_t)next, "layers", (json_int_t)s->layers, "checkpointed_layers",
		                    (json_int_t)s->checkpointed, "dp", (json_int_t)s->dp, "tp",
		                    (json_int_t)s->tp, "micro_batch", (json_int_t)s->micro_batch, "zero",
		                    mist_zero(s), "offload", "weights", s->offload[MIST_WEIGHTS], "gradients",
		                    s->offload[MIST_GRADIENTS], "optimizer", s->offload[MIST_OPTIMIZER],
		                    "activations", s->offload[MIST_ACTIVATIONS]));
		next += s->layers;
	}
	return list;
}

json_t *mist_solution_json(const struct mist_input *in, const struct mist_plan *plan)
{
	const struct cost_problem *p = &in->request.problem;
	int64_t *layers;
	struct strategy s;
	json_t *solution;

	if (!plain(in, plan))
		return json_pack("{s:I,s:I,s:I,s:o}", "devices_used",
		                 (json_int_t)cluster_devices(&p->cluster), "pp", (json_int_t)plan->stages,
		                 "micro_batches", (json_int_t)plan->micro_batches, "stages",
		                 own_stages(plan));
	layers = calloc(2 * (size_t)plan->stages, sizeof(*layers));
	if (!layers)
		return NULL;
	s = plain_strategy(in, plan, layers);
	solution = strategy_to_json(p, &s);
	free(layers);
	return solution;
}

/* What Mist's own model says of the plan. */
static json_t *mist_json(const struct mist_plan *plan)
{
	json_t *stages = own_stages(plan);

	for (int64_t i = 0; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];
		json_t *row = json_array_get(stages, (size_t)i);

		json_object_set_new(row, "stable_seconds", json_real(s->stable));
		json_object_set_new(row, "delta_seconds", json_real(s->delta));
		json_object_set_new(row, "memory_bytes", json_integer((json_int_t)ceil(s->bytes)));
	}
	return json_pack("{s:f,s:I,s:o}", "step_seconds", plan->seconds, "memory_bytes",
	                 (json_int_t)ceil(mist_fullest(plan)), "stages", stages);
}

static int plain_prediction(const struct mist_input *in, const struct mist_plan *plan, json_t *entry,
                            json_t *warnings, struct sb_error *err)
{
	const struct cost_problem *p = &in->request.problem;
	int64_t *layers = calloc(2 * (size_t)plan->stages, sizeof(*layers));
	struct strategy_cost c;
	struct strategy s;
	int rc;

	if (!layers)
		return sb_no_memory(err);
	s = plain_strategy(in, plan, layers);
	rc = strategy_cost(p, &s, &c, err);
	if (rc == SB_OK)
		json_object_set_new(entry, "predicted", predicted_to_json(&c));
	if (rc == SB_OK && warnings) {
		JSON_AUTO more = warnings_to_json(p, &s, &c, in->attention_given);

		json_array_extend(warnings, more);
		rc = strategy_explain_json(p, &s, &c, entry, err);
	}
	free(layers);
	return rc;
}

/* The cost of the stages, each with degrees of its own. */
static json_t *mixed_json(const struct cost_problem *p, const struct mist_plan *plan,
                          const struct stages_cost *c, const struct memory_parts *memory)
{
	double flops = cluster_devices(&p->cluster) * p->cluster.device.peak_flops * c->step_seconds,
	       host = 0;
	int64_t bytes = memory_bytes_of(&memory[c->fullest_stage]);
	json_t *stages = json_array();

	for (int64_t i = 0; i < plan->stages; i++) {
		host = fmax(host, memory[i].host);
		json_array_append_new(stages, json_pack("{s:I,s:I,s:o}", "memory_bytes",
		                                        (json_int_t)memory_bytes_of(&memory[i]), "host_bytes",
		                                        (json_int_t)llround(memory[i].host), "memory",
		                                        memory_to_json(&memory[i])));
	}
	host *= (double)p->cluster.devices_per_node;
	return json_pack("{s:f,s:f,s:f,s:n,s:I,s:I,s:b,s:I,s:o}", "step_seconds", c->step_seconds,
	                 "tokens_per_second",
	                 (double)p->sequences * (double)p->model.seq_len / c->step_seconds, "mfu",
	                 model_step_flops(&p->model, p->sequences, 1) / flops, "hfu", "memory_bytes",
	                 (json_int_t)bytes, "host_memory_bytes", (json_int_t)ceil(host), "fits",
	                 bytes <= p->memory_bytes &&
	                     (!host_known(&p->cluster) || host <= (double)p->cluster.host_memory_bytes),
	                 "fullest_stage", (json_int_t)c->fullest_stage, "stages", stages);
}

static int mixed_prediction(const struct mist_input *in, const struct mist_plan *plan, json_t *entry,
                            json_t *warnings, struct sb_error *err)
{
	struct cost_problem p = in->request.problem;
	size_t stages = (size_t)plan->stages;
	struct strategy *strategy = calloc(stages, sizeof(*strategy));
	struct stage_run *run = calloc(stages, sizeof(*run));
	struct memory_parts *memory = calloc(stages, sizeof(*memory));
	struct stages_cost c;
	int64_t start = 0;
	int rc = strategy && run && memory ? SB_OK : sb_no_memory(err);

	if (p.cluster.host_link_bytes_per_second <= 0)
		p.cluster.host_link_bytes_per_second =
		    in->problem.machine.to_device.gib_per_second * 1024 * 1024 * 1024;
	for (int64_t i = 0; rc == SB_OK && i < plan->stages; i++) {
		strategy[i] = stage_strategy(in, plan, i);
		run[i] = (struct stage_run){.first = i, .count = 1, .start = start};
		run[i].layers[LAYER_DENSE] = plan->stage[i].layers;
		if (strategy[i].recompute == RECOMPUTE_FULL)
			run[i].kept[LAYER_DENSE] = plan->stage[i].layers - plan->stage[i].checkpointed;
		start += plan->stage[i].layers;
	}
	if (rc == SB_OK)
		rc = stages_cost(&p, strategy, run, memory, &c, err);
	if (rc == SB_OK) {
		json_t *predicted = mixed_json(&in->request.problem, plan, &c, memory);

		json_object_set_new(entry, "predicted", predicted);
		if (warnings && memory_total(&memory[c.fullest_stage]) > (double)p.memory_bytes)
			json_warn(warnings, "does_not_fit",
			          "the fullest stage needs more memory than a device may use");
	}
	free(strategy);
	free(run);
	free(memory);
	return rc;
}

int mist_plan_json(const struct mist_input *in, const struct mist_plan *plan, json_t *entry, json_t *warnings,
                   struct sb_error *err)
{
	bool ours = plain(in, plan);
	json_t *solution = mist_solution_json(in, plan);
	int rc = solution ? SB_OK : sb_no_memory(err);

	if (rc != SB_OK)
		return rc;
	json_object_set_new(entry, "solution", solution);
	rc = ours ? plain_prediction(in, plan, entry, warnings, err)
	          : mixed_prediction(in, plan, entry, warnings, err);
	if (rc != SB_OK)
		return rc;
	json_object_set_new(json_object_get(entry, "predicted"), "mist", mist_json(plan));
	if (warnings && !ours)
		json_warn(
		    warnings, "stages_differ",
		    "stages have degrees or shares on the host of their own, which kind estimate cannot "
		    "say: predicted is the same cost model's, stage by stage");
	if (warnings && !ours && any_offload(plan))
		warn_host_assumed(&in->request.problem, warnings);
	if (warnings && any_offload(plan) && !host_known(&in->request.problem.cluster))
		json_warn(warnings, "host_unknown",
		          "the cluster does not say what its hosts hold and how quick the link to them is: "
		          "taken as enough memory, at Mist's rate");
	return SB_OK;
}
