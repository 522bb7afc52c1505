/* The Oases planner on its published profile of an RTX 3090 (oracles/strategy/oases_profile_rtx3090.json):
 * the table of systems.md 3.1, and the front of 3.18. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "planner/intra/oases.h"

#define GIB 1073741824.0
#define CAP (22.8 * GIB)

static json_t *rows;

static int open_profile(void **state)
{
	(void)state;
	rows = load("oracles/strategy/oases_profile_rtx3090.json");
	return 0;
}

static int close_profile(void **state)
{
	(void)state;
	json_decref(rows);
	return 0;
}

static double real(const json_t *row, const char *member)
{
	return json_number_value(json_object_get(row, member));
}

static const json_t *row_of(int64_t hidden, int64_t tp, int64_t batch)
{
	const json_t *list = json_object_get(rows, "rows");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i);

		if (integer(r, "hidden", 0) == hidden && integer(r, "tp", 0) == tp &&
		    integer(r, "batch", 0) == batch)
			return real(r, "attn_fwd_ms") > 0 && real(r, "comm_ms") > 0 ? r : NULL;
	}
	return NULL;
}

/* In ms. A degree counts when its local batch is two or more and was measured, whole and half. */
static struct oases_problem problem_of(int64_t hidden, int64_t devices, int64_t sequences,
                                       struct oases_degree *degrees)
{
	struct oases_problem p = {
	    .layers = 24, .published = true, .degrees = degrees, .schedule = OASES_FULL};

	for (int64_t t = 1; t <= devices; t *= 2) {
		int64_t local = sequences * t / devices;
		const json_t *whole = row_of(hidden, t, local), *half = row_of(hidden, t, local / 2);

		if (local < 2 || !whole || !half)
			continue;
		degrees[p.degree_count] = (struct oases_degree){
		    .degree = t,
		    .sequences = local,
		    .forward = {real(half, "attn_fwd_ms"), real(half, "mlp_fwd_ms")},
		    .backward = {real(half, "attn_bwd_ms"), real(half, "mlp_bwd_ms")},
		    .communication = real(half, "comm_ms"),
		    .runtime_bytes = 1048576 * real(whole, "runtime_mem_mb"),
		};
		oases_published_bytes(hidden, 1024, &degrees[p.degree_count++]);
	}
	return p;
}

struct solved {
	struct oases_degree degrees[8];
	struct oases_problem p;
	struct oases_graph g;
	struct option_front f;
};

static void solve(struct solved *s, int64_t hidden, int64_t devices, int64_t sequences)
{
	s->p = problem_of(hidden, devices, sequences, s->degrees);
	assert_int_equal(oases_graph_open(&s->p, &s->g), SB_OK);
	assert_int_equal(option_graph_solve(&s->g.graph, OPTION_WORK, &s->f), SB_OK);
	assert_true(s->f.whole);
}

static void solved_free(struct solved *s)
{
	oases_graph_free(&s->g);
	option_front_free(&s->f);
}

/* The table gives ms to four digits and GiB to three. */
static void check_point(double time, double memory, double expected, double gib)
{
	assert_true(fabs(time - expected) < 0.6e-4);
	assert_true(fabs(memory / GIB - gib) < 0.6e-3);
}

static void check_uniform(const struct solved *s, int64_t degree, double expected, double gib)
{
	uint16_t options[48];
	double time, memory;

	for (int64_t k = 0; k < s->p.degree_count; k++) {
		if (s->degrees[k].degree != degree)
			continue;
		for (int i = 0; i < 48; i++)
			options[i] = (uint16_t)k;
		option_graph_sum(&s->g.graph, options, &memory, &time);
		check_point(time, memory, expected, gib);
		return;
	}
	fail_msg("degree %d is no candidate", (int)degree);
}

static void check_best(const struct solved *s, double cap, double expected, double gib)
{
	int64_t i = option_front_within(&s->f, cap);

	assert_true(i >= 0);
	check_point(s->f.points[i].time, s->f.points[i].memory, expected, gib);
}

/* `first` nodes of one degree, the rest of another. */
static void check_runs(const struct solved *s, double cap, int first, int64_t one, int64_t other)
{
	uint16_t options[48];

	assert_int_equal(
	    option_front_options(&s->f, &s->g.graph, (size_t)option_front_within(&s->f, cap), options),
	    SB_OK);
	for (int i = 0; i < 48; i++)
		assert_int_equal(s->degrees[options[i]].degree, i < first ? one : other);
}

static void test_first_case(void **state)
{
	static const struct {
		double cap, time, gib;
	} caps[] = {{21, 1182.8573, 20.918}, {25, 1089.1909, 24.785}, {29.1, 981.1129, 29.039}};
	struct solved s;

	(void)state;
	solve(&s, 3072, 8, 8);
	check_uniform(&s, 2, 981.1129, 29.039);
	check_uniform(&s, 4, 1204.3341, 19.620);
	check_uniform(&s, 8, 2257.1899, 20.033);
	check_best(&s, CAP, 1141.0534, 22.746);
	check_runs(&s, CAP, 33, 4, 2);
	for (int i = 0; i < 3; i++)
		check_best(&s, caps[i].cap * GIB, caps[i].time, caps[i].gib);
	assert_true(option_front_within(&s.f, 18.5 * GIB) < 0);
	assert_true(fabs(s.f.points[0].memory / GIB - 18.768) < 0.6e-3);
	solved_free(&s);
}

/* 3.18; its times are given to two digits. */
static void test_front(void **state)
{
	static const double points[][2] = {{19.576, 1242.52}, {19.620, 1204.33}, {20.918, 1182.86},
	                                   {22.746, 1141.05}, {24.785, 1089.19}, {29.039, 981.11}};
	struct solved s;

	(void)state;
	solve(&s, 3072, 8, 8);
	for (size_t k = 0; k < sizeof(points) / sizeof(points[0]); k++) {
		size_t i = 0;

		while (i < s.f.count && !(fabs(s.f.points[i].memory / GIB - points[k][0]) < 0.6e-3 &&
		                          fabs(s.f.points[i].time - points[k][1]) < 0.6e-2))
			i++;
		assert_true(i < s.f.count);
	}
	for (size_t i = 1; i < s.f.count; i++)
		assert_true(s.f.points[i].memory > s.f.points[i - 1].memory &&
		            s.f.points[i].time < s.f.points[i - 1].time);
	solved_free(&s);
}

static void test_other_cases(void **state)
{
	struct solved s;

	(void)state;
	solve(&s, 2048, 8, 16);
	check_uniform(&s, 1, 954.6155, 25.176);
	check_uniform(&s, 2, 1023.7814, 16.067);
	check_uniform(&s, 4, 1453.8875, 14.828);
	check_best(&s, CAP, 979.9419, 22.551);
	check_runs(&s, CAP, 14, 2, 1);
	solved_free(&s);

	solve(&s, 1024, 8, 32);
	check_uniform(&s, 1, 705.7579, 8.190);
	check_best(&s, CAP, 705.7579, 8.190);
	check_runs(&s, CAP, 48, 1, 1);
	solved_free(&s);

	solve(&s, 4096, 16, 16);
	assert_true(option_front_within(&s.f, CAP) < 0);
	assert_true(fabs(s.f.points[0].memory / GIB - 28.774) < 0.6e-3);
	solved_free(&s);
}

/* Two degrees and one cut are a plan of the front's problem: never better than its best, and the same where
 * that needs one cut between layers only. */
static void test_two_degrees(void **state)
{
	struct oases_cut cut;
	struct solved s;

	(void)state;
	solve(&s, 3072, 8, 8);
	assert_int_equal(oases_best_cut(&s.g, CAP, &cut), SB_OK);
	assert_true(cut.memory <= CAP && cut.time >= 1141.0534 - 1e-4 && cut.time < 1204.3341);
	assert_int_equal(oases_best_cut(&s.g, 18.5 * GIB, &cut), SB_EINFEASIBLE);
	solved_free(&s);
	/* 14 nodes of degree 2 are seven layers */
	solve(&s, 2048, 8, 16);
	assert_int_equal(oases_best_cut(&s.g, CAP, &cut), SB_OK);
	assert_true(cut.cut == 7 && s.degrees[cut.first].degree == 2 && s.degrees[cut.second].degree == 1);
	check_point(cut.time, cut.memory, 979.9419, 22.551);
	solved_free(&s);
	solve(&s, 1024, 8, 32);
	assert_int_equal(oases_best_cut(&s.g, CAP, &cut), SB_OK);
	assert_true(cut.cut == 24 && s.degrees[cut.first].degree == 1);
	solved_free(&s);
}

/* Each way to overlap or to leave out communication only saves: term by term a maximum is at most a sum. */
static void test_schedules(void **state)
{
	double best[OASES_SCHEDULES];

	(void)state;
	for (int k = 0; k < OASES_SCHEDULES; k++) {
		struct solved s = {0};

		s.p = problem_of(3072, 8, 8, s.degrees);
		s.p.schedule = (enum oases_schedule)k;
		assert_int_equal(oases_graph_open(&s.p, &s.g), SB_OK);
		assert_int_equal(option_graph_solve(&s.g.graph, OPTION_WORK, &s.f), SB_OK);
		best[k] = s.f.points[option_front_within(&s.f, CAP)].time;
		solved_free(&s);
	}
	assert_true(best[OASES_FULL] < best[OASES_OVERLAP] && best[OASES_OVERLAP] < best[OASES_DEFAULT]);
	assert_true(best[OASES_FULL] < best[OASES_OPTIM_COMM] &&
	            best[OASES_OPTIM_COMM] < best[OASES_DEFAULT]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_case), cmocka_unit_test(test_front),
	                                   cmocka_unit_test(test_other_cases),
	                                   cmocka_unit_test(test_two_degrees),
	                                   cmocka_unit_test(test_schedules)};

	return cmocka_run_group_tests(tests, open_profile, close_profile);
}
