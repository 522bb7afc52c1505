#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/collect.h"
#include "profiler/read/source.h"

const struct read_limits READ_LIMITS_DEFAULT = {
    .inflated_bytes = INT64_C(64) << 30,
    .ratio = 200,
    .ratio_from = INT64_C(64) << 20,
    .archive_files = 100000,
};

struct reading {
	struct collection all;   /* first: what the readers see */
	struct sb_strings *seen; /* paths of files */
	struct sb_error failed;  /* the failed file with the smallest path */
	char unknown[256];       /* the file with the smallest path that no reader knows */
	char hint[200];
	bool database; /* it is a database: what a capture without text files holds */
	size_t files;
};

static void reading_free(struct reading *r)
{
	collection_free(&r->all);
	sb_strings_free(&r->seen);
}

static const struct format_reader *best_reader(const struct sniff *s)
{
	const struct format_reader *best = NULL;
	int best_score = 0;

	for (size_t i = 0; FORMAT_READERS[i]; i++) {
		int score = FORMAT_READERS[i]->sniff(s);

		if (score > best_score) {
			best = FORMAT_READERS[i];
			best_score = score;
		}
	}
	return best;
}

static void not_known(struct reading *r, const struct sniff *s, const char *hint)
{
	bool database = s->len >= 6 && memcmp(s->head, "SQLite", 6) == 0;

	collection_left_out(&r->all, s->path, hint ? hint : "not a file that is known");
	if (r->unknown[0] != '\0' && r->database == database && strcmp(r->unknown, s->path) <= 0)
		return;
	if (r->database && !database)
		return;
	r->database = database;
	snprintf(r->unknown, sizeof(r->unknown), "%s", s->path);
	snprintf(r->hint, sizeof(r->hint), "%s", hint ? hint : "Nothing is known about this file.");
}

/* The same path twice would be read into one capture twice. */
static int first_time(struct reading *r, const char *path, struct sb_error *err)
{
	size_t before = sb_strings_count(r->seen);
	uint32_t id;

	if (sb_strings_add(r->seen, path, strlen(path), &id) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	if (sb_strings_count(r->seen) == before && path[0] != '\0')
		return sb_fail_at(err, SB_EFORMAT, "duplicate_file", path, 0, -1,
		                  "the upload holds this path twice: the first one is used");
	return SB_OK;
}

static int take_file(void *self, const struct sniff *s, struct stream *in, struct sb_error *err)
{
	struct reading *r = self;
	const struct format_reader *reader;
	const char *unused;
	struct sb_error local = {.offset = -1};
	int rc;

	r->files++;
	rc = first_time(r, s->path, err);
	if (rc != SB_OK)
		return rc;
	if (s->len == 0 && s->whole)
		return sb_fail_at(err, SB_EFORMAT, "empty", s->path, 0, 0, "the file is empty");
	unused = ascend_unused(s);
	if (unused) {
		collection_left_out(&r->all, s->path, unused);
		return SB_OK;
	}
	reader = best_reader(s);
	if (reader)
		rc = reader->read(&r->all.context, in, &local);
	/* the hint says more than that it is no trace */
	if (!reader || (rc == SB_EFORMAT && strcmp(local.word, "not_a_trace") == 0)) {
		not_known(r, s, sniff_hint(s));
		return SB_OK;
	}
	if (rc == SB_EFORMAT && strcmp(local.word, "unknown_database") == 0) {
		not_known(r, s, local.text);
		return SB_OK;
	}
	if (rc != SB_OK && err)
		*err = local;
	return rc;
}

static void take_left_out(void *self, const char *path, const char *reason)
{
	struct reading *r = self;

	collection_left_out(&r->all, path, reason);
}

static void take_failed(void *self, const char *path, const struct sb_error *err)
{
	struct reading *r = self;
	const char *file = err->file[0] != '\0' ? err->file : path;

	warnings_add(&r->all.profile.warnings, err->word, file, err->line, err->offset,
	             "This file is not used: %s.", err->text);
	if (r->failed.code == SB_OK || strcmp(file, r->failed.file) < 0)
		r->failed = *err;
}

static int by_path(const void *a, const void *b)
{
	const struct read_input *x = *(const struct read_input *const *)a;
	const struct read_input *y = *(const struct read_input *const *)b;
	int c = strcmp(x->path, y->path);

	return c != 0 ? c : (x > y) - (x < y);
}

static int walk_in_order(struct source *s, const struct read_input *inputs, size_t count,
                         const struct read_input **order, struct sb_error *err)
{
	int rc = SB_OK;

	for (size_t i = 0; i < count; i++) {
		order[i] = &inputs[i];
		s->budget.total = sb_add_sat(s->budget.total, inputs[i].length > 0 ? inputs[i].length : 0);
	}
	if (count > 1)
		qsort(order, count, sizeof(struct read_input *), by_path);
	for (size_t i = 0; rc == SB_OK && i < count; i++)
		rc = source_walk(s, order[i], err);
	return rc;
}

static int walk_all(struct source *s, const struct read_input *inputs, size_t count, struct sb_error *err)
{
	const struct read_input **order = calloc(count + 1, sizeof(struct read_input *));
	int rc;

	if (!order)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	rc = walk_in_order(s, inputs, count, order, err);
	free(order);
	return rc;
}

/* A capture without events, and a file beside it that might have had some. */
static int no_events(const struct reading *r, struct sb_error *err)
{
	const struct profile *p = &r->all.profile;

	for (size_t i = 0; i < p->left_out_count; i++) {
		const struct left_out *l = &p->left_out[i];

		if (strcmp(l->file, r->all.empty) != 0)
			return sb_fail_at(err, SB_EFORMAT, "no_events", r->all.empty, 0, -1,
			                  "the profile holds no events; left out, for example, %.120s: %s",
			                  l->file, l->reason);
	}
	return sb_fail_at(err, SB_EFORMAT, "no_events", r->all.empty, 0, -1, "the profile holds no events%s",
	                  r->all.sums_only ? ": op_statistic.csv has sums only, send trace_view.json or "
	                                     "kernel_details.csv with it"
	                                   : "");
}

/* Why nothing could be used, as well as it can be told. */
static int nothing(const struct reading *r, struct sb_error *err)
{
	const struct profile *p = &r->all.profile;

	if (r->failed.code != SB_OK) {
		if (err)
			*err = r->failed;
		return r->failed.code == SB_ELIMIT ? SB_EFORMAT : r->failed.code;
	}
	if (r->all.empty[0] != '\0' && !r->database)
		return no_events(r, err);
	if (r->unknown[0] != '\0')
		return sb_fail_at(err, SB_EFORMAT, "unknown_format", r->unknown, 0, -1,
		                  "%s Read are Kineto traces of PyTorch (JSON, plain or gzip), *_ascend_pt "
		                  "directories, and zip or tar archives of them.",
		                  r->hint);
	if (p->left_out_count > 0)
		return sb_fail_at(err, SB_EFORMAT, "no_profile", p->left_out[0].file, 0, -1,
		                  "none of the files can be used: %s", p->left_out[0].reason);
	return sb_fail(err, SB_EFORMAT, "empty", "the upload holds no file");
}

int profile_read(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                 const struct read_hooks *hooks, struct profile *out, struct sb_error *err)
{
	__attribute__((cleanup(reading_free))) struct reading r = {0};
	const struct source_sink sink = {
	    .self = &r, .file = take_file, .left_out = take_left_out, .failed = take_failed};
	struct source s = {.budget = {.limits = limits ? limits : &READ_LIMITS_DEFAULT, .hooks = hooks},
	                   .sink = &sink};
	int rc;

	if (collection_init(&r.all, hooks) != SB_OK || sb_strings_new(&r.seen) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	rc = walk_all(&s, inputs, count, err);
	if (rc != SB_OK)
		return rc;
	rc = collection_finish(&r.all, err);
	if (rc != SB_OK)
		return rc;
	if (r.all.profile.count == 0)
		return nothing(&r, err);
	r.all.profile.bytes_read = s.budget.handed_out;
	*out = r.all.profile;
	r.all.profile = (struct profile){0};
	return SB_OK;
}
