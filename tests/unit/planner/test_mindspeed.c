#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "planner/export/launch.h"
#include "tests/setting.h"

static struct launch_plan plan_of(const struct setting *x, int64_t tp, int64_t tp_x)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .sequences = 64};

	l.strategy = strategy_default(&x->model, &x->cluster);
	l.strategy.tp = tp;
	l.strategy.tp_x = tp_x;
	l.strategy.pp = 2;
	l.strategy.dp = 2;
	l.strategy.sequence_parallel = true;
	l.strategy.attention = ATTENTION_FLASH;
	l.devices = strategy_devices(&l.strategy);
	return l;
}

static int write_plan(const struct launch_plan *l, struct sb_buf *text, struct sb_error *err)
{
	sb_buf_init(text, 1 << 16);
	*err = (struct sb_error){0};
	return launch_write(&launch_mindspeed, l, text, err);
}

static void says(const struct launch_plan *l, const char *what, const char *not_what)
{
	SB_BUF_AUTO text;
	struct sb_error err;

	if (write_plan(l, &text, &err) != SB_OK || !strstr(text.data, what) ||
	    (not_what && strstr(text.data, not_what)))
		fail_msg("%s / %s: %s%s", what, not_what ? not_what : "", err.text,
		         text.len ? text.data : "");
}

static void refuses(const struct launch_plan *l, const char *field)
{
	SB_BUF_AUTO text;
	struct sb_error err;

	assert_int_equal(write_plan(l, &text, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, field);
}

/* tp_x 2, tp_y 4: the heads lie on the four inner ranks, which MindSpeed calls x (parallel_state_2d.py: ranks
 * i to i + tp_x - 1; self_attention_2d.py: heads over them). --sequence-parallel is refused beside --tp-2d.
 */
static void test_the_two_sides(void **state)
{
	struct setting x = setting("llama3-70b", "atlas-910b", 8);
	struct launch_plan l = plan_of(&x, 8, 2);

	(void)state;
	says(&l, "--tensor-model-parallel-size 8\n", "--sequence-parallel");
	says(&l, "--tp-2d\n--tp-x 4\n--tp-y 2\n", "#");
	says(&l, "--use-flash-attn\n", "--attention-backend");
	says(&l, "--context-parallel-algo megatron_cp_algo\n", NULL);
	says(&l, "--no-gradient-accumulation-fusion\n", NULL);
	l.strategy.tp_x = 1;
	says(&l, "--sequence-parallel\n", "--tp-2d");
	says(&l, "--use-flash-attn\n", "--context-parallel-algo");
	l.strategy.cp = 2;
	l.devices = strategy_devices(&l.strategy);
	says(&l, "--context-parallel-algo megatron_cp_algo\n", "#");
	l.strategy.cp = 1;
	l.devices = strategy_devices(&l.strategy);
	l.strategy.attention = ATTENTION_UNFUSED;
	says(&l, "--tensor-model-parallel-size 8\n", "--use-flash-attn");
}

static void test_what_it_refuses(void **state)
{
	struct setting x = setting("llama3-70b", "atlas-910b", 8),
	               experts = setting("deepseek-v3", "atlas-910b", 8);
	struct launch_plan l = plan_of(&x, 8, 8), latent;

	(void)state;
	refuses(&l, "tp_x"); /* "N1 > 1, N2 > 1" */
	l.strategy.tp_x = 4;
	says(&l, "--tp-x 2\n--tp-y 4\n", NULL);
	l.strategy.offload.activations = 0.5;
	refuses(&l, "offload");
	l = plan_of(&experts, 4, 2);
	refuses(&l, "tp_x"); /* "2d tp does not support moe" */
	experts.model.has_moe = false;
	latent = plan_of(&experts, 4, 2);
	refuses(&latent, "tp_x");
	l = plan_of(&x, 8, 2);
	l.strategy.zero = 3; /* Megatron's own */
	refuses(&l, "");
}

static struct launch_plan read_text(const struct setting *x, const char *text, int rc)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .devices = 64};
	struct sb_error err = {0};

	l.strategy.attention = ATTENTION_FLASH;
	if (launch_read(&launch_mindspeed, text, strlen(text), &l, &err) != rc)
		fail_msg("%s\n-> %s", text, err.text);
	return l;
}

static void test_reads_a_users_script(void **state)
{
	struct setting x = setting("llama3-70b", "atlas-910b", 8);
	LAUNCH_AUTO l =
	    read_text(&x,
	              "torchrun pretrain_gpt.py --tensor-model-parallel-size 8 \\\n"
	              " --tp-2d --tp-x 4 --tp-y 2 --transformer-impl local --use-flash-attn \\\n"
	              " --enable-overlap-ag-with-matmul --micro-batch-size 2 --global-batch-size 128\n",
	              SB_OK);
	LAUNCH_AUTO plain = read_text(&x, "--tensor-model-parallel-size 8 --tp-x 4 --tp-y 2", SB_OK);
	LAUNCH_AUTO ring = read_text(&x, "--context-parallel-size 2", SB_OK);

	(void)state;
	assert_int_equal(l.strategy.tp, 8);
	assert_int_equal(l.strategy.tp_x, 2);
	assert_true(l.strategy.sequence_parallel && l.strategy.attention == ATTENTION_FLASH);
	assert_int_equal(l.strategy.dp, 8);
	/* without --tp-2d the sides say nothing, and without --use-flash-attn attention is not fused, */
	assert_int_equal(tensor_grid_of(&plain.strategy).x, 1);
	assert_true(!plain.strategy.sequence_parallel && plain.strategy.attention == ATTENTION_UNFUSED);
	/* but for the ring: "args.use_flash_attn = True" */
	assert_true(ring.strategy.attention == ATTENTION_FLASH);
}

static void test_refuses_what_is_no_strategy(void **state)
{
	static const char *const texts[] = {
	    "--tensor-model-parallel-size 8 --tp-2d --tp-x 4", /* "need satisfy tp = tp_x * tp_y" */
	    "--tensor-model-parallel-size 8 --tp-2d --tp-x 3 --tp-y 2",
	    "--tensor-model-parallel-size 8 --tp-2d --tp-x 4 --tp-y 2 --sequence-parallel",
	    "--tensor-model-parallel-size 8 --tp-2d --tp-x 1048576 --tp-y 1048576",
	    "--tensor-model-parallel-size 8 --tp-2d --tp-x 0 --tp-y 2",
	    "--context-parallel-size 2 --context-parallel-algo ulysses_cp_algo",
	    "--swap-optimizer",
	    "--schedules-method dualpipev",
	};
	struct setting x = setting("llama3-70b", "atlas-910b", 8);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		LAUNCH_AUTO l = read_text(&x, texts[i], SB_EIMPOSSIBLE);

		assert_true(l.devices == 64);
	}
}

/* What was written reads back the same, whatever the plan: no degree, option or cut is lost. */
static void test_round_trip(void **state)
{
	struct setting x = setting("llama3-70b", "atlas-910b", 32);
	int plans = 0;

	(void)state;
	for (int64_t tp = 1; tp <= 8; tp *= 2)
		for (int64_t tp_x = 1; tp_x <= tp; tp_x *= 2)
			for (int bits = 0; bits < 64; bits++) {
				struct launch_plan l = plan_of(&x, tp, tp_x);
				LAUNCH_AUTO back = {.model = &x.model, .cluster = &x.cluster};
				SB_BUF_AUTO text;
				struct sb_error err;

				l.strategy.sequence_parallel = tp > 1 && (bits & 1 || tp_x > 1);
				l.strategy.cp = bits & 2 ? 2 : 1;
				l.strategy.zero = bits & 4 ? 1 : 0;
				l.strategy.overlap_gradients = bits & 4;
				l.strategy.vpp = bits & 8 ? 2 : 1;
				l.strategy.recompute = bits & 16 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
				l.strategy.last_fewer = bits & 8 || !(bits & 32) ? 0 : 2;
				l.devices = back.devices = strategy_devices(&l.strategy);
				if (strategy_fit(&x.model, &x.cluster, &l.strategy, l.sequences) != FIT_OK)
					continue;
				if (write_plan(&l, &text, &err) != SB_OK) {
					assert_true(tp_x == tp && tp_x > 1);
					continue;
				}
				assert_int_equal(
				    launch_read(&launch_mindspeed, text.data, text.len, &back, &err), SB_OK);
				for (int k = 0; k < LAUNCH_FIELDS; k++)
					if (!launch_field_same(&l, &back, (enum launch_field)k))
						fail_msg("%s: %s", launch_field_name((enum launch_field)k),
						         text.data);
				assert_int_equal(back.sequences, 64);
				plans++;
			}
	assert_true(plans > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_two_sides),        cmocka_unit_test(test_what_it_refuses),
	    cmocka_unit_test(test_reads_a_users_script), cmocka_unit_test(test_refuses_what_is_no_strategy),
	    cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests_name("mindspeed", tests, NULL, NULL);
}
