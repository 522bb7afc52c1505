#include "server/http_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The value of a parameter ("; name=value" or "; name=\"quoted\"") into out; false when it is not there. */
static bool parameter(const char *value, const char *name, char *out, size_t out_size)
{
	size_t name_len = strlen(name), n = 0;
	const char *at = value + strcspn(value, ";");

	while (*at == ';') {
		bool wanted, quoted;

		at += 1 + strspn(at + 1, " \t");
		wanted = strncasecmp(at, name, name_len) == 0 && at[name_len] == '=';
		at += strcspn(at, "=;");
		if (*at != '=')
			continue;
		quoted = *++at == '"';
		at += quoted;
		for (; *at && (quoted ? *at != '"' : !strchr("; \t", *at)); at++) {
			if (quoted && *at == '\\' && at[1])
				at++;
			if (wanted && n + 1 < out_size)
				out[n++] = *at;
		}
		if (wanted) {
			out[n] = '\0';
			return true;
		}
		at += strcspn(at, ";");
	}
	return false;
}

bool disposition_filename(const char *value, char *out, size_t out_size)
{
	return parameter(value, "filename", out, out_size) && out[0];
}

/* The library takes all text after the first "boundary=", in lower case, as the boundary, and none of one
 * byte: what it would read differently must not reach it. */
static bool library_reads(const char *content_type, const char *boundary)
{
	const char *at = strstr(content_type, "boundary=");
	size_t len;

	if (!at)
		return false;
	at += strlen("boundary=");
	len = strlen(at);
	if (len < 2)
		return false;
	if (at[0] == '"' && at[len - 1] == '"') {
		at++;
		len -= 2;
	}
	return len == strlen(boundary) && memcmp(at, boundary, len) == 0;
}

bool multipart_boundary(const char *content_type, char *out, size_t out_size)
{
	char text[80];
	size_t len = strcspn(content_type, "; \t");

	if (len != strlen("multipart/form-data") ||
	    strncasecmp(content_type, "multipart/form-data", len) != 0 ||
	    !parameter(content_type, "boundary", text, sizeof(text)))
		return false;
	len = strlen(text);
	if (len < 1 || len > 70 || len >= out_size || !library_reads(content_type, text))
		return false;
	memcpy(out, text, len + 1);
	return true;
}

bool request_id_valid(const char *text)
{
	size_t n = strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-");

	return n >= 1 && n <= 64 && text[n] == '\0';
}
