#ifndef SB_PLANNER_EXPORT_SCAN_H
#define SB_PLANNER_EXPORT_SCAN_H
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Lines of a configuration, without blanks around them and with the comment taken off. */

struct scan {
	const char *at, *end;
	int64_t line; /* that was read last, 1-based */
};
struct scan_line {
	const char *text; /* not NUL-terminated */
	size_t len;       /* 0 = a blank line or a comment alone */
	const char *comment;
	size_t comment_len; /* 0 = none */
	size_t indent;      /* blanks in front */
	bool tab;           /* a TAB among them */
	int64_t number;
};
/* The next line; false at the end. A comment begins with # at the start of a word, outside quotes. */
bool scan_next(struct scan *s, struct scan_line *out);
/* Cuts a pair of quotes off both ends, where there is one. */
void scan_unquote(const char **text, size_t *len);
/* A value that begins with a bracket, up to the bracket that closes it, over as many lines as it takes.
 * SB_EIMPOSSIBLE when none does. */
int scan_flow(struct scan *s, const char *text, size_t len, int64_t line, struct sb_buf *out,
              struct sb_error *err);
/* SB_EIMPOSSIBLE: "line 3 why". */
int scan_fail(struct sb_error *err, int64_t line, const char *why);
#endif
