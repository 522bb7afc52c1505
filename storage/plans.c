#include <stdlib.h>

#include "storage/internal.h"

void store_plan_clear(struct store_plan *p)
{
	free(p->text);
	*p = (struct store_plan){0};
}

static int not_found(struct sb_error *err)
{
	return sb_fail(err, SB_ENOENT, "not_found", "there is no such plan");
}

/* Columns: id, digest, kind, created_us, text. */
static int read_row(sqlite3_stmt *st, struct store_plan *p, struct sb_error *err)
{
	*p = (struct store_plan){0};
	column_copy(st, 0, p->id, sizeof(p->id));
	column_copy(st, 1, p->digest, sizeof(p->digest));
	column_copy(st, 2, p->kind, sizeof(p->kind));
	p->created_us = sqlite3_column_int64(st, 3);
	if (column_dup(st, 4, &p->text, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}

struct put {
	const struct store_plan *plan;
	bool existing;
};

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "INSERT INTO plans (id, digest, kind, created_us, text)"
	                          " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (digest) DO NOTHING";
	struct put *p = arg;
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, p->plan->id);
	bind_text(st, 2, p->plan->digest);
	bind_text(st, 3, p->plan->kind);
	sqlite3_bind_int64(st, 4, p->plan->created_us);
	bind_text(st, 5, p->plan->text);
	rc = conn_run(c, st, err);
	if (rc == SB_OK)
		p->existing = sqlite3_changes(conn_db(c)) == 0;
	return rc;
}

int store_plan_put(struct store *s, const struct store_plan *plan, struct store_plan *out, bool *out_existing,
                   struct sb_error *err)
{
	struct put p = {.plan = plan};
	int rc = writer_do(s->writer, put_row, &p, err);

	if (rc == SB_OK)
		rc = store_plan_find(s, plan->digest, out, err);
	if (rc == SB_OK)
		*out_existing = p.existing;
	return rc;
}

static int get_by(struct store *s, const char *sql, const char *key, struct store_plan *out,
                  struct sb_error *err)
{
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	bool row;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, sql, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, key);
	rc = conn_step(r.c, st, &row, err);
	if (rc != SB_OK)
		return rc;
	return row ? read_row(st, out, err) : not_found(err);
}

int store_plan_get(struct store *s, const char *id, struct store_plan *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans WHERE id = ?1";

	return get_by(s, SQL, id, out, err);
}

int store_plan_find(struct store *s, const char *digest, struct store_plan *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans WHERE digest = ?1";

	return get_by(s, SQL, digest, out, err);
}

int store_plan_list(struct store *s, const char *after, size_t limit, struct store_plan **out,
                    size_t *out_count, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans"
	                          " WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	struct store_plan *items;
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
		rc = read_row(st, &items[n], err);
		n += rc == SB_OK;
	}
	if (rc != SB_OK) {
		while (n > 0)
			store_plan_clear(&items[--n]);
		free(items);
		return rc;
	}
	*out = items;
	*out_count = n;
	return SB_OK;
}

struct removal {
	const char *id;
};

static int delete_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM plans WHERE id = ?1";
	const struct removal *d = arg;
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, d->id);
	rc = conn_run(c, st, err);
	if (rc == SB_OK && sqlite3_changes(conn_db(c)) == 0)
		rc = not_found(err);
	return rc;
}

int store_plan_delete(struct store *s, const char *id, struct sb_error *err)
{
	struct removal d = {.id = id};

	return writer_do(s->writer, delete_row, &d, err);
}
