#include "server/http_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

static const struct refusal FINE = {0};

static struct refusal bad(const char *code, const char *detail)
{
	return (struct refusal){400, code, detail};
}

/* RFC 9110, section 5.6.2. */
static bool is_token(const char *text)
{
	size_t n = strspn(text, "!#$%&'*+-.^_`|~0123456789"
	                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n > 0 && text[n] == '\0';
}

/* How often a field occurs; *out is its first value. */
static size_t field(const struct api_pair *headers, size_t count, const char *name, const char **out)
{
	size_t n = 0;

	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(headers[i].name, name) != 0)
			continue;
		if (n++ == 0)
			*out = headers[i].value ? headers[i].value : "";
	}
	return n;
}

static bool all_digits(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static struct refusal length_check(const struct api_pair *headers, size_t count, const char *version,
                                   struct framing *f)
{
	const char *length, *coding;
	size_t lengths = field(headers, count, "Content-Length", &length);
	size_t codings = field(headers, count, "Transfer-Encoding", &coding);

	if (lengths > 1)
		return bad("repeated_content_length", "Content-Length is given more than once.");
	if (codings > 1)
		return bad("repeated_transfer_encoding", "Transfer-Encoding is given more than once.");
	if (lengths && codings)
		return bad("ambiguous_length", "Content-Length and Transfer-Encoding exclude each other.");
	if (codings && (strcasecmp(coding, "chunked") != 0 || strcmp(version, "HTTP/1.0") == 0))
		return bad("unknown_transfer_encoding", "The only Transfer-Encoding understood is chunked.");
	if (lengths &&
	    (!all_digits(length) || sb_parse_int(length, strlen(length), &f->content_length) != SB_OK))
		return bad("bad_content_length", "Content-Length is no decimal number of bytes.");
	if (codings)
		f->content_length = -1;
	f->has_body = f->content_length != 0;
	return FINE;
}

static struct refusal host_check(const struct api_pair *headers, size_t count, const char *version,
                                 struct framing *f)
{
	const char *host;
	size_t hosts = field(headers, count, "Host", &host);

	if (hosts > 1)
		return bad("repeated_host", "Host is given more than once.");
	if (hosts == 0 ? strcmp(version, "HTTP/1.0") != 0 : *host == '\0')
		return bad("missing_host", "The Host header is missing or empty.");
	f->host_seen = hosts == 1;
	return FINE;
}

struct refusal framing_check(const struct api_pair *headers, size_t count, const char *version,
                             struct framing *out)
{
	struct framing f = {0};
	struct refusal r;
	const char *value;

	for (size_t i = 0; i < count; i++)
		if (!is_token(headers[i].name))
			return bad("bad_header", "A header name holds a byte that no header name may hold.");
	r = length_check(headers, count, version, &f);
	if (r.status == 0)
		r = host_check(headers, count, version, &f);
	if (r.status)
		return r;
	if (field(headers, count, "Content-Type", &value) > 1)
		return bad("repeated_content_type", "Content-Type is given more than once.");
	if (field(headers, count, "Expect", &value) > 0) {
		if (strcasecmp(value, "100-continue") != 0)
			return (struct refusal){417, "unknown_expectation",
			                        "The only expectation understood is 100-continue."};
		f.expect_continue = true;
	}
	*out = f;
	return FINE;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes len bytes into out, NUL-terminated. -1 on a malformed escape or a control byte. */
static int decode(const char *raw, size_t len, bool plus_is_space, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)raw[i];

		if (c == '%') {
			int high = len - i > 2 ? hex(raw[i + 1]) : -1;
			int low = high >= 0 ? hex(raw[i + 2]) : -1;

			if (low < 0)
				return -1;
			c = (unsigned char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7F)
			return -1;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

static bool has_dot_segment(const char *path)
{
	for (const char *s = path; s; s = strchr(s, '/')) {
		size_t n;

		if (*s == '/')
			s++;
		n = strcspn(s, "/");
		if ((n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
			return true;
	}
	return false;
}

static bool has_escaped_slash(const char *raw, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++)
		if (raw[i] == '%' && raw[i + 1] == '2' && (raw[i + 2] | 0x20) == 'f')
			return true;
	return false;
}

static struct refusal path_parse(const char *raw, size_t len, char *out)
{
	if (len == 0 || raw[0] != '/')
		return bad("bad_target", "The request target must begin with '/'.");
	if (has_escaped_slash(raw, len))
		return bad("bad_target", "The path holds an escaped '/'.");
	if (decode(raw, len, false, out) != 0)
		return bad("bad_target", "The path holds a control byte or a malformed escape.");
	if (strchr(out, '\\') || strstr(out, "//") || has_dot_segment(out))
		return bad("bad_target", "The path holds '\\', '//', or a '.' or '..' segment.");
	return FINE;
}

/* Takes "a=1&b" apart in place of *text, which has room for the decoded bytes. */
static struct refusal query_parse(const char *raw, char *text, struct target *t)
{
	for (const char *at = raw; *at;) {
		size_t len = strcspn(at, "&"), name = strcspn(at, "=&");

		if (len > 0) {
			struct api_pair *p = &t->query[t->query_count];

			if (t->query_count == QUERY_MAX)
				return bad("too_many_parameters", "The query has too many parameters.");
			*p = (struct api_pair){.name = text};
			if (decode(at, name, true, text) != 0)
				return bad("bad_target",
				           "The query holds a control byte or a malformed escape.");
			text += strlen(text) + 1;
			if (name < len) {
				p->value = text;
				if (decode(at + name + 1, len - name - 1, true, text) != 0)
					return bad("bad_target",
					           "The query holds a control byte or a malformed escape.");
				text += strlen(text) + 1;
			}
			t->query_count++;
		}
		at += len + (at[len] == '&');
	}
	return FINE;
}

/* Length of "http://authority" in front of an absolute-form target, 0 for none. */
static size_t absolute_prefix(const char *raw, size_t *out_scheme)
{
	size_t scheme = strncasecmp(raw, "http://", 7) == 0    ? 7
	                : strncasecmp(raw, "https://", 8) == 0 ? 8
	                                                       : 0;

	*out_scheme = scheme;
	return scheme ? scheme + strcspn(raw + scheme, "/?#") : 0;
}

static struct refusal parse_into(const char *raw, struct target *t)
{
	size_t scheme, prefix = absolute_prefix(raw, &scheme);
	const char *rest = raw + prefix;
	size_t path_len = strcspn(rest, "?");
	char *text = t->path;
	struct refusal r;

	if (strchr(raw, '#'))
		return bad("bad_target", "The request target holds a fragment.");
	if (prefix && path_len == 0)
		r = path_parse("/", 1, text);
	else
		r = path_parse(rest, path_len, text);
	if (r.status)
		return r;
	text += strlen(text) + 1;
	memcpy(text, raw + scheme, prefix - scheme);
	text[prefix - scheme] = '\0';
	t->authority = text;
	text += prefix - scheme + 1;
	return rest[path_len] == '?' ? query_parse(rest + path_len + 1, text, t) : FINE;
}

struct refusal target_parse(const char *raw, struct target *out)
{
	struct target t = {0};
	struct refusal r;
	size_t len = strnlen(raw, TARGET_MAX + 1);

	if (len > TARGET_MAX)
		return (struct refusal){414, "target_too_long", "The request target is too long."};
	/* every query member adds two ends of text at most, and "/" may be added */
	t.path = malloc(len + (size_t)2 * QUERY_MAX + 8);
	t.query = calloc(QUERY_MAX + 1, sizeof(*t.query));
	r = t.path && t.query ? parse_into(raw, &t)
	                      : (struct refusal){503, "out_of_memory", "The service is out of memory."};
	if (r.status)
		target_clear(&t);
	else
		*out = t;
	return r;
}

void target_clear(struct target *t)
{
	free(t->path);
	free(t->query);
	*t = (struct target){0};
}
