#ifndef SB_SERVER_LOG_H
#define SB_SERVER_LOG_H
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One JSON object a line: ts (RFC 3339 UTC with milliseconds), level, msg, then the given fields. */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Where lines go. Read-only once made, so that all threads may share it. */
struct log {
	int fd;
	enum log_level least;
};

struct log_field {
	const char *key; /* a plain word, not escaped */
	const char *text;
	int64_t number; /* used when text is NULL */
};
#define LOG_TEXT(k, v) ((struct log_field){.key = (k), .text = (v)})
#define LOG_NUM(k, v) ((struct log_field){.key = (k), .number = (v)})

/* Writes one line by one write(2): lines of several threads never mix. Texts are cut at 1024 bytes; invalid
 * UTF-8 becomes U+FFFD. A line that cannot be written is dropped. */
void log_write(const struct log *l, enum log_level level, const char *msg, const struct log_field *fields,
               size_t count);
/* log_write() with its fields as arguments; at least one. */
#define LOG(l, level, msg, ...)                                                                              \
	log_write((l), (level), (msg), (const struct log_field[]){__VA_ARGS__},                              \
	          sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
/* The line of log_write() without its end, into *out, at the given time (microseconds since the epoch).
 * SB_ELIMIT past the bound of the buffer. */
int log_format(struct sb_buf *out, int64_t now_us, enum log_level level, const char *msg,
               const struct log_field *fields, size_t count);
#endif
