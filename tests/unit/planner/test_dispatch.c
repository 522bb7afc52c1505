/* All-to-all of tokens to experts that lie in few groups. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "planner/cost/collectives.h"

static struct network two_levels(double inner, double outer)
{
	return (struct network){.levels = 2, .domain = {8, INT64_MAX}, .bandwidth = {inner, outer}};
}

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("got %.9g, want %.9g", got, want);
}

/* Section 7's dispatch to M nodes: 64 ranks, 8 a node; tokens of 64 MB in all go to 8 experts in 4 of 8
 * groups, a node each. Between the nodes min(8, 4) / 8 of 64 MB (1 - 1/8) = 28 MB, 1.27273 ms at 22 GB/s;
 * inside 7/8 of 64 MB, 0.243478 ms at 230 GB/s. Without a limit 56 MB go between. A hop of 1 us inside and
 * 10 us between: 7 and 7 of them. On 16 nodes a group lies on two: 8 of 8 copies go, as by themselves. */
static void test_tokens_go_once_to_each_node(void **state)
{
	const struct routing limited = {8, 8, 4}, free = {8, 8, 8}, one = {8, 8, 1};
	struct network n = two_levels(230e9, 22e9);
	struct group g = {.ranks = 64, .inside = {8, 64}}, inner = {.ranks = 8, .inside = {8, 8}},
	             wide = {.ranks = 128, .inside = {8, 128}};

	(void)state;
	near(dispatch_seconds(&n, &g, &limited, 64e6), 28e6 / 22e9, 1e-12);
	near(dispatch_seconds(&n, &g, &free, 64e6), 56e6 / 22e9, 1e-12);
	near(dispatch_seconds(&n, &g, &(struct routing){8, 0, 0}, 64e6), 56e6 / 22e9, 1e-12);
	near(dispatch_seconds(&n, &wide, &limited, 64e6), 60e6 / 22e9, 1e-12);
	/* To one node: 7 MB between, and the 56 MB inside take as long. */
	near(dispatch_seconds(&n, &g, &one, 64e6), 7e6 / 22e9, 1e-12);
	n.bandwidth[1] = 88e9;
	near(dispatch_seconds(&n, &g, &one, 64e6), 56e6 / 230e9, 1e-12);
	/* In one node nothing changes. */
	near(dispatch_seconds(&n, &inner, &one, 64e6), 56e6 / 230e9, 1e-12);
	n.bandwidth[1] = 22e9;
	n.latency[0] = 1e-6;
	n.latency[1] = 10e-6;
	near(dispatch_seconds(&n, &g, &limited, 64e6), 28e6 / 22e9 + 77e-6, 1e-12);
}

/* Three levels: 8 ranks a node, 4 nodes a supernode, 4 supernodes; 8 experts in 2 of 16 groups, one on each
 * of 16 nodes. Between supernodes min(8, 4, 2) / 8 (1 - 1/4) of 64 MB = 12 MB, inside them 2/8 (1 - 1/4) of
 * it, inside nodes 7/8. */
static void test_tokens_go_on_level_by_level(void **state)
{
	const struct routing two = {8, 16, 2};
	struct network n = {.levels = 3, .domain = {8, 32, INT64_MAX}, .bandwidth = {1e15, 1e15, 1e9}};
	struct group g = {.ranks = 128, .inside = {8, 32, 128}};

	(void)state;
	near(dispatch_seconds(&n, &g, &two, 64e6), 12e6 / 1e9, 1e-12);
	n.bandwidth[1] = 1e8;
	near(dispatch_seconds(&n, &g, &two, 64e6), 12e6 / 1e8, 1e-12);
	n.bandwidth[0] = 1e8;
	n.bandwidth[2] = 1e6; /* 48 MB go between supernodes where each copy does by itself: 48 s, not 12 */
	near(dispatch_seconds(&n, &g, &two, 64e6), 12e6 / 1e6, 1e-12);
}

/* What the search takes for the nearest group's time is never more than that of one further apart. Links
 * further out are at most half as fast, as the search asks for. */
static void test_nearest_dispatch_is_a_bound(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int64_t ranks = 2 + (int64_t)(sb_random(&seed) % 47),
		        top_k = 1 + (int64_t)(sb_random(&seed) % 8),
		        groups = 2 + (int64_t)(sb_random(&seed) % 15);
		const struct routing r = {top_k, groups, 1 + (int64_t)(sb_random(&seed) % (uint64_t)groups)};
		struct network n = {.levels = 3, .domain = {8, 24, INT64_MAX}}, bounds;
		struct group nearest = {.ranks = ranks, .inside = {ranks, ranks, ranks}}, far;
		double rate = 1e9;

		for (int l = 2; l >= 0; l--) {
			n.bandwidth[l] = rate;
			rate *= 2 + (double)(sb_random(&seed) % 1000) / 100;
		}
		bounds = n;
		bounds.bounds = true;
		for (int l = 0; l < 2; l++)
			nearest.inside[l] = ranks / ((ranks + n.domain[l] - 1) / n.domain[l]);
		/* As the search has them: in one domain, or no more than a half in the emptiest. */
		far = nearest;
		for (int l = 0; l < 2; l++) {
			int64_t most = far.inside[l] < ranks ? far.inside[l] : ranks;

			if (sb_random(&seed) % 2)
				most = most < ranks / 2 ? most : ranks / 2;
			far.inside[l] =
			    most == ranks ? ranks : 1 + (int64_t)(sb_random(&seed) % (uint64_t)most);
			if (l > 0 && far.inside[l] < far.inside[l - 1])
				far.inside[l] = far.inside[l - 1];
		}
		if (dispatch_seconds(&bounds, &nearest, &r, 1e6) >
		    dispatch_seconds(&n, &far, &r, 1e6) * (1 + 1e-12))
			fail_msg("%d: %lld ranks, %lld and %lld inside: %.9g, bound %.9g", i,
			         (long long)ranks, (long long)far.inside[0], (long long)far.inside[1],
			         dispatch_seconds(&n, &far, &r, 1e6),
			         dispatch_seconds(&bounds, &nearest, &r, 1e6));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tokens_go_once_to_each_node),
	    cmocka_unit_test(test_tokens_go_on_level_by_level),
	    cmocka_unit_test(test_nearest_dispatch_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
