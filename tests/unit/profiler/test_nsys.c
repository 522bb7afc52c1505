#include "tests/unit/profiler/made_nsys.h"

static const char EVERYTHING[] = STRINGS
    "INSERT INTO StringIds VALUES (1, 'void gemm<float>(T)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),"
    "(4, 'ncclDevKernel_AllReduce_Sum_bf16'), (5, 'forward'), (6, 'worker'), (9, 'SECRET=1');" KERNELS
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, 7, 11, " P7 ", 1, 2),"
    "(160, 190, 1, 1, 9, 12, " P7 ", 4, 4);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, "
    "bytes, "
    "copyKind, srcKind, dstKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (200, 230, 0, 7, 13, " P7 ", 4096, 1, 0, 2),"
    "(230, 231, 0, 7, 14, " P7 ", 5, 11, NULL, NULL), (231, 233, 0, 7, 15, " P7 ", -1, 99, NULL, NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, bytes, memKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (240, 241, 0, 7, 16, 64, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, graphId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300, 400, 0, 7, 17, 3);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, syncType);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (400, 410, 0, 7, 3);" CALLS
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, " T70 ", 11, 3);" RANGES
    "INSERT INTO NVTX_EVENTS VALUES (10, 500, 59, NULL, " T70 ", 5), (20, 30, 60, 'inline', " T70 ", NULL),"
    "(25, NULL, 34, 'a mark', " T70 ", NULL), (0, NULL, 75, 'NCCL', " T70 ", NULL),"
    "(31, 39, 59, 'aten::mm, op_id = 314290', " T70 ", NULL);"
    "CREATE TABLE ThreadNames (nameId, priority, globalTid); INSERT INTO ThreadNames VALUES (6, 20, " T70 ");"
    "CREATE TABLE PROCESSES (globalPid, pid, name); INSERT INTO PROCESSES VALUES (" P7 ", 7, 'python3');"
    "CREATE TABLE TARGET_INFO_GPU (id, name); INSERT INTO TARGET_INFO_GPU VALUES (1, 'b'), (0, 'NVIDIA "
    "H100');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426, 'x');";

#define BASE INT64_C(1779630014975716426)

static void all_tables_are_read(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(read_sql("r.sqlite", EVERYTHING, &p, &err), SB_OK);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_NSYS);
	assert_int_equal(c->rank, SB_NULL);
	assert_string_equal(c->chip, "NVIDIA H100");
	assert_int_equal(c->event_count, 14);
	assert_int_equal(c->trace.count, 12);
	assert_event(c, "void gemm<float>(T)", EVENT_KERNEL, BASE + 100, 50);
	assert_event(c, "ncclDevKernel_AllReduce_Sum_bf16", EVENT_COMMUNICATION, BASE + 160, 30);
	assert_event(c, "Memcpy HtoD (Pageable -> Device)", EVENT_MEMCPY, BASE + 200, 30);
	assert_event(c, "Memcpy HtoD (Unified)", EVENT_MEMCPY, BASE + 230, 1);
	assert_event(c, "Memcpy", EVENT_MEMCPY, BASE + 231, 2);
	assert_event(c, "Memset (Device)", EVENT_MEMSET, BASE + 240, 1);
	assert_event(c, "CUDA graph 3", EVENT_KERNEL, BASE + 300, 100);
	assert_event(c, "Stream Sync", EVENT_DEVICE_WAIT, BASE + 400, 10);
	assert_event(c, "cudaLaunchKernel", EVENT_HOST_RUNTIME, BASE + 50, 10);
	assert_event(c, "forward", EVENT_HOST_ANNOTATION, BASE + 10, 490);
	assert_event(c, "inline", EVENT_HOST_ANNOTATION, BASE + 20, 10);
	assert_event(c, "aten::mm", EVENT_HOST_OP, BASE + 31, 8);
	/* only what rows refer to is kept: the environment of the program is nobody's business */
	assert_int_equal(sb_strings_find(c->trace.strings, "SECRET=1", 8), 0);
	assert_int_equal(p.warnings.count, 0);
}

static void copies_have_kind_and_bytes(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;
	const struct event_detail *d;

	(void)state;
	assert_int_equal(read_sql("r.sqlite", EVERYTHING, &p, &err), SB_OK);
	c = &p.captures[0];
	d = trace_detail(&c->trace, (uint32_t)event_of(c, "Memcpy HtoD (Pageable -> Device)"));
	assert_non_null(d);
	assert_string_equal(text_of(c, d->type), "HtoD");
	assert_int_equal(d->bytes, 4096);
	d = trace_detail(&c->trace, (uint32_t)event_of(c, "Memset (Device)"));
	assert_non_null(d);
	assert_int_equal(d->bytes, 64);
	assert_null(trace_detail(&c->trace, (uint32_t)event_of(c, "Memcpy")));
}

static void lanes_are_streams_and_threads(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct trace *t;
	const struct lane *l;

	(void)state;
	assert_int_equal(read_sql("r.sqlite", EVERYTHING, &p, &err), SB_OK);
	t = &p.captures[0].trace;
	l = &t->lanes[t->lane[event_of(&p.captures[0], "ncclDevKernel_AllReduce_Sum_bf16")]];
	assert_int_equal(l->device, 1);
	assert_string_equal(trace_text(t, l->process, NULL), "GPU 1");
	assert_string_equal(trace_text(t, l->thread, NULL), "stream 9 of python3 7");
	l = &t->lanes[t->lane[event_of(&p.captures[0], "cudaLaunchKernel")]];
	assert_int_equal(l->device, -1);
	assert_string_equal(trace_text(t, l->process, NULL), "python3 7");
	assert_string_equal(trace_text(t, l->thread, NULL), "worker 70");
	assert_int_equal(t->lane[event_of(&p.captures[0], "forward")],
	                 t->lane[event_of(&p.captures[0], "cudaLaunchKernel")]);
}

static int64_t link_of(const struct capture *c, const char *name)
{
	return c->trace.link[event_of(c, name)];
}

/* Correlations repeat from process to process. */
static void links_are_of_a_process(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(
	    read_sql(
	        "r.sqlite",
	        STRINGS
	        "INSERT INTO StringIds VALUES (1, 'k7'), (2, 'k8'), (3, 'c7'), (4, 'c8'), (5, 'k0');" KERNELS
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, 7, 11, " P7
	        ", 1, 1), (100, 150, 1, 1, 7, 11, (8 << 24), 2, 2), (200, 201, 1, 1, 7, 0, " P7
	        ", 5, 5);" CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, " T70
	        ", 11, 3), (50, 60, " T80 ", 11, 4);",
	        &p, &err),
	    SB_OK);
	c = &p.captures[0];
	assert_int_equal(link_of(c, "k7"), link_of(c, "c7"));
	assert_int_equal(link_of(c, "k8"), link_of(c, "c8"));
	assert_int_not_equal(link_of(c, "k7"), link_of(c, "k8"));
	assert_int_equal(link_of(c, "k0"), -1);
}

/* Seen in containers: the kernel's row has pid 144, the row of its launch 145. */
static void processes_are_matched_across_namespaces(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(
	    read_sql("r.sqlite",
	             STRINGS
	             "INSERT INTO StringIds VALUES (1, 'k144'), (2, 'k244'), (3, 'c145'), (4, 'c245'), (5, "
	             "'k7'), (6, 'c7');" KERNELS
	             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, 7, 11, 144 << 24, 1, 1),"
	             "(100, 150, 1, 1, 7, 21, 244 << 24, 2, 2), (300, 301, 1, 1, 7, 21, 7 << 24, 5, 5);" CALLS
	             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, (245 << 24) + 1, 21, 4),"
	             "(50, 60, (145 << 24) + 1, 11, 3), (50, 60, " T70 ", 21, 6);",
	             &p, &err),
	    SB_OK);
	c = &p.captures[0];
	assert_int_equal(link_of(c, "k144"), link_of(c, "c145"));
	assert_int_equal(link_of(c, "k244"), link_of(c, "c245"));
	assert_int_equal(link_of(c, "k7"), link_of(c, "c7"));
}

/* Old and new exports: other columns, other names of tables, another order. */
static void columns_are_found_by_name(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(
	    read_sql("run_rank3.sqlite",
	             STRINGS
	             "INSERT INTO StringIds VALUES (1, 'short'), (2, 'cudaLaunchKernel_v7000');"
	             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (correlationId, shortName, streamId, new, "
	             "end, start,"
	             "deviceId); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V3 VALUES (5, 1, 7, 'x', 30, -20, 2);"
	             "CREATE INDEX i ON CUPTI_ACTIVITY_KIND_KERNEL_V3 (start);"
	             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end); INSERT INTO "
	             "CUPTI_ACTIVITY_KIND_KERNEL "
	             "VALUES (0, 99);" CALLS
	             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('-30', '-25', 1, 5, 2);"
	             "CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES "
	             "('EXPORT_SCHEMA_VERSION_MAJOR', '4');",
	             &p, &err),
	    SB_OK);
	c = &p.captures[0];
	assert_int_equal(c->trace.count, 2);
	assert_event(c, "short", EVENT_KERNEL, -20, 50);
	assert_event(c, "cudaLaunchKernel", EVENT_HOST_RUNTIME, -30, 5);
	assert_int_equal(link_of(c, "short"), link_of(c, "cudaLaunchKernel"));
	assert_int_equal(c->trace.lanes[c->trace.lane[0]].device, 2);
	assert_int_equal(c->rank, 3);
	assert_non_null(warning_of(&p, "rank_from_name"));
	assert_non_null(warning_of(&p, "newer_schema"));
}

static const char *type_at(const struct capture *c, int64_t start)
{
	for (size_t i = 0; i < c->trace.detail_count; i++)
		if (c->trace.start_ns[c->trace.details[i].event] == start)
			return text_of(c, c->trace.details[i].type);
	return "";
}

/* One kernel serves for three operations: the innermost range of the launching thread that names one tells
 * which. A batch of both ways, a range of the program, one of another thread and one that is over tell none.
 */
static void sends_and_receives_are_told_by_ranges(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(
	    read_sql(
	        "r.sqlite",
	        STRINGS
	        "INSERT INTO StringIds VALUES (1, 'ncclDevKernel_SendRecv(x)'), (2, "
	        "'cudaLaunchKernelExC'), (3, 'ncclDevKernel_AllReduce_Sum(x)');" KERNELS
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1010, 0, 1, 7, 11, " P7 ", 1, 1),"
	        "(2000, 2010, 0, 1, 7, 12, " P7 ", 1, 1), (3000, 3010, 0, 1, 7, 13, " P7 ", 1, 1),"
	        "(4000, 4010, 0, 1, 7, 14, " P7 ", 1, 1), (5000, 5010, 0, 1, 7, 15, " P7 ", 1, 1),"
	        "(6000, 6010, 0, 1, 7, 16, " P7 ", 3, 3), (7000, 7010, 0, 1, 7, 17, " P7 ", 1, 1);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, "
	        "bytes, memKind);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (100, 101, 0, 7, 18, 64, 2);" CALLS
	        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110, 111, " T70 ", 11, 2),"
	        "(210, 211, " T70 ", 12, 2), (310, 311, " T70 ", 13, 2), (410, 411, " T70 ", 14, 2),"
	        "(510, 511, " T70 ", 15, 2), (610, 611, " T70 ", 16, 2), (710, 711, " T70 ", 17, 2);" RANGES
	        "INSERT INTO NVTX_EVENTS VALUES (100, 150, 59, 'c10d::recv_, op_id = 1', " T70 ", NULL),"
	        "(105, 120, 59, 'nccl:recv 1<-0', " T70 ", NULL), (200, 250, 59, 'ncclSend', " T70
	        ", NULL), (300, 350, 59, 'nccl:alltoall_base', " T70 ", NULL),"
	        "(301, 305, 59, 'nccl:send 0->1', " T70 ", NULL),"
	        "(400, 450, 59, 'c10d::batch_isend_irecv', " T70 ", NULL),"
	        "(500, 550, 59, 'my receive', " T70 ", NULL), (500, 550, 59, 'nccl:recv', " T80
	        ", NULL), (600, 650, 59, 'nccl:recv', " T70 ", NULL);",
	        &p, &err),
	    SB_OK);
	c = &p.captures[0];
	assert_string_equal(type_at(c, 1000), "recv");
	assert_string_equal(type_at(c, 2000), "send");
	assert_string_equal(type_at(c, 3000), "all_to_all");
	for (int64_t start = 4000; start <= 7000; start += 1000)
		assert_string_equal(type_at(c, start), "");
	assert_int_equal(trace_detail(&c->trace, (uint32_t)event_of(c, "Memset (Device)"))->bytes, 64);
}

/* NCCL marks each send and receive of an exchange with all, and launches them as one when the group ends: the
 * range around them tells what they are. What has ended before it, and what ends before the launch, does not.
 */
static void a_group_of_sends_is_an_exchange(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(
	    read_sql("r.sqlite",
	             STRINGS "INSERT INTO StringIds VALUES (1, 'ncclDevKernel_SendRecv(x)'), "
	                     "(2, 'cudaLaunchKernelExC');" KERNELS
	                     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1010, 0, 1, 7, 11, " P7
	                     ", 1, 1), (2000, 2010, 0, 1, 7, 12, " P7 ", 1, 1);" CALLS
	                     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (180, 181, " T70 ", 11, 2),"
	                     "(195, 196, " T70 ", 12, 2);" RANGES
	                     "INSERT INTO NVTX_EVENTS VALUES (50, 60, 59, 'nccl:recv 1<-0', " T70
	                     ", NULL), (100, 190, 59, 'nccl:all_to_all', " T70 ", NULL);"
	                     "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 15) "
	                     "INSERT INTO NVTX_EVENTS SELECT 101 + 4 * i, 102 + 4 * i, 59, 'ncclSend', " T70
	                     ", NULL FROM n UNION ALL "
	                     "SELECT 103 + 4 * i, 104 + 4 * i, 59, 'ncclRecv', " T70 ", NULL FROM n;",
	             &p, &err),
	    SB_OK);
	assert_string_equal(type_at(&p.captures[0], 1000), "all_to_all");
	assert_string_equal(type_at(&p.captures[0], 2000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_tables_are_read),
	    cmocka_unit_test(copies_have_kind_and_bytes),
	    cmocka_unit_test(lanes_are_streams_and_threads),
	    cmocka_unit_test(links_are_of_a_process),
	    cmocka_unit_test(processes_are_matched_across_namespaces),
	    cmocka_unit_test(columns_are_found_by_name),
	    cmocka_unit_test(sends_and_receives_are_told_by_ranges),
	    cmocka_unit_test(a_group_of_sends_is_an_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
