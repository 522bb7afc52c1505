#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "profiler/read/collect.h"
#include "profiler/read/merge.h"
#include "tests/unit/profiler/made_profile.h"

/* Which of several captures are used, and how parts become one. */

static struct capture *add(struct gathering *g, const char *source, enum capture_format format, int64_t rank,
                           int64_t start_ns)
{
	struct capture *c = calloc(1, sizeof(*c));

	g->list = realloc(g->list, (g->count + 1) * sizeof(struct capture *));
	assert_true(c && g->list);
	*c = (struct capture){.format = format,
	                      .rank = rank,
	                      .world_size = SB_NULL,
	                      .stage = SB_NULL,
	                      .source = strdup(source)};
	assert_int_equal(trace_init(&c->trace), SB_OK);
	if (start_ns != SB_NULL) {
		const struct event e = {.start_ns = start_ns, .dur_ns = 1, .link = -1, .kind = EVENT_KERNEL};
		const struct lane lane = {.device = 0};
		uint32_t at;

		assert_int_equal(trace_add_lane(&c->trace, &lane, &at), SB_OK);
		assert_int_equal(trace_append(&c->trace, &e), SB_OK);
	}
	g->list[g->count++] = c;
	return c;
}

static void add_step_row(struct capture *c)
{
	c->step_traces = calloc(1, sizeof(*c->step_traces));
	assert_non_null(c->step_traces);
	c->step_trace_count = 1;
}

static void the_first_format_with_events_wins_and_borrows_facts(void **state)
{
	struct gathering g = {0};
	struct capture *text, *db;
	struct sb_error err;

	(void)state;
	/* the text has a step table only, so the database is used though it stands behind */
	text = add(&g, "a_ascend_pt", FORMAT_ASCEND_TEXT, 3, SB_NULL);
	text->world_size = 8;
	add_step_row(text);
	db = add(&g, "a_ascend_pt", FORMAT_ASCEND_DB, SB_NULL, 5);
	memcpy(db->chip, "910B", 5);
	/* both have events: the text is used */
	add(&g, "b_ascend_pt", FORMAT_ASCEND_DB, SB_NULL, 5);
	add(&g, "b_ascend_pt", FORMAT_ASCEND_TEXT, 4, 5);
	assert_int_equal(choose_captures(&g, &err), SB_OK);
	assert_int_equal(g.profile.count, 2);
	assert_int_equal(g.profile.captures[0].format, FORMAT_ASCEND_DB);
	assert_true(g.profile.captures[0].rank == 3 && g.profile.captures[0].world_size == 8);
	assert_string_equal(g.profile.captures[0].chip, "910B");
	assert_int_equal(g.profile.captures[1].format, FORMAT_ASCEND_TEXT);
	assert_int_equal(g.profile.left_out_total, 2);
	assert_string_equal(g.profile.left_out[0].file, "a_ascend_pt");
	assert_non_null(strstr(g.profile.left_out[0].reason, "ascend-pytorch-db is used"));
	gathering_free(&g);
}

static void a_rank_that_only_a_name_tells_drops_nothing(void **state)
{
	struct gathering g = {0};
	struct sb_error err;

	(void)state;
	add(&g, "host1/rank0.json", FORMAT_KINETO, 0, 10)->rank_from = RANK_NAME;
	add(&g, "host2/rank0.json", FORMAT_KINETO, 0, 20)->rank_from = RANK_NAME;
	add(&g, "rank1.json", FORMAT_KINETO, 1, 10)->rank_from = RANK_NAME;
	/* this one says so inside, the other only by name */
	add(&g, "sure.json", FORMAT_KINETO, 2, 10);
	add(&g, "rank2.json", FORMAT_KINETO, 2, 20)->rank_from = RANK_NAME;
	add(&g, "none.json", FORMAT_KINETO, SB_NULL, 10);
	add(&g, "none2.json", FORMAT_KINETO, SB_NULL, 10);
	assert_int_equal(choose_captures(&g, &err), SB_OK);
	assert_int_equal(g.profile.count, 7);
	assert_string_equal(g.profile.captures[0].source, "rank1.json");
	assert_string_equal(g.profile.captures[1].source, "sure.json");
	assert_true(g.profile.captures[1].rank == 2);
	for (size_t i = 2; i < 7; i++)
		assert_true(g.profile.captures[i].rank == SB_NULL);
	assert_non_null(warning_of(&g.profile, "rank_ambiguous"));
	assert_int_equal(g.profile.left_out_total, 0);
	gathering_free(&g);
}

static void a_table_of_a_whole_cluster_yields_to_the_ranks_own_events(void **state)
{
	struct gathering g = {0};
	struct sb_error err;

	(void)state;
	add_step_row(add(&g, "cluster/rank 0", FORMAT_CLUSTER_ANALYSIS, 0, SB_NULL));
	add(&g, "r0_ascend_pt", FORMAT_ASCEND_TEXT, 0, 5);
	assert_int_equal(choose_captures(&g, &err), SB_OK);
	assert_int_equal(g.profile.count, 1);
	assert_string_equal(g.profile.captures[0].source, "r0_ascend_pt");
	gathering_free(&g);
}

static void set_event(struct capture *c, const char *lane_name, const char *name)
{
	struct trace *t = &c->trace;
	uint32_t id;

	assert_int_equal(sb_strings_add(t->strings, lane_name, strlen(lane_name), &id), SB_OK);
	t->lanes[0].process = id;
	assert_int_equal(sb_strings_add(t->strings, name, strlen(name), &id), SB_OK);
	t->name[0] = id;
	assert_int_equal(
	    trace_append_detail(t, &(struct event_detail){.type = id, .bytes = 7, .sequence = SB_NULL}),
	    SB_OK);
}

static void slices_are_joined_and_copies_are_not(void **state)
{
	static const enum capture_format formats[] = {FORMAT_MSPROF_TEXT, FORMAT_ASCEND_TEXT};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gathering g = {0};
		struct warnings w = {0};
		const struct part_origin from = {.path = "second", .w = &w};
		struct capture *a = add(&g, "x", formats[i], 1, 10), *b = add(&g, "x", formats[i], 2, 20);
		const struct trace *t = &a->trace;

		b->rank_from = RANK_METADATA;
		set_event(a, "NPU", "first");
		/* other numbers for the same texts */
		set_event(b, "NPU", "second");
		assert_int_equal(capture_merge(a, b, &from), SB_OK);
		assert_true(a->rank == 1);
		assert_string_equal(w.items[w.count - 1].code, "rank_conflict");
		assert_int_equal(t->count, i == 0 ? 2 : 1);
		assert_int_equal(t->lane_count, 1);
		assert_string_equal(trace_text(t, t->lanes[0].process, NULL), "NPU");
		assert_string_equal(trace_text(t, t->name[0], NULL), "first");
		if (i == 0) {
			assert_string_equal(trace_text(t, t->name[1], NULL), "second");
			assert_int_equal(t->details[1].event, 1);
			assert_string_equal(trace_text(t, t->details[1].type, NULL), "second");
			assert_int_equal(w.count, 1);
		} else {
			assert_string_equal(w.items[0].code, "duplicate_file");
		}
		free(w.items);
		gathering_free(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_format_with_events_wins_and_borrows_facts),
	    cmocka_unit_test(a_rank_that_only_a_name_tells_drops_nothing),
	    cmocka_unit_test(a_table_of_a_whole_cluster_yields_to_the_ranks_own_events),
	    cmocka_unit_test(slices_are_joined_and_copies_are_not),
	};

	return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
