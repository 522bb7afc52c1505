#include "planner/pipeline/weight_pipeline.h"

#include <math.h>

#define ELEMENT_BYTES 2 /* of weights, activations and of gradients on the way */

int64_t weight_rank(int64_t i, int64_t ranks, int64_t groups)
{
	return i % groups * (ranks / groups) + i / groups;
}

int64_t weight_layers(int64_t i, int64_t layers, int64_t weights, int64_t *out_first)
{
	int64_t each = layers / weights, more = layers % weights;

	*out_first = i * each + (i < more ? i : more);
	return each + (i < more);
}

/* Matrices of all layers, elements. */
static double layer_elements(const struct model *m)
{
	double sum = 0;

	for (int k = 0; k < LAYER_KINDS; k++) {
		int64_t n = model_layers_of(m, m->layers, (enum layer_kind)k);
		struct parameters x;

		if (n == 0)
			continue;
		x = model_layer_parameters(m, (enum layer_kind)k);
		sum += (double)n * (double)(x.tensor + x.expert);
	}
	return sum;
}

static double bubble_of(enum weight_way way, double ranks, double groups, double micro_batches)
{
	double each = micro_batches / ranks;

	switch (way) {
	case WAY_FSDP: return 0;
	case WAY_TAWPIPE: return ((groups - 1) * ranks + each) / ((3 * each + groups - 1) * ranks + each);
	default: return (ranks - 1) / (micro_batches + ranks - 1);
	}
}

/* Of one layer and one round. */
static double elements_of(enum weight_way way, double ranks, double tokens, double hidden, double w)
{
	switch (way) {
	case WAY_1F1B: return 2 * ranks * tokens * hidden;
	case WAY_FSDP: return 3 * w * (ranks - 1) / ranks;
	case WAY_WEIPIPE: return 3 * w;
	default: return 2 * w;
	}
}

static struct strategy strategy_of(const struct cost_problem *p, enum weight_way way, int64_t micro_batch,
                                   enum recompute recompute)
{
	struct strategy s = strategy_default(&p->model, &p->cluster);
	int64_t ranks = cluster_devices(&p->cluster);

	s.micro_batch = micro_batch;
	s.recompute = recompute;
	s.gradient_bytes = ELEMENT_BYTES;
	if (way == WAY_1F1B) {
		s.pp = ranks;
	} else {
		s.dp = ranks;
		s.zero = 3;
		s.overlap_gradients = true;
	}
	return s;
}

/* Weights that are passed on from rank to rank under the compute of each. The data parallel part is that of
 * FSDP; only the exchange and its buffers differ. */
static void cost_passing(const struct cost_problem *p, enum weight_way way, const struct weight_comparison *x,
                         const struct strategy_cost *sharded, struct weight_cost *out)
{
	struct strategy s = out->strategy;
	struct groups g = groups_of(&p->network, &s);
	struct layer_costs l = layer_costs_of(p, &s, &g);
	struct stage_run run;
	struct stage_time t;
	double layers = (double)p->model.layers, rounds = (double)strategy_micro_batches(&s, p->sequences);
	double each = ceil(layers / (double)x->weights), round, both;

	s.zero = 1; /* what remains is the compute */
	(void)strategy_runs(&p->model, &s, &run);
	t = stage_seconds(p, &l, &s, &g, &run);
	round = stage_work(&t);
	both = layers * send_seconds(&p->network, &g.dp, ELEMENT_BYTES * out->elements);
	out->compute_seconds = rounds * round;
	out->network_seconds = rounds * both;
	out->sent_bytes = rounds * layers * ELEMENT_BYTES * out->elements;
	round = fmax(round, both) + (p->constants.overlap_slowdown - 1) * fmin(round, both);
	out->step_seconds = cost_outside(p, &s, rounds * round / (1 - out->bubble_share) + t.optimizer);
	out->memory = sharded->memory;
	/* instead of FSDP's two gathered layers: two weights in transit, or one */
	out->memory.workspace += p->constants.fragmentation * ELEMENT_BYTES * l.memory.largest_layer *
	                         ((way == WAY_WEIPIPE ? 2 : 1) * each - 2);
}

static void cost_strategy(const struct cost_problem *p, enum weight_way way, const struct strategy_cost *c,
                          struct weight_cost *out)
{
	const struct breakdown_seconds *b = &c->breakdown;
	const struct strategy *s = &out->strategy;
	struct groups g = groups_of(&p->network, s);
	double m = (double)strategy_micro_batches(s, p->sequences);
	double bytes = ELEMENT_BYTES * (double)p->model.layers * out->elements;

	out->compute_seconds = b->compute + b->recompute;
	out->step_seconds = c->step_seconds;
	out->memory = c->memory;
	if (way == WAY_1F1B) {
		out->network_seconds = b->pipeline_send;
		out->sent_bytes = 2 * m * ELEMENT_BYTES * (double)(s->micro_batch * p->model.seq_len) *
		                  (double)p->model.hidden;
		return;
	}
	out->network_seconds =
	    3 * m * all_gather_seconds(&p->network, &g.dp, ELEMENT_BYTES * layer_elements(&p->model));
	out->sent_bytes = m * bytes;
}

/* One way with one kind of recomputing. */
static int cost_way(const struct cost_problem *p, enum weight_way way, const struct weight_comparison *x,
                    int64_t micro_batch, enum recompute recompute, struct weight_cost *out,
                    struct sb_error *err)
{
	struct weight_cost c = {.strategy = strategy_of(p, way, micro_batch, recompute)};
	double ranks = (double)x->ranks, n = (double)p->sequences / (double)micro_batch;
	struct strategy_cost own;
	int rc;

	c.misfit = strategy_fit(&p->model, &p->cluster, &c.strategy, p->sequences);
	*out = c;
	if (c.misfit != FIT_OK)
		return SB_OK;
	rc = strategy_cost(p, &c.strategy, &own, err);
	if (rc != SB_OK)
		return rc;
	c.elements = elements_of(way, ranks, x->tokens, (double)p->model.hidden,
	                         layer_elements(&p->model) / (double)p->model.layers);
	c.bubble_share = bubble_of(way, ranks, (double)x->groups, n);
	if (way == WAY_1F1B || way == WAY_FSDP)
		cost_strategy(p, way, &own, &c);
	else
		cost_passing(p, way, x, &own, &c);
	c.tokens_per_second = (double)p->sequences * (double)p->model.seq_len / c.step_seconds;
	c.fits = memory_total(&c.memory) <= (double)p->memory_bytes;
	*out = c;
	return SB_OK;
}

/* What fits before what does not; then the faster, or of two that do not fit the leaner. */
static bool is_better(const struct weight_cost *a, const struct weight_cost *b)
{
	if (a->fits != b->fits)
		return a->fits;
	return a->fits ? a->step_seconds < b->step_seconds
	               : memory_total(&a->memory) < memory_total(&b->memory);
}

/* The cluster as all devices of each node use the network at once. */
static struct cost_problem sharing(const struct cost_problem *p)
{
	struct cost_problem q = *p;

	q.cluster.links[LINK_CLUSTER].bytes_per_second /= (double)q.cluster.devices_per_node;
	q.network = network_of(&q.cluster, &q.constants);
	return q;
}

int weight_compare(const struct cost_problem *p, const struct weight_options *o,
                   struct weight_comparison *out, struct sb_error *err)
{
	int first = o->recompute == RECOMPUTES ? RECOMPUTE_NONE : (int)o->recompute;
	int last = o->recompute == RECOMPUTES ? RECOMPUTE_FULL : (int)o->recompute, rc = SB_OK;
	int64_t ranks = cluster_devices(&p->cluster);
	struct cost_problem shared = o->shared_nic ? sharing(p) : *p;

	*out = (struct weight_comparison){.ranks = ranks,
	                                  .groups = p->cluster.nodes,
	                                  .weights = ranks < p->model.layers ? ranks : p->model.layers,
	                                  .tokens = (double)o->micro_batch * (double)p->model.seq_len,
	                                  .threshold_tokens = layer_elements(&p->model) /
	                                                      (double)p->model.layers /
	                                                      ((double)ranks * (double)p->model.hidden)};
	for (int way = 0; rc == SB_OK && way < WEIGHT_WAYS; way++) {
		for (int k = first; rc == SB_OK && k <= last; k++) {
			struct weight_cost c;

			rc = cost_way(way == WAY_FSDP ? &shared : p, (enum weight_way)way, out,
			              o->micro_batch, (enum recompute)k, &c, err);
			if (rc == SB_OK && (k == first || is_better(&c, &out->way[way])))
				out->way[way] = c;
		}
	}
	return rc;
}
