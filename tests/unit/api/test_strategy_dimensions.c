/* Every dimension that the exact search has is used where it pays, and `constraints` sets it alone: data,
 * tensor in two dimensions, pipeline, context, expert and optimizer, the seven of Hypertron as far as they
 * are known (search-algorithms section 11). The problems leave one way out each, so the expected degree
 * follows from the problem, not from the cost model. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/plans.h"

#define MODEL(layers, hidden, heads, kv_heads, sequence, more)                                               \
	"\"model\":{\"layers\":" #layers ",\"hidden\":" #hidden ",\"heads\":" #heads                         \
	",\"kv_heads\":" #kv_heads ",\"ffn_hidden\":4096,\"vocab\":32000,\"seq_len\":" #sequence more "},"
/* A node of 8, or 8 nodes of one device on a slow network. */
#define NODE                                                                                                 \
	"\"cluster\":{\"nodes\":1,\"devices_per_node\":8,\"device\":\"a100-80g\","                           \
	"\"links\":[{\"scope\":\"node\",\"bytes_per_second\":300e9}]},"
#define APART                                                                                                \
	"\"cluster\":{\"nodes\":8,\"devices_per_node\":1,\"device\":\"a100-80g\",\"links\":["                \
	"{\"scope\":\"node\",\"bytes_per_second\":300e9},{\"scope\":\"cluster\",\"bytes_per_second\":5e8}]}" \
	","
#define BATCH(n) "\"batch\":{\"global_sequences\":" #n "}"

/* member: what is to vary; off: its value when it is not used; other: one more that it can be set to
 * alone. */
static const struct {
	const char *why, *member, *problem;
	json_int_t off, other;
} rows[] = {
    {"many sequences of a small model", "dp", MODEL(4, 1024, 16, 16, 2048, "") NODE BATCH(64), 1, 2},
    {"one sequence on a fast node", "tp", MODEL(8, 4096, 32, 32, 2048, "") NODE BATCH(1), 1, 2},
    {"one long sequence of a single head", "cp", MODEL(4, 1024, 1, 1, 131072, "") NODE BATCH(1), 1, 4},
    {"gradients too large for the network", "pp", MODEL(16, 8192, 64, 64, 2048, "") APART BATCH(32), 1, 4},
    {"experts that no device holds", "ep",
     MODEL(4, 2048, 1, 1, 2048, ",\"moe\":{\"experts\":64,\"top_k\":2,\"ffn_hidden\":8192}") NODE BATCH(64),
     1, 4},
    {"replicas that each update all", "zero", MODEL(8, 4096, 1, 1, 2048, "") NODE BATCH(64), 0, 2},
};

static json_t *solve(const char *problem, const char *member, json_t *value)
{
	char text[4096];
	struct sb_error err = {0};
	json_t *answer = NULL, *extra = NULL;
	int rc;

	snprintf(text, sizeof(text), "{\"kind\":\"strategy\",%s}", problem);
	{
		JSON_AUTO request = json_loads(text, 0, NULL);

		assert_non_null(request);
		if (member)
			json_object_set_new(request, "constraints", json_pack("{s:o}", member, value));
		rc = plan_solve(NULL, request, &answer, &extra, &err);
	}
	json_decref(extra);
	if (rc != SB_OK && rc != SB_EINFEASIBLE)
		fail_msg("%s: %s at %s", problem, err.text, err.field);
	return answer;
}

static json_t *member_of(const json_t *answer, const char *part, const char *member)
{
	return json_object_get(json_object_get(answer, part), member);
}

static double seconds_of(const json_t *answer)
{
	return answer ? json_number_value(member_of(answer, "predicted", "step_seconds")) : INFINITY;
}

static void test_each_is_used_where_it_pays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		JSON_AUTO best = solve(rows[i].problem, NULL, NULL);
		JSON_AUTO without = solve(rows[i].problem, rows[i].member, json_integer(rows[i].off));
		json_int_t found = json_integer_value(member_of(best, "solution", rows[i].member));

		if (!best || found <= rows[i].off || !(seconds_of(best) < seconds_of(without)))
			fail_msg("%s: %s %lld takes %g s, and without it %g s", rows[i].why, rows[i].member,
			         (long long)found, seconds_of(best), seconds_of(without));
		if (without)
			assert_int_equal(json_integer_value(member_of(without, "solution", rows[i].member)),
			                 rows[i].off);
	}
}

static void test_each_is_set_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		JSON_AUTO best = solve(rows[i].problem, NULL, NULL);
		JSON_AUTO set = solve(rows[i].problem, rows[i].member, json_integer(rows[i].other));

		if (!set)
			fail_msg("%s: nothing with %s %lld", rows[i].why, rows[i].member,
			         (long long)rows[i].other);
		assert_int_equal(json_integer_value(member_of(set, "solution", rows[i].member)),
		                 rows[i].other);
		assert_true(seconds_of(set) >= seconds_of(best) * (1 - 1e-12));
	}
}

/* The ranks of tensor parallelism reused: it splits what they would each keep and compute whole, for as many
 * bytes. */
static void test_sequence_parallel(void **state)
{
	const char *problem = rows[1].problem;
	JSON_AUTO best = solve(problem, NULL, NULL);
	JSON_AUTO without = solve(problem, "sequence_parallel", json_false());
	JSON_AUTO with = solve(problem, "sequence_parallel", json_true());

	(void)state;
	assert_true(json_is_true(member_of(best, "solution", "sequence_parallel")));
	assert_true(json_is_true(member_of(with, "solution", "sequence_parallel")));
	assert_true(json_is_false(member_of(without, "solution", "sequence_parallel")));
	assert_true(seconds_of(best) < seconds_of(without) && seconds_of(best) == seconds_of(with));
}

/* 4 heads of K and V, one sequence, a node of 8 of links so fast that only the work counts: in one dimension
 * 4 ranks is all that tensor parallelism can use. Nothing is tried in two unless the request says so. */
static const char grids[] = MODEL(4, 4096, 4, 4, 2048, "") NODE BATCH(1) ",\"limit\":0";

static json_t *solve_with(json_t *constraints)
{
	struct sb_error err = {0};
	json_t *answer = NULL, *extra = NULL;
	char text[4096];

	snprintf(text, sizeof(text), "{\"kind\":\"strategy\",%s}", grids);
	{
		JSON_AUTO request = json_loads(text, 0, NULL);

		assert_non_null(request);
		json_object_set_new(constraints, "attention", json_string("flash"));
		json_object_set_new(constraints, "cp", json_integer(1));
		json_object_set_new(constraints, "pp", json_integer(1));
		json_object_set_new(request, "constraints", constraints);
		assert_int_equal(plan_solve(NULL, request, &answer, &extra, &err), SB_OK);
	}
	json_decref(extra);
	return answer;
}

static json_int_t degree(const json_t *answer, const char *member)
{
	return json_integer_value(member_of(answer, "solution", member));
}

static void test_tensor_in_two_dimensions(void **state)
{
	JSON_AUTO unasked = solve_with(json_object());
	JSON_AUTO asked = solve_with(json_pack("{s:s}", "tensor", "2d"));
	JSON_AUTO one = solve_with(json_pack("{s:s}", "tensor", "1d"));
	JSON_AUTO set = solve_with(json_pack("{s:i}", "tp_x", 4));

	(void)state;
	assert_int_equal(degree(unasked, "tp"), 4);
	assert_null(member_of(unasked, "solution", "tp_x"));
	assert_true(seconds_of(one) == seconds_of(unasked));
	assert_int_equal(degree(asked, "tp"), 8);
	assert_true(degree(asked, "tp_x") > 1);
	assert_int_equal(degree(asked, "tp_x") * degree(asked, "tp_y"), 8);
	assert_true(seconds_of(asked) < seconds_of(unasked));
	assert_int_equal(degree(set, "tp_x"), 4);
	assert_true(seconds_of(set) >= seconds_of(asked));
	assert_true(json_is_true(member_of(asked, "solution", "sequence_parallel")));
}

/* Data, tensor (x and y), pipeline, context, expert and optimizer ranks of one plan: the seven at once are a
 * strategy that `estimate` takes. */
static void test_seven_at_once(void **state)
{
	static const char text[] = "{\"kind\":\"estimate\"," MODEL(
	    4, 2048, 16, 4, 4096,
	    ",\"moe\":{\"experts\":8,\"top_k\":2,\"ffn_hidden\":2048}") "\"cluster\":{\"preset\":\"dgx-a100-"
	                                                                "80g\","
	                                                                "\"nodes\":8},"
	                                                                "\"batch\":{\"global_sequences\":8},"
	                                                                "\"strategy\":{\"dp\":2,\"tp_x\":2,"
	                                                                "\"tp_y\":4,\"pp\":2,"
	                                                                "\"cp\":2,\"ep\":8,\"zero\":1,"
	                                                                "\"sequence_parallel\":true}}";
	JSON_AUTO request = json_loads(text, 0, NULL);
	json_t *answer = NULL, *extra = NULL;
	struct sb_error err = {0};

	(void)state;
	assert_non_null(request);
	assert_int_equal(plan_solve(NULL, request, &answer, &extra, &err), SB_OK);
	assert_int_equal(degree(answer, "devices_used"), 64);
	assert_int_equal(degree(answer, "tp"), 8);
	assert_true(isfinite(seconds_of(answer)) && seconds_of(answer) > 0);
	json_decref(answer);
	/* A side that does not divide tp, and two dimensions without sequence parallelism. */
	json_object_set_new(json_object_get(request, "strategy"), "tp", json_integer(12));
	assert_int_equal(plan_solve(NULL, request, &answer, &extra, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "/strategy/tp_x");
	json_object_set_new(json_object_get(request, "strategy"), "tp", json_integer(8));
	json_object_del(json_object_get(request, "strategy"), "sequence_parallel");
	assert_int_equal(plan_solve(NULL, request, &answer, &extra, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.word, "tensor_grid");
	json_decref(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_is_used_where_it_pays),
	    cmocka_unit_test(test_each_is_set_alone),
	    cmocka_unit_test(test_sequence_parallel),
	    cmocka_unit_test(test_tensor_in_two_dimensions),
	    cmocka_unit_test(test_seven_at_once),
	};

	return cmocka_run_group_tests_name("dimensions", tests, NULL, NULL);
}
