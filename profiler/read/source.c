#include "profiler/read/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files are read in blocks, not mapped: a mapped file that shrinks or fails while it is read would end the
 * process by SIGBUS, a failing read is an error that can be told. */
struct file_stream {
	struct stream base;
	struct source_budget *budget;
	int fd;
	int64_t at, end;
	int64_t taken; /* read from the extent past our eyes */
	char *block;   /* SOURCE_BLOCK bytes */
};

void source_stop(struct source_shared *shared)
{
	atomic_store(&shared->fatal, true);
}

int budget_go_on(const struct source_budget *b, const char *path, struct sb_error *err)
{
	const struct read_hooks *hooks = b->shared->hooks;

	/* another thread has met the end and tells why */
	if (atomic_load(&b->shared->fatal))
		return sb_fail_at(err, SB_ECANCELED, "stopped", path, 0, -1, "the work ended elsewhere");
	if (!read_canceled(hooks))
		return SB_OK;
	source_stop(b->shared);
	return sb_fail_at(err, SB_ECANCELED, "canceled", path, 0, -1, "the work was canceled");
}

/* One thread tells at a time, and never less than before; the others do not wait for it. */
void source_tell(struct source_shared *s)
{
	int64_t done;

	if (!s->hooks || !s->hooks->progress || atomic_flag_test_and_set(&s->telling))
		return;
	done = atomic_load(&s->done);
	if (done > s->total)
		done = s->total;
	if (done >= s->told) {
		s->told = done;
		s->hooks->progress(s->hooks->self, done, s->total);
	}
	atomic_flag_clear(&s->telling);
}

int budget_stored(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err)
{
	b->stored += bytes;
	atomic_fetch_add(&b->shared->done, bytes);
	source_tell(b->shared);
	return budget_go_on(b, path, err);
}

static bool too_much(const struct read_limits *l, int64_t inflated, int64_t stored)
{
	return inflated > l->ratio_from && inflated / l->ratio > stored;
}

int budget_inflated(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err)
{
	const struct read_limits *l = b->shared->limits;
	int64_t all = atomic_fetch_add(&b->shared->inflated, bytes) + bytes;
	int64_t input = atomic_fetch_add(&b->input->inflated, bytes) + bytes;

	b->inflated += bytes;
	if (all > l->inflated_bytes) {
		source_stop(b->shared);
		return sb_fail(err, SB_ELIMIT, "too_large", "the upload inflates to more than %lld bytes",
		               (long long)l->inflated_bytes);
	}
	/* of its own bytes so far, and of all that the input has: both hold in any order of reading */
	if (too_much(l, b->inflated, b->stored) || too_much(l, input, b->input->length)) {
		source_stop(b->shared);
		return sb_fail_at(err, SB_ELIMIT, "zip_bomb", path, 0, -1,
		                  "the data inflates to more than %lld times its size", (long long)l->ratio);
	}
	return SB_OK;
}

bool source_fatal(const struct source *s, int rc)
{
	return rc != SB_OK && (atomic_load(&s->budget.shared->fatal) || rc == SB_ENOMEM || rc == SB_EIO ||
	                       rc == SB_ECANCELED);
}

static int file_next(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct file_stream *f = (struct file_stream *)s;
	int64_t left = f->end - f->at;
	ssize_t n;

	*out_len = 0;
	if (left <= 0)
		return SB_OK;
	n = pread(f->fd, f->block, left < SOURCE_BLOCK ? (size_t)left : SOURCE_BLOCK, f->at);
	if (n < 0)
		return sb_fail_at(err, SB_EIO, "read_failed", s->path, 0, f->at, "the file cannot be read");
	if (n == 0) {
		f->end = f->at;
		return sb_fail_at(err, SB_EFORMAT, "truncated", s->path, 0, f->at,
		                  "the file became shorter while it was read");
	}
	f->at += n;
	*out_data = f->block;
	*out_len = (size_t)n;
	return budget_stored(f->budget, s->path, n, err);
}

/* The look into the file has counted the first block already: it is not counted twice. */
static int file_took(struct stream *s, int64_t bytes, struct sb_error *err)
{
	struct file_stream *f = (struct file_stream *)s;
	int64_t seen = f->at - s->extent->offset, before = f->taken > seen ? f->taken : seen;

	f->taken = sb_add_sat(f->taken, bytes);
	return budget_stored(f->budget, s->path, f->taken > before ? f->taken - before : 0, err);
}

static int peek_next(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct peek_stream *p = (struct peek_stream *)s;
	int rc;

	*out_len = 0;
	if (!p->head_given && p->head_len > 0) {
		p->head_given = true;
		*out_data = p->head;
		*out_len = p->head_len;
	} else if (p->rest_len > 0) {
		*out_data = p->rest;
		*out_len = p->rest_len;
		p->rest_len = 0;
	} else if (p->rc != SB_OK) {
		if (err)
			*err = p->err;
		return p->rc;
	} else if (!p->at_end) {
		rc = p->in->next(p->in, out_data, out_len, &p->err);
		p->at_end = rc != SB_OK || *out_len == 0;
		if (rc != SB_OK) {
			p->rc = rc;
			*out_len = 0;
			if (err)
				*err = p->err;
			return rc;
		}
	}
	return SB_OK;
}

static int peek_took(struct stream *s, int64_t bytes, struct sb_error *err)
{
	struct peek_stream *p = (struct peek_stream *)s;

	return p->in->took ? p->in->took(p->in, bytes, err) : SB_OK;
}

void peek_stream_init(struct peek_stream *p, struct stream *in)
{
	*p = (struct peek_stream){
	    .base = {.next = peek_next, .path = in->path, .extent = in->extent, .took = peek_took}, .in = in};
	while (p->head_len < sizeof(p->head) && !p->at_end) {
		size_t room = sizeof(p->head) - p->head_len, len = 0;
		const char *data = NULL;

		p->rc = in->next(in, &data, &len, &p->err);
		p->at_end = p->rc != SB_OK || len == 0;
		if (p->at_end)
			return;
		if (len < room)
			room = len;
		memcpy(p->head + p->head_len, data, room);
		p->head_len += room;
		p->rest = data + room;
		p->rest_len = len - room;
	}
}

/* The header of a tar holds the sum of its own bytes, which tells also the oldest kind without a magic. */
static bool is_tar(const unsigned char *h, size_t len)
{
	long sum = 0, want = 0;
	int digits = 0;

	if (len < 512 || h[0] == '\0')
		return false;
	for (size_t i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : h[i];
	for (size_t i = 148; i < 156; i++) {
		if (h[i] >= '0' && h[i] <= '7') {
			want = want * 8 + (h[i] - '0');
			digits++;
		} else if (digits > 0 || h[i] != ' ') {
			break;
		}
	}
	return digits > 0 && sum == want;
}

enum source_kind source_kind(const char *head, size_t len)
{
	if (len >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0)
		return SOURCE_GZIP;
	if (len >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
		return SOURCE_ZIP;
	return is_tar((const unsigned char *)head, len) ? SOURCE_TAR : SOURCE_FILE;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most SOURCE_GZIP_DEPTH and SOURCE_ARCHIVE_DEPTH deep */
static int walk_gzip(struct source *s, struct peek_stream *p, const struct archive_place *outer, int gzips,
                     struct sb_error *err)
{
	GZIP_STREAM_AUTO g = NULL;
	struct archive_place place = {.fd = -1, .depth = outer->depth};

	if (gzips >= SOURCE_GZIP_DEPTH) {
		s->sink->left_out(s->sink->self, s, p->base.path, "compressed more than twice");
		return SB_OK;
	}
	if (gzip_stream_new(&p->base, &s->budget, &g) != SB_OK)
		return sb_no_memory(err);
	return source_stream(s, gzip_stream_base(g), &place, gzips + 1, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most SOURCE_GZIP_DEPTH and SOURCE_ARCHIVE_DEPTH deep */
static int walk_archive(struct source *s, struct peek_stream *p, const struct archive_place *outer, bool zip,
                        struct sb_error *err)
{
	struct archive_place place = *outer;

	if (outer->depth >= SOURCE_ARCHIVE_DEPTH) {
		s->sink->left_out(s->sink->self, s, p->base.path,
		                  "an archive nested too deeply: unpack it first");
		return SB_OK;
	}
	place.in = &p->base;
	place.zip = zip;
	place.depth++;
	return archive_walk(s, &place, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most SOURCE_GZIP_DEPTH and SOURCE_ARCHIVE_DEPTH deep */
static int dispatch(struct source *s, struct peek_stream *p, const struct archive_place *outer, int gzips,
                    struct sb_error *err)
{
	struct sniff head = {.path = p->base.path,
	                     .head = p->head,
	                     .len = p->head_len,
	                     .whole = p->at_end && p->rc == SB_OK && p->head_len < sizeof(p->head)};

	if (p->head_len == 0 && p->rc != SB_OK) {
		*err = p->err;
		return p->rc;
	}
	switch (source_kind(p->head, p->head_len)) {
	case SOURCE_GZIP: return walk_gzip(s, p, outer, gzips, err);
	case SOURCE_TAR: return walk_archive(s, p, outer, false, err);
	case SOURCE_ZIP: return walk_archive(s, p, outer, true, err);
	case SOURCE_FILE: break;
	}
	return s->sink->file(s->sink->self, s, &head, &p->base, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most SOURCE_GZIP_DEPTH and SOURCE_ARCHIVE_DEPTH deep */
int source_stream(struct source *s, struct stream *in, const struct archive_place *outer, int gzips,
                  struct sb_error *err)
{
	struct peek_stream p;
	struct sb_error local = {0};
	int rc;

	peek_stream_init(&p, in);
	if (source_fatal(s, p.rc)) {
		if (err)
			*err = p.err;
		return p.rc;
	}
	rc = dispatch(s, &p, outer, gzips, &local);
	if (rc == SB_OK)
		return SB_OK;
	if (local.file[0] == '\0')
		strncpy(local.file, in->path, sizeof(local.file) - 1);
	if (source_fatal(s, rc)) {
		if (err)
			*err = local;
		return rc;
	}
	s->sink->failed(s->sink->self, s, in->path, &local);
	return SB_OK;
}

static int open_input(const struct read_input *input, int *out_fd, int64_t *out_end, struct sb_error *err)
{
	struct stat st;
	int fd = input->fd;

	*out_fd = -1;
	if (fd < 0) {
		/* O_NONBLOCK: a named pipe must not hold the reader up */
		fd = open(input->disk_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			return sb_fail_at(err, SB_EIO, "open_failed", input->path, 0, -1,
			                  "the file cannot be opened");
		*out_fd = fd;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return sb_fail_at(err, SB_EIO, "not_a_file", input->path, 0, -1, "this is no regular file");
	*out_end =
	    input->fd < 0 && input->length <= 0 ? st.st_size : sb_add_sat(input->offset, input->length);
	posix_fadvise(fd, input->offset, input->length, POSIX_FADV_SEQUENTIAL);
	return SB_OK;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int walk_input(struct source *s, const struct read_input *input, char *block, struct sb_error *err)
{
	__attribute__((cleanup(close_fd))) int own = -1;
	struct extent extent;
	struct file_stream f = {
	    .base = {.next = file_next, .path = input->path, .extent = &extent, .took = file_took},
	    .budget = &s->budget,
	    .block = block};
	struct archive_place place = {.depth = 0};
	int rc = open_input(input, &own, &f.end, err);

	if (rc != SB_OK)
		return rc;
	f.fd = own >= 0 ? own : input->fd;
	f.at = input->offset;
	place.fd = f.fd;
	place.offset = f.at;
	place.length = f.end - f.at;
	s->budget.input->length = place.length;
	extent = (struct extent){.fd = f.fd, .offset = f.at, .length = f.end - f.at};
	return source_stream(s, &f.base, &place, 0, err);
}

int source_walk(struct source *s, const struct read_input *input, struct sb_error *err)
{
	bool small = input->length > 0 && input->length < SOURCE_BLOCK;
	char *block = malloc(small ? (size_t)input->length : SOURCE_BLOCK);
	int64_t rest;
	int rc;

	if (!block)
		return sb_no_memory(err);
	rc = walk_input(s, input, block, err);
	free(block);
	if (rc != SB_OK)
		return rc;
	/* what nobody wanted to read is done, too */
	rest = input->length - s->budget.stored;
	return budget_stored(&s->budget, input->path, rest > 0 ? rest : 0, err);
}
