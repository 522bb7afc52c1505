/* What the research page ascend-formats (0 and 1.1 to 1.6) tells of tables, as far as the other tests do not
 * show it: blanks, line ends, the order of columns, columns that come and go. */
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#include "profiler/memory.h"

#define DIR "h_1_20250109084453123_ascend_pt/"
#define OUT DIR "ASCEND_PROFILER_OUTPUT/"

static void read_all(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(p->count, 1);
}

static void read_one(const char *path, const char *text, struct profile *p)
{
	const struct text_file f = {path, text, 0};

	read_all(&f, 1, p);
}

/* One row of each table, whatever its columns are like. */
static void expect_tables(const struct profile *p)
{
	const struct capture *c = &p->captures[0];
	const struct kernel *k = c->kernels;
	MEMORY_AUTO m = {0};

	assert_int_equal(p->warnings.count, 0);
	assert_int_equal(p->left_out_total, 0);
	assert_true(c->kernel_count == 1 && k->step == 7 && k->start_ns == INT64_C(1736408883704643212) &&
	            k->dur_ns == 81441 && k->wait_ns == 2500 && k->block_dim == 24 && k->stream == 2);
	assert_string_equal(text_of(c, k->name), "a");
	assert_string_equal(text_of(c, k->input_shapes), "8,16;16,4");
	assert_true(k->pipe_ratio == 0.75f);
	assert_true(c->step_trace_count == 1 && c->step_traces[0].step == 7 &&
	            c->step_traces[0].computing == 81441 && c->step_traces[0].free == 18559 &&
	            c->step_traces[0].stage == 100000 && c->step_traces[0].preparing == 250);
	assert_true(c->op_statistic_count == 1 && c->op_statistics[0].count == 3 &&
	            c->op_statistics[0].total_ns == 6500 && c->op_statistics[0].max_ns == 2500);
	assert_true(c->api_count == 1 && c->apis[0].count == 4 && c->apis[0].time_ns == 474410);
	assert_int_equal(memory_compute(p, &m, NULL), SB_OK);
	assert_true(m.count == 1 && m.rows[0].peak_bytes == 1572864 &&
	            m.rows[0].reserved_peak_bytes == 2097152 && m.rows[0].series->device == 3);
	assert_true(m.rows[0].operator_count == 1 && m.rows[0].operators[0].bytes == 524288);
}

/* 0.2: a TAB may follow any number, inside quotes, too. 0.3: line ends differ between the files of one
 * directory, and each may begin with a byte order mark. 1.1: the word behind a step's number is none. */
static void each_file_has_its_own_form(void **state)
{
	const struct text_file files[] = {
	    {OUT "kernel_details.csv",
	     "\xEF\xBB\xBFStep Id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait "
	     "Time(us),Block Dim,Input Shapes,aic_mac_ratio\r\n"
	     "7\t,2\t,a,MatMul,AI_CORE,1736408883704643.212\t,\"81.441\t\",2.5\t,24\t,\"\"\"8,16;16,4\"\"\","
	     "0.75\t\r\n",
	     0},
	    {OUT "step_trace_time.csv",
	     "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
	     "Communication(Not Overlapped and Exclude Receive),Preparing\n"
	     "7\t,81.441\t,0\t,0\t,0\t,18.559\t,100.0\t,0\t,0\t,0.25\t\n",
	     0},
	    {OUT "op_statistic.csv",
	     "\xEF\xBB\xBFOP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max "
	     "Time(us),Ratio(%)\rMatMul,AI_CORE,3\t,6.5\t,2\t,2.167\t,2.5\t,100\t\r",
	     0},
	    {OUT "api_statistic.csv",
	     "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\r\n"
	     "acl,aclrtSynchronizeStream,474.41\t,4\t,1\t,1\t,1\t,0\t\r\n",
	     0},
	    {OUT "memory_record.csv",
	     "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n"
	     "PTA,1736408883704643.212\t,1.5\t,2.0\t,NPU:3\t\n",
	     0},
	    {OUT "operator_memory.csv",
	     "\xEF\xBB\xBFName,Size(KB),Allocation Time(us),Release Time(us),Device Type\r\n"
	     "aten::mm,512\t,1736408883704643.000\t,1736408883704644.5\t,NPU:3\r\n",
	     0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 6, &p);
	expect_tables(&p);
}

/* 0.6: columns are known by their names: here they stand in the opposite order, each behind one that nobody
 * needs. */
static void columns_may_stand_anywhere(void **state)
{
	const struct text_file files[] = {
	    {OUT "kernel_details.csv",
	     "aic_mac_ratio,Input Shapes,Block Dim,Wait Time(us),Duration(us),Start Time(us),Accelerator "
	     "Core,Type,Name,Stream ID,Step Id,Task ID\n"
	     "0.75,\"\"\"8,16;16,4\"\"\",24,2.5,81.441,1736408883704643.212,AI_CORE,MatMul,a,2,7,9\n",
	     0},
	    {OUT "step_trace_time.csv",
	     "Preparing,Bubble,Stage,Free,Communication,Overlapped,Communication(Not "
	     "Overlapped),Computing,Step,Device_id\n0.25,0,100,18.559,0,0,0,81.441,7,0\n",
	     0},
	    {OUT "op_statistic.csv",
	     "Ratio(%),Max Time(us),Min Time(us),Total Time(us),Count,Core Type,OP Type\n"
	     "100,2.5,2,6.5,3,AI_CORE,MatMul\n",
	     0},
	    {OUT "api_statistic.csv",
	     "Variance,Count,Time(us),API Name,Level\n0,4,474.41,aclrtSynchronizeStream,acl\n", 0},
	    {OUT "memory_record.csv",
	     "Device Type,Stream Ptr,Total Active(MB),Total Reserved(MB),Total Allocated(MB),Timestamp(us),"
	     "Component\nNPU:3,897357296,1,2.0,1.5,1736408883704643.212,PTA\n",
	     0},
	    {OUT "operator_memory.csv",
	     "Device Type,Release Time(us),Allocation Time(us),Size(KB),Name\n"
	     "NPU:3,1736408883704644.5,1736408883704643.000,512,aten::mm\n",
	     0},
	};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 6, &p);
	expect_tables(&p);
}

#define COUNTED "Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes"

/* 1.2: only the device's memory counts for its bytes; buffers on the chip (MemoryL0, MemoryUB, L2) are
 * others, and so is what moves between two of them. */
static void counters_of_other_memories_are_no_bytes(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(OUT "kernel_details.csv",
	         COUNTED
	         ",aicore_time(us),aic_l0a_read_bw(GB/s),aic_l0c_write_bw_cube(GB/s),aic_l1_read_bw(GB/s),"
	         "aic_l2_read_bw(GB/s),aic_ub_write_bw_mte(GB/s),aic_GM_to_L1_datas(KB),aiv_time(us)\n"
	         "a,MatMul,AI_CORE,10,5,\"\"\"8,16;16,4\"\"\",4,100,100,100,100,100,100,0\n",
	         &p);
	assert_true(isnan(p.captures[0].kernels[0].bytes) && isnan(p.captures[0].kernels[0].flops));
	assert_true(isnan(p.captures[0].kernels[0].pipe_ratio));
	assert_int_equal(p.warnings.count, 0);
}

/* 0.5: "inf" stands in columns of numbers. A sum with a part that cannot be read is unknown, not the rest of
 * it; N/A says that there is no such part. */
static void sums_with_an_unreadable_part_are_unknown(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_one(OUT "kernel_details.csv",
	         COUNTED ",aicore_time(us),aic_main_mem_read_bw(GB/s),aic_main_mem_write_bw(GB/s),"
	                 "aic_cube_fops,aic_vector_fops\n"
	                 "a,MatMul,AI_CORE,10,5,N/A,4,inf,50,7,inf\n"
	                 "b,MatMul,AI_CORE,20,5,N/A,4,N/A,50,7,N/A\n"
	                 "c,MatMul,AI_CORE,30,5,N/A,inf,10,50,7,1\n",
	         &p);
	k = p.captures[0].kernels;
	assert_int_equal(p.captures[0].kernel_count, 3);
	assert_true(isnan(k[0].bytes) && isnan(k[0].flops));
	/* 50 GB/s for 4 us */
	assert_true(k[1].bytes == 200000 && k[1].flops == 7);
	/* nobody knows for how long */
	assert_true(isnan(k[2].bytes) && k[2].flops == 8);
}

/* The ratios of pipes, too: the one that cannot be read may be the largest. */
static void the_largest_pipe_needs_all_of_them(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_one(OUT "kernel_details.csv",
	         COUNTED ",aic_mac_ratio,aic_mte2_ratio,aiv_vec_ratio\n"
	                 "a,MatMul,AI_CORE,10,5,N/A,0.25,0.5,inf\n"
	                 "b,MatMul,AI_CORE,20,5,N/A,0.25,0.5,N/A\n"
	                 "c,MatMul,AI_CORE,30,5,N/A,-1,0.5,0\n",
	         &p);
	k = p.captures[0].kernels;
	assert_true(isnan(k[0].pipe_ratio) && isnan(k[0].inner_ratio) && k[0].pipe == 0);
	assert_true(k[1].pipe_ratio == 0.5f && k[1].inner_ratio == 0.25f);
	assert_true(isnan(k[2].pipe_ratio) && k[2].pipe == 0);
}

/* 1.2: captures of 2023 call vector operators AI_CORE, too; which cores were at work tells. The cycles count
 * before the times: one version of msprof wrote a time for cores that had none. */
static void old_labels_of_vector_operators(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_one(OUT "kernel_details.csv",
	         COUNTED ",aicore_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles\n"
	                 "a,MatMul,AI_CORE,10,5,N/A,4,7000,0,0\n"
	                 "b,Cast,AI_CORE,20,5,N/A,0,0,4,7000\n"
	                 "c,ZerosLike,AI_CORE,30,5,N/A,8,0,4,7000\n"
	                 "d,FlashAttentionScore,MIX_AIC,40,5,N/A,4,7000,2,7000\n"
	                 "e,Range,AI_CPU,50,5,N/A,N/A,N/A,N/A,N/A\n"
	                 "f,Cast,AI_CORE,60,5,N/A,0,N/A,4,N/A\n",
	         &p);
	k = p.captures[0].kernels;
	assert_int_equal(p.captures[0].kernel_count, 6);
	assert_true(!k[0].vector && k[1].vector && k[2].vector && !k[3].vector && !k[4].vector &&
	            k[5].vector);
	/* the label stays what the file says */
	assert_string_equal(text_of(&p.captures[0], k[1].core), "AI_CORE");
}

/* 1.6: with and without Device_id, in MB and in KB; -1 says that only frees were seen. */
static void modules_in_both_layouts(void **state)
{
	static const char *const tables[] = {
	    "Device_id,Component,Timestamp(us),Total Reserved(MB),Device\n"
	    "3,HCCL,1000.000\t,4.0,NPU:3\n3,HCCL,2000.000\t,-1,NPU:3\n",
	    "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n"
	    "3,HCCL,1000.000\t,4096,NPU:3\n3,HCCL,2000.000\t,-1,NPU:3\n",
	    /* the older one of msprof names the device by its number alone */
	    "Device_id,Component,Timestamp(us),Total Reserved(KB)\n3,HCCL,1000.000\t,4096\n"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		PROFILE_AUTO p = {0};
		MEMORY_AUTO m = {0};

		read_one(OUT "npu_module_mem.csv", tables[i], &p);
		assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
		assert_int_equal(m.count, 1);
		assert_true(m.rows[0].reserved_peak_bytes == 4194304 && m.rows[0].series->device == 3 &&
		            m.rows[0].peak_bytes == SB_NULL);
		if (i < 2)
			assert_true(m.rows[0].series->points[1].reserved == SB_NULL);
	}
}

/* 1.6, 0.7: an empty release is memory that was still held; one that cannot be read is not known to be. What
 * has no size, or was only freed, holds nothing. */
static void allocations_that_end_and_that_do_not(void **state)
{
	const struct text_file files[] = {
	    {OUT "memory_record.csv",
	     "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n"
	     "PTA,1736408883704700.000\t,1.5,2.0,NPU:3\n",
	     0},
	    {OUT "operator_memory.csv",
	     "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active "
	     "Duration(us),Allocation Total Allocated(MB),Stream Ptr,Device Type\n"
	     "held,512,1736408883704643.000\t,,,,,1.5,7,NPU:3\n"
	     "also held,256,1736408883704643.000\t,N/A,N/A,N/A,N/A,1.5,7,NPU:3\n"
	     "given back,900,1736408883704643.000\t,1736408883704650.000\t,,7,7,1.5,7,NPU:3\n"
	     "rounded,128,1736408883704643.000\t,1.73641E+15,,-3643,,1.5,7,NPU:3\n"
	     "odd,128,1736408883704643.000\t,later,,,,1.5,7,NPU:3\n"
	     "no size,,1736408883704643.000\t,,,,,1.5,7,NPU:3\n"
	     "only freed,-64,,1736408883704650.000\t,,-9,,1.5,7,NPU:3\n"
	     "older,-64,1736408883704643.000\t,,,,,1.5,7,NPU:3\n",
	     0}};
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.rows[0].operator_count, 2);
	assert_string_equal(m.rows[0].operators[0].name, "held");
	assert_string_equal(m.rows[0].operators[1].name, "also held");
	assert_true(warning_of(&p, "precision_lost") && warning_of(&p, "precision_lost")->line == 5);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->line == 6 &&
	            warning_of(&p, "bad_value")->count == 1);
}

#define STEP_HEADER                                                                                          \
	"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"           \
	"Communication(Not Overlapped and Exclude Receive),Preparing\n"

/* 1.1: Bubble is a sum of operators, Stage what it leaves of the 100 us of the step: two receives of 60 us
 * that wait side by side leave -20. The breakdown gives them the whole step, as that of a timeline does. */
static void receives_side_by_side(void **state)
{
	JUDGED_AUTO j = {0};
	PROFILE_AUTO q = {0};
	const struct breakdown_row *r;

	(void)state;
	read_one(OUT "step_trace_time.csv", STEP_HEADER "1,30,60,0,60,10,-20,120,0,1\n", &j.p);
	assert_null(warning_of(&j.p, "bad_value"));
	assert_null(warning_of(&j.p, "contradiction"));
	judge(&j);
	r = &j.b.rows[0];
	assert_true(r->step == 1 && r->span_ns == 0 && r->bubble_ns == 100000 && r->busy_ns == 90000);
	assert_true(r->compute_ns == 30000 && r->exposed_ns == 60000 && r->free_ns == 10000);
	/* no Bubble can leave less than nothing of both */
	read_one(OUT "step_trace_time.csv",
	         STEP_HEADER "1,30,60,0,60,10,-20,10,0,1\n2,30,60,0,60,10,100,0,0,1\n", &q);
	assert_true(q.captures[0].step_trace_count == 1 && q.captures[0].step_traces[0].step == 2);
	assert_non_null(warning_of(&q, "bad_value"));
}

/* 1.1: the columns are sums and differences of doubles: one of two equal times may be a little off 0. */
static void differences_of_doubles_are_rounded(void **state)
{
	PROFILE_AUTO p = {0};
	const struct step_trace *t;

	(void)state;
	read_one(OUT "step_trace_time.csv",
	         STEP_HEADER "1,30.000000000000004,60,-2.9103830456733704e-11,59.99999999999999,10,100,0,"
	                     "60,-1e-9\n",
	         &p);
	t = p.captures[0].step_traces;
	assert_int_equal(p.captures[0].step_trace_count, 1);
	assert_true(t->computing == 30000 && t->overlapped == 0 && t->communication == 60000 &&
	            t->preparing == 0);
	assert_int_equal(p.warnings.count, 0);
}

/* 1.2: collectives are known by their core, in the words of all versions, whatever the row is called:
 * MindSpore names it by the node of the graph. Compute 10 to 15, a collective 15 to 20, a receive 20 to 30.
 */
static void collectives_by_their_core(void **state)
{
	static const char *const cores[] = {"HCCL", "COMMUNICATION"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[400];
		JUDGED_AUTO j = {0};
		const struct breakdown_row *r;

		(void)snprintf(text, sizeof(text),
		               "Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
		               "Default/MatMul-op1,MatMul,AI_CORE,10,5\n"
		               "Default/AllReduce-op2,hcom_allReduce_,%s,15,5\n"
		               "Default/Receive-op3,hcom_receive_,%s,20,10\n",
		               cores[i], cores[i]);
		read_one("h_1_20240131101530123_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv", text,
		         &j.p);
		judge(&j);
		r = &j.b.rows[0];
		assert_true(r->compute_ns == 5000 && r->communication_ns == 15000);
		assert_true(r->bubble_ns == 10000 && r->span_ns == 10000);
	}
}

/* 1.2: single operators of PyTorch with precompiled binaries are all called dynamic: that alone is no fault.
 */
static void everything_dynamic_is_no_compilation(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	read_one(OUT "kernel_details.csv",
	         "Step Id,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us)\n"
	         "1,a,MatMul,dynamic,AI_CORE,10,50\n1,b,Add,dynamic,AI_VECTOR_CORE,60,30\n"
	         "1,hcom_allReduce__1_0_1,hcom_allReduce_,N/A,HCCL,90,1\n",
	         &j.p);
	judge(&j);
	assert_null(found(&j, "cpu.compilation"));
	assert_string_equal(text_of(&j.p.captures[0], j.p.captures[0].kernels[0].state), "dynamic");
	assert_true(j.p.captures[0].kernels[2].state == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_file_has_its_own_form),
	    cmocka_unit_test(columns_may_stand_anywhere),
	    cmocka_unit_test(counters_of_other_memories_are_no_bytes),
	    cmocka_unit_test(sums_with_an_unreadable_part_are_unknown),
	    cmocka_unit_test(the_largest_pipe_needs_all_of_them),
	    cmocka_unit_test(old_labels_of_vector_operators),
	    cmocka_unit_test(modules_in_both_layouts),
	    cmocka_unit_test(allocations_that_end_and_that_do_not),
	    cmocka_unit_test(receives_side_by_side),
	    cmocka_unit_test(differences_of_doubles_are_rounded),
	    cmocka_unit_test(collectives_by_their_core),
	    cmocka_unit_test(everything_dynamic_is_no_compilation),
	};

	return cmocka_run_group_tests_name("ascend tables", tests, NULL, NULL);
}
