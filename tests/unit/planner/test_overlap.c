/* What stacks run under compute (cost-model section 9), by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/cost/overlap.h"
#include "tests/unit/planner/costed.h"

static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* Eight layers, all with experts, so that no two differ. */
static struct cost_problem with_experts(int64_t sequences)
{
	struct model m = {.layers = 8,
	                  .hidden = 4096,
	                  .heads = 32,
	                  .ffn_hidden = 4096,
	                  .vocab = 32000,
	                  .seq_len = 4096,
	                  .gated_ffn = true,
	                  .has_moe = true,
	                  .moe = {.experts = 16, .top_k = 2, .ffn_hidden = 4096}};

	return problem_on(m, "dgx-h100", 2, sequences);
}

static struct strategy spread(const struct cost_problem *p, int64_t pp, int64_t vpp)
{
	struct strategy s = strategy_default(&p->model, &p->cluster);

	s.dp = 16 / pp;
	s.ep = 16 / pp;
	s.pp = pp;
	s.vpp = vpp;
	return s;
}

/* Of 3 s in 4 pieces under a product of 2 s the first piece has nothing to hide under; of 9/4 s then 3/2 s
 * run together: C/q + max(0, C(q-1)/q - A(q-1)/q) = 3/4 + 3/4, and kappa - 1 of 3/2. */
static void test_pieces(void **state)
{
	struct constants k = with_experts(16).constants;

	(void)state;
	near(overlap_pieces(3, 2, 4), 1.5);
	near(3 - overlap_won(&k, overlap_pieces(3, 2, 4)), 0.75 + 0.75 + (k.overlap_slowdown - 1) * 1.5);
	near(2 - overlap_won(&k, overlap_pieces(2, 100, 8)), 0.25 + (k.overlap_slowdown - 1) * 1.75);
	assert_true(overlap_pieces(3, 2, 1) == 0);
	k.overlap_slowdown = 2.5; /* slower together than one after the other: no stack does that */
	assert_true(overlap_won(&k, 1) == 0);
}

/* One replica, four tensor ranks, a network of 100 MB/s behind products that take no time but what their
 * launch takes, so that all products of one block take 1 s each but up and gate, 2 s. One gather of y = 2 x
 * 4096 x 4096 bytes takes 3/4 y / 1e8 = 0.2516 s. */
static void test_tensor_ranks(void **state)
{
	struct cost_problem p = with_experts(1);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double gather = 0.75 * 2 * 4096 * 4096 / 1e8, k, plain, won;
	struct groups g;

	(void)state;
	p.model.has_moe = false;
	p.cluster.device.peak_flops = p.cluster.device.memory_bandwidth = INFINITY;
	p.constants.launch_seconds = 1;
	p.network = (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1e8}};
	k = p.constants.overlap_slowdown;
	s.tp = 4;
	s.sequence_parallel = true;
	g = groups_of(&p.network, &s);
	plain = layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_TENSOR];
	/* four exchanges a pass, and two again under the products */
	near(plain, 8 * gather + (k - 1) * 2 * gather);
	s.overlap_tensor = true;
	/* every gather is shorter than its product: 3/4 of each is hidden, gathers in 4 pieces, scatters in 4
	 */
	won = (2 - k) * 8 * 0.75 * gather;
	near(layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_TENSOR], plain - won);
	near(layer_seconds(&p, &s, &g, LAYER_DENSE).forward, 5 + 4 * gather - (2 - k) * 4 * 0.75 * gather);
	/* products of 0.1 s: what feeds or drains one hides 3/4 of them, up and gate 0.2 s; in the passes
	 * qkv 2 (gather, scatter), out 2 (scatter, gather), down 2, up and gate 2 */
	p.constants.launch_seconds = 0.1;
	plain = layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_TENSOR];
	s.overlap_tensor = false;
	/* again: 2 gathers under 0.5 s of products, of which out and down hide 2 x 0.075 s already */
	won = (2 - k) * (0.75 * (2 * 0.1 + 2 * 0.1 + 2 * 0.1 + 2 * 0.2)) -
	      (2 - k) * (0.5 - fmin(2 * gather, 0.5 - 2 * 0.075));
	near(layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_TENSOR] - plain, won);
	/* without sequence parallelism there is nothing to cut in pieces */
	s.sequence_parallel = false;
	plain = layer_seconds(&p, &s, &g, LAYER_DENSE).forward;
	s.overlap_tensor = true;
	near(layer_seconds(&p, &s, &g, LAYER_DENSE).forward, plain);
}

/* Without a pipeline the first forward and the last backward pass run alone: of m micro-batches m - 1 pairs
 * win (2 - kappa) min(exchange, compute) in each of the layers. */
static void test_pairs_of_micro_batches(void **state)
{
	struct cost_problem p = with_experts(64);
	struct strategy s = spread(&p, 1, 1);
	struct groups g = groups_of(&p.network, &s);
	struct layer_time l = layer_seconds(&p, &s, &g, LAYER_MOE);
	double pair = (2 - p.constants.overlap_slowdown) * fmin(l.parts[PART_EXPERT], l.parts[PART_COMPUTE]);
	double outside = 1 + p.constants.straggler; /* of 16 devices */
	struct strategy_cost plain = cost_of(&p, &s), paired;

	(void)state;
	s.overlap_expert = true;
	paired = cost_of(&p, &s);
	near(plain.step_seconds - paired.step_seconds, outside * (4 - 1) * 8 * pair);
	near(plain.breakdown.expert_parallel - paired.breakdown.expert_parallel, 3 * 8 * pair);
	near(paired.breakdown.compute, plain.breakdown.compute);
	/* two micro-batches' activations instead of one */
	near(paired.memory.activations, 2 * plain.memory.activations);
	s.micro_batch = 4; /* one micro-batch has no partner, and no other is in flight */
	paired = cost_of(&p, &s);
	s.overlap_expert = false;
	plain = cost_of(&p, &s);
	near(paired.step_seconds, plain.step_seconds);
	near(paired.memory.activations, plain.memory.activations);
}

/* Equal stages and ends that weigh nothing: T = m t + (p - 1) t / v (section 10), t shorter by what a pair
 * wins, and p v of the chunks' passes each way alone. */
static void test_pairs_in_an_interleaved_pipeline(void **state)
{
	struct cost_problem p = with_experts(64);
	struct strategy s = spread(&p, 4, 2);
	struct groups g = groups_of(&p.network, &s);
	struct layer_time l;
	double pair, outside = 1 + p.constants.straggler, chunks;
	struct strategy_cost plain, paired;

	(void)state;
	p.model.vocab = 1;
	p.constants.launch_seconds = p.constants.gemm_half_flop = 0;
	p.network.start = 0;
	l = layer_seconds(&p, &s, &g, LAYER_MOE);
	pair = 2 * (2 - p.constants.overlap_slowdown) * fmin(l.parts[PART_EXPERT], l.parts[PART_COMPUTE]);
	plain = cost_of(&p, &s);
	s.overlap_expert = true;
	paired = cost_of(&p, &s);
	/* 16 micro-batches of two layers; (16 - 4) + 3 / 2 of the pairs win */
	if (fabs((plain.step_seconds - paired.step_seconds) / (outside * (16 - 4 + 1.5) * pair) - 1) > 0.01)
		fail_msg("won %.6g", plain.step_seconds - paired.step_seconds);
	/* Megatron's chunks in flight on the first stage: 2 (p - 1) + (v - 1) p + 1 = 11, and one more */
	chunks = plain.memory.activations / 11;
	near(paired.memory.activations, 12 * chunks);
}

/* Plain 1F1B has no partner for anyone, nor has a stack whose windows are ZeRO-3's. */
static void test_no_partner(void **state)
{
	struct cost_problem p = with_experts(64);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct strategy s = spread(&p, i == 0 ? 4 : 1, 1);
		struct strategy_cost plain;

		s.zero = i == 0 ? 1 : 3;
		plain = cost_of(&p, &s);
		s.overlap_expert = true;
		near(cost_of(&p, &s).step_seconds, plain.step_seconds);
		near(cost_of(&p, &s).breakdown.expert_parallel, plain.breakdown.expert_parallel);
	}
}

/* In fp8 half of the bytes go there, and all come back: three quarters on a network without latency. */
static void test_fp8_dispatch(void **state)
{
	struct cost_problem p = with_experts(64);
	struct strategy s = spread(&p, 1, 1);
	double both;

	(void)state;
	for (int i = 0; i < p.network.levels; i++)
		p.network.latency[i] = 0;
	p.network.start = 0;
	both = cost_of(&p, &s).breakdown.expert_parallel;
	s.dispatch_fp8 = true;
	near(cost_of(&p, &s).breakdown.expert_parallel, 0.75 * both);
}

/* Sends of an interleaved pipeline: hidden but for one micro-batch on every stage, and the slow-down. A
 * plain pipeline's wait (section 9). */
static void test_sends(void **state)
{
	struct cost_problem p = with_experts(64);
	struct strategy s = spread(&p, 4, 2);
	struct strategy_cost plain = cost_of(&p, &s), hidden;
	double won = 2 - p.constants.overlap_slowdown;

	(void)state;
	s.overlap_sends = true;
	hidden = cost_of(&p, &s);
	near(hidden.breakdown.pipeline_send, plain.breakdown.pipeline_send * (1 - won * 15 / 16));
	assert_true(hidden.step_seconds < plain.step_seconds);
	s.vpp = 1;
	hidden = cost_of(&p, &s);
	s.overlap_sends = false;
	near(hidden.step_seconds, cost_of(&p, &s).step_seconds);
}

/* Limits: overlapping never takes longer, and what is not sent cannot be hidden; on links that take no time
 * nothing changes; the parts of the step add up to it. */
static void test_limits(void **state)
{
	const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 2}, {4, 1, 1}, {4, 2, 1}, {4, 2, 2}, {2, 4, 2}};

	(void)state;
	for (size_t i = 0; i < 8 * sizeof(shapes) / sizeof(shapes[0]) * 4; i++) {
		struct cost_problem p = with_experts(64);
		struct strategy s = spread(&p, shapes[i / 32][0], shapes[i / 32][1]);
		struct strategy_cost plain, with;
		double sum;

		s.tp = shapes[i / 32][2];
		s.dp /= s.tp;
		s.sequence_parallel = s.tp > 1;
		s.zero = (int)(i / 8 % 4);
		s.overlap_gradients = s.zero > 0;
		plain = cost_of(&p, &s);
		s.overlap_tensor = i & 1;
		s.overlap_expert = i & 2;
		s.overlap_sends = i & 4;
		with = cost_of(&p, &s);
		assert_true(with.step_seconds <= plain.step_seconds * (1 + 1e-12));
		assert_true(with.bound_seconds <= with.step_seconds);
		sum = with.breakdown.compute + with.breakdown.recompute + with.breakdown.tensor_parallel +
		      with.breakdown.context_parallel + with.breakdown.expert_parallel +
		      with.breakdown.pipeline_send + with.breakdown.bubble +
		      with.breakdown.gradient_exchange + with.breakdown.optimizer + with.breakdown.offload +
		      with.breakdown.other;
		near(sum, with.step_seconds);
		for (int l = 0; l < p.network.levels; l++) {
			p.network.bandwidth[l] = INFINITY;
			p.network.latency[l] = 0;
		}
		p.network.start = p.network.copy = 0;
		with = cost_of(&p, &s);
		s.overlap_tensor = s.overlap_expert = s.overlap_sends = false;
		near(with.step_seconds, cost_of(&p, &s).step_seconds);
	}
}

/* The slower the devices compute, the more of the exchange is hidden. */
static void test_more_compute_hides_more(void **state)
{
	struct cost_problem p = with_experts(64);
	struct strategy s = spread(&p, 4, 2);
	double before = INFINITY;

	(void)state;
	s.overlap_expert = true;
	for (double peak = 4e15; peak > 1e13; peak /= 2) {
		double exposed;

		p.cluster.device.peak_flops = peak;
		exposed = cost_of(&p, &s).breakdown.expert_parallel;
		assert_true(exposed <= before);
		before = exposed;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pieces),
	    cmocka_unit_test(test_tensor_ranks),
	    cmocka_unit_test(test_pairs_of_micro_batches),
	    cmocka_unit_test(test_pairs_in_an_interleaved_pipeline),
	    cmocka_unit_test(test_no_partner),
	    cmocka_unit_test(test_fp8_dispatch),
	    cmocka_unit_test(test_sends),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_more_compute_hides_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
