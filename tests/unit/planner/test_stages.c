#include "planner/strategy/stages.h"

#include <math.h>

#include "tests/unit/planner/small_problems.h"

#define STAGES 4

/* Four stages of an even or uneven cut of 12 layers on 8 devices, two a stage. */
static void open_pipeline(struct cost_problem *p, int64_t tp, struct strategy *s)
{
	struct search_request r = random_problem(3);

	*p = r.problem;
	p->model = (struct model){
	    .layers = 12, .hidden = 1024, .heads = 16, .ffn_hidden = 4096, .vocab = 32000, .seq_len = 1024};
	model_defaults(&p->model);
	p->cluster.nodes = 1;
	p->cluster.devices_per_node = 8;
	p->sequences = 32;
	p->constants = constants_for(&p->cluster);
	p->network = network_of(&p->cluster, &p->constants);
	*s = strategy_default(&p->model, &p->cluster);
	s->tp = tp;
	s->dp = 2 / tp;
	s->pp = STAGES;
	s->micro_batch = tp;
	s->zero = 1;
}

static void runs_of(const int64_t *layers, struct stage_run *run)
{
	int64_t start = 0;

	for (int64_t i = 0; i < STAGES; i++) {
		run[i] = (struct stage_run){.first = i, .count = 1, .start = start};
		run[i].layers[LAYER_DENSE] = layers[i];
		start += layers[i];
	}
}

/* Stages that are alike are a strategy: both costs say the same. */
static void test_alike_stages_are_a_strategy(void **state)
{
	static const int64_t cuts[][STAGES] = {{3, 3, 3, 3}, {4, 4, 3, 1}, {1, 2, 4, 5}};

	(void)state;
	for (int n = 0; n < 6; n++) {
		struct strategy s, each[STAGES];
		struct stage_run run[STAGES];
		struct memory_parts memory[STAGES];
		struct strategy_cost whole;
		struct stages_cost parts;
		struct cost_problem p;

		open_pipeline(&p, 1 + n / 3, &s);
		for (int i = 0; i < STAGES; i++)
			each[i] = s;
		runs_of(cuts[n % 3], run);
		s.slice_layers = cuts[n % 3];
		assert_int_equal(strategy_fit(&p.model, &p.cluster, &s, p.sequences), FIT_OK);
		assert_int_equal(strategy_cost(&p, &s, &whole, NULL), SB_OK);
		assert_int_equal(stages_cost(&p, each, run, memory, &parts, NULL), SB_OK);
		assert_true(fabs(parts.step_seconds / whole.step_seconds - 1) < 1e-12);
		assert_int_equal(parts.fullest_stage, whole.fullest_stage);
		assert_int_equal(memory_bytes_of(&memory[parts.fullest_stage]),
		                 memory_bytes_of(&whole.memory));
		assert_true(parts.simulated && whole.simulated);
	}
}

/* One micro-batch goes forward through all stages and back: stage i has finished after all forward passes and
 * the backward passes from the last stage to it; what it exchanges comes behind, the slowest optimizer last.
 */
static void test_mixed_stages_of_one_micro_batch(void **state)
{
	static const int64_t even[STAGES] = {3, 3, 3, 3};
	double forward = 0, backward[STAGES], exchange[STAGES], optimizer = 0, passes = 0, back = 0;
	struct memory_parts memory[STAGES], own[STAGES];
	struct strategy mixed[STAGES];
	struct stage_run run[STAGES];
	struct stages_cost cost;
	struct cost_problem p;

	(void)state;
	runs_of(even, run);
	for (int i = 0; i < STAGES; i++) {
		struct layer_costs l;
		struct stage_time t;
		struct groups g;

		open_pipeline(&p, 1 + i % 2, &mixed[i]);
		p.sequences = 2;
		g = groups_of(&p.network, &mixed[i]);
		l = layer_costs_of(&p, &mixed[i], &g);
		t = stage_seconds(&p, &l, &mixed[i], &g, &run[i]);
		forward +=
		    t.forward + (i == 0 ? l.embedding.forward : 0) + (i == STAGES - 1 ? l.head.forward : 0);
		backward[i] = t.backward + (i == 0 ? l.embedding.backward : 0) +
		              (i == STAGES - 1 ? l.head.backward : 0);
		exchange[i] = t.exchange;
		optimizer = fmax(optimizer, t.optimizer);
		own[i] = stage_memory(&p, &l.memory, &mixed[i], &run[i], 1);
	}
	for (int i = STAGES - 1; i >= 0; i--) {
		back += backward[i];
		passes = fmax(passes, forward + back + exchange[i]);
	}
	assert_int_equal(stages_cost(&p, mixed, run, memory, &cost, NULL), SB_OK);
	assert_true(fabs(cost.step_seconds / cost_outside(&p, &mixed[0], passes + optimizer) - 1) < 1e-12);
	for (int i = 0; i < STAGES; i++)
		assert_int_equal(memory_bytes_of(&memory[i]), memory_bytes_of(&own[i]));
	assert_true(memory_bytes_of(&own[0]) != memory_bytes_of(&own[1])); /* or nothing is mixed */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_alike_stages_are_a_strategy),
	    cmocka_unit_test(test_mixed_stages_of_one_micro_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
