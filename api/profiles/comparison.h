#ifndef SB_API_PROFILES_COMPARISON_H
#define SB_API_PROFILES_COMPARISON_H
#include "api/json.h"
#include "profiler/compare.h"

/* A comparison from stored documents. */

/* One side: the documents as stored, the operators and the breakdown, and what compare.h takes, made from
 * them; all owned. Zero-initialised before; free with comparison_side_clear() also after a failure. */
struct comparison_side {
	json_t *profile, *analysis, *loading; /* loading may be NULL: an older version wrote it */
	struct operator_table operators;
	struct breakdown rows;
	struct loading_report loaded;
	struct compare_finding *findings;
	size_t finding_count;
};
/* Fills the rest from the documents. SB_EFORMAT for documents of another shape, SB_ENOMEM. */
int comparison_side_read(struct comparison_side *io);
void comparison_side_clear(struct comparison_side *s);

/* The answer; at most operator_limit rows of operators. New reference, NULL when out of memory. */
json_t *document_comparison(const struct comparison_side *base, const struct comparison_side *target,
                            size_t operator_limit);
#endif
