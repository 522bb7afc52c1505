#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "profiler/read/source.h"
#include "tests/unit/profiler/made_archive.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What came out of a walk, as text: one line a file with its content, "-" lines for what was left out, "!"
 * lines for failures. */
struct heard {
	char log[4096];
	size_t at;
	int64_t bytes;
	int64_t failed_at; /* offset of the last failure */
};

static void say(struct heard *h, const char *mark, const char *a, const char *b)
{
	int n = snprintf(h->log + h->at, sizeof(h->log) - h->at, "%s%s|%s\n", mark, a, b);

	assert_true(n > 0 && h->at + (size_t)n < sizeof(h->log));
	h->at += (size_t)n;
}

static int on_file(void *self, const struct source *from, const struct sniff *head, struct stream *in,
                   struct sb_error *err)
{
	struct heard *h = self;
	char text[64] = "";
	size_t used = 0;

	(void)from;
	for (;;) {
		const char *data;
		size_t len;
		int rc = in->next(in, &data, &len, err);

		if (rc != SB_OK || len == 0) {
			say(h, head->whole ? "" : "+", in->path, text);
			return rc;
		}
		h->bytes += (int64_t)len;
		for (size_t i = 0; i < len && used + 1 < sizeof(text); i++)
			text[used++] = data[i];
	}
}

static void on_left_out(void *self, const struct source *from, const char *path, const char *reason)
{
	(void)from;
	say(self, "-", path, reason);
}

static void on_failed(void *self, const struct source *from, const char *path, const struct sb_error *err)
{
	struct heard *h = self;

	(void)from;
	say(h, "!", path, err->word);
	h->failed_at = err->offset;
}

static const struct read_limits WIDE = {
    .inflated_bytes = 1 << 30, .ratio = 200, .ratio_from = 1 << 26, .archive_files = 100};

struct counts {
	struct source_shared shared;
	struct source_input input;
};

static int walk(const char *data, size_t len, const struct read_limits *limits, struct heard *h,
                struct sb_error *err)
{
	const struct source_sink sink = {
	    .self = h, .file = on_file, .left_out = on_left_out, .failed = on_failed};
	struct counts c = {.shared.limits = limits};
	struct source s = {.budget = {.shared = &c.shared, .input = &c.input}, .sink = &sink};
	int fd = made_fd(data, len), rc;
	struct read_input in = {.path = "up", .fd = fd, .length = (int64_t)len};

	*h = (struct heard){0};
	*err = (struct sb_error){0};
	rc = source_walk(&s, &in, err);
	close(fd);
	return rc;
}

static void expect(const struct made *m, const char *want)
{
	struct heard h;
	struct sb_error err;

	assert_int_equal(walk(m->data, m->len, &WIDE, &h, &err), SB_OK);
	assert_string_equal(h.log, want);
}

static void a_plain_file_comes_out_as_it_is(void **state)
{
	struct heard h;
	struct sb_error err;
	char *big = malloc(1000000);

	(void)state;
	assert_int_equal(walk("hello", 5, &WIDE, &h, &err), SB_OK);
	assert_string_equal(h.log, "up|hello\n");
	assert_int_equal(walk("", 0, &WIDE, &h, &err), SB_OK);
	assert_string_equal(h.log, "up|\n");
	assert_non_null(big);
	memset(big, 'x', 1000000);
	assert_int_equal(walk(big, 1000000, &WIDE, &h, &err), SB_OK);
	assert_true(h.bytes == 1000000);
	assert_true(h.log[0] == '+');
	free(big);
}

static void a_range_of_a_file_is_read(void **state)
{
	struct heard h = {0};
	const struct source_sink own = {
	    .self = &h, .file = on_file, .left_out = on_left_out, .failed = on_failed};
	struct counts c = {.shared.limits = &WIDE};
	struct source s = {.budget = {.shared = &c.shared, .input = &c.input}, .sink = &own};
	int fd = made_fd("abcdefgh", 8);
	struct read_input in = {.path = "part", .fd = fd, .offset = 2, .length = 3};
	struct sb_error err;

	(void)state;
	assert_int_equal(source_walk(&s, &in, &err), SB_OK);
	assert_string_equal(h.log, "part|cde\n");
	close(fd);
}

static void gzip_members_are_one_file(void **state)
{
	MADE_AUTO a = made_gzip("one ", 4), b = made_gzip("two", 3);
	MADE_AUTO both = {0}, twice = {0}, thrice = {0};

	(void)state;
	both.data = malloc(a.len + b.len + 16);
	assert_non_null(both.data);
	memcpy(both.data, a.data, a.len);
	memcpy(both.data + a.len, b.data, b.len);
	both.len = a.len + b.len;
	expect(&both, "up|one two\n");
	/* padding and foreign bytes behind the last member are passed over */
	memset(both.data + both.len, 0, 16);
	both.len += 16;
	expect(&both, "up|one two\n");
	memcpy(both.data + both.len - 8, "trailing", 8);
	expect(&both, "up|one two\n");
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	twice = made_gzip(a.data, a.len);
	expect(&twice, "up|one \n");
	thrice = made_gzip(twice.data, twice.len);
	expect(&thrice, "-up|compressed more than twice\n");
}

static void a_cut_gzip_hands_out_what_there_is(void **state)
{
	char *text = noise(100000);
	struct heard h;
	struct sb_error err;

	(void)state;
	{
		MADE_AUTO m = made_gzip(text, 100000);

		assert_int_equal(walk(m.data, m.len / 2, &WIDE, &h, &err), SB_OK);
		assert_true(h.bytes > 1000 && h.bytes < 100000);
		assert_non_null(strstr(h.log, "!up|truncated\n"));
		assert_int_equal(h.failed_at, h.bytes);
		/* without the checksum at its end, too */
		assert_int_equal(walk(m.data, m.len - 8, &WIDE, &h, &err), SB_OK);
		assert_true(h.bytes == 100000);
		assert_non_null(strstr(h.log, "!up|truncated\n"));
		m.data[m.len / 2] ^= 0x55;
		m.data[m.len / 2 + 1] ^= 0x55;
		assert_int_equal(walk(m.data, m.len, &WIDE, &h, &err), SB_OK);
		assert_non_null(strstr(h.log, "!up|bad_gzip\n"));
	}
	free(text);
}

static void tar_and_zip_members_come_out(void **state)
{
	const struct made_member members[] = {{.name = "d", .type = AE_IFDIR},
	                                      {.name = "./d/a.txt", .data = "A"},
	                                      {.name = "d//..b..", .data = "BB"}};

	(void)state;
	for (int kind = MADE_TAR; kind <= MADE_ZIP_STORED; kind++) {
		MADE_AUTO m = made_archive((enum made_kind)kind, members, COUNT(members));
		MADE_AUTO z = made_gzip(m.data, m.len);

		expect(&m, "up/d/a.txt|A\nup/d/..b..|BB\n");
		expect(&z, "up/d/a.txt|A\nup/d/..b..|BB\n");
	}
}

static void gzip_inside_a_tar_is_inflated(void **state)
{
	MADE_AUTO gz = made_gzip("[1]", 3);
	const struct made_member members[] = {{.name = "t.json.gz", .data = gz.data, .len = gz.len}};
	MADE_AUTO tar = made_archive(MADE_TAR, members, 1);

	(void)state;
	expect(&tar, "up/t.json.gz|[1]\n");
}

static void archives_nest_once(void **state)
{
	const struct made_member leaf[] = {{.name = "x", .data = "X"}};

	(void)state;
	for (int outer = MADE_TAR; outer <= MADE_ZIP; outer++) {
		MADE_AUTO a = made_archive(MADE_ZIP, leaf, 1);
		MADE_AUTO az = made_gzip(a.data, a.len);
		const struct made_member two[] = {{.name = "in.zip", .data = a.data, .len = a.len},
		                                  {.name = "in.zip.gz", .data = az.data, .len = az.len}};
		MADE_AUTO b = made_archive((enum made_kind)outer, two, 2);
		const struct made_member three[] = {{.name = "mid", .data = b.data, .len = b.len},
		                                    {.name = "y", .data = "Y"}};
		MADE_AUTO c = made_archive((enum made_kind)outer, three, 2);

		expect(&b, "up/in.zip/x|X\nup/in.zip.gz/x|X\n");
		expect(&c, "-up/mid/in.zip|an archive nested too deeply: unpack it first\n"
		           "-up/mid/in.zip.gz|an archive nested too deeply: unpack it first\n"
		           "up/y|Y\n");
	}
}

static void a_member_that_points_outside_refuses_the_archive(void **state)
{
	static const char *const bad[] = {"../x",       "/etc/x",       "a/../../x", "a/..",
	                                  "\\share\\x", "a\\..\\..\\x", "C:\\x",     "c:/x"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		const struct made_member members[] = {{.name = "good", .data = "G"},
		                                      {.name = bad[i], .data = "B"}};
		MADE_AUTO m = made_archive(MADE_TAR, members, 2);
		struct heard h;
		struct sb_error err;

		assert_int_equal(walk(m.data, m.len, &WIDE, &h, &err), SB_EFORMAT);
		assert_string_equal(err.word, "unsafe_path");
		assert_string_equal(err.file, "up");
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void links_and_devices_are_left_out(void **state)
{
	const struct made_member members[] = {{.name = "a", .data = "A"},
	                                      {.name = "s", .link_to = "/etc/passwd"},
	                                      {.name = "h", .hard_to = "a"},
	                                      {.name = "p", .type = AE_IFIFO},
	                                      {.name = "c", .type = AE_IFCHR}};
	MADE_AUTO m = made_archive(MADE_TAR, members, COUNT(members));

	(void)state;
	expect(&m, "up/a|A\n"
	           "-up/s|a symbolic link in an archive\n"
	           "-up/h|a hard link in an archive\n"
	           "-up/p|a device or other special file in an archive\n"
	           "-up/c|a device or other special file in an archive\n");
}

static void expect_limit(const struct made *m, const struct read_limits *limits, const char *word)
{
	struct heard h;
	struct sb_error err;

	assert_int_equal(walk(m->data, m->len, limits, &h, &err), SB_ELIMIT);
	assert_string_equal(err.word, word);
	assert_true(h.bytes < 1200000);
}

static void bombs_are_stopped(void **state)
{
	struct read_limits ratio = WIDE, total = WIDE;
	char *zeros = calloc(1, 4000000);
	const struct made_member members[] = {{.name = "z", .data = zeros, .len = 4000000}};

	(void)state;
	assert_non_null(zeros);
	/* bombs are stopped while they inflate, not after: on_file() counts what came out */
	ratio.ratio_from = 500000;
	total.inflated_bytes = 1000000;
	{
		MADE_AUTO gz = made_gzip(zeros, 4000000);
		MADE_AUTO zip = made_archive(MADE_ZIP, members, 1);
		MADE_AUTO tar = made_archive(MADE_TAR, members, 1);
		MADE_AUTO tar_gz = made_gzip(tar.data, tar.len);
		MADE_AUTO zip_gz = made_gzip(zip.data, zip.len);
		struct heard h;
		struct sb_error err;

		expect_limit(&gz, &ratio, "zip_bomb");
		expect_limit(&zip, &ratio, "zip_bomb");
		expect_limit(&tar_gz, &ratio, "zip_bomb");
		expect_limit(&zip_gz, &ratio, "zip_bomb");
		expect_limit(&gz, &total, "too_large");
		expect_limit(&zip, &total, "too_large");
		expect_limit(&tar_gz, &total, "too_large");
		/* plain bytes inflate nothing */
		assert_int_equal(walk(tar.data, tar.len, &ratio, &h, &err), SB_OK);
		assert_true(h.bytes == 4000000);
		assert_int_equal(walk(gz.data, gz.len, &WIDE, &h, &err), SB_OK);
		assert_true(h.bytes == 4000000);
	}
	free(zeros);
}

static void files_of_archives_are_counted(void **state)
{
	const struct made_member members[] = {
	    {.name = "1", .data = "1"}, {.name = "2", .data = "2"}, {.name = "3", .data = "3"}};
	MADE_AUTO m = made_archive(MADE_ZIP, members, 3);
	struct read_limits two = WIDE, three = WIDE;
	struct heard h;
	struct sb_error err;

	(void)state;
	two.archive_files = 2;
	three.archive_files = 3;
	assert_int_equal(walk(m.data, m.len, &two, &h, &err), SB_ELIMIT);
	assert_string_equal(err.word, "too_many_files");
	assert_int_equal(walk(m.data, m.len, &three, &h, &err), SB_OK);
}

static void cut_archives_give_what_is_whole(void **state)
{
	char *text = noise(20000);
	const struct made_member members[] = {{.name = "a", .data = "A"},
	                                      {.name = "b", .data = text, .len = 20000}};
	struct heard h;
	struct sb_error err;

	(void)state;
	for (int kind = MADE_TAR; kind <= MADE_ZIP; kind++) {
		MADE_AUTO m = made_archive((enum made_kind)kind, members, 2);

		assert_int_equal(walk(m.data, kind == MADE_TAR ? 6000 : 3000, &WIDE, &h, &err), SB_OK);
		assert_memory_equal(h.log, "up/a|A\n", 7);
		assert_non_null(strstr(h.log, "!up/b|truncated\n"));
		assert_true(h.bytes > 1000 && h.bytes < 20000);
	}
	free(text);
}

static void a_path_on_disk_must_be_a_file(void **state)
{
	struct heard h = {0};
	const struct source_sink sink = {
	    .self = &h, .file = on_file, .left_out = on_left_out, .failed = on_failed};
	struct counts c = {.shared.limits = &WIDE};
	struct source s = {.budget = {.shared = &c.shared, .input = &c.input}, .sink = &sink};
	struct read_input dir = {"d", -1, "/", 0, 0}, none = {"n", -1, "/nonexistent/file", 0, 0};
	struct sb_error err;

	(void)state;
	assert_int_equal(source_walk(&s, &dir, &err), SB_EIO);
	assert_string_equal(err.word, "not_a_file");
	assert_int_equal(source_walk(&s, &none, &err), SB_EIO);
	assert_string_equal(err.file, "n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_plain_file_comes_out_as_it_is),
	    cmocka_unit_test(a_range_of_a_file_is_read),
	    cmocka_unit_test(gzip_members_are_one_file),
	    cmocka_unit_test(a_cut_gzip_hands_out_what_there_is),
	    cmocka_unit_test(tar_and_zip_members_come_out),
	    cmocka_unit_test(gzip_inside_a_tar_is_inflated),
	    cmocka_unit_test(archives_nest_once),
	    cmocka_unit_test(a_member_that_points_outside_refuses_the_archive),
	    cmocka_unit_test(links_and_devices_are_left_out),
	    cmocka_unit_test(bombs_are_stopped),
	    cmocka_unit_test(files_of_archives_are_counted),
	    cmocka_unit_test(cut_archives_give_what_is_whole),
	    cmocka_unit_test(a_path_on_disk_must_be_a_file),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
