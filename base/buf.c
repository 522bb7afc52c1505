#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void sb_buf_init(struct sb_buf *b, size_t max)
{
	*b = (struct sb_buf){.max = max};
}

static int reserve(struct sb_buf *b, size_t n)
{
	size_t need, cap = b->cap ? b->cap : 256;
	char *p;

	if (b->status != SB_OK)
		return b->status;
	if (n > b->max - b->len)
		return b->status = SB_ELIMIT;
	need = b->len + n + 1;
	if (need <= b->cap)
		return SB_OK;
	while (cap < need)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p)
		return b->status = SB_ENOMEM;
	b->data = p;
	b->cap = cap;
	return SB_OK;
}

int sb_buf_add(struct sb_buf *b, const void *data, size_t n)
{
	int rc = reserve(b, n);

	if (rc != SB_OK)
		return rc;
	if (n > 0)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	b->data[b->len] = '\0';
	return SB_OK;
}

int sb_buf_adds(struct sb_buf *b, const char *text)
{
	return sb_buf_add(b, text, strlen(text));
}

int sb_buf_addf(struct sb_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, rc;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return b->status = SB_EINVAL;
	rc = reserve(b, (size_t)n);
	if (rc != SB_OK)
		return rc;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return SB_OK;
}

char *sb_buf_take(struct sb_buf *b)
{
	char *p = b->data;

	if (!p)
		p = calloc(1, 1);
	*b = (struct sb_buf){.max = b->max};
	return p;
}

void sb_buf_free(struct sb_buf *b)
{
	free(b->data);
	*b = (struct sb_buf){.max = b->max};
}
