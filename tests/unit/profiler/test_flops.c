#include "tests/unit/profiler/kineto_text.h"

#include <math.h>

#include "profiler/flops.h"

/* Expected values by hand: 2 b m n k and the formulas of the research page analyses, section 8. */

static struct shape shape_of(const char *text)
{
	return shape_parse(text, strlen(text));
}

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-9 * fabs(wanted);
}

static void shapes_are_read_or_refused(void **state)
{
	static const char *const bad[] = {"1,", ",1", "1,,2", "-1", "a", "1,2,3,4,5,6,7,8,9", " 1"};
	struct shape s = shape_of("32,3,224,224");

	(void)state;
	assert_int_equal(s.count, 4);
	assert_true(s.dims[0] == 32 && s.dims[3] == 224);
	assert_true(near(shape_elements(&s), 4816896));
	s = shape_of("");
	assert_true(s.count == 0 && shape_elements(&s) == 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s = shape_of(bad[i]);
		assert_true(s.count == -1 && isnan(shape_elements(&s)));
	}
}

static void products_count_two_a_multiply_add(void **state)
{
	const struct shape a = shape_of("141,512"), b = shape_of("512,512"), other = shape_of("500,512");
	const struct shape ba = shape_of("6,4,8"), bb = shape_of("6,8,3");
	struct work w = work_of_gemm(&a, &b, false, 2);

	(void)state;
	/* 2 x 141 x 512 x 512; elements 72192 + 262144 + 72192 */
	assert_true(near(w.flops, 73924608) && near(w.bytes, 813056));
	/* TraceLens has 0.0739968 GFLOP for this one with its bias */
	w = work_of_gemm(&a, &b, true, 2);
	assert_true(near(w.flops, 73996800));
	w = work_of_gemm(&ba, &bb, false, 4);
	assert_true(near(w.flops, 2.0 * 6 * 4 * 8 * 3) && near(w.bytes, 4.0 * (192 + 144 + 72)));
	w = work_of_gemm(&a, &other, false, 2);
	assert_true(isnan(w.flops));
}

static void convolutions_sum_over_the_weights_of_a_channel(void **state)
{
	/* the first layer of ResNet-50: 64 filters of 3 x 7 x 7, stride 2 */
	const struct shape x = shape_of("32,3,224,224"), k = shape_of("64,3,7,7"),
	                   y = shape_of("32,64,112,112");
	struct work w = work_of_convolution(&x, &k, &y, false, 4);

	(void)state;
	assert_true(near(w.flops, 2.0 * 32 * 64 * 112 * 112 * 147));
	assert_true(near(w.bytes, 4.0 * (4816896 + 9408 + 25690112)));
}

static void attention_is_two_products(void **state)
{
	const struct shape q = shape_of("2,8,128,64"), k = shape_of("2,8,256,64"), v = shape_of("2,8,256,32");
	const struct shape square = shape_of("2,8,128,64");
	double pairs = 2.0 * 8 * 128 * 256;

	(void)state;
	assert_true(near(work_of_attention(&q, &k, &v, false, false, 2).flops, 2 * pairs * (64 + 32)));
	/* causal counts only where the mask is a triangle */
	assert_true(near(work_of_attention(&q, &k, &v, true, false, 2).flops, 2 * pairs * (64 + 32)));
	assert_true(near(work_of_attention(&q, &square, &square, true, false, 2).flops,
	                 2.0 * 8 * 128 * 128 * (64 + 64)));
	/* backward is 2.5 times the forward one when the sizes are equal */
	assert_true(near(work_of_attention(&q, &square, &square, false, true, 2).flops,
	                 2.5 * 2 * 2 * 8 * 128 * 128 * (64 + 64)));
}

#define OP(name, dims, types, rest)                                                                          \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,"     \
	"\"args\":{\"External id\":1,\"Input type\":" types ",\"Input Dims\":" dims rest "}}"
#define BF16 "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "]}"

static void shapes_of_host_operators_are_read(void **state)
{
	PROFILE_AUTO p = {0};
	const struct host_work *w;

	(void)state;
	read_ok(TRACE(OP("aten::add", "[[9,9],[9,9]]", BF16, "") "," OP(
	            "aten::mm", "[[32768, 2048], [2048, 8192]]", BF16,
	            "") "," OP("aten::addmm", "[[512],[141,512],[512,512],[],[]]",
	                       "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]",
	                       "") "," OP("aten::convolution", "[[32,3,224,224],[64,3,7,7],[]]",
	                                  "[\"c10::Half\",\"c10::Half\",\"\"]",
	                                  ",\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, 2]\",\"[3, 3]\",\"[1, "
	                                  "1]\",\"False\",\"[0, 0]\",\"1\"]")),
	        &p);
	assert_int_equal(p.captures[0].host_work_count, 3);
	w = p.captures[0].host_works;
	assert_true(w[0].event == 1 && w[0].precision == PRECISION_FP16);
	assert_true(near(w[0].flops, 2.0 * 32768 * 2048 * 8192));
	assert_true(near(w[0].bytes, 2.0 * (32768.0 * 2048 + 2048.0 * 8192 + 32768.0 * 8192)));
	assert_true(w[1].event == 2 && w[1].precision == PRECISION_FP32 && near(w[1].flops, 73996800));
	assert_true(w[2].event == 3 && near(w[2].flops, 2.0 * 32 * 64 * 112 * 112 * 147));
}

static void shapes_that_tell_nothing_are_passed_over(void **state)
{
	static const char text[] = TRACE(
	    /* a list of lists; sizes that do not fit; no type; no shape; no size; no stride */
	    OP("aten::mm", "[[[1,2]],[2,3]]", BF16, "") "," OP("aten::mm", "[[4,2],[3,4]]", BF16, "") "," OP(
	        "aten::mm", "[[4,2],[2,4]]", "[]",
	        "") "," OP("aten::mm", "[]", BF16,
	                   "") "," OP("aten::mm", "[[4,-2],[-2,4]]", BF16,
	                              "") "," OP("aten::convolution", "[[1,1,8,8],[1,1,3,3]]", BF16, "") ","
	    /* a list as text; sizes beyond any machine */
	    OP("aten::mm", "\"[[1,2],[2,3]]\"", BF16,
	       "") "," OP("aten::mm", "[[9223372036854775807,2],[2,9223372036854775807]]", BF16, ""));
	PROFILE_AUTO p = {0};

	(void)state;
	read_ok(text, &p);
	assert_int_equal(p.captures[0].host_work_count, 2);
	assert_true(near(p.captures[0].host_works[0].flops, 12));
	assert_true(isfinite(p.captures[0].host_works[1].flops));
}

#define KERNEL(name, ts, dur, blocks, occupancy)                                                             \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts              \
	",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" ts                           \
	",\"blocks per SM\":" blocks ",\"est. achieved occupancy %\":" occupancy "}}"

/* Weighted by duration: (0.5 x 10 + 1 x 30) / 40 of the SMs, (20 x 10 + 60 x 30) / 40 % occupancy. */
static void kernels_of_one_name_are_summed(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel_fill *f;

	(void)state;
	read_ok(TRACE(KERNEL("a", "1", "10", "0.5", "20") "," KERNEL("a", "20", "30", "4", "60") "," KERNEL(
	            "b", "60", "5", "0", "0") "," KERNEL("c", "70", "5", "NaN", "1")),
	        &p);
	assert_int_equal(p.captures[0].fill_count, 1);
	f = p.captures[0].fills;
	assert_string_equal(trace_text(&p.captures[0].trace, f->name, NULL), "a");
	assert_true(near(f->blocks_ns / f->ns, 0.875) && near(f->occupancy_ns / f->ns, 0.5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shapes_are_read_or_refused),
	    cmocka_unit_test(products_count_two_a_multiply_add),
	    cmocka_unit_test(convolutions_sum_over_the_weights_of_a_channel),
	    cmocka_unit_test(attention_is_two_products),
	    cmocka_unit_test(shapes_of_host_operators_are_read),
	    cmocka_unit_test(shapes_that_tell_nothing_are_passed_over),
	    cmocka_unit_test(kernels_of_one_name_are_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
