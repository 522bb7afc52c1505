/* The search against plain enumeration of its space, on small random problems, and what must never make the
 * best plan worse. */
#include <stdlib.h>

#include "tests/unit/planner/small_problems.h"

#define PROBLEMS 200
#define CHANGES 1000

/* What enumeration found: seconds and bytes of every strategy. */
struct point {
	double seconds, bytes;
	bool partial; /* some stages recompute a part of their layers: for the best alone */
};
struct every {
	const struct search_request *r;
	struct point *points;
	int64_t count, room;
};

static void weigh(struct every *e, const struct strategy *s)
{
	const struct cost_problem *p = &e->r->problem;
	struct strategy_cost c;

	if (strategy_fit(&p->model, &p->cluster, s, p->sequences) != FIT_OK)
		return;
	assert_int_equal(strategy_cost(p, s, &c, NULL), SB_OK);
	assert_true(c.bound_seconds <= c.step_seconds);
	if (e->count == e->room) {
		e->room = 2 * e->room + 1024;
		e->points = realloc(e->points, (size_t)e->room * sizeof(*e->points));
		assert_non_null(e->points);
	}
	e->points[e->count++] =
	    (struct point){c.step_seconds, memory_total(&c.memory), s->stage_recompute != NULL};
}

static void orders(struct every *e, struct strategy s)
{
	const int64_t size[] = {s.tp, s.cp, s.dp, s.pp};

	for (int code = 0; code < 256; code++) {
		int at[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6}, seen = 0;
		bool last = true;

		for (int i = 0; i < 4; i++) {
			seen |= 1 << at[i];
			for (int k = i + 1; k < 4; k++) /* what has one rank may as well stand last */
				last = last && (size[at[i]] > 1 || (size[at[k]] == 1 && at[i] < at[k]));
		}
		if (seen != 15 || !last)
			continue;
		for (int i = 0; i < 4; i++)
			s.order[i] = (enum dimension)at[i];
		weigh(e, &s);
	}
}

/* Every number of recomputed layers in every stage. */
static void parts(struct every *e, struct strategy s)
{
	int64_t counts[8] = {0}, i = 0;

	assert_true(s.pp <= 8);
	s.stage_recompute = counts;
	while (i < s.pp) {
		orders(e, s);
		for (i = 0; i < s.pp && counts[i] == strategy_stage_layers(&s, e->r->problem.model.layers, i);
		     i++)
			counts[i] = 0;
		if (i < s.pp)
			counts[i] += s.vpp;
	}
}

static void options(struct every *e, struct strategy s)
{
	const struct model *m = &e->r->problem.model;
	bool shared = s.dp * s.cp > 1 || (m->has_moe && s.ep * s.etp < s.tp);

	for (int sp = 0; sp < (s.tp > 1 ? 2 : 1); sp++) {
		if (s.tp > 1 && sp == 0 && m->has_moe)
			continue;
		for (int rec = 0; rec < RECOMPUTES; rec++) {
			for (s.zero = 0; s.zero <= (!shared                                    ? 0
			                            : s.pp > 1 && !e->r->only[ONLY_ZERO].count ? 1
			                                                                       : 3);
			     s.zero++) {
				s.sequence_parallel = sp;
				s.recompute = (enum recompute)rec;
				s.overlap_gradients = s.zero > 0;
				orders(e, s);
				if (rec != RECOMPUTE_NONE)
					parts(e, s);
			}
		}
	}
}

static void cuts(struct every *e, struct strategy s)
{
	int64_t layers = e->r->problem.model.layers, m = e->r->problem.sequences / s.dp / s.micro_batch;

	s.vpp = 1;
	for (s.last_fewer = 0; s.last_fewer <= (s.pp > 1 ? 8 : 0); s.last_fewer++) {
		if (s.last_fewer == 0 || layers / s.pp - s.last_fewer >= 1)
			options(e, s);
	}
	s.last_fewer = 0;
	for (s.vpp = 2; s.pp > 1 && s.vpp <= layers; s.vpp++) {
		if (layers % (s.pp * s.vpp) == 0 && m % s.pp == 0)
			options(e, s);
	}
}

static void experts(struct every *e, struct strategy s)
{
	const struct model *m = &e->r->problem.model;
	int64_t ranks = s.tp * s.cp * s.dp;

	for (s.ep = 1; s.ep <= (m->has_moe ? ranks : 1); s.ep++) {
		for (s.etp = 1; s.etp <= (m->has_moe ? ranks : 1); s.etp++)
			cuts(e, s);
	}
}

/* Every strategy, one by one, by nested loops that share nothing with the search but the cost. */
static struct every enumerate(const struct search_request *r)
{
	struct every e = {.r = r};
	const struct cluster *c = &r->problem.cluster;
	int64_t devices = cluster_devices(c), sequences = r->problem.sequences;
	struct strategy s = strategy_default(&r->problem.model, c);

	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	for (s.tp = 1; s.tp <= devices; s.tp++) {
		for (s.cp = 1; s.tp * s.cp <= devices; s.cp *= 2) {
			if (s.cp > 1 && r->problem.model.seq_len / s.cp < 256)
				continue;
			for (s.pp = 1; s.pp <= r->problem.model.layers; s.pp++) {
				for (s.dp = 1; s.dp <= sequences && s.tp * s.cp * s.pp * s.dp <= devices;
				     s.dp++) {
					for (s.micro_batch = 1; s.micro_batch <= sequences; s.micro_batch++)
						experts(&e, s);
				}
			}
		}
	}
	return e;
}

static double best_of(const struct every *e, double bytes)
{
	double best = INFINITY;

	for (int64_t i = 0; i < e->count; i++) {
		if (e->points[i].bytes <= bytes)
			best = fmin(best, e->points[i].seconds);
	}
	return best;
}

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Each point of the enumeration within SEARCH_SLACK that fits is on the front, or something on it is as fast
 * and as small, its five parts in whole bytes. */
static void front_is_complete(const struct every *e, const struct search_result *x, double bytes,
                              uint64_t seed)
{
	for (int64_t i = 0; i < e->count; i++) {
		const struct point *p = &e->points[i];
		bool covered =
		    p->partial || p->bytes > bytes || p->seconds >= SEARCH_SLACK * x->best.cost.step_seconds;

		for (int k = 0; !covered && k < x->frontier_count; k++)
			covered = x->frontier[k].cost.step_seconds <= p->seconds * (1 + 1e-9) &&
			          memory_bytes_of(&x->frontier[k].cost.memory) <= p->bytes * (1 + 1e-9) + 5;
		if (!covered)
			fail_msg("problem %llu: %.9g s in %.9g bytes is beyond the front of %d",
			         (unsigned long long)seed, p->seconds, p->bytes, x->frontier_count);
	}
}

static void test_equals_enumeration(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int64_t weighed = 0, infeasible = 0;

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		struct search_request r = random_problem(seed);
		struct every e = enumerate(&r);
		double least = INFINITY;
		int rc;

		assert_true(e.count > 0);
		weighed += e.count;
		/* A device that holds what some strategy needs, so that memory binds at any tightness. */
		r.problem.memory_bytes = (int64_t)ceil(e.points[below(e.count)].bytes);
		for (int64_t i = 0; i < e.count; i++)
			least = fmin(least, e.points[i].bytes);
		if (seed % 10 == 0)
			r.problem.memory_bytes = (int64_t)(least / 2);
		rc = strategy_search(&r, x, NULL);
		if (rc == SB_EINFEASIBLE) {
			infeasible++;
			assert_true(least > (double)r.problem.memory_bytes);
			if (!same(x->least_memory, least))
				fail_msg("problem %llu: least memory %.9g, enumerated %.9g",
				         (unsigned long long)seed, x->least_memory, least);
		} else {
			double best = best_of(&e, (double)r.problem.memory_bytes);

			assert_int_equal(rc, SB_OK);
			assert_true(x->optimal);
			if (!same(x->best.cost.step_seconds, best))
				fail_msg("problem %llu: search %.9g, enumeration %.9g of %lld",
				         (unsigned long long)seed, x->best.cost.step_seconds, best,
				         (long long)e.count);
			front_is_complete(&e, x, (double)r.problem.memory_bytes, seed);
		}
		free(e.points);
	}
	assert_true(weighed > 100000 && infeasible > PROBLEMS / 20);
	free(x);
}

static double best_seconds(const struct search_request *r, struct search_result *x)
{
	int rc = strategy_search(r, x, NULL);

	assert_true(rc == SB_OK || rc == SB_EINFEASIBLE);
	return rc == SB_OK ? x->best.cost.step_seconds : INFINITY;
}

/* More devices, more memory, or a faster link of any level: never a slower plan. */
static void test_more_is_never_worse(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int feasible = 0;

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < CHANGES; seed++) {
		struct search_request r = random_problem(seed + 1000);
		struct cluster *c = &r.problem.cluster;
		double before, after;
		int change = (int)below(5);

		r.problem.memory_bytes = (int64_t)between(1.6e9, 8e9);
		before = best_seconds(&r, x);
		if (change == 0)
			c->nodes += 1 + below(3);
		else if (change == 1)
			r.problem.memory_bytes += r.problem.memory_bytes / (1 + below(10));
		else
			c->links[change - 2].bytes_per_second *= between(1.01, 10);
		if (change == 3 && c->supernode_devices == 0)
			c->links[LINK_SUPERNODE].bytes_per_second = 0;
		refresh(&r);
		after = best_seconds(&r, x);
		feasible += isfinite(before) != 0;
		if (after > before * (1 + 1e-12))
			fail_msg("problem %llu, change %d: %.12g s became %.12g", (unsigned long long)seed,
			         change, before, after);
		assert_true(isinf(after) || strategy_devices(&x->best.strategy) <= cluster_devices(c));
	}
	assert_true(feasible > CHANGES / 4);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equals_enumeration),
	    cmocka_unit_test(test_more_is_never_worse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
