#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/internal.h"

#define STORE_AUTO __attribute__((cleanup(store_close))) struct store *

/* The shared memory of the write-ahead log needs one host (statfs(2) lists the magic numbers). */
static bool is_network(int fd)
{
	static const unsigned long magic[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
	                                      0x5346414F, 0x73757245, 0x0BD00BD0, 0x47504653};
	struct statfs f;

	if (fstatfs(fd, &f) != 0)
		return false;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++) {
		if (((unsigned long)f.f_type & 0xFFFFFFFFul) == magic[i])
			return true;
	}
	return false;
}

static int open_dir(struct store *s, const char *dir, struct sb_error *err)
{
	size_t n;

	if (mkdir(dir, 0750) != 0 && errno != EEXIST)
		return file_fail(err, dir);
	s->dir = realpath(dir, NULL);
	if (!s->dir)
		return file_fail(err, dir);
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return file_fail(err, dir);
	if (is_network(s->dir_fd))
		return sb_fail(err, SB_EIO, "network_disk",
		               "%s is on a network file system; the database needs a local one", dir);
	n = strlen(s->dir) + sizeof("/signalbox.db");
	s->database = malloc(n);
	if (!s->database)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	snprintf(s->database, n, "%s/signalbox.db", s->dir);
	return SB_OK;
}

/* The lock file holds text while the store is open: found at the start, it tells of an unclean end. */
static int take_lock(struct store *s, bool *out_unclean, struct sb_error *err)
{
	struct stat st;

	s->lock_fd = openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (s->lock_fd < 0)
		return file_fail(err, "lock");
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			return sb_fail(err, SB_ECONFLICT, "in_use", "%s is used by another signalbox",
			               s->dir);
		return file_fail(err, "lock");
	}
	if (fstat(s->lock_fd, &st) != 0)
		return file_fail(err, "lock");
	*out_unclean = st.st_size > 0;
	if (pwrite(s->lock_fd, "open\n", 5, 0) != 5)
		return file_fail(err, "lock");
	return SB_OK;
}

static bool holds_profiles(const struct store *s)
{
	int fd = openat(s->profiles_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const char *entry;
	bool found = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (entry = dir_next(d)) != NULL)
		found = store_id_is_valid(entry);
	closedir(d);
	return found;
}

/* Without its database every profile would look like an orphan, and the sweep would remove it. */
static int open_profiles(struct store *s, struct sb_error *err)
{
	struct stat st;

	if (mkdirat(s->dir_fd, "profiles", 0750) != 0 && errno != EEXIST)
		return file_fail(err, "profiles");
	s->profiles_fd = openat(s->dir_fd, "profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->profiles_fd < 0)
		return file_fail(err, "profiles");
	if (fsync(s->dir_fd) != 0)
		return file_fail(err, "data directory");
	s->unnamed = files_probe_unnamed(s->profiles_fd);
	if ((fstatat(s->dir_fd, "signalbox.db", &st, 0) != 0 || st.st_size == 0) && holds_profiles(s))
		return sb_fail(err, SB_ECONFLICT, "database_missing",
		               "%s/profiles holds profiles, but signalbox.db is gone: restore it, or move the"
		               " profiles away",
		               s->dir);
	return SB_OK;
}

/* Damage does not keep the store from being opened: what can still be read is served. */
static int open_database(struct store *s, bool unclean, struct sb_error *err)
{
	struct sb_error damage = {0};
	struct conn *c = NULL;
	bool fresh = false;
	int rc = conn_open(s->database, CONN_WRITER, &c, err);

	if (rc == SB_OK)
		rc = schema_migrate(c, s->dir, &fresh, err);
	if (rc == SB_OK && unclean && !fresh)
		schema_check(c, &damage);
	if (rc == SB_OK && damage.code == SB_OK)
		rc = sweep(s, c, unclean, err);
	if (rc == SB_OK)
		rc = writer_start(s, c, &s->writer, err);
	if (rc != SB_OK) {
		conn_close(&c);
		return rc;
	}
	if (damage.code != SB_OK)
		writer_refuse(s->writer, &damage);
	return SB_OK;
}

int store_open(const char *dir, struct store **out, struct sb_error *err)
{
	STORE_AUTO s = calloc(1, sizeof(*s));
	bool unclean = false;
	int rc;

	if (!s)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	s->dir_fd = s->profiles_fd = s->lock_fd = -1;
	pthread_mutex_init(&s->readers.lock, NULL);
	pthread_cond_init(&s->readers.free, NULL);
	pthread_mutex_init(&s->cache.lock, NULL);
	rc = open_dir(s, dir, err);
	if (rc == SB_OK)
		rc = take_lock(s, &unclean, err);
	if (rc == SB_OK)
		rc = open_profiles(s, err);
	if (rc == SB_OK)
		rc = open_database(s, unclean, err);
	if (rc != SB_OK)
		return rc;
	ballast_make(s, NULL);
	*out = s;
	s = NULL;
	return SB_OK;
}

void store_close(struct store **sp)
{
	struct store *s = *sp;
	bool was_open;

	if (!s)
		return;
	/* the mark of an unclean end stays on a damaged store, so that the next start checks it again */
	was_open = s->writer != NULL && writer_health(s->writer, NULL) == SB_OK;
	for (size_t i = 0; i < s->readers.idle_count; i++)
		conn_close(&s->readers.idle[i]);
	writer_stop(&s->writer);
	pthread_mutex_destroy(&s->readers.lock);
	pthread_cond_destroy(&s->readers.free);
	cache_clear(s);
	pthread_mutex_destroy(&s->cache.lock);
	/* should this fail, the next start only checks more than it needs to */
	if (was_open)
		(void)!ftruncate(s->lock_fd, 0);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	if (s->profiles_fd >= 0)
		close(s->profiles_fd);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s->database);
	free(s->dir);
	free(s);
	*sp = NULL;
}

int store_health(struct store *s, struct sb_error *err)
{
	int rc = writer_health(s->writer, err);

	if (rc == SB_OK && files_free(s) < RESERVE_BYTES)
		rc = sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory is almost full");
	return rc;
}

static int64_t size_of(const struct store *s, const char *name)
{
	struct stat st;

	return fstatat(s->dir_fd, name, &st, 0) == 0 ? (int64_t)st.st_size : 0;
}

void store_numbers(struct store *s, struct store_numbers *out)
{
	*out = (struct store_numbers){.database_bytes = size_of(s, "signalbox.db"),
	                              .wal_bytes = size_of(s, "signalbox.db-wal"),
	                              .free_bytes = files_free(s)};
	writer_counts(s->writer, &out->profiles, &out->plans);
}
