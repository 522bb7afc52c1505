/* bench_ranks DIR: an upload of many ranks, from the bytes to the findings, on the clock of the wall: with
 * the threads of this machine and with one. DIR/ranks is a directory of 1,000 Ascend ranks, DIR/ranks.tar.gz
 * the same as an archive; the goal for both is 60 s. */
#include "server/paths.h"
#include "tests/bench/bench.h"
#include "tests/bench/threaded.h"

#define GOAL_SECONDS 60

static double peak_mib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char text[128];
	double kib = 0;

	while (f && fgets(text, sizeof(text), f)) {
		if (strncmp(text, "VmHWM:", 6) == 0)
			kib = (double)strtol(text + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	return kib / 1024;
}

static int compute(const struct path_list *files, int threads, struct profile_results *out)
{
	struct read_input *inputs = calloc(files->count + 1, sizeof(*inputs));
	int rc = inputs ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < files->count; i++)
		inputs[i] = (struct read_input){.path = files->files[i].label,
		                                .fd = -1,
		                                .disk_path = files->files[i].disk_path,
		                                .length = files->files[i].bytes};
	if (rc == SB_OK)
		rc = compute_with(threads, inputs, files->count, out);
	free(inputs);
	return rc;
}

static void run(const struct file *f, struct result *r, int threads)
{
	PATHS_AUTO files = {0};
	RESULTS_AUTO results = {0};
	struct sb_error err = {0};
	double start;
	char *const list[] = {strdup(f->path)};

	if (!list[0] || paths_collect(list, 1, &files, &err) != SB_OK)
		return;
	start = wall();
	r->ok = compute(&files, threads, &results) == SB_OK;
	r->seconds = wall() - start;
	r->events = (double)results.profile.count;
	r->anon_mib = peak_mib();
	free(list[0]);
}

static void run_alone(const struct file *f, struct result *r)
{
	run(f, r, 0);
}

static void run_helped(const struct file *f, struct result *r)
{
	run(f, r, 1);
}

static bool measure(const char *dir, const char *name, const char *what)
{
	char path[4096], title[64];
	struct file f = {.path = path};
	struct result alone = {0}, helped = {0};

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	best_of(&alone, run_alone, &f, 2);
	best_of(&helped, run_helped, &f, 2);
	if (!alone.ok || !helped.ok || alone.events < 1000 || helped.events < 1000)
		return false;
	(void)snprintf(title, sizeof(title), "ranks_1000_%s_vs_goal", what);
	line(title, helped.seconds, GOAL_SECONDS, "s");
	(void)snprintf(title, sizeof(title), "ranks_1000_%s_2_threads_vs_1", what);
	line(title, helped.seconds, alone.seconds, "s");
	(void)snprintf(title, sizeof(title), "ranks_1000_%s_memory", what);
	line(title, helped.anon_mib, 0, "MiB");
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_ranks DIR\n");
		return 2;
	}
	return measure(argv[1], "ranks", "directory") && measure(argv[1], "ranks.tar.gz", "archive") ? 0 : 1;
}
