#ifndef SB_API_PLANS_LINK_RATE_H
#define SB_API_PLANS_LINK_RATE_H
#include "api/plans/parse.h"
#include "planner/network/link_rate.h"

/* A member {bytes_per_second, latency_seconds?}; *out is left alone when it is missing and optional.
 * SB_EINVAL, SB_EIMPOSSIBLE. */
int link_rate_from_json(const json_t *request, const char *member, enum need need, struct link_rate *out,
                        struct sb_error *err);
/* Its JSON Schema. New reference. */
json_t *link_rate_schema(void);
#endif
