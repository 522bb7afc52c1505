#include "tests/unit/storage/helper.h"

#include <pthread.h>

#include "storage/internal.h"

static void a_plan_is_stored_once_by_digest(void **state)
{
	struct place p;
	struct store *s;
	struct store_plan a = {.kind = "strategy", .created_us = 5, .text = (char[]){"{\"x\":1}"}}, b, out;
	bool existing = true;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	store_new_id(a.id);
	store_sha256("p", 1, a.digest);
	b = a;
	store_new_id(b.id);
	assert_int_equal(store_plan_put(s, &a, &out, &existing, NULL), SB_OK);
	assert_false(existing);
	store_plan_clear(&out);
	assert_int_equal(store_plan_put(s, &b, &out, &existing, NULL), SB_OK);
	assert_true(existing);
	assert_string_equal(out.id, a.id);
	assert_string_equal(out.text, "{\"x\":1}");
	store_plan_clear(&out);
	assert_int_equal(store_plan_get(s, b.id, &out, NULL), SB_ENOENT);
	assert_int_equal(store_plan_delete(s, a.id, NULL), SB_OK);
	assert_int_equal(store_plan_find(s, a.digest, &out, NULL), SB_ENOENT);
	assert_int_equal(store_plan_delete(s, a.id, NULL), SB_ENOENT);
	store_close(&s);
	drop_dir(&p);
}

/* Lists behind `after`, and holds the answer against the places in `made` that it should have. */
static void lists(struct store *s, const char *after, size_t limit, size_t bytes,
                  const struct store_plan *made, size_t first, size_t count, bool more)
{
	struct store_plan *list = NULL;
	size_t n = 0;
	bool follow = !more;

	assert_int_equal(store_plan_list(s, after, limit, bytes, &list, &n, &follow, NULL), SB_OK);
	assert_int_equal(n, count);
	assert_int_equal(follow, more);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(list[i].id, made[first - i].id);
		store_plan_clear(&list[i]);
	}
	free(list);
}

static void a_list_of_plans_ends_early_where_they_are_long(void **state)
{
	struct place p;
	struct store *s;
	struct store_plan made[4], out;
	bool existing;
	char text[101] = "";

	(void)state;
	memset(text, 'x', 100);
	make_dir(&p);
	s = must_open(&p);
	for (size_t i = 0; i < 4; i++) {
		made[i] = (struct store_plan){.kind = "strategy", .text = text};
		store_new_id(made[i].id);
		store_sha256(&(char){(char)i}, 1, made[i].digest);
		assert_int_equal(store_plan_put(s, &made[i], &out, &existing, NULL), SB_OK);
		store_plan_clear(&out);
	}
	/* newest first; each has 100 bytes: the second reaches 200, and the first is listed whatever it has
	 */
	lists(s, NULL, 10, 1000, made, 3, 4, false);
	lists(s, NULL, 4, 1000, made, 3, 4, false);
	lists(s, NULL, 3, 1000, made, 3, 3, true);
	lists(s, NULL, 10, 200, made, 3, 2, true);
	lists(s, made[2].id, 10, 1, made, 1, 1, true);
	lists(s, made[1].id, 10, 1, made, 0, 1, false);
	lists(s, made[0].id, 10, 1, made, 0, 0, false);
	store_close(&s);
	drop_dir(&p);
}

/* Deletes every plan there is, until told to end. */
struct deleter {
	struct store *store;
	atomic_bool end;
};

static void *delete_plans(void *arg)
{
	struct deleter *d = arg;

	while (!atomic_load(&d->end)) {
		struct store_plan *list = NULL;
		size_t n = 0;
		bool more;

		if (store_plan_list(d->store, NULL, 10, SIZE_MAX, &list, &n, &more, NULL) != SB_OK)
			continue;
		for (size_t i = 0; i < n; i++) {
			store_plan_delete(d->store, list[i].id, NULL);
			store_plan_clear(&list[i]);
		}
		free(list);
	}
	return NULL;
}

/* Whoever posts a plan gets it, also when somebody else deletes it at once. */
static void a_plan_deleted_meanwhile_is_put_all_the_same(void **state)
{
	struct place p;
	struct deleter d = {0};
	struct store_plan a = {.kind = "strategy", .created_us = 5, .text = (char[]){"{\"x\":1}"}}, out;
	pthread_t thread;
	bool existing;

	(void)state;
	make_dir(&p);
	d.store = must_open(&p);
	store_sha256("p", 1, a.digest);
	assert_int_equal(pthread_create(&thread, NULL, delete_plans, &d), 0);
	for (int i = 0; i < 300; i++) {
		store_new_id(a.id);
		assert_int_equal(store_plan_put(d.store, &a, &out, &existing, NULL), SB_OK);
		assert_string_equal(out.text, "{\"x\":1}");
		assert_true(existing || strcmp(out.id, a.id) == 0);
		store_plan_clear(&out);
	}
	atomic_store(&d.end, true);
	pthread_join(thread, NULL);
	store_close(&d.store);
	drop_dir(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_plan_is_stored_once_by_digest),
	    cmocka_unit_test(a_list_of_plans_ends_early_where_they_are_long),
	    cmocka_unit_test(a_plan_deleted_meanwhile_is_put_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
