/* Real captures of $SIGNALBOX_SHARED: a replay without changes gives the measured times, on each rank. The
 * goal is 2 %; the graph keeps every delay, so that there is nothing to allow. */
#include "tests/field/answer.h"

#include "profiler/replay.h"

static const char *const FILES[] = {"kineto/backward_thread.json",
                                    "kineto/compare_base.json.gz",
                                    "kineto/cp_alexnet.json.gz",
                                    "kineto/cp_event_sync.json.gz",
                                    "kineto/cp_event_sync_multi_stream.json.gz",
                                    "kineto/cp_simple_add.json.gz",
                                    "kineto/df_index_resolver_rank1.json.gz",
                                    "kineto/diff_control.json.gz",
                                    "kineto/nccl_data.json.gz",
                                    "kineto/sampled_rank0.json.gz",
                                    "kineto/resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
                                    "kineto/resnet50_nw4_worker0.1623212756351.pt.trace.json.gz",
                                    "kineto/h100_bert.json.gz",
                                    "kineto/mi300_bert.json.gz",
                                    "kineto/mi300_resnet_ddp.json.gz",
                                    "kineto/torch_compile_triton.json.gz",
                                    "kineto/vllm_decode_full_graph.json.gz",
                                    "nsys/h100_2gpu_1s.sqlite.gz",
                                    "nsys/healthy_1pct.sqlite",
                                    "ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz",
                                    "ascend/bundles/pytorch_text_level1_2ranks.tar.gz",
                                    "ascend/bundles/pytorch_db_level012_2ranks.tar.gz"};

static void unchanged_is_measured(const char *name)
{
	ANSWER_AUTO x = {0};
	REPLAY_AUTO g = NULL;
	struct replay_result plain, all;
	struct replay_span *spans;
	struct relief *free_host;

	answer_of("samples", name, &x);
	spans = calloc(x.p.count + 1, sizeof(*spans));
	free_host = calloc(x.p.count + 1, sizeof(*free_host));
	assert_true(spans && free_host);
	assert_int_equal(replay_build(&x.p, &g, NULL), SB_OK);
	assert_non_null(g);
	assert_int_equal(replay_run(g, NULL, 0, &plain, spans, NULL), SB_OK);
	assert_true(plain.measured_ns > 0);
	for (size_t i = 0; i < x.p.count; i++) {
		same(name, "replayed", spans[i].replayed_ns, spans[i].measured_ns);
		free_host[i] = (struct relief){RELIEF_HOST, (uint32_t)i, 0, 0};
	}
	/* without the host's time nothing takes longer */
	assert_int_equal(replay_run(g, free_host, x.p.count, &all, NULL, NULL), SB_OK);
	assert_true(all.replayed_ns <= plain.measured_ns);
	free(spans);
	free(free_host);
}

static void a_replay_of_real_captures_gives_the_measured_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
		unchanged_is_measured(FILES[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_replay_of_real_captures_gives_the_measured_times),
	};

	return cmocka_run_group_tests_name("replay of real captures", tests, NULL, NULL);
}
