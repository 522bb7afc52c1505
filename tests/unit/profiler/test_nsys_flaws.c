#include "profiler/breakdown.h"
#include "tests/unit/profiler/made_nsys.h"

static void flaws_are_told(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;
	const struct warning *w;

	(void)state;
	assert_int_equal(
	    read_sql("r.sqlite",
	             STRINGS "INSERT INTO StringIds VALUES (1, 'k');" KERNELS
	                     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, demangledName) VALUES "
	                     "(NULL, 5, 1), ('x', 5, 1), (1.5, 5, 1), (x'00', 5, 1), (-9223372036854775807, "
	                     "9223372036854775807, 1), (0, 0, 1), (20, 10, 1), (30, 40, 77);" RANGES
	                     "INSERT INTO NVTX_EVENTS VALUES (15, NULL, 59, 'open', NULL, NULL);",
	             &p, &err),
	    SB_OK);
	c = &p.captures[0];
	assert_int_equal(c->trace.count, 3);
	assert_event(c, "k", EVENT_KERNEL, 20, 0);
	assert_event(c, "77", EVENT_KERNEL, 30, 10);
	assert_event(c, "open", EVENT_HOST_ANNOTATION, 15, 25);
	assert_int_equal(c->trace.lanes[c->trace.lane[0]].device, -1);
	w = warning_of(&p, "bad_timestamp");
	assert_non_null(w);
	assert_int_equal(w->count, 5);
	assert_non_null(strstr(w->detail, "row 1 of CUPTI_ACTIVITY_KIND_KERNEL"));
	assert_non_null(warning_of(&p, "missing_time"));
	assert_non_null(warning_of(&p, "negative_duration"));
	assert_non_null(warning_of(&p, "missing_name"));
	assert_non_null(warning_of(&p, "open_range"));
}

static void steps_come_from_ranges(void **state)
{
	static const struct {
		const char *ranges;
		size_t count;
		int64_t number, start, dur; /* of the last */
	} CASES[] = {
	    {"(0, 10, 59, 'iteration1', 1, NULL), (10, 30, 59, 'iteration 2', 1, NULL)", 2, 2, 10, 20},
	    {"(0, 10, 59, 'ProfilerStep#7', 1, NULL), (2, 8, 59, 'step 1', 1, NULL)", 1, 7, 0, 10},
	    {"(0, 10, 60, 'Step_41', 1, NULL)", 1, 41, 0, 10},
	    /* two processes: one step */
	    {"(0, 10, 59, 'step 1', 1, NULL), (4, 13, 59, 'step 1', 16777217, NULL)", 1, 1, 0, 13},
	    /* as far apart as numbers go */
	    {"(-9000000000000000000, 9, 59, 'step 1', 1, NULL), (5, 9223372036854775806, 59, 'step 1', 1, "
	     "NULL)",
	     1, 1, -9000000000000000000, INT64_MAX},
	    {"(-9000000000000000000, NULL, 59, 'step 1', 1, NULL), (5, 9223372036854775806, 59, 'x', 1, "
	     "NULL)",
	     1, 1, -9000000000000000000, INT64_MAX},
	    /* once an epoch: two steps */
	    {"(0, 10, 59, 'step 1', 1, NULL), (20, 26, 59, 'step 1', 1, NULL)", 2, 1, 20, 6},
	    {"(0, 10, 59, 'stepping stone', 1, NULL), (0, 10, 59, 'step 1 of 3', 1, NULL)", 0, 0, 0, 0},
	    {"(0, NULL, 34, 'step 1', 1, NULL), (1, 2, 59, 'forward', 1, NULL)", 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};
		struct sb_error err;
		const struct capture *c;
		char sql[600];

		snprintf(sql, sizeof(sql), "%s%sINSERT INTO NVTX_EVENTS VALUES %s;", STRINGS, RANGES,
		         CASES[i].ranges);
		assert_int_equal(read_sql("r.sqlite", sql, &p, &err), SB_OK);
		c = &p.captures[0];
		assert_int_equal(c->step_count, CASES[i].count);
		if (c->step_count == 0)
			continue;
		assert_int_equal(c->steps[c->step_count - 1].number, CASES[i].number);
		assert_int_equal(c->steps[c->step_count - 1].start_ns, CASES[i].start);
		assert_int_equal(c->steps[c->step_count - 1].dur_ns, CASES[i].dur);
	}
}

static void an_export_without_events_says_so(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_sql("r.sqlite", STRINGS KERNELS, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
	assert_non_null(strstr(err.text, "--trace=cuda"));
	/* the times are needed, the rest is not */
	assert_int_equal(read_sql("r.sqlite",
	                          STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, duration);"
	                                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);",
	                          &p, &err),
	                 SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
}

static void what_the_profiler_lost_is_told(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct warning *w;

	(void)state;
	assert_int_equal(read_sql("r.sqlite",
	                          STRINGS RANGES
	                          "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'x', 1, NULL);"
	                          "CREATE TABLE DIAGNOSTIC_EVENT (timestamp, severity, text); INSERT INTO "
	                          "DIAGNOSTIC_EVENT VALUES (1, 1, 'started'), (2, 3, '7 events were lost');",
	                          &p, &err),
	                 SB_OK);
	assert_int_equal(p.warnings.count, 1);
	w = warning_of(&p, "profiler_error");
	assert_true(w && strstr(w->detail, "7 events were lost"));
}

/* The version is behind the names of the runtime's calls, and a part of those of the driver and of the user;
 * a kernel may have its mangled name only. Above the pid stands a number of the machine. */
static void names_keep_what_is_theirs(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;
	const struct trace *t;

	(void)state;
	assert_int_equal(
	    read_sql("r.sqlite",
	             STRINGS
	             "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuMemAlloc_v2'), "
	             "(3, 'loss_v7000'), (4, '_Z4gemmv');"
	             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, globalPid, "
	             "correlationId, demangledName, shortName, mangledName);"
	             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 7, (3 << 48) + " P7
	             ", 11, NULL, NULL, 4);" CALLS
	             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, (3 << 48) + " T70
	             ", 11, 1), (70, 80, (3 << 48) + " T70 ", 12, 2);" RANGES
	             "INSERT INTO NVTX_EVENTS VALUES (10, 90, 59, NULL, (3 << 48) + " T70
	             ", 3), (20, 30, 59, 'in line_v7000', (3 << 48) + " T70 ", NULL),"
	             "(0, NULL, 33, 'a category', " T70 ", NULL);"
	             "CREATE TABLE TARGET_INFO_GPU (id, name); INSERT INTO TARGET_INFO_GPU VALUES (1, 'A'), "
	             "(0, 'NVIDIA H100');",
	             &p, &err),
	    SB_OK);
	c = &p.captures[0];
	t = &c->trace;
	assert_int_equal(t->count, 5);
	assert_event(c, "_Z4gemmv", EVENT_KERNEL, 100, 50);
	assert_event(c, "cudaLaunchKernel", EVENT_HOST_RUNTIME, 50, 10);
	assert_event(c, "cuMemAlloc_v2", EVENT_HOST_RUNTIME, 70, 10);
	assert_event(c, "loss_v7000", EVENT_HOST_ANNOTATION, 10, 80);
	assert_event(c, "in line_v7000", EVENT_HOST_ANNOTATION, 20, 10);
	assert_string_equal(trace_text(t, t->lanes[t->lane[event_of(c, "cuMemAlloc_v2")]].process, NULL),
	                    "process 7");
	assert_string_equal(trace_text(t, t->lanes[t->lane[event_of(c, "cuMemAlloc_v2")]].thread, NULL),
	                    "thread 70");
	assert_int_equal(t->link[event_of(c, "_Z4gemmv")], t->link[event_of(c, "cudaLaunchKernel")]);
	/* the chip of the first device, whatever the order of the rows */
	assert_string_equal(c->chip, "NVIDIA H100");
}

/* Exports have no indexes; one that somebody added, from which a query could be answered alone, must not
 * change the order. */
static void an_index_changes_nothing(void **state)
{
	static const char *const indexes[] = {
	    "", "CREATE INDEX i ON CUPTI_ACTIVITY_KIND_GRAPH_TRACE (graphId DESC, start, end, deviceId, "
	        "streamId, globalPid, correlationId);"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		PROFILE_AUTO p = {0};
		struct sb_error err;
		char sql[600];

		snprintf(sql, sizeof(sql), "%s%s%s", STRINGS,
		         "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, "
		         "globalPid, correlationId, graphId, a, b, c, d, e, f, g, h, i, j, k, l);"
		         "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, "
		         "correlationId, graphId) VALUES (10, 20, 0, 7, 1, 3), (30, 40, 0, 7, 2, 9);",
		         indexes[i]);
		assert_int_equal(read_sql("r.sqlite", sql, &p, &err), SB_OK);
		assert_true(p.captures[0].trace.start_ns[0] == 10 && p.captures[0].trace.start_ns[1] == 30);
	}
}

/* A table of a later generation has the number of it behind its name, whichever table that is: names, places
 * and clocks as well as events. */
static void tables_of_later_generations(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct capture *c;
	const struct trace *t;

	(void)state;
	assert_int_equal(
	    read_sql(
	        "r.sqlite",
	        "CREATE TABLE StringIds_V2 (id, value); INSERT INTO StringIds_V2 VALUES (1, 'gemm'), "
	        "(2, 'worker'), (3, 'range');" KERNELS RANGES
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, 7, 11, " P7 ", 1, 1);"
	        "ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2;"
	        "INSERT INTO NVTX_EVENTS_V2 VALUES (10, 90, 59, NULL, " T70 ", 3);"
	        "CREATE TABLE ThreadNames_V2 (nameId, globalTid); INSERT INTO ThreadNames_V2 VALUES (2, " T70
	        ");CREATE TABLE PROCESSES_V3 (globalPid, pid, name); INSERT INTO PROCESSES_V3 VALUES (" P7
	        ", 7, 'python3');"
	        "CREATE TABLE TARGET_INFO_GPU_V2 (id, name, totalMemory); INSERT INTO TARGET_INFO_GPU_V2 "
	        "VALUES (0, 'NVIDIA H100', 5000);"
	        "CREATE TABLE TARGET_INFO_SESSION_START_TIME_V2 (utcEpochNs); INSERT INTO "
	        "TARGET_INFO_SESSION_START_TIME_V2 VALUES (1000000);"
	        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS_V2 (start, deviceId, bytes, memKind, "
	        "memoryOperationType); INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS_V2 VALUES (20, 0, 7, 2, 0);",
	        &p, &err),
	    SB_OK);
	c = &p.captures[0];
	t = &c->trace;
	assert_event(c, "gemm", EVENT_KERNEL, 1000100, 50);
	assert_event(c, "range", EVENT_HOST_ANNOTATION, 1000010, 80);
	assert_string_equal(trace_text(t, t->lanes[t->lane[event_of(c, "range")]].process, NULL),
	                    "python3 7");
	assert_string_equal(trace_text(t, t->lanes[t->lane[event_of(c, "range")]].thread, NULL), "worker 70");
	assert_string_equal(c->chip, "NVIDIA H100");
	assert_true(c->memory_count == 1 && c->memories[0].capacity_bytes == 5000);
	assert_int_equal(p.warnings.count, 0);
}

/* The order of the rows decides nothing. */
static void shuffled_rows_give_the_same_breakdown(void **state)
{
	struct breakdown_row rows[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* 97 is prime: i * 97 mod 1000 visits each row once */
		MADE_AUTO db = made_rows(
		    STRINGS "INSERT INTO StringIds VALUES (1, 'k'), (2, 'ncclKernel');" KERNELS,
		    i ? "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT n * 10, n * 10 + n % 50, n % 3, "
		        "1, n % 2, n, 0, 1 + n % 2, 1 FROM (SELECT ?1 * 97 % 1000 AS n)"
		      : "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT n * 10, n * 10 + n % 50, n % 3, "
		        "1, n % 2, n, 0, 1 + n % 2, 1 FROM (SELECT ?1 AS n)",
		    1000);
		const struct text_file file = {"r.sqlite", db.data, db.len};
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		struct sb_error err;

		assert_int_equal(read_texts(&file, 1, &p, &err), SB_OK);
		assert_int_equal(breakdown_compute(&p, &p.warnings, &b, &err), SB_OK);
		assert_int_equal(b.count, 3);
		assert_true(b.rows[1].overlap_ns > 0 && b.rows[1].free_ns > 0);
		rows[i] = b.rows[1];
	}
	assert_memory_equal(&rows[0], &rows[1], sizeof(rows[0]));
}

static int64_t told_bytes;

static void keep_progress(void *self, int64_t done, int64_t total)
{
	(void)self;
	assert_true(done <= total);
	assert_true(done >= told_bytes);
	told_bytes = done;
}

/* A database is read here and there, but each byte counts once. */
static void progress_reaches_the_end(void **state)
{
	MADE_AUTO db =
	    made_rows(STRINGS KERNELS RANGES,
	              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1 * 10, ?1 * 10 + 5, 0, 1, 7, ?1, 0, "
	              "?1, ?1)",
	              50000);
	int fd = made_fd(db.data, db.len);
	const struct read_input in = {.path = "r.sqlite", .fd = fd, .length = (int64_t)db.len};
	const struct read_hooks hooks = {.progress = keep_progress};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	told_bytes = 0;
	assert_int_equal(profile_read(&in, 1, NULL, &hooks, &p, &err), SB_OK);
	assert_int_equal(told_bytes, db.len);
	assert_int_equal(p.captures[0].trace.count, 50000);
	close(fd);
}

/* ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND and ENUM_CUPTI_SYNC_TYPE; tables of other kinds are no work. */
static void every_kind_of_copy_and_wait(void **state)
{
	static const char *const NAMES[] = {"Memcpy DtoH (Device -> Pinned)",
	                                    "Memcpy DtoD (Device -> Device)",
	                                    "Memcpy PtoP (Device -> Device)",
	                                    "Memcpy DtoH (Unified)",
	                                    "Memcpy DtoD (Unified)",
	                                    "Event Sync",
	                                    "Stream Wait Event",
	                                    "Context Sync",
	                                    "Sync"};
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct sb_error err;
	const struct trace *t;

	(void)state;
	assert_int_equal(
	    read_sql(
	        "r.sqlite",
	        STRINGS
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, copyKind, bytes, "
	        "srcKind, dstKind);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 7, 2, 1, 2, 1), "
	        "(20, 30, 0, 7, 8, 1, 2, 2), (30, 40, 0, 7, 10, 1, 2, 2), (40, 50, 0, 7, 12, 1, NULL, NULL),"
	        "(50, 60, 0, 7, 13, 1, NULL, NULL);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, syncType);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0, 90, 0, 7, 1), "
	        "(0, 90, 0, 7, 2), (0, 90, 0, 7, 4), (0, 90, 0, 7, 77);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, overheadKind);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (0, 500, 1);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, eventId);"
	        "CREATE TABLE OSRT_API (start, end, nameId, globalTid);"
	        "INSERT INTO OSRT_API VALUES (0, 500, 1, 1);"
	        "CREATE TABLE GPU_METRICS (timestamp, metricId, value);"
	        "CREATE TABLE MPI_P2P_EVENTS (start, end);",
	        &p, &err),
	    SB_OK);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, sizeof(NAMES) / sizeof(NAMES[0]));
	for (size_t i = 0; i < t->count; i++) {
		assert_string_equal(trace_text(t, t->name[i], NULL), NAMES[i]);
		assert_int_equal(t->kind[i], i < 5 ? EVENT_MEMCPY : EVENT_DEVICE_WAIT);
	}
	assert_int_equal(breakdown_compute(&p, &p.warnings, &b, NULL), SB_OK);
	assert_int_equal(b.rows[0].busy_ns, 50);
	assert_int_equal(b.rows[0].span_ns, 50);
	assert_int_equal(p.warnings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_of_copy_and_wait),
	    cmocka_unit_test(flaws_are_told),
	    cmocka_unit_test(names_keep_what_is_theirs),
	    cmocka_unit_test(an_index_changes_nothing),
	    cmocka_unit_test(tables_of_later_generations),
	    cmocka_unit_test(steps_come_from_ranges),
	    cmocka_unit_test(an_export_without_events_says_so),
	    cmocka_unit_test(what_the_profiler_lost_is_told),
	    cmocka_unit_test(shuffled_rows_give_the_same_breakdown),
	    cmocka_unit_test(progress_reaches_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
