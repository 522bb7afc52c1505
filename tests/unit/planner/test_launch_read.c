#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "planner/export/launch.h"
#include "tests/setting.h"

/* Configurations as users have them: more in them than a strategy, and what is left out is the launcher's
 * default. */

static struct launch_plan read_text(const struct launch_format *f, const struct setting *x, int64_t devices,
                                    const char *text, int rc)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .devices = devices};
	struct sb_error err = {0};

	l.strategy.attention = ATTENTION_UNFUSED;
	if (launch_read(f, text, strlen(text), &l, &err) != rc)
		fail_msg("%s\n-> %s", text, err.text);
	return l;
}

/* 80 layers in 4 x 2 chunks of 10; dp 4 x batch 1 x 16 micro-batches. */
static void test_mindformers(void **state)
{
	static const char text[] = "seed: 0\n"
	                           "run_mode: 'train'   # train, finetune or predict\n"
	                           "train_dataset: &train_dataset\n"
	                           "  data_loader:\n"
	                           "    type: BlendedMegatronDatasetDataLoader\n"
	                           "    sizes:\n"
	                           "      - 1000\n"
	                           "      - 0\n"
	                           "  input_columns: [ \"input_ids\", \"labels\" ]\n"
	                           "train_dataset_task:\n"
	                           "  dataset_config: *train_dataset\n"
	                           "model:\n"
	                           "  model_config:\n"
	                           "    num_layers: 80\n"
	                           "    use_flash_attention: True\n"
	                           "    pp_interleave_num: 2\n"
	                           "    offset: [[0, 0, 0, 0], [0, 0, 0, 0]]\n"
	                           "recompute_config:\n"
	                           "  recompute: [[3, 2, 1, 0], [3, 2, 1, 0]]\n"
	                           "  select_recompute: False\n"
	                           "  parallel_optimizer_comm_recompute: False\n"
	                           "parallel_config:\n"
	                           "  data_parallel: &dp 4\n"
	                           "  model_parallel: 8\n"
	                           "  pipeline_stage: 4\n"
	                           "  use_seq_parallel: True\n"
	                           "  micro_batch_num: 16\n"
	                           "micro_batch_interleave_num: 1\n"
	                           "callbacks:\n"
	                           "  - type: CheckpointMonitor\n"
	                           "    prefix: \"llm\"\n"
	                           "parallel:\n"
	                           "  dataset_strategy: [[*dp, 1], [*dp, 1]]\n"
	                           "  enable_parallel_optimizer: True\n"
	                           "  parallel_optimizer_config:\n"
	                           "    gradient_accumulation_shard: False\n"
	                           "runner_config:\n"
	                           "  epochs: 2\n"
	                           "  batch_size: 1\n";
	struct setting x = setting("llama3-70b", "dgx-h100", 16);
	LAUNCH_AUTO l = read_text(&launch_mindformers, &x, 128, text, SB_OK);
	const struct strategy *s = &l.strategy;

	(void)state;
	assert_int_equal(s->dp, 4);
	assert_int_equal(s->tp, 8);
	assert_int_equal(s->pp, 4);
	assert_int_equal(s->vpp, 2);
	assert_int_equal(s->zero, 1);
	assert_int_equal(s->gradient_bytes, 4); /* gradient_fp32_sync is True by default */
	assert_int_equal(s->attention, ATTENTION_FLASH);
	assert_true(s->sequence_parallel);
	assert_int_equal(l.sequences, 64);
	assert_int_equal(s->recompute, RECOMPUTE_FULL);
	/* three of each of two chunks, ... */
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(launch_recomputed(&l, i), 6 - 2 * i);
}

/* Experts are split as the rest is, where nothing else is said. */
static void test_experts_of_mindformers(void **state)
{
	struct setting x = setting("deepseek-v3", "h800-8", 4);
	static const char degrees[] = "parallel_config:\n  data_parallel: 8\n  model_parallel: 4\n"
	                              "  expert_parallel: 8\n";
	static const char own[] = "moe_config:\n  expert_num: 256\n  expert_model_parallel: 1\n"
	                          "parallel_config:\n  model_parallel: 4\n";
	LAUNCH_AUTO same = read_text(&launch_mindformers, &x, 32, degrees, SB_OK);
	LAUNCH_AUTO single = read_text(&launch_mindformers, &x, 32, own, SB_OK);

	(void)state;
	assert_int_equal(same.strategy.ep, 8);
	assert_int_equal(same.strategy.etp, 4);
	assert_int_equal(single.strategy.etp, 1);
}

/* 61 layers and one of multi-token prediction behind them: 15 stages of 3 + 1, 3 - 1 on the last, of which
 * one predicts. */
static void test_prediction_of_mindformers(void **state)
{
	struct setting x = setting("deepseek-v3", "h800-8", 16);
	LAUNCH_AUTO l =
	    read_text(&launch_mindformers, &x, 128,
	              "parallel_config:\n  data_parallel: 8\n  pipeline_stage: 16\n"
	              "  micro_batch_num: 32\n"
	              "model:\n  model_config:\n    num_layers: &num_layers 61\n    mtp_depth: 1\n"
	              "    offset: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1]\n",
	              SB_OK);

	(void)state;
	assert_int_equal(strategy_stage_layers(&l.strategy, 61, 0), 4);
	assert_int_equal(strategy_stage_layers(&l.strategy, 61, 15), 1);
}

static void test_mindformers_refuses(void **state)
{
	static const char *const texts[] = {
	    "parallel_config:\n  data_parallel: *dp\n",
	    "parallel_config:\n  pipeline_stage: 3\nmodel:\n  model_config:\n    offset: 0\n",
	    "parallel_config:\n  pipeline_stage: 4\nmodel:\n  model_config:\n    offset: [1, 0, 0, 0]\n",
	    "parallel_config:\n  pipeline_stage: 4\nmodel:\n  model_config:\n    offset: [0, 0]\n",
	    "parallel_config:\n  pipeline_stage: 4\nmodel:\n  model_config:\n    offset: "
	    "[9223372036854775807, 0, 0, 0]\n",
	    "parallel_config:\n  pipeline_stage: 81\n",
	    "recompute_config:\n  recompute: True\n  select_recompute: True\n",
	    "parallel_config:\n  model_parallel: 8\nmodel:\n  model_config:\n    use_3d_tensor_parallel: "
	    "True\n"
	    "    tp_x: 2\n    tp_y: 2\n",
	    "parallel_config:\n  model_parallel: 8\nmodel:\n  model_config:\n    use_3d_tensor_parallel: "
	    "True\n"
	    "    tp_x: 2\n    tp_y: 2\n    tp_z: 2\n",
	    "parallel_config:\n  pipeline_stage: 2\nrecompute_config:\n  recompute: [41, 0]\n",
	    "parallel_config:\n  data_parallel: 1048576\n  micro_batch_num: 1048576\n  pipeline_stage: 2\n"
	    "micro_batch_interleave_num: 1048576\n",
	};
	struct setting x = setting("llama3-70b", "dgx-h100", 16);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		LAUNCH_AUTO l = read_text(&launch_mindformers, &x, 128, texts[i], SB_EIMPOSSIBLE);

		assert_true(l.devices == 128);
	}
}

/* Shard -1 takes the devices that are left: 128 / (tp 8 x pp 4) = 4, and batches default to 8 a rank. Without
 * a list of parts, 80 layers + embedding + head = 82 = 4 x 20 + 2: 21 - 1, 21, 20, 20 - 1 layers. */
static void test_torchtitan(void **state)
{
	static const char text[] = "[job]\ndump_folder = \"./outputs\"\n"
	                           "[optimizer]\nlr = 1.5e-4\n"
	                           "[training]\nseq_len = 8192\nsteps = 1_000\n"
	                           "[parallelism]\n"
	                           "tensor_parallel_degree = 8\n"
	                           "pipeline_parallel_degree = 4\n"
	                           "enable_async_tensor_parallel = false # later\n"
	                           "[activation_checkpoint]\nmode = 'full'\n";
	const int64_t layers[] = {20, 21, 20, 19};
	struct setting x = setting("llama3-70b", "dgx-h100", 16);
	LAUNCH_AUTO l = read_text(&launch_torchtitan, &x, 128, text, SB_OK);

	(void)state;
	assert_int_equal(l.strategy.dp, 4);
	assert_int_equal(l.strategy.zero, 2); /* "default" keeps a pipeline's weights whole */
	assert_int_equal(l.strategy.micro_batch, 1);
	assert_int_equal(l.sequences, 32);
	assert_int_equal(l.strategy.recompute, RECOMPUTE_FULL);
	assert_true(l.strategy.sequence_parallel);
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(strategy_stage_layers(&l.strategy, 80, i), layers[i]);
}

static void test_torchtitan_refuses(void **state)
{
	static const char *const texts[] = {
	    "[parallelism]\ndata_parallel_replicate_degree = 2\n", /* over the rest it shards */
	    "[parallelism]\ndata_parallel_shard_degree = 0\n",
	    "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"DualPipeV\"\n",
	    "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n",
	    ("[parallelism]\npipeline_parallel_degree = 2\n"
	     "module_fqns_per_model_part = [[\"layers.0\"], [\"layers.1\"]]\n"),
	    "[activation_checkpoint]\nmode = \"memory_budget\"\n",
	    "[model]\nconverters = [\"float8\"]\n",
	};
	struct setting x = setting("llama3-70b", "dgx-h100", 16);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		LAUNCH_AUTO l = read_text(&launch_torchtitan, &x, 128, texts[i], SB_EIMPOSSIBLE);

		assert_true(l.devices == 128);
	}
}

/* What is in a script's environment besides, and replicas out of the devices. */
static void test_environment(void **state)
{
	struct setting x = setting("llama3-70b", "dgx-h100", 16);
	LAUNCH_AUTO l = read_text(&launch_env, &x, 128,
	                          "export MASTER_ADDR=host-0\nexport TP=8\nPP=\"2\"\nSTAGE_LAYERS=41,39\n"
	                          "RECOMPUTE=selective\nSTAGE_RECOMPUTE=41,0\n",
	                          SB_OK);

	(void)state;
	assert_int_equal(l.strategy.dp, 8);
	assert_int_equal(strategy_stage_layers(&l.strategy, 80, 0), 41);
	assert_int_equal(launch_recomputed(&l, 0), 41);
	assert_int_equal(launch_recomputed(&l, 1), 0);
	assert_int_equal(l.sequences, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mindformers),
	    cmocka_unit_test(test_mindformers_refuses),
	    cmocka_unit_test(test_experts_of_mindformers),
	    cmocka_unit_test(test_prediction_of_mindformers),
	    cmocka_unit_test(test_torchtitan),
	    cmocka_unit_test(test_torchtitan_refuses),
	    cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
