#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "planner/methods/amp_places.h"

#define LAYERS 6
#define NODES 4
#define EFFORT ((int64_t)1 << 40)

struct small {
	struct amp_problem p;
	double between[64], inside[64], seconds[LAYERS];
	struct amp_layer layer[LAYERS];
};

static void seconds_of(const void *self, int64_t tp, int64_t micro_batch, double *out)
{
	const struct small *x = self;

	for (int64_t l = 0; l < x->p.layers; l++)
		out[l] = (double)micro_batch * x->seconds[l] / (double)tp;
}

/* One byte a layer. */
static double bytes_of(const void *self, int64_t stage, int64_t first, int64_t end)
{
	(void)self;
	(void)stage;
	return (double)(end - first);
}

static double pick(uint64_t *seed, int of)
{
	return (double)(1 + sb_random(seed) % (uint64_t)of);
}

static void draw(uint64_t *seed, struct small *x)
{
	*x = (struct small){.p = {.nodes = 1 + (int64_t)(sb_random(seed) % NODES),
	                          .devices_per_node = 1 << sb_random(seed) % 3,
	                          .between = x->between,
	                          .inside = x->inside,
	                          .layers = LAYERS,
	                          .layer = x->layer,
	                          .sequences = 12,
	                          .seconds = seconds_of,
	                          .self = x}};
	for (int i = 0; i < NODES; i++) {
		x->between[i] = pick(seed, 3);
		x->inside[i] = 2 * pick(seed, 3);
	}
	for (int l = 0; l < LAYERS; l++) {
		x->seconds[l] = pick(seed, 5);
		x->layer[l] = (struct amp_layer){.parameters = pick(seed, 20), .sent = pick(seed, 4)};
	}
	if (sb_random(seed) % 3 == 0) {
		x->p.bytes = bytes_of;
		x->p.capacity = 2;
	}
}

/* AMP's cost by its definition: order[place] is the node of so many devices. INFINITY: does not fit. */
static double cost_by_hand(const struct small *x, const struct amp_candidate *c, const int *order,
                           bool inside, const int64_t *stages)
{
	double all = 0, slowest = 0, sends = 0, reduce = 0;
	int64_t first = 0;

	for (int64_t j = 0; j < c->pp; first += stages[j++]) {
		double time = 0, parameters = 0, ring = 0, send = 0;

		if (x->p.bytes && (double)stages[j] > x->p.capacity)
			return INFINITY;
		for (int64_t l = first; l < first + stages[j]; l++) {
			time += (double)c->micro_batch * x->seconds[l] / (double)c->tp;
			parameters += x->layer[l].parameters / (double)c->tp;
		}
		for (int64_t k = 0; k < c->dp; k++) {
			/* this replica's stage, its neighbour in the ring, and the stage behind */
			int64_t to[3][2] = {{k, j}, {(k + 1) % c->dp, j}, {k, j + 1}};
			int node[3];
			double link[3];

			for (int i = 0; i < 3; i++) {
				int64_t place =
				    inside ? to[i][1] + c->pp * to[i][0] : to[i][0] + c->dp * to[i][1];

				if (to[i][1] == c->pp)
					continue;
				node[i] = order[place * c->tp / x->p.devices_per_node];
				link[i] = node[i] == node[0] ? x->inside[node[i]]
				                             : fmin(x->between[node[i]], x->between[node[0]]);
			}
			ring = fmax(ring, 1 / link[1]);
			if (j + 1 < c->pp)
				send += (double)c->micro_batch * x->layer[first + stages[j] - 1].sent /
				        link[2] / (double)c->dp;
		}
		all += time;
		slowest = fmax(slowest, time);
		sends += send;
		reduce = fmax(reduce, parameters * 2 * (double)(c->dp - 1) / (double)c->dp * ring);
	}
	return (double)(c->micro_batches - 1) * slowest + all + sends + reduce;
}

/* The least over all cuts from stage j on. */
static double least_cut(const struct small *x, const struct amp_candidate *c, const int *order, bool inside,
                        int64_t *stages, int64_t j, int64_t left)
{
	double least = INFINITY;

	if (j + 1 == c->pp) {
		stages[j] = left;
		return cost_by_hand(x, c, order, inside, stages);
	}
	for (stages[j] = 1; left - stages[j] >= c->pp - j - 1; stages[j]++)
		least = fmin(least, least_cut(x, c, order, inside, stages, j + 1, left - stages[j]));
	return least;
}

/* The least over all orders of the nodes from place i on, both orders of the ranks, and all cuts; for one
 * micro-batch of the even cut where that fits. */
static double least_of_all(const struct small *x, const struct amp_candidate *c, int *order, int i)
{
	double least = INFINITY;

	for (int k = i; k < x->p.nodes; k++) {
		int a = order[i];

		order[i] = order[k];
		order[k] = a;
		least = fmin(least, least_of_all(x, c, order, i + 1));
		order[k] = order[i];
		order[i] = a;
	}
	for (int inside = 0; i == x->p.nodes && inside < 2; inside++) {
		int64_t stages[LAYERS];
		double even = INFINITY;

		for (int64_t j = 0; j < c->pp; j++)
			stages[j] = LAYERS / c->pp + (j < LAYERS % c->pp);
		if (c->micro_batches == 1)
			even = cost_by_hand(x, c, order, inside, stages);
		least =
		    fmin(least, isfinite(even) ? even : least_cut(x, c, order, inside, stages, 0, LAYERS));
	}
	return least;
}

static struct amp_places places; /* too large for a stack */

static void test_against_all_placements(void **state)
{
	static struct amp_candidate all[AMP_CANDIDATES_MAX];
	uint64_t seed = 7;
	int better = 0, compared = 0;

	(void)state;
	for (int round = 0; round < 60; round++) {
		static struct small x;
		int64_t count;

		draw(&seed, &x);
		count = amp_candidates(&x.p, all);
		for (int64_t i = 0; i < count; i++) {
			int order[NODES] = {0, 1, 2, 3}, place;
			int64_t stages[LAYERS], effort = EFFORT;
			double least = least_of_all(&x, &all[i], order, 0);
			struct amp_cost cost, usual, again;
			AMP_WIRES_AUTO w = {0};

			assert_int_equal(amp_places_of(&x.p, &all[i], true, &places), SB_OK);
			assert_true(places.all);
			assert_int_equal(
			    amp_place_cut(&x.p, &all[i], &places, INFINITY, &effort, stages, &cost, &place),
			    SB_OK);
			if (isinf(least)) {
				assert_true(isinf(cost.seconds) && isinf(cost.lower_bound));
				amp_places_free(&places);
				continue;
			}
			assert_true(fabs(cost.seconds - least) <= 1e-9 * least);
			assert_true(cost.lower_bound <= cost.seconds &&
			            cost.lower_bound >= least * (1 - 1e-9));
			assert_int_equal(
			    amp_cost_of(&x.p, &all[i], &places.place[place].wires, stages, &again), SB_OK);
			assert_true(again.seconds == cost.seconds);
			/* more than enough finds it too; less, nothing that is below it */
			assert_int_equal(amp_place_cut(&x.p, &all[i], &places, least * 1.001, &effort, stages,
			                               &again, &place),
			                 SB_OK);
			assert_true(again.seconds == cost.seconds);
			assert_int_equal(
			    amp_place_cut(&x.p, &all[i], &places, least / 2, &effort, stages, &again, &place),
			    SB_OK);
			assert_true(again.seconds >= cost.seconds && again.lower_bound <= cost.seconds);
			amp_places_free(&places);
			assert_int_equal(amp_wires_of(&x.p, &all[i], NULL, &w), SB_OK);
			assert_int_equal(amp_cut(&x.p, &all[i], &w, &effort, stages, &usual), SB_OK);
			assert_true(cost.seconds <= usual.seconds);
			better += cost.seconds < usual.seconds * (1 - 1e-9);
			compared++;
		}
	}
	assert_true(compared > 300 && better > 30); /* or nothing is tested */
}

/* By hand: three nodes of one device, the second with a slow link, a pipeline of three. In their order both
 * cuts are slow, 1 + 1; with the slow node at an end only one is, 1 + 1/10. */
static void test_slow_node_at_an_end(void **state)
{
	static struct small x;
	struct amp_candidate c = {1, 1, 3, 1, 4};
	int64_t stages[LAYERS], effort = EFFORT;
	struct amp_cost cost;
	int place;

	(void)state;
	x = (struct small){.p = {.nodes = 3,
	                         .devices_per_node = 1,
	                         .between = x.between,
	                         .inside = x.inside,
	                         .layers = 3,
	                         .layer = x.layer,
	                         .sequences = 4,
	                         .seconds = seconds_of,
	                         .self = &x},
	                   .between = {10, 1, 10},
	                   .inside = {1, 1, 1},
	                   .seconds = {1, 1, 1},
	                   .layer = {{.sent = 1}, {.sent = 1}, {.sent = 1}}};
	assert_int_equal(amp_places_of(&x.p, &c, false, &places), SB_OK);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &cost, &place), SB_OK);
	assert_true(fabs(cost.sends - 2) < 1e-12 && fabs(cost.seconds - 8) < 1e-12);
	amp_places_free(&places);
	assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &cost, &place), SB_OK);
	assert_true(fabs(cost.sends - 1.1) < 1e-12 && fabs(cost.seconds - 7.1) < 1e-12);
	assert_true(places.place[place].node[0] == 1 || places.place[place].node[2] == 1);
	amp_places_free(&places);
}

/* By hand: equal nodes of two devices, their links four times as quick inside; two replicas of two stages of
 * one layer each of one parameter that sends eight elements. Data inside: the ring takes 1 x 1/4, the cut 8.
 * Pipelines inside: the ring 1, the cut 8/4. */
static void test_what_lies_inside(void **state)
{
	static struct small x;
	struct amp_candidate c = {1, 2, 2, 1, 2};
	int64_t stages[LAYERS], effort = EFFORT;
	struct amp_cost cost;
	int place;

	(void)state;
	x = (struct small){.p = {.nodes = 2,
	                         .devices_per_node = 2,
	                         .between = x.between,
	                         .inside = x.inside,
	                         .layers = 2,
	                         .layer = x.layer,
	                         .sequences = 4,
	                         .seconds = seconds_of,
	                         .self = &x},
	                   .between = {1, 1},
	                   .inside = {4, 4},
	                   .seconds = {1, 1},
	                   .layer = {{.parameters = 1, .sent = 8}, {.parameters = 1, .sent = 8}}};
	assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
	assert_int_equal(places.count, 2);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &cost, &place), SB_OK);
	assert_true(places.place[place].at.pipelines_inside);
	assert_true(fabs(cost.sends - 2) < 1e-12 && fabs(cost.all_reduce - 1) < 1e-12);
	amp_places_free(&places);
	x.layer[0].sent = x.layer[1].sent = 0.5; /* 1/4 + 1/2 against 1 + 1/8 */
	assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &cost, &place), SB_OK);
	assert_false(places.place[place].at.pipelines_inside);
	assert_true(fabs(cost.sends - 0.5) < 1e-12 && fabs(cost.all_reduce - 0.25) < 1e-12);
	amp_places_free(&places);
}

/* 24 nodes, every other one slow: too many orders to try all. Four replicas of six stages, one micro-batch.
 * By hand: a replica with n slow nodes has n slow cuts at least, or 5 when all six are slow. So two of slow
 * nodes alone are best: 2 x 5 slow cuts and 2 x 5 quick ones, on the mean of four replicas (10 + 10 / 10)
 * / 4. */
static void test_too_many_orders(void **state)
{
	static struct small x;
	struct amp_candidate c = {1, 4, 6, 1, 1};
	int64_t stages[LAYERS], effort = EFFORT;
	struct amp_cost cost, again;
	int place, same;

	(void)state;
	x = (struct small){.p = {.nodes = 24,
	                         .devices_per_node = 1,
	                         .between = x.between,
	                         .inside = x.inside,
	                         .layers = LAYERS,
	                         .layer = x.layer,
	                         .sequences = 4,
	                         .seconds = seconds_of,
	                         .self = &x}};
	for (int l = 0; l < LAYERS; l++) {
		x.seconds[l] = 1;
		x.layer[l] = (struct amp_layer){.parameters = 2, .sent = 1};
	}
	for (int i = 0; i < 24; i++) {
		x.between[i] = i % 2 ? 1 : 10;
		x.inside[i] = 1;
	}
	assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
	assert_false(places.all);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &cost, &place), SB_OK);
	assert_true(fabs(cost.sends - 2.75) < 1e-9);
	assert_true(cost.lower_bound <= cost.seconds);
	amp_places_free(&places);
	assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
	assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &again, &same), SB_OK);
	assert_true(same == place && again.seconds == cost.seconds);
	amp_places_free(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_all_placements), cmocka_unit_test(test_slow_node_at_an_end),
	    cmocka_unit_test(test_what_lies_inside), cmocka_unit_test(test_too_many_orders)};

	return cmocka_run_group_tests_name("AMP's placement", tests, NULL, NULL);
}
