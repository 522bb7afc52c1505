/* Numbers of the research page cost-model that the other tests of the planner do not hold, worked out by hand
 * where the page has only the formula. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "tests/unit/planner/costed.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

static struct model gpt(int64_t layers, int64_t hidden, int64_t heads)
{
	struct model m = {.layers = layers,
	                  .hidden = hidden,
	                  .heads = heads,
	                  .ffn_hidden = 4 * hidden,
	                  .vocab = 51200,
	                  .seq_len = 2048};

	model_defaults(&m);
	return m;
}

/* Section 6.1, 4096 tokens. DeepSeek-V3: 8 * 7168 + 2 (2 * 1536 + 2 * 512 + 64) + 4 * 128 (128 + 64 + 128) =
 * 229504 bytes a token for norms and attention; experts 8 (4 * 7168 + 6 * 2048) + 6 * 2048 + 8 * 256 =
 * 342016; the log-sum-exp 4 * 128. Mixtral: 8 * 4096 + 4 * 128 (32 + 8) = 53248; 2 (4 * 4096 + 6 * 14336) + 8
 * * 8 = 204864; 4 * 32. */
static void test_layers_with_experts(void **state)
{
	struct model d = model_preset("deepseek-v3")->model, x = model_preset("mixtral-8x7b")->model;
	struct strategy s = {
	    .tp = 1, .cp = 1, .ep = 1, .etp = 1, .micro_batch = 1, .attention = ATTENTION_FLASH};

	(void)state;
	model_defaults(&d);
	model_defaults(&x);
	d.seq_len = x.seq_len = 4096;
	near(layer_activation_bytes(&d, &s, LAYER_MOE), 4096.0 * (229504 + 342016 + 512), 0);
	near(layer_activation_bytes(&x, &s, LAYER_MOE), 4096.0 * (53248 + 204864 + 128), 0);
	/* A context rank keeps its share of the tokens. */
	s.cp = 4;
	near(layer_activation_bytes(&x, &s, LAYER_MOE), 1024.0 * (53248 + 204864 + 128), 0);
}

/* Section 6.1 with experts cut over tensor ranks, and more tokens on the busiest rank than in the mean: of
 * Mixtral's 2 tokens of 4 (4 * 4096) + 6 * 14336 bytes on 4 ranks, with etp 2 the first doubles. Of 1.5 times
 * as many 1.5 as much, and so of the buffers of the exchange (section 6.3: 2 * 2 * 2 h a token); not where
 * one rank has all experts. */
static void test_experts_cut_and_uneven(void **state)
{
	struct cost_problem p = problem_on(model_preset("mixtral-8x7b")->model, "dgx-h100", 1, 8);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double rows = 8192.0, even, cut;

	(void)state;
	p.model.seq_len = 8192;
	s.tp = 4;
	s.ep = 4;
	s.sequence_parallel = true;
	even = layer_activation_bytes(&p.model, &s, LAYER_MOE);
	s.ep = s.etp = 2;
	cut = layer_activation_bytes(&p.model, &s, LAYER_MOE);
	near(cut - even, rows / 4 * 2 * 4 * 4096, 1e-9);
	p.model.moe.imbalance = 1.5;
	near(layer_activation_bytes(&p.model, &s, LAYER_MOE) - cut,
	     0.5 * rows / 4 * 2 * (2 * 4 * 4096 + 6 * 14336), 1e-9);
	cut = memory_model_of(&p, &s).transient;
	p.model.moe.imbalance = 1;
	near(cut - memory_model_of(&p, &s).transient, 0.5 * rows / 4 * 2 * 2 * 2 * 4096, 1e-6);
	s.ep = s.etp = 1;
	even = layer_activation_bytes(&p.model, &s, LAYER_MOE);
	p.model.moe.imbalance = 1.5;
	near(layer_activation_bytes(&p.model, &s, LAYER_MOE), even, 0);
}

/* Section 4's example: of DeepSeek-V3 on 64 ranks an expert gets 4096 * 8 * 64 / 256 = 8192 rows, and a rank
 * has 4 experts with three products of 7168 x 2048 each, done once forward and twice back. With twice the
 * mean on the busiest rank these have twice the rows and the exchanges twice the bytes; the model's FLOP stay
 * (section 3). No launches, and memory and links without latency. */
static void test_expert_products(void **state)
{
	struct cost_problem p = problem_on(model_preset("deepseek-v3")->model, "h800-8", 8, 64);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double one = 2.0 * 8192 * 7168 * 2048, half = p.constants.gemm_half_flop;
	double rate = p.cluster.device.peak_flops * p.constants.gemm_share,
	       step = model_step_flops(&p.model, 8, 1);
	struct layer_time even, uneven;
	struct groups g;

	(void)state;
	p.constants.launch_seconds = p.network.start = 0;
	p.cluster.device.memory_bandwidth = INFINITY;
	for (int l = 0; l < p.network.levels; l++)
		p.network.latency[l] = 0;
	s.dp = s.ep = 64;
	g = groups_of(&p.network, &s);
	even = layer_seconds(&p, &s, &g, LAYER_MOE);
	p.model.moe.imbalance = 2;
	uneven = layer_seconds(&p, &s, &g, LAYER_MOE);
	near(uneven.parts[PART_COMPUTE] - even.parts[PART_COMPUTE],
	     3 * 4 * 3 * (gemm_full_flop(2 * one, half) - gemm_full_flop(one, half)) / rate, 1e-9);
	near(uneven.parts[PART_EXPERT], 2 * even.parts[PART_EXPERT], 1e-12);
	near(model_step_flops(&p.model, 8, 1), step, 0);
}

/* Section 3: DeepSeek-V3, 15360 sequences of 4096 in 19.926 s on 2048 H800: 433.5 TFLOP/s a device over the
 * full square, 386.1 over the causal half. */
static void test_deepseek_rates(void **state)
{
	struct model m = model_preset("deepseek-v3")->model;
	double run = 19.926 * 2048 * 1e12;

	(void)state;
	m.seq_len = 4096;
	near(model_step_flops(&m, 15360, 1) / run, 433.5, 2e-4);
	near(model_step_flops(&m, 15360, 0.5) / run, 386.1, 2e-4);
}

/* Section 3: SC21's 1T counts the recomputed layers, 5.13905e19 FLOP; MFU does not. Selective recomputing
 * adds the core alone: 4 s^2 h a layer and sequence. */
static void test_model_and_hardware_flops(void **state)
{
	struct cost_problem p = problem_on(gpt(128, 25600, 160), "dgx-a100-80g", 384, 3072);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost c;
	double peak;

	(void)state;
	s.tp = 8;
	s.pp = 64;
	s.dp = 6;
	s.recompute = RECOMPUTE_FULL;
	c = cost_of(&p, &s);
	peak = c.step_seconds * 3072 * 312e12;
	near(c.hfu * peak, 5.13905e19, 1e-5);
	near(c.mfu * peak, model_step_flops(&p.model, 3072, 1), 1e-12);
	s.recompute = RECOMPUTE_SELECTIVE;
	c = cost_of(&p, &s);
	peak = c.step_seconds * 3072 * 312e12;
	near((c.hfu - c.mfu) * peak, 3072 * 128 * 4.0 * 2048 * 2048 * 25600, 1e-9);
}

/* Section 3's kappa: a fused kernel skips what a causal mask hides, and an encoder's hides nothing. Seconds
 * of one layer's attention core, forward and backward (2.5 times): 3.5 kappa 4 s^2 a d over the peak's share.
 * An unfused core computes the square whoever masks it, and so does MFU count. */
static void test_encoders_attend_to_all(void **state)
{
	struct cost_problem p = problem_on(gpt(8, 4096, 32), "dgx-a100-80g", 1, 8);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct groups g = groups_of(&p.network, &s);
	double square = 4.0 * 2048 * 2048 * 4096, rate = 312e12 * p.constants.flash_share;
	double causal, all, flops = model_step_flops(&p.model, 8, 1);

	(void)state;
	near(model_kappa(&p.model), 0.5, 0);
	s.attention = ATTENTION_FLASH;
	causal = layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_COMPUTE];
	p.model.bidirectional = true;
	near(model_kappa(&p.model), 1, 0);
	all = layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_COMPUTE];
	near(all - causal, 3.5 * 0.5 * square / rate, 1e-9);
	near(model_step_flops(&p.model, 8, 1), flops, 0);
	s.attention = ATTENTION_UNFUSED;
	all = layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_COMPUTE];
	p.model.bidirectional = false;
	near(layer_seconds(&p, &s, &g, LAYER_DENSE).parts[PART_COMPUTE], all, 0);
}

/* Section 10: the bubble over the work is (p - 1) / (m v): 10.9 % for 8 stages and 64 micro-batches, 5.5 % in
 * two chunks, 11.7 % for 16, 32 and 4 chunks. Without embedding and head: their stage has none of it. */
static void test_bubbles(void **state)
{
	const struct {
		int64_t pp, vpp, micro_batches;
		double share;
	} rows[] = {{8, 1, 64, 0.109}, {8, 2, 64, 0.055}, {16, 4, 32, 0.117}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost_problem p =
		    problem_on(gpt(64, 4096, 32), "dgx-a100-80g", 16, rows[i].micro_batches);
		struct strategy s = strategy_default(&p.model, &p.cluster);
		struct strategy_cost c;

		p.model.vocab = 1;
		p.constants.launch_seconds = p.constants.gemm_half_flop = 0;
		for (int l = 0; l < p.network.levels; l++)
			p.network.bandwidth[l] = 1e18;
		p.network.latency[0] = p.network.latency[1] = p.network.start = 0;
		s.pp = rows[i].pp;
		s.vpp = rows[i].vpp;
		c = cost_of(&p, &s);
		if (fabs(c.breakdown.bubble / (c.breakdown.compute + c.breakdown.pipeline_send) -
		         rows[i].share) > 0.002)
			fail_msg("pp %d: bubble %.4f of the work", (int)s.pp,
			         c.breakdown.bubble / c.breakdown.compute);
	}
}

/* A tied embedding stands on both ends of a pipeline and is summed over them: V h / t elements.
 * Alone on its device it is there once. */
static void test_tied_embedding(void **state)
{
	struct cost_problem p = problem_on(gpt(8, 4096, 32), "dgx-a100-80g", 1, 8);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const struct stage_run whole = {.count = 1, .layers = {8}}, first = {.count = 1, .layers = {4}},
	                       last = {.first = 1, .count = 1, .layers = {4}};
	double shared = 51200 * 4096;

	(void)state;
	for (int tied = 0; tied < 2; tied++) {
		struct memory_model m;
		double own;

		p.model.tied_embedding = tied;
		m = memory_model_of(&p, &s);
		own = stage_memory(&p, &m, &s, &whole, 8).weights / 2;
		near(own, (double)model_parameters(&p.model), 0);
	}
	s.pp = 2;
	{
		struct groups g = groups_of(&p.network, &s);
		struct layer_costs l = layer_costs_of(&p, &s, &g);
		double sum = all_reduce_seconds(&p.network, &g.pp, s.gradient_bytes * shared);

		near(stage_seconds(&p, &l, &s, &g, &first).exchange, sum, 1e-12);
		near(stage_seconds(&p, &l, &s, &g, &last).exchange, sum, 1e-12);
		near(stage_memory(&p, &l.memory, &s, &last, 8).weights / 2 -
		         4 * l.memory.dense_parameters[LAYER_DENSE],
		     shared + 4096, 0);
	}
}

/* Section 4: two products of one shape take twice as long as one; a product is never faster than the peak's
 * share or the memory's. Section 9: what runs under a window costs what stands out of it and the slow-down.
 */
static void test_products_and_overlap(void **state)
{
	struct cost_problem p = problem_on(gpt(8, 4096, 32), "dgx-a100-80g", 1, 8);
	const struct constants *k = &p.constants;
	double flop = 2.0 * 4096 * 4096 * 4096;

	(void)state;
	/* (4^1.5 + (2^1.5 - 1) 1)^(2/3) = 9.82843^(2/3) = 4.58834: by how much the sum 4 + 1 says too much.
	 */
	near(gemm_full_flop(4e9, 1e9), 4.58834e9, 2e-6);
	near(gemm_full_flop(7e9, 7e9), 14e9, 1e-12);
	near(gemm_full_flop(7e9, 0), 7e9, 1e-12);
	near(gemm_seconds(&p, 4096, 4096, 4096),
	     gemm_full_flop(flop, k->gemm_half_flop) / (312e12 * k->gemm_share) + k->launch_seconds, 1e-12);
	/* One row: the 2 * 8192 * 8192 bytes of the matrix, its input and its output. */
	near(gemm_seconds(&p, 1, 8192, 8192),
	     fmax(gemm_full_flop(2.0 * 8192 * 8192, k->gemm_half_flop) / (312e12 * k->gemm_share),
	          2.0 * (8192 * 8192 + 2 * 8192) / (p.cluster.device.memory_bandwidth * k->memory_share)) +
	         k->launch_seconds,
	     1e-12);
	near(overlapped_seconds(k, 3, 2), 1 + (k->overlap_slowdown - 1) * 2, 1e-12);
	near(overlapped_seconds(k, 1, 2), k->overlap_slowdown - 1, 1e-12);
}

/* On a network of one byte a second, whose bytes are seconds (section 8): ZeRO 1 reduces 3/4 of 4 bytes a
 * parameter once and gathers 3/4 of 2. ZeRO 2 keeps a quarter of the gradients (section 5), so it reduces in
 * each of the four micro-batches: three times more. With one micro-batch there is no difference. */
static void test_sharded_gradients_accumulate(void **state)
{
	struct cost_problem p = problem_on(gpt(4, 1024, 16), "dgx-a100-80g", 1, 16);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct parameters layer = model_layer_parameters(&p.model, LAYER_DENSE),
	                  first = model_embedding_parameters(&p.model),
	                  last = model_head_parameters(&p.model);
	double n = 4.0 * (double)(layer.tensor + layer.replicated) +
	           (double)(first.tensor + first.replicated + last.tensor + last.replicated);
	struct strategy_cost once, each;

	(void)state;
	p.network = (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1}};
	s.dp = 4;
	s.gradient_bytes = 4;
	s.overlap_gradients = false;
	s.zero = 1;
	once = cost_of(&p, &s);
	near(once.breakdown.gradient_exchange, 3.0 / 4 * (4 + 2) * n, 1e-9);
	s.zero = 2;
	each = cost_of(&p, &s);
	near(each.breakdown.gradient_exchange, 3.0 / 4 * (4 * 4 + 2) * n, 1e-9);
	near(each.step_seconds - once.step_seconds, 3 * 3.0 / 4 * 4 * n, 1e-6);
	assert_true(each.memory.gradients < once.memory.gradients);
	s.micro_batch = 4;
	near(cost_of(&p, &s).breakdown.gradient_exchange, 3.0 / 4 * (4 + 2) * n, 1e-9);
}

/* The update reads and writes 30 bytes a parameter that the device owns, the norm and the copy to 16 bit read
 * 4 each, and 4 are zeroed of every gradient that it keeps (section 4, and Megatron-LM's second reading of
 * the master); gradients of 16 bit are copied to 32 first: of all n without ZeRO, of a quarter with ZeRO 2
 * and 3, which keep no more gradients (section 5). */
static void test_update_of_a_share(void **state)
{
	const double bytes[] = {38 + 4, 38 / 4.0 + 4, 42 / 4.0, 42 / 4.0};
	struct cost_problem p = problem_on(gpt(4, 1024, 16), "dgx-a100-80g", 1, 16);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct parameters layer = model_layer_parameters(&p.model, LAYER_DENSE),
	                  first = model_embedding_parameters(&p.model),
	                  last = model_head_parameters(&p.model);
	double n = 4.0 * (double)(layer.tensor + layer.replicated) +
	           (double)(first.tensor + first.replicated + last.tensor + last.replicated);

	(void)state;
	s.dp = 4;
	for (s.zero = 0; s.zero <= 3; s.zero++)
		near(cost_of(&p, &s).breakdown.optimizer,
		     (bytes[s.zero] + (s.gradient_bytes == 2 ? 6 / (s.zero ? 4.0 : 1) : 0)) * n /
		         (p.cluster.device.memory_bandwidth * p.constants.memory_share),
		     1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_layers_with_experts),
	    cmocka_unit_test(test_experts_cut_and_uneven),
	    cmocka_unit_test(test_expert_products),
	    cmocka_unit_test(test_deepseek_rates),
	    cmocka_unit_test(test_model_and_hardware_flops),
	    cmocka_unit_test(test_encoders_attend_to_all),
	    cmocka_unit_test(test_bubbles),
	    cmocka_unit_test(test_tied_embedding),
	    cmocka_unit_test(test_products_and_overlap),
	    cmocka_unit_test(test_sharded_gradients_accumulate),
	    cmocka_unit_test(test_update_of_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
