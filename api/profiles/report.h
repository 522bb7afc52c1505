#ifndef SB_API_PROFILES_REPORT_H
#define SB_API_PROFILES_REPORT_H
#include "api/profiles/documents.h"
#include "base/buf.h"

/* What the command line prints. */

/* The most that either holds. */
#define REPORT_MAX ((size_t)1 << 32)

/* The one object of `signalbox analyze --json`: {profile, breakdown, operators, communication, analysis,
 * advice}, compact, without a line end. SB_ENOMEM, SB_ELIMIT. */
int report_json(const struct profile_results *r, const char *name, int64_t bytes, struct sb_buf *out);
/* The same as tables for a person. Bytes that could steer a terminal are replaced. SB_ENOMEM, SB_ELIMIT. */
int report_text(const struct profile_results *r, const char *name, struct sb_buf *out);
/* Verdict and advice from the JSON bodies of a service (untrusted), as report_text() prints them.
 * SB_EFORMAT when they are not of the API's shape. */
int report_verdict(const char *analysis_json, const char *advice_json, struct sb_buf *out,
                   struct sb_error *err);
#endif
