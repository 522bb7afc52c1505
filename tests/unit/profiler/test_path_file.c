/* Critical paths in their side file: views, and files that are damaged. */
#include "tests/unit/profiler/fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "profiler/path_file.h"

static void make(struct profile *p)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 3);
	uint32_t stream = add_lane(c, "GPU 0", "stream 7", 0), thread = add_lane(c, "python", "1", -1);

	/* the timeline begins at 100 us, the path at 110 us */
	add_event(c, thread, EVENT_HOST_OP, "aten::mul", 100000, 1000, -1);
	add_event(c, stream, EVENT_KERNEL, "a", 110000, 10000, -1);
	add_event(c, stream, EVENT_KERNEL, "b", 124000, 6000, -1);
	add_event(c, stream, EVENT_KERNEL, "a", 130000, 5000, -1);
}

static int written(const struct profile *p)
{
	COLLECTIVES_AUTO c = {0};
	CRITICAL_PATHS_AUTO paths = {0};
	int fd = memfd_create("paths", 0);

	assert_true(fd >= 0);
	assert_int_equal(collectives_match(p, &c), SB_OK);
	assert_int_equal(critical_paths_find(p, &c, &paths, NULL), SB_OK);
	assert_int_equal(path_file_write(p, &paths, fd, NULL), SB_OK);
	return fd;
}

static void a_view_is_cut_from_the_path(void **state)
{
	PROFILE_AUTO p = {0};
	PATH_FILE_AUTO f = {0};
	PATH_VIEW_AUTO all = {0};
	PATH_VIEW_AUTO part = {0};
	size_t len;
	int fd;

	(void)state;
	make(&p);
	fd = written(&p);
	assert_int_equal(path_file_open(fd, &f, NULL), SB_OK);
	close(fd);
	assert_int_equal(f.count, 1);
	assert_true(f.sections[0].rank == 3 && f.sections[0].device == 0 && !f.sections[0].across);
	assert_int_equal(f.sections[0].origin_ns, 100000);
	assert_int_equal(f.sections[0].first_ns, 10000);
	assert_int_equal(f.sections[0].end_ns, 35000);
	assert_int_equal(path_file_look(&f, &f.sections[0], 0, INT64_MAX, 2, &all, NULL), SB_OK);
	assert_int_equal(all.span_ns, 25000);
	assert_int_equal(all.part_ns[PATH_COMPUTE], 21000);
	assert_int_equal(all.part_ns[PATH_GAP], 4000);
	assert_true(all.count == 2 && all.left_out == 2);
	assert_int_equal(all.sum_count, 2);
	assert_memory_equal(path_file_text(&f, all.sums[0].name, &len), "a", 1);
	assert_true(all.sums[0].count == 2 && all.sums[0].total_ns == 15000);
	/* 18 to 26 us: 2 us of a, the gap, 2 us of b */
	assert_int_equal(path_file_look(&f, &f.sections[0], 18000, 26000, 9, &part, NULL), SB_OK);
	assert_int_equal(part.count, 3);
	assert_int_equal(part.span_ns, 8000);
	assert_int_equal(part.part_ns[PATH_COMPUTE], 4000);
	assert_true(part.pieces[0].start_ns == 18000 && part.pieces[0].dur_ns == 2000);
	assert_true(part.pieces[2].start_ns == 24000 && part.pieces[2].dur_ns == 2000);
}

/* Whatever byte is lost, the file is refused or what is read of it is told to be damaged. */
static void damage_is_told(void **state)
{
	PROFILE_AUTO p = {0};
	off_t size;
	int fd, refused = 0;

	(void)state;
	make(&p);
	fd = written(&p);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 4096);
	for (off_t at = 0; at < size; at += 7) {
		PATH_FILE_AUTO f = {0};
		PATH_VIEW_AUTO v = {0};
		char byte, other;
		int rc;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = (char)(byte ^ 0x55);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		rc = path_file_open(fd, &f, NULL);
		if (rc == SB_OK)
			rc = path_file_look(&f, &f.sections[0], 0, INT64_MAX, 9, &v, NULL);
		assert_int_equal(rc, SB_EFORMAT);
		refused++;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(refused > 500);
	close(fd);
}

static void no_path_is_an_empty_file(void **state)
{
	PROFILE_AUTO p = {0};
	PATH_FILE_AUTO f = {0};
	int fd;

	(void)state;
	make_capture(&p, FORMAT_KINETO, 0);
	fd = written(&p);
	assert_int_equal(path_file_open(fd, &f, NULL), SB_OK);
	assert_int_equal(f.count, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_view_is_cut_from_the_path),
	    cmocka_unit_test(damage_is_told),
	    cmocka_unit_test(no_path_is_an_empty_file),
	};

	return cmocka_run_group_tests_name("path file", tests, NULL, NULL);
}
