/* Real Ascend captures of $SIGNALBOX_SHARED through reader and analysis, against sections 1 to 3 of
 * samples/ascend/expected.md. */
#include "tests/field/answer.h"
#include "tests/field/bundle.h"
#include "tests/field/samples.h"

/* samples/ascend/expected.md, section 1: ns. */
static const struct split {
	int64_t rank, compute, exposed, overlap, communication, free, span, preparing, step;
} LEVEL1[] = {{0, 8873756, 101963203, 4028675, 105991878, 25744050, 136581009, 17902502, 155985800},
              {1, 8878295, 96359047, 4016239, 100375286, 26675274, 131912616, 20433190, 153888390}};

static const char *const BUNDLES = "samples/ascend/bundles";
static const char *const LEVEL1_BUNDLE = "pytorch_text_level1_2ranks.tar.gz";

static void an_ascend_step_splits_exactly(void **state)
{
	ANSWER_AUTO x = {0};

	(void)state;
	answer_of(BUNDLES, LEVEL1_BUNDLE, &x);
	assert_int_equal(x.b.count, 4);
	for (size_t i = 0; i < 2; i++) {
		const struct split *s = &LEVEL1[i];

		for (size_t k = 0; k < 2; k++) {
			const struct breakdown_row *r = &x.b.rows[2 * i + k];

			same("rank", "rank", r->rank, s->rank);
			same("row", "step", r->step, k == 0 ? 50 : SB_NULL);
			same("row", "compute", r->compute_ns, s->compute);
			same("row", "exposed", r->exposed_ns, s->exposed);
			same("row", "overlap", r->overlap_ns, s->overlap);
			same("row", "communication", r->communication_ns, s->communication);
			same("row", "free", r->free_ns, s->free);
			same("row", "span", r->span_ns, s->span);
			same("row", "bubble", r->bubble_ns, 0);
			same("row", "busy", r->busy_ns, s->span - s->free);
			same("row", "copy", r->copy_ns, SB_NULL);
		}
		same("row", "preparing", x.b.rows[2 * i].preparing_ns, s->preparing);
		same("row", "step_ns", x.b.rows[2 * i].step_ns, s->step);
	}
}

static void ascend_operators_are_those_of_the_page(void **state)
{
	/* section 2: types of rank 0, us x 1000 */
	static const struct {
		const char *type;
		int64_t count, ns;
	} types[] = {{"ForeachAddList", 3, 1959079},
	             {"TransData", 57, 1423202},
	             {"MatMulV2", 8, 921498},
	             {"Conv2D", 5, 723434},
	             {"Conv2DBackpropFilter", 5, 645433},
	             {"TensorMove", 11, 573790},
	             {"Conv2DBackpropInput", 4, 439589},
	             {"MaxPoolWithArgmaxV1", 3, 409728}};
	ANSWER_AUTO x = {0};
	struct operator_query q = {.rank = 0, .step = 50, .sort = OPERATOR_BY_TOTAL};
	struct operator_line *lines = NULL;
	size_t n = 0, at = 0;
	int64_t compute = 0;

	(void)state;
	answer_of(BUNDLES, LEVEL1_BUNDLE, &x);
	assert_int_equal(operators_select(&x.o, &q, &lines, &n), SB_OK);
	for (size_t i = 0; i < n; i++) {
		if (lines[i].row.klass != OPERATOR_COMPUTE)
			continue;
		compute += lines[i].row.total_ns;
		if (at == sizeof(types) / sizeof(types[0]))
			continue;
		assert_string_equal(sb_strings_get(x.o.strings, lines[i].row.name, NULL), types[at].type);
		same(types[at].type, "count", lines[i].row.count, types[at].count);
		same(types[at].type, "total", lines[i].row.total_ns, types[at].ns);
		at++;
	}
	assert_int_equal(at, sizeof(types) / sizeof(types[0]));
	same("compute", "sum", compute, 8873737);
	free(lines);
}

static void ascend_communication_is_that_of_the_page(void **state)
{
	ANSWER_AUTO x = {0};
	int64_t bytes[2] = {0};

	(void)state;
	answer_of(BUNDLES, LEVEL1_BUNDLE, &x);
	assert_int_equal(x.c.row_count, 8);
	for (size_t i = 0; i < 8; i++)
		bytes[x.c.rows[i].rank] += x.c.rows[i].bytes;
	same("rank 0", "bytes", bytes[0], 427596096);
	same("rank 1", "bytes", bytes[1], 427596096);
	same("first", "bytes", x.c.rows[0].bytes, 28647232);
	assert_int_equal(x.c.domain_count, 1);
	assert_string_equal(sb_strings_get(x.c.strings, x.c.domains[0].group, NULL), "17522688603477080586");
	assert_float_equal(x.c.domains[0].r_wait, 0.022842, 5e-7);
	assert_true(x.c.domains[0].slow_rank == SB_NULL);
}

static void is_operator(const struct answer *x, const struct finding *f, const char *name, double us)
{
	for (size_t i = 0; i < f->operator_count; i++) {
		if (strcmp(sb_strings_get(x->a.strings, f->operators[i], NULL), name) != 0)
			continue;
		assert_float_equal(f->operator_us[i], us, 1e-6);
		return;
	}
	fail_msg("%s is not among the operators", name);
}

static void the_level_1_capture_has_its_findings(void **state)
{
	ANSWER_AUTO x = {0};
	const struct finding *f;

	(void)state;
	answer_of(BUNDLES, LEVEL1_BUNDLE, &x);
	assert_non_null(found(&x, "parallel.poor_overlap", 0));
	assert_non_null(found(&x, "communication.small_packets", 0));
	/* they take 100 ms, but transmit for 3.68335 and 3.85968 ms only: fusing wins a part of that */
	for (size_t i = 0; i < x.a.count; i++)
		if (strcmp(x.a.findings[i].code, "communication.small_packets") == 0 &&
		    x.a.findings[i].gain_ns != SB_NULL)
			assert_in_range(x.a.findings[i].gain_ns, 1, 3859677);
	f = found(&x, "communication.alignment", 0);
	assert_non_null(f);
	assert_int_equal(f->operator_count, 2);
	is_operator(&x, f, "hcom_allReduce__586_0_1", 237.94471875);
	is_operator(&x, f, "hcom_allReduce__586_3_1", 159.06315625);
	f = found(&x, "compute.format_conversion", 0);
	assert_non_null(f);
	is_operator(&x, f, "TransData", 1423.202);
	f = found(&x, "compute.underutilized", 0);
	assert_non_null(f);
	for (size_t i = 0; i < f->evidence_count; i++) {
		if (strcmp(f->evidence[i].metric, "underutilized_kernels") == 0)
			assert_float_equal(f->evidence[i].value, 160, 0);
		if (strcmp(f->evidence[i].metric, "underutilized_us") == 0)
			assert_float_equal(f->evidence[i].value, 4150.103, 1e-6);
	}
	for (size_t i = 0; i < x.a.count; i++)
		if (strcmp(x.a.findings[i].code, "communication.slow_rank") == 0)
			assert_int_equal(x.a.findings[i].confidence, CONFIDENCE_LOW);
	assert_null(found(&x, "compute.aicpu", 0));
	assert_string_equal(x.a.component, "parallel");
}

static void the_level_2_capture_splits_exactly_and_blames_nobody(void **state)
{
	ANSWER_AUTO x = {0};

	(void)state;
	/* both levels are of ranks 0 and 1: the newer capture of a rank is read, which is level 2 */
	answer_of(BUNDLES, "pytorch_text_level0_and_2_2ranks.tar.gz", &x);
	assert_int_equal(x.b.count, 4);
	same("rank 0", "compute", x.b.rows[0].compute_ns, 8868240);
	same("rank 0", "span", x.b.rows[0].span_ns, 129862875);
	same("rank 0", "preparing", x.b.rows[0].preparing_ns, 17483722);
	same("rank 1", "exposed", x.b.rows[2].exposed_ns, 93411782);
	same("rank 1", "span", x.b.rows[2].span_ns, 128755772);
	same("rank 1", "preparing", x.b.rows[2].preparing_ns, 18325460);
	assert_int_equal(x.c.domain_count, 1);
	assert_float_equal(x.c.domains[0].r_wait, 0.008845, 5e-7);
	for (size_t i = 0; i < x.a.count; i++)
		if (strcmp(x.a.findings[i].code, "communication.slow_rank") == 0)
			assert_int_equal(x.a.findings[i].confidence, CONFIDENCE_LOW);
}

static const struct finding *slow_rank_of(const struct answer *x)
{
	for (size_t i = 0; i < x->a.count; i++)
		if (strcmp(x->a.findings[i].code, "communication.slow_rank") == 0)
			return &x->a.findings[i];
	return NULL;
}

/* Section 3: msprof's rule names rank 1 in one capture of the job and rank 0 in another, the paper's nobody;
 * section 5: msprof-analyze names one in level 0 only, by 16.899 ms of uncovered communication. One step of
 * two ranks is no evidence, and the rules contradict each other: each is a hint, never a verdict. */
static void one_step_of_two_ranks_blames_nobody(void **state)
{
	static const struct {
		const char *name, *folder;
		int64_t rank;
	} CAPTURES[] = {{"pytorch_text_level1_2ranks.tar.gz", "", 1},
	                {"pytorch_text_level0_and_2_2ranks.tar.gz", "level2/", 0},
	                {"pytorch_text_level0_and_2_2ranks.tar.gz", "level0/", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(CAPTURES) / sizeof(CAPTURES[0]); i++) {
		char name[128];
		ANSWER_AUTO x = {0};
		const struct finding *f;

		(void)snprintf(name, sizeof(name), "%s/%s", BUNDLES, CAPTURES[i].name);
		read_members(name, CAPTURES[i].folder, 2, &x.p);
		answer_compute(&x);
		f = slow_rank_of(&x);
		assert_non_null(f);
		same(name, "the rank that came last", f->rank, CAPTURES[i].rank);
		assert_int_equal(f->severity, SEVERITY_INFO);
		assert_int_equal(f->confidence, CONFIDENCE_LOW);
		assert_true(f->gain_ns == SB_NULL);
		assert_string_not_equal(x.a.component, "communication");
	}
}

/* Section 6.1: rank 1 communicates least and idles most; Dixon's test does not name it, so that it is weak.
 */
static void look_at_fixtures(const char *name, struct profile *p)
{
	ANSWER_AUTO x = {.p = *p};
	const struct finding *f;

	*p = (struct profile){0};
	answer_compute(&x);
	f = slow_rank_of(&x);
	assert_non_null(f);
	same(name, "slow rank", f->rank, 1);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	/* tiny broadcasts at 2.352 and 2.359 GB/s are no slow link */
	for (size_t i = 0; i < x.a.count; i++)
		assert_string_not_equal(x.a.findings[i].code, "communication.slow_link");
}

/* Section 6.2: across the stages communication differs by 26 % and idle time by 9, within a stage all ranks
 * work alike (0.4 and 0.07 %) and idle alike: nobody is slow. */
static void look_at_stages(const char *name, struct profile *p)
{
	ANSWER_AUTO x = {.p = *p};
	const struct finding *f;

	*p = (struct profile){0};
	answer_compute(&x);
	f = slow_rank_of(&x);
	if (f)
		fail_msg("%s: rank %lld is blamed", name, (long long)f->rank);
	for (size_t i = 0; i < x.a.not_evaluated_count; i++)
		assert_string_not_equal(x.a.not_evaluated[i].code, "communication.slow_rank");
}

static void clusters_name_the_host_of_rank_1_and_nobody(void **state)
{
	(void)state;
	assert_int_equal(look_at("samples/ascend/mpa_fixtures", true, look_at_fixtures), 1);
	assert_int_equal(look_at("samples/ascend/cluster_16ranks_pp2", true, look_at_stages), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_ascend_step_splits_exactly),
	    cmocka_unit_test(ascend_operators_are_those_of_the_page),
	    cmocka_unit_test(ascend_communication_is_that_of_the_page),
	    cmocka_unit_test(the_level_1_capture_has_its_findings),
	    cmocka_unit_test(the_level_2_capture_splits_exactly_and_blames_nobody),
	    cmocka_unit_test(one_step_of_two_ranks_blames_nobody),
	    cmocka_unit_test(clusters_name_the_host_of_rank_1_and_nobody),
	};

	return cmocka_run_group_tests_name("analysis of Ascend captures", tests, NULL, NULL);
}
