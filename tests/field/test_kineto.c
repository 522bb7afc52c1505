/* Reads the real Kineto samples of $SIGNALBOX_SHARED and compares with what the sample page and the reference
 * say (tables A1, B1 and B4 of samples/kineto/expected.md, oracles/traces/ref). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "profiler/read/chrome.h"
#include "tests/field/kineto_file.h"

/* Table A1, first columns. */
static const struct row {
	const char *sample, *oracle;
	size_t events, spans, device, launched, steps;
} ROWS[] = {
    {"backward_thread.json", "hta__backward_thread.json", 7, 7, 1, 1, 1},
    {"compare_base.json.gz", "hta__compare_base.json", 33, 33, 18, 2, 2},
    {"compare_test.json.gz", "hta__compare_test.json", 34, 34, 17, 1, 2},
    {"cp_alexnet.json.gz", "hta__cp_alexnet.json", 1408, 868, 98, 98, 0},
    {"cp_event_sync.json.gz", "hta__cp_event_sync.json", 92, 33, 5, 5, 1},
    {"cp_event_sync_multi_stream.json.gz", "hta__cp_event_sync_multi_stream.json", 149, 57, 6, 6, 0},
    {"cp_simple_add.json.gz", "hta__cp_simple_add.json", 1348, 838, 98, 98, 0},
    {"df_index_resolver_rank1.json.gz", "hta__df_index_resolver_rank1.json", 216092, 123379, 22290, 22290, 5},
    {"diff_control.json.gz", "hta__diff_control.json", 109123, 74937, 9450, 9450, 6},
    {"nccl_data.json.gz", "hta__nccl_data.json", 40573, 26933, 3774, 3774, 3},
    {"old_cats_rank1.json.gz", "hta__old_cats_rank1.json", 54, 13, 4, 4, 0},
    {"sampled_rank0.json.gz", "hta__sampled_rank0.json", 4855, 4811, 1204, 1204, 2},
    {"sampled_rank1.json.gz", "hta__sampled_rank1.json", 4720, 4676, 1154, 1154, 2},
    {"resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
     "tb__resnet50_nw0_worker0.1623143089861.pt.trace.json", 75718, 44666, 9096, 9096, 6},
    {"resnet50_nw4_worker0.1623212756351.pt.trace.json.gz",
     "tb__resnet50_nw4_worker0.1623212756351.pt.trace.json", 71424, 41906, 9258, 9258, 6},
    {"h100_bert.json.gz", "tracelens__h100_bert.json", 2551, 2060, 61, 61, 1},
    {"mi300_bert.json.gz", "tracelens__mi300_bert.json", 2653, 2133, 61, 61, 1},
    {"mi300_resnet_ddp.json.gz", "tracelens__mi300_resnet_ddp.json", 56451, 49208, 3653, 2685, 3},
    {"torch_compile_triton.json.gz", "tracelens__torch_compile_triton.json", 246, 115, 12, 12, 0},
    {"vllm_decode_full_graph.json.gz", "tracelens__vllm_decode_full_graph.json", 1993, 1539, 434, 434, 0},
    {"cpu_only_rank34.json.gz", "hta__cpu_only_rank34.json", 30, 16, 0, 0, 1},
    {"cupti_profiler.json.gz", "hta__cupti_profiler.json", 4222, 2324, 0, 0, 0},
    {"distributed_info_missing.json.gz", "hta__distributed_info_missing.json", 2467, 2467, 0, 0, 1},
    {"rank_non_gpu.json.gz", "hta__rank_non_gpu.json", 2467, 2467, 0, 0, 1},
};

static size_t count_events(const struct text *t)
{
	struct chrome_options o = {0};
	struct warnings w = {0};
	struct memory_stream m;
	const struct chrome_event *e = NULL;
	CHROME_AUTO c = NULL;

	memory_stream_init(&m, "t", t->data, t->len, 0);
	assert_int_equal(chrome_open(&m.base, &w, &o, &c), SB_OK);
	do {
		assert_int_equal(chrome_next(c, &e, NULL), SB_OK);
	} while (e);
	free(w.items);
	return chrome_counts(c)->events;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool is_work(uint8_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION || kind == EVENT_MEMCPY ||
	       kind == EVENT_MEMSET;
}

/* Device rows whose correlation a runtime row has too. */
static size_t count_launched(const struct trace *t)
{
	int64_t *launches = malloc((t->count + 1) * sizeof(*launches));
	size_t n = 0, found = 0;

	assert_non_null(launches);
	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] == EVENT_HOST_RUNTIME && t->link[i] != -1)
			launches[n++] = t->link[i];
	}
	qsort(launches, n, sizeof(*launches), by_value);
	for (size_t i = 0; i < t->count; i++) {
		if (is_work(t->kind[i]) && bsearch(&t->link[i], launches, n, sizeof(*launches), by_value))
			found++;
	}
	free(launches);
	return found;
}

static void check_sums(const struct row *r, const struct trace *t, const struct text *oracle)
{
	static const struct {
		const char *name;
		enum event_kind kind;
	} KINDS[] = {{"kernel", EVENT_KERNEL},
	             {"comm", EVENT_COMMUNICATION},
	             {"memcpy", EVENT_MEMCPY},
	             {"memset", EVENT_MEMSET}};
	int64_t base = truth(oracle, "baseTimeNanoseconds"), first = INT64_MAX, last = INT64_MIN;
	size_t device = 0;

	if (base == SB_NULL)
		base = 0;
	for (size_t i = 0; i < 4; i++) {
		struct sums s = sum(t, KINDS[i].kind);
		char path[80];

		device += s.count;
		first = s.first < first ? s.first : first;
		last = s.last > last ? s.last : last;
		if (r->device == 0)
			continue;
		snprintf(path, sizeof(path), "gpu_total/counts/%s", KINDS[i].name);
		assert_int_equal(s.count, truth(oracle, path));
		snprintf(path, sizeof(path), "gpu_total/sum_of_durations_ns/%s", KINDS[i].name);
		assert_int_equal(s.dur, truth(oracle, path));
	}
	assert_int_equal(device, r->device);
	if (device > 0) {
		assert_int_equal(first, truth(oracle, "gpu_total/first_start_ns") + base);
		assert_int_equal(last, truth(oracle, "gpu_total/last_end_ns") + base);
	}
}

static void check_row(const struct row *r, size_t block)
{
	struct text t = load("samples/kineto", r->sample), oracle = load("oracles/traces/ref", r->oracle);
	PROFILE_AUTO p = {0};
	int64_t rank = truth(&oracle, "distributedInfo/rank"),
	        world = truth(&oracle, "distributedInfo/world_size");

	read_sample(r->sample, &t, block, &p);
	assert_int_equal(p.captures[0].trace.count, r->spans);
	assert_int_equal(count_events(&t), r->events);
	assert_int_equal(p.captures[0].step_count, r->steps);
	assert_int_equal(count_launched(&p.captures[0].trace), r->launched);
	assert_int_equal(p.captures[0].rank, rank);
	assert_int_equal(p.captures[0].world_size, world);
	check_sums(r, &p.captures[0].trace, &oracle);
	for (size_t i = 0; i < p.warnings.count; i++)
		print_message("%s: %s %s\n", r->sample, p.warnings.items[i].code, p.warnings.items[i].detail);
	/* "no device activity" is told, no error (below table A1) */
	assert_int_equal(p.warnings.count, r->device > 0 ? 0 : 1);
	if (r->device == 0)
		assert_string_equal(p.warnings.items[0].code, "no_device_activity");
	free(t.data);
	free(oracle.data);
}

static void test_table_a1(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
		check_row(&ROWS[i], 0);
}

static void test_small_blocks(void **state)
{
	(void)state;
	check_row(&ROWS[9], 1);
	check_row(&ROWS[13], 61);
	check_row(&ROWS[17], 4096);
}

/* Sums of expected.md B1 and B4: collectives with their sizes. */
static void test_collectives(void **state)
{
	struct text t = load("samples/kineto", "mi300_resnet_ddp.json.gz");
	PROFILE_AUTO p = {0};
	const struct trace *x;
	int64_t large = 0;
	size_t n = 0, small = 0;

	(void)state;
	read_sample("mi300_resnet_ddp.json.gz", &t, 0, &p);
	x = &p.captures[0].trace;
	for (size_t i = 0; i < x->detail_count; i++) {
		const struct event_detail *d = &x->details[i];

		if (x->kind[d->event] != EVENT_COMMUNICATION)
			continue;
		if (d->bytes == INT64_C(8816192) * 2 &&
		    strcmp(trace_text(x, d->type, NULL), "allreduce") == 0) {
			large += x->dur_ns[d->event];
			n++;
			assert_string_equal(trace_text(x, d->group, NULL), "0");
			assert_string_equal(trace_text(x, d->ranks, NULL), "[0, 1, 2, 3, 4, 5, 6, 7]");
		}
		if (d->bytes == INT64_C(20) * 8 && strcmp(trace_text(x, d->type, NULL), "broadcast") == 0)
			small++;
	}
	assert_int_equal(n, 3);
	assert_int_equal(small, 3);
	/* 26,798.240 us */
	assert_int_equal(large, 26798240);
	free(t.data);
}

static void test_units(void **state)
{
	/* spans and steps counted by hand in the small files */
	static const char *const NAMES[] = {"test_all_categories.json",
	                                    "test_distributed_nccl.worker0.json",
	                                    "test_distributed_nccl.worker1.json",
	                                    "test_gpu_utilization.json",
	                                    "test_gpu_utilization_kernel_out_of_step.json",
	                                    "test_last_steps_no_kernel.json",
	                                    "test_multiple_profilersteps_no_overlap.json",
	                                    "test_multiple_profilersteps_with_overlap.json",
	                                    "test_no_profilerstep.json",
	                                    "test_pure_cpu.json",
	                                    "test_runtime_launch_multipe_kernels.json",
	                                    "test_tensor_core.json",
	                                    "test_memory_view.json"};

	(void)state;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		struct text t = load("samples/kineto/tb-unit", NAMES[i]);
		PROFILE_AUTO p = {0};

		read_sample(NAMES[i], &t, 0, &p);
		assert_true(p.captures[0].trace.count > 0);
		free(t.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table_a1),
	    cmocka_unit_test(test_small_blocks),
	    cmocka_unit_test(test_collectives),
	    cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests_name("kineto field", tests, NULL, NULL);
}
