/* What the research page ascend-formats (1 to 3) and trace-formats (3) tell of Ascend's files, as far as the
 * other tests do not show it already. */
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#include <stdio.h>

#include "base/buf.h"

#define DIR "h_1_20250109084453123_ascend_pt/"
#define OUT DIR "ASCEND_PROFILER_OUTPUT/"

static void read_all(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

static void read_one(const char *path, const char *text, struct profile *p)
{
	const struct text_file f = {path, text, 0};

	read_all(&f, 1, p);
	assert_int_equal(p->count, 1);
}

#define NAMED(what, pid, tid, name)                                                                          \
	"{\"ph\":\"M\",\"name\":\"" what "\",\"pid\":" pid ",\"tid\":" tid ",\"args\":{\"name\":\"" name     \
	"\"}}"
#define SPAN(name, pid, tid, ts, dur, more)                                                                  \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" ts                   \
	"\",\"dur\":" dur more "}"

/* trace-formats 3.1, ascend-formats 1.2: what runs on the cores is work, what waits or only marks is none. */
static void task_types_tell_work_from_waiting(void **state)
{
	static const struct {
		const char *type;
		enum event_kind kind;
	} TYPES[] = {{"AI_CORE", EVENT_KERNEL},
	             {"AI_VECTOR_CORE", EVENT_KERNEL},
	             {"MIX_AIC", EVENT_KERNEL},
	             {"MIX_AIV", EVENT_KERNEL},
	             {"AI_CPU", EVENT_KERNEL},
	             {"DSA_SQE", EVENT_KERNEL},
	             {"Notify Wait", EVENT_DEVICE_WAIT},
	             {"EVENT_WAIT_SQE", EVENT_DEVICE_WAIT},
	             {"EVENT_RECORD_SQE", EVENT_DEVICE_OTHER},
	             {"PLACE_HOLDER_SQE", EVENT_DEVICE_OTHER},
	             {"Write Value", EVENT_DEVICE_OTHER},
	             {"SDMA", EVENT_DEVICE_OTHER}};

	(void)state;
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		PROFILE_AUTO p = {0};
		char text[600];

		snprintf(text, sizeof(text),
		         "[%s,{\"ph\":\"X\",\"name\":\"x\",\"pid\":2,\"tid\":1,\"ts\":\"1.000\",\"dur\":2,"
		         "\"args\":{\"Task Type\":\"%s\"}}]",
		         NAMED("process_name", "2", "0", "Ascend Hardware"), TYPES[i].type);
		read_one(OUT "trace_view.json", text, &p);
		if (p.captures[0].trace.kind[0] != TYPES[i].kind)
			fail_msg("%s: %d", TYPES[i].type, p.captures[0].trace.kind[0]);
	}
}

/* 1.12: newer files call the process Communication; only the rows of the groups count, not the planes below
 * them, nor the tasks of the planes that stand on streams again. */
static void the_rows_of_the_groups_count(void **state)
{
	static const char *const PROCESSES[] = {"HCCL", "Communication"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		JUDGED_AUTO j = {0};
		char text[2000];

		snprintf(text, sizeof(text),
		         "[%s,{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":"
		         "\"%s\"}},"
		         "%s,%s,%s,%s,%s,%s]",
		         NAMED("process_name", "2", "0", "Ascend Hardware"), PROCESSES[i],
		         NAMED("thread_name", "3", "0", "Group 1 Communication"),
		         NAMED("thread_name", "3", "1", "Plane 0"),
		         SPAN("hcom_allGather__1_0_1", "3", "0", "10.000", "20", ""),
		         SPAN("Memcpy", "3", "1", "11.000", "9", ",\"args\":{\"size(Byte)\":5}"),
		         SPAN("Memcpy", "2", "5", "11.000", "9", ",\"args\":{\"Task Type\":\"SDMA\"}"),
		         SPAN("Notify_Wait", "2", "5", "20.000", "90",
		              ",\"args\":{\"Task Type\":\"Notify Wait\"}"));
		read_one(OUT "trace_view.json", text, &j.p);
		judge(&j);
		assert_int_equal(j.p.captures[0].trace.kind[0], EVENT_COMMUNICATION);
		assert_int_equal(j.p.captures[0].trace.kind[1], EVENT_COMMUNICATION_TASK);
		assert_int_equal(j.b.rows[0].communication_ns, 20000);
		assert_int_equal(j.b.rows[0].span_ns, 20000);
	}
}

/* 1.12: the garbage collector has a process of its own, and is the host's. */
static void garbage_collection_is_a_host_event(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_one(OUT "trace_view.json",
	         "[" NAMED("process_name", "7", "0", "Python GC") "," SPAN("GC", "7", "1", "1.000", "1000",
	                                                                   ",\"cat\":\"GC\"") "]",
	         &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->kind[0], EVENT_HOST_ANNOTATION);
	assert_string_equal(trace_text(t, t->name[0], NULL), "GC");
	assert_int_equal(t->lanes[t->lane[0]].device, -1);
}

/* 1: the rank of a directory's name is none (inference servers), and the older stamp has no milliseconds. */
static void names_of_directories(void **state)
{
	static const struct text_file server[] = {
	    {"dp0_pp0_tp0_dcp0_ep0_rank0_99_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/"
	     "kernel_details.csv",
	     "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,10,5\n", 0},
	    {"dp1_pp0_tp0_dcp0_ep0_rank0_98_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/"
	     "kernel_details.csv",
	     "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,10,7\n", 0}};
	static const struct text_file stamps[] = {
	    {"h_1_20250109084453_ascend_pt/profiler_info_3.json", "{\"rank_id\": 3}", 0},
	    {"h_1_20250109084453_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     "Name,Accelerator Core,Start Time(us),Duration(us)\nold,AI_CORE,10,5\n", 0},
	    {"h_1_20250109084453123_ascend_pt/profiler_info_3.json", "{\"rank_id\": 3}", 0},
	    {"h_1_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     "Name,Accelerator Core,Start Time(us),Duration(us)\nnew,AI_CORE,10,5\n", 0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_all(server, 2, &p);
	assert_int_equal(p.count, 2);
	assert_null(warning_of(&p, "rank_conflict"));
	read_all(stamps, 4, &q);
	assert_int_equal(q.count, 1);
	assert_string_equal(text_of(&q.captures[0], q.captures[0].kernels[0].name), "new");
	assert_non_null(warning_of(&q, "rank_conflict"));
}

/* 1.2, 1.4: a quoted name may hold the whole call stack, lines and all; dtypes may be UNDEFINED. */
static void a_name_may_have_many_lines(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_one(
	    "k_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	    "Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Data Types\r\n"
	    "\"Default/MatMul-op1;\r\n/a.py(3): f;\r\n/b.py(4), g\",MatMul,AI_CORE,10,5,UNDEFINED;FLOAT\r\n"
	    "b,Add,AI_CORE,20,5,DT_BF16\r\n",
	    &p);
	c = &p.captures[0];
	assert_int_equal(c->kernel_count, 2);
	assert_string_equal(text_of(c, c->kernels[0].name),
	                    "Default/MatMul-op1;\r\n/a.py(3): f;\r\n/b.py(4), g");
	assert_string_equal(text_of(c, c->kernels[0].input_types), "UNDEFINED;FLOAT");
	assert_true(c->kernels[1].start_ns == 20000);
	assert_int_equal(p.warnings.count, 0);
}

/* 1.3: Device_id stands in front in newer versions; 1.5: names of levels old and new. */
static void tables_of_sums_in_newer_versions(void **state)
{
	static const struct text_file files[] = {
	    {OUT "op_statistic.csv",
	     "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max "
	     "Time(us),Ratio(%)\n0,Add,AI_VECTOR_CORE,3,6.5,2,2.167,2.5,100\n",
	     0},
	    {OUT "api_statistic.csv",
	     "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
	     "0,communication,hcom_allReduce_,2,1,2,2,2,0\n0,model,ModelExecute,3,1,3,3,3,0\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_all(files, 2, &p);
	c = &p.captures[0];
	assert_true(c->op_statistic_count == 1 && c->op_statistics[0].total_ns == 6500 &&
	            c->op_statistics[0].max_ns == 2500);
	assert_int_equal(c->api_count, 2);
	assert_string_equal(text_of(c, c->apis[0].level), "communication");
	assert_null(warning_of(&p, "bad_value"));
	assert_null(warning_of(&p, "unknown_column"));
}

/* 1.9: what a link says of itself may be an int or a double, under all five names; SDMA has no sizes. */
static void every_link_is_known(void **state)
{
	static const char *const LINKS[] = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"};
	SB_BUF_AUTO text;
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	sb_buf_init(&text, 1 << 16);
	sb_buf_adds(&text, "{\"step50\": {\"p2p\": {}, \"collective\": {\"hcom_allReduce__586_0_1@9\": "
	                   "{\"Communication Bandwidth Info\": {");
	for (size_t i = 0; i < 5; i++)
		sb_buf_addf(&text,
		            "%s\"%s\": {\"Transit Size(MB)\": %zu, \"Transit Time(ms)\": 1.0, "
		            "\"Bandwidth(GB/s)\": 1, \"Large Packet Ratio\": %s, \"Size Distribution\": %s}",
		            i ? ", " : "", LINKS[i], i, i == 3 ? "0" : "0.0",
		            i == 3 ? "{}" : "{\"2.5\": [2, 0.5]}");
	sb_buf_adds(&text, "}}}}}");
	read_one(OUT "communication.json", text.data, &p);
	op = p.captures[0].communications;
	assert_int_equal(op->link_count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct link *l = &op->links[4 - i]; /* most bytes first */

		assert_string_equal(l->name, LINKS[i]);
		assert_int_equal(l->bytes, i * 1000000);
		assert_int_equal(l->packet_count, i == 3 ? 0 : 1);
		assert_true(l->large_packet_ratio == 0);
	}
	assert_null(warning_of(&p, "bad_value"));
}

/* 1.8, 2.1, 2.2, 3: files that are known and not read are named with the reason, and spoil nothing. */
static void files_beside_the_capture_are_named(void **state)
{
	static const struct text_file files[] = {
	    {OUT "kernel_details.csv", "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,10,5\n",
	     0},
	    {OUT "data_preprocess.csv",
	     "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),"
	     "Total_time(us),Stream ID,Task ID\n0,1,GetNext,2,3,4,5,6,7,8\n",
	     0},
	    {OUT "hccs.csv", "Device_id,Mode,Max,Min,Average\n0,Tx,1,1,1\n", 0},
	    {OUT "pcie.csv", "Device_id,Mode,Min,Max,Avg\n0,Tx,1,1,1\n", 0},
	    {OUT "hbm.csv", "Device_id,Metric,Read(MB/s),Write(MB/s)\n0,Average,1,1\n", 0},
	    {OUT "roce.csv",
	     "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s\n0,1,2,3,4\n", 0},
	    {OUT "l2_cache.csv", "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,1.2,a\n", 0},
	    {OUT "communication_matrix.json",
	     "{\"step\": {\"collective\": {\"allReduce-top1@1\": {\"0-1\": {\"Transport Type\": "
	     "\"HCCS\"}}}}}",
	     0},
	    {OUT "process_cpu_usage.csv", "PID,CPU(%),Memory(%)\n1,2,3\n", 0},
	    {DIR "FRAMEWORK/torch.op_range", "\1\2\3", 3},
	    {DIR "logs/a.log", "x", 0},
	};
	enum { COUNT = sizeof(files) / sizeof(files[0]) };
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, COUNT, &p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_int_equal(p.left_out_count, COUNT - 1);
	for (size_t i = 0; i < p.left_out_count; i++)
		assert_true(strlen(p.left_out[i].reason) > 10);
	assert_int_equal(p.warnings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(task_types_tell_work_from_waiting),
	    cmocka_unit_test(the_rows_of_the_groups_count),
	    cmocka_unit_test(garbage_collection_is_a_host_event),
	    cmocka_unit_test(names_of_directories),
	    cmocka_unit_test(a_name_may_have_many_lines),
	    cmocka_unit_test(tables_of_sums_in_newer_versions),
	    cmocka_unit_test(every_link_is_known),
	    cmocka_unit_test(files_beside_the_capture_are_named),
	};

	return cmocka_run_group_tests_name("ascend page", tests, NULL, NULL);
}
