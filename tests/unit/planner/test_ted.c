#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "planner/methods/ted.h"
#include "planner/strategy/cost.h"

static double states(const struct ted_memory *m)
{
	return m->weights_gradients + m->optimizer;
}

/* systems.md 3.5, check: NP = 6.7e9, 16 experts, 40.2e9 parameters in all; GB a device. */
static void test_bytes(void **state)
{
	static const struct {
		int64_t tensor, devices;
		double gigabytes;
	} rows[] = {{1, 32, 41.875}, {1, 128, 30.569}, {2, 128, 17.169}, {4, 128, 10.469}, {4, 32, 21.775}};
	const double base = 6.7e9, experts = 16;
	const struct ted_parameters n = {2 * base / 3, experts * base / 3};
	const struct ted_switches w = {true, true, TED_TILE};

	(void)state;
	assert_true(fabs(n.dense + n.expert - 40.2e9) < 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ted_layout l = {rows[i].devices, rows[i].tensor, 16};
		struct ted_memory m = ted_bytes(&n, &l, &w);
		double t = (double)l.tensor, g = (double)l.devices;

		assert_true(fabs(states(&m) / 1e9 - rows[i].gigabytes) <= 5.01e-4);
		assert_true(fabs(states(&m) - 4 * base * (1 / t + (experts + 2) / g)) < 1);
		/* on 128 devices of 16 GB only four tensor ranks fit */
		if (l.devices == 128)
			assert_true((states(&m) <= 16e9) == (l.tensor == 4));
	}
}

/* capabilities.md 15: Gt 4, Ge 16 on 128: 6.7 and 3.77 GB; Gt 1: 26.8 and 3.77 GB. The 32-bit copy: 4 bytes
 * of 40.2e9 / 128 parameters, or of a tile of 1.8e6. */
static void test_parts(void **state)
{
	const struct ted_parameters n = {2 * 6.7e9 / 3, 16 * 6.7e9 / 3};
	struct ted_switches w = {true, true, TED_TILE};
	struct ted_memory m = ted_bytes(&n, &(struct ted_layout){128, 4, 16}, &w);

	(void)state;
	assert_true(fabs(m.weights_gradients - 6.7e9) < 1 && fabs(m.optimizer - 3.76875e9) < 1);
	assert_true(m.temporary == 7.2e6);
	w.tile_parameters = 0;
	m = ted_bytes(&n, &(struct ted_layout){128, 1, 16}, &w);
	assert_true(fabs(m.weights_gradients - 26.8e9) < 1 && fabs(m.optimizer - 3.76875e9) < 1);
	assert_true(fabs(m.temporary - 4 * 40.2e9 / 128) < 1);
}

static struct search_request request(int64_t nodes)
{
	struct search_request r = {.gradient_bytes = 4, .alternatives = 5, .attention = ATTENTION_UNFUSED};
	struct cost_problem *p = &r.problem;

	p->model = (struct model){.layers = 8,
	                          .hidden = 1024,
	                          .heads = 16,
	                          .ffn_hidden = 4096,
	                          .vocab = 32000,
	                          .seq_len = 1024,
	                          .has_moe = true,
	                          .moe = {.experts = 8, .top_k = 1, .ffn_hidden = 4096, .every = 2}};
	model_defaults(&p->model);
	p->cluster =
	    (struct cluster){.nodes = nodes,
	                     .devices_per_node = 4,
	                     .device = {125e12, 900e9, 16000000000, FAMILY_VOLTA, false},
	                     .links = {[LINK_NODE] = {150e9, NAN, 0}, [LINK_CLUSTER] = {12.5e9, NAN, 0}},
	                     .compute_efficiency = NAN,
	                     .memory_efficiency = NAN,
	                     .link_efficiency = {NAN, NAN, NAN}};
	p->constants = constants_for(&p->cluster);
	p->network = network_of(&p->cluster, &p->constants);
	p->sequences = 64;
	p->memory_bytes = p->cluster.device.memory_bytes;
	return r;
}

static struct strategy layout(int64_t tp, int64_t ep, int64_t dp, enum recompute recompute)
{
	struct search_request r = request(4);
	struct strategy s = strategy_default(&r.problem.model, &r.problem.cluster);

	s.gradient_bytes = r.gradient_bytes;
	s.tp = s.etp = tp;
	s.ep = ep;
	s.dp = dp;
	s.zero = 1;
	s.sequence_parallel = tp > 1 && ep > 1;
	s.recompute = recompute;
	return s;
}

/* What keeping the collectives saves is one pass of them in three: with c a pass and rest what else there is,
 * rest + 3 c against rest + 2 c, and without recomputation the replay is gone too. Dropping duplicates
 * divides the bytes of the all-to-alls: less as soon as they cross nodes, where gathering inside the node is
 * cheap. */
static void test_switches(void **state)
{
	struct search_request r = request(4);
	const struct cost_problem *p = &r.problem;
	struct strategy full = layout(4, 4, 4, RECOMPUTE_FULL), none = layout(4, 4, 4, RECOMPUTE_NONE);
	struct strategy alone = layout(1, 4, 16, RECOMPUTE_NONE);
	struct ted_switches all = {true, true, 0}, repeats = {true, false, 0}, twice = {false, true, 0};

	(void)state;
	assert_true(ted_seconds(p, &full, &repeats) > ted_seconds(p, &full, &all));
	assert_true(ted_seconds(p, &none, &repeats) == ted_seconds(p, &none, &all));
	assert_true(ted_seconds(p, &full, &all) > ted_seconds(p, &none, &all));
	assert_true(ted_seconds(p, &none, &twice) > ted_seconds(p, &none, &all));
	assert_true(ted_seconds(p, &alone, &twice) == ted_seconds(p, &alone, &all));
}

/* The search against all layouts, one by one. */
static void test_search(void **state)
{
	struct search_request r = request(4);
	const struct cost_problem *p = &r.problem;
	struct ted_switches w = {true, true, TED_TILE};
	struct ted_result *x = malloc(sizeof(*x));
	double best = INFINITY;

	(void)state;
	assert_non_null(x);
	assert_int_equal(ted_search(&r, &w, x, NULL), SB_OK);
	for (int64_t tp = 1; tp <= 4; tp *= 2)
		for (int64_t ep = 1; ep <= 8; ep *= 2)
			for (int64_t micro = 1; micro <= 64; micro *= 2)
				for (int c = 0; c < 2; c++) {
					struct strategy s =
					    layout(tp, ep, 16 / tp, c ? RECOMPUTE_FULL : RECOMPUTE_NONE);

					s.micro_batch = micro;
					if (s.dp % ep == 0 && 64 % (s.dp * micro) == 0)
						best = fmin(best, ted_seconds(p, &s, &w));
				}
	assert_true(x->count > 1 && fabs(x->kept[0].seconds / best - 1) < 1e-12);
	for (int i = 1; i < x->count; i++)
		assert_true(x->kept[i].seconds >= x->kept[i - 1].seconds);
	for (int i = 0; i < x->count; i++) {
		const struct ted_choice *c = &x->kept[i];

		assert_true(states(&c->memory) + c->memory.temporary + c->activations <= 16e9);
		assert_true(c->strategy.pp == 1 && c->strategy.dp % c->strategy.ep == 0);
	}
	r.problem.memory_bytes = 1000000;
	assert_int_equal(ted_search(&r, &w, x, NULL), SB_OK);
	assert_true(x->count == 0 && x->over > 0 && x->least_memory > 1e6);
	r.only[ONLY_DP] = (struct allowed){1, {7}};
	assert_int_equal(ted_search(&r, &w, x, NULL), SB_EIMPOSSIBLE);
	free(x);
}

/* Over links so slow that a gradient takes longer than a step, one device is faster than all, and the search
 * must say so: it against all layouts on all numbers of replicas. */
static void test_fewer_replicas(void **state)
{
	struct search_request r = request(4);
	struct cost_problem *p = &r.problem;
	struct ted_switches w = {true, true, TED_TILE};
	struct ted_result *x = malloc(sizeof(*x));

	(void)state;
	assert_non_null(x);
	for (int slow = 0; slow < 4; slow++) {
		double best = INFINITY;

		for (int64_t tp = 1; tp <= 4; tp *= 2)
			for (int64_t ep = 1; ep <= 8; ep *= 2)
				for (int64_t dp = ep; dp <= 16 / tp; dp *= 2)
					for (int64_t micro = 1; micro <= 64 / dp; micro *= 2) {
						struct strategy s = layout(tp, ep, dp, RECOMPUTE_NONE);

						s.micro_batch = micro;
						s.zero = dp > 1;
						best = fmin(best, ted_seconds(p, &s, &w));
					}
		p->memory_bytes = (int64_t)1 << 50; /* all fit */
		assert_int_equal(ted_search(&r, &w, x, NULL), SB_OK);
		assert_true(fabs(x->kept[0].seconds / best - 1) < 1e-12);
		if (slow == 3)
			assert_true(x->kept[0].strategy.dp == 1);
		for (int l = 0; l < LINK_SCOPES; l++)
			p->cluster.links[l].bytes_per_second /= 100;
		p->network = network_of(&p->cluster, &p->constants);
	}
	free(x);
}

struct pair {
	double seconds, bytes;
};

static struct pair pair_of(const struct cost_problem *p, const struct strategy *s,
                           const struct ted_switches *w)
{
	struct ted_parameters n = ted_parameters_of(&p->model);
	struct ted_memory m = ted_bytes(&n, &(struct ted_layout){s->tp * s->dp, s->tp, s->ep}, w);
	struct memory_model model = memory_model_of(p, s);
	struct stage_run run = {.count = 1};

	for (int k = 0; k < LAYER_KINDS; k++)
		run.layers[k] = model_layers_of(&p->model, p->model.layers, (enum layer_kind)k);
	return (struct pair){
	    ted_seconds(p, s, w),
	    states(&m) + m.temporary +
	        stage_memory(p, &model, s, &run, strategy_micro_batches(s, p->sequences)).activations};
}

/* All layouts on all numbers of replicas, each way to recompute, that fit. */
static int all_pairs(const struct cost_problem *p, const struct ted_switches *w, struct pair *out)
{
	int count = 0;

	for (int64_t tp = 1; tp <= 4; tp *= 2)
		for (int64_t ep = 1; ep <= 8; ep *= 2)
			for (int64_t dp = ep; dp <= 16 / tp; dp *= 2)
				for (int64_t micro = 1; micro <= 64 / dp; micro *= 2)
					for (int c = 0; c < 2; c++) {
						struct strategy s =
						    layout(tp, ep, dp, c ? RECOMPUTE_FULL : RECOMPUTE_NONE);

						s.micro_batch = micro;
						s.zero = dp > 1;
						out[count] = pair_of(p, &s, w);
						count += out[count].bytes <= (double)p->memory_bytes;
					}
	return count;
}

static bool beaten(const struct pair *all, int count, struct pair one)
{
	for (int i = 0; i < count; i++)
		if (all[i].seconds <= one.seconds && all[i].bytes <= one.bytes &&
		    (all[i].seconds < one.seconds || all[i].bytes < one.bytes))
			return true;
	return false;
}

/* The frontier has each pair of the enumeration that no other one beats, within a quarter of the best, and
 * nothing else; over links so slow, too, that fewer replicas are faster. */
static void test_frontier(void **state)
{
	static struct pair all[2000];
	struct search_request r = request(4);
	struct cost_problem *p = &r.problem;
	struct ted_switches w = {true, true, TED_TILE};
	struct ted_result *x = malloc(sizeof(*x));
	int points = 0;

	(void)state;
	assert_non_null(x);
	r.frontier = SEARCH_FRONTIER_MOST;
	for (int slow = 0; slow < 3; slow++) {
		int count = all_pairs(p, &w, all), wanted = 0;
		double best = INFINITY;

		for (int i = 0; i < count; i++)
			best = fmin(best, all[i].seconds);
		assert_int_equal(ted_search(&r, &w, x, NULL), SB_OK);
		for (int i = 0; i < x->front.count; i++) {
			const struct plan_point *f = &x->front.point[i];
			struct pair one = pair_of(p, &x->on_front[f->slot].strategy, &w);

			assert_true(one.seconds == f->seconds && one.bytes == f->bytes);
			assert_false(beaten(all, count, one));
			assert_true(i == 0 || (f->seconds > f[-1].seconds && f->bytes < f[-1].bytes));
		}
		for (int i = 0; i < count; i++) {
			bool same = all[i].seconds > 1.25 * best || beaten(all, count, all[i]);

			wanted += !same;
			for (int k = 0; k < x->front.count; k++)
				same = same || (fabs(x->front.point[k].seconds / all[i].seconds - 1) < 1e-9 &&
				                fabs(x->front.point[k].bytes / all[i].bytes - 1) < 1e-9);
			assert_true(same);
		}
		assert_true(wanted >= x->front.count && x->front.count > 0);
		points += x->front.count;
		for (int l = 0; l < LINK_SCOPES; l++)
			p->cluster.links[l].bytes_per_second /= 100;
		p->network = network_of(&p->cluster, &p->constants);
	}
	assert_true(points > 6); /* or there is nothing to compare */
	r.frontier = 2;
	assert_int_equal(ted_search(&r, &w, x, NULL), SB_OK);
	assert_true(x->front.count <= 2 && x->front.point[0].seconds == x->kept[0].seconds);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bytes),          cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_switches),       cmocka_unit_test(test_search),
	    cmocka_unit_test(test_fewer_replicas), cmocka_unit_test(test_frontier)};

	return cmocka_run_group_tests_name("ted", tests, NULL, NULL);
}
