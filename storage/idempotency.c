#include <stdlib.h>

#include "storage/internal.h"

#define KEEP_US (INT64_C(24) * 3600 * 1000000)

struct record {
	const char *key, *route, *digest, *answer;
	int64_t now;
};

int store_idempotency_get(struct store *s, const char *key, const char *route, char out_digest[65],
                          char **out_answer, struct sb_error *err)
{
	static const char SQL[] = "SELECT digest, answer FROM idempotency"
	                          " WHERE key = ?1 AND route = ?2 AND created_us > ?3";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	bool row;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, key);
	bind_text(st, 2, route);
	sqlite3_bind_int64(st, 3, store_now_us() - KEEP_US);
	rc = conn_step(r.c, st, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return sb_fail(err, SB_ENOENT, "not_found", "this key was not used yet");
	if (column_dup(st, 1, out_answer, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	column_copy(st, 0, out_digest, 65);
	return SB_OK;
}

static int forget_old(struct conn *c, int64_t now, struct sb_error *err)
{
	static const char SQL[] = "DELETE FROM idempotency WHERE created_us <= ?1";
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	sqlite3_bind_int64(st, 1, now - KEEP_US);
	return conn_run(c, st, err);
}

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] = "INSERT INTO idempotency (key, route, digest, created_us, answer)"
	                          " VALUES (?1, ?2, ?3, ?4, ?5)";
	const struct record *k = arg;
	STMT_AUTO st = NULL;
	int rc = forget_old(c, k->now, err);

	if (rc == SB_OK)
		rc = conn_prepare(c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, k->key);
	bind_text(st, 2, k->route);
	bind_text(st, 3, k->digest);
	sqlite3_bind_int64(st, 4, k->now);
	bind_text(st, 5, k->answer);
	return conn_run(c, st, err);
}

int store_idempotency_put(struct store *s, const char *key, const char *route, const char *digest,
                          const char *answer, struct sb_error *err)
{
	struct record k = {
	    .key = key, .route = route, .digest = digest, .answer = answer, .now = store_now_us()};

	return writer_do(s->writer, put_row, &k, err);
}
