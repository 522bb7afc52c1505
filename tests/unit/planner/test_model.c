#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/presets/presets.h"

static int64_t count(const char *name)
{
	const struct model_preset *p = model_preset(name);

	assert_non_null(p);
	return model_parameters(&p->model);
}

/* Published or hand-checked counts: research page cost-model, section 2. */
static void test_parameter_counts(void **state)
{
	(void)state;
	assert_int_equal(count("llama3-8b"), 8030261248);
	assert_int_equal(count("llama3-405b"), 405853388800);
	assert_int_equal(count("mixtral-8x7b"), 46702792704);
	assert_int_equal(model_active_parameters(&model_preset("mixtral-8x7b")->model), 12879925248);
	assert_int_equal(count("deepseek-v3"), 671026419200);
}

static void test_deepseek_layers(void **state)
{
	const struct model *m = &model_preset("deepseek-v3")->model;
	struct parameters dense = model_layer_parameters(m, LAYER_DENSE);
	struct parameters moe = model_layer_parameters(m, LAYER_MOE);
	int64_t norms = 2 * 7168 + 1536 + 512, mla = 187105280;

	(void)state;
	assert_int_equal(dense.tensor + dense.replicated, mla + norms + 3 * 7168LL * 18432);
	assert_int_equal(moe.tensor + moe.replicated + moe.expert, mla + norms + 11320164608);
	assert_int_equal(model_layers_of(m, 61, LAYER_MOE), 58);
	assert_true(fabs((double)model_active_parameters(m) / 37.55e9 - 1) < 0.001);
}

/* Latent attention's heads have sizes of their own, so that 24 of them beside a hidden size of 1000 are fine.
 * By hand: h (r_q + r_kv + d_r) = 1000 (256 + 128 + 32), r_q a (d_n + d_r) = 256 * 24 * 96, r_kv a (d_n +
 * d_v) = 128
 * * 24 * 128, a d_v h = 24 * 64 * 1000, norms 2 * 1000 + 256 + 128. Keys and values of a token are 24 (96 +
 * 64); grouped heads have 2 * 8 * 128. */
static void test_latent_heads_need_not_divide(void **state)
{
	struct model m = {.layers = 2,
	                  .hidden = 1000,
	                  .heads = 24,
	                  .ffn_hidden = 3000,
	                  .gated_ffn = true,
	                  .vocab = 1000,
	                  .seq_len = 128,
	                  .has_mla = true,
	                  .mla = {256, 128, 64, 32, 64}};
	struct parameters p;
	struct sb_error err = {0};

	(void)state;
	model_defaults(&m);
	assert_int_equal(m.head_dim, 64);
	assert_int_equal(model_check(&m, &err), SB_OK);
	p = model_layer_parameters(&m, LAYER_DENSE);
	assert_int_equal(p.tensor + p.replicated, 1000 * 416 + 256 * 24 * 96 + 128 * 24 * 128 +
	                                              24 * 64 * 1000 + 2384 + 3 * 1000 * 3000);
	assert_int_equal(model_key_values(&m), 24 * 160);
	assert_int_equal(model_key_values(&model_preset("llama3-8b")->model), 2 * 8 * 128);
}

/* GPT with h = a * d and f = 4h: 12 h^2 + 13 h a layer. */
static void test_gpt_layer(void **state)
{
	const struct model *m = &model_preset("gpt3-175b")->model;
	struct parameters p = model_layer_parameters(m, LAYER_DENSE);

	(void)state;
	assert_int_equal(p.tensor + p.replicated, 12 * 12288LL * 12288 + 13 * 12288LL);
	assert_int_equal(p.expert, 0);
}

/* Section 3's checked FLOP counts. */
/* Both of a gated FFN's products into the block have a bias: 2 f and h, beside (a + 2 g) d and h of
 * attention. */
static void test_gated_biases(void **state)
{
	struct model plain = {
	    .layers = 2, .hidden = 64, .heads = 4, .ffn_hidden = 96, .vocab = 100, .seq_len = 8};
	struct model biased;
	struct parameters a, b;

	(void)state;
	plain.gated_ffn = true;
	model_defaults(&plain);
	biased = plain;
	biased.biases = true;
	a = model_layer_parameters(&plain, LAYER_DENSE);
	b = model_layer_parameters(&biased, LAYER_DENSE);
	assert_int_equal(b.tensor - a.tensor, 3 * 64 + 2 * 96);
	assert_int_equal(b.replicated - a.replicated, 2 * 64);
}

static void test_flops(void **state)
{
	const struct model *m = &model_preset("megatron-530b")->model;
	const struct model *l = &model_preset("llama3-405b")->model;

	(void)state;
	assert_true(fabs(model_step_flops(m, 280, 1) / 1.85223e18 - 1) < 1e-5);
	assert_true(fabs(model_step_flops(m, 280, 1) / (37.83 * 280 * 312e12) - 0.560) < 0.001);
	assert_true(fabs(model_step_flops(&model_preset("gpt3-175b")->model, 64, 1) / 1.41092e17 - 1) < 1e-5);
	assert_true(fabs(model_step_flops(l, 1, 1) / 8192 / 2.6254e12 - 1) < 1e-4);
	{
		/* At 131,072 tokens scores weigh more than all weights: never 6 N. */
		struct model longer = *l;

		longer.seq_len = 131072;
		assert_true(fabs(model_step_flops(&longer, 1, 1) / 131072 / 5.669e12 - 1) < 2e-4);
	}
	{
		/* 72 G L s h^2 (1 + s / 6h + V / 12Lh) */
		const struct model *g = &model_preset("gpt3-175b")->model;
		double s = (double)g->seq_len, h = (double)g->hidden, n = (double)g->layers,
		       v = (double)g->vocab;

		assert_true(fabs(model_step_flops(g, 64, 1) /
		                     (72 * 64 * n * s * h * h * (1 + s / (6 * h) + v / (12 * n * h))) -
		                 1) < 1e-12);
	}
}

static void test_every_other_layer(void **state)
{
	struct model m = {.layers = 7, .has_moe = true, .moe = {.every = 2, .first_dense = 1}};
	int64_t moe = 0;

	(void)state;
	for (int64_t i = 0; i < 7; i++) {
		assert_int_equal(model_layers_of(&m, i, LAYER_MOE), moe);
		moe += model_layer_kind(&m, i) == LAYER_MOE;
	}
	assert_int_equal(moe, 3); /* layers 1, 3, 5 */
}

static void test_refuses_impossible_shapes(void **state)
{
	struct sb_error err = {0};
	struct model m = model_preset("llama3-8b")->model;

	(void)state;
	assert_int_equal(model_check(&m, &err), SB_OK);
	m.layers = 0;
	assert_int_equal(model_check(&m, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "layers");
	m.layers = 32;
	m.kv_heads = 5;
	assert_int_equal(model_check(&m, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "kv_heads");
	m.kv_heads = 8;
	m.vocab = INT64_MAX;
	assert_int_equal(model_check(&m, &err), SB_EIMPOSSIBLE);
	m.vocab = 1000;
	m.has_moe = true;
	m.moe = (struct moe){
	    .experts = 65536, .top_k = 1, .ffn_hidden = 1 << 22, .shared_ffn_hidden = 1, .every = 1};
	m.hidden = 1 << 20;
	m.layers = 4096;
	assert_int_equal(model_check(&m, &err), SB_EIMPOSSIBLE);
}

/* 256 experts in 8 groups of 32: a token's 8 lie in 1 to 8 of them. Both members, or none. The busiest rank
 * has the mean at least, and no more than all tokens of 256 ranks. */
static void test_groups_of_experts(void **state)
{
	const struct {
		int64_t groups, top_groups, top_k;
		const char *field;
	} rows[] = {{8, 1, 8, NULL},
	            {8, 8, 8, NULL},
	            {0, 0, 8, NULL},
	            {1, 1, 8, NULL},
	            {256, 8, 8, NULL},
	            {7, 4, 8, "moe/n_group"},
	            {512, 4, 8, "moe/n_group"},
	            {0, 4, 8, "moe/n_group"},
	            {8, 0, 8, "moe/topk_group"},
	            {8, 9, 8, "moe/topk_group"},
	            {256, 7, 8, "moe/topk_group"}};
	struct model m = model_preset("deepseek-v3")->model;

	(void)state;
	assert_int_equal(m.moe.groups, 8);
	assert_int_equal(m.moe.top_groups, 4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sb_error err = {0};

		m.moe.groups = rows[i].groups;
		m.moe.top_groups = rows[i].top_groups;
		m.moe.top_k = rows[i].top_k;
		assert_int_equal(model_check(&m, &err), rows[i].field ? SB_EIMPOSSIBLE : SB_OK);
		if (rows[i].field)
			assert_string_equal(err.field, rows[i].field);
	}
	m.moe.groups = m.moe.top_groups = 0;
	for (int i = 0; i < 4; i++) {
		const double values[] = {1, 256, 0.5, 257};
		struct sb_error err = {0};

		m.moe.imbalance = values[i];
		assert_int_equal(model_check(&m, &err), i < 2 ? SB_OK : SB_EIMPOSSIBLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parameter_counts),
	    cmocka_unit_test(test_deepseek_layers),
	    cmocka_unit_test(test_latent_heads_need_not_divide),
	    cmocka_unit_test(test_gpt_layer),
	    cmocka_unit_test(test_gated_biases),
	    cmocka_unit_test(test_flops),
	    cmocka_unit_test(test_every_other_layer),
	    cmocka_unit_test(test_refuses_impossible_shapes),
	    cmocka_unit_test(test_groups_of_experts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
