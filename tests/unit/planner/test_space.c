/* The search against plain enumeration of its space, on small random problems. */
#include "planner/cost/offload.h"
#include "tests/unit/planner/enumerate.h"

#define PROBLEMS 200
#define WIDE 5 /* more of them, on nodes wide enough to be walked through whole first */

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

/* The device's and the node's bytes of a strategy: its memory alone. */
static struct memory_parts memory_of(const struct cost_problem *p, const struct strategy *s)
{
	struct layer_costs l = {.memory = memory_model_of(p, s)};
	struct stage_run runs[2 * MOST_STAGES];
	int64_t count = strategy_costed_runs(p, &l.memory, s, runs), stage;
	struct memory_parts m =
	    peak_memory(p, &l, s, runs, count, strategy_micro_batches(s, p->sequences), &stage);

	m.host = offload_node_bytes(&p->cluster, s, &m);
	return m;
}

static bool may_offload(const struct search_request *r, int thing)
{
	bool may = r->only[ONLY_OFFLOAD].count == 0;

	for (int i = 0; i < r->only[ONLY_OFFLOAD].count; i++)
		may = may || r->only[ONLY_OFFLOAD].value[i] == thing;
	return may && r->problem.cluster.host_memory_bytes > 0;
}

/* What enumeration found of the strategies that offload. */
struct offloading {
	const struct search_request *r;
	double without;     /* the fastest that does not */
	double best, least; /* seconds; bytes of what the host holds */
	struct search_result *x;
	int64_t weighed;
};

/* Offload is never quicker than none; what beats all without it is on the front, or covered there. */
static void weigh_offload(struct offloading *f, const struct point *p, const struct strategy *s)
{
	struct strategy_cost c;
	bool covered = p->partial;

	assert_int_equal(strategy_cost(&f->r->problem, s, &c, NULL), SB_OK);
	f->weighed++;
	assert_true(c.step_seconds >= p->seconds * (1 - 1e-12));
	assert_true(c.bound_seconds <= c.step_seconds);
	if (!c.fits)
		return;
	f->best = fmin(f->best, c.step_seconds);
	covered = covered || c.step_seconds >= f->without * (1 - 1e-9) || !f->x ||
	          c.step_seconds >= SEARCH_SLACK * f->x->best.cost.step_seconds;
	for (int k = 0; !covered && k < f->x->frontier_count; k++)
		covered = f->x->frontier[k].cost.step_seconds <= c.step_seconds * (1 + 1e-9) &&
		          memory_bytes_of(&f->x->frontier[k].cost.memory) <=
		              memory_total(&c.memory) * (1 + 1e-9) + 5;
	if (!covered)
		fail_msg("%.9g s in %.9g bytes with offload is beyond the front of %d", c.step_seconds,
		         memory_total(&c.memory), f->x->frontier_count);
}

/* The set of things on the host, and `thing` in part: as little as fits, and at times some more of it. */
static void weigh_part(struct offloading *f, const struct point *p, struct strategy s, double *share,
                       int thing)
{
	double most = (double)f->r->problem.memory_bytes;
	double host = (double)f->r->problem.cluster.host_memory_bytes;
	struct memory_parts m;
	int64_t steps = 0;

	share[thing] = 1;
	s.offload = offload_of(share);
	m = memory_of(&f->r->problem, &s);
	if (m.host <= host && memory_total(&m) > most)
		steps = OFFLOAD_STEPS - 1; /* the whole of it does not do */
	do {
		share[thing] = (double)++steps / OFFLOAD_STEPS;
		s.offload = offload_of(share);
		m = memory_of(&f->r->problem, &s);
		if (m.host <= host)
			f->least = fmin(f->least, memory_total(&m));
	} while (memory_total(&m) > most && steps < OFFLOAD_STEPS);
	if (memory_total(&m) <= most)
		weigh_offload(f, p, &s);
	if (memory_total(&m) <= most && below(8) == 0 && steps < OFFLOAD_STEPS) {
		struct search_result *x = f->x;

		f->x = NULL; /* the front has the least shares alone */
		share[thing] = (double)(steps + 1 + below(OFFLOAD_STEPS - steps)) / OFFLOAD_STEPS;
		s.offload = offload_of(share);
		weigh_offload(f, p, &s);
		f->x = x;
	}
	share[thing] = 0;
}

/* Every way to offload of one strategy that does not fit without. */
static void offloads(struct offloading *f, const struct point *p)
{
	struct strategy s = p->s;
	struct search_result *x = f->x;

	if (p->partial)
		s.stage_recompute = p->recomputed;
	for (unsigned set = 0; set < 1U << OFFLOADABLES; set++) {
		double share[OFFLOADABLES];
		bool may = true, states, moving;
		struct memory_parts m;

		for (int i = 0; i < OFFLOADABLES; i++) {
			share[i] = set >> i & 1;
			may = may && (share[i] == 0 || may_offload(f->r, i));
		}
		if (!may)
			continue;
		s.offload = offload_of(share);
		m = memory_of(&f->r->problem, &s);
		if (m.host <= (double)f->r->problem.cluster.host_memory_bytes)
			f->least = fmin(f->least, memory_total(&m));
		f->x = NULL; /* with less of it on the host it fits, too: that may be on the front */
		if (set > 0 && memory_total(&m) <= (double)f->r->problem.memory_bytes)
			weigh_offload(f, p, &s);
		else
			f->x = x;
		states = share[OFFLOAD_OPTIMIZER] > 0;
		moving = share[OFFLOAD_WEIGHTS] > 0 || share[OFFLOAD_GRADIENTS] > 0;
		for (int i = 0; !p->partial && i < OFFLOADABLES; i++) {
			if (share[i] == 0 && may_offload(f->r, i) &&
			    (i == OFFLOAD_ACTIVATIONS || (i == OFFLOAD_OPTIMIZER ? !moving : !states)))
				weigh_part(f, p, s, share, i);
		}
	}
	f->x = x;
}

static struct offloading enumerate_offload(const struct every *e, struct search_result *x)
{
	struct offloading f = {.r = e->r,
	                       .without = best_of(e, (double)e->r->problem.memory_bytes),
	                       .best = INFINITY,
	                       .least = INFINITY,
	                       .x = x};

	for (int64_t i = 0; i < e->count; i++) {
		const struct point *p = &e->points[i];

		if (p->bytes > (double)e->r->problem.memory_bytes && p->seconds < f.without &&
		    p->seconds < (p->partial ? f.best : SEARCH_SLACK * f.best))
			offloads(&f, p);
	}
	return f;
}

/* Two nodes of seventeen and more devices, and few layers and sequences for as many ranks. */
static void widen(struct search_request *r)
{
	struct cluster *c = &r->problem.cluster;

	c->nodes = 2;
	c->devices_per_node = 17 + below(2);
	c->supernode_devices = 0;
	c->links[LINK_SUPERNODE].bytes_per_second = 0;
	c->links[LINK_NODE].mesh_links = 0;
	r->problem.model.layers = r->problem.model.has_moe ? 1 : 1 + below(3);
	r->problem.model.moe.first_dense = 0;
	r->problem.sequences = PICK(2, 4);
	refresh(r);
}

static void test_equals_enumeration(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int64_t weighed = 0, infeasible = 0, in_grids = 0, offloaded = 0, host_short = 0;

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < PROBLEMS + WIDE; seed++) {
		struct search_request r = random_problem(seed);
		struct every e;
		struct offloading f = {.best = INFINITY, .least = INFINITY};
		double least = INFINITY;
		int rc;

		if (seed % 4 == 0)
			r.only[ONLY_TENSOR] = (struct allowed){1, {1}};
		if (seed >= PROBLEMS)
			widen(&r);
		e = enumerate(&r);
		assert_true(e.count > 0);
		weighed += e.count;
		/* A device that holds what some strategy needs, so that memory binds at any tightness. */
		r.problem.memory_bytes = (int64_t)ceil(e.points[below(e.count)].bytes);
		for (int64_t i = 0; i < e.count; i++)
			least = fmin(least, e.points[i].bytes);
		if (seed % 10 == 0)
			r.problem.memory_bytes = (int64_t)(least / 2);
		if (seed % 3 == 0)
			random_host(&r);
		rc = strategy_search(&r, x, NULL);
		if (seed % 3 == 0)
			f = enumerate_offload(&e, rc == SB_OK ? x : NULL);
		least = fmin(least, f.least);
		weighed += f.weighed;
		offloaded += f.best < f.without;
		host_short += x->rejected[REJECT_HOST].count > 0;
		if (rc == SB_EINFEASIBLE) {
			infeasible++;
			assert_true(least > (double)r.problem.memory_bytes);
			if (!same(x->least_memory, least))
				fail_msg("problem %llu: least memory %.9g, enumerated %.9g",
				         (unsigned long long)seed, x->least_memory, least);
		} else {
			double best = fmin(best_of(&e, (double)r.problem.memory_bytes), f.best);

			assert_int_equal(rc, SB_OK);
			assert_true(x->optimal);
			if (!same(x->best.cost.step_seconds, best))
				fail_msg("problem %llu: search %.9g, enumeration %.9g of %lld",
				         (unsigned long long)seed, x->best.cost.step_seconds, best,
				         (long long)e.count);
			front_is_complete(&e, x, (double)r.problem.memory_bytes, seed);
			in_grids += x->best.strategy.tp_x > 1;
		}
		free(e.points);
	}
	assert_true(weighed > 100000 && infeasible > PROBLEMS / 20 && in_grids > 0);
	if (offloaded < PROBLEMS / 20 || host_short < PROBLEMS / 40)
		fail_msg("offload is best in %lld, a host too small in %lld", (long long)offloaded,
		         (long long)host_short);
	free(x);
}

/* A search with less memory is no faster than the frontier's points that need no more than that, but for the
 * frontier's resolution: of the span from its first point's memory to its last one's, a share that its points
 * can tell apart. */
static void test_frontier_is_what_less_memory_takes(void **state)
{
	struct search_result *x = malloc(sizeof(*x)), *y = malloc(sizeof(*y));
	int between_points = 0;

	(void)state;
	assert_true(x && y);
	for (uint64_t seed = 0; seed < 2 * PROBLEMS; seed++) {
		/* among the second draws are some whose leanest family is far too slow to be on the front */
		struct search_request r = random_problem(seed + (seed < PROBLEMS ? 5000 : 105000 - PROBLEMS));
		/* few points show best what is left out between them */
		int wanted = (const int[]){3, 5, SEARCH_FRONTIER, SEARCH_FRONTIER_MOST}[seed % 4];
		double most, least, step;

		r.frontier = wanted;
		r.problem.memory_bytes = (int64_t)between(2e9, 16e9);
		if (isinf(best_seconds(&r, x)))
			continue;
		assert_true(x->frontier_count <= wanted && !x->frontier_in_part);
		most = memory_total(&x->frontier[0].cost.memory);
		least = memory_total(&x->frontier[x->frontier_count - 1].cost.memory);
		step = 2 * (most - least) / wanted;
		for (int i = 0; i < 4; i++) {
			double bytes = least + (most - least) * (double)below(1000) / 999, seconds,
			       told = INFINITY;

			r.problem.memory_bytes = (int64_t)bytes;
			seconds = best_seconds(&r, y);
			for (int k = 0; k < x->frontier_count; k++) {
				if (memory_total(&x->frontier[k].cost.memory) <= bytes + step)
					told = fmin(told, x->frontier[k].cost.step_seconds);
			}
			between_points += isfinite(seconds) != 0;
			if (seconds < told * (1 - 1e-9) && seconds < SEARCH_SLACK * x->best.cost.step_seconds)
				fail_msg("problem %llu: %.9g s in %.9g bytes, the frontier of %d says %.9g",
				         (unsigned long long)seed, seconds, bytes, x->frontier_count, told);
		}
	}
	assert_true(between_points > 2 * PROBLEMS);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equals_enumeration),
	    cmocka_unit_test(test_frontier_is_what_less_memory_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
