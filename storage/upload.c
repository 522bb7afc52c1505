#include "storage/upload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define SPACE_CHECK_BYTES (INT64_C(64) << 20)
#define FLUSH_BYTES (INT64_C(8) << 20)

static int open_file(struct upload *up, struct sb_error *err)
{
	struct store *s = up->store;

	if (s->unnamed) {
		up->fd = openat(s->profiles_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640);
	} else {
		char id[STORE_ID_MAX];

		store_new_id(id);
		snprintf(up->temp, sizeof(up->temp), ".tmp-%s", id);
		up->fd = openat(s->profiles_fd, up->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	}
	return up->fd >= 0 ? SB_OK : file_fail(err, "upload");
}

int upload_begin(struct store *s, int64_t max_bytes, int64_t expected_bytes, struct upload **out,
                 struct sb_error *err)
{
	UPLOAD_AUTO up = NULL;
	int rc = writer_health(s->writer, err);

	if (rc != SB_OK)
		return rc;
	if (expected_bytes > max_bytes)
		return sb_fail(err, SB_ELIMIT, "too_large", "an upload may have at most %lld bytes",
		               (long long)max_bytes);
	rc = files_room(s, expected_bytes, err);
	if (rc != SB_OK)
		return rc;
	up = calloc(1, sizeof(*up));
	if (!up)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	up->store = s;
	up->fd = -1;
	up->max = max_bytes;
	sb_buf_init(&up->index, UPLOAD_INDEX_MAX);
	if (gnutls_hash_init(&up->hash, GNUTLS_DIG_SHA256) != 0) {
		up->hash = NULL;
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	}
	if (sb_strings_new(&up->paths) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	rc = open_file(up, err);
	if (rc != SB_OK)
		return rc;
	up->promised = expected_bytes;
	atomic_fetch_add(&s->promised, expected_bytes);
	*out = up;
	up = NULL;
	return SB_OK;
}

void upload_abort(struct upload **upp)
{
	struct upload *up = *upp;

	if (!up)
		return;
	atomic_fetch_sub(&up->store->promised, up->promised);
	if (up->fd >= 0)
		close(up->fd);
	if (up->temp[0])
		unlinkat(up->store->profiles_fd, up->temp, 0);
	if (up->hash)
		gnutls_hash_deinit(up->hash, NULL);
	sb_strings_free(&up->paths);
	sb_buf_free(&up->index);
	free(up);
	*upp = NULL;
}

/* Length of the valid UTF-8 sequence at p, 0 when there is none (RFC 3629, table of section 4). */
static size_t utf8_length(const unsigned char *p)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* A label that can be shown and matched: never used to open anything. */
static void clean_path(const char *path, char out[UPLOAD_PATH_MAX + 1])
{
	size_t len = 0;

	while (*path == '/' || *path == '\\')
		path++;
	while (*path) {
		size_t n = utf8_length((const unsigned char *)path);

		if (len + (n > 0 ? n : 1) > UPLOAD_PATH_MAX)
			break;
		if (n == 0 || (unsigned char)*path < 0x20 || *path == 0x7f) {
			out[len++] = '_';
			path++;
		} else if (*path == '\\') {
			out[len++] = '/';
			path++;
		} else {
			memcpy(out + len, path, n);
			len += n;
			path += n;
		}
	}
	out[len] = '\0';
	if (len == 0)
		snprintf(out, UPLOAD_PATH_MAX + 1, "upload");
}

/* Bytes of the label that may stand behind a number: whole characters. */
static int numbered_length(const char *clean)
{
	size_t len = strnlen(clean, UPLOAD_NUMBERED_MAX + 1);

	if (len > UPLOAD_NUMBERED_MAX) {
		len = UPLOAD_NUMBERED_MAX;
		while (len > 0 && ((unsigned char)clean[len] & 0xc0) == 0x80)
			len--;
	}
	return (int)len;
}

/* Two files under one label would be taken for one: the later gets a number in front. The numbers only grow,
 * so that many files that are called like numbered ones cost no search each. */
static int claim_path(struct upload *up, const char *path, char out[UPLOAD_PATH_MAX + 1])
{
	char clean[UPLOAD_PATH_MAX + 1];
	uint32_t id;

	clean_path(path, clean);
	snprintf(out, UPLOAD_PATH_MAX + 1, "%s", clean);
	if (up->number <= up->files)
		up->number = up->files + 1;
	while (sb_strings_find(up->paths, out, strlen(out)))
		snprintf(out, UPLOAD_PATH_MAX + 1, "%zu/%.*s", up->number++, numbered_length(clean), clean);
	return sb_strings_add(up->paths, out, strlen(out), &id);
}

static int close_entry(struct upload *up)
{
	if (up->files == 0)
		return sb_buf_adds(&up->index, "[");
	return sb_buf_addf(&up->index, "\"offset\":%lld,\"bytes\":%lld}", (long long)up->file_start,
	                   (long long)(up->bytes - up->file_start));
}

static int open_entry(struct upload *up, const char *path)
{
	int rc = sb_buf_adds(&up->index, up->files > 0 ? ",{\"path\":\"" : "{\"path\":\"");

	for (; rc == SB_OK && *path; path++) {
		if (*path == '"')
			rc = sb_buf_adds(&up->index, "\\\"");
		else
			rc = sb_buf_add(&up->index, path, 1);
	}
	return rc == SB_OK ? sb_buf_adds(&up->index, "\",") : rc;
}

/* The first failure stays: whatever comes after it gets the same answer. */
static int keep_failure(struct upload *up, int rc, struct sb_error *err)
{
	if (rc != SB_OK && up->failed.code == SB_OK)
		sb_fail(&up->failed, rc, rc == SB_ELIMIT ? "too_large" : "out_of_memory", "%s",
		        rc == SB_ELIMIT ? "the upload has too many files" : "out of memory");
	if (up->failed.code != SB_OK && err)
		*err = up->failed;
	return up->failed.code;
}

int upload_file(struct upload *up, const char *path, struct sb_error *err)
{
	char label[UPLOAD_PATH_MAX + 1];
	int rc;

	if (up->failed.code != SB_OK)
		return keep_failure(up, SB_OK, err);
	if (up->files == UPLOAD_FILES_MAX)
		return keep_failure(up, SB_ELIMIT, err);
	rc = claim_path(up, path, label);
	if (rc == SB_OK)
		rc = close_entry(up);
	if (rc == SB_OK)
		rc = open_entry(up, label);
	if (rc != SB_OK)
		return keep_failure(up, rc, err);
	up->file_start = up->bytes;
	up->files++;
	return SB_OK;
}

/* Bytes that are on disk are no longer a promise; what was not announced has to find room as it comes. */
static int settle(struct upload *up, int64_t len, struct sb_error *err)
{
	int64_t kept = len < up->promised ? len : up->promised;

	up->promised -= kept;
	atomic_fetch_sub(&up->store->promised, kept);
	if (up->bytes - up->flushed >= FLUSH_BYTES) {
		sync_file_range(up->fd, up->flushed, up->bytes - up->flushed, SYNC_FILE_RANGE_WRITE);
		up->flushed = up->bytes;
	}
	if (up->bytes - up->checked < SPACE_CHECK_BYTES)
		return SB_OK;
	up->checked = up->bytes;
	if (files_free(up->store) < RESERVE_BYTES)
		return sb_fail(err, SB_ENOSPC, "disk_full", "the disk of the data directory is full");
	return SB_OK;
}

int upload_append(struct upload *up, const void *data, size_t len, struct sb_error *err)
{
	int rc;

	if (up->failed.code != SB_OK)
		return keep_failure(up, SB_OK, err);
	if (up->files == 0)
		return sb_fail(err, SB_ECONFLICT, "no_file", "an upload begins with a file");
	if (len > (uint64_t)(up->max - up->bytes)) {
		sb_fail(&up->failed, SB_ELIMIT, "too_large", "an upload may have at most %lld bytes",
		        (long long)up->max);
		return keep_failure(up, SB_OK, err);
	}
	rc = sb_write_all(up->fd, data, len, -1);
	if (rc != SB_OK)
		rc = file_fail(&up->failed, "upload");
	if (rc == SB_OK) {
		up->bytes += (int64_t)len;
		gnutls_hash(up->hash, data, len);
		rc = settle(up, (int64_t)len, &up->failed);
	}
	return rc == SB_OK ? SB_OK : keep_failure(up, rc, err);
}

int64_t upload_bytes(const struct upload *up)
{
	return up->bytes;
}

size_t upload_files(const struct upload *up)
{
	return up->files;
}

const char *upload_first(const struct upload *up)
{
	/* id 0 is the empty text */
	return sb_strings_get(up->paths, up->files > 0 ? 1 : 0, NULL);
}

int upload_seal(struct upload *up, char **out_files, char out_sha256[65], struct sb_error *err)
{
	unsigned char digest[32];
	int rc;

	if (up->failed.code != SB_OK)
		return keep_failure(up, SB_OK, err);
	rc = close_entry(up);
	if (rc == SB_OK)
		rc = sb_buf_adds(&up->index, "]");
	if (rc != SB_OK)
		return keep_failure(up, rc, err);
	gnutls_hash_output(up->hash, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(out_sha256 + 2 * i, 3, "%02x", digest[i]);
	*out_files = sb_buf_take(&up->index);
	return *out_files ? SB_OK : sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
}

/* Both directories are synced: the new name in the profile's, the profile's in its parent. */
static int link_durably(struct upload *up, int dir, struct sb_error *err)
{
	if (up->temp[0]) {
		if (renameat(up->store->profiles_fd, up->temp, dir, "upload") != 0)
			return file_fail(err, "upload");
		up->temp[0] = '\0';
	} else {
		char proc[64];

		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", up->fd);
		if (linkat(AT_FDCWD, proc, dir, "upload", AT_SYMLINK_FOLLOW) != 0)
			return file_fail(err, "upload");
	}
	if (fsync(dir) != 0 || fsync(up->store->profiles_fd) != 0)
		return file_fail(err, "upload");
	return SB_OK;
}

int upload_publish(struct upload *up, const char *id, struct sb_error *err)
{
	struct store *s = up->store;
	int dir, rc;

	if (fdatasync(up->fd) != 0)
		return file_fail(err, "upload");
	if (mkdirat(s->profiles_fd, id, 0750) != 0)
		return file_fail(err, "upload");
	dir = openat(s->profiles_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = dir >= 0 ? link_durably(up, dir, err) : file_fail(err, "upload");
	if (dir >= 0)
		close(dir);
	if (rc != SB_OK)
		files_remove_profile(s, id);
	return rc;
}
