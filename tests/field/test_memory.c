/* Peaks of memory in real captures. The values were computed from the files by a separate script (the largest
 * "Total Allocated" and "Total Reserved" of each device, or the largest running sum of "Bytes" in order of
 * time; the largest value of each component of memory_record.csv, MB = 2^20); those of
 * samples/kineto/expected.md B5 and of oracles/traces/ref are the same. */
#include "tests/field/answer.h"
#include "tests/field/bundle.h"

#include "profiler/memory.h"

static const struct memory_row *row_of(const struct memory_report *m, int64_t rank, int64_t device,
                                       const char *component)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct memory_row *r = &m->rows[i];

		if (r->capture->rank == rank && r->series->device == device &&
		    strcmp(trace_text(&r->capture->trace, r->series->component, NULL), component) == 0)
			return r;
	}
	fail_msg("no series of device %lld, %s", (long long)device, component);
	return NULL;
}

static void traces_of_kineto(void **state)
{
	static const struct {
		const char *name;
		int64_t rank, device, records, allocated, reserved, reserved_at_peak, capacity;
	} rows[] = {
	    {"df_index_resolver_rank1.json.gz", 1, 1, 26770, 6629508096, 12782141440, 12782141440,
	     34089730048},
	    {"h100_bert.json.gz", SB_NULL, 0, 218, 101305344, 121634816, 121634816, 85018279936},
	    {"mi300_bert.json.gz", SB_NULL, 0, 234, 146394112, 224395264, 224395264, 205571227648},
	    {"resnet50_nw0_worker0.1623143089861.pt.trace.json.gz", SB_NULL, 0, 8220, 2791636480, SB_NULL,
	     SB_NULL, 34084028416},
	    {"resnet50_nw0_worker0.1623143089861.pt.trace.json.gz", SB_NULL, MEMORY_HOST, 4618, 57803264,
	     SB_NULL, SB_NULL, SB_NULL},
	    {"resnet50_nw4_worker0.1623212756351.pt.trace.json.gz", SB_NULL, 0, 8280, 2791505408, SB_NULL,
	     SB_NULL, 34084028416},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ANSWER_AUTO x = {0};
		MEMORY_AUTO m = {0};

		answer_of("samples/kineto", rows[i].name, &x);
		assert_int_equal(memory_compute(&x.p, &m, NULL), SB_OK);
		const struct memory_row *r = row_of(&m, rows[i].rank, rows[i].device, "");

		same(rows[i].name, "records", (int64_t)r->series->count, rows[i].records);
		same(rows[i].name, "peak", r->peak_bytes, rows[i].allocated);
		same(rows[i].name, "reserved", r->reserved_peak_bytes, rows[i].reserved);
		same(rows[i].name, "reserved at the peak", r->reserved_at_peak, rows[i].reserved_at_peak);
		same(rows[i].name, "capacity", r->capacity_bytes, rows[i].capacity);
	}
}

static void tables_of_ascend(void **state)
{
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};

	(void)state;
	read_members("samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz", "level1/", 10, &p);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	for (int64_t rank = 0; rank < 2; rank++) {
		const struct memory_row *pta = row_of(&m, rank, rank, "PTA"),
		                        *both = row_of(&m, rank, rank, "PTA+GE");

		/* 1187.9814453125, 1452, 1261.04296875 and 1526.75 MB */
		assert_true(pta->peak_bytes == 1245688832 && pta->reserved_peak_bytes == 1522532352);
		assert_true(both->peak_bytes == 1322299392 && both->reserved_peak_bytes == 1600913408);
		assert_true(pta->series->count == 381 && both->series->count == 495);
		assert_true(row_of(&m, rank, rank, "APP")->reserved_peak_bytes ==
		            (rank == 0 ? 2216407040 : 2216411136));
		/* operator_memory.csv: 184 rows */
		assert_int_equal(pta->capture->allocation_count, 184);
		assert_true(pta->operator_count > 0);
	}
}

/* The database of another run of the same job holds the same records. */
static void databases_of_ascend(void **state)
{
	ANSWER_AUTO x = {0};
	MEMORY_AUTO m = {0};

	(void)state;
	answer_of("samples/ascend/pt_db_L2_rank0", "ascend_pytorch_profiler_0.db", &x);
	assert_int_equal(memory_compute(&x.p, &m, NULL), SB_OK);
	assert_true(row_of(&m, 0, 0, "PTA")->peak_bytes == 1245688832);
	assert_true(row_of(&m, 0, 0, "PTA")->series->count == 381);
	assert_int_equal(x.p.captures[0].allocation_count, 184);
}

/* 6.15 of the 12.78 GB that the allocator holds at the peak are not used. */
static void fragmentation_is_told(void **state)
{
	ANSWER_AUTO x = {0};
	const struct finding *f;

	(void)state;
	answer_of("samples/kineto", "df_index_resolver_rank1.json.gz", &x);
	f = found(&x, "memory.allocation", 1);
	assert_non_null(f);
	for (size_t i = 0; i < f->evidence_count; i++)
		if (strcmp(f->evidence[i].metric, "fragmentation_bytes") == 0)
			assert_true(f->evidence[i].value == 6152633344.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(traces_of_kineto),
	    cmocka_unit_test(tables_of_ascend),
	    cmocka_unit_test(databases_of_ascend),
	    cmocka_unit_test(fragmentation_is_told),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
