#include "planner/strategy/cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "planner/cost/offload.h"
#include "planner/cost/overlap.h"
#include "planner/strategy/exchange.h"

#define ADAM_BYTES 30 /* read gradient, two moments and master; write the last three and the 16-bit copy */

double stage_send_bytes(const struct cost_problem *p, const struct strategy *s)
{
	double rows = (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp;

	return 2 * rows * (double)p->model.hidden / (double)s->tp;
}

double stage_send_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g)
{
	double bytes = stage_send_bytes(p, s), gather = 0;

	if (!s->sequence_parallel && s->pp > 1)
		gather = all_gather_seconds(&p->network, &g->tp, bytes * (double)s->tp);
	return gather + send_seconds(&p->network, &g->pp, bytes);
}

struct layer_costs layer_work_of(const struct cost_problem *p, const struct strategy *s,
                                 const struct groups *g)
{
	struct layer_costs c = {0};

	for (int k = 0; k < LAYER_KINDS; k++) {
		if (model_layers_of(&p->model, p->model.layers, (enum layer_kind)k) > 0)
			c.layer[k] = layer_seconds(p, s, g, (enum layer_kind)k);
	}
	c.embedding = embedding_seconds(p, s, g);
	c.head = head_seconds(p, s, g);
	return c;
}

struct layer_costs layer_costs_of(const struct cost_problem *p, const struct strategy *s,
                                  const struct groups *g)
{
	struct layer_costs c = layer_work_of(p, s, g);

	memcpy(c.kept, c.layer, sizeof(c.kept));
	for (int k = 0; k < LAYER_KINDS && s->recompute != RECOMPUTE_NONE; k++) {
		struct strategy kept = *s;

		kept.recompute = RECOMPUTE_NONE;
		if (model_layers_of(&p->model, p->model.layers, (enum layer_kind)k) > 0)
			c.kept[k] = layer_seconds(p, &kept, g, (enum layer_kind)k);
	}
	c.memory = memory_model_of(p, s);
	c.send = stage_send_seconds(p, s, g);
	return c;
}

/* A parameter's bytes in the other passes of a step over what the device updates, as Megatron-LM's
 * MixedPrecisionOptimizer makes them one by one: gradients of 16 bit are copied to 32 (6), those of a scaled
 * loss divided by its scale (8), the norm reads them (4), and the copy to 16 bit reads the master again (4).
 */
static double beside_adam_bytes(const struct cost_problem *p, const struct strategy *s)
{
	return 4 + 4 + (s->gradient_bytes == 2 ? 6 : 0) + (p->model.float16 ? 8 : 0);
}

/* What accumulates the gradients is zeroed once. */
static void update(const struct cost_problem *p, const struct strategy *s, struct parameters_held n,
                   const struct offload_load *x, struct stage_time *t)
{
	double all = n.dense + n.expert, own = s->zero >= 1 ? shard_of(s, &n) : all;
	double accumulated = s->zero >= 2 ? own : all;
	double bandwidth = p->cluster.device.memory_bandwidth * p->constants.memory_share;
	double device = ADAM_BYTES * own / bandwidth;

	t->optimizer = ((ADAM_BYTES + beside_adam_bytes(p, s)) * own + 4 * accumulated) / bandwidth;
	if (!x)
		return;
	device = offload_update_seconds(p, s, x, device) - device;
	t->optimizer += device;
	t->offload_update = fmax(0, device);
}

static struct offload_load load_of(const struct cost_problem *p, const struct layer_costs *l,
                                   const struct strategy *s, const struct stage_run *run)
{
	const struct memory_parts states = stage_states(p, &l->memory, s, run);

	return (struct offload_load){.weights = states.weights,
	                             .gradients = states.gradients,
	                             .activations = stage_stored(&l->memory, run),
	                             .own = states.optimizer / OFFLOAD_STATE_BYTES};
}

/* A pass with what runs under it: what goes to the host and comes back has the window that the exchange
 * leaves. Returns what the host adds. */
static double run_under(const struct cost_problem *p, const struct strategy *s, double exchange, double host,
                        double *io_pass)
{
	double left = s->overlap_gradients ? fmax(0, *io_pass - exchange) : *io_pass;
	double waits = overlapped_seconds(&p->constants, host, left);

	*io_pass += exposed_seconds(p, s, exchange, *io_pass) + waits;
	return waits;
}

/* ZeRO-3 gathers each layer's weights in both passes and reduces its gradients, under the neighbour's
 * compute; what only reduces them gathers nothing. What goes to the host and comes back shares that window.
 */
static void add_sharded_weights(const struct cost_problem *p, const struct strategy *s,
                                const struct groups *g, struct parameters_held n, struct offload_passes host,
                                struct stage_time *t)
{
	double gather = 0, back;

	if (reduces_each(p, s))
		gather = exchange_all_gather(&g->dense, 2 * n.dense) +
		         exchange_all_gather(&g->experts, 2 * n.expert);
	/* The second gather, and the reduction of the gradients. */
	back = ((s->zero >= 3 ? 1 : 0) + s->gradient_bytes / 2.0) * gather;
	if (s->zero < 3)
		gather = 0;
	t->offload = run_under(p, s, gather, host.forward, &t->forward);
	t->offload += run_under(p, s, back, host.backward, &t->backward);
}

/* Of layers alone. */
static struct pass_time layers_seconds(const struct layer_costs *l, const int64_t layers[LAYER_KINDS],
                                       const int64_t kept[LAYER_KINDS])
{
	struct pass_time t = {0};

	for (int k = 0; k < LAYER_KINDS; k++) {
		t.forward += (double)layers[k] * l->layer[k].forward;
		t.backward += (double)(layers[k] - kept[k]) * l->layer[k].backward +
		              (double)kept[k] * l->kept[k].backward;
	}
	return t;
}

static double share_of(double part, double whole, double parts)
{
	return whole > 0 ? part / whole : 1 / parts;
}

struct pass_time chunk_seconds(const struct cost_problem *p, const struct layer_costs *l,
                               const struct strategy *s, const struct stage_run *run,
                               const struct stage_time *t, int64_t j)
{
	double v = (double)s->vpp, send = t->sends / (2 * v);
	struct pass_time all, own;
	struct chunk c;

	if (!run->uneven && run->longer == 0)
		return (struct pass_time){t->forward / v, t->backward / v};
	c = strategy_chunk(&p->model, s, run, j);
	own = layers_seconds(l, c.layers, c.kept);
	all = layers_seconds(l, run->layers, run->kept);
	return (struct pass_time){send + (t->forward - v * send) * share_of(own.forward, all.forward, v),
	                          send + (t->backward - v * send) * share_of(own.backward, all.backward, v)};
}

double alone_seconds(const struct stage_time *t)
{
	return t->alone_sends + (t->paired ? t->alone_expert : 0);
}

/* Blocking sends take the stage's time, once each way for every chunk; else each runs under one chunk's
 * compute that hides nothing else. */
static void add_sends(const struct cost_problem *p, const struct strategy *s, double sends, double free,
                      struct stage_time *t)
{
	double won = overlap_between_stages(s) ? overlap_won(&p->constants, fmin(sends, free)) : 0;

	t->alone_sends = 2 * won;
	t->sends = 2 * (sends - won);
	t->forward += sends - won;
	t->backward += sends - won;
}

struct stage_time stage_seconds(const struct cost_problem *p, const struct layer_costs *l,
                                const struct strategy *s, const struct groups *g, const struct stage_run *run)
{
	struct pass_time layers = layers_seconds(l, run->layers, run->kept);
	struct stage_time t = {.forward = layers.forward, .backward = layers.backward};
	struct parameters_held n = stage_parameters(p, &l->memory, s, run);
	bool first = run->first == 0, last = run->first + run->count == s->pp;
	double sends = s->pp > 1 ? (double)s->vpp * l->send : 0, free = 0;
	bool away = offload_any(&s->offload);
	const struct offload_load load = away ? load_of(p, l, s, run) : (struct offload_load){0};
	struct offload_passes host = {0}, window;

	for (int k = 0; k < LAYER_KINDS; k++) {
		t.alone_expert += 2 * (double)run->layers[k] * l->layer[k].alone;
		t.weight += (double)run->layers[k] * l->layer[k].weight;
		free += (double)run->layers[k] * l->layer[k].free;
	}
	if (away)
		host = offload_pass_seconds(p, s, &load);
	t.taken = reduces_each(p, s) || host.forward + host.backward > 0;
	t.paired = overlap_in_pairs(s) && !t.taken;
	/* What comes once a step runs beside passes that have no partner. */
	t.forward += t.alone_expert / 2;
	t.backward += t.alone_expert / 2;
	/* What the host's transfers leave of it: each window hides one exchange. */
	window.forward = fmax(0, t.forward - host.forward) + sends;
	window.backward = fmax(0, t.backward - host.backward) + sends;
	if (reduces_each(p, s) || away)
		add_sharded_weights(p, s, g, n, host, &t);
	if (t.paired) {
		t.forward -= t.alone_expert / 2;
		t.backward -= t.alone_expert / 2;
	}
	add_sends(p, s, sends, t.taken ? 0 : free, &t);
	if (first) {
		t.head_forward += l->embedding.forward;
		t.head_backward += l->embedding.backward;
	}
	if (last) {
		t.head_forward += l->head.forward;
		t.head_backward += l->head.backward;
		t.weight += l->head.weight;
	}
	window.forward += t.head_forward;
	window.backward += t.head_backward;
	t.exchange = exchange_seconds(p, &l->memory, s, g, run, window);
	update(p, s, n, away ? &load : NULL, &t);
	return t;
}

/* Before the update all devices agree on the norm of the gradients and, in float16, on whether one
 * overflowed: a tree of a few bytes each (cost-model sections 4 and 7). */
static double agree_seconds(const struct cost_problem *p, struct ranks_used used)
{
	const struct network *n = &p->network;
	double hop = 0;

	for (int l = 0;
	     l < n->levels && (l == 0 || network_domain(n, l - 1, used.node_devices) < used.devices); l++)
		hop = fmax(hop, n->latency[l]);
	return used.devices > 1
	           ? (p->model.float16 ? 2 : 1) * (n->start + 2 * log2((double)used.devices) * hop)
	           : 0;
}

struct outside outside_of(const struct cost_problem *p, struct ranks_used used)
{
	double doublings = used.devices > 8 ? log2((double)used.devices / 8) : 0;

	return (struct outside){1 + p->constants.straggler * doublings,
	                        agree_seconds(p, used) + p->constants.step_seconds};
}

double cost_outside(const struct cost_problem *p, const struct strategy *s, double seconds)
{
	struct outside o = outside_of(p, strategy_ranks(s));

	return seconds * o.factor + o.once;
}

double bound_seconds(const struct cost_problem *p, const struct layer_costs *l, const struct strategy *s,
                     const struct groups *g, const struct stage_run *runs, int64_t count,
                     int64_t micro_batches)
{
	double reach = 0, reach_both = 0, best = 0, optimizer = 0, alone = 0;
	double m = (double)micro_batches;

	for (int64_t r = 0; r < count; r++) {
		struct stage_time t = stage_seconds(p, l, s, g, &runs[r]);
		struct pass_time first = chunk_seconds(p, l, s, &runs[r], &t, 0);
		double skip = (double)(runs[r].count - 1);
		double work = m * stage_work(&t);
		double f = first.forward, b = first.backward;

		if (runs[r].first == 0) { /* the embedding sits in the first chunk */
			f += t.head_forward;
			b += t.head_backward;
		}
		/* The last stage of the run waits longest. */
		best = fmax(best, reach_both + skip * (f + b) + work);
		best = fmax(best, reach + skip * f + work + t.exchange);
		reach += (double)runs[r].count * f;
		reach_both += (double)runs[r].count * (f + b);
		alone += (double)runs[r].count * alone_seconds(&t);
		optimizer = fmax(optimizer, t.optimizer);
	}
	return cost_outside(p, s, best + alone + optimizer);
}

/* As long as vpp of the longest chunk of the run's stages. */
static struct pass_time longest_chunks(const struct cost_problem *p, const struct layer_costs *l,
                                       const struct strategy *s, const struct stage_run *run,
                                       const struct stage_time *t)
{
	struct pass_time longest = {0};

	/* The last chunk where they are not uneven. */
	for (int64_t j = run->uneven ? 0 : s->vpp - 1; j < s->vpp; j++) {
		struct pass_time one = chunk_seconds(p, l, s, run, t, j);

		longest.forward = fmax(longest.forward, (double)s->vpp * one.forward);
		longest.backward = fmax(longest.backward, (double)s->vpp * one.backward);
	}
	return longest;
}

double upper_seconds(const struct cost_problem *p, const struct layer_costs *l, const struct strategy *s,
                     const struct groups *g, const struct stage_run *runs, int64_t count,
                     int64_t micro_batches)
{
	double m = (double)micro_batches, v = (double)s->vpp;
	double sum = 0, slowest = 0, forward = 0, backward = 0, ends = 0, exchange = 0, optimizer = 0;
	double alone = 0, passes;

	for (int64_t r = 0; r < count; r++) {
		struct stage_time t = stage_seconds(p, l, s, g, &runs[r]);
		struct pass_time longest = longest_chunks(p, l, s, &runs[r], &t);
		double end = t.head_forward + t.head_backward, work = t.forward + t.backward + end;

		sum += (double)runs[r].count * work;
		slowest = fmax(slowest, work);
		forward = fmax(forward, longest.forward);
		backward = fmax(backward, longest.backward);
		ends += end;
		exchange = fmax(exchange, t.exchange);
		optimizer = fmax(optimizer, t.optimizer);
		alone += (double)runs[r].count * alone_seconds(&t);
	}
	passes = s->vpp == 1 ? sum + (m - 1) * slowest
	                     : (m + ((double)s->pp - 1) / v) * (forward + backward) + m * ends;
	return cost_outside(p, s, passes + exchange + alone + optimizer);
}

struct memory_parts peak_memory(const struct cost_problem *p, const struct layer_costs *l,
                                const struct strategy *s, const struct stage_run *runs, int64_t count,
                                int64_t micro_batches, int64_t *out_stage)
{
	struct memory_parts peak = {0};
	double host = 0;

	for (int64_t r = 0; r < count; r++) {
		struct memory_parts m = stage_memory(p, &l->memory, s, &runs[r], micro_batches);

		host = fmax(host, m.host);
		if (r == 0 || memory_total(&m) > memory_total(&peak)) {
			peak = m;
			*out_stage = runs[r].first;
		}
	}
	peak.host = host;
	return peak;
}
