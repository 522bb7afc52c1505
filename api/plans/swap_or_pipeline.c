#include <math.h>

#include "api/plans/kinds.h"
#include "api/plans/link_rate.h"
#include "api/plans/schema.h"
#include "planner/pipeline/swap.h"

/* The kind `swap-or-pipeline`: stages on several devices, or the whole model on each, swapped in from its
 * host. */

static const char *const methods[] = {"simulation", NULL};
static const char *const choices[] = {"pipeline", "swap", "swap-stale"};
#define SECONDS_MAX 1e6
#define BYTES_MAX 1e15

struct swap_input {
	struct swap_problem problem;
	double memory; /* INFINITY: no bound */
	bool stale;
};

static int read_model(const json_t *request, struct swap_problem *p, struct sb_error *err)
{
	struct place root = place_of("");
	int rc = parse_number(request, &root, "forward", REQUIRED, 0, SECONDS_MAX, &p->forward, err);

	p->backward = 2 * p->forward;
	if (rc == SB_OK)
		rc = parse_number(request, &root, "backward", OPTIONAL, 0, SECONDS_MAX, &p->backward, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "weights_bytes", REQUIRED, 0, BYTES_MAX, &p->weights, err);
	p->gradients = p->weights;
	if (rc == SB_OK)
		rc = parse_number(request, &root, "gradients_bytes", OPTIONAL, 0, BYTES_MAX, &p->gradients,
		                  err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "activation_bytes", REQUIRED, 0, BYTES_MAX, &p->activation,
		                  err);
	return rc;
}

static int read_input(const json_t *request, struct swap_input *in, struct sb_error *err)
{
	static const char *const members[] = {"kind",
	                                      "method",
	                                      "devices",
	                                      "micro_batches",
	                                      "forward",
	                                      "backward",
	                                      "parts",
	                                      "weights_bytes",
	                                      "link",
	                                      "host_link",
	                                      "memory_bytes",
	                                      "blocking",
	                                      "activation_bytes",
	                                      "gradients_bytes",
	                                      "stale_gradients",
	                                      NULL};
	struct place root = place_of("");
	struct swap_problem *p = &in->problem;
	struct sb_error why = {0};
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc =
		    parse_integer(request, &root, "devices", REQUIRED, 2, SWAP_DEVICES_MAX, &p->devices, err);
	p->parts = p->devices;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "parts", OPTIONAL, 1, SWAP_DEVICES_MAX, &p->parts, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "micro_batches", REQUIRED, 1, UINT32_MAX,
		                   &p->micro_batches, err);
	if (rc == SB_OK)
		rc = read_model(request, p, err);
	if (rc == SB_OK)
		rc = link_rate_from_json(request, "link", REQUIRED, &p->link, err);
	if (rc == SB_OK)
		rc = link_rate_from_json(request, "host_link", REQUIRED, &p->host, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "memory_bytes", OPTIONAL, 1, BYTES_MAX, &in->memory, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "blocking", &p->blocking, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "stale_gradients", &in->stale, err);
	if (rc != SB_OK)
		return rc;
	rc = swap_check(p, &why);
	return rc == SB_OK ? SB_OK : parse_fail(err, rc, why.word, &root, why.field, why.text);
}

static bool is_offered(const struct swap_input *in, const struct swap_comparison *x, int k)
{
	return (k != SWAP_BACKGROUND || in->stale) && x->device_bytes[k] <= in->memory;
}

static json_t *solution_to_json(const struct swap_input *in, const struct swap_comparison *x, int k)
{
	json_t *o = json_pack("{s:s}", "choice", choices[k]);

	if (k == SWAP_PIPELINE) {
		json_object_set_new(o, "stages", json_integer(in->problem.devices));
		json_object_set_new(o, "schedule", json_string(schedule_facts(x->schedule)->name));
		return o;
	}
	json_object_set_new(o, "parts", json_integer(in->problem.parts));
	json_object_set_new(o, "device_micro_batches", json_integer(x->device_micro_batches));
	json_object_set_new(o, "stale_steps", json_integer(k == SWAP_BACKGROUND ? x->stale_steps : 0));
	return o;
}

static json_t *predicted_to_json(const struct swap_comparison *x, int k)
{
	return json_pack("{s:f,s:o,s:f}", "step_seconds", x->step[k], "exchange_seconds",
	                 k == SWAP_PIPELINE ? json_null() : json_real(x->exchange),
	                 "weights_and_gradients_bytes", x->device_bytes[k]);
}

static json_t *rule_to_json(const struct swap_input *in, const struct swap_comparison *x)
{
	return json_pack("{s:f,s:o,s:b,s:f,s:I,s:o}", "link_bytes_per_second",
	                 in->problem.link.bytes_per_second, "threshold_bytes_per_second",
	                 json_real_or_null(x->threshold_bytes_per_second), "prefer_swap",
	                 in->problem.link.bytes_per_second < x->threshold_bytes_per_second, "load_seconds",
	                 x->load, "hiding_micro_batches", (json_int_t)x->hiding_micro_batches,
	                 "paying_micro_batches", json_real_or_null(ceil(x->paying_micro_batches)));
}

static void list_others(const struct swap_input *in, const struct swap_comparison *x, int best,
                        json_t *alternatives, json_t *rejected)
{
	for (int k = 0; k < SWAP_CHOICES; k++) {
		if (k == best)
			continue;
		if (!is_offered(in, x, k))
			json_array_append_new(
			    rejected,
			    json_pack(
			        "{s:s,s:i,s:s}", "reason",
			        x->device_bytes[k] > in->memory
			            ? "weights and gradients need more than memory_bytes"
			            : "gradients of older weights are another training: allowed only by "
			              "stale_gradients",
			        "count", 1, "example", choices[k]));
		else
			json_array_append_new(
			    alternatives,
			    json_pack("{s:o,s:o,s:o,s:s}", "solution", solution_to_json(in, x, k),
			              "predicted", predicted_to_json(x, k), "loses_by",
			              json_real_or_null(x->step[k] / x->step[best] - 1), "reason",
			              k == SWAP_PIPELINE
			                  ? "its bubble, and activations on the link"
			                  : "adding up the gradients, and what loading does not hide"));
	}
}

static json_t *warnings_of(const struct swap_input *in, const struct swap_comparison *x, int best)
{
	json_t *list = json_array();
	bool rule = in->problem.link.bytes_per_second < x->threshold_bytes_per_second;

	if (best == SWAP_BACKGROUND)
		json_warn(list, "stale_gradients",
		          "the steps are those of another training: gradients are of older weights");
	if (rule != (best != SWAP_PIPELINE))
		json_warn(
		    list, "rule_disagrees",
		    "the rule leaves out the exchange of gradients and the bubble; the plan is chosen by "
		    "the step");
	json_warn(list, "optimizer_left_out",
	          "optimizer states, activations and the optimizer's time are not counted");
	return list;
}

static json_t *answer_of(const struct swap_input *in, const struct swap_comparison *x, int best,
                         double seconds)
{
	json_t *alternatives = json_array(), *rejected = json_array(),
	       *predicted = predicted_to_json(x, best);

	list_others(in, x, best, alternatives, rejected);
	json_object_set_new(predicted, "rule", rule_to_json(in, x));
	return json_pack("{s:o,s:o,s:{s:n,s:n,s:n,s:i,s:f,s:n},s:o,s:[],s:o,s:o}", "solution",
	                 solution_to_json(in, x, best), "predicted", predicted, "quality", "optimal",
	                 "lower_bound", "gap", "candidates", SWAP_CHOICES, "search_seconds", seconds,
	                 "model_error", "alternatives", alternatives, "frontier", "rejected", rejected,
	                 "warnings", warnings_of(in, x, best));
}

static int infeasible(const struct swap_comparison *x, json_t **out_extra, struct sb_error *err)
{
	double least = ceil(fmin(x->device_bytes[SWAP_PIPELINE], x->device_bytes[SWAP_SYNCHRONOUS]));

	*out_extra = plan_least_memory(least);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "neither fits: weights and gradients need at least %.0f bytes on a device", least);
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	struct swap_input in = {.memory = INFINITY};
	struct swap_comparison x;
	double start = plan_clock();
	int best = SWAP_CHOICES, rc = read_input(request, &in, err);

	if (rc == SB_OK)
		rc = swap_compare(&in.problem, &x, err);
	if (rc != SB_OK)
		return rc;
	for (int k = 0; k < SWAP_CHOICES; k++)
		if (is_offered(&in, &x, k) && (best == SWAP_CHOICES || x.step[k] < x.step[best]))
			best = k;
	if (best == SWAP_CHOICES)
		return infeasible(&x, out_extra, err);
	*out = answer_of(&in, &x, best, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *schema(void)
{
	static const char *const needs[] = {"devices",          "micro_batches", "forward",   "weights_bytes",
	                                    "activation_bytes", "link",          "host_link", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "devices", schema_integer(2, SWAP_DEVICES_MAX));
	json_object_set_new(p, "micro_batches", schema_integer(1, UINT32_MAX));
	json_object_set_new(
	    p, "forward",
	    schema_number(0, SECONDS_MAX, "seconds of the whole model, one micro-batch, one device"));
	json_object_set_new(p, "backward", schema_number(0, SECONDS_MAX, "default: twice forward"));
	json_object_set_new(p, "weights_bytes", schema_number(0, BYTES_MAX, "of the whole model"));
	json_object_set_new(p, "gradients_bytes", schema_number(0, BYTES_MAX, "default: as the weights"));
	json_object_set_new(p, "activation_bytes",
	                    schema_number(0, BYTES_MAX, "from one stage to the next, one micro-batch"));
	json_object_set_new(p, "parts", schema_integer(1, SWAP_DEVICES_MAX));
	json_object_set_new(p, "link", link_rate_schema());
	json_object_set_new(p, "host_link", link_rate_schema());
	json_object_set_new(p, "memory_bytes",
	                    schema_number(1, BYTES_MAX, "for weights and gradients on a device"));
	json_object_set_new(p, "blocking",
	                    schema_boolean("a transfer of the pipeline keeps both of its devices busy"));
	json_object_set_new(p, "stale_gradients",
	                    schema_boolean("gradients may be of older weights; default false"));
	return schema_object(p, needs);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i}", "devices", SWAP_DEVICES_MAX, "operations", 1 << 22);
}

const struct plan_kind swap_or_pipeline_kind = {
    .name = "swap-or-pipeline", .methods = methods, .solve = solve, .schema = schema, .limits = limits_of};
