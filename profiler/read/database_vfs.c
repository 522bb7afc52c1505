#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/read/database_impl.h"

/* The main file has no name on the disk and cannot be written; journals and logs are never found, so that a
 * database in WAL mode is read as it is, and no statement can reach another file. */

struct vfs_file {
	sqlite3_file base;
	struct database *db;
	struct extent bytes;
	bool temporary;
};

void database_stop(struct database *db, const struct sb_error *why)
{
	if (db->fault.code == SB_OK)
		db->fault = *why;
}

/* Each byte of the file counts once, however often its page is read. */
static int count(struct database *db, int64_t bytes)
{
	struct sb_error why = {0};
	int64_t left = db->bytes.length - db->told;

	if (db->opening) {
		db->schema_left -= bytes;
		if (db->schema_left < 0) {
			sb_fail_at(&why, SB_EFORMAT, "bad_database", db->path, 0, -1,
			           "the schema of the database is larger than %lld bytes",
			           (long long)DATABASE_SCHEMA_BYTES);
			database_stop(db, &why);
			return SQLITE_IOERR_READ;
		}
	}
	if (bytes > left)
		bytes = left;
	db->told += bytes;
	if (db->spool >= 0 || !db->in->took || db->in->took(db->in, bytes, &why) == SB_OK)
		return SQLITE_OK;
	database_stop(db, &why);
	return SQLITE_IOERR_READ;
}

static int read_failed(struct database *db, int64_t at)
{
	struct sb_error why = {0};

	sb_fail_at(&why, SB_EIO, "read_failed", db->path, 0, at, "the file cannot be read");
	database_stop(db, &why);
	return SQLITE_IOERR_READ;
}

static int file_read(sqlite3_file *file, void *to, int amount, sqlite3_int64 at)
{
	struct vfs_file *f = (struct vfs_file *)file;
	int64_t left = f->bytes.length - at;
	size_t want = amount < left ? (size_t)amount : left > 0 ? (size_t)left : 0, got = 0;
	int rc = SQLITE_OK;

	while (got < want) {
		ssize_t n =
		    pread(f->bytes.fd, (char *)to + got, want - got, f->bytes.offset + at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return read_failed(f->db, at);
		if (n == 0)
			break;
		got += (size_t)n;
	}
	if (!f->temporary)
		rc = count(f->db, (int64_t)got);
	if (rc != SQLITE_OK || got == (size_t)amount)
		return rc;
	memset((char *)to + got, 0, (size_t)amount - got);
	return SQLITE_IOERR_SHORT_READ;
}

/* Room in the temporary files, whose high-water marks are counted. */
static int grow(struct vfs_file *f, int64_t end)
{
	struct database *db = f->db;
	struct sb_error why = {0};

	if (end <= f->bytes.length)
		return SQLITE_OK;
	db->temp += end - f->bytes.length;
	f->bytes.length = end;
	if (db->temp <= db->temp_limit)
		return SQLITE_OK;
	sb_fail_at(&why, SB_ELIMIT, "too_much_work", db->path, 0, -1,
	           "sorting or joining the tables of the database takes more than %lld bytes",
	           (long long)db->temp_limit);
	database_stop(db, &why);
	return SQLITE_FULL;
}

static int file_write(sqlite3_file *file, const void *from, int amount, sqlite3_int64 at)
{
	struct vfs_file *f = (struct vfs_file *)file;
	size_t put = 0;
	int rc = f->temporary ? grow(f, at + amount) : SQLITE_READONLY;

	while (rc == SQLITE_OK && put < (size_t)amount) {
		ssize_t n =
		    pwrite(f->bytes.fd, (const char *)from + put, (size_t)amount - put, at + (off_t)put);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
		else
			put += (size_t)n;
	}
	return rc;
}

static int file_close(sqlite3_file *file)
{
	struct vfs_file *f = (struct vfs_file *)file;

	if (f->temporary)
		close(f->bytes.fd);
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct vfs_file *f = (struct vfs_file *)file;

	if (!f->temporary)
		return SQLITE_READONLY;
	return ftruncate(f->bytes.fd, size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out_size)
{
	*out_size = ((struct vfs_file *)file)->bytes.length;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *file, int *out_reserved)
{
	(void)file;
	*out_reserved = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	(void)file;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_traits(sqlite3_file *file)
{
	return ((struct vfs_file *)file)->temporary ? 0 : SQLITE_IOCAP_IMMUTABLE;
}

/* version 1: neither shared memory nor mapped pages */
static const sqlite3_io_methods METHODS = {.iVersion = 1,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_lock,
                                           .xCheckReservedLock = file_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_traits};

#define TEMPORARY                                                                                            \
	(SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL)

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct database *db = vfs->pAppData;
	struct vfs_file *f = (struct vfs_file *)file;
	struct sb_error why = {0};

	*f = (struct vfs_file){.db = db, .temporary = (flags & TEMPORARY) != 0 && !name};
	if (f->temporary) {
		if (database_temp_file(&f->bytes.fd, &why) != SB_OK) {
			database_stop(db, &why);
			return SQLITE_CANTOPEN;
		}
	} else if ((flags & SQLITE_OPEN_MAIN_DB) && !db->main_open) {
		db->main_open = true;
		f->bytes = db->bytes;
	} else {
		return SQLITE_CANTOPEN;
	}
	f->base.pMethods = &METHODS;
	if (out_flags)
		*out_flags = f->temporary ? flags : (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_IOERR_DELETE;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out_there)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*out_there = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	int n = snprintf(out, (size_t)size, "%s", name);

	(void)vfs;
	return n >= 0 && n < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *name)
{
	(void)vfs;
	(void)name;
	return NULL;
}

static int vfs_random(sqlite3_vfs *vfs, int bytes, char *out)
{
	(void)vfs;
	memset(out, 0, (size_t)bytes);
	return bytes;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds;
}

/* The same file gives the same answer whenever it is read. */
static int vfs_time(sqlite3_vfs *vfs, double *out_day)
{
	(void)vfs;
	*out_day = 0;
	return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	if (size > 0)
		out[0] = '\0';
	return 0;
}

void database_vfs_init(struct database *db)
{
	snprintf(db->vfs_name, sizeof(db->vfs_name), "signalbox-%p", (void *)db);
	db->vfs = (sqlite3_vfs){.iVersion = 1,
	                        .szOsFile = (int)sizeof(struct vfs_file),
	                        .mxPathname = 64,
	                        .zName = db->vfs_name,
	                        .pAppData = db,
	                        .xOpen = vfs_open,
	                        .xDelete = vfs_delete,
	                        .xAccess = vfs_access,
	                        .xFullPathname = vfs_full_name,
	                        .xDlOpen = vfs_dl_open,
	                        .xRandomness = vfs_random,
	                        .xSleep = vfs_sleep,
	                        .xCurrentTime = vfs_time,
	                        .xGetLastError = vfs_last_error};
}
