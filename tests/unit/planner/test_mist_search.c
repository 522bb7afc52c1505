#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/methods/mist.h"

static struct mist_problem problem_of(const struct cost_problem *cost)
{
	return (struct mist_problem){.cost = cost, .machine = *mist_machine_of("l4-24g"), .offload = true};
}

static void open_small(struct cost_problem *c, struct mist_problem *p)
{
	struct cluster cluster = {.nodes = 1,
	                          .devices_per_node = 4,
	                          .device = {.peak_flops = 121e12,
	                                     .memory_bandwidth = 300e9,
	                                     .memory_bytes = 24000000000,
	                                     .family = FAMILY_AMPERE,
	                                     .flash_attention = true},
	                          .links = {[LINK_NODE] = {32e9, NAN, 0}},
	                          .compute_efficiency = NAN,
	                          .memory_efficiency = NAN,
	                          .link_efficiency = {NAN, NAN, NAN}};

	*c = (struct cost_problem){.model = {.layers = 32,
	                                     .hidden = 2560,
	                                     .heads = 32,
	                                     .ffn_hidden = 10240,
	                                     .vocab = 50304,
	                                     .seq_len = 2048},
	                           .cluster = cluster,
	                           .constants = constants_for(&cluster),
	                           .sequences = 64,
	                           .memory_bytes = 22000000000};
	model_defaults(&c->model);
	c->network = network_of(&c->cluster, &c->constants);
	*p = problem_of(c);
	p->attention = ATTENTION_FLASH;
	p->gradient_bytes = 2;
}

static double least(const struct mist_problem *p)
{
	MIST_PLAN_AUTO plan = {0};
	double seconds = INFINITY;
	int64_t layers = 0;
	bool fits;

	if (mist_search(p, &plan, NULL) != SB_OK)
		return INFINITY;
	seconds = plan.seconds;
	assert_true(plan.optimal);
	mist_evaluate(p, &plan, &fits);
	assert_true(fits && fabs(plan.seconds - seconds) <= 1e-9 * seconds);
	for (int64_t i = 0; i < plan.stages; i++) {
		const struct mist_stage *s = &plan.stage[i];

		layers += s->layers;
		assert_true(s->checkpointed >= 0 && s->checkpointed <= s->layers);
		assert_true(s->dp * s->tp * plan.stages == cluster_devices(&p->cost->cluster));
		assert_true(s->dp * s->micro_batch * plan.micro_batches == p->cost->sequences);
		assert_true(fabs((double)s->layers - 32.0 / (double)plan.stages) <= 2);
	}
	assert_int_equal(layers, 32);
	return seconds;
}

/* What more is allowed, or more memory, never makes the plan slower. */
static void test_more_is_never_slower(void **state)
{
	struct cost_problem cost;
	struct mist_problem p;
	double free_of_all, on_device, last = INFINITY;

	(void)state;
	open_small(&cost, &p);
	free_of_all = least(&p);
	p.offload = false;
	on_device = least(&p);
	assert_true(isfinite(on_device) && free_of_all <= on_device);
	p.offload = true;
	for (int64_t gb = 8; gb <= 24; gb += 4) {
		double now;

		cost.memory_bytes = gb * 1000000000;
		now = least(&p);
		assert_true(now <= last * (1 + 1e-12));
		last = now;
	}
	assert_true(isfinite(last));
}

/* GPT 1.3B on two L4, sequences of 2048, batch 32, no fused attention (systems 3.2, check 2): Mist
 * predicts 10.659405 s for data parallelism with all layers checkpointed, and 9.26892465 s for its best plan,
 * from its own profile of operators; measured 11.329 and 9.9345. Ours come from no profile at all: within 10
 * % of what was predicted. */
static void test_the_published_times(void **state)
{
	struct cost_problem cost;
	struct mist_problem p;
	struct mist_stage one = {.layers = 24,
	                         .checkpointed = 24,
	                         .micro_batch = 8,
	                         .dp = 2,
	                         .tp = 1,
	                         .shard = {false, false, true}};
	struct mist_stage two[2] = {
	    {.layers = 12,
	     .checkpointed = 5,
	     .micro_batch = 2,
	     .dp = 1,
	     .tp = 1,
	     .shard = {false, false, true}},
	    {.layers = 12, .micro_batch = 2, .dp = 1, .tp = 1, .shard = {false, false, true}}};
	struct mist_plan data = {.stages = 1, .micro_batches = 2, .stage = &one};
	struct mist_plan best = {.stages = 2, .micro_batches = 16, .stage = two};
	bool fits;

	(void)state;
	open_small(&cost, &p);
	cost.cluster.devices_per_node = 2;
	cost.sequences = 32;
	cost.model = (struct model){.layers = 24,
	                            .hidden = 2048,
	                            .heads = 16,
	                            .ffn_hidden = 8192,
	                            .vocab = 50304,
	                            .seq_len = 2048,
	                            .biases = true,
	                            .layer_norm = true,
	                            .learned_positions = true};
	model_defaults(&cost.model);
	cost.network = network_of(&cost.cluster, &cost.constants);
	p.attention = ATTENTION_UNFUSED;
	mist_evaluate(&p, &data, &fits);
	assert_true(fabs(data.seconds / 10.659405 - 1) < .1);
	mist_evaluate(&p, &best, &fits);
	assert_true(fits && fabs(best.seconds / 9.26892465 - 1) < .1);
}

/* Only two stages of unlike layers add up: their leanest sizes alone do not. 32 layers in 4 stages of 6 to 10
 * take 8 in the mean: the fullest of any plan holds as much as the leanest of 8 layers, or more than it on a
 * later stage. */
static bool four_stages(const void *self, const struct mist_stage *s, int64_t stages)
{
	(void)self;
	return stages == 4 && s->micro_batch == 1;
}

static void test_the_least_memory_is_that_of_whole_plans(void **state)
{
	struct cost_problem cost;
	struct mist_problem p;
	struct mist_stage s = {.layers = 8, .micro_batch = 1, .dp = 1, .tp = 1, .shard = {true, true, true}};
	double bytes, even = 0, first = INFINITY;

	(void)state;
	open_small(&cost, &p);
	p.offload = false;
	p.allowed = four_stages;
	assert_int_equal(mist_least_memory(&p, &bytes), SB_OK);
	for (int64_t i = 0; i < 4; i++) {
		struct mist_shape x = mist_shape_of(&p, 4, &s, 64);
		struct mist_layer l;

		s.shard[MIST_WEIGHTS] = s.shard[MIST_GRADIENTS] = false;
		l = mist_layer_of(&p, &x, &s);
		even = fmax(even, mist_stage_bytes(&x, &l, i, 8, 8));
		first = fmin(first, mist_stage_bytes(&x, &l, i, 6, 6));
	}
	assert_true(bytes <= even && bytes > first);
	cost.memory_bytes = (int64_t)ceil(bytes);
	assert_true(isfinite(least(&p)));
	cost.memory_bytes--;
	assert_true(isinf(least(&p)));
}

/* Best plans of other stages and micro-batches, each the best when it alone is allowed; and the frontier:
 * what is leaner is slower, and each point is the fastest within its own bytes. */
struct only {
	int64_t stages, share;
};
static bool only(const void *self, const struct mist_stage *s, int64_t stages)
{
	const struct only *o = self;

	return stages == o->stages && s->dp * s->micro_batch == o->share;
}

static void test_alternatives_and_frontier(void **state)
{
	struct cost_problem cost;
	struct mist_problem p;
	MIST_PLAN_AUTO best = {0};
	struct mist_plan plans[4] = {0};
	int count;

	(void)state;
	open_small(&cost, &p);
	assert_int_equal(mist_search(&p, &best, NULL), SB_OK);
	assert_int_equal(mist_alternatives(&p, &best, 2, 4, plans, &count), SB_OK);
	assert_int_equal(count, 4);
	for (int i = 0; i < count; i++) {
		struct only alone = {plans[i].stages, cost.sequences / plans[i].micro_batches};

		assert_true(plans[i].seconds >= (i > 0 ? plans[i - 1].seconds : best.seconds));
		assert_true(plans[i].stages != best.stages || plans[i].micro_batches != best.micro_batches);
		p.allowed = only;
		p.self = &alone;
		assert_true(fabs(least(&p) - plans[i].seconds) <= 1e-9 * plans[i].seconds);
		mist_plan_free(&plans[i]);
	}
	p.allowed = NULL;
	assert_int_equal(mist_frontier(&p, &best, 2, 4, plans, &count), SB_OK);
	assert_true(count >= 2);
	for (int i = 0; i < count; i++) {
		const struct mist_plan *before = i > 0 ? &plans[i - 1] : &best;

		assert_true(plans[i].seconds >= before->seconds);
		assert_true(mist_fullest(&plans[i]) < mist_fullest(before));
		cost.memory_bytes = (int64_t)ceil(mist_fullest(&plans[i]));
		assert_true(fabs(least(&p) - plans[i].seconds) <= 1e-9 * plans[i].seconds);
	}
	for (int i = 0; i < count; i++)
		mist_plan_free(&plans[i]);
}

static bool none(const void *self, const struct mist_stage *s, int64_t stages)
{
	(void)self;
	(void)s;
	(void)stages;
	return false;
}

static void test_nothing_fits_or_nothing_is_allowed(void **state)
{
	struct cost_problem cost;
	struct mist_problem p;
	struct sb_error err = {0};
	MIST_PLAN_AUTO plan = {0};

	(void)state;
	open_small(&cost, &p);
	cost.memory_bytes = 100000000;
	assert_int_equal(mist_search(&p, &plan, &err), SB_EINFEASIBLE);
	assert_true(isfinite(plan.least_memory) && plan.least_memory > 1e8);
	/* with as much as it asked for it fits, with a byte less it does not */
	cost.memory_bytes = (int64_t)ceil(plan.least_memory);
	assert_true(isfinite(least(&p)));
	cost.memory_bytes--;
	assert_true(isinf(least(&p)));
	p.allowed = none;
	assert_int_equal(mist_search(&p, &plan, &err), SB_EIMPOSSIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_more_is_never_slower),
	    cmocka_unit_test(test_the_least_memory_is_that_of_whole_plans),
	    cmocka_unit_test(test_alternatives_and_frontier),
	    cmocka_unit_test(test_the_published_times),
	    cmocka_unit_test(test_nothing_fits_or_nothing_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
