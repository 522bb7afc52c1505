#ifndef SB_PLANNER_INTRA_OASES_MODEL_H
#define SB_PLANNER_INTRA_OASES_MODEL_H
#include "planner/intra/oases.h"
#include "planner/strategy/search.h"

/* The degrees of Oases' chain by the cost model of this service: data and tensor ranks on all devices, no
 * pipeline, dense layers, all recomputed, ZeRO 0, the batch in `steps` equal steps whose gradients add up.
 *
 * Halves of the local batch take what layer_seconds() says; the MLP's products are the MLP block's, all else
 * of a layer (the attention core, what is element-wise) the attention block's. Gradient exchange and
 * optimizer of the uniform strategy are shared out by parameters. Each block keeps three tensors of its
 * input's size in 16 bit, as the published run time keeps in 32. A degree is left out where it does not fit
 * the model, the batch or the request's constraints. Returns how many there are. */
int64_t oases_model_degrees(const struct search_request *r, int64_t steps,
                            struct oases_degree out[OASES_DEGREES_MAX]);
#endif
