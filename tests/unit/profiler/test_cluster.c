#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "profiler/breakdown.h"
#include "profiler/communication.h"
#include "profiler/read/cluster_analysis.h"
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#define DIR "job/cluster_analysis_output/"
#define STEPS                                                                                                \
	"Step,Type,Index,Computing,Communication(Not "                                                       \
	"Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude "   \
	"Receive)\n"                                                                                         \
	"2,rank,0,75.5,10,2.5,12.5,4,89.5,0,10\n"                                                            \
	"2,rank,1,70,20,5,25,10,100,0,20\n"                                                                  \
	"2,rank,10,60,40,1,41,5,65,40,0\n"                                                                   \
	"2,stage,\"(0, 1)\",75.5,20,5,25,10,100,0,20\n"                                                      \
	"2,stage,\"(10,)\",60,40,1,41,5,65,40,0\n"

static void read_all(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

static void each_rank_has_its_rows(void **state)
{
	const struct text_file files[] = {{DIR "cluster_step_trace_time.csv", STEPS, 0}};
	PROFILE_AUTO p = {0};
	struct warnings w = {0};
	struct sb_error err = {0};
	struct breakdown b = {0};
	int64_t sum = 0;

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(p.captures[0].format, FORMAT_CLUSTER_ANALYSIS);
	assert_string_equal(p.captures[2].source, DIR "rank 10");
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(p.captures[i].step_trace_count, 1);
		assert_true(p.captures[i].step_traces[0].step == 2);
		sum += p.captures[i].step_traces[0].computing;
	}
	assert_true(p.captures[0].rank == 0 && p.captures[1].rank == 1 && p.captures[2].rank == 10);
	assert_true(p.captures[0].stage == 0 && p.captures[1].stage == 0 && p.captures[2].stage == 1);
	/* the maxima of the stage rows belong to nobody */
	assert_true(sum == 205500);
	assert_int_equal(breakdown_compute(&p, &w, &b, &err), SB_OK);
	assert_true(b.rows[4].rank == 10 && b.rows[4].span_ns == 65000 && b.rows[4].bubble_ns == 40000);
	/* one table, one warning of its rounding */
	assert_int_equal(w.count, 1);
	assert_string_equal(w.items[0].file, "job/cluster_analysis_output");
	breakdown_free(&b);
	free(w.items);
}

static void newer_tables_name_the_stage(void **state)
{
	const struct text_file files[] = {
	    {"x.csv",
	     "Step,Type,Index,Computing,Communication(Not "
	     "Overlapped),Communication,Free,Stage,Bubble,dp_index,pp_index,tp_index\n"
	     ",rank,5,1,2,3,4,7,0,0,3,1\n",
	     0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 5 && p.captures[0].stage == 3);
	assert_true(p.captures[0].step_traces[0].step == SB_NULL);
	assert_string_equal(p.captures[0].source, "rank 5");
}

static void odd_rows_are_told(void **state)
{
	const struct text_file files[] = {
	    {"x.csv",
	     "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
	     "1,rank,0,10,10,0,10,5,25\n"
	     "1,rank,-1,10,10,0,10,5,25\n"
	     "1,node,2,10,10,0,10,5,25\n"
	     "1,rank,3,1.5E+05,10,0,10,5,25\n"
	     "1,rank,4,10,10,0,12,5,25\n"
	     "1,rank,5,10,10,0,10,5,25.9\n"
	     "1,rank,6,10,10,0,10,5,27\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct warning *w;

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.count, 4);
	w = warning_of(&p, "bad_value");
	assert_true(w && w->count == 2 && w->line == 3);
	w = warning_of(&p, "precision_lost");
	assert_true(w && w->count == 1 && w->line == 5);
	/* off by 2 us; 0.9 us is what rounding may cost here */
	w = warning_of(&p, "contradiction");
	assert_true(w && w->count == 2 && w->line == 6);
}

#define BODY(wait, transit)                                                                                  \
	"{\"Communication Time Info\": {\"Elapse Time(ms)\": 5, \"Transit Time(ms)\": " transit              \
	", \"Wait Time(ms)\": " wait ", \"Synchronization Time(ms)\": " wait                                 \
	"}, \"Communication Bandwidth Info\": {\"RDMA\": {\"Transit Size(MB)\": 20.97152, \"Transit "        \
	"Time(ms)\": 0.5, \"Large Packet Ratio\": 1.0, \"Size Distribution\": {\"20.97152\": [1, 0.5]}}}}"
#define COMMUNICATION                                                                                        \
	"{\"p2p\": {\"step2\": {\"hcom_send__822_0@1333\": {\"0\": " BODY(                                   \
	    "0", "0.25") "}}}, \"(0, 1)\": "                                                                 \
	                 "{\"step2\": "                                                                      \
	                 "{\"hcom_allReduce__"                                                               \
	                 "483_0_1@77\": "                                                                    \
	                 "{\"0\": " BODY("2", "1") ", \"1\": " BODY(                                         \
	                     "0", "3") "}, "                                                                 \
	                               "\"Total "                                                            \
	                               "Op "                                                                 \
	                               "Info\": "                                                            \
	                               "{\"0\":"                                                             \
	                               " " BODY("2", "1") ", \"1\": " BODY("0", "3") "}}}}"

static const struct communication_op *operator_of(const struct capture *c, const char *name)
{
	for (size_t i = 0; i < c->communication_count; i++)
		if (strcmp(text_of(c, c->communications[i].name), name) == 0)
			return &c->communications[i];
	fail_msg("no operator %s", name);
	return NULL;
}

static void operators_go_to_their_ranks(void **state)
{
	const struct text_file files[] = {{DIR "cluster_communication.json", COMMUNICATION, 0}};
	PROFILE_AUTO p = {0};
	const struct communication_op *op;
	struct sb_error err = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	read_all(files, 1, &p);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.captures[0].communication_count, 2);
	assert_int_equal(p.captures[1].communication_count, 1);
	op = operator_of(&p.captures[0], "hcom_send__822_0");
	assert_true(op->point_to_point && op->step == 2 && op->transit_us == 250);
	assert_string_equal(text_of(&p.captures[0], op->group), "p2p");
	op = operator_of(&p.captures[1], "hcom_allReduce__483_0_1");
	assert_true(!op->point_to_point && op->transit_us == 3000 && op->wait_us == 0);
	assert_string_equal(text_of(&p.captures[1], op->group), "(0, 1)");
	assert_true(op->link_count == 1 && op->links[0].bytes == 20971520);
	/* 1 - mean(1, 3) / 3 */
	assert_int_equal(communication_compute(&p, 0.2, &r, &err), SB_OK);
	assert_int_equal(r.domain_count, 1);
	assert_true(fabs(r.domains[0].r_wait - 1.0 / 3) < 1e-12 && r.domains[0].slow_rank == 1);
}

static void all_files_of_an_analysis_fill_the_same_ranks(void **state)
{
	const struct text_file files[] = {{DIR "cluster_communication.json", COMMUNICATION, 0},
	                                  {DIR "cluster_step_trace_time.csv", STEPS, 0},
	                                  {DIR "again.csv", STEPS, 0},
	                                  {DIR "again.json", COMMUNICATION, 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 4, &p);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.captures[0].step_trace_count, 1);
	assert_int_equal(p.captures[0].communication_count, 2);
	assert_int_equal(p.captures[1].communication_count, 1);
	assert_int_equal(p.captures[2].communication_count, 0);
	assert_non_null(warning_of(&p, "duplicate_file"));
}

/* The analysis lies beside the captures that it was made from. */
static void the_own_capture_of_a_rank_wins(void **state)
{
	const struct text_file files[] = {
	    {DIR "cluster_step_trace_time.csv", STEPS, 0},
	    {"job/h_1_20250109084453123_ascend_pt/profiler_info_10.json", "{\"rank_id\": 10}", 0},
	    {"job/h_1_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,1,1\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 3, &p);
	assert_int_equal(p.count, 3);
	assert_true(p.captures[2].rank == 10 && p.captures[2].format == FORMAT_ASCEND_TEXT);
	assert_true(p.captures[2].stage == 1);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(p.left_out_count, 1);
	assert_string_equal(p.left_out[0].file, DIR "rank 10");
}

static void groups_tell_the_stages(void **state)
{
#define TWO "Step,Type,Index,Computing,Communication,Free,Stage\n1,rank,3,1,1,1,1\n1,rank,11,1,1,1,1\n"
	const struct text_file old[] = {
	    {"a.csv", TWO, 0},
	    {"communication_group.json", "{\"collective\": [[11, 3]], \"p2p\": [[3, 4], [11, 12]]}", 0}};
	const struct text_file new[] = {
	    {"a.csv", TWO, 0},
	    {"g.json",
	     "{\"collective\": [[11, 3]], \"p2p\": [[11, 3]], \"comm_group_parallel_info\": [{\"type\": "
	     "\"collective\", \"rank_set\": [3, 11], \"group_name\": \"1\", \"pg_name\": \"tp\"}, "
	     "{\"rank_set\": "
	     "[11, 3], \"pg_name\": \"pp\"}]}",
	     0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_all(old, 2, &p);
	assert_int_equal(p.count, 2);
	assert_true(p.captures[0].stage == 0 && p.captures[1].stage == 1);
	/* ranks 4 and 12 have no rows, and are no captures */
	assert_int_equal(p.left_out_count, 0);
	read_all(new, 2, &q);
	assert_int_equal(q.count, 2);
	/* by rank: the list is in the order of texts */
	assert_true(q.captures[0].stage == 0 && q.captures[1].stage == 1);
}

static void metadata_tells_the_stage(void **state)
{
	const struct text_file files[] = {
	    {"h_1_20250109084453123_ascend_pt/profiler_metadata.json",
	     "{\"distributed_args\": {\"rank\": 5, \"world_size\": 8}, \"parallel_group_info\": {\"ip%1\": "
	     "{\"group_name\": \"tp\", \"group_rank\": 0, \"global_ranks\": [4, 5]}, \"ip%2\": "
	     "{\"group_name\": \"pp\", \"group_rank\": 1, \"global_ranks\": [1, 5]}}}",
	     0},
	    {"h_1_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
	     "Step,Computing,Communication,Free,Stage\n1,1,1,1,1\n", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_true(p.captures[0].rank == 5 && p.captures[0].stage == 1);
}

/* Rank 1 transmits three times as long in the group (0, 1): a slow rank among equals, and nothing to tell
 * when the two are different stages of a pipeline. */
static void stages_are_not_compared(void **state)
{
#define STEP_TABLE "Step,Type,Index,Computing,Communication(Not Overlapped),Communication,Free,Stage\n"
#define STEP_RANKS "2,rank,0,50,5000,5000,10,5060\n2,rank,1,50,5000,5000,10,5060\n"
	const struct text_file together[] = {
	    {"a.csv", STEP_TABLE STEP_RANKS "2,stage,\"(0, 1)\",1,1,1,1,1\n", 0},
	    {"c.json", COMMUNICATION, 0}};
	const struct text_file apart[] = {
	    {"a.csv", STEP_TABLE STEP_RANKS "2,stage,\"(0,)\",1,1,1,1,1\n2,stage,\"(1,)\",1,1,1,1,1\n", 0},
	    {"c.json", COMMUNICATION, 0}};
	JUDGED_AUTO one = {0};
	JUDGED_AUTO two = {0};

	(void)state;
	read_all(together, 2, &one.p);
	judge(&one);
	assert_non_null(found(&one, "communication.slow_rank"));
	assert_true(found(&one, "communication.slow_rank")->rank == 1);
	read_all(apart, 2, &two.p);
	judge(&two);
	assert_null(found(&two, "communication.slow_rank"));
}

/* Sets of ranks come in any order: a stage is counted by its lowest rank. Under "p2p" stand pairs, whatever
 * they are called. */
static void the_order_of_a_file_does_not_matter(void **state)
{
	const struct text_file steps[] = {
	    {"a.csv", STEP_TABLE STEP_RANKS "2,stage,\"(1,)\",1,1,1,1,1\n2,stage,\"(0,)\",1,1,1,1,1\n", 0}};
	const struct text_file pairs[] = {
	    {"c.json", "{\"p2p\": {\"step2\": {\"hcom_batchSendRecv__1_0@7\": {\"0\": " BODY("0", "1") "}}}}",
	     0}};
	PROFILE_AUTO p = {0}, q = {0};

	(void)state;
	read_all(steps, 1, &p);
	assert_true(p.captures[0].stage == 0 && p.captures[1].stage == 1);
	read_all(pairs, 1, &q);
	assert_true(q.captures[0].communications[0].point_to_point);
}

static void expect_name(const char *text, const char *want)
{
	char name[CLUSTER_GROUP_MAX];

	cluster_group_name(text, strlen(text), name, sizeof(name));
	assert_string_equal(name, want);
}

static void groups_have_short_names(void **state)
{
	char a[CLUSTER_GROUP_MAX], b[CLUSTER_GROUP_MAX];
	const char *first = "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
	           *second = "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11)";

	(void)state;
	expect_name("(0,1)", "(0, 1)");
	expect_name("(0, 1)", "(0, 1)");
	expect_name("[11, 3]", "(11, 3)");
	expect_name("(5,)", "(5)");
	expect_name("p2p", "p2p");
	cluster_group_name(first, strlen(first), a, sizeof(a));
	cluster_group_name(second, strlen(second), b, sizeof(b));
	assert_true(strncmp(a, "(0, 1, 2, 3, 4, 5, 6, 7, ... 11 ranks, ", 39) == 0);
	assert_string_not_equal(a, b);
}

__attribute__((format(printf, 2, 3))) static void add(struct sb_buf *b, const char *format, ...)
{
	char text[128];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	assert_int_equal(sb_buf_add(b, text, (size_t)n), SB_OK);
}

static void thousands_of_ranks_are_read(void **state)
{
	const int ranks = 4000;
	struct sb_buf text;
	PROFILE_AUTO p = {0};

	(void)state;
	sb_buf_init(&text, 1 << 20);
	add(&text, "Step,Type,Index,Computing,Communication,Free,Stage\n");
	for (int i = 0; i < ranks; i++)
		add(&text, "1,rank,%d,1,1,1,1\n", i);
	for (int stage = 0; stage < 2; stage++) {
		add(&text, "1,stage,\"(%d", stage * ranks / 2);
		for (int i = stage * ranks / 2 + 1; i < (stage + 1) * ranks / 2; i++)
			add(&text, ", %d", i);
		add(&text, ")\",1,1,1,1\n");
	}
	const struct text_file files[] = {{"cluster_step_trace_time.csv", text.data, text.len}};

	read_all(files, 1, &p);
	sb_buf_free(&text);
	assert_int_equal(p.count, ranks);
	assert_true(p.captures[0].stage == 0 && p.captures[1999].stage == 0);
	assert_true(p.captures[2000].stage == 1 && p.captures[3999].stage == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_rank_has_its_rows),
	    cmocka_unit_test(newer_tables_name_the_stage),
	    cmocka_unit_test(odd_rows_are_told),
	    cmocka_unit_test(operators_go_to_their_ranks),
	    cmocka_unit_test(all_files_of_an_analysis_fill_the_same_ranks),
	    cmocka_unit_test(the_own_capture_of_a_rank_wins),
	    cmocka_unit_test(groups_tell_the_stages),
	    cmocka_unit_test(metadata_tells_the_stage),
	    cmocka_unit_test(stages_are_not_compared),
	    cmocka_unit_test(the_order_of_a_file_does_not_matter),
	    cmocka_unit_test(groups_have_short_names),
	    cmocka_unit_test(thousands_of_ranks_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
