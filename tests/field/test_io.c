/* Where the input is the bottleneck: values of samples/ascend/expected.md 8.2 and 8.3, and of
 * samples/kineto/expected.md B2. */
#include "tests/field/answer.h"
#include "tests/field/bundle.h"

#define RUNS "samples/ascend/bundles/mindinsight_runs.tar.gz"

static bool no_io(const struct answer *x)
{
	for (size_t i = 0; i < x->a.count; i++)
		if (strncmp(x->a.findings[i].code, "io.", 3) == 0)
			return false;
	return true;
}

static double evidence_of(const struct finding *f, const char *metric)
{
	assert_non_null(f);
	for (size_t i = 0; i < f->evidence_count; i++)
		if (strcmp(f->evidence[i].metric, metric) == 0)
			return f->evidence[i].value;
	fail_msg("no evidence %s", metric);
	return NAN;
}

static bool open_question(const struct answer *x, const char *code)
{
	for (size_t i = 0; i < x->a.not_evaluated_count; i++)
		if (strcmp(x->a.not_evaluated[i].code, code) == 0)
			return true;
	return false;
}

/* 8.3: 85.84 ms of 130.4 are waiting. The queue on the host is empty at its one look, the readers' queues
 * never: the operators between them are slow. One look is weak evidence. */
static void the_resource_profiler_is_bound_by_processing(void **state)
{
	ANSWER_AUTO x = {0};
	const struct finding *f;

	(void)state;
	read_members(RUNS, "utils/resource/profiler/", 10, &x.p);
	answer_compute(&x);
	assert_string_equal(x.a.component, "io");
	f = found(&x, "io.processing", 0);
	assert_true(fabs(evidence_of(f, "iteration_interval_us") - 85840) < 5);
	assert_true(evidence_of(f, "host_queue_empty_share") == 1);
	assert_true(evidence_of(f, "data_queue_empty_share") == 0);
	/* half a millisecond of each of the 20 intervals is no waiting; 69 % without step 1 */
	assert_true(f->share_of_step > 0.67 && f->share_of_step < 0.69);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	assert_false(open_question(&x, "io.processing") || open_question(&x, "io.reading"));
}

/* 8.2: MindInsight's rule says data processing (its device queue, the paper's Host Queue, is empty), the
 * paper's says nothing is wrong: what has reached the device was 3, 2 and 1, never 0. */
static void run_2_has_no_bottleneck_by_the_papers_rule(void **state)
{
	ANSWER_AUTO x = {0};

	(void)state;
	read_members(RUNS, "utils/resource/run_2/", 10, &x.p);
	answer_compute(&x);
	assert_true(no_io(&x));
	assert_false(open_question(&x, "io.reading") || open_question(&x, "io.processing"));
}

/* 8.1: the mean interval is 0.203 ms. */
static void run_1_does_not_wait(void **state)
{
	ANSWER_AUTO x = {0};

	(void)state;
	read_members(RUNS, "utils/resource/run_1/", 10, &x.p);
	answer_compute(&x);
	assert_true(no_io(&x));
}

/* B2: the loader without workers takes 33.37 % of the steps, 59,262 us of each; with four workers 1,186. */
static void workers_cure_the_loader(void **state)
{
	ANSWER_AUTO alone = {0};
	ANSWER_AUTO workers = {0};
	const struct finding *f;

	(void)state;
	answer_of("samples/kineto", "resnet50_nw0_worker0.1623143089861.pt.trace.json.gz", &alone);
	f = found(&alone, "io.loading", SB_NULL);
	assert_non_null(f);
	assert_string_equal(alone.a.component, "io");
	/* of the 996,477 us from the first to the last work of the device it idles 286,877 while the loader
	 * runs (intersected by a script); the plugin counts all of the loader's time, also before that */
	assert_true(evidence_of(f, "device_idle_while_loading_us") == 286877);
	assert_true(fabs(f->share_of_step - 286877.0 / 996477) < 1e-9);
	/* the longest of six calls lasts 73,418 us; its operators 142,896 us of the 415,791 of all (summed up
	 * from the trace by a script) */
	assert_true(evidence_of(f, "longest_dataloader_us") == 73418);
	assert_true(evidence_of(f, "calls_without_workers") == 6);
	assert_true(fabs(evidence_of(f, "operators_in_loader_share") - 142896.0 / 415791) < 1e-9);
	answer_of("samples/kineto", "resnet50_nw4_worker0.1623212756351.pt.trace.json.gz", &workers);
	assert_true(no_io(&workers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_resource_profiler_is_bound_by_processing),
	    cmocka_unit_test(run_2_has_no_bottleneck_by_the_papers_rule),
	    cmocka_unit_test(run_1_does_not_wait),
	    cmocka_unit_test(workers_cure_the_loader),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
