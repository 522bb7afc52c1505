#include "planner/methods/amp_places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define ALL_STEPS 0x1p20    /* of links, for all orders of the nodes of a pair of degrees: some ms */
#define ANNEAL_STEPS 0x1p19 /* likewise, where those are too many */
#define HEAT 0.1            /* of the rough seconds that the start takes: where the annealing begins */
#define SEED 0x9e3779b97f4a7c15u

/* At work on the placements of a pair of degrees. */
struct placer {
	const struct amp_problem *p;
	const struct amp_candidate *c;
	struct amp_places *out;
	double sent, weight; /* of a sequence behind an average layer, and of all layers: elements */
	int32_t *order;      /* [nodes] at work */
	int32_t *kind;       /* [nodes]: nodes with the same links have the same */
	int32_t *left;       /* [kinds]: a node of each that is not placed yet */
	int kinds;
	uint64_t seed;
};

static void placer_free(struct placer *w)
{
	free(w->order);
	free(w->kind);
	free(w->left);
}

static void place_free(struct amp_place *x)
{
	free(x->node);
	amp_wires_free(&x->wires);
}

void amp_places_free(struct amp_places *x)
{
	for (int i = 0; i < x->count; i++)
		place_free(&x->place[i]);
	amp_wires_free(&x->least[0]);
	amp_wires_free(&x->least[1]);
	*x = (struct amp_places){.count = 0};
}

static double sum(const double *v, int64_t count)
{
	double all = 0;

	for (int64_t i = 0; i < count; i++)
		all += v[i];
	return all;
}

static double rough_of(const struct placer *w, const struct amp_wires *x)
{
	double slowest = 0;

	for (int64_t j = 0; j < w->c->pp; j++)
		slowest = fmax(slowest, x->reduce[j]);
	return w->sent * sum(x->cut, w->c->pp - 1) + w->weight / (double)w->c->pp * slowest;
}

static bool beats(const struct placer *w, const struct amp_wires *a, const struct amp_wires *b)
{
	for (int64_t j = 0; j < w->c->pp; j++)
		if (a->reduce[j] > b->reduce[j] || a->cut[j] > b->cut[j])
			return false;
	return true;
}

/* Takes a placement over, or frees it. */
static void keep(struct placer *w, struct amp_place *x)
{
	struct amp_places *all = w->out;
	int have = 0, worst = 0;

	for (int i = 0; i < all->count; i++) {
		if (beats(w, &all->place[i].wires, &x->wires)) {
			place_free(x);
			return;
		}
	}
	for (int i = 0; i < all->count; i++) {
		if (beats(w, &x->wires, &all->place[i].wires))
			place_free(&all->place[i]);
		else
			all->place[have++] = all->place[i];
	}
	all->count = have;
	if (have < AMP_PLACES_MAX) {
		all->place[all->count++] = *x;
		return;
	}
	all->all = false;
	for (int i = 1; i < have; i++)
		if (all->place[i].rough > all->place[worst].rough)
			worst = i;
	if (all->place[worst].rough > x->rough) {
		struct amp_place y = all->place[worst];

		all->place[worst] = *x;
		*x = y;
	}
	place_free(x);
}

/* The order at work with one order of the ranks. *out_rough: how good it looks. */
static int try_one(struct placer *w, bool pipelines_inside, double *out_rough)
{
	struct amp_place x = {.at = {pipelines_inside, w->order}};
	size_t bytes = (size_t)w->p->nodes * sizeof(*w->order);
	int rc = amp_wires_of(w->p, w->c, &x.at, &x.wires);

	x.at.node = x.node = rc == SB_OK ? malloc(bytes) : NULL;
	if (!x.node) {
		amp_wires_free(&x.wires);
		return SB_ENOMEM;
	}
	memcpy(x.node, w->order, bytes);
	x.rough = *out_rough = rough_of(w, &x.wires);
	keep(w, &x);
	return SB_OK;
}

static int try_both(struct placer *w)
{
	double rough;
	int rc = SB_OK;

	for (int k = 0; rc == SB_OK && k < amp_rank_orders(w->c); k++)
		rc = try_one(w, k == 1, &rough);
	return rc;
}

static bool alike(const struct placer *w, int64_t a, int64_t b)
{
	/* where a tensor group fills the node, nothing else goes inside */
	return w->p->between[a] == w->p->between[b] &&
	       (w->c->tp == w->p->devices_per_node || w->p->inside[a] == w->p->inside[b]);
}

struct node_links {
	double between, inside;
	int32_t node;
};

static int by_links(const void *a, const void *b)
{
	const struct node_links *x = a, *y = b;

	if (x->between != y->between)
		return x->between < y->between ? -1 : 1;
	if (x->inside != y->inside)
		return x->inside < y->inside ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

/* Leaves the nodes sorted by their links in `order`, and numbers their kinds. */
static int sort_nodes(struct placer *w)
{
	int64_t nodes = w->p->nodes;
	struct node_links *links = malloc((size_t)nodes * sizeof(*links));

	if (!links)
		return SB_ENOMEM;
	for (int64_t i = 0; i < nodes; i++)
		links[i] = (struct node_links){w->p->between[i], w->p->inside[i], (int32_t)i};
	qsort(links, (size_t)nodes, sizeof(*links), by_links);
	for (int64_t i = 0; i < nodes; i++) {
		w->order[i] = links[i].node;
		w->kinds += i > 0 && !alike(w, links[i - 1].node, links[i].node);
		w->kind[links[i].node] = w->kinds;
	}
	w->kinds++;
	free(links);
	return SB_OK;
}

/* Orders of the nodes that differ in more than which of the alike stands where. */
static double orders_of(const struct placer *w)
{
	double orders = 1;
	int64_t same = 0;

	for (int64_t i = 0; i < w->p->nodes; i++) { /* the nodes are sorted */
		same = i > 0 && w->kind[w->order[i]] == w->kind[w->order[i - 1]] ? same + 1 : 1;
		orders *= (double)(i + 1) / (double)same;
	}
	return orders;
}

/* The next order of the kinds, with the nodes of each kind as they are numbered; false behind the last. */
static bool next_order(struct placer *w, int32_t *kinds)
{
	int64_t n = w->p->nodes, i = n - 2, j = n - 1;
	int32_t at;

	while (i >= 0 && kinds[i] >= kinds[i + 1])
		i--;
	if (i < 0)
		return false;
	while (kinds[j] <= kinds[i])
		j--;
	at = kinds[i];
	kinds[i] = kinds[j];
	kinds[j] = at;
	for (i++, j = n - 1; i < j; i++, j--) {
		at = kinds[i];
		kinds[i] = kinds[j];
		kinds[j] = at;
	}
	memset(w->left, 0, (size_t)w->kinds * sizeof(*w->left));
	for (i = 0; i < n; i++) {
		int32_t *from = &w->left[kinds[i]];

		while (w->kind[*from] != kinds[i])
			++*from;
		w->order[i] = (*from)++;
	}
	return true;
}

static int try_all(struct placer *w)
{
	int32_t *kinds = malloc((size_t)w->p->nodes * sizeof(*kinds));
	int rc = kinds ? SB_OK : SB_ENOMEM;

	for (int64_t i = 0; rc == SB_OK && i < w->p->nodes; i++)
		kinds[i] = w->kind[w->order[i]];
	do
		rc = rc == SB_OK ? try_both(w) : rc;
	while (rc == SB_OK && !sb_stopped(w->p->watch) && next_order(w, kinds));
	free(kinds);
	return rc;
}

static double random_share(struct placer *w)
{
	return (double)(sb_random(&w->seed) >> 11) * 0x1p-53;
}

/* Swaps unlike nodes of the order at work, and takes back what makes it worse the likelier the later. */
static int anneal(struct placer *w, bool pipelines_inside, int64_t tries)
{
	uint64_t nodes = (uint64_t)w->p->nodes;
	double now, next, heat;
	int rc = try_one(w, pipelines_inside, &now);

	heat = HEAT * now;
	for (int64_t i = 0; rc == SB_OK && i < tries && !sb_stopped(w->p->watch); i++) {
		uint64_t a = sb_random(&w->seed) % nodes, b = sb_random(&w->seed) % nodes;
		int32_t was = w->order[a];

		if (w->kind[was] == w->kind[w->order[b]])
			continue;
		w->order[a] = w->order[b];
		w->order[b] = was;
		rc = try_one(w, pipelines_inside, &next);
		if (next <= now ||
		    random_share(w) < exp((now - next) / (heat * (1 - (double)i / (double)tries)))) {
			now = next;
			continue;
		}
		w->order[b] = w->order[a];
		w->order[a] = was;
	}
	return rc;
}

static int64_t tries_of(const struct placer *w)
{
	return (int64_t)(ANNEAL_STEPS / (double)(w->c->dp * w->c->pp)) / 2;
}

/* From the nodes sorted by their links, up and down, and as the request has them. */
static int try_some(struct placer *w)
{
	int64_t nodes = w->p->nodes;
	int32_t *start = malloc((size_t)nodes * sizeof(*start));
	int rc = start ? SB_OK : SB_ENOMEM;

	w->out->all = false;
	if (start)
		memcpy(start, w->order, (size_t)nodes * sizeof(*start));
	for (int from = 0; rc == SB_OK && from < 3; from++) {
		for (int k = 0; rc == SB_OK && k < amp_rank_orders(w->c); k++) {
			for (int64_t i = 0; i < nodes; i++)
				w->order[i] = from == 0   ? start[i]
				              : from == 1 ? start[nodes - 1 - i]
				                          : (int32_t)i;
			rc = anneal(w, k == 1, tries_of(w) / 3);
		}
	}
	free(start);
	return rc;
}

static int placer_open(struct placer *w)
{
	const struct amp_problem *p = w->p;
	size_t nodes = (size_t)p->nodes;

	w->order = calloc(nodes, sizeof(*w->order));
	w->kind = calloc(nodes, sizeof(*w->kind));
	w->left = calloc(nodes, sizeof(*w->left));
	if (!w->order || !w->kind || !w->left)
		return SB_ENOMEM;
	for (int64_t i = 0; i < p->nodes; i++)
		w->order[i] = (int32_t)i;
	for (int64_t l = 0; l < p->layers; l++) {
		const struct amp_layer *x = &p->layer[l];

		w->weight += (x->parameters + x->table) / (double)w->c->tp;
		w->sent += x->sent / (double)(x->sent_split ? w->c->tp : 1) / (double)p->layers;
	}
	return SB_OK;
}

int amp_places_of(const struct amp_problem *p, const struct amp_candidate *c, bool search,
                  struct amp_places *out)
{
	struct placer w __attribute__((cleanup(placer_free))) = {.p = p, .c = c, .out = out, .seed = SEED};
	double rough, links = 2 * (double)(c->dp * c->pp);
	int rc = placer_open(&w);

	*out = (struct amp_places){.all = true};
	if (rc == SB_OK && !search)
		return try_one(&w, false, &rough);
	if (rc == SB_OK)
		rc = try_both(&w);
	if (rc == SB_OK)
		rc = sort_nodes(&w);
	if (rc == SB_OK && w.kinds > 1)
		rc = orders_of(&w) * links <= ALL_STEPS ? try_all(&w) : try_some(&w);
	if (rc == SB_OK)
		rc = amp_places_least(p, c, out);
	if (rc != SB_OK)
		amp_places_free(out);
	return rc;
}
