#include <stdlib.h>
#include <string.h>

#include "profiler/blockfile.h"
#include "profiler/operators.h"

/* Change the version whenever a block changes its meaning. */
static const char MAGIC[8] = {'S', 'B', 'O', 'P', 'E', 'R', 'S', '\n'};
#define VERSION 2

/* A row without padding, so that the file does not hold stray bytes. */
struct stored_row {
	int64_t rank, step, count, total_ns, min_ns, max_ns, graph_count, graph_ns;
	uint32_t name, type, unit, klass;
};

static int write_rows(const struct operator_table *t, struct blockfile_writer *w, struct sb_error *err)
{
	struct stored_row *rows = calloc(t->count + 1, sizeof(*rows));
	int rc;

	if (!rows)
		return sb_fail(err, SB_ENOMEM, "side_file", "No memory to write the operators.");
	for (size_t i = 0; i < t->count; i++) {
		const struct operator_row *r = &t->rows[i];

		rows[i] = (struct stored_row){r->rank,   r->step,   r->count,       r->total_ns,
		                              r->min_ns, r->max_ns, r->graph_count, r->graph_ns,
		                              r->name,   r->type,   r->unit,        r->klass};
	}
	rc = blockfile_add(w, "ROWS", sizeof(*rows), t->count, rows, err);
	free(rows);
	return rc;
}

static int write_texts(const struct operator_table *t, struct blockfile_writer *w, struct sb_error *err)
{
	size_t n = sb_strings_count(t->strings), total = 0, len;
	uint64_t *start = calloc(n + 1, sizeof(*start));
	char *bytes = NULL;
	int rc = SB_ENOMEM;

	for (size_t i = 0; start && i < n; i++) {
		(void)sb_strings_get(t->strings, (uint32_t)i, &len);
		start[i + 1] = total += len;
	}
	if (start)
		bytes = malloc(total + 1);
	for (size_t i = 0; bytes && i < n; i++) {
		const char *text = sb_strings_get(t->strings, (uint32_t)i, &len);

		memcpy(bytes + start[i], text, len);
	}
	if (bytes)
		rc = blockfile_add(w, "TEXT", 1, total, bytes, err);
	if (rc == SB_OK)
		rc = blockfile_add(w, "TXAT", sizeof(*start), n + 1, start, err);
	free(start);
	free(bytes);
	return rc;
}

int operators_write(const struct operator_table *t, int fd, struct sb_error *err)
{
	struct blockfile_writer w;
	int rc;

	blockfile_begin(&w, fd, MAGIC, VERSION);
	rc = write_rows(t, &w, err);
	if (rc == SB_OK)
		rc = write_texts(t, &w, err);
	return rc == SB_OK ? blockfile_end(&w, err) : rc;
}

static int bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file of the operators is damaged: %s.",
	               what);
}

static int load_texts(const struct blockfile *b, struct sb_strings *to, struct sb_error *err)
{
	void *bytes = NULL, *at = NULL;
	size_t total = 0, n = 0;
	int rc = blockfile_get(b, "TEXT", 1, &bytes, &total, err);

	if (rc == SB_OK)
		rc = blockfile_get(b, "TXAT", sizeof(uint64_t), &at, &n, err);
	if (rc != SB_OK)
		return rc;
	const uint64_t *start = at;

	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t id = 0;

		if (start[i] > start[i + 1] || start[i + 1] > total)
			return bad(err, "a text lies outside");
		rc = sb_strings_add(to, (const char *)bytes + start[i], start[i + 1] - start[i], &id);
		if (rc != SB_OK)
			return sb_fail(err, rc, "side_file", "The texts cannot be loaded: %s.",
			               sb_strerror(rc));
		if (id != i)
			return bad(err, "a text is there twice");
	}
	return SB_OK;
}

static int load_rows(const struct blockfile *b, struct operator_table *to, struct sb_error *err)
{
	void *data = NULL;
	size_t n = 0, texts = sb_strings_count(to->strings);
	int rc = blockfile_get(b, "ROWS", sizeof(struct stored_row), &data, &n, err);

	if (rc != SB_OK)
		return rc;
	const struct stored_row *rows = data;

	to->rows = calloc(n + 1, sizeof(*to->rows));
	if (!to->rows)
		return sb_fail(err, SB_ENOMEM, "side_file", "No memory to load the operators.");
	for (size_t i = 0; i < n; i++) {
		const struct stored_row *r = &rows[i];

		if (r->name >= texts || r->type >= texts || r->unit >= texts ||
		    r->klass >= OPERATOR_CLASS_COUNT || r->count <= 0)
			return bad(err, "a row holds a number out of range");
		to->rows[to->count++] =
		    (struct operator_row){r->rank,   r->step,        r->name,
		                          r->type,   r->unit,        (enum operator_class)r->klass,
		                          r->count,  r->total_ns,    r->min_ns,
		                          r->max_ns, r->graph_count, r->graph_ns};
	}
	return SB_OK;
}

int operators_load(int fd, struct operator_table *out, struct sb_error *err)
{
	BLOCKFILE_AUTO b = {0};
	OPERATORS_AUTO t = {0};
	int rc = blockfile_map(fd, MAGIC, VERSION, &b, err);

	if (rc == SB_OK && sb_strings_new(&t.strings) != SB_OK)
		rc = sb_fail(err, SB_ENOMEM, "side_file", "No memory to load the operators.");
	if (rc == SB_OK)
		rc = load_texts(&b, t.strings, err);
	if (rc == SB_OK)
		rc = load_rows(&b, &t, err);
	if (rc != SB_OK)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return rc;
	*out = t;
	t = (struct operator_table){0};
	return SB_OK;
}
