#include "tests/unit/profiler/kineto_text.h"

#include <math.h>
#include <stdio.h>

#include "profiler/efficiency/efficiency.h"

/* Expected values by hand: the times in these traces are made by the formula in the comment beside them. */

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-9 * fabs(wanted);
}

static void points_of_one_size_become_one(void **state)
{
	struct rate_point p[] = {{8, 4, 1}, {2, 3, 1}, {2, 5, 3}, {8, 6, 1}};
	struct rate_point q[] = {{8, 4, 1}, {2, 3, 1}, {2, 5, 3}, {8, 6, 1}};

	(void)state;
	assert_int_equal(rate_points_merge(p, 4, false), 2);
	assert_true(p[0].amount == 2 && near(p[0].seconds, 4.5) && p[0].calls == 4);
	assert_true(p[1].amount == 8 && near(p[1].seconds, 5) && p[1].calls == 2);
	assert_int_equal(rate_points_merge(q, 4, true), 2);
	assert_true(q[0].seconds == 3 && q[0].calls == 4 && q[1].seconds == 4);
	assert_int_equal(rate_points_merge(q, 0, true), 0);
}

static void a_line_is_found_where_sizes_differ(void **state)
{
	/* seconds = 2 + amount / 4 */
	const struct rate_point line[] = {{4, 3, 1}, {8, 4, 1}, {40, 12, 9}};
	/* a negative overhead is none: the best line through the origin, by relative errors: slope = sum(x/t)
	 * / sum(x^2/t^2) with x/t = 4 and 2: (4 + 2) / (16 + 4) = 0.3 */
	const struct rate_point steep[] = {{4, 1, 1}, {8, 4, 1}};
	const struct rate_point alike[] = {{4, 3, 1}, {5, 3, 1}, {7, 4, 1}};
	/* larger is faster: there is no rate */
	const struct rate_point falling[] = {{4, 8, 1}, {8, 4, 1}};
	struct rate_fit f = rate_fit_of(line, 3);

	(void)state;
	assert_true(near(f.rate, 4) && near(f.overhead, 2) && f.mean_error < 1e-12);
	f = rate_fit_of(steep, 2);
	assert_true(near(f.rate, 1 / 0.3) && f.overhead == 0 && isnan(f.mean_error));
	assert_true(isnan(rate_fit_of(alike, 3).rate));
	assert_true(isnan(rate_fit_of(falling, 2).rate));
	assert_true(isnan(rate_fit_of(line, 1).rate));
}

static void covered_time_counts_once(void **state)
{
	PROFILE_AUTO p = {0};
	COVERED_AUTO s = {0};

	(void)state;
	read_ok("{\"traceEvents\":["
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":9,"
	        "\"ts\":10,\"dur\":10},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":9,"
	        "\"ts\":15,\"dur\":10},"
	        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":9,"
	        "\"ts\":40,\"dur\":10}]}",
	        &p);
	assert_int_equal(communication_covered(&p.captures[0], &s), SB_OK);
	assert_int_equal(s.set.count, 2);
	assert_int_equal(covered_ns(&s, 0, 5000), 0);
	assert_int_equal(covered_ns(&s, 0, 60000), 25000);
	assert_int_equal(covered_ns(&s, 12000, 20000), 8000);
	assert_int_equal(covered_ns(&s, 20000, 45000), 10000);
}

static size_t add(char *out, size_t room, size_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	at += (size_t)vsnprintf(out + at, room - at, format, args);
	va_end(args);
	assert_true(at < room);
	return at;
}

/* The i-th product of (n x 1024) x (1024 x 1024), launched at its number of ms, run at `at` us for `us`. */
static size_t add_product(char *out, size_t room, size_t at, int i, int n, double start, double us)
{
	at = add(out, room, at,
	         ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,"
	         "\"dur\":20,\"args\":{\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"],"
	         "\"Input Dims\":[[%d,1024],[1024,1024]]}}",
	         100 * i, n);
	at = add(out, room, at,
	         ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
	         "\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d}}",
	         100 * i + 5, i + 1);
	return add(out, room, at,
	           ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%.3f,"
	           "\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
	           start, us, i + 1);
}

static size_t add_reduce_of(char *out, size_t room, size_t at, const char *ranks, long elements, double start,
                            double us)
{
	return add(out, room, at,
	           ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum\",\"pid\":0,"
	           "\"tid\":9,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":9,"
	           "\"Collective name\":\"allreduce\",\"In msg nelems\":%ld,\"Out msg nelems\":%ld,"
	           "\"dtype\":\"BFloat16\",\"Group size\":4,\"Process Group Name\":\"1\","
	           "\"Process Group Ranks\":\"%s\"}}",
	           start, us, elements, elements, ranks);
}

static size_t add_reduce(char *out, size_t room, size_t at, long elements, double start, double us)
{
	return add_reduce_of(out, room, at, "[0, 1, 2, 3]", elements, start, us);
}

static void a_timeline_tells_rates_gaps_and_overlap(void **state)
{
	char text[16384];
	size_t at = add(text, sizeof(text), 0, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
	PROFILE_AUTO p = {0};
	struct efficiency e;

	(void)state;
	/* 2 n 2^20 FLOP at 2^31 FLOP/us behind 10 us: n = 1024, 4096, 8192: 11, 14, 18 us; all are launched
	 * long before, 3 us lie between them */
	at = add_product(text, sizeof(text), at, 0, 1024, 10000, 11);
	at = add_product(text, sizeof(text), at, 1, 4096, 10014, 14);
	at = add_product(text, sizeof(text), at, 2, 8192, 10031, 18);
	/* again beside an all-reduce: 1.5 times as long */
	at = add_product(text, sizeof(text), at, 3, 1024, 10100, 16.5);
	at = add_product(text, sizeof(text), at, 4, 4096, 10119.5, 21);
	/* all-reduces of 2^22 and 2^25 bytes at 0.1 MiB/us of the bus behind 20 us, bus factor 1.5: 60 + 20
	 * and 480 + 20 us; of the larger ones one waits */
	at = add_reduce(text, sizeof(text), at, 1 << 21, 10090, 80);
	at = add_reduce(text, sizeof(text), at, 1 << 24, 20000, 700);
	at = add_reduce(text, sizeof(text), at, 1 << 24, 21000, 500);
	add(text, sizeof(text), at, "]}");
	read_ok(text, &p);
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_int_equal(e.products.calls, 5);
	assert_true(near(e.products.amount, 2.0 * 1048576 * (2 * 1024 + 2 * 4096 + 8192)));
	assert_true(near(e.products.seconds, 80.5e-6));
	/* means of equal sizes: 13.75, 17.5, 18 us */
	assert_false(isnan(e.product_fit.rate));
	assert_int_equal(e.overlapped, 2);
	assert_true(near(e.overlap_slowdown, (16.5 + 21) / (11 + 14)));
	assert_int_equal(e.gaps, 3);
	assert_true(fabs(e.gap_seconds - 3e-6) <= 5.001e-9); /* bins of 10 ns */
	assert_int_equal(e.collective_count, 1);
	assert_int_equal(e.collectives[0].kind, COLLECTIVE_ALL_REDUCE);
	assert_true(e.collectives[0].ranks == 4 && e.collectives[0].span == 3 && e.collectives[0].calls == 3);
	assert_int_equal(e.collectives[0].stride, 1);
	assert_true(near(e.collectives[0].largest_bytes, 1.5 * 33554432));
	assert_true(near(e.collectives[0].bus_bytes_per_second, 1.5 * 33554432 / 500e-6));
	assert_true(near(e.collectives[0].fit.rate, 104857.6 * 1e6));
	assert_true(fabs(e.collectives[0].fit.overhead - 20e-6) < 1e-12);
	assert_true(isnan(e.collectives[0].fit.mean_error));
	assert_int_equal(e.attention.calls, 0);
}

static void the_line_of_products_is_the_one_they_were_made_by(void **state)
{
	char text[8192];
	size_t at = add(text, sizeof(text), 0, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
	PROFILE_AUTO p = {0};
	struct efficiency e;

	(void)state;
	at = add_product(text, sizeof(text), at, 0, 1024, 10000, 11);
	at = add_product(text, sizeof(text), at, 1, 4096, 10100, 14);
	at = add_product(text, sizeof(text), at, 2, 8192, 10200, 18);
	add(text, sizeof(text), at, "]}");
	read_ok(text, &p);
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_true(near(e.product_fit.rate, 2147483648.0 * 1e6));
	assert_true(fabs(e.product_fit.overhead - 10e-6) < 1e-12);
	assert_int_equal(e.gaps, 0); /* 89 and 86 us: the device waited for something */
	assert_true(isnan(e.gap_seconds) && isnan(e.overlap_slowdown));
	/* 2.1e9, 8.6e9 and 17.2e9 FLOP: [1e9, 3.2e9), [3.2e9, 1e10), [1e10, 3.2e10) */
	assert_int_equal(e.product_class[4].calls, 1);
	assert_int_equal(e.product_class[5].calls, 1);
	assert_int_equal(e.product_class[6].calls, 1);
	assert_true(near(product_class_least(4), 1e9));
}

/* Groups of parallel training are every stride-th rank of an aligned block; others have no stride. */
static void the_lie_of_a_group_is_read_of_its_ranks(void **state)
{
	static const struct {
		const char *list;
		int64_t ranks, span, stride;
	} groups[] = {
	    {"[0, 1]", 2, 1, 1},
	    {"[4, 5, 6]", 3, 2, -1}, /* blocks of three begin at 0, 3, 6 */
	    {"[6,7,8]", 3, 2, 1},
	    {"[2, 10, 18, 26]", 4, 24, 8},
	    {"[9, 17, 25]", 3, 16,
	     -1}, /* the block would be 8 to 31: it does not begin at a multiple of 24 */
	    {"[0, 1, 8, 9, 10]", 5, 10, -1},
	    {"[3, 2, 1]", 3, 2, -1},
	    {"[1, 1, 1, 1]", 4, 0, -1},
	    {"[0, 1, ..., 9223372036854775807]", 0, -1, -1},
	    {"[0, 9223372036854775807]", 2, INT64_MAX, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		char text[1024];
		size_t at = add(text, sizeof(text), 0, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
		PROFILE_AUTO p = {0};
		struct efficiency e;

		at = add_reduce_of(text, sizeof(text), at, groups[i].list, 1000, 1, 5);
		add(text, sizeof(text), at, "]}");
		read_ok(text, &p);
		assert_int_equal(efficiency_measure(&p, &e), SB_OK);
		assert_int_equal(e.collective_count, groups[i].ranks > 0);
		if (groups[i].ranks == 0)
			continue;
		assert_int_equal(e.collectives[0].ranks, groups[i].ranks);
		assert_int_equal(e.collectives[0].span, groups[i].span);
		assert_int_equal(e.collectives[0].stride, groups[i].stride);
	}
}

/* 2 ms before the first byte: no link takes so long, the ranks waited. The rate of the largest stays, which
 * is no more than what the link does: 1.5 x 2^25 bytes in 2.48 ms. */
static void a_line_over_waiting_ranks_is_none(void **state)
{
	char text[2048];
	size_t at = add(text, sizeof(text), 0, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
	PROFILE_AUTO p = {0};
	struct efficiency e;

	(void)state;
	at = add_reduce(text, sizeof(text), at, 1 << 21, 1000, 2060);
	at = add_reduce(text, sizeof(text), at, 1 << 24, 9000, 2480);
	add(text, sizeof(text), at, "]}");
	read_ok(text, &p);
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_true(isnan(e.collectives[0].fit.rate) && isnan(e.collectives[0].fit.overhead));
	assert_true(near(e.collectives[0].bus_bytes_per_second, 1.5 * 33554432 / 2480e-6));
}

/* Without the values of the arguments it is not told what is causal; with them it is. q, k, v of 2 x 16 x
 * 2048 x 128: 4 x 2 x 16 x 2048^2 x 128 FLOP. */
static void attention_says_whether_its_square_is_whole(void **state)
{
	static const char *const values[] = {"", ",\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"True\"]",
	                                     ",\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"False\"]"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		char text[2048];
		size_t at = add(text, sizeof(text), 0, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
		PROFILE_AUTO p = {0};
		struct efficiency e;

		at = add(
		    text, sizeof(text), at,
		    ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
		    "\"aten::_scaled_dot_product_flash_attention\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":20,"
		    "\"args\":{\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\"],\"Input Dims\":"
		    "[[2,16,2048,128],[2,16,2048,128],[2,16,2048,128]]%s}},"
		    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":"
		    "1,"
		    "\"ts\":5,\"dur\":2,\"args\":{\"correlation\":1}},"
		    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"flash\",\"pid\":0,\"tid\":7,\"ts\":30,"
		    "\"dur\":500,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}]}",
		    values[i]);
		read_ok(text, &p);
		assert_int_equal(efficiency_measure(&p, &e), SB_OK);
		assert_int_equal(e.attention.calls, 1);
		assert_int_equal(e.attention_whole, i == 0);
		assert_true(near(e.attention.amount, 4.0 * 2 * 16 * 2048 * 2048 * 128 / (i == 1 ? 2 : 1)));
	}
}

static void nothing_is_measured_where_nothing_is_told(void **state)
{
	PROFILE_AUTO p = {0};
	struct efficiency e;

	(void)state;
	read_ok("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
	        "\"ts\":1,\"dur\":2}]}",
	        &p);
	assert_int_equal(efficiency_measure(&p, &e), SB_OK);
	assert_int_equal(e.products.calls + e.attention.calls + e.element_wise.calls + e.gaps + e.overlapped,
	                 0);
	assert_true(isnan(e.product_fit.rate) && e.collective_count == 0 && e.link_count == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(points_of_one_size_become_one),
	    cmocka_unit_test(a_line_is_found_where_sizes_differ),
	    cmocka_unit_test(covered_time_counts_once),
	    cmocka_unit_test(a_timeline_tells_rates_gaps_and_overlap),
	    cmocka_unit_test(the_line_of_products_is_the_one_they_were_made_by),
	    cmocka_unit_test(the_lie_of_a_group_is_read_of_its_ranks),
	    cmocka_unit_test(a_line_over_waiting_ranks_is_none),
	    cmocka_unit_test(attention_says_whether_its_square_is_whole),
	    cmocka_unit_test(nothing_is_measured_where_nothing_is_told),
	};

	return cmocka_run_group_tests_name("efficiency", tests, NULL, NULL);
}
