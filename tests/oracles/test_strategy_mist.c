/* oracles/strategy/vectors.json, stage_milp: Mist's choice between stages, by brute force. */
#include "tests/oracles/oracle.h"

#include <math.h>

#include "api/json.h"
#include "planner/methods/stage_program.h"

#define STAGES_MAX 8
#define LAYERS_MAX 16
#define OPTIONS_MAX 8

struct program {
	struct stage_program p;
	struct stage_option options[STAGES_MAX][LAYERS_MAX][OPTIONS_MAX];
	struct stage_options choices[STAGES_MAX][LAYERS_MAX];
	const struct stage_options *lists[STAGES_MAX];
	int64_t sizes[STAGES_MAX];
};

static void read_program(const json_t *c, struct program *x)
{
	const json_t *stages = json_object_get(c, "options_t_D"), *stage, *size, *option;
	size_t i, n, k;

	*x = (struct program){.p = {.stages = integer(c, "stages", 0),
	                            .layers = integer(c, "layers", 0),
	                            .micro_batches = integer(c, "micro_batches", 0),
	                            .choices = x->lists,
	                            .sizes = x->sizes}};
	assert_true(x->p.stages <= STAGES_MAX && x->p.layers <= LAYERS_MAX);
	json_array_foreach(stages, i, stage)
	{
		x->lists[i] = x->choices[i];
		x->sizes[i] = (int64_t)json_array_size(stage);
		json_array_foreach(stage, n, size)
		{
			assert_true(json_array_size(size) <= OPTIONS_MAX);
			x->choices[i][n] = (struct stage_options){
			    (int64_t)n + 1, (int64_t)json_array_size(size), x->options[i][n]};
			json_array_foreach(size, k, option) x->options[i][n][k] =
			    (struct stage_option){json_number_value(json_array_get(option, 0)),
			                          json_number_value(json_array_get(option, 1))};
		}
	}
}

static void stage_programs(void **state)
{
	JSON_AUTO all = load("oracles/strategy/vectors.json");
	static struct program x;
	const json_t *c;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(json_object_get(all, "stage_milp"), "cases"), i, c)
	{
		const json_t *layers = json_object_get(c, "layers_per_stage"),
		             *options = json_object_get(c, "option_per_stage");
		double want = json_number_value(json_object_get(c, "objective"));
		struct stage_choice ours[STAGES_MAX], theirs[STAGES_MAX];
		struct stage_result out;
		int64_t sum = 0;

		read_program(c, &x);
		assert_int_equal(stage_program_solve(&x.p, 0, INFINITY, ours, &out, NULL), SB_OK);
		assert_true(out.feasible && out.optimal);
		for (int64_t s = 0; s < x.p.stages; s++) {
			theirs[s] =
			    (struct stage_choice){json_integer_value(json_array_get(layers, (size_t)s)) - 1,
			                          json_integer_value(json_array_get(options, (size_t)s))};
			sum += x.choices[s][ours[s].size].layers;
		}
		assert_int_equal(sum, x.p.layers);
		assert_true(fabs(stage_program_seconds(&x.p, theirs) - want) < 1e-9);
		if (fabs(out.seconds - want) > 1e-9 || fabs(stage_program_seconds(&x.p, ours) - want) > 1e-9)
			fail_msg("case %zu: %g, and the optimum is %g", i, out.seconds, want);
	}
	assert_int_equal(i, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stage_programs),
	};

	return cmocka_run_group_tests_name("Mist", tests, NULL, NULL);
}
