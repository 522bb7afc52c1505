#ifndef SB_API_PLANS_GRADIENT_FUSION_H
#define SB_API_PLANS_GRADIENT_FUSION_H
#include "api/plans/parse.h"
#include "planner/network/gradient_fusion.h"

/* The kind `gradient-fusion`:
 *   {kind, method?, gradients:[{name?, bytes, backward_seconds}], cost, max_segment_bytes?}
 * gradients are in the order in which backward makes them; backward_seconds is the time of the backward
 * operators since the gradient before. cost is {latency_seconds?, bytes_per_second} or a list of measurements
 * [{bytes, seconds}] (collective_curve.h says how they are read).
 *
 * From a profile: take one rank's all-reduces of gradients in one step, by start. Each is a gradient: bytes
 * as recorded; ready at its launch or at the end of the kernel that it waited for, where the trace has the
 * link. backward_start is the start of the first backward kernel (the end of the last forward kernel where
 * these are not told apart), backward_end the end of the last one. fusion_from_measured() turns these into
 * gradients and cost rows, fusion_request() into a request. The time of a row should be that of the
 * transmission (transit), without the wait for slower ranks. */

/* A parsed request; the arrays are its own. */
struct fusion_input {
	struct fusion_problem problem;
	struct fusion_gradient *gradients;
};
/* The caller clears *out also after a failure. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int fusion_from_json(const json_t *request, struct fusion_input *out, struct sb_error *err);
void fusion_input_clear(struct fusion_input *in);
#define FUSION_INPUT_AUTO __attribute__((cleanup(fusion_input_clear))) struct fusion_input
/* The request for gradients and measured costs, to be posted as it is. New reference; NULL when out of
 * memory. */
json_t *fusion_request(const struct fusion_gradient *gradients, size_t count, const struct curve_row *rows,
                       size_t row_count);
json_t *fusion_schema(void);
#endif
