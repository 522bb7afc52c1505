#include "tests/unit/profiler/fixture.h"

#include "profiler/collectives.h"

/* Which collectives of several captures belong together. Times in ns. */

static uint32_t add_link_lane(struct capture *c)
{
	return add_lane(c, "GPU 0", "20", 0);
}

/* A collective on a GPU's timeline; ranks may be NULL, sequence SB_NULL. */
static void add_collective(struct capture *c, uint32_t lane, const char *type, const char *group,
                           const char *ranks, int64_t sequence, int64_t start, int64_t dur)
{
	struct event_detail d = {.event = (uint32_t)c->trace.count,
	                         .type = text_id(c, type),
	                         .group = text_id(c, group),
	                         .ranks = ranks ? text_id(c, ranks) : 0,
	                         .bytes = 64,
	                         .sequence = sequence};

	add_event(c, lane, EVENT_COMMUNICATION, "ncclDevKernel_Generic(x)", start, dur, -1);
	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
}

static void match(const struct profile *p, struct collectives *out)
{
	assert_int_equal(collectives_match(p, out), SB_OK);
	for (size_t i = 0; i < out->set_count; i++) {
		assert_true(out->sets[i].count >= 2);
		assert_true(out->sets[i].first + out->sets[i].count <= out->count);
		for (size_t k = 0; k < out->sets[i].count; k++)
			assert_int_equal(out->items[out->sets[i].first + k].set, i);
	}
}

static void a_number_in_the_group_is_the_key_and_clocks_do_not_count(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	for (int64_t r = 0; r < 3; r++) {
		struct capture *c = make_capture(&p, FORMAT_KINETO, r);
		uint32_t lane = add_link_lane(c);

		/* the capture of rank r begins with number r; clocks are seconds apart; file order is
		 * reversed */
		for (int64_t n = 4; n >= r; n--)
			add_collective(c, lane, "allreduce", "0", "[0, 1, 2]", n, r * 5000000000 + n * 100,
			               10 + n + r);
	}
	match(&p, &m);
	/* number 0 is on one rank alone, 1 on two, 2 to 4 on all */
	assert_int_equal(m.set_count, 4);
	assert_int_equal(m.sets[0].count, 2);
	assert_int_equal(m.sets[1].count, 3);
	for (size_t i = 0; i < m.set_count; i++) {
		const struct collective *first = &m.items[m.sets[i].first];

		assert_int_equal(m.sets[i].whole, m.sets[i].count == 3);
		for (size_t k = 1; k < m.sets[i].count; k++)
			assert_int_equal(first[k].dur_ns, first[0].dur_ns + (int64_t)k);
	}
	assert_int_equal(m.domain_count, 1);
	assert_int_equal(m.domains[0].listed, 3);
	assert_string_equal(sb_strings_get(m.texts, m.domains[0].group, NULL), "0");
}

static void groups_of_one_name_with_other_ranks_are_two(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	for (int64_t r = 0; r < 4; r++) {
		struct capture *c = make_capture(&p, FORMAT_KINETO, r);

		add_collective(c, add_link_lane(c), "allreduce", "1", r < 2 ? "[0, 1]" : "[2, 3]", 7, 0, 10);
	}
	match(&p, &m);
	assert_int_equal(m.domain_count, 2);
	assert_int_equal(m.set_count, 2);
	assert_int_equal(m.items[m.sets[0].first].member, 0);
	assert_int_equal(m.items[m.sets[1].first].member, 2);
	assert_true(m.sets[0].whole && m.sets[1].whole);
}

/* A rank of a trace without groups and numbers: `each` collectives in each of `steps` steps from `first` on.
 */
static void make_old(struct profile *p, int64_t rank, int64_t first, int64_t steps, int64_t each)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, rank);
	uint32_t lane = add_link_lane(c), host = add_lane(c, "python", "1", -1);

	for (int64_t s = first; s < first + steps; s++) {
		add_step(c, s, s * 1000, 1000);
		for (int64_t i = 0; i < each; i++) {
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", s * 1000 + i, 1,
			          s * 100 + i);
			add_event(c, lane, EVENT_COMMUNICATION, "ncclKernel_AllReduce_RING_LL_Sum_float(x)",
			          s * 1000 + 10 * i + 100, s * 10 + i, s * 100 + i);
		}
	}
}

static void without_numbers_step_and_order_tell(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	/* steps 1 to 3, and 2 to 4: they share 2 and 3 */
	make_old(&p, 0, 1, 3, 2);
	make_old(&p, 1, 2, 3, 2);
	match(&p, &m);
	assert_int_equal(m.set_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct collective *pair = &m.items[m.sets[i].first];

		assert_int_equal(pair[0].dur_ns, pair[1].dur_ns);
		assert_int_equal(pair[0].step, i < 2 ? 2 : 3);
	}
}

static void a_step_with_other_numbers_of_calls_is_left_out(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	make_old(&p, 0, 1, 1, 2);
	make_old(&p, 1, 1, 1, 3);
	match(&p, &m);
	assert_int_equal(m.set_count, 0);
	assert_int_equal(m.count, 0);
}

static void sends_meet_their_receives_in_groups_of_two(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = make_capture(&p, FORMAT_KINETO, r);
		uint32_t lane = add_link_lane(c);

		/* forward from 0 to 1, backward from 1 to 0; numbers of the two ends differ */
		for (int64_t i = 0; i < 2; i++) {
			add_collective(c, lane, r == 0 ? "send" : "recv", "9", "[0, 1]", 10 * r + i, i * 100,
			               20 + i);
			add_collective(c, lane, r == 0 ? "recv" : "send", "9", "[0, 1]", 10 * r + i,
			               i * 100 + 50, 40 + i);
		}
	}
	match(&p, &m);
	assert_int_equal(m.set_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct collective *pair = &m.items[m.sets[i].first];

		assert_true(m.sets[i].pair);
		assert_true(pair[0].sends != pair[1].sends);
		assert_int_equal(pair[0].dur_ns, pair[1].dur_ns);
	}
}

static void hccl_names_join_timeline_table_and_operators(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	/* rank 0 has a timeline, rank 1 a kernel table, rank 2 the operators alone */
	add_step(c, 5, 0, 1000);
	add_event(c, add_lane(c, "Communication", "Group 0", -1), EVENT_COMMUNICATION,
	          "hcom_allReduce__586_0_1", 100, 70, -1);
	add_communication(c, 5, "hcom_allReduce__586_0_1", "99586", 0.07, 0.01, 0.02);
	c = make_capture(&p, FORMAT_ASCEND_TEXT, 1);
	add_kernel(c, "hcom_allReduce__586_0_1", NULL, "HCCL", 900100, 60)->communication = true;
	c->kernels[0].step = 5;
	add_communication(c, 5, "hcom_allReduce__586_0_1", "99586", 0.06, 0.01, 0.02);
	c = make_capture(&p, FORMAT_CLUSTER_ANALYSIS, 2);
	add_communication(c, 5, "hcom_allReduce__586_0_1", "99586", 0.05, 0.01, 0.02);
	match(&p, &m);
	assert_int_equal(m.set_count, 1);
	assert_int_equal(m.sets[0].count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(m.items[i].source, COLLECTIVE_EVENT + i);
		assert_int_equal(m.items[i].operation, 0);
		assert_int_equal(m.items[i].dur_ns, 70 - 10 * i);
		assert_int_equal(m.items[i].step, 5);
	}
	assert_string_equal(sb_strings_get(m.texts, m.domains[m.sets[0].domain].group, NULL), "99586");
	assert_true(m.domains[m.sets[0].domain].listed == SB_NULL);
}

static void several_devices_of_one_capture_are_members(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};
	struct capture *c = make_capture(&p, FORMAT_NSYS, SB_NULL);

	(void)state;
	for (int32_t device = 0; device < 2; device++) {
		uint32_t lane = add_lane(c, "GPU", "7", device);

		for (int64_t i = 0; i < 3; i++)
			add_event(c, lane, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
			          i * 100, 30 + i, -1);
	}
	match(&p, &m);
	assert_int_equal(m.member_count, 2);
	assert_int_equal(m.set_count, 3);
	assert_int_equal(m.items[0].dur_ns, 30);
	assert_int_equal(m.items[5].dur_ns, 32);
}

static void hostile_numbers_match_nothing_and_break_nothing(void **state)
{
	PROFILE_AUTO p = {0};
	COLLECTIVES_AUTO m = {0};

	(void)state;
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = make_capture(&p, FORMAT_CLUSTER_ANALYSIS, r);

		add_communication(c, SB_NULL, "hcom_", NULL, NAN, NAN, NAN);
		add_communication(c, SB_NULL, "__", "", -5, NAN, NAN);
		add_communication(c, INT64_MAX, "hcom_send__", NULL, 1e300, 0, 0);
		c = make_capture(&p, FORMAT_KINETO, r);
		add_collective(c, add_link_lane(c), "", "", "[,,,", INT64_MAX, INT64_MAX, INT64_MAX);
	}
	match(&p, &m);
	assert_int_equal(m.set_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_number_in_the_group_is_the_key_and_clocks_do_not_count),
	    cmocka_unit_test(groups_of_one_name_with_other_ranks_are_two),
	    cmocka_unit_test(without_numbers_step_and_order_tell),
	    cmocka_unit_test(a_step_with_other_numbers_of_calls_is_left_out),
	    cmocka_unit_test(sends_meet_their_receives_in_groups_of_two),
	    cmocka_unit_test(hccl_names_join_timeline_table_and_operators),
	    cmocka_unit_test(several_devices_of_one_capture_are_members),
	    cmocka_unit_test(hostile_numbers_match_nothing_and_break_nothing),
	};

	return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
