#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/read/kineto_impl.h"
#include "tests/unit/profiler/kineto_text.h"

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
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllGather\",\"ts\":2,\"dur\":1},"
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
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":7411230.485,\"dur\":0.001},"
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
	assert_true(c->trace.start_ns[0] == 1712195495000000000 + 7411230485);
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
	assert_int_equal(p.warnings.count, 1);
	assert_non_null(warning_of(&p, "no_device_activity"));
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
	        "{\"ph\":\"X\",\"name\":\"nan\",\"ts\":3,\"dur\":NaN},{\"ph\":\"b\",\"name\":\"b\",\"ts\":4},"
	        "{\"ph\":\"X\",\"name\":\"early\",\"ts\":-5.5,\"dur\":0}]",
	        &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 4);
	assert_string_equal(name_of(t, 0), "no dur");
	assert_string_equal(name_of(t, 1), "neg");
	assert_string_equal(name_of(t, 2), "nan");
	assert_int_equal(t->dur_ns[0] + t->dur_ns[1] + t->dur_ns[2] + t->dur_ns[3], 0);
	assert_int_equal(t->start_ns[3], -5500);
	assert_int_equal(warning_of(&p, "missing_duration")->count, 2);
	assert_int_equal(warning_of(&p, "missing_duration")->offset, 1);
	assert_int_equal(warning_of(&p, "negative_duration")->count, 1);
	assert_int_equal(warning_of(&p, "bad_timestamp")->count, 2);
	assert_int_equal(warning_of(&p, "skipped_event")->count, 1);
	assert_int_equal(warning_of(&p, "bad_value")->count, 1);
	assert_int_equal(p.warnings.count, 6);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_categories),     cmocka_unit_test(test_kinds_by_name),
	    cmocka_unit_test(test_times_and_base), cmocka_unit_test(test_bad_times),
	    cmocka_unit_test(test_lanes),          cmocka_unit_test(test_details),
	    cmocka_unit_test(test_dtypes),
	};

	return cmocka_run_group_tests_name("kineto", tests, NULL, NULL);
}
