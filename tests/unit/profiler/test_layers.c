/* Layers found by repetition: their number and their times. */
#include "tests/unit/profiler/made_layers.h"

static void layers_by_repetition(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	for (int64_t rank = 0; rank < 2; rank++) {
		struct job j = start(&p, rank);

		for (int64_t step = 1; step <= 3; step++) {
			int64_t from = j.now;

			micro_batch(&j, 12, 0);
			micro_batch(&j, 12, 0);
			optimize(&j);
			end_step(&j, step, from);
		}
	}
	find(&p, &l);
	assert_null(l.reason);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 12, DENSE_US, DENSE_BACK_US);
	assert_int_equal(l.rows[0].operators, 7);
	assert_true(isnan(l.rows[0].activation_bytes));
	assert_us(l.head.forward, 35);
	assert_us(l.head.backward, 50);
	assert_us(l.tail.forward, 85);
	assert_us(l.tail.backward, 135);
	assert_int_equal(l.micro_batches, 2);
	assert_int_equal(l.source, LAYERS_BY_REPETITION);
	assert_int_equal(l.confidence, 1);
	assert_int_equal(l.stage_count, 1);
	assert_int_equal(l.stages[0].ranks, 2);
	assert_us(l.stages[0].forward, 35 + 12 * DENSE_US + 85);
	assert_int_equal(l.warnings, LAYERS_NO_ACTIVATION | LAYERS_NO_PARAMETERS);
}

/* A slow repetition moves no median. */
static void types_in_the_order_of_the_model(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	micro_batch(&j, 3, 9);
	end_step(&j, 1, 0);
	for (size_t i = 0; i < j.c->trace.count; i++)
		if (j.c->trace.dur_ns[i] == 120000) {
			j.c->trace.dur_ns[i] += 900000; /* the first grouped product */
			break;
		}
	find(&p, &l);
	assert_int_equal(l.count, 2);
	assert_row(&l, 0, "layer", 3, DENSE_US, DENSE_BACK_US);
	assert_true(l.rows[1].count == 9);
	assert_string_equal(sb_strings_get(l.texts, l.rows[1].name, NULL), "layer 2");
	assert_int_equal(l.micro_batches, 1);
	assert_us(l.rows[1].backward, MIXED_BACK_US);
}

/* Local and global attention by turns: a row is a pair, since no cut may part a repetition. */
static void types_that_alternate_are_one_row(void **state)
{
	static const struct work local[] = {
	    ATTENTION, {"up_product", 40}, {"gelu", 10}, {"down_product", 40}};
	static const struct work global[] = {{"norm", 10},        {"qkv_product", 40}, {"wide_attention", 50},
	                                     {"out_product", 20}, {"up_product", 40},  {"gelu", 10},
	                                     {"down_product", 40}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	run(&j, WORKS(HEAD));
	for (int i = 0; i < 8; i++) {
		run(&j, WORKS(local));
		run(&j, WORKS(global));
	}
	run(&j, WORKS(TAIL));
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_string_equal(sb_strings_get(l.texts, l.rows[0].name, NULL), "2 layers");
	assert_int_equal(l.rows[0].count, 8);
	assert_int_equal(l.rows[0].each, 2);
	assert_int_equal(l.stages[0].layers, 16);
	assert_us(l.rows[0].forward, 190 + 210);
	assert_true(warns(&l, LAYERS_ALTERNATE) && warns(&l, LAYERS_NO_BACKWARD));
	assert_true(isnan(l.rows[0].backward));
	assert_int_equal(l.confidence, 0);
}

static void no_layers(void **state)
{
	static const struct work once[] = {{"a", 10}, {"b", 20}, {"c", 30}, {"d", 40}, {"e", 50}, {"f", 60},
	                                   {"a", 10}, {"d", 20}, {"g", 30}, {"h", 40}, {"i", 50}, {"k", 60}};
	PROFILE_AUTO p = {0}, empty = {0};
	PROFILE_LAYERS_AUTO l = {0}, nothing = {0};
	struct job j = start(&p, 0);

	(void)state;
	run(&j, WORKS(once));
	find(&p, &l);
	assert_non_null(l.reason);
	assert_int_equal(l.count, 0);
	assert_int_equal(l.source, LAYERS_NONE);
	assert_true(isnan(l.head.forward) && l.micro_batches == SB_NULL);
	find(&empty, &nothing);
	assert_non_null(nothing.reason);
}

/* A capture without steps that repeats from its first operator to its last is of several iterations. */
static void iterations_are_no_layers(void **state)
{
	static const struct work network[] = {
	    {"convolution", 90}, {"relu", 5}, {"pool", 10}, {"product", 50}, {"softmax", 5}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	for (int i = 0; i < 5; i++)
		run(&j, WORKS(network));
	find(&p, &l);
	assert_non_null(l.reason);
}

static void ranks_that_differ_are_told(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	for (int64_t rank = 0; rank < 2; rank++) {
		struct job j = start(&p, rank);

		micro_batch(&j, rank == 0 ? 6 : 8, 0);
		end_step(&j, 1, 0);
	}
	find(&p, &l);
	assert_int_equal(l.rows[0].count, 6);
	assert_true(warns(&l, LAYERS_RANKS_DIFFER));
	assert_int_equal(l.confidence, 0);
}

static uint64_t seed = 17;

static int64_t pick(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* Kernels, collectives, exchanges, spans of modules and of autograd in any order and at any time. */
static void add_anything(struct capture *c, const uint32_t lanes[4], int64_t n)
{
	static const char *const kernels[] = {"a",
	                                      "b",
	                                      "c_grad",
	                                      "d",
	                                      "Default/layers-CellList/1-B/Mul-op1",
	                                      "Gradients/Default/layers-CellList/2-B/Mul-op2"};
	static const char *const links[] = {"hcom_send__1_0", "ncclDevKernel_AllReduce_Sum",
	                                    "hcom_allGather_"};
	static const char *const hosts[] = {
	    "nn.Module: Block_1",  "nn.Module: Block_2",
	    "nn.Module: Linear_3", "autograd::engine::evaluate_function: MulBackward0",
	    "aten::mul",           "Optimizer.step#SGD.step"};

	for (int64_t i = 0; i < n; i++) {
		int64_t at = pick(100000), dur = pick(3000), what = pick(10);

		if (what < 5)
			add_event(c, lanes[2], EVENT_KERNEL, kernels[pick(6)], at, dur, pick(40));
		else if (what == 5)
			add_event(c, lanes[3], EVENT_COMMUNICATION, links[pick(3)], at, dur, pick(40));
		else if (what < 8)
			add_event(c, lanes[pick(2)], EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 10,
			          pick(40));
		else
			add_event(c, lanes[pick(2)], pick(2) ? EVENT_HOST_OP : EVENT_HOST_PYTHON,
			          hosts[pick(6)], at, 10 * dur, -1);
	}
}

static void random_captures(void **state)
{
	(void)state;
	for (int round = 0; round < 400; round++) {
		PROFILE_AUTO p = {0};
		PROFILE_LAYERS_AUTO l = {0};

		for (int64_t rank = 0; rank < 1 + round % 3; rank++) {
			struct capture *c = make_capture(&p, FORMAT_KINETO, rank);
			const uint32_t lanes[] = {add_lane(c, "python", "1", -1),
			                          add_lane(c, "python", "2", -1),
			                          add_lane(c, "GPU 0", "7", 0), add_lane(c, "GPU 0", "9", 0)};

			for (int64_t step = 0; step < round % 4; step++)
				add_step(c, step, step * 30000, 30000);
			add_anything(c, lanes, pick(400));
		}
		find(&p, &l);
		assert_true((l.count > 0) == (l.reason == NULL));
		for (size_t i = 0; i < l.count; i++)
			assert_true(l.rows[i].count >= 1 && l.rows[i].forward >= 0 &&
			            l.rows[i].forward < 1e-4);
	}
}

/* Times beyond all bounds, and one operator over and over. */
static void hostile_times(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t lane = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	for (int64_t i = 0; i < 5000; i++)
		add_event(c, lane, EVENT_KERNEL, "k", i % 2 ? INT64_MAX - i : INT64_MIN + i, INT64_MAX,
		          i % 7);
	add_step(c, 1, INT64_MIN + 1, INT64_MAX);
	find(&p, &l);
	assert_int_equal(l.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(layers_by_repetition),
	    cmocka_unit_test(types_in_the_order_of_the_model),
	    cmocka_unit_test(types_that_alternate_are_one_row),
	    cmocka_unit_test(no_layers),
	    cmocka_unit_test(iterations_are_no_layers),
	    cmocka_unit_test(ranks_that_differ_are_told),
	    cmocka_unit_test(hostile_times),
	    cmocka_unit_test(random_captures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
