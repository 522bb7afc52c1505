/* bench_kineto FILE [--ours]: reads a plain Kineto trace on one core and prints one line a figure: name,
 * ours, baseline, ratio, unit. Baselines run on the same file in the same call, each in a process of its own.
 */
#include "profiler/read/reader.h"
#include "tests/bench/parsers.h"
#include "tests/one_capture.h"

static void run_ours(const struct file *f, struct result *r)
{
	struct profile p = {0};
	struct read_hooks hooks = {.self = &r->anon_mib, .canceled = sample};
	struct read_context ctx = {.profile = &p, .hooks = &hooks, .capture = one_capture};
	struct file_stream s;
	struct sb_error err = {0};
	double x, start = now();

	file_stream_init(&s, f);
	r->ok = KINETO_READER.read(&ctx, &s.base, &err) == SB_OK;
	r->seconds = now() - start;
	x = anon_mib();
	if (x > r->anon_mib)
		r->anon_mib = x;
	if (!r->ok)
		fprintf(stderr, "%s: %s\n", err.word, err.text);
	else
		r->events = (double)p.captures[0].trace.count;
	for (size_t i = 0; i < p.warnings.count; i++)
		fprintf(stderr, "warning %s: %s\n", p.warnings.items[i].code, p.warnings.items[i].detail);
	profile_free(&p);
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc > 1 ? argv[1] : NULL};
	struct result ours = {0}, scan = {0}, jansson = {0}, python = {0};
	bool ours_only = argc == 3 && strcmp(argv[2], "--ours") == 0;
	double mb;

	if (argc != 2 && !ours_only) {
		fprintf(stderr, "usage: bench_kineto FILE [--ours]\n");
		return 2;
	}
	mb = megabytes(f.path);
	if (!(mb > 0)) {
		perror(f.path);
		return 1;
	}
	best_of(&scan, run_memchr, &f, 3);
	best_of(&ours, run_ours, &f, 3);
	if (!ours.ok)
		return 1;
	if (!ours_only) {
		jansson = apart(run_jansson, &f);
		python = apart(run_python, &f);
	}
	line("kineto_read_vs_memchr", mb / ours.seconds, mb / scan.seconds, "MB/s");
	if (jansson.ok) {
		line("kineto_read_vs_jansson", mb / ours.seconds, mb / jansson.seconds, "MB/s");
		line("kineto_memory_vs_jansson", ours.anon_mib, jansson.anon_mib, "MiB");
	}
	if (python.ok) {
		line("kineto_read_vs_python", mb / ours.seconds, mb / python.seconds, "MB/s");
		line("kineto_memory_vs_python", ours.anon_mib, python.anon_mib, "MiB");
	}
	line("kineto_memory_vs_limit", ours.anon_mib, 64 + ours.events * 40 / 1048576, "MiB");
	line("kineto_events_per_second", ours.events / ours.seconds, 0, "1/s");
	return 0;
}
