/* Shuffling the events, rows or members of a sample of $SIGNALBOX_SHARED, renaming it or packing it gives the
 * same bytes of result, in every dialect. Events of equal start and length keep their
 * order among each other: it alone says which holds which (report HTA#89). */
#include "tests/shared.h"

#include <sqlite3.h>

#include "api/profiles/report.h"
#include "tests/field/reorder.h"

static char *report_of(const char *name, const struct text *t)
{
	struct read_input input = {.path = name, .fd = fd_of(t->data, t->len), .length = (int64_t)t->len};
	RESULTS_AUTO r = {0};
	struct sb_error err = {0};
	struct sb_buf text;

	sb_buf_init(&text, REPORT_MAX);
	if (results_compute(&input, 1, &READ_LIMITS_DEFAULT, NULL, &THRESHOLDS_DEFAULT, &r, &err) != SB_OK)
		fail_msg("%s: %s", name, err.text);
	close(input.fd);
	/* warnings name lines and bytes, which are elsewhere in another order */
	r.profile.warnings.count = 0;
	assert_int_equal(report_json(&r, "name", 1, &text), SB_OK);
	return sb_buf_take(&text);
}

/* Fails at the first byte in which the reports differ. */
static void expect(const char *where, const char *want, const char *name, const struct text *t)
{
	char *got = report_of(name, t);
	size_t same = 0;

	while (want[same] && want[same] == got[same])
		same++;
	if (want[same] != got[same])
		fail_msg("%s: \"%.120s\", not \"%.120s\"", where, got + (same > 40 ? same - 40 : 0),
		         want + (same > 40 ? same - 40 : 0));
	free(got);
}

static void check(const char *folder, const char *name, uint64_t *seed)
{
	struct text t = load(folder, name);
	char *want = report_of("sample", &t);
	struct text packed = gzip_of(t.data, t.len);
	char where[300];

	for (int i = 0; i < 2; i++) {
		struct text other = reordered(&t, seed);

		snprintf(where, sizeof(where), "%s/%s in another order", folder, name);
		expect(where, want, "sample", &other);
		free(other.data);
	}
	snprintf(where, sizeof(where), "%s/%s renamed or packed", folder, name);
	expect(where, want, "sample", &packed);
	/* where a file is named in the answer (a warning, a capture without a rank), it is that of the file
	 */
	if (!strstr(want, "\"sample\""))
		expect(where, want, "other.name", &t);
	free(packed.data);
	free(want);
	free(t.data);
}

static void kineto(void **state)
{
	uint64_t seed = 21;

	(void)state;
	free(shared_path("samples/kineto"));
	for (size_t i = 0; i < KINETO_SAMPLE_COUNT; i++)
		check("samples/kineto", KINETO_SAMPLES[i], &seed);
}

static void others(void **state)
{
	static const char *const SAMPLES[][2] = {
	    {"samples/ascend/pt_text_L0_rank0", "trace_view.json"},
	    {"samples/ascend/pt_text_L0_rank0", "kernel_details.csv"},
	    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "kernel_details.csv"},
	    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "communication.json"},
	    {"samples/ascend/mpa_fixtures", "trace_view_timeline_advice.json"},
	    {"samples/ascend/mpa_fixtures", "kernel_details_wide.csv"},
	    {"samples/ascend/mpa_fixtures", "cluster_step_trace_time.csv"},
	    {"samples/ascend/mpa_fixtures", "cluster_communication.json"},
	    {"samples/ascend/cluster_16ranks_pp2", "cluster_step_trace_time.csv"},
	    {"samples/ascend/cluster_16ranks_pp2", "cluster_communication.json"},
	    {"samples/ascend/mindinsight_era", "step_trace_raw_1_detail_time.csv"},
	    {"samples/ascend/raw_msprof", "op_summary_1.csv"},
	    {"samples/ascend/raw_msprof", "msprof_0.db"},
	    {"samples/ascend/pt_db_L2_rank0", "ascend_pytorch_profiler_0.db"},
	    {"samples/ascend/pt_db_L2_rank0", "analysis.db"},
	    {"samples/nsys", "mock.sqlite"},
	    {"samples/nsys", "healthy_1pct.sqlite"},
	    {"samples/nsys", "h100_2gpu_1s.sqlite.gz"},
	};
	uint64_t seed = 22;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++)
		check(SAMPLES[i][0], SAMPLES[i][1], &seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kineto), cmocka_unit_test(others)};

	return cmocka_run_group_tests_name("same bytes", tests, NULL, NULL);
}
