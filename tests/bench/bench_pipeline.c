/* bench_pipeline DIR: from the bytes of a trace to its findings, on one core: DIR/kineto.json, the same
 * number of events cut into many steps (DIR/kineto_steps.json), and an Ascend capture's timeline and kernel
 * table. The baselines of memory are the promise: 64 MB and 40 bytes an event. */
#include "api/profiles/documents.h"
#include "tests/bench/bench.h"

static void memory(struct result *r)
{
	double x = anon_mib();

	r->anon_mib = x > r->anon_mib ? x : r->anon_mib;
}

/* To the breakdown, as the goal has it; memory: of the whole analysis. */
static void run_breakdown(const struct file *f, struct result *r)
{
	RESULTS_AUTO all = {0};
	BREAKDOWN_AUTO b = {0};
	double start = now();
	int rc = read_file(f, r, &all.profile);

	memory(r);
	if (rc == SB_OK)
		rc = breakdown_compute(&all.profile, &all.profile.warnings, &b, NULL);
	r->seconds = now() - start;
	if (rc == SB_OK)
		rc = results_analyse(&all, &THRESHOLDS_DEFAULT, NULL, NULL);
	memory(r);
	r->ok = rc == SB_OK && all.profile.count == 1;
	r->events = r->ok ? (double)all.profile.captures[0].event_count : 0;
}

/* To the findings and the critical paths. */
static void run_whole(const struct file *f, struct result *r)
{
	RESULTS_AUTO all = {0};
	double start = now();

	r->ok = read_file(f, r, &all.profile) == SB_OK &&
	        results_analyse(&all, &THRESHOLDS_DEFAULT, NULL, NULL) == SB_OK;
	r->seconds = now() - start;
}

static struct result measure(const char *dir, const char *name,
                             void (*run)(const struct file *f, struct result *r), double *out_mb)
{
	struct result r = {0};
	char path[4096];
	struct file f = {.path = path};

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	*out_mb = megabytes(path);
	if (*out_mb > 0)
		best_of(&r, run, &f, 3);
	return r;
}

static double promise(const struct result *r)
{
	return 64 + r->events * 40 / 1048576;
}

int main(int argc, char **argv)
{
	double mb, steps_mb, trace_mb, kernels_mb;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_pipeline DIR\n");
		return 2;
	}
	struct result kineto = measure(argv[1], "kineto.json", run_breakdown, &mb);
	struct result whole = measure(argv[1], "kineto.json", run_whole, &mb);
	struct result steps = measure(argv[1], "kineto_steps.json", run_whole, &steps_mb);
	struct result trace = measure(argv[1], "trace_view.json", run_breakdown, &trace_mb);
	struct result kernels = measure(argv[1], "kernel_details.csv", run_breakdown, &kernels_mb);

	if (!kineto.ok || !whole.ok || !steps.ok || !trace.ok || !kernels.ok)
		return 1;
	line("kineto_to_breakdown_vs_goal", mb / kineto.seconds, 400, "MB/s");
	line("kineto_pipeline_memory_vs_limit", kineto.anon_mib, promise(&kineto), "MiB");
	line("kineto_2000_steps_vs_3", steps.seconds / steps_mb * mb, whole.seconds, "s");
	line("ascend_trace_to_breakdown_vs_goal", trace_mb / trace.seconds, 400, "MB/s");
	line("ascend_trace_memory_vs_limit", trace.anon_mib, promise(&trace), "MiB");
	line("kernel_details_to_breakdown_vs_goal", kernels_mb / kernels.seconds, 400, "MB/s");
	return 0;
}
