#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/network/gradient_fusion.h"

#define MOST 12

static uint64_t seed = 20250707;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 33;
}

static int64_t from_to(int64_t low, int64_t high)
{
	return low + (int64_t)(next_random() % (uint64_t)(high - low + 1));
}

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-15;
}

static struct fusion_time score(const struct fusion_problem *p, const struct fusion_plan *plan)
{
	struct fusion_time t;

	assert_int_equal(fusion_evaluate(p, plan, &t, NULL), SB_OK);
	return t;
}

static double optimal_end(const struct fusion_problem *p, size_t *out_segments)
{
	FUSION_PLAN_AUTO plan = {0};
	int64_t weighed = 0;

	assert_int_equal(fusion_optimal(p, &plan, &weighed), SB_OK);
	assert_true(weighed >= (int64_t)p->count);
	if (out_segments)
		*out_segments = plan.count;
	return score(p, &plan).end_seconds;
}

static double greedy_end(const struct fusion_problem *p)
{
	FUSION_PLAN_AUTO plan = {0};

	assert_int_equal(fusion_greedy(p, &plan), SB_OK);
	return score(p, &plan).end_seconds;
}

static double bucket_end(const struct fusion_problem *p, int64_t bytes)
{
	FUSION_PLAN_AUTO plan = {0};

	assert_int_equal(fusion_buckets(p, bytes, &plan), SB_OK);
	return score(p, &plan).end_seconds;
}

/* Each of the 2^(n-1) ways to cut; the recurrence is written out again, without the code under test. */
static double brute_force(const struct fusion_problem *p)
{
	double best = INFINITY;

	if (p->count < 1 || p->count > MOST)
		return NAN;
	for (uint32_t cuts = 0; cuts < (uint32_t)1 << (p->count - 1); cuts++) {
		double ready = 0, end = 0;
		int64_t bytes = 0;
		bool allowed = true;
		size_t held = 0;

		for (size_t i = 0; i < p->count; i++) {
			ready += p->gradients[i].backward_seconds;
			bytes += p->gradients[i].bytes;
			held++;
			if (i + 1 < p->count && !(cuts >> i & 1))
				continue;
			allowed = allowed && (held == 1 || bytes <= p->max_segment_bytes);
			end = (ready > end ? ready : end) + curve_seconds(&p->cost, (double)bytes);
			bytes = 0;
			held = 0;
		}
		if (allowed && end < best)
			best = end;
	}
	return best;
}

/* A curve with up to six sizes, sometimes with latency, often neither sub- nor superadditive. */
static void random_curve(struct collective_curve *out)
{
	struct curve_row rows[6];
	size_t n = (size_t)from_to(1, 6);
	int64_t seconds = from_to(0, 40);

	if (from_to(0, 2) == 0) {
		assert_int_equal(curve_from_link((double)from_to(0, 20), (double)from_to(1, 10), out, NULL),
		                 SB_OK);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		seconds += from_to(-3, 30);
		seconds = seconds < 0 ? 0 : seconds;
		rows[i] = (struct curve_row){from_to(1, 200), (double)seconds};
	}
	assert_int_equal(curve_from_rows(rows, n, out, NULL), SB_OK);
}

static void random_problem(struct fusion_gradient *g, size_t most, struct fusion_problem *out)
{
	size_t n = (size_t)from_to(1, (int64_t)most);
	int64_t compute = from_to(0, 30);

	for (size_t i = 0; i < n; i++)
		g[i] = (struct fusion_gradient){from_to(1, 60), (double)from_to(0, compute)};
	*out = (struct fusion_problem){.gradients = g, .count = n, .max_segment_bytes = INT64_MAX};
	if (from_to(0, 2) == 0)
		out->max_segment_bytes = from_to(1, 150);
	random_curve(&out->cost);
	assert_int_equal(fusion_check(out, NULL), SB_OK);
}

static void test_optimum_equals_brute_force(void **state)
{
	int better_than_greedy = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct fusion_gradient g[MOST];
		struct fusion_problem p;
		double best, greedy;

		random_problem(g, MOST, &p);
		best = optimal_end(&p, NULL);
		greedy = greedy_end(&p);
		if (!close_to(best, brute_force(&p)))
			fail_msg("round %d: %.17g, by brute force %.17g", round, best, brute_force(&p));
		if (greedy < best && !close_to(greedy, best))
			fail_msg("round %d: greedy %.17g beats %.17g", round, greedy, best);
		better_than_greedy += best < greedy && !close_to(greedy, best);
		curve_clear(&p.cost);
	}
	/* the greedy search is no exact one: the comparison has seen both cases */
	assert_true(better_than_greedy > 50 && better_than_greedy < 2950);
}

/* The same recurrence over all prefixes, O(n^2), for sizes that brute force cannot reach. */
static double plain_dp(const struct fusion_problem *p)
{
	double *end = calloc(p->count + 1, sizeof(*end)), ready = 0, last;

	assert_non_null(end);
	for (size_t j = 1; j <= p->count; j++) {
		int64_t bytes = 0;

		ready += p->gradients[j - 1].backward_seconds;
		end[j] = INFINITY;
		for (size_t i = j; i-- > 0;) {
			bytes += p->gradients[i].bytes;
			if (j - i > 1 && bytes > p->max_segment_bytes)
				break;
			end[j] = fmin(end[j], fmax(ready, end[i]) + curve_seconds(&p->cost, (double)bytes));
		}
	}
	last = end[p->count];
	free(end);
	return last;
}

static void test_optimum_equals_the_plain_recurrence(void **state)
{
	struct fusion_gradient g[400];

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct fusion_problem p;
		double best, plain;

		random_problem(g, 400, &p);
		best = optimal_end(&p, NULL);
		plain = plain_dp(&p);
		if (!close_to(best, plain))
			fail_msg("round %d, %zu gradients: %.17g, not %.17g", round, p.count, best, plain);
		curve_clear(&p.cost);
	}
}

/* By hand: f(v) = 1 + v/10. Ready at 1, 2, 3, 4 with 10 bytes each: apart, the ends are 3, 5, 7, 9. The last
 * all-reduce starts at 4 or later. One segment: 4 + 5 = 9. {1}{2..4}: 3, then 4 + 4 = 8. {1,2}{3,4}: 2 + 3 =
 * 5, then 5 + 3 = 8. {1}{2}{3,4}: 5, 5 + 3 = 8. {1,2,3}{4}: 3 + 4 = 7, 7 + 2 = 9. So 8. */
static void test_by_hand(void **state)
{
	const struct fusion_gradient g[] = {{10, 1}, {10, 1}, {10, 1}, {10, 1}};
	struct fusion_problem p = {.gradients = g, .count = 4, .max_segment_bytes = INT64_MAX};
	struct fusion_event events[4];
	FUSION_PLAN_AUTO none = {0};
	struct fusion_time t;
	size_t segments;

	(void)state;
	assert_int_equal(curve_from_link(1, 10, &p.cost, NULL), SB_OK);
	assert_true(close_to(optimal_end(&p, &segments), 8));
	assert_int_equal(segments, 2); /* not three, which end as early */
	assert_true(close_to(bucket_end(&p, 1), 9));
	assert_true(close_to(bucket_end(&p, INT64_MAX), 9));
	/* 2 joins 1: fused it ends at 2 + 3 = 5, and apart the third would start at 5. So does 3: 3 + 4 = 7,
	 * and apart the fourth would start at 7. So does 4: 4 + 5 = 9, as apart. */
	assert_true(close_to(greedy_end(&p), 9));
	assert_int_equal(fusion_buckets(&p, 1, &none), SB_OK);
	assert_int_equal(fusion_evaluate(&p, &none, &t, events), SB_OK);
	assert_true(close_to(t.compute_seconds, 4) && close_to(t.communication_seconds, 8));
	assert_true(close_to(events[3].ready_seconds, 4) && close_to(events[3].start_seconds, 7));
	assert_int_equal(events[3].bytes, 10);
	p.max_segment_bytes = 25;
	assert_true(close_to(optimal_end(&p, NULL), 8));
	p.max_segment_bytes = 15;
	assert_true(close_to(optimal_end(&p, NULL), 9));
	p.max_segment_bytes = 1; /* each is larger: each goes alone */
	assert_true(close_to(optimal_end(&p, NULL), 9));
	curve_clear(&p.cost);
}

static void test_scaling_and_monotonicity(void **state)
{
	struct fusion_gradient g[60], scaled[60];

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct fusion_problem p, q, fewer;
		double best;

		random_problem(g, 60, &p);
		q = p;
		q.gradients = scaled;
		for (size_t i = 0; i < p.count; i++)
			scaled[i] = (struct fusion_gradient){g[i].bytes, g[i].backward_seconds * 1024};
		q.cost.pieces = calloc(p.cost.count, sizeof(*q.cost.pieces));
		assert_non_null(q.cost.pieces);
		for (size_t i = 0; i < p.cost.count; i++)
			q.cost.pieces[i] =
			    (struct curve_piece){p.cost.pieces[i].from_bytes, p.cost.pieces[i].seconds * 1024,
			                         p.cost.pieces[i].slope * 1024};
		best = optimal_end(&p, NULL);
		/* a power of two changes no digit */
		assert_true(optimal_end(&q, NULL) == best * 1024);
		/* a gradient fewer, less compute, or a looser bound never ends later */
		fewer = p;
		fewer.count = p.count > 1 ? p.count - 1 : 1;
		assert_true(optimal_end(&fewer, NULL) <= best * (1 + 1e-12));
		fewer = p;
		fewer.max_segment_bytes = INT64_MAX;
		assert_true(optimal_end(&fewer, NULL) <= best * (1 + 1e-12));
		for (size_t i = 0; i < p.count; i++)
			scaled[i] = (struct fusion_gradient){g[i].bytes, g[i].backward_seconds / 2};
		fewer = p;
		fewer.gradients = scaled;
		assert_true(optimal_end(&fewer, NULL) <= best * (1 + 1e-12));
		free(q.cost.pieces);
		curve_clear(&p.cost);
	}
}

/* What the paper reports of its controls, as shapes: small packets gain, large packets gain little, and where
 * backward hides the communication the step stays as it is though there are fewer all-reduces. */
static void test_the_papers_controls(void **state)
{
	struct fusion_gradient g[64];
	struct fusion_problem p = {.gradients = g, .count = 64, .max_segment_bytes = INT64_MAX};
	size_t segments;

	(void)state;
	assert_int_equal(curve_from_link(200e-6, 20e9, &p.cost, NULL), SB_OK);
	for (int i = 0; i < 64; i++)
		g[i] = (struct fusion_gradient){1 << 20, 20e-6};
	/* apart at least 64 x 252 us; together 1.3 ms of backward and 3.6 ms */
	assert_true(bucket_end(&p, 1) > 64 * 252e-6);
	assert_true(optimal_end(&p, NULL) < 64 * 20e-6 + 200e-6 + 64 * 53e-6);
	for (int i = 0; i < 64; i++)
		g[i].bytes = (int64_t)1 << 28; /* 13.4 ms each: the latency is 1.5% of it */
	assert_true(bucket_end(&p, 1) / optimal_end(&p, NULL) < 1.02);
	for (int i = 0; i < 64; i++)
		g[i] = (struct fusion_gradient){1 << 20, 300e-6}; /* longer than its all-reduce of 252 us */
	assert_true(bucket_end(&p, 1) / optimal_end(&p, &segments) < 1.02);
	assert_true(segments < 64);
	curve_clear(&p.cost);
}

static void test_best_bucket(void **state)
{
	struct fusion_gradient g[64];
	struct fusion_problem p = {.gradients = g, .count = 64, .max_segment_bytes = INT64_MAX};
	struct fusion_time t;
	int64_t bytes = 0;

	(void)state;
	assert_int_equal(curve_from_link(200e-6, 20e9, &p.cost, NULL), SB_OK);
	for (int i = 0; i < 64; i++)
		g[i] = (struct fusion_gradient){1 << 20, 100e-6};
	assert_int_equal(fusion_best_bucket(&p, &bytes, &t), SB_OK);
	assert_true(close_to(t.end_seconds, bucket_end(&p, bytes)));
	for (int64_t size = 1024; size <= (int64_t)1 << 30; size *= 2)
		assert_true(t.end_seconds <= bucket_end(&p, size) * (1 + 1e-12));
	assert_true(optimal_end(&p, NULL) <= t.end_seconds * (1 + 1e-12));
	p.max_segment_bytes = 1 << 20;
	assert_int_equal(fusion_best_bucket(&p, &bytes, &t), SB_OK);
	assert_true(bytes <= 1 << 20);
	curve_clear(&p.cost);
}

/* Bound by communication, with the largest table: every prefix stays in the race. */
static void test_many_gradients_stay_fast(void **state)
{
	const size_t n = FUSION_GRADIENTS_MAX;
	struct fusion_gradient *g = calloc(n, sizeof(*g));
	struct curve_row rows[100];
	struct fusion_problem p = {.gradients = g, .count = n, .max_segment_bytes = INT64_MAX};
	clock_t began;

	(void)state;
	assert_non_null(g);
	for (size_t i = 0; i < n; i++)
		g[i] = (struct fusion_gradient){from_to(1, 1 << 22), 1e-9};
	for (int i = 0; i < 100; i++)
		rows[i] = (struct curve_row){(int64_t)(i + 1) << 24, 1e-3 + 1e-3 * sqrt(i)};
	assert_int_equal(curve_from_rows(rows, 100, &p.cost, NULL), SB_OK);
	began = clock();
	assert_true(optimal_end(&p, NULL) <= greedy_end(&p) * (1 + 1e-12));
	assert_true(clock() - began <
	            5 * CLOCKS_PER_SEC); /* sanitizers included; the square of n would take minutes */
	curve_clear(&p.cost);
	free(g);
}

static void refuses(const struct fusion_problem *p, const char *field)
{
	struct sb_error err = {0};

	assert_int_equal(fusion_check(p, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, field);
}

static void test_hostile(void **state)
{
	struct fusion_gradient g[] = {{1, 0}, {5, 1}};
	struct fusion_problem p = {.gradients = g, .count = 2, .max_segment_bytes = 10};
	struct fusion_segment hole[] = {{0, 1}, {2, 1}}, too_long[] = {{0, 3}}, large[] = {{0, 2}};
	struct fusion_time t;

	(void)state;
	assert_int_equal(fusion_check(&p, NULL), SB_OK);
	p.count = 0;
	refuses(&p, "gradients");
	p.count = (size_t)FUSION_GRADIENTS_MAX + 1;
	refuses(&p, "gradients");
	p.count = 2;
	g[1].backward_seconds = NAN;
	refuses(&p, "gradients/1/backward_seconds");
	g[1].backward_seconds = -1;
	refuses(&p, "gradients/1/backward_seconds");
	g[1] = (struct fusion_gradient){0, 1};
	refuses(&p, "gradients/1/bytes");
	g[1].bytes = INT64_MAX;
	refuses(&p, "gradients/1/bytes");
	g[1].bytes = 5;
	p.max_segment_bytes = 0;
	refuses(&p, "max_segment_bytes");
	assert_int_equal(curve_from_link(0, 1, &p.cost, NULL), SB_OK);
	assert_int_equal(fusion_evaluate(&p, &(struct fusion_plan){hole, 2}, &t, NULL), SB_EINVAL);
	assert_int_equal(fusion_evaluate(&p, &(struct fusion_plan){hole, 1}, &t, NULL), SB_EINVAL);
	assert_int_equal(fusion_evaluate(&p, &(struct fusion_plan){too_long, 1}, &t, NULL), SB_EINVAL);
	p.max_segment_bytes = 5;
	assert_int_equal(fusion_evaluate(&p, &(struct fusion_plan){large, 1}, &t, NULL), SB_EINVAL);
	curve_clear(&p.cost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_optimum_equals_brute_force),
	    cmocka_unit_test(test_optimum_equals_the_plain_recurrence),
	    cmocka_unit_test(test_by_hand),
	    cmocka_unit_test(test_scaling_and_monotonicity),
	    cmocka_unit_test(test_the_papers_controls),
	    cmocka_unit_test(test_best_bucket),
	    cmocka_unit_test(test_many_gradients_stay_fast),
	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
