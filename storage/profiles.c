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

	return conn_change(c, SQL,
	                   VALUES(TEXT(p->id), TEXT(p->name), TEXT(p->sha256), NUMBER(p->bytes),
	                          NUMBER(p->created_us), TEXT(p->files)),
	                   NULL, err);
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
static int read_row(sqlite3_stmt *st, void *item, struct sb_error *err)
{
	struct store_profile *p = item;

	*p = (struct store_profile){0};
	column_copy(st, 0, p->id, sizeof(p->id));
	column_copy(st, 1, p->name, sizeof(p->name));
	column_copy(st, 2, p->state, sizeof(p->state));
	column_copy(st, 3, p->sha256, sizeof(p->sha256));
	p->bytes = sqlite3_column_int64(st, 4);
	p->created_us = sqlite3_column_int64(st, 5);
	if (column_dup(st, 6, &p->facts, NULL) == SB_OK && column_dup(st, 7, &p->files, NULL) == SB_OK)
		return SB_OK;
	store_profile_clear(p);
	return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
}

static void clear_item(void *item)
{
	store_profile_clear(item);
}

int store_profile_get(struct store *s, const char *id, struct store_profile *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, name, state, sha256, bytes, created_us, facts, files"
	                          " FROM profiles WHERE id = ?1";
	QUERY_AUTO q = {0};
	bool row = false;
	int rc = query_begin(s, SQL, VALUES(TEXT(id)), &q, err);

	if (rc == SB_OK)
		rc = query_row(&q, &row, err);
	if (rc != SB_OK)
		return rc;
	return row ? read_row(q.st, out, err) : not_found(err);
}

int store_profile_list(struct store *s, const char *after, size_t limit, struct store_profile **out,
                       size_t *out_count, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, name, state, sha256, bytes, created_us, facts, NULL"
	                          " FROM profiles WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
	QUERY_AUTO q = {0};
	int rc = query_begin(s, SQL, VALUES(TEXT(after ? after : "~"), NUMBER((int64_t)limit)), &q, err);

	return rc == SB_OK ? query_list(&q, sizeof(**out), read_row, clear_item, out, out_count, err) : rc;
}

static int read_id(sqlite3_stmt *st, void *item, struct sb_error *err)
{
	(void)err;
	column_copy(st, 0, item, STORE_ID_MAX);
	return SB_OK;
}

int store_profile_ids(struct store *s, const char *state, char (**out_ids)[STORE_ID_MAX], size_t *out_count,
                      struct sb_error *err)
{
	static const char SQL[] = "SELECT id FROM profiles WHERE state = ?1 ORDER BY id";
	QUERY_AUTO q = {0};
	int rc = query_begin(s, SQL, VALUES(TEXT(state)), &q, err);

	return rc == SB_OK ? query_list(&q, STORE_ID_MAX, read_id, NULL, out_ids, out_count, err) : rc;
}

static int delete_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM profiles WHERE id = ?1";
	int changes = 0, rc = conn_change(c, SQL, VALUES(TEXT(arg)), &changes, err);

	return rc == SB_OK && changes == 0 ? not_found(err) : rc;
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
