/* Strategy search over the full space, one core: milliseconds, and candidates a second. The baseline is
 * recorded, not run: Calculon's exhaustive search, 70 to 205 plans a second on one core. */
#include <stdio.h>
#include <time.h>

#include "planner/presets/presets.h"
#include "planner/strategy/search.h"

#define ROUNDS 9
#define CALCULON_PER_SECOND 205.0
#define STAGES 8

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int request_of(struct search_request *r, const char *model, const char *cluster, int64_t nodes,
                      int64_t sequences)
{
	const struct model_preset *m = model_preset(model);
	struct cluster_preset c;
	struct cost_problem *p = &r->problem;

	if (!m || !cluster_preset(cluster, &c))
		return -1;
	p->model = m->model;
	model_defaults(&p->model);
	p->cluster = c.cluster;
	p->cluster.nodes = nodes;
	p->constants = constants_for(&p->cluster);
	p->network = network_of(&p->cluster, &p->constants);
	p->sequences = sequences;
	p->memory_bytes = p->cluster.device.memory_bytes / 20 * 19;
	r->attention = strategy_attention(&p->model, &p->cluster);
	r->gradient_bytes = 4;
	r->alternatives = 5;
	return 0;
}

/* Milliseconds of a search; every candidate is costed or cut off by a bound. */
static int bench_search(const char *name, const struct search_request *r, double goal)
{
	static struct search_result x;
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now();

		if (strategy_search(r, &x, NULL) != SB_OK || !x.optimal)
			return 1;
		start = now() - start;
		best = start < best ? start : best;
	}
	printf("strategy_search_%s %.2f %.2f %.2f ms\n", name, 1e3 * best, goal, goal / (1e3 * best));
	printf("strategy_candidates_%s %.0f %.0f %.0f candidates/s\n", name, (double)x.candidates / best,
	       CALCULON_PER_SECOND, (double)x.candidates / best / CALCULON_PER_SECOND);
	return 0;
}

/* Candidates costed one by one, none cut off: memory of the fullest stage and a bound of the step for every
 * ZeRO level and recomputation of a layout whose costs of a micro-batch are known. */
static void bench_costing(const struct search_request *r)
{
	const struct cost_problem *p = &r->problem;
	struct strategy s = strategy_default(&p->model, &p->cluster);
	struct stage_run runs[STAGES];
	struct layer_costs costs[RECOMPUTES];
	struct groups g;
	double start, sum = 0;
	int64_t stage, count = 0, n;

	s.tp = s.pp = STAGES;
	s.dp = 16;
	s.sequence_parallel = true;
	g = groups_of(&p->network, &s);
	for (int c = 0; c < RECOMPUTES; c++) {
		s.recompute = (enum recompute)c;
		costs[c] = layer_costs_of(p, &s, &g);
	}
	start = now();
	while (now() - start < 0.2) {
		for (int i = 0; i < 3000; i++) {
			const struct layer_costs *l = &costs[i % RECOMPUTES];
			struct memory_parts m;

			s.recompute = (enum recompute)(i % RECOMPUTES);
			s.zero = i & 1;
			s.last_fewer = i / 6 % 4;
			n = strategy_runs(&p->model, &s, runs);
			m = peak_memory(p, l, &s, runs, n, 96, &stage);
			sum += memory_total(&m) + bound_seconds(p, l, &s, &g, runs, n, 96);
			count++;
		}
	}
	start = now() - start;
	printf("strategy_candidates_costed %.0f %.0f %.0f candidates/s\n",
	       sum > 0 ? (double)count / start : 0, CALCULON_PER_SECOND,
	       (double)count / start / CALCULON_PER_SECOND);
}

static int bench_estimate(const struct search_request *r)
{
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);
	struct strategy_cost cost;
	double start = now();

	s.tp = s.pp = STAGES;
	s.dp = 16;
	for (int i = 0; i < 100; i++) {
		if (strategy_cost(&r->problem, &s, &cost, NULL) != SB_OK)
			return 1;
	}
	printf("strategy_estimate_simulated %.3f - - ms\n", 1e3 * (now() - start) / 100);
	return 0;
}

int main(void)
{
	struct search_request gpt = {0}, large = {0}, experts = {0}, hosted;

	if (request_of(&gpt, "gpt3-175b", "dgx-a100-80g", 128, 1536) != 0 ||
	    request_of(&large, "llama3-405b", "dgx-h100", 2048, 2048) != 0 ||
	    request_of(&experts, "deepseek-v3", "h800-8", 2048, 15360) != 0)
		return 1;
	/* what does not fit is weighed with each set of things on a host, too: as an HGX node has it */
	hosted = experts;
	hosted.problem.cluster.host_memory_bytes = (int64_t)2 << 40;
	hosted.problem.cluster.host_link_bytes_per_second = 50e9;
	hosted.problem.cluster.host_memory_bandwidth = 400e9;
	bench_costing(&gpt);
	return bench_search("175b_1024", &gpt, 50) || bench_search("405b_16384", &large, 500) ||
	       bench_search("671b_experts_16384", &experts, 500) ||
	       bench_search("671b_experts_16384_host", &hosted, 500) || bench_estimate(&gpt);
}
