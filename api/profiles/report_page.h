#ifndef SB_API_PROFILES_REPORT_PAGE_H
#define SB_API_PROFILES_REPORT_PAGE_H
#include "api/json.h"
#include "api/profiles/report_writer.h"
#include "profiler/breakdown.h"

/* A whole profile on one page, for people: from the JSON documents of the API, as far as they are there, and
 * the breakdown, which has too many rows for JSON values. */

#define REPORT_PAGE_MAX ((size_t)4 << 20)

/* All borrowed; NULL or a member of another shape than expected is left out. */
struct report_documents {
	json_t *profile, *operators, *analysis, *advice, *critical_path;
	const struct breakdown *breakdown;
};
/* HTML that needs nothing else (no script, no address), or Markdown. What a profile of many ranks has
 * thousands of is cut to the worst, with a count of the rest. SB_ENOMEM, SB_ELIMIT. */
int report_page(const struct report_documents *d, bool html, struct sb_buf *out);

/* ---- parts (report_page_findings.c, report_page_time.c) ---- */
void write_findings(struct report_writer *w, const struct report_documents *d);
void write_not_evaluated(struct report_writer *w, const json_t *analysis);
void write_breakdown(struct report_writer *w, const struct breakdown *rows);
void write_tree(struct report_writer *w, const json_t *analysis);
void write_operators(struct report_writer *w, const json_t *operators);
void write_path(struct report_writer *w, json_t *path);

/* ---- values (report_page_values.c) ---- */
#define VALUE_MAX 96
/* A number in the unit that suits it ("72.8 ms", "28.8 %", "12.81 MB"), a dash for what is none. unit: "us",
 * "seconds", "bytes", "share", or any word, which then stands behind the number. */
const char *quantity_text(const json_t *value, const char *unit, char out[VALUE_MAX]);
/* The same of a number, NaN = none. */
const char *number_text(double value, const char *unit, char out[VALUE_MAX]);
/* The text of a member, or "" when it is none. */
const char *member_text(const json_t *object, const char *member);
/* A cell with a text that may hold NUL bytes; a dash for what is no text. */
void write_text_cell(struct report_writer *w, const json_t *value);
/* Appends such a text. */
void write_json_text(struct report_writer *w, const json_t *value);
/* Integers as ranges, "0-3, 7", at most about 100 bytes. */
void write_ranges(struct report_writer *w, const json_t *list);
/* A member's name as words: "device_idle_while_loading_us" becomes "device idle while loading". */
void write_words(struct report_writer *w, const char *name);
#endif
