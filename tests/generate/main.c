#include "tests/generate/ascend.h"
#include "tests/generate/kineto.h"
#include "tests/generate/out.h"
#include <errno.h>
#include <getopt.h>
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
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
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

static const struct option OPTIONS[] = {
    {"events", required_argument, NULL, 'e'}, {"kernels", required_argument, NULL, 'k'},
    {"steps", required_argument, NULL, 's'},  {"ranks", required_argument, NULL, 'r'},
    {"seed", required_argument, NULL, 'd'},   {"level", required_argument, NULL, 'l'},
    {"fault", required_argument, NULL, 'f'},  {"name", required_argument, NULL, 'n'},
    {"truth", required_argument, NULL, 't'},  {"old", no_argument, NULL, 'o'},
    {"gzip", no_argument, NULL, 'z'},         {NULL, 0, NULL, 0},
};

/* The next option's letter, or -1; of the letters in own only. */
static int next(int argc, char **argv, const char *own)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	int c = getopt_long(argc, argv, "", OPTIONS, NULL);

	if (c == '?' || (c != -1 && !strchr(own, c)))
		misuse("an option is unknown here, or lacks its value");
	return c;
}

static int kineto(int argc, char **argv)
{
	struct kineto_options o = {.steps = 3, .ranks = 1, .seed = 1};

	for (int c = next(argc, argv, "esrdfntoz"); c != -1; c = next(argc, argv, "esrdfntoz"))
		switch (c) {
		case 'e': o.events = number(optarg, 1, INT64_C(1) << 40); break;
		case 's': o.steps = number(optarg, 1, 30000); break;
		case 'r': o.ranks = number(optarg, 1, 4096); break;
		case 'd': o.seed = (uint64_t)number(optarg, 0, INT64_MAX); break;
		case 'f': o.fault = (enum kineto_fault)fault(kineto_faults, optarg); break;
		case 'n': o.name = optarg; break;
		case 't': o.truth = optarg; break;
		case 'o': o.old = true; break;
		default: o.gzip = true; break;
		}
	if (optind + 1 != argc || !o.events)
		misuse("--events and one OUT are needed");
	o.path = argv[optind];
	return kineto_main(&o);
}

static int ascend(int argc, char **argv)
{
	struct ascend_options o = {.steps = 3, .ranks = 2, .kernels = 160, .level = 1, .seed = 1};

	for (int c = next(argc, argv, "ksrdlfnt"); c != -1; c = next(argc, argv, "ksrdlfnt"))
		switch (c) {
		case 'k': o.kernels = number(optarg, 16, 10000000); break;
		case 's': o.steps = number(optarg, 1, 30000); break;
		case 'r': o.ranks = number(optarg, 1, 4096); break;
		case 'd': o.seed = (uint64_t)number(optarg, 0, INT64_MAX); break;
		case 'l': o.level = (int)number(optarg, 0, 2); break;
		case 'f': o.fault = (enum ascend_fault)fault(ascend_faults, optarg); break;
		case 'n': o.name = optarg; break;
		default: o.truth = optarg; break;
		}
	if (optind + 1 != argc)
		misuse("one DIR is needed");
	o.path = argv[optind];
	return ascend_main(&o);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "kineto") == 0)
		return kineto(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "ascend") == 0)
		return ascend(argc - 1, argv + 1);
	misuse("a subcommand is needed");
}
