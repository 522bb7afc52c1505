#include "profiler/kernel_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ANONYMOUS "(anonymous namespace)"

struct scan {
	char *out;
	size_t size, n;
	size_t name_at; /* where the name begins in out: after the last blank outside brackets */
};

static void put(struct scan *s, char c)
{
	if (s->n + 1 < s->size)
		s->out[s->n++] = c;
}

static void put_text(struct scan *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put(s, text[i]);
}

/* Past the template arguments that begin at i. */
static size_t skip_template(const char *name, size_t len, size_t i)
{
	int depth = 0;

	for (; i < len; i++) {
		if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && i > 0 && name[i - 1] != '-' && --depth == 0)
			return i + 1;
	}
	return len;
}

size_t kernel_type(const char *name, size_t len, char *out, size_t size)
{
	struct scan s = {.out = out, .size = size};
	size_t i = 0;
	int parameters = 0;

	while (i < len && !parameters) {
		if (name[i] == '<') {
			i = skip_template(name, len, i);
		} else if (len - i >= sizeof(ANONYMOUS) - 1 &&
		           memcmp(name + i, ANONYMOUS, sizeof(ANONYMOUS) - 1) == 0) {
			put_text(&s, ANONYMOUS, sizeof(ANONYMOUS) - 1);
			i += sizeof(ANONYMOUS) - 1;
		} else if (name[i] == '(' && s.n > s.name_at) {
			parameters = 1;
		} else {
			if (name[i] == ' ' || name[i] == '*' || name[i] == '&')
				s.name_at = s.n + 1;
			put(&s, name[i++]);
		}
	}
	/* a blank is the end of a return type only in what is a signature */
	if (!parameters && strncmp(name, "void ", 5) != 0)
		s.name_at = 0;
	if (s.name_at >= s.n) {
		s.n = 0;
		s.name_at = 0;
		put_text(&s, name, len);
	}
	memmove(out, out + s.name_at, s.n - s.name_at);
	out[s.n - s.name_at] = '\0';
	return s.n - s.name_at;
}

size_t memcpy_type(const char *name, const char *kind, char *out, size_t size)
{
	int n;

	if (strncasecmp(name, "memcpy ", 7) == 0) {
		size_t len = strcspn(name + 7, " (");

		n = snprintf(out, size, len > 0 ? "memcpy %.*s" : "memcpy", (int)(len < 64 ? len : 64),
		             name + 7);
	} else {
		n = snprintf(out, size, *kind ? "memcpy %.64s" : "memcpy", kind);
	}
	return n < 0 ? 0 : ((size_t)n < size ? (size_t)n : size - 1);
}

size_t graph_operator_type(const char *name, size_t len, char *out, size_t size)
{
	const char *slash = memrchr(name, '/', len);
	size_t digits = 0;

	if (slash) {
		len -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	while (digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
		digits++;
	if (digits > 0 && len > digits + 3 && memcmp(name + len - digits - 3, "-op", 3) == 0)
		len -= digits + 3;
	if (len >= size)
		len = size - 1;
	memcpy(out, name, len);
	out[len] = '\0';
	return len;
}

bool name_has(const char *name, const char *part)
{
	size_t n = strlen(part);

	for (; *name; name++)
		if (strncasecmp(name, part, n) == 0)
			return true;
	return false;
}
