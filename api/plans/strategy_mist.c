#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_methods.h"
#include "planner/methods/mist.h"
#include "planner/strategy/space.h"

#define MOST_RATE 1e15

struct input {
	struct search_request request;
	bool attention_given, measured; /* measured: the machine is one of Mist's own */
	struct mist_problem problem;
};

static int zero_of(const struct mist_stage *s)
{
	return s->shard[MIST_WEIGHTS] ? 3 : s->shard[MIST_GRADIENTS] ? 2 : 1;
}

static bool allowed(const void *self, const struct mist_stage *s, int64_t stages)
{
	const struct search_request *r = self;

	return allowed_value(r, ONLY_DP, s->dp) && allowed_value(r, ONLY_TP, s->tp) &&
	       allowed_value(r, ONLY_PP, stages) && allowed_value(r, ONLY_MICRO_BATCH, s->micro_batch) &&
	       allowed_value(r, ONLY_ZERO, zero_of(s));
}

/* What Mist does not know, or chooses by itself. */
static int check(const struct search_request *r, struct sb_error *err)
{
	const struct {
		const char *field;
		enum constraint constraint;
		int64_t value;
	} fixed[] = {{"/constraints/cp", ONLY_CP, 1},
	             {"/constraints/ep", ONLY_EP, 1},
	             {"/constraints/etp", ONLY_ETP, 1},
	             {"/constraints/vpp", ONLY_VPP, 1},
	             {"/constraints/sequence_parallel", ONLY_SEQUENCE_PARALLEL, 0}};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!allowed_value(r, fixed[i].constraint, fixed[i].value))
			return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", fixed[i].field,
			                     "Mist has none of these values");
	}
	if (r->only[ONLY_RECOMPUTE].count > 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/constraints/recompute",
		                     "Mist chooses by itself how many layers of each stage are checkpointed");
	if (r->problem.model.has_moe)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/model/moe",
		                     "Mist's layers are all alike and dense");
	return SB_OK;
}

static int read_input(const json_t *request, struct input *in, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *constraints = json_object_get(request, "constraints");
	const char *device =
	    json_string_value(json_object_get(json_object_get(request, "cluster"), "device"));
	const struct mist_machine *measured = mist_machine_of(device);
	const struct cost_problem *cost = &in->request.problem;
	double host = NAN;
	bool offload = true;
	int rc = strategy_request_from_json(request, &in->request, &in->attention_given, err);

	if (rc == SB_OK)
		rc = check(&in->request, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "offload", &offload, err);
	if (rc == SB_OK)
		rc =
		    parse_number(request, &root, "host_bytes_per_second", OPTIONAL, 1, MOST_RATE, &host, err);
	if (rc != SB_OK)
		return rc;
	in->measured = measured && isnan(host);
	in->problem = (struct mist_problem){
	    .cost = cost,
	    .attention = in->request.attention,
	    /* Mist's gradients are of 16 bit */
	    .gradient_bytes = json_object_get(constraints, "gradient_dtype") ? in->request.gradient_bytes : 2,
	    .offload = offload,
	    .allowed = allowed,
	    .self = &in->request};
	in->problem.machine = in->measured
	                          ? *measured
	                          : mist_machine_from(&cost->network, cost->cluster.devices_per_node, host);
	return SB_OK;
}

/* Can `estimate` say it? All stages alike but for their layers and how many are checkpointed, nothing on the
 * host. */
static bool plain(const struct mist_plan *plan)
{
	const struct mist_stage *a = &plan->stage[0];

	for (int64_t i = 0; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];

		for (int k = 0; k <= MIST_ACTIVATIONS; k++) {
			if (s->offload[k] > 0)
				return false;
		}
		if (s->micro_batch != a->micro_batch || s->dp != a->dp || s->tp != a->tp ||
		    zero_of(s) != zero_of(a))
			return false;
	}
	return true;
}

static json_t *stages_of(const struct mist_plan *plan)
{
	json_t *list = json_array();
	int64_t next = 0;

	for (int64_t i = 0; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];

		json_array_append_new(
		    list,
		    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:{s:f,s:f,s:f,s:f},s:f,s:f,s:I}", "first_layer",
		              (json_int_t)next, "layers", (json_int_t)s->layers, "checkpointed_layers",
		              (json_int_t)s->checkpointed, "dp", (json_int_t)s->dp, "tp", (json_int_t)s->tp,
		              "micro_batch", (json_int_t)s->micro_batch, "zero", zero_of(s), "offload",
		              "weights", s->offload[MIST_WEIGHTS], "gradients", s->offload[MIST_GRADIENTS],
		              "optimizer", s->offload[MIST_OPTIMIZER], "activations",
		              s->offload[MIST_ACTIVATIONS], "stable_seconds", s->stable, "delta_seconds",
		              s->delta, "memory_bytes", (json_int_t)ceil(s->bytes)));
		next += s->layers;
	}
	return list;
}

/* Where our model cannot run the plan: what Mist's says of it. */
static json_t *own_prediction(const struct input *in, const struct mist_plan *plan)
{
	const struct cost_problem *p = &in->request.problem;
	double devices = (double)cluster_devices(&p->cluster), bytes = 0;
	int64_t fullest = 0;

	for (int64_t i = 0; i < plan->stages; i++) {
		if (plan->stage[i].bytes > bytes) {
			bytes = plan->stage[i].bytes;
			fullest = i;
		}
	}
	return json_pack("{s:f,s:f,s:f,s:n,s:I,s:b,s:I,s:o}", "step_seconds", plan->seconds,
	                 "tokens_per_second", (double)p->sequences * (double)p->model.seq_len / plan->seconds,
	                 "mfu",
	                 model_step_flops(&p->model, p->sequences, 1) /
	                     (plan->seconds * devices * p->cluster.device.peak_flops),
	                 "hfu", "memory_bytes", (json_int_t)ceil(bytes), "fits", 1, "fullest_stage",
	                 (json_int_t)fullest, "stages", stages_of(plan));
}

static json_t *own_solution(const struct input *in, const struct mist_plan *plan)
{
	return json_pack("{s:I,s:I,s:I,s:o}", "devices_used",
	                 (json_int_t)cluster_devices(&in->request.problem.cluster), "pp",
	                 (json_int_t)plan->stages, "micro_batches", (json_int_t)plan->micro_batches, "stages",
	                 stages_of(plan));
}

/* The plan as a strategy of ours, by our own cost model. */
static int our_prediction(const struct input *in, const struct mist_plan *plan, json_t *answer,
                          struct sb_error *err)
{
	const struct cost_problem *p = &in->request.problem;
	const struct mist_stage *a = &plan->stage[0];
	int64_t *layers = calloc(2 * (size_t)plan->stages, sizeof(*layers));
	struct strategy s = strategy_default(&p->model, &p->cluster);
	struct strategy_cost c;
	json_t *predicted;
	int rc = layers ? SB_OK : sb_no_memory(err);

	if (rc != SB_OK)
		return rc;
	for (int64_t i = 0; i < plan->stages; i++) {
		layers[i] = plan->stage[i].layers;
		layers[plan->stages + i] = plan->stage[i].checkpointed;
		if (plan->stage[i].checkpointed > 0)
			s.recompute = RECOMPUTE_FULL;
	}
	s.dp = a->dp;
	s.tp = a->tp;
	s.pp = plan->stages;
	s.micro_batch = a->micro_batch;
	s.zero = zero_of(a);
	s.overlap_gradients = true;
	s.attention = in->problem.attention;
	s.gradient_bytes = in->problem.gradient_bytes;
	s.stage_layers = layers;
	if (s.recompute == RECOMPUTE_FULL)
		s.stage_recompute = layers + plan->stages;
	rc = strategy_cost(p, &s, &c, err);
	if (rc == SB_OK) {
		predicted = predicted_to_json(&c);
		json_object_set_new(predicted, "stages", stages_of(plan));
		json_object_set_new(answer, "predicted", predicted);
		json_object_set_new(answer, "solution", strategy_to_json(p, &s));
		json_object_set_new(answer, "warnings", warnings_to_json(p, &s, &c, in->attention_given));
		rc = strategy_explain_json(p, &s, answer, err);
	}
	free(layers);
	return rc;
}

static void add_warnings(const struct input *in, bool ours, json_t *warnings)
{
	if (!ours)
		plan_warn(warnings, "own_prediction",
		          "the degrees of stages differ, or something is on the host, which kind estimate "
		          "cannot say: "
		          "predicted is by Mist's own model");
	if (!in->measured)
		plan_warn(
		    warnings, "links_modelled",
		    "Mist has measured l4-24g and a100-40g: here transfers follow this service's links, and "
		    "streams slow each other as on the A100");
	plan_warn(warnings, "layers_modelled",
	          "Mist profiles its operators: here the layers' times and sizes come from the cost model");
}

static int answer_of(const struct input *in, const struct mist_plan *plan, double start, json_t **out,
                     struct sb_error *err)
{
	JSON_AUTO answer = json_object();
	bool ours = plain(plan);
	json_t *quality;

	if (ours) {
		int rc = our_prediction(in, plan, answer, err);

		if (rc != SB_OK)
			return rc;
	} else {
		json_object_set_new(answer, "predicted", own_prediction(in, plan));
		json_object_set_new(answer, "solution", own_solution(in, plan));
		json_object_set_new(answer, "warnings", json_array());
	}
	add_warnings(in, ours, json_object_get(answer, "warnings"));
	quality = quality_to_json(plan->optimal, plan->lower_bound, plan->seconds, plan->candidates,
	                          plan_clock() - start, NAN);
	json_object_set_new(quality, "value", json_real(plan->seconds));
	json_object_set_new(answer, "quality", quality);
	json_object_set_new(answer, "alternatives", json_array());
	json_object_set_new(answer, "frontier", json_array());
	json_object_set_new(answer, "rejected", json_array());
	strategy_proved(
	    answer, "mist_seconds",
	    plan->optimal
	        ? "no plan of Mist's space is faster by its model (whole Pareto sets and an exact dynamic "
	          "program, where Mist samples 30 points of each set for a MILP)"
	        : "no plan of Mist's space is faster by its model than lower_bound");
	*out = json_incref(answer);
	return SB_OK;
}

int strategy_mist(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct input in = {0};
	MIST_PLAN_AUTO plan = {0};
	double start = plan_clock();
	int rc = read_input(request, &in, err);

	if (rc == SB_OK)
		rc = mist_search(&in.problem, &plan, err);
	if (rc == SB_EINFEASIBLE)
		*out_extra = plan_least_memory(plan.least_memory);
	return rc == SB_OK ? answer_of(&in, &plan, start, out, err) : rc;
}

json_t *strategy_mist_schema(void)
{
	return json_pack(
	    "{s:o,s:o}", "offload", schema_boolean("may anything be kept on the host? default true"),
	    "host_bytes_per_second",
	    schema_number(1, MOST_RATE, "of a device to and from its host; default: as Mist measured"));
}
