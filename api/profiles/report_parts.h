#ifndef SB_API_PROFILES_REPORT_PARTS_H
#define SB_API_PROFILES_REPORT_PARTS_H
#include <jansson.h>

#include "base/buf.h"
#include "profiler/breakdown.h"

/* The sections of a text report, each from the JSON document of the same name but for the breakdown, which
 * has too many rows. Members of another type than expected print as "-", so that a foreign answer cannot do
 * harm.
 */
int print_facts(const char *name, const json_t *facts, struct sb_buf *out);
int print_breakdown(const struct breakdown *rows, struct sb_buf *out);
int print_operators(const json_t *operators, struct sb_buf *out);
int print_verdict(const json_t *analysis, struct sb_buf *out);
/* Each code once, with the numbers of its worst rank. */
int print_findings(const json_t *analysis, struct sb_buf *out);
/* analysis tells how a gain was estimated; NULL leaves that out. */
int print_advice(const json_t *advice, const json_t *analysis, struct sb_buf *out);
#endif
