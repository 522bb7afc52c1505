#include "tests/unit/profiler/timeline_made.h"

#include "tests/unit/profiler/fixture.h"

/* Captures that have a table of kernels and no events. */

static void opened(const struct profile *p, struct timeline *out)
{
	FILE *f = made_file();
	TIMELINE_WRITER_AUTO w;

	assert_int_equal(timeline_begin(&w, fileno(f), NULL), SB_OK);
	for (size_t i = 0; i < p->count; i++)
		assert_int_equal(timeline_add_capture(&w, &p->captures[i], NULL), SB_OK);
	assert_int_equal(timeline_end(&w, NULL), SB_OK);
	assert_int_equal(timeline_open(fileno(f), out, NULL), SB_OK);
	fclose(f);
}

static void assert_is(const struct timeline *t, uint32_t id, const char *wanted)
{
	size_t len;
	const char *text = timeline_text(t, &t->sections[0], id, &len);

	assert_non_null(text);
	assert_int_equal(len, strlen(wanted));
	assert_memory_equal(text, wanted, len);
}

/* Cores in the order of their names, whatever the order of the rows; no core is a lane, too. */
static void rows_become_lanes_of_their_cores(void **state)
{
	static const struct {
		const char *process, *thread;
		enum timeline_lane_kind kind;
		uint64_t count;
	} lanes[] = {{"Communication", "", TIMELINE_COMMUNICATION, 2},
	             {"Kernels", "", TIMELINE_DEVICE, 1},
	             {"Kernels", "AI_CORE", TIMELINE_DEVICE, 2},
	             {"Kernels", "AI_VECTOR_CORE", TIMELINE_DEVICE, 1}};
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 3);
	TIMELINE_AUTO t = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;
	size_t texts;

	(void)state;
	text_id(c, "used by nothing");
	add_kernel(c, "Add7", "Add", "AI_VECTOR_CORE", 1060, 5);
	add_kernel(c, "MatMul2", "MatMul", "AI_CORE", 1030, 20);
	add_kernel(c, "hcom_allReduce__1", "hcom_allReduce_", "HCCL", 1010, 35)->communication = true;
	add_kernel(c, "MatMul1", "MatMul", "AI_CORE", 1000, 20);
	add_kernel(c, "hcom_broadcast__2", NULL, "", 1050, 1)->communication = true;
	add_kernel(c, "NoCore", NULL, "", 1002, 0);
	texts = sb_strings_count(c->trace.strings);
	opened(&p, &t);
	assert_int_equal(t.count, 1);
	assert_true(t.sections[0].rank == 3 && t.sections[0].count == 6);
	assert_true(t.sections[0].origin_ns == 1000 && t.sections[0].end_ns == 1065);
	q = made_query(&t, 0, 100, 100);
	assert_int_equal(timeline_look(&t, &q, &v, NULL), SB_OK);
	assert_int_equal(v.lane_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct timeline_lane *l = &timeline_lanes(&t, &t.sections[0])[i];

		assert_is(&t, l->process, lanes[i].process);
		assert_is(&t, l->thread, lanes[i].thread);
		assert_int_equal(l->kind, lanes[i].kind);
		assert_int_equal(l->device, -1);
		assert_int_equal(v.lanes[i].in_view, lanes[i].count);
	}
	assert_is(&t, v.events[v.lanes[2].first].name, "MatMul1");
	assert_is(&t, v.events[v.lanes[2].first + 1].name, "MatMul2");
	assert_true(v.events[v.lanes[2].first + 1].start_ns == 30 &&
	            v.events[v.lanes[2].first + 1].dur_ns == 20);
	assert_int_equal(v.events[v.lanes[0].first].category, EVENT_COMMUNICATION);
	/* nothing was added to what was read */
	assert_int_equal(sb_strings_count(c->trace.strings), texts);
	assert_true(c->trace.count == 0 && c->trace.lane_count == 0);
}

/* The events tell the same and more. */
static void a_table_beside_events_is_not_shown(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	TIMELINE_AUTO t = {0};

	(void)state;
	add_kernel(c, "MatMul1", "MatMul", "AI_CORE", 1000, 20);
	add_event(c, add_lane(c, "Ascend Hardware", "Stream 2", 0), EVENT_KERNEL, "MatMul1", 1000, 20, -1);
	opened(&p, &t);
	assert_true(t.count == 1 && t.sections[0].count == 1 && t.sections[0].lane_count == 1);
}

static void what_has_neither_is_left_out(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	TIMELINE_AUTO t = {0};

	(void)state;
	add_kernel(c, "no start", NULL, "AI_CORE", SB_NULL, 20);
	make_capture(&p, FORMAT_ASCEND_TEXT, 1);
	opened(&p, &t);
	assert_int_equal(t.count, 0);
}

static void captures_keep_their_paths(void **state)
{
	static const char *const paths[] = {"a/rank0.json", "", "b/<i>.json"};
	PROFILE_AUTO p = {0};
	TIMELINE_AUTO t = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, SB_NULL);

		free(c->source);
		c->source = strdup(paths[i]);
		add_kernel(c, "MatMul1", "MatMul", "AI_CORE", 1000, 20);
	}
	opened(&p, &t);
	assert_int_equal(t.count, 3);
	for (size_t i = 0; i < 3; i++) {
		size_t len;
		const char *source = timeline_source(&t, &t.sections[i], &len);

		assert_non_null(source);
		assert_int_equal(len, strlen(paths[i]));
		assert_memory_equal(source, paths[i], len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_become_lanes_of_their_cores),
	    cmocka_unit_test(a_table_beside_events_is_not_shown),
	    cmocka_unit_test(what_has_neither_is_left_out),
	    cmocka_unit_test(captures_keep_their_paths),
	};

	return cmocka_run_group_tests_name("timeline of kernel tables", tests, NULL, NULL);
}
