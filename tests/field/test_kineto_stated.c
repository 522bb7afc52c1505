/* What the peers' own tests state of the Kineto samples of $SIGNALBOX_SHARED, where the answers have the
 * quantity: samples/kineto/expected.md, tables B1 to B4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/field/answer.h"

#define US INT64_C(1000)

static const struct breakdown_row *row_of(const struct answer *a, int64_t step)
{
	for (size_t i = 0; i < a->b.count; i++)
		if (a->b.rows[i].step == step)
			return &a->b.rows[i];
	fail_msg("step %lld has no row", (long long)step);
	return NULL;
}

static int64_t calls(const struct answer *a, int64_t step, enum operator_class klass)
{
	int64_t n = 0;

	for (size_t i = 0; i < a->o.count; i++)
		if (a->o.rows[i].step == step && a->o.rows[i].klass == klass)
			n += a->o.rows[i].count;
	return n;
}

/* B1, nccl_data: 21 kernels of NCCL; the longest all-reduce has 2,049,000 elements (of Float) in group "0" of
 * "[0, 1]". */
static void hta_nccl_data(void **state)
{
	ANSWER_AUTO a = {0};
	const struct trace *t;
	size_t kernels = 0, longest = 0;

	(void)state;
	answer_of("samples/kineto", "nccl_data.json.gz", &a);
	t = &a.p.captures[0].trace;
	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		if (t->kind[i] != EVENT_COMMUNICATION)
			continue;
		kernels++;
		if (d && strcmp(trace_text(t, d->type, NULL), "allreduce") == 0 &&
		    d->bytes == INT64_C(2049000) * 4) {
			longest++;
			assert_string_equal(trace_text(t, d->group, NULL), "0");
			assert_string_equal(trace_text(t, d->ranks, NULL), "[0, 1]");
		}
	}
	assert_int_equal(kernels, 21);
	assert_true(longest > 0);
}

/* B1, cpu_only_rank34 */
static void hta_cpu_only(void **state)
{
	ANSWER_AUTO a = {0};

	(void)state;
	answer_of("samples/kineto", "cpu_only_rank34.json.gz", &a);
	assert_int_equal(a.p.captures[0].rank, 34);
	assert_int_equal(a.p.captures[0].world_size, 300);
	assert_true(a.b.rows[0].compute_ns == SB_NULL && a.p.captures[0].chip[0] == '\0');
}

/* B1, compare_base and compare_test: iteration 1010 lasts 122,149 us and has one GPU row in base, none in
 * test; iteration 1009 is the same in both. */
static void hta_compare(void **state)
{
	ANSWER_AUTO base = {0};
	ANSWER_AUTO test = {0};

	(void)state;
	answer_of("samples/kineto", "compare_base.json.gz", &base);
	answer_of("samples/kineto", "compare_test.json.gz", &test);
	assert_int_equal(row_of(&base, 1010)->step_ns, 122149 * US);
	assert_int_equal(row_of(&test, 1010)->step_ns, 122149 * US);
	assert_int_equal(calls(&base, 1010, OPERATOR_COMPUTE), 1);
	assert_int_equal(calls(&test, 1010, OPERATOR_COMPUTE), 0);
	assert_int_equal(calls(&base, 1009, OPERATOR_COMPUTE), calls(&test, 1009, OPERATOR_COMPUTE));
}

/* B2: kernels and copies (memcpy + memset) of each step, "manually verified". The plugin cuts a step where
 * its last device row ends; none of its rows overlap another step, so the sums by launch are the same. */
static void tensorboard_resnet50(void **state)
{
	static const struct {
		const char *name;
		struct {
			int64_t step, kernel, memcpy, memset;
		} steps[6];
	} RUNS[] = {{"resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
	             {{5, 98598, 1941, 90},
	              {6, 98570, 1947, 89},
	              {7, 98596, 1931, 91},
	              {8, 98623, 1938, 89},
	              {9, 98504, 1937, 87},
	              {10, 98641, 1798, 88}}},
	            {"resnet50_nw4_worker0.1623212756351.pt.trace.json.gz",
	             {{5, 99778, 3606, 98},
	              {6, 99208, 2948, 98},
	              {7, 99114, 2949, 98},
	              {8, 99021, 2975, 97},
	              {9, 98791, 3596, 97},
	              {10, 98956, 2885, 98}}}};

	(void)state;
	for (size_t r = 0; r < 2; r++) {
		ANSWER_AUTO a = {0};

		answer_of("samples/kineto", RUNS[r].name, &a);
		assert_string_equal(a.p.captures[0].chip, "Tesla V100-DGXS-32GB");
		for (size_t i = 0; i < 6; i++) {
			const struct breakdown_row *row = row_of(&a, RUNS[r].steps[i].step);

			same(RUNS[r].name, "kernels", row->compute_ns, RUNS[r].steps[i].kernel * US);
			same(RUNS[r].name, "copies", row->copy_exposed_ns,
			     (RUNS[r].steps[i].memcpy + RUNS[r].steps[i].memset) * US);
		}
	}
}

/* B3: what each step launched. Where the plugin drops trailing steps without device work, they are kept here,
 * with 0 (report HTA#76): "last_steps_no_kernel" has step 1 of the plugin, and two more. */
static void tensorboard_units(void **state)
{
	static const struct {
		const char *name;
		int64_t step, compute, copy;
	} ROWS[] = {
	    {"test_all_categories.json", 1, 15, 15},
	    {"test_multiple_profilersteps_no_overlap.json", 1, 0, 40},
	    {"test_multiple_profilersteps_no_overlap.json", 2, 200, 0},
	    {"test_multiple_profilersteps_with_overlap.json", 1, 0, 100},
	    {"test_multiple_profilersteps_with_overlap.json", 2, 200, 0},
	    {"test_last_steps_no_kernel.json", 2, 0, 0},
	    {"test_last_steps_no_kernel.json", 3, 0, 0},
	    {"test_no_profilerstep.json", SB_NULL, 100, 0},
	    /* utilization 60/120: the kernels together are 60 */
	    {"test_gpu_utilization.json", SB_NULL, 60, 0},
	    /* no kernel belongs to the step */
	    {"test_gpu_utilization_kernel_out_of_step.json", 2, 0, 0},
	    /* the denominator of the tensor-core ratio 15/25 */
	    {"test_tensor_core.json", SB_NULL, 25, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
		ANSWER_AUTO a = {0};

		answer_of("samples/kineto/tb-unit", ROWS[i].name, &a);
		same(ROWS[i].name, "kernels", row_of(&a, ROWS[i].step)->compute_ns, ROWS[i].compute * US);
		same(ROWS[i].name, "copies", row_of(&a, ROWS[i].step)->copy_exposed_ns, ROWS[i].copy * US);
	}
}

/* B3: a host alone has steps of 200 and 100 us; two kernels of one call are both launched. */
static void tensorboard_host_and_groups(void **state)
{
	ANSWER_AUTO host = {0};
	ANSWER_AUTO group = {0};

	(void)state;
	answer_of("samples/kineto/tb-unit", "test_pure_cpu.json", &host);
	assert_int_equal(row_of(&host, 1)->step_ns, 200 * US);
	assert_int_equal(row_of(&host, 2)->step_ns, 100 * US);
	assert_true(row_of(&host, 1)->compute_ns == SB_NULL);
	answer_of("samples/kineto/tb-unit", "test_runtime_launch_multipe_kernels.json", &group);
	assert_int_equal(calls(&group, SB_NULL, OPERATOR_COMMUNICATION), 2);
	assert_int_equal(group.c.rows[0].count, 2);
}

/* B4, coll_analysis.csv of resnet_ddp: three all-reduces of either size and two broadcasts, three times each;
 * elements of BF16 (2 bytes) and Long (8). Kernels without arguments are counted apart there and here. */
static void tracelens_collectives(void **state)
{
	static const struct {
		const char *name;
		int64_t bytes, count, ns;
	} ROWS[] = {{"allreduce", INT64_C(8816192) * 2, 3, 26798240},
	            {"allreduce", INT64_C(2873320) * 2, 3, 20338798},
	            {"broadcast", INT64_C(9600) * 2, 3, 43675},
	            {"broadcast", INT64_C(20) * 8, 3, 19597}};
	ANSWER_AUTO a = {0};
	const struct trace *t;
	int64_t bytes = 0, elapse = 0;

	(void)state;
	answer_of("samples/kineto", "mi300_resnet_ddp.json.gz", &a);
	t = &a.p.captures[0].trace;
	for (size_t r = 0; r < 4; r++) {
		int64_t count = 0, ns = 0;

		for (size_t i = 0; i < t->detail_count; i++) {
			const struct event_detail *d = &t->details[i];

			if (t->kind[d->event] != EVENT_COMMUNICATION || d->bytes != ROWS[r].bytes ||
			    strcmp(trace_text(t, d->type, NULL), ROWS[r].name) != 0)
				continue;
			count++;
			ns += t->dur_ns[d->event];
		}
		same(ROWS[r].name, "count", count, ROWS[r].count);
		same(ROWS[r].name, "time", ns, ROWS[r].ns);
	}
	/* and the answer sums them by step and name */
	for (size_t i = 0; i < a.c.row_count; i++) {
		if (a.c.rows[i].step == SB_NULL)
			continue;
		bytes += a.c.rows[i].bytes;
		elapse += (int64_t)(a.c.rows[i].elapse_us * 1000 + 0.5);
	}
	same("all collectives", "bytes", bytes, 3 * INT64_C(2) * (8816192 + 2873320 + 9600) + INT64_C(480));
	same("all collectives", "time", elapse, 26798240 + 20338798 + 43675 + 19597);
	/* total_comm of gpu_timeline.csv, 47.200310 ms: none of the launched ones overlap */
	same("all collectives", "time in A2", elapse, 47200310);
}

/* B4, gpu_timeline.csv in ms, within its 60 ns; compute there is kernels and memsets together. */
static void tracelens_timelines(void **state)
{
	static const struct {
		const char *name;
		int64_t busy, idle, total;
	} ROWS[] = {{"h100_bert.json.gz", 309438, 3598387, 3907825},
	            {"mi300_bert.json.gz", 390749, 3105228, 3495976},
	            {"torch_compile_triton.json.gz", 12549021, 11, 12549032},
	            {"vllm_decode_full_graph.json.gz", 10717697, 25484, 10743182}};

	(void)state;
	for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
		ANSWER_AUTO a = {0};
		const struct breakdown_row *row;

		answer_of("samples/kineto", ROWS[i].name, &a);
		row = row_of(&a, SB_NULL);
		assert_true(llabs(row->busy_ns - ROWS[i].busy) <= 60);
		assert_true(llabs(row->free_ns - ROWS[i].idle) <= 60);
		assert_true(llabs(row->span_ns - ROWS[i].total) <= 60);
	}
}

/* Report TraceLens#827: all but the copies of the decoding step come from one replay. */
static void a_graph_replay(void **state)
{
	struct operator_query all = {.rank = SB_NULL, .step = SB_NULL};
	ANSWER_AUTO a = {0};
	struct operator_graphs g;

	(void)state;
	answer_of("samples/kineto", "vllm_decode_full_graph.json.gz", &a);
	g = operators_graphs(&a.o, &all);
	/* counted in the file: the rows whose correlation is that of a cudaGraphLaunch */
	assert_int_equal(g.count, 421);
	assert_true(g.share > 0.96928 - 5e-6 && g.share < 0.96928 + 5e-6);
	assert_int_equal(calls(&a, SB_NULL, OPERATOR_COMPUTE) + calls(&a, SB_NULL, OPERATOR_COPY), 434);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hta_nccl_data),         cmocka_unit_test(hta_cpu_only),
	    cmocka_unit_test(hta_compare),           cmocka_unit_test(tensorboard_resnet50),
	    cmocka_unit_test(tensorboard_units),     cmocka_unit_test(tensorboard_host_and_groups),
	    cmocka_unit_test(tracelens_collectives), cmocka_unit_test(tracelens_timelines),
	    cmocka_unit_test(a_graph_replay),
	};

	return cmocka_run_group_tests_name("kineto, stated by peers", tests, NULL, NULL);
}
