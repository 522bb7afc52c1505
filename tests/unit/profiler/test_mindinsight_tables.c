#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "tests/unit/profiler/made_mindinsight.h"

static int row_of(const struct operator_table *t, bool by_name, const char *name, struct operator_line *out)
{
	const struct operator_query query = {.rank = SB_NULL, .step = SB_NULL, .by_name = by_name};
	struct operator_line *lines = NULL;
	size_t count = 0;
	int found = 0;

	assert_int_equal(operators_select(t, &query, &lines, &count), SB_OK);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(sb_strings_get(t->strings, lines[i].row.name, NULL), name) != 0)
			continue;
		*out = lines[i];
		found++;
	}
	free(lines);
	return found;
}

/* Sums have no least and no longest call. Operators are told apart as far as they add up to their type; calls
 * on the AI CPU are known one by one. */
static void sums_answer_for_operators(void **state)
{
	static const struct text_file files[] = {
	    {"p/aicore_intermediate_0_type.csv",
	     "kernel_type,total_time,execution_frequency,percent\n"
	     "MatMul,2.807820000000000064,25,57.60\nCast,0.00015,3,0.00\nAdd,0.002,2,1\n",
	     0},
	    {"p/aicore_intermediate_0_detail.csv",
	     "full_kernel_name,execution_time,execution_frequency\n"
	     "Default/net/MatMul-op1,0.1,20\nDefault/Cast-op3,5e-05,3\nDefault/Fused,0.5,1\n"
	     "Default/Add-op9,1,9\n",
	     0},
	    {"p/framework_raw_0.csv",
	     "task_id,stream_id,block_dim,full_kernel_name,op_name,kernel_name,kernel_type,subgraph,op_info\n"
	     "2,8,1,Default/Fused,Default/Fused,Fused,Mul,Default,\"{\"\"input_0\"\": {\"\"shape\"\": "
	     "[1]}}\"\n",
	     0},
	    {"p/aicpu_intermediate_0.csv",
	     "serial_number,kernel_type,total_time,dispatch_time,execution_time,run_start,run_end\n"
	     "1,GetNext,0.888,0.132,0.22,154907895189,154907895707\n2,GetNext,0.293,0.073,0.22,1,2\n",
	     0},
	};
	JUDGED_AUTO j = {0};
	struct operator_line l = {0};

	(void)state;
	read_files(files, COUNT(files), &j.p);
	assert_int_equal(j.p.count, 1);
	judge(&j);
	assert_int_equal(row_of(&j.o, false, "MatMul", &l), 1);
	assert_true(l.row.total_ns == 2807820 && l.row.count == 25 && l.row.min_ns == SB_NULL &&
	            l.row.max_ns == SB_NULL && l.row.step == SB_NULL);
	assert_int_equal(row_of(&j.o, true, "Default/net/MatMul-op1", &l), 1);
	assert_true(l.row.total_ns == 2000000 && l.row.count == 20);
	/* what the one operator leaves over */
	assert_int_equal(row_of(&j.o, true, "MatMul", &l), 1);
	assert_true(l.row.total_ns == 807820 && l.row.count == 5);
	assert_int_equal(row_of(&j.o, true, "Default/Cast-op3", &l), 1);
	assert_true(l.row.total_ns == 150 && l.row.count == 3);
	assert_int_equal(row_of(&j.o, true, "Cast", &l), 0);
	/* operators that go beyond their type are of another run */
	assert_int_equal(row_of(&j.o, true, "Default/Add-op9", &l), 0);
	assert_int_equal(row_of(&j.o, false, "Add", &l), 1);
	assert_true(l.row.total_ns == 2000);
	assert_int_equal(row_of(&j.o, false, "Mul", &l), 1);
	assert_true(l.row.total_ns == 500000 && l.row.count == 1);
	assert_int_equal(row_of(&j.o, false, "GetNext", &l), 1);
	assert_true(l.row.count == 2 && l.row.total_ns == 1181000 && l.row.min_ns == 293000 &&
	            l.row.max_ns == 888000);
	assert_string_equal(sb_strings_get(j.o.strings, l.row.unit, NULL), "AI_CPU");
	assert_int_equal(j.a.count, 0);
}

/* The older names of the columns; no count of calls. */
static void older_sums_are_read(void **state)
{
	static const struct text_file files[] = {
	    {"p/aicore_intermediate_0_type.csv",
	     "op_type,execution_time,execution_frequency,percent\nAssignAdd,0.00492,3,0.02\n", 0},
	    {"p/aicore_intermediate_0_detail.csv",
	     "full_op_name,execution_time\nDefault/AssignAdd-op142,0.00219\n", 0},
	};
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO o = {0};
	struct operator_line l = {0};

	(void)state;
	read_files(files, COUNT(files), &p);
	assert_int_equal(operators_collect(&p, &o, NULL), SB_OK);
	assert_int_equal(row_of(&o, false, "AssignAdd", &l), 1);
	assert_true(l.row.total_ns == 4920 && l.row.count == 3);
	assert_int_equal(row_of(&o, true, "Default/AssignAdd-op142", &l), 1);
	assert_true(l.row.total_ns == 2190 && l.row.count == 1);
}

static const char HCCL[] = "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\r\n";

/* The rate in the file, the third number, is a sum of rates: sizes and times are what counts. */
static void communication_costs_become_operators(void **state)
{
	char text[2048];
	JUDGED_AUTO j = {0};
	const struct communication_op *op;

	(void)state;
	snprintf(
	    text, sizeof(text),
	    "%s"
	    "1,3.5,0.25,\"{\"\"1-0\"\": {\"\"SDMA\"\": [3.5, 700, 999999]}}\",\"{\"\"AllReduce-op1\"\": "
	    "[\"\"1\"\", 1.5, 0.25, {\"\"1-0\"\": {\"\"SDMA\"\": [1.0, 400, 400000]}, \"\"0-1\"\": "
	    "{\"\"SDMA\"\": [0.5, 100, 200000], \"\"RDMA\"\": [2, 64, 32000, 0.125], \"\"LOCAL\"\": [1, 1, "
	    "1]}}]}\"\r\n"
	    "2,2.0,0.5,\"{\"\"1-0\"\": {\"\"SDMA\"\": [2.0, 500, 250000]}}\",{}\r\n"
	    "3,2.0,0.5,\"{\"\"1-0\"\": {\"\"SDMA\"\": [2.0, 500, 25\",\r\n"
	    "-,3.0,0.4,\"{}\",\"{\"\"AllReduce-op1\"\": [\"\"-\"\", 1, 1, {}]}\"\r\n",
	    HCCL);
	read_one("p/hccl_raw_1.csv", text, &j.p);
	assert_int_equal(j.p.captures[0].communication_count, 2);
	op = &j.p.captures[0].communications[0];
	assert_true(op->step == 1 && isnan(op->elapse_us) && isnan(op->idle_us));
	assert_string_equal(text_of(&j.p.captures[0], op->name), "AllReduce-op1");
	is_near(op->transit_us, 1500);
	is_near(op->wait_us, 250);
	assert_int_equal(op->link_count, 2);
	assert_string_equal(op->links[0].name, "SDMA");
	assert_true(op->links[0].bytes == 500000 && op->links[1].bytes == 64000);
	is_near(op->links[0].transit_us, 1500);
	/* no list of operators: the step's sums */
	op = &j.p.captures[0].communications[1];
	assert_true(op->step == 2 && op->name == 0 && op->links[0].bytes == 500000);
	is_near(op->transit_us, 2000);
	assert_non_null(warning_of(&j.p, "bad_value"));
	judge(&j);
	assert_int_equal(j.c.row_count, 2);
	assert_true(isnan(j.c.rows[0].elapse_us) && j.c.rows[0].bytes == 564000);
	assert_int_equal(j.a.count, 0);
}

/* What is not there is unknown, not 0. */
static void links_without_numbers_are_left_out(void **state)
{
	char text[1024];
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	snprintf(
	    text, sizeof(text),
	    "%s"
	    "1,1e306,-0.25,{},\"{\"\"AllReduce-op1\"\": [\"\"1\"\", 1e306, -1, {\"\"1-0\"\": {\"\"HCCS\"\": "
	    "[\"\"x\"\", 5], \"\"PCIE\"\": 7, \"\"RDMA\"\": [1, null], \"\"SDMA\"\": [1, 2]}}]}\"\r\n"
	    "2,1e306,-0.25,{},\r\n",
	    HCCL);
	read_one("p/hccl_raw_1.csv", text, &p);
	assert_int_equal(p.captures[0].communication_count, 2);
	op = p.captures[0].communications;
	assert_true(isnan(op[0].transit_us) && isnan(op[0].wait_us));
	assert_true(isnan(op[1].transit_us) && isnan(op[1].wait_us) && op[1].link_count == 0);
	assert_int_equal(op[0].link_count, 1);
	assert_string_equal(op[0].links[0].name, "SDMA");
	assert_true(op[0].links[0].bytes == 2000);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 3);
}

/* "Computation" is the step without uncovered communication, idle time included: no compute time. The last of
 * several rows is the average. */
static void tables_of_a_cluster_give_uncovered_communication(void **state)
{
	JUDGED_AUTO j = {0};
	const struct breakdown_row *row;

	(void)state;
	read_one("p/ascend_cluster_analyse_pipeline-parallel_2_8_5.csv",
	         "computation_time,communication_alone_time,stage_time,receive_alone_time,"
	         "collective_communication_alone_time\n"
	         "70.5,29.5,90,10,19.5\n60,40,90,10,30\n65.25,34.75,90,10,24.75\n",
	         &j.p);
	assert_true(j.p.captures[0].rank == 5);
	judge(&j);
	assert_int_equal(j.b.count, 3);
	row = &j.b.rows[0];
	assert_true(row->step == 1 && row->step_ns == 100000000 && row->exposed_ns == 29500000);
	assert_true(row->span_ns == 90000000 && row->bubble_ns == 10000000);
	assert_true(row->compute_ns == SB_NULL && row->free_ns == SB_NULL &&
	            row->communication_ns == SB_NULL && row->busy_ns == SB_NULL);
	assert_true(j.b.rows[1].step == 2 && j.b.rows[2].step == SB_NULL);
	assert_null(warning_of(&j.p, "rounded_source"));
}

static void older_tables_of_a_cluster_are_read(void **state)
{
	PROFILE_AUTO one = {0};
	PROFILE_AUTO ticks = {0};
	const struct iteration *it;

	(void)state;
	read_one("p/ascend_cluster_analyse_model-parallel_1_2_1.csv",
	         "computation,communication_alone_time\n651.9051,1293.1231\n", &one);
	assert_int_equal(one.captures[0].step_trace_count, 1);
	assert_true(one.captures[0].step_traces[0].exposed == 1293123100 &&
	            one.captures[0].iterations[0].total_ns == 1945028200);
	/* blanks behind the commas, ticks of 10 ns */
	read_one("p/ascend_cluster_analyse_data-parallel_1_1_1.csv",
	         "iteration_interval, fp_and_bp, tail\n10, 2366808, 4097\n", &ticks);
	it = &ticks.captures[0].iterations[0];
	assert_true(it->interval_ns == 100 && it->forward_backward_ns == 23668080 && it->tail_ns == 40970 &&
	            it->total_ns == 23709150);
	assert_int_equal(ticks.captures[0].step_trace_count, 0);
}

#define EVENT(pid, tid, name, ts, dur)                                                                       \
	"{\"name\": \"" name "\", \"ph\": \"X\", \"tid\": \"" tid "\", \"ts\": " ts ", \"dur\": " dur        \
	", \"pid\": " pid ", \"args\": {\"fullname\": \"Default/" name "\"}}"

/* The timeline begins at 0; the communication that the step trace shows as well puts it on the other's clock,
 * and counts once. */
static void timelines_are_put_on_the_clock_of_the_steps(void **state)
{
	static const struct text_file files[] = {
	    {"p/step_trace_raw_0_detail_time.csv",
	     STEP_HEAD REDUCE("5_parallel_0") "\n1,1000,2000,1000,1000,1900,0,900,100,1500,1950,450\n"
	                                      "2,2000,3000,1000,2000,2900,0,900,100,2500,2950,450\n"
	                                      "3,3000,4000,1000,3000,3900,0,900,100,3500,3950,450\n",
	     0},
	    {"p/ascend_timeline_display_0.json",
	     "[" EVENT("0", "7", "MatMul-op1", "0.0", "7.5") "," EVENT(
	         "0", "7", "Cast-op2", "8.0",
	         "0.99999999") "," EVENT("0", "7", "MatMul-op1", "10.0",
	                                 "9.0") "," EVENT("0", "7", "MatMul-op1", "20.0",
	                                                  "1.0") "," EVENT("9000", "0", "InitData", "0",
	                                                                   "0.5") ","
	                                                                          "{\"name\": "
	                                                                          "\"stream_5_parallel_0\", "
	                                                                          "\"ph\": \"X\", \"tid\": "
	                                                                          "5, \"ts\": 5.00000001, "
	                                                                          "\"dur\": 4.5, \"pid\": "
	                                                                          "10000},"
	                                                                          "{\"name\": "
	                                                                          "\"stream_5_parallel_0\", "
	                                                                          "\"ph\": \"X\", \"tid\": "
	                                                                          "5, \"ts\": 15.0, \"dur\": "
	                                                                          "4.5, \"pid\": 10000},"
	                                                                          "{\"name\": "
	                                                                          "\"stream_5_parallel_0\", "
	                                                                          "\"ph\": \"X\", \"tid\": "
	                                                                          "5, \"ts\": 25.0, \"dur\": "
	                                                                          "4.5, \"pid\": 10000}]",
	     0},
	};
	JUDGED_AUTO j = {0};
	const struct breakdown_row *row;
	struct operator_line l = {0};

	(void)state;
	read_files(files, COUNT(files), &j.p);
	assert_int_equal(j.p.captures[0].trace.count, 8);
	assert_null(warning_of(&j.p, "clock_unknown"));
	judge(&j);
	row = &j.b.rows[0];
	/* 0 of the timeline is tick 1000; kernels 0..7.5 and 8..9, communication 5..9.5 us */
	assert_true(row->step == 1 && row->step_ns == 10000 && row->compute_ns == 8500 &&
	            row->communication_ns == 4500 && row->overlap_ns == 3500 && row->exposed_ns == 1000);
	assert_true(row->span_ns == 9500 && row->free_ns == 0);
	assert_true(j.b.rows[1].compute_ns == 9000);
	/* the timeline ends inside step 3: what it does not show is no free time */
	assert_true(j.b.rows[2].step == 3 && j.b.rows[2].compute_ns == SB_NULL &&
	            j.b.rows[2].free_ns == SB_NULL && j.b.rows[2].communication_ns == 4500);
	assert_true(j.b.rows[3].compute_ns == SB_NULL && j.b.rows[3].communication_ns == 13500);
	assert_int_equal(row_of(&j.o, false, "MatMul", &l), 1);
	assert_true(l.row.count == 3 && l.row.min_ns == 1000 && l.row.max_ns == 9000);
	assert_true(left_open(&j, "io.fetching"));
}

static void two_clocks_are_not_mixed(void **state)
{
	static const struct text_file files[] = {
	    {"p/step_trace_raw_0_detail_time.csv", STEP_HEAD "\n1,1000,2000,1000,1000,1900,0,900,100\n", 0},
	    {"p/ascend_timeline_display_0.json",
	     "[" EVENT("0", "7", "MatMul-op1", "0.0", "1.0") "," EVENT("0", "7", "Cast-op2", "900.0",
	                                                               "1.0") "]",
	     0},
	};
	JUDGED_AUTO j = {0};

	(void)state;
	read_files(files, COUNT(files), &j.p);
	assert_non_null(warning_of(&j.p, "clock_unknown"));
	judge(&j);
	assert_int_equal(j.b.count, 2);
	assert_true(j.b.rows[0].step_ns == 10000 && j.b.rows[0].compute_ns == SB_NULL);
	assert_true(j.b.rows[1].free_ns == SB_NULL && j.b.rows[1].compute_ns == SB_NULL);
	assert_int_equal(j.o.count, 2);
	assert_int_equal(j.a.count, 0);
}

/* Processes and threads by their numbers; alone, a timeline is judged as any other. */
static void lanes_of_a_timeline_are_known_by_numbers(void **state)
{
	static const char text[] =
	    "[" EVENT("3", "7", "MatMul-op1", "0", "4") "," EVENT("10000", "9", "AllReduce-op2", "2", "6") "," EVENT(
	        "12000", "7999", "Merged", "0",
	        "4") "," EVENT("12000", "8001", "Merged", "2",
	                       "6") "," EVENT("12000", "8000", "Pure", "4",
	                                      "4") "," EVENT("12000", "8002", "Free", "8",
	                                                     "2") "," EVENT("3", "100000", "1", "0",
	                                                                    "10") "," EVENT("11000", "0",
	                                                                                    "HostOp", "0",
	                                                                                    "1") "," EVENT("3",
	                                                                                                   "7",
	                                                                                                   "B"
	                                                                                                   "a"
	                                                                                                   "d"
	                                                                                                   "-"
	                                                                                                   "o"
	                                                                                                   "p"
	                                                                                                   "3",
	                                                                                                   "1",
	                                                                                                   "-"
	                                                                                                   "4") "]";
	JUDGED_AUTO j = {0};
	const struct breakdown_row *row;

	(void)state;
	read_one("p/ascend_timeline_display_3.json", text, &j.p);
	assert_non_null(warning_of(&j.p, "negative_duration"));
	judge(&j);
	assert_int_equal(j.b.count, 1);
	row = &j.b.rows[0];
	assert_true(row->device == 3 && row->compute_ns == 4000 && row->communication_ns == 6000 &&
	            row->exposed_ns == 4000 && row->free_ns == 2000 && row->span_ns == 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_answer_for_operators),
	    cmocka_unit_test(older_sums_are_read),
	    cmocka_unit_test(communication_costs_become_operators),
	    cmocka_unit_test(links_without_numbers_are_left_out),
	    cmocka_unit_test(tables_of_a_cluster_give_uncovered_communication),
	    cmocka_unit_test(older_tables_of_a_cluster_are_read),
	    cmocka_unit_test(timelines_are_put_on_the_clock_of_the_steps),
	    cmocka_unit_test(two_clocks_are_not_mixed),
	    cmocka_unit_test(lanes_of_a_timeline_are_known_by_numbers),
	};

	return cmocka_run_group_tests_name("mindinsight_tables", tests, NULL, NULL);
}
