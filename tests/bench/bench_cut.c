/* bench_cut [--verbose]: the least makespan of random pipelines of several sizes and schedules, and the best
 * of all schedules. Baselines: the goal of a second; the plan of least bottleneck alone; the bound from
 * below; of the replay, the simulation. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/pipeline/best.h"
#include "planner/pipeline/makespan.h"
#include "planner/schedule/replay.h"

#define DEVICES_MAX 64
#define BODIES_MAX 2

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t seed = 17;

static double pick(double low, double high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + floor((double)(seed >> 40) / (1 << 24) * (high - low + 1));
}

struct random_pipeline {
	struct pipeline_body bodies[BODIES_MAX];
	double memory[DEVICES_MAX];
};

/* Transformer layers in SAPP's manner (algorithms.md 1.2); room: for this share of all activations of as many
 * micro-batches as there are devices. */
static struct pipeline_problem draw(struct random_pipeline *r, const struct schedule_shape *shape,
                                    int64_t layers, int64_t bodies, double room)
{
	struct pipeline_problem p = {.shape = *shape,
	                             .bodies = r->bodies,
	                             .body_count = bodies,
	                             .memory = r->memory,
	                             .head = {pick(0, 60), pick(0, 120), pick(1000, 6000)},
	                             .tail = {pick(30, 200), pick(60, 400), pick(1000, 6000)}};
	double parameters = 0, activation = 0;

	for (int64_t i = 0; i < bodies; i++) {
		double f = pick(50, 150), a = pick(400, 1200);

		r->bodies[i] = (struct pipeline_body){
		    .count = layers / bodies + (i < layers % bodies),
		    .forward = f,
		    .backward = {2 * f, 2 * f * 1.04, 2 * f * 1.125, 2 * f * 1.165, 3 * f},
		    .activation = {a, a * 0.78, a * 0.69, a * 0.42, a * 0.04},
		    .parameters = pick(300, 1500),
		    .weight = f,
		    .overlapped = NAN};
		parameters += (double)r->bodies[i].count * r->bodies[i].parameters;
		activation += (double)r->bodies[i].count * a;
	}
	for (int d = 0; d < DEVICES_MAX; d++)
		r->memory[d] = 6000 + parameters * 1.3 / (double)shape->devices + activation * room;
	return p;
}

struct sums {
	double seconds, gap, ratio, candidates;
	int count, proved;
};

static void solve(const struct pipeline_problem *p, bool verbose, struct sums *out)
{
	struct pipeline_stage plan[DEVICES_MAX * BODIES_MAX * 4] = {{{0}}};
	struct pipeline_proof proof = {0};
	struct pipeline_score first = {0};
	PIPELINE_SCORER_AUTO scorer = NULL;
	double start, took, gap;

	if (pipeline_scorer_open(p, &scorer, NULL) != SB_OK ||
	    pipeline_least_bottleneck(p, plan, &proof, NULL) != SB_OK ||
	    pipeline_score(scorer, plan, &first, NULL, NULL) != SB_OK)
		return;
	start = now();
	if (pipeline_least_makespan(p, plan, &proof, NULL) != SB_OK)
		return;
	took = now() - start;
	gap = 1 - proof.lower_bound / proof.value;
	if (verbose)
		printf("# %-24s %3lld layers %lld types %2lld devices %lld chunks: %8.1f ms, gap %5.2f %%, "
		       "bottleneck %.4f\n",
		       schedule_facts(p->shape.kind)->name, (long long)pipeline_layers(p),
		       (long long)p->body_count, (long long)p->shape.devices, (long long)p->shape.chunks,
		       took * 1e3, gap * 100, first.makespan / proof.value);
	out->seconds += took;
	out->gap += gap;
	out->ratio += first.makespan / proof.value;
	out->candidates += (double)proof.candidates;
	out->proved += proof.optimal;
	out->count++;
}

static void line(const char *name, double ours, double baseline, const char *unit)
{
	printf("%-32s %12.3f %12.3f %10.3f %s\n", name, ours, baseline, baseline > 0 ? ours / baseline : 0,
	       unit);
}

static void measure(enum schedule_kind kind, int64_t chunks, bool verbose)
{
	static const int64_t sizes[][3] = {{16, 4, 8}, {32, 8, 16}, {61, 8, 16}, {96, 16, 32}};
	struct sums s = {0};
	char name[80];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int n = 0; n < 8; n++) {
			struct random_pipeline r;
			struct schedule_shape shape = {kind, sizes[i][1], sizes[i][2], chunks, 1};
			struct pipeline_problem p =
			    draw(&r, &shape, sizes[i][0], 1 + n % 2, n / 2 % 2 ? 0.3 : 0.8);

			solve(&p, verbose, &s);
		}
	}
	if (s.count == 0)
		return;
	(void)snprintf(name, sizeof(name), "cut_%s_%lld_ms", schedule_facts(kind)->name, (long long)chunks);
	line(name, s.seconds / s.count * 1e3, 1000, "ms");
	(void)snprintf(name, sizeof(name), "cut_%s_%lld_vs_bottleneck", schedule_facts(kind)->name,
	               (long long)chunks);
	line(name, 1, s.ratio / s.count, "time");
	(void)snprintf(name, sizeof(name), "cut_%s_%lld_vs_bound", schedule_facts(kind)->name,
	               (long long)chunks);
	line(name, 1, 1 - s.gap / s.count, "time");
	(void)snprintf(name, sizeof(name), "cut_%s_%lld_proved", schedule_facts(kind)->name,
	               (long long)chunks);
	line(name, s.proved, s.count, "plans");
	(void)snprintf(name, sizeof(name), "cut_%s_%lld_simulated", schedule_facts(kind)->name,
	               (long long)chunks);
	line(name, s.candidates / s.seconds, 0, "plans/s");
}

/* One program simulated over and over, and replayed: microseconds a run. */
static void measure_replay(void)
{
	enum { RUNS = 200, STAGES = 16 };
	struct schedule_shape shape = {SCHEDULE_1F1B, STAGES, 32, 1, 1};
	SCHEDULE_PROGRAM_AUTO program = {0};
	SCHEDULE_REPLAY_AUTO replay = NULL;
	struct schedule_result result = {0};
	double one[STAGES], two[STAGES], start, simulated, sum = 0;
	struct schedule_times t = {.forward = one, .backward = two, .send_seconds = 1};

	for (int i = 0; i < STAGES; i++) {
		one[i] = pick(50, 150);
		two[i] = 2 * one[i];
	}
	if (schedule_program_build(&shape, &program, NULL) != SB_OK ||
	    schedule_replay_open(&program, &replay, NULL) != SB_OK)
		return;
	start = now();
	for (int i = 0; i < RUNS; i++)
		if (schedule_simulate(&program, &t, &result, NULL) == SB_OK)
			sum += result.makespan;
	simulated = now() - start;
	start = now();
	for (int i = 0; i < RUNS; i++)
		sum -= schedule_replay(replay, &t, INFINITY);
	/* equal times, so that nothing is left */
	if (sum == 0)
		line("replay_vs_simulation", (now() - start) / RUNS * 1e6, simulated / RUNS * 1e6, "us");
}

/* 96 layers on 16 devices, 32 micro-batches, five ways to recompute: within a second on one core. */
static void measure_best(void)
{
	struct random_pipeline r;
	struct schedule_shape shape = {SCHEDULE_1F1B, 16, 32, 1, 1};
	struct pipeline_best_options options = {0};
	double start, most = 0;

	for (int n = 0; n < 4; n++) {
		PIPELINE_BEST_AUTO best = {0};
		struct pipeline_problem p = draw(&r, &shape, 96, 1 + n % 2, n / 2 ? 0.3 : 0.8);

		start = now();
		if (pipeline_best(&p, &options, &best, NULL) == SB_OK)
			most = fmax(most, now() - start);
	}
	line("best_of_all_schedules_vs_1s", most * 1e3, 1000, "ms");
}

int main(int argc, char **argv)
{
	static const struct {
		enum schedule_kind kind;
		int64_t chunks;
	} schedules[] = {
	    {SCHEDULE_1F1B, 1},        {SCHEDULE_GPIPE, 1},       {SCHEDULE_ZB_H1, 1},
	    {SCHEDULE_INTERLEAVED, 2}, {SCHEDULE_INTERLEAVED, 4}, {SCHEDULE_INTERLEAVED_LESS_MEMORY, 3},
	    {SCHEDULE_ZB_V, 2},        {SCHEDULE_DUALPIPE_V, 2},  {SCHEDULE_DUALPIPE, 2}};
	bool verbose = argc > 1 && strcmp(argv[1], "--verbose") == 0;

	measure_replay();
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++)
		measure(schedules[i].kind, schedules[i].chunks, verbose);
	measure_best();
	return 0;
}
