#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "api/plans/strategy_export.h"
#include "tests/setting.h"

/* What of offload each launcher says, and what it refuses: 80 layers, as many micro-batches as stages. */

struct row {
	const char *format;
	int64_t dp, pp;
	int zero;
	enum recompute recompute;
	struct offload offload;
	const char *says; /* NULL = refused */
};

static const struct row rows[] = {
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.optimizer = 0.375}, "--optimizer-offload-fraction 0.375\n"},
    {"megatron", 8, 4, 1, RECOMPUTE_FULL, {.optimizer = 1}, "--use-precision-aware-optimizer\n"},
    /* one replica: the distributed optimizer is no other run, and the plan's level stands in a comment */
    {"megatron", 1, 4, 0, RECOMPUTE_FULL, {.optimizer = 1}, "--use-distributed-optimizer\n"},
    {"megatron", 1, 4, 0, RECOMPUTE_FULL, {.optimizer = 1}, "# plan zero=0: "},
    {"megatron", 8, 1, 0, RECOMPUTE_NONE, {.optimizer = 1}, NULL},
    {"megatron", 8, 1, 3, RECOMPUTE_NONE, {.optimizer = 1}, NULL},
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.gradients = 1}, NULL},
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.weights = 1}, NULL},
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.activations = 0.25}, "--cpu-offloading-num-layers 20\n"},
    /* 24.08 layers; and never all of them */
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.activations = 0.301}, "--cpu-offloading-num-layers 25\n"},
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.activations = 0.301}, "# plan offload.activations=0.301: "},
    {"megatron", 8, 1, 1, RECOMPUTE_NONE, {.activations = 1}, "--cpu-offloading-num-layers 79\n"},
    {"megatron", 8, 2, 1, RECOMPUTE_NONE, {.activations = 1}, NULL},
    {"megatron", 8, 1, 1, RECOMPUTE_SELECTIVE, {.activations = 1}, NULL},
    {"deepspeed", 8, 1, 1, RECOMPUTE_NONE, {.optimizer = 1}, "\"offload_optimizer\": {"},
    {"deepspeed", 8, 4, 1, RECOMPUTE_NONE, {.optimizer = 1}, "\"offload_optimizer\": {"},
    {"deepspeed", 8, 1, 0, RECOMPUTE_NONE, {.optimizer = 1}, NULL},
    {"deepspeed", 1, 1, 0, RECOMPUTE_NONE, {.optimizer = 1}, "\"stage\": 1"},
    {"deepspeed", 8, 1, 2, RECOMPUTE_NONE, {.optimizer = 0.5}, NULL},
    {"deepspeed", 8, 1, 3, RECOMPUTE_NONE, {.optimizer = 0.5}, "\"ratio\": 0.5"},
    {"deepspeed", 8, 1, 2, RECOMPUTE_NONE, {.optimizer = 1}, "\"plan offload.gradients=0: "},
    {"deepspeed", 8, 1, 2, RECOMPUTE_NONE, {.optimizer = 1, .gradients = 1}, "\"device\": \"cpu\""},
    {"deepspeed", 8, 1, 1, RECOMPUTE_NONE, {.optimizer = 1, .gradients = 1}, NULL},
    {"deepspeed", 1, 1, 0, RECOMPUTE_NONE, {.optimizer = 1, .gradients = 1}, "\"stage\": 2"},
    {"deepspeed", 1, 2, 0, RECOMPUTE_NONE, {.optimizer = 1, .gradients = 1}, NULL},
    {"deepspeed", 8, 1, 2, RECOMPUTE_NONE, {.gradients = 1}, NULL},
    {"deepspeed", 8, 1, 3, RECOMPUTE_NONE, {.weights = 1}, "\"offload_param\": {"},
    {"deepspeed", 8, 1, 3, RECOMPUTE_NONE, {.weights = 0.5}, NULL},
    {"deepspeed", 8, 1, 2, RECOMPUTE_NONE, {.weights = 1}, NULL},
    {"deepspeed", 8, 1, 1, RECOMPUTE_FULL, {.activations = 1}, "\"cpu_checkpointing\": true"},
    {"deepspeed", 8, 2, 1, RECOMPUTE_FULL, {.activations = 1}, "\"cpu_checkpointing\": true"},
    {"deepspeed", 8, 1, 1, RECOMPUTE_FULL, {.activations = 0.5}, NULL},
    {"deepspeed", 8, 1, 1, RECOMPUTE_NONE, {.activations = 1}, NULL},
    {"torchtitan", 8, 1, 3, RECOMPUTE_NONE, {1, 1, 1, 0}, "enable_cpu_offload = true\n"},
    {"torchtitan", 8, 1, 3, RECOMPUTE_NONE, {0, 0, 1, 0}, NULL},
    {"torchtitan", 8, 1, 0, RECOMPUTE_NONE, {1, 1, 1, 0}, NULL},
    {"torchtitan", 1, 1, 3, RECOMPUTE_NONE, {1, 1, 1, 0}, NULL},
    {"torchtitan", 8, 1, 3, RECOMPUTE_NONE, {1, 1, 1, 1}, NULL},
    /* a tenth of 4 x 20 layers: the first two of each stage */
    {"mindformers",
     2,
     4,
     1,
     RECOMPUTE_NONE,
     {.activations = 0.1},
     "  swap: True\n  layer_swap: [{backward_prefetch: 1, layers: [0, 1, 20, 21, 40, 41, 60, 61]}]\n"},
    {"mindformers", 8, 1, 1, RECOMPUTE_NONE, {.activations = 0.1}, "ENABLE_LAZY_INLINE_NO_PIPELINE=1"},
    {"mindformers", 8, 1, 1, RECOMPUTE_FULL, {.activations = 0.1}, NULL},
    {"mindformers", 8, 1, 1, RECOMPUTE_NONE, {.optimizer = 0.1}, NULL},
    {"env", 8, 1, 0, RECOMPUTE_NONE, {0.25, 0, 1, 0}, "OFFLOAD_WEIGHTS=0.25\nOFFLOAD_GRADIENTS=0\n"},
};

static void check(const struct setting *x, const struct row *r)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .sequences = r->dp * r->pp};
	struct sb_error err = {0};
	SB_BUF_AUTO text;
	int rc;

	l.strategy = strategy_default(&x->model, &x->cluster);
	l.strategy.dp = r->dp;
	l.strategy.pp = r->pp;
	l.strategy.zero = r->zero;
	l.strategy.recompute = r->recompute;
	l.strategy.offload = r->offload;
	l.devices = strategy_devices(&l.strategy);
	sb_buf_init(&text, 1 << 16);
	rc = launch_write(launch_format_named(r->format), &l, &text, &err);
	if (r->says && (rc != SB_OK || !strstr(text.data, r->says)))
		fail_msg("%s does not say %s: %s%s", r->format, r->says, err.text, rc ? "" : text.data);
	if (!r->says && (rc != SB_EIMPOSSIBLE || strcmp(err.field, "offload") != 0))
		fail_msg("row %td is not refused for its offload: %s", r - rows, err.text);
}

static void test_what_each_launcher_says(void **state)
{
	struct setting x = setting("llama3-70b", "dgx-h100", 4);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&x, &rows[i]);
}

static void test_experts_are_not_swapped(void **state)
{
	struct setting x = setting("deepseek-v3", "h800-8", 4);
	const struct row row = {"mindformers", 8, 1, 1, RECOMPUTE_NONE, {.activations = 0.5}, NULL};

	(void)state;
	check(&x, &row);
}

static void reads(const char *format, const char *text, int rc, struct offload expected)
{
	struct setting x = setting("llama3-70b", "dgx-h100", 1);
	LAUNCH_AUTO l = {.model = &x.model, .cluster = &x.cluster, .devices = 8};
	struct sb_error err = {0};

	if (launch_read(launch_format_named(format), text, strlen(text), &l, &err) != rc)
		fail_msg("%s\n-> %s", text, err.text);
	if (rc != SB_OK)
		return;
	assert_true(l.strategy.offload.weights == expected.weights);
	assert_true(l.strategy.offload.gradients == expected.gradients);
	assert_true(l.strategy.offload.optimizer == expected.optimizer);
	assert_true(l.strategy.offload.activations == expected.activations);
}

/* Defaults and refusals of texts that users wrote. */
static void test_reads_users_texts(void **state)
{
	static const struct offload none;

	(void)state;
	reads("megatron", "--optimizer-cpu-offload", SB_OK, (struct offload){.optimizer = 1});
	reads("megatron", "--optimizer-offload-fraction 0.5", SB_OK, none);
	reads("megatron", "--cpu-offloading-num-layers 0", SB_OK, none);
	reads("megatron", "--cpu-offloading-num-layers 20", SB_OK, (struct offload){.activations = 0.25});
	reads("megatron", "--cpu-offloading-num-layers 80", SB_EIMPOSSIBLE, none);
	reads("megatron", "--optimizer-cpu-offload --optimizer-offload-fraction nan", SB_EIMPOSSIBLE, none);
	reads("megatron", "--optimizer-cpu-offload --optimizer-offload-fraction 1.5", SB_EIMPOSSIBLE, none);
	reads("megatron", "--fine-grained-activation-offloading", SB_EIMPOSSIBLE, none);
	reads("deepspeed",
	      "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"offload_param\": "
	      "{\"device\": \"cpu\"}, \"offload_optimizer\": {\"device\": \"cpu\"}}}",
	      SB_OK, (struct offload){1, 1, 1, 0});
	/* "Only valid with ZeRO Stage 3" */
	reads("deepspeed",
	      "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 2, \"offload_param\": "
	      "{\"device\": \"cpu\"}, \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3}}}",
	      SB_OK, (struct offload){0, 1, 1, 0});
	reads("deepspeed",
	      "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
	      "{\"device\": \"nvme\"}}}",
	      SB_EIMPOSSIBLE, none);
	reads("torchtitan", "[training]\nenable_cpu_offload = true\n", SB_OK, (struct offload){1, 1, 1, 0});
	reads("torchtitan",
	      "[training]\nenable_cpu_offload = true\n[parallelism]\ntensor_parallel_degree = 8\n", SB_OK,
	      none);
	reads("mindformers", "swap_config:\n  swap: False\n  layer_swap: [{layers: [0]}]\n", SB_OK, none);
	/* the default policy swaps one operator of each layer */
	reads("mindformers", "swap_config:\n  swap: True\n", SB_EIMPOSSIBLE, none);
	reads("mindformers", "swap_config:\n  swap: True\n  layer_swap: [{layers: [1, 0]}]\n", SB_EIMPOSSIBLE,
	      none);
	reads("mindformers", "swap_config:\n  swap: True\n  layer_swap: [{layers: [80]}]\n", SB_EIMPOSSIBLE,
	      none);
	reads("env", "DP=8\nOFFLOAD_OPTIMIZER=0.5\n", SB_OK, (struct offload){.optimizer = 0.5});
	reads("env", "DP=8\nOFFLOAD_OPTIMIZER=-0.5\n", SB_EIMPOSSIBLE, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_each_launcher_says),
	    cmocka_unit_test(test_experts_are_not_swapped),
	    cmocka_unit_test(test_reads_users_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
