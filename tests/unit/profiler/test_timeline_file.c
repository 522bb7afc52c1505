#include "tests/unit/profiler/timeline_made.h"

#include "profiler/chunkfile.h"
#include "profiler/profile.h"

/* Two ranks with an empty one between them; details on two events; a text that nothing uses. */
static FILE *written(void)
{
	FILE *f = made_file();
	TIMELINE_WRITER_AUTO w;
	TRACE_AUTO a;
	TRACE_AUTO none;
	TRACE_AUTO b;
	struct event_detail d = {.bytes = 4096, .sequence = 7};
	uint32_t lane;

	assert_int_equal(trace_init(&a), SB_OK);
	assert_int_equal(trace_init(&none), SB_OK);
	assert_int_equal(trace_init(&b), SB_OK);
	made_text(&a, "not used by any event");
	d.type = made_text(&a, "allreduce");
	d.group = made_text(&a, "dp");
	lane = made_lane(&a, "gpu", "stream 20", 0);
	made_event(&a, lane, EVENT_COMMUNICATION, "second", 200, 10);
	assert_int_equal(trace_append_detail(&a, &d), SB_OK);
	lane = made_lane(&a, "gpu", "stream 7", 0);
	made_event(&a, lane, EVENT_KERNEL, "", 100, 5);
	lane = made_lane(&a, "python", "main", -1);
	for (int i = 0; i < 700; i++)
		made_event(&a, lane, i % 2 ? EVENT_HOST_OP : EVENT_HOST_PYTHON, "op", 1000 - i, 3);
	made_event(&a, 0, EVENT_COMMUNICATION, "first", 150, 20);
	d.bytes = 1;
	assert_int_equal(trace_append_detail(&a, &d), SB_OK);
	made_event(&b, made_lane(&b, "p", "t", -1), EVENT_HOST_OP, "only", 1, 1);
	assert_int_equal(timeline_begin(&w, fileno(f), NULL), SB_OK);
	assert_int_equal(timeline_add(&w, &a, 5, "a.json", NULL), SB_OK);
	assert_int_equal(timeline_add(&w, &none, 6, "none.json", NULL), SB_OK);
	assert_int_equal(timeline_add(&w, &b, SB_NULL, "b/b.json", NULL), SB_OK);
	assert_int_equal(timeline_end(&w, NULL), SB_OK);
	return f;
}

static void assert_text(const struct timeline *t, uint32_t id, const char *text)
{
	size_t len;
	const char *p = timeline_text(t, &t->sections[0], id, &len);

	assert_non_null(p);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(p, text, len);
}

static void captures_stand_behind_each_other(void **state)
{
	FILE *f = written();
	TIMELINE_AUTO t = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;

	(void)state;
	assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_OK);
	fclose(f);
	assert_int_equal(t.count, 2);
	assert_true(t.sections[0].rank == 5 && t.sections[0].count == 703);
	assert_true(t.sections[1].rank == SB_NULL && t.sections[1].count == 1);
	q = made_query(&t, 0, 10, 10);
	q.section = &t.sections[1];
	assert_int_equal(timeline_look(&t, &q, &v, NULL), SB_OK);
	assert_true(v.lane_count == 1 && v.event_count == 1 && v.origin_ns == 1);
}

/* Devices before hosts, 7 before 20; a detail goes where its event goes. */
static void columns_follow_the_order_of_lanes(void **state)
{
	static const char *const threads[] = {"stream 7", "stream 20", "main"};
	static const enum timeline_lane_kind kinds[] = {TIMELINE_DEVICE, TIMELINE_COMMUNICATION,
	                                                TIMELINE_HOST};
	FILE *f = written();
	TIMELINE_AUTO t = {0};
	const struct timeline_section *s;
	const struct timeline_lane *lanes;
	const struct event_detail *d;
	const int64_t *start;
	const uint32_t *name;

	(void)state;
	assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_OK);
	fclose(f);
	s = &t.sections[0];
	lanes = timeline_lanes(&t, s);
	assert_non_null(lanes);
	assert_int_equal(s->lane_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_text(&t, lanes[i].thread, threads[i]);
		assert_int_equal(lanes[i].kind, kinds[i]);
	}
	start = chunkfile_get(&t.file, s->start, s->count * sizeof(*start));
	name = chunkfile_get(&t.file, s->name, s->count * sizeof(*name));
	assert_true(start[0] == 100 && start[1] == 150 && start[2] == 200 && start[3] == 301 &&
	            start[702] == 1000);
	assert_text(&t, name[0], "");
	assert_text(&t, name[1], "first");
	d = chunkfile_get(&t.file, s->details, s->detail_count * sizeof(*d));
	assert_int_equal(s->detail_count, 2);
	assert_true(d[0].event == 1 && d[0].bytes == 1 && d[1].event == 2 && d[1].bytes == 4096);
	assert_text(&t, d[0].type, "allreduce");
	assert_text(&t, d[1].group, "dp");
	/* "", allreduce, dp, gpu, stream 20, second, stream 7, python, main, op, first: not the unused one */
	assert_int_equal(s->text_count, 11);
	assert_text(&t, 4000000, "");
}

static void a_capture_comes_back_as_a_trace(void **state)
{
	FILE *f = written();
	TIMELINE_AUTO t = {0};
	struct capture c = {0};
	const struct event_detail *d;
	struct event e;

	(void)state;
	assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_OK);
	fclose(f);
	assert_int_equal(timeline_load(&t, &t.sections[0], &c, NULL), SB_OK);
	timeline_close(&t);
	assert_true(c.rank == 5 && c.trace.count == 703 && c.trace.lane_count == 3);
	assert_string_equal(c.source, "a.json");
	/* "first" is the earlier event of stream 20, which stands behind stream 7 */
	e = trace_event(&c.trace, 1);
	assert_true(e.start_ns == 150 && e.dur_ns == 20 && e.kind == EVENT_COMMUNICATION && e.link == -1);
	assert_string_equal(trace_text(&c.trace, e.name, NULL), "first");
	assert_string_equal(trace_text(&c.trace, c.trace.lanes[e.lane].thread, NULL), "stream 20");
	assert_int_equal(c.trace.lanes[e.lane].device, 0);
	d = trace_detail(&c.trace, 2);
	assert_non_null(d);
	assert_true(d->bytes == 4096 && d->sequence == 7);
	assert_string_equal(trace_text(&c.trace, d->type, NULL), "allreduce");
	e = trace_event(&c.trace, 702);
	assert_true(e.start_ns == 1000 && e.lane == 2);
	capture_free(&c);
	assert_int_equal(timeline_open(fileno(f = written()), &t, NULL), SB_OK);
	fclose(f);
	assert_int_equal(timeline_load(&t, &t.sections[1], &c, NULL), SB_OK);
	assert_true(c.rank == SB_NULL && c.trace.count == 1);
	capture_free(&c);
}

/* Uses all that a file holds. */
static int read_all(int fd)
{
	TIMELINE_AUTO t = {0};
	struct sb_error err = {0};
	int rc = timeline_open(fd, &t, &err);

	for (size_t i = 0; rc == SB_OK && i < t.count; i++) {
		TIMELINE_VIEW_AUTO v = {0};
		struct timeline_query q = made_query(&t, 0, INT64_MAX, 1000);
		size_t length;

		q.section = &t.sections[i];
		rc = timeline_source(&t, q.section, &length) ? SB_OK : SB_EFORMAT;
		if (rc == SB_OK)
			rc = timeline_look(&t, &q, &v, &err);
		for (size_t k = 0; rc == SB_OK && k < v.event_count; k++) {
			size_t len;

			if (!timeline_text(&t, q.section, v.events[k].name, &len))
				rc = SB_EFORMAT;
		}
	}
	for (size_t i = 0; rc == SB_OK && i < t.count; i++) {
		struct capture c = {0};

		rc = timeline_load(&t, &t.sections[i], &c, &err);
		capture_free(&c);
	}
	/* what neither needs */
	if (rc == SB_OK && !chunkfile_get(&t.file, 0, t.file.body))
		rc = SB_EFORMAT;
	return rc;
}

/* All of the header, else one in eleven: none is special. */
static void every_flipped_byte_is_noticed(void **state)
{
	FILE *f = written();
	int fd = fileno(f);
	off_t size = lseek(fd, 0, SEEK_END);

	(void)state;
	assert_int_equal(read_all(fd), SB_OK);
	assert_true(size > 20000);
	for (off_t at = 0; at < size; at += at % CHUNK_BYTES < 100 ? 1 : 11) {
		unsigned char c, x;

		assert_int_equal(pread(fd, &c, 1, at), 1);
		x = c ^ 0x10;
		assert_int_equal(pwrite(fd, &x, 1, at), 1);
		assert_int_equal(read_all(fd), SB_EFORMAT);
		assert_int_equal(pwrite(fd, &c, 1, at), 1);
	}
	assert_int_equal(read_all(fd), SB_OK);
	fclose(f);
}

static void every_cut_is_noticed(void **state)
{
	FILE *f = written();
	off_t size = lseek(fileno(f), 0, SEEK_END);

	(void)state;
	for (off_t at = size - 1; at >= 0; at--) {
		TIMELINE_AUTO t = {0};

		assert_int_equal(ftruncate(fileno(f), at), 0);
		assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_EFORMAT);
	}
	fclose(f);
}

/* A file whose checksums hold but whose numbers are wild: nothing is read that is not there. */
static void wild_numbers_are_harmless(void **state)
{
	struct random r = {.state = 3};

	(void)state;
	for (int round = 0; round < 1000; round++) {
		FILE *good = written(), *wild = made_file();
		struct chunkfile g = {0};
		struct chunkfile_writer w;
		struct sb_error err = {0};
		char *body;

		assert_int_equal(chunkfile_map(fileno(good), "SBEVENTS", 2, &g, NULL), SB_OK);
		body = malloc(g.body);
		assert_non_null(body);
		memcpy(body, chunkfile_get(&g, 0, g.body), g.body);
		for (int i = 0; i < 4; i++) {
			/* mostly in the directory and the lanes, at the end */
			uint64_t back = (uint64_t)random_below(&r, round % 4 ? 512 : (int64_t)g.body);

			body[g.body - 1 - back] = (char)random_next(&r);
		}
		assert_int_equal(chunkfile_begin(&w, fileno(wild), "SBEVENTS", 2, NULL), SB_OK);
		assert_int_equal(chunkfile_add(&w, body, g.body, NULL), SB_OK);
		assert_int_equal(chunkfile_end(&w, g.root, g.root_count, &err), SB_OK);
		chunkfile_drop(&w);
		chunkfile_unmap(&g);
		free(body);
		(void)read_all(fileno(wild));
		fclose(good);
		fclose(wild);
	}
}

static void other_versions_and_kinds_are_refused(void **state)
{
	FILE *f = made_file();
	struct chunkfile_writer w;
	struct chunkfile c = {0};
	TIMELINE_AUTO t = {0};
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(timeline_open(fileno(f), &t, &err), SB_EFORMAT);
	assert_string_equal(err.word, "bad_side_file");
	assert_int_equal(chunkfile_begin(&w, fileno(f), "TESTFILE", 7, NULL), SB_OK);
	assert_int_equal(chunkfile_add(&w, "abc", 3, NULL), SB_OK);
	assert_int_equal(chunkfile_map(fileno(f), "TESTFILE", 7, &c, NULL), SB_EFORMAT);
	assert_int_equal(chunkfile_end(&w, 0, 0, NULL), SB_OK);
	chunkfile_drop(&w);
	assert_int_equal(chunkfile_map(fileno(f), "TESTFILE", 6, &c, NULL), SB_EFORMAT);
	assert_int_equal(chunkfile_map(fileno(f), "OTHERONE", 7, &c, NULL), SB_EFORMAT);
	assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_EFORMAT);
	assert_int_equal(chunkfile_map(fileno(f), "TESTFILE", 7, &c, NULL), SB_OK);
	assert_memory_equal(chunkfile_get(&c, 0, 3), "abc", 3);
	assert_non_null(chunkfile_get(&c, 8, 0));
	assert_null(chunkfile_get(&c, 8, 1));
	assert_null(chunkfile_get(&c, 9, 0));
	assert_null(chunkfile_get(&c, 1, UINT64_MAX));
	chunkfile_unmap(&c);
	fclose(f);
}

static void an_empty_file_has_no_captures(void **state)
{
	FILE *f = made_file();
	TIMELINE_WRITER_AUTO w;
	TIMELINE_AUTO t = {0};

	(void)state;
	assert_int_equal(timeline_begin(&w, fileno(f), NULL), SB_OK);
	assert_int_equal(timeline_end(&w, NULL), SB_OK);
	assert_int_equal(timeline_open(fileno(f), &t, NULL), SB_OK);
	fclose(f);
	assert_int_equal(t.count, 0);
}

static int write_to(int fd)
{
	TIMELINE_WRITER_AUTO w;
	TRACE_AUTO t;
	int rc;

	assert_int_equal(trace_init(&t), SB_OK);
	made_event(&t, made_lane(&t, "p", "t", -1), EVENT_HOST_OP, "only", 1, 1);
	rc = timeline_begin(&w, fd, NULL);
	if (rc == SB_OK)
		rc = timeline_add(&w, &t, 0, "made", NULL);
	return rc == SB_OK ? timeline_end(&w, NULL) : rc;
}

static void write_errors_are_told(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(write_to(-1), SB_EIO);
	if (!full)
		return;
	assert_int_equal(write_to(fileno(full)), SB_ENOSPC);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(captures_stand_behind_each_other),
	    cmocka_unit_test(columns_follow_the_order_of_lanes),
	    cmocka_unit_test(a_capture_comes_back_as_a_trace),
	    cmocka_unit_test(every_flipped_byte_is_noticed),
	    cmocka_unit_test(every_cut_is_noticed),
	    cmocka_unit_test(wild_numbers_are_harmless),
	    cmocka_unit_test(other_versions_and_kinds_are_refused),
	    cmocka_unit_test(an_empty_file_has_no_captures),
	    cmocka_unit_test(write_errors_are_told),
	};

	return cmocka_run_group_tests_name("timeline_file", tests, NULL, NULL);
}
