/* Every sample: what its findings promise together is never more than the step, on each rank and in all. */
#include "tests/field/answer.h"

#include <fts.h>

#define FILES_MAX 400

struct files {
	struct read_input items[FILES_MAX];
	size_t count;
};

static void files_close(struct files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		close(f->items[i].fd);
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the path is borrowed as const, but made here */
		free((void *)(uintptr_t)f->items[i].path);
	}
}
#define FILES_AUTO __attribute__((cleanup(files_close))) struct files

static void files_add(struct files *f, const char *path, const char *name)
{
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(f->count < FILES_MAX && fd >= 0 && fstat(fd, &st) == 0);
	f->items[f->count++] = (struct read_input){.path = strdup(name), .fd = fd, .length = st.st_size};
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The mean step of one device, from the rows of the breakdown: its steps with their bubbles, or the host's
 * where those are longer, or the whole capture by the number of its steps, which on a GPU holds time between
 * the steps, too. 0 = not known. */
static int64_t mean_step(const struct breakdown_row *rows, size_t n)
{
	int64_t spans = 0, steps = 0, count = 0, whole = larger(rows[n - 1].span_ns, 0);

	for (size_t i = 0; i + 1 < n; i++) {
		if (rows[i].span_ns <= 0 && rows[i].step_ns <= 0)
			continue;
		count++;
		spans += larger(rows[i].span_ns, 0) + larger(rows[i].bubble_ns, 0);
		steps += larger(rows[i].step_ns, 0);
	}
	if (rows[n - 1].bubble_ns == SB_NULL || count == 0)
		spans = larger(spans, whole + larger(rows[n - 1].bubble_ns, 0));
	return larger(spans, steps) / larger(count, 1);
}

/* The longest mean step of the devices and captures of a rank; of all ranks for SB_NULL. */
static int64_t longest_step(const struct answer *x, int64_t rank)
{
	const struct breakdown_row *rows = x->b.rows;
	int64_t longest = 0;

	for (size_t from = 0, to = 0; from < x->b.count; from = to) {
		while (to < x->b.count && rows[to].capture == rows[from].capture &&
		       rows[to].device == rows[from].device)
			to++;
		if (rank == SB_NULL || rows[from].rank == rank)
			longest = larger(longest, mean_step(rows + from, to - from));
	}
	return longest;
}

static void check_rank(const char *name, const struct answer *x, int64_t rank)
{
	int64_t step = longest_step(x, rank), sum = 0;

	for (size_t i = 0; i < x->a.count; i++)
		if (rank == SB_NULL || x->a.findings[i].rank == rank)
			sum += larger(x->a.findings[i].gain_ns, 0);
	if (sum > step)
		fail_msg("%s: rank %lld: %lld ns are promised of %lld", name, (long long)rank, (long long)sum,
		         (long long)step);
}

static void check(const char *name, const struct answer *x)
{
	for (size_t i = 0; i < x->p.count; i++)
		check_rank(name, x, x->p.captures[i].rank);
	check_rank(name, x, SB_NULL);
}

/* Returns whether it is a profile. */
static bool look(const struct files *f, const char *name)
{
	ANSWER_AUTO x = {0};
	struct sb_error err = {0};

	if (profile_read(f->items, f->count, NULL, NULL, &x.p, &err) != SB_OK)
		return false;
	answer_compute(&x);
	check(name, &x);
	return true;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The files of a folder, each alone or all together. */
static size_t look_at(const char *folder, bool together)
{
	char *root = shared_path(folder);
	char *const roots[] = {root, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FILES_AUTO all = {.count = 0};
	size_t looked = 0;

	assert_non_null(walk);
	for (FTSENT *e = fts_read(walk); e; e = fts_read(walk)) {
		const char *name = e->fts_path + strlen(root);
		FILES_AUTO one = {.count = 0};

		if (e->fts_info != FTS_F)
			continue;
		files_add(together ? &all : &one, e->fts_path, name);
		if (!together)
			looked += look(&one, name);
	}
	if (together)
		looked += look(&all, folder);
	fts_close(walk);
	free(root);
	return looked;
}

static void findings_promise_no_more_than_the_step(void **state)
{
	static const char *const captures[] = {
	    "samples/ascend/cluster_16ranks_pp2", "samples/ascend/mindinsight_era",
	    "samples/ascend/mpa_fixtures",        "samples/ascend/pt_db_L2_rank0",
	    "samples/ascend/pt_text_L0_rank0",    "samples/ascend/pt_text_L1_rank0",
	    "samples/ascend/raw_msprof"};

	(void)state;
	assert_true(look_at("samples/kineto", false) > 20);
	assert_true(look_at("samples/nsys", false) > 1);
	assert_true(look_at("samples/ascend/bundles", false) > 2);
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		assert_int_equal(look_at(captures[i], true), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(findings_promise_no_more_than_the_step)};

	return cmocka_run_group_tests_name("gains", tests, NULL, NULL);
}
