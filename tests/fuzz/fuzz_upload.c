#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "server/http_private.h"
#include "storage/upload.h"
#include "tests/fuzz/scratch_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The body of an upload: a line with its Content-Type, a line with the length of the pieces in which it
 * comes, and the body. What is made of it must not depend on the pieces. */

enum { BODY_MAX = 1 << 16, TYPE_MAX = 512, BYTES_MAX = 1 << 14 };

static struct {
	struct scratch_store scratch;
	struct http_server server;
} all;

struct input {
	char type[TYPE_MAX];
	size_t piece;
	const char *body;
	size_t len;
};

/* What was made of a body. */
struct outcome {
	int status; /* of the refusal, 0 = taken */
	char *files, *name;
	char sha256[65];
};

static void outcome_free(struct outcome *o)
{
	free(o->files);
	free(o->name);
}

/* Takes the next line off the input, cut to fit; what no header may hold becomes a blank. */
static void take_line(const uint8_t **at, size_t *left, char *out, size_t out_size)
{
	const uint8_t *end = memchr(*at, '\n', *left);
	size_t len = end ? (size_t)(end - *at) : *left, kept = len < out_size ? len : out_size - 1;

	memcpy(out, *at, kept);
	out[kept] = '\0';
	for (size_t i = 0; i < kept; i++)
		if ((unsigned char)out[i] < 0x20)
			out[i] = ' ';
	*at += end ? len + 1 : len;
	*left -= end ? len + 1 : len;
}

/* The index of an upload: labels that differ, one file behind the other, all bytes. */
static void check_index(const char *text, int64_t bytes, size_t files)
{
	json_t *index = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *labels = json_object();
	json_int_t at = 0;

	must(json_is_array(index) && labels && json_array_size(index) == files && files > 0);
	for (size_t i = 0; i < files; i++) {
		const json_t *one = json_array_get(index, i);
		const char *label = json_string_value(json_object_get(one, "path"));

		must(label && label[0] && label[0] != '/' && strlen(label) <= UPLOAD_PATH_MAX);
		must(!json_object_get(labels, label));
		json_object_set_new(labels, label, json_true());
		must(json_integer_value(json_object_get(one, "offset")) == at);
		at += json_integer_value(json_object_get(one, "bytes"));
	}
	must(at == bytes && bytes <= BYTES_MAX);
	json_decref(index);
	json_decref(labels);
}

static void seal(struct call *c, const struct input *in, struct outcome *out)
{
	bool form = c->multipart != NULL;

	must(upload_bytes(c->upload) <= (int64_t)in->len);
	must(upload_seal(c->upload, &out->files, out->sha256, NULL) == SB_OK);
	check_index(out->files, upload_bytes(c->upload), upload_files(c->upload));
	if (form && c->req.query_count > 0)
		out->name = strdup(c->req.query[0].value);
	must(form || upload_bytes(c->upload) == (int64_t)in->len);
}

static struct outcome receive(struct MHD_Connection *connection, const struct input *in, size_t piece)
{
	struct api_pair type = {"Content-Type", in->type}, query[1];
	struct call c = {.server = &all.server,
	                 .connection = connection,
	                 .mode = API_UPLOAD,
	                 .framing = {.content_length = (int64_t)in->len, .has_body = true},
	                 .target = {.query = query},
	                 .req = {.headers = &type, .header_count = 1, .query = query}};
	struct outcome out = {0};

	body_begin(&c);
	for (size_t at = 0; at < in->len && !c.decided; at += piece)
		must(body_take(&c, in->body + at, in->len - at < piece ? in->len - at : piece));
	if (!c.decided)
		body_end(&c);
	if (c.decided) {
		out.status = c.res.status;
		must(out.status >= 400 && out.status < 500 && !c.upload && !c.multipart);
	} else {
		seal(&c, in, &out);
	}
	body_clear(&c);
	api_res_clear(&c.res);
	return out;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **seen)
{
	const struct input *in = *(const struct input **)arg;
	struct outcome whole = receive(connection, in, BODY_MAX), pieces = receive(connection, in, in->piece);

	(void)url;
	(void)method;
	(void)version;
	(void)data;
	(void)size;
	(void)seen;
	must(whole.status == pieces.status && strcmp(whole.sha256, pieces.sha256) == 0);
	must(strcmp(whole.files ? whole.files : "", pieces.files ? pieces.files : "") == 0);
	must(strcmp(whole.name ? whole.name : "", pieces.name ? pieces.name : "") == 0);
	outcome_free(&whole);
	outcome_free(&pieces);
	return MHD_NO; /* the connection has done what it is for: the form's parser asks it for its type */
}

static void drop_all(void)
{
	scratch_store_drop(&all.scratch);
}

static void begin(void)
{
	scratch_store_open(&all.scratch);
	all.server.config.store = all.scratch.store;
	all.server.config.limits.upload_bytes = BYTES_MAX;
	all.server.config.http.drain_bytes = BODY_MAX;
	atexit(drop_all);
}

/* One request over a connection of its own. */
static void ask(const struct input *in)
{
	const struct sockaddr from = {.sa_family = AF_UNIX};
	char head[TYPE_MAX + 128];
	int pair[2],
	    len = snprintf(head, sizeof(head), "POST / HTTP/1.0\r\nContent-Type: %s\r\n\r\n", in->type);
	const struct input *asked = in;
	struct MHD_Daemon *daemon =
	    MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, &asked, MHD_OPTION_END);

	must(daemon && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	must(write(pair[1], head, (size_t)len) == len);
	must(MHD_add_connection(daemon, pair[0], &from, sizeof(from)) == MHD_YES);
	MHD_run(daemon);
	MHD_stop_daemon(daemon);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	char piece[16];

	if (size > BODY_MAX)
		return 0;
	if (!all.scratch.store)
		begin();
	take_line(&data, &size, in.type, sizeof(in.type));
	take_line(&data, &size, piece, sizeof(piece));
	in.piece = strtoul(piece, NULL, 10) % BODY_MAX;
	in.piece = in.piece > 0 ? in.piece : 1;
	in.body = (const char *)data;
	in.len = size;
	ask(&in);
	return 0;
}
