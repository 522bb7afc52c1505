#include "tests/unit/profiler/fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "profiler/kernel_name.h"
#include "profiler/operators.h"

static struct operator_table collect(const struct profile *p)
{
	struct operator_table t = {0};

	assert_int_equal(operators_collect(p, &t, NULL), SB_OK);
	return t;
}

static struct operator_line *answer(const struct operator_table *t, const struct operator_query *q, size_t *n)
{
	struct operator_line *lines = NULL;

	assert_int_equal(operators_select(t, q, &lines, n), SB_OK);
	return lines;
}

static void is_text(const struct operator_table *t, uint32_t id, const char *text)
{
	assert_string_equal(sb_strings_get(t->strings, id, NULL), text);
}

static void is_type(const char *name, const char *type)
{
	char out[256];

	kernel_type(name, strlen(name), out, sizeof(out));
	assert_string_equal(out, type);
}

static void a_kernels_type_is_its_functions_name(void **state)
{
	char out[64];

	(void)state;
	is_type("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
	        "at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>)",
	        "at::native::vectorized_elementwise_kernel");
	is_type("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)",
	        "(anonymous namespace)::softmax_warp_forward");
	is_type("volta_sgemm_128x32_tn", "volta_sgemm_128x32_tn");
	is_type("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
	        "ncclKernel_AllReduce_RING_LL_Sum_float");
	is_type("void cutlass::Kernel<cutlass_80_tensorop>(cutlass_80_tensorop::Params)", "cutlass::Kernel");
	is_type("unsigned int scan<int>::run<3>(int)", "scan::run");
	is_type("triton_poi_fused_add_0", "triton_poi_fused_add_0");
	is_type("a name with blanks", "a name with blanks");
	is_type("<broken", "<broken");
	is_type("", "");
	memcpy_type("Memcpy HtoD (Pageable -> Device)", "", out, sizeof(out));
	assert_string_equal(out, "memcpy HtoD");
	memcpy_type("CopyHostToDevice", "h2d", out, sizeof(out));
	assert_string_equal(out, "memcpy h2d");
	memcpy_type("copy", "", out, sizeof(out));
	assert_string_equal(out, "memcpy");
}

static void make_gpu(struct profile *p)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1), gpu = add_lane(c, "GPU 0", "7", 0);

	add_step(c, 1, 0, 100);
	add_step(c, 2, 100, 100);
	add_event(c, host, EVENT_HOST_OP, "aten::add", 5, 5, -1);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 10, 1, 1);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 110, 1, 2);
	add_event(c, gpu, EVENT_KERNEL, "void add<4>(int)", 20, 30, 1);
	add_event(c, gpu, EVENT_KERNEL, "void add<8>(int)", 120, 50, 2);
	add_event(c, gpu, EVENT_KERNEL, "mul", 180, 20, -1);
	add_event(c, gpu, EVENT_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 210, 7, -1);
	add_event(c, gpu, EVENT_MEMSET, "Memset (Device)", 220, 3, -1);
	add_event(c, gpu, EVENT_DEVICE_WAIT, "Event Sync", 0, 999, -1);
}

static void gpu_operators_are_summed_by_type(void **state)
{
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO t = {0};
	struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .sort = OPERATOR_BY_TOTAL};
	size_t n = 0;

	(void)state;
	make_gpu(&p);
	t = collect(&p);
	assert_int_equal(t.count, 5);
	struct operator_line *lines = answer(&t, &q, &n);

	assert_int_equal(n, 4);
	is_text(&t, lines[0].row.name, "add");
	is_text(&t, lines[0].row.type, "add");
	is_text(&t, lines[0].row.unit, "gpu");
	assert_true(lines[0].row.count == 2 && lines[0].row.total_ns == 80 && lines[0].row.min_ns == 30);
	assert_true(lines[0].row.max_ns == 50 && lines[0].row.step == SB_NULL && lines[0].row.rank == 0);
	assert_float_equal(lines[0].share, 0.8, 1e-12);
	is_text(&t, lines[2].row.name, "memcpy HtoD");
	assert_int_equal(lines[2].row.klass, OPERATOR_COPY);
	assert_float_equal(lines[2].share, 0.7, 1e-12);
	is_text(&t, lines[3].row.name, "memset");
	free(lines);
	q.step = 2;
	q.by_name = true;
	lines = answer(&t, &q, &n);
	assert_int_equal(n, 1);
	is_text(&t, lines[0].row.name, "void add<8>(int)");
	assert_true(lines[0].row.step == 2 && lines[0].share == 1.0);
	free(lines);
}

static void an_answer_is_sorted_and_cut_as_asked(void **state)
{
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO t = {0};
	struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .sort = OPERATOR_BY_NAME};
	size_t n = 0;

	(void)state;
	make_gpu(&p);
	t = collect(&p);
	struct operator_line *lines = answer(&t, &q, &n);

	is_text(&t, lines[0].row.name, "add");
	is_text(&t, lines[1].row.name, "memcpy HtoD");
	is_text(&t, lines[3].row.name, "mul");
	free(lines);
	q.sort = OPERATOR_BY_COUNT;
	q.limit = 2;
	lines = answer(&t, &q, &n);
	assert_int_equal(n, 2);
	is_text(&t, lines[0].row.name, "add");
	is_text(&t, lines[1].row.name, "memcpy HtoD");
	free(lines);
	q.sort = OPERATOR_BY_MEAN;
	lines = answer(&t, &q, &n);
	is_text(&t, lines[0].row.name, "add"); /* 40 */
	is_text(&t, lines[1].row.name, "mul"); /* 20 */
	free(lines);
	q.rank = 9;
	lines = answer(&t, &q, &n);
	assert_int_equal(n, 0);
	free(lines);
}

static void ascend_operators_come_from_the_kernels(void **state)
{
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO t = {0};
	struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .sort = OPERATOR_BY_TOTAL};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 1);
	size_t n = 0;

	(void)state;
	add_step(c, 50, 0, 1000);
	add_kernel(c, "TransData1", "TransData", "AI_VECTOR_CORE", 10, 100)->step = 50;
	add_kernel(c, "TransData2", "TransData", "AI_VECTOR_CORE", 200, 60);
	add_kernel(c, "Unnamed", NULL, "AI_CORE", 300, 40)->step = 50;
	add_kernel(c, "hcom_allReduce__1_0_1", "hcom_allReduce_", "HCCL", 300, 500)->step = 50;
	c->kernels[3].communication = true;
	t = collect(&p);
	struct operator_line *lines = answer(&t, &q, &n);

	assert_int_equal(n, 3);
	is_text(&t, lines[0].row.name, "hcom_allReduce_");
	assert_int_equal(lines[0].row.klass, OPERATOR_COMMUNICATION);
	is_text(&t, lines[1].row.name, "TransData");
	is_text(&t, lines[1].row.unit, "AI_VECTOR_CORE");
	assert_true(lines[1].row.count == 2 && lines[1].row.total_ns == 160 && lines[1].row.step == 50);
	assert_float_equal(lines[1].share, 0.8, 1e-12);
	is_text(&t, lines[2].row.name, "Unnamed");
	is_text(&t, lines[2].row.type, "");
	free(lines);
}

static void host_operators_count_only_without_a_device(void **state)
{
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO t = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, SB_NULL);
	uint32_t host = add_lane(c, "python", "1", -1);

	(void)state;
	add_step(c, 4, 0, 100);
	add_event(c, host, EVENT_HOST_OP, "aten::mm", 10, 5, -1);
	add_event(c, host, EVENT_HOST_OP, "aten::mm", 110, 7, -1);
	add_event(c, host, EVENT_HOST_PYTHON, "train.py(3): step", 0, 500, -1);
	t = collect(&p);
	assert_int_equal(t.count, 2);
	/* no step comes last */
	assert_true(t.rows[0].step == 4 && t.rows[1].step == SB_NULL && t.rows[0].rank == SB_NULL);
	assert_int_equal(t.rows[0].klass, OPERATOR_HOST);
	is_text(&t, t.rows[0].unit, "cpu");
}

static void the_side_file_gives_the_table_back(void **state)
{
	PROFILE_AUTO p = {0};
	OPERATORS_AUTO t = {0};
	OPERATORS_AUTO u = {0};
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	make_gpu(&p);
	t = collect(&p);
	assert_int_equal(operators_write(&t, fileno(f), NULL), SB_OK);
	assert_int_equal(operators_load(fileno(f), &u, NULL), SB_OK);
	assert_int_equal(u.count, t.count);
	assert_int_equal(sb_strings_count(u.strings), sb_strings_count(t.strings));
	for (size_t i = 0; i < t.count; i++) {
		assert_string_equal(sb_strings_get(u.strings, u.rows[i].name, NULL),
		                    sb_strings_get(t.strings, t.rows[i].name, NULL));
		assert_true(u.rows[i].total_ns == t.rows[i].total_ns && u.rows[i].step == t.rows[i].step);
		assert_int_equal(u.rows[i].klass, t.rows[i].klass);
	}
	assert_int_equal(ftruncate(fileno(f), 100), 0);
	OPERATORS_AUTO broken = {0};

	assert_int_equal(operators_load(fileno(f), &broken, NULL), SB_EFORMAT);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_kernels_type_is_its_functions_name),
	    cmocka_unit_test(gpu_operators_are_summed_by_type),
	    cmocka_unit_test(an_answer_is_sorted_and_cut_as_asked),
	    cmocka_unit_test(ascend_operators_come_from_the_kernels),
	    cmocka_unit_test(host_operators_count_only_without_a_device),
	    cmocka_unit_test(the_side_file_gives_the_table_back),
	};

	return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
