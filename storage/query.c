#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "storage/internal.h"

static void bind_all(sqlite3_stmt *st, const struct value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct value *v = &values[i];

		if (v->is_number)
			sqlite3_bind_int64(st, (int)i + 1, v->number);
		else if (v->text)
			sqlite3_bind_text64(st, (int)i + 1, v->text, v->len ? v->len : strlen(v->text),
			                    SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_null(st, (int)i + 1);
	}
}

int conn_change(struct conn *c, const char *sql, const struct value *values, size_t count, int *out_changes,
                struct sb_error *err)
{
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, sql, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_all(st, values, count);
	rc = conn_run(c, st, err);
	if (rc == SB_OK && out_changes)
		*out_changes = sqlite3_changes(conn_db(c));
	return rc;
}

int query_begin(struct store *s, const char *sql, const struct value *values, size_t count, struct query *out,
                struct sb_error *err)
{
	int rc = reader_take(s, &out->reader, err);

	if (rc == SB_OK)
		rc = conn_prepare(out->reader.c, sql, &out->st, err);
	if (rc == SB_OK)
		bind_all(out->st, values, count);
	return rc;
}

void query_end(struct query *q)
{
	stmt_reset(&q->st);
	reader_give(&q->reader);
}

int query_row(struct query *q, bool *out_row, struct sb_error *err)
{
	return conn_step(q->reader.c, q->st, out_row, err);
}

struct rows {
	char *items;
	size_t count;
};

int query_list(struct query *q, size_t size, row_fn read, void (*clear)(void *item), void *out_items,
               size_t *out_count, struct sb_error *err)
{
	struct rows r = {0};
	bool row = true;
	int rc;

	for (;;) {
		rc = sb_grow(&r.items, r.count, size);
		if (rc == SB_OK)
			rc = query_row(q, &row, err);
		else
			sb_fail(err, rc, "out_of_memory", "out of memory");
		if (rc != SB_OK || !row)
			break;
		rc = read(q->st, r.items + r.count * size, err);
		if (rc != SB_OK)
			break;
		r.count++;
	}
	if (rc != SB_OK) {
		while (clear && r.count > 0)
			clear(r.items + --r.count * size);
		free(r.items);
		return rc;
	}
	memcpy(out_items, &r.items, sizeof(r.items));
	*out_count = r.count;
	return SB_OK;
}
