#include "tests/generate/faults.h"
#include "tests/generate/options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU (IN_KINETO | IN_NSYS | IN_SIGNALBOX)
#define FILES (IN_ASCEND | IN_DATABASE | IN_MINDSPORE)
#define NPU (FILES | IN_MSPROF)

/* The last column is the table of codes and dialects: what a dialect holds no data for is left out. */
static const struct fault_kind {
	const char *code;
	double usual, most;
	const char *unit;
	unsigned dialects;
} KINDS[FAULTS] = {
    [FAULT_POOR_OVERLAP] = {"parallel.poor_overlap", 1, 1,
                            "share of the all-reduces that start when computing is over",
                            GPU | NPU | IN_CLUSTER},
    [FAULT_BUBBLE] = {"parallel.pipeline_bubble", 8, 1e6,
                      "ms a step that each of two pipeline stages waits for the other",
                      GPU | NPU | IN_CLUSTER},
    [FAULT_READING] = {"io.reading", 30, 1e6, "ms a step of waiting for data, all queues empty",
                       IN_MINDSPORE | IN_MINDINSIGHT},
    [FAULT_PROCESSING] = {"io.processing", 30, 1e6,
                          "ms a step of waiting for data, what was read piles up unprocessed",
                          IN_MINDSPORE | IN_MINDINSIGHT},
    [FAULT_FETCHING] = {"io.fetching", 10, 1e6, "ms a step of copies from host to device",
                        GPU | FILES | IN_MSPROF | IN_MINDINSIGHT},
    [FAULT_LOADING] = {"io.loading", 30, 1e6, "ms a step of waiting in the data loader",
                       GPU | IN_ASCEND | IN_DATABASE},
    [FAULT_HOST_BOUND] = {"cpu.host_bound", 200, 1e6, "us more between two operators of the host",
                          GPU | NPU | IN_CLUSTER},
    [FAULT_COMPILATION] = {"cpu.compilation", 40, 1e6, "compilations of 1 ms a step", GPU | NPU},
    [FAULT_DISPATCH] = {"cpu.dispatch", 9, 1000,
                        "operators more that each of 20 fused ones a step is split into", GPU | NPU},
    [FAULT_SYNCHRONIZATION] = {"cpu.synchronization", 20, 1e6,
                               "synchronizing calls a step, with 0.2 ms of Python after each", GPU | NPU},
    [FAULT_GARBAGE_COLLECTION] = {"cpu.garbage_collection", 12, 1e6,
                                  "ms a step that the collector stops one rank", GPU | NPU},
    [FAULT_CONTENTION] = {"cpu.contention", 9, 1e3, "times longer for all that the host of one rank does",
                          GPU | FILES},
    [FAULT_ENVIRONMENT] = {"cpu.environment", 1, 1e6,
                           "us more a call, for a log of level 0 that the environment asks for",
                           IN_ASCEND | IN_DATABASE},
    [FAULT_FREQUENCY] = {"compute.frequency", 0.25, 0.9, "share by which the clock of one rank is lower",
                         GPU | NPU},
    [FAULT_MEMORY_BOUND] = {"compute.memory_bound", 3, 1e3,
                            "times longer for vector kernels, at the limit of the memory", FILES},
    [FAULT_UNDERUTILIZED] = {"compute.underutilized", 2, 1e3,
                             "times longer for all kernels, at lower pipe ratios or too few blocks",
                             IN_KINETO | FILES},
    [FAULT_AICPU] = {"compute.aicpu", 10, 1e6, "operators of 0.3 to 0.9 ms a step on the AI CPU", NPU},
    [FAULT_AFFINITY] = {"compute.affinity", 0.4, 1e3,
                        "times longer for matrix products, whose inner axis is 4100", FILES},
    [FAULT_FORMAT_CONVERSION] = {"compute.format_conversion", 100, 1e6, "TransData operators a step", NPU},
    [FAULT_SLOW_RANK] = {"communication.slow_rank", 3, 1e3,
                         "times longer for attention on one rank, which the others wait for",
                         GPU | FILES | IN_MSPROF | IN_CLUSTER},
    [FAULT_SLOW_LINK] = {"communication.slow_link", 1.5, 1e3,
                         "times longer for what one rank sends: 1.5 is a link at 40 %",
                         /* a ring is slow for all of its ranks alike: that needs sizes, and nsys has none */
                         IN_KINETO | IN_SIGNALBOX | FILES | IN_CLUSTER},
    [FAULT_LINK_CONTENTION] = {"communication.contention", 1.5, 1e3,
                               "times longer for transfers beside matrix products", FILES},
    [FAULT_RETRANSMISSION] = {"communication.retransmission", 5000, 1e6,
                              "ms more for one all-reduce between nodes, in the second step",
                              FILES | IN_CLUSTER},
    [FAULT_SMALL_PACKETS] = {"communication.small_packets", 1048576, 1e9,
                             "bytes of a packet; on GPUs of a collective; large ones have 40 MiB and more",
                             IN_KINETO | IN_SIGNALBOX | FILES | IN_CLUSTER},
    [FAULT_ALIGNMENT] = {"communication.alignment", 3, 1e3,
                         "times longer for half of the packets, which lack 300 bytes to a multiple of 512",
                         FILES | IN_CLUSTER},
    [FAULT_CONFIGURATION] = {"communication.configuration", 0.5, 1e3,
                             "times longer for all transfers, with HCCL_ALGO set", IN_ASCEND | IN_DATABASE},
    [FAULT_ALLOCATION] = {"memory.allocation", 6, 1e6, "ms a step in calls that free and take device memory",
                          GPU | NPU},
    [FAULT_IMBALANCE] = {"moe.imbalance", 2, 63, "share of tokens that one rank has above the mean",
                         IN_KINETO | FILES | IN_MSPROF},
    [FAULT_ALL_TO_ALL] = {"moe.all_to_all", 9, 1e3, "times longer for all-to-alls of the experts",
                          GPU | FILES | IN_CLUSTER},
};

static const char *const DIALECTS[] = {"kineto",    "nsys",   "signalbox", "ascend",     "ascend --db",
                                       "mindspore", "msprof", "cluster",   "mindinsight"};

static enum fault find(const char *code, size_t len)
{
	for (int i = 0; i < FAULTS; i++)
		if (strlen(KINDS[i].code) == len && strncmp(KINDS[i].code, code, len) == 0)
			return (enum fault)i;
	option_misuse("unknown fault");
}

void faults_parse(const char *text, enum fault_dialect dialect, struct faults *out)
{
	*out = (struct faults){0};
	if (strcmp(text, "healthy") == 0)
		return;
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, "=,");
		enum fault f = find(at, len);
		char *end = NULL;

		if (!(KINDS[f].dialects & (unsigned)dialect))
			option_misuse("this dialect has no data that could show the fault");
		out->given[f] = true;
		out->size[f] = KINDS[f].usual;
		at += len;
		if (*at == '=') {
			out->size[f] = strtod(at + 1, &end);
			if (end == at + 1 || !(out->size[f] >= 0 && out->size[f] <= KINDS[f].most))
				option_misuse("the size of a fault is out of its range");
			at = end;
		}
		if (*at == '\0')
			return;
		if (*at != ',')
			option_misuse("faults are CODE=SIZE,CODE=SIZE");
	}
}

void faults_usage(void)
{
	fprintf(stderr, "faults, with their usual size, its meaning, and the dialects that can show them\n");
	for (int i = 0; i < FAULTS; i++) {
		const char *comma = "";

		fprintf(stderr, "  %s=%.10g: %s\n    ", KINDS[i].code, KINDS[i].usual, KINDS[i].unit);
		for (size_t k = 0; k < sizeof(DIALECTS) / sizeof(DIALECTS[0]); k++) {
			if (!(KINDS[i].dialects & (1U << k)))
				continue;
			fprintf(stderr, "%s%s", comma, DIALECTS[k]);
			comma = ", ";
		}
		fprintf(stderr, "\n");
	}
}

void faults_list(void)
{
	for (int i = 0; i < FAULTS; i++) {
		printf("%s\t%.10g", KINDS[i].code, KINDS[i].usual);
		for (size_t k = 0; k < sizeof(DIALECTS) / sizeof(DIALECTS[0]); k++)
			if (KINDS[i].dialects & (1U << k))
				printf("\t%s", DIALECTS[k]);
		printf("\n");
	}
}

void faults_write(struct out *out, const struct faults *f)
{
	const char *comma = "";

	out_text(out, "[");
	for (int i = 0; i < FAULTS; i++) {
		if (!f->given[i])
			continue;
		out_fmt(out, "%s{\"code\": \"%s\", \"size\": %.10g}", comma, KINDS[i].code, f->size[i]);
		comma = ", ";
	}
	out_text(out, "]");
}

int faults_small(int n)
{
	static const int order[] = {0, 1, 2, 3, 4, 5, 1, 3, 0, 2, 5, 4, 1, 0, 5, 3, 2, 4, 0, 3, 1, 5, 2, 0};

	return order[(size_t)n % (sizeof(order) / sizeof(order[0]))];
}

int64_t faults_ms(const struct faults *f, enum fault which)
{
	return llround(f->size[which] * 1e6);
}

int64_t faults_longer(const struct faults *f, enum fault which, int64_t ns)
{
	return ns + llround((double)ns * f->size[which]);
}

int64_t faults_due(double count, int64_t index, int64_t n)
{
	return (int64_t)(floor(count * (double)(index + 1) / (double)n) -
	                 floor(count * (double)index / (double)n));
}
