#ifndef SB_SERVER_HTTP_REQUEST_H
#define SB_SERVER_HTTP_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http.h"

/* What libmicrohttpd 0.9.75 lets through and we refuse, as pure functions over the raw request line and the
 * headers. */

/* A refusal that the server itself decides. status 0: none. Texts are static. */
struct refusal {
	int status;
	const char *code, *detail;
};

/* How the body of a request is framed (RFC 9112, section 6). */
struct framing {
	int64_t content_length; /* -1: chunked, of unknown length */
	bool has_body;
	bool expect_continue;
	bool host_seen;
};

/* Checks the header fields: one Host (HTTP/1.0 may leave it out), at most one Content-Length of digits only
 * and not beside Transfer-Encoding, no Transfer-Encoding but exactly "chunked" (501), no repeat of a field
 * that must be unique. *out is written when the answer's status is 0. */
struct refusal framing_check(const struct api_pair *headers, size_t count, const char *version,
                             struct framing *out);

/* A request target taken apart. Both texts live in one allocation: free(target.path). */
struct target {
	char *path;             /* percent-decoded */
	struct api_pair *query; /* decoded; room for one more; free() */
	size_t query_count;
	const char *authority; /* of an absolute-form target, "" otherwise; may differ from Host */
};
enum { TARGET_MAX = 8192, QUERY_MAX = 32 };
/* Takes a raw request target (origin-form or absolute-form) apart. Refuses with 400: no leading '/', "%00"
 * or other control bytes, '\', "//", "." or ".." segments, "%2f", malformed percent-encoding, a fragment,
 * more than QUERY_MAX query members; with 414 past TARGET_MAX bytes. *out is written when the answer's
 * status is 0; the caller frees with target_clear(). */
struct refusal target_parse(const char *raw, struct target *out);
void target_clear(struct target *t);

/* The file name of a Content-Disposition value into out (cut to fit): the quoted or plain filename parameter.
 * False when there is none. */
bool disposition_filename(const char *value, char *out, size_t out_size);
/* The boundary of a multipart/form-data content type into out. False when it is none, has no boundary of 1
 * to 70 bytes (RFC 2046, section 5.1.1), or one that libmicrohttpd would read differently: a single byte that
 * is not quoted, "Boundary" in capitals, or parameters after it. */
bool multipart_boundary(const char *content_type, char *out, size_t out_size);
/* True when an X-Request-Id may be taken over: [A-Za-z0-9._-]{1,64}. */
bool request_id_valid(const char *text);
#endif
