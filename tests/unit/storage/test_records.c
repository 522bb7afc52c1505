#include "tests/unit/storage/helper.h"

#include <pthread.h>

#include "storage/internal.h"

static void lists_go_page_by_page_newest_first(void **state)
{
	struct place p;
	struct store *s;
	struct store_profile made[5], *page = NULL;
	size_t n = 0;
	char after[STORE_ID_MAX];

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	for (int i = 0; i < 5; i++)
		must_create(s, "f", "x", &made[i]);
	assert_int_equal(store_profile_list(s, NULL, 2, &page, &n, NULL), SB_OK);
	assert_int_equal(n, 2);
	assert_string_equal(page[0].id, made[4].id);
	assert_string_equal(page[1].id, made[3].id);
	assert_null(page[0].files);
	snprintf(after, sizeof(after), "%s", page[1].id);
	for (size_t i = 0; i < n; i++)
		store_profile_clear(&page[i]);
	free(page);
	/* the place in the list outlives the item that marks it */
	assert_int_equal(store_profile_delete(s, after, NULL), SB_OK);
	assert_int_equal(store_profile_list(s, after, 10, &page, &n, NULL), SB_OK);
	assert_int_equal(n, 3);
	assert_string_equal(page[0].id, made[2].id);
	assert_string_equal(page[2].id, made[0].id);
	for (size_t i = 0; i < n; i++)
		store_profile_clear(&page[i]);
	free(page);
	for (int i = 0; i < 5; i++)
		store_profile_clear(&made[i]);
	store_close(&s);
	drop_dir(&p);
}

static void documents_change_as_a_set(void **state)
{
	static const struct store_document first[] = {{"breakdown", "{\"a\":1}", 7}, {"advice", "{}", 2}};
	static const struct store_document second[] = {{"breakdown", "{\"a\":2}", 7}};
	struct place p;
	struct store *s;
	struct store_profile pr, got;
	char *text = NULL;
	size_t len = 0;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "f", "x", &pr);
	assert_int_equal(store_document_get(s, pr.id, "breakdown", &text, &len, NULL), SB_ENOENT);
	assert_int_equal(store_profile_finish(s, pr.id, "ready", "{\"f\":1}", first, 2, NULL), SB_OK);
	assert_int_equal(store_document_get(s, pr.id, "breakdown", &text, &len, NULL), SB_OK);
	assert_string_equal(text, "{\"a\":1}");
	assert_int_equal(len, 7);
	free(text);
	assert_int_equal(store_profile_finish(s, pr.id, "ready", NULL, second, 1, NULL), SB_OK);
	assert_int_equal(store_document_get(s, pr.id, "advice", &text, &len, NULL), SB_ENOENT);
	assert_int_equal(store_profile_get(s, pr.id, &got, NULL), SB_OK);
	assert_string_equal(got.facts, "{\"f\":1}");
	assert_string_equal(got.state, "ready");
	store_profile_clear(&got);
	/* a state that does not exist fails, and changes nothing */
	assert_int_equal(store_profile_finish(s, pr.id, "odd", NULL, first, 2, NULL), SB_ECONFLICT);
	assert_int_equal(store_document_get(s, pr.id, "breakdown", &text, &len, NULL), SB_OK);
	assert_string_equal(text, "{\"a\":2}");
	free(text);
	assert_int_equal(store_profile_delete(s, pr.id, NULL), SB_OK);
	assert_int_equal(store_document_get(s, pr.id, "breakdown", &text, &len, NULL), SB_ENOENT);
	assert_int_equal(store_profile_finish(s, pr.id, "ready", NULL, first, 2, NULL), SB_ENOENT);
	assert_int_equal(store_profile_delete(s, pr.id, NULL), SB_ENOENT);
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

static void side_files_appear_whole(void **state)
{
	struct place p;
	struct store *s;
	struct store_profile pr;
	char bytes[8] = "", path[128];
	int fd = -1, in = -1;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "f", "xyz", &pr);
	assert_int_equal(store_side_begin(s, pr.id, "operators", &fd, NULL), SB_OK);
	assert_int_equal(write(fd, "ab", 2), 2);
	assert_int_equal(store_side_open(s, pr.id, "operators", &in, NULL), SB_ENOENT);
	assert_int_equal(store_side_commit(s, pr.id, "operators", fd, NULL), SB_OK);
	assert_int_equal(store_side_open(s, pr.id, "operators", &in, NULL), SB_OK);
	/* deleted while it is being read: the reader goes on, the next one finds nothing */
	assert_int_equal(store_profile_open(s, pr.id, &fd, NULL), SB_OK);
	assert_int_equal(store_profile_delete(s, pr.id, NULL), SB_OK);
	assert_int_equal(read(in, bytes, sizeof(bytes)), 2);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	close(in);
	close(fd);
	assert_int_equal(store_profile_open(s, pr.id, &fd, NULL), SB_ENOENT);
	assert_int_equal(store_side_begin(s, pr.id, "operators", &fd, NULL), SB_ENOENT);
	snprintf(path, sizeof(path), "profiles/%s", pr.id);
	assert_false(is_there(&p, path));
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",     "..", ".x",     "a/b",
	    "../x", "A",  "upload", "0123456789012345678901234567890123456789012345678901234567890"};
	struct place p;
	struct store *s;
	struct store_profile pr;
	int fd = -1;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "f", "xyz", &pr);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(store_side_begin(s, pr.id, bad[i], &fd, NULL), SB_EINVAL);
	assert_int_equal(store_profile_open(s, "../lock", &fd, NULL), SB_ENOENT);
	assert_int_equal(store_profile_delete(s, "..", NULL), SB_ENOENT);
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

static void named_documents_and_keys(void **state)
{
	struct place p;
	struct store *s;
	bool created = false;
	char *text = NULL, **names = NULL, digest[65], *answer = NULL;
	size_t n = 0;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(store_named_put(s, "models", "b", "{}", &created, NULL), SB_OK);
	assert_true(created);
	assert_int_equal(store_named_put(s, "models", "b", "{\"v\":2}", &created, NULL), SB_OK);
	assert_false(created);
	assert_int_equal(store_named_put(s, "models", "a", "{}", &created, NULL), SB_OK);
	assert_int_equal(store_named_put(s, "clusters", "b", "{}", &created, NULL), SB_OK);
	assert_int_equal(store_named_put(s, "planets", "c", "{}", &created, NULL), SB_ECONFLICT);
	assert_int_equal(store_named_get(s, "models", "b", &text, NULL), SB_OK);
	assert_string_equal(text, "{\"v\":2}");
	free(text);
	assert_int_equal(store_named_list(s, "models", NULL, 10, &names, &n, NULL), SB_OK);
	assert_int_equal(n, 2);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	free(names[0]);
	free(names[1]);
	free(names);
	assert_int_equal(store_named_delete(s, "models", "b", NULL), SB_OK);
	assert_int_equal(store_named_delete(s, "models", "b", NULL), SB_ENOENT);
	assert_int_equal(store_named_get(s, "clusters", "b", &text, NULL), SB_OK);
	free(text);
	assert_int_equal(store_idempotency_get(s, "k", "POST /v1/plans", digest, &answer, NULL), SB_ENOENT);
	assert_int_equal(store_idempotency_put(s, "k", "POST /v1/plans", "d1", "201", NULL), SB_OK);
	assert_int_equal(store_idempotency_put(s, "k", "POST /v1/plans", "d2", "200", NULL), SB_ECONFLICT);
	assert_int_equal(store_idempotency_get(s, "k", "POST /v1/plans", digest, &answer, NULL), SB_OK);
	assert_string_equal(digest, "d1");
	assert_string_equal(answer, "201");
	free(answer);
	assert_int_equal(store_idempotency_put(s, "k", "POST /v1/plans", "d1", "200", NULL), SB_OK);
	assert_int_equal(store_idempotency_get(s, "k", "POST /v1/plans", digest, &answer, NULL), SB_OK);
	assert_string_equal(answer, "200");
	free(answer);
	store_close(&s);
	drop_dir(&p);
}

static void ids_sort_by_time_and_times_are_rfc_3339(void **state)
{
	char before[STORE_ID_MAX] = "", id[STORE_ID_MAX], text[32];

	(void)state;
	for (int i = 0; i < 200; i++) {
		store_new_id(id);
		assert_true(store_id_is_valid(id));
		assert_int_equal(id[14], '7'); /* version, RFC 9562 */
		usleep(1);
		assert_true(strcmp(before, id) < 0);
		memcpy(before, id, sizeof(before));
	}
	store_time_text(INT64_C(1700000000123456), text);
	assert_string_equal(text, "2023-11-14T22:13:20.123456Z");
	store_time_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
}

/* ---- the writer ---- */

struct many {
	struct store *s;
	int thread, failed;
};

#define THREADS 8
#define EACH 25

static void *write_many(void *arg)
{
	struct many *m = arg;
	char name[32], *text;
	bool created;

	for (int i = 0; i < EACH; i++) {
		snprintf(name, sizeof(name), "t%d-%d", m->thread, i);
		/* every second one is refused: its neighbours in the same commit must not notice */
		if (store_named_put(m->s, "planets", "bad", "{}", &created, NULL) != SB_ECONFLICT ||
		    store_named_put(m->s, "models", name, "{}", &created, NULL) != SB_OK || !created)
			m->failed++;
		/* what was written can be read at once */
		if (store_named_get(m->s, "models", name, &text, NULL) != SB_OK)
			m->failed++;
		else
			free(text);
	}
	return NULL;
}

static void many_writers_share_commits(void **state)
{
	struct place p;
	struct store *s;
	pthread_t threads[THREADS];
	struct many work[THREADS];
	char **names = NULL;
	size_t n = 0;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	for (int i = 0; i < THREADS; i++) {
		work[i] = (struct many){.s = s, .thread = i};
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, &work[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(work[i].failed, 0);
	}
	store_close(&s);
	s = must_open(&p);
	assert_int_equal(store_named_list(s, "models", NULL, 1000, &names, &n, NULL), SB_OK);
	assert_int_equal(n, THREADS * EACH);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	store_close(&s);
	drop_dir(&p);
}

static int half_then_fail(struct conn *c, void *arg, struct sb_error *err)
{
	(void)arg;
	conn_exec(c, "INSERT INTO named (family,name,text,updated_us) VALUES ('models','half','{}',1)", NULL);
	return sb_fail(err, SB_ECONFLICT, "no", "changed my mind");
}

static void a_refused_change_leaves_nothing(void **state)
{
	struct place p;
	struct store *s;
	char *text = NULL;
	struct sb_error err = {0};

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(writer_do(s->writer, half_then_fail, NULL, &err), SB_ECONFLICT);
	assert_string_equal(err.text, "changed my mind");
	assert_int_equal(store_named_get(s, "models", "half", &text, NULL), SB_ENOENT);
	assert_int_equal(store_health(s, NULL), SB_OK);
	store_close(&s);
	drop_dir(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lists_go_page_by_page_newest_first),
	    cmocka_unit_test(documents_change_as_a_set),
	    cmocka_unit_test(side_files_appear_whole),
	    cmocka_unit_test(names_that_lead_elsewhere_are_refused),
	    cmocka_unit_test(named_documents_and_keys),
	    cmocka_unit_test(ids_sort_by_time_and_times_are_rfc_3339),
	    cmocka_unit_test(many_writers_share_commits),
	    cmocka_unit_test(a_refused_change_leaves_nothing),
	};

	return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
