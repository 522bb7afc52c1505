/* Gradient fusion of 10,000 gradients over a measured cost of 100 sizes, bound by communication: milliseconds
 * of the exact search. The baseline runs here: the same recurrence over all pairs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "planner/network/gradient_fusion.h"

#define GRADIENTS 10000
#define SIZES 100
#define ROUNDS 5

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double all_pairs(const struct fusion_problem *p)
{
	static double end[GRADIENTS + 1];
	double ready = 0;

	for (size_t j = 1; j <= p->count; j++) {
		double best = INFINITY;
		int64_t bytes = 0;

		ready += p->gradients[j - 1].backward_seconds;
		for (size_t i = j; i-- > 0;) {
			bytes += p->gradients[i].bytes;
			best = fmin(best, fmax(ready, end[i]) + curve_seconds(&p->cost, (double)bytes));
		}
		end[j] = best;
	}
	return end[p->count];
}

int main(void)
{
	static struct fusion_gradient gradients[GRADIENTS];
	struct curve_row rows[SIZES];
	struct fusion_problem p = {
	    .gradients = gradients, .count = GRADIENTS, .max_segment_bytes = INT64_MAX};
	double best = 1e9, start, end, other;

	for (int i = 0; i < GRADIENTS; i++)
		gradients[i] = (struct fusion_gradient){1000 + (int64_t)i * 7919 % 1000003, 1e-8};
	for (int i = 0; i < SIZES; i++)
		rows[i] = (struct curve_row){(int64_t)(i + 1) << 20, 1e-4 + 1e-4 * sqrt(i)};
	if (curve_from_rows(rows, SIZES, &p.cost, NULL) != SB_OK)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		FUSION_PLAN_AUTO plan = {0};
		struct fusion_time t;
		int64_t weighed;

		start = now();
		if (fusion_optimal(&p, &plan, &weighed) != SB_OK)
			return 1;
		best = fmin(best, now() - start);
		if (fusion_evaluate(&p, &plan, &t, NULL) != SB_OK)
			return 1;
		end = t.end_seconds;
	}
	start = now();
	other = all_pairs(&p);
	start = now() - start;
	if (fabs(end - other) > 1e-9 * other)
		return 1;
	printf("gradient_fusion_10000 %.2f %.2f %.2f ms\n", 1e3 * best, 1e3 * start, start / best);
	curve_clear(&p.cost);
	return 0;
}
