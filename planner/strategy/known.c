#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "planner/strategy/nearest.h"

/* What one micro-batch costs, worked out once, and the bounds that follow from it. */

#define NODE_DEVICES_MAX 2048 /* more than a node may have (cluster_check()) */

static struct parts_work pipeline_work(const struct model *m, const struct layer_costs *l,
                                       const struct layer_time *layers)
{
	struct parts_work w = {.of = {.layer = INFINITY},
	                       .embedding = l->embedding.forward + l->embedding.backward,
	                       .head = l->head.forward + l->head.backward};

	w.of.all = w.embedding + w.head;
	for (int k = 0; k < LAYER_KINDS; k++) {
		double n = (double)model_layers_of(m, m->layers, (enum layer_kind)k);

		w.layer[k] = layers[k].forward + layers[k].backward;
		w.of.all += n * w.layer[k];
		w.of.layer = n > 0 ? fmin(w.of.layer, w.layer[k]) : w.of.layer;
	}
	return w;
}

/* The entry of a hash. *out_used: something is there. */
static uint32_t place_of(struct places *p, uint64_t hash, bool *out_used)
{
	uint32_t *at = &p->at[hash];

	*out_used = *at != 0;
	if (*at == 0)
		*at = ++p->used;
	return *at - 1;
}

static struct known_costs *look_up(struct search *x, const struct costs_key *key, bool *out_known)
{
	uint64_t hash = sb_hash_key((const int64_t *)key, sizeof(*key) / sizeof(int64_t));
	struct known_costs *known =
	    &x->known[place_of(&x->known_at, hash >> (64 - KNOWN_COSTS_BITS), out_known)];

	*out_known = *out_known && memcmp(&known->key, key, sizeof(*key)) == 0;
	known->key = *key;
	return known;
}

/* A pipeline's buffers, however many stages, are part of the memory. */
static struct costs_key key_of(const struct strategy *s)
{
	return (struct costs_key){s->tp,
	                          tensor_grid_of(s).x,
	                          s->cp,
	                          s->ep,
	                          s->etp,
	                          s->micro_batch,
	                          s->node_devices,
	                          {{0}},
	                          (int64_t)s->recompute * 4 + s->sequence_parallel * 2 + (s->pp > 1)};
}

const struct known_costs *search_costs(struct search *x, const struct strategy *s, const struct groups *g)
{
	const struct group *const used[] = {&g->tp, &g->tp_x, &g->tp_y, &g->cp, &g->ep, &g->etp};
	struct costs_key key = key_of(s);
	struct known_costs *known;
	bool have;

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		memcpy(key.inside[i], used[i]->inside, sizeof(key.inside[i]));
	known = look_up(x, &key, &have);
	if (!have) {
		known->costs = layer_costs_of(&x->r->problem, s, g);
		known->work = pipeline_work(&x->r->problem.model, &known->costs, known->costs.layer);
		known->kept = pipeline_work(&x->r->problem.model, &known->costs, known->costs.kept);
	}
	return known;
}

/* Levels of which the devices fill more than one domain: all that the nearest groups know of them. */
static int64_t filled_levels(const struct network *n, int64_t devices)
{
	int64_t levels = 0;

	for (int l = 0; l < n->levels; l++)
		levels += devices > n->domain[l];
	return levels;
}

/* Divisions of the experts are gone through in turn: those of one batch lie side by side. */
static uint64_t work_slot(const struct strategy *s, int64_t flags)
{
	const int64_t batch[] = {s->tp, tensor_grid_of(s).x, s->cp, s->micro_batch, flags};
	int ep = __builtin_ctzll((uint64_t)s->ep), etp = __builtin_ctzll((uint64_t)s->etp);
	uint64_t odd = (uint64_t)(37 * (s->ep >> ep) + 89 * (s->etp >> etp));
	uint64_t first = sb_hash_key(batch, sizeof(batch) / sizeof(batch[0])) >> (64 - KNOWN_WORK_BITS);

	return (first + (uint64_t)(16 * ep + etp) + odd) % KNOWN_WORK;
}

static struct parts_work nearest_work(struct search *x, const struct strategy *s, struct node_range nodes,
                                      bool experts)
{
	const struct nearest near = nearest_of(x, s, nodes, experts);
	struct groups g = {.tp = near.at[0],
	                   .tp_x = near.at[1],
	                   .tp_y = near.at[2],
	                   .cp = near.at[3],
	                   .ep = near.at[4],
	                   .etp = near.at[5],
	                   .pp = {.ranks = 1, .inside = {1, 1, 1}}};
	struct layer_costs costs;

	g.dp = g.edp = g.pp;
	costs = layer_work_of(&x->swift, s, &g);
	return pipeline_work(&x->r->problem.model, &costs, costs.layer);
}

const struct parts_work *search_least_work_on(struct search *x, const struct strategy *s,
                                              struct node_range nodes, bool experts)
{
	int64_t flags = (int64_t)s->recompute * 4 + s->sequence_parallel * 2 + experts +
	                16 * filled_levels(&x->swift.network, strategy_devices(s)) +
	                64 * (nodes.least + NODE_DEVICES_MAX * nodes.most);
	const int64_t key[] = {s->tp, tensor_grid_of(s).x, s->cp, s->ep, s->etp, s->micro_batch, flags};
	bool used;
	struct known_work *known = &x->works[place_of(&x->works_at, work_slot(s, flags), &used)];

	if (used && memcmp(known, key, sizeof(key)) == 0)
		return &known->work;
	memcpy(known, key, sizeof(key));
	known->work = nearest_work(x, s, nodes, experts);
	return &known->work;
}

const struct parts_work *search_least_work(struct search *x, const struct strategy *s, bool experts)
{
	return search_least_work_on(x, s, nearest_range(x, s), experts);
}

/* What m times the lightest stage is of all stages' work; of the last pipeline that was asked for. */
static double share_of(struct search *x, double slots, int64_t pp)
{
	if (x->share.slots != slots || x->share.pp != pp)
		x->share = (struct known_share){slots, pp, 1 - pow(1 - 1 / slots, (double)pp)};
	return x->share.share;
}

double search_outside(struct search *x, const struct strategy *s, double seconds)
{
	int64_t devices = strategy_devices(s);

	if (x->outside.devices != devices)
		x->outside = (struct known_outside){
		    devices, outside_of(&x->r->problem, (struct ranks_used){devices, 0})};
	return seconds * x->outside.outside.factor + x->outside.outside.once;
}

/* Stage i waits for the first chunk of each stage before it, and then does m times its own work: the longest
 * of these is no shorter than their mean, nor than what the longest stage does. */
static double least_passes(double pp, double chunk, double heaviest, struct work w, double m)
{
	return fmax(m * w.all / pp + chunk * (pp - 1) * w.layer / 2, m * heaviest * w.layer);
}

double least_runs_seconds(struct search *x, const struct strategy *s, const struct stage_run *runs,
                          int64_t count, int64_t chunk, const struct parts_work *kept,
                          const struct parts_work *done, int64_t m)
{
	double most = 0, wait = (double)chunk * kept->of.layer;

	for (int64_t r = 0; r < count; r++) {
		int64_t last = runs[r].first + runs[r].count - 1; /* of its stages it waits longest */
		double work = runs[r].first == 0 ? kept->embedding : 0;

		for (int k = 0; k < LAYER_KINDS; k++)
			work += (double)runs[r].kept[k] * kept->layer[k] +
			        (double)(runs[r].layers[k] - runs[r].kept[k]) * done->layer[k];
		work += last == s->pp - 1 ? kept->head : 0;
		work = (double)m * work + (double)last * wait;
		most = work > most ? work : most;
	}
	return search_outside(x, s, most);
}

/* Without chunks stage i waits for all that the first micro-batch takes in the stages before it: the cut that
 * makes the longest of these least has stages that shrink by 1 - 1/m each. And some stage holds at least an
 * even share of the layers, rounded up. */
double least_seconds(struct search *x, const struct strategy *s, const struct pipeline *q, struct work w,
                     int64_t m)
{
	int64_t heaviest = (x->r->problem.model.layers + q->pp - 1) / q->pp;
	double passes;

	if (q->interleaves && m % q->pp == 0)
		passes = least_passes((double)q->pp, (double)q->least_chunk, (double)heaviest, w, (double)m);
	else
		passes = fmax(w.all / share_of(x, (double)m, q->pp), (double)(m * heaviest) * w.layer);
	return search_outside(x, s, passes);
}
