#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/compare.h"
#include "profiler/kernel_family.h"

#define MS INT64_C(1000000)

/* A profile made by hand. */
struct made {
	struct breakdown_row rows[16];
	struct operator_row operators[16];
	struct compare_finding findings[8];
	struct loading_row loading[4];
	struct breakdown b;
	struct operator_table o;
	struct loading_report l;
	struct compare_side side;
};

static void made_init(struct made *m)
{
	*m = (struct made){0};
	m->b.rows = m->rows;
	m->o.rows = m->operators;
	m->l.rows = m->loading;
	assert_int_equal(sb_strings_new(&m->o.strings), SB_OK);
}

static struct compare_side *made_side(struct made *m)
{
	m->side = (struct compare_side){&m->b, &m->o, &m->l, m->findings, m->side.finding_count};
	return &m->side;
}

/* A row of a GPU; the rest of the span is free. */
static void add_row(struct made *m, int64_t rank, int64_t step, int64_t step_ms, int64_t span_ms,
                    int64_t compute_ms)
{
	m->rows[m->b.count++] = (struct breakdown_row){.rank = rank,
	                                               .device = 0,
	                                               .step = step,
	                                               .step_ns = step_ms == SB_NULL ? SB_NULL : step_ms * MS,
	                                               .span_ns = span_ms * MS,
	                                               .busy_ns = compute_ms * MS,
	                                               .compute_ns = compute_ms * MS,
	                                               .communication_ns = 0,
	                                               .exposed_ns = 0,
	                                               .overlap_ns = 0,
	                                               .copy_ns = 0,
	                                               .copy_exposed_ns = 0,
	                                               .free_ns = (span_ms - compute_ms) * MS,
	                                               .bubble_ns = SB_NULL,
	                                               .preparing_ns = SB_NULL,
	                                               .capture = (size_t)rank};
}

static void add_operator(struct made *m, const char *name, const char *type, int64_t count, int64_t total_ms)
{
	struct operator_row *r = &m->operators[m->o.count++];

	*r = (struct operator_row){.rank = 0,
	                           .step = SB_NULL,
	                           .klass = OPERATOR_COMPUTE,
	                           .count = count,
	                           .total_ns = total_ms * MS,
	                           .min_ns = SB_NULL,
	                           .max_ns = SB_NULL,
	                           .graph_count = SB_NULL,
	                           .graph_ns = SB_NULL};
	assert_int_equal(sb_strings_add(m->o.strings, name, strlen(name), &r->name), SB_OK);
	assert_int_equal(sb_strings_add(m->o.strings, type, strlen(type), &r->type), SB_OK);
	assert_int_equal(sb_strings_add(m->o.strings, "gpu", 3, &r->unit), SB_OK);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static const struct compare_operator *find(const struct comparison *c, const char *name)
{
	for (size_t i = 0; i < c->operator_count; i++)
		if (strcmp(sb_strings_get(c->strings, c->operators[i].name, NULL), name) == 0)
			return &c->operators[i];
	fail_msg("no operator %s", name);
	return NULL;
}

/* Two steps of 100 ms against four of 50 ms: means, not sums. */
static void test_steps_are_divided_out(void **state)
{
	struct made base, target;
	COMPARISON_AUTO c = {0};
	struct compare_verdict v;

	(void)state;
	made_init(&base);
	made_init(&target);
	add_row(&base, 0, 1, 100, 60, 40);
	add_row(&base, 0, 2, 100, 60, 40);
	add_row(&base, 0, SB_NULL, SB_NULL, 190, 80);
	for (int i = 0; i < 4; i++)
		add_row(&target, 0, i, 50, 42, 40);
	add_row(&target, 0, SB_NULL, SB_NULL, 196, 160);
	add_operator(&base, "gemm_a", "gemm", 20, 80);
	add_operator(&target, "gemm_b", "gemm", 40, 160);
	base.loading[0] = (struct loading_row){.steps = 2, .loading_ns = 144 * MS};
	target.loading[0] = (struct loading_row){.steps = 4, .loading_ns = 12 * MS / 10};
	base.l.count = target.l.count = 1;
	assert_int_equal(compare_profiles(made_side(&base), made_side(&target), &c), SB_OK);
	assert_true(c.base_steps == 2 && c.target_steps == 4);
	assert_true(near(c.base.ns[COMPARE_STEP], 100e6) && near(c.target.ns[COMPARE_STEP], 50e6));
	assert_true(near(c.base.ns[COMPARE_SPAN], 95e6) && near(c.target.ns[COMPARE_SPAN], 49e6));
	assert_true(near(c.base.ns[COMPARE_COMPUTE], 40e6) && near(c.target.ns[COMPARE_COMPUTE], 40e6));
	assert_true(near(c.base.ns[COMPARE_FREE], 55e6) && near(c.target.ns[COMPARE_FREE], 9e6));
	assert_true(near(c.base.ns[COMPARE_OUTSIDE], 5e6) && near(c.target.ns[COMPARE_OUTSIDE], 1e6));
	assert_true(isnan(c.base.ns[COMPARE_BUBBLE]));
	assert_int_equal(c.rank_count, 1);
	assert_int_equal(find(&c, "gemm")->label, COMPARE_EQUAL);
	assert_true(near(find(&c, "gemm")->base_count, 10) && near(find(&c, "gemm")->target_count, 10));
	compare_verdict(&c, &v);
	assert_string_equal(v.sentence,
	                    "The target's step is 2.00x shorter (100 ms to 50.0 ms): data loading "
	                    "went from 72.0 ms to 300 us, device idle time went from 55.0 ms to "
	                    "9.00 ms a step.");
	sb_strings_free(&base.o.strings);
	sb_strings_free(&target.o.strings);
}

/* A capture that began long before its steps is judged by its steps. */
static void test_a_long_lead_is_left_out(void **state)
{
	struct made base;
	COMPARISON_AUTO c = {0};
	struct compare_verdict v;

	(void)state;
	made_init(&base);
	add_row(&base, 0, 1, 100, 90, 40);
	add_row(&base, 0, SB_NULL, SB_NULL, 5000, 4000);
	assert_int_equal(compare_profiles(made_side(&base), made_side(&base), &c), SB_OK);
	assert_true(near(c.base.ns[COMPARE_SPAN], 90e6) && near(c.base.ns[COMPARE_COMPUTE], 40e6));
	compare_verdict(&c, &v);
	assert_non_null(strstr(v.sentence, "same time"));
	assert_true(v.change_count == 0 && near(v.speedup, 1));
	sb_strings_free(&base.o.strings);
}

static void test_operators_match_by_type_then_family(void **state)
{
	struct made base, target;
	COMPARISON_AUTO c = {0};
	const struct compare_operator *o;

	(void)state;
	made_init(&base);
	made_init(&target);
	add_row(&base, 0, SB_NULL, SB_NULL, 100, 40);
	add_row(&target, 0, SB_NULL, SB_NULL, 100, 40);
	add_operator(&base, "reduce<1>", "reduce", 1, 10);
	add_operator(&target, "reduce<2>", "reduce", 1, 20);
	add_operator(&base, "ampere_sgemm_128x64_tn", "", 3, 30);
	add_operator(&target, "ampere_sgemm_64x64_tn", "", 2, 16);
	add_operator(&target, "ampere_sgemm_32x32_tn", "", 1, 16);
	add_operator(&base, "old_kernel", "", 1, 5);
	add_operator(&target, "new_kernel", "", 1, 1);
	assert_int_equal(compare_profiles(made_side(&base), made_side(&target), &c), SB_OK);
	assert_int_equal(c.operator_count, 4);
	assert_string_equal(sb_strings_get(c.strings, c.operators[0].name, NULL), "reduce");
	assert_int_equal(c.operators[0].label, COMPARE_MORE);
	o = find(&c, "ampere_sgemm_*_tn");
	assert_true(o->renamed && o->base_names == 1 && o->target_names == 2);
	assert_true(near(o->base_ns, 30e6) && near(o->target_ns, 32e6) && o->label == COMPARE_MORE);
	assert_int_equal(find(&c, "old_kernel")->label, COMPARE_REMOVED);
	assert_int_equal(find(&c, "new_kernel")->label, COMPARE_ADDED);
	sb_strings_free(&base.o.strings);
	sb_strings_free(&target.o.strings);
}

static void test_swapping_the_sides(void **state)
{
	struct made base, target;
	COMPARISON_AUTO there = {0};
	COMPARISON_AUTO back = {0};

	(void)state;
	made_init(&base);
	made_init(&target);
	for (int rank = 0; rank < 3; rank++) {
		add_row(&base, rank, 1, 100 + rank, 90, 40);
		add_row(&target, rank + 1, 1, 60, 50, 40);
	}
	add_operator(&base, "a_kernel", "", 3, 30);
	add_operator(&target, "b_kernel", "", 2, 16);
	base.findings[0] = (struct compare_finding){"io.loading", "critical", "high", 0.4};
	base.findings[1] = (struct compare_finding){"cpu.host_bound", "info", "low", NAN};
	target.findings[0] = (struct compare_finding){"cpu.host_bound", "warning", "low", 0.1};
	base.side.finding_count = 2;
	target.side.finding_count = 1;
	assert_int_equal(compare_profiles(made_side(&base), made_side(&target), &there), SB_OK);
	assert_int_equal(compare_profiles(made_side(&target), made_side(&base), &back), SB_OK);
	assert_int_equal(there.rank_count, 2); /* ranks 1 and 2 are on both sides */
	assert_int_equal(there.ranks[0].rank, 1);
	assert_true(near(there.ranks[0].base.ns[COMPARE_STEP], 101e6));
	assert_int_equal(there.operator_count, back.operator_count);
	assert_true(near(there.base.ns[COMPARE_STEP], back.target.ns[COMPARE_STEP]));
	assert_int_equal(find(&there, "a_kernel")->label, COMPARE_REMOVED);
	assert_int_equal(find(&back, "a_kernel")->label, COMPARE_ADDED);
	assert_int_equal(there.finding_count, 2);
	assert_string_equal(there.findings[0].base->code, "cpu.host_bound");
	assert_non_null(there.findings[0].target);
	assert_string_equal(there.findings[1].base->code, "io.loading");
	assert_null(there.findings[1].target);
	assert_null(back.findings[1].base);
	sb_strings_free(&base.o.strings);
	sb_strings_free(&target.o.strings);
}

/* The device does the same, and the host needs 40 ms more between two steps. */
static void test_time_outside_the_device(void **state)
{
	struct made base, target;
	COMPARISON_AUTO c = {0};
	struct compare_verdict v;

	(void)state;
	made_init(&base);
	made_init(&target);
	add_row(&base, 0, 1, 60, 50, 50);
	add_row(&target, 0, 1, 100, 50, 50);
	assert_int_equal(compare_profiles(made_side(&base), made_side(&target), &c), SB_OK);
	compare_verdict(&c, &v);
	assert_string_equal(v.sentence,
	                    "The target's step is 1.67x longer (60.0 ms to 100 ms): time outside the "
	                    "device's work went from 10.0 ms to 50.0 ms a step.");
	sb_strings_free(&base.o.strings);
	sb_strings_free(&target.o.strings);
}

static void test_nothing_known(void **state)
{
	struct made none;
	COMPARISON_AUTO c = {0};
	struct compare_verdict v;

	(void)state;
	made_init(&none);
	assert_int_equal(compare_profiles(made_side(&none), made_side(&none), &c), SB_OK);
	assert_true(isnan(c.base.ns[COMPARE_STEP]) && c.base_devices == 0);
	compare_verdict(&c, &v);
	assert_non_null(strstr(v.sentence, "cannot be compared"));
	assert_true(isnan(v.speedup));
	sb_strings_free(&none.o.strings);
}

static void family_is(const char *name, const char *wanted, size_t kept)
{
	char out[64];

	assert_int_equal(kernel_family(name, out, sizeof(out)), kept);
	assert_string_equal(out, wanted);
}

static void test_kernel_family(void **state)
{
	char small[8];

	(void)state;
	family_is("volta_scudnn_128x64_relu_interior_nn_v1", "volta_scudnn_*_relu_*_nn_v1", 5);
	family_is("cutlass_80_tensorop_s16816gemm_128x128_64x3_nn_align8",
	          "cutlass_*_tensorop_s16816gemm_*_nn_align8", 5);
	family_is("gemm", "gemm", 1);
	family_is("128x128", "*", 0);
	family_is("", "", 0);
	family_is("a__b", "a__b", 0);
	kernel_family("volta_scudnn_128x64", small, sizeof(small));
	assert_string_equal(small, "volta_s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_are_divided_out),
	    cmocka_unit_test(test_a_long_lead_is_left_out),
	    cmocka_unit_test(test_operators_match_by_type_then_family),
	    cmocka_unit_test(test_swapping_the_sides),
	    cmocka_unit_test(test_time_outside_the_device),
	    cmocka_unit_test(test_nothing_known),
	    cmocka_unit_test(test_kernel_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
