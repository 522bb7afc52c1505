#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "api/plans/strategy_export.h"
#include "base/random.h"
#include "tests/setting.h"

#define ROUNDS 400

static int64_t pick(uint64_t *seed, const int64_t *from, uint64_t count)
{
	return from[sb_random(seed) % count];
}

static void random_cut(uint64_t *seed, const struct model *m, struct strategy *s, int64_t *slices)
{
	int64_t left = m->layers, count = s->pp * s->vpp;

	for (int64_t i = 0; i < count; i++) {
		int64_t rest = count - 1 - i, most = 2 * left / (rest + 1);

		if (most > left - rest)
			most = left - rest;
		slices[i] = rest == 0 ? left : 1 + (int64_t)(sb_random(seed) % (uint64_t)most);
		left -= slices[i];
	}
	s->slice_layers = slices;
}

/* The first layers of every chunk, or all that a shorter one has. */
static void random_recompute(uint64_t *seed, const struct model *m, struct strategy *s, int64_t *recomputed)
{
	for (int64_t i = 0; i < s->pp; i++) {
		int64_t most = strategy_slice_layers(s, m->layers, i);
		int64_t each = (int64_t)(sb_random(seed) % (uint64_t)(most + 1));

		recomputed[i] = 0;
		for (int64_t k = i; k < s->pp * s->vpp; k += s->pp) {
			int64_t n = strategy_slice_layers(s, m->layers, k);

			recomputed[i] += n < each ? n : each;
		}
	}
	s->stage_recompute = recomputed;
}

/* Nothing, all, layers of the model, or any share: numbers of up to 17 digits among them. */
static double random_share(uint64_t *seed, const struct model *m)
{
	switch (sb_random(seed) % 4) {
	case 0: return 0;
	case 1: return 1;
	case 2: return (double)(sb_random(seed) % (uint64_t)m->layers) / (double)m->layers;
	default: return (double)(sb_random(seed) >> 11) * 0x1p-53;
	}
}

/* Any shares, and those that DeepSpeed and torchtitan can say: one thing alone, or all but activations. */
static void random_offload(uint64_t *seed, const struct model *m, struct strategy *s)
{
	double share = random_share(seed, m);

	switch (sb_random(seed) % 5) {
	case 0: s->offload.optimizer = share; break;
	case 1: s->offload.activations = share; break;
	case 2: s->offload = (struct offload){0, 1, 1, 0}; break;
	case 3: s->offload = (struct offload){1, 1, 1, 0}; break;
	default:
		s->offload = (struct offload){share, random_share(seed, m), random_share(seed, m),
		                              random_share(seed, m)};
	}
}

/* Any strategy; not all fit. stages: room for the layers of 8 x 4 slices, and counts of 8 stages. */
static struct strategy random_strategy(uint64_t *seed, const struct setting *x, int64_t *stages)
{
	static const int64_t degrees[] = {1, 1, 2, 4, 8}, stages_of[] = {1, 2, 3, 4, 5, 8};
	static const enum dimension orders[][DIMS] = {{DIM_TP, DIM_CP, DIM_DP, DIM_PP},
	                                              {DIM_TP, DIM_CP, DIM_PP, DIM_DP},
	                                              {DIM_DP, DIM_TP, DIM_PP, DIM_CP}};
	struct strategy s = strategy_default(&x->model, &x->cluster);

	s.dp = pick(seed, degrees, 5);
	s.tp = pick(seed, degrees, 5);
	s.cp = pick(seed, degrees, 3);
	s.pp = pick(seed, stages_of, 6);
	s.vpp = pick(seed, degrees, 4);
	if (s.pp == 1)
		s.vpp = 1;
	if (x->model.has_moe) {
		s.ep = pick(seed, degrees, 5);
		s.etp = sb_random(seed) % 2 ? 1 : s.tp;
	}
	s.micro_batch = pick(seed, degrees, 4);
	s.zero = (int)(sb_random(seed) % 4);
	s.sequence_parallel = sb_random(seed) % 2;
	s.overlap_gradients = sb_random(seed) % 2;
	if (s.pp > 1 && s.vpp == 1 && sb_random(seed) % 4 == 0)
		s.schedule = sb_random(seed) % 2 ? PIPELINE_ZB_H1 : PIPELINE_DUALPIPE;
	s.overlap_tensor = sb_random(seed) % 2;
	s.overlap_expert = sb_random(seed) % 2;
	s.overlap_sends = sb_random(seed) % 2;
	s.dispatch_fp8 = sb_random(seed) % 4 == 0;
	s.gradient_bytes = sb_random(seed) % 2 ? 4 : 2;
	s.recompute = (enum recompute)(sb_random(seed) % RECOMPUTES);
	s.attention = sb_random(seed) % 2 ? ATTENTION_FLASH : ATTENTION_UNFUSED;
	memcpy(s.order, orders[sb_random(seed) % 3], sizeof(s.order));
	if (s.tp > 1 && sb_random(seed) % 4 == 0) {
		s.tp_x = pick(seed, degrees + 1, 3);
		s.sequence_parallel = true;
		s.attention = ATTENTION_FLASH;
	}
	if (sb_random(seed) % 2)
		random_offload(seed, &x->model, &s);
	if (s.pp > 1 && sb_random(seed) % 2)
		random_cut(seed, &x->model, &s, stages);
	if (s.recompute != RECOMPUTE_NONE && sb_random(seed) % 2)
		random_recompute(seed, &x->model, &s, stages + 32);
	return s;
}

/* True when the format can say it; then what was written is read as the same, byte for byte and field by
 * field.
 */
static bool comes_back(const struct launch_format *f, const struct launch_plan *l)
{
	LAUNCH_AUTO back = *l;
	SB_BUF_AUTO text, again;
	struct sb_error err = {0};
	int rc;

	sb_buf_init(&text, 1 << 20);
	sb_buf_init(&again, 1 << 20);
	rc = launch_write(f, l, &text, &err);
	if (rc == SB_EIMPOSSIBLE) {
		assert_true(strlen(err.text) > 0);
		back.stages = NULL;
		return false;
	}
	assert_int_equal(rc, SB_OK);
	back.stages = NULL;
	back.sequences = 0;
	memset(&back.strategy, 0, sizeof(back.strategy));
	if (launch_read(f, text.data, text.len, &back, &err) != SB_OK)
		fail_msg("%s: %s\n%s", f->name, err.text, text.data);
	for (int i = 0; i < LAUNCH_FIELDS; i++) {
		if (!launch_field_same(l, &back, (enum launch_field)i))
			fail_msg("%s changes %s\n%s", f->name, launch_field_name((enum launch_field)i),
			         text.data);
	}
	assert_int_equal(back.sequences, l->sequences);
	assert_int_equal(launch_write(f, &back, &again, &err), SB_OK);
	assert_string_equal(again.data, text.data);
	return true;
}

static void round_trip(const char *model, const char *cluster)
{
	struct setting x = setting(model, cluster, 512);
	uint64_t seed = 20260101;
	int64_t stages[40];
	int said[5] = {0};

	/* torchtitan has no pipeline for others */
	x.model.tied_embedding = false;
	for (int i = 0; i < ROUNDS;) {
		struct launch_plan l = {.model = &x.model, .cluster = &x.cluster};

		l.strategy = random_strategy(&seed, &x, stages);
		l.sequences = l.strategy.dp * l.strategy.micro_batch * 8 * (1 + i % 3);
		l.devices = strategy_devices(&l.strategy);
		if (strategy_fit(&x.model, &x.cluster, &l.strategy, l.sequences) != FIT_OK)
			continue;
		i++;
		for (int f = 0; f < 5; f++)
			said[f] += comes_back(launch_format_named(launch_format_names[f]), &l);
	}
	/* A format that refused most of them would show nothing. */
	for (int f = 0; f < 5; f++)
		assert_true(said[f] > ROUNDS / 8);
}

static void test_dense_models_come_back(void **state)
{
	(void)state;
	round_trip("llama3-70b", "dgx-h100");
	round_trip("gpt3-175b", "dgx-a100-80g");
}

static void test_models_with_experts_come_back(void **state)
{
	(void)state;
	round_trip("deepseek-v3", "h800-8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dense_models_come_back),
	    cmocka_unit_test(test_models_with_experts_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
