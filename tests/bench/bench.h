#ifndef SB_TESTS_BENCH_BENCH_H
#define SB_TESTS_BENCH_BENCH_H
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/read.h"
#include "profiler/read/stream.h"

/* What the benchmarks of the reader share: each run in a process of its own, CPU seconds, peak of RssAnon. */

struct file {
	const char *path;
};

struct result {
	double seconds;
	double anon_mib; /* peak of anonymous memory */
	double events;
	int ok;
};

static inline double now(void)
{
	struct timespec t;

	/* the machine may have other work: only what this process burns counts */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* With threads it is the clock of the wall that counts. */
static inline double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double anon_mib(void)
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
static inline bool sample(void *self)
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

static inline int next_block(struct stream *base, const char **out_data, size_t *out_len,
                             struct sb_error *err)
{
	struct file_stream *s = (struct file_stream *)base;
	ssize_t n = read(s->fd, s->block, sizeof(s->block));

	if (n < 0)
		return sb_fail(err, SB_EIO, "io", "The file cannot be read.");
	*out_data = s->block;
	*out_len = (size_t)n;
	return SB_OK;
}

static inline void file_stream_init(struct file_stream *s, const struct file *f)
{
	s->base = (struct stream){.next = next_block, .path = f->path};
	s->fd = open(f->path, O_RDONLY | O_CLOEXEC);
}

static inline void run_memchr(const struct file *f, struct result *r)
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

/* A program with the file as its last argument, its output thrown away: its CPU time and largest memory. */
static inline void run_program(const char *const *argv, struct result *r)
{
	struct rusage usage;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (freopen("/dev/null", "w", stdout))
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): execvp() takes no const, and changes
			 * nothing */
			execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return;
	r->seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	r->anon_mib = (double)usage.ru_maxrss / 1024;
	r->ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The whole reader, as the service calls it. *out is to be freed by the caller. */
static inline int read_file(const struct file *f, struct result *r, struct profile *out)
{
	struct read_hooks hooks = {.self = &r->anon_mib, .canceled = sample};
	struct sb_error err = {0};
	struct stat st = {0};
	struct read_input in = {.path = f->path, .fd = open(f->path, O_RDONLY | O_CLOEXEC)};
	int rc;

	if (in.fd < 0 || fstat(in.fd, &st) != 0)
		return SB_EIO;
	in.length = st.st_size;
	rc = profile_read(&in, 1, &READ_LIMITS_DEFAULT, &hooks, out, &err);
	close(in.fd);
	if (rc != SB_OK)
		fprintf(stderr, "%s: %s\n", err.word, err.text);
	for (size_t i = 0; i < out->warnings.count; i++)
		fprintf(stderr, "warning %s: %s\n", out->warnings.items[i].code,
		        out->warnings.items[i].detail);
	return rc;
}

static inline struct result apart(void (*run)(const struct file *, struct result *), const struct file *f)
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

static inline void line(const char *name, double ours, double baseline, const char *unit)
{
	printf("%-32s %12.1f %12.1f %10.3f %s\n", name, ours, baseline, baseline > 0 ? ours / baseline : 0,
	       unit);
}

static inline void best_of(struct result *best, void (*run)(const struct file *, struct result *),
                           const struct file *f, int times)
{
	for (int i = 0; i < times; i++) {
		struct result r = apart(run, f);

		if (i == 0 || r.seconds < best->seconds)
			*best = r;
	}
}

/* Size in MB (10^6 bytes), 0 when the file is not there. */
static inline double megabytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (double)st.st_size / 1e6 : 0;
}
#endif
