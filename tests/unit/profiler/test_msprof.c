#include "profiler/breakdown.h"
#include "profiler/read/msprof.h"
#include "tests/unit/profiler/msprof_text.h"

static void expect_key(const char *path, const char *want)
{
	char key[256];

	msprof_key(path, key, sizeof(key));
	assert_string_equal(key, want);
}

static void keys_follow_the_layout(void **state)
{
	(void)state;
	expect_key("a/PROF_1/mindstudio_profiler_output/op_summary_20250109084453.csv", "a/PROF_1");
	expect_key("PROF_1/mindstudio_profiler_output/op_summary_slice_3_20250109084453.csv", "PROF_1");
	expect_key("h_ascend_pt/PROF_1/mindstudio_profiler_output/msprof_20250109084453.json", "h_ascend_pt");
	/* before 2023 each device has its own folder */
	expect_key("PROF_1/device_3/summary/op_summary_3_1_1.csv", "PROF_1/device_3");
	expect_key("device_3/timeline/msprof_3_1_1.json", "device_3");
	expect_key("mindstudio_profiler_output/api_statistic_20250109084453.csv", ".");
	expect_key("x/mindstudio_profiler_output/api_statistic_20250109084453.csv", "x");
	/* loose files: a stamp tells which belong together, another number may be a rank */
	expect_key("x/op_summary_20250109084453.csv", "x");
	expect_key("x/op_summary_1.csv", "x/op_summary_1.csv");
	expect_key("x/mine.csv", "x/mine.csv");
	assert_false(msprof_path("x/step_trace_time.csv"));
	assert_false(msprof_path("x/op_statistic.csv"));
	assert_true(msprof_path("x/op_statistic_1.csv"));
}

static void op_summary_is_kernel_details_with_other_names(void **state)
{
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv",
	     OP_HEADER OP_ROW("a", "MatMulV2", "AI_CORE", "1736413971558972.912", "81.441")
	         COMM_ROW("hcom_allReduce__586_0_1", "1736413971558999.5", "100"),
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.count, 1);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_MSPROF_TEXT);
	assert_string_equal(c->source, "PROF_000001_20250109084453123_ABCDEFGH");
	assert_int_equal(c->kernel_count, 2);
	assert_true(c->kernels[0].start_ns == INT64_C(1736413971558972912) && c->kernels[0].dur_ns == 81441);
	assert_true(c->kernels[0].wait_ns == 6958620 && c->kernels[0].block_dim == 24);
	assert_true(c->kernels[0].step == SB_NULL && !c->kernels[0].communication);
	assert_string_equal(text_of(c, c->kernels[0].name), "a");
	assert_string_equal(text_of(c, c->kernels[0].type), "MatMulV2");
	assert_string_equal(text_of(c, c->kernels[0].core), "AI_CORE");
	assert_string_equal(text_of(c, c->kernels[0].input_shapes), "8,16");
	assert_true(c->kernels[0].pipe_ratio == 0.5f);
	assert_true(c->kernels[1].communication);
	assert_int_equal(p.warnings.count, 0);
}

static void old_op_summary_names_the_iteration(void **state)
{
	const struct text_file files[] = {
	    {PROF "device_0/summary/op_summary_0_1_1.csv",
	     "Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time,Task "
	     "Duration(us),Task Wait Time(us),Block Dim\n"
	     "resnet,1,5,2,4,conv1,Conv2D,AI_CORE,56600000001.25,10,1.5,32\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_all(files, 1, &p);
	k = p.captures[0].kernels;
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_true(k->start_ns == INT64_C(56600000001250) && k->dur_ns == 10000 && k->step == 4);
	assert_int_equal(k->block_dim, 32);
}

#define TASK_HEADER                                                                                          \
	"Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
#define SHORT_HEADER "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
#define LABELS(pid, lane, device)                                                                            \
	"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" pid ",\"args\":{\"name\":\"" lane                 \
	"\"}},{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":" pid ",\"args\":{\"labels\":\"" device      \
	"\"}},"
#define SPAN(name, pid, ts, dur)                                                                             \
	"{\"name\":\"" name "\",\"ph\":\"X\",\"pid\":" pid ",\"tid\":0,\"ts\":\"" ts "\",\"dur\":" dur "}"

/* One process drives two devices: each has rows in both slices, in task_time and on the timeline. */
static void devices_are_kept_apart(void **state)
{
	const struct text_file files[] = {
	    {OUT "op_summary_slice_0_20250109084453.csv",
	     SHORT_HEADER "0,a,Add,AI_CORE,1,1\n3,a,Add,AI_CORE,1,1\n3,b,Add,AI_CORE,9,1\n", 0},
	    {OUT "op_summary_slice_1_20250109084453.csv", SHORT_HEADER "3,c,Add,AI_CORE,12,1\n", 0},
	    {OUT "task_time_20250109084453.csv",
	     TASK_HEADER "0,a,AI_CORE,2,1,1,1\t,2\t\n3,a,AI_CORE,2,1,1,1\t,2\t\n", 0},
	    {OUT "msprof_20250109084453.json",
	     "[" LABELS("1", "Overlap Analysis", "NPU 0") LABELS("2", "Overlap Analysis", "NPU 3")
	         LABELS("3", "CANN", "CPU") SPAN("Computing", "1", "1.000", "1") "," SPAN(
	             "Computing", "2", "1.000", "2") "," SPAN("Node@launch", "3", "0.500", "0.25") "]",
	     0},
	    {OUT "api_statistic_20250109084453.csv",
	     "Device_id,Level,API Name,Time(us),Count\nhost,node,launch,12.5,2\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 5, &p);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.warnings.count, 0);
	for (size_t i = 0; i < 2; i++) {
		const struct capture *c = &p.captures[i];
		int64_t dur = 0;

		assert_string_equal(c->source, i == 0 ? "PROF_000001_20250109084453123_ABCDEFGH#0"
		                                      : "PROF_000001_20250109084453123_ABCDEFGH#3");
		assert_true(c->rank == SB_NULL && c->format == FORMAT_MSPROF_TEXT);
		assert_int_equal(c->kernel_count, i == 0 ? 1 : 3);
		assert_string_equal(text_of(c, c->kernels[c->kernel_count - 1].name), i == 0 ? "a" : "c");
		/* the host's call is in both */
		assert_int_equal(c->trace.count, 2);
		assert_int_equal(c->api_count, 1);
		for (size_t k = 0; k < 2; k++)
			if (c->trace.kind[k] == EVENT_LANE_COMPUTE)
				dur += c->trace.dur_ns[k];
		assert_true(dur == (i == 0 ? 1000 : 2000));
	}
}

/* A rank of the PyTorch profiler has one device. */
static void several_devices_of_a_rank_are_told(void **state)
{
	const struct text_file files[] = {
	    {"h_1_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     "Device_id,Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
	     "0,1,a,Add,AI_CORE,1,1\n1,1,a,Add,AI_CORE,1.5,1\n1,1,b,Add,AI_CORE,9,1\n",
	     0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.captures[0].kernel_count, 3);
	assert_true(warning_of(&p, "several_devices") && warning_of(&p, "several_devices")->count == 2);
}

/* The same rows in one table and in slices, whatever their order. */
static void slices_are_one_table(void **state)
{
#define FIRST OP_ROW("a", "Add", "AI_VECTOR_CORE", "100", "10")
#define SECOND OP_ROW("b", "Mul", "AI_VECTOR_CORE", "120", "20")
#define THIRD OP_ROW("c", "Sub", "AI_VECTOR_CORE", "150", "30")
	const struct text_file one[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER FIRST SECOND THIRD, 0}};
	const struct text_file cut[] = {
	    {OUT "op_summary_slice_2_20250109084453.csv", OP_HEADER THIRD, 0},
	    {OUT "op_summary_slice_0_20250109084453.csv", OP_HEADER FIRST, 0},
	    {OUT "op_summary_slice_1_20250109084453.csv", OP_HEADER SECOND, 0},
	};
	PROFILE_AUTO whole = {0};
	PROFILE_AUTO sliced = {0};

	(void)state;
	read_all(one, 1, &whole);
	read_all(cut, 3, &sliced);
	assert_int_equal(sliced.count, 1);
	assert_int_equal(sliced.captures[0].kernel_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct kernel *a = &whole.captures[0].kernels[i], *b = &sliced.captures[0].kernels[i];

		assert_true(a->start_ns == b->start_ns && a->dur_ns == b->dur_ns);
		assert_string_equal(text_of(&whole.captures[0], a->name),
		                    text_of(&sliced.captures[0], b->name));
	}
	assert_int_equal(sliced.warnings.count, 0);
}

#define TASKS                                                                                                \
	TASK_HEADER "0,a,AI_CORE,2,1,10.5,100.5\t,111\t\n0,N/A,EVENT_RECORD,2,2,0,111\t,111\t\n"             \
	            "0,N/A,NOTIFY_WAIT,3,2,5,111\t,116\t\n0,b,KERNEL_AIVEC,2,3,1,200\t,201\t\n"

static void task_time_stands_in_for_op_summary(void **state)
{
	const struct text_file files[] = {{OUT "task_time_20250109084453.csv", TASKS, 0},
	                                  {OUT "op_summary_20250109084453.csv",
	                                   OP_HEADER OP_ROW("a", "Add", "AI_CORE", "100.5", "10.5"), 0}};
	PROFILE_AUTO alone = {0};
	PROFILE_AUTO both = {0};

	(void)state;
	read_all(files, 1, &alone);
	assert_int_equal(alone.captures[0].kernel_count, 2);
	assert_true(alone.captures[0].kernels[0].start_ns == 100500 &&
	            alone.captures[0].kernels[0].dur_ns == 10500);
	assert_string_equal(text_of(&alone.captures[0], alone.captures[0].kernels[1].core), "KERNEL_AIVEC");
	/* op_summary has the same kernels with more columns: they must not count twice */
	read_all(files, 2, &both);
	assert_int_equal(both.captures[0].kernel_count, 1);
	assert_string_equal(text_of(&both.captures[0], both.captures[0].kernels[0].type), "Add");
}

static void old_task_time_is_left_out(void **state)
{
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "100.5", "10.5"),
	     0},
	    {OUT "task_time_20250109084453.csv",
	     "Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Waiting(us)\n1,2,3,4,5,6,7\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.left_out_count, 1);
	assert_non_null(strstr(p.left_out[0].reason, "sums only"));
}

#define STEP_HEADER                                                                                          \
	"Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP "      \
	"Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce "                \
	"Duration(us),Reduce Start(us),Reduce Duration(us)\n"

static void step_trace_repeats_its_reduce_columns(void **state)
{
	const struct text_file files[] = {
	    {OUT "step_trace_20250109084453.csv",
	     STEP_HEADER "0,1,1000.5\t,1800\t,2000\t,999.5,799.5,200,N/A,1,1700\t,50,1850\t,100.25\n"
	                 "0,2,18446744073709551615,0,3000\t,1000,N/A,N/A,10,1,2700\t,60,N/A,N/A\n",
	     0},
	    {OUT "op_summary_20250109084453.csv",
	     OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1000.5", "700")
	         OP_ROW("b", "Add", "AI_CORE", "2100", "100"),
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;
	struct sb_error err = {0};
	struct warnings w = {0};
	struct breakdown b = {0};

	(void)state;
	read_all(files, 2, &p);
	c = &p.captures[0];
	assert_int_equal(c->step_count, 2);
	assert_true(c->steps[0].number == 1 && c->steps[0].start_ns == 1000500 &&
	            c->steps[0].dur_ns == 999500);
	/* neither a counter at its end nor N/A stands in the way of the window */
	assert_true(c->steps[1].number == 2 && c->steps[1].start_ns == 2000000);
	assert_int_equal(c->kernel_count, 5);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(breakdown_compute(&p, &w, &b, &err), SB_OK);
	/* step 1: 700 us of computing up to 1700.5, collectives 1700..1750 and 1850..1950.25: 0.5 us overlap
	 */
	assert_true(b.rows[0].step == 1 && b.rows[0].compute_ns == 700000);
	assert_true(b.rows[0].communication_ns == 150250 && b.rows[0].overlap_ns == 500);
	assert_true(b.rows[0].span_ns == 949750);
	breakdown_free(&b);
	free(w.items);
}

static void reduces_of_op_summary_win(void **state)
{
	const struct text_file files[] = {
	    {OUT "step_trace_20250109084453.csv",
	     STEP_HEADER "0,1,1000\t,1800\t,2000\t,1000,800,200,N/A,1,1700\t,50,1850\t,100\n", 0},
	    {OUT "op_summary_20250109084453.csv",
	     OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1000", "700") COMM_ROW(
	         "hcom_allReduce__1_0_1", "1700", "50") COMM_ROW("hcom_allReduce__1_1_1", "1850", "100"),
	     0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.captures[0].kernel_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(p.captures[0].kernels[i].origin, KERNEL_ROW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_follow_the_layout),
	    cmocka_unit_test(op_summary_is_kernel_details_with_other_names),
	    cmocka_unit_test(old_op_summary_names_the_iteration),
	    cmocka_unit_test(devices_are_kept_apart),
	    cmocka_unit_test(several_devices_of_a_rank_are_told),
	    cmocka_unit_test(slices_are_one_table),
	    cmocka_unit_test(task_time_stands_in_for_op_summary),
	    cmocka_unit_test(old_task_time_is_left_out),
	    cmocka_unit_test(step_trace_repeats_its_reduce_columns),
	    cmocka_unit_test(reduces_of_op_summary_win),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
