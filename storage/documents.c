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
	int changes = 0,
	    rc = conn_change(c, SQL, VALUES(TEXT(ch->id), TEXT(ch->state), TEXT(ch->facts)), &changes, err);

	if (rc == SB_OK && changes == 0)
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
	const struct value text = {.text = d->text, .len = d->len};

	return conn_change(c, SQL, VALUES(TEXT(id), TEXT(d->name), text), NULL, err);
}

static int finish(struct conn *c, void *arg, struct sb_error *err)
{
	static const char CLEAR[] = "DELETE FROM documents WHERE profile ="
	                            " (SELECT seq FROM profiles WHERE id = ?1)";
	const struct change *ch = arg;
	int rc = set_state(c, ch, err);

	if (rc == SB_OK)
		rc = conn_change(c, CLEAR, VALUES(TEXT(ch->id)), NULL, err);
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
	struct store_plan kept = {0};
	uint64_t commits = atomic_load(&s->commits);
	QUERY_AUTO q = {0};
	char key[112];
	bool row = false;
	int rc;

	/* an id that is too long is none of ours */
	if (snprintf(key, sizeof(key), "document/%s/%s", id, name) < (int)sizeof(key) &&
	    cache_get(s, key, &kept, out_len)) {
		*out_text = kept.text;
		return SB_OK;
	}
	rc = query_begin(s, SQL, VALUES(TEXT(id), TEXT(name)), &q, err);
	if (rc == SB_OK)
		rc = query_row(&q, &row, err);
	if (rc != SB_OK)
		return rc;
	if (!row)
		return sb_fail(err, SB_ENOENT, "not_found", "the profile has no document \"%s\"", name);
	if (column_dup(q.st, 0, out_text, out_len) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	kept.text = *out_text;
	cache_put(s, key, commits, &kept, *out_len);
	return SB_OK;
}
