#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct out *ascend_open(const struct ascend_rank *r, const char *name, bool top)
{
	char path[4096];
	int n =
	    snprintf(path, sizeof(path), "%s/%s%s", r->directory, top ? "" : "ASCEND_PROFILER_OUTPUT/", name);

	if (n < 0 || (size_t)n >= sizeof(path))
		out_die("a path is too long");
	return out_open(path, false);
}

static void write_info(const struct ascend_options *o, const struct ascend_rank *r)
{
	char name[48];
	struct out *out;

	snprintf(name, sizeof(name), "profiler_info_%" PRId64 ".json", r->rank);
	out = ascend_open(r, name, true);
	out_fmt(
	    out,
	    "{\n    \"config\": {\n        \"common_config\": {\n            \"activities\": "
	    "[\"ProfilerActivity.CPU\", \"ProfilerActivity.NPU\"],\n            \"schedule\": {\"wait\": 0, "
	    "\"active\": "
	    "%" PRId64
	    ", \"warmup\": 1, \"repeat\": 1, \"skip_first\": %d},\n            \"record_shapes\": true, "
	    "\"profile_memory\": false, \"with_stack\": true, \"with_flops\": false, \"with_modules\": "
	    "false\n        "
	    "},\n        \"experimental_config\": {\n            \"_profiler_level\": \"Level%d\", "
	    "\"_aic_metrics\": "
	    "\"%s\", \"_l2_cache\": false,\n            \"_export_type\": \"%s\", "
	    "\"_gc_detect_threshold\": %s\n    "
	    "    }\n    },\n%s    \"rank_id\": %" PRId64 "\n}",
	    o->steps, ASCEND_FIRST_STEP, o->level,
	    o->level > 0 ? "ACL_AICORE_PIPE_UTILIZATION" : "ACL_AICORE_NONE", o->db ? "db" : "text",
	    o->faults.given[FAULT_GARBAGE_COLLECTION] && o->layout != ASCEND_MINDSPORE ? "1.0" : "null",
	    o->layout == ASCEND_MINDSPORE ? "    \"profiler_parameters\": {\"data_process\": true},\n" : "",
	    r->rank);
	out_close(&out);
	out = ascend_open(r, "profiler_metadata.json", true);
	out_text(out, "{\n    \"ENV_VARIABLES\": ");
	ascend_write_environment(o, out);
	out_fmt(out,
	        ",\n    \"parallel_group_info\": {\"%s\": {\"group_name\": \"dp\", \"group_rank\": %" PRId64
	        ", \"global_ranks\": [",
	        ascend_group_name(o, r), (r->rank - ascend_group_first(o, r)));
	for (int64_t i = ascend_group_first(o, r); i < ascend_group_end(o, r); i++)
		out_fmt(out, "%s%" PRId64, i > ascend_group_first(o, r) ? ", " : "", i);
	out_text(out, "]}");
	if (o->shape == ASCEND_EXPERTS)
		out_fmt(out,
		        ", \"3340912778560019243\": {\"group_name\": \"ep\", \"group_rank\": %" PRId64
		        ", \"global_ranks\": [",
		        r->rank);
	for (int64_t i = 0; o->shape == ASCEND_EXPERTS && i < o->ranks; i++)
		out_fmt(out, "%s%" PRId64 "%s", i ? ", " : "", i, i == o->ranks - 1 ? "]}" : "");
	out_text(out, "}\n}");
	out_close(&out);
}

static void truth_operators(struct out *out, const struct ascend_rank *r)
{
	TRUTH_TALLY_AUTO tally = {0};

	for (int64_t i = 0; i < r->kernel_count; i++)
		truth_tally_add(&tally, ascend_works[r->kernels[i].work].type, r->kernels[i].dur);
	truth_write_tally(out, &tally);
}

static void truth_links(struct out *out, const struct ascend_rank *r)
{
	out_text(out, "[");
	for (int64_t i = 0; i < r->link_count; i++) {
		const struct ascend_link *l = &r->links[i];
		int64_t bytes = 0;

		for (int p = 0; p < l->packet_kinds; p++)
			bytes += l->packets[p].bytes * l->packets[p].count;
		out_fmt(out,
		        "%s\n  {\"step\": %" PRId64 ", \"name\": \"%s\", \"elapse_ns\": %" PRId64
		        ", \"transit_ns\": %" PRId64 ", "
		        "\"wait_ns\": "
		        "%" PRId64 ", \"bytes\": %" PRId64 "}",
		        i ? "," : "", ASCEND_FIRST_STEP + l->step, l->text, l->dur, l->transit, l->wait,
		        bytes);
	}
	out_text(out, "]");
}

void ascend_write_truth(const struct ascend_options *o, const struct ascend_rank *ranks, const char *format)
{
	OUT_AUTO out = out_open(o->truth, false);

	out_fmt(out, "{\"format\": \"%s\", \"mean_step_ns\": %" PRId64 ", \"faults\": ", format,
	        ascend_mean_step(o, ranks));
	faults_write(out, &o->faults);
	out_text(out, ", \"ranks\": [");
	for (int64_t i = 0; i < o->ranks; i++) {
		const struct ascend_rank *r = &ranks[i];

		out_fmt(out, "%s\n{\"rank\": %" PRId64 ", \"directory\": ", i ? "," : "", i);
		out_json(out, r->directory ? r->directory : o->path ? o->path : "");
		out_fmt(out, ", \"trace_events\": %" PRId64 ", \"kernels\": %" PRId64 ",\n \"whole\": ",
		        r->trace_events, r->kernel_count + r->link_count);
		truth_write_row(out, &r->whole);
		out_text(out, ",\n \"steps\": [");
		for (int64_t step = 0; step < o->steps; step++) {
			out_fmt(out, "%s\n  {\"step\": %" PRId64 ", \"breakdown\": ", step ? "," : "",
			        ASCEND_FIRST_STEP + step);
			truth_write_row(out, &r->steps[step].lane);
			out_text(out, ",\n   \"from_kernels\": ");
			truth_write_row(out, &r->steps[step].kernels);
			out_text(out, "}");
		}
		out_text(out, "],\n \"operators\": ");
		truth_operators(out, r);
		out_text(out, ",\n \"communication\": ");
		truth_links(out, r);
		out_text(out, "}");
	}
	out_text(out, "\n]}\n");
}

static void make_directory(const struct ascend_options *o, struct ascend_rank *r)
{
	char path[4096];

	if (asprintf(&r->directory, "%s/node0_%" PRId64 "_20250202000000123_ascend_%s", o->path,
	             3100412 + r->rank, o->layout == ASCEND_MINDSPORE ? "ms" : "pt") < 0)
		out_die("out of memory");
	out_mkdir(r->directory);
	if ((size_t)snprintf(path, sizeof(path), "%s/ASCEND_PROFILER_OUTPUT", r->directory) >= sizeof(path))
		out_die("a path is too long");
	out_mkdir(path);
}

/* What the three queues of the data pipeline held: the reader's, the host's and the device's. */
static void write_pipeline(const struct ascend_options *o, const struct ascend_rank *r)
{
	bool unread = o->faults.size[FAULT_READING] > 0, unprocessed = o->faults.size[FAULT_PROCESSING] > 0;
	bool starved = unread || unprocessed;
	char name[64];
	struct out *out;

	snprintf(name, sizeof(name), "minddata_pipeline_raw_%" PRId64 ".csv", r->rank);
	out = ascend_open(r, name, false);
	out_fmt(out,
	        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
	        "output_queue_usage_rate,sample_interval,parent_id,children_id\r\n"
	        "0,Batch,4,\"[%s]\",4.0,64,0.0625,10,,[1]\r\n"
	        "1,TFReader,8,\"[%s]\",62.0,64,0.96875,10,0,\r\n",
	        starved ? "0, 0, 0" : "3, 5, 4", unread ? "0, 0, 0" : "64, 60, 62");
	out_close(&out);
	snprintf(name, sizeof(name), "device_queue_profiling_%" PRId64 ".txt", r->rank);
	out = ascend_open(r, name, false);
	for (int64_t i = 0; i < o->steps; i++)
		out_fmt(out,
		        "0 1 %" PRId64 " 4 %" PRId64 "\n0 2 %" PRId64 " 6 %" PRId64 "\n0 0 %" PRId64
		        " 2 %" PRId64 "\n1 64 %" PRId64 " %" PRId64 " %" PRId64 "\n",
		        i + 1, i, i + 1, i, i + 1, i, i + 1, starved && i > 0 ? 0 : 40 + i % 8, i);
	out_close(&out);
	snprintf(name, sizeof(name), "minddata_aicpu_%" PRId64 ".txt", r->rank);
	out = ascend_open(r, name, false);
	for (int64_t i = 0; i < o->steps; i++)
		out_fmt(out, "GetNext_dequeue_wait %" PRId64 " %" PRId64 " %" PRId64 "\n",
		        r->steps[i].start / 1000, (r->steps[i].start + r->steps[i].load) / 1000,
		        starved && i > 0 ? 0 : 5 + i % 3);
	out_close(&out);
}

/* What the profiler keeps of its raw data: which chip it was. */
static void write_chip(const struct ascend_rank *r)
{
	char path[4096], name[64];
	int64_t device = r->rank % 8;
	struct out *out;

	snprintf(name, sizeof(name), "PROF_000001_20250202000000123_MADEUP/device_%" PRId64, device);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", r->directory, name) >= sizeof(path))
		out_die("a path is too long");
	out_mkdir(path);
	snprintf(name, sizeof(name),
	         "PROF_000001_20250202000000123_MADEUP/device_%" PRId64 "/info.json.%" PRId64, device,
	         device);
	out = ascend_open(r, name, true);
	out_fmt(out,
	        "{\"platform_version\": \"5\", \"DeviceInfo\": [{\"id\": %" PRId64
	        ", \"ai_core_num\": 24, \"aiv_num\": 48, \"aic_frequency\": \"1800\"}]}",
	        device);
	out_close(&out);
}

void ascend_rank_free(struct ascend_rank *r)
{
	free(r->kernels);
	free(r->links);
	free(r->steps);
	free(r->calls);
	free(r->copies);
	free(r->directory);
	spans_free(&r->computing);
	spans_free(&r->communication);
	spans_free(&r->exposed);
	spans_free(&r->gaps);
}

int ascend_main(const struct ascend_options *o)
{
	struct ascend_rank *ranks = out_alloc(NULL, o->ranks, sizeof(*ranks));

	ascend_play(o, ranks);
	if (o->path)
		out_mkdir(o->path);
	for (int64_t i = 0; o->path && i < o->ranks; i++) {
		make_directory(o, &ranks[i]);
		write_info(o, &ranks[i]);
		if (o->db) {
			ascend_write_databases(o, &ranks[i]);
			continue;
		}
		if (o->level > 0)
			write_chip(&ranks[i]);
		if (o->layout == ASCEND_MINDSPORE)
			write_pipeline(o, &ranks[i]);
		ascend_write_trace(o, &ranks[i]);
		ascend_write_tables(o, &ranks[i]);
		if (o->level > 0)
			ascend_write_communication(o, &ranks[i]);
	}
	if (o->truth)
		ascend_write_truth(o, ranks, o->layout == ASCEND_MINDSPORE ? "mindspore" : "ascend");
	for (int64_t i = 0; i < o->ranks; i++)
		ascend_rank_free(&ranks[i]);
	free(ranks);
	return 0;
}
