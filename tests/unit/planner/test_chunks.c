/* Pipelines whose chunks differ: where they are cut, what each stage stores, what a step takes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/schedule/schedule.h"
#include "tests/unit/planner/costed.h"

#define MOST_STAGES 6
#define MOST_SLICES 24

static uint64_t seed = 5;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* Slice j * pp + i is chunk j of stage i. Llama 3 405B (Dubey et al. 2024, section 3.3.2): 126 layers on 16
 * stages, the first and the last chunk one layer less than the others. */
static void test_llama_405b(void **state)
{
	struct strategy s = {.pp = 16};

	(void)state;
	for (s.vpp = 4; s.vpp <= 8; s.vpp *= 2) {
		int64_t slices = s.pp * s.vpp;

		assert_true(strategy_slices_fit(s.pp, s.vpp, 126));
		for (int64_t i = 0; i < slices; i++)
			assert_int_equal(strategy_slice_layers(&s, 126, i),
			                 128 / slices - (i == 0 || i == slices - 1));
		for (int64_t i = 0; i < s.pp; i++)
			assert_int_equal(strategy_stage_layers(&s, 126, i), i == 0 || i == 15 ? 7 : 8);
	}
	assert_false(strategy_slices_fit(16, 9, 126));
	assert_false(strategy_slices_fit(127, 1, 126));
}

/* 10 layers in 4 slices, the last one 2 short of an equal share of 2: 0; the other 10 go 3, 3, 4. */
static void test_a_shorter_last_chunk(void **state)
{
	const struct strategy s = {.pp = 2, .vpp = 2, .last_fewer = 2};
	const int64_t layers[] = {3, 3, 4, 0};

	(void)state;
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(strategy_slice_layers(&s, 10, i), layers[i]);
	assert_int_equal(strategy_stage_layers(&s, 10, 0), 7);
}

/* A stage of chunks of 2 and 3 layers recomputes one or two of each, or all: 2, 4 or 5. */
static void test_recomputed_layers_of_each_chunk(void **state)
{
	const int64_t layers[] = {2, 1, 3, 1}, each[] = {0, -1, 1, -1, 2, 3, -1};
	const struct strategy s = {.pp = 2, .vpp = 2, .slice_layers = layers};

	(void)state;
	for (int64_t n = 0; n <= 6; n++)
		assert_int_equal(strategy_recompute_each(&s, 7, 0, n), each[n]);
	assert_int_equal(strategy_recompute_each(&s, 7, 0, -1), -1);
}

/* Embedding and head may stand alone in the first and the last chunk; a chunk between them that has no layers
 * deadlocked in Megatron (research page peers: issue 1852). */
static void test_chunks_between_the_ends_have_layers(void **state)
{
	const int64_t ends[] = {0, 2, 2, 0}, between[] = {1, 0, 2, 1}, later[] = {2, 1, 0, 1};
	struct cost_problem p = problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 1, 16);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	p.model.layers = 4;
	s.pp = s.vpp = 2;
	s.slice_layers = ends;
	assert_int_equal(strategy_fit(&p.model, &p.cluster, &s, p.sequences), FIT_OK);
	s.slice_layers = between;
	assert_int_equal(strategy_fit(&p.model, &p.cluster, &s, p.sequences), MISFIT_STAGES);
	s.slice_layers = later;
	assert_int_equal(strategy_fit(&p.model, &p.cluster, &s, p.sequences), MISFIT_STAGES);
}

/* Random slices, at times of two kinds of layers and partly recomputed. */
static struct strategy random_cut(struct cost_problem *p, int64_t *slices, int64_t *recomputed)
{
	struct strategy s = strategy_default(&p->model, &p->cluster);

	s.pp = pick(2, MOST_STAGES);
	s.vpp = pick(2, MOST_SLICES / s.pp);
	p->model.layers = 0;
	for (int64_t i = 0; i < s.pp * s.vpp; i++)
		p->model.layers += slices[i] = pick(i > 0 && i < s.pp * s.vpp - 1, 3);
	p->model.has_moe = pick(0, 1);
	p->model.moe.first_dense = pick(0, p->model.layers - 1);
	p->sequences = s.pp * pick(1, 7);
	s.slice_layers = slices;
	s.recompute = (enum recompute)(pick(0, 1) * RECOMPUTE_FULL);
	for (int64_t i = 0; i < s.pp; i++) {
		recomputed[i] = 0;
		for (int64_t j = 0, each = pick(0, 2); j < s.vpp; j++)
			recomputed[i] += slices[j * s.pp + i] < each ? slices[j * s.pp + i] : each;
	}
	if (s.recompute == RECOMPUTE_FULL)
		s.stage_recompute = recomputed;
	assert_int_equal(strategy_fit(&p->model, &p->cluster, &s, p->sequences), FIT_OK);
	return s;
}

static struct cost_problem problem_of_two_kinds(void)
{
	struct cost_problem p = problem_on(model_preset("mixtral-8x7b")->model, "dgx-h100", 8, 8);

	return p;
}

/* What a slice stores or takes, layer by layer: those that recompute come first. */
static double of_slice(const struct cost_problem *p, const struct strategy *s, int64_t slice,
                       const double first[LAYER_KINDS], const double rest[LAYER_KINDS])
{
	int64_t start = 0, stage = slice % s->pp, each = MOST_SLICES;
	double sum = 0;

	for (int64_t i = 0; i < slice; i++)
		start += s->slice_layers[i];
	if (s->stage_recompute)
		each = strategy_recompute_each(s, p->model.layers, stage, s->stage_recompute[stage]);
	for (int64_t n = 0; n < s->slice_layers[slice]; n++)
		sum += (n < each ? first : rest)[model_layer_kind(&p->model, start + n)];
	return sum;
}

static const struct stage_run *run_of(const struct stage_run *runs, int64_t stage)
{
	while (stage >= runs->first + runs->count)
		runs++;
	return runs;
}

static void same(double a, double b)
{
	if (fabs(a - b) > 1e-9 * fabs(b))
		fail_msg("%.17g, expected %.17g", a, b);
}

/* The activations of every stage are the peak of its list of passes, chunk by chunk. */
static void test_stored_is_the_peak_of_the_schedule(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		int64_t slices[MOST_SLICES], recomputed[MOST_STAGES], m;
		struct cost_problem p = problem_of_two_kinds();
		struct strategy s = random_cut(&p, slices, recomputed);
		const struct memory_model memory = memory_model_of(&p, &s);
		const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, s.pp, p.sequences, s.vpp, 1};
		SCHEDULE_PROGRAM_AUTO program = {0};
		struct stage_run runs[MOST_STAGES];
		double stored[MOST_SLICES], peak[MOST_STAGES];

		m = strategy_micro_batches(&s, p.sequences);
		for (int64_t k = 0; k < s.pp * s.vpp; k++)
			stored[k] = of_slice(&p, &s, k, memory.stored, memory.kept_stored);
		assert_int_equal(schedule_program_build(&shape, &program, NULL), SB_OK);
		schedule_peaks(&program, stored, peak);
		strategy_runs(&p.model, &s, runs);
		for (int64_t d = 0; d < s.pp; d++) {
			struct stage_run one = *run_of(runs, d);

			one.first = d;
			same(stage_memory(&p, &memory, &s, &one, m).activations, peak[d]);
		}
	}
}

/* A step is the simulation of every chunk's own passes, its sends, and the ends on the first and last. */
static void test_step_is_the_simulation_of_its_chunks(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		int64_t slices[MOST_SLICES], recomputed[MOST_STAGES], last;
		struct cost_problem p = problem_of_two_kinds();
		struct strategy s = random_cut(&p, slices, recomputed);
		const struct groups g = groups_of(&p.network, &s);
		const struct layer_costs l = layer_costs_of(&p, &s, &g);
		const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, s.pp, p.sequences, s.vpp, 1};
		double first[2][LAYER_KINDS], rest[2][LAYER_KINDS], pass[2][MOST_SLICES], end[MOST_STAGES];
		double passes = 0, optimizer = 0;
		struct stage_run runs[MOST_STAGES];

		for (int k = 0; k < LAYER_KINDS; k++) {
			first[0][k] = rest[0][k] = l.layer[k].forward;
			first[1][k] = l.layer[k].backward;
			rest[1][k] = l.kept[k].backward;
		}
		for (int64_t k = 0; k < s.pp * s.vpp; k++) {
			for (int way = 0; way < 2; way++)
				pass[way][k] = of_slice(&p, &s, k, first[way], rest[way]) + l.send;
		}
		last = s.pp * s.vpp - 1;
		pass[0][0] += l.embedding.forward;
		pass[1][0] += l.embedding.backward;
		pass[0][last] += l.head.forward;
		pass[1][last] += l.head.backward;
		assert_int_equal(schedule_ends(&shape, pass[0], pass[1], end, NULL), SB_OK);
		strategy_runs(&p.model, &s, runs);
		for (int64_t d = 0; d < s.pp; d++) {
			struct stage_time t = stage_seconds(&p, &l, &s, &g, run_of(runs, d));

			passes = fmax(passes, end[d] + t.exchange);
			optimizer = fmax(optimizer, t.optimizer);
		}
		same(cost_of(&p, &s).step_seconds, cost_outside(&p, &s, passes + optimizer));
	}
}

/* The bound and the upper bound, for chunks of any length. */
static void test_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		int64_t slices[MOST_SLICES], recomputed[MOST_STAGES], count;
		struct cost_problem p = problem_of_two_kinds();
		struct strategy s = random_cut(&p, slices, recomputed);
		const struct groups g = groups_of(&p.network, &s);
		const struct layer_costs l = layer_costs_of(&p, &s, &g);
		double step = cost_of(&p, &s).step_seconds;
		struct stage_run runs[MOST_STAGES];

		count = strategy_runs(&p.model, &s, runs);
		assert_true(bound_seconds(&p, &l, &s, &g, runs, count, p.sequences) <= step * (1 + 1e-12));
		assert_true(upper_seconds(&p, &l, &s, &g, runs, count, p.sequences) >= step * (1 - 1e-12));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_llama_405b),
	    cmocka_unit_test(test_a_shorter_last_chunk),
	    cmocka_unit_test(test_recomputed_layers_of_each_chunk),
	    cmocka_unit_test(test_chunks_between_the_ends_have_layers),
	    cmocka_unit_test(test_stored_is_the_peak_of_the_schedule),
	    cmocka_unit_test(test_step_is_the_simulation_of_its_chunks),
	    cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
