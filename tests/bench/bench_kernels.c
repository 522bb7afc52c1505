/* bench_kernels FILE: reads a kernel_details.csv on one core. Baselines on the same file in the same call:
 * memchr over its lines, Python's csv module. One line a figure: name, ours, baseline, ratio, unit. */
#include "tests/bench/bench.h"

static void run_ours(const struct file *f, struct result *r)
{
	struct profile p = {0};
	double start = now();

	r->ok = read_file(f, r, &p) == SB_OK && p.count == 1;
	r->seconds = now() - start;
	r->events = r->ok ? (double)p.captures[0].kernel_count : 0;
	profile_free(&p);
}

static void run_python(const struct file *f, struct result *r)
{
	const char *argv[] = {
	    "python3", "-c", "import csv,sys\nfor row in csv.reader(open(sys.argv[1])): pass", f->path, NULL};

	run_program(argv, r);
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc == 2 ? argv[1] : ""};
	struct result ours = {0}, scan = {0}, python;
	double mb = megabytes(f.path);

	if (!(mb > 0)) {
		fprintf(stderr, "usage: bench_kernels FILE\n");
		return 2;
	}
	best_of(&scan, run_memchr, &f, 3);
	best_of(&ours, run_ours, &f, 3);
	python = apart(run_python, &f);
	if (!ours.ok || !(ours.events > 0))
		return 1;
	line("kernel_details_vs_memchr", mb / ours.seconds, mb / scan.seconds, "MB/s");
	if (python.ok)
		line("kernel_details_vs_python", mb / ours.seconds, mb / python.seconds, "MB/s");
	line("kernel_details_rows_per_second", ours.events / ours.seconds, 0, "1/s");
	return 0;
}
