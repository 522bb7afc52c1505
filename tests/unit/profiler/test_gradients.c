/* Which reductions a fusion of gradients is planned for. Times in ns. */
#include "tests/unit/profiler/fixture.h"

#include "profiler/gradients.h"

static void add_reduction(struct capture *c, uint32_t lane, const char *name, const char *type, int64_t bytes,
                          int64_t start, int64_t dur, int64_t link)
{
	struct event_detail d = {.event = (uint32_t)c->trace.count,
	                         .type = type ? text_id(c, type) : 0,
	                         .bytes = bytes,
	                         .sequence = SB_NULL};

	add_event(c, lane, EVENT_COMMUNICATION, name, start, dur, link);
	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
}

static void the_fullest_step_is_taken(void **state)
{
	PROFILE_AUTO p = {0};
	GRADIENT_REDUCES_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t stream = add_lane(c, "GPU 0", "7", 0), ring = add_lane(c, "GPU 0", "9", 0),
	         thread = add_lane(c, "python", "1", -1);

	(void)state;
	add_step(c, 1, 0, 100000);
	add_step(c, 2, 100000, 100000);
	add_reduction(c, ring, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, 64, 50000, 1000, -1);
	/* launched in step 2; the second one first in the file */
	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 130000, 1000, 8);
	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 110000, 1000, 7);
	add_reduction(c, ring, "ncclDevKernel_Generic(x)", "reduce_scatter_tensor", 256, 140000, 5000, 8);
	add_reduction(c, ring, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, 128, 120000, 8000, 7);
	/* no gradients, or of no known size */
	add_reduction(c, ring, "ncclDevKernel_AllGather_RING_LL", NULL, 64, 150000, 1000, -1);
	add_reduction(c, ring, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, SB_NULL, 160000, 1000, -1);
	add_event(c, stream, EVENT_KERNEL, "backward", 105000, 20000, -1);
	add_event(c, stream, EVENT_KERNEL, "optimizer", 150000, 20000, -1);
	assert_int_equal(gradient_reduces_find(c, &r), SB_OK);
	assert_true(r.count == 2 && r.step == 2);
	assert_true(r.items[0].bytes == 128 && r.items[0].ready_ns == 110000 &&
	            r.items[0].start_ns == 120000 && r.items[0].end_ns == 128000 &&
	            isnan(r.items[0].transit_us));
	assert_true(r.items[1].bytes == 256 && r.items[1].ready_ns == 130000);
	/* what begins behind the last reduction is no backward */
	assert_true(r.backward_start_ns == 105000 && r.backward_end_ns == 125000);
}

static void sizes_may_stand_in_the_communication_file(void **state)
{
	PROFILE_AUTO p = {0};
	GRADIENT_REDUCES_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	uint32_t group = add_lane(c, "Communication", "Group 1", 0);
	struct communication_op *op;

	(void)state;
	add_step(c, 5, 0, 100000);
	op = add_communication(c, 5, "hcom_allReduce__1_0_1", "77", 30, 12, 18);
	add_link(op, "HCCS", 4000, 12);
	add_link(op, "SDMA", 4000, 12);
	op = add_communication(c, 6, "hcom_allReduce__1_1_1", "77", 30, 12, 18);
	add_link(op, "HCCS", 4000, 12);
	add_event(c, group, EVENT_COMMUNICATION, "hcom_allReduce__1_0_1", 10000, 30000, -1);
	/* of another step than the file tells */
	add_event(c, group, EVENT_COMMUNICATION, "hcom_allReduce__1_1_1", 50000, 30000, -1);
	assert_int_equal(gradient_reduces_find(c, &r), SB_OK);
	assert_int_equal(r.count, 1);
	assert_true(r.items[0].bytes == 4000 && r.items[0].transit_us == 12 &&
	            r.items[0].ready_ns == SB_NULL);
}

static void none_is_fine(void **state)
{
	PROFILE_AUTO p = {0};
	GRADIENT_REDUCES_AUTO r = {0};

	(void)state;
	assert_int_equal(gradient_reduces_find(make_capture(&p, FORMAT_KINETO, 0), &r), SB_OK);
	assert_int_equal(r.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_fullest_step_is_taken),
	    cmocka_unit_test(sizes_may_stand_in_the_communication_file),
	    cmocka_unit_test(none_is_fine),
	};

	return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
