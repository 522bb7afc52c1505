#include "tests/generate/ascend.h"
#include "tests/generate/kineto.h"
#include "tests/generate/out.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: generate kineto --events N [options] OUT     one trace, or a directory with --ranks above 1\n"
    "       generate ascend [options] DIR                one *_ascend_pt directory a rank\n"
    "options of both\n"
    "  --steps N    steps (3)              --ranks N    ranks (kineto 1, ascend 2)\n"
    "  --seed N     same seed, same bytes  --name TEXT  names the first operator of each step\n"
    "  --fault F    what ails the job      --truth FILE writes the expected values as JSON\n"
    "kineto: --old (dialect of 2021) --gzip; faults: healthy poor_overlap host_bound slow_rank small_packets "
    "loader\n"
    "        sync underutilized\n"
    "ascend: --level 0|1|2 (1) --kernels N a step (160); faults: healthy poor_overlap small_packets "
    "alignment\n"
    "        format_conversion aicpu slow_rank host_bound loader sync underutilized bubble\n";

static const char *const kineto_faults[] = {
    [KINETO_HEALTHY] = "healthy",
    [KINETO_POOR_OVERLAP] = "poor_overlap",
    [KINETO_HOST_BOUND] = "host_bound",
    [KINETO_SLOW_RANK] = "slow_rank",
    [KINETO_SMALL_PACKETS] = "small_packets",
    [KINETO_LOADER] = "loader",
    [KINETO_SYNC] = "sync",
    [KINETO_UNDERUTILIZED] = "underutilized",
    NULL,
};

static const char *const ascend_faults[] = {
    [ASCEND_HEALTHY] = "healthy",
    [ASCEND_POOR_OVERLAP] = "poor_overlap",
    [ASCEND_SMALL_PACKETS] = "small_packets",
    [ASCEND_ALIGNMENT] = "alignment",
    [ASCEND_FORMAT_CONVERSION] = "format_conversion",
    [ASCEND_AICPU] = "aicpu",
    [ASCEND_SLOW_RANK] = "slow_rank",
    [ASCEND_HOST_BOUND] = "host_bound",
    [ASCEND_LOADER] = "loader",
    [ASCEND_SYNC] = "sync",
    [ASCEND_UNDERUTILIZED] = "underutilized",
    [ASCEND_BUBBLE] = "bubble",
    NULL,
};

_Noreturn static void misuse(const char *what)
{
	fprintf(stderr, "generate: %s\n%s", what, usage);
	exit(2);
}

static int64_t number(const char *text, int64_t low, int64_t high)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < low || v > high)
		misuse("a number is out of its range");
	return v;
}

static int fault(const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	misuse("unknown fault");
}

/* The value of an option, or NULL when argv[*at] is not that option. */
static const char *value(int argc, char **argv, int *at, const char *option)
{
	if (strcmp(argv[*at], option) != 0)
		return NULL;
	if (++*at >= argc)
		misuse("an option lacks its value");
	return argv[*at];
}

static int kineto(int argc, char **argv)
{
	struct kineto_options o = {.steps = 3, .ranks = 1, .seed = 1};
	const char *v;

	for (int i = 2; i < argc; i++) {
		if ((v = value(argc, argv, &i, "--events")))
			o.events = number(v, 1, INT64_C(1) << 40);
		else if ((v = value(argc, argv, &i, "--steps")))
			o.steps = number(v, 1, 30000);
		else if ((v = value(argc, argv, &i, "--ranks")))
			o.ranks = number(v, 1, 4096);
		else if ((v = value(argc, argv, &i, "--seed")))
			o.seed = (uint64_t)number(v, 0, INT64_MAX);
		else if ((v = value(argc, argv, &i, "--fault")))
			o.fault = (enum kineto_fault)fault(kineto_faults, v);
		else if ((v = value(argc, argv, &i, "--name")))
			o.name = v;
		else if ((v = value(argc, argv, &i, "--truth")))
			o.truth = v;
		else if (strcmp(argv[i], "--old") == 0)
			o.old = true;
		else if (strcmp(argv[i], "--gzip") == 0)
			o.gzip = true;
		else if (!o.path && argv[i][0] && (argv[i][0] != '-' || !argv[i][1]))
			o.path = argv[i];
		else
			misuse("unknown argument");
	}
	if (!o.path || !o.events)
		misuse("--events and OUT are needed");
	return kineto_main(&o);
}

static int ascend(int argc, char **argv)
{
	struct ascend_options o = {.steps = 3, .ranks = 2, .kernels = 160, .level = 1, .seed = 1};
	const char *v;

	for (int i = 2; i < argc; i++) {
		if ((v = value(argc, argv, &i, "--kernels")))
			o.kernels = number(v, 16, 10000000);
		else if ((v = value(argc, argv, &i, "--steps")))
			o.steps = number(v, 1, 30000);
		else if ((v = value(argc, argv, &i, "--ranks")))
			o.ranks = number(v, 1, 4096);
		else if ((v = value(argc, argv, &i, "--level")))
			o.level = (int)number(v, 0, 2);
		else if ((v = value(argc, argv, &i, "--seed")))
			o.seed = (uint64_t)number(v, 0, INT64_MAX);
		else if ((v = value(argc, argv, &i, "--fault")))
			o.fault = (enum ascend_fault)fault(ascend_faults, v);
		else if ((v = value(argc, argv, &i, "--name")))
			o.name = v;
		else if ((v = value(argc, argv, &i, "--truth")))
			o.truth = v;
		else if (!o.path && argv[i][0] && argv[i][0] != '-')
			o.path = argv[i];
		else
			misuse("unknown argument");
	}
	if (!o.path)
		misuse("DIR is needed");
	return ascend_main(&o);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "kineto") == 0)
		return kineto(argc, argv);
	if (argc > 1 && strcmp(argv[1], "ascend") == 0)
		return ascend(argc, argv);
	misuse("a subcommand is needed");
}
