#ifndef SB_API_PROFILES_CRITICAL_PATH_JSON_H
#define SB_API_PROFILES_CRITICAL_PATH_JSON_H
#include "api/json.h"
#include "profiler/path_file.h"

/* The answer for a view of a path; section NULL: the profile has no work on a device. A new reference, NULL
 * when out of memory. */
json_t *critical_path_json(const struct path_file *f, const struct path_section *s, const struct path_view *v,
                           int64_t from_ns, int64_t to_ns);
#endif
