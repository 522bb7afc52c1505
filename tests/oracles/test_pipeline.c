/* oracles/pipeline: cuts with recomputing of one type of layers, exactly. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/cbc.h"
#include "planner/pipeline/device.h"
#include "planner/pipeline/ilp.h"
#include "planner/pipeline/pipeline.h"

#define STAGES_MAX 256

static double number(const json_t *o, const char *member, double missing)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? json_number_value(v) : missing;
}

/* SAPP's rules: backward is twice the forward, and recomputing a share of that more (algorithms.md 1.2). */
static void read_body(const json_t *body, struct pipeline_body *b)
{
	static const char *const names[PIPELINE_RECOMPUTES] = {"NONE", "SLCT", "COMM", "BOTH", "FULL"};
	const json_t *act = json_object_get(body, "act"), *coef = json_object_get(body, "coef");
	double time = number(body, "time", NAN);

	*b = (struct pipeline_body){.count = integer(body, "count", 0),
	                            .forward = time,
	                            .parameters = number(body, "par", NAN),
	                            .weight = NAN,
	                            .overlapped = NAN};
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		b->activation[r] = number(act, names[r], NAN);
		b->backward[r] = 2 * time * (1 + number(coef, names[r], NAN));
	}
}

static struct pipeline_end end_of(const json_t *o)
{
	double time = number(o, "time", 0);

	return (struct pipeline_end){time, 2 * time, number(o, "par", 0)};
}

static struct pipeline_problem problem_of(const json_t *i, double memory[STAGES_MAX],
                                          struct pipeline_body *body)
{
	int64_t chunks = integer(i, "v", 1);
	struct pipeline_problem p = {.shape = {.kind = chunks == 1 ? SCHEDULE_1F1B
	                                               : json_is_true(json_object_get(i, "lm"))
	                                                   ? SCHEDULE_INTERLEAVED_LESS_MEMORY
	                                                   : SCHEDULE_INTERLEAVED,
	                                       .devices = integer(i, "p", 0),
	                                       .micro_batches = integer(i, "mb", 0),
	                                       .chunks = chunks,
	                                       .slices = 1},
	                             .bodies = body,
	                             .body_count = 1,
	                             .head = end_of(json_object_get(i, "head")),
	                             .tail = end_of(json_object_get(i, "tail")),
	                             .memory = memory,
	                             .constant = number(i, "const", 0)};

	read_body(json_array_get(json_object_get(i, "body"), 0), body);
	for (int k = 0; k < STAGES_MAX; k++)
		memory[k] = number(i, "cap", NAN);
	return p;
}

/* The plan holds all layers, within memory at its exact peaks, and its bottleneck is the one that was told.
 */
static double checked_bottleneck(const char *id, const struct pipeline_problem *p)
{
	struct pipeline_stage plan[STAGES_MAX] = {{{0}}};
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct sb_error err = {0};
	struct pipeline_proof told = {0};
	double peak[STAGES_MAX];
	int64_t layers = 0;

	if (pipeline_least_bottleneck(p, plan, &told, &err) != SB_OK)
		fail_msg("%s: %s", id, err.text);
	for (int64_t i = 0; i < schedule_stages(&p->shape); i++) {
		int64_t here = 0;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			here += plan[i].layers[r];
		assert_true(here >= 1);
		layers += here;
	}
	assert_int_equal(layers, p->bodies[0].count);
	assert_true(told.optimal && told.value == pipeline_bottleneck(p, plan));
	assert_int_equal(pipeline_scorer_open(p, &scorer, NULL), SB_OK);
	pipeline_peaks(scorer, plan, peak);
	for (int64_t d = 0; d < p->shape.devices; d++)
		if (!(peak[d] <= p->memory[d] * (1 + 1e-9)))
			fail_msg("%s: device %lld needs %.3f of %.3f", id, (long long)d, peak[d],
			         p->memory[d]);
	return told.value;
}

/* The ILP says the same; where it stops at its limits, its bound is not above. */
static void check_ilp(const char *id, const struct pipeline_problem *problem, double told)
{
	struct pipeline_problem p = *problem;
	struct pipeline_stage plan[STAGES_MAX] = {{{0}}};
	struct pipeline_proof proof = {0};
	struct device *devices = NULL;
	struct sb_error err = {0};
	int rc;

	p.lp = &cbc_solver;
	assert_int_equal(devices_open(&p, &devices, NULL), SB_OK);
	rc = ilp_solve(&p, devices, false, 0, ILP_SECONDS, plan, &proof, &err);
	devices_free(devices, device_count(&p));
	if (rc != SB_OK)
		fail_msg("%s: %s", id, err.text);
	if (!(proof.lower_bound <= told * (1 + 1e-6) && proof.value >= told * (1 - 1e-6)) ||
	    (proof.optimal && !(fabs(proof.value - told) <= 1e-6 * told)))
		fail_msg("%s: CBC says %.6f above %.6f, and the optimum is %.6f", id, proof.value,
		         proof.lower_bound, told);
}

static void least_bottlenecks(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/f_bottleneck.json");
	const json_t *c;
	size_t i, compared = 0, solved = 0;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		const char *id = json_string_value(json_object_get(c, "id"));
		double memory[STAGES_MAX];
		struct pipeline_body body;
		struct pipeline_problem p = problem_of(json_object_get(c, "instance"), memory, &body);
		double exact = number(c, "T_exact_peak", NAN), sapp = number(c, "T_sapp_memory", NAN);
		double told = checked_bottleneck(id, &p);

		if (p.shape.devices * p.shape.chunks <= 4 && cbc_is_installed()) {
			check_ilp(id, &p, told);
			solved++;
		}
		/* without chunks SAPP's memory is the exact one */
		if (isnan(exact) && p.shape.chunks == 1)
			exact = sapp;
		if (!isnan(exact) && !(fabs(told - exact) <= 1e-9 * exact))
			fail_msg("%s: %.6f, and the optimum is %.6f", id, told, exact);
		compared += !isnan(exact);
	}
	assert_true(i >= 19 && compared >= 10);
	print_message("%zu of %zu cases were solved by CBC too\n", solved, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(least_bottlenecks),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
