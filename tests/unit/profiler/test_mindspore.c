#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "tests/unit/profiler/made_mindinsight.h"

#define OUT(dir) dir "/ASCEND_PROFILER_OUTPUT/"
#define KERNELS "Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
#define META(pid, name)                                                                                      \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid ",\"args\":{\"name\":\"" name "\"}}"
#define SPAN(pid, tid, name, ts, dur)                                                                        \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" ts "\",\"dur\":" dur \
	",\"args\":{}}"

/* The directory, a lane of the host or its own profiler_info: each says MindSpore, in any order of files. */
static void captures_of_mindspore_are_known(void **state)
{
	static const struct text_file files[] = {
	    {OUT("rank-5_20240131101530123_ascend_ms") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,1,1\n",
	     0},
	    {OUT("b") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {OUT("b") "trace_view.json",
	     "[" META("1", "MindSpore") "," SPAN("1", "2", "PynativeFramework::RunOp", "1", "1") "]", 0},
	    {OUT("c") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {"c/profiler_info_1.json", "{\"profiler_parameters\": {\"a\": 1}, \"rank_id\": 1}", 0},
	    {OUT("d") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {"d/profiler_info_0.json", "{\"config\": {}, \"rank_id\": 0}", 0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(p.count, 4);
	assert_true(p.captures[0].rank == 0 && p.captures[0].format == FORMAT_ASCEND_TEXT);
	assert_true(p.captures[1].rank == 1 && p.captures[1].format == FORMAT_MINDSPORE_TEXT);
	/* no file told the rank: the directory does */
	assert_true(p.captures[2].rank == 5 && p.captures[2].format == FORMAT_MINDSPORE_TEXT);
	assert_true(p.captures[3].rank == SB_NULL && p.captures[3].format == FORMAT_MINDSPORE_TEXT);
	assert_string_equal(capture_format_name(p.captures[3].format), "mindspore-text");
}

static void the_newest_of_a_rank_wins(void **state)
{
	static const struct text_file files[] = {
	    {OUT("rank-5_20240131101530123_ascend_ms") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,9,1\n",
	     0},
	    {OUT("rank-5_20240131101530124_ascend_ms") "kernel_details.csv", KERNELS "Sub,Add,AI_CORE,1,1\n",
	     0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.captures[0].source, "rank-5_20240131101530124_ascend_ms");
	assert_non_null(warning_of(&p, "rank_conflict"));
}

/* Graph mode: names are paths in the graph, and the one row of the step table names no step. Sends and
 * receives stand among the collectives. */
static void graphs_have_one_row(void **state)
{
	static const struct text_file files[] = {
	    {OUT("h_1_20240131101530123_ascend_ms") "kernel_details.csv",
	     KERNELS "Default/network-Net/layer-Dense/MatMul-op12,MatMul,AI_CORE,10,4\n"
	             "Default/Receive-op3,hcom_receive_,HCCL,14,2\n",
	     0},
	    {OUT("h_1_20240131101530123_ascend_ms") "step_trace_time.csv",
	     "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
	     "Communication(Not Overlapped and Exclude Receive),Preparing\n"
	     ",416700,2302000,328800,2630800,631200,3349900,0,2302000,0\n",
	     0},
	    {OUT("h_1_20240131101530123_ascend_ms") "communication.json",
	     "{\"step\": {\"p2p\": {}, \"collective\": {\"hcom_receive__1_0_1@12\": {\"Communication Time "
	     "Info\": "
	     "{\"Elapse Time(ms)\": 2.0, \"Transit Time(ms)\": 1.0, \"Wait Time(ms)\": 1.0}, \"Communication "
	     "Bandwidth Info\": {\"HCCS\": {\"Transit Size(MB)\": 0.0, \"Transit Time(ms)\": 0.0}}}}}}",
	     0},
	    {"h_1_20240131101530123_ascend_ms/profiler_info_0.json", "{\"rank_id\": 0}", 0},
	};
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO o = {0};
	const struct capture *c;
	struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .by_name = true};
	struct operator_line *lines = NULL;
	size_t count;

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(p.count, 1);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_MINDSPORE_TEXT);
	assert_int_equal(c->step_trace_count, 1);
	assert_true(c->step_traces[0].step == SB_NULL &&
	            c->step_traces[0].communication == INT64_C(2630800000));
	assert_int_equal(c->step_count, 0);
	assert_true(c->communications[0].point_to_point && c->communications[0].links[0].bytes == 0);
	assert_int_equal(operators_collect(&p, &o, NULL), SB_OK);
	assert_int_equal(operators_select(&o, &q, &lines, &count), SB_OK);
	assert_string_equal(sb_strings_get(o.strings, lines[0].row.name, NULL),
	                    "Default/network-Net/layer-Dense/MatMul-op12");
	free(lines);
}

/* The data pipeline's events on the host are waits for data; the operator that waits for it on the AI CPU is
 * no fault of the AI CPU. */
static void waits_for_data_are_loading(void **state)
{
	static const struct text_file files[] = {
	    {OUT("h_1_20240131101530123_ascend_ms") "trace_view.json",
	     "[" META("1", "MindSpore") "," META("2", "Ascend Hardware") "," SPAN(
	         "1", "1", "Dataset::DatasetIterator::GetNext", "0",
	         "50000") "," SPAN("1", "2", "PynativeFramework::RunOp", "0",
	                           "10") ","
	                                 "{\"ph\":\"X\",\"name\":\"MatMul\",\"pid\":2,\"tid\":3,\"ts\":\"0\","
	                                 "\"dur\":1000,\"args\":{\"Task "
	                                 "Type\":\"AI_CORE\"}},"
	                                 "{\"ph\":\"X\",\"name\":\"MatMul\",\"pid\":2,\"tid\":3,\"ts\":"
	                                 "\"50000\",\"dur\":49000,\"args\":{\"Task "
	                                 "Type\":\"AI_CORE\"}}]",
	     0},
	    {OUT("h_1_20240131101530123_ascend_ms") "kernel_details.csv",
	     KERNELS "MatMul-op1,MatMul,AI_CORE,0,1000\nGetNext-op2,GetNext,AI_CPU,50000,20000\n"
	             "MatMul-op1,MatMul,AI_CORE,70000,29000\n",
	     0},
	};
	JUDGED_AUTO j = {0};

	(void)state;
	read_files(files, COUNT(files), &j.p);
	assert_int_equal(j.p.captures[0].trace.kind[0], EVENT_HOST_LOADING);
	assert_int_equal(j.p.captures[0].trace.kind[1], EVENT_HOST_OP);
	judge(&j);
	is_near(evidence_of(found(&j, "io.loading"), "device_idle_while_loading_us"), 49000);
	assert_null(found(&j, "compute.aicpu"));
}

/* The queues lie in the output directory, or beside the directories in the folder of an older profiler. */
static void queues_belong_to_their_capture(void **state)
{
	static const char pipeline[] = "op_id,op_type,num_workers,output_queue_size,output_queue_length\n"
	                               "0,Batch,1,\"[1, 2]\",4\n";
	static const struct text_file inside[] = {
	    {OUT("h_1_20240131101530123_ascend_ms") "kernel_details.csv", KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {OUT("h_1_20240131101530123_ascend_ms") "minddata_pipeline_raw_0.csv", pipeline, 0},
	    {OUT("h_1_20240131101530123_ascend_ms") "minddata_pipeline_summary_0.csv", "op_names,Batch\n", 0},
	    {OUT("h_1_20240131101530123_ascend_ms") "dataset.csv",
	     "Operation,Stage,Occurrences,Avg. time (us),Custom Info\n", 0},
	};
	static const struct text_file beside[] = {
	    {OUT("profiler/rank-0_20240131101530123_ascend_ms") "kernel_details.csv",
	     KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {OUT("profiler/rank-1_20240131101530123_ascend_ms") "kernel_details.csv",
	     KERNELS "Add,Add,AI_CORE,1,1\n", 0},
	    {"profiler/minddata_pipeline_raw_0.csv", pipeline, 0},
	    {"profiler/device_queue_profiling_1.txt", "1 64 1 3 5\n", 0},
	    {"profiler/step_trace_raw_1_detail_time.csv", STEP_HEAD "\n1,1,3,2,1,2,0,1,0\n", 0},
	};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_files(inside, COUNT(inside), &p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.captures[0].format, FORMAT_MINDSPORE_TEXT);
	assert_int_equal(p.captures[0].queue_count, 1);
	assert_int_equal(p.left_out_count, 2);
	read_files(beside, COUNT(beside), &q);
	assert_int_equal(q.count, 2);
	assert_int_equal(q.captures[0].format, FORMAT_MINDSPORE_TEXT);
	assert_int_equal(queue_named(&q.captures[0], "Batch")->sample_count, 2);
	assert_int_equal(queue_named(&q.captures[1], "device_queue")->samples[0].size, 3);
	assert_int_equal(q.captures[1].iteration_count, 1);
	assert_null(warning_of(&q, "rank_conflict"));
	assert_int_equal(q.left_out_count, 0);
}

/* Host events of the data pipeline: who asks for a batch waits, who makes one works on a thread of its own.
 */
static void events_of_the_data_pipeline(void **state)
{
	static const struct {
		const char *name;
		enum event_kind kind;
	} NAMES[] = {{"GetNext", EVENT_HOST_LOADING},
	             {"GetNext_dequeue_wait", EVENT_HOST_LOADING},
	             {"Dataset::DatasetIterator::FetchNext", EVENT_HOST_LOADING},
	             {"Dataset::MapOp::WorkerEntry", EVENT_HOST_OP},
	             {"PynativeFramework::GetNextOp", EVENT_HOST_OP}};

	(void)state;
	for (size_t i = 0; i < COUNT(NAMES); i++) {
		char text[600];
		const struct text_file file = {OUT("h_1_20240131101530123_ascend_ms") "trace_view.json", text,
		                               0};
		PROFILE_AUTO p = {0};

		snprintf(text, sizeof(text),
		         "[" META("1", "MindSpore") ",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":1,"
		                                    "\"ts\":\"1\",\"dur\":5,\"args\":{}}]",
		         NAMES[i].name);
		read_files(&file, 1, &p);
		assert_int_equal(p.captures[0].trace.kind[0], NAMES[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(captures_of_mindspore_are_known),
	    cmocka_unit_test(the_newest_of_a_rank_wins),
	    cmocka_unit_test(graphs_have_one_row),
	    cmocka_unit_test(waits_for_data_are_loading),
	    cmocka_unit_test(events_of_the_data_pipeline),
	    cmocka_unit_test(queues_belong_to_their_capture),
	};

	return cmocka_run_group_tests_name("mindspore", tests, NULL, NULL);
}
