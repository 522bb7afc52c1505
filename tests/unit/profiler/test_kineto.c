#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profiler/read/id_map.h"
#include "profiler/read/kineto_impl.h"

extern const struct format_reader KINETO_READER;

static int give_capture(struct read_context *ctx, const char *key, enum capture_format format,
                        struct capture **out)
{
	ctx->profile->captures = calloc(1, sizeof(struct capture));
	assert_non_null(ctx->profile->captures);
	ctx->profile->count = 1;
	*out = ctx->profile->captures;
	(*out)->source = strdup(key);
	(*out)->format = format;
	return SB_OK;
}

static int read_in_blocks(const char *path, const char *text, size_t len, size_t block, struct profile *out,
                          struct sb_error *err)
{
	struct read_context ctx = {.profile = out, .capture = give_capture};
	struct memory_stream m;

	memory_stream_init(&m, path, text, len, block);
	return KINETO_READER.read(&ctx, &m.base, err);
}

/* Reads a text that must be a trace. */
static void read_ok(const char *text, struct profile *out)
{
	assert_int_equal(read_in_blocks("a.json", text, strlen(text), 0, out, NULL), SB_OK);
	assert_int_equal(out->count, 1);
	assert_int_equal(out->captures[0].format, FORMAT_KINETO);
}

static void expect_error(const char *text, const char *word)
{
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};

	assert_int_equal(read_in_blocks("a.json", text, strlen(text), 0, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, word);
	assert_true(strlen(err.text) > 10);
	assert_int_equal(p.count, 0);
}

static const char *name_of(const struct trace *t, size_t i)
{
	return trace_text(t, t->name[i], NULL);
}

static void test_categories(void **state)
{
	static const struct {
		const char *cat;
		enum event_kind kind;
	} CASES[] = {
	    {"cpu_op", EVENT_HOST_OP},
	    {"Operator", EVENT_HOST_OP},
	    {"Runtime", EVENT_HOST_RUNTIME},
	    {"cuda_runtime", EVENT_HOST_RUNTIME},
	    {"cuda_driver", EVENT_HOST_RUNTIME},
	    {"xpu_runtime", EVENT_HOST_RUNTIME},
	    {"privateuse1_runtime", EVENT_HOST_RUNTIME},
	    {"privateuse1_driver", EVENT_HOST_RUNTIME},
	    {"Kernel", EVENT_KERNEL},
	    {"kernel", EVENT_KERNEL},
	    {"Memcpy", EVENT_MEMCPY},
	    {"gpu_memcpy", EVENT_MEMCPY},
	    {"Memset", EVENT_MEMSET},
	    {"GPU_MEMSET", EVENT_MEMSET},
	    {"mtia_ccp_events", EVENT_KERNEL},
	    {"cuda_sync", EVENT_DEVICE_WAIT},
	    {"gpu_user_annotation", EVENT_DEVICE_ANNOTATION},
	    {"user_annotation", EVENT_HOST_ANNOTATION},
	    {"python_function", EVENT_HOST_PYTHON},
	    {"Trace", EVENT_OTHER},
	    {"overhead", EVENT_OTHER},
	    {"cuda_profiler_range", EVENT_OTHER},
	    {"", EVENT_OTHER},
	    {"kernelx", EVENT_OTHER},
	    {"_runtime", EVENT_OTHER},
	    {"a_category_name_that_is_much_too_long_for_any_runtime", EVENT_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		assert_int_equal(kineto_category(CASES[i].cat, strlen(CASES[i].cat)), CASES[i].kind);
}

static void test_kinds_by_name(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_ok("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllGather\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"void RCCLfoo\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllGather\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"nccl:all_reduce\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"dma_copy\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"dma_copy\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"hccl_ring\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"oneCCL_x\",\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"__amd_rocclr_copyBuffer\",\"ts\":1,\"dur\":1}]",
	        &p);
	t = &p.captures[0].trace;
	static const enum event_kind KINDS[] = {
	    EVENT_COMMUNICATION, EVENT_COMMUNICATION, EVENT_KERNEL,        EVENT_COMMUNICATION, EVENT_HOST_OP,
	    EVENT_MEMCPY,        EVENT_KERNEL,        EVENT_COMMUNICATION, EVENT_COMMUNICATION, EVENT_KERNEL};
	assert_int_equal(t->count, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(t->kind[i], KINDS[i]);
}

static void test_times_and_base(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	/* the base and the rank stand behind the events */
	read_ok(
	    "{\"traceEvents\":["
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":3743411230047.485,\"dur\":0.001},"
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":\"5.1\",\"dur\":1e1},"
	    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\",\"ts\":9,\"dur\":2},"
	    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#6\",\"ts\":2,\"dur\":3},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"ProfilerStep#6\",\"ts\":2,\"dur\":3},"
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#\",\"ts\":2,\"dur\":3}],"
	    "\"deviceProperties\":[3,{\"id\":0,\"name\":\"Chip <b>\",\"x\":{}},{\"name\":\"Other\"}],"
	    "\"baseTimeNanoseconds\":1712195495000000000,"
	    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":\"3\",\"pg\":[{}],\"world_size\":8}}",
	    &p);
	c = &p.captures[0];
	assert_int_equal(c->rank, 3);
	assert_int_equal(c->world_size, 8);
	assert_string_equal(c->chip, "Chip <b>");
	assert_true(c->trace.start_ns[0] == 1712195495000000000 + 3743411230047485);
	assert_int_equal(c->trace.dur_ns[0], 1);
	assert_true(c->trace.start_ns[1] == 1712195495000000000 + 5100);
	assert_int_equal(c->trace.dur_ns[1], 10000);
	assert_int_equal(c->step_count, 2);
	assert_int_equal(c->steps[0].number, 6);
	assert_true(c->steps[0].start_ns == 1712195495000000000 + 2000);
	assert_int_equal(c->steps[0].dur_ns, 3000);
	assert_int_equal(c->steps[1].number, 7);
	/* a step mark is no operator, in any era */
	assert_int_equal(c->trace.kind[3], EVENT_HOST_ANNOTATION);
	assert_int_equal(c->trace.kind[4], EVENT_DEVICE_ANNOTATION);
	assert_int_equal(p.warnings.count, 0);
}

static const struct warning *warning(const struct profile *p, const char *code)
{
	for (size_t i = 0; i < p->warnings.count; i++) {
		if (strcmp(p->warnings.items[i].code, code) == 0)
			return &p->warnings.items[i];
	}
	return NULL;
}

static void test_bad_times(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_ok("[{\"ph\":\"X\",\"name\":\"no "
	        "dur\",\"ts\":1},{\"ph\":\"X\",\"name\":\"neg\",\"ts\":2,\"dur\":-4},"
	        "{\"ph\":\"X\",\"name\":\"bad\",\"ts\":\"100a\",\"dur\":1},{\"ph\":\"X\",\"name\":\"none\","
	        "\"dur\":1},"
	        "{\"ph\":\"X\",\"name\":\"nan\",\"ts\":3,\"dur\":NaN},{\"ph\":\"B\",\"name\":\"b\",\"ts\":4},"
	        "{\"ph\":\"X\",\"name\":\"early\",\"ts\":-5.5,\"dur\":0}]",
	        &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 4);
	assert_string_equal(name_of(t, 0), "no dur");
	assert_string_equal(name_of(t, 1), "neg");
	assert_string_equal(name_of(t, 2), "nan");
	assert_int_equal(t->dur_ns[0] + t->dur_ns[1] + t->dur_ns[2] + t->dur_ns[3], 0);
	assert_int_equal(t->start_ns[3], -5500);
	assert_int_equal(warning(&p, "missing_duration")->count, 2);
	assert_int_equal(warning(&p, "missing_duration")->offset, 1);
	assert_int_equal(warning(&p, "negative_duration")->count, 1);
	assert_int_equal(warning(&p, "bad_timestamp")->count, 2);
	assert_int_equal(warning(&p, "begin_end_events")->count, 1);
	assert_int_equal(warning(&p, "bad_value")->count, 1);
	assert_int_equal(p.warnings.count, 5);
}

static void test_lanes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_ok(
	    "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":9,\"tid\":\"25738\",\"ts\":1,\"dur\":1}"
	    ","
	    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream "
	    "7\",\"ts\":1,\"dur\":1,"
	    "\"args\":{\"device\":2,\"stream\":7,\"correlation\":55}},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"ts\":1,\"dur\":1,\"args\":{"
	    "\"stream\":20}},"
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":\"9\",\"tid\":25738,\"ts\":2,\"dur\":1,"
	    "\"args\":{\"stream\":0,\"device\":4,\"correlation\":3}},"
	    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":9,\"tid\":1,\"ts\":2,\"dur\":1,"
	    "\"args\":{\"stream\":\"0x0\",\"correlation\":55}},"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"args\":{\"name\":\"python3\"}},"
	    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":25738,\"args\":{\"name\":\"main \"}},"
	    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":1,\"args\":{\"name\":\"old\"}},"
	    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":1,\"args\":{\"name\":\"new\"}},"
	    "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":9,\"args\":{\"labels\":\"CPU\"}}]",
	    &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 5);
	assert_int_equal(t->lane_count, 4);
	assert_int_equal(t->lane[0], t->lane[3]);
	assert_string_equal(trace_text(t, t->lanes[0].process, NULL), "python3");
	assert_string_equal(trace_text(t, t->lanes[0].thread, NULL), "main");
	assert_int_equal(t->lanes[0].device, -1);
	assert_string_equal(trace_text(t, t->lanes[t->lane[1]].thread, NULL), "stream 7");
	assert_int_equal(t->lanes[t->lane[1]].device, 2);
	assert_string_equal(trace_text(t, t->lanes[t->lane[2]].thread, NULL), "20");
	assert_int_equal(t->lanes[t->lane[2]].device, 1);
	assert_string_equal(trace_text(t, t->lanes[t->lane[4]].thread, NULL), "new");
	assert_int_equal(t->lanes[t->lane[4]].device, -1);
	assert_int_equal(t->link[0], -1);
	assert_int_equal(t->link[1], 55);
	assert_int_equal(t->link[2], -1);
	assert_int_equal(t->link[3], -1);
	assert_int_equal(t->link[4], 55);
}

static void test_details(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;
	const struct event_detail *d;

	(void)state;
	read_ok(
	    "[{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
	    "Device)\",\"ts\":1,\"dur\":1,"
	    "\"args\":{\"bytes\":4096}},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"CopyDeviceToDevice\",\"ts\":1,\"dur\":1,"
	    "\"args\":{\"bytes\":-1,\"kind\":\"DtoD\"}},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\",\"ts\":1,\"dur\":1,"
	    "\"args\":{\"bytes\":0}},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":1,\"dur\":1,\"args\":{\"bytes\":1}},"
	    "{\"args\":{\"In msg nelems\":100,\"Out msg nelems\":800,\"dtype\":\"BFloat16\","
	    "\"Collective name\":\"_allgather_base\",\"Process Group Name\":\"1\",\"Process Group "
	    "Ranks\":\"[0, 1]\","
	    "\"Seq\":12},\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclA\",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclB\",\"ts\":1,\"dur\":1,\"args\":{"
	    "\"In msg nelems\":9223372036854775807,\"Out msg nelems\":1,\"dtype\":\"Long\",\"Collective "
	    "name\":\"x\"}},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclC\",\"ts\":1,\"dur\":1}]",
	    &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->detail_count, 5);
	d = trace_detail(t, 0);
	assert_int_equal(d->bytes, 4096);
	assert_string_equal(trace_text(t, d->type, NULL), "HtoD");
	d = trace_detail(t, 1);
	assert_true(d->bytes == SB_NULL);
	assert_string_equal(trace_text(t, d->type, NULL), "DtoD");
	d = trace_detail(t, 2);
	assert_int_equal(d->bytes, 0);
	assert_int_equal(d->type, 0);
	assert_null(trace_detail(t, 3));
	d = trace_detail(t, 4);
	assert_int_equal(d->bytes, 1600);
	assert_int_equal(d->sequence, 12);
	assert_string_equal(trace_text(t, d->type, NULL), "_allgather_base");
	assert_string_equal(trace_text(t, d->group, NULL), "1");
	assert_string_equal(trace_text(t, d->ranks, NULL), "[0, 1]");
	d = trace_detail(t, 5);
	assert_true(d->bytes == SB_NULL);
	assert_true(d->sequence == SB_NULL);
	assert_null(trace_detail(t, 6));
}

static void test_dtypes(void **state)
{
	(void)state;
	assert_int_equal(kineto_dtype_bytes("Float", 5), 4);
	assert_int_equal(kineto_dtype_bytes("c10::BFloat16", 13), 2);
	assert_int_equal(kineto_dtype_bytes("Long", 4), 8);
	assert_int_equal(kineto_dtype_bytes("Byte", 4), 1);
	assert_int_equal(kineto_dtype_bytes("Float8_e4m3fn", 13), 1);
	assert_int_equal(kineto_dtype_bytes("Unknown", 7), 0);
	assert_int_equal(kineto_dtype_bytes("", 0), 0);
}

static void test_nothing_usable(void **state)
{
	(void)state;
	expect_error("[]", "no_events");
	expect_error("{\"traceEvents\":[]}", "no_events");
	expect_error("{\"traceEvents\":[{}]}", "no_events");
	expect_error("{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}]}", "no_events");
	expect_error("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":\"no\"}]}", "no_events");
	expect_error("[[1,2,3,4]]", "no_events");
	expect_error("{}", "not_a_trace");
	expect_error("{\"traceEvents\":{}}", "not_a_trace");
	expect_error("null", "not_a_trace");
	expect_error("", "empty");
	expect_error("<html>", "bad_json");
	expect_error("{\"traceEvents\"", "truncated");
}

static void test_rank_of_name(void **state)
{
	PROFILE_AUTO p = {0};
	static const char TEXT[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]";

	(void)state;
	assert_int_equal(kineto_rank_of_name("x/rank3.json"), 3);
	assert_int_equal(kineto_rank_of_name("rank-12_a.json"), 12);
	assert_int_equal(kineto_rank_of_name("RANK_007.pt.trace.json.gz"), 7);
	assert_true(kineto_rank_of_name("rank_non_gpu.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank5/trace.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank3x.json") == SB_NULL);
	assert_true(kineto_rank_of_name("rank99999999999999999999.json") == SB_NULL);
	assert_true(kineto_rank_of_name("worker0.1623143089861.pt.trace.json") == SB_NULL);
	assert_int_equal(read_in_blocks("rank4.json", TEXT, sizeof(TEXT) - 1, 0, &p, NULL), SB_OK);
	assert_int_equal(p.captures[0].rank, 4);
	assert_non_null(warning(&p, "rank_from_name"));
}

static int score(const char *head, bool whole)
{
	struct sniff s = {.path = "x", .head = head, .len = strlen(head), .whole = whole};

	return KINETO_READER.sniff(&s);
}

static void test_sniff(void **state)
{
	(void)state;
	assert_int_equal(score("{\"schemaVersion\":1,\"traceEvents\":[]}", true), 50);
	assert_int_equal(score("\xEF\xBB\xBF\n { \"schemaVersion\": 1, \"dev", false), 50);
	assert_int_equal(score("[ {\"ph\": \"X\"}]", true), 50);
	assert_true(score("{\"metadata\":{\"pip_packages\":[", false) > 0);
	assert_true(score("{\"metadata\":{\"pip_packages\":[", false) < 50);
	assert_int_equal(score("{\"a\":1}", true), 0);
	assert_true(score("{}", true) > 0);
	assert_true(score("[]", true) > 0);
	assert_int_equal(score("[[1,2,3,4],[", false), 0);
	assert_int_equal(score("[{\"a\":1}]", true), 0);
	assert_int_equal(score("{\"schema\": \"1.1\", \"pid\": 3, \"nodes\": [", false), 0);
	assert_int_equal(score("", true), 0);
	assert_int_equal(score("\x89PNG", false), 0);
	assert_int_equal(score("Name,Type\n", false), 0);
	assert_int_equal(score("{", true), 0);
	assert_int_equal(score("[", true), 0);
}

static bool cancel(void *self)
{
	return ++*(int *)self > 0;
}

static void test_cancel(void **state)
{
	static const char TEXT[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]";
	PROFILE_AUTO p = {0};
	int calls = 0;
	struct read_hooks hooks = {.self = &calls, .canceled = cancel};
	struct read_context ctx = {.profile = &p, .hooks = &hooks, .capture = give_capture};
	struct memory_stream m;

	(void)state;
	memory_stream_init(&m, "a", TEXT, sizeof(TEXT) - 1, 0);
	assert_int_equal(KINETO_READER.read(&ctx, &m.base, NULL), SB_ECANCELED);
	assert_int_equal(calls, 1);
	assert_int_equal(p.count, 0);
}

/* Every cut of a small trace, in blocks of one byte and whole: never a crash, and what was whole stays. */
static void test_cut_anywhere(void **state)
{
	static const char TEXT[] =
	    "{\"deviceProperties\":[{\"name\":\"g\"}],\"traceEvents\":["
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\\u00e9\",\"pid\":0,\"tid\":7,\"ts\":1.25,"
	    "\"dur\":2,\"args\":{\"device\":0,\"Collective name\":\"x\",\"l\":[[1],{}]}},"
	    "{\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"dur\":1}],\"distributedInfo\":{\"rank\":1}}";
	size_t len = sizeof(TEXT) - 1, first = (size_t)(strstr(TEXT, "{}]}}") + 5 - TEXT);

	(void)state;
	for (size_t n = 0; n <= len; n++) {
		struct sb_error err = {0};
		PROFILE_AUTO whole = {0};
		PROFILE_AUTO pieces = {0};
		int rc = read_in_blocks("a", TEXT, n, 0, &whole, &err);

		assert_int_equal(read_in_blocks("a", TEXT, n, 1, &pieces, NULL), rc);
		assert_int_equal(rc, n >= first ? SB_OK : SB_EFORMAT);
		if (rc != SB_OK)
			continue;
		assert_int_equal(whole.captures[0].trace.count, pieces.captures[0].trace.count);
		assert_int_equal(whole.captures[0].trace.start_ns[0], 1250);
		if (n < len)
			assert_int_equal(warning(&whole, "truncated")->offset, n);
	}
}

static void test_id_map(void **state)
{
	struct id_map m = {0};
	uint32_t v = 0;

	(void)state;
	assert_false(id_map_get(&m, (struct id_key){1, 2, 3}, &v));
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(id_map_put(&m, (struct id_key){i % 7, i, i % 3}, i), SB_OK);
	assert_int_equal(id_map_put(&m, (struct id_key){5, 5, 2}, 77), SB_OK);
	assert_int_equal(m.count, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		assert_true(id_map_get(&m, (struct id_key){i % 7, i, i % 3}, &v));
		assert_int_equal(v, i == 5 ? 77 : i);
	}
	assert_false(id_map_get(&m, (struct id_key){1, 2, 3}, &v));
	id_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_categories),     cmocka_unit_test(test_kinds_by_name),
	    cmocka_unit_test(test_times_and_base), cmocka_unit_test(test_bad_times),
	    cmocka_unit_test(test_lanes),          cmocka_unit_test(test_details),
	    cmocka_unit_test(test_dtypes),         cmocka_unit_test(test_nothing_usable),
	    cmocka_unit_test(test_rank_of_name),   cmocka_unit_test(test_sniff),
	    cmocka_unit_test(test_cancel),         cmocka_unit_test(test_cut_anywhere),
	    cmocka_unit_test(test_id_map),
	};

	return cmocka_run_group_tests_name("kineto", tests, NULL, NULL);
}
