#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/cluster_analysis.h"
#include "profiler/read/collect.h"
#include "profiler/read/msprof.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct format_reader *const READERS[] = {
    &ASCEND_TRACE_READER,          &ASCEND_KERNELS_READER,       &ASCEND_STEPS_READER,
    &ASCEND_OP_STATISTIC_READER,   &ASCEND_API_STATISTIC_READER, &ASCEND_COMMUNICATION_READER,
    &ASCEND_INFO_READER,           &ASCEND_METADATA_READER,      &MSPROF_OP_SUMMARY_READER,
    &MSPROF_TASK_TIME_READER,      &MSPROF_COMMUNICATION_READER, &MSPROF_STEPS_READER,
    &MSPROF_QUEUE_READER,          &MSPROF_INFO_READER,          &CLUSTER_STEPS_READER,
    &CLUSTER_COMMUNICATION_READER, &CLUSTER_GROUPS_READER,
};
#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

static void check_capture(const struct capture *c)
{
	size_t texts = sb_strings_count(c->trace.strings);

	check_trace(&c->trace);
	for (size_t i = 0; i < c->kernel_count; i++)
		must(c->kernels[i].dur_ns >= 0 && c->kernels[i].name < texts && c->kernels[i].pipe < texts);
	for (size_t i = 0; i < c->communication_count; i++) {
		must(c->communications[i].link_count <= LINKS_MAX && c->communications[i].name < texts);
		for (size_t k = 0; k < c->communications[i].link_count; k++)
			must(c->communications[i].links[k].bytes >= 0);
	}
}

static const char *path_for(const struct format_reader *reader)
{
	switch (reader->format) {
	case FORMAT_MSPROF_TEXT: return "PROF_1/mindstudio_profiler_output/op_summary_20250101000000.csv";
	case FORMAT_CLUSTER_ANALYSIS: return "cluster_analysis_output/file";
	default: return "fuzz_ascend_pt/ASCEND_PROFILER_OUTPUT/file";
	}
}

/* The first byte chooses the reader; a 0xFF byte begins another file, with a byte of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct collection all = {0};

	collection_init(&all, NULL);
	while (size > 0) {
		const uint8_t *end = memchr(data + 1, 0xFF, size - 1);
		size_t n = end ? (size_t)(end - data) : size;
		struct memory_stream m;
		struct sb_error err = {0};

		const struct format_reader *reader = READERS[(data[0] & 0x7F) % READER_COUNT];

		memory_stream_init(&m, path_for(reader), (const char *)data + 1, n - 1,
		                   data[0] & 0x80 ? 1 : 0);
		if (reader->read(&all.context, &m.base, &err) != SB_OK)
			must(err.word[0] != '\0');
		n += end != NULL;
		data += n;
		size -= n;
	}
	for (size_t i = 0; i < all.count; i++) {
		must(ascend_finish(&all.context, all.list[i], NULL) == SB_OK);
		check_capture(all.list[i]);
	}
	collection_free(&all);
	return 0;
}
