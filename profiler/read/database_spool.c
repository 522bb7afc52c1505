#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "profiler/read/database_impl.h"

int database_temp_file(int *out_fd, struct sb_error *err)
{
	const char *dir = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets variables */
	char name[512];
	int fd, n;

	if (!dir || dir[0] == '\0')
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		/* not every file system knows files without a name */
		n = snprintf(name, sizeof(name), "%s/signalbox-XXXXXX", dir);
		fd = n > 0 && (size_t)n < sizeof(name) ? mkostemp(name, O_CLOEXEC) : -1;
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return sb_fail(err, SB_EIO, "no_temporary_file", "no temporary file can be made in %.200s",
		               dir);
	*out_fd = fd;
	return SB_OK;
}

static int spool_write(int fd, const char *data, size_t len, const char *path, struct sb_error *err)
{
	int rc = sb_write_all(fd, data, len, -1);

	return rc == SB_OK ? SB_OK
	                   : sb_fail_at(err, rc, "no_space", path, 0, -1,
	                                "the database cannot be written to a temporary file: %s",
	                                rc == SB_ENOSPC ? "the disk is full" : "writing failed");
}

/* A database is read here and there, which a stream cannot. */
static int spool(struct database *db, struct sb_error *err)
{
	const char *data = NULL;
	size_t len = 0;
	int rc = database_temp_file(&db->spool, err);

	db->bytes = (struct extent){.fd = db->spool};
	while (rc == SB_OK) {
		rc = db->in->next(db->in, &data, &len, err);
		if (rc != SB_OK || len == 0)
			return rc;
		rc = spool_write(db->spool, data, len, db->path, err);
		db->bytes.length += (int64_t)len;
	}
	return rc;
}

int database_locate(struct database *db, struct sb_error *err)
{
	if (!db->in->extent)
		return spool(db, err);
	db->bytes = *db->in->extent;
	return SB_OK;
}
