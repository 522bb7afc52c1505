#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "planner/export/launch.h"
#include "tests/setting.h"

static struct launch_plan launch_of(const struct setting *x, const struct strategy *s, int64_t sequences)
{
	return (struct launch_plan){.model = &x->model,
	                            .cluster = &x->cluster,
	                            .strategy = *s,
	                            .sequences = sequences,
	                            .devices = strategy_devices(s)};
}

static struct sb_buf exported(const struct setting *x, const struct strategy *s, int64_t sequences)
{
	struct launch_plan l = launch_of(x, s, sequences);
	struct sb_buf text;

	sb_buf_init(&text, 1 << 16);
	assert_int_equal(launch_write(&launch_megatron, &l, &text, NULL), SB_OK);
	return text;
}

static void refused(const struct setting *x, const struct strategy *s, int64_t sequences)
{
	struct launch_plan l = launch_of(x, s, sequences);
	SB_BUF_AUTO text;

	sb_buf_init(&text, 1 << 16);
	assert_int_equal(launch_write(&launch_megatron, &l, &text, NULL), SB_EIMPOSSIBLE);
}

static void test_arguments(void **state)
{
	struct setting x = setting("deepseek-v3", "h800-8", 256);
	struct strategy s = strategy_default(&x.model, &x.cluster);

	(void)state;
	s.dp = 128;
	s.pp = 16;
	s.ep = 64;
	s.zero = 1;
	s.overlap_gradients = true;
	{
		/* 61 layers on 16 stages: 3 on the last, and 58 = 2 x 3 + 13 x 4 on the others. */
		SB_BUF_AUTO text = exported(&x, &s, 15360);

		assert_non_null(strstr(
		    text.data, "--pipeline-model-parallel-layout "
		               "\"E,t*3|t*3|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*3,L\"\n"));
	}
	s.vpp = 2;
	/* 120 micro-batches are no multiple of 16 stages: "The remainder of M ... should be 0" */
	refused(&x, &s, 15360);
	{
		/* 61 layers in 32 chunks: 1 in the last, and 60 = 2 x 1 + 29 x 2 in the others. */
		SB_BUF_AUTO text = exported(&x, &s, 16384);

		assert_non_null(strstr(text.data, "--pipeline-model-parallel-layout \"E,t*1|t*1|t*2|t*2|"));
		assert_non_null(strstr(text.data, "|t*2|t*2|t*1,L\"\n"));
		assert_null(strstr(text.data, "--num-virtual-stages-per-pipeline-rank"));
	}
	s.vpp = 1;
	s.pp = 1;
	{
		SB_BUF_AUTO text = exported(&x, &s, 15360);

		assert_non_null(strstr(text.data, "--expert-model-parallel-size 64\n"));
		assert_non_null(strstr(text.data, "--expert-tensor-parallel-size 1\n"));
		assert_non_null(strstr(text.data, "--multi-latent-attention\n"));
		assert_non_null(strstr(text.data, "--moe-layer-freq \"[0,0,0,1,"));
		assert_non_null(strstr(text.data, "--moe-router-score-function sigmoid\n"));
		assert_non_null(strstr(text.data, "--moe-router-num-groups 8\n--moe-router-group-topk 4\n"));
		/* As the plan has it, a token goes once to each node. */
		assert_non_null(strstr(text.data, "--moe-token-dispatcher-type flex\n--moe-enable-deepep\n"));
		assert_non_null(strstr(text.data, "--qk-layernorm\n"));
		assert_non_null(strstr(text.data, "--use-distributed-optimizer\n"));
		assert_non_null(strstr(text.data, "--swiglu\n"));
		assert_null(strstr(text.data, "--sequence-parallel"));
		assert_non_null(strstr(text.data, "--bf16\n"));
		/* Megatron's default is 0.1, which would keep masks that the plan does not count. */
		assert_non_null(strstr(text.data, "--attention-dropout 0.0\n--hidden-dropout 0.0\n"));
		/* It says all of this: no note. */
		assert_null(strstr(text.data, "#"));
	}
}

/* What Megatron-LM's own checks of its arguments (arguments.py, transformer_config.py) refuse. */
static void test_what_megatron_refuses(void **state)
{
	struct setting x = setting("deepseek-v3", "h800-8", 256);
	struct strategy s = strategy_default(&x.model, &x.cluster);

	(void)state;
	s.zero = 3;
	s.pp = 2;
	refused(&x, &s, 16);
	/* "Expert parallelism is not supported with fp16 training." */
	s.zero = 0;
	s.pp = 1;
	s.dp = s.ep = 2;
	x.model.float16 = true;
	refused(&x, &s, 16);
	/* "During training, performance may degrade if MoE and tensor parallelism are enabled without ..." */
	s.ep = 1;
	s.tp = 2;
	x.model.float16 = false;
	refused(&x, &s, 16);
	s.sequence_parallel = true;
	{
		SB_BUF_AUTO text = exported(&x, &s, 16);

		assert_non_null(strstr(text.data, "--moe-grouped-gemm\n"));
		/* version 2 of the flash-attn package refuses latent attention */
		assert_non_null(strstr(text.data, "--attention-backend fused\n"));
	}
	/* "seq-length should be a multiple of 2 * context-parallel-size" */
	s.cp = 2;
	x.model.seq_len = 4094;
	refused(&x, &s, 16);
	x.model.seq_len = 4096;
	s.cp = 1;
	/* "bias in the expert layer is not supported in Grouped GEMM yet" */
	x.model.biases = true;
	{
		SB_BUF_AUTO text = exported(&x, &s, 16);

		assert_null(strstr(text.data, "--moe-grouped-gemm"));
		assert_null(strstr(text.data, "--disable-bias-linear"));
	}
	x.model.biases = false;
	x.model.float16 = true;
	s.tp = 1;
	s.sequence_parallel = false;
	/* "Currently GroupedGEMM for MoE only supports bf16 dtype." */
	s.ep = 1;
	{
		SB_BUF_AUTO text = exported(&x, &s, 16);

		assert_non_null(strstr(text.data, "--fp16\n"));
		assert_null(strstr(text.data, "--bf16\n"));
		assert_null(strstr(text.data, "--moe-grouped-gemm"));
	}
}

static void test_precision_and_overlap(void **state)
{
	struct setting x = setting("gpt3-175b", "dgx-a100-80g", 1);
	struct strategy s = strategy_default(&x.model, &x.cluster);

	(void)state;
	s.pp = s.vpp = 2;
	x.model.float16 = true;
	s.gradient_bytes = 4;
	{
		SB_BUF_AUTO text = exported(&x, &s, 16);

		assert_null(strstr(text.data, "dropout"));
		assert_null(strstr(text.data, "--no-overlap-p2p-communication"));
		assert_non_null(strstr(text.data, "--accumulate-allreduce-grads-in-fp32\n"));
		assert_non_null(strstr(text.data, "--num-virtual-stages-per-pipeline-rank 2\n"));
	}
	s.pp = 4;
	s.gradient_bytes = 2;
	{
		SB_BUF_AUTO text = exported(&x, &s, 16);

		assert_non_null(strstr(text.data, "--no-overlap-p2p-communication\n"));
		assert_null(strstr(text.data, "grads-in-fp32"));
		assert_null(strstr(text.data, "bf16"));
	}
}

static struct launch_plan read_text(const struct setting *x, int64_t devices, const char *text, int rc)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .devices = devices};
	struct sb_error err = {0};

	l.strategy.attention = ATTENTION_UNFUSED;
	if (launch_read(&launch_megatron, text, strlen(text), &l, &err) != rc)
		fail_msg("%s\n-> %s", text, err.text);
	return l;
}

/* A script as a user has it: defaults, quotes, continued lines, other options. */
static void test_reads_a_users_script(void **state)
{
	struct setting x = setting("llama3-70b", "dgx-h100", 8);
	LAUNCH_AUTO l = read_text(&x, 64,
	                          "torchrun --nproc_per_node=8 pretrain_gpt.py \\\n"
	                          "  --tensor-model-parallel-size 8 \\\n"
	                          "  --pipeline-model-parallel-size=4   # stages\n"
	                          "  --decoder-first-pipeline-num-layers 19\n"
	                          "  --decoder-last-pipeline-num-layers 21\n"
	                          "  --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce\n"
	                          "  --lr 1e-4 --data-path 1.0 'my data' --bf16 --use-flash-attn\n"
	                          "  --micro-batch-size 2 --global-batch-size 128 --recompute-activations",
	                          SB_OK);
	const int64_t layers[] = {19, 20, 20, 21};

	(void)state;
	assert_int_equal(l.strategy.tp, 8);
	assert_int_equal(l.strategy.pp, 4);
	assert_int_equal(l.strategy.dp, 2);
	assert_int_equal(l.strategy.zero, 1);
	assert_int_equal(l.strategy.micro_batch, 2);
	assert_int_equal(l.sequences, 128);
	assert_int_equal(l.strategy.recompute, RECOMPUTE_SELECTIVE);
	assert_int_equal(l.strategy.attention, ATTENTION_FLASH);
	assert_int_equal(l.strategy.gradient_bytes, 4);
	assert_true(l.strategy.sequence_parallel && l.strategy.overlap_gradients);
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(strategy_stage_layers(&l.strategy, 80, i), layers[i]);
}

/* The first three layers of each of eight stages of ten; one number is all that Megatron has. */
static void test_a_block_of_layers(void **state)
{
	struct setting x = setting("llama3-70b", "dgx-h100", 8);
	int64_t uneven[] = {3, 3, 3, 3, 3, 3, 2, 0};
	LAUNCH_AUTO l = read_text(&x, 64,
	                          "--pipeline-model-parallel-size 8 --recompute-granularity full "
	                          "--recompute-method block --recompute-num-layers 3",
	                          SB_OK);
	(void)state;
	assert_int_equal(l.strategy.recompute, RECOMPUTE_FULL);
	for (int64_t i = 0; i < 8; i++)
		assert_int_equal(launch_recomputed(&l, i), 3);
	{
		SB_BUF_AUTO text = exported(&x, &l.strategy, 64);

		assert_non_null(strstr(text.data, "--recompute-method block\n--recompute-num-layers 3\n"));
		assert_null(strstr(text.data, "#"));
	}
	l.strategy.stage_recompute = uneven;
	{
		SB_BUF_AUTO text = exported(&x, &l.strategy, 64);

		assert_non_null(strstr(text.data, "--recompute-num-layers 3\n"));
		assert_non_null(strstr(text.data, "# plan stage_recompute=3,3,3,3,3,3,2,0: "));
	}
}

static void test_refuses_what_is_no_strategy(void **state)
{
	static const char *const texts[] = {
	    "--tensor-model-parallel-size 3",                                /* 64 devices */
	    "--tensor-model-parallel-size 0",                                /* no degree */
	    "--tensor-model-parallel-size 9223372036854775808",              /* 2^63 */
	    "--tensor-model-parallel-size 8 --tensor-model-parallel-size 4", /* twice */
	    "--tensor-model-parallel-size 'eight",                           /* no closing quote */
	    "--use-distributed-optimizer --num-distributed-optimizer-instances 2",
	    "--fp8-format hybrid",
	    "--num-layers 79", /* another model */
	    "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et*80L",
	    "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et|t|t|L",
	    "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 78",
	    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 3",
	    "--pipeline-model-parallel-size 64 --num-virtual-stages-per-pipeline-rank 2",
	    "# plan pp=100000: x\n--micro-batch-size 1",
	    "# plan recompute=some: x\n--micro-batch-size 1",
	};
	struct setting x = setting("llama3-70b", "dgx-h100", 8);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		LAUNCH_AUTO l = read_text(&x, 64, texts[i], SB_EIMPOSSIBLE);

		assert_true(l.devices == 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_arguments),
	    cmocka_unit_test(test_what_megatron_refuses),
	    cmocka_unit_test(test_precision_and_overlap),
	    cmocka_unit_test(test_reads_a_users_script),
	    cmocka_unit_test(test_a_block_of_layers),
	    cmocka_unit_test(test_refuses_what_is_no_strategy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
