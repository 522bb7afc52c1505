/* The files of Ascend captures, cut at 100 random offsets each, plain and compressed: nothing crashes, and
 * what the rest of the capture supports does not change (Ascend/pytorch#27). Where the
 * timeline is cut the table of kernels still knows all, and the other way round. Seeds are fixed. */
#include "tests/field/set.h"

#define BUNDLE "samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz"
#define CUTS 100
#define PACKED_CUTS 20
/* union of kernel_details and Overlap lane (expected.md, section 1) */
#define UNION_NS 30

/* What may be left of the answers when a file of the set is cut. */
struct kept {
	const char *file;
	int64_t tolerance; /* of the breakdown */
	bool compute;      /* the sum of the operators is as before */
};

static void check_cut(const char *where, const struct set *s, const struct kept *k, size_t at,
                      const struct text *cut, const struct breakdown *whole, int64_t compute)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct sb_error err = {0};

	if (set_read(s, at, cut, &p, &b, &err) != SB_OK)
		fail_msg("%s: %s", where, err.text);
	same_rows(where, whole, &b, k->tolerance);
	if (k->compute && llabs(compute_of(&p) - compute) > k->tolerance * 200)
		fail_msg("%s: operators of %lld, not %lld", where, (long long)compute_of(&p),
		         (long long)compute);
}

static void cut_file(const struct set *s, const struct kept *k, uint64_t *seed)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO whole = {0};
	struct sb_error err = {0};
	size_t at = set_find(s, k->file);
	const struct text *t = &s->files[at].text;
	struct text packed = gzip_of(t->data, t->len);
	int64_t compute;

	if (set_read(s, SET_MAX, NULL, &p, &whole, &err) != SB_OK)
		fail_msg("%s", err.text);
	compute = compute_of(&p);
	for (int i = 0; i < CUTS + PACKED_CUTS; i++) {
		bool gz = i >= CUTS;
		struct text cut = {gz ? packed.data : t->data, cut_of(seed, gz ? packed.len : t->len)};
		char where[200];

		snprintf(where, sizeof(where), "%.100s%s cut at %zu", k->file, gz ? ".gz" : "", cut.len);
		check_cut(where, s, k, at, &cut, &whole, compute);
	}
	free(packed.data);
}

/* Of the set only what is named; the others' names end with these. */
static void part_of(const struct set *s, const char *const *names, struct set *out)
{
	for (; *names; names++) {
		size_t i = set_find(s, *names);
		struct text copy = {malloc(s->files[i].text.len + 1), s->files[i].text.len};

		assert_non_null(copy.data);
		memcpy(copy.data, s->files[i].text.data, copy.len);
		set_add(out, s->files[i].path, copy);
	}
}

static void one_of_the_large_files_is_cut(void **state)
{
	static const char *const NAMES[] = {"kernel_details.csv", "step_trace_time.csv", "trace_view.json",
	                                    "profiler_info_0.json", NULL};
	static const struct kept KEPT[] = {{"trace_view.json", UNION_NS, true},
	                                   {"kernel_details.csv", 0, false},
	                                   {"step_trace_time.csv", 0, true}};
	SET_AUTO all = {0};
	SET_AUTO s = {0};
	uint64_t seed = 1;

	(void)state;
	set_of_bundle(BUNDLE, "level1/rank0_ascend_pt", &all);
	part_of(&all, NAMES, &s);
	for (size_t i = 0; i < 3; i++)
		cut_file(&s, &KEPT[i], &seed);
}

/* Nothing of the breakdown comes from them. */
static void one_of_the_other_files_is_cut(void **state)
{
	static const char *const LARGE[] = {"kernel_details.csv", "step_trace_time.csv", NULL};
	SET_AUTO all = {0};
	uint64_t seed = 2;
	size_t others = 0;

	(void)state;
	set_of_bundle(BUNDLE, "level1/rank0_ascend_pt", &all);
	for (size_t i = 0; i < all.count; i++) {
		const char *name = strrchr(all.files[i].path, '/') + 1;
		const char *const names[] = {LARGE[0], LARGE[1], name, NULL};
		const struct kept kept = {name, 0, true};
		SET_AUTO s = {0};

		if (strcmp(name, "trace_view.json") == 0 || strcmp(name, LARGE[0]) == 0 ||
		    strcmp(name, LARGE[1]) == 0)
			continue;
		part_of(&all, names, &s);
		cut_file(&s, &kept, &seed);
		others++;
	}
	assert_true(others >= 9);
}

/* Every whole kernel before the cut is there as it was; the one that is cut may be, if only its last value
 * is. */
static void kernels_before(const char *where, const struct capture *whole, const struct capture *cut,
                           size_t n)
{
	if (cut->kernel_count != n && cut->kernel_count != n + 1)
		fail_msg("%s: %zu kernels, not %zu", where, cut->kernel_count, n);
	for (size_t i = 0; i < n; i++) {
		const struct kernel *x = &whole->kernels[i], *y = &cut->kernels[i];

		if (x->start_ns != y->start_ns || x->dur_ns != y->dur_ns || x->step != y->step ||
		    x->block_dim != y->block_dim || x->pipe_ratio != y->pipe_ratio)
			if (!isnan(x->pipe_ratio))
				fail_msg("%s: kernel %zu differs", where, i);
		assert_string_equal(trace_text(&whole->trace, x->name, NULL),
		                    trace_text(&cut->trace, y->name, NULL));
	}
}

/* A table alone: step rows, too, whose kernels all lie before the cut. */
static void tables_of_kernels_alone(void **state)
{
	static const char *const FILES[][2] = {
	    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "kernel_details.csv"},
	    {"samples/ascend/pt_text_L0_rank0", "kernel_details.csv"},
	    {"samples/ascend/raw_msprof", "op_summary_1.csv"},
	    {"samples/ascend/mpa_fixtures", "kernel_details_wide.csv"}};
	uint64_t seed = 3;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t f = 0; f < 4; f++) {
		SET_AUTO s = {0};
		PROFILE_AUTO whole = {0};
		BREAKDOWN_AUTO rows = {0};
		struct sb_error err = {0};
		const struct text *t;

		set_add(&s, FILES[f][1], load(FILES[f][0], FILES[f][1]));
		t = &s.files[0].text;
		assert_int_equal(set_read(&s, SET_MAX, NULL, &whole, &rows, &err), SB_OK);
		for (int i = 0; i < CUTS; i++) {
			PROFILE_AUTO p = {0};
			BREAKDOWN_AUTO b = {0};
			struct text cut = {t->data, cut_of(&seed, t->len)};
			size_t n = records_before(t, cut.len);
			char where[200];
			int rc = set_read(&s, 0, &cut, &p, &b, &err);

			snprintf(where, sizeof(where), "%s cut at %zu", FILES[f][1], cut.len);
			if (rc != SB_OK) {
				refused_well(where, rc, &err);
				assert_int_equal(n, 0);
				continue;
			}
			kernels_before(where, &whole.captures[0], &p.captures[0], n);
			if (n == whole.captures[0].kernel_count)
				same_rows(where, &rows, &b, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_of_the_large_files_is_cut),
	    cmocka_unit_test(one_of_the_other_files_is_cut),
	    cmocka_unit_test(tables_of_kernels_alone),
	};

	return cmocka_run_group_tests_name("cut ascend", tests, NULL, NULL);
}
