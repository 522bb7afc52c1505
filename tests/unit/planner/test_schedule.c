#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/schedule/schedule.h"

#define MOST 256

/* Equal stages: the times are those of a device's whole stage. */
struct equal {
	double forward, backward, weight, send, pair;
};

struct answer {
	double makespan, start[MOST], end[MOST], busy[MOST], peak[MOST];
};

static struct schedule_shape shape(enum schedule_kind kind, int64_t devices, int64_t m, int64_t chunks,
                                   int64_t slices)
{
	return (struct schedule_shape){kind, devices, m, chunks, slices};
}

static void simulate(const struct schedule_shape *s, const struct schedule_times *t, struct answer *a)
{
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct sb_error err = {0};
	struct schedule_result r = {.start = a->start, .end = a->end, .busy = a->busy};

	if (schedule_program_build(s, &p, &err) != SB_OK || schedule_simulate(&p, t, &r, &err) != SB_OK)
		fail_msg("%s: %s", schedule_facts(s->kind)->name, err.text);
	a->makespan = r.makespan;
	schedule_peaks(&p, NULL, a->peak);
}

static struct answer equal(const struct schedule_shape *s, const struct equal *e)
{
	double f[MOST], b[MOST], w[MOST], pair[MOST];
	double part = (double)(s->chunks * s->slices);
	struct schedule_times t = {.forward = f,
	                           .backward = b,
	                           .weight = w,
	                           .overlapped = e->pair > 0 ? pair : NULL,
	                           .send_seconds = e->send};
	struct answer a;

	for (int i = 0; i < MOST; i++) {
		f[i] = e->forward / part;
		b[i] = e->backward / part;
		w[i] = e->weight / part;
		pair[i] = e->pair;
	}
	simulate(s, &t, &a);
	return a;
}

static void is(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.12g is not %.12g", value, expected);
}

static void all_are(const double *values, int64_t n, double expected)
{
	for (int64_t i = 0; i < n; i++)
		is(values[i], expected);
}

/* schedules.md, "Worked examples", F = B = W = 1 on 4 devices with 8 micro-batches; the bubble is the
 * makespan less the 24 of work. */
static void worked_examples(void **state)
{
	static const struct {
		enum schedule_kind kind;
		int64_t chunks, slices;
		double makespan, peak[4];
	} rows[] = {
	    {SCHEDULE_GPIPE, 1, 1, 33, {8, 8, 8, 8}},
	    {SCHEDULE_1F1B, 1, 1, 33, {4, 3, 2, 1}},
	    {SCHEDULE_INTERLEAVED, 2, 1, 28.5, {11, 9, 7, 5}},
	    {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 1, 28.5, {8, 7, 6, 5}},
	    {SCHEDULE_INTERLEAVED, 4, 1, 26.25, {19, 17, 15, 13}},
	    {SCHEDULE_ZB_H1, 1, 1, 27, {4, 4, 4, 4}},
	    {SCHEDULE_ZB_H2, 1, 1, 27, {7, 7, 7, 7}},
	    {SCHEDULE_ZB_V, 2, 1, 25.5, {8, 8, 8, 8}},
	    {SCHEDULE_SEQ_1F1B, 1, 2, 28.5, {5, 4, 3, 2}},
	    {SCHEDULE_SEQ_1F1B, 1, 4, 26.25, {7, 6, 5, 4}},
	    {SCHEDULE_TERAPIPE, 1, 2, 28.5, {16, 16, 16, 16}},
	    /* eager warm-up forwards 7, 5, 3, 1 with the first of the steady phase (systems.md 3.6) */
	    {SCHEDULE_EAGER_1F1B, 1, 1, 33, {7, 5, 3, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schedule_shape s = shape(rows[i].kind, 4, 8, rows[i].chunks, rows[i].slices);
		struct answer a = equal(&s, &(struct equal){1, 1, 1, 0, 0});

		is(a.makespan, rows[i].makespan);
		all_are(a.busy, 4, 24);
		for (int d = 0; d < 4; d++)
			is(a.peak[d], rows[i].peak[d]);
	}
}

/* The same page: a stage twice as long as the others, and two with a longer backward. */
static void uneven_stages(void **state)
{
	double f[] = {1, 2, 1, 1}, b[] = {2, 4, 2, 2}, ones[] = {1, 1, 1, 1}, late[] = {2, 2, 3, 3};
	struct schedule_shape s = shape(SCHEDULE_1F1B, 4, 8, 1, 1);
	struct answer a;

	(void)state;
	simulate(&s, &(struct schedule_times){.forward = f, .backward = b}, &a);
	is(a.makespan, 53);
	is(a.makespan - a.busy[0], 29);
	is(a.makespan - a.busy[1], 5);
	simulate(&s, &(struct schedule_times){.forward = ones, .backward = late}, &a);
	is(a.makespan, 42);
}

/* Two stages, by hand: F 1 and 2, B 2 and 4, three micro-batches. Stage 1 is busy from 1 to 19, then stage 0
 * runs its last backward. */
static void two_stages_by_hand(void **state)
{
	double f[] = {1, 2}, b[] = {2, 4};
	struct schedule_shape s = shape(SCHEDULE_1F1B, 2, 3, 1, 1);
	struct answer a;

	(void)state;
	simulate(&s, &(struct schedule_times){.forward = f, .backward = b}, &a);
	is(a.start[1], 1);
	is(a.end[1], 19);
	is(a.makespan, 21);
}

/* The formulas of the page for all sizes they hold for. */
static void formulas(void **state)
{
	(void)state;
	for (int64_t p = 2; p <= 8; p++)
		for (int64_t m = 2 * p; m <= 4 * p; m += p) {
			struct equal e = {1.5, 1.25, 0.75, 0, 0};
			double T = 3.5, P = (double)(p - 1), M = (double)m;
			struct schedule_shape s = shape(SCHEDULE_1F1B, p, m, 1, 1);
			struct answer a = equal(&s, &e);

			is(a.makespan, (M + P) * T);
			s.kind = SCHEDULE_GPIPE;
			is(equal(&s, &e).makespan, (M + P) * T);
			s.kind = SCHEDULE_ZB_H1;
			a = equal(&s, &e);
			is(a.end[0] - a.start[0] - a.busy[0], P * (1.5 + 1.25 - 0.75));
			all_are(a.peak, p, (double)p);
			s.kind = SCHEDULE_ZB_H2;
			a = equal(&s, &e);
			is(a.end[0] - a.start[0] - a.busy[0], P * (1.5 + 1.25 - 2 * 0.75));
			all_are(a.peak, p, (double)(2 * p - 1));
			for (int64_t v = 2; v <= 4; v++) {
				s = shape(SCHEDULE_INTERLEAVED, p, m, v, 1);
				a = equal(&s, &e);
				is(a.makespan, M * T + P * T / (double)v);
				for (int64_t d = 0; d < p; d++)
					is(a.peak[d], fmin((double)(m * v),
					                   (double)((v - 1) * p + 2 * (p - 1 - d) + 1)));
				s.kind = SCHEDULE_INTERLEAVED_LESS_MEMORY;
				a = equal(&s, &e);
				is(a.makespan, M * T + P * T / (double)v);
				for (int64_t d = 0; d < p; d++)
					is(a.peak[d], (double)(v * p - d));
			}
		}
}

/* The page's measured makespans with a delay of 0, 1/4 and 1/2 a hop. */
static void hops_that_delay(void **state)
{
	static const struct {
		enum schedule_kind kind;
		int64_t chunks, slices;
		double makespan[3];
	} rows[] = {
	    {SCHEDULE_GPIPE, 1, 1, {33, 34.5, 36}},
	    {SCHEDULE_1F1B, 1, 1, {33, 37, 41}},
	    {SCHEDULE_INTERLEAVED, 2, 1, {28.5, 32, 35.5}},
	    {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 1, {28.5, 36, 43.5}},
	    {SCHEDULE_INTERLEAVED, 4, 1, {26.25, 33.75, 45}},
	    {SCHEDULE_ZB_H1, 1, 1, {27, 30, 33}},
	    {SCHEDULE_ZB_H2, 1, 1, {27, 27.75, 28.5}},
	    {SCHEDULE_ZB_V, 2, 1, {25.5, 28.75, 32.5}},
	    {SCHEDULE_SEQ_1F1B, 1, 2, {28.5, 35, 41.5}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int k = 0; k < 3; k++) {
			struct schedule_shape s = shape(rows[i].kind, 4, 8, rows[i].chunks, rows[i].slices);

			is(equal(&s, &(struct equal){1, 1, 1, k / 4.0, 0}).makespan, rows[i].makespan[k]);
		}
}

/* The page: p = 4, v = 2, micro-batches that are no multiple of the devices. */
static void short_last_group(void **state)
{
	static const struct {
		int64_t m;
		double makespan;
	} rows[] = {{5, 24}, {6, 27.5}, {7, 26.5}, {10, 39.5}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schedule_shape s = shape(SCHEDULE_INTERLEAVED, 4, rows[i].m, 2, 1);

		is(equal(&s, &(struct equal){1, 1, 1, 0, 0}).makespan, rows[i].makespan);
	}
}

/* The page's remark 1: span bubbles of ZB-V where the parts differ, and its examples of pairs. */
static void vees_and_pairs(void **state)
{
	static const double parts[][4] = {
	    {1, 1.2, 0.8, 1.2}, {1, 1.5, 1, 1.5}, {2, 3, 1, 6}, {1, 0.8, 1.2, 0.2}};
	struct schedule_shape s = shape(SCHEDULE_ZB_V, 4, 8, 2, 1);
	struct answer a;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		double most = 0;

		a = equal(&s, &(struct equal){parts[i][0], parts[i][1], parts[i][2], 0, 0});
		for (int d = 0; d < 4; d++)
			most = fmax(most, a.end[d] - a.start[d] - a.busy[d]);
		is(most, parts[i][3]);
	}
	/* F = B = W = 1 a chunk, a pair takes 3 */
	s = shape(SCHEDULE_DUALPIPE_V, 2, 8, 2, 1);
	a = equal(&s, &(struct equal){2, 2, 2, 0, 3});
	is(a.makespan, 50);
	all_are(a.peak, 2, 5);
	s.devices = 4;
	a = equal(&s, &(struct equal){2, 2, 2, 0, 3});
	is(a.makespan, 54);
	all_are(a.peak, 4, 9);
}

/* DualPipe on PP devices: the same on both ends, PP + 1 chunks alive, and for F = B the published bubble
 * (PP/2 - 1)(FB + B + W - 3 W), on the devices that run most in pairs (d_schedules.json has DualPipeV so). */
static void two_directions(void **state)
{
	(void)state;
	for (int64_t pp = 2; pp <= 8; pp += 2) {
		struct schedule_shape s = shape(SCHEDULE_DUALPIPE, pp, 4 * pp, 2, 1);
		struct answer a = equal(&s, &(struct equal){2, 2, 2, 0, 2.75});
		double most = 0;

		for (int64_t d = 0; d < pp; d++) {
			is(a.busy[d], a.busy[pp - 1 - d]);
			most = fmax(most, a.makespan - a.busy[d]);
		}
		is(most, (double)(pp / 2 - 1) * (2.75 + 2 - 3));
		all_are(a.peak, pp, (double)(pp + 1));
	}
}

/* SAPP's example: f = 8, 8, 8, 8.8, backward twice that, 16 micro-batches, transfers of 0.1 that keep both
 * ends busy: a bubble of 0.2658 of the ideal work; rendezvous gives 0.2652 (systems.md 3.14: within 0.001).
 */
static void transfers_that_block(void **state)
{
	double f[] = {8, 8, 8, 8.8}, b[] = {16, 16, 16, 17.6}, ideal = 0;
	struct schedule_shape s = shape(SCHEDULE_1F1B, 4, 16, 1, 1);
	struct answer a;

	(void)state;
	simulate(&s,
	         &(struct schedule_times){.forward = f, .backward = b, .send_seconds = 0.1, .blocking = true},
	         &a);
	for (int i = 0; i < 4; i++)
		ideal += 16 * (f[i] + b[i]) / 4;
	if (!(fabs(a.makespan / ideal - 1 - 0.2655) <= 0.0013))
		fail_msg("bubble %.5f", a.makespan / ideal - 1);
}

/* Merak's shifted critical path. Two stages, two micro-batches: forward 1 each, backward 2 each, and stage 0
 * recomputes for 1 before it. Stage 0: F 0-1, F 1-2, R 2-3; stage 1: F 1-2, B 2-4, F 4-5, B 5-7; stage 0:
 * B 4-6, R 6-7, B 7-9. Where R is a part of B, it waits for the gradient: B 4-7, B 7-10.
 * Three stages, one micro-batch, all but the last recompute: F 0-1, 1-2, 2-3, B 3-5, 5-7, 7-9, since R of
 * stage 1 is done at 3 and that of stage 0 at 2; else B is 3-5, 5-8, 8-11. */
static void early_recompute(void **state)
{
	static const double one[] = {1, 1, 1}, two[] = {2, 2, 2}, again[] = {1, 0}, longer[] = {3, 2},
	                    twice[] = {1, 1, 0}, longer_twice[] = {3, 3, 2};
	const struct schedule_times early = {.forward = one, .backward = two, .recompute = again},
	                            late = {.forward = one, .backward = longer},
	                            early_of_three = {.forward = one, .backward = two, .recompute = twice},
	                            late_of_three = {.forward = one, .backward = longer_twice};
	struct schedule_shape two_stages = shape(SCHEDULE_1F1B_EARLY_RECOMPUTE, 2, 2, 1, 1),
	                      three_stages = shape(SCHEDULE_1F1B_EARLY_RECOMPUTE, 3, 1, 1, 1);
	struct answer a;

	(void)state;
	simulate(&two_stages, &early, &a);
	is(a.makespan, 9);
	is(a.busy[0], 8);
	is(a.busy[1], 6);
	is(a.peak[0], 2);
	is(a.peak[1], 1);
	simulate(&three_stages, &early_of_three, &a);
	is(a.makespan, 9);
	two_stages.kind = three_stages.kind = SCHEDULE_1F1B;
	simulate(&two_stages, &late, &a);
	is(a.makespan, 10);
	simulate(&three_stages, &late_of_three, &a);
	is(a.makespan, 11);
}

/* Never later than where it is a part of the backward, and never before 1F1B that does not recompute. */
static void early_recompute_between(void **state)
{
	uint64_t seed = 7;
	int gained = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct schedule_shape s = shape(SCHEDULE_1F1B_EARLY_RECOMPUTE, 2 + i % 4, 1 + i % 9, 1, 1);
		double f[5], b[5], r[5], both[5];
		struct schedule_times t = {
		    .forward = f, .backward = b, .recompute = r, .send_seconds = i % 3};
		struct answer early, late, never;

		for (int k = 0; k < 5; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			f[k] = 1 + (double)(seed >> 60);
			b[k] = 1 + (double)(seed >> 55 & 15);
			r[k] = (double)(seed >> 50 & 7);
			both[k] = b[k] + r[k];
		}
		simulate(&s, &t, &early);
		s.kind = SCHEDULE_1F1B;
		simulate(&s, &t, &never);
		t.backward = both;
		simulate(&s, &t, &late);
		assert_true(never.makespan <= early.makespan && early.makespan <= late.makespan);
		gained += early.makespan < late.makespan;
	}
	assert_true(gained > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(worked_examples),         cmocka_unit_test(uneven_stages),
	    cmocka_unit_test(two_stages_by_hand),      cmocka_unit_test(formulas),
	    cmocka_unit_test(hops_that_delay),         cmocka_unit_test(short_last_group),
	    cmocka_unit_test(vees_and_pairs),          cmocka_unit_test(two_directions),
	    cmocka_unit_test(transfers_that_block),    cmocka_unit_test(early_recompute),
	    cmocka_unit_test(early_recompute_between),
	};

	return cmocka_run_group_tests_name("times of schedules", tests, NULL, NULL);
}
