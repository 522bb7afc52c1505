#include "tests/unit/storage/helper.h"

#include <fcntl.h>

static void files_stand_one_after_the_other(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct store_profile pr, again;
	char bytes[16] = "";
	int fd = -1;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 1000, 5, &up, NULL), SB_OK);
	assert_int_equal(upload_file(up, "a/one.json", NULL), SB_OK);
	assert_int_equal(upload_append(up, "a", 1, NULL), SB_OK);
	assert_int_equal(upload_append(up, "b", 1, NULL), SB_OK);
	assert_int_equal(upload_file(up, "empty", NULL), SB_OK);
	assert_int_equal(upload_file(up, "a/two.json", NULL), SB_OK);
	assert_int_equal(upload_append(up, "c", 1, NULL), SB_OK);
	assert_true(upload_bytes(up) == 3);
	assert_int_equal(upload_files(up), 3);
	assert_int_equal(store_profile_create(s, &up, "n", &pr, NULL), SB_OK);
	/* SHA-256 of "abc": FIPS 180-4, example B.1 */
	assert_string_equal(pr.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_string_equal(pr.files, "[{\"path\":\"a/one.json\",\"offset\":0,\"bytes\":2},"
	                              "{\"path\":\"empty\",\"offset\":2,\"bytes\":0},"
	                              "{\"path\":\"a/two.json\",\"offset\":2,\"bytes\":1}]");
	assert_string_equal(pr.state, "queued");
	assert_true(pr.bytes == 3);
	assert_int_equal(store_profile_open(s, pr.id, &fd, NULL), SB_OK);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	assert_string_equal(bytes, "abc");
	close(fd);
	assert_int_equal(store_profile_get(s, pr.id, &again, NULL), SB_OK);
	assert_string_equal(again.files, pr.files);
	store_profile_clear(&again);
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

static void labels_are_cleaned(void **state)
{
	static const struct {
		const char *given, *kept;
	} cases[] = {{"C:\\x\\y.json", "C:/x/y.json"},
	             {"///etc/passwd", "etc/passwd"},
	             {"a\nb\x7f", "a_b_"},
	             {"q\\\"q", "q/\\\"q"},
	             {"\xff\xc3(", "__("},
	             {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
	             {"\xed\xa0\x80", "___"},
	             {"", "upload"},
	             {"upload", "9/upload"},
	             {"12/upload", "12/upload"},
	             {"upload", "11/upload"},
	             {"upload", "13/upload"}};
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct store_profile pr;
	const char *at;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 1000, 0, &up, NULL), SB_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(upload_file(up, cases[i].given, NULL), SB_OK);
	assert_int_equal(store_profile_create(s, &up, "n", &pr, NULL), SB_OK);
	at = pr.files;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[80];

		snprintf(want, sizeof(want), "{\"path\":\"%s\",\"offset\":0,\"bytes\":0}", cases[i].kept);
		at = strstr(at, want);
		assert_non_null(at);
	}
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

/* 1 + 600 x 2 bytes: whole characters in 1024 bytes are 1 + 511 x 2 of them, in 1000 behind a number 1 + 499
 * x 2. */
static void long_labels_end_with_a_character(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct store_profile pr;
	char label[1202] = "a", want[2200];
	size_t len;

	(void)state;
	for (size_t i = 1; i < sizeof(label) - 1; i += 2)
		memcpy(label + i, "\xc3\xa9", 2);
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 1000, 0, &up, NULL), SB_OK);
	assert_int_equal(upload_file(up, label, NULL), SB_OK);
	assert_int_equal(upload_file(up, label, NULL), SB_OK);
	assert_int_equal(store_profile_create(s, &up, "n", &pr, NULL), SB_OK);
	len = (size_t)snprintf(want, sizeof(want),
	                       "[{\"path\":\"%.1023s\",\"offset\":0,\"bytes\":0},"
	                       "{\"path\":\"2/%.999s\",\"offset\":0,\"bytes\":0}]",
	                       label, label);
	assert_true(len < sizeof(want));
	assert_string_equal(pr.files, want);
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

static void past_the_bound_nothing_is_taken(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct store_profile pr, *list = NULL;
	struct sb_error err = {0};
	size_t n = 7;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 4, 5, &up, &err), SB_ELIMIT);
	assert_null(up);
	assert_int_equal(upload_begin(s, 4, 4, &up, NULL), SB_OK);
	assert_int_equal(upload_append(up, "x", 1, NULL), SB_ECONFLICT); /* no file yet */
	assert_int_equal(upload_file(up, "f", NULL), SB_OK);
	assert_int_equal(upload_append(up, "1234", 4, NULL), SB_OK);
	assert_int_equal(upload_append(up, "5", 1, &err), SB_ELIMIT);
	assert_string_equal(err.word, "too_large");
	assert_int_equal(upload_append(up, "", 0, NULL), SB_ELIMIT);
	assert_int_equal(upload_file(up, "g", NULL), SB_ELIMIT);
	assert_int_equal(store_profile_create(s, &up, "n", &pr, &err), SB_ELIMIT);
	assert_null(up);
	assert_int_equal(store_profile_list(s, NULL, 10, &list, &n, NULL), SB_OK);
	assert_int_equal(n, 0);
	free(list);
	store_close(&s);
	drop_dir(&p);
}

static void a_disk_without_room_is_told_at_once(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct sb_error err = {0};

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, INT64_MAX, INT64_C(1) << 60, &up, &err), SB_ENOSPC);
	assert_string_equal(err.word, "disk_full");
	assert_null(up);
	store_close(&s);
	drop_dir(&p);
}

/* What running uploads still expect is not free for others. */
static void expected_bytes_are_reserved(void **state)
{
	struct place p;
	struct store *s;
	struct upload *one = NULL, *two = NULL;
	struct store_numbers n;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	store_numbers(s, &n);
	assert_int_equal(upload_begin(s, INT64_MAX, n.free_bytes / 10 * 6, &one, NULL), SB_OK);
	assert_int_equal(upload_begin(s, INT64_MAX, n.free_bytes / 10 * 6, &two, NULL), SB_ENOSPC);
	upload_abort(&one);
	assert_int_equal(upload_begin(s, INT64_MAX, n.free_bytes / 10 * 6, &two, NULL), SB_OK);
	upload_abort(&two);
	store_close(&s);
	drop_dir(&p);
}

static void an_abort_leaves_nothing(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	char command[128];

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 100, 0, &up, NULL), SB_OK);
	assert_int_equal(upload_file(up, "f", NULL), SB_OK);
	assert_int_equal(upload_append(up, "1234", 4, NULL), SB_OK);
	upload_abort(&up);
	upload_abort(&up);
	snprintf(command, sizeof(command), "%s/profiles", p.data);
	assert_int_equal(rmdir(command), 0); /* only an empty directory can be removed */
	store_close(&s);
	drop_dir(&p);
}

static void ten_thousand_files_are_one(void **state)
{
	struct place p;
	struct store *s;
	struct upload *up = NULL;
	struct store_profile pr;
	char name[32];
	size_t found = 0;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	assert_int_equal(upload_begin(s, 1 << 20, 0, &up, NULL), SB_OK);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "d/%d", i);
		assert_int_equal(upload_file(up, name, NULL), SB_OK);
		assert_int_equal(upload_append(up, "x", 1, NULL), SB_OK);
	}
	assert_int_equal(store_profile_create(s, &up, "n", &pr, NULL), SB_OK);
	for (const char *at = pr.files; (at = strstr(at, "\"path\"")) != NULL; at++)
		found++;
	assert_int_equal(found, 10000);
	store_profile_clear(&pr);
	store_close(&s);
	drop_dir(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(files_stand_one_after_the_other),
	    cmocka_unit_test(labels_are_cleaned),
	    cmocka_unit_test(long_labels_end_with_a_character),
	    cmocka_unit_test(past_the_bound_nothing_is_taken),
	    cmocka_unit_test(a_disk_without_room_is_told_at_once),
	    cmocka_unit_test(expected_bytes_are_reserved),
	    cmocka_unit_test(an_abort_leaves_nothing),
	    cmocka_unit_test(ten_thousand_files_are_one),
	};

	return cmocka_run_group_tests_name("upload", tests, NULL, NULL);
}
