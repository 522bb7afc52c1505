/* What the research page ascend-formats (1 and 1.4 to 1.11) tells of the files of a capture and their names,
 * as far as the other tests do not show it. */
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#define DIR "h_1_20250109084453123_ascend_pt/"
#define OUT DIR "ASCEND_PROFILER_OUTPUT/"
#define KERNELS "Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void read_all(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

static const char *reason_of(const struct profile *p, const char *file)
{
	for (size_t i = 0; i < p->left_out_count; i++)
		if (strcmp(p->left_out[i].file, file) == 0)
			return p->left_out[i].reason;
	fail_msg("%s is not left out", file);
	return "";
}

/* 1: a directory whose data were never analysed is no rank's profile: it holds no ASCEND_PROFILER_OUTPUT. The
 * user is told what to do. */
static void a_directory_of_raw_data_is_no_capture(void **state)
{
	static const struct text_file files[] = {
	    {"h_2_20250109084454123_ascend_pt/profiler_info_1.json", "{\"rank_id\": 1}", 0},
	    {"h_2_20250109084454123_ascend_pt/FRAMEWORK/torch.op_range", "\1\2\3", 3},
	    {"h_2_20250109084454123_ascend_pt/PROF_000001_20250109084454123_A/device_0/data/x", "\1\2", 2},
	    {DIR "profiler_info_0.json", "{\"rank_id\": 0}", 0},
	    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\n", 0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};
	struct sb_error err;

	(void)state;
	read_all(files, COUNT(files), &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 0);
	assert_non_null(strstr(reason_of(&p, files[1].path), "analyse()"));
	assert_non_null(strstr(reason_of(&p, files[2].path), "analyse()"));
	assert_int_equal(read_texts(files, 3, &q, &err), SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
	assert_non_null(strstr(err.text, "analyse()"));
}

/* 1: of two captures the newer stamp wins; the process number before it counts for nothing. The name of a
 * directory tells no rank: users rename it, and servers put other numbers there. */
static void what_names_of_directories_tell(void **state)
{
	static const struct text_file stamps[] = {
	    {"h_9_20250109084453123_ascend_pt/profiler_info_3.json", "{\"rank_id\": 3}", 0},
	    {"h_9_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     KERNELS "old,Add,AI_CORE,99,5\n", 0},
	    {"h_1_20250109084454_ascend_pt/profiler_info_3.json", "{\"rank_id\": 3}", 0},
	    {"h_1_20250109084454_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     KERNELS "new,Add,AI_CORE,10,5\n", 0}};
	static const char *const names[] = {"rank0_ascend_pt",
	                                    "dp0_pp0_tp0_dcp0_ep0_rank0_99_20250109084453123"
	                                    "_ascend_pt"};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(stamps, COUNT(stamps), &p);
	assert_int_equal(p.count, 1);
	assert_string_equal(text_of(&p.captures[0], p.captures[0].kernels[0].name), "new");
	for (size_t i = 0; i < COUNT(names); i++) {
		char path[200];
		PROFILE_AUTO q = {0};

		(void)snprintf(path, sizeof(path), "%s/ASCEND_PROFILER_OUTPUT/kernel_details.csv", names[i]);
		read_all(&(struct text_file){path, KERNELS "a,Add,AI_CORE,10,5\n", 0}, 1, &q);
		assert_true(q.captures[0].rank == SB_NULL);
	}
}

/* 1.4: each call is a row, its stack a field of many lines. Nobody reads it: what stands there is personal,
 * and its lines are no rows of anything. */
static void call_stacks_are_left_out(void **state)
{
	static const struct text_file files[] = {
	    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\n", 0},
	    {OUT "operator_details.csv",
	     "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self "
	     "Duration(us),Device Total Duration(us),Device Self Duration With AICore(us),Device Total "
	     "Duration "
	     "With AICore(us)\r\n"
	     "aten::add,\"4,4;\r\n4,4;\r\n\",\"somebody/train.py(7): step;\r\nsomebody/a.py(1): "
	     "main;\r\n\",1,2,3,4,5,6\r\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct sb_strings *texts;

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_int_equal(p.warnings.count, 0);
	assert_non_null(strstr(reason_of(&p, files[1].path), "call stacks"));
	texts = p.captures[0].trace.strings;
	for (uint32_t id = 0; id < sb_strings_count(texts); id++)
		assert_null(strstr(sb_strings_get(texts, id, NULL), "somebody"));
}

/* 1, 1.6 to 1.8: tables of newer versions and of graph mode. task_time holds the kernels of kernel_details
 * once more: they count once. */
static void newer_tables_beside_the_kernels(void **state)
{
	static const struct text_file files[] = {
	    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\nb,Add,AI_CORE,20,5\n", 0},
	    {OUT "task_time.csv",
	     "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)"
	     "\n"
	     "0,a,AI_CORE,2,1,5,10\t,15\t\n0,b,AI_CORE,2,1,5,20\t,25\t\n0,c,AI_CORE,2,1,5,30\t,35\t\n",
	     0},
	    {OUT "nic.csv",
	     "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s\n0,1,2,3,4\n", 0},
	    {OUT "static_op_mem.csv",
	     "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index "
	     "End,Size(KB)\n0,a,m,1,0,1,4\n",
	     0},
	    {OUT "data_preprocess.csv",
	     "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),"
	     "Total_time(us),Stream ID,Task ID\n0,1,GetNext,2,3,4,5,6,7,8\n",
	     0},
	    {OUT "l2_cache.csv", "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,1.2,a\n", 0},
	    {OUT "soc_pmu.csv", "Device_id,Task Id,Stream Id,TLB Miss Rate\n0,1,2,0.5\n", 0},
	};
	JUDGED_AUTO j = {0};

	(void)state;
	read_all(files, COUNT(files), &j.p);
	assert_int_equal(j.p.count, 1);
	judge(&j);
	assert_true(j.b.rows[0].compute_ns == 10000 && j.b.rows[0].span_ns == 15000);
	assert_non_null(strstr(reason_of(&j.p, files[2].path), "network"));
	assert_non_null(strstr(reason_of(&j.p, files[3].path), "static"));
	assert_non_null(strstr(reason_of(&j.p, files[4].path), "preprocessing"));
	assert_non_null(strstr(reason_of(&j.p, files[5].path), "L2 cache"));
	assert_true(strlen(reason_of(&j.p, files[6].path)) > 0);
	assert_int_equal(j.p.left_out_total, 6);
}

/* 1.10: old and new keys; a pair of a rank with itself is a copy on the chip. */
static void matrices_of_all_versions_are_left_out(void **state)
{
	static const char *const texts[] = {
	    "{\"step50\": {\"p2p\": {}, \"collective\": {\"allReduce-total@1752\": {\"0-0\": {\"Transport "
	    "Type\": \"LOCAL\", \"Transit Size(MB)\": 1.5, \"Transit Time(ms)\": 0.5, \"Bandwidth(GB/s)\": "
	    "3, "
	    "\"Op Name\": \"hcom_allReduce__586_0_1@1752\"}}}}}",
	    "{\"step\": {\"p2p\": {\"hcom_send__445_1_1\": {\"0-1\": {\"Transport Type\": \"RDMA\", "
	    "\"Transit "
	    "Size(MB)\": 1.5, \"Transit Time(ms)\": 0.5, \"Bandwidth(GB/s)\": 3}}}, \"collective\": {}}}",
	    "{\"step\": {\"collective\": {\"hcom_a__1_0\": {\"0-1\": {\"Transport Type\": \"SIO\"}}}}}"};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct text_file files[] = {
		    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\n", 0},
		    {OUT "communication_matrix.json", texts[i], 0}};
		PROFILE_AUTO p = {0};

		read_all(files, 2, &p);
		assert_non_null(strstr(reason_of(&p, files[1].path), "pairs of ranks"));
		assert_int_equal(p.captures[0].communication_count, 0);
		assert_int_equal(p.warnings.count, 0);
	}
}

/* 1.11: settings and versions that nobody needs, in their forms of all years, are no flaws. */
static void settings_are_read_past(void **state)
{
	static const struct text_file files[] = {
	    {DIR "profiler_info_2.json",
	     "{\"config\": {\"common_config\": {\"activities\": [\"ProfilerActivity.NPU\"], \"schedule\": "
	     "{\"_wait\": 0, \"_active\": 1, \"skip_first\": 40}, \"record_shapes\": true}, "
	     "\"experimental_config\": {\"_profiler_level\": \"Level1\", \"_export_type\": [\"text\", "
	     "\"db\"], "
	     "\"_gc_detect_threshold\": null}}, \"start_info\": {\"freq\": 100, \"start_cnt\": "
	     "17238197612056}, "
	     "\"end_info\": {}, \"torch_npu_version\": \"2.6.0\", \"cann_version\": \"8.2\", \"rank_id\": 2}",
	     0},
	    {DIR "profiler_metadata.json",
	     "{\"ENV_VARIABLES\": {\"HCCL_RDMA_TC\": \"\"}, \"distributed_args\": "
	     "{\"tensor_model_parallel_size\": "
	     "4, \"sequence_parallel\": true, \"world_size\": 16, \"rank\": 2}, \"other\": [1, {\"a\": "
	     "null}]}",
	     0},
	    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 3, &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 2 && p.captures[0].world_size == 16);
	assert_int_equal(p.warnings.count, 0);
	assert_string_equal(capture_environment(&p.captures[0], "HCCL_RDMA_TC"), "");
}

/* 0.3: none of the JSON files needs to begin with its bracket. */
static void json_files_may_begin_with_a_mark(void **state)
{
#define MARK "\xEF\xBB\xBF"
	static const struct text_file files[] = {
	    {DIR "profiler_info_2.json", MARK "{\"config\": {\"common_config\": {}}, \"rank_id\": 3}", 0},
	    {DIR "profiler_metadata.json", MARK " {\"distributed_args\": {\"world_size\": 16}}", 0},
	    {OUT "communication.json",
	     MARK
	     "{\"step\": {\"p2p\": {}, \"collective\": {\"a@1\": {\"Communication Time Info\": {\"Elapse "
	     "Time(ms)\": 1}}}}}",
	     0},
	    {OUT "communication_matrix.json",
	     MARK "{\"step\": {\"collective\": {\"a@1\": {\"0-1\": {\"Transport Type\": \"HCCS\"}}}}}", 0},
	    {OUT "trace_view.json",
	     MARK "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 2, \"tid\": 1, \"ts\": \"10.000\", \"dur\": 5, "
	          "\"args\": {\"Task Type\": \"AI_CORE\"}}]",
	     0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, COUNT(files), &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 3 && p.captures[0].world_size == 16);
	assert_true(p.captures[0].communication_count == 1 && p.captures[0].trace.count == 1);
	assert_int_equal(p.left_out_count, 1);
	assert_non_null(strstr(reason_of(&p, files[3].path), "pairs of ranks"));
	/* the file's name says rank 2 */
	assert_int_equal(p.warnings.count, 1);
	assert_non_null(warning_of(&p, "rank_conflict"));
}

/* 0.10: of a file that breaks off the part before is used, and the user is told so. */
static void files_are_used_up_to_where_they_break_off(void **state)
{
	static const struct text_file files[] = {
	    {DIR "profiler_info_2.json", "{\"config\": {\"a\"", 0},
	    {DIR "profiler_metadata.json", "{\"distributed_args\": {\"world_size\": 16}, \"ENV", 0},
	    {OUT "kernel_details.csv", KERNELS "a,Add,AI_CORE,10,5\n\"b\nc", 0},
	    {OUT "communication.json",
	     "{\"step\": {\"collective\": {\"a@1\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 1}}, "
	     "\"b",
	     0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, COUNT(files), &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 2 && p.captures[0].world_size == 16);
	assert_true(p.captures[0].communication_count == 1 && p.captures[0].kernel_count == 1);
	assert_int_equal(p.warnings.count, COUNT(files));
	for (size_t i = 0; i < p.warnings.count; i++) {
		assert_string_equal(p.warnings.items[i].code, "truncated");
		assert_non_null(strstr(p.warnings.items[i].detail, "used up to here only"));
	}
}

#define LINK(size, ms)                                                                                       \
	"{\"Transit Size(MB)\": " size ", \"Transit Time(ms)\": " ms                                         \
	", \"Bandwidth(GB/s)\": 1, \"Large Packet Ratio\": 0, \"Size Distribution\": {}}"
#define OP(elapse, links)                                                                                    \
	"{\"Communication Time Info\": {\"Elapse Time(ms)\": " elapse                                        \
	", \"Transit Time(ms)\": 1.5, \"Wait Time(ms)\": 0.25, \"Synchronization Time(ms)\": 0.125, \"Idle " \
	"Time(ms)\": 0.625}, \"Communication Bandwidth Info\": {" links "}}"

/* 1.9: link times are sums over all planes, and may be longer than the operator; SDMA is the sum of three
 * links; sums of operators stand in both parts. */
static void links_count_once_and_sums_not_at_all(void **state)
{
	static const struct text_file
	    files[] =
	        {{OUT "kernel_details.csv",
	          KERNELS "a,Add,AI_CORE,10,5\nhcom_allReduce__586_0_1,hcom_allReduce_,HCCL,20,2400\n", 0},
	         {OUT "communication.json",
	          "{\"step\": {\"p2p\": {\"Total Op Info\": " OP(
	              "9", "\"SDMA\": " LINK(
	                       "900",
	                       "9")) "}, "
	                             "\"collective\": {\"hcom_allReduce__586_0_1@1752\": " OP(
	                                 "2.4",
	                                 "\"RDMA\": " LINK("1.5", "0.5") ", \"HCCS\": " LINK("120", "15.2") ", \"PCIE\": " LINK(
	                                     "3",
	                                     "0.5") ", \"SDMA\": " LINK("127",
	                                                                "15.7") ", \"SIO\": " LINK("4",
	                                                                                           "0.5")) ","
	                                                                                                   " "
	                                                                                                   "\"Total Op "
	                                                                                                   "I"
	                                                                                                   "n"
	                                                                                                   "f"
	                                                                                                   "o"
	                                                                                                   "\": " OP(
	                                                                                                       "9",
	                                                                                                       "\"SDMA\":"
	                                                                                                       " " LINK(
	                                                                                                           "900",
	                                                                                                           "9")) "}}}",
	          0}};
	JUDGED_AUTO j = {0};
	const struct communication_op *op;

	(void)state;
	read_all(files, 2, &j.p);
	assert_int_equal(j.p.captures[0].communication_count, 1);
	op = j.p.captures[0].communications;
	is_near(op->elapse_us, 2400);
	is_near(op->synchronization_us, 125);
	is_near(op->idle_us, 625);
	is_near(op->links[1].transit_us, 15200);
	judge(&j);
	assert_int_equal(j.p.warnings.count, 0);
	assert_int_equal(j.c.row_count, 1);
	/* 1.5 + 127 MB of 10^6 bytes */
	assert_true(j.c.rows[0].bytes == 128500000);
}

/* 1.9: idle is what elapse, transit and wait leave, computed with doubles: of 0 a little below may be left.
 */
static void idle_times_are_differences(void **state)
{
	static const struct text_file file = {
	    OUT "communication.json",
	    "{\"step\": {\"collective\": {\"a@1\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 1.75, "
	    "\"Transit Time(ms)\": 1.5, \"Wait Time(ms)\": 0.25, \"Idle Time(ms)\": -4.4e-17}}, "
	    "\"b@1\": {\"Communication Time Info\": {\"Idle Time(ms)\": -0.5}}}}}",
	    0};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(&file, 1, &p);
	assert_true(p.captures[0].communications[0].idle_us == 0);
	assert_true(isnan(p.captures[0].communications[1].idle_us));
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 1);
}

/* 1.9: on RDMA a packet is large above 0.5 MB of 10^6 bytes, by count. */
static void packets_of_rdma_have_their_own_limit(void **state)
{
	static const struct {
		int64_t bytes;
		bool fires;
	} cases[] = {{500001, false}, {500000, true}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 600, 500, 1000);
		struct communication_op *op =
		    add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 150, 0);
		struct link *rdma = add_link(op, "RDMA", 5000000, 900);

		add_packet(rdma, cases[i].bytes, 8, 700);
		add_packet(rdma, 1024, 2, 100);
		judge(&j);
		assert_int_equal(found(&j, "communication.small_packets") != NULL, cases[i].fires);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_directory_of_raw_data_is_no_capture),
	    cmocka_unit_test(what_names_of_directories_tell),
	    cmocka_unit_test(call_stacks_are_left_out),
	    cmocka_unit_test(newer_tables_beside_the_kernels),
	    cmocka_unit_test(matrices_of_all_versions_are_left_out),
	    cmocka_unit_test(settings_are_read_past),
	    cmocka_unit_test(json_files_may_begin_with_a_mark),
	    cmocka_unit_test(files_are_used_up_to_where_they_break_off),
	    cmocka_unit_test(links_count_once_and_sums_not_at_all),
	    cmocka_unit_test(idle_times_are_differences),
	    cmocka_unit_test(packets_of_rdma_have_their_own_limit),
	};

	return cmocka_run_group_tests_name("ascend folders", tests, NULL, NULL);
}
