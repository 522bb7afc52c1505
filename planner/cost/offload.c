#include "planner/cost/offload.h"

#include <math.h>

#define HOST_ADAM_BYTES 28.0 /* cost-model section 11 */

int offload_check(const struct cluster *c, const struct offload *o, struct sb_error *err)
{
	if (!offload_any(o))
		return SB_OK;
	if (c->host_link_bytes_per_second <= 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "unknown_host", "host_link_bytes_per_second",
		                     "is needed for offload: bytes per second between a device and its host, "
		                     "one direction");
	if (c->host_memory_bytes <= 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "unknown_host", "host_memory_bytes",
		                     "is needed for offload: the host memory of a node");
	return SB_OK;
}

struct offload offload_of(const double share[OFFLOADABLES])
{
	return (struct offload){share[OFFLOAD_WEIGHTS], share[OFFLOAD_GRADIENTS], share[OFFLOAD_OPTIMIZER],
	                        share[OFFLOAD_ACTIVATIONS]};
}

struct offload_room offload_room_of(const struct strategy *s, double layer_stored, double layer_parameters,
                                    const struct memory_parts *kept)
{
	/* ZeRO 3 has its two gathered layers, and ZeRO 2 the gradients being reduced, in any case. */
	return (struct offload_room){.bytes = {kept->weights, kept->gradients, kept->optimizer,
	                                       fmax(0, kept->activations - 2 * layer_stored)},
	                             .buffers = {s->zero < 3 ? 2 * 2 * layer_parameters : 0,
	                                         s->zero < 2 ? 2 * 4 * layer_parameters : 0}};
}

double offload_memory(const struct offload *o, const struct offload_room *room, struct memory_parts *io)
{
	const double share[] = {o->weights, o->gradients, o->optimizer, o->activations};
	double *const part[] = {&io->weights, &io->gradients, &io->optimizer, &io->activations};
	double buffers = 0;

	for (int i = 0; i < OFFLOADABLES; i++) {
		double moved = share[i] * room->bytes[i];

		*part[i] -= moved;
		io->host += moved;
		buffers += fmin(moved, room->buffers[i]);
	}
	return buffers;
}

double offload_node_bytes(const struct cluster *c, const struct strategy *s, const struct memory_parts *peak)
{
	return peak->host * (double)strategy_node_devices(s, c);
}

/* Section 9 of two and more streams: the longest, slowed down by all others. */
static double together(const struct cost_problem *p, const double *seconds, int count)
{
	double longest = 0, sum = 0;

	for (int i = 0; i < count; i++) {
		longest = fmax(longest, seconds[i]);
		sum += seconds[i];
	}
	return longest + (p->constants.overlap_slowdown - 1) * (sum - longest);
}

static double link_seconds(const struct cost_problem *p, const struct strategy *s, double bytes)
{
	double sharing =
	    fmin((double)p->cluster.host_link_devices, (double)strategy_node_devices(s, &p->cluster));

	return bytes * fmax(1, sharing) / p->cluster.host_link_bytes_per_second;
}

struct offload_passes offload_pass_seconds(const struct cost_problem *p, const struct strategy *s,
                                           const struct offload_load *x)
{
	const struct offload *o = &s->offload;
	double weights = link_seconds(p, s, o->weights * x->weights);
	double gradients = link_seconds(p, s, o->gradients * x->gradients);
	double activations = link_seconds(p, s, o->activations * x->activations);
	double again = strategy_micro_batches(s, p->sequences) > 1 ? gradients : 0;

	return (struct offload_passes){
	    together(p, (const double[]){weights, activations}, 2),
	    together(p, (const double[]){weights + activations + again, gradients}, 2)};
}

double offload_update_seconds(const struct cost_problem *p, const struct strategy *s,
                              const struct offload_load *x, double device)
{
	const struct offload *o = &s->offload;
	/* Weights whose update and whose home are both on the host never travel; those that are gathered over
	 * the replicas do. */
	bool whole = s->zero >= 3 || s->dp * s->cp == 1;
	double settled = whole ? fmin(o->optimizer, o->weights) : 0, bandwidth, in, out, seconds;

	if (p->cluster.host_memory_bandwidth <= 0) {
		double states = OFFLOAD_STATE_BYTES * o->optimizer * x->own;

		in = link_seconds(p, s, states + 4 * o->gradients * x->own);
		out = link_seconds(p, s, states + o->weights * x->weights);
		return together(p, (const double[]){device, in, out}, 3);
	}
	bandwidth = p->cluster.host_memory_bandwidth / (double)strategy_node_devices(s, &p->cluster);
	in = link_seconds(
	    p, s, 2 * x->own * (o->optimizer - settled) + 4 * x->own * fmax(0, o->gradients - o->optimizer));
	out = link_seconds(p, s,
	                   s->gradient_bytes * x->own * fmax(0, o->optimizer - o->gradients) +
	                       (o->weights - settled) * x->weights);
	seconds = together(p,
	                   (const double[]){(1 - o->optimizer) * device,
	                                    HOST_ADAM_BYTES * o->optimizer * x->own / bandwidth, in, out},
	                   4);
	return fmax(seconds, device);
}
