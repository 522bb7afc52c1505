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
	QUERY_AUTO q = {0};
	bool row = false;
	int rc =
	    query_begin(s, SQL, VALUES(TEXT(key), TEXT(route), NUMBER(store_now_us() - KEEP_US)), &q, err);

	if (rc == SB_OK)
		rc = query_row(&q, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return sb_fail(err, SB_ENOENT, "not_found", "this key was not used yet");
	if (column_dup(q.st, 1, out_answer, NULL) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	column_copy(q.st, 0, out_digest, 65);
	return SB_OK;
}

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char FORGET[] = "DELETE FROM idempotency WHERE created_us <= ?1";
	static const char SQL[] = "INSERT INTO idempotency (key, route, digest, created_us, answer)"
	                          " VALUES (?1, ?2, ?3, ?4, ?5)"
	                          " ON CONFLICT (key, route) DO UPDATE SET answer = excluded.answer"
	                          " WHERE digest = excluded.digest";
	const struct record *k = arg;
	int rc = conn_change(c, FORGET, VALUES(NUMBER(k->now - KEEP_US)), NULL, err), changes = 0;

	if (rc != SB_OK)
		return rc;
	rc = conn_change(
	    c, SQL, VALUES(TEXT(k->key), TEXT(k->route), TEXT(k->digest), NUMBER(k->now), TEXT(k->answer)),
	    &changes, err);
	if (rc == SB_OK && changes == 0)
		return sb_fail(err, SB_ECONFLICT, "idempotency_key_reused",
		               "this key was used for another request");
	return rc;
}

int store_idempotency_put(struct store *s, const char *key, const char *route, const char *digest,
                          const char *answer, struct sb_error *err)
{
	struct record k = {
	    .key = key, .route = route, .digest = digest, .answer = answer, .now = store_now_us()};

	return writer_do(s->writer, put_row, &k, err);
}
