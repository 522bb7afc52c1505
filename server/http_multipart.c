#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http_private.h"

enum { LABEL_MAX = 1024, TAIL_MAX = 256 };

/* A form: every part with a file name is a file of the upload. A part "path" names the file after it, "name"
 * the profile. */
struct multipart {
	struct MHD_PostProcessor *parser;
	struct call *call;
	char boundary[80];
	char part[2][LABEL_MAX + 1]; /* key and file name of the part at hand */
	bool part_open, part_empty;
	char path[LABEL_MAX + 1], name[LABEL_MAX + 1];
	size_t files;
	char tail[TAIL_MAX]; /* the last bytes of the body */
	size_t tail_len;
};

/* The library repeats offset 0 when the first piece of a part was empty. */
static bool is_new_part(const struct multipart *m, const char *key, const char *file, uint64_t offset)
{
	if (offset > 0 && m->part_open)
		return false;
	return !(m->part_open && m->part_empty && strncmp(m->part[0], key, LABEL_MAX) == 0 &&
	         strncmp(m->part[1], file ? file : "", LABEL_MAX) == 0);
}

static bool append_field(struct call *c, char *field, const char *data, size_t size)
{
	size_t len = strlen(field);

	if (len + size > LABEL_MAX || memchr(data, '\0', size)) {
		decide(c, 400, "bad_form_field", "A form field is too long or holds a NUL byte.");
		return false;
	}
	memcpy(field + len, data, size);
	field[len + size] = '\0';
	return true;
}

static bool begin_part(struct multipart *m, const char *key, const char *file)
{
	struct call *c = m->call;
	struct sb_error err = {0};

	snprintf(m->part[0], sizeof(m->part[0]), "%s", key);
	snprintf(m->part[1], sizeof(m->part[1]), "%s", file ? file : "");
	m->part_open = m->part_empty = true;
	if (file) {
		const char *label = m->path[0] ? m->path : file[0] ? file : "upload";

		m->files++;
		if (upload_file(c->upload, label, &err) != SB_OK)
			decide_error(c, &err);
		m->path[0] = '\0';
	} else if (strcmp(key, "path") == 0) {
		m->path[0] = '\0';
	} else if (strcmp(key, "name") == 0) {
		m->name[0] = '\0';
	} else {
		decide(c, 400, "unknown_form_field",
		       "A form may hold files and the fields \"path\" and \"name\".");
	}
	return !c->decided;
}

static enum MHD_Result take_part(void *arg, enum MHD_ValueKind kind, const char *key, const char *filename,
                                 const char *content_type, const char *transfer_encoding, const char *data,
                                 uint64_t offset, size_t size)
{
	struct multipart *m = arg;
	struct sb_error err = {0};

	(void)kind;
	(void)content_type;
	(void)transfer_encoding;
	key = key ? key : "";
	if (is_new_part(m, key, filename, offset) && !begin_part(m, key, filename))
		return MHD_NO;
	if (size == 0)
		return MHD_YES;
	m->part_empty = false;
	if (!filename)
		return append_field(m->call, strcmp(key, "path") == 0 ? m->path : m->name, data, size)
		           ? MHD_YES
		           : MHD_NO;
	if (upload_append(m->call->upload, data, size, &err) == SB_OK)
		return MHD_YES;
	decide_error(m->call, &err);
	return MHD_NO;
}

bool multipart_new(struct call *c, const char *boundary)
{
	struct multipart *m = calloc(1, sizeof(*m));

	if (!m)
		return false;
	m->call = c;
	snprintf(m->boundary, sizeof(m->boundary), "%s", boundary);
	m->parser = MHD_create_post_processor(c->connection, MULTIPART_BUFFER, take_part, m);
	c->multipart = m;
	return m->parser != NULL;
}

static void keep_tail(struct multipart *m, const char *data, size_t size)
{
	if (size >= TAIL_MAX) {
		memcpy(m->tail, data + size - TAIL_MAX, TAIL_MAX);
		m->tail_len = TAIL_MAX;
		return;
	}
	if (m->tail_len + size > TAIL_MAX) {
		size_t keep = TAIL_MAX - size;

		memmove(m->tail, m->tail + m->tail_len - keep, keep);
		m->tail_len = keep;
	}
	memcpy(m->tail + m->tail_len, data, size);
	m->tail_len += size;
}

void multipart_take(struct call *c, const char *data, size_t size)
{
	struct multipart *m = c->multipart;

	keep_tail(m, data, size);
	if (MHD_post_process(m->parser, data, size) != MHD_YES && !c->decided)
		decide(c, 400, "bad_form", "The multipart body is malformed.");
}

/* The library takes a body that was cut inside a file for a good one. */
static bool ends_with_boundary(const struct multipart *m)
{
	char mark[96];
	int len = snprintf(mark, sizeof(mark), "--%s--", m->boundary);

	return memmem(m->tail, m->tail_len, mark, (size_t)len) != NULL;
}

static void take_name(struct call *c, const char *name)
{
	for (size_t i = 0; i < c->req.query_count; i++)
		if (strcmp(c->req.query[i].name, "name") == 0)
			return;
	/* target_parse() leaves room for one more */
	c->target.query[c->target.query_count++] = (struct api_pair){"name", name};
	c->req.query_count = c->target.query_count;
}

void multipart_end(struct call *c)
{
	struct multipart *m = c->multipart;
	bool whole = MHD_destroy_post_processor(m->parser) == MHD_YES;

	m->parser = NULL;
	if (!whole || !ends_with_boundary(m))
		decide(c, 400, "truncated_form", "The multipart body ends before its last boundary.");
	else if (m->files == 0)
		decide(c, 400, "no_file", "The form holds no file.");
	else if (m->name[0])
		take_name(c, m->name);
}

void multipart_free(struct multipart **mm)
{
	struct multipart *m = *mm;

	*mm = NULL;
	if (!m)
		return;
	if (m->parser)
		MHD_destroy_post_processor(m->parser);
	free(m);
}
