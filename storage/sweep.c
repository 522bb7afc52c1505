#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/internal.h"

/* Nobody else holds the directory while the store is opened, so what has no row was never acknowledged. */

#define ATTEMPTS_MAX "3"

static int has_row(struct conn *c, const char *id, bool *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT 1 FROM profiles WHERE id = ?1";
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, id);
	return conn_step(c, st, out, err);
}

static int sweep_entry(struct store *s, struct conn *c, const char *name, struct sb_error *err)
{
	bool row = false;
	int rc;

	if (strncmp(name, ".tmp-", 5) == 0 || strncmp(name, ".gone-", 6) == 0) {
		files_remove(s, name);
		return SB_OK;
	}
	if (!store_id_is_valid(name))
		return SB_OK;
	rc = has_row(c, name, &row, err);
	if (rc == SB_OK && !row)
		files_remove_profile(s, name);
	return rc;
}

static int sweep_files(struct store *s, struct conn *c, struct sb_error *err)
{
	int fd = openat(s->profiles_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const char *entry;
	int rc = SB_OK;

	if (!d) {
		rc = file_fail(err, "profiles");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == SB_OK && (entry = dir_next(d)) != NULL)
		rc = sweep_entry(s, c, entry, err);
	closedir(d);
	return rc;
}

static void remove_unfinished(int dir_fd)
{
	DIR *d = fdopendir(dir_fd);
	const char *entry;

	if (!d) {
		close(dir_fd);
		return;
	}
	while ((entry = dir_next(d)) != NULL) {
		if (strncmp(entry, ".tmp-", 5) == 0)
			unlinkat(dirfd(d), entry, 0);
	}
	closedir(d);
}

static bool upload_is_there(struct store *s, const char *id)
{
	int fd = openat(s->profiles_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	bool there;

	if (fd < 0)
		return false;
	there = fstatat(fd, "upload", &st, AT_SYMLINK_NOFOLLOW) == 0;
	remove_unfinished(fd);
	return there;
}

static int fail_profile(struct conn *c, const char *id, struct sb_error *err)
{
	static const char SQL[] = "UPDATE profiles SET state = 'failed' WHERE id = ?1";

	return conn_change(c, SQL, VALUES(TEXT(id)), NULL, err);
}

/* In pages, so that no row is changed under an open query. */
static int check_rows(struct store *s, struct conn *c, struct sb_error *err)
{
	static const char SQL[] = "SELECT id FROM profiles WHERE id > ?1 ORDER BY id LIMIT 1";
	char id[STORE_ID_MAX] = "";
	bool row = true;
	int rc = SB_OK;

	while (rc == SB_OK) {
		STMT_AUTO st = NULL;
		char next[STORE_ID_MAX];

		rc = conn_prepare(c, SQL, &st, err);
		if (rc != SB_OK)
			return rc;
		bind_text(st, 1, id);
		rc = conn_step(c, st, &row, err);
		if (rc != SB_OK || !row)
			return rc;
		column_copy(st, 0, next, sizeof(next));
		memcpy(id, next, sizeof(id));
		if (!upload_is_there(s, id))
			rc = fail_profile(c, id, err);
	}
	return rc;
}

int sweep(struct store *s, struct conn *c, bool unclean, struct sb_error *err)
{
	int rc = sweep_files(s, c, err);

	if (rc == SB_OK)
		rc = conn_exec(c, "BEGIN IMMEDIATE", err);
	if (rc != SB_OK)
		return rc;
	if (unclean)
		rc = check_rows(s, c, err);
	/* a profile that ended the process each time must not do so for ever */
	if (rc == SB_OK)
		rc = conn_exec(c,
		               "UPDATE profiles SET state = 'failed'"
		               " WHERE state = 'reading' AND attempts >= " ATTEMPTS_MAX ";"
		               "UPDATE profiles SET state = 'queued' WHERE state = 'reading';",
		               err);
	if (rc == SB_OK)
		rc = conn_exec(c, "COMMIT", err);
	if (rc != SB_OK)
		conn_exec(c, "ROLLBACK", NULL);
	return rc;
}
