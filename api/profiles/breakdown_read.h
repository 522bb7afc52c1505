#ifndef SB_API_PROFILES_BREAKDOWN_READ_H
#define SB_API_PROFILES_BREAKDOWN_READ_H
#include <jansson.h>

#include "profiler/breakdown.h"

/* Stored documents as plain values again. */

/* A breakdown as document_breakdown() wrote it: rows come by capture, device and step, and the last of a
 * device is the one without a step. *out is to be freed by breakdown_free(). SB_EFORMAT for another shape,
 * SB_ENOMEM. */
int breakdown_read(const char *text, size_t len, struct breakdown *out);
/* An integer member; SB_NULL for what is none. */
int64_t json_int_of(const json_t *object, const char *member);
/* A member in microseconds, as ns; SB_NULL for what is none. */
int64_t json_ns_of(const json_t *object, const char *member);
#endif
