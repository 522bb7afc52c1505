#include "tests/generate/kineto.h"
#include "tests/generate/options.h"
#include <getopt.h>
#include <stddef.h>

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

static void take_option(struct kineto_options *o, int letter)
{
	switch (letter) {
	case 'e': o->events = option_number(optarg, 1, INT64_C(1) << 40); break;
	case 's': o->steps = option_number(optarg, 1, 30000); break;
	case 'r': o->ranks = option_number(optarg, 1, 4096); break;
	case 'd': o->seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
	case 'f': o->fault = (enum kineto_fault)option_word(kineto_faults, optarg); break;
	case 'n': o->name = optarg; break;
	case 't': o->truth = optarg; break;
	case 'o': o->old = true; break;
	default: o->gzip = true; break;
	}
}

int kineto_run(int argc, char **argv, const char *own, struct kineto_options *o)
{
	for (int c = option_next(argc, argv, own); c != -1; c = option_next(argc, argv, own))
		take_option(o, c);
	if (optind + 1 != argc || !o->events)
		option_misuse("--events and one OUT are needed");
	o->path = argv[optind];
	return kineto_main(o);
}

static int run(int argc, char **argv)
{
	struct kineto_options o = {.steps = 3,
	                           .ranks = 1,
	                           .seed = 1,
	                           .format = "kineto",
	                           .suffix = "pt.trace.json",
	                           .write = kineto_write};

	return kineto_run(argc, argv, "esrdfntoz", &o);
}

const struct dialect KINETO_DIALECT = {
    .name = "kineto",
    .usage =
        "generate kineto --events N [options] OUT     one trace, or a directory with --ranks above 1\n"
        "  --old (dialect of 2021) --gzip; faults: healthy poor_overlap host_bound slow_rank small_packets\n"
        "  loader sync underutilized\n",
    .run = run,
};
