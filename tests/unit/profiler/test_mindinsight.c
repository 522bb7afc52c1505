#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "profiler/input_pipeline.h"
#include "tests/unit/profiler/made_mindinsight.h"

/* Ticks of 10 ns; both line ends; a "-" or a 0 in front of the averages. */
static void step_traces_are_exact(void **state)
{
	static const char *const ends[] = {"\r\n", "\n"};
	static const char *const averages[] = {"-", "0"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[1024];
		PROFILE_AUTO p = {0};
		const struct capture *c;
		const struct iteration *it;

		snprintf(text, sizeof(text),
		         STEP_HEAD REDUCE("5_parallel_0") REDUCE("5_parallel_1")
		             REDUCE("7_parallel_0") "%s"
		                                    "1,1000,1600,600,1050,1500,50,450,100,1100,1300,200,1250,"
		                                    "1350,100,0,0,0%s"
		                                    "2,1600,2000,400,1610,1900,10,290,100,1700,1750,50,1800,"
		                                    "1850,50,1740,1760,20%s"
		                                    "%s,1,2,3,4,5,6,7,8,1,2,3,1,2,3,1,2,3%s",
		         ends[i], ends[i], ends[i], averages[i], ends[i]);
		read_one("run/profiler/step_trace_raw_3_detail_time.csv", text, &p);
		c = &p.captures[0];
		assert_true(c->rank == 3);
		assert_string_equal(c->source, "run/profiler (id 3)");
		assert_non_null(warning_of(&p, "rank_from_name"));
		assert_int_equal(p.warnings.count, 1);
		assert_int_equal(c->iteration_count, 2);
		it = &c->iterations[0];
		assert_true(it->step == 1 && it->start_ns == 10000 && it->total_ns == 6000);
		assert_true(it->interval_ns == 500 && it->forward_backward_ns == 4500 && it->tail_ns == 1000);
		assert_int_equal(c->step_count, 2);
		assert_true(c->steps[1].number == 2 && c->steps[1].start_ns == 16000 &&
		            c->steps[1].dur_ns == 4000);
		/* the operator that did not run in step 1 is no event */
		assert_int_equal(c->trace.count, 5);
		assert_int_equal(c->trace.lane_count, 2);
		assert_string_equal(text_of(c, c->trace.lanes[1].thread), "stream_7");
		assert_true(c->trace.kind[4] == EVENT_COMMUNICATION && c->trace.start_ns[4] == 17400 &&
		            c->trace.dur_ns[4] == 200);
		assert_string_equal(text_of(c, c->trace.name[1]), "stream_5_parallel_1");
	}
}

/* Communication is known by union, compute is not: the rest is null, and nothing is found. */
static void a_step_trace_alone_gives_steps_and_communication(void **state)
{
	JUDGED_AUTO j = {0};
	const struct breakdown_row *row;

	(void)state;
	read_one("step_trace_raw_0_detail_time.csv",
	         STEP_HEAD REDUCE("5_parallel_0")
	             REDUCE("7_parallel_0") "\n"
	                                    "1,1000,9000,8000,1000,5000,0,4000,4000,"
	                                    "2000,3000,1000,2500,4000,1500\n",
	         &j.p);
	judge(&j);
	assert_int_equal(j.b.count, 2);
	row = &j.b.rows[0];
	assert_true(row->step == 1 && row->step_ns == 80000 && row->communication_ns == 20000);
	assert_true(row->compute_ns == SB_NULL && row->exposed_ns == SB_NULL && row->overlap_ns == SB_NULL);
	assert_true(row->free_ns == SB_NULL && row->span_ns == SB_NULL && row->bubble_ns == SB_NULL);
	assert_true(j.b.rows[1].step == SB_NULL && j.b.rows[1].communication_ns == 20000 &&
	            j.b.rows[1].compute_ns == SB_NULL);
	assert_int_equal(j.a.count, 0);
	assert_null(j.a.component);
	assert_int_equal(j.a.confidence, CONFIDENCE_LOW);
	assert_true(left_open(&j, "parallel.poor_overlap") && left_open(&j, "cpu.host_bound") &&
	            left_open(&j, "io.fetching") && left_open(&j, "io.loading"));
}

static void broken_rows_of_a_step_trace_are_left_out(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one("step_trace_raw_0_detail_time.csv",
	         STEP_HEAD REDUCE("5_parallel_0") "\n"
	                                          "1,1000,9000,8000,1000,5000,0,4000,4000,3000,2000,0\n"
	                                          "x,1,2,1,1,1,0,0,0,1,2,1\n"
	                                          "3,9,2,1,1,1,0,0,0,1,2,1\n"
	                                          "4,10,12,7,1,1,0,0,0,a,2,1\n"
	                                          "5,10\n",
	         &p);
	assert_int_equal(p.captures[0].iteration_count, 2);
	assert_int_equal(p.captures[0].trace.count, 0);
	/* the end less the start, whatever the table adds up to */
	assert_true(p.captures[0].iterations[1].total_ns == 20);
	assert_int_equal(warning_of(&p, "bad_value")->count, 3);
	assert_non_null(warning_of(&p, "negative_duration"));
	assert_non_null(warning_of(&p, "inconsistent"));
	assert_non_null(warning_of(&p, "short_row"));
}

/* Several ids in one folder are several captures; a file without one holds for all of them. */
static void ids_make_captures(void **state)
{
	static const struct text_file files[] = {
	    {"p/step_trace_raw_0_detail_time.csv", STEP_HEAD "\n1,1,2,1,1,2,0,1,0\n", 0},
	    {"p/step_trace_raw_10_detail_time.csv", STEP_HEAD "\n1,1,3,2,1,2,0,1,0\n", 0},
	    {"p/minddata_aicpu_10.txt", "GetNext_dequeue_wait 5 6 3\n", 0},
	    {"p/step_trace_point_info.json",
	     "{\"fp_start\": \"Default/Cast-op6\", \"bp_end\": \"Default/B\"}", 0},
	    {"q/step_trace_raw_3_detail_time.csv", STEP_HEAD "\n1,1,4,3,1,2,0,1,0\n", 0},
	    {"q/profiler_info_3.json", "{\"context_mode\": \"graph\", \"rank_id\": \"7\", \"rank_size\": 8}",
	     0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(p.count, 3);
	assert_true(p.captures[0].rank == 0 && p.captures[1].rank == 7 && p.captures[2].rank == 10);
	assert_int_equal(p.captures[2].queue_count, 1);
	assert_true(p.captures[1].world_size == 8);
	for (size_t i = 0; i < 3; i += 2) {
		assert_string_equal(text_of(&p.captures[i], p.captures[i].forward_start), "Default/Cast-op6");
		assert_string_equal(text_of(&p.captures[i], p.captures[i].backward_end), "Default/B");
	}
	assert_int_equal(p.captures[1].forward_start, 0);
	assert_int_equal(p.left_out_count, 0);
}

static void a_renamed_file_is_known_by_its_content(void **state)
{
	static const struct text_file files[] = {
	    {"a.csv", STEP_HEAD "\n1,1,2,1,1,2,0,1,0\n", 0},
	    {"b.txt", "0 1 1 4 10\n0 2 1 4 10\n0 0 1 0 10\n1 64 1 0 10\n", 0},
	    {"c", "GetNext_dequeue_wait 5 6 3\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		PROFILE_AUTO p = {0};

		read_one(files[i].path, files[i].text, &p);
		assert_true(p.captures[0].rank == SB_NULL);
		assert_string_equal(p.captures[0].source, files[i].path);
	}
}

static void pipelines_have_queues(void **state)
{
	PROFILE_AUTO p = {0};
	INPUT_PIPELINE_AUTO sums = {0};
	const struct queue *q;

	(void)state;
	read_one("p/minddata_pipeline_raw_0.csv",
	         "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
	         "output_queue_usage_rate,sample_interval,parent_id,children_id\r\n"
	         "0,Batch,4,,,,,10,,[1]\r\n"
	         "1,Shuffle,1,\"[0, 64, 32, x]\",20.0,64,0.3125,10,0,\"[2, 3]\"\r\n"
	         "y,Map,1,[1],1,1,1,1,1,\r\n",
	         &p);
	assert_int_equal(p.captures[0].queue_count, 2);
	q = queue_named(&p.captures[0], "Batch");
	assert_true(q->sample_count == 0 && q->capacity == SB_NULL && q->parent_id == SB_NULL);
	q = queue_named(&p.captures[0], "Shuffle");
	assert_true(q->kind == QUEUE_OPERATOR && q->operator_id == 1 && q->parent_id == 0);
	assert_true(q->workers == 1 && q->capacity == 64 && q->interval_ns == 10000000);
	assert_int_equal(q->sample_count, 3);
	assert_int_equal(warning_of(&p, "bad_value")->count, 2);
	assert_int_equal(input_pipeline_compute(&p, &sums, NULL), SB_OK);
	assert_int_equal(sums.count, 2);
	assert_true(sums.queues[0].samples == 0 && sums.queues[0].empty == SB_NULL &&
	            isnan(sums.queues[0].mean_size));
	assert_true(sums.queues[1].samples == 3 && sums.queues[1].empty == 1 && sums.queues[1].full == 1);
	is_near(sums.queues[1].mean_size, 32);
}

/* The same pipeline before it is made a table: children come after their parents, the interval last. Where
 * both files are there one counts. */
static void pipelines_in_json_count_once(void **state)
{
	static const char json[] =
	    "{\"op_info\": [{\"metrics\": {\"output_queue\": {\"length\": 8, \"size\": [1, 2], "
	    "\"throughput\": "
	    "[0.5]}}, "
	    "\"num_workers\": 2, \"op_id\": 1, \"op_type\": \"MapOp\"}, {\"children\": [1], \"metrics\": "
	    "null, "
	    "\"num_workers\": 1, \"op_id\": 0, \"op_type\": \"BatchOp\"}], \"sampling_interval\": 10}";
	const struct text_file files[] = {
	    {"p/minddata_pipeline_raw_0.csv",
	     "op_id,op_type,num_workers,output_queue_size,output_queue_length,sample_interval,parent_id\n"
	     "0,Other,1,[5],8,10,\n",
	     0},
	    {"p/pipeline_profiling_0.json", json, 0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO both = {0};
	const struct queue *q;

	(void)state;
	read_one("p/pipeline_profiling_0.json", json, &p);
	assert_int_equal(p.captures[0].queue_count, 2);
	q = queue_named(&p.captures[0], "MapOp");
	assert_true(q->parent_id == 0 && q->interval_ns == 10000000 && q->capacity == 8 && q->workers == 2);
	assert_true(q->sample_count == 2 && q->samples[1].size == 2);
	assert_true(queue_named(&p.captures[0], "BatchOp")->parent_id == SB_NULL);
	read_files(files, 2, &both);
	assert_int_equal(both.captures[0].queue_count, 1);
	assert_non_null(queue_named(&both.captures[0], "Other"));
}

static void host_queues_tell_times_and_sizes(void **state)
{
	PROFILE_AUTO p = {0};
	INPUT_PIPELINE_AUTO sums = {0};
	const struct queue *q;

	(void)state;
	/* steps are counted anew in the second epoch */
	read_one("p/device_queue_profiling_0.txt",
	         "0 1 1 4 10\n0 2 1 6 10\n0 0 1 2 10\n1 64 1 0 10\n"
	         "0 1 2 2 20\n0 2 2 3 20\n0 0 2 1 20\n1 64 2 64 20\n"
	         "0 1 1 0.5 30\n0 2 1 1 30\n0 0 1 0 30\n1 64 1 3 30\nnonsense\n",
	         &p);
	q = queue_named(&p.captures[0], "device_queue");
	assert_true(q->kind == QUEUE_HOST && q->capacity == 64);
	assert_int_equal(q->sample_count, 3);
	assert_true(q->samples[0].step == 1 && q->samples[0].push_ns == 4000000 &&
	            q->samples[0].get_ns == 2000000 && q->samples[0].total_ns == 6000000 &&
	            q->samples[0].size == 0);
	assert_true(q->samples[1].step == 1 && q->samples[1].push_ns == 500000 && q->samples[1].size == 3);
	assert_true(q->samples[2].step == 2 && q->samples[2].size == 64);
	assert_int_equal(warning_of(&p, "bad_value")->count, 1);
	assert_int_equal(input_pipeline_compute(&p, &sums, NULL), SB_OK);
	assert_true(sums.queues[0].empty == 1 && sums.queues[0].full == 1 && sums.queues[0].samples == 3);
	is_near(sums.queues[0].get_us, 1000);
	is_near(sums.queues[0].push_us, 6500.0 / 3);
	is_near(sums.queues[0].total_us, 10000.0 / 3);
}

/* Without a sink: four columns, no times. */
static void iterator_queues_may_be_short(void **state)
{
	PROFILE_AUTO p = {0};
	const struct queue *q;

	(void)state;
	read_one("p/dataset_iterator_profiling_0.txt", "1 64 1 3", &p);
	q = queue_named(&p.captures[0], "dataset_iterator");
	assert_true(q->kind == QUEUE_HOST && q->capacity == 64 && q->sample_count == 1);
	assert_true(q->samples[0].size == 3 && q->samples[0].get_ns == SB_NULL);
}

static void device_queues_are_seen_by_get_next(void **state)
{
	PROFILE_AUTO p = {0};
	const struct queue *q;

	(void)state;
	read_one("p/minddata_aicpu_2.txt",
	         "GetNext_dequeue_wait 154907895305 154907895306 3\r\nGetNext_dequeue_wait 7 7 0\r\n"
	         "GetNext_dequeue_wait 9 7 1\r\nAnother 1 2 3\r\n",
	         &p);
	q = queue_named(&p.captures[0], "get_next");
	assert_true(q->kind == QUEUE_DEVICE && q->sample_count == 2);
	assert_true(q->samples[0].size == 3 && q->samples[0].get_ns == 1000);
	assert_true(q->samples[1].size == 0 && q->samples[1].get_ns == 0);
	assert_int_equal(warning_of(&p, "bad_value")->count, 2);
}

/* 2.2: what MindInsight writes beside is named with the reason, and spoils nothing. */
static void other_files_of_its_folder_are_named(void **state)
{
	static const char *const NAMES[] = {"p/minddata_cpu_utilization_0.json", "p/parallel_strategy_0.json",
	                                    "p/flops_0.txt", "p/flops_summary_0.json",
	                                    "p/ascend_timeline_summary_0.json"};
	struct text_file files[1 + COUNT(NAMES)] = {
	    {"p/step_trace_raw_0_detail_time.csv", STEP_HEAD "\n1,1000,2000,1000,1000,1900,0,900,100\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(NAMES); i++)
		files[i + 1] = (struct text_file){
		    NAMES[i],
		    i == 2 ? "full_kernel_name, FLOPs, FLOPS, FLOPS utilization\nDefault/a, 1.5, 2.5, 3\n"
		           : "{\"a\": [1]}",
		    0};
	read_files(files, 1 + COUNT(NAMES), &p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.left_out_count, COUNT(NAMES));
	for (size_t i = 0; i < p.left_out_count; i++)
		assert_non_null(strstr(p.left_out[i].reason, "MindInsight"));
}

/* A file of the iteration's bounds may have an id of its own. */
static void bounds_may_be_of_one_id(void **state)
{
	static const struct text_file files[] = {
	    {"p/step_trace_raw_0_detail_time.csv", STEP_HEAD "\n1,1,2,1,1,2,0,1,0\n", 0},
	    {"p/step_trace_raw_1_detail_time.csv", STEP_HEAD "\n1,1,3,2,1,2,0,1,0\n", 0},
	    {"p/step_trace_point_info_1.json", "{\"fp_start\": \"Default/A\", \"bp_end\": \"Default/B\"}", 0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.captures[0].forward_start, 0);
	assert_string_equal(text_of(&p.captures[1], p.captures[1].forward_start), "Default/A");
}

/* The step trace and the table of the cluster tell of the same iterations: two steps of 40 ms, not four. */
static void iterations_told_twice_count_once(void **state)
{
	static const struct text_file files[] = {
	    {"p/step_trace_raw_5_detail_time.csv",
	     STEP_HEAD "\n1,100,4000100,4000000,100,3900100,0,3900000,100000\n"
	               "2,4000100,8000100,4000000,4000100,7900100,0,3900000,100000\n",
	     0},
	    {"p/ascend_cluster_analyse_model-parallel_1_8_5.csv",
	     "computation,communication_alone_time\n30,10\n29,11\n29.5,10.5\n", 0},
	};
	JUDGED_AUTO j = {0};

	(void)state;
	read_files(files, COUNT(files), &j.p);
	assert_int_equal(j.p.captures[0].iteration_count, 2);
	assert_int_equal(j.p.captures[0].step_count, 2);
	judge(&j);
	assert_int_equal(j.b.count, 3);
	assert_true(j.b.rows[0].step_ns == 40000000 && j.b.rows[0].exposed_ns == 10000000);
	assert_true(j.b.rows[1].step == 2 && j.b.rows[1].exposed_ns == 11000000);
}

#define ON_CORE(tid, name, ts, dur)                                                                          \
	"{\"name\": \"" name "\", \"ph\": \"X\", \"tid\": \"" tid "\", \"ts\": " ts ", \"dur\": " dur        \
	", \"pid\": 3, \"args\": {\"fullname\": \"Default/" name "\"}}"

/* Steps and scopes lie over the operators in them, and the set-up of the data runs long before: neither is
 * compute. 4 + 2 us are, of 12. */
static void steps_and_scopes_are_no_compute(void **state)
{
	static const char text[] =
	    "[" ON_CORE("7", "MatMul-op1", "0", "4") "," ON_CORE("7", "Cast-op2", "10", "2") "," ON_CORE(
	        "100000", "1", "0", "12") "," ON_CORE("100001", "Default", "0",
	                                              "12") "," ON_CORE("7", "InitDataSetQueue", "5",
	                                                                "3") "]";
	JUDGED_AUTO j = {0};

	(void)state;
	read_one("p/ascend_timeline_display_3.json", text, &j.p);
	judge(&j);
	assert_int_equal(j.b.count, 1);
	assert_true(j.b.rows[0].compute_ns == 6000 && j.b.rows[0].span_ns == 12000 &&
	            j.b.rows[0].free_ns == 6000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(step_traces_are_exact),
	    cmocka_unit_test(a_step_trace_alone_gives_steps_and_communication),
	    cmocka_unit_test(broken_rows_of_a_step_trace_are_left_out),
	    cmocka_unit_test(ids_make_captures),
	    cmocka_unit_test(a_renamed_file_is_known_by_its_content),
	    cmocka_unit_test(bounds_may_be_of_one_id),
	    cmocka_unit_test(iterations_told_twice_count_once),
	    cmocka_unit_test(steps_and_scopes_are_no_compute),
	    cmocka_unit_test(pipelines_have_queues),
	    cmocka_unit_test(other_files_of_its_folder_are_named),
	    cmocka_unit_test(pipelines_in_json_count_once),
	    cmocka_unit_test(host_queues_tell_times_and_sizes),
	    cmocka_unit_test(iterator_queues_may_be_short),
	    cmocka_unit_test(device_queues_are_seen_by_get_next),
	};

	return cmocka_run_group_tests_name("mindinsight", tests, NULL, NULL);
}
