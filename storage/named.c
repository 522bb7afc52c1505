#include <stdlib.h>

#include "storage/internal.h"

struct named {
	const char *family, *name, *text;
	bool created;
};

static int not_found(struct sb_error *err, const char *name)
{
	return sb_fail(err, SB_ENOENT, "not_found", "there is no \"%.100s\"", name);
}

/* Runs one statement with family and name bound; *out_changes counts what it did. */
static int run(struct conn *c, const char *sql, const struct named *n, int *out_changes, struct sb_error *err)
{
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, sql, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, n->family);
	bind_text(st, 2, n->name);
	if (n->text) {
		bind_text(st, 3, n->text);
		sqlite3_bind_int64(st, 4, store_now_us());
	}
	rc = conn_run(c, st, err);
	*out_changes = sqlite3_changes(conn_db(c));
	return rc;
}

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char UPDATE[] =
	    "UPDATE named SET text = ?3, updated_us = ?4 WHERE family = ?1 AND name = ?2";
	static const char INSERT[] = "INSERT INTO named (family, name, text, updated_us)"
	                             " VALUES (?1, ?2, ?3, ?4)";
	struct named *n = arg;
	int changes = 0, rc = run(c, UPDATE, n, &changes, err);

	n->created = rc == SB_OK && changes == 0;
	return n->created ? run(c, INSERT, n, &changes, err) : rc;
}

int store_named_put(struct store *s, const char *family, const char *name, const char *text,
                    bool *out_created, struct sb_error *err)
{
	struct named n = {.family = family, .name = name, .text = text};
	int rc = writer_do(s->writer, put_row, &n, err);

	if (rc == SB_OK)
		*out_created = n.created;
	return rc;
}

static int delete_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM named WHERE family = ?1 AND name = ?2";
	const struct named *n = arg;
	int changes = 0, rc = run(c, SQL, n, &changes, err);

	return rc == SB_OK && changes == 0 ? not_found(err, n->name) : rc;
}

int store_named_delete(struct store *s, const char *family, const char *name, struct sb_error *err)
{
	struct named n = {.family = family, .name = name};

	return writer_do(s->writer, delete_row, &n, err);
}

int store_named_get(struct store *s, const char *family, const char *name, char **out_text,
                    struct sb_error *err)
{
	static const char SQL[] = "SELECT text FROM named WHERE family = ?1 AND name = ?2";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	bool row;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, family);
	bind_text(st, 2, name);
	rc = conn_step(r.c, st, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return not_found(err, name);
	if (column_dup(st, 0, out_text, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}

int store_named_list(struct store *s, const char *family, const char *after, size_t limit, char ***out_names,
                     size_t *out_count, struct sb_error *err)
{
	static const char SQL[] =
	    "SELECT name FROM named WHERE family = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	char **names;
	size_t n = 0;
	bool row = true;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	names = calloc(limit > 0 ? limit : 1, sizeof(*names));
	if (!names)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	bind_text(st, 1, family);
	bind_text(st, 2, after ? after : "");
	sqlite3_bind_int64(st, 3, (int64_t)limit);
	while (rc == SB_OK && n < limit) {
		rc = conn_step(r.c, st, &row, err);
		if (rc != SB_OK || !row)
			break;
		if (column_dup(st, 0, &names[n], NULL) != SB_OK)
			rc = sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
		else
			n++;
	}
	if (rc != SB_OK) {
		while (n > 0)
			free(names[--n]);
		free(names);
		return rc;
	}
	*out_names = names;
	*out_count = n;
	return SB_OK;
}
