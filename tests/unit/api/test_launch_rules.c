#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "api/plans/strategy_export.h"
#include "tests/setting.h"

/* What launchers ask of a run beyond what any strategy must fulfil: quoted are their own checks. */

struct row {
	const char *format;
	int64_t dp, tp, cp, pp, vpp, ep, etp, sequences;
	int zero;
	const char *says; /* NULL = refused */
};

static void check_grid(const struct setting *x, const struct row *r, int64_t tp_x)
{
	struct launch_plan l = {.model = &x->model, .cluster = &x->cluster, .sequences = r->sequences};
	struct sb_error err = {0};
	SB_BUF_AUTO text;
	int rc;

	l.strategy = strategy_default(&x->model, &x->cluster);
	l.strategy.dp = r->dp;
	l.strategy.tp = r->tp;
	l.strategy.cp = r->cp;
	l.strategy.pp = r->pp;
	l.strategy.vpp = r->vpp;
	l.strategy.ep = r->ep;
	l.strategy.etp = r->etp;
	l.strategy.zero = r->zero;
	l.strategy.sequence_parallel = r->tp > 1;
	l.strategy.tp_x = tp_x;
	l.devices = strategy_devices(&l.strategy);
	sb_buf_init(&text, 1 << 20);
	assert_int_equal(strategy_fit(&x->model, &x->cluster, &l.strategy, l.sequences), FIT_OK);
	rc = launch_write(launch_format_named(r->format), &l, &text, &err);
	if (r->says && (rc != SB_OK || !strstr(text.data, r->says)))
		fail_msg("%s does not say %s: %s%s", r->format, r->says, err.text, rc ? "" : text.data);
	if (!r->says && rc != SB_EIMPOSSIBLE)
		fail_msg("%s does not refuse %lld sequences", r->format, (long long)r->sequences);
}

static void check(const struct setting *x, const struct row *r)
{
	check_grid(x, r, 1);
}

static void test_dense(void **state)
{
	static const struct row rows[] = {
	    /* "DDP has not supported > 1D parallelism": it is sharded, and the plan's level told */
	    {"torchtitan", 8, 2, 1, 1, 1, 1, 1, 8, 0, "data_parallel_shard_degree = 8\n"},
	    {"torchtitan", 8, 2, 1, 1, 1, 1, 1, 8, 0, "# plan zero=0: "},
	    {"torchtitan", 8, 1, 1, 1, 1, 1, 1, 8, 0, "data_parallel_replicate_degree = 8\n"},
	    /* "multiple of the number of rounds": 10 = 2 x 5, 9 = 2 x 4 + 1 micro-batches on 4 stages */
	    {"torchtitan", 1, 1, 1, 4, 1, 1, 1, 9, 0, "\"1F1B\""},
	    {"torchtitan", 1, 1, 1, 4, 2, 1, 1, 10, 0, "\"Interleaved1F1B\""},
	    {"torchtitan", 1, 1, 1, 4, 2, 1, 1, 9, 0, NULL},
	    /* "The remainder of M ... should be 0" */
	    {"megatron", 1, 1, 1, 4, 2, 1, 1, 8, 0, "--num-virtual-stages-per-pipeline-rank 2\n"},
	    {"megatron", 1, 1, 1, 4, 2, 1, 1, 10, 0, NULL},
	    /* micro_batch_num >= pipeline_stage */
	    {"mindformers", 1, 1, 1, 4, 1, 1, 1, 4, 0, "micro_batch_num: 4\n"},
	    {"mindformers", 1, 1, 1, 4, 1, 1, 1, 3, 0, NULL},
	    /* a pipeline's tensors are split by the module's topology */
	    {"deepspeed", 2, 4, 1, 2, 1, 1, 1, 8, 1, "num_pp=2, num_mp=4, num_dp=2"},
	    {"deepspeed", 2, 4, 1, 1, 1, 1, 1, 8, 1, "\"autotp_size\": 4"},
	    /* "Pipeline parallelism does not support overlapped communication, will be disabled." */
	    {"deepspeed", 2, 1, 1, 2, 1, 1, 1, 8, 1, "\"overlap_comm\": false"},
	};
	struct setting x = setting("llama3-70b", "dgx-h100", 64);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&x, &rows[i]);
}

/* MindFormers alone has two dimensions. */
static void test_grids(void **state)
{
	static const struct row rows[] = {
	    {"mindformers", 2, 8, 1, 1, 1, 1, 1, 8, 1,
	     "    use_3d_tensor_parallel: True\n    tp_x: 2\n    tp_y: 4\n    tp_z: 1\n"},
	    {"env", 2, 8, 1, 1, 1, 1, 1, 8, 1, "TP=8\nTP_X=2\n"},
	    {"megatron", 2, 8, 1, 1, 1, 1, 1, 8, 1, NULL},
	    {"deepspeed", 2, 8, 1, 1, 1, 1, 1, 8, 1, NULL},
	    {"torchtitan", 2, 8, 1, 1, 1, 1, 1, 8, 1, NULL},
	};
	struct setting x = setting("llama3-70b", "dgx-h100", 64);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_grid(&x, &rows[i], 2);
}

/* "Weight tying is not supported with Pipeline Parallel." */
static void test_tied_embeddings_of_torchtitan(void **state)
{
	static const struct row staged = {"torchtitan", 1, 1, 1, 4, 1, 1, 1, 8, 0, NULL};
	static const struct row whole = {"torchtitan", 1, 1, 1, 1, 1, 1, 1, 8, 0, "[parallelism]\n"};
	struct setting x = setting("llama3-70b", "dgx-h100", 64);

	(void)state;
	x.model.tied_embedding = true;
	check(&x, &staged);
	check(&x, &whole);
}

/* seq_len_divisor = tp * (cp * 2), whatever cp is. */
static void test_sequences_of_torchtitan(void **state)
{
	static const struct row row = {"torchtitan", 1, 8, 1, 1, 1, 1, 1, 8, 0, NULL};
	struct setting x = setting("llama3-70b", "dgx-h100", 64);

	(void)state;
	x.model.seq_len = 8192 + 8;
	check(&x, &row);
}

static void test_experts(void **state)
{
	static const struct row rows[] = {
	    /* etp = tp: "ep % cp == 0 and (dp_shard * cp) % ep == 0" */
	    {"torchtitan", 8, 2, 2, 1, 1, 4, 2, 8, 1, "expert_parallel_degree = 4\n"},
	    {"torchtitan", 8, 2, 4, 1, 1, 2, 2, 8, 1, NULL},
	    /* etp = 1: "ep % (cp * tp) == 0 and (dp_shard * cp * tp) % ep == 0" */
	    {"torchtitan", 8, 2, 2, 1, 1, 8, 1, 8, 1, "expert_parallel_degree = 8\n"},
	    {"torchtitan", 8, 4, 2, 1, 1, 4, 1, 8, 1, NULL},
	    /* "expert_model_parallel must be 1 or model_parallel if is not none" */
	    {"mindformers", 8, 4, 1, 1, 1, 2, 4, 8, 1, "moe_config:\n  expert_model_parallel: 4\n"},
	    {"mindformers", 8, 4, 1, 1, 1, 2, 2, 8, 1, NULL},
	    /* "data parallel * context parallel must be a multiple of expert_parallel" */
	    {"mindformers", 8, 4, 1, 1, 1, 8, 1, 8, 1, "  expert_model_parallel: 1\n"},
	    {"mindformers", 8, 4, 1, 1, 1, 16, 1, 8, 1, NULL},
	};
	struct setting x = setting("deepseek-v3", "h800-8", 64);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&x, &rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dense),
	    cmocka_unit_test(test_grids),
	    cmocka_unit_test(test_tied_embeddings_of_torchtitan),
	    cmocka_unit_test(test_sequences_of_torchtitan),
	    cmocka_unit_test(test_experts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
