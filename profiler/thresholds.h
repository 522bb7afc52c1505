#ifndef SB_PROFILER_THRESHOLDS_H
#define SB_PROFILER_THRESHOLDS_H
#include "base/err.h"

/* The limits that findings are judged by. */

/* Where a threshold comes from. */
enum origin {
	ORIGIN_PAPER,
	ORIGIN_MSPROF_ANALYZE,
	ORIGIN_MSPROF,
	ORIGIN_MINDINSIGHT,
	ORIGIN_DEFAULT,
	ORIGIN_CONFIGURED /* set by who runs the program */
};
/* "paper", … */
const char *origin_name(enum origin o);

struct threshold {
	const char *name; /* e.g. "overlap_share" */
	const char *unit; /* "share", "us", "bytes", "events", … */
	double value;
	enum origin origin;
	const char *meaning; /* for the user, what happens beyond it */
};
/* All thresholds with their defaults (research page advisor-rules, section 4), ended by a NULL name. A caller
 * copies the table to change values. */
#define THRESHOLDS_MAX 128
struct thresholds {
	struct threshold items[THRESHOLDS_MAX];
};
extern const struct thresholds THRESHOLDS_DEFAULT;
/* A threshold by name, NULL when there is none. */
const struct threshold *threshold_get(const struct thresholds *t, const char *name);
/* Changes one value; its origin is then ORIGIN_CONFIGURED. SB_ENOENT for an unknown name. */
int threshold_set(struct thresholds *t, const char *name, double value);
/* Changes one value by a text "NAME=VALUE", the value at least 0. SB_EINVAL with a sentence for the user. */
int threshold_set_text(struct thresholds *t, const char *text, struct sb_error *err);
#endif
