#include "tests/unit/profiler/judged.h"

#include "profiler/efficiency/efficiency.h"
#include "profiler/findings/compute_parts.h"

/* What Ascend's kernel tables show of the hardware, by calculation by hand. */

static struct kernel *shaped(struct capture *c, const char *type, const char *core, int64_t us,
                             const char *inputs, const char *types, const char *output)
{
	struct kernel *k = add_kernel(c, type, type, core, (int64_t)c->kernel_count * 1000000, us * 1000);

	k->input_shapes = text_id(c, inputs);
	k->input_types = text_id(c, types);
	k->output_shapes = text_id(c, output);
	k->output_types = text_id(c, "FLOAT16");
	return k;
}

/* A gather reads a few rows of its table, ZerosLike nothing of its input: their shapes say nothing of what
 * moves. The sum moves 3 x 2 x 2^25 bytes in 200 us. */
static void only_element_wise_operators_tell_the_memory(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_rank(&p, 0, 1, 1000, 0, 0);
	struct efficiency e;

	(void)state;
	shaped(c, "Add", "AI_VECTOR_CORE", 200, "32768,1024;32768,1024", "FLOAT16;FLOAT16", "32768,1024");
	shaped(c, "ZerosLike", "AI_VECTOR_CORE", 10, "32768,1024", "FLOAT16", "32768,1024");
	shaped(c, "GatherV2", "AI_VECTOR_CORE", 10, "32768,1024;8;1", "FLOAT16;INT64;INT64", "8,1024");
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_int_equal(e.element_wise.calls, 1);
	is_near(e.element_wise.amount / e.element_wise.seconds, 3 * 2 * 33554432.0 / 200e-6);
}

/* A list of more tensors than are counted is not known, rather than too small. */
static void a_long_list_of_tensors_is_not_known(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_rank(&p, 0, 1, 1000, 0, 0);
	const struct rank_view v = {.c = c};
	char shapes[65 * 2], types[65 * 8];

	(void)state;
	for (int i = 0; i < 65; i++) {
		memcpy(shapes + 2 * i, "8;", 2);
		memcpy(types + 8 * i, "FLOAT16;", 8);
	}
	/* the last ';' goes */
	shapes[2 * 65 - 1] = types[8 * 65 - 1] = '\0';
	assert_true(isnan(
	    kernel_work(&v, shaped(c, "ForeachAddList", "AI_VECTOR_CORE", 9, shapes, types, "8")).bytes));
	shapes[2 * 64 - 1] = types[8 * 64 - 1] = '\0';
	is_near(kernel_work(&v, shaped(c, "ForeachAddList", "AI_VECTOR_CORE", 9, shapes, types, "8")).bytes,
	        64 * 8 * 2 + 8 * 2);
}

/* Shapes that no device could hold are no work: 2^63 to the fourth, each of A, B and C, is beyond a double.
 */
static void shapes_beyond_all_numbers_are_no_work(void **state)
{
#define WIDE "9000000000000000000,9000000000000000000,9000000000000000000,9000000000000000000"
#define SIX WIDE "," WIDE
	PROFILE_AUTO p = {0};
	struct capture *c = make_rank(&p, 0, 1, 1000, 0, 0);
	const struct rank_view v = {.c = c};
	struct efficiency e;

	(void)state;
	assert_true(isnan(
	    kernel_work(&v, shaped(c, "MatMul", "AI_CORE", 9, SIX ";" SIX, "FLOAT16;FLOAT16", SIX)).flops));
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_int_equal(e.products.calls, 0);
}

/* X W and the gradient X^T D are as many FLOP of one type, but not one product: the second is no example of
 * the first without communication. */
static void only_equal_shapes_are_held_against_each_other(void **state)
{
	struct interval beside[] = {{0, 1000}};
	int64_t before[] = {0};
	const struct covered s = {{beside, 1, 1}, before};
	struct product_call calls[] = {
	    {.flops = 8, .start_ns = 0, .dur_ns = 60, .name = 1, .shapes = 1, .precision = PRECISION_FP16},
	    {.flops = 8,
	     .start_ns = 5000,
	     .dur_ns = 120,
	     .name = 1,
	     .shapes = 2,
	     .precision = PRECISION_FP16},
	    {.flops = 8, .start_ns = 6000, .dur_ns = 90, .name = 1, .shapes = 1, .precision = PRECISION_FP32},
	    {.flops = 8,
	     .start_ns = 7000,
	     .dur_ns = 40,
	     .name = 1,
	     .shapes = 1,
	     .precision = PRECISION_FP16}};
	struct overlap_sum sum = {0};

	(void)state;
	overlap_add(&s, calls, 3, &sum);
	assert_int_equal(sum.calls, 0);
	/* overlap_add() sorted the first three; the fourth is the first one's like */
	overlap_add(&s, calls, 4, &sum);
	assert_int_equal(sum.calls, 1);
	is_near(sum.beside / sum.alone, 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_element_wise_operators_tell_the_memory),
	    cmocka_unit_test(a_long_list_of_tensors_is_not_known),
	    cmocka_unit_test(shapes_beyond_all_numbers_are_no_work),
	    cmocka_unit_test(only_equal_shapes_are_held_against_each_other),
	};

	return cmocka_run_group_tests_name("efficiency table", tests, NULL, NULL);
}
