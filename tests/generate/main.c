#include "tests/generate/faults.h"
#include "tests/generate/options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dialect *const DIALECTS[] = {
    &KINETO_DIALECT,      &ASCEND_DIALECT, &SIGNALBOX_DIALECT, &NSYS_DIALECT,
    &MINDINSIGHT_DIALECT, &MSPROF_DIALECT, &CLUSTER_DIALECT,   NULL};

static const char common[] =
    "options of all dialects, where they make sense\n"
    "  --steps N    steps (3)              --ranks N    ranks\n"
    "  --seed N     same seed, same bytes  --name TEXT  names the first operator of each step\n"
    "  --truth FILE writes the expected values as JSON; without a path nothing else is written\n"
    "  --noise N    percent by which kernels vary (1)   --skew N  ms by which the clocks of ranks differ "
    "(0)\n"
    "  --culprit N  the rank that one of all has the fault of (1)\n"
    "  --shape data|pipeline|experts (data)\n"
    "  --layers N   layers of the model, instead of a number of events; the truth has their times\n"
    "generate faults lists codes and dialects for programs\n"
    "  --fault CODE[=SIZE][,CODE[=SIZE]...]  what ails the job; size 0: the same job without it\n";

_Noreturn void option_misuse(const char *what)
{
	fprintf(stderr, "generate: %s\nusage:\n", what);
	for (size_t i = 0; DIALECTS[i]; i++)
		fprintf(stderr, "%s", DIALECTS[i]->usage);
	fprintf(stderr, "%s", common);
	faults_usage();
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	exit(2);
}

int64_t option_number(const char *text, int64_t low, int64_t high)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < low || v > high)
		option_misuse("a number is out of its range");
	return v;
}

int option_word(const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	option_misuse("unknown word for an option");
}

const char *option_path(int argc, char **argv, const char *truth)
{
	if (optind == argc && truth)
		return NULL;
	if (optind + 1 != argc)
		option_misuse("one path to write to is needed, or a truth");
	return argv[optind];
}

static const struct option OPTIONS[] = {
    {"events", required_argument, NULL, 'e'},   {"kernels", required_argument, NULL, 'k'},
    {"steps", required_argument, NULL, 's'},    {"ranks", required_argument, NULL, 'r'},
    {"seed", required_argument, NULL, 'd'},     {"level", required_argument, NULL, 'l'},
    {"fault", required_argument, NULL, 'f'},    {"name", required_argument, NULL, 'n'},
    {"truth", required_argument, NULL, 't'},    {"old", no_argument, NULL, 'o'},
    {"gzip", no_argument, NULL, 'z'},           {"db", no_argument, NULL, 'b'},
    {"layout", required_argument, NULL, 'y'},   {"workers", required_argument, NULL, 'w'},
    {"missing", required_argument, NULL, 'm'},  {"shape", required_argument, NULL, 'p'},
    {"noise", required_argument, NULL, 'i'},    {"skew", required_argument, NULL, 'x'},
    {"units", required_argument, NULL, 'u'},    {"layers", required_argument, NULL, 'a'},
    {"graphs", no_argument, NULL, 'g'},         {"culprit", required_argument, NULL, 'c'},
    {"reduces", required_argument, NULL, 'q'},  {"packet-ns", required_argument, NULL, 'v'},
    {"scatter", no_argument, NULL, 'a'},        {"padding", required_argument, NULL, 'j'},
    {"prefetch", required_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
};

int option_next(int argc, char **argv, const char *own)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	int c = getopt_long(argc, argv, "", OPTIONS, NULL);

	if (c == '?' || (c != -1 && !strchr(own, c)))
		option_misuse("an option is unknown here, or lacks its value");
	return c;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && DIALECTS[i]; i++)
		if (strcmp(argv[1], DIALECTS[i]->name) == 0)
			return DIALECTS[i]->run(argc - 1, argv + 1);
	if (argc == 2 && strcmp(argv[1], "faults") == 0) {
		faults_list();
		return 0;
	}
	option_misuse("a dialect is needed");
}
