#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/read/source.h"

/* libarchive pulls the archive's bytes through these: from a stream that only goes forward, or from a file.
 */
struct feed {
	const struct archive_place *place;
	struct source_budget *budget;
	int64_t at;      /* in the file */
	int64_t counted; /* bytes told as read: a zip is read out of order, and parts of it twice */
	char *block;
	int rc; /* the first error, to be told instead of libarchive's */
	struct sb_error err;
};

static int count_stored(struct feed *f, int64_t bytes)
{
	int64_t left = f->place->length - f->counted;

	if (bytes > left)
		bytes = left;
	f->counted += bytes;
	f->rc = budget_stored(f->budget, f->place->in->path, bytes, &f->err);
	return f->rc;
}

static la_ssize_t feed_file(struct feed *f, const void **out_data)
{
	int64_t left = f->place->length - f->at;
	ssize_t n;

	if (left <= 0)
		return 0;
	n = pread(f->place->fd, f->block, left < SOURCE_BLOCK ? (size_t)left : SOURCE_BLOCK,
	          f->place->offset + f->at);
	if (n < 0) {
		f->rc = sb_fail_at(&f->err, SB_EIO, "read_failed", f->place->in->path, 0, f->at,
		                   "the file cannot be read");
		return -1;
	}
	f->at += n;
	*out_data = f->block;
	return count_stored(f, n) == SB_OK ? n : -1;
}

static la_ssize_t feed_read(struct archive *a, void *self, const void **out_data)
{
	struct feed *f = self;
	const char *data = NULL;
	size_t len = 0;

	if (f->rc == SB_OK && f->place->fd >= 0) {
		la_ssize_t n = feed_file(f, out_data);

		if (n < 0)
			archive_set_error(a, EIO, "input failed");
		return n;
	}
	if (f->rc == SB_OK)
		f->rc = f->place->in->next(f->place->in, &data, &len, &f->err);
	if (f->rc != SB_OK) {
		archive_set_error(a, EIO, "input failed");
		return -1;
	}
	*out_data = data;
	return (la_ssize_t)len;
}

static la_int64_t feed_skip(struct archive *a, void *self, la_int64_t request)
{
	struct feed *f = self;
	int64_t left = f->place->length - f->at;

	(void)a;
	if (request > left)
		request = left;
	if (request < 0)
		request = 0;
	f->at += request;
	return count_stored(f, request) == SB_OK ? request : ARCHIVE_FATAL;
}

static la_int64_t feed_seek(struct archive *a, void *self, la_int64_t offset, int whence)
{
	struct feed *f = self;
	int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f->at : f->place->length;
	int64_t to = sb_add_sat(base, offset);

	(void)a;
	if (to < 0 || to > f->place->length)
		return ARCHIVE_FATAL;
	f->at = to;
	return to;
}

/* One member as a stream. */
struct member {
	struct stream base;
	struct archive *a;
	struct feed *feed;
	struct source_budget *budget; /* of the archive */
	struct source_budget *own;    /* of the member */
	bool zip;
	int64_t size; /* as the header says it, -1 = it does not */
	int64_t out;
	bool at_end;
};

/* What libarchive says, in our words. The feed's own error comes first. */
static int archive_failed(const struct feed *f, struct archive *a, const char *path, int64_t offset,
                          struct sb_error *err)
{
	const char *text = archive_error_string(a);

	if (f->rc != SB_OK) {
		if (err)
			*err = f->err;
		return f->rc;
	}
	if (!text)
		text = "damaged";
	/* -5 is zlib's word for input that ends too early */
	if (strstr(text, "runcated") || strstr(text, "(-5)"))
		return sb_fail_at(err, SB_EFORMAT, "truncated", path, 0, offset,
		                  "the archive ends too early");
	if (strstr(text, "assphrase") || strstr(text, "ncrypt"))
		return sb_fail_at(err, SB_EFORMAT, "encrypted", path, 0, -1,
		                  "the archive is encrypted: send it without a password");
	return sb_fail_at(err, SB_EFORMAT, "bad_archive", path, 0, offset, "the archive cannot be read: %s",
	                  text);
}

static int member_next(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct member *m = (struct member *)s;
	const void *data = NULL;
	size_t len = 0;
	la_int64_t at = 0;
	int rc = m->at_end ? ARCHIVE_EOF : archive_read_data_block(m->a, &data, &len, &at);

	/* libarchive ends a stored member of a zip with one empty block */
	if (rc == ARCHIVE_OK && len == 0)
		rc = archive_read_data_block(m->a, &data, &len, &at);
	*out_len = 0;
	m->at_end = rc == ARCHIVE_EOF;
	if (m->at_end)
		return SB_OK;
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return archive_failed(m->feed, m->a, s->path, m->out, err);
	if (len == 0 || at != m->out)
		return sb_fail_at(err, SB_EFORMAT, "bad_archive", s->path, 0, m->out,
		                  "the member has a hole");
	if (m->size >= 0 && (int64_t)len > m->size - m->out)
		return sb_fail_at(err, SB_EFORMAT, "bad_archive", s->path, 0, m->out,
		                  "the member is longer than the archive says");
	m->out += (int64_t)len;
	m->own->stored += (int64_t)len;
	*out_data = data;
	*out_len = len;
	/* a tar stores what it hands out: only a zip inflates */
	return m->zip ? budget_inflated(m->budget, s->path, (int64_t)len, err) : SB_OK;
}

/* Why a member is not read; NULL when it is. */
static const char *refusal(struct archive_entry *e)
{
	if (archive_entry_hardlink(e) || archive_entry_hardlink_utf8(e))
		return "a hard link in an archive";
	if (archive_entry_filetype(e) == AE_IFLNK)
		return "a symbolic link in an archive";
	/* a zip may leave the type out */
	if (archive_entry_filetype(e) != AE_IFREG && archive_entry_filetype(e) != 0)
		return "a device or other special file in an archive";
	if (archive_entry_sparse_count(e) > 0)
		return "a sparse file in an archive";
	return NULL;
}

struct walk {
	struct source *s;
	const struct archive_place *place;
	struct archive *a;
	struct feed *feed;
	uint64_t count; /* of members so far */
	char path[SOURCE_PATH_MAX];
};

/* The path of a member, put behind that of its archive. out_dir: nothing to read. */
static int member_path(struct walk *w, struct archive_entry *e, bool *out_too_long, struct sb_error *err)
{
	const char *outer = w->place->in->path, *name = archive_entry_pathname(e);
	size_t n = strlen(outer);
	char spare[32];
	int rc;

	/* the plain name is missing when the process' locale cannot hold it */
	if (!name)
		name = archive_entry_pathname_utf8(e);
	if (!name) {
		snprintf(spare, sizeof(spare), "member-%llu", (unsigned long long)w->count);
		name = spare;
	}
	*out_too_long = false;
	if (n + 2 > sizeof(w->path)) {
		*out_too_long = true;
		return SB_OK;
	}
	memcpy(w->path, outer, n);
	w->path[n] = '/';
	rc = archive_path(name, w->path + n + 1, sizeof(w->path) - n - 1);
	*out_too_long = rc == SB_ELIMIT;
	if (rc != SB_EINVAL)
		return SB_OK;
	source_stop(w->s->budget.shared);
	return sb_fail_at(err, SB_EFORMAT, "unsafe_path", outer, 0, -1,
	                  "the archive is refused: its member \"%.200s\" points outside", name);
}

/* A zip that cannot seek would inflate the unread rest out of our sight. */
static int drain(struct member *m, struct sb_error *err)
{
	const char *data;
	size_t len = 1;
	int rc = SB_OK;

	while (rc == SB_OK && len > 0)
		rc = member_next(&m->base, &data, &len, err);
	return rc;
}

/* Hands the member out, here or to another thread. */
static int hand_out(struct walk *w, struct source *child, struct member *m, struct sb_error *err)
{
	const struct archive_place inner = {.fd = -1, .depth = w->place->depth};
	struct sb_error ignored;
	bool taken = false;
	int rc = member_defer(child, &m->base, m->size, inner.depth, &taken, err);

	if (rc == SB_OK && !taken)
		rc = source_stream(child, &m->base, &inner, 0, err);
	if (rc != SB_OK || !m->zip || w->place->fd >= 0)
		return rc;
	rc = drain(m, &ignored);
	if (source_fatal(w->s, rc) && err)
		*err = ignored;
	return source_fatal(w->s, rc) ? rc : SB_OK;
}

static int read_member(struct walk *w, struct archive_entry *e, struct sb_error *err)
{
	struct source child = *w->s;
	struct member m = {.base = {.next = member_next, .path = w->path},
	                   .a = w->a,
	                   .feed = w->feed,
	                   .budget = &w->s->budget,
	                   .own = &child.budget,
	                   .zip = w->place->zip,
	                   .size = archive_entry_size_is_set(e) ? archive_entry_size(e) : -1};
	const char *why = refusal(e);

	child.budget.stored = child.budget.inflated = 0;
	child.order[w->place->depth] = w->count;
	if (archive_entry_filetype(e) == AE_IFDIR)
		return SB_OK;
	if (why) {
		w->s->sink->left_out(w->s->sink->self, &child, w->path, why);
		return SB_OK;
	}
	if (archive_entry_is_encrypted(e)) {
		struct sb_error locked = {0};

		sb_fail_at(&locked, SB_EFORMAT, "encrypted", w->path, 0, -1,
		           "the member is encrypted: send it without a password");
		w->s->sink->failed(w->s->sink->self, &child, w->path, &locked);
		return SB_OK;
	}
	return hand_out(w, &child, &m, err);
}

static int take_entry(struct walk *w, struct archive_entry *e, struct sb_error *err)
{
	struct source_shared *b = w->s->budget.shared;
	bool too_long;
	int rc;

	w->count++;
	if (atomic_fetch_add(&b->files, 1) >= b->limits->archive_files) {
		source_stop(b);
		return sb_fail(err, SB_ELIMIT, "too_many_files", "the archives hold more than %lld files",
		               (long long)b->limits->archive_files);
	}
	rc = member_path(w, e, &too_long, err);
	if (rc != SB_OK)
		return rc;
	if (too_long) {
		w->s->sink->left_out(w->s->sink->self, w->s, w->place->in->path,
		                     "a member's path is too long");
		return SB_OK;
	}
	return read_member(w, e, err);
}

static int open_archive(struct walk *w, struct sb_error *err)
{
	struct archive *a = w->a;

	if (w->place->zip)
		archive_read_support_format_zip(a);
	else
		archive_read_support_format_tar(a);
	archive_read_set_callback_data(a, w->feed);
	archive_read_set_read_callback(a, feed_read);
	if (w->place->fd >= 0) {
		archive_read_set_skip_callback(a, feed_skip);
		archive_read_set_seek_callback(a, feed_seek);
	}
	if (archive_read_open1(a) != ARCHIVE_OK)
		return archive_failed(w->feed, a, w->place->in->path, 0, err);
	return SB_OK;
}

static int all_entries(struct walk *w, struct sb_error *err)
{
	struct archive_entry *e;
	int rc = open_archive(w, err);

	while (rc == SB_OK) {
		int got = archive_read_next_header(w->a, &e);

		if (got == ARCHIVE_EOF)
			return SB_OK;
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return archive_failed(w->feed, w->a, w->place->in->path,
			                      archive_filter_bytes(w->a, 0), err);
		rc = take_entry(w, e, err);
	}
	return rc;
}

static int walk_members(struct walk *w, struct sb_error *err)
{
	int rc;

	w->a = archive_read_new();
	if (!w->a)
		return sb_no_memory(err);
	rc = all_entries(w, err);
	archive_read_free(w->a);
	return rc;
}

int archive_walk(struct source *s, const struct archive_place *place, struct sb_error *err)
{
	struct feed feed = {.place = place, .budget = &s->budget};
	struct walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return sb_no_memory(err);
	w->s = s;
	w->place = place;
	w->feed = &feed;
	if (place->fd >= 0) {
		/* what the look into the file has read is counted already */
		feed.counted = s->budget.stored < place->length ? s->budget.stored : place->length;
		feed.block = malloc(SOURCE_BLOCK);
	}
	if (place->fd >= 0 && !feed.block)
		rc = sb_no_memory(err);
	else
		rc = walk_members(w, err);
	free(feed.block);
	free(w);
	return rc;
}
