/* Real captures of $SIGNALBOX_SHARED: a replay without changes gives the measured times, on each rank. The
 * goal is 2 %; the graph keeps every delay, so that there is nothing to allow. What it calls measured is
 * another matter: that is held to the times which other programs state. */
#include "tests/field/answer.h"
#include "tests/field/bundle.h"
#include "tests/field/samples.h"

#include "profiler/replay.h"

static size_t replayed;

static void unchanged_is_measured(const char *name, struct profile *p)
{
	REPLAY_AUTO g = NULL;
	struct replay_result plain, all;
	struct replay_span *spans = calloc(p->count + 1, sizeof(*spans));
	struct relief *free_host = calloc(p->count + 1, sizeof(*free_host));

	assert_true(spans && free_host);
	assert_int_equal(replay_build(p, &g, NULL), SB_OK);
	if (g) {
		assert_int_equal(replay_run(g, NULL, 0, &plain, spans, NULL), SB_OK);
		assert_true(plain.measured_ns > 0);
		for (size_t i = 0; i < p->count; i++) {
			same(name, "replayed", spans[i].replayed_ns, spans[i].measured_ns);
			free_host[i] = (struct relief){RELIEF_HOST, (uint32_t)i, 0, 0};
		}
		/* without the host's time nothing takes longer */
		assert_int_equal(replay_run(g, free_host, p->count, &all, NULL, NULL), SB_OK);
		assert_true(all.replayed_ns <= plain.measured_ns);
		replayed++;
	}
	free(spans);
	free(free_host);
}

static void a_replay_of_real_captures_gives_the_measured_times(void **state)
{
	(void)state;
	every_sample(unchanged_is_measured);
	/* not those of the host alone, and of tables of sums */
	assert_true(replayed > 40);
}

static void step_is(const char *name, const struct profile *p, double wanted_us)
{
	REPLAY_AUTO g = NULL;
	struct replay_result r;
	double us;

	assert_int_equal(replay_build(p, &g, NULL), SB_OK);
	assert_non_null(g);
	assert_int_equal(replay_run(g, NULL, 0, &r, NULL, NULL), SB_OK);
	us = (double)r.replayed_ns / 1000 / (double)r.steps;
	if (!(fabs(us - wanted_us) <= 0.02 * wanted_us))
		fail_msg("%s: a step of %.3f us, not %.3f", name, us, wanted_us);
}

/* samples/kineto/expected.md, B2: mean step by the TensorBoard plugin. samples/ascend/expected.md, section 1:
 * ProfilerStep#50 of the rank that takes longer. */
static void the_step_is_that_of_other_programs(void **state)
{
	static const struct {
		const char *name, *folder;
		double step_us;
	} FILES[] = {
	    {"samples/kineto/resnet50_nw0_worker0.1623143089861.pt.trace.json.gz", NULL, 177592},
	    {"samples/kineto/resnet50_nw4_worker0.1623212756351.pt.trace.json.gz", NULL, 141068},
	    {"samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz", "level0/", 136897.82},
	    {"samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz", "", 155985.80},
	    {"samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz", "level2/", 148786.10}};

	(void)state;
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
		ANSWER_AUTO x = {0};

		if (FILES[i].folder)
			read_members(FILES[i].name, FILES[i].folder, 2, &x.p);
		else
			answer_of(".", FILES[i].name, &x);
		step_is(FILES[i].name, &x.p, FILES[i].step_us);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_replay_of_real_captures_gives_the_measured_times),
	    cmocka_unit_test(the_step_is_that_of_other_programs),
	};

	return cmocka_run_group_tests_name("replay of real captures", tests, NULL, NULL);
}
