/* Databases, MindInsight's files, cluster analyses and our own format, cut at 100 random offsets each, plain
 * and compressed. Seeds are fixed. */
#include "tests/field/set.h"

#include "base/buf.h"

#define CUTS 100
#define PACKED_CUTS 20

static int read_cut(const struct set *s, size_t at, const struct text *t, size_t len, struct profile *p,
                    struct breakdown *b, struct sb_error *err)
{
	const struct text cut = {t->data, len};

	return set_read(s, at, &cut, p, b, err);
}

/* A database that lacks pages is refused, or what lies in those that are left is all of it. */
static void cut_database(const char *folder, const char *name, uint64_t *seed)
{
	SET_AUTO s = {0};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};
	struct text packed;

	set_add(&s, name, load(folder, name));
	packed = gzip_of(s.files[0].text.data, s.files[0].text.len);
	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	for (int i = 0; i < CUTS + PACKED_CUTS; i++) {
		const struct text *t = i < CUTS ? &s.files[0].text : &packed;
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		size_t len = cut_of(seed, t->len);
		char where[200];
		int rc = read_cut(&s, 0, t, len, &p, &b, &err);

		snprintf(where, sizeof(where), "%s%s cut at %zu", name, t == &packed ? ".gz" : "", len);
		if (rc == SB_OK)
			same_rows(where, &rows, &b, 0);
		else
			refused_well(where, rc, &err);
	}
	free(packed.data);
}

static void databases(void **state)
{
	uint64_t seed = 4;

	(void)state;
	free(shared_path("samples/nsys"));
	cut_database("samples/ascend/pt_db_L2_rank0", "ascend_pytorch_profiler_0.db", &seed);
	cut_database("samples/ascend/pt_db_L2_rank0", "analysis.db", &seed);
	cut_database("samples/ascend/raw_msprof", "msprof_0.db", &seed);
	cut_database("samples/nsys", "mock.sqlite", &seed);
	cut_database("samples/nsys", "healthy_1pct.sqlite", &seed);
}

/* One of the two databases of a capture is cut: the other one still answers. */
static void one_of_two_databases(void **state)
{
	static const char FOLDER[] = "samples/ascend/pt_db_L2_rank0";
	static const char *const NAMES[] = {"ascend_pytorch_profiler_0.db", "analysis.db"};
	SET_AUTO s = {0};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};
	uint64_t seed = 5;

	(void)state;
	free(shared_path(FOLDER));
	for (size_t i = 0; i < 2; i++) {
		char path[100];

		snprintf(path, sizeof(path), "x_ascend_pt/ASCEND_PROFILER_OUTPUT/%s", NAMES[i]);
		set_add(&s, path, load(FOLDER, NAMES[i]));
	}
	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	for (int i = 0; i < CUTS; i++) {
		size_t at = (size_t)i % 2;
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		size_t len = cut_of(&seed, s.files[at].text.len);
		const struct breakdown_row *row;

		if (read_cut(&s, at, &s.files[at].text, len, &p, &b, &err) != SB_OK)
			fail_msg("%s cut at %zu: %s", NAMES[at], len, err.text);
		assert_int_equal(p.count, 1);
		/* the step's row is there either way: its times are those of the kernels, or of the step
		 * table, which is computed from them (expected.md, section 1: to the nanosecond) */
		row = row_like(&b, &rows.rows[0]);
		assert_non_null(row);
		same("two databases", "compute", row->compute_ns, rows.rows[0].compute_ns);
		same("two databases", "exposed", row->exposed_ns, rows.rows[0].exposed_ns);
	}
}

/* A table with a row a step: the rows before the cut are as they were. */
static void cut_steps(const char *path, struct text t, uint64_t *seed)
{
	SET_AUTO s = {0};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};
	struct text packed;
	size_t all, compared = 0;

	set_add(&s, path, t);
	packed = gzip_of(t.data, t.len);
	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	all = whole.captures[0].step_count;
	for (int i = 0; i < CUTS + PACKED_CUTS; i++) {
		const struct text *from = i < CUTS ? &s.files[0].text : &packed;
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		size_t len = cut_of(seed, from->len);
		char where[200];
		int rc = read_cut(&s, 0, from, len, &p, &b, &err);
		size_t n = i < CUTS ? records_before(&t, len) : 0;

		snprintf(where, sizeof(where), "%s%s cut at %zu", path, i < CUTS ? "" : ".gz", len);
		if (rc != SB_OK) {
			refused_well(where, rc, &err);
			assert_true(n == 0);
			continue;
		}
		/* the cut may go through the last value of a row, which is used then */
		if (i < CUTS && n <= all && p.captures[0].step_count != n &&
		    p.captures[0].step_count != n + 1)
			fail_msg("%s: %zu steps, not %zu", where, p.captures[0].step_count, n);
		for (size_t k = 0; k < b.count; k++) {
			const struct breakdown_row *like = row_like(&rows, &b.rows[k]);

			if (b.rows[k].step == SB_NULL ||
			    (size_t)(b.rows[k].step - rows.rows[0].step) >= (i < CUTS ? n : all - 1))
				continue;
			assert_non_null(like);
			same_row(where, like, &b.rows[k], 0);
			compared++;
		}
	}
	assert_true(all < 2 || compared > 0);
	free(packed.data);
}

static void steps_of_mindinsight(void **state)
{
	static const char MARK[] = "step_trace_raw_0_detail_time.csv";
	SET_AUTO s = {0};
	uint64_t seed = 6;
	size_t at;

	(void)state;
	set_of_bundle("samples/ascend/bundles/mindinsight_runs.tar.gz", "utils/resource/profiler/", &s);
	at = set_find(&s, MARK);
	cut_steps("profiler/step_trace_raw_0_detail_time.csv", s.files[at].text, &seed);
	/* it is the other set's now */
	s.files[at].text = (struct text){0};
	cut_steps("profiler/step_trace_raw_1_detail_time.csv",
	          load("samples/ascend/mindinsight_era", "step_trace_raw_1_detail_time.csv"), &seed);
}

/* A file beside the step trace: steps stay as long as they are, and each row adds up. */
static void cut_beside(const struct set *all, size_t at, size_t steps, uint64_t *seed)
{
	const struct set s = {.files = {{all->files[steps].path, all->files[steps].text},
	                                {all->files[at].path, all->files[at].text}},
	                      .count = 2};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};

	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	for (int i = 0; i < CUTS; i++) {
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		size_t len = cut_of(seed, s.files[1].text.len);

		if (read_cut(&s, 1, &s.files[1].text, len, &p, &b, &err) != SB_OK)
			fail_msg("%s cut at %zu: %s", s.files[1].path, len, err.text);
		for (size_t k = 0; k < b.count; k++) {
			const struct breakdown_row *r = &b.rows[k], *like = row_like(&rows, r);

			if (like && r->step != SB_NULL)
				same(s.files[1].path, "step", r->step_ns, like->step_ns);
			if (r->compute_ns != SB_NULL)
				same(s.files[1].path, "span", r->compute_ns + r->exposed_ns + r->free_ns,
				     r->span_ns + (r->bubble_ns == SB_NULL ? 0 : r->bubble_ns));
		}
	}
}

static void cut_folder(const char *archive, const char *folder, uint64_t *seed)
{
	SET_AUTO s = {0};
	size_t steps;

	set_of_bundle(archive, folder, &s);
	steps = set_find(&s, "_detail_time.csv");
	for (size_t f = 0; f < s.count; f++)
		if (f != steps)
			cut_beside(&s, f, steps, seed);
}

static void folders_of_mindinsight(void **state)
{
	static const char ARCHIVE[] = "samples/ascend/bundles/mindinsight_runs.tar.gz";
	uint64_t seed = 7;

	(void)state;
	cut_folder(ARCHIVE, "utils/resource/run_1/normal_run/", &seed);
	cut_folder(ARCHIVE, "utils/resource/run_2/normal_run/", &seed);
	cut_folder(ARCHIVE, "utils/resource/profiler/", &seed);
}

/* Rows of ranks: those before the cut stay. */
static void tables_of_a_cluster(void **state)
{
	static const char FOLDER[] = "samples/ascend/cluster_16ranks_pp2";
	static const char *const NAMES[] = {"cluster_step_trace_time.csv", "cluster_communication.json",
	                                    "communication_group.json"};
	SET_AUTO s = {0};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};
	uint64_t seed = 8;

	(void)state;
	free(shared_path(FOLDER));
	for (size_t i = 0; i < 3; i++) {
		char path[100];

		snprintf(path, sizeof(path), "cluster_analysis_output/%s", NAMES[i]);
		set_add(&s, path, load(FOLDER, NAMES[i]));
	}
	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	for (int i = 0; i < 3 * CUTS; i++) {
		size_t at = (size_t)i / CUTS, len = cut_of(&seed, s.files[at].text.len);
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		char where[100];

		snprintf(where, sizeof(where), "%s cut at %zu", NAMES[at], len);
		if (read_cut(&s, at, &s.files[at].text, len, &p, &b, &err) != SB_OK)
			fail_msg("%s: %s", where, err.text);
		for (size_t k = 0; k < rows.count; k++) {
			const struct breakdown_row *x = &rows.rows[k], *like = row_like(&b, x);

			/* one row a rank, and one of the whole with the same times; ranks in their order */
			if (at == 0 && (size_t)x->rank + 1 >= records_before(&s.files[0].text, len))
				continue;
			assert_non_null(like);
			same_row(where, x, like, 0);
		}
	}
}

/* ---- our own format, made here: 20 steps of 10 kernels ---- */

static void write_ours(struct sb_buf *b)
{
	char text[200];

	sb_buf_init(b, 1 << 20);
	sb_buf_adds(b, "{\"signalbox_profile\":1,\"rank\":2,\"lanes\":[{\"id\":1,\"device\":0},{\"id\":2}],"
	               "\"steps\":[");
	for (int s = 0; s < 20; s++) {
		snprintf(text, sizeof(text), "%s{\"number\":%d,\"start_ns\":%d,\"duration_ns\":1000}",
		         s ? "," : "", s, s * 1000);
		sb_buf_adds(b, text);
	}
	sb_buf_adds(b, "],\"events\":[");
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text),
		         "%s{\"lane\":2,\"kind\":\"host_call\",\"name\":\"launch\",\"start_ns\":%d,"
		         "\"duration_ns\":10,\"link\":%d},{\"lane\":1,\"kind\":\"kernel\",\"name\":\"k\","
		         "\"start_ns\":%d,\"duration_ns\":%d,\"link\":%d}",
		         i ? "," : "", i * 100, i + 1, i * 100 + 20, 30 + i % 7, i + 1);
		sb_buf_adds(b, text);
	}
	sb_buf_adds(b, "]}");
}

/* Events that end before the cut; only those behind "events" count. */
static size_t events_before(const struct text *t, size_t cut)
{
	const char *list = strstr(t->data, "\"events\":[");
	size_t n = 0;

	for (const char *at = list; at && (at = strchr(at, '}')); at++)
		n += (size_t)(at - t->data) < cut;
	return n > 400 ? 400 : n;
}

static void profiles_of_signalbox(void **state)
{
	SB_BUF_AUTO made;
	SET_AUTO s = {0};
	PROFILE_AUTO whole = {0};
	BREAKDOWN_AUTO rows = {0};
	struct sb_error err = {0};
	uint64_t seed = 9;
	size_t compared = 0;

	(void)state;
	write_ours(&made);
	set_add(&s, "x.json", (struct text){strdup(made.data), made.len});
	assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
	assert_int_equal(rows.count, 21);
	for (int i = 0; i < CUTS; i++) {
		size_t len = cut_of(&seed, made.len), n = events_before(&s.files[0].text, len);
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		char where[60];
		int rc = read_cut(&s, 0, &s.files[0].text, len, &p, &b, &err);

		snprintf(where, sizeof(where), "cut at %zu", len);
		if (rc != SB_OK) {
			refused_well(where, rc, &err);
			assert_int_equal(n, 0);
			continue;
		}
		same(where, "events", (int64_t)p.captures[0].trace.count, (int64_t)n);
		for (size_t k = 0; k < rows.count; k++) {
			const struct breakdown_row *x = &rows.rows[k];

			if (x->step == SB_NULL || (size_t)(x->step + 1) * 20 > n)
				continue;
			same_row(where, x, row_like(&b, x), 0);
			compared++;
		}
	}
	assert_true(compared > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(databases),
	    cmocka_unit_test(one_of_two_databases),
	    cmocka_unit_test(steps_of_mindinsight),
	    cmocka_unit_test(folders_of_mindinsight),
	    cmocka_unit_test(tables_of_a_cluster),
	    cmocka_unit_test(profiles_of_signalbox),
	};

	return cmocka_run_group_tests_name("cut other", tests, NULL, NULL);
}
