/* One capture of several ranks, read over and over: neither the order of its files nor who reads them may
 * show.
 */
#include "tests/shared.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/mman.h>

#include "api/profiles/report.h"
#include "tests/executors.h"

#define LEVEL_1 "samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz"
#define FILES_MAX 64
#define TIMES 500

struct files {
	char *paths[FILES_MAX];
	struct read_input items[FILES_MAX];
	size_t count;
};

static void add_file(struct files *f, struct archive *a, struct archive_entry *e)
{
	size_t len = (size_t)archive_entry_size(e);
	char *data = malloc(len + 1);
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(f->count < FILES_MAX && data && fd >= 0);
	assert_true(archive_read_data(a, data, len) == (la_ssize_t)len);
	assert_true(write(fd, data, len) == (ssize_t)len);
	free(data);
	f->paths[f->count] = strdup(archive_entry_pathname(e));
	f->items[f->count] =
	    (struct read_input){.path = f->paths[f->count], .fd = fd, .length = (int64_t)len};
	f->count++;
}

static void unpack(struct files *f)
{
	char *path = shared_path(LEVEL_1);
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	assert_non_null(a);
	archive_read_support_format_tar(a);
	archive_read_support_filter_gzip(a);
	assert_int_equal(archive_read_open_filename(a, path, 65536), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		if (archive_entry_filetype(e) == AE_IFREG)
			add_file(f, a, e);
	}
	archive_read_free(a);
	free(path);
	assert_true(f->count > 4);
}

static void clear(struct files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->paths[i]);
		close(f->items[i].fd);
	}
}

static void shuffle(struct files *f, uint64_t *seed)
{
	for (size_t i = f->count; i > 1; i--) {
		size_t k;
		struct read_input other;

		*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		k = (size_t)(*seed >> 33) % i;
		other = f->items[i - 1];
		f->items[i - 1] = f->items[k];
		f->items[k] = other;
	}
}

static char *answer(const struct files *f, const struct sb_executor *x)
{
	const struct read_hooks hooks = {.executor = x};
	RESULTS_AUTO r = {0};
	struct sb_error err = {0};
	struct sb_buf text;

	sb_buf_init(&text, REPORT_MAX);
	if (results_compute(f->items, f->count, &READ_LIMITS_DEFAULT, &hooks, &THRESHOLDS_DEFAULT, &r,
	                    &err) != SB_OK)
		fail_msg("%s", err.text);
	assert_int_equal(r.profile.count, 2);
	assert_int_equal(report_json(&r, "name", 1, &text), SB_OK);
	return sb_buf_take(&text);
}

static void every_order_and_any_threads_give_the_same_bytes(void **state)
{
	struct files files = {.count = 0}, *f = &files;
	uint64_t seed = 1;
	char *want;

	(void)state;
	unpack(f);
	want = answer(f, NULL);
	for (int i = 0; i < TIMES; i++) {
		struct thread_executor threads;
		char *got;

		threads_init(&threads, i % 3 == 1 ? 1 : 4);
		shuffle(f, &seed);
		got = answer(f, i % 3 == 0 ? NULL : &threads.base);
		if (strcmp(want, got) != 0)
			fail_msg("reading %d gives another result", i);
		free(got);
	}
	free(want);
	clear(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_order_and_any_threads_give_the_same_bytes)};

	return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
