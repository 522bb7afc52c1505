#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/named.h"
#include "api/plans/parse.h"
#include "api/plans/plans.h"

#define MODEL                                                                                                \
	"{\"layers\":24,\"hidden\":2304,\"heads\":24,\"ffn_hidden\":9216,\"gated_ffn\":false,"               \
	"\"vocab\":51200,\"seq_len\":2048}"
#define LINKS                                                                                                \
	"[{\"scope\":\"node\",\"bytes_per_second\":300e9},{\"scope\":\"cluster\",\"bytes_per_second\":25e9}" \
	"]"
#define CLUSTER "{\"nodes\":4,\"devices_per_node\":8,\"device\":\"a100-80g\",\"links\":" LINKS "}"
#define ESTIMATE(model, cluster, strategy)                                                                   \
	"{\"kind\":\"estimate\",\"model\":" model ",\"cluster\":" cluster                                    \
	",\"batch\":{\"global_sequences\":512},\"strategy\":" strategy "}"
#define SEARCH(model, cluster, more)                                                                         \
	"{\"kind\":\"strategy\",\"model\":" model ",\"cluster\":" cluster                                    \
	",\"batch\":{\"global_sequences\":64}" more "}"

/* self, where there is one, counts what is asked for. */
static int named(void *self, const char *family, const char *name, char **out_text)
{
	size_t *asked = self;

	if (asked)
		++*asked;
	if (strcmp(family, "models") != 0 || strcmp(name, "mine") != 0)
		return SB_ENOENT;
	*out_text = strdup(MODEL);
	return *out_text ? SB_OK : SB_ENOMEM;
}

static const struct plan_lookup lookup = {.named = named};

/* The answer, or NULL with the error in err. */
static json_t *solve(const char *text, json_t **out_extra, struct sb_error *err)
{
	JSON_AUTO request = json_loads(text, 0, NULL);
	json_t *answer = NULL, *extra = NULL;
	int rc;

	assert_non_null(request);
	*err = (struct sb_error){0};
	rc = plan_solve(&lookup, request, &answer, &extra, err);
	assert_true((rc == SB_OK) == (answer != NULL));
	assert_int_equal(rc, rc == SB_OK ? SB_OK : err->code);
	if (out_extra)
		*out_extra = extra;
	else
		json_decref(extra);
	return answer;
}

static void refuses(const char *text, int code, const char *pointer)
{
	struct sb_error err;
	JSON_AUTO answer = solve(text, NULL, &err);

	assert_null(answer);
	if (err.code != code || strcmp(err.field, pointer) != 0)
		fail_msg("code %d at %s (%s), wanted %d at %s for %s", err.code, err.field, err.text, code,
		         pointer, text);
}

static const json_t *at(const json_t *v, const char *a, const char *b)
{
	const json_t *x = json_object_get(json_object_get(v, a), b);

	assert_non_null(x);
	return x;
}

static void test_estimate(void **state)
{
	struct sb_error err;
	JSON_AUTO answer = solve(
	    ESTIMATE(MODEL, CLUSTER, "{\"dp\":32,\"micro_batch\":16,\"recompute\":\"full\"}"), NULL, &err);
	double seconds;

	(void)state;
	assert_non_null(answer);
	/* Published: 137 TFLOP/s a device, 3.528 s (Narayanan et al. 2021, table 1, first row). */
	seconds = json_number_value(at(answer, "predicted", "step_seconds"));
	assert_true(fabs(seconds / 3.528 - 1) < 0.2);
	assert_int_equal(json_integer_value(at(answer, "solution", "tp")), 1);
	assert_int_equal(json_integer_value(at(answer, "solution", "devices_used")), 32);
	assert_int_equal(json_integer_value(at(answer, "solution", "micro_batches")), 1);
	assert_int_equal(json_array_size(at(answer, "solution", "stages")), 1);
	assert_true(json_is_null(at(answer, "quality", "optimal")));
	assert_string_equal(json_string_value(json_object_get(answer, "kind")), "estimate");
	assert_null(json_object_get(json_object_get(answer, "problem"), "kind"));
}

/* What an estimate answers can be sent back as its strategy. */
static void test_a_solution_is_a_strategy(void **state)
{
	struct sb_error err;
	JSON_AUTO found = solve(SEARCH(MODEL, CLUSTER, ""), NULL, &err);
	JSON_AUTO request = json_loads(ESTIMATE(MODEL, CLUSTER, "{}"), 0, NULL);
	JSON_AUTO again = NULL;
	json_t *out = NULL;

	(void)state;
	assert_non_null(found);
	json_object_set(request, "strategy", json_object_get(found, "solution"));
	json_object_set_new(json_object_get(request, "batch"), "global_sequences", json_integer(64));
	assert_int_equal(plan_solve(&lookup, request, &out, NULL, &err), SB_OK);
	again = out;
	assert_true(json_equal(json_object_get(found, "solution"), json_object_get(again, "solution")));
	assert_true(json_equal(json_object_get(found, "predicted"), json_object_get(again, "predicted")));
}

static void test_search(void **state)
{
	struct sb_error err;
	JSON_AUTO answer = solve(
	    SEARCH("\"mine\"", "{\"preset\":\"dgx-a100-80g\",\"nodes\":2}", ",\"limit\":3"), NULL, &err);
	double step, bound;

	(void)state;
	assert_non_null(answer);
	step = json_number_value(at(answer, "predicted", "step_seconds"));
	bound = json_number_value(at(answer, "quality", "lower_bound"));
	assert_true(bound <= step && bound > 0);
	assert_true(json_is_true(at(answer, "quality", "optimal")));
	assert_true(json_integer_value(at(answer, "quality", "candidates")) > 100);
	assert_int_equal(json_array_size(json_object_get(answer, "alternatives")), 3);
	assert_true(json_array_size(json_object_get(answer, "frontier")) > 0);
	assert_true(json_array_size(json_object_get(answer, "rejected")) > 0);
	/* The names are resolved in the problem. */
	assert_int_equal(json_integer_value(json_object_get(at(answer, "problem", "model"), "hidden")), 2304);
	assert_int_equal(json_integer_value(json_object_get(at(answer, "problem", "cluster"), "nodes")), 2);
}

static void test_infeasible(void **state)
{
	struct sb_error err;
	json_t *extra = NULL;
	JSON_AUTO answer = solve(SEARCH("\"megatron-310b\"", "\"dgx-a100-80g\"", ""), &extra, &err);
	JSON_AUTO owned = extra;

	(void)state;
	assert_null(answer);
	assert_int_equal(err.code, SB_EINFEASIBLE);
	assert_string_equal(err.word, "infeasible");
	assert_true(json_integer_value(json_object_get(owned, "least_memory_bytes")) > 80000000000);
	assert_true(json_integer_value(at(owned, "nearest", "nodes")) > 1);
}

static void test_refuses_what_is_malformed(void **state)
{
	const int bad = SB_EINVAL;

	(void)state;
	refuses("[]", bad, "");
	refuses("{}", bad, "/kind");
	refuses("{\"kind\":7}", bad, "/kind");
	refuses("{\"kind\":\"horoscope\"}", bad, "/kind");
	refuses("{\"kind\":\"estimate\",\"method\":\"guess\"}", bad, "/method");
	refuses("{\"kind\":\"estimate\"}", bad, "/strategy");
	refuses("{\"kind\":\"strategy\"}", bad, "/model");
	refuses(SEARCH("\"no-such-model\"", CLUSTER, ""), bad, "/model");
	refuses(SEARCH("7", CLUSTER, ""), bad, "/model");
	refuses(SEARCH("{\"layers\":2}", CLUSTER, ""), bad, "/model/hidden");
	refuses(SEARCH(MODEL, CLUSTER, ",\"a/b~c\":1"), bad, "/a~1b~0c");
	refuses(SEARCH(MODEL, CLUSTER, ",\"constraints\":{\"tp\":\"8\"}"), bad, "/constraints/tp");
	refuses(SEARCH(MODEL, CLUSTER, ",\"constraints\":{\"tp\":[8,true]}"), bad, "/constraints/tp/1");
	refuses(SEARCH(MODEL, CLUSTER, ",\"limit\":1.5"), bad, "/limit");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"tp\":\"8\"}"), bad, "/strategy/tp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"colour\":1}"), bad, "/strategy/colour");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"sequence_parallel\":1}"), bad, "/strategy/sequence_parallel");
	refuses(SEARCH(MODEL, "{\"nodes\":1,\"devices_per_node\":8}", ""), bad, "/cluster/device");
	refuses(SEARCH(MODEL, "{\"nodes\":1,\"devices_per_node\":8,\"device\":\"abacus\"}", ""), bad,
	        "/cluster/device");
	refuses(SEARCH(MODEL, "{\"nodes\":1,\"devices_per_node\":8,\"device\":{\"peak_flops\":1e15}}", ""),
	        bad, "/cluster/device/memory_bytes");
}

static void test_refuses_what_is_impossible(void **state)
{
	const int bad = SB_EIMPOSSIBLE;

	(void)state;
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"tp\":0}"), bad, "/strategy/tp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"tp\":-8}"), bad, "/strategy/tp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"dp\":1e300}"), bad, "/strategy/dp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"dp\":64}"), bad, "/strategy/dp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"tp\":5}"), bad, "/strategy/tp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"dp\":3}"), bad, "/strategy/dp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"zero\":4}"), bad, "/strategy/zero");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"recompute\":\"most\"}"), bad, "/strategy/recompute");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"pp\":25}"), bad, "/strategy/pp");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"order\":[\"tp\",\"tp\",\"dp\",\"pp\"]}"), bad,
	        "/strategy/order");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"pp\":2,\"stages\":[{\"layers\":24}]}"), bad, "/strategy/stages");
	refuses(ESTIMATE(MODEL, CLUSTER, "{\"pp\":2,\"stages\":[{\"layers\":20},{\"layers\":5}]}"), bad,
	        "/strategy/pp");
	refuses(SEARCH(MODEL, "{\"nodes\":0,\"devices_per_node\":8,\"device\":\"a100-80g\"}", ""), bad,
	        "/cluster/nodes");
	refuses(
	    SEARCH(MODEL, "{\"nodes\":2,\"devices_per_node\":1,\"device\":\"a100-80g\",\"links\":[]}", ""),
	    bad, "/cluster/links");
	refuses(SEARCH(MODEL, CLUSTER, ",\"calibration\":{\"gemm_share\":2}"), bad,
	        "/calibration/gemm_share");
	refuses(SEARCH(MODEL, CLUSTER, ",\"objective\":\"fame\""), bad, "/objective");
}

static void test_canonical(void **state)
{
	static const char *const same[] = {"{\"kind\":\"strategy\",\"x\":[1,2.5,1e3,true,null,\"a\\u0001\"],"
	                                   "\"model\":{\"b\":1,\"a\":300e9}}",
	                                   "{\"model\":{\"a\":300000000000,\"b\":1.0},\"x\":[1.0,25e-1,1000,"
	                                   "true,null,\"a\\u0001\"],\"kind\":"
	                                   "\"strategy\"}"};
	char *text[2];
	struct sb_error err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		JSON_AUTO request = json_loads(same[i], 0, NULL);

		assert_int_equal(plan_canonical(&lookup, request, NULL, &text[i], &err), SB_OK);
	}
	assert_string_equal(text[0], text[1]);
	assert_non_null(strstr(text[0],
	                       "\n{\"kind\":\"strategy\",\"model\":{\"a\":300000000000,\"b\":1},\"x\":[1,2.5,"
	                       "1000,true,null,\"a\\u0001\"]}"));
	free(text[0]);
	free(text[1]);
	{
		JSON_AUTO request = json_loads("{\"kind\":\"strategy\",\"model\":\"mine\"}", 0, NULL);

		assert_int_equal(plan_canonical(&lookup, request, NULL, &text[0], &err), SB_OK);
		assert_non_null(strstr(text[0], "\"hidden\":2304"));
		free(text[0]);
	}
}

/* Small, but too deep: no limit of size is passed. */
static void test_deep_requests_are_malformed(void **state)
{
	char deep[512] = "{\"kind\":\"strategy\",\"x\":", *text = NULL;
	struct sb_error err = {0};
	size_t at = strlen(deep);
	json_t *request;

	(void)state;
	memset(deep + at, '[', 65);
	memset(deep + at + 65, ']', 65);
	deep[at + 130] = '}';
	request = json_loads(deep, 0, NULL);
	assert_non_null(request);
	assert_int_equal(plan_canonical(&lookup, request, NULL, &text, &err), SB_EINVAL);
	assert_string_equal(err.word, "too_deep");
	json_decref(request);
}

static void test_export(void **state)
{
	struct sb_error err;
	JSON_AUTO answer = solve(SEARCH(MODEL, CLUSTER, ",\"constraints\":{\"tp\":4,\"pp\":2}"), NULL, &err);
	char *text = NULL;
	const char *type = NULL;

	(void)state;
	assert_non_null(answer);
	assert_int_equal(plan_export(answer, "deepspeed-of-the-future", &text, &type, &err), SB_ENOENT);
	assert_int_equal(plan_export(answer, "megatron", &text, &type, &err), SB_OK);
	assert_non_null(strstr(text, "--tensor-model-parallel-size 4\n"));
	assert_non_null(strstr(text, "--pipeline-model-parallel-size 2\n"));
	assert_non_null(strstr(text, "--global-batch-size 64\n"));
	assert_non_null(strstr(type, "text/plain"));
	free(text);
}

static void test_kinds_have_schemas(void **state)
{
	JSON_AUTO kinds = plan_kinds();
	const json_t *items = json_object_get(kinds, "items");

	(void)state;
	assert_true(json_array_size(items) >= 2);
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *row = json_array_get(items, i);

		assert_true(json_is_string(json_object_get(row, "kind")));
		assert_true(json_array_size(json_object_get(row, "methods")) > 0);
		assert_string_equal(json_string_value(at(row, "schema", "type")), "object");
		assert_true(json_is_object(at(row, "schema", "properties")));
		assert_true(json_is_object(json_object_get(row, "limits")));
	}
}

static void test_presets_are_valid_documents(void **state)
{
	static const char *const families[] = {"models", "clusters", "devices"};
	struct sb_error err;
	const char *name;

	(void)state;
	for (int f = 0; f < 3; f++) {
		for (size_t i = 0; (name = preset_name(families[f], i)); i++) {
			JSON_AUTO document = preset_document(families[f], name);

			assert_non_null(document);
			assert_true(json_is_true(json_object_get(document, "preset")));
			assert_true(strlen(json_string_value(json_object_get(document, "source"))) > 0);
			if (f < 2)
				assert_int_equal(named_check(families[f], document, &err), SB_OK);
		}
	}
	assert_null(preset_name("cats", 0));
	assert_null(preset_document("models", "no-such-model"));
}

/* A request of 1 MiB holds 30,000 names of profiles, whose layers would be copied for each. */
static void test_profiles_past_the_limit_are_not_fetched(void **state)
{
	size_t asked = 0;
	const struct plan_lookup counting = {.self = &asked, .named = named};
	JSON_AUTO request =
	    json_loads("{\"kind\":\"intra-operator\",\"method\":\"cfp\",\"tensor_bytes\":1,\"profiles\":[],"
	               "\"devices\":4,\"link\":{\"bytes_per_second\":1e11}}",
	               0, NULL);
	json_t *profiles = json_object_get(request, "profiles"), *answer = NULL, *extra = NULL;
	struct sb_error err = {0};

	(void)state;
	for (int i = 0; i < 65; i++)
		json_array_append_new(profiles, json_pack("{s:s,s:s}", "profile", "p", "layout", "rows"));
	assert_int_equal(plan_solve(&counting, request, &answer, &extra, &err), SB_EINVAL);
	assert_string_equal(err.field, "/profiles");
	assert_int_equal(asked, 0);
	json_decref(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_estimate),
	    cmocka_unit_test(test_a_solution_is_a_strategy),
	    cmocka_unit_test(test_search),
	    cmocka_unit_test(test_infeasible),
	    cmocka_unit_test(test_refuses_what_is_malformed),
	    cmocka_unit_test(test_refuses_what_is_impossible),
	    cmocka_unit_test(test_canonical),
	    cmocka_unit_test(test_deep_requests_are_malformed),
	    cmocka_unit_test(test_export),
	    cmocka_unit_test(test_profiles_past_the_limit_are_not_fetched),
	    cmocka_unit_test(test_kinds_have_schemas),
	    cmocka_unit_test(test_presets_are_valid_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
