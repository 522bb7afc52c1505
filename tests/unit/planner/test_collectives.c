#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "planner/cost/collectives.h"
#include "planner/presets/presets.h"

static struct network two_levels(double inner, double outer)
{
	return (struct network){.levels = 2, .domain = {8, INT64_MAX}, .bandwidth = {inner, outer}};
}

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("got %.9g, want %.9g", got, want);
}

/* cost-model section 7: n 64, r 8, 1e9 bytes, 230 and 22 GB/s: flat ring 11.19 ms; r = 1 over 8 nodes 79.5.
 */
static void test_ring_bandwidth_grows_with_ranks_inside(void **state)
{
	struct network n = two_levels(230e9, 22e9);
	struct group wide = {64, {8, 64}, 0, 0}, thin = {8, {1, 8}, 0, 0};
	struct exchange x;
	double phases = 0;

	(void)state;
	near(ring_bandwidth(&n, &wide), 176e9, 1e-12);
	near(ring_bandwidth(&n, &thin), 22e9, 1e-12);
	near(all_reduce_seconds(&n, &wide, 1e9), 2 * 63 / 64.0 * 1e9 / 176e9, 1e-9);
	near(all_reduce_seconds(&n, &wide, 1e9), 11.19e-3, 1e-3);
	near(all_reduce_seconds(&n, &thin, 1e9), 79.5e-3, 1e-3);
	x = exchange_of(&n, &wide);
	assert_int_equal(x.levels, 2); /* hierarchical, phase by phase: 17.55 ms */
	for (int l = 0; l < x.levels; l++)
		phases += 2 * x.level[l].share * 1e9 / x.level[l].bandwidth;
	near(phases, 17.55e-3, 1e-3);
}

/* By hand: four of eight ranks of a node drive four adapters, or two when half of that is lost to groups
 * beside them; one drives its own, and all eight have nobody beside them. Starting is counted once for a
 * whole reduction. */
static void test_groups_beside_and_starts(void **state)
{
	struct network n = two_levels(230e9, 10e9);
	struct group one = {8, {1, 8}, 0, 0}, some = {32, {4, 32}, 0, 0}, all = {64, {8, 64}, 0, 0};

	(void)state;
	near(ring_bandwidth(&n, &some), 40e9, 1e-12);
	n.conflict = 0.5;
	near(ring_bandwidth(&n, &one), 10e9, 1e-12);
	near(ring_bandwidth(&n, &some), 20e9, 1e-12);
	near(ring_bandwidth(&n, &all), 80e9, 1e-12);
	n.start = 50e-6;
	/* Between the nodes first, then inside: 43.75 ms and 3.26 ms, less than the ring's 48.44. */
	near(all_gather_seconds(&n, &some, 1e9), 25e-6 + 7 / 8.0 * 1e9 / 20e9 + 3 / 4.0 * 1e9 / 230e9, 1e-12);
	near(all_reduce_seconds(&n, &some, 1e9), 2 * all_gather_seconds(&n, &some, 1e9), 1e-12);
}

/* 225 GB/s are what all eight devices of a node reach; a byte takes 1.2 ps through a memory. By hand, with
 * 2 (r - 1) / r of a byte on the link and one through the memory: two ranks 1 / (1 / 225 + 0.0006 (2 - 8/7))
 * = 1 / 0.00495873 = 201.665 GB/s, four 1 / (1 / 225 + 0.0006 (4/3 - 8/7)) = 219.359. nccl-tests: 197 and
 * 221. */
static void test_few_ranks_of_a_node(void **state)
{
	struct network n = two_levels(225e9, 10e9);
	struct group pair = {2, {2, 2}, 0, 0}, four = {4, {4, 4}, 0, 0}, all = {8, {8, 8}, 0, 0};

	(void)state;
	n.node_devices = 8;
	n.copy = 1.2e-12;
	near(ring_bandwidth(&n, &pair), 201.665e9, 1e-5);
	near(ring_bandwidth(&n, &four), 219.359e9, 1e-5);
	near(ring_bandwidth(&n, &all), 225e9, 1e-12);
	near(all_reduce_seconds(&n, &pair, 1e9), 1 / 201.665, 1e-5);
	/* So between nodes: 1 / (1 / 10 + 0.0006 (4/3 - 8/7)). */
	near(ring_bandwidth(&n, &(struct group){4, {1, 4}, 0, 0}), 9.98858e9, 1e-5);
}

/* Section 14.5: all-to-all over 16 ranks, 8 inside, 64 MB, 22 GB/s: 1.4545 ms between the nodes; 0.1217 ms
 * inside, which links between that take no time show. */
static void test_all_to_all(void **state)
{
	struct network n = two_levels(230e9, 22e9);
	struct group g = {16, {8, 16}, 0, 0}, inner = {8, {8, 8}, 0, 0};

	(void)state;
	near(all_to_all_seconds(&n, &g, 64e6), 1.4545e-3, 1e-4);
	near(all_to_all_seconds(&n, &inner, 64e6), 7 / 8.0 * 64e6 / 230e9, 1e-9);
	n.bandwidth[1] = INFINITY;
	near(all_to_all_seconds(&n, &g, 64e6), 0.1217e-3, 1e-3);
}

static void test_a_group_of_one_costs_nothing(void **state)
{
	struct network n = {.levels = 2,
	                    .domain = {8, INT64_MAX},
	                    .bandwidth = {1e9, 1e8},
	                    .latency = {1e-6, 1e-5},
	                    .conflict = 0.5,
	                    .start = 1e-5};
	struct group g = {1, {1, 1}, 0, 0};

	(void)state;
	assert_true(all_reduce_seconds(&n, &g, 1e9) == 0);
	assert_true(all_gather_seconds(&n, &g, 1e9) == 0);
	assert_true(all_to_all_seconds(&n, &g, 1e9) == 0);
	assert_true(send_seconds(&n, &g, 1e9) == 0);
}

static void test_reduce_is_scatter_and_gather(void **state)
{
	struct network n = two_levels(100e9, 10e9);
	struct group g = {32, {4, 32}, 0, 0};

	(void)state;
	near(all_reduce_seconds(&n, &g, 1e9), 2 * all_gather_seconds(&n, &g, 1e9), 1e-12);
}

static void test_faster_links_never_slow(void **state)
{
	(void)state;
	for (int64_t inside = 1; inside <= 8; inside *= 2) {
		struct network n = two_levels(100e9, 10e9), fast = n;
		struct group g = {16, {inside, 16}, 0, 0};

		n.latency[0] = fast.latency[0] = 4e-6;
		n.latency[1] = fast.latency[1] = 1e-5;
		fast.bandwidth[0] *= 2;
		fast.bandwidth[1] *= 2;
		for (int power = 0; power < 11; power++) {
			double bytes = pow(10, power);

			assert_true(all_reduce_seconds(&fast, &g, bytes) <=
			            all_reduce_seconds(&n, &g, bytes));
			assert_true(all_to_all_seconds(&fast, &g, bytes) <=
			            all_to_all_seconds(&n, &g, bytes));
		}
	}
}

static void spread_is(const struct axis *axes, int count, int64_t devices, int64_t domain, struct spread want)
{
	struct spread got = group_spread(axes, count, devices, domain, NULL);

	assert_int_equal(got.domains, want.domains);
	assert_int_equal(got.least, want.least);
	assert_int_equal(got.most, want.most);
}

/* By hand, eight devices a node. */
static void test_spread(void **state)
{
	(void)state;
	/* tp 8 fills a node; dp outside it has one rank a node. */
	spread_is(&(struct axis){8, 1}, 1, 64, 8, (struct spread){1, 8, 8, 0});
	spread_is(&(struct axis){8, 8}, 1, 64, 8, (struct spread){8, 1, 1, 0});
	/* tp 2, dp 8: four replicas a node. */
	spread_is(&(struct axis){8, 2}, 1, 16, 8, (struct spread){2, 4, 4, 0});
	/* dp 3 at stride 4: ranks 0 4 8 and 1 5 9 ...: two in one node, one in the next. */
	spread_is(&(struct axis){3, 4}, 1, 24, 8, (struct spread){2, 1, 2, 0});
	/* A stride that does not divide the node: 0 3 6 9 over nodes of 8. */
	spread_is(&(struct axis){4, 3}, 1, 12, 8, (struct spread){2, 1, 3, 0});
	/* cp 2 next to tp 2, dp 4 beyond 2 stages: pairs in four nodes. */
	spread_is((struct axis[]){{2, 2}, {4, 8}}, 2, 32, 8, (struct spread){4, 2, 2, 0});
}

/* Rank by rank: the domains that one group touches, and the ranks in each. */
static struct spread counted(const struct axis *a, int64_t base, int64_t domain)
{
	int64_t inside[4096] = {0};
	struct spread s = {0, INT64_MAX, 0, 0};

	for (int64_t i = 0; i < a[0].size; i++) {
		for (int64_t k = 0; k < a[1].size; k++)
			inside[(base + i * a[0].stride + k * a[1].stride) / domain]++;
	}
	for (int64_t d = 0; d < 4096; d++) {
		if (inside[d] == 0)
			continue;
		s.domains++;
		s.least = inside[d] < s.least ? inside[d] : s.least;
		s.most = inside[d] > s.most ? inside[d] : s.most;
	}
	return s;
}

/* Two axes with anything within, between and beyond them, in domains of any size. */
static void test_spread_equals_counting(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		int64_t inner = 1 + (int64_t)(sb_random(&seed) % 7),
		        between = 1 + (int64_t)(sb_random(&seed) % 5),
		        beyond = 1 + (int64_t)(sb_random(&seed) % 5),
		        domain = 2 + (int64_t)(sb_random(&seed) % 12);
		struct axis a[2] = {{1 + (int64_t)(sb_random(&seed) % (i % 10 ? 6 : 40)), inner},
		                    {1 + (int64_t)(sb_random(&seed) % (i % 10 ? 6 : 40)), 0}};
		int64_t devices;
		struct spread want = {0}, got;

		a[1].stride = a[0].size * inner * between;
		devices = a[1].size * a[1].stride * beyond;
		if (devices > 4096)
			continue;
		for (int64_t base = 0; base < devices; base++) {
			struct spread s;

			if (base / a[0].stride % a[0].size != 0 || base / a[1].stride % a[1].size != 0)
				continue;
			s = counted(a, base, domain);
			if (s.domains > want.domains || (s.domains == want.domains && s.least < want.least))
				want = s;
		}
		got = group_spread(a, 2, devices, domain, NULL);
		if (got.domains != want.domains || got.least != want.least)
			fail_msg(
			    "%lld by %lld, %lld by %lld in %lld: %lld domains from %lld, not %lld from %lld",
			    (long long)a[0].size, (long long)a[0].stride, (long long)a[1].size,
			    (long long)a[1].stride, (long long)domain, (long long)got.domains,
			    (long long)got.least, (long long)want.domains, (long long)want.least);
	}
}

static void test_equal_levels_are_one(void **state)
{
	struct cluster c = {.nodes = 4, .devices_per_node = 8};
	struct constants k = {.node_share = 1, .network_share = 1};
	struct network n;

	(void)state;
	c.links[LINK_NODE] = (struct cluster_link){50e9, 1e-6, 0};
	c.links[LINK_CLUSTER] = (struct cluster_link){50e9, 1e-6, 0};
	n = network_of(&c, &k);
	assert_int_equal(n.levels, 1);
	c.links[LINK_CLUSTER].bytes_per_second = 25e9;
	n = network_of(&c, &k);
	assert_int_equal(n.levels, 2);
}

/* Eight devices, each with a link of 28 GB/s to each other one (cost-model section 7): n of them have n - 1
 * of the links, and a pair has one. By hand, 1e9 bytes: all eight gather in 7/8 / 196 s, four in 3/4 / 84,
 * two in 1/2 / 28; four of a node send 3/4 of what they exchange on three links; a neighbour gets all on one.
 */
static void test_full_mesh(void **state)
{
	struct network n = {.levels = 1, .domain = {INT64_MAX}, .bandwidth = {196e9}, .mesh_links = 7};
	struct group all = {8, {8}, 0, 0}, four = {4, {4}, 0, 0}, pair = {2, {2}, 0, 0};

	(void)state;
	near(all_gather_seconds(&n, &all, 1e9), 7 / 8.0 / 196, 1e-12);
	near(all_gather_seconds(&n, &four, 1e9), 3 / 4.0 / 84, 1e-12);
	near(all_gather_seconds(&n, &pair, 1e9), 1 / 2.0 / 28, 1e-12);
	near(ring_bandwidth(&n, &four), 84e9, 1e-12);
	near(all_to_all_seconds(&n, &four, 1e9), 3 / 4.0 / 84, 1e-12);
	near(send_seconds(&n, &all, 1e9), 1 / 28.0, 1e-12);
	/* Two nodes, 25 GB/s a device between: two ranks in each have one link inside and two adapters. */
	n.levels = 2;
	n.domain[0] = 8;
	n.domain[1] = INT64_MAX;
	n.bandwidth[1] = 25e9;
	near(ring_bandwidth(&n, &(struct group){4, {2, 4}, 0, 0}), 28e9, 1e-12);
	near(ring_bandwidth(&n, &(struct group){16, {8, 16}, 0, 0}), 196e9, 1e-12);
	assert_true(network_inner_faster(&n, 1));
	n.bandwidth[1] = 30e9; /* more than the one link of a pair inside */
	assert_false(network_inner_faster(&n, 1));
	n.mesh_links = 0;
	assert_true(network_inner_faster(&n, 1));
}

/* A mesh is no flat network, however fast the next level is; and it has a link to every device of the node.
 */
static void test_a_mesh_is_checked(void **state)
{
	struct cluster_preset p;
	struct sb_error err = {0};
	struct network n;
	const struct constants k = {.node_share = 1, .network_share = 1};

	(void)state;
	assert_true(cluster_preset("atlas-910b", &p));
	assert_int_equal(p.cluster.links[LINK_NODE].mesh_links, 7);
	assert_int_equal(cluster_check(&p.cluster, &err), SB_OK);
	p.cluster.nodes = 2;
	p.cluster.links[LINK_CLUSTER] = p.cluster.links[LINK_NODE];
	p.cluster.links[LINK_CLUSTER].mesh_links = 0;
	n = network_of(&p.cluster, &k);
	assert_int_equal(n.levels, 2);
	p.cluster.links[LINK_CLUSTER].mesh_links = 7;
	assert_int_equal(cluster_check(&p.cluster, &err), SB_EIMPOSSIBLE);
	p.cluster.links[LINK_CLUSTER].mesh_links = 0;
	p.cluster.links[LINK_NODE].mesh_links = 6;
	assert_int_equal(cluster_check(&p.cluster, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "links");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ring_bandwidth_grows_with_ranks_inside),
	    cmocka_unit_test(test_groups_beside_and_starts),
	    cmocka_unit_test(test_few_ranks_of_a_node),
	    cmocka_unit_test(test_all_to_all),
	    cmocka_unit_test(test_a_group_of_one_costs_nothing),
	    cmocka_unit_test(test_reduce_is_scatter_and_gather),
	    cmocka_unit_test(test_faster_links_never_slow),
	    cmocka_unit_test(test_spread),
	    cmocka_unit_test(test_spread_equals_counting),
	    cmocka_unit_test(test_equal_levels_are_one),
	    cmocka_unit_test(test_full_mesh),
	    cmocka_unit_test(test_a_mesh_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
