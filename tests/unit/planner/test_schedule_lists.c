#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/schedule.h"

static struct schedule_shape shape(enum schedule_kind kind, int64_t devices, int64_t m, int64_t chunks,
                                   int64_t slices)
{
	return (struct schedule_shape){kind, devices, m, chunks, slices};
}

static void is(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.12g is not %.12g", value, expected);
}

/* The vectors of units in flight: p = 8, v = 2, device 0 (schedules.md, remark 6). */
static void vectors_in_flight(void **state)
{
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct schedule_shape s = shape(SCHEDULE_INTERLEAVED, 8, 32, 2, 1);
	struct in_flight *list = NULL;
	size_t n = 0;
	bool first = false, second = false;

	(void)state;
	assert_int_equal(schedule_program_build(&s, &p, NULL), SB_OK);
	assert_int_equal(schedule_in_flight(&p, 0, &list, &n), SB_OK);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		first = first || (list[i].of[0] == 16 && list[i].of[1] == 7);
		second = second || (list[i].of[0] == 15 && list[i].of[1] == 8);
	}
	assert_true(first && second);
	free(list);
}

/* Whatever a unit of each chunk weighs, the vectors give the peak that the list gives. */
static void vectors_give_the_peak(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int k = 0; k < SCHEDULE_KINDS; k++) {
		const struct schedule_facts *f = schedule_facts((enum schedule_kind)k);
		struct schedule_shape s =
		    shape((enum schedule_kind)k, 4, 12, f->chunks > 0 ? f->chunks : 3, 1);
		SCHEDULE_PROGRAM_AUTO p = {0};
		double weight[16], peak[4];

		assert_int_equal(schedule_program_build(&s, &p, NULL), SB_OK);
		for (int i = 0; i < 16; i++)
			weight[i] =
			    (double)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40);
		schedule_peaks(&p, weight, peak);
		for (int64_t d = 0; d < 4; d++) {
			struct in_flight *list = NULL;
			double most = 0;
			size_t n = 0;

			assert_int_equal(schedule_in_flight(&p, d, &list, &n), SB_OK);
			for (size_t i = 0; i < n; i++) {
				double sum = 0;

				for (int64_t c = 0; c < s.chunks; c++) {
					int64_t stage = f->two_way         ? (c == 0 ? d : 3 - d)
					                : f->vee && c == 1 ? 7 - d
					                                   : c * 4 + d;

					sum += list[i].of[c] * weight[stage];
				}
				most = fmax(most, sum);
			}
			is(most, peak[d]);
			free(list);
		}
	}
}

/* Every unit is run forward once, then backward once, and its weights' gradient comes once. */
static void every_unit_once(void **state)
{
	(void)state;
	for (int k = 0; k < SCHEDULE_KINDS; k++) {
		const struct schedule_facts *f = schedule_facts((enum schedule_kind)k);
		struct schedule_shape s =
		    shape((enum schedule_kind)k, 6, 16, f->chunks > 0 ? f->chunks : 3, f->sliced ? 3 : 1);
		SCHEDULE_PROGRAM_AUTO p = {0};
		int seen[18][16][3][3] = {{{{0}}}};

		assert_int_equal(schedule_program_build(&s, &p, NULL), SB_OK);
		for (size_t i = 0; i < p.first[6]; i++) {
			const struct schedule_op *o = &p.ops[i];

			seen[o->stage][o->micro_batch][o->slice][0] +=
			    o->kind == OP_FORWARD || o->kind == OP_PAIR;
			seen[o->stage][o->micro_batch][o->slice][1] +=
			    o->kind == OP_BACKWARD || o->kind == OP_BACKWARD_INPUT;
			seen[o->stage][o->micro_batch][o->slice][2] +=
			    o->kind == OP_BACKWARD || o->kind == OP_WEIGHT;
			if (o->kind == OP_PAIR) {
				seen[o->other_stage][o->other_micro_batch][0][1]++;
				seen[o->other_stage][o->other_micro_batch][0][2]++;
			}
		}
		for (int64_t i = 0; i < schedule_stages(&s); i++)
			for (int64_t m = 0; m < 16; m++)
				for (int64_t c = 0; c < s.slices; c++)
					for (int x = 0; x < 3; x++)
						assert_int_equal(seen[i][m][c][x], 1);
	}
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		struct schedule_shape shape;
		const char *field;
	} rows[] = {
	    {{SCHEDULE_1F1B, 0, 1, 1, 1}, "stages"},
	    {{SCHEDULE_1F1B, 1, 0, 1, 1}, "micro_batches"},
	    {{SCHEDULE_1F1B, 1, (int64_t)1 << 31, 1, 1}, "micro_batches"},
	    {{SCHEDULE_1F1B, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, "stages"},
	    {{SCHEDULE_INTERLEAVED, 65535, 1, INT64_MAX, 1}, "chunks"},
	    {{SCHEDULE_1F1B, 1, 1, 2, 1}, "chunks"},
	    {{SCHEDULE_1F1B, 2, 4, 1, 2}, "slices"},
	    {{SCHEDULE_SEQ_1F1B, 2, 4, 1, 0}, "slices"},
	    {{SCHEDULE_INTERLEAVED, 2, 4, 1, 1}, "chunks"},
	    {{SCHEDULE_INTERLEAVED, 4, 9, 3, 1}, "micro_batches"},
	    {{SCHEDULE_ZB_H1, 4, 3, 1, 1}, "micro_batches"},
	    {{SCHEDULE_ZB_H2, 4, 6, 1, 1}, "micro_batches"},
	    {{SCHEDULE_ZB_V, 4, 7, 2, 1}, "micro_batches"},
	    {{SCHEDULE_DUALPIPE, 3, 20, 2, 1}, "stages"},
	    {{SCHEDULE_DUALPIPE, 4, 9, 2, 1}, "micro_batches"},
	    {{SCHEDULE_KINDS, 4, 9, 2, 1}, "schedule"},
	};
	enum schedule_kind kind;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sb_error err = {0};

		assert_int_equal(schedule_check(&rows[i].shape, &err), SB_EIMPOSSIBLE);
		assert_string_equal(err.field, rows[i].field);
	}
	assert_int_equal(schedule_kind_of("zb-v", &kind), SB_OK);
	assert_int_equal(kind, SCHEDULE_ZB_V);
	assert_int_equal(schedule_kind_of("zb", &kind), SB_ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vectors_in_flight),
	    cmocka_unit_test(vectors_give_the_peak),
	    cmocka_unit_test(every_unit_once),
	    cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests_name("lists of schedules", tests, NULL, NULL);
}
