#include "server/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "server/clock.h"

enum { TEXT_MAX = 1024, LINE_MAX_BYTES = 16384 };

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

/* Length of the valid UTF-8 sequence at s, 0 when there is none (RFC 3629, section 4). */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80                    ? 1
	           : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
	           : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
	           : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
	                                          : 0;

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xC0) != 0x80)
			return 0;
	if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
	    (s[0] == 0xF4 && s[1] > 0x8F))
		return 0;
	return n;
}

static int add_text(struct sb_buf *out, const char *text)
{
	size_t len = strnlen(text, TEXT_MAX);
	int rc = sb_buf_adds(out, "\"");

	for (size_t i = 0; rc == SB_OK && i < len;) {
		const unsigned char *s = (const unsigned char *)text + i;
		size_t n = utf8_len(s, len - i);

		if (n == 0)
			rc = sb_buf_adds(out, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			rc = sb_buf_addf(out, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7F)
			rc = sb_buf_addf(out, "\\u%04x", *s);
		else
			rc = sb_buf_add(out, s, n);
		i += n ? n : 1;
	}
	return rc == SB_OK ? sb_buf_adds(out, "\"") : rc;
}

int log_format(struct sb_buf *out, int64_t now_us, enum log_level level, const char *msg,
               const struct log_field *fields, size_t count)
{
	time_t seconds = (time_t)(now_us / 1000000);
	struct tm tm;
	char stamp[32] = "";
	int rc;

	if (gmtime_r(&seconds, &tm))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	rc = sb_buf_addf(out, "{\"ts\":\"%s.%03dZ\",\"level\":\"%s\",\"msg\":", stamp,
	                 (int)(now_us / 1000 % 1000), LEVELS[level]);
	if (rc == SB_OK)
		rc = add_text(out, msg);
	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		rc = sb_buf_addf(out, ",\"%s\":", fields[i].key);
		if (rc != SB_OK)
			break;
		rc = fields[i].text ? add_text(out, fields[i].text)
		                    : sb_buf_addf(out, "%lld", (long long)fields[i].number);
	}
	return rc == SB_OK ? sb_buf_adds(out, "}") : rc;
}

void log_write(const struct log *l, enum log_level level, const char *msg, const struct log_field *fields,
               size_t count)
{
	SB_BUF_AUTO line = {0};

	if (level < l->least)
		return;
	sb_buf_init(&line, LINE_MAX_BYTES);
	if (log_format(&line, clock_wall_us(), level, msg, fields, count) != SB_OK ||
	    sb_buf_adds(&line, "\n") != SB_OK)
		return;
	/* stderr may be a closed pipe: the service goes on without its log */
	if (write(l->fd, line.data, line.len) < 0)
		return;
}
