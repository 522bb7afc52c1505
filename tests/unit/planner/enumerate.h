#ifndef SB_TESTS_UNIT_PLANNER_ENUMERATE_H
#define SB_TESTS_UNIT_PLANNER_ENUMERATE_H
/* Plain enumeration of the search's space, by nested loops that share nothing with the search but the cost.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/planner/chunks.h"
#include "tests/unit/planner/small_problems.h"

#define MOST_STAGES 8

/* What enumeration found: seconds and bytes of every strategy. */
struct point {
	double seconds, bytes;
	bool partial; /* some stages recompute a part of their layers: for the best alone */
	struct strategy s;
	int64_t recomputed[MOST_STAGES]; /* where partial */
};
struct every {
	const struct search_request *r;
	struct point *points;
	int64_t count, room;
};

static inline void weigh(struct every *e, const struct strategy *s)
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
	e->points[e->count] =
	    (struct point){c.step_seconds, memory_total(&c.memory), s->stage_recompute != NULL, *s, {0}};
	if (s->stage_recompute)
		memcpy(e->points[e->count].recomputed, s->stage_recompute, (size_t)s->pp * sizeof(int64_t));
	e->count++;
}

static inline void orders(struct every *e, struct strategy s)
{
	const int64_t size[] = {s.tp, s.cp, s.dp, s.pp};
	/* As many of each node as there are ranks lie in one node, as on all of it. */
	int64_t devices = strategy_devices(&s), node = e->r->problem.cluster.devices_per_node,
	        most = node < devices ? node : devices;

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
		for (s.node_devices = 0; s.node_devices < most; s.node_devices++)
			weigh(e, &s);
	}
}

/* Layers that a stage recomputes: so many of each of its chunks, or all that a shorter one has. */
static inline int64_t recomputed_of(const struct strategy *s, int64_t layers, int64_t stage, int64_t each)
{
	int64_t n = 0;

	for (int64_t k = stage; k < s->pp * s->vpp; k += s->pp) {
		int64_t has = strategy_slice_layers(s, layers, k);

		n += each < has ? each : has;
	}
	return n;
}

/* Every number of recomputed layers in every stage. */
static inline void parts(struct every *e, struct strategy s)
{
	int64_t layers = e->r->problem.model.layers, each[MOST_STAGES] = {0}, counts[MOST_STAGES] = {0},
	        i = 0;

	assert_true(s.pp <= MOST_STAGES);
	s.stage_recompute = counts;
	while (i < s.pp) {
		orders(e, s);
		for (i = 0; i < s.pp && counts[i] == strategy_stage_layers(&s, layers, i); i++)
			each[i] = counts[i] = 0;
		if (i < s.pp)
			counts[i] = recomputed_of(&s, layers, i, ++each[i]);
	}
}

static inline void options(struct every *e, struct strategy s)
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
				stack_apply(&e->r->stack, &s);
				orders(e, s);
				if (rec != RECOMPUTE_NONE)
					parts(e, s);
			}
		}
	}
}

static inline void cuts(struct every *e, struct strategy s)
{
	const struct model *model = &e->r->problem.model;
	int64_t layers = model->layers, m = e->r->problem.sequences / s.dp / s.micro_batch;
	int64_t dense = model->has_moe ? model->moe.first_dense : 0;

	for (s.vpp = 1; s.vpp == 1 || (s.pp > 1 && m % s.pp == 0 && s.pp * s.vpp <= layers + 2); s.vpp++) {
		int64_t slices = s.pp * s.vpp;

		for (s.last_fewer = 0; s.last_fewer <= (s.pp > 1 ? 8 : 0); s.last_fewer++) {
			int64_t last = layers / slices - s.last_fewer;

			if (s.last_fewer > 0 && (last < (s.vpp == 1) || !shorter_pays(&s, model)))
				continue;
			for (s.first_more = 0; s.first_more <= (slices > 2 ? dense : 0); s.first_more++) {
				int64_t rest = layers - last - s.first_more;

				if ((s.first_more == 0 && chunks_differ(&s, model, rest)) ||
				    (slices > 1 && rest >= slices - 1 && rest % (slices - 1) == 0))
					options(e, s);
			}
			s.first_more = 0;
		}
	}
}

static inline void experts(struct every *e, struct strategy s)
{
	const struct model *m = &e->r->problem.model;
	int64_t ranks = s.tp * s.cp * s.dp;

	for (s.ep = 1; s.ep <= (m->has_moe ? ranks : 1); s.ep++) {
		for (s.etp = 1; s.etp <= (m->has_moe ? ranks : 1); s.etp++)
			cuts(e, s);
	}
}

static inline void replicas(struct every *e, struct strategy s)
{
	const struct search_request *r = e->r;
	int64_t devices = cluster_devices(&r->problem.cluster), sequences = r->problem.sequences;

	for (s.pp = 1; s.pp <= r->problem.model.layers; s.pp++) {
		for (s.dp = 1; s.dp <= sequences && s.tp * s.cp * s.pp * s.dp <= devices; s.dp++) {
			for (s.micro_batch = 1; s.micro_batch <= sequences; s.micro_batch++)
				experts(e, s);
		}
	}
}

/* One dimension, and every grid where the request asks for them. */
static inline void grids(struct every *e, struct strategy s)
{
	for (s.tp_x = 1; s.tp_x <= (e->r->only[ONLY_TENSOR].count > 0 ? s.tp : 1); s.tp_x++) {
		if (s.tp % s.tp_x == 0)
			replicas(e, s);
	}
}

/* Every strategy, one by one, by nested loops that share nothing with the search but the cost. */
static inline struct every enumerate(const struct search_request *r)
{
	struct every e = {.r = r};
	const struct cluster *c = &r->problem.cluster;
	int64_t devices = cluster_devices(c);
	struct strategy s = strategy_default(&r->problem.model, c);

	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	for (s.tp = 1; s.tp <= devices; s.tp++) {
		for (s.cp = 1; s.tp * s.cp <= devices; s.cp *= 2) {
			if (s.cp > 1 && r->problem.model.seq_len / s.cp < 256)
				continue;
			grids(&e, s);
		}
	}
	return e;
}
#endif
