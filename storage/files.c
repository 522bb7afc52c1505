#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "storage/internal.h"

int file_fail(struct sb_error *err, const char *what)
{
	switch (errno) {
	case ENOSPC:
	case EDQUOT:
		return sb_fail(err, SB_ENOSPC, "disk_full", "%s: the disk of the data directory is full",
		               what);
	case EROFS:
	case EACCES:
	case EPERM:
		return sb_fail(err, SB_EREADONLY, "read_only", "%s: the data directory cannot be written",
		               what);
	default: return sb_fail(err, SB_EIO, "io", "%s: %s", what, strerrordesc_np(errno));
	}
}

int64_t files_free(const struct store *s)
{
	struct statvfs v;

	if (fstatvfs(s->dir_fd, &v) != 0)
		return 0;
	return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}

int files_room(struct store *s, int64_t bytes, struct sb_error *err)
{
	int64_t room = files_free(s) - RESERVE_BYTES - (int64_t)atomic_load(&s->promised);

	if (room >= bytes)
		return SB_OK;
	return sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory has no room for this");
}

int ballast_make(const struct store *s, struct sb_error *err)
{
	int fd, rc;

	if (files_free(s) < RESERVE_BYTES + BALLAST_BYTES)
		return sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory is almost full");
	fd = openat(s->dir_fd, "ballast", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return file_fail(err, "ballast");
	errno = posix_fallocate(fd, 0, (off_t)BALLAST_BYTES);
	rc = errno == 0 ? SB_OK : file_fail(err, "ballast");
	close(fd);
	if (rc != SB_OK)
		unlinkat(s->dir_fd, "ballast", 0);
	return rc;
}

bool ballast_drop(const struct store *s)
{
	return unlinkat(s->dir_fd, "ballast", 0) == 0;
}

bool files_probe_unnamed(int dir_fd)
{
	char proc[64];
	bool works;
	int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640);

	if (fd < 0)
		return false;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	works = linkat(AT_FDCWD, proc, dir_fd, ".tmp-probe", AT_SYMLINK_FOLLOW) == 0;
	close(fd);
	if (works)
		unlinkat(dir_fd, ".tmp-probe", 0);
	return works;
}

const char *dir_next(DIR *d)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): safe in the GNU library on a DIR of one's own */
	const struct dirent *e = readdir(d);

	return e ? e->d_name : NULL;
}

void files_remove(const struct store *s, const char *name)
{
	int fd = openat(s->profiles_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *entry;
	DIR *d;

	if (fd < 0) {
		unlinkat(s->profiles_fd, name, 0);
		return;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while ((entry = dir_next(d)) != NULL) {
		if (strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0)
			unlinkat(dirfd(d), entry, 0);
	}
	closedir(d);
	unlinkat(s->profiles_fd, name, AT_REMOVEDIR);
}

void files_remove_profile(const struct store *s, const char *id)
{
	char gone[STORE_ID_MAX + 8];

	/* renamed first: nobody can add a side file to a directory that is being emptied */
	snprintf(gone, sizeof(gone), ".gone-%s", id);
	if (renameat(s->profiles_fd, id, s->profiles_fd, gone) == 0)
		files_remove(s, gone);
}
