#ifndef SB_API_PROFILES_MEMORY_JSON_H
#define SB_API_PROFILES_MEMORY_JSON_H
#include "api/json.h"
#include "profiler/profile.h"

/* Columns of a curve in an answer. */
#define MEMORY_COLUMNS_DEFAULT 1000
#define MEMORY_COLUMNS_MAX 4000

/* Peaks and curves of all captures, as stored: the curves have up to MEMORY_COLUMNS_MAX columns, less where
 * there are many of them. A new reference, NULL when out of memory. */
json_t *document_memory(const struct profile *p);
/* Brings the curves of such a document down to so many columns; the largest value of each column stays.
 * False: out of memory, or not such a document. */
bool memory_json_fit(json_t *document, size_t columns);
#endif
