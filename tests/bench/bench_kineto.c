/* bench_kineto FILE [--ours]: reads a plain Kineto trace on one core and prints one line a figure: name,
 * ours, baseline, ratio, unit. Baselines run on the same file in the same call, each in a process of its own.
 */
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
#include "tests/one_capture.h"

struct file {
	const char *path;
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

	/* the machine may have other work: only what this process burns counts */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double anon_mib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "RssAnon:", 8) == 0) {
			kib = strtol(line + 8, NULL, 10);
			break;
		}
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

/* A file read block by block, as the service does. */
#define BLOCK (256 * 1024)
struct file_stream {
	struct stream base;
	int fd;
	char block[BLOCK];
};

static int next_block(struct stream *base, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct file_stream *s = (struct file_stream *)base;
	ssize_t n = read(s->fd, s->block, sizeof(s->block));

	if (n < 0)
		return sb_fail(err, SB_EIO, "io", "The file cannot be read.");
	*out_data = s->block;
	*out_len = (size_t)n;
	return SB_OK;
}

static void file_stream_init(struct file_stream *s, const struct file *f)
{
	s->base = (struct stream){.next = next_block, .path = f->path};
	s->fd = open(f->path, O_RDONLY | O_CLOEXEC);
}

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

static void run_memchr(const struct file *f, struct result *r)
{
	struct file_stream s;
	const char *p = NULL;
	size_t len = 0;
	double lines = 0, start = now();

	file_stream_init(&s, f);
	while (s.base.next(&s.base, &p, &len, NULL) == SB_OK && len > 0) {
		const char *end = p + len;

		while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
			lines++;
			p++;
		}
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
	pid_t pid = fork();

	if (pid == 0) {
		execlp("python3", "python3", "-c", "import json,sys; json.load(open(sys.argv[1], 'rb'))",
		       f->path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return;
	r->seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
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
	struct result ours = {0}, scan = {0}, jansson = {0}, python = {0};
	struct stat st;
	bool ours_only = argc == 3 && strcmp(argv[2], "--ours") == 0;
	double mb;

	if (argc != 2 && !ours_only) {
		fprintf(stderr, "usage: bench_kineto FILE [--ours]\n");
		return 2;
	}
	if (stat(f.path, &st) != 0 || st.st_size == 0) {
		perror(f.path);
		return 1;
	}
	mb = (double)st.st_size / 1e6;
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
