#ifndef SB_API_NAMED_H
#define SB_API_NAMED_H
#include <jansson.h>

#include "base/err.h"

/* Models and clusters as JSON: presets (read-only, from the planner's tables, each figure with its source)
 * and the checks on what a user stores. family is "models" or "clusters". */

/* Preset names in order; NULL-terminated static array. NULL for an unknown family. */
const char *const *preset_names(const char *family);
/* The document of a preset, or NULL. New reference. Shape: as the inline model or cluster of api.md, plus
 * name, preset:true and source. */
json_t *preset_document(const char *family, const char *name);
/* Checks a document that a user wants to store: SB_EINVAL / SB_EIMPOSSIBLE with the JSON pointer in
 * err->field. */
int named_check(const char *family, const json_t *document, struct sb_error *err);
#endif
