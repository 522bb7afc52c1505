#include <stdlib.h>
#include <string.h>

#include "profiler/blockfile.h"
#include "profiler/trace.h"

/* Change the version whenever a block changes its meaning. */
static const char MAGIC[8] = {'S', 'B', 'T', 'R', 'A', 'C', 'E', '\n'};
#define VERSION 1

/* Memory of the two text blocks while they are written; freed together. */
struct texts {
	char *bytes;
	uint32_t *start;
	size_t count, len;
};

static void texts_free(struct texts *x)
{
	free(x->bytes);
	free(x->start);
}

static int texts_collect(const struct trace *t, struct texts *out)
{
	size_t n = t->strings ? sb_strings_count(t->strings) : t->text_count;
	uint64_t total = 0;
	size_t len;

	for (size_t i = 0; i < n; i++) {
		trace_text(t, (uint32_t)i, &len);
		total += len + 1;
	}
	if (total > UINT32_MAX)
		return SB_ELIMIT;
	out->start = calloc(n + 1, sizeof(*out->start));
	out->bytes = malloc(total + 1);
	if (!out->start || !out->bytes)
		return SB_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *text = trace_text(t, (uint32_t)i, &len);

		memcpy(out->bytes + out->len, text, len + 1);
		out->start[i] = (uint32_t)out->len;
		out->len += len + 1;
	}
	out->start[n] = (uint32_t)out->len;
	out->count = n;
	return SB_OK;
}

static int write_blocks(const struct trace *t, const struct texts *x, int fd, struct sb_error *err)
{
	const struct {
		const char *id;
		size_t element, count;
		const void *data;
	} blocks[] = {
	    {"STRT", sizeof(*t->start_ns), t->count, t->start_ns},
	    {"DURN", sizeof(*t->dur_ns), t->count, t->dur_ns},
	    {"LINK", sizeof(*t->link), t->count, t->link},
	    {"NAME", sizeof(*t->name), t->count, t->name},
	    {"LANE", sizeof(*t->lane), t->count, t->lane},
	    {"KIND", sizeof(*t->kind), t->count, t->kind},
	    {"LNES", sizeof(*t->lanes), t->lane_count, t->lanes},
	    {"DTLS", sizeof(*t->details), t->detail_count, t->details},
	    {"TSTA", sizeof(*x->start), x->count + 1, x->start},
	    {"TEXT", 1, x->len, x->bytes},
	};
	struct blockfile_writer w;

	blockfile_begin(&w, fd, MAGIC, VERSION);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		int rc =
		    blockfile_add(&w, blocks[i].id, blocks[i].element, blocks[i].count, blocks[i].data, err);

		if (rc != SB_OK)
			return rc;
	}
	return blockfile_end(&w, err);
}

int trace_write(const struct trace *t, int fd, struct sb_error *err)
{
	struct texts texts = {0};
	int rc = texts_collect(t, &texts);

	if (rc == SB_OK)
		rc = write_blocks(t, &texts, fd, err);
	else
		rc = sb_fail(err, rc, "side_file", "The texts of a trace could not be collected: %s.",
		             sb_strerror(rc));
	texts_free(&texts);
	return rc;
}

static int bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file is not usable: %s.", what);
}

static int get_column(const struct blockfile *b, const char *id, size_t element, size_t count, void **out,
                      struct sb_error *err)
{
	size_t n = 0;
	int rc = blockfile_get(b, id, element, out, &n, err);

	if (rc == SB_OK && n != count)
		return bad(err, "its columns differ in length");
	return rc;
}

static int get_texts(const struct blockfile *b, struct trace *t, struct sb_error *err)
{
	void *start = NULL, *bytes = NULL;
	size_t n = 0, len = 0;
	int rc = blockfile_get(b, "TSTA", sizeof(*t->text_start), &start, &n, err);

	if (rc == SB_OK)
		rc = blockfile_get(b, "TEXT", 1, &bytes, &len, err);
	if (rc != SB_OK)
		return rc;
	if (n < 1)
		return bad(err, "its texts are missing");
	t->text_start = start;
	t->text_bytes = bytes;
	t->text_count = n - 1;
	if (t->text_start[0] != 0 || t->text_start[n - 1] != len)
		return bad(err, "its texts do not add up");
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t end = t->text_start[i + 1];

		if (end <= t->text_start[i] || end > len || t->text_bytes[end - 1] != '\0')
			return bad(err, "its texts do not add up");
	}
	return SB_OK;
}

static int get_columns(const struct blockfile *b, struct trace *t, struct sb_error *err)
{
	void *p = NULL;
	int rc = blockfile_get(b, "STRT", sizeof(*t->start_ns), &p, &t->count, err);

	t->start_ns = p;
	if (rc == SB_OK)
		rc = get_column(b, "DURN", sizeof(*t->dur_ns), t->count, &p, err);
	t->dur_ns = p;
	if (rc == SB_OK)
		rc = get_column(b, "LINK", sizeof(*t->link), t->count, &p, err);
	t->link = p;
	if (rc == SB_OK)
		rc = get_column(b, "NAME", sizeof(*t->name), t->count, &p, err);
	t->name = p;
	if (rc == SB_OK)
		rc = get_column(b, "LANE", sizeof(*t->lane), t->count, &p, err);
	t->lane = p;
	if (rc == SB_OK)
		rc = get_column(b, "KIND", sizeof(*t->kind), t->count, &p, err);
	t->kind = p;
	if (rc == SB_OK)
		rc = blockfile_get(b, "LNES", sizeof(*t->lanes), &p, &t->lane_count, err);
	t->lanes = p;
	if (rc == SB_OK)
		rc = blockfile_get(b, "DTLS", sizeof(*t->details), &p, &t->detail_count, err);
	t->details = p;
	return rc;
}

/* The analyses index by these numbers without looking. */
static int check_indices(const struct trace *t, struct sb_error *err)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->lane[i] >= t->lane_count || t->kind[i] >= EVENT_KIND_COUNT)
			return bad(err, "an event points nowhere");
	}
	for (size_t i = 0; i < t->detail_count; i++) {
		if (t->details[i].event >= t->count ||
		    (i > 0 && t->details[i].event < t->details[i - 1].event))
			return bad(err, "a detail points nowhere");
	}
	return SB_OK;
}

int trace_map(int fd, struct trace *out, struct sb_error *err)
{
	BLOCKFILE_AUTO b = {0};
	struct trace t = {0};
	int rc = blockfile_map(fd, MAGIC, VERSION, &b, err);

	if (rc == SB_OK)
		rc = get_columns(&b, &t, err);
	if (rc == SB_OK)
		rc = get_texts(&b, &t, err);
	if (rc == SB_OK)
		rc = check_indices(&t, err);
	if (rc != SB_OK)
		return rc;
	t.map = b.map;
	t.map_size = b.size;
	b = (struct blockfile){0};
	*out = t;
	return SB_OK;
}
