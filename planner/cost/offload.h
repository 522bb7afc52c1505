#ifndef SB_PLANNER_COST_OFFLOAD_H
#define SB_PLANNER_COST_OFFLOAD_H
#include "planner/cost/memory.h"

/* Weights, gradients, optimizer states and activations that wait in host memory, by ratio. cost-model
 * section 11; the rules of overlap are those of its section 9. */

#define OFFLOAD_STATE_BYTES 12.0 /* master weight and two moments of Adam, 32 bit each */

static inline bool offload_any(const struct offload *o)
{
	return o->weights > 0 || o->gradients > 0 || o->optimizer > 0 || o->activations > 0;
}
/* SB_EIMPOSSIBLE, with the cluster's member in err->field, when something is offloaded and the cluster does
 * not say how much the host holds or how quick the link to it is. */
int offload_check(const struct cluster *c, const struct offload *o, struct sb_error *err);

struct offload offload_of(const double share[OFFLOADABLES]);
/* What a stage that keeps these can offload. Two layers stay on the device, the one that works and the one
 * that comes: of activations (layer_stored: bytes of the largest one and one micro-batch), and as buffers of
 * weights and gradients (layer_parameters). The optimizer needs none: it works when the activations are gone.
 */
struct offload_room offload_room_of(const struct strategy *s, double layer_stored, double layer_parameters,
                                    const struct memory_parts *kept);
/* Moves the offloaded shares of a stage's memory from the device's parts to io->host. Returns the bytes of
 * the buffers. */
double offload_memory(const struct offload *o, const struct offload_room *room, struct memory_parts *io);
/* Bytes that a node's host holds: each of its devices keeps there what one of the stage with the most does.
 */
double offload_node_bytes(const struct cluster *c, const struct strategy *s, const struct memory_parts *peak);

/* What a device of a stage could offload. */
struct offload_load {
	double weights, gradients, activations; /* bytes on the device; activations of one micro-batch */
	double own;                             /* parameters that it updates */
};
/* Seconds on the link to the host under the passes of one micro-batch: the weights come for both passes,
 * activations go under the forward and come under the backward pass, gradients go under the backward pass
 * and, when there are several micro-batches, come to be added to. Both directions run at once. */
struct offload_passes {
	double forward, backward;
};
struct offload_passes offload_pass_seconds(const struct cost_problem *p, const struct strategy *s,
                                           const struct offload_load *x);
/* Seconds of the update, of which `device` seconds would be the device's own without offload. Where the
 * cluster gives host_memory_bandwidth the host updates what it holds: gradients go there, 28 bytes a
 * parameter are read and written by Adam at the node's share of that bandwidth, new weights come back. Else
 * the device does: states come and go (24 bytes a parameter). Both overlap with the device's own part. Never
 * less than `device`: no measurement shows a host that makes the update quicker. */
double offload_update_seconds(const struct cost_problem *p, const struct strategy *s,
                              const struct offload_load *x, double device);
#endif
