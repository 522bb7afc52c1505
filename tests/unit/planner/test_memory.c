#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/cost/memory.h"
#include "tests/unit/planner/costed.h"

#define GIB 1073741824.0

static struct model gpt(int64_t layers, int64_t hidden, int64_t heads)
{
	struct model m = {.layers = layers,
	                  .hidden = hidden,
	                  .heads = heads,
	                  .ffn_hidden = 4 * hidden,
	                  .vocab = 51200,
	                  .seq_len = 2048,
	                  .dropout = true};

	model_defaults(&m);
	return m;
}

static double layer_gib(const struct model *m, int64_t tp, int64_t batch, bool sp, enum recompute r)
{
	struct strategy s = {
	    .tp = tp, .cp = 1, .micro_batch = batch, .sequence_parallel = sp, .recompute = r};

	return layer_activation_bytes(m, &s, LAYER_DENSE) / GIB;
}

/* First stage: none, SP, selective, SP + selective, full, full sharded. Korthikanti et al. 2022, figure 1;
 * cost-model section 14.3. `layers` counts what the first stage keeps, 1 + (p - 1)/(p v) times the model. */
static void figure(const struct model *m, int64_t batch, double layers, const double want[6])
{
	const struct {
		bool sp;
		enum recompute recompute;
	} rows[] = {{false, RECOMPUTE_NONE},     {true, RECOMPUTE_NONE},  {false, RECOMPUTE_SELECTIVE},
	            {true, RECOMPUTE_SELECTIVE}, {false, RECOMPUTE_FULL}, {true, RECOMPUTE_FULL}};

	for (int i = 0; i < 6; i++) {
		double got = layers * layer_gib(m, 8, batch, rows[i].sp, rows[i].recompute);

		if (fabs(got - want[i]) > 5.1e-5)
			fail_msg("row %d: %.5f, want %.5f", i, got, want[i]);
	}
}

static void test_published_activations(void **state)
{
	struct model m22 = gpt(48, 6144, 64), m175 = gpt(96, 12288, 96), m530 = gpt(105, 20480, 128),
	             m1t = gpt(128, 25600, 160);

	(void)state;
	figure(&m22, 4, 48, (const double[]){59.25, 39.5625, 29.25, 9.5625, 4.5, 0.5625});
	figure(&m175, 1, 96 * (1 + 7 / 24.0),
	       (const double[]){66.8438, 41.4141, 37.7812, 12.3516, 5.8125, 0.7266});
	figure(&m530, 1, 105 * (1 + 34 / 105.0),
	       (const double[]){114.0234, 66.5137, 70.5859, 23.0762, 10.8594, 1.3574});
	figure(&m1t, 1, 128, (const double[]){131.25, 76.5625, 81.25, 26.5625, 12.5, 1.5625});
}

/* Section 6.1's checked bytes of one Llama layer. */
static void test_llama_layer(void **state)
{
	struct strategy s = {.tp = 1, .cp = 1, .micro_batch = 1, .attention = ATTENTION_FLASH};
	struct strategy t = s;

	(void)state;
	t.tp = 8;
	t.sequence_parallel = true;
	assert_int_equal((int64_t)layer_activation_bytes(&model_preset("llama3-8b")->model, &s, LAYER_DENSE),
	                 1141899264);
	assert_int_equal(
	    (int64_t)layer_activation_bytes(&model_preset("llama3-405b")->model, &t, LAYER_DENSE), 533200896);
}

static void test_in_flight(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 8; i++) {
		assert_int_equal(chunks_in_flight(8, 1, 100, i), 8 - i);
		assert_int_equal(chunks_in_flight(8, 3, 32, i), 31 - 2 * i);
	}
	assert_int_equal(chunks_in_flight(8, 1, 3, 0), 3);
}

/* 18 bytes a layer parameter without ZeRO: 45.5625 GiB for 22B over tp 8 counts 12 h^2 only (section 5). */
static void test_static_bytes(void **state)
{
	struct model m = gpt(48, 6144, 64);
	struct cost_problem p = problem_on(m, "dgx-a100-80g", 64, 64);
	struct strategy s = {
	    .dp = 1, .tp = 8, .cp = 1, .pp = 1, .vpp = 1, .ep = 1, .etp = 1, .micro_batch = 4};
	struct memory_model mm = memory_model_of(&p, &s);
	struct stage_run run = {.count = 1, .layers = {48, 0}};
	struct memory_parts part;
	double vectors;

	(void)state;
	mm.embedding_parameters = mm.head_parameters = 0;
	part = stage_memory(&p, &mm, &s, &run, 1);
	vectors = 18.0 * 48 * 2 * 6144; /* norms, replicated */
	assert_true(fabs((part.weights + part.gradients + part.optimizer - vectors) / GIB - 45.5625) < 1e-9);
}

/* A layer is replayed with all that it keeps (section 6.3), the one that keeps most: of 1 dense layer of 8192
 * columns, then 3 of one expert of 512 a token, the dense one. 8 h + 2 h of masks + 4 x 2 h of heads + 4 x
 * 8192 bytes a token, and 5 s bytes a token and head of scores, h 1024, 16 heads, 2048 tokens. */
static void test_the_widest_layer_is_replayed(void **state)
{
	struct model m = gpt(4, 1024, 16);
	struct strategy s = {.dp = 1, .tp = 1, .cp = 1, .pp = 1, .ep = 1, .etp = 1, .micro_batch = 1};
	struct memory_model mm;
	struct cost_problem p;

	(void)state;
	m.ffn_hidden = 8192;
	m.has_moe = true;
	m.moe = (struct moe){.experts = 8, .top_k = 1, .ffn_hidden = 512, .first_dense = 1};
	p = problem_on(m, "dgx-a100-80g", 1, 8);
	s.recompute = RECOMPUTE_FULL;
	mm = memory_model_of(&p, &s);
	assert_int_equal((int64_t)(mm.transient - mm.kept_transient),
	                 2048 * (18 * 1024 + 4 * 8192 + 5 * 2048 * 16));
}

/* Where every layer has experts, an FFN of 65536 columns is of no layer: ZeRO 3 gathers 4 h^2 of attention, 2
 * h of norms, 8 h of the router and 8 experts of 2 h 512 parameters, h 1024. */
static void test_the_largest_layer_is_one_that_there_is(void **state)
{
	struct model m = gpt(4, 1024, 16);
	struct strategy s = {
	    .dp = 2, .tp = 1, .cp = 1, .pp = 1, .ep = 1, .etp = 1, .micro_batch = 1, .zero = 3};
	struct memory_model mm;
	struct cost_problem p;

	(void)state;
	m.ffn_hidden = 65536;
	m.has_moe = true;
	m.moe = (struct moe){.experts = 8, .top_k = 1, .ffn_hidden = 512};
	p = problem_on(m, "dgx-a100-80g", 1, 8);
	mm = memory_model_of(&p, &s);
	assert_int_equal((int64_t)mm.largest_layer, 1024 * (4 * 1024 + 2 + 8 + 8 * 2 * 512));
}

/* Section 6.3, bytes on a rank for 2048 tokens of h 4096 in 2 context ranks and 4 tensor ranks: x = b s h /
 * c. Between stages 2 * 2 x / t; ring attention two blocks of keys and values, coming and going, 4 * 2 b (s /
 * c) g d / t; with sequence parallelism two gathered inputs of 2 x. The embedding's mask is x, its share / t
 * with sequence parallelism; of the last stage two inputs of 2 x (/ t) and 10 bytes a logit. */
static void test_ends_and_buffers(void **state)
{
	struct model m = gpt(4, 4096, 32);
	struct cost_problem p = problem_on(m, "dgx-h100", 4, 8);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const double x = 1024 * 4096.0;
	double logits = 10 * 1024.0 * 51200 / 4;
	struct memory_model mm;

	(void)state;
	s.attention = ATTENTION_FLASH;
	s.cp = 2;
	s.tp = 4;
	mm = memory_model_of(&p, &s);
	assert_true(mm.transient == 4 * 2 * x / 4);
	assert_true(mm.first_stored == x && mm.last_transient == 2 * 2 * x + logits);
	s.pp = 2;
	assert_true(memory_model_of(&p, &s).transient - mm.transient == 2 * 2 * x / 4);
	s.pp = 1;
	s.sequence_parallel = true;
	assert_true(memory_model_of(&p, &s).transient - mm.transient == 2 * 2 * x);
	mm = memory_model_of(&p, &s);
	assert_true(mm.first_stored == x / 4 && mm.last_transient == 2 * 2 * x / 4 + logits);
}

/* Summed over all ranks, ZeRO-3 keeps every sharded byte exactly once. */
static void test_zero_conserves_bytes(void **state)
{
	struct model m = gpt(4, 1024, 16);
	struct cost_problem p = problem_on(m, "dgx-a100-80g", 64, 64);
	struct strategy s = {
	    .dp = 8, .tp = 2, .cp = 2, .pp = 1, .vpp = 1, .ep = 1, .etp = 1, .micro_batch = 1};
	struct stage_run run = {.count = 1, .layers = {4, 0}};
	struct memory_model mm;
	struct memory_parts whole, part;

	(void)state;
	mm = memory_model_of(&p, &s);
	whole = stage_memory(&p, &mm, &s, &run, 4);
	for (s.zero = 1; s.zero <= 3; s.zero++) {
		part = stage_memory(&p, &mm, &s, &run, 4);
		assert_true(fabs(part.optimizer * 16 - whole.optimizer) < 1);
		assert_true(fabs(part.gradients * (s.zero >= 2 ? 16 : 1) - whole.gradients) < 1);
		assert_true(fabs(part.weights * (s.zero >= 3 ? 16 : 1) - whole.weights) < 1);
	}
}

static void test_sequence_parallel_never_stores_more(void **state)
{
	const struct model_preset *q;

	(void)state;
	for (size_t i = 0; (q = model_preset_at(i)); i++) {
		struct model m = q->model;

		model_defaults(&m);
		for (int r = 0; r < RECOMPUTES; r++) {
			for (int k = 0; k < (m.has_moe ? 2 : 1); k++) {
				struct strategy s = {.tp = 4, .cp = 1, .micro_batch = 2, .ep = 1, .etp = 1};
				double off, on;

				s.recompute = (enum recompute)r;
				off = layer_activation_bytes(&m, &s, (enum layer_kind)k);
				s.sequence_parallel = true;
				on = layer_activation_bytes(&m, &s, (enum layer_kind)k);
				assert_true(on > 0 && on < off);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published_activations),
	    cmocka_unit_test(test_llama_layer),
	    cmocka_unit_test(test_in_flight),
	    cmocka_unit_test(test_static_bytes),
	    cmocka_unit_test(test_the_widest_layer_is_replayed),
	    cmocka_unit_test(test_the_largest_layer_is_one_that_there_is),
	    cmocka_unit_test(test_ends_and_buffers),
	    cmocka_unit_test(test_zero_conserves_bytes),
	    cmocka_unit_test(test_sequence_parallel_never_stores_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
