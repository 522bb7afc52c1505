#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <string.h>

#define TRIES_MAX 12

/* The makespan of a division is its work and, for either pass, the most that one machine weighs:
 *     work + max weight forward + max weight backward,
 * exactly for one run of equal micro-batches, and never more than the makespan for two. So boxes of the two
 * maxima are searched: nothing in a box is better than the least work within its upper corner and the
 * maxima of its lower one. */
struct search {
	const struct csimd_costs *c;
	struct csimd_scratch *s;
	struct csimd_nodes nodes;
	int64_t *steps;
	double cutoff;  /* of makespans */
	double relaxed; /* the least of the sum above so far */
	struct csimd_division *out;
	int rc;
};

static void weigh(struct search *x, double work, const struct csimd_bound *got)
{
	double makespan = csimd_costs_makespan(x->c, x->s->cuts, x->s->machines);

	x->out->weighed++;
	x->relaxed = fmin(x->relaxed, work + got->of[0] + got->of[1]);
	if (makespan < x->out->makespan) {
		x->out->makespan = makespan;
		memcpy(x->out->cuts, x->s->cuts, (size_t)(x->c->p->stages + 1) * sizeof(*x->out->cuts));
	}
}

/* What a box must be below to be looked into. */
static double target(const struct search *x)
{
	double t = fmin(fmin(x->cutoff, x->out->makespan), x->relaxed);

	return t - CSIMD_ROUNDING * t;
}

/* Takes in a box, if its corner can be reached and may be better than what is known. */
static void enter(struct search *x, struct csimd_node n)
{
	struct csimd_bound high = {{n.high[0], n.high[1]}}, got;

	if (n.low[0] > n.high[0] || n.low[1] > n.high[1] || x->rc != SB_OK)
		return;
	*x->steps -= csimd_divide_steps(x->c);
	csimd_ask(x->c->p, x->steps);
	if (!csimd_divide(x->c, &high, x->s, &n.work, &got))
		return;
	weigh(x, n.work, &got);
	n.got[0] = got.of[0];
	n.got[1] = got.of[1];
	n.bound = n.work + fmax(n.low[0], 0) + fmax(n.low[1], 0);
	if (n.bound < target(x))
		x->rc = csimd_nodes_push(&x->nodes, &n);
}

/* The division at the upper corner beats all of the box that is below it in neither maximum. The rest: below
 * it in one, cut in two, and above it there but below it in the other. */
static void split(struct search *x, const struct csimd_node *n)
{
	double room[2] = {n->got[0] - n->low[0], n->got[1] - n->low[1]};
	int d = room[0] >= room[1] ? 0 : 1, o = 1 - d;
	struct csimd_node part = *n;
	double mid = n->low[d] + room[d] / 2;

	if (!(room[d] > 0))
		return; /* it reaches both lower bounds */
	part.high[d] = mid;
	enter(x, part);
	part = *n;
	part.low[d] = nextafter(mid, INFINITY);
	part.high[d] = nextafter(n->got[d], -INFINITY);
	enter(x, part);
	part = *n;
	part.low[d] = n->got[d];
	part.high[o] = nextafter(n->got[o], -INFINITY);
	enter(x, part);
}

/* No machine of the pass can be bound to weigh less. */
static double least_weight(const struct csimd_costs *c, enum csimd_pass pass, struct csimd_scratch *s)
{
	const struct csimd_problem *p = c->p;
	const double *w = c->to[pass];
	double speeds = 0, fastest = 0, layer = 0, link = INFINITY;

	if (c->uniform)
		return csimd_least_bound(c, pass, s);
	for (int64_t k = 0; k < p->stages; k++) {
		double speed = p->speeds ? p->speeds[k] : 1;

		speeds += speed;
		fastest = fmax(fastest, speed);
	}
	for (int64_t i = 0; i < p->layers; i++)
		layer = fmax(layer, w[i + 1] - w[i]);
	for (int64_t i = 0; i < csimd_links(p); i++)
		link = fmin(link, c->link_weight[i]);
	layer = fmax(w[p->layers] / speeds, layer / fastest);
	return (p->stages > 1 ? fmax(layer, link) : layer) * (1 - 1e-15);
}

/* Divisions near the least of both passes at once: the search is quick when it has good ones early. */
static void near_least(struct search *x, const struct csimd_node *n)
{
	double wide = 0.5;

	for (int i = 0; i<TRIES_MAX && * x->steps> 0; i++) {
		int64_t before = x->out->weighed;
		struct csimd_node corner = *n;

		for (int d = 0; d < CSIMD_PASSES; d++)
			corner.high[d] = n->low[d] * (1 + wide);
		enter(x, corner);
		if (x->out->weighed == before && wide < 0.5)
			break; /* it cannot be reached any more */
		wide = x->out->weighed == before ? 4 * wide + 1 : wide / 2;
	}
	x->nodes.count = 0;
}

int csimd_best_division(const struct csimd_costs *c, double cutoff, struct csimd_scratch *s, int64_t *steps,
                        struct csimd_division *out)
{
	struct search x = {.c = c, .s = s, .steps = steps, .cutoff = cutoff, .relaxed = INFINITY, .out = out};
	struct csimd_node n = {.high = {INFINITY, INFINITY}};
	double settled = INFINITY; /* the least bound of what was left */

	out->makespan = out->lower_bound = INFINITY;
	for (int d = 0; d < CSIMD_PASSES; d++)
		n.low[d] = least_weight(c, (enum csimd_pass)d, s);
	if (c->uniform) { /* the least of one pass alone is often the least of both */
		struct csimd_node corner = n;

		for (int d = 0; d < CSIMD_PASSES && n.low[d] < INFINITY; d++) {
			corner.high[d] = n.low[d];
			corner.high[1 - d] = INFINITY;
			enter(&x, corner);
		}
		x.nodes.count = 0; /* for what they found only: the whole box has their plans in it */
	}
	if (!c->uniform)
		near_least(&x, &n);
	enter(&x, n);
	while (x.rc == SB_OK && csimd_nodes_pop(&x.nodes, &n)) {
		if (n.bound >= target(&x))
			break;
		if (*steps <= 0) {
			settled = n.bound;
			break;
		}
		split(&x, &n);
	}
	/* what was dropped is no better than the target of then, which never rose */
	out->lower_bound = fmin(settled, fmin(fmin(x.relaxed, cutoff), out->makespan));
	csimd_nodes_clear(&x.nodes);
	return x.rc;
}
