#ifndef SB_API_NAMED_H
#define SB_API_NAMED_H
#include <jansson.h>

#include "base/err.h"

/* Models, clusters, devices and calibrations as JSON: presets (read-only, from the planner's tables, each
 * figure with its source) and the checks on what a user stores. family is "models", "clusters",
 * "calibrations" (which have no presets) or "devices" (which only has presets: a cluster can hold a device of
 * its own). */

/* The name of the i-th preset; NULL past the end and for an unknown family. Static data. */
const char *preset_name(const char *family, size_t i);
/* The document of a preset, or NULL. New reference. Shape: as the inline model, cluster or device of
 * api.md, plus name, preset:true and source. */
json_t *preset_document(const char *family, const char *name);
/* Checks a document that a user wants to store: SB_EINVAL / SB_EIMPOSSIBLE with the JSON pointer in
 * err->field. */
int named_check(const char *family, const json_t *document, struct sb_error *err);
#endif
