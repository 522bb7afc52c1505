#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/blockfile.h"
#include "profiler/profile.h"

static uint32_t text(struct trace *t, const char *s)
{
	uint32_t id = 0;

	assert_int_equal(sb_strings_add(t->strings, s, strlen(s), &id), SB_OK);
	return id;
}

/* Three events on two lanes; the second has a detail. */
static void fill(struct trace *t)
{
	struct lane host = {.process = text(t, "python"), .thread = text(t, "main"), .device = -1};
	struct lane gpu = {.process = text(t, "gpu"), .thread = text(t, "stream 7"), .device = 0};
	uint32_t host_lane = 99, gpu_lane = 99;
	struct event_detail d = {.type = text(t, "allreduce"), .bytes = 4096, .sequence = SB_NULL};

	assert_int_equal(trace_add_lane(t, &host, &host_lane), SB_OK);
	assert_int_equal(trace_add_lane(t, &gpu, &gpu_lane), SB_OK);
	assert_int_equal(host_lane, 0);
	assert_int_equal(gpu_lane, 1);
	struct event events[] = {
	    {-5, 10, -1, text(t, "aten::mm"), host_lane, EVENT_HOST_OP},
	    {INT64_MAX, 0, 77, text(t, "ncclKernel"), gpu_lane, EVENT_COMMUNICATION},
	    {0, INT64_MAX, 0, 0, gpu_lane, EVENT_MEMSET},
	};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(trace_append(t, &events[i]), SB_OK);
		if (i == 1)
			assert_int_equal(trace_append_detail(t, &d), SB_OK);
	}
}

static void check(const struct trace *t)
{
	size_t len = 0;

	assert_int_equal(t->count, 3);
	assert_true(t->start_ns[0] == -5 && t->start_ns[1] == INT64_MAX && t->start_ns[2] == 0);
	assert_true(t->dur_ns[0] == 10 && t->dur_ns[1] == 0 && t->dur_ns[2] == INT64_MAX);
	assert_true(t->link[0] == -1 && t->link[1] == 77 && t->link[2] == 0);
	assert_int_equal(t->kind[0], EVENT_HOST_OP);
	assert_int_equal(t->kind[1], EVENT_COMMUNICATION);
	assert_int_equal(t->kind[2], EVENT_MEMSET);
	assert_string_equal(trace_text(t, t->name[1], &len), "ncclKernel");
	assert_int_equal(len, 10);
	assert_string_equal(trace_text(t, t->name[2], &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(trace_text(t, 1000000, NULL), "");
	assert_int_equal(t->lane_count, 2);
	assert_int_equal(t->lanes[t->lane[0]].device, -1);
	assert_string_equal(trace_text(t, t->lanes[t->lane[1]].thread, NULL), "stream 7");
	assert_null(trace_detail(t, 0));
	assert_null(trace_detail(t, 2));
	assert_non_null(trace_detail(t, 1));
	assert_true(trace_detail(t, 1)->bytes == 4096 && trace_detail(t, 1)->sequence == SB_NULL);
	assert_string_equal(trace_text(t, trace_detail(t, 1)->type, NULL), "allreduce");
}

static void test_columns(void **state)
{
	TRACE_AUTO t;

	(void)state;
	assert_int_equal(trace_init(&t), SB_OK);
	fill(&t);
	check(&t);
}

static void test_many_events_grow(void **state)
{
	TRACE_AUTO t;

	(void)state;
	assert_int_equal(trace_init(&t), SB_OK);
	for (int64_t i = 0; i < 5000; i++) {
		struct event_detail d = {.bytes = i};

		assert_int_equal(trace_append(&t, &(struct event){.start_ns = i, .dur_ns = 2 * i}), SB_OK);
		if (i % 3 == 0)
			assert_int_equal(trace_append_detail(&t, &d), SB_OK);
	}
	assert_int_equal(t.count, 5000);
	assert_int_equal(t.detail_count, 1667);
	for (uint32_t i = 0; i < 5000; i++) {
		const struct event_detail *d = trace_detail(&t, i);

		assert_true(t.start_ns[i] == i && t.dur_ns[i] == 2 * (int64_t)i);
		assert_true(i % 3 == 0 ? d && d->bytes == i : !d);
	}
}

/* The blocks of test_blocks(). */
static FILE *written(void)
{
	FILE *f = tmpfile();
	struct blockfile_writer w;
	int64_t numbers[3] = {1, -2, 3};

	assert_non_null(f);
	blockfile_begin(&w, fileno(f), "TESTFILE", 7);
	assert_int_equal(blockfile_add(&w, "NUMS", 8, 3, numbers, NULL), SB_OK);
	assert_int_equal(blockfile_add(&w, "MORE", 1, 5, "abcde", NULL), SB_OK);
	assert_int_equal(blockfile_end(&w, NULL), SB_OK);
	return f;
}

/* Padding between blocks is the only part of a file that no checksum covers. */
static void test_every_flipped_byte_is_noticed(void **state)
{
	FILE *f = written();
	int fd = fileno(f);
	off_t size = lseek(fd, 0, SEEK_END);
	struct blockfile_header h;
	size_t noticed = 0, covered = sizeof(h);

	(void)state;
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	for (uint32_t i = 0; i < h.blocks; i++)
		covered += h.entries[i].element * h.entries[i].count;
	for (off_t at = 0; at < size; at++) {
		BLOCKFILE_AUTO b = {0};
		struct sb_error err = {0};
		unsigned char c, x;

		assert_int_equal(pread(fd, &c, 1, at), 1);
		x = c ^ 0x10;
		assert_int_equal(pwrite(fd, &x, 1, at), 1);
		if (blockfile_map(fd, "TESTFILE", 7, &b, &err) == SB_EFORMAT) {
			assert_string_equal(err.word, "bad_side_file");
			noticed++;
		}
		assert_int_equal(pwrite(fd, &c, 1, at), 1);
	}
	fclose(f);
	assert_int_equal(noticed, covered);
}

static void test_every_cut_is_noticed(void **state)
{
	FILE *f = written();
	off_t size = lseek(fileno(f), 0, SEEK_END);

	(void)state;
	for (off_t at = size - 1; at >= 0; at--) {
		BLOCKFILE_AUTO b = {0};

		assert_int_equal(ftruncate(fileno(f), at), 0);
		assert_int_equal(blockfile_map(fileno(f), "TESTFILE", 7, &b, NULL), SB_EFORMAT);
	}
	fclose(f);
}

static void test_blocks(void **state)
{
	FILE *f = tmpfile();
	struct blockfile_writer w;
	BLOCKFILE_AUTO b = {0};
	int64_t numbers[3] = {1, -2, 3};
	void *p = NULL;
	size_t n = 0;

	(void)state;
	assert_non_null(f);
	blockfile_begin(&w, fileno(f), "TESTFILE", 7);
	assert_int_equal(blockfile_add(&w, "NUMS", 8, 3, numbers, NULL), SB_OK);
	assert_int_equal(blockfile_add(&w, "NONE", 4, 0, NULL, NULL), SB_OK);
	assert_int_equal(blockfile_add(&w, "HUGE", SIZE_MAX / 2, 3, numbers, NULL), SB_ELIMIT);
	assert_int_equal(blockfile_map(fileno(f), "TESTFILE", 7, &b, NULL), SB_EFORMAT);
	assert_int_equal(blockfile_end(&w, NULL), SB_OK);
	assert_int_equal(blockfile_map(fileno(f), "OTHERONE", 7, &b, NULL), SB_EFORMAT);
	assert_int_equal(blockfile_map(fileno(f), "TESTFILE", 8, &b, NULL), SB_EFORMAT);
	assert_int_equal(blockfile_map(fileno(f), "TESTFILE", 7, &b, NULL), SB_OK);
	fclose(f);
	assert_int_equal(blockfile_get(&b, "NUMS", 8, &p, &n, NULL), SB_OK);
	assert_int_equal(n, 3);
	assert_int_equal((uintptr_t)p % 64, 0);
	assert_memory_equal(p, numbers, sizeof(numbers));
	assert_int_equal(blockfile_get(&b, "NONE", 4, &p, &n, NULL), SB_OK);
	assert_int_equal(n, 0);
	assert_int_equal(blockfile_get(&b, "NUMS", 4, &p, &n, NULL), SB_EFORMAT);
	assert_int_equal(blockfile_get(&b, "GONE", 8, &p, &n, NULL), SB_EFORMAT);
}

static void test_write_errors(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct blockfile_writer w;
	struct sb_error err = {0};

	(void)state;
	blockfile_begin(&w, -1, "TESTFILE", 7);
	assert_int_equal(blockfile_add(&w, "MORE", 1, 5, "abcde", &err), SB_EIO);
	assert_string_equal(err.word, "write_failed");
	if (!full)
		return;
	blockfile_begin(&w, fileno(full), "TESTFILE", 7);
	assert_int_equal(blockfile_add(&w, "MORE", 1, 5, "abcde", &err), SB_ENOSPC);
	fclose(full);
}

static void test_warnings(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	warnings_add(&p.warnings, "truncated", "a.json", 0, 120, "Cut at byte %d.", 120);
	warnings_add(&p.warnings, "truncated", "a.json", 0, 500, "Cut at byte %d.", 500);
	warnings_add(&p.warnings, "truncated", "b.json", 0, 9, "Cut.");
	assert_int_equal(p.warnings.count, 2);
	assert_int_equal(p.warnings.items[0].count, 2);
	assert_int_equal(p.warnings.items[0].offset, 120);
	assert_string_equal(p.warnings.items[0].detail, "Cut at byte 120.");
	for (int i = 0; i < 1000; i++) {
		char file[32];

		snprintf(file, sizeof(file), "f%d", i);
		warnings_add(&p.warnings, "bad_value", file, i, -1, "x");
	}
	assert_int_equal(p.warnings.count, WARNINGS_MAX);
	assert_int_equal(p.warnings.dropped, 1002 - WARNINGS_MAX);
	assert_string_equal(capture_format_name(FORMAT_KINETO), "kineto");
	assert_string_equal(capture_format_name(FORMAT_ASCEND_TEXT), "ascend-pytorch-text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_columns),
	    cmocka_unit_test(test_many_events_grow),
	    cmocka_unit_test(test_every_flipped_byte_is_noticed),
	    cmocka_unit_test(test_every_cut_is_noticed),
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_write_errors),
	    cmocka_unit_test(test_warnings),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
