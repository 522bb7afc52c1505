/* makes zlib take constant input */
#define ZLIB_CONST
#include <stdlib.h>
#include <zlib.h>

#include "profiler/read/source.h"

struct gzip_stream {
	struct stream base;
	struct stream *in;
	struct source_budget *budget;
	z_stream z;
	int64_t out; /* bytes handed out */
	bool member; /* inside a member: the end of the input would be too early */
	bool first;  /* still in the first member */
	bool done;
	int rc; /* what ended the stream, told once the inflated bytes are handed out */
	struct sb_error err;
	unsigned char block[SOURCE_BLOCK];
};

/* The position is that of the first inflated byte that is missing. */
static int fail(struct gzip_stream *g, const char *word, const char *text)
{
	int64_t at = g->out + (int64_t)(sizeof(g->block) - g->z.avail_out);

	g->rc = sb_fail_at(&g->err, SB_EFORMAT, word, g->base.path, 0, at, "%s", text);
	return g->rc;
}

static int fill(struct gzip_stream *g)
{
	const char *data = NULL;
	size_t len = 0;

	if (g->z.avail_in > 0)
		return SB_OK;
	g->rc = g->in->next(g->in, &data, &len, &g->err);
	if (g->rc != SB_OK)
		return g->rc;
	g->z.next_in = (const Bytef *)data;
	g->z.avail_in = (uInt)len;
	return SB_OK;
}

/* Between two members: zeros are padding, and what is no gzip header is not ours (gzip -dc does the same). */
static int next_member(struct gzip_stream *g)
{
	int rc = fill(g);

	while (rc == SB_OK && g->z.avail_in > 0 && *g->z.next_in == 0) {
		g->z.next_in++;
		g->z.avail_in--;
		rc = fill(g);
	}
	if (rc != SB_OK)
		return rc;
	if (g->z.avail_in == 0 || *g->z.next_in != 0x1f) {
		g->done = true;
		return SB_OK;
	}
	inflateReset(&g->z);
	g->member = true;
	return SB_OK;
}

static int inflate_some(struct gzip_stream *g)
{
	uInt before;
	int rc = fill(g), z;

	if (rc != SB_OK)
		return rc;
	if (g->z.avail_in == 0)
		return fail(g, "truncated", "the compressed data end too early");
	before = g->z.avail_in;
	z = inflate(&g->z, Z_NO_FLUSH);
	if (z == Z_STREAM_END) {
		g->member = false;
		g->first = false;
		return SB_OK;
	}
	if (z == Z_MEM_ERROR) {
		g->rc = sb_fail(&g->err, SB_ENOMEM, "no_memory", "out of memory");
		return g->rc;
	}
	if (z == Z_OK || (z == Z_BUF_ERROR && (before != g->z.avail_in || g->z.avail_out == 0)))
		return SB_OK;
	if (!g->first && g->z.total_out == 0) {
		g->done = true;
		return SB_OK;
	}
	return fail(g, "bad_gzip", "the compressed data are damaged");
}

static int gzip_next(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct gzip_stream *g = (struct gzip_stream *)s;
	size_t n;
	int rc = g->rc;

	*out_len = 0;
	g->z.next_out = g->block;
	g->z.avail_out = sizeof(g->block);
	while (rc == SB_OK && !g->done && g->z.avail_out > 0)
		rc = g->member ? inflate_some(g) : next_member(g);
	n = sizeof(g->block) - g->z.avail_out;
	if (n == 0) {
		if (rc != SB_OK && err)
			*err = g->err;
		return rc;
	}
	g->out += (int64_t)n;
	rc = budget_inflated(g->budget, s->path, (int64_t)n, &g->err);
	if (rc != SB_OK) {
		g->rc = rc;
		if (err)
			*err = g->err;
		return rc;
	}
	*out_data = (const char *)g->block;
	*out_len = n;
	return SB_OK;
}

int gzip_stream_new(struct stream *in, struct source_budget *budget, struct gzip_stream **out)
{
	struct gzip_stream *g = calloc(1, sizeof(*g));

	if (!g)
		return SB_ENOMEM;
	g->base.next = gzip_next;
	g->base.path = in->path;
	g->in = in;
	g->budget = budget;
	g->member = g->first = true;
	if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
		free(g);
		return SB_ENOMEM;
	}
	*out = g;
	return SB_OK;
}

struct stream *gzip_stream_base(struct gzip_stream *g)
{
	return &g->base;
}

void gzip_stream_free(struct gzip_stream **g)
{
	if (!*g)
		return;
	inflateEnd(&(*g)->z);
	free(*g);
	*g = NULL;
}
