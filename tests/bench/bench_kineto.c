/* bench_kineto FILE: reads a plain Kineto trace on one core and prints one line a figure: name, ours,
 * baseline, ratio, unit. Baselines run on the same file in the same call, each in a process of its own. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/read/reader.h"

extern const struct format_reader KINETO_READER;

struct file {
	const char *path, *data;
	size_t len;
};

struct result {
	double seconds;
	double anon_mib; /* peak of anonymous memory */
	double events;
	int ok;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double anon_mib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return (double)kib / 1024;
}

/* The reader asks now and then whether it should stop: a good moment to look at the memory. */
static bool sample(void *self)
{
	double *peak = self, x = anon_mib();
	static unsigned calls;

	if (calls++ % 16 == 0 && x > *peak)
		*peak = x;
	return false;
}

static int give_capture(struct read_context *ctx, const char *key, enum capture_format format,
                        struct capture **out)
{
	struct capture *c = calloc(1, sizeof(*c));

	if (!c)
		return SB_ENOMEM;
	c->source = strdup(key);
	c->format = format;
	ctx->profile->captures = c;
	ctx->profile->count = 1;
	*out = c;
	return SB_OK;
}

static void run_ours(const struct file *f, struct result *r)
{
	struct profile p = {0};
	struct read_hooks hooks = {.self = &r->anon_mib, .canceled = sample};
	struct read_context ctx = {.profile = &p, .hooks = &hooks, .capture = give_capture};
	struct memory_stream m;
	struct sb_error err = {0};
	double x, start = now();

	memory_stream_init(&m, f->path, f->data, f->len, 0);
	r->ok = KINETO_READER.read(&ctx, &m.base, &err) == SB_OK;
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

static void run_memchr(const struct file *f, struct result *r)
{
	const char *p = f->data, *end = f->data + f->len;
	double lines = 0, start = now();

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		lines++;
		p++;
	}
	r->seconds = now() - start;
	r->events = lines;
	r->ok = 1;
}

static void run_jansson(const struct file *f, struct result *r)
{
	double start = now();
	json_error_t err;
	json_t *doc = json_load_file(f->path, 0, &err);

	r->seconds = now() - start;
	r->anon_mib = anon_mib();
	r->ok = doc != NULL;
	json_decref(doc);
}

static void run_python(const struct file *f, struct result *r)
{
	struct rusage usage;
	int status = -1;
	double start = now();
	pid_t pid = fork();

	if (pid == 0) {
		execlp("python3", "python3", "-c", "import json,sys; json.load(open(sys.argv[1], 'rb'))",
		       f->path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return;
	r->seconds = now() - start;
	r->anon_mib = (double)usage.ru_maxrss / 1024;
	r->ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static struct result apart(void (*run)(const struct file *, struct result *), const struct file *f)
{
	struct result none = {0}, *shared;
	int status;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return none;
	*shared = none;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run(f, shared);
		fflush(stderr);
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		none = *shared;
	munmap(shared, sizeof(*shared));
	return none;
}

static void line(const char *name, double ours, double baseline, const char *unit)
{
	printf("%-32s %12.1f %12.1f %10.3f %s\n", name, ours, baseline, baseline > 0 ? ours / baseline : 0,
	       unit);
}

static void best_of(struct result *best, void (*run)(const struct file *, struct result *),
                    const struct file *f, int times)
{
	for (int i = 0; i < times; i++) {
		struct result r = apart(run, f);

		if (i == 0 || r.seconds < best->seconds)
			*best = r;
	}
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc > 1 ? argv[1] : NULL};
	struct result ours = {0}, scan = {0}, jansson, python;
	struct stat st;
	double mb;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_kineto FILE\n");
		return 2;
	}
	fd = open(f.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
		perror(f.path);
		return 1;
	}
	f.len = (size_t)st.st_size;
	f.data = mmap(NULL, f.len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (f.data == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	mb = (double)f.len / 1e6;
	best_of(&scan, run_memchr, &f, 3);
	best_of(&ours, run_ours, &f, 3);
	if (!ours.ok)
		return 1;
	jansson = apart(run_jansson, &f);
	python = apart(run_python, &f);
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
