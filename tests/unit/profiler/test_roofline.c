#include "tests/unit/profiler/judged.h"

#include "profiler/findings/compute_parts.h"
#include "profiler/findings/roofline.h"
#include "profiler/gpu_works.h"

/* Classes of the roofline and the checks made of them, by calculation by hand. */

/* 100 TFLOP/s and 1 TB/s: the ridge lies at 100 operations a byte. */
static const struct roof ROOF = {100e12, 1e12};

static enum roof_class class_of(double flops, double bytes)
{
	/* of a kernel of 1 ms, which could do 1e11 operations or move 1e9 bytes */
	return roof_classify(&ROOF, &(struct work){flops, bytes}, 1e-3, 0.8);
}

static void classes_on_their_boundaries(void **state)
{
	(void)state;
	/* at the ridge itself the memory counts: 8e10 / 8e8 = 100 */
	assert_int_equal(class_of(8e10, 8e8), ROOF_MEMORY);
	assert_int_equal(class_of(8.0001e10, 8e8), ROOF_COMPUTE);
	assert_int_equal(class_of(1e10, 8e8), ROOF_MEMORY);
	assert_int_equal(class_of(1e10, 7.999e8), ROOF_UNDER);
	assert_int_equal(class_of(8e10, 1e8), ROOF_COMPUTE);
	assert_int_equal(class_of(7.999e10, 1e8), ROOF_UNDER);
	/* right of the ridge a busy memory does not count: 9e10 is 0.9 of the peak anyway */
	assert_int_equal(class_of(7.99e10, 7.98e8), ROOF_UNDER);
	assert_int_equal(class_of(0, 8e8), ROOF_MEMORY);
	assert_int_equal(class_of(NAN, 8e8), ROOF_MEMORY);
	assert_int_equal(class_of(NAN, 7e8), ROOF_UNKNOWN);
	assert_int_equal(class_of(8e10, NAN), ROOF_UNKNOWN);
}

static void the_least_time_is_the_longer_side(void **state)
{
	(void)state;
	/* 4e10 / (0.5 x 1e14) = 0.8 ms; 4e8 / (0.8 x 1e12) = 0.5 ms */
	is_near(roof_least(&ROOF, &(struct work){4e10, 4e8}, 0.5, 0.8), 8e-4);
	is_near(roof_least(&ROOF, &(struct work){1e10, 4e8}, 0.5, 0.8), 5e-4);
	is_near(roof_least(&ROOF, &(struct work){NAN, 4e8}, 0.5, 0.8), 5e-4);
}

/* A rank of one step of 1000 us on an Ascend 910B3: 294.912 TFLOP/s, 1.6 TB/s. */
static struct capture *b3_rank(struct profile *p)
{
	struct capture *c = make_rank(p, 0, 1, 1000, 0, 0);

	name_chip(c, "Ascend910B3");
	return c;
}

static struct kernel *counted(struct capture *c, const char *type, const char *core, int64_t at_us,
                              int64_t us, double flops, double bytes)
{
	struct kernel *k = add_kernel(c, type, type, core, at_us * 1000, us * 1000);

	k->step = 1;
	k->input_types = text_id(c, "FLOAT16;FLOAT16");
	k->flops = (float)flops;
	k->bytes = (float)bytes;
	return k;
}

/* 500 us of a product at 0.9 of the peak, 500 us of one at a tenth: 1.47456e10 operations, which take 100 us
 * at half of the peak. 400 us can be won. */
static void slow_products_are_underutilized(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = b3_rank(&j.p);

	(void)state;
	counted(c, "MatMul", "AI_CORE", 0, 500, 1.327104e11, 1e8);
	counted(c, "BatchMatMul", "AI_CORE", 500, 500, 1.47456e10, 1e7);
	judge(&j);
	const struct finding *f = found(&j, "compute.underutilized");

	is_near(evidence_of(f, "underutilized_share_of_compute"), 0.5);
	assert_true(llabs(f->gain_ns - 400000) < 10);
	is_near(evidence_of(f, "judged_by_counters"), 2);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL), "BatchMatMul");
	assert_null(found(&j, "compute.memory_bound"));
	assert_false(left_open(&j, "compute.memory_bound"));
}

/* Vector kernels at the memory's limit: 0.8 x 1.6 TB/s x 400 us = 512 MB. At 30 % of compute they count. */
static void traffic_at_the_limit_is_memory_bound(void **state)
{
	(void)state;
	for (int64_t us = 299; us <= 300; us++) {
		JUDGED_AUTO j = {0};
		struct capture *c = b3_rank(&j.p);

		counted(c, "MatMul", "AI_CORE", 0, 1000 - us, 0.9 * 294.912e6 * (double)(1000 - us), 1e8);
		counted(c, "Add", "AI_VECTOR_CORE", 1000 - us, us, 1e6, 0.81 * 1.6e6 * (double)us);
		judge(&j);
		const struct finding *f = found(&j, "compute.memory_bound");

		assert_int_equal(f != NULL, us == 300);
		if (!f)
			continue;
		is_near(evidence_of(f, "memory_bound_share_of_compute"), 0.3);
		assert_null(found(&j, "compute.underutilized"));
	}
}

/* ascend-formats 1.2: captures of 2023 label vector operators as those of the cube cores, and counters tell.
 * 0.9 of the 18.1 TFLOP/s of the vector cores for 300 us, 20 operations a byte: by the roof of the cube cores
 * that would be nothing. */
static void counters_tell_the_roof(void **state)
{
	(void)state;
	for (int vector = 0; vector < 2; vector++) {
		JUDGED_AUTO j = {0};
		struct capture *c = b3_rank(&j.p);

		counted(c, "MatMul", "AI_CORE", 0, 700, 0.9 * 294.912e6 * 700, 1e8);
		counted(c, "Gelu", "AI_CORE", 700, 300, 0.9 * 18.1e6 * 300, 0.9 * 18.1e6 * 300 / 20);
		c->kernels[1].vector = vector;
		judge(&j);
		assert_int_equal(found(&j, "compute.underutilized") != NULL, !vector);
	}
}

/* ascend-formats 1.2: A of 8 x 16, B of 16 x 4 and C of 8 x 4 elements are 128 + 64 + 32. What has no type
 * has no size; an empty place holds at most a scalar. */
static void elements_have_types(void **state)
{
	static const struct {
		const char *in, *types, *out_types;
		double bytes;
	} cases[] = {{"8,16;16,4", "FLOAT16;FLOAT16", "FLOAT16", 448},
	             {"8,16;16,4", "DT_BF16;DT_BF16", "DT_BF16", 448},
	             {"8,16;16,4", "FLOAT;FLOAT", "FLOAT", 896},
	             {"8,16;16,4", "BOOL;INT64", "INT8", 128 + 512 + 32},
	             {"8,16;16,4;;", "FLOAT16;FLOAT16;UNDEFINED;INT64", "FLOAT16", 448},
	             {"8,16;16,4", "FLOAT16;UNDEFINED", "FLOAT16", NAN},
	             {"8,16;16,4", "FLOAT16", "FLOAT16", NAN}};
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	const struct rank_view v = {.c = c};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel *k = add_kernel(c, "a", "MatMulV2", "AI_CORE", 0, 1);
		struct work w;

		k->input_shapes = text_id(c, cases[i].in);
		k->input_types = text_id(c, cases[i].types);
		k->output_shapes = text_id(c, "8,4");
		k->output_types = text_id(c, cases[i].out_types);
		w = kernel_work(&v, k);
		if (w.bytes != cases[i].bytes && !(isnan(w.bytes) && isnan(cases[i].bytes)))
			fail_msg("%zu: %g bytes", i, w.bytes);
		/* 2 x 8 x 16 x 4, whatever the type */
		is_near(w.flops, 1024);
	}
}

/* Pipes as a stand-in: mte2 at 0.96 with a vector unit at 0.2, which would take a quarter of the time at 0.8.
 */
static void a_memory_pipe_at_its_limit_is_memory_bound(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 3, 1000, 0, 0);

	(void)state;
	for (int64_t s = 0; s < 3; s++) {
		struct kernel *k = add_kernel(c, "Add", "Add", "AI_VECTOR_CORE", s * 1000000, 400000);

		k->step = s + 1;
		k->pipe_ratio = 0.96F;
		k->inner_ratio = 0.2F;
		k->pipe = text_id(c, "aiv_mte2");
		k = add_kernel(c, "MatMul", "MatMul", "AI_CORE", s * 1000000 + 400000, 600000);
		k->step = s + 1;
		k->pipe_ratio = k->inner_ratio = 0.9F;
		k->pipe = text_id(c, "aic_mac");
	}
	judge(&j);
	const struct finding *f = found(&j, "compute.memory_bound");

	is_near(evidence_of(f, "memory_bound_share_of_compute"), 0.4);
	assert_true(llabs(f->gain_ns - 300000) < 10);
	/* the device counted what its pipes did, in each of three steps */
	assert_int_equal(f->confidence, CONFIDENCE_HIGH);
	is_near(evidence_of(f, "judged_by_pipe_ratios"), 6);
	assert_null(found(&j, "compute.underutilized"));
}

/* A GPU whose product of 4096 x 4096 x 4096 in fp16 takes 2 ms: 68.72 TFLOP/s of 312. At half of the peak it
 * takes 0.881 ms. The kernel is launched inside the operator. */
static void shapes_stand_in_for_counters_on_gpus(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);

	(void)state;
	name_chip(c, "NVIDIA A100-SXM4-80GB");
	add_step(c, 1, 0, 2100000);
	add_event(c, host, EVENT_HOST_OP, "aten::mm", 0, 50000, -1);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 10000, 5000, 3);
	add_event(c, gpu, EVENT_KERNEL, "gemm", 50000, 2000000, 3);
	add_event(c, gpu, EVENT_KERNEL, "other", 2050000, 50000, -1);
	c->host_works = calloc(1, sizeof(*c->host_works));
	c->host_works[0] = (struct host_work){.event = 0,
	                                      .precision = PRECISION_FP16,
	                                      .flops = 2.0 * 4096 * 4096 * 4096,
	                                      .bytes = 3 * 2.0 * 4096 * 4096};
	c->host_work_count = 1;
	assert_int_equal(gpu_works_join(c), SB_OK);
	judge(&j);
	const struct finding *f = found(&j, "compute.underutilized");

	is_near(evidence_of(f, "underutilized_us"), 2000);
	is_near(evidence_of(f, "judged_by_shapes"), 1);
	/* 2000 us - 2 x 4096^3 / (0.5 x 312e12) */
	assert_true(llabs(f->gain_ns - (2000000 - 881019)) < 10);
	assert_true(f->confidence <= CONFIDENCE_MEDIUM);
	assert_false(left_open(&j, "compute.memory_bound"));
}

/* One block on 132 SMs: 4 of 100 blocks a launch could have. */
static void launches_of_few_blocks_are_weak_evidence(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	add_step(c, 1, 0, 1000000);
	add_event(c, gpu, EVENT_KERNEL, "thin", 0, 500000, -1);
	add_event(c, gpu, EVENT_KERNEL, "full", 500000, 500000, -1);
	c->fills = calloc(2, sizeof(*c->fills));
	c->fills[0] = (struct kernel_fill){text_id(c, "thin"), 500000, 500000 * 0.25, 1};
	c->fills[1] = (struct kernel_fill){text_id(c, "full"), 500000, 500000 * 0.5, 1};
	c->fill_count = 2;
	judge(&j);
	const struct finding *f = found(&j, "compute.underutilized");

	is_near(evidence_of(f, "underutilized_share_of_compute"), 0.5);
	assert_true(llabs(f->gain_ns - 375000) < 10);
	assert_true(f->confidence <= CONFIDENCE_MEDIUM);
	assert_true(left_open(&j, "compute.memory_bound"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(classes_on_their_boundaries),
	    cmocka_unit_test(the_least_time_is_the_longer_side),
	    cmocka_unit_test(slow_products_are_underutilized),
	    cmocka_unit_test(traffic_at_the_limit_is_memory_bound),
	    cmocka_unit_test(counters_tell_the_roof),
	    cmocka_unit_test(elements_have_types),
	    cmocka_unit_test(a_memory_pipe_at_its_limit_is_memory_bound),
	    cmocka_unit_test(shapes_stand_in_for_counters_on_gpus),
	    cmocka_unit_test(launches_of_few_blocks_are_weak_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
