/* The order of events, rows or members says nothing, where it is not the only thing that tells which of two
 * equal spans holds the other (report HTA#89): every answer is the same in any. */
#include "tests/unit/profiler/asked.h"

#include "profiler/analysis.h"
#include "profiler/findings/call_site.h"
#include "tests/unit/profiler/ascend_sql.h"

static const char *name_at(const struct asked *a, size_t row)
{
	return sb_strings_get(a->c.strings, a->c.rows[row].name, NULL);
}

static void collectives_of_a_timeline_stand_by_time(void **state)
{
#define NCCL(name, ts, group)                                                                                \
	EVENT("kernel", "ncclKernel_" name, "0", "7", ts, "2",                                               \
	      "\"device\":0,\"stream\":7,\"Collective name\":\"" name "\",\"Process Group Name\":\"" group   \
	      "\"")
	static const char *const ORDERS[] = {
	    TRACE(NCCL("send", "1", "b") "," NCCL("recv", "1", "a") "," NCCL("broadcast", "0", "c")),
	    TRACE(NCCL("broadcast", "0", "c") "," NCCL("recv", "1", "a") "," NCCL("send", "1", "b"))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};

		ask("a.json", ORDERS[i], &a);
		assert_int_equal(a.c.row_count, 3);
		assert_string_equal(name_at(&a, 0), "broadcast");
		/* at one time: by name */
		assert_string_equal(name_at(&a, 1), "recv");
		assert_string_equal(name_at(&a, 2), "send");
	}
}

/* Operators of one start are in order of the numbers in their names; links and packets: the largest first. */
static void is_in_order(const struct capture *c)
{
	static const char *const EXPECTED[] = {"hcom_allGather__1_9_1", "hcom_allReduce__1_2_1",
	                                       "hcom_allReduce__1_10_1"};
	const struct communication_op *op = c->communications;

	assert_int_equal(c->communication_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(text_of(c, op[i].name), EXPECTED[i]);
	assert_int_equal(op[1].link_count, 2);
	assert_string_equal(op[1].links[0].name, "SDMA");
	assert_string_equal(op[1].links[1].name, "RDMA");
	assert_int_equal(op[1].links[0].packet_count, 2);
	assert_int_equal(op[1].links[0].packets[0].bytes, 2000000);
	assert_int_equal(op[1].links[0].packets[1].bytes, 500000);
}

static void members_of_communication_json_stand_by_start(void **state)
{
#define OP(name, start, links)                                                                               \
	"\"" name "@g\":{\"Communication Time Info\":{\"Start Timestamp(us)\":" start                        \
	",\"Elapse Time(ms)\":1,\"Transit Time(ms)\":0.5},\"Communication Bandwidth Info\":{" links "}}"
#define SENT(name, size, packets)                                                                            \
	"\"" name "\":{\"Transit Size(MB)\":" size                                                           \
	",\"Transit Time(ms)\":0.5,\"Size Distribution\":{" packets "}}"
#define JSON(ops) "{\"step1\":{\"collective\":{" ops "}}}"
	static const char *const ORDERS[] = {
	    JSON(OP("hcom_allReduce__1_10_1", "2e15", "") "," OP("hcom_allGather__1_9_1", "1e15", "") "," OP(
	        "hcom_allReduce__1_2_1", "2e15",
	        SENT("RDMA", "1", "\"1\":[1,1]") "," SENT("SDMA", "2.5", "\"0.5\":[1,1],\"2\":[1,1]"))),
	    JSON(
	        OP("hcom_allReduce__1_2_1", "2e15",
	           SENT("SDMA", "2.5", "\"2\":[1,1],\"0.5\":[1,1]") "," SENT(
	               "RDMA", "1", "\"1\":[1,1]")) "," OP("hcom_allGather__1_9_1", "1e15",
	                                                   "") "," OP("hcom_allReduce__1_10_1", "2e15", ""))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};

		ask("communication.json", ORDERS[i], &a);
		is_in_order(&a.p.captures[0]);
		assert_string_equal(name_at(&a, 0), "hcom_allGather__1_9_1");
		assert_string_equal(name_at(&a, 2), "hcom_allReduce__1_10_1");
	}
}

static void rows_of_a_database_stand_by_start(void **state)
{
#define TIME(name, start) "('" name "','g'," start ",1,0.5,0,0,0,'step1','collective')"
#define PACKET(link, size, packet)                                                                           \
	"('hcom_allReduce__1_2_1','g','" link "'," size ",0.5,1,0," packet ",1,0.5,'step1','collective')"
#define ROWS(times, packets)                                                                                 \
	TIMES LINKS "INSERT INTO CommAnalyzerTime VALUES " times                                             \
	            "; INSERT INTO CommAnalyzerBandwidth VALUES " packets ";"
	static const char *const ORDERS[] = {
	    ROWS(TIME("hcom_allReduce__1_10_1", "2e15") "," TIME("hcom_allGather__1_9_1", "1e15") "," TIME(
	             "hcom_allReduce__1_2_1", "2e15"),
	         PACKET("RDMA", "1", "1") "," PACKET("SDMA", "2.5", "0.5") "," PACKET("SDMA", "2.5", "2")),
	    ROWS(TIME("hcom_allReduce__1_2_1", "2e15") "," TIME("hcom_allGather__1_9_1", "1e15") "," TIME(
	             "hcom_allReduce__1_10_1", "2e15"),
	         PACKET("SDMA", "2.5", "2") "," PACKET("SDMA", "2.5", "0.5") "," PACKET("RDMA", "1", "1"))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		PROFILE_AUTO p = {0};
		struct sb_error err = {0};

		assert_int_equal(read_sql("analysis.db", ORDERS[i], &p, &err), SB_OK);
		is_in_order(&p.captures[0]);
	}
}

/* What a finding names: sums that no order of the addends changes, and equal ones by name. */
static void a_finding_names_the_same_operators(void **state)
{
	static const int ORDERS[][6] = {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {3, 0, 4, 1, 5, 2}};
	static const struct {
		const char *name, *dur;
	} OPS[] = {{"hcom_allReduce__1_10_1", "300.1"}, {"hcom_allReduce__1_9_1", "300.1"},
	           {"hcom_a__1_1_1", "100.3"},          {"hcom_a__1_1_1", "100.2"},
	           {"hcom_a__1_1_1", "99.7"},           {"hcom_a__1_1_1", "0.1"}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ASKED_AUTO a = {0};
		ANALYSIS_AUTO found = {0};
		COLLECTIVES_AUTO matched = {0};
		char text[4096];
		size_t n = (size_t)snprintf(text, sizeof(text), "[");

		/* nothing but collectives, one behind the other */
		for (int k = 0; k < 6; k++) {
			int at = ORDERS[i][k];

			n += (size_t)snprintf(text + n, sizeof(text) - n,
			                      "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,"
			                      "\"tid\":7,\"ts\":%d,\"dur\":%s,\"args\":{\"device\":0}}",
			                      k > 0 ? "," : "", OPS[at].name, 1000 * at, OPS[at].dur);
		}
		snprintf(text + n, sizeof(text) - n, ",%s]", KERNEL("gemm", "6000", "400", "1"));
		ask("a.json", text, &a);
		assert_int_equal(collectives_match(&a.p, &matched), SB_OK);
		assert_int_equal(analysis_run(&a.p, &a.b, &a.c, &matched, &THRESHOLDS_DEFAULT, &found, NULL),
		                 SB_OK);
		const struct finding *f = NULL;

		for (size_t k = 0; k < found.count; k++)
			if (strcmp(found.findings[k].code, "parallel.poor_overlap") == 0)
				f = &found.findings[k];
		assert_non_null(f);
		assert_int_equal(f->operator_count, 3);
		assert_string_equal(sb_strings_get(found.strings, f->operators[0], NULL), "hcom_a__1_1_1");
		/* 300.3 us, the same bits in any order */
		assert_true(f->operator_us[0] == 300.3);
		assert_string_equal(sb_strings_get(found.strings, f->operators[1], NULL),
		                    "hcom_allReduce__1_9_1");
		assert_string_equal(sb_strings_get(found.strings, f->operators[2], NULL),
		                    "hcom_allReduce__1_10_1");
	}
}

/* Of two operators that both say where they were called from, the inner one is nearer to the call. */
static void the_inner_of_two_stacks_is_shown(void **state)
{
#define STACKED(name, ts, dur, line)                                                                         \
	EVENT("cpu_op", name, "9", "9", ts, dur, "\"Call stack\":\"/a/main.py(" line "): f\"")
#define WAITING LAUNCH("cudaStreamSynchronize", "4", "5", "1")
	static const char *const ORDERS[] = {
	    TRACE(
	        STACKED("aten::item", "1", "20", "3") "," STACKED("aten::item", "2", "10", "7") "," WAITING),
	    TRACE(WAITING
	          "," STACKED("aten::item", "2", "10", "7") "," STACKED("aten::item", "1", "20", "3"))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};
		struct call_site site = {.event = i == 0 ? 2 : 0};
		char out[CALL_SITE_TEXT_MAX];

		ask("a.json", ORDERS[i], &a);
		assert_int_equal(call_sites_find(&a.p.captures[0].trace, &site, 1), SB_OK);
		call_site_text(&a.p.captures[0].trace, &site, out);
		assert_string_equal(out, "aten::item < main.py(7): f");
	}
}

/* Of two that begin together the longer one holds the other, in any order; what ends inside a call holds it
 * not (reports HTA#89, pytorch#174555). */
static void callers_are_told_by_containment(void **state)
{
#define FRAME(line, ts, dur)                                                                                 \
	EVENT("python_function", "main.py(" line "): f", "9", "9", ts, dur, "\"Python parent id\":null")
	static const char *const ORDERS[] = {
	    TRACE(FRAME("1", "1", "20") "," FRAME("2", "1", "10") "," FRAME("3", "3", "4") "," WAITING),
	    TRACE(WAITING "," FRAME("3", "3", "4") "," FRAME("2", "1", "10") "," FRAME("1", "1", "20"))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};
		struct call_site site = {.event = i == 0 ? 3 : 0};
		char out[CALL_SITE_TEXT_MAX];

		ask("a.json", ORDERS[i], &a);
		assert_int_equal(call_sites_find(&a.p.captures[0].trace, &site, 1), SB_OK);
		call_site_text(&a.p.captures[0].trace, &site, out);
		assert_string_equal(out, "cudaStreamSynchronize < main.py(2): f < main.py(1): f");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(collectives_of_a_timeline_stand_by_time),
	    cmocka_unit_test(members_of_communication_json_stand_by_start),
	    cmocka_unit_test(rows_of_a_database_stand_by_start),
	    cmocka_unit_test(a_finding_names_the_same_operators),
	    cmocka_unit_test(the_inner_of_two_stacks_is_shown),
	    cmocka_unit_test(callers_are_told_by_containment),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
