#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/csimd.h"

#define LAYERS_MAX 12
#define STAGES_MAX 4
#define SAMPLES_MAX 10

static uint64_t seed = 7;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

struct instance {
	struct csimd_problem p;
	struct csimd_layers rows[LAYERS_MAX];
	int64_t counts[3];
	double table[LAYERS_MAX][CSIMD_PASSES][3];
	double fixed[LAYERS_MAX], per_sample[LAYERS_MAX], speeds[STAGES_MAX], memory[STAGES_MAX];
};

static void make_row(struct instance *x, size_t r, bool table)
{
	x->rows[r] = (struct csimd_layers){.count = 1,
	                                   .parameters = (double)pick(0, 20),
	                                   .activation = (double)pick(0, 3),
	                                   .time = {.a = (double)pick(0, 60),
	                                            .k = (double)pick(1, 40),
	                                            .b0 = (double)pick(1, 4),
	                                            .q = (double)pick(0, 8) / 8,
	                                            .rho = (double)pick(2, 5) / 2}};
	if (!table)
		return;
	for (int d = 0; d < CSIMD_PASSES; d++)
		for (int i = 0; i < 3; i++) /* now and then falling */
			x->table[r][d][i] = (double)pick(20 * (i + 1), 20 * (i + 1) + 30);
	x->rows[r].time = (struct csimd_time){
	    .points = 3, .samples = x->counts, .seconds = {x->table[r][0], x->table[r][1]}};
}

/* What differs from one to the next: links, speeds, memory, tables, a given number of micro-batches. */
static void make_instance(struct instance *x, int64_t number)
{
	int64_t layers = pick(1, LAYERS_MAX);

	*x = (struct instance){.counts = {1, 3, 6}};
	x->p = (struct csimd_problem){.rows = x->rows,
	                              .row_count = (size_t)layers,
	                              .layers = layers,
	                              .stages = pick(1, layers < STAGES_MAX ? layers : STAGES_MAX),
	                              .samples = pick(1, SAMPLES_MAX),
	                              .sequences = 1};
	x->p.samples_max = pick(1, x->p.samples);
	if (number % 7 == 0)
		x->p.micro_batches =
		    pick((x->p.samples + x->p.samples_max - 1) / x->p.samples_max, x->p.samples);
	for (size_t r = 0; r < x->p.row_count; r++) {
		make_row(x, r, number % 5 == 0);
		x->fixed[r] = (double)pick(0, 90);
		x->per_sample[r] = (double)pick(0, 30);
	}
	for (int64_t s = 0; s < x->p.stages; s++) {
		x->speeds[s] = (double)pick(2, 6) / 4;
		x->memory[s] = (double)pick(40, 200);
	}
	if (number % 2 == 0) {
		x->p.send_fixed = x->fixed;
		x->p.send_per_sample = x->per_sample;
	}
	x->p.send_by_link = number % 6 == 0;
	x->p.speeds = number % 3 == 0 ? x->speeds : NULL;
	x->p.memory = number % 4 == 0 ? x->memory : NULL;
}

/* ---- by the definition alone: every division, every sizes, and the recurrence ---- */

struct enumeration {
	const struct instance *x;
	int64_t cuts[STAGES_MAX + 1], sizes[SAMPLES_MAX], count;
	double least;
};

static double layer_seconds(const struct instance *x, int64_t layer, int pass, double b)
{
	const struct csimd_time *t = &x->rows[layer].time;
	const double *y = x->table[layer][pass];

	if (t->points == 0)
		return (pass == 1 ? t->rho : 1) * (t->a + t->k * (b > t->b0 ? b : t->b0) + t->q * b * b);
	/* through (1, y0), (3, y1), (6, y2), and on as it was */
	return b <= 3 ? y[0] + (y[1] - y[0]) * (b - 1) / 2 : fmax(0, y[1] + (y[2] - y[1]) * (b - 3) / 3);
}

static double pass_seconds(const struct enumeration *e, int pass)
{
	const struct csimd_problem *p = &e->x->p;
	int64_t machines = 2 * p->stages - 1;
	double end[2 * STAGES_MAX] = {0};

	/* backward as it runs: the last machine and the last micro-batch first */
	for (int64_t j = 0; j < e->count; j++) {
		double b = (double)e->sizes[pass == 0 ? j : e->count - 1 - j], at = 0;

		for (int64_t k = 0; k < machines; k++) {
			int64_t i = pass == 0 ? k : machines - 1 - k, s = i / 2;
			int64_t link = p->send_by_link ? s : e->cuts[s + 1] - 1;
			double t = 0;

			if (i % 2 == 1 && p->send_fixed)
				t = e->x->fixed[link] + e->x->per_sample[link] * b;
			for (int64_t l = e->cuts[s]; i % 2 == 0 && l < e->cuts[s + 1]; l++)
				t += layer_seconds(e->x, l, pass, b) / (p->speeds ? p->speeds[s] : 1);
			at = fmax(at, end[k]) + t;
			end[k] = at;
		}
	}
	return end[machines - 1];
}

static void weigh_divisions(struct enumeration *e, int64_t stage)
{
	const struct csimd_problem *p = &e->x->p;

	for (int64_t j = e->cuts[stage] + 1; j <= p->layers; j++) {
		double bytes = 0;

		for (int64_t l = e->cuts[stage]; l < j; l++)
			bytes += e->x->rows[l].parameters + e->x->rows[l].activation * (double)p->samples;
		if (p->memory && bytes > p->memory[stage])
			return;
		e->cuts[stage + 1] = j;
		if (stage + 1 < p->stages)
			weigh_divisions(e, stage + 1);
		else if (j == p->layers)
			e->least = fmin(e->least, pass_seconds(e, 0) + pass_seconds(e, 1));
	}
}

static double least_equal(const struct instance *x)
{
	struct enumeration e = {.x = x, .least = INFINITY};

	for (int64_t m = 1; m <= x->p.samples; m++) {
		if ((x->p.micro_batches > 0 && m != x->p.micro_batches) ||
		    (x->p.samples + m - 1) / m > x->p.samples_max)
			continue;
		e.count = m;
		for (int64_t j = 0; j < m; j++)
			e.sizes[j] = x->p.samples / m + (j < x->p.samples % m);
		weigh_divisions(&e, 0);
	}
	return e.least;
}

static void weigh_sizes(struct enumeration *e, int64_t left)
{
	if (left == 0 && (e->x->p.micro_batches == 0 || e->count == e->x->p.micro_batches))
		weigh_divisions(e, 0);
	for (int64_t b = 1; b <= left && b <= e->x->p.samples_max; b++) {
		e->sizes[e->count++] = b;
		weigh_sizes(e, left - b);
		e->count--;
	}
}

static double least_free(const struct instance *x)
{
	struct enumeration e = {.x = x, .least = INFINITY};

	weigh_sizes(&e, x->p.samples);
	return e.least;
}

/* ---- the tests ---- */

static void near(double is, double right)
{
	if (!(fabs(is - right) <= 1e-9 * right))
		fail_msg("%.9f is not %.9f", is, right);
}

/* It is a plan, and takes what it says. */
static void assert_plan(const struct csimd_problem *p, const struct csimd_result *r)
{
	double bytes[CSIMD_STAGES_MAX];
	int64_t samples = 0, count = 0;

	assert_int_equal(r->plan.cuts[0], 0);
	assert_int_equal(r->plan.cuts[p->stages], p->layers);
	for (int64_t s = 0; s < p->stages; s++)
		assert_true(r->plan.cuts[s] < r->plan.cuts[s + 1]);
	for (size_t i = 0; i < r->plan.run_count; i++) {
		assert_true(r->plan.runs[i].samples >= 1 && r->plan.runs[i].samples <= p->samples_max);
		samples += r->plan.runs[i].samples * r->plan.runs[i].count;
		count += r->plan.runs[i].count;
	}
	assert_int_equal(samples, p->samples);
	assert_int_equal(count, r->plan.micro_batches);
	csimd_memory(p, r->plan.cuts, bytes);
	for (int64_t s = 0; p->memory && s < p->stages; s++)
		assert_true(bytes[s] <= p->memory[s]);
	if (count * p->stages < 10000000)
		near(csimd_makespan(p, &r->plan), r->plan.makespan);
	assert_true(r->lower_bound <= r->plan.makespan);
}

static double solve(const struct csimd_problem *p, enum csimd_sizes sizes, enum csimd_search search,
                    bool *out_optimal)
{
	struct csimd_result r = {0};
	double makespan;
	int rc = csimd_solve_plan(p, sizes, search, &r, NULL);

	if (rc == SB_EINFEASIBLE)
		return INFINITY;
	assert_int_equal(rc, SB_OK);
	assert_plan(p, &r);
	makespan = r.plan.makespan;
	*out_optimal = r.optimal;
	csimd_plan_clear(&r.plan);
	return makespan;
}

static void equal_to_every_division(void **state)
{
	int infeasible = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct instance x;
		double right, is;
		bool optimal = false;

		make_instance(&x, i);
		assert_int_equal(csimd_check(&x.p, NULL), SB_OK);
		right = least_equal(&x);
		is = solve(&x.p, CSIMD_EQUAL, CSIMD_EXACT, &optimal);
		infeasible += right == INFINITY;
		if (right == INFINITY || is == INFINITY) {
			assert_true(is == right);
			continue;
		}
		assert_true(optimal);
		near(is, right);
		assert_true(solve(&x.p, CSIMD_EQUAL, CSIMD_CROSS, &optimal) >= right * (1 - 1e-9));
	}
	assert_in_range(infeasible, 5, 100);
}

static void equal_to_every_size(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct instance x;
		double right, is;
		bool optimal = false;

		make_instance(&x, i);
		if (x.p.samples > 7 || x.p.layers > 8)
			continue;
		right = least_free(&x);
		is = solve(&x.p, CSIMD_FREE, CSIMD_EXACT, &optimal);
		if (right == INFINITY || is == INFINITY) {
			assert_true(is == right);
			continue;
		}
		assert_true(optimal);
		near(is, right);
	}
}

/* The largest that may be asked for: bounded steps, a plan and a bound. */
static void large(void **state)
{
	static double fixed[CSIMD_LAYERS_MAX], per_sample[CSIMD_LAYERS_MAX];
	struct csimd_layers rows[4];
	struct csimd_problem p = {.rows = rows,
	                          .row_count = 4,
	                          .layers = CSIMD_LAYERS_MAX,
	                          .stages = CSIMD_STAGES_MAX,
	                          .samples = CSIMD_SAMPLES_MAX,
	                          .samples_max = CSIMD_SAMPLES_MAX,
	                          .sequences = 1};
	struct sb_error err = {0};
	bool optimal;

	(void)state;
	for (int r = 0; r < 4; r++)
		rows[r] = (struct csimd_layers){.count = CSIMD_LAYERS_MAX / 4,
		                                .time = {.a = 50 + r, .k = 0.1 * (r + 1), .b0 = 4, .rho = 2}};
	assert_int_equal(csimd_check(&p, &err), SB_OK);
	assert_true(solve(&p, CSIMD_EQUAL, CSIMD_EXACT, &optimal) < INFINITY);
	p.send_fixed = fixed;
	p.send_per_sample = per_sample;
	assert_int_equal(csimd_check(&p, &err), SB_EIMPOSSIBLE);
	p.stages = CSIMD_CELLS_MAX / CSIMD_LAYERS_MAX;
	assert_int_equal(csimd_check(&p, &err), SB_OK);
	assert_true(solve(&p, CSIMD_EQUAL, CSIMD_EXACT, &optimal) < INFINITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_every_division),
	    cmocka_unit_test(equal_to_every_size),
	    cmocka_unit_test(large),
	};

	return cmocka_run_group_tests_name("csimd", tests, NULL, NULL);
}
