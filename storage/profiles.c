#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/upload.h"

void store_profile_clear(struct store_profile *p)
{
	free(p->facts);
	free(p->files);
	*p = (struct store_profile){0};
}

static int not_found(struct sb_error *err)
{
	return sb_fail(err, SB_ENOENT, "not_found", "there is no such profile");
}

static int insert_profile(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "INSERT INTO profiles (id, name, state, sha256, bytes, created_us, files)"
	                          " VALUES (?1, ?2, 'queued', ?3, ?4, ?5, ?6)";
	const struct store_profile *p = arg;
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, p->id);
	bind_text(st, 2, p->name);
	bind_text(st, 3, p->sha256);
	sqlite3_bind_int64(st, 4, p->bytes);
	sqlite3_bind_int64(st, 5, p->created_us);
	bind_text(st, 6, p->files);
	return conn_run(c, st, err);
}

/* Cuts at the bound without splitting a character. */
static void copy_name(char *out, size_t size, const char *name)
{
	size_t len = strlen(name);

	if (len >= size) {
		len = size - 1;
		while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(out, name, len);
	out[len] = '\0';
}

int store_profile_create(struct store *s, struct upload **upp, const char *name, struct store_profile *out,
                         struct sb_error *err)
{
	UPLOAD_AUTO up = *upp;
	struct store_profile p = {.state = "queued"};
	int rc;

	*upp = NULL;
	rc = upload_seal(up, &p.files, p.sha256, err);
	if (rc != SB_OK)
		return rc;
	store_new_id(p.id);
	copy_name(p.name, sizeof(p.name), name);
	p.bytes = up->bytes;
	p.created_us = store_now_us();
	rc = upload_publish(up, p.id, err);
	if (rc == SB_OK) {
		rc = writer_do(s->writer, insert_profile, &p, err);
		if (rc != SB_OK)
			files_remove_profile(s, p.id);
	}
	if (rc != SB_OK) {
		store_profile_clear(&p);
		return rc;
	}
	*out = p;
	return SB_OK;
}

/* Columns: id, name, state, sha256, bytes, created_us, facts, files. */
static int read_row(sqlite3_stmt *st, struct store_profile *p)
{
	*p = (struct store_profile){0};
	column_copy(st, 0, p->id, sizeof(p->id));
	column_copy(st, 1, p->name, sizeof(p->name));
	column_copy(st, 2, p->state, sizeof(p->state));
	column_copy(st, 3, p->sha256, sizeof(p->sha256));
	p->bytes = sqlite3_column_int64(st, 4);
	p->created_us = sqlite3_column_int64(st, 5);
	if (column_dup(st, 6, &p->facts, NULL) != SB_OK || column_dup(st, 7, &p->files, NULL) != SB_OK) {
		store_profile_clear(p);
		return SB_ENOMEM;
	}
	return SB_OK;
}

int store_profile_get(struct store *s, const char *id, struct store_profile *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, name, state, sha256, bytes, created_us, facts, files"
	                          " FROM profiles WHERE id = ?1";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	bool row;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, id);
	rc = conn_step(r.c, st, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return not_found(err);
	if (read_row(st, out) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}

static void free_list(struct store_profile *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		store_profile_clear(&items[i]);
	free(items);
}

int store_profile_list(struct store *s, const char *after, size_t limit, struct store_profile **out,
                       size_t *out_count, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, name, state, sha256, bytes, created_us, facts, NULL"
	                          " FROM profiles WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	struct store_profile *items;
	size_t n = 0;
	bool row = true;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	items = calloc(limit > 0 ? limit : 1, sizeof(*items));
	if (!items)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	bind_text(st, 1, after ? after : "~");
	sqlite3_bind_int64(st, 2, (int64_t)limit);
	while (rc == SB_OK && n < limit) {
		rc = conn_step(r.c, st, &row, err);
		if (rc != SB_OK || !row)
			break;
		if (read_row(st, &items[n]) != SB_OK)
			rc = sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
		else
			n++;
	}
	if (rc != SB_OK) {
		free_list(items, n);
		return rc;
	}
	*out = items;
	*out_count = n;
	return SB_OK;
}

int store_profile_ids(struct store *s, const char *state, char (**out_ids)[STORE_ID_MAX], size_t *out_count,
                      struct sb_error *err)
{
	static const char SQL[] = "SELECT id FROM profiles WHERE state = ?1 ORDER BY id";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	char(*ids)[STORE_ID_MAX] = NULL;
	size_t n = 0, cap = 0;
	bool row = true;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, state);
	for (;;) {
		rc = conn_step(r.c, st, &row, err);
		if (rc != SB_OK || !row)
			break;
		if (n == cap) {
			char(*more)[STORE_ID_MAX] = realloc(ids, (cap * 2 + 16) * sizeof(*ids));

			if (!more) {
				rc = sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
				break;
			}
			ids = more;
			cap = cap * 2 + 16;
		}
		column_copy(st, 0, ids[n++], STORE_ID_MAX);
	}
	if (rc != SB_OK) {
		free(ids);
		return rc;
	}
	*out_ids = ids;
	*out_count = n;
	return SB_OK;
}

static int delete_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM profiles WHERE id = ?1";
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, arg);
	rc = conn_run(c, st, err);
	if (rc == SB_OK && sqlite3_changes(conn_db(c)) == 0)
		rc = not_found(err);
	return rc;
}

int store_profile_delete(struct store *s, const char *id, struct sb_error *err)
{
	char copy[STORE_ID_MAX];
	int rc;

	if (!store_id_is_valid(id))
		return not_found(err);
	snprintf(copy, sizeof(copy), "%s", id);
	rc = writer_do(s->writer, delete_row, copy, err);
	if (rc == SB_OK)
		files_remove_profile(s, id);
	return rc;
}

int store_profile_open(struct store *s, const char *id, int *out_fd, struct sb_error *err)
{
	char path[STORE_ID_MAX + 16];
	int fd;

	if (!store_id_is_valid(id))
		return not_found(err);
	snprintf(path, sizeof(path), "%s/upload", id);
	fd = openat(s->profiles_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? not_found(err) : file_fail(err, "upload");
	*out_fd = fd;
	return SB_OK;
}
