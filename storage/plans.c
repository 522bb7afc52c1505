#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
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
static int read_row(sqlite3_stmt *st, void *item, struct sb_error *err)
{
	struct store_plan *p = item;

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
	const struct store_plan *plan = p->plan;
	int changes = 0, rc = conn_change(c, SQL,
	                                  VALUES(TEXT(plan->id), TEXT(plan->digest), TEXT(plan->kind),
	                                         NUMBER(plan->created_us), TEXT(plan->text)),
	                                  &changes, err);

	p->existing = rc == SB_OK && changes == 0;
	return rc;
}

static int copy_of(const struct store_plan *plan, struct store_plan *out, struct sb_error *err)
{
	*out = *plan;
	out->text = strdup(plan->text);
	if (out->text)
		return SB_OK;
	*out = (struct store_plan){0};
	return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
}

int store_plan_put(struct store *s, const struct store_plan *plan, struct store_plan *out, bool *out_existing,
                   struct sb_error *err)
{
	struct put p = {.plan = plan, .existing = true};
	int rc = SB_ENOENT;

	/* the plan that was there may be deleted before it is read: then this one is put after all */
	while (rc == SB_ENOENT && p.existing) {
		rc = writer_do(s->writer, put_row, &p, err);
		if (rc == SB_OK)
			rc =
			    p.existing ? store_plan_find(s, plan->digest, out, err) : copy_of(plan, out, err);
	}
	if (rc == SB_OK)
		*out_existing = p.existing;
	return rc;
}

/* family keeps ids and digests apart in the cache. */
static int get_by(struct store *s, const char *family, const char *sql, const char *key,
                  struct store_plan *out, struct sb_error *err)
{
	uint64_t commits = atomic_load(&s->commits);
	QUERY_AUTO q = {0};
	char name[112];
	size_t len;
	bool row = false;
	int rc;

	if (snprintf(name, sizeof(name), "%s/%s", family, key) >= (int)sizeof(name))
		return not_found(err);
	if (cache_get(s, name, out, &len))
		return SB_OK;
	rc = query_begin(s, sql, VALUES(TEXT(key)), &q, err);
	if (rc == SB_OK)
		rc = query_row(&q, &row, err);
	if (rc != SB_OK)
		return rc;
	rc = row ? read_row(q.st, out, err) : not_found(err);
	if (rc == SB_OK)
		cache_put(s, name, commits, out, strlen(out->text));
	return rc;
}

int store_plan_get(struct store *s, const char *id, struct store_plan *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans WHERE id = ?1";

	return get_by(s, "plan", SQL, id, out, err);
}

int store_plan_find(struct store *s, const char *digest, struct store_plan *out, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans WHERE digest = ?1";

	return get_by(s, "digest", SQL, digest, out, err);
}

/* A list under way. */
struct part {
	struct store_plan *plans;
	size_t count, bytes;
	bool more;
};

static int read_part(struct query *q, size_t limit, size_t max_bytes, struct part *io, struct sb_error *err)
{
	for (;;) {
		bool row = false;
		int rc = query_row(q, &row, err);

		io->more = row;
		if (rc != SB_OK || !row || io->count == limit || io->bytes >= max_bytes)
			return rc;
		if (sb_grow(&io->plans, io->count, sizeof(*io->plans)) != SB_OK)
			return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
		rc = read_row(q->st, &io->plans[io->count], err);
		if (rc != SB_OK)
			return rc;
		io->bytes += strlen(io->plans[io->count++].text);
	}
}

int store_plan_list(struct store *s, const char *after, size_t limit, size_t max_bytes,
                    struct store_plan **out, size_t *out_count, bool *out_more, struct sb_error *err)
{
	static const char SQL[] = "SELECT id, digest, kind, created_us, text FROM plans"
	                          " WHERE id < ?1 ORDER BY id DESC";
	QUERY_AUTO q = {0};
	struct part part = {0};
	int rc = query_begin(s, SQL, VALUES(TEXT(after ? after : "~")), &q, err);

	if (rc == SB_OK)
		rc = read_part(&q, limit, max_bytes, &part, err);
	if (rc != SB_OK) {
		while (part.count > 0)
			store_plan_clear(&part.plans[--part.count]);
		free(part.plans);
		return rc;
	}
	*out = part.plans;
	*out_count = part.count;
	*out_more = part.more;
	return SB_OK;
}

struct removal {
	const char *id;
};

static int delete_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM plans WHERE id = ?1";
	const struct removal *d = arg;
	int changes = 0, rc = conn_change(c, SQL, VALUES(TEXT(d->id)), &changes, err);

	return rc == SB_OK && changes == 0 ? not_found(err) : rc;
}

int store_plan_delete(struct store *s, const char *id, struct sb_error *err)
{
	struct removal d = {.id = id};

	return writer_do(s->writer, delete_row, &d, err);
}
