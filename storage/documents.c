#include <stdio.h>
#include <stdlib.h>

#include "storage/internal.h"

/* The state of a profile and its result documents: what changes while it is read. */

struct change {
	const char *id, *state, *facts;
	const struct store_document *docs;
	size_t count;
};

static int set_state(struct conn *c, const struct change *ch, struct sb_error *err)
{
	static const char SQL[] = "UPDATE profiles SET state = ?2, facts = coalesce(?3, facts), attempts ="
	                          " CASE ?2 WHEN 'reading' THEN attempts + 1"
	                          " WHEN 'queued' THEN max(attempts - 1, 0) ELSE 0 END WHERE id = ?1";
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, ch->id);
	bind_text(st, 2, ch->state);
	bind_text(st, 3, ch->facts);
	rc = conn_run(c, st, err);
	if (rc == SB_OK && sqlite3_changes(conn_db(c)) == 0)
		rc = sb_fail(err, SB_ENOENT, "not_found", "there is no such profile");
	return rc;
}

static int set_state_only(struct conn *c, void *arg, struct sb_error *err)
{
	return set_state(c, arg, err);
}

int store_profile_set(struct store *s, const char *id, const char *state, const char *facts,
                      struct sb_error *err)
{
	struct change ch = {.id = id, .state = state, .facts = facts};

	return writer_do(s->writer, set_state_only, &ch, err);
}

static int insert_document(struct conn *c, const char *id, const struct store_document *d,
                           struct sb_error *err)
{
	static const char SQL[] = "INSERT INTO documents (profile, name, text)"
	                          " SELECT seq, ?2, ?3 FROM profiles WHERE id = ?1";
	STMT_AUTO st = NULL;
	int rc = conn_prepare(c, SQL, &st, err);

	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, id);
	bind_text(st, 2, d->name);
	sqlite3_bind_text64(st, 3, d->text, d->len, SQLITE_STATIC, SQLITE_UTF8);
	return conn_run(c, st, err);
}

static int finish(struct conn *c, void *arg, struct sb_error *err)
{
	static const char CLEAR[] = "DELETE FROM documents WHERE profile ="
	                            " (SELECT seq FROM profiles WHERE id = ?1)";
	const struct change *ch = arg;
	STMT_AUTO st = NULL;
	int rc = set_state(c, ch, err);

	if (rc == SB_OK)
		rc = conn_prepare(c, CLEAR, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, ch->id);
	rc = conn_run(c, st, err);
	for (size_t i = 0; rc == SB_OK && i < ch->count; i++)
		rc = insert_document(c, ch->id, &ch->docs[i], err);
	return rc;
}

int store_profile_finish(struct store *s, const char *id, const char *state, const char *facts,
                         const struct store_document *docs, size_t count, struct sb_error *err)
{
	struct change ch = {.id = id, .state = state, .facts = facts, .docs = docs, .count = count};

	return writer_do(s->writer, finish, &ch, err);
}

int store_document_get(struct store *s, const char *id, const char *name, char **out_text, size_t *out_len,
                       struct sb_error *err)
{
	static const char SQL[] = "SELECT d.text FROM documents d JOIN profiles p ON p.seq = d.profile"
	                          " WHERE p.id = ?1 AND d.name = ?2";
	READER_AUTO r = {0};
	STMT_AUTO st = NULL;
	bool row;
	int rc = reader_take(s, &r, err);

	if (rc == SB_OK)
		rc = conn_prepare(r.c, SQL, &st, err);
	if (rc != SB_OK)
		return rc;
	bind_text(st, 1, id);
	bind_text(st, 2, name);
	rc = conn_step(r.c, st, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return sb_fail(err, SB_ENOENT, "not_found", "the profile has no document \"%s\"", name);
	if (column_dup(st, 0, out_text, out_len) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	return SB_OK;
}
