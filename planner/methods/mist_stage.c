#include <math.h>

#include "planner/methods/mist.h"

#define WEIGHT_BYTES 2
#define OPTIMIZER_BYTES 12 /* master copy and two moments */

/* Where the ranks of a data-parallel group lie: over as many of the stage's
 * nodes as it can (Mist's rule). */
static void spread(const struct cluster *c, struct mist_shape *x)
{
	int64_t devices = x->dp * x->tp;
	int64_t nodes = devices > c->devices_per_node ? devices / c->devices_per_node : 1;

	x->nodes = x->dp > nodes ? nodes : x->dp;
	x->inside = x->dp > nodes ? x->dp / nodes : 1;
}

static struct strategy strategy_of(const struct mist_problem *p, const struct mist_shape *x, enum recompute r)
{
	struct strategy s = strategy_default(&p->cost->model, &p->cost->cluster);

	s.dp = x->dp;
	s.tp = x->tp;
	s.pp = x->stages;
	s.micro_batch = x->micro_batch;
	s.zero = 1;
	s.attention = p->attention;
	s.gradient_bytes = p->gradient_bytes;
	s.recompute = r;
	return s;
}

/* The tensor-parallel exchanges are alike in both passes. */
static void layer_times(const struct layer_time *t, struct mist_shape *x)
{
	double waits = t->parts[PART_TENSOR] / 2;

	x->exposed[0] = fmin(waits, t->forward);
	x->exposed[1] = fmin(waits, t->backward);
	x->compute[0] = t->forward - x->exposed[0];
	x->compute[1] = t->backward - x->exposed[1];
}

/* Embedding and head: sharded optimizer, nothing offloaded; gathered and
 * reduced once, in the open. */
static void ends(const struct mist_problem *p, const struct layer_costs *c, struct mist_shape *x)
{
	const double parameters[] = {c->memory.embedding_parameters, c->memory.head_parameters};
	const struct layer_time *times[] = {&c->embedding, &c->head};

	for (int i = 0; i < 2; i++) {
		double n = parameters[i];

		x->end_seconds[i] = times[i]->forward + times[i]->backward;
		x->end_once[i] =
		    mist_collective_seconds(&p->machine, MIST_GATHER, x->nodes, x->inside, WEIGHT_BYTES * n) +
		    mist_collective_seconds(&p->machine, MIST_SCATTER, x->nodes, x->inside,
		                            p->gradient_bytes * n);
		x->end_bytes[i] =
		    (WEIGHT_BYTES + p->gradient_bytes) * n + OPTIMIZER_BYTES * n / (double)x->dp;
	}
	x->end_kept = c->memory.first_stored;
	x->end_transient = c->memory.last_transient;
}

/* What Mist adds to all bytes for fragmentation and buffers that it does not
 * count. */
static double memory_factor(const struct mist_problem *p, const struct mist_shape *x)
{
	const struct model *m = &p->cost->model;
	double f =
	    1 + .005 * fmax(0, (double)m->hidden / 2048 - 1) + .045 * fmax(0, (double)m->seq_len / 2048 - 1);

	return f + (x->tp > 1 ? .04 : 0) + (x->micro_batch >= 4 ? .01 : 0) + (x->stages > 1 ? .025 : 0);
}

struct mist_shape mist_shape_of(const struct mist_problem *p, int64_t stages, const struct mist_stage *s,
                                int64_t micro_batches)
{
	const struct cost_problem *c = p->cost;
	struct mist_shape x = {.stages = stages,
	                       .micro_batch = s->micro_batch,
	                       .dp = s->dp,
	                       .tp = s->tp,
	                       .micro_batches = micro_batches};
	struct strategy plain = strategy_of(p, &x, RECOMPUTE_NONE),
	                checkpointed = strategy_of(p, &x, RECOMPUTE_FULL);
	struct groups g = groups_of(&c->network, &plain);
	struct layer_costs costs = layer_costs_of(c, &plain, &g);
	double n = costs.memory.dense_parameters[LAYER_DENSE];
	double output = 2 * (double)s->micro_batch * (double)c->model.seq_len * (double)c->model.hidden;

	spread(&c->cluster, &x);
	layer_times(&costs.layer[LAYER_DENSE], &x);
	x.full[MIST_WEIGHTS] = WEIGHT_BYTES * n;
	x.full[MIST_GRADIENTS] = p->gradient_bytes * n;
	x.full[MIST_OPTIMIZER] = OPTIMIZER_BYTES * n;
	x.kept[0] = layer_activation_bytes(&c->model, &plain, LAYER_DENSE);
	x.kept[1] = layer_activation_bytes(&c->model, &checkpointed, LAYER_DENSE);
	if (stages > 1)
		x.send =
		    2 * mist_send_seconds(&p->machine, s->dp * s->tp >= c->cluster.devices_per_node, output);
	ends(p, &costs, &x);
	x.factor = memory_factor(p, &x);
	x.capacity = (double)c->memory_bytes;
	x.context = c->constants.context_bytes;
	return x;
}

/* The transfers of a layer, seconds. */
struct transfers {
	double gather, scatter;
	double out[MIST_STATES], in[MIST_STATES]; /* of the offloaded share of a rank's part */
};

static double overlap(const struct mist_problem *p, double compute, double collective, double to_device,
                      double to_host)
{
	const double seconds[MIST_STREAMS] = {compute, collective, to_device, to_host};

	/* nothing beside the compute: most options of a stage */
	if (collective <= 0 && to_device <= 0 && to_host <= 0)
		return compute;
	return mist_overlap_seconds(p->machine.factors, seconds);
}

/* The four passes of a layer (systems 3.2): the first forward brings the
 * optimizer's states and gathers what it changed; the last backward reduces. */
static void layer_passes(const struct mist_problem *p, const struct mist_shape *x, const struct mist_stage *s,
                         const struct transfers *t, int checkpointed, struct mist_layer *out)
{
	double share = s->offload[MIST_ACTIVATIONS] * x->kept[checkpointed];
	double act_out = mist_swap_seconds(&p->machine.to_host, share);
	double act_in = mist_swap_seconds(&p->machine.to_device, share);
	double gather = s->shard[MIST_WEIGHTS] ? t->gather : 0;
	double back = x->compute[1] + (checkpointed ? x->compute[0] : 0);
	double in = t->in[MIST_WEIGHTS] + t->in[MIST_GRADIENTS] + act_in;
	double exposed = x->exposed[0] + x->exposed[1] + (checkpointed ? x->exposed[0] : 0);
	double first = overlap(p, x->compute[0], s->shard[MIST_OPTIMIZER] ? t->gather : 0,
	                       t->in[MIST_OPTIMIZER] + t->in[MIST_GRADIENTS],
	                       t->out[MIST_OPTIMIZER] + t->out[MIST_WEIGHTS] + act_out);
	double last = overlap(p, back, gather + t->scatter, in, t->out[MIST_GRADIENTS]);
	double forward = overlap(p, x->compute[0], gather, t->in[MIST_WEIGHTS], act_out);
	double backward = overlap(p, back, gather + (s->shard[MIST_GRADIENTS] ? t->scatter : 0), in,
	                          t->out[MIST_GRADIENTS]);

	/* a single micro-batch is the first and the last */
	out->stable[checkpointed] = (x->micro_batches > 1 ? forward + backward : first + last) + exposed;
	out->delta[checkpointed] = x->micro_batches > 1 ? first + last - forward - backward : 0;
}

static struct transfers transfers_of(const struct mist_problem *p, const struct mist_shape *x,
                                     const struct mist_stage *s)
{
	const struct mist_machine *m = &p->machine;
	enum mist_collective reduce = s->shard[MIST_OPTIMIZER] ? MIST_SCATTER : MIST_REDUCE;
	struct transfers t = {
	    .gather = mist_collective_seconds(m, MIST_GATHER, x->nodes, x->inside, x->full[MIST_WEIGHTS]),
	    .scatter = mist_collective_seconds(m, reduce, x->nodes, x->inside, x->full[MIST_GRADIENTS])};

	for (int k = 0; k < MIST_STATES; k++) {
		double bytes = s->offload[k] * x->full[k] / (s->shard[k] ? (double)x->dp : 1);

		t.out[k] = mist_swap_seconds(&m->to_host, bytes);
		t.in[k] = mist_swap_seconds(&m->to_device, bytes);
	}
	return t;
}

struct mist_layer mist_layer_of(const struct mist_problem *p, const struct mist_shape *x,
                                const struct mist_stage *s)
{
	static const double swapped[] = {.025, .025, .03, .04};
	struct transfers t = transfers_of(p, x, s);
	struct mist_layer l = {.kept_share = 1 - s->offload[MIST_ACTIVATIONS], .factor = x->factor};

	for (int c = 0; c < 2; c++)
		layer_passes(p, x, s, &t, c, &l);
	for (int k = 0; k < MIST_STATES; k++)
		l.states += x->full[k] / (s->shard[k] ? (double)x->dp : 1) * (1 - s->offload[k]);
	for (int k = 0; k <= MIST_ACTIVATIONS; k++)
		l.factor += s->offload[k] > 0 ? swapped[k] : 0;
	for (int k = 0; k < MIST_OPTIMIZER; k++) {
		l.factor += s->shard[k] ? .025 : 0;
		if (s->shard[k] || s->offload[k] > 0) /* the layer that works and the one that comes */
			l.buffers += 2 * x->full[k];
	}
	l.buffers += (1 - l.kept_share) * x->kept[0];
	return l;
}

static double in_flight(const struct mist_shape *x, int64_t i)
{
	return (double)(x->stages - i < x->micro_batches ? x->stages - i : x->micro_batches);
}

double mist_stage_bytes(const struct mist_shape *x, const struct mist_layer *l, int64_t i, int64_t layers,
                        int64_t checkpointed)
{
	double n = (double)layers, c = (double)checkpointed;
	double bytes = n * l->states + l->buffers +
	               in_flight(x, i) * l->kept_share * ((n - c) * x->kept[0] + c * x->kept[1]);

	if (checkpointed > 0) /* the layer that is run again */
		bytes += x->kept[0];
	if (i == 0)
		bytes += x->end_bytes[0] + in_flight(x, i) * x->end_kept;
	if (i == x->stages - 1)
		bytes += x->end_bytes[1] + x->end_transient;
	return l->factor * bytes + x->context;
}

int64_t mist_least_checkpointed(const struct mist_shape *x, const struct mist_layer *l, int64_t i,
                                int64_t layers)
{
	double saves = l->factor * in_flight(x, i) * l->kept_share * (x->kept[0] - x->kept[1]);
	double over = mist_stage_bytes(x, l, i, layers, 1) - x->capacity, more;
	int64_t least;

	if (mist_stage_bytes(x, l, i, layers, 0) <= x->capacity)
		return 0;
	if (over <= 0)
		return 1;
	if (mist_stage_bytes(x, l, i, layers, layers) > x->capacity)
		return -1;
	more = saves > 0 ? fmin(ceil(over / saves), (double)(layers - 1)) : (double)(layers - 1);
	least = 1 + (int64_t)more;
	/* rounding */
	if (mist_stage_bytes(x, l, i, layers, least - 1) <= x->capacity)
		return least - 1;
	return mist_stage_bytes(x, l, i, layers, least) <= x->capacity ? least : least + 1;
}

struct stage_option mist_stage_seconds(const struct mist_shape *x, const struct mist_layer *l, int64_t i,
                                       int64_t layers, int64_t checkpointed)
{
	double n = (double)(layers - checkpointed), c = (double)checkpointed;
	struct stage_option o = {n * l->stable[0] + c * l->stable[1] + x->send,
	                         n * l->delta[0] + c * l->delta[1]};

	for (int end = 0; end < 2; end++) {
		if (i == (end == 0 ? 0 : x->stages - 1)) {
			o.stable += x->end_seconds[end];
			o.delta += x->end_once[end];
		}
	}
	return o;
}
