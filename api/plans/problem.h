#ifndef SB_API_PLANS_PROBLEM_H
#define SB_API_PLANS_PROBLEM_H
#include "api/plans/parse.h"
#include "api/plans/plans.h"
#include "planner/cost/constants.h"
#include "planner/model.h"

/* Models and clusters as JSON, and names turned into documents. */

/* Reads and checks an inline model or cluster. Members `name`, `source` and `preset` of a document are passed
 * over. SB_EINVAL, SB_EIMPOSSIBLE. */
int model_from_json(const json_t *value, const struct place *at, struct model *out, struct sb_error *err);
int cluster_from_json(const json_t *value, const struct place *at, struct cluster *out, struct sb_error *err);
/* Warns in the answer to a resolved request whose cluster has more than one node, and the network between
 * them from a preset that assumes it. */
void warn_network_assumed(const json_t *request, json_t *answer);
/* The inline form. New references; NULL when out of memory. */
json_t *model_to_json(const struct model *m);
struct device_preset;
/* A device and its usual links, in the shape of a cluster's `device` and `links`. */
json_t *device_to_json(const struct device_preset *p);
/* device: a preset's name. */
json_t *cluster_to_json(const struct cluster *c, const char *device);

/* A deep copy of the request with `model`, `cluster` and `calibration` given by name replaced by their
 * documents, and {preset, nodes, ...} clusters by the preset with those members; a pipeline's `profile` by
 * the layers of it. The caller owns it. SB_EINVAL for an unknown name, SB_EIMPOSSIBLE for a profile in which
 * no layers were found.
 */
int problem_resolve(const struct plan_lookup *lookup, const json_t *request, json_t **out,
                    struct sb_error *err);

/* Applies the members of a `calibration` object to the constants. */
int calibration_from_json(const json_t *value, const struct place *at, struct constants *io,
                          struct sb_error *err);
extern const char *const calibration_members[];
#endif
