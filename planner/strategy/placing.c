#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "planner/cost/offload.h"
#include "planner/strategy/nearest.h"
#include "planner/strategy/weigh.h"

#define FULL_STEPS 8    /* to go through all families for the one that has to leave */
#define RANKS_A_STEP 12 /* gone through in about the time that a step of the walk takes, */
#define USES_A_STEP 4   /* and numbers of devices of each node put into classes */

/* The placements of a division of the experts, with the bodies of one batch. They are listed only as far as
 * they are wanted: of all numbers of devices of each node with which the nearest groups lie alike, one bound
 * tells. */

static void weigh_body(struct weighing *w, const struct layer_costs *l, const struct placement *o,
                       const struct body *b, int64_t m)
{
	struct search *x = w->x;
	double bound;
	bool best;

	shape_of(&w->s, b);
	x->effort += b->runs;
	x->out->costed++;
	x->out->candidates++;
	bound = bound_seconds(&x->r->problem, l, &w->s, &o->groups, runs_of(x, b), b->runs, m);
	if (!search_wants(x, bound, b->memory)) {
		count_rejection(x->out, REJECT_SLOWER, 1, &w->s, bound);
		return;
	}
	best = bound < x->keep->best;
	keep_offer(x->keep, &w->s, bound,
	           upper_seconds(&x->r->problem, l, &w->s, &o->groups, runs_of(x, b), b->runs, m), b->memory);
	if (search_settle(x, best ? KEEP_TOP : 1, NULL) != SB_OK)
		x->out_of_memory = true;
}

/* How many layers a body of this cut recomputes is chosen by the memory, later, for the front. l: costs of
 * the body's way to recompute. */
static void keep_recomputing(struct weighing *w, const struct layer_costs *l, const struct placement *o,
                             const struct body *b, int64_t m)
{
	struct search *x = w->x;
	struct layer_costs none = *l;
	double bound;

	memcpy(none.layer, none.kept, sizeof(none.layer));
	shape_of(&w->s, b);
	x->effort += b->runs + (x->keep->family_count == KEEP_FAMILIES ? FULL_STEPS : 0);
	bound = bound_seconds(&x->r->problem, &none, &w->s, &o->groups, runs_of(x, b), b->runs, m);
	keep_family(x->keep, x->reached, &w->s, bound, b->memory);
}

/* What devices of one node keep on its host. */
static double node_host(const struct weighing *w, const struct body *b)
{
	return offload_node_bytes(&w->x->r->problem.cluster, &w->s, &(struct memory_parts){.host = b->host});
}

/* The listed bodies in one placement. */
static void weigh_placement(struct weighing *w, const struct placement *o, int64_t m)
{
	struct search *x = w->x;
	double send;
	struct layer_costs l;
	int have = -1;
	struct parts_work all = {0}, none = {0}; /* layers recomputed */

	memcpy(w->s.order, o->order, sizeof(o->order));
	w->s.node_devices = o->node_devices;
	send = stage_send_seconds(&x->r->problem, &w->s, &o->groups);
	for (int i = 0; i < x->body_count; i++) {
		const struct body *b = &x->bodies[i];
		double least;

		if (have != (int)b->recompute) {
			const struct known_costs *known;

			shape_of(&w->s, b);
			known = search_costs(x, &w->s, &o->groups);
			l = known->costs;
			l.send = send;
			all = known->work;
			none = known->kept;
			have = (int)b->recompute;
		}
		if (b->family && keep_wants_family(x->keep, x->reached,
		                                   least_runs_seconds(x, &w->s, runs_of(x, b), b->runs,
		                                                      b->cut->chunk, &none, &none, m),
		                                   b->memory))
			keep_recomputing(w, &l, o, b, m);
		if (b->family && !allowed_value(x->r, ONLY_RECOMPUTE, b->recompute))
			continue;
		least = fmax(b->least, least_runs_seconds(x, &w->s, runs_of(x, b), b->runs, b->cut->chunk,
		                                          &none, &all, m));
		if (!search_wants(x, least, b->memory))
			reject(w, REJECT_SLOWER, 1, least);
		else if (b->host > 0 && node_host(w, b) > x->host_bytes)
			reject(w, REJECT_HOST, 1, least);
		else
			weigh_body(w, &l, o, b, m);
	}
}

static int64_t node_devices_of(const struct weighing *w, const struct node_use *u)
{
	return u->node_devices < node_range_of(&w->x->r->problem.cluster, &w->s).most ? u->node_devices : 0;
}

/* The class of such nearest groups, a new one where there is none. */
static struct node_class *class_of(struct search *x, const struct division *d, const struct nearest *near)
{
	struct node_class *c = &x->classes[d->first_class];

	while (c < &x->classes[x->class_count] && !nearest_alike(&x->swift.network, &c->nearest, near))
		c++;
	if (c < &x->classes[x->class_count])
		return c;
	if (sb_grow(&x->classes, x->class_count, sizeof(*x->classes)) != SB_OK)
		return NULL;
	c = &x->classes[x->class_count++];
	*c = (struct node_class){.nearest = *near, .first_use = x->use_count, .last_use = x->use_count};
	return c;
}

static void list_classes(struct weighing *w, struct division *d)
{
	struct search *x = w->x;
	const struct node_range nodes = w->nodes;

	d->first_class = x->class_count;
	for (int64_t i = 0; i <= nodes.most - nodes.least; i++) {
		/* What offloads lies on the fewest first, which share a host. */
		int64_t used = x->away ? nodes.least + i : nodes.most - i;
		const struct nearest near = nearest_of(x, &w->s, (struct node_range){used, used}, true);
		struct node_class *c = class_of(x, d, &near);

		if (!c || sb_grow(&x->uses, x->use_count, sizeof(*x->uses)) != SB_OK) {
			x->out_of_memory = true;
			return;
		}
		x->uses[c->last_use].next = x->use_count;
		c->last_use = x->use_count;
		c->uses++;
		x->uses[x->use_count++] = (struct node_use){used, 0};
	}
	d->classes = (int)(x->class_count - d->first_class);
	x->effort += (nodes.most - nodes.least) / USES_A_STEP;
}

static void list_placements(struct weighing *w, struct node_class *c)
{
	struct search *x = w->x;
	size_t at = c->first_use;
	int64_t examined = 0, all = 0;

	c->listed = true;
	c->first_placement = x->placements.count;
	while (examined >= 0) {
		w->s.node_devices = node_devices_of(w, &x->uses[at]);
		examined = add_placements(&x->network, &w->s, c->first_placement, &x->placements);
		all += examined;
		if (at == c->last_use)
			break;
		at = x->uses[at].next;
	}
	c->placements = x->placements.count - c->first_placement;
	x->out_of_memory = x->out_of_memory || examined < 0;
	x->left_out = x->left_out || x->placements.left_out;
	x->effort += (int64_t)c->placements + all / RANKS_A_STEP;
}

/* All placements of a class, the bodies in each. */
static void weigh_class(struct weighing *w, const struct division *d, struct node_class *c, int64_t m)
{
	struct search *x = w->x;
	int64_t used = x->uses[c->first_use].node_devices;
	const struct node_range one = {used, used};
	double quick;

	w->s.recompute = RECOMPUTE_NONE;
	w->s.offload = (struct offload){0};
	w->s.node_devices = node_devices_of(w, &x->uses[c->first_use]);
	x->effort++;
	quick = least_seconds(x, &w->s, w->pipeline, search_least_work_on(x, &w->s, one, true)->of, m);
	if (!search_wants(x, quick, d->memory)) {
		reject(w, REJECT_SLOWER, x->body_count * w->orders * c->uses, quick);
		return;
	}
	if (!c->listed)
		list_placements(w, c);
	for (size_t k = 0; k < c->placements; k++)
		weigh_placement(w, &x->placements.at[c->first_placement + k], m);
}

void weigh_placements(struct weighing *w, struct division *d, int64_t m)
{
	if (d->classes == 0)
		list_classes(w, d);
	for (int i = 0; i < d->classes; i++)
		weigh_class(w, d, &w->x->classes[d->first_class + (size_t)i], m);
}
