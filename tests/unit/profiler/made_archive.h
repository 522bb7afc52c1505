#ifndef SB_TESTS_UNIT_PROFILER_MADE_ARCHIVE_H
#define SB_TESTS_UNIT_PROFILER_MADE_ARCHIVE_H
#include <archive.h>
#include <archive_entry.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

/* Archives made in memory for the tests. Every failure here ends the test program: it would be a fault of the
 * test. */

struct made {
	char *data; /* owned */
	size_t len;
};

static inline void made_free(struct made *m)
{
	free(m->data);
	*m = (struct made){0};
}
#define MADE_AUTO __attribute__((cleanup(made_free))) struct made

enum made_kind { MADE_TAR, MADE_ZIP, MADE_ZIP_STORED };

struct made_member {
	const char *name;
	const char *data;    /* of a file */
	size_t len;          /* 0: strlen(data) */
	const char *link_to; /* a symbolic link */
	const char *hard_to; /* a hard link */
	unsigned type;       /* AE_IF…, 0 = a file */
};

static inline void made_check(int ok)
{
	if (!ok)
		abort();
}

static inline void made_add(struct archive *a, const struct made_member *m)
{
	struct archive_entry *e = archive_entry_new();
	size_t len = m->data ? (m->len ? m->len : strlen(m->data)) : 0;

	made_check(e != NULL);
	archive_entry_set_pathname(e, m->name);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_filetype(e, m->type ? m->type : m->link_to ? AE_IFLNK : AE_IFREG);
	if (m->link_to)
		archive_entry_set_symlink(e, m->link_to);
	if (m->hard_to)
		archive_entry_set_hardlink(e, m->hard_to);
	archive_entry_set_size(e, (int64_t)len);
	made_check(archive_write_header(a, e) == ARCHIVE_OK);
	if (len > 0)
		made_check(archive_write_data(a, m->data, len) == (la_ssize_t)len);
	archive_entry_free(e);
}

static inline struct made made_archive(enum made_kind kind, const struct made_member *members, size_t count)
{
	size_t room = 1 << 20, used = 0;
	struct made out = {0};
	struct archive *a = archive_write_new();

	for (size_t i = 0; i < count; i++)
		room += 4096 +
		        (members[i].data ? (members[i].len ? members[i].len : strlen(members[i].data)) : 0);
	out.data = malloc(room);
	made_check(a != NULL && out.data != NULL);
	if (kind == MADE_TAR)
		archive_write_set_format_pax_restricted(a);
	else
		archive_write_set_format_zip(a);
	if (kind == MADE_ZIP_STORED)
		made_check(archive_write_set_format_option(a, "zip", "compression", "store") == ARCHIVE_OK);
	made_check(archive_write_open_memory(a, out.data, room, &used) == ARCHIVE_OK);
	for (size_t i = 0; i < count; i++)
		made_add(a, &members[i]);
	made_check(archive_write_free(a) == ARCHIVE_OK);
	out.len = used;
	return out;
}

static inline struct made made_gzip(const char *data, size_t len)
{
	struct made out = {0};
	z_stream z = {0};

	made_check(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	out.len = deflateBound(&z, len) + 64;
	out.data = malloc(out.len);
	made_check(out.data != NULL);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out.data;
	z.avail_out = (uInt)out.len;
	made_check(deflate(&z, Z_FINISH) == Z_STREAM_END);
	out.len = z.total_out;
	deflateEnd(&z);
	return out;
}

/* A file without a name that holds these bytes. */
static inline int made_fd(const char *data, size_t len)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	made_check(fd >= 0);
	made_check(len == 0 || write(fd, data, len) == (ssize_t)len);
	return fd;
}

/* Text that hardly compresses. */
static inline char *noise(size_t len)
{
	char *text = malloc(len);
	uint32_t x = 1;

	made_check(text != NULL);
	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		text[i] = (char)('A' + (x >> 24) % 50);
	}
	return text;
}
#endif
