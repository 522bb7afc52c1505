#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profiler/read/ascend_db.h"
#include "profiler/read/call_stack.h"

/* PYTORCH_CALLCHAINS: a row a frame, without an order and by far the most rows of all tables of the host. */

#define DEPTH_MAX 64 /* as many innermost frames fill a text of CALL_STACK_MAX */

static int by_number(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

static int by_chain(const void *a, const void *b)
{
	const struct db_frame *x = a, *y = b;

	return sb_compare((const int64_t[]){x->chain, x->depth}, (const int64_t[]){y->chain, y->depth}, 2);
}

void db_stacks_free(struct db_stacks *s)
{
	free(s->chains);
	free(s->frames);
	*s = (struct db_stacks){0};
}

bool db_stack_wanted(const struct ascend_db *r, uint32_t name)
{
	size_t len;
	const char *text = sb_strings_get(r->cap->trace.strings, name, &len);

	return call_stack_wanted(text, len);
}

static int list_chains(struct ascend_db *r, const char *table, struct db_stacks *s)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc = database_query(r->db, &rows, r->err, "SELECT name, callchainId FROM %w", table);

	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		int64_t chain = database_int(rows, 1);

		if (chain == SB_NULL || !db_stack_wanted(r, db_name(r, NAMES_STRING, database_int(rows, 0))))
			continue;
		if (sb_grow(&s->chains, s->chain_count, sizeof(*s->chains)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		s->chains[s->chain_count++] = chain;
	}
	if (s->chain_count > 0)
		qsort(s->chains, s->chain_count, sizeof(*s->chains), by_number);
	return rc;
}

static int list_frames(struct ascend_db *r, struct db_stacks *s)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc = database_query(r->db, &rows, r->err, "SELECT id, stackDepth, stack FROM PYTORCH_CALLCHAINS");

	while (rc == SB_OK && (rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		struct db_frame f = {database_int(rows, 0), database_int(rows, 1),
		                     db_name(r, NAMES_STRING, database_int(rows, 2))};

		if (f.depth < 0 || f.depth >= DEPTH_MAX || f.name == 0 ||
		    !bsearch(&f.chain, s->chains, s->chain_count, sizeof(f.chain), by_number))
			continue;
		if (sb_grow(&s->frames, s->frame_count, sizeof(*s->frames)) != SB_OK)
			return db_fail(r, SB_ENOMEM);
		s->frames[s->frame_count++] = f;
	}
	if (s->frame_count > 0)
		qsort(s->frames, s->frame_count, sizeof(*s->frames), by_chain);
	return rc;
}

int db_stacks_load(struct ascend_db *r, const char *table, struct db_stacks *out)
{
	static const char chains[] = "PYTORCH_CALLCHAINS";
	int rc;

	if (!database_has_column(r->db, table, "callchainId") || !database_has_column(r->db, table, "name") ||
	    !database_has_column(r->db, chains, "id") || !database_has_column(r->db, chains, "stack") ||
	    !database_has_column(r->db, chains, "stackDepth"))
		return SB_OK;
	rc = list_chains(r, table, out);
	return rc == SB_OK && out->chain_count > 0 ? list_frames(r, out) : rc;
}

static size_t first_frame(const struct db_stacks *s, int64_t chain)
{
	return SB_BISECT(i, 0, s->frame_count, s->frames[i].chain < chain);
}

int db_stack_text(struct ascend_db *r, const struct db_stacks *s, int64_t chain, uint32_t *out_text)
{
	char text[CALL_STACK_MAX + 1];
	size_t len = 0;

	for (size_t i = first_frame(s, chain); i < s->frame_count && s->frames[i].chain == chain; i++) {
		size_t n;
		const char *frame = sb_strings_get(r->cap->trace.strings, s->frames[i].name, &n);

		if (len + n + 1 > CALL_STACK_MAX)
			break;
		if (len > 0)
			text[len++] = ';';
		memcpy(text + len, frame, n);
		len += n;
	}
	text[len] = '\0';
	return len > 0 ? db_add_text(r, text, out_text) : SB_OK;
}
