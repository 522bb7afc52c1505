#include "tests/generate/out.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 20, SPARE = 4096 };

struct out {
	gzFile gz;
	int fd;
	int64_t flushed;
	int len;
	char data[CHUNK + SPARE];
};

void out_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("generate: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	exit(1);
}

void *out_alloc(void *old, int64_t count, int64_t size)
{
	void *p = reallocarray(old, (size_t)count, (size_t)size);

	if (!p)
		out_die("out of memory");
	if (!old)
		memset(p, 0, (size_t)(count * size));
	return p;
}

void out_mkdir(const char *path)
{
	char *part = strdup(path);

	if (!part)
		out_die("out of memory");
	for (char *slash = strchr(part + (*part == '/'), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			out_die("cannot make the directory %s", part);
		*slash = '/';
	}
	if (mkdir(part, 0777) != 0 && errno != EEXIST)
		out_die("cannot make the directory %s", part);
	free(part);
}

struct out *out_open(const char *path, bool gzip)
{
	struct out *o = out_alloc(NULL, 1, sizeof(*o));

	if (strcmp(path, "-") == 0)
		o->fd = STDOUT_FILENO;
	else
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (o->fd < 0)
		out_die("cannot write %s", path);
	if (gzip && o->fd != STDOUT_FILENO) {
		o->gz = gzdopen(o->fd, "wb4");
		if (!o->gz)
			out_die("out of memory");
	}
	return o;
}

static void flush(struct out *o)
{
	int done = 0;

	while (done < o->len) {
		ssize_t n = o->gz ? gzwrite(o->gz, o->data + done, (unsigned)(o->len - done))
		                  : write(o->fd, o->data + done, (size_t)(o->len - done));

		if (n <= 0)
			out_die("cannot write: is the disk full?");
		done += (int)n;
	}
	o->flushed += o->len;
	o->len = 0;
}

void out_close(struct out **o)
{
	struct out *x = *o;

	*o = NULL;
	if (!x)
		return;
	flush(x);
	if (x->gz ? gzclose(x->gz) != Z_OK : x->fd != STDOUT_FILENO && close(x->fd) != 0)
		out_die("cannot write: is the disk full?");
	free(x);
}

int64_t out_bytes(const struct out *o)
{
	return o->flushed + o->len;
}

/* Room for n more bytes, n at most SPARE. */
static char *room(struct out *o, int n)
{
	if (o->len + n > CHUNK + SPARE)
		flush(o);
	return o->data + o->len;
}

static void put(struct out *o, const char *text, size_t n)
{
	while (n > 0) {
		size_t part = n < SPARE ? n : SPARE;

		memcpy(room(o, (int)part), text, part);
		o->len += (int)part;
		text += part;
		n -= part;
	}
}

void out_text(struct out *o, const char *text)
{
	put(o, text, strlen(text));
}

void out_int(struct out *o, int64_t value)
{
	char digits[24];
	int n = sizeof(digits);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		digits[--n] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		digits[--n] = '-';
	put(o, digits + n, sizeof(digits) - (size_t)n);
}

void out_us(struct out *o, int64_t ns)
{
	int64_t part = ns % 1000;
	char tail[4];

	if (ns < 0)
		out_die("a negative time");
	out_int(o, ns / 1000);
	tail[0] = '.';
	tail[1] = (char)('0' + part / 100);
	tail[2] = (char)('0' + part / 10 % 10);
	tail[3] = (char)('0' + part % 10);
	put(o, tail, sizeof(tail));
}

void out_us_cell(struct out *o, int64_t ns)
{
	out_text(o, ",");
	out_us(o, ns);
}

void out_json(struct out *o, const char *text)
{
	put(o, "\"", 1);
	for (const char *p = text; *p; p++) {
		size_t plain = strcspn(p, "\"\\\b\f\n\r\t\001\002\003\004\005\006\016\017\020\021\033\037");

		put(o, p, plain);
		p += plain;
		if (!*p)
			break;
		if (*p == '"' || *p == '\\')
			out_fmt(o, "\\%c", *p);
		else
			out_fmt(o, "\\u%04x", (unsigned char)*p);
	}
	put(o, "\"", 1);
}

void out_cell(struct out *o, const char *text)
{
	if (!strpbrk(text, "\",\r\n")) {
		out_text(o, text);
		return;
	}
	put(o, "\"", 1);
	for (const char *p = text; *p; p++) {
		if (*p == '"')
			put(o, p, 1);
		put(o, p, 1);
	}
	put(o, "\"", 1);
}

void out_fmt(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room(o, SPARE), SPARE, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= SPARE)
		out_die("a row is too long");
	o->len += n;
}
