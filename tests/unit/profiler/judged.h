#ifndef SB_TESTS_UNIT_PROFILER_JUDGED_H
#define SB_TESTS_UNIT_PROFILER_JUDGED_H
#include "tests/unit/profiler/fixture.h"

#include "profiler/analysis.h"
#include "profiler/operators.h"

/* A profile with everything that is computed from it. */
struct judged {
	struct profile p;
	struct breakdown b;
	struct operator_table o;
	struct communication_report c;
	struct analysis a;
};

static inline void judge_with(struct judged *j, const struct thresholds *t)
{
	COLLECTIVES_AUTO matched = {0};

	assert_int_equal(breakdown_compute(&j->p, &j->p.warnings, &j->b, NULL), SB_OK);
	assert_int_equal(operators_collect(&j->p, &j->o, NULL), SB_OK);
	assert_int_equal(communication_compute(&j->p, threshold_get(t, "r_wait")->value, &j->c, NULL), SB_OK);
	assert_int_equal(collectives_match(&j->p, &matched), SB_OK);
	assert_int_equal(analysis_run(&j->p, &j->b, &j->c, &matched, t, &j->a, NULL), SB_OK);
}

static inline void judge(struct judged *j)
{
	judge_with(j, &THRESHOLDS_DEFAULT);
}

static inline void judged_free(struct judged *j)
{
	analysis_free(&j->a);
	communication_free(&j->c);
	operators_free(&j->o);
	breakdown_free(&j->b);
	profile_free(&j->p);
}
#define JUDGED_AUTO __attribute__((cleanup(judged_free))) struct judged

/* The finding with a code (the first, the worst rank), or NULL. */
static inline const struct finding *found(const struct judged *j, const char *code)
{
	for (size_t i = 0; i < j->a.count; i++)
		if (strcmp(j->a.findings[i].code, code) == 0)
			return &j->a.findings[i];
	return NULL;
}

/* The value of a piece of evidence; the test fails when it is not there. */
static inline double evidence_of(const struct finding *f, const char *metric)
{
	assert_non_null(f);
	for (size_t i = 0; i < f->evidence_count; i++)
		if (strcmp(f->evidence[i].metric, metric) == 0)
			return f->evidence[i].value;
	fail_msg("no evidence %s", metric);
	return NAN;
}

static inline bool left_open(const struct judged *j, const char *code)
{
	for (size_t i = 0; i < j->a.not_evaluated_count; i++)
		if (strcmp(j->a.not_evaluated[i].code, code) == 0)
			return true;
	return false;
}

static inline void is_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.12g is not %.12g", value, expected);
}

/* An Ascend rank of `steps` steps of 1 ms each: compute in the first compute_us of each, communication
 * beside it from from_us to to_us; free time is the rest, up to the end of the step. */
static inline struct capture *make_rank(struct profile *p, int64_t rank, int64_t steps, int64_t compute_us,
                                        int64_t from_us, int64_t to_us)
{
	struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, rank);
	uint32_t lane = add_lane(c, "Overlap Analysis", "", -1);
	int64_t both = to_us < compute_us ? to_us : compute_us, covered = both > from_us ? both - from_us : 0;
	int64_t exposed_from = from_us + covered, busy = to_us > compute_us ? to_us : compute_us;

	for (int64_t s = 0; s < steps; s++) {
		int64_t at = s * 1000000;

		add_step(c, s + 1, at, 1000000);
		add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", at, compute_us * 1000, -1);
		if (to_us > from_us)
			add_event(c, lane, EVENT_LANE_COMMUNICATION, "Communication", at + from_us * 1000,
			          (to_us - from_us) * 1000, -1);
		if (to_us > exposed_from)
			add_event(c, lane, EVENT_LANE_EXPOSED, "Communication(Not Overlapped)",
			          at + exposed_from * 1000, (to_us - exposed_from) * 1000, -1);
		if (busy < 1000)
			add_event(c, lane, EVENT_LANE_FREE, "Free", at + busy * 1000, (1000 - busy) * 1000,
			          -1);
	}
	return c;
}

/* One step of 100 ms on a GPU: kernels 0 to 20 and 60 to 100 ms. */
static inline struct capture *make_gap(struct profile *p, uint32_t *out_host)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0);

	*out_host = add_lane(c, "python", "1", -1);
	add_step(c, 1, 0, 100000000);
	add_event(c, gpu, EVENT_KERNEL, "a", 0, 20000000, -1);
	add_event(c, gpu, EVENT_KERNEL, "b", 60000000, 40000000, -1);
	return c;
}
#endif
