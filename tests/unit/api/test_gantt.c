#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/gantt.h"

static const struct plan_view whole = PLAN_VIEW_WHOLE;

static json_t *drawn(const struct gantt *g, const struct plan_view *view)
{
	SB_BUF_AUTO text;
	struct sb_error err = {0};
	json_t *o;

	sb_buf_init(&text, PLAN_SCHEDULE_MAX);
	if (gantt_write(g, view, &text, &err) != SB_OK)
		fail_msg("%s: %s", err.field, err.text);
	o = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	return o;
}

/* Stages that all take as long. */
#define MOST 64
static json_t *draw(struct schedule_shape shape, double forward, double backward, double weight,
                    const struct plan_view *view)
{
	double f[MOST], b[MOST], w[MOST];
	struct schedule_times t = {.forward = f, .backward = b, .weight = w};
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct gantt g = {.program = &p, .times = &t};

	for (int i = 0; i < MOST; i++) {
		f[i] = forward;
		b[i] = backward;
		w[i] = weight;
	}
	assert_true(schedule_stages(&shape) * shape.slices <= MOST);
	assert_int_equal(schedule_program_build(&shape, &p, NULL), SB_OK);
	return drawn(&g, view);
}

static const json_t *at(const json_t *o, size_t device)
{
	const json_t *d = json_array_get(json_object_get(o, "devices"), device);

	assert_non_null(d);
	return d;
}

/* Holds the text of a member against JSON with ' for ". */
static void is(const json_t *o, const char *part, const char *member, const char *expected)
{
	const json_t *v = json_object_get(part ? json_object_get(o, part) : o, member);
	char *text = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12)) : NULL;

	for (char *c = text; c && *c; c++)
		*c = *c == '"' ? '\'' : *c;
	if (!text || strcmp(text, expected) != 0)
		fail_msg("%s: %s is not %s", member, text ? text : "nothing", expected);
	free(text);
}

/* By hand. Device 0: F0 0-1, F1 1-2, B0 4-6, F2 6-7, B1 7-9, B2 10-12; device 1: F0 1-2, B0 2-4, F1 4-5,
 * B1 5-7, F2 7-8, B2 8-10: B of device 0 waits for that of device 1, and (m + p - 1)(F + B) = 12. A unit is
 * freed and the next one taken at 6 on device 0, at 4 and 7 on device 1: no dip. */
static void one_forward_one_backward(void **state)
{
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_1F1B, 2, 3, 1, 1}, 1, 2, 0, &whole);
	const json_t *d = at(o, 0);

	(void)state;
	is(o, NULL, "makespan", "12");
	is(o, NULL, "operation_count", "12");
	is(o, NULL, "truncated", "false");
	is(o, NULL, "memory_unit", "'units'");
	is(d, NULL, "stages", "[0]");
	is(d, "works", "kind", "['forward','backward']");
	is(d, "works", "length", "[1,2]");
	is(d, "operations", "work", "[0,0,1,0,1,1]");
	is(d, "operations", "micro_batch", "[0,1,0,2,1,2]");
	is(d, "operations", "start", "[0,1,4,6,7,10]");
	is(d, "memory", "time", "[0,1,9,12]");
	is(d, "memory", "held", "[1,2,1,0]");
	is(d, NULL, "busy", "9");
	is(d, NULL, "bubble", "3");
	is(d, NULL, "peak", "2");
	is(d, NULL, "cap", "null");
	d = at(o, 1);
	is(d, NULL, "start", "1");
	is(d, NULL, "end", "10");
	is(d, "operations", "work", "[0,1,0,1,0,1]");
	is(d, "operations", "start", "[1,2,4,5,7,8]");
	is(d, "memory", "time", "[0,1,10]");
	is(d, "memory", "held", "[0,1,0]");
	assert_null(json_object_get(json_object_get(d, "works"), "slice"));
	assert_null(json_object_get(json_object_get(d, "operations"), "other_micro_batch"));
}

/* The weights' gradients free the unit: of the last device of ZB-H1 with two micro-batches (F0 1-2, B0 2-3,
 * F1 3-4, B1 4-5, and W0 behind: the delay is one micro-batch) the first unit goes at the end of W0, 6. */
static void weights_free(void **state)
{
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_ZB_H1, 2, 2, 1, 1}, 1, 1, 1, &whole);
	const json_t *d = at(o, 1);

	(void)state;
	is(d, "works", "kind", "['forward','backward_input','weight']");
	is(d, "operations", "work", "[0,1,0,1,2,2]");
	is(d, "operations", "start", "[1,2,3,4,5,6]");
	is(d, "memory", "time", "[0,1,3,6,7]");
	is(d, "memory", "held", "[0,1,2,1,0]");
}

/* Bytes: a device's own and its stages' activations; stage 1 computes 0.5 of its backward again. */
static void bytes_and_recompute(void **state)
{
	const double f[] = {1, 1}, b[] = {2, 2.5}, activation[] = {100, 10}, fixed[] = {1000, 2000},
	             cap[] = {1500, INFINITY}, again[] = {0, 0.5};
	struct schedule_times t = {.forward = f, .backward = b};
	struct schedule_shape shape = {SCHEDULE_1F1B, 2, 2, 1, 1};
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct gantt g = {.program = &p,
	                  .times = &t,
	                  .activation = activation,
	                  .fixed = fixed,
	                  .cap = cap,
	                  .recompute = again};
	JSON_AUTO o = NULL;

	(void)state;
	assert_int_equal(schedule_program_build(&shape, &p, NULL), SB_OK);
	o = drawn(&g, &whole);
	is(o, NULL, "memory_unit", "'bytes'");
	/* F0 0-1, F1 1-2, then B0 behind that of device 1 (2-4.5), 4.5-6.5; B1 behind 5.5-8, 8-10 */
	is(at(o, 0), "memory", "time", "[0,1,6.5,10]");
	is(at(o, 0), "memory", "held", "[1100,1200,1100,1000]");
	is(at(o, 0), NULL, "peak", "1200");
	is(at(o, 0), NULL, "cap", "1500");
	is(at(o, 0), "works", "recompute", "[0,0]");
	is(at(o, 1), "works", "recompute", "[0,0.5]");
	is(at(o, 1), NULL, "peak", "2010");
	is(at(o, 1), NULL, "cap", "null");
}

/* DualPipeV on two devices: the list of d_schedules.json, device 1, has F1&B2, F2&B1 after its first pair of
 * single ones: what stands in the middle is a pair, with both of its stages. */
static void pairs(void **state)
{
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_DUALPIPE_V, 2, 4, 2, 1}, 1, 1, 1, &whole);
	const json_t *d = at(o, 1), *works = json_object_get(d, "works"),
	             *ops = json_object_get(d, "operations");
	size_t seen = 0, i;
	json_t *kind;

	(void)state;
	is(at(o, 0), NULL, "stages", "[0,3]");
	is(d, NULL, "stages", "[1,2]");
	json_array_foreach(json_object_get(works, "kind"), i, kind)
	{
		int64_t stage = json_integer_value(json_array_get(json_object_get(works, "stage"), i));
		const json_t *other = json_array_get(json_object_get(works, "other_stage"), i);
		bool pair = strcmp(json_string_value(kind), "pair") == 0;

		assert_int_equal(pair, json_is_integer(other));
		if (pair)
			assert_int_equal(json_integer_value(other), 3 - stage);
		seen += pair;
	}
	assert_int_equal(seen, 2);
	assert_int_equal(json_array_size(json_object_get(ops, "other_micro_batch")),
	                 json_array_size(json_object_get(ops, "work")));
}

/* Of two directions, a device runs a stage of each. */
static void directions_and_slices(void **state)
{
	JSON_AUTO two = draw((struct schedule_shape){SCHEDULE_DUALPIPE, 4, 8, 2, 1}, 1, 1, 1, &whole);
	JSON_AUTO cut = draw((struct schedule_shape){SCHEDULE_TERAPIPE, 1, 1, 1, 3}, 1, 2, 0, &whole);

	(void)state;
	is(at(two, 1), NULL, "stages", "[1,2]");
	/* the backward takes the slices from the last to the first */
	is(at(cut, 0), "works", "slice", "[0,1,2,2,1,0]");
	is(at(cut, 0), "operations", "work", "[0,1,2,3,4,5]");
	is(at(cut, 0), "operations", "start", "[0,1,2,3,5,7]");
}

/* A view has what touches it, with the level of the memory at its begin. */
static void views(void **state)
{
	struct plan_view view = {4.5, 7, 0, 0};
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_1F1B, 2, 3, 1, 1}, 1, 2, 0, &view);
	const json_t *d = at(o, 0);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(o, "devices")), 1);
	is(o, NULL, "from", "4.5");
	is(o, NULL, "to", "7");
	is(o, NULL, "truncated", "false");
	is(d, "operations", "start", "[4,6,7]");
	is(d, "works", "kind", "['backward','forward']");
	is(d, "memory", "time", "[4.5]");
	is(d, "memory", "held", "[2]");
	is(d, NULL, "busy", "9");
}

static void refuses(struct plan_view view, const char *field)
{
	const double one[] = {1, 1};
	struct schedule_times t = {.forward = one, .backward = one};
	struct schedule_shape shape = {SCHEDULE_1F1B, 2, 3, 1, 1};
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct gantt g = {.program = &p, .times = &t};
	struct sb_error err = {0};
	SB_BUF_AUTO text;

	sb_buf_init(&text, PLAN_SCHEDULE_MAX);
	assert_int_equal(schedule_program_build(&shape, &p, NULL), SB_OK);
	assert_int_equal(gantt_write(&g, &view, &text, &err), SB_EINVAL);
	assert_string_equal(err.field, field);
	assert_int_equal(text.len, 0);
}

static void views_that_cannot_be(void **state)
{
	(void)state;
	refuses((struct plan_view){5, 4, -1, -1}, "to");
	refuses((struct plan_view){1000, NAN, -1, -1}, "from");
	refuses((struct plan_view){NAN, NAN, 0, 2}, "devices");
	refuses((struct plan_view){NAN, NAN, 2, 2}, "devices");
	refuses((struct plan_view){NAN, NAN, 1, 0}, "devices");
}

static size_t listed(const json_t *o)
{
	size_t sum = 0, i;
	json_t *d;

	json_array_foreach(json_object_get(o, "devices"), i, d) sum +=
	    json_array_size(json_object_get(json_object_get(d, "operations"), "start"));
	return sum;
}

/* 360,000 operations, 180,000 a device, of which an answer has 100,000. On device 0 F0 and F1 come first,
 * then B of i at 4 + 3 i and F of i + 2 at 6 + 3 i; on device 1 F of i at 1 + 3 i and B at 2 + 3 i. So number
 * 100,000 from 0 is B of 49,999 at 150,001, and F of 50,000 at 150,001. The next view goes on from there, and
 * what touches the border is in both. */
static void bounded(void **state)
{
	struct schedule_shape shape = {SCHEDULE_1F1B, 2, 90000, 1, 1};
	struct plan_view rest = {150001, NAN, -1, -1};
	JSON_AUTO o = draw(shape, 1, 2, 0, &whole);
	JSON_AUTO next = draw(shape, 1, 2, 0, &rest);

	(void)state;
	is(o, NULL, "truncated", "true");
	is(o, NULL, "operation_count", "360000");
	is(o, NULL, "to", "150001");
	assert_int_equal(listed(o), GANTT_OPERATIONS_MAX);
	is(next, NULL, "truncated", "false");
	assert_in_range(listed(o) + listed(next), 360000, 360004);
}

/* Where nothing takes time, all is at one instant. */
static void bounded_without_times(void **state)
{
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_GPIPE, 2, 100000, 1, 1}, 0, 0, 0, &whole);

	(void)state;
	is(o, NULL, "makespan", "0");
	is(o, NULL, "truncated", "true");
	assert_in_range(listed(o), 1, GANTT_OPERATIONS_MAX);
	is(at(o, 0), NULL, "peak", "100000");
}

/* GPipe holds all micro-batches: 1000 up, 1000 down. The thinned curve still reaches its peak, and is 0 at
 * the end. */
static void thinned(void **state)
{
	JSON_AUTO o = draw((struct schedule_shape){SCHEDULE_GPIPE, 2, 1000, 1, 1}, 1, 2, 0, &whole);
	const json_t *held = json_object_get(json_object_get(at(o, 0), "memory"), "held");
	size_t n = json_array_size(held), i;
	double most = 0;
	json_t *v;

	(void)state;
	assert_in_range(n, 100, GANTT_LEVELS_MAX + 2);
	json_array_foreach(held, i, v) most = fmax(most, json_number_value(v));
	assert_true(most == 1000);
	assert_true(json_number_value(json_array_get(held, n - 1)) == 0);
	assert_int_equal(json_array_size(json_object_get(json_object_get(at(o, 0), "memory"), "time")), n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_forward_one_backward), cmocka_unit_test(weights_free),
	    cmocka_unit_test(bytes_and_recompute),      cmocka_unit_test(pairs),
	    cmocka_unit_test(directions_and_slices),    cmocka_unit_test(views),
	    cmocka_unit_test(views_that_cannot_be),     cmocka_unit_test(bounded),
	    cmocka_unit_test(bounded_without_times),    cmocka_unit_test(thinned)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
