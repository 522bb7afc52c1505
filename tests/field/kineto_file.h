#ifndef SB_TESTS_FIELD_KINETO_FILE_H
#define SB_TESTS_FIELD_KINETO_FILE_H
#include "tests/shared.h"

#include <string.h>
#include <zlib.h>

#include "base/num.h"
#include "profiler/read/json.h"
#include "tests/one_capture.h"

/* Kineto samples of $SIGNALBOX_SHARED, read by their reader alone, and the JSON files that say what is in
 * them. */
struct text {
	char *data;
	size_t len;
};

/* A file of the shared folder, inflated when it is gzip. */
static inline struct text load(const char *folder, const char *name)
{
	char relative[1024], *path;
	struct text t = {0};
	size_t cap = 1 << 20;
	gzFile f;
	int n;

	snprintf(relative, sizeof(relative), "%s/%s", folder, name);
	path = shared_path(relative);
	f = gzopen(path, "rb");
	free(path);
	assert_non_null(f);
	t.data = malloc(cap);
	assert_non_null(t.data);
	while ((n = gzread(f, t.data + t.len, (unsigned)(cap - t.len))) > 0) {
		t.len += (size_t)n;
		if (t.len == cap) {
			cap *= 2;
			t.data = realloc(t.data, cap);
			assert_non_null(t.data);
		}
	}
	gzclose(f);
	assert_true(t.len > 0);
	return t;
}

/* Integer at a path of keys ("a/b/c") of a JSON text, or SB_NULL. */
static inline int64_t truth(const struct text *doc, const char *path)
{
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v;
	int64_t n = SB_NULL;

	memory_stream_init(&m, "truth", doc->data, doc->len, 0);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	for (;;) {
		size_t want = strcspn(path, "/");

		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		if (v.token != JPULL_KEY)
			return SB_NULL;
		if (v.len != want || memcmp(v.text, path, want) != 0) {
			assert_int_equal(jpull_drop(j, NULL), SB_OK);
			continue;
		}
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		if (path[want] == '\0') {
			(void)sb_parse_int(v.text, v.len, &n);
			return n;
		}
		path += want + 1;
		if (v.token != JPULL_OBJECT)
			return SB_NULL;
	}
}

static inline void read_sample(const char *name, const struct text *t, size_t block, struct profile *out)
{
	struct read_context ctx = {.profile = out, .capture = one_capture};
	struct sniff s = {.path = name, .head = t->data, .len = t->len < SNIFF_BYTES ? t->len : SNIFF_BYTES};
	struct memory_stream m;
	struct sb_error err = {0};

	s.whole = s.len == t->len;
	assert_true(KINETO_READER.sniff(&s) > 0);
	memory_stream_init(&m, name, t->data, t->len, block);
	if (KINETO_READER.read(&ctx, &m.base, &err) != SB_OK)
		fail_msg("%s: %s: %s", name, err.word, err.text);
}

struct sums {
	size_t count;
	int64_t dur, first, last;
};

static inline struct sums sum(const struct trace *t, enum event_kind kind)
{
	struct sums s = {.first = INT64_MAX, .last = INT64_MIN};

	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] != kind)
			continue;
		s.count++;
		s.dur += t->dur_ns[i];
		if (t->start_ns[i] < s.first)
			s.first = t->start_ns[i];
		if (t->start_ns[i] + t->dur_ns[i] > s.last)
			s.last = t->start_ns[i] + t->dur_ns[i];
	}
	return s;
}
#endif
