/* Strategy search of a 175B model on 1024 devices, full space, one core: candidates a second and
 * milliseconds. The baseline is recorded, not run: Calculon's exhaustive search, 70 to 205 plans a second on
 * one core. */
#include <stdio.h>
#include <time.h>

#include "planner/presets/presets.h"
#include "planner/strategy/search.h"

#define ROUNDS 9
#define CALCULON_PER_SECOND 205.0
#define GOAL_MILLISECONDS 50.0

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int request_of(struct search_request *r)
{
	const struct model_preset *m = model_preset("gpt3-175b");
	struct cluster_preset c;
	struct cost_problem *p = &r->problem;

	if (!m || !cluster_preset("dgx-a100-80g", &c))
		return -1;
	p->model = m->model;
	model_defaults(&p->model);
	p->cluster = c.cluster;
	p->cluster.nodes = 128;
	p->constants = constants_for(&p->cluster);
	p->network = network_of(&p->cluster, &p->constants);
	p->sequences = 1536;
	p->memory_bytes = p->cluster.device.memory_bytes / 20 * 19;
	r->attention = strategy_attention(&p->model, &p->cluster);
	r->gradient_bytes = 4;
	r->alternatives = 5;
	return 0;
}

int main(void)
{
	struct search_request r = {0};
	static struct search_result result;
	struct search_result *x = &result;
	double best = 1e9, estimate;
	struct strategy_cost cost;

	if (request_of(&r) != 0)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		double start = now();

		if (strategy_search(&r, x, NULL) != SB_OK)
			return 1;
		start = now() - start;
		best = start < best ? start : best;
	}
	estimate = now();
	for (int i = 0; i < 100; i++) {
		if (strategy_cost(&r.problem, &x->best.strategy, &cost, NULL) != SB_OK)
			return 1;
	}
	estimate = (now() - estimate) / 100;
	printf("strategy_search_175b_1024 %.2f %.2f %.2f ms\n", 1e3 * best, GOAL_MILLISECONDS,
	       GOAL_MILLISECONDS / (1e3 * best));
	printf("strategy_candidates_weighed %.0f %.0f %.0f candidates/s\n", (double)x->candidates / best,
	       CALCULON_PER_SECOND, (double)x->candidates / best / CALCULON_PER_SECOND);
	printf("strategy_candidates_costed %.0f %.0f %.0f candidates/s\n", (double)x->costed / best,
	       CALCULON_PER_SECOND, (double)x->costed / best / CALCULON_PER_SECOND);
	printf("strategy_estimate_simulated %.3f - - ms\n", 1e3 * estimate);
	return 0;
}
