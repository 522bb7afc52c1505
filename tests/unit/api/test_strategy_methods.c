#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "api/plans/plans.h"
#include "api/plans/strategy_methods.h"

/* A small problem that every method can solve: a GPT of 8 layers on two nodes of two. */
#define PROBLEM                                                                                              \
	"{\"kind\":\"strategy\",\"model\":{\"layers\":8,\"hidden\":1024,\"heads\":16,\"ffn_hidden\":4096,"   \
	"\"gated_ffn\":false,\"vocab\":51200,\"seq_len\":1024},\"cluster\":{\"nodes\":2,"                    \
	"\"devices_per_node\":2,\"device\":\"a100-80g\",\"links\":[{\"scope\":\"node\",\"bytes_per_second\"" \
	":300e9},{\"scope\":\"cluster\",\"bytes_per_second\":25e9}]},\"batch\":{\"global_sequences\":32}"

/* The same with experts. */
#define MIXTURE                                                                                              \
	"{\"model\":{\"layers\":8,\"hidden\":1024,\"heads\":16,\"ffn_hidden\":4096,\"vocab\":51200,"         \
	"\"seq_len\":1024,\"moe\":{\"experts\":8,\"top_k\":2,\"ffn_hidden\":1024}}}"

static int solve(const char *method, const char *more, json_t **out, struct sb_error *err)
{
	JSON_AUTO request = json_loads(PROBLEM "}", 0, NULL);
	JSON_AUTO extra = json_loads(more, 0, NULL);
	json_t *ignored = NULL;
	int rc;

	assert_non_null(request);
	assert_non_null(extra);
	json_object_update(request, extra);
	if (method)
		json_object_set_new(request, "method", json_string(method));
	*err = (struct sb_error){0};
	rc = plan_solve(NULL, request, out, &ignored, err);
	json_decref(ignored);
	return rc;
}

/* A method is of use when it answers, says which method it was, and says what it proved of what. */
static void test_every_method_answers_and_says_what_it_proved(void **state)
{
	(void)state;
	for (int i = 0; strategy_method_names[i]; i++) {
		JSON_AUTO answer = NULL;
		struct sb_error err;
		const json_t *quality;
		/* without experts there is nothing to fold */
		const char *more = strcmp(strategy_method_names[i], "folding") == 0 ? MIXTURE : "{}";
		int rc = solve(strategy_method_names[i], more, &answer, &err);

		if (rc != SB_OK)
			fail_msg("%s: %s %s", strategy_method_names[i], err.field, err.text);
		quality = json_object_get(answer, "quality");
		assert_string_equal(json_string_value(json_object_get(answer, "method")),
		                    strategy_method_names[i]);
		assert_true(json_string_length(json_object_get(quality, "objective")) > 0);
		assert_true(json_string_length(json_object_get(quality, "proved")) > 0);
		assert_true(json_number_value(
		                json_object_get(json_object_get(answer, "predicted"), "step_seconds")) > 0);
	}
}

static void test_exact_is_the_default(void **state)
{
	JSON_AUTO answer = NULL;
	struct sb_error err;

	(void)state;
	assert_int_equal(solve(NULL, "{}", &answer, &err), SB_OK);
	assert_string_equal(json_string_value(json_object_get(answer, "method")), "exact");
	assert_ptr_equal(strategy_method_of(NULL), strategy_method_of("exact"));
}

/* A member of one method's own is unknown to a method that does not take it. */
static void test_members_belong_to_their_method(void **state)
{
	JSON_AUTO answer = NULL;
	struct sb_error err;

	(void)state;
	assert_int_equal(solve("exact", "{\"colour\":1}", &answer, &err), SB_EINVAL);
	assert_string_equal(err.field, "/colour");
	assert_int_equal(solve("exhaustive", "{}", &answer, &err), SB_EINVAL);
	assert_string_equal(err.field, "/method");
	for (int i = 0; strategy_method_names[i]; i++) {
		const struct strategy_method *m = strategy_method_of(strategy_method_names[i]);
		JSON_AUTO own = m->schema ? m->schema() : json_object();
		const char *member;
		json_t *value;

		json_object_foreach(own, member, value)
		{
			JSON_AUTO more = json_pack("{s:i}", member, 1);
			char *text = json_dumps(more, 0);

			assert_non_null(text);
			assert_int_equal(solve("exact", text, &answer, &err), SB_EINVAL);
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_method_answers_and_says_what_it_proved),
	    cmocka_unit_test(test_exact_is_the_default),
	    cmocka_unit_test(test_members_belong_to_their_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
