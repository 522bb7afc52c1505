/* oracles/pipeline/d_schedules.json: schedules of equal stages, exactly. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "planner/schedule/schedule.h"

#define MOST 64

static struct schedule_shape shape_of(const json_t *row)
{
	/* the file's names are those of its own simulator */
	static const struct {
		const char *name;
		enum schedule_kind kind;
	} names[] = {{"gpipe", SCHEDULE_GPIPE},
	             {"1f1b", SCHEDULE_1F1B},
	             {"zb_h1", SCHEDULE_ZB_H1},
	             {"zb_h2", SCHEDULE_ZB_H2},
	             {"zb_v", SCHEDULE_ZB_V},
	             {"dualpipev", SCHEDULE_DUALPIPE_V},
	             {"terapipe", SCHEDULE_TERAPIPE},
	             {"seq1f1b", SCHEDULE_SEQ_1F1B},
	             {"interleaved", SCHEDULE_INTERLEAVED},
	             {"interleaved_low_memory", SCHEDULE_INTERLEAVED_LESS_MEMORY}};
	const char *name = json_string_value(json_object_get(row, "schedule"));
	struct schedule_shape s = {.kind = SCHEDULE_KINDS};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			s.kind = names[i].kind;
	if (s.kind == SCHEDULE_KINDS)
		fail_msg("an unknown schedule: %s", name);
	s.devices = integer(row, "p", 0);
	s.micro_batches = integer(row, "m", 0);
	s.chunks = schedule_facts(s.kind)->chunks > 0 ? schedule_facts(s.kind)->chunks : integer(row, "v", 0);
	s.slices = integer(row, "K", 1);
	return s;
}

static double number(const json_t *row, const char *member)
{
	return json_number_value(json_object_get(row, member));
}

static void is(const char *what, double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%s: %.12g is not %.12g", what, value, expected);
}

static void same(const json_t *row)
{
	struct schedule_shape s = shape_of(row);
	double f[MOST], b[MOST], w[MOST], pair[MOST], start[MOST], end[MOST], busy[MOST], peak[MOST];
	/* DualPipeV's times are those of a chunk, all others those of a device */
	double part = s.kind == SCHEDULE_DUALPIPE_V ? 1 : (double)(s.chunks * s.slices);
	struct schedule_times t = {.forward = f,
	                           .backward = b,
	                           .weight = w,
	                           .overlapped = json_object_get(row, "FB") ? pair : NULL,
	                           .send_seconds = number(row, "c")};
	struct schedule_result r = {.start = start, .end = end, .busy = busy};
	SCHEDULE_PROGRAM_AUTO p = {0};
	const char *name = schedule_facts(s.kind)->name;

	for (int i = 0; i < MOST; i++) {
		f[i] = number(row, "F") / part;
		b[i] = number(row, "B") / part;
		w[i] = number(row, "W") / part;
		pair[i] = number(row, "FB");
	}
	assert_int_equal(schedule_program_build(&s, &p, NULL), SB_OK);
	assert_int_equal(schedule_simulate(&p, &t, &r, NULL), SB_OK);
	schedule_peaks(&p, NULL, peak);
	is(name, r.makespan, number(row, "makespan"));
	for (int64_t d = 0; d < s.devices; d++) {
		const json_t *bubble = json_array_get(json_object_get(row, "bubble_makespan"), (size_t)d);
		const json_t *span = json_array_get(json_object_get(row, "bubble_span"), (size_t)d);

		is(name, r.makespan - busy[d], json_number_value(bubble));
		is(name, end[d] - start[d] - busy[d], json_number_value(span));
		is(name, peak[d], json_number_value(json_array_get(json_object_get(row, "peak"), (size_t)d)));
	}
}

static void schedules_of_equal_stages(void **state)
{
	json_t *all = load("oracles/pipeline/d_schedules.json"), *row;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, row) same(row);
	assert_true(i >= 25);
	json_decref(all);
}

/* "F0.0 BW4.1 F0.3&BW3.1 …": kind, stage, micro-batch, slice; a pair. */
static void write_op(const struct schedule_op *o, bool sliced, char *out, size_t size)
{
	static const char *const kinds[] = {"F", "BW", "B", "W"};

	if (o->kind == OP_PAIR)
		(void)snprintf(out, size, "F%d.%u&BW%d.%u", o->stage, o->micro_batch, o->other_stage,
		               o->other_micro_batch);
	else if (sliced)
		(void)snprintf(out, size, "%s%d.%u.%d", kinds[o->kind], o->stage, o->micro_batch, o->slice);
	else
		(void)snprintf(out, size, "%s%d.%u", kinds[o->kind], o->stage, o->micro_batch);
}

static void same_list(const struct schedule_program *p, int64_t device, const char *text)
{
	char list[4096] = "";
	size_t len = 0;

	for (size_t i = p->first[device]; i < p->first[device + 1]; i++) {
		char one[32];

		write_op(&p->ops[i], p->shape.slices > 1, one, sizeof(one));
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len > 0 ? " " : "", one);
		assert_true(len < sizeof(list));
	}
	assert_string_equal(list, text);
}

static void program_orders(void **state)
{
	static const struct {
		const char *title;
		struct schedule_shape shape;
	} rows[] = {{"1f1b p=4 m=8", {SCHEDULE_1F1B, 4, 8, 1, 1}},
	            {"interleaved p=4 m=8 v=2", {SCHEDULE_INTERLEAVED, 4, 8, 2, 1}},
	            {"zb_h1 p=4 m=8", {SCHEDULE_ZB_H1, 4, 8, 1, 1}},
	            {"zb_v p=4 m=8 (virtual stages r and 7-r)", {SCHEDULE_ZB_V, 4, 8, 2, 1}},
	            {"seq1f1b p=4 m=4 K=2", {SCHEDULE_SEQ_1F1B, 4, 4, 1, 2}},
	            {"dualpipev R=2 m=4 (virtual stages r and 3-r)", {SCHEDULE_DUALPIPE_V, 2, 4, 2, 1}}};
	json_t *all = load("oracles/pipeline/d_schedules.json");
	json_t *orders = json_object_get(all, "program_orders");

	(void)state;
	assert_int_equal(json_object_size(orders), sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *lists = json_object_get(orders, rows[i].title);
		SCHEDULE_PROGRAM_AUTO p = {0};

		assert_int_equal(schedule_program_build(&rows[i].shape, &p, NULL), SB_OK);
		assert_int_equal(json_array_size(lists), rows[i].shape.devices);
		for (int64_t d = 0; d < rows[i].shape.devices; d++)
			same_list(&p, d, json_string_value(json_array_get(lists, (size_t)d)));
	}
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(schedules_of_equal_stages),
	    cmocka_unit_test(program_orders),
	};

	return cmocka_run_group_tests_name("schedules", tests, NULL, NULL);
}
