/* bench_formats DIR: each input format that DIR holds, read to its breakdown, and to everything that is
 * computed from it. Baselines on the same file in the same call: a scan with memchr, wc -c of a pipe, Jansson
 * and Python's parser (of JSON up to 200 MB: they need ten times its size). One line a figure: name, ours,
 * baseline, ratio, unit. */
#include "api/profiles/documents.h"
#include "tests/bench/parsers.h"

#define SMALL_MB 200

static void run_breakdown(const struct file *f, struct result *r)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct warnings none = {0};
	double start = now();

	r->ok = read_file(f, r, &p) == SB_OK && breakdown_compute(&p, &none, &b, NULL) == SB_OK;
	r->seconds = now() - start;
	for (size_t i = 0; i < p.count; i++)
		r->events += (double)p.captures[i].event_count;
	free(none.items);
}

static void run_all(const struct file *f, struct result *r)
{
	RESULTS_AUTO all = {0};
	struct stat st = {0};
	struct read_input in = {.path = f->path, .fd = open(f->path, O_RDONLY | O_CLOEXEC)};
	double start = now();

	if (in.fd < 0 || fstat(in.fd, &st) != 0)
		return;
	in.length = st.st_size;
	r->ok = results_compute(&in, 1, &READ_LIMITS_DEFAULT, NULL, &THRESHOLDS_DEFAULT, &all, NULL) == SB_OK;
	r->seconds = now() - start;
	close(in.fd);
}

static void run_wc(const struct file *f, struct result *r)
{
	/* of a file wc would only ask the size */
	const char *argv[] = {"sh", "-c", "cat \"$0\" | wc -c", f->path, NULL};

	run_program(argv, r);
}

static void against(const char *name, const char *what, double mb, const struct result *ours,
                    const struct result *baseline)
{
	char text[80];

	snprintf(text, sizeof(text), "%s_%s", name, what);
	if (baseline->ok)
		line(text, mb / ours->seconds, mb / baseline->seconds, "MB/s");
}

static int bench(const char *directory, const char *file, const char *name)
{
	char path[512], text[80];
	struct file f = {.path = path};
	struct result ours = {0}, all = {0}, scan = {0}, wc = {0}, jansson = {0}, python = {0};
	double mb;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	mb = megabytes(path);
	if (!(mb > 0))
		return 0;
	best_of(&scan, run_memchr, &f, 3);
	best_of(&wc, run_wc, &f, 3);
	best_of(&ours, run_breakdown, &f, 3);
	best_of(&all, run_all, &f, 3);
	if (!ours.ok || !all.ok)
		return 1;
	if (strstr(file, ".json") && mb <= SMALL_MB) {
		jansson = apart(run_jansson, &f);
		python = apart(run_python, &f);
	}
	against(name, "vs_memchr", mb, &ours, &scan);
	against(name, "vs_wc", mb, &ours, &wc);
	against(name, "vs_jansson", mb, &ours, &jansson);
	against(name, "vs_python", mb, &ours, &python);
	against(name, "analysed_vs_breakdown", mb, &all, &ours);
	snprintf(text, sizeof(text), "%s_memory_vs_limit", name);
	line(text, ours.anon_mib, 64 + ours.events * 40 / 1048576, "MiB");
	return 0;
}

int main(int argc, char **argv)
{
	/* the last ones are there once the generator knows how to write them */
	static const char *const FILES[][2] = {
	    {"trace_view.json", "trace_view"}, {"kernel_details.csv", "kernel_details"},
	    {"signalbox.json", "signalbox"},   {"ascend.db", "ascend_db"},
	    {"nsys.sqlite", "nsys"},
	};
	int status = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_formats DIR\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
		status |= bench(argv[1], FILES[i][0], FILES[i][1]);
	return status;
}
