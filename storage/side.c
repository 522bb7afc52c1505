#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/internal.h"

#define SIDE_NAME_MAX 60

struct side_path {
	char last[STORE_ID_MAX + SIDE_NAME_MAX + 8]; /* <id>/<name> */
	char temp[STORE_ID_MAX + SIDE_NAME_MAX + 8]; /* <id>/.tmp-<name> */
};

static int side_path(const char *id, const char *name, struct side_path *out, struct sb_error *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	if (!store_id_is_valid(id))
		return sb_fail(err, SB_ENOENT, "not_found", "there is no such profile");
	if (n == 0 || n > SIDE_NAME_MAX || name[n] != '\0' || name[0] == '.' || strcmp(name, "upload") == 0)
		return sb_fail(err, SB_EINVAL, "bad_name", "this is no name for a side file");
	snprintf(out->last, sizeof(out->last), "%.36s/%.60s", id, name);
	snprintf(out->temp, sizeof(out->temp), "%.36s/.tmp-%.60s", id, name);
	return SB_OK;
}

static int side_fail(struct sb_error *err)
{
	if (errno == ENOENT)
		return sb_fail(err, SB_ENOENT, "not_found", "the profile or its side file is not there");
	return file_fail(err, "side file");
}

int store_side_begin(struct store *s, const char *id, const char *name, int *out_fd, struct sb_error *err)
{
	struct side_path p;
	int fd, rc = side_path(id, name, &p, err);

	if (rc == SB_OK)
		rc = files_room(s, 0, err);
	if (rc != SB_OK)
		return rc;
	/* a fresh file each time: an earlier writer that was given up keeps its own */
	unlinkat(s->profiles_fd, p.temp, 0);
	fd = openat(s->profiles_fd, p.temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return side_fail(err);
	*out_fd = fd;
	return SB_OK;
}

/* Not synced: a power cut may leave a file with holes, which its checksums show, and it is made again. */
int store_side_commit(struct store *s, const char *id, const char *name, int fd, struct sb_error *err)
{
	struct side_path p;
	int rc = side_path(id, name, &p, err);

	if (rc == SB_OK && renameat(s->profiles_fd, p.temp, s->profiles_fd, p.last) != 0)
		rc = side_fail(err);
	if (rc != SB_OK) {
		store_side_abort(s, id, name, fd);
		return rc;
	}
	close(fd);
	return SB_OK;
}

void store_side_abort(struct store *s, const char *id, const char *name, int fd)
{
	struct side_path p;

	if (side_path(id, name, &p, NULL) == SB_OK)
		unlinkat(s->profiles_fd, p.temp, 0);
	close(fd);
}

int store_side_open(struct store *s, const char *id, const char *name, int *out_fd, struct sb_error *err)
{
	struct side_path p;
	int fd, rc = side_path(id, name, &p, err);

	if (rc != SB_OK)
		return rc;
	fd = openat(s->profiles_fd, p.last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return side_fail(err);
	*out_fd = fd;
	return SB_OK;
}
