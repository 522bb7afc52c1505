#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/methods/mist_machine.h"
#include "planner/methods/stage_program.h"

#define GIB 1073741824.0

/* The published factors of the L4 (systems 3.2, check 1), milliseconds in (compute, collective, to the
 * device, to the host). */
static void test_the_published_overlaps(void **state)
{
	static const struct {
		double seconds[MIST_STREAMS], want;
	} rows[] = {
	    {{10, 5, 0, 0}, 10.7177},    {{10, 0, 5, 0}, 10.0749}, {{10, 0, 0, 5}, 10.0881},
	    {{10, 5, 3, 0}, 12.6196},    {{10, 5, 3, 2}, 14.3509}, {{0, 5, 5, 0}, 7.6617},
	    {{10, 10, 10, 10}, 23.8634},
	};
	const struct mist_machine *m = mist_machine_of("l4-24g");

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double is = mist_overlap_seconds(m->factors, rows[i].seconds);

		if (fabs(is - rows[i].want) > 6e-5)
			fail_msg("row %zu: %.5f, and published is %.4f", i, is, rows[i].want);
	}
}

static double next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 16) % 4 == 0 ? 0 : (double)(*state >> 16) / 65536;
}

/* No overlap is shorter than the longest, or longer than one after another. */
static void test_between_the_longest_and_the_sum(void **state)
{
	static const char *const names[] = {"l4-24g", "a100-40g"};
	uint32_t s = 3;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const struct mist_machine *m = mist_machine_of(names[i % 2]);
		double x[MIST_STREAMS], sum = 0, longest = 0, is;

		for (int k = 0; k < MIST_STREAMS; k++) {
			x[k] = next(&s);
			sum += x[k];
			longest = fmax(longest, x[k]);
		}
		is = mist_overlap_seconds(m->factors, x);
		assert_true(is >= longest && is <= sum);
	}
	assert_true(mist_overlap_seconds(mist_machine_of("l4-24g")->factors, (double[]){0, 0, 0, 0}) == 0);
}

/* By hand from the L4's table: 1 GiB over two in a node: 1 / 2.964 x 1/2 + 0.0001 = 0.168791 s to gather, 2.1
 * times that to reduce; over 2 x 4: 1 / 1.7183 x 7/8 = 0.509224 s. Swapping 1 GiB in: 1 / 5.7546 + 0.0004 =
 * 0.174174 s. */
static void test_transfers_by_hand(void **state)
{
	const struct mist_machine *m = mist_machine_of("l4-24g");

	(void)state;
	assert_true(fabs(mist_collective_seconds(m, MIST_GATHER, 1, 2, GIB) - 0.168791) < 1e-6);
	assert_true(fabs(mist_collective_seconds(m, MIST_REDUCE, 1, 2, GIB) - 2.1 * 0.168791) < 1e-5);
	assert_true(fabs(mist_collective_seconds(m, MIST_GATHER, 2, 4, GIB) - 0.509224) < 1e-6);
	assert_true(fabs(mist_collective_seconds(m, MIST_SCATTER, 2, 4, GIB) - 1.1 * 0.509224) < 1e-6);
	assert_true(mist_collective_seconds(m, MIST_GATHER, 1, 1, GIB) == 0);
	assert_true(mist_collective_seconds(m, MIST_GATHER, 2, 2, 0) == 0);
	assert_true(fabs(mist_swap_seconds(&m->to_device, GIB) - 0.174174) < 1e-6);
	assert_true(mist_swap_seconds(&m->to_device, 0) == 0);
	assert_true(mist_send_seconds(m, true, GIB) > mist_send_seconds(m, false, GIB));
	assert_null(mist_machine_of("abacus"));
}

/* A network of ours: 8 devices a node at 100 GB/s, 10 GB/s each between nodes. Two nodes of four each reach 4
 * x 10 GB/s (cost-model section 7), the eight of a node 100. */
static void test_a_machine_of_our_links(void **state)
{
	const struct network n = {
	    .levels = 2, .domain = {8, 64}, .bandwidth = {100e9, 10e9}, .latency = {0, 0}};
	struct mist_machine m = mist_machine_from(&n, 8, 20e9);

	(void)state;
	assert_true(fabs(m.group[0][3].gib_per_second * GIB - 100e9) < 1);
	assert_true(fabs(m.group[1][2].gib_per_second * GIB - 40e9) < 1);
	assert_true(fabs(m.group[2][0].gib_per_second * GIB - 10e9) < 1);
	assert_true(fabs(m.to_host.gib_per_second * GIB - 20e9) < 1);
}

/* One layer can go to either stage only as a whole: two stages of one or two layers do not make five. */
static void test_stages_that_do_not_come_out_even(void **state)
{
	const struct stage_option fast = {1, 0};
	const struct stage_options sizes[] = {{1, 1, &fast}, {2, 1, &fast}};
	const struct stage_options *const lists[] = {sizes, sizes};
	const int64_t counts[] = {2, 2};
	struct stage_program p = {2, 5, 4, lists, counts, NULL};
	struct stage_choice choices[2];
	struct stage_result out;

	(void)state;
	assert_int_equal(stage_program_solve(&p, 0, INFINITY, choices, &out, NULL), SB_OK);
	assert_false(out.feasible);
	p.layers = 3; /* 3 x 1 + 2 + 0 */
	assert_int_equal(stage_program_solve(&p, 0, INFINITY, choices, &out, NULL), SB_OK);
	assert_true(out.feasible && out.optimal && out.seconds == 5);
	assert_int_equal(stage_program_solve(&p, 0, 5, choices, &out, NULL), SB_OK);
	assert_false(out.feasible);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_published_overlaps),
	    cmocka_unit_test(test_between_the_longest_and_the_sum),
	    cmocka_unit_test(test_transfers_by_hand),
	    cmocka_unit_test(test_a_machine_of_our_links),
	    cmocka_unit_test(test_stages_that_do_not_come_out_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
