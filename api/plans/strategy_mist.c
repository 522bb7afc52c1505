#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_mist.h"
#include "planner/strategy/space.h"

#define MOST_RATE 1e15
#define FRONTIER 8 /* points besides the best plan: each is a search */

static bool allowed(const void *self, const struct mist_stage *s, int64_t stages)
{
	const struct search_request *r = self;

	return allowed_value(r, ONLY_DP, s->dp) && allowed_value(r, ONLY_TP, s->tp) &&
	       allowed_value(r, ONLY_PP, stages) && allowed_value(r, ONLY_MICRO_BATCH, s->micro_batch) &&
	       allowed_value(r, ONLY_ZERO, mist_zero(s));
}

/* How many of the things that can be offloaded may be. */
static int offload_allowed(const struct search_request *r)
{
	int count = 0;

	for (int i = 0; i < OFFLOADABLES; i++)
		count += allowed_value(r, ONLY_OFFLOAD, i);
	return count;
}

/* What Mist does not know, or chooses by itself. */
static int check(const struct search_request *r, struct sb_error *err)
{
	const struct {
		const char *field;
		enum constraint constraint;
		int64_t value;
	} fixed[] = {{"/constraints/tp_x", ONLY_TP_X, 1},
	             {"/constraints/cp", ONLY_CP, 1},
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
	if (offload_allowed(r) != 0 && offload_allowed(r) != OFFLOADABLES)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/constraints/offload",
		                     "Mist chooses by itself what to offload; or nothing, with false");
	if (r->stack.given)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/constraints/overlap",
		                     "Mist has its own model of what runs under compute");
	if (r->problem.model.has_moe)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/model/moe",
		                     "Mist's layers are all alike and dense");
	return SB_OK;
}

static int read_input(const json_t *request, struct mist_input *in, struct sb_error *err)
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
	offload = offload && offload_allowed(&in->request) > 0;
	if (rc == SB_OK)
		rc =
		    parse_number(request, &root, "host_bytes_per_second", OPTIONAL, 1, MOST_RATE, &host, err);
	if (rc != SB_OK)
		return rc;
	in->measured = measured && isnan(host);
	/* our own cost model asks the cluster */
	if (!isnan(host))
		in->request.problem.cluster.host_link_bytes_per_second = host;
	in->problem = (struct mist_problem){
	    .cost = cost,
	    .attention = in->request.attention,
	    /* Mist's gradients are of 16 bit */
	    .gradient_bytes = parse_given(constraints, "gradient_dtype") ? in->request.gradient_bytes : 2,
	    .offload = offload,
	    .allowed = allowed,
	    .self = &in->request};
	in->problem.machine = in->measured
	                          ? *measured
	                          : mist_machine_from(&cost->network, cost->cluster.devices_per_node, host);
	return SB_OK;
}

/* The part in which a plan loses most against the best. */
static const char *why_slower(const struct mist_plan *best, const struct mist_plan *plan)
{
	struct mist_parts a = mist_parts_of(best), b = mist_parts_of(plan);
	double steady = b.steady - a.steady, fill = b.fill - a.fill, ends = b.ends - a.ends;

	if (steady >= fill && steady >= ends)
		return "its slowest stage takes longer, over all its micro-batches";
	return fill >= ends ? "its pipeline takes longer to fill"
	                    : "what the first and the last micro-batch add takes longer";
}

static int alternatives_of(const struct mist_input *in, const struct mist_plan *best, json_t *list,
                           struct sb_error *err)
{
	struct mist_plan plans[SEARCH_ALTERNATIVES] = {0};
	int count,
	    rc = mist_alternatives(&in->problem, best, SEARCH_SLACK, in->request.alternatives, plans, &count);

	for (int i = 0; rc == SB_OK && i < count; i++) {
		json_t *entry = json_object();

		rc = mist_plan_json(in, &plans[i], entry, NULL, err);
		json_object_set_new(entry, "value", json_real(plans[i].seconds));
		json_object_set_new(entry, "loses_by", json_real(plans[i].seconds / best->seconds - 1));
		json_object_set_new(entry, "reason", json_string(why_slower(best, &plans[i])));
		json_array_append_new(list, entry);
	}
	for (int i = 0; i < SEARCH_ALTERNATIVES; i++)
		mist_plan_free(&plans[i]);
	return rc == SB_ENOMEM ? sb_no_memory(err) : rc;
}

static void add_point(const struct mist_input *in, const struct mist_plan *plan, json_t *list)
{
	json_array_append_new(list, json_pack("{s:f,s:I,s:o}", "seconds", plan->seconds, "bytes",
	                                      (json_int_t)ceil(mist_fullest(plan)), "solution",
	                                      mist_solution_json(in, plan)));
}

/* By Mist's model, the best plan first. */
static int frontier_of(const struct mist_input *in, const struct mist_plan *best, json_t *list)
{
	struct mist_plan plans[FRONTIER] = {0};
	int count, rc = mist_frontier(&in->problem, best, SEARCH_SLACK, FRONTIER, plans, &count);

	add_point(in, best, list);
	for (int i = 0; i < FRONTIER; i++) {
		if (rc == SB_OK && i < count)
			add_point(in, &plans[i], list);
		mist_plan_free(&plans[i]);
	}
	return rc;
}

static void add_warnings(const struct mist_input *in, json_t *warnings)
{
	if (!in->measured)
		json_warn(
		    warnings, "links_modelled",
		    "Mist has measured l4-24g and a100-40g: here transfers follow this service's links, and "
		    "streams slow each other as on the A100");
	json_warn(warnings, "layers_modelled",
	          "Mist profiles its operators: here the layers' times and sizes come from the cost model");
}

static int answer_of(const struct mist_input *in, const struct mist_plan *plan, double start, json_t **out,
                     struct sb_error *err)
{
	JSON_AUTO answer = json_object();
	JSON_AUTO warnings = json_array();
	JSON_AUTO alternatives = json_array();
	JSON_AUTO frontier = json_array();
	json_t *quality;
	int rc = mist_plan_json(in, plan, answer, warnings, err);

	if (rc == SB_OK)
		rc = alternatives_of(in, plan, alternatives, err);
	if (rc == SB_OK && frontier_of(in, plan, frontier) != SB_OK)
		rc = sb_no_memory(err);
	if (rc != SB_OK)
		return rc;
	add_warnings(in, warnings);
	quality = quality_to_json(plan->optimal, plan->lower_bound, plan->seconds, plan->candidates,
	                          plan_clock() - start, NAN);
	json_object_set_new(quality, "value", json_real(plan->seconds));
	json_object_set_new(answer, "quality", quality);
	json_object_set(answer, "alternatives", alternatives);
	json_object_set(answer, "frontier", frontier);
	json_object_set_new(answer, "rejected", json_array());
	json_object_set(answer, "warnings", warnings);
	strategy_proved(
	    answer, "mist_seconds",
	    plan->optimal
	        ? "no plan of Mist's space is faster by its model (whole Pareto sets and an exact dynamic "
	          "program, where Mist samples 30 points of each set for a MILP); frontier and memory are "
	          "its model's too"
	        : "no plan of Mist's space is faster by its model than lower_bound");
	*out = json_incref(answer);
	return SB_OK;
}

int strategy_mist(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	struct mist_input in = {0};
	MIST_PLAN_AUTO plan = {0};
	double start = plan_clock();
	int rc = read_input(request, &in, err);

	in.problem.watch = watch;
	if (rc == SB_OK)
		rc = mist_search(&in.problem, &plan, err);
	if (rc == SB_OK)
		rc = sb_watch_rc(watch);
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
