/* bench_large FILE: a trace of 5,000,000 events (1.4 GB), from its bytes to its findings, as `signalbox
 * analyze` does it. The goals: 4 s of CPU, 300 MiB of anonymous memory. The file is larger than some disks
 * like, so the bench makes it and takes it away again. */
#include "profiler/analysis.h"
#include "tests/bench/bench.h"

#define GOAL_SECONDS 4
#define GOAL_MIB 300

static void memory(struct result *r)
{
	double x = anon_mib();

	r->anon_mib = x > r->anon_mib ? x : r->anon_mib;
}

static void run(const struct file *f, struct result *r)
{
	struct profile p = {0};
	struct breakdown b = {0};
	struct operator_table o = {0};
	struct communication_report c = {0};
	struct analysis a = {0};
	double start = now();
	int rc = read_file(f, r, &p);

	memory(r);
	if (rc == SB_OK)
		rc = breakdown_compute(&p, &p.warnings, &b, NULL);
	memory(r);
	if (rc == SB_OK)
		rc = operators_collect(&p, &o, NULL);
	memory(r);
	if (rc == SB_OK)
		rc = communication_compute(&p, threshold_get(&THRESHOLDS_DEFAULT, "r_wait")->value, &c, NULL);
	if (rc == SB_OK)
		rc = analysis_run(&p, &b, &o, &c, &THRESHOLDS_DEFAULT, &a, NULL);
	memory(r);
	r->seconds = now() - start;
	r->ok = rc == SB_OK && p.count == 1;
	r->events = r->ok ? (double)p.captures[0].event_count : 0;
	analysis_free(&a);
	communication_free(&c);
	operators_free(&o);
	breakdown_free(&b);
	profile_free(&p);
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc > 1 ? argv[1] : ""};
	struct result ours = {0};
	double mb = megabytes(f.path);

	if (argc != 2 || !(mb > 0)) {
		fprintf(stderr, "usage: bench_large FILE\n");
		return 2;
	}
	best_of(&ours, run, &f, 2);
	if (!ours.ok || ours.events < 5000000)
		return 1;
	line("kineto_5m_events_vs_goal", ours.seconds, GOAL_SECONDS, "s");
	line("kineto_5m_memory_vs_goal", ours.anon_mib, GOAL_MIB, "MiB");
	line("kineto_5m_bytes_per_second", mb / ours.seconds, 0, "MB/s");
	return 0;
}
