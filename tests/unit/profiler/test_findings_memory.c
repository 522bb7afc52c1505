#include "tests/unit/profiler/judged.h"

#include "profiler/findings/host_part.h"
#include "profiler/read/memory_rows.h"

/* Memory of the device. All values by hand; a gap of the device is from 20 to 60 of 100 ms. */

#define GIB ((int64_t)1 << 30)

static void make_memory(struct capture *c, int64_t device, int64_t allocated, int64_t reserved,
                        int64_t capacity)
{
	struct memory_series *s = NULL;

	assert_int_equal(memory_series(c, device, 0, &s), SB_OK);
	assert_int_equal(memory_add(s, 0, allocated, reserved), SB_OK);
	s->capacity_bytes = capacity;
}

static void calls_that_the_device_waits_for_cost_their_idle_time(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	/* 12 ms in all, of which 6 in the gap; a pool's allocation is none of the driver's */
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaMalloc", 22000000, 6000000, 1);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaFree", 70000000, 6000000, 2);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaMallocAsync", 30000000, 20000000, 3);
	judge(&j);
	const struct finding *f = found(&j, "memory.allocation");

	is_near(f ? f->share_of_step : NAN, 0.06);
	assert_string_equal(f->evidence[0].metric, "allocation_calls_us");
	is_near(f->evidence[0].value, 12000);
	is_near(evidence_of(f, "allocation_calls"), 2);
	is_near(evidence_of(f, "device_idle_while_allocating_us"), 6000);
	/* 34 of the 40 ms are left to the host */
	is_near(found(&j, "cpu.host_bound")->share_of_step, 0.34);
	c = make_gap(&near.p, &host);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaMalloc", 22000000, 9999999, 1);
	judge(&near);
	assert_null(found(&near, "memory.allocation"));
	is_near(found(&near, "cpu.host_bound")->share_of_step, 0.40);
}

static void space_alone_costs_no_time(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	JUDGED_AUTO small = {0};
	uint32_t host;

	(void)state;
	/* at the peak 4 of 10 GiB are held in vain; 10 of 11 are reserved */
	make_memory(make_gap(&j.p, &host), 0, 6 * GIB, 10 * GIB, 11 * GIB);
	judge(&j);
	const struct finding *f = found(&j, "memory.allocation");

	assert_non_null(f);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_true(isnan(f->share_of_step) && f->gain_ns == SB_NULL);
	is_near(evidence_of(f, "reserved_share_of_memory"), 10.0 / 11);
	is_near(evidence_of(f, "fragmentation_share"), 0.4);
	is_near(evidence_of(f, "fragmentation_bytes"), (double)(4 * GIB));
	/* 30 % and 90 % exactly */
	make_memory(make_gap(&near.p, &host), 0, 63 * GIB, 90 * GIB, 100 * GIB);
	judge(&near);
	assert_null(found(&near, "memory.allocation"));
	assert_false(left_open(&near, "memory.allocation"));
	/* half of a small pool, the host's memory, and another device's */
	struct capture *c = make_gap(&small.p, &host);

	make_memory(c, 0, GIB / 4, GIB / 2, 100 * GIB);
	make_memory(c, MEMORY_HOST, GIB, 100 * GIB, 100 * GIB);
	make_memory(c, 1, GIB, 100 * GIB, 100 * GIB);
	judge(&small);
	assert_null(found(&small, "memory.allocation"));
}

static void names_of_calls_are_known_whatever_is_before_them(void **state)
{
	(void)state;
	assert_true(host_allocates("AscendCL@aclrtMalloc") && host_allocates("aclrtMallocPhysical"));
	assert_true(host_allocates("AscendCL@aclMallocMemInner") && host_allocates("aclrtFreePhysical"));
	assert_true(host_allocates("hipMalloc") && host_allocates("hipFree") && host_allocates("aclrtFree"));
	assert_false(host_allocates("aclrtMallocHost") || host_allocates("cudaFreeHost") ||
	             host_allocates("cudaFreeAsync") || host_allocates("my_cudaMalloc") ||
	             host_allocates(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_that_the_device_waits_for_cost_their_idle_time),
	    cmocka_unit_test(space_alone_costs_no_time),
	    cmocka_unit_test(names_of_calls_are_known_whatever_is_before_them),
	};

	return cmocka_run_group_tests_name("findings of memory", tests, NULL, NULL);
}
