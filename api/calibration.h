#ifndef SB_API_CALIBRATION_H
#define SB_API_CALIBRATION_H
#include "api/json.h"
#include "api/plans/plans.h"
#include "base/err.h"

/* Calibrations: constants of the cost model that were measured on real hardware, with where they come from.
 */

#define CALIBRATION_PROFILES_MAX 64

/* A request to measure one. */
struct calibration_request {
	const char *name;       /* borrowed of the request, as the next two */
	const json_t *profiles; /* 1 to CALIBRATION_PROFILES_MAX values, ids where they are texts */
	const json_t *cluster;  /* as given */
	json_t *resolved;       /* the same with names resolved; the caller's reference */
};
/* Reads {name, profiles, cluster}. SB_EINVAL, SB_EIMPOSSIBLE with the JSON pointer in err->field. */
int calibration_read(const struct plan_lookup *lookup, const json_t *request, struct calibration_request *out,
                     struct sb_error *err);
/* The constants that the efficiency documents of profiles (document_efficiency()) tell for a cluster
 * (a document, names resolved; errors in it stand at /cluster):
 * {constants:{…}, measured:[{constant, value, error, calls}]}; error is null where one mean is all there is.
 * New reference in *out. SB_EIMPOSSIBLE: the profiles tell none ("nothing_measured"), or one that cannot be
 * on this cluster, as a share above 1 ("out_of_range"). SB_ENOMEM. */
int calibration_measure(const json_t *cluster, json_t *const *documents, size_t count, json_t **out,
                        struct sb_error *err);
/* A cluster without a request around it, with {preset, nodes, …} resolved, and checked; or the text of one,
 * name being what to call it in errors. New reference in *out. SB_EINVAL, SB_EIMPOSSIBLE. */
int calibration_cluster(const json_t *given, json_t **out, struct sb_error *err);
int calibration_cluster_text(const char *text, size_t len, const char *name, json_t **out,
                             struct sb_error *err);
/* What `signalbox calibrate` prints: as calibration_measure(), with the cluster; it can be stored and used as
 * it is. The caller frees. */
int calibration_text(json_t *cluster, json_t *const *documents, size_t count, char **out_text,
                     struct sb_error *err);
/* Checks a calibration that a user stores: {constants:{…}} and what calibration_measure() adds. SB_EINVAL,
 * SB_EIMPOSSIBLE with the JSON pointer in err->field. */
int calibration_check(const json_t *document, struct sb_error *err);
#endif
