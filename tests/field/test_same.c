/* What must not change the answers of Ascend's, Nsight Systems' and our own files: the order of rows and
 * events, the name, compression. Seeds are fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/field/same.h"

static const struct sample {
	const char *folder, *name;
	enum { ROWS, EVENTS, OTHER } kind;
} SAMPLES[] = {
    {"samples/ascend/pt_text_L0_rank0", "kernel_details.csv", ROWS},
    {"samples/ascend/pt_text_L0_rank0", "trace_view.json", EVENTS},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "kernel_details.csv", ROWS},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "step_trace_time.csv", ROWS},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "communication.json", OTHER},
    {"samples/ascend/mpa_fixtures", "kernel_details_wide.csv", ROWS},
    {"samples/ascend/mpa_fixtures", "trace_view_timeline_advice.json", EVENTS},
    {"samples/ascend/mpa_fixtures", "cluster_step_trace_time.csv", ROWS},
    {"samples/ascend/mpa_fixtures", "cluster_communication.json", OTHER},
    {"samples/ascend/cluster_16ranks_pp2", "cluster_step_trace_time.csv", ROWS},
    {"samples/ascend/mindinsight_era", "step_trace_raw_1_detail_time.csv", ROWS},
    {"samples/ascend/raw_msprof", "op_summary_1.csv", ROWS},
    {"samples/ascend/raw_msprof", "msprof_0.db", ROWS},
    {"samples/ascend/pt_db_L2_rank0", "ascend_pytorch_profiler_0.db", ROWS},
    {"samples/ascend/pt_db_L2_rank0", "analysis.db", ROWS},
    {"samples/nsys", "mock.sqlite", ROWS},
    {"samples/nsys", "healthy_1pct.sqlite", ROWS},
};

static struct text other_order(const struct sample *s, const struct text *t, uint64_t *seed)
{
	if (s->kind == ROWS)
		return reordered(t, seed);
	struct places p = find_events(t);
	struct text out = shuffled(t, &p, seed);

	free(p.items);
	return out;
}

/* What a database that was given an order of its own may change: nothing that is told. */
static void check_order(const struct sample *s, const struct text *t, uint64_t *seed)
{
	ANSWER_AUTO a = {0};

	ask("sample", t->data, t->len, &a);
	for (int i = 0; i < 3; i++) {
		ANSWER_AUTO b = {0};
		struct text other = other_order(s, t, seed);
		char where[256];

		snprintf(where, sizeof(where), "%s/%s shuffled", s->folder, s->name);
		ask("sample", other.data, other.len, &b);
		free(other.data);
		same_answers(where, &a, &b);
	}
}

static void test_orders(void **state)
{
	uint64_t seed = 11;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++) {
		struct text t;

		if (SAMPLES[i].kind == OTHER)
			continue;
		t = load(SAMPLES[i].folder, SAMPLES[i].name);
		check_order(&SAMPLES[i], &t, &seed);
		free(t.data);
	}
}

static void test_names_and_dress(void **state)
{
	uint64_t seed = 12;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++) {
		const struct sample *s = &SAMPLES[i];
		struct text t = load(s->folder, s->name);
		ANSWER_AUTO named = {0};
		ANSWER_AUTO a = {0};

		ask("sample", t.data, t.len, &a);
		check_dress(s->name, &t, &a, &seed);
		/* the name may tell the rank, and nothing else */
		ask(s->name, t.data, t.len, &named);
		same_breakdown(s->name, &a.b, &named.b);
		same_operators(s->name, &a.o, &named.o);
		free(t.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders),
	                                   cmocka_unit_test(test_names_and_dress)};

	return cmocka_run_group_tests_name("same", tests, NULL, NULL);
}
