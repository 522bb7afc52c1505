/* The critical path of the real captures of $SIGNALBOX_SHARED. Expected values: samples/ascend/expected.md,
 * section 4, worked out there by a script of its own from kernel_details.csv. What that table calls a gap is
 * told apart here where the timeline says that a launch came late: then it is the host's. */
#include "tests/field/bundle.h"

#include "profiler/critical_path.h"

static void find(const struct profile *p, struct critical_paths *out)
{
	COLLECTIVES_AUTO c = {0};

	assert_int_equal(collectives_match(p, &c), SB_OK);
	assert_int_equal(critical_paths_find(p, &c, out, NULL), SB_OK);
}

static void check_sum(const struct critical_path *path)
{
	int64_t sum = 0;

	for (int i = 0; i < PATH_PARTS; i++)
		sum += path->part_ns[i];
	assert_int_equal(sum, path->span_ns);
}

static size_t works_on(const struct critical_path *path)
{
	size_t n = 0;

	for (size_t i = 0; i < path->count; i++)
		n += path->pieces[i].part == PATH_COMPUTE || path->pieces[i].part == PATH_COMMUNICATION;
	return n;
}

static void ascend_captures_have_the_stated_path(void **state)
{
	static const struct {
		const char *bundle, *folder;
		struct {
			int64_t communication, compute, gaps, span;
		} ranks[2];
		uint32_t last_to_come;
	} CASES[] = {{"samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz",
	              "",
	              {{105991876, 4841806, 25747327, 136581009}, {100375284, 4858725, 26678606, 131912615}},
	              1},
	             {"samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz",
	              "level2/",
	              {{99973276, 4854125, 25035473, 129862874}, {97455326, 4855886, 26444561, 128755773}},
	              0}};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};
		CRITICAL_PATHS_AUTO paths = {0};

		read_members(CASES[i].bundle, CASES[i].folder, 11, &p);
		find(&p, &paths);
		assert_int_equal(paths.count, 2);
		for (size_t k = 0; k < paths.count; k++) {
			const struct critical_path *path = &paths.items[k];

			assert_int_equal(path->works, 191);
			assert_int_equal(works_on(path), 91);
			assert_int_equal(path->part_ns[PATH_COMMUNICATION], CASES[i].ranks[k].communication);
			assert_int_equal(path->part_ns[PATH_COMPUTE], CASES[i].ranks[k].compute);
			assert_int_equal(path->part_ns[PATH_HOST] + path->part_ns[PATH_GAP],
			                 CASES[i].ranks[k].gaps);
			assert_true(path->part_ns[PATH_HOST] > 0);
			assert_int_equal(path->part_ns[PATH_COPY], 0);
			assert_int_equal(path->span_ns, CASES[i].ranks[k].span);
			check_sum(path);
		}
		check_sum(&paths.across);
		/* section 3: the rank that waits least is rank 1 in the one capture, rank 0 in the other */
		assert_int_equal(paths.across.capture, 0);
		assert_int_equal(paths.across.pieces[0].capture, CASES[i].last_to_come);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ascend_captures_have_the_stated_path)};

	return cmocka_run_group_tests_name("critical path", tests, NULL, NULL);
}
