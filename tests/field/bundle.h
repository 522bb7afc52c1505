#ifndef SB_TESTS_FIELD_BUNDLE_H
#define SB_TESTS_FIELD_BUNDLE_H
#include "tests/shared.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/read.h"

/* Members of an archive of $SIGNALBOX_SHARED, each as an input of its own. */
#define MEMBERS_MAX 64

static inline void take_member(struct archive *a, struct archive_entry *e, struct read_input *in)
{
	char buf[65536];
	la_ssize_t n;

	in->fd = memfd_create("member", MFD_CLOEXEC);
	in->path = strdup(archive_entry_pathname(e));
	assert_true(in->fd >= 0 && in->path);
	while ((n = archive_read_data(a, buf, sizeof(buf))) > 0) {
		assert_true(write(in->fd, buf, (size_t)n) == n);
		in->length += n;
	}
	assert_true(n == 0);
}

static inline void free_path(struct read_input *in)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the path is borrowed as const, but made here */
	free((void *)(uintptr_t)in->path);
}

/* Reads the members below one folder of the archive; at least `least` must be there. */
static inline void read_members(const char *name, const char *folder, size_t least, struct profile *out)
{
	char *path = shared_path(name);
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	struct read_input in[MEMBERS_MAX] = {{0}};
	struct sb_error err = {0};
	size_t count = 0;

	archive_read_support_format_tar(a);
	archive_read_support_filter_gzip(a);
	assert_int_equal(archive_read_open_filename(a, path, 65536), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		if (archive_entry_filetype(e) != AE_IFREG ||
		    strncmp(archive_entry_pathname(e), folder, strlen(folder)) != 0)
			continue;
		assert_true(count < MEMBERS_MAX);
		take_member(a, e, &in[count++]);
	}
	archive_read_free(a);
	assert_true(count >= least);
	if (profile_read(in, count, NULL, NULL, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	for (size_t i = 0; i < count; i++) {
		close(in[i].fd);
		free_path(&in[i]);
	}
	free(path);
}
#endif
