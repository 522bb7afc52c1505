#ifndef SB_TESTS_FIELD_SET_H
#define SB_TESTS_FIELD_SET_H
#include "tests/field/answer.h"
#include "tests/field/kineto_events.h"

#include <archive.h>
#include <archive_entry.h>

/* The files of one capture, held in memory so that single ones can be cut, renamed, packed or shuffled. */
#define SET_MAX 32
struct set {
	struct {
		char *path;
		struct text text;
	} files[SET_MAX];
	size_t count;
};

static inline void set_add(struct set *s, const char *path, struct text t)
{
	assert_true(s->count < SET_MAX);
	s->files[s->count].path = strdup(path);
	assert_non_null(s->files[s->count].path);
	s->files[s->count++].text = t;
}

static inline void set_free(struct set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->files[i].path);
		free(s->files[i].text.data);
	}
	s->count = 0;
}
#define SET_AUTO __attribute__((cleanup(set_free))) struct set

/* The members of an archive of $SIGNALBOX_SHARED below one folder, without its name. */
static inline void set_of_bundle(const char *archive, const char *folder, struct set *s)
{
	char *path = shared_path(archive);
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	archive_read_support_format_tar(a);
	archive_read_support_filter_gzip(a);
	assert_int_equal(archive_read_open_filename(a, path, 65536), ARCHIVE_OK);
	free(path);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(e);
		struct text t = {.len = (size_t)archive_entry_size(e)};

		if (archive_entry_filetype(e) != AE_IFREG || strncmp(name, folder, strlen(folder)) != 0)
			continue;
		t.data = malloc(t.len + 1);
		assert_non_null(t.data);
		assert_int_equal(archive_read_data(a, t.data, t.len), t.len);
		set_add(s, name + strlen(folder), t);
	}
	archive_read_free(a);
	assert_true(s->count > 0);
}

/* Index of the file whose path ends so. */
static inline size_t set_find(const struct set *s, const char *end)
{
	for (size_t i = 0; i < s->count; i++) {
		size_t len = strlen(s->files[i].path), n = strlen(end);

		if (len >= n && strcmp(s->files[i].path + len - n, end) == 0)
			return i;
	}
	fail_msg("no file %s", end);
	return 0;
}

/* Reads all files, of file `at` what `instead` holds (none when it is past the end), and breaks the time
 * down. */
static inline int set_read(const struct set *s, size_t at, const struct text *instead, struct profile *p,
                           struct breakdown *b, struct sb_error *err)
{
	struct read_input in[SET_MAX];
	struct warnings w = {0};
	int rc;

	for (size_t i = 0; i < s->count; i++) {
		const struct text *t = i == at ? instead : &s->files[i].text;

		in[i] = (struct read_input){
		    .path = s->files[i].path, .fd = fd_of(t->data, t->len), .length = (int64_t)t->len};
	}
	rc = profile_read(in, s->count, NULL, NULL, p, err);
	for (size_t i = 0; i < s->count; i++)
		close(in[i].fd);
	if (rc == SB_OK)
		assert_int_equal(breakdown_compute(p, &w, b, NULL), SB_OK);
	free(w.items);
	return rc;
}

#define ROW_TIMES 11
static inline void row_times(const struct breakdown_row *r, int64_t out[ROW_TIMES])
{
	const int64_t v[ROW_TIMES] = {r->span_ns,    r->busy_ns,    r->compute_ns, r->communication_ns,
	                              r->exposed_ns, r->overlap_ns, r->copy_ns,    r->copy_exposed_ns,
	                              r->free_ns,    r->bubble_ns,  r->step_ns};

	memcpy(out, v, sizeof(v));
}

/* Equal within `tolerance` ns; what is null in one is null in both. */
static inline void same_row(const char *where, const struct breakdown_row *a, const struct breakdown_row *b,
                            int64_t tolerance)
{
	int64_t x[ROW_TIMES], y[ROW_TIMES];

	row_times(a, x);
	row_times(b, y);
	/* where its window was lost the step has no length */
	if (y[ROW_TIMES - 1] == SB_NULL)
		x[ROW_TIMES - 1] = SB_NULL;
	for (size_t i = 0; i < ROW_TIMES; i++)
		if ((x[i] == SB_NULL) != (y[i] == SB_NULL) ||
		    (x[i] != SB_NULL && llabs(x[i] - y[i]) > tolerance))
			fail_msg("%s: step %lld: time %zu is %lld, not %lld", where, (long long)a->step, i,
			         (long long)y[i], (long long)x[i]);
}

/* The row of the same device and step (and rank, where both know it), or NULL. */
static inline const struct breakdown_row *row_like(const struct breakdown *b, const struct breakdown_row *r)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct breakdown_row *x = &b->rows[i];

		if (x->step == r->step && (x->rank == r->rank || x->rank == SB_NULL || r->rank == SB_NULL))
			return x;
	}
	return NULL;
}

static inline void same_rows(const char *where, const struct breakdown *a, const struct breakdown *b,
                             int64_t tolerance)
{
	same(where, "count of rows", (int64_t)b->count, (int64_t)a->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct breakdown_row *like = row_like(b, &a->rows[i]);

		if (!like)
			fail_msg("%s: no row of step %lld", where, (long long)a->rows[i].step);
		same_row(where, &a->rows[i], like, tolerance);
	}
}

static inline int64_t compute_of(const struct profile *p)
{
	OPERATORS_AUTO o = {0};
	int64_t sum = 0;

	assert_int_equal(operators_collect(p, &o, NULL), SB_OK);
	for (size_t i = 0; i < o.count; i++)
		sum += o.rows[i].klass == OPERATOR_COMPUTE ? o.rows[i].total_ns : 0;
	return sum;
}

/* Places of cuts: a quarter near the front, where every one matters, the rest all over the file. */
static inline size_t cut_of(uint64_t *seed, size_t len)
{
	return draw(seed, 4) ? draw(seed, len) : draw(seed, len < 4096 ? len : 4096);
}

/* A refusal is a sentence with a word for it. */
static inline void refused_well(const char *where, int rc, const struct sb_error *err)
{
	if ((rc != SB_EFORMAT && rc != SB_ELIMIT) || err->word[0] == '\0' || strlen(err->text) < 15)
		fail_msg("%s: %d %s %s", where, rc, err->word, err->text);
}

/* Past the record of a table that begins at `at`, and how many fields it has: quotes may hold line ends. */
static inline size_t after_record(const struct text *t, size_t at, size_t *out_fields)
{
	bool quoted = false;

	*out_fields = 1;
	for (; at < t->len && (quoted || t->data[at] != '\n'); at++) {
		quoted ^= t->data[at] == '"';
		*out_fields += !quoted && t->data[at] == ',';
	}
	return at + (at < t->len);
}

/* Whole records of a table before a cut, with as many fields as the header, which is not counted. */
static inline size_t records_before(const struct text *t, size_t cut)
{
	size_t n = 0, at = 0, columns = 0, fields;

	while (at < t->len) {
		at = after_record(t, at, &fields);
		if (at > cut)
			break;
		n += columns > 0 && fields == columns;
		columns = columns ? columns : fields;
	}
	return n;
}
#endif
