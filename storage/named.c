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

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char UPDATE[] =
	    "UPDATE named SET text = ?3, updated_us = ?4 WHERE family = ?1 AND name = ?2";
	static const char INSERT[] = "INSERT INTO named (family, name, text, updated_us)"
	                             " VALUES (?1, ?2, ?3, ?4)";
	struct named *n = arg;
	const struct value values[] = {TEXT(n->family), TEXT(n->name), TEXT(n->text), NUMBER(store_now_us())};
	int changes = 0, rc = conn_change(c, UPDATE, values, 4, &changes, err);

	n->created = rc == SB_OK && changes == 0;
	return n->created ? conn_change(c, INSERT, values, 4, NULL, err) : rc;
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
	int changes = 0, rc = conn_change(c, SQL, VALUES(TEXT(n->family), TEXT(n->name)), &changes, err);

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
	QUERY_AUTO q = {0};
	bool row = false;
	int rc = query_begin(s, SQL, VALUES(TEXT(family), TEXT(name)), &q, err);

	if (rc == SB_OK)
		rc = query_row(&q, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return not_found(err, name);
	if (column_dup(q.st, 0, out_text, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}

static int read_name(sqlite3_stmt *st, void *item, struct sb_error *err)
{
	if (column_dup(st, 0, item, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}

static void free_name(void *item)
{
	char **name = item;

	free(*name);
}

int store_named_list(struct store *s, const char *family, const char *after, size_t limit, char ***out_names,
                     size_t *out_count, struct sb_error *err)
{
	static const char SQL[] =
	    "SELECT name FROM named WHERE family = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
	QUERY_AUTO q = {0};
	int rc = query_begin(s, SQL, VALUES(TEXT(family), TEXT(after ? after : ""), NUMBER((int64_t)limit)),
	                     &q, err);

	return rc == SB_OK
	           ? query_list(&q, sizeof(**out_names), read_name, free_name, out_names, out_count, err)
	           : rc;
}
