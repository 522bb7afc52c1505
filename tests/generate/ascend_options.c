#include "tests/generate/ascend.h"
#include "tests/generate/options.h"
#include <getopt.h>
#include <stddef.h>

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

static const char *const ascend_layouts[] = {[ASCEND_PLAIN] = "plain",
                                             [ASCEND_OLD] = "old",
                                             [ASCEND_NEW] = "new",
                                             [ASCEND_INSIGHT] = "insight",
                                             [ASCEND_MINDSPORE] = "mindspore",
                                             NULL};

static int run(int argc, char **argv)
{
	struct ascend_options o = {.steps = 3, .ranks = 2, .kernels = 160, .level = 1, .seed = 1};

	for (int c = option_next(argc, argv, "ksrdlfntby"); c != -1;
	     c = option_next(argc, argv, "ksrdlfntby"))
		switch (c) {
		case 'k': o.kernels = option_number(optarg, 16, 10000000); break;
		case 's': o.steps = option_number(optarg, 1, 30000); break;
		case 'r': o.ranks = option_number(optarg, 1, 4096); break;
		case 'd': o.seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
		case 'l': o.level = (int)option_number(optarg, 0, 2); break;
		case 'f': o.fault = (enum ascend_fault)option_word(ascend_faults, optarg); break;
		case 'b': o.db = true; break;
		case 'y': o.layout = (enum ascend_layout)option_word(ascend_layouts, optarg); break;
		case 'n': o.name = optarg; break;
		default: o.truth = optarg; break;
		}
	if (o.db && o.layout == ASCEND_MINDSPORE)
		option_misuse("--layout mindspore is text");
	if (optind + 1 != argc)
		option_misuse("one DIR is needed");
	o.path = argv[optind];
	return ascend_main(&o);
}

const struct dialect ASCEND_DIALECT = {
    .name = "ascend",
    .usage =
        "generate ascend [options] DIR                one *_ascend_pt directory a rank\n"
        "  --level 0|1|2 (1) --kernels N a step (160); faults: healthy poor_overlap small_packets alignment\n"
        "  format_conversion aicpu slow_rank host_bound loader sync underutilized bubble\n"
        "  --db writes databases instead of text; --layout plain|old|new|insight (plain) names their "
        "columns\n"
        "  --layout mindspore writes *_ascend_ms directories, as text\n",
    .run = run,
};
