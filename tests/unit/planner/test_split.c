#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/intra/reshard.h"
#include "planner/intra/segments.h"
#include "planner/intra/split.h"

static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* Two nodes of four devices, 10 and 1 bytes a second, no latency; nothing takes time but sending. */
static struct split_mesh two_nodes(void)
{
	struct split_mesh m = {.cost = {.network = {2, {4, INT64_MAX}, {10, 1}, {0, 0}}},
	                       .size = {4, 2, 1},
	                       .element_bytes = 1,
	                       .training = true};

	m.cost.cluster.device.peak_flops = m.cost.cluster.device.memory_bandwidth = INFINITY;
	m.cost.constants.gemm_share = m.cost.constants.memory_share = 1;
	return m;
}

static struct split split_of(int64_t rows_in, int64_t rows_across, int64_t columns_in, int64_t columns_across)
{
	return (struct split){{{rows_in, rows_across, 1}, {columns_in, columns_across, 1}, {1, 1, 1}}};
}

/* Three binary axes, each to rows, columns, contraction or copies; two of them are alike: 10 ways for the
 * four devices of a node (2 axes over 4 uses) times 4. Without contraction 6 x 3. */
static void test_options(void **state)
{
	struct split_mesh m = two_nodes();
	struct split_operator o = {64, 64, 64, 64, 64, 0};
	struct split all[SPLIT_OPTIONS_MAX];

	(void)state;
	assert_int_equal(split_options(&o, &m, all), 40);
	o.contraction = 0;
	assert_int_equal(split_options(&o, &m, all), 18);
	/* whole columns, and rows in two at most: rows on one axis of the node, across, or nowhere */
	o.row_units = 2;
	o.column_units = 1;
	assert_int_equal(split_options(&o, &m, all), 3);
}

/* search-algorithms.md 4: a product whose input (990 bytes) is larger than its weight (900), trained on two
 * nodes of three devices, 10 times faster inside. Over r parts of the rows and c of the columns the input's
 * gradient is summed over c devices, 2 (c - 1) / c x 990 / r bytes, the weight's over r.
 * Rows inside and columns across: 330 across + 600 inside = 930 bytes, 330 + 60 s.
 * Columns inside and rows across: 660 inside + 300 across = 960 bytes, 66 + 300 s. */
static void test_topology_against_volume(void **state)
{
	struct split_mesh m = two_nodes();
	struct split_operator o = {990, 900, 1, 990, 900, 0};
	struct split all[SPLIT_OPTIONS_MAX], *lean = all, *fast = all;
	struct split_cost least = {.bytes = INFINITY}, soonest = {.seconds = INFINITY};
	int64_t n;

	(void)state;
	m.cost.network.domain[0] = m.size[0] = 3;
	n = split_options(&o, &m, all);
	for (int64_t i = 0; i < n; i++) {
		struct split_cost c = split_operator_cost(&o, &m, &all[i]);
		int64_t used = 1;

		for (int l = 0; l < 2; l++)
			used *= all[i].parts[SPLIT_ROWS][l] * all[i].parts[SPLIT_COLUMNS][l];
		if (used < 6) /* copies do the same work twice */
			continue;
		if (c.bytes < least.bytes) {
			least = c;
			lean = &all[i];
		}
		if (c.seconds < soonest.seconds) {
			soonest = c;
			fast = &all[i];
		}
	}
	near(least.bytes, 930);
	near(least.seconds, 390);
	near(soonest.bytes, 960);
	near(soonest.seconds, 366);
	/* the larger sum crosses the nodes by volume, the smaller one by topology */
	assert_true(split_spans(lean, SPLIT_COLUMNS) && !split_spans(lean, SPLIT_ROWS));
	assert_true(split_spans(fast, SPLIT_ROWS) && !split_spans(fast, SPLIT_COLUMNS));
}

/* On two nodes of four the same degrees can be laid over the links in two ways that send as much: rows inside
 * and columns across, or each halfway. 1100 and 1000 bytes: 275 across + 750 inside; or 275 inside and the
 * weight's 500 over both, 2 x (250 inside + 250 / 2 across of a quarter each): 27.5 + 50 + 250 s. */
static void test_same_volume(void **state)
{
	struct split_mesh m = two_nodes();
	struct split_operator o = {1100, 1000, 1, 1100, 1000, 0};
	struct split inside = split_of(4, 1, 1, 2), mixed = split_of(2, 2, 2, 1);
	struct split_cost a = split_operator_cost(&o, &m, &inside), b = split_operator_cost(&o, &m, &mixed);

	(void)state;
	near(a.bytes, 1025);
	near(b.bytes, 1025);
	near(a.seconds, 275 + 75);
	near(b.seconds, 27.5 + 50 + 250);
}

/* 800 bytes over eight devices: from rows over four inside to columns over them, forward all-to-all of 800 /
 * 4 (3 / 4 of 200 at 10), and the same back; to whole, a gather of 800 (3 / 4 x 800 at 10), back for free. */
static void test_changes(void **state)
{
	struct split_mesh m = two_nodes();
	struct split_operator o = {40, 20, 0, 40, 20, 0};
	struct split rows = split_of(4, 1, 1, 1), columns = split_of(1, 1, 4, 1),
	             whole = split_of(1, 1, 1, 1);
	struct split_cost c = split_change_cost(&o, &m, &rows, &o, &columns);

	(void)state;
	near(c.seconds, 2 * 0.75 * 200 / 10);
	near(c.bytes, 2 * 150);
	c = split_change_cost(&o, &m, &rows, &o, &whole);
	near(c.seconds, 0.75 * 800 / 10);
	near(c.bytes, 600);
	m.training = false;
	c = split_change_cost(&o, &m, &whole, &o, &rows);
	assert_true(c.seconds == 0 && c.bytes == 0);
	/* the next product wants its contraction split as the columns are: nothing moves */
	o.contraction = 20;
	c = split_change_cost(&o, &m, &columns, &o, &(struct split){{{1, 1, 1}, {1, 1, 1}, {4, 1, 1}}});
	assert_true(c.seconds == 0);
}

/* 24 equal layers between an embedding and a head: three kinds (systems.md 3.4), whatever the head begins
 * with; two kinds of layers are two. */
static void test_segments(void **state)
{
	static const uint32_t layer[] = {1, 2, 2, 2, 3, 1, 4, 5};
	uint32_t all[256] = {9, 10};
	struct operator_segment s[256];
	size_t n = 2, count, kinds = 0;

	(void)state;
	for (int i = 0; i < 24 * 8; i++)
		all[n++] = layer[i % 8];
	all[n++] = 1;
	all[n++] = 11;
	count = segments_find(all, n, s);
	assert_int_equal(count, 26);
	for (size_t i = 0; i < count; i++)
		kinds += s[i].kind == i;
	assert_int_equal(kinds, 3);
	assert_true(s[1].first == 2 && s[1].count == 8 && s[24].kind == 1 && s[25].count == 2);
	/* three dense layers (7 8) before five with experts (7 6 5) */
	n = 0;
	for (int i = 0; i < 3; i++) {
		all[n++] = 7;
		all[n++] = 8;
	}
	for (int i = 0; i < 5; i++) {
		all[n++] = 7;
		all[n++] = 6;
		all[n++] = 5;
	}
	assert_int_equal(segments_find(all, n, s), 8);
	assert_true(s[3].count == 3 && s[7].kind == 3 && s[2].kind == 0);
	assert_int_equal(segments_find(all, 1, s), 1);
}

/* 3.4's factors for four devices and 16 bytes. */
static void test_reshard(void **state)
{
	struct lying whole = {LIE_REPLICATED, 0}, sums = {LIE_PARTIAL, 0}, a = {LIE_SPLIT, 0},
	             b = {LIE_SPLIT, 1};

	(void)state;
	near(reshard_bytes(a, whole, 16, 4), 12);
	near(reshard_bytes(sums, whole, 16, 4), 24);
	near(reshard_bytes(sums, a, 16, 4), 12);
	near(reshard_bytes(a, b, 16, 4), 3);
	assert_true(reshard_bytes(a, a, 16, 4) == 0 && reshard_bytes(whole, b, 16, 4) == 0);
	assert_true(isinf(reshard_bytes(whole, sums, 16, 4)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_options),     cmocka_unit_test(test_topology_against_volume),
	    cmocka_unit_test(test_same_volume), cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_segments),    cmocka_unit_test(test_reshard)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
