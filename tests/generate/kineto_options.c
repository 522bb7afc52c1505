#include "tests/generate/kineto.h"
#include "tests/generate/options.h"
#include <getopt.h>
#include <stddef.h>

static const char *const shapes[] = {
    [KINETO_DATA] = "data", [KINETO_PIPELINE] = "pipeline", [KINETO_EXPERTS] = "experts", NULL};

static void take_option(struct kineto_options *o, int letter, enum fault_dialect dialect)
{
	switch (letter) {
	case 'e': o->events = option_number(optarg, 1, INT64_C(1) << 40); break;
	case 'u': o->units = option_number(optarg, 24, 1000000); break;
	case 'a': o->layers = option_number(optarg, 1, 10000); break;
	case 's': o->steps = option_number(optarg, 1, 30000); break;
	case 'r': o->ranks = option_number(optarg, 1, 4096); break;
	case 'd': o->seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
	case 'f': faults_parse(optarg, dialect, &o->faults); break;
	case 'p': o->shape = (enum kineto_shape)option_word(shapes, optarg); break;
	case 'i': o->noise = option_number(optarg, 0, 50); break;
	case 'c': o->culprit = option_number(optarg, 0, 4095); break;
	case 'x': o->skew = option_number(optarg, 0, 1000000); break;
	case 'h': o->prefetch = option_number(optarg, 1, 1000000); break;
	case 'n': o->name = optarg; break;
	case 't': o->truth = optarg; break;
	case 'g': o->graphs = true; break;
	case 'o': o->old = true; break;
	default: o->gzip = true; break;
	}
}

int kineto_run(int argc, char **argv, enum fault_dialect dialect, const char *own, struct kineto_options *o)
{
	o->noise = o->culprit = 1;
	for (int c = option_next(argc, argv, own); c != -1; c = option_next(argc, argv, own))
		take_option(o, c, dialect);
	/* the rest of a step is the optimizer's */
	if (o->layers > 0 && !o->events && !o->units)
		o->units =
		    kineto_later(24, o->layers * (kineto_forward_count + kineto_backward_count) * 11 / 10);
	else if (o->layers > 0 || (!o->events) == (!o->units))
		option_misuse("one of --events, --units and --layers is needed");
	if (o->faults.given[FAULT_ALL_TO_ALL] || o->faults.given[FAULT_IMBALANCE])
		o->shape = KINETO_EXPERTS;
	if (o->faults.given[FAULT_BUBBLE])
		o->shape = KINETO_PIPELINE;
	if (o->shape == KINETO_PIPELINE && o->ranks % 2 != 0)
		option_misuse("two stages need an even number of ranks");
	if (o->prefetch && (o->old || o->graphs))
		option_misuse("neither the old dialect nor graphs have events");
	o->path = option_path(argc, argv, o->truth);
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

	return kineto_run(argc, argv, IN_KINETO, "eausrdfntozpixgch", &o);
}

const struct dialect KINETO_DIALECT = {
    .name = "kineto",
    .usage = "generate kineto --events N [options] OUT     one trace, or a directory with --ranks above 1\n"
             "  --old (dialect of 2021) --gzip; --units N operators a step instead of --events\n"
             "  --prefetch US (copies of that length on a stream of their own, and event ids of all waits)\n"
             "  --graphs (the forward pass is a graph of which one kernel in ten is recorded)\n",
    .run = run,
};
