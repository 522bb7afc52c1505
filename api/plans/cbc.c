#include "api/plans/cbc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

#define NODES_MAX "20000"
/* What the process may take beyond its own limit before it is killed. */
#define SECONDS_TO_KILL 5
#define ASK_MS 100 /* between two questions whether to stop */
#define ANSWER_MAX (8 << 20)
#define LOG_MAX (1 << 20)

/* A folder with two files. */
struct folder {
	char path[256], model[280], solution[280];
};

static void folder_remove(struct folder *f)
{
	if (!f->path[0])
		return;
	(void)unlink(f->model);
	(void)unlink(f->solution);
	(void)rmdir(f->path);
}

static int fail(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EIO, "solver_failed", "the ILP solver: %s", what);
}

static int folder_make(struct folder *f, const char *text, size_t length, struct sb_error *err)
{
	const char *top = getenv("TMPDIR");
	FILE *file;
	bool ok;

	top = top && *top && strlen(top) < 200 ? top : "/tmp";
	(void)snprintf(f->path, sizeof(f->path), "%s/signalbox-ilp-XXXXXX", top);
	if (!mkdtemp(f->path)) {
		f->path[0] = '\0';
		return fail(err, "no temporary folder can be made");
	}
	(void)snprintf(f->model, sizeof(f->model), "%s/model.lp", f->path);
	(void)snprintf(f->solution, sizeof(f->solution), "%s/solution", f->path);
	file = fopen(f->model, "we");
	ok = file && fwrite(text, 1, length, file) == length;
	ok = file && fclose(file) == 0 && ok;
	return ok ? SB_OK : fail(err, "its input cannot be written");
}

/* No files of the service, no signals held back, no input; what it prints comes through the pipe. */
static int start(const struct folder *f, double limit, int out, pid_t *pid)
{
	char *model = strdup(f->model), *solution = strdup(f->solution), seconds[32];
	char *argv[] = {(char[]){"cbc"},
	                model,
	                (char[]){"timeMode"},
	                (char[]){"elapsed"},
	                (char[]){"sec"},
	                seconds,
	                (char[]){"maxNodes"},
	                (char[]){NODES_MAX},
	                (char[]){"ratioGap"},
	                (char[]){"0"},
	                (char[]){"allowableGap"},
	                (char[]){"0"},
	                (char[]){"solve"},
	                (char[]){"solution"},
	                solution,
	                NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int rc = model && solution ? 0 : ENOMEM;

	(void)snprintf(seconds, sizeof(seconds), "%.3f", limit);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 2);
	(void)posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	free(model);
	free(solution);
	return rc;
}

static double seconds_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What it prints until it ends; beyond the bound it is read and forgotten. False: it took too long, or was
 * stopped. */
static bool listen_to(int in, double limit, const struct sb_watch *watch, struct sb_buf *log)
{
	double end = seconds_now() + limit;

	for (;;) {
		struct pollfd p = {.fd = in, .events = POLLIN};
		double left = end - seconds_now();
		char some[4096];
		ssize_t n;

		if (left <= 0 || sb_stopped(watch))
			return false;
		if (poll(&p, 1, left * 1000 < ASK_MS ? (int)(left * 1000) + 1 : ASK_MS) <= 0)
			continue;
		n = read(in, some, sizeof(some));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		(void)sb_buf_add(log, some, (size_t)n);
	}
}

static int run(const struct folder *f, double limit, const struct sb_watch *watch, struct sb_buf *log,
               struct sb_error *err)
{
	int ends[2], status = 0, rc;
	bool ended;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail(err, "no pipe can be made");
	rc = start(f, limit, ends[1], &pid);
	(void)close(ends[1]);
	if (rc != 0) {
		(void)close(ends[0]);
		return rc == ENOENT ? sb_fail(err, SB_ECONFLICT, "solver_missing",
		                              "the ILP solver `cbc` (Debian: coinor-cbc) is not installed")
		                    : fail(err, "it cannot be started");
	}
	ended = listen_to(ends[0], limit + SECONDS_TO_KILL, watch, log);
	(void)close(ends[0]);
	if (!ended)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ended && sb_stopped(watch))
		return sb_fail(err, SB_ECANCELED, "canceled", "the ILP solver was stopped");
	if (!ended)
		return fail(err, "it did not end in time");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SB_OK : fail(err, "it ended with an error");
}

/* How it ended stands before the dash. "Stopped" has a solution unless it says so. */
static int read_status(const char *line, struct lp_result *out, struct sb_error *err)
{
	const char *value = strstr(line, "objective value");

	if (strncmp(line, "Optimal", 7) == 0)
		out->status = LP_OPTIMAL;
	else if (strncmp(line, "Infeasible", 10) == 0 || strncmp(line, "Integer infeasible", 18) == 0)
		out->status = LP_INFEASIBLE;
	else if (strncmp(line, "Stopped", 7) == 0)
		out->status = strstr(line, "no integer solution") ? LP_NOTHING : LP_STOPPED;
	else
		return fail(err, "its answer cannot be read");
	out->objective = value ? strtod(value + strlen("objective value"), NULL) : NAN;
	out->bound = out->status == LP_OPTIMAL ? out->objective : NAN;
	return SB_OK;
}

int cbc_read_solution(const char *text, size_t columns, struct lp_result *out, struct sb_error *err)
{
	int rc = read_status(text, out, err);

	/* "  12 x12   3   0", marked "**" where it passes a bound */
	for (const char *line = strchr(text, '\n'); rc == SB_OK && line; line = strchr(line + 1, '\n')) {
		const char *name = strchr(line + 1, 'x'), *end = strchr(line + 1, '\n');
		char *after;
		unsigned long column;

		if (!name || (end && name > end))
			continue;
		column = strtoul(name + 1, &after, 10);
		if (after == name + 1 || column >= columns)
			return fail(err, "its answer cannot be read");
		out->values[column] = strtod(after, NULL);
	}
	return rc;
}

static int read_answer(const struct folder *f, const struct sb_buf *log, size_t columns,
                       struct lp_result *out, struct sb_error *err)
{
	FILE *file = fopen(f->solution, "re");
	SB_BUF_AUTO text = {0};
	const char *bound = log->data ? strstr(log->data, "Lower bound:") : NULL;
	char some[4096];
	int rc;

	sb_buf_init(&text, ANSWER_MAX);
	if (!file)
		return fail(err, "it gave no answer");
	for (size_t n; (n = fread(some, 1, sizeof(some), file)) > 0;)
		(void)sb_buf_add(&text, some, n);
	(void)fclose(file);
	if (text.status != SB_OK || !text.data)
		return fail(err, "its answer cannot be read");
	rc = cbc_read_solution(text.data, columns, out, err);
	if (rc == SB_OK && out->status == LP_STOPPED && bound)
		out->bound = strtod(bound + strlen("Lower bound:"), NULL);
	return rc;
}

static int solve(void *self, const char *text, size_t length, size_t columns, double seconds,
                 struct lp_result *out, struct sb_error *err)
{
	__attribute__((cleanup(folder_remove))) struct folder f = {.path = ""};
	SB_BUF_AUTO log = {0};
	const struct cbc *cbc = self;
	int rc;

	sb_buf_init(&log, LOG_MAX);
	rc = folder_make(&f, text, length, err);
	if (rc == SB_OK)
		rc = run(&f, seconds, cbc ? cbc->watch : NULL, &log, err);
	return rc == SB_OK ? read_answer(&f, &log, columns, out, err) : rc;
}

bool cbc_is_installed(void)
{
	struct lp_result out = {.values = (double[1]){0}};
	static const char smallest[] = "Minimize\n obj: x0\nSubject To\n r0: x0 >= 1\nEnd\n";

	return solve(NULL, smallest, strlen(smallest), 1, 5, &out, NULL) == SB_OK && out.status == LP_OPTIMAL;
}

const struct lp_solver cbc_solver = {NULL, solve};
