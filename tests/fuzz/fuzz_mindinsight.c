#include <stdlib.h>
#include <string.h>

#include "profiler/breakdown.h"
#include "profiler/communication.h"
#include "profiler/input_pipeline.h"
#include "profiler/operators.h"
#include "profiler/read/collect.h"
#include "profiler/read/mindinsight.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const struct format_reader *reader;
	const char *path;
} READERS[] = {
    {&MINDINSIGHT_STEPS_READER, "p/step_trace_raw_1_detail_time.csv"},
    {&MINDINSIGHT_POINTS_READER, "p/step_trace_point_info.json"},
    {&MINDINSIGHT_INFO_READER, "p/profiler_info_1.json"},
    {&MINDINSIGHT_PIPELINE_READER, "p/minddata_pipeline_raw_1.csv"},
    {&MINDINSIGHT_OPERATOR_READER, "p/pipeline_profiling_1.json"},
    {&MINDINSIGHT_QUEUE_READER, "p/device_queue_profiling_1.txt"},
    {&MINDINSIGHT_QUEUE_READER, "p/dataset_iterator_profiling_1.txt"},
    {&MINDINSIGHT_GET_NEXT_READER, "p/minddata_aicpu_1.txt"},
    {&MINDINSIGHT_TYPES_READER, "p/aicore_intermediate_1_type.csv"},
    {&MINDINSIGHT_DETAILS_READER, "p/aicore_intermediate_1_detail.csv"},
    {&MINDINSIGHT_FRAMEWORK_READER, "p/framework_raw_1.csv"},
    {&MINDINSIGHT_AICPU_READER, "p/aicpu_intermediate_1.csv"},
    {&MINDINSIGHT_HCCL_READER, "p/hccl_raw_1.csv"},
    {&MINDINSIGHT_CLUSTER_READER, "p/ascend_cluster_analyse_pipeline-parallel_2_8_1.csv"},
    {&MINDINSIGHT_TIMELINE_READER, "p/ascend_timeline_display_1.json"},
    {&MINDINSIGHT_PIPELINE_READER, "p/rank-1_20240131101530123_ascend_ms/ASCEND_PROFILER_OUTPUT/raw_1.csv"},
    {&ASCEND_KERNELS_READER,
     "p/rank-1_20240131101530123_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv"},
};
#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

static void check_capture(const struct capture *c)
{
	size_t texts = sb_strings_count(c->trace.strings);

	check_trace(&c->trace);
	for (size_t i = 0; i < c->iteration_count; i++)
		must(c->iterations[i].total_ns >= 0 &&
		     (i == 0 || c->iterations[i].step >= c->iterations[i - 1].step));
	for (size_t i = 0; i < c->queue_count; i++) {
		must(c->queues[i].name < texts && c->queues[i].file < texts);
		for (size_t k = 0; k < c->queues[i].sample_count; k++)
			must(c->queues[i].samples[k].size >= 0 || c->queues[i].samples[k].size == SB_NULL);
	}
	for (size_t i = 0; i < c->op_statistic_count; i++)
		must(c->op_statistics[i].count > 0 && c->op_statistics[i].type < texts);
	for (size_t i = 0; i < c->communication_count; i++)
		must(c->communications[i].link_count <= LINKS_MAX && c->communications[i].name < texts);
}

static void judge(struct profile *p)
{
	BREAKDOWN_AUTO b = {0};
	OPERATORS_AUTO o = {0};
	COMMUNICATION_AUTO c = {0};
	INPUT_PIPELINE_AUTO q = {0};

	must(breakdown_compute(p, &p->warnings, &b, NULL) == SB_OK);
	must(operators_collect(p, &o, NULL) == SB_OK);
	must(communication_compute(p, 0.2, &c, NULL) == SB_OK);
	must(input_pipeline_compute(p, &q, NULL) == SB_OK);
	for (size_t i = 0; i < q.count; i++)
		must(q.queues[i].samples >= 0 && q.queues[i].empty <= q.queues[i].samples);
}

static void read_one(struct partials *parts, struct source *from, const uint8_t *data, size_t len)
{
	size_t which = (data[0] & 0x7F) % READER_COUNT;
	const char *path = READERS[which].path, *text = (const char *)data + 1;
	const struct sniff s = {.path = path, .head = text, .len = len - 1, .whole = true};
	struct partial *n = partials_add(parts, from, path);
	struct memory_stream m;
	struct sb_error err = {0};

	must(n != NULL);
	n->file = true;
	from->order[0]++;
	must(READERS[which].reader->sniff(&s) <= SNIFF_SURE);
	memory_stream_init(&m, path, text, len - 1, data[0] & 0x80 ? 1 : 0);
	if (READERS[which].reader->read(&n->own.context, &m.base, &err) != SB_OK)
		must(err.word[0] != '\0');
	collection_shrink(&n->own);
}

/* The first byte chooses the reader by its path; a 0xFF byte begins another file, with a byte of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_shared shared = {0};
	struct source from = {.budget = {.shared = &shared}};
	struct partials parts = {.count = 0};
	struct gathering g = {0};

	while (size > 0) {
		const uint8_t *end = memchr(data + 1, 0xFF, size - 1);
		size_t n = end ? (size_t)(end - data) : size;

		read_one(&parts, &from, data, n);
		n += end != NULL;
		data += n;
		size -= n;
	}
	must(partials_sort(&parts) == SB_OK);
	must(gather(&parts, NULL, &g, NULL) == SB_OK && choose_captures(&g, NULL) == SB_OK);
	for (size_t i = 0; i < g.profile.count; i++)
		if (g.profile.captures[i].format == FORMAT_MINDINSIGHT)
			check_capture(&g.profile.captures[i]);
	judge(&g.profile);
	gathering_free(&g);
	partials_free(&parts);
	return 0;
}
