#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/gradient_fusion.h"
#include "api/plans/plans.h"

#define FUSION(gradients, cost, more)                                                                        \
	"{\"kind\":\"gradient-fusion\",\"gradients\":" gradients ",\"cost\":" cost more "}"
#define LINK "{\"latency_seconds\":1,\"bytes_per_second\":10}"
#define FOUR                                                                                                 \
	"[{\"name\":\"a\",\"bytes\":10,\"backward_seconds\":1},{\"bytes\":10,\"backward_seconds\":1},"       \
	"{\"bytes\":10,\"backward_seconds\":1},{\"bytes\":10,\"backward_seconds\":1}]"

static json_t *solve(json_t *request, struct sb_error *err)
{
	const struct plan_lookup lookup = {0};
	json_t *answer = NULL;

	*err = (struct sb_error){0};
	if (plan_solve(&lookup, request, &answer, NULL, err) != SB_OK)
		assert_null(answer);
	return answer;
}

static json_t *solve_text(const char *text, struct sb_error *err)
{
	JSON_AUTO request = json_loads(text, 0, NULL);

	assert_non_null(request);
	return solve(request, err);
}

static void refuses(const char *text, int code, const char *pointer)
{
	struct sb_error err;
	JSON_AUTO answer = solve_text(text, &err);

	assert_null(answer);
	if (err.code != code || strcmp(err.field, pointer) != 0)
		fail_msg("code %d at %s (%s), wanted %d at %s for %s", err.code, err.field, err.text, code,
		         pointer, text);
}

static double number(const json_t *v, const char *a, const char *b)
{
	const json_t *x = json_object_get(json_object_get(v, a), b);

	assert_true(json_is_number(x));
	return json_number_value(x);
}

static const json_t *alternative(const json_t *answer, const char *rule)
{
	const json_t *list = json_object_get(answer, "alternatives");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *a = json_array_get(list, i);

		if (strcmp(json_string_value(json_object_get(json_object_get(a, "solution"), "rule")),
		           rule) == 0)
			return a;
	}
	return NULL;
}

/* f(v) = 1 + v/10, four times 10 bytes, ready at 1, 2, 3, 4: apart and all in one end at 9, the paper's
 * greedy search ends at 9 too, two segments of two at 8 (tests/unit/planner/test_gradient_fusion.c). */
static void test_answer(void **state)
{
	struct sb_error err;
	JSON_AUTO answer = solve_text(FUSION(FOUR, LINK, ""), &err);
	const json_t *segments, *one;
	json_int_t next = 0;

	(void)state;
	assert_non_null(answer);
	assert_string_equal(json_string_value(json_object_get(answer, "method")), "optimal");
	assert_true(fabs(number(answer, "predicted", "end_seconds") - 8) < 1e-9);
	assert_true(fabs(number(answer, "predicted", "compute_seconds") - 4) < 1e-9);
	assert_true(fabs(number(answer, "predicted", "communication_seconds") - 6) < 1e-9);
	assert_true(fabs(number(answer, "predicted", "communication_exposed_seconds") - 4) < 1e-9);
	assert_true(fabs(number(answer, "predicted", "speedup_over_none") - 9. / 8) < 1e-9);
	assert_true(json_is_true(json_object_get(json_object_get(answer, "quality"), "optimal")));
	assert_true(number(answer, "quality", "gap") == 0);
	assert_true(number(answer, "quality", "lower_bound") <= number(answer, "predicted", "end_seconds"));
	segments = json_object_get(json_object_get(answer, "solution"), "segments");
	assert_int_equal(json_array_size(segments), 2);
	for (size_t i = 0; i < 2; i++) {
		const json_t *s = json_array_get(segments, i);

		assert_int_equal(json_integer_value(json_object_get(s, "first")), next);
		next += json_integer_value(json_object_get(s, "count"));
	}
	assert_int_equal(next, 4);
	one = json_array_get(json_object_get(json_object_get(answer, "predicted"), "segments"), 1);
	assert_true(fabs(json_number_value(json_object_get(one, "end_seconds")) - 8) < 1e-9);
	assert_int_equal(json_array_size(json_object_get(answer, "alternatives")), 4);
	assert_true(fabs(json_number_value(json_object_get(alternative(answer, "none"), "loses_by")) -
	                 1. / 8) < 1e-9);
	assert_true(fabs(json_number_value(json_object_get(alternative(answer, "greedy"), "loses_by")) -
	                 1. / 8) < 1e-9);
	assert_int_equal(json_array_size(json_object_get(answer, "warnings")), 0);
	assert_string_equal(
	    json_string_value(json_object_get(
	        json_array_get(json_object_get(json_object_get(answer, "problem"), "gradients"), 0), "name")),
	    "a");
}

static void test_greedy_is_held_against_the_optimum(void **state)
{
	struct sb_error err;
	JSON_AUTO answer = solve_text(FUSION(FOUR, LINK, ",\"method\":\"greedy\""), &err);

	(void)state;
	assert_non_null(answer);
	assert_string_equal(json_string_value(json_object_get(answer, "method")), "greedy");
	assert_true(fabs(number(answer, "predicted", "end_seconds") - 9) < 1e-9);
	assert_true(json_is_false(json_object_get(json_object_get(answer, "quality"), "optimal")));
	assert_true(fabs(number(answer, "quality", "lower_bound") - 8) < 1e-9);
	assert_true(fabs(number(answer, "quality", "gap") - 1. / 9) < 1e-9);
	assert_true(json_number_value(json_object_get(alternative(answer, "optimal"), "loses_by")) < 0);
}

static bool warns(const json_t *answer, const char *code)
{
	const json_t *list = json_object_get(answer, "warnings");

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "code")), code) == 0)
			return true;
	}
	return false;
}

static void test_bounds_and_tables(void **state)
{
	struct sb_error err;
	JSON_AUTO bounded = solve_text(FUSION(FOUR, LINK, ",\"max_segment_bytes\":15"), &err);
	JSON_AUTO single = solve_text(FUSION(FOUR, LINK, ",\"max_segment_bytes\":9"), &err);
	JSON_AUTO table = solve_text(FUSION(FOUR,
	                                    "[{\"bytes\":20,\"seconds\":3},{\"bytes\":10,\"seconds\":4},"
	                                    "{\"bytes\":10,\"seconds\":4}]",
	                                    ""),
	                             &err);
	JSON_AUTO beyond = solve_text(FUSION(FOUR, "[{\"bytes\":5,\"seconds\":1}]", ""), &err);

	(void)state;
	assert_non_null(bounded);
	assert_null(alternative(bounded, "one"));
	assert_int_equal(json_array_size(json_object_get(bounded, "rejected")), 2);
	assert_true(json_is_null(json_object_get(json_object_get(bounded, "solution"), "bucket_bytes")));
	assert_true(fabs(number(bounded, "predicted", "end_seconds") - 9) < 1e-9);
	assert_true(warns(single, "larger_than_max_segment"));
	assert_non_null(table);
	assert_true(warns(table, "cost_not_monotone") && !warns(table, "cost_extrapolated"));
	assert_non_null(beyond);
	assert_true(!warns(beyond, "cost_not_monotone") && warns(beyond, "cost_extrapolated"));
}

static void test_refuses(void **state)
{
	const int bad = SB_EINVAL, never = SB_EIMPOSSIBLE;

	(void)state;
	refuses("{\"kind\":\"gradient-fusion\"}", bad, "/gradients");
	refuses(FUSION("{}", LINK, ""), bad, "/gradients");
	refuses(FUSION("[]", LINK, ""), never, "/gradients");
	refuses(FUSION("[7]", LINK, ""), bad, "/gradients/0");
	refuses(FUSION("[{\"bytes\":1}]", LINK, ""), bad, "/gradients/0/backward_seconds");
	refuses(FUSION("[{\"bytes\":1.5,\"backward_seconds\":1}]", LINK, ""), bad, "/gradients/0/bytes");
	refuses(FUSION("[{\"bytes\":0,\"backward_seconds\":1}]", LINK, ""), never, "/gradients/0/bytes");
	refuses(FUSION("[{\"bytes\":1e300,\"backward_seconds\":1}]", LINK, ""), never, "/gradients/0/bytes");
	refuses(FUSION("[{\"bytes\":1,\"backward_seconds\":-1}]", LINK, ""), never,
	        "/gradients/0/backward_seconds");
	refuses(FUSION("[{\"bytes\":1,\"backward_seconds\":1,\"colour\":1}]", LINK, ""), bad,
	        "/gradients/0/colour");
	refuses("{\"kind\":\"gradient-fusion\",\"gradients\":" FOUR "}", bad, "/cost");
	refuses(FUSION(FOUR, "7", ""), bad, "/cost");
	refuses(FUSION(FOUR, "[]", ""), never, "/cost");
	refuses(FUSION(FOUR, "{\"latency_seconds\":1}", ""), bad, "/cost/bytes_per_second");
	refuses(FUSION(FOUR, "{\"bytes_per_second\":0}", ""), never, "/cost/bytes_per_second");
	refuses(FUSION(FOUR, "[{\"bytes\":1,\"seconds\":-1}]", ""), never, "/cost/0/seconds");
	refuses(FUSION(FOUR, "[{\"bytes\":1}]", ""), bad, "/cost/0/seconds");
	refuses(FUSION(FOUR, LINK, ",\"max_segment_bytes\":0"), never, "/max_segment_bytes");
	refuses(FUSION(FOUR, LINK, ",\"method\":\"guess\""), bad, "/method");
	refuses(FUSION(FOUR, LINK, ",\"model\":{}"), bad, "/model");
}

/* As the profiler's side will do it: what was measured, as a request. */
static void test_request_from_measured(void **state)
{
	const struct fusion_measured rows[] = {
	    {1 << 20, 0.001, 0.001, 0.003}, {1 << 20, 0.002, 0.003, 0.005}, {1 << 20, 0.003, 0.005, 0.007}};
	struct fusion_gradient gradients[3];
	struct curve_row costs[3];
	struct sb_error err;
	JSON_AUTO request = NULL;
	JSON_AUTO answer = NULL;

	(void)state;
	assert_int_equal(fusion_from_measured(rows, 3, 0, 0.003, gradients, costs, &err), SB_OK);
	request = fusion_request(gradients, 3, costs, 3);
	assert_non_null(request);
	answer = solve(request, &err);
	assert_non_null(answer);
	/* 7 ms as measured */
	assert_true(fabs(number(alternative(answer, "none"), "predicted", "end_seconds") - 0.007) < 1e-9);
	assert_true(number(answer, "predicted", "end_seconds") <= 0.007 + 1e-12);
}

static void test_ten_thousand_gradients(void **state)
{
	JSON_AUTO list = json_array();
	JSON_AUTO request = NULL;
	JSON_AUTO answer = NULL;
	struct sb_error err;

	(void)state;
	for (int i = 0; i < 10000; i++)
		json_array_append_new(list, json_pack("{s:i,s:f}", "bytes", 1000 + i % 77 * 1000,
		                                      "backward_seconds", 1e-6 * (i % 13)));
	request = json_pack("{s:s,s:O,s:{s:f,s:f}}", "kind", "gradient-fusion", "gradients", list, "cost",
	                    "latency_seconds", 2e-5, "bytes_per_second", 1e10);
	answer = solve(request, &err);
	assert_non_null(answer);
	assert_true(number(answer, "quality", "search_seconds") < 2);
	assert_true(number(answer, "predicted", "speedup_over_none") > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answer),
	    cmocka_unit_test(test_greedy_is_held_against_the_optimum),
	    cmocka_unit_test(test_bounds_and_tables),
	    cmocka_unit_test(test_refuses),
	    cmocka_unit_test(test_request_from_measured),
	    cmocka_unit_test(test_ten_thousand_gradients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
