/* Division and micro-batches together. csimd_linear: 20,000 layers against 10,000, 64 micro-batches given:
 * the time is linear in the layers when the ratio is near 2. csimd_joint: 96 layers, 16 stages, 256 samples,
 * any number of micro-batches, against the plain dynamic program over every cut, for every number;
 * milliseconds. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "planner/pipeline/csimd.h"

#define LAYERS_MOST 20000
#define STAGES 16
#define ROUNDS 25

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Every layer is one of its own; backward is twice the forward. */
static void make(struct csimd_layers *rows, int64_t layers, struct csimd_problem *out)
{
	for (int64_t i = 0; i < layers; i++)
		rows[i] = (struct csimd_layers){.count = 1,
		                                .time = {.a = 20 + (double)(i * 7919 % 41),
		                                         .k = 10 + (double)(i * 104729 % 31),
		                                         .b0 = 1 + (double)(i % 3),
		                                         .q = 0.25 * (double)(i % 5),
		                                         .rho = 2}};
	*out = (struct csimd_problem){
	    .rows = rows, .row_count = (size_t)layers, .layers = layers, .stages = STAGES, .sequences = 1};
}

static double seconds(const struct csimd_problem *p, double *out_makespan)
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		struct csimd_result r = {0};
		double start = now();

		if (csimd_solve_plan(p, CSIMD_EQUAL, CSIMD_EXACT, &r, NULL) != SB_OK)
			exit(1);
		best = fmin(best, now() - start);
		*out_makespan = r.plan.makespan;
		csimd_plan_clear(&r.plan);
	}
	return best;
}

/* The least longest stage for micro-batches of b samples, by every last cut. */
static double least_longest(const struct csimd_problem *p, int64_t b, double *out_sum)
{
	static double prefix[LAYERS_MOST + 1], least[STAGES + 1][LAYERS_MOST + 1];

	for (int64_t i = 0; i < p->layers; i++)
		prefix[i + 1] = prefix[i] + csimd_time_at(&p->rows[i].time, CSIMD_FORWARD, b, 0);
	for (int64_t j = 0; j <= p->layers; j++)
		least[0][j] = j == 0 ? 0 : INFINITY;
	for (int64_t k = 1; k <= p->stages; k++)
		for (int64_t j = 0; j <= p->layers; j++) {
			least[k][j] = INFINITY;
			for (int64_t i = k - 1; i < j; i++)
				least[k][j] = fmin(least[k][j], fmax(least[k - 1][i], prefix[j] - prefix[i]));
		}
	*out_sum = prefix[p->layers];
	return least[p->stages][p->layers];
}

/* All numbers of micro-batches that divide the samples into equal ones; the others cost it as much, and are
 * not exact by it. */
static double by_dynamic_program(const struct csimd_problem *p)
{
	double best = INFINITY;

	for (int64_t m = 1; m <= p->samples; m++) {
		double sum, longest = least_longest(p, p->samples / m, &sum);

		if (p->samples % m == 0)
			best = fmin(best, 3 * (sum + (double)(m - 1) * longest));
	}
	return best;
}

int main(void)
{
	static struct csimd_layers rows[LAYERS_MOST];
	struct csimd_problem p;
	double small, large, ours, start, makespan, other;

	make(rows, LAYERS_MOST, &p);
	p.samples = p.samples_max = 256;
	p.micro_batches = 64;
	large = seconds(&p, &makespan);
	make(rows, LAYERS_MOST / 2, &p);
	p.samples = p.samples_max = 256;
	p.micro_batches = 64;
	small = seconds(&p, &makespan);
	printf("csimd_linear_20000_vs_10000 %.3f %.3f %.2f ms\n", 1e3 * large, 1e3 * small, large / small);
	make(rows, 96, &p);
	p.samples = p.samples_max = 256;
	ours = seconds(&p, &makespan);
	start = now();
	other = by_dynamic_program(&p);
	start = now() - start;
	if (!(makespan <= other * (1 + 1e-9)))
		return 1;
	printf("csimd_joint_96_layers_vs_dp %.2f %.2f %.2f ms\n", 1e3 * ours, 1e3 * start, start / ours);
	return 0;
}
