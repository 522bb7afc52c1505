#include "planner/methods/amp.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "planner/methods/partition.h"
#include "planner/strategy/space.h"

int64_t amp_candidates(const struct amp_problem *p, struct amp_candidate *out)
{
	struct values tensor, data, micro;
	int64_t count = 0;

	divisors(p->devices_per_node, &tensor);
	for (int i = 0; i < tensor.count; i++) {
		int64_t rest = p->nodes * p->devices_per_node / tensor.value[i];

		divisors(rest, &data);
		for (int k = 0; k < data.count; k++) {
			int64_t each = p->sequences / data.value[k], pp = rest / data.value[k];

			if (p->sequences % data.value[k] != 0 || pp > p->layers)
				continue;
			divisors(each, &micro);
			for (int b = 0; b < micro.count; b++, count++) {
				if (count < AMP_CANDIDATES_MAX)
					out[count] =
					    (struct amp_candidate){tensor.value[i], data.value[k], pp,
					                           micro.value[b], each / micro.value[b]};
			}
		}
	}
	return count;
}

/* The ranks of a candidate on the nodes. */
struct lay {
	const struct amp_problem *p;
	const struct amp_candidate *c;
	struct amp_placement at;
};

/* Of the first tensor rank: all of them lie in one node, and it speaks for them. */
static int64_t node_of(const struct lay *l, int64_t replica, int64_t stage)
{
	int64_t place = l->at.pipelines_inside ? stage + l->c->pp * replica : replica + l->c->dp * stage;
	int64_t node = place * l->c->tp / l->p->devices_per_node;

	return l->at.node ? l->at.node[node] : node;
}

static double element(const struct amp_problem *p, int64_t from, int64_t to)
{
	return 1 / (from == to ? p->inside[from] : fmin(p->between[from], p->between[to]));
}

static double ring_element(const struct lay *l, int64_t stage)
{
	int64_t dp = l->c->dp;
	double slowest = 0;

	for (int64_t k = l->p->last_hop ? dp - 1 : 0; k < dp; k++)
		slowest = fmax(slowest, element(l->p, node_of(l, k, stage), node_of(l, (k + 1) % dp, stage)));
	return slowest;
}

void amp_wires_free(struct amp_wires *w)
{
	free(w->cut);
	free(w->reduce);
	*w = (struct amp_wires){0};
}

int amp_wires_of(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_placement *at,
                 struct amp_wires *out)
{
	struct lay l = {p, c, at ? *at : (struct amp_placement){0}};

	*out = (struct amp_wires){calloc((size_t)c->pp, sizeof(*out->cut)),
	                          calloc((size_t)c->pp, sizeof(*out->reduce))};
	if (!out->cut || !out->reduce) {
		amp_wires_free(out);
		return SB_ENOMEM;
	}
	for (int64_t j = 0; j < c->pp; j++) {
		out->reduce[j] = 2 * (double)(c->dp - 1) / (double)c->dp * ring_element(&l, j);
		for (int64_t i = 0; j + 1 < c->pp && i < c->dp; i++)
			out->cut[j] += element(p, node_of(&l, i, j), node_of(&l, i, j + 1)) / (double)c->dp;
	}
	return SB_OK;
}

/* The slowest stage's, seconds. */
static double all_reduce(const struct amp_problem *p, const struct amp_candidate *c,
                         const struct amp_wires *w, const int64_t *stages)
{
	double slowest = 0;
	int64_t next = 0;

	for (int64_t j = 0; j < c->pp; j++) {
		double parameters = 0, table = 0;

		for (int64_t i = 0; i < stages[j]; i++, next++) {
			parameters += p->layer[next].parameters;
			table = fmax(table, p->layer[next].table);
		}
		slowest = fmax(slowest, (parameters + table) / (double)c->tp * w->reduce[j]);
	}
	return slowest;
}

/* The layers of one candidate as a chain to cut. */
struct chain {
	struct partition_problem problem;
	double *seconds, *sent, *weight;
};

static void chain_free(struct chain *x)
{
	free(x->seconds);
	free(x->sent);
	free(x->weight);
}

static int chain_of(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
                    struct chain *x)
{
	*x = (struct chain){.seconds = calloc((size_t)p->layers, sizeof(*x->seconds)),
	                    .sent = calloc((size_t)p->layers, sizeof(*x->sent)),
	                    .weight = calloc((size_t)p->layers, sizeof(*x->weight))};
	if (!x->seconds || !x->sent || !x->weight)
		return SB_ENOMEM;
	p->seconds(p->self, c->tp, c->micro_batch, x->seconds);
	for (int64_t l = 0; l < p->layers; l++) {
		const struct amp_layer *layer = &p->layer[l];

		x->weight[l] = (layer->parameters + layer->table) / (double)c->tp;
		x->sent[l] = (double)c->micro_batch * layer->sent / (double)(layer->sent_split ? c->tp : 1);
	}
	x->problem = (struct partition_problem){.layers = p->layers,
	                                        .stages = c->pp,
	                                        .micro_batches = c->micro_batches,
	                                        .seconds = x->seconds,
	                                        .cut_size = x->sent,
	                                        .cut_rate = w->cut,
	                                        .weight = x->weight,
	                                        .exchange_seconds = w->reduce,
	                                        .watch = p->watch};
	return SB_OK;
}
#define CHAIN_AUTO __attribute__((cleanup(chain_free))) struct chain

static void cost_of_chain(const struct amp_problem *p, const struct amp_candidate *c,
                          const struct amp_wires *w, const struct chain *x, const int64_t *stages,
                          struct amp_cost *out)
{
	struct partition_parts parts = partition_parts_of(&x->problem, stages);

	*out = (struct amp_cost){.pipeline = parts.pipeline,
	                         .sends = parts.cuts,
	                         .all_reduce = all_reduce(p, c, w, stages),
	                         .lower_bound = NAN};
	out->seconds = out->pipeline + out->sends + out->all_reduce;
}

int amp_cost_of(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
                const int64_t *stages, struct amp_cost *out)
{
	CHAIN_AUTO x = {0};
	int rc = chain_of(p, c, w, &x);

	if (rc == SB_OK)
		cost_of_chain(p, c, w, &x, stages, out);
	return rc;
}

double amp_least(const struct amp_problem *p, const struct amp_candidate *c, double *room)
{
	double all = 0, longest = 0;

	p->seconds(p->self, c->tp, c->micro_batch, room);
	for (int64_t l = 0; l < p->layers; l++) {
		all += room[l];
		longest = fmax(longest, room[l]);
	}
	return (double)(c->micro_batches - 1) * fmax(longest, all / (double)c->pp) + all;
}

/* A stage's bytes cost as much to work out as so many cells of the search for a cut. */
#define BYTES_STEPS 16

/* Which layers each stage can hold within so many bytes, as partition_problem asks for it. Both ends of what
 * a stage holds only move forward. */
static void earliest_of(const struct amp_problem *p, const struct amp_candidate *c, double most,
                        int64_t *effort, int16_t *earliest)
{
	bool stopped = false;

	for (int64_t j = 0; j < c->pp; j++) {
		int16_t *row = earliest + j * (p->layers + 1);

		stopped = stopped || sb_stopped(p->watch);
		row[0] = 0;
		for (int64_t i = 1; i <= p->layers; i++) {
			row[i] = row[i - 1];
			while (!stopped && row[i] < i && p->bytes(p->self, j, row[i], i) > most)
				row[i]++;
		}
	}
	*effort -= 2 * BYTES_STEPS * c->pp * p->layers;
}

double amp_fullest_bytes(const struct amp_problem *p, const struct amp_candidate *c, const int64_t *stages)
{
	double most = 0;
	int64_t first = 0;

	for (int64_t j = 0; j < c->pp; first += stages[j++])
		most = fmax(most, p->bytes(p->self, j, first, first + stages[j]));
	return most;
}

static int cheapest_cut(const struct amp_problem *p, const struct amp_candidate *c, struct chain *x,
                        const struct amp_wires *w, int64_t *effort, int64_t *out_stages, struct amp_cost *out)
{
	struct partition cut;
	int rc = partition_least(&x->problem, *effort > 1 ? *effort : 1, out_stages, &cut, NULL);

	if (rc != SB_OK)
		return rc;
	*effort -= cut.steps;
	if (isfinite(cut.seconds))
		cost_of_chain(p, c, w, x, out_stages, out);
	else
		*out = (struct amp_cost){.seconds = INFINITY};
	out->lower_bound = cut.optimal ? out->seconds : fmin(out->seconds, cut.lower_bound);
	return SB_OK;
}

/* The cheapest cut does not fit: the cheapest of those that do. */
static int squeeze(const struct amp_problem *p, const struct amp_candidate *c, struct chain *x,
                   const struct amp_wires *w, int64_t *effort, int64_t *stages, struct amp_cost *io)
{
	size_t cells = (size_t)c->pp * ((size_t)p->layers + 1);
	int16_t *earliest;
	int rc;

	if (*effort < (int64_t)cells * 2 * BYTES_STEPS) {
		*io =
		    (struct amp_cost){.seconds = INFINITY, .lower_bound = io->lower_bound, .squeezed = true};
		return SB_OK;
	}
	earliest = malloc(cells * sizeof(*earliest));
	if (!earliest)
		return SB_ENOMEM;
	earliest_of(p, c, p->capacity, effort, earliest);
	x->problem.earliest = earliest;
	rc = cheapest_cut(p, c, x, w, effort, stages, io);
	io->squeezed = true;
	free(earliest);
	return rc;
}

int amp_cut(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
            int64_t *effort, int64_t *out_stages, struct amp_cost *out)
{
	CHAIN_AUTO x = {0};
	int rc = chain_of(p, c, w, &x);

	if (rc == SB_OK && c->micro_batches == 1) {
		partition_even(p->layers, c->pp, out_stages);
		cost_of_chain(p, c, w, &x, out_stages, out);
		out->lower_bound = out->seconds;
	} else if (rc == SB_OK) {
		rc = cheapest_cut(p, c, &x, w, effort, out_stages, out);
	}
	if (rc != SB_OK || !p->bytes || amp_fullest_bytes(p, c, out_stages) <= p->capacity)
		return rc;
	return squeeze(p, c, &x, w, effort, out_stages, out);
}

int amp_least_bytes(const struct amp_problem *p, const struct amp_candidate *c, int64_t *effort,
                    double *io_bytes)
{
	size_t cells = (size_t)c->pp * ((size_t)p->layers + 1);
	int16_t *earliest = malloc(cells * sizeof(*earliest));
	int64_t *stages = calloc((size_t)c->pp, sizeof(*stages));
	struct partition_problem chain = {.layers = p->layers, .stages = c->pp, .earliest = earliest};
	double low = 0, most = *io_bytes - 1;
	int rc = earliest && stages ? SB_OK : SB_ENOMEM;

	while (rc == SB_OK && most > low && *effort > 0 && !sb_stopped(p->watch)) {
		bool any;

		earliest_of(p, c, most, effort, earliest);
		rc = partition_any(&chain, stages, &any);
		if (any)
			*io_bytes = amp_fullest_bytes(p, c, stages);
		else
			low = most;
		most = fmin(*io_bytes - 1, low + (*io_bytes - low) / 2);
	}
	free(earliest);
	free(stages);
	return rc;
}
