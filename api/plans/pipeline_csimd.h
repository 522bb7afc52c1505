#ifndef SB_API_PLANS_PIPELINE_CSIMD_H
#define SB_API_PLANS_PIPELINE_CSIMD_H
#include <jansson.h>

#include "base/err.h"

/* Method `csimd` of the kind `pipeline`: which layers on which stage, and how many samples in each
 * micro-batch, together, when the times of layers are not linear in the samples. */

/* The request of api.md in (kind and method are let pass), the answer of api.md out; *out_extra: what an
 * infeasible problem is answered with besides. SB_EINVAL and SB_EIMPOSSIBLE with the field, SB_EINFEASIBLE
 * with the reason, SB_ELIMIT with the bound, SB_ENOMEM. */
int csimd_solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err);
/* JSON Schema of the request without kind and method (schema_object()). New reference. */
json_t *csimd_schema(void);
#endif
