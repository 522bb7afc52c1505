/* bench_gzip FILE.gz: reads a gzip'ed Kineto trace on one core. Baseline on the same file in the same call:
 * gzip -dc, which only inflates. MB/s of the compressed bytes. */
#include "tests/bench/bench.h"

static void run_ours(const struct file *f, struct result *r)
{
	struct profile p = {0};
	double start = now();

	r->ok = read_file(f, r, &p) == SB_OK;
	r->seconds = now() - start;
	profile_free(&p);
}

static void run_gzip(const struct file *f, struct result *r)
{
	const char *argv[] = {"gzip", "-dc", f->path, NULL};

	run_program(argv, r);
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc == 2 ? argv[1] : ""};
	struct result ours = {0}, gzip = {0};
	double mb = megabytes(f.path);

	if (!(mb > 0)) {
		fprintf(stderr, "usage: bench_gzip FILE.gz\n");
		return 2;
	}
	best_of(&gzip, run_gzip, &f, 3);
	best_of(&ours, run_ours, &f, 3);
	if (!ours.ok || !gzip.ok)
		return 1;
	line("kineto_gzip_vs_gzip_dc", mb / ours.seconds, mb / gzip.seconds, "MB/s");
	return 0;
}
