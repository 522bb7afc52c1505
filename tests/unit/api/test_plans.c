#include "tests/unit/api/helper.h"

#include "tests/unit/api/fake_planner.h"

static void a_plan_is_made_once(void **state)
{
	struct fixture f;
	char id[40], target[128], tag[64];

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\",\"a\":1}"), 201);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	snprintf(target, sizeof(target), "/v1/plans/%s", id);
	assert_string_equal(header_of(&f, "Location"), target);
	assert_string_equal(text_at(f.json, "kind"), "strategy");
	assert_string_equal(text_at(f.json, "method"), "exact");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(f.json, "problem"), "a")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(f.json, "solution"), "dp")), 4);
	assert_int_equal(strlen(text_at(f.json, "created_at")), strlen("2026-01-01T00:00:00.000000Z"));
	/* the members in another order are the same request */
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"a\":1,\"kind\":\"strategy\"}"), 200);
	assert_string_equal(text_at(f.json, "id"), id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "id"), id);
	snprintf(tag, sizeof(tag), "%s", header_of(&f, "ETag"));
	{
		const char *const headers[] = {"If-None-Match", tag, NULL};

		assert_int_equal(ask_with(&f, "GET", target, NULL, NULL, headers), 304);
		assert_null(f.res.body);
		assert_int_equal(f.res.body_len, 0);
		assert_string_equal(header_of(&f, "ETag"), tag);
	}
	snprintf(target, sizeof(target), "/v1/plans/%s/export?format=megatron", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(f.res.body, "--dp 4\n");
	assert_string_equal(f.res.content_type, "text/plain; charset=utf-8");
	snprintf(target, sizeof(target), "/v1/plans/%s/export?format=smoke", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 400);
	snprintf(target, sizeof(target), "/v1/plans/%s/export", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 400);
	snprintf(target, sizeof(target), "/v1/plans/%s/schedule?devices=0-7", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(f.res.body, "{\"devices\":[]}");
	snprintf(target, sizeof(target), "/v1/plans/%s/schedule?devices=8", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 400);
	snprintf(target, sizeof(target), "/v1/plans/%s/schedule?to=1", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 404);
	assert_problem(&f, 404, "no_schedule");
	snprintf(target, sizeof(target), "/v1/plans/%s", id);
	assert_int_equal(ask(&f, "DELETE", target, NULL), 204);
	assert_int_equal(ask(&f, "GET", target, NULL), 404);
	assert_problem(&f, 404, "not_found");
	tear_down(&f);
}

static void what_cannot_be_planned(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\",\"method\":\"never\"}"), 422);
	assert_problem(&f, 422, "infeasible");
	assert_int_equal(json_integer_value(json_object_get(f.json, "least_memory_bytes")), 99);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(f.json, "nearest"), "nodes")), 2);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"colour\":1}"), 400);
	assert_string_equal(text_at(json_array_get(json_object_get(f.json, "errors"), 0), "pointer"),
	                    "/colour");
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"model\":\"nobody\"}"), 422);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"a\":1,\"a\":2}"), 400);
	assert_problem(&f, 400, "bad_json");
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"a\":\n\n nul}"), 400);
	assert_int_equal(json_integer_value(json_object_get(f.json, "line")), 3);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "[1]"), 400);
	assert_problem(&f, 400, "wrong_type");
	assert_int_equal(ask(&f, "POST", "/v1/plans", NULL), 400);
	assert_problem(&f, 400, "no_body");
	assert_int_equal(ask(&f, "GET", "/v1/plans", NULL), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "items")), 0);
	assert_true(json_is_null(json_object_get(f.json, "next_cursor")));
	tear_down(&f);
}

static void lists_of_plans_go_page_by_page(void **state)
{
	struct fixture f;
	char seen[5][64], target[128], body[64];
	size_t n = 0;

	(void)state;
	set_up(&f);
	for (int i = 0; i < 5; i++) {
		snprintf(body, sizeof(body), "{\"kind\":\"strategy\",\"n\":%d}", i);
		assert_int_equal(ask(&f, "POST", "/v1/plans", body), 201);
	}
	snprintf(target, sizeof(target), "/v1/plans?limit=2");
	for (;;) {
		json_t *items;
		const char *cursor;

		assert_int_equal(ask(&f, "GET", target, NULL), 200);
		items = json_object_get(f.json, "items");
		for (size_t i = 0; i < json_array_size(items); i++)
			snprintf(seen[n++], 64, "%s", text_at(json_array_get(items, i), "id"));
		cursor = json_string_value(json_object_get(f.json, "next_cursor"));
		if (!cursor)
			break;
		assert_int_equal(json_array_size(items), 2);
		snprintf(target, sizeof(target), "/v1/plans?limit=2&cursor=%s", cursor);
		assert_non_null(strstr(header_of(&f, "Link"), target));
	}
	assert_int_equal(n, 5);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(seen[i - 1], seen[i]) > 0);
	assert_int_equal(ask(&f, "GET", "/v1/plans?limit=0", NULL), 400);
	assert_int_equal(ask(&f, "GET", "/v1/plans?limit=501", NULL), 400);
	assert_int_equal(ask(&f, "GET", "/v1/plans?limit=x", NULL), 400);
	assert_int_equal(ask(&f, "GET", "/v1/plans?cursor=l.nonsense", NULL), 400);
	snprintf(target, sizeof(target), "/v1/plans?cursor=p.%s", seen[0]);
	assert_int_equal(ask(&f, "GET", target, NULL), 400); /* a cursor of another list */
	tear_down(&f);
}

static void models_are_stored_under_names(void **state)
{
	struct fixture f;
	json_t *items;

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "PUT", "/v1/models/mine", "{\"layers\":3}"), 201);
	assert_string_equal(header_of(&f, "Location"), "/v1/models/mine");
	assert_int_equal(ask(&f, "PUT", "/v1/models/mine", "{\"layers\":4}"), 200);
	assert_int_equal(ask(&f, "GET", "/v1/models/mine", NULL), 200);
	assert_string_equal(text_at(f.json, "name"), "mine");
	assert_true(json_is_false(json_object_get(f.json, "preset")));
	assert_int_equal(json_integer_value(json_object_get(f.json, "layers")), 4);
	/* what GET gave may come back */
	assert_int_equal(
	    ask(&f, "PUT", "/v1/models/mine", "{\"name\":\"mine\",\"preset\":false,\"layers\":4}"), 200);
	assert_int_equal(ask(&f, "PUT", "/v1/models/mine", "{\"name\":\"other\",\"layers\":4}"), 400);
	assert_int_equal(ask(&f, "PUT", "/v1/models/mine", "{}"), 400);
	assert_problem(&f, 400, "missing_member");
	assert_int_equal(ask(&f, "PUT", "/v1/models/big", "{\"layers\":4}"), 409);
	assert_problem(&f, 409, "preset");
	assert_int_equal(ask(&f, "DELETE", "/v1/models/big", NULL), 409);
	assert_int_equal(ask(&f, "PUT", "/v1/models/-x", "{\"layers\":4}"), 400);
	assert_problem(&f, 400, "bad_name");
	assert_int_equal(ask(&f, "GET", "/v1/models/big", NULL), 200);
	assert_true(json_is_true(json_object_get(f.json, "preset")));
	assert_int_equal(ask(&f, "GET", "/v1/models?limit=1", NULL), 200);
	items = json_object_get(f.json, "items");
	assert_string_equal(text_at(json_array_get(items, 0), "name"), "big");
	assert_string_equal(text_at(f.json, "next_cursor"), "m.big");
	assert_int_equal(ask(&f, "GET", "/v1/models?cursor=m.big", NULL), 200);
	items = json_object_get(f.json, "items");
	assert_int_equal(json_array_size(items), 2);
	assert_string_equal(text_at(json_array_get(items, 0), "name"), "small");
	assert_string_equal(text_at(json_array_get(items, 1), "name"), "mine");
	assert_true(json_is_null(json_object_get(f.json, "next_cursor")));
	assert_int_equal(ask(&f, "GET", "/v1/clusters", NULL), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "items")), 1);
	assert_int_equal(ask(&f, "GET", "/v1/devices/one", NULL), 200);
	assert_int_equal(ask(&f, "GET", "/v1/devices/two", NULL), 404);
	assert_int_equal(ask(&f, "PUT", "/v1/devices/two", "{\"layers\":4}"), 405);
	assert_int_equal(ask(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\",\"model\":\"mine\"}"), 201);
	assert_int_equal(ask(&f, "DELETE", "/v1/models/mine", NULL), 204);
	assert_int_equal(ask(&f, "DELETE", "/v1/models/mine", NULL), 404);
	tear_down(&f);
}

static void a_key_gets_its_answer_again(void **state)
{
	static const char *const key[] = {"Idempotency-Key", "k-1", NULL};
	static const char *const wrong[] = {"Idempotency-Key", "a b", NULL};
	struct fixture f;
	char id[64];

	(void)state;
	set_up(&f);
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\"}", NULL, key), 201);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	/* the stored status too: 201, not the 200 of a repeated request */
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\"}", NULL, key), 201);
	assert_string_equal(text_at(f.json, "id"), id);
	assert_non_null(header_of(&f, "Location"));
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", "{\"kind\":\"other\"}", NULL, key), 422);
	assert_problem(&f, 422, "idempotency_key_reused");
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", "{\"kind\":\"strategy\"}", NULL, wrong), 400);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_plan_is_made_once),
	    cmocka_unit_test(what_cannot_be_planned),
	    cmocka_unit_test(lists_of_plans_go_page_by_page),
	    cmocka_unit_test(models_are_stored_under_names),
	    cmocka_unit_test(a_key_gets_its_answer_again),
	};

	return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
