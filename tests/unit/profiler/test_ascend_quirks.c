/* What the research pages (ascend-formats 0, 1 and 3; user-pain 9 and 45) tell of odd files, as far as the
 * tests of the readers do not show it already. */
#include "base/buf.h"
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#define DIR "h_1_20250109084453123_ascend_pt/"
#define OUT DIR "ASCEND_PROFILER_OUTPUT/"
#define STEP_HEADER                                                                                          \
	"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"           \
	"Communication(Not Overlapped and Exclude Receive),Preparing\n"
#define KERNEL_HEADER "Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"

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

static void expect(const struct profile *p, const char *code, int64_t line, uint64_t count)
{
	const struct warning *w = warning_of(p, code);

	if (!w || w->line != line || w->count != count)
		fail_msg("%s: line %lld, count %llu", code, w ? (long long)w->line : -1,
		         w ? (unsigned long long)w->count : 0);
}

/* 1.1: Communication = NotOverlapped + Overlapped, Stage + Bubble = Computing + NotOverlapped + Free, within
 * 0.5 us. */
static void contradictions_of_the_step_table(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_one(OUT "step_trace_time.csv",
	         STEP_HEADER "1,10,20,5,25,30,60,0,20,1\n"
	                     "2,10,20,5,25,30,60.5,0,20,1\n"
	                     "3,10,20,5,25.6,30,60,0,20,1\n"
	                     "4,10,20,5,25,30,50,9,11,1\n"
	                     "5,10,20,5,25,30,50,10,10,1\n",
	         &p);
	/* what contradicts itself is told and kept */
	assert_int_equal(p.captures[0].step_trace_count, 5);
	expect(&p, "contradiction", 4, 2);
	/* before the column Bubble there was none */
	read_one(OUT "step_trace_time.csv",
	         "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
	         "1,10,20,5,25,30,60\n",
	         &q);
	assert_int_equal(q.warnings.count, 0);
}

/* 0.7: a spreadsheet wrote the tables again. */
static void spreadsheets_destroy_digits(void **state)
{
	const struct text_file files[] = {
	    {OUT "step_trace_time.csv",
	     STEP_HEADER "1,8.8E+04,20,5,25,30,60,0,20,1\n2,10,20,5,25,30,60,0,20,1\n", 0},
	    {OUT "kernel_details.csv",
	     KERNEL_HEADER "a,Add,AI_CORE,1.69512E+15,1\nb,Add,AI_CORE,10,1.2E+03\nc,Add,AI_CORE,20,1\n", 0},
	    {OUT "op_statistic.csv",
	     "OP Type,Core Type,Count,Total Time(us)\nAdd,AI_CORE,3,1.2E+05\nMul,AI_CORE,1,2\n", 0},
	    {OUT "api_statistic.csv", "Level,API Name,Time(us),Count\nnode,launch,1.2E+05,1\nnode,a,2,1\n",
	     0},
	};
	PROFILE_AUTO p = {0};
	const struct capture *c;
	uint64_t lost = 0;

	(void)state;
	read_all(files, 4, &p);
	c = &p.captures[0];
	assert_true(c->step_trace_count == 1 && c->step_traces[0].step == 2);
	assert_true(c->kernel_count == 1 && c->kernels[0].start_ns == 20000);
	assert_true(c->op_statistic_count == 1 && c->api_count == 1);
	for (size_t i = 0; i < p.warnings.count; i++)
		if (strcmp(p.warnings.items[i].code, "precision_lost") == 0)
			lost += p.warnings.items[i].count;
	assert_int_equal(lost, 5);
}

/* 0.6: new columns are data; one note a file, and a table that names a column twice is told. */
static void columns_that_nobody_knows(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(OUT "kernel_details.csv",
	         "Name,Type,New Thing,Accelerator Core,Start Time(us),Duration(us),aiv_new_ratio,Other "
	         "Thing,Duration(us)\n"
	         "a,Add,1,AI_CORE,10,5,0.5,2,7\n",
	         &p);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_true(p.captures[0].kernels[0].dur_ns == 5000);
	assert_int_equal(p.warnings.count, 2);
	expect(&p, "unknown_column", 1, 2);
	expect(&p, "duplicate_column", 1, 1);
	for (size_t i = 0; i < p.warnings.count; i++)
		if (strcmp(p.warnings.items[i].code, "unknown_column") == 0)
			assert_non_null(strstr(p.warnings.items[i].detail, "New Thing"));
}

/* 1.2: every column that a version or metric has had: none of them is unknown. */
static void all_known_columns_are_silent(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(
	    OUT "kernel_details.csv",
	    "Device_id,Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start "
	    "Time(us),Duration(us),Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input "
	    "Data "
	    "Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,aicore_time(us),"
	    "aic_total_cycles,aic_main_mem_read_bw(GB/s),aiv_time(us),mac_exe_ratio,cube_utilization(%)\n"
	    "0,7,4294967295,3,2,a,Add,dynamic,AI_CORE,\"100.5\t\",2,1,24,0,NO,\"\"\";;;\"\"\",FLOAT,ND,"
	    "\"\"\"\"\"\",FLOAT,ND,N/A,2,9,inf,1,1.002,N/A\n",
	    &p);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(p.captures[0].kernels[0].block_dim, 24);
	/* 0.4: an empty item is a scalar, and quotes around nothing are nothing */
	assert_string_equal(text_of(&p.captures[0], p.captures[0].kernels[0].input_shapes), ";;;");
	assert_true(p.captures[0].kernels[0].output_shapes == 0);
	/* rounding may take a ratio above 1 */
	assert_true(p.captures[0].kernels[0].pipe_ratio == 1.002f);
}

/* 0.5: what stands for "no value" in a column of numbers. */
static void values_that_are_none(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(OUT "kernel_details.csv",
	         "Step Id,Name,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
	         ",a,AI_CORE,10,5,N/A,4294967295\n"
	         "N/A,b,AI_CORE,20,inf,0,1\n"
	         "3,c,AI_CORE,30,5,,\n",
	         &p);
	assert_int_equal(p.captures[0].kernel_count, 2);
	assert_true(p.captures[0].kernels[0].step == SB_NULL && p.captures[0].kernels[0].wait_ns == SB_NULL);
	assert_int_equal(p.captures[0].kernels[0].block_dim, -1);
	assert_true(p.captures[0].kernels[1].step == 3 && p.captures[0].kernels[1].wait_ns == SB_NULL);
	expect(&p, "bad_value", 3, 1);
}

static void rows_written_twice_count_once(void **state)
{
	const struct text_file files[] = {
	    {OUT "kernel_details.csv",
	     KERNEL_HEADER "a,Add,AI_CORE,10,5\na,Add,AI_CORE,10,5\na,Add,AI_CORE,10,6\na,Add,AI_CORE,20,5\n"
	                   "e,Add,AI_CORE,30,0\ne,Add,AI_CORE,30,0\n",
	     0},
	    {OUT "trace_view.json",
	     "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"Ascend Hardware\"}},"
	     "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"10.000\",\"dur\":5,\"args\":{"
	     "\"Task "
	     "Type\":\"AI_CORE\"}},"
	     "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"10.000\",\"dur\":5,\"args\":{"
	     "\"Task "
	     "Type\":\"AI_CORE\"}},"
	     "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":2,\"tid\":9,\"ts\":\"10.000\",\"dur\":5,\"args\":{"
	     "\"Task "
	     "Type\":\"MIX_AIV\"}}]",
	     0}};
	PROFILE_AUTO p = {0};
	const struct trace *t;
	const struct event_detail *d;

	(void)state;
	read_all(files, 2, &p);
	/* rows of no length may well be two */
	assert_int_equal(p.captures[0].kernel_count, 5);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 2);
	d = trace_detail(t, 1);
	assert_non_null(d);
	assert_string_equal(trace_text(t, d->type, NULL), "MIX_AIV");
	assert_true(warning_of(&p, "duplicate_event")->count == 2);
}

/* Two pids of one name are one lane to a reader: what rises on each of them may stand on both. */
static void work_of_lanes_named_alike_counts_once(void **state)
{
	static const char text[] =
	    "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"Ascend Hardware\"}},"
	    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":3,\"args\":{\"name\":\"Ascend Hardware\"}},"
	    "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"10\",\"dur\":5},"
	    "{\"name\":\"Mul\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"20\",\"dur\":5},"
	    "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":\"10\",\"dur\":5},"
	    "{\"name\":\"Mul\",\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":\"30\",\"dur\":5}]";
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(OUT "trace_view.json", text, &p);
	assert_int_equal(p.captures[0].trace.count, 3);
	assert_true(warning_of(&p, "duplicate_event")->count == 1);
}

/* Times that a spreadsheet has rounded: all rows start at one, and none is a copy. Comparing each with each
 * would take minutes. */
static void rows_of_one_start_are_told_apart_at_once(void **state)
{
	enum { ROWS = 200000 };
	SB_BUF_AUTO kernels = {0};
	SB_BUF_AUTO events = {0};
	PROFILE_AUTO p = {0};

	(void)state;
	sb_buf_init(&kernels, SIZE_MAX);
	sb_buf_init(&events, SIZE_MAX);
	sb_buf_adds(&kernels, KERNEL_HEADER);
	sb_buf_adds(&events, "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"Ascend "
	                     "Hardware\"}}");
	for (int i = 1; i <= ROWS; i++) {
		sb_buf_addf(&kernels, "Add,Add,AI_CORE,1736410000000000,%d\n", i);
		sb_buf_addf(&events,
		            ",\n{\"name\":\"Add\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":1736410000000000,"
		            "\"dur\":%d,\"args\":{\"Task Type\":\"AI_CORE\"}}",
		            i);
	}
	sb_buf_adds(&events, "]");
	read_all((const struct text_file[]){{OUT "kernel_details.csv", kernels.data, kernels.len},
	                                    {OUT "trace_view.json", events.data, events.len}},
	         2, &p);
	assert_int_equal(p.captures[0].kernel_count, ROWS);
	assert_int_equal(p.captures[0].trace.count, ROWS);
	assert_null(warning_of(&p, "duplicate_event"));
}

/* "60.5" may have been "60.512": the row is used, and the doubt is told. */
static void a_last_row_without_an_end_is_doubted(void **state)
{
	static const char *const ends[] = {"", "\n", "\r\n", "\r", ",\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		PROFILE_AUTO p = {0};
		char text[200];

		snprintf(text, sizeof(text),
		         "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
		         "1,10,20,5,25,30,60\n2,10,20,5,25,30,60.5%s",
		         ends[i]);
		read_one(OUT "step_trace_time.csv", text, &p);
		assert_int_equal(p.captures[0].step_trace_count, 2);
		assert_int_equal(warning_of(&p, "no_line_end") ? warning_of(&p, "no_line_end")->line : 0,
		                 i == 0 ? 3 : 0);
	}
}

static void little_data_is_said(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};
	const struct warning *w;

	(void)state;
	read_one("api_statistic.csv", "Level,API Name,Time(us),Count\nnode,launch,2,1\n", &p);
	w = warning_of(&p, "little_data");
	if (!w || !strstr(w->detail, "api_statistic.csv only"))
		fail_msg("no hint");
	read_one("communication.json",
	         "{\"step\": {\"collective\": {\"hcom_allReduce__1_0_1@7\": {\"Communication Time Info\": "
	         "{\"Elapse Time(ms)\": 1}}}}}",
	         &q);
	assert_non_null(warning_of(&q, "little_data"));
}

/* 1.9: files of 2023 have no group behind the @, MindSpore puts sends among the collectives, and one side of
 * a send moves 0 MB. */
static void old_and_odd_operators(void **state)
{
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	read_one(
	    OUT "communication.json",
	    "{\"step2\": {\"p2p\": {}, \"collective\": {\"hcom_broadcast__445_0\": {\"Communication Time "
	    "Info\": {\"Start Timestamp(us)\": 1699529622793969.5, \"Elapse Time(ms)\": 308.92668}},"
	    "\"hcom_send__1_0_1@9\": {\"Communication Bandwidth Info\": {\"SDMA\": {\"Transit Size(MB)\": "
	    "0.0, \"Transit Time(ms)\": 0, \"Large Packet Ratio\": 0}}}}}}",
	    &p);
	op = p.captures[0].communications;
	assert_int_equal(p.captures[0].communication_count, 2);
	assert_true(op[0].group == 0 && op[0].elapse_us == 308926.68 && !op[0].point_to_point);
	assert_true(op[1].point_to_point && op[1].links[0].bytes == 0 &&
	            op[1].links[0].large_packet_ratio == 0);
	assert_string_equal(text_of(&p.captures[0], op[1].name), "hcom_send__1_0_1");
}

/* 1.11: -1 is "not distributed"; schedule keys with an underscore and no rank_id are old. */
static void ranks_that_are_none(void **state)
{
	const struct text_file files[] = {
	    {DIR "profiler_info.json",
	     "{\"config\": {\"common_config\": {\"schedule\": {\"_wait\": 1}}}, \"rank_id\": -1}", 0},
	    {OUT "kernel_details.csv", KERNEL_HEADER "a,Add,AI_CORE,10,5\n", 0}};
	const struct text_file old[] = {{DIR "profiler_info_3.json",
	                                 "{\"config\": {\"common_config\": {\"schedule\": {\"_wait\": 1}}}}",
	                                 0},
	                                {OUT "kernel_details.csv", KERNEL_HEADER "a,Add,AI_CORE,10,5\n", 0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_true(p.captures[0].rank == SB_NULL);
	read_all(old, 2, &q);
	assert_true(q.captures[0].rank == 3);
}

/* user-pain 9: at 1.7e15 us a double has a step of 250 ns; two kernels 100 ns apart stay two. */
static void times_keep_their_nanoseconds(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	read_one(
	    OUT "trace_view.json",
	    "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"Ascend Hardware\"}},"
	    "{\"name\":\"a\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"1736408883704643.212\",\"dur\":1.1,"
	    "\"args\":{\"Task Type\":\"AI_CORE\"}},"
	    "{\"name\":\"b\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":\"1736408883704644.412\",\"dur\":1.2,"
	    "\"args\":{\"Task Type\":\"AI_CORE\"}}]",
	    &j.p);
	judge(&j);
	assert_true(j.b.rows[0].compute_ns == 2300 && j.b.rows[0].span_ns == 2400 &&
	            j.b.rows[0].free_ns == 100);
}

/* user-pain 45, ascend-formats 1.2: collectives are rows of kernel_details too, and no compute. */
static void collectives_are_no_compute(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	read_one(OUT "kernel_details.csv",
	         KERNEL_HEADER "a,Add,AI_CORE,10,5\nhcom_allReduce__1_0_1,hcom_allReduce_,HCCL,12,10\n"
	                       "b,Add,AI_VECTOR_CORE,30,5\n"
	                       "hcom_send__1_1_1,hcom_send_,COMMUNICATION,40,1\n",
	         &j.p);
	judge(&j);
	assert_true(j.b.rows[0].compute_ns == 10000 && j.b.rows[0].communication_ns == 11000);
	assert_true(j.b.rows[0].overlap_ns == 3000 && j.b.rows[0].span_ns == 31000);
	assert_true(j.b.rows[0].free_ns == 13000);
}

static void sums_alone_are_refused_by_name(void **state)
{
	const struct text_file f = {"op_statistic.csv",
	                            "OP Type,Core Type,Count,Total Time(us)\nAdd,AI_CORE,1,2\n", 0};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(&f, 1, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
	assert_string_equal(err.file, "op_statistic.csv");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contradictions_of_the_step_table),
	    cmocka_unit_test(spreadsheets_destroy_digits),
	    cmocka_unit_test(columns_that_nobody_knows),
	    cmocka_unit_test(all_known_columns_are_silent),
	    cmocka_unit_test(values_that_are_none),
	    cmocka_unit_test(rows_written_twice_count_once),
	    cmocka_unit_test(work_of_lanes_named_alike_counts_once),
	    cmocka_unit_test(rows_of_one_start_are_told_apart_at_once),
	    cmocka_unit_test(a_last_row_without_an_end_is_doubted),
	    cmocka_unit_test(little_data_is_said),
	    cmocka_unit_test(old_and_odd_operators),
	    cmocka_unit_test(ranks_that_are_none),
	    cmocka_unit_test(times_keep_their_nanoseconds),
	    cmocka_unit_test(collectives_are_no_compute),
	    cmocka_unit_test(sums_alone_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
