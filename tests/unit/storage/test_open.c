#include "tests/unit/storage/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

static void a_second_opener_is_refused(void **state)
{
	struct place p;
	struct store *s, *other = NULL;
	struct sb_error err = {0};

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(store_open(p.data, &other, &err), SB_ECONFLICT);
	assert_string_equal(err.word, "in_use");
	assert_null(other);
	store_close(&s);
	s = must_open(&p);
	store_close(&s);
	drop_dir(&p);
}

static void a_newer_database_is_left_alone(void **state)
{
	struct place p;
	struct store *s;
	struct sb_error err = {0};
	char path[128];
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	store_close(&s);
	in_database(&p, "PRAGMA user_version=99");
	assert_int_equal(store_open(p.data, &s, &err), SB_ECONFLICT);
	assert_string_equal(err.word, "newer_database");
	snprintf(path, sizeof(path), "%s/signalbox.db", p.data);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(st, 0), 99);
	sqlite3_finalize(st);
	sqlite3_close(db);
	drop_dir(&p);
}

static void somebody_elses_database_is_left_alone(void **state)
{
	struct place p;
	struct store *s = NULL;
	struct sb_error err = {0};

	(void)state;
	make_dir(&p);
	assert_int_equal(mkdir(p.data, 0700), 0);
	in_database(&p, "CREATE TABLE t(x)");
	assert_int_equal(store_open(p.data, &s, &err), SB_ECONFLICT);
	assert_string_equal(err.word, "foreign_database");
	drop_dir(&p);
}

static void tables_are_strict_and_references_are_kept(void **state)
{
	static const char *const wrong[] = {
	    "INSERT INTO profiles (id,name,state,sha256,bytes,created_us,files) VALUES"
	    " ('i','n','odd',printf('%064d',0),1,1,'[]')",
	    "INSERT INTO profiles (id,name,state,sha256,bytes,created_us,files) VALUES"
	    " ('i','n','queued',printf('%064d',0),'many',1,'[]')",
	    "INSERT INTO documents (profile,name,text) VALUES (77,'n','{}')"};
	struct place p;
	struct store *s;
	char path[128];
	sqlite3 *db = NULL;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	store_close(&s);
	snprintf(path, sizeof(path), "%s/signalbox.db", p.data);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA foreign_keys=ON", NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(sqlite3_exec(db, wrong[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
	sqlite3_close(db);
	drop_dir(&p);
}

static void orphans_go_and_half_read_profiles_are_queued_again(void **state)
{
	struct place p;
	struct store *s;
	struct store_profile a, b, got;
	char path[192], id[STORE_ID_MAX];
	int fd;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "a", "aaa", &a);
	must_create(s, "b", "bbb", &b);
	assert_int_equal(store_profile_set(s, a.id, "reading", NULL, NULL), SB_OK);
	assert_int_equal(store_side_begin(s, b.id, "timeline", &fd, NULL), SB_OK);
	close(fd);
	store_close(&s);
	/* what a kill between the steps of an upload leaves behind */
	store_new_id(id);
	snprintf(path, sizeof(path), "%s/profiles/%s", p.data, id);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/profiles/%s/upload", p.data, id);
	assert_true((fd = open(path, O_CREAT | O_WRONLY, 0600)) >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/profiles/.tmp-x", p.data);
	assert_true((fd = open(path, O_CREAT | O_WRONLY, 0600)) >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/lock", p.data);
	assert_true((fd = open(path, O_WRONLY)) >= 0);
	assert_int_equal(write(fd, "open\n", 5), 5);
	close(fd);

	s = must_open(&p);
	snprintf(path, sizeof(path), "profiles/%s", id);
	assert_false(is_there(&p, path));
	assert_false(is_there(&p, "profiles/.tmp-x"));
	snprintf(path, sizeof(path), "profiles/%s/.tmp-timeline", b.id);
	assert_false(is_there(&p, path));
	snprintf(path, sizeof(path), "profiles/%s/upload", b.id);
	assert_true(is_there(&p, path));
	assert_int_equal(store_profile_get(s, a.id, &got, NULL), SB_OK);
	assert_string_equal(got.state, "queued");
	store_profile_clear(&got);
	store_profile_clear(&a);
	store_profile_clear(&b);
	store_close(&s);
	drop_dir(&p);
}

static void a_profile_that_kills_the_process_is_given_up(void **state)
{
	static const char *const expected[] = {"queued", "queued", "failed"};
	struct place p;
	struct store *s;
	struct store_profile a, got;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "a", "aaa", &a);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_profile_set(s, a.id, "reading", NULL, NULL), SB_OK);
		store_close(&s);
		s = must_open(&p);
		assert_int_equal(store_profile_get(s, a.id, &got, NULL), SB_OK);
		assert_string_equal(got.state, expected[i]);
		store_profile_clear(&got);
	}
	store_profile_clear(&a);
	store_close(&s);
	drop_dir(&p);
}

static void a_lost_database_does_not_cost_the_profiles(void **state)
{
	struct place p;
	struct store *s;
	struct store_profile a;
	struct sb_error err = {0};
	char path[192];

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "a", "aaa", &a);
	store_close(&s);
	snprintf(path, sizeof(path), "%s/signalbox.db", p.data);
	assert_int_equal(unlink(path), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_open(p.data, &s, &err), SB_ECONFLICT);
		assert_string_equal(err.word, "database_missing");
	}
	snprintf(path, sizeof(path), "profiles/%s/upload", a.id);
	assert_true(is_there(&p, path));
	store_profile_clear(&a);
	drop_dir(&p);
}

static void a_file_that_is_no_database_is_told(void **state)
{
	struct place p;
	struct store *s = NULL;
	struct sb_error err = {0};
	char path[192];
	FILE *f;

	(void)state;
	make_dir(&p);
	assert_int_equal(mkdir(p.data, 0700), 0);
	snprintf(path, sizeof(path), "%s/signalbox.db", p.data);
	assert_non_null(f = fopen(path, "w"));
	for (int i = 0; i < 4096; i++)
		fputs("no database", f);
	fclose(f);
	assert_int_equal(store_open(p.data, &s, &err), SB_EIO);
	assert_string_equal(err.word, "corrupt");
	drop_dir(&p);
}

/* Writes over the page that the table "page" names, and drops that table. */
static void damage_page(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	long root;
	int fd;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_prepare_v2(db, "SELECT rootpage FROM page", -1, &st, NULL);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	root = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_exec(db, "DROP TABLE page", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_true((fd = open(path, O_WRONLY)) >= 0);
	assert_int_equal(pwrite(fd, "damage damage damage", 20, (root - 1) * 4096), 20);
	close(fd);
}

/* Damage in a table is found after an unclean end: writes are refused, what is whole can be read. */
static void a_damaged_database_serves_reads(void **state)
{
	struct place p;
	struct store *s;
	struct store_profile a, got;
	struct store_plan plan = {.kind = "strategy", .created_us = 1}, out;
	struct sb_error err = {0};
	struct upload *up = NULL;
	char path[192], *big = malloc(400001);
	bool existing;
	int fd;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	must_create(s, "a", "aaa", &a);
	memset(big, ' ', 400000);
	memcpy(big, "{}", 2);
	big[400000] = '\0';
	plan.text = big;
	store_new_id(plan.id);
	store_sha256("x", 1, plan.digest);
	assert_int_equal(store_plan_put(s, &plan, &out, &existing, NULL), SB_OK);
	store_plan_clear(&out);
	store_close(&s);
	/* the first page of the plans table itself: pages in the middle only hold its text */
	in_database(&p, "CREATE TABLE page AS SELECT rootpage FROM sqlite_schema WHERE name='plans'");
	snprintf(path, sizeof(path), "%s/signalbox.db", p.data);
	damage_page(path);
	snprintf(path, sizeof(path), "%s/lock", p.data);
	assert_true((fd = open(path, O_WRONLY)) >= 0);
	assert_int_equal(write(fd, "open\n", 5), 5);
	close(fd);

	s = must_open(&p);
	assert_int_equal(store_health(s, &err), SB_EIO);
	assert_string_equal(err.word, "corrupt");
	assert_int_equal(store_profile_get(s, a.id, &got, NULL), SB_OK);
	store_profile_clear(&got);
	assert_int_equal(store_plan_get(s, plan.id, &out, &err), SB_EIO);
	assert_int_equal(store_profile_delete(s, a.id, &err), SB_EIO);
	assert_int_equal(upload_begin(s, 10, 0, &up, &err), SB_EIO);
	snprintf(path, sizeof(path), "profiles/%s/upload", a.id);
	assert_true(is_there(&p, path));
	store_profile_clear(&a);
	free(big);
	store_close(&s);
	drop_dir(&p);
}

/* Ten rounds: the child acknowledges profiles on a pipe and is killed in the midst of it. */
static void a_kill_loses_nothing_acknowledged(void **state)
{
	struct place p;

	(void)state;
	make_dir(&p);
	for (int round = 0; round < 10; round++) {
		char ids[64 * 1024];
		size_t len = 0;
		ssize_t n;
		int ends[2];
		pid_t child;
		struct store *s;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			struct store_profile pr;

			close(ends[0]);
			s = must_open(&p);
			for (;;) {
				must_create(s, "f", "0123456789", &pr);
				if (write(ends[1], pr.id, 36) != 36)
					_exit(1);
				store_profile_clear(&pr);
			}
		}
		close(ends[1]);
		usleep((useconds_t)(60000 + round * 7919));
		kill(child, SIGKILL);
		while (len < sizeof(ids) && (n = read(ends[0], ids + len, sizeof(ids) - len)) > 0)
			len += (size_t)n;
		close(ends[0]);
		waitpid(child, NULL, 0);
		s = must_open(&p);
		assert_int_equal(store_health(s, NULL), SB_OK);
		for (size_t at = 0; at + 36 <= len; at += 36) {
			char id[STORE_ID_MAX] = "", bytes[16] = "";
			struct store_profile pr;
			int fd = -1;

			memcpy(id, ids + at, 36);
			assert_int_equal(store_profile_get(s, id, &pr, NULL), SB_OK);
			assert_int_equal(store_profile_open(s, id, &fd, NULL), SB_OK);
			assert_int_equal(read(fd, bytes, sizeof(bytes)), 10);
			assert_string_equal(bytes, "0123456789");
			close(fd);
			store_profile_clear(&pr);
		}
		store_close(&s);
	}
	drop_dir(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_second_opener_is_refused),
	    cmocka_unit_test(a_newer_database_is_left_alone),
	    cmocka_unit_test(somebody_elses_database_is_left_alone),
	    cmocka_unit_test(tables_are_strict_and_references_are_kept),
	    cmocka_unit_test(orphans_go_and_half_read_profiles_are_queued_again),
	    cmocka_unit_test(a_profile_that_kills_the_process_is_given_up),
	    cmocka_unit_test(a_lost_database_does_not_cost_the_profiles),
	    cmocka_unit_test(a_file_that_is_no_database_is_told),
	    cmocka_unit_test(a_damaged_database_serves_reads),
	    cmocka_unit_test(a_kill_loses_nothing_acknowledged),
	};

	return cmocka_run_group_tests_name("open", tests, NULL, NULL);
}
