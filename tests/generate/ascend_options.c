#include "tests/generate/ascend.h"
#include "tests/generate/options.h"
#include <getopt.h>
#include <stddef.h>

static const char *const ascend_layouts[] = {[ASCEND_PLAIN] = "plain",
                                             [ASCEND_OLD] = "old",
                                             [ASCEND_NEW] = "new",
                                             [ASCEND_INSIGHT] = "insight",
                                             [ASCEND_MINDSPORE] = "mindspore",
                                             NULL};
const char *const ascend_shape_names[] = {
    [ASCEND_DATA] = "data", [ASCEND_PIPELINE] = "pipeline", [ASCEND_EXPERTS] = "experts", NULL};

void ascend_default(struct ascend_options *o)
{
	if (o->faults.given[FAULT_BUBBLE])
		o->shape = ASCEND_PIPELINE;
	if (o->faults.given[FAULT_IMBALANCE] || o->faults.given[FAULT_ALL_TO_ALL])
		o->shape = ASCEND_EXPERTS;
}

static void take_option(struct ascend_options *o, int letter, const char **faults)
{
	switch (letter) {
	case 'k': o->kernels = option_number(optarg, 16, 10000000); break;
	case 's': o->steps = option_number(optarg, 1, 30000); break;
	case 'r': o->ranks = option_number(optarg, 1, 4096); break;
	case 'd': o->seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
	case 'l': o->level = (int)option_number(optarg, 0, 2); break;
	case 'f': *faults = optarg; break;
	case 'b': o->db = true; break;
	case 'y': o->layout = (enum ascend_layout)option_word(ascend_layouts, optarg); break;
	case 'p': o->shape = (enum ascend_shape)option_word(ascend_shape_names, optarg); break;
	case 'i': o->noise = option_number(optarg, 0, 50); break;
	case 'c': o->culprit = option_number(optarg, 0, 4095); break;
	case 'q': o->reduces = option_number(optarg, 0, 1000); break;
	case 'v': o->packet_ns = option_number(optarg, 0, 1000000000); break;
	case 'x': o->skew = option_number(optarg, 0, 1000000); break;
	case 'n': o->name = optarg; break;
	case 'a': o->scatter = true; break;
	case 'j': o->padding = option_number(optarg, 0, 10000); break;
	default: o->truth = optarg; break;
	}
}

static int run(int argc, char **argv)
{
	static const char own[] = "ksrdlfntbypixcqvaj";
	struct ascend_options o = ASCEND_OPTIONS;
	const char *faults = "healthy";

	o.ranks = 2;
	for (int c = option_next(argc, argv, own); c != -1; c = option_next(argc, argv, own))
		take_option(&o, c, &faults);
	if (o.db && o.layout == ASCEND_MINDSPORE)
		option_misuse("--layout mindspore is text");
	faults_parse(faults,
	             o.db                           ? IN_DATABASE
	             : o.layout == ASCEND_MINDSPORE ? IN_MINDSPORE
	                                            : IN_ASCEND,
	             &o.faults);
	ascend_default(&o);
	o.path = option_path(argc, argv, o.truth);
	return ascend_main(&o);
}

const struct dialect ASCEND_DIALECT = {
    .name = "ascend",
    .usage = "generate ascend [options] DIR                one *_ascend_pt directory a rank\n"
             "  --level 0|1|2 (1) --kernels N a step (160) --reduces N a step (3) --packet-ns N a packet "
             "(113690)\n"
             "  --db writes databases instead of text; --layout plain|old|new|insight (plain) names their "
             "columns\n"
             "  --padding N: experts have a capacity, N percent above what the router sends\n"
             "  --scatter: every rank collects garbage, each elsewhere in its step\n"
             "  --layout mindspore writes *_ascend_ms directories, as text\n",
    .run = run,
};
