#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "profiler/read/nsys_impl.h"

const char *nsys_find(struct database *db, const char *name, char *out, size_t size)
{
	for (int version = 9; version >= 2; version--) {
		snprintf(out, size, "%s_V%d", name, version);
		if (database_has(db, out))
			return out;
	}
	snprintf(out, size, "%s", name);
	return database_has(db, out) ? out : NULL;
}

int nsys_select(struct database *db, const char *table, const char *const *columns,
                struct database_rows **out, struct sb_error *err)
{
	char list[1000], name[64];
	const char *found = nsys_find(db, table, name, sizeof(name));
	size_t n = 0;

	*out = NULL;
	if (!found)
		return SB_OK;
	for (size_t i = 0; columns[i] && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n,
		                      database_has_column(db, found, columns[i]) ? "%s\"%s\"" : "%sNULL",
		                      i ? ", " : "", columns[i]);
	/* an index that somebody added must not change the order */
	return database_query(db, out, err, "SELECT %s FROM \"%w\" NOT INDEXED", list, found);
}

void nsys_note(struct nsys_row *r, enum nsys_flaw flaw)
{
	if (r->n->flaws[flaw].count++ > 0)
		return;
	snprintf(r->n->flaws[flaw].table, sizeof(r->n->flaws[flaw].table), "%s", r->table);
	r->n->flaws[flaw].row = r->row;
}

void nsys_report(struct nsys *n)
{
	static const struct {
		const char *code, *what;
	} TEXTS[NSYS_FLAW_COUNT] = {
	    [NSYS_BAD_TIME] = {"bad_timestamp", "A row has no readable start or end and was left out."},
	    [NSYS_NO_TIME] =
	        {"missing_time",
	         "A row without times (start and end 0: they could not be collected) was left out."},
	    [NSYS_NEGATIVE] = {"negative_duration", "A row ends before it starts; it counts as 0."},
	    [NSYS_OPEN_RANGE] = {"open_range",
	                         "An annotation has no end; it is taken to last as long as the capture."},
	    [NSYS_NO_NAME] = {"missing_name", "A name's id is not in StringIds; the id stands for it."},
	};
	struct warnings *w = &n->ctx->profile->warnings;

	for (size_t i = 0; i < NSYS_FLAW_COUNT; i++) {
		if (n->flaws[i].count == 0)
			continue;
		warnings_add(w, TEXTS[i].code, n->path, 0, -1, "%s First in row %lld of %s, %llu in all.",
		             TEXTS[i].what, (long long)n->flaws[i].row, n->flaws[i].table,
		             (unsigned long long)n->flaws[i].count);
		warnings_repeat(w, TEXTS[i].code, n->path, n->flaws[i].count - 1);
	}
}

int nsys_append(struct nsys_row *r)
{
	struct nsys *n = r->n;
	int64_t end = r->span.start_ns;

	if (r->span.dur_ns > 0)
		end = sb_add_sat(end, r->span.dur_ns);
	if (n->trace.count == 0 || end > n->last_end)
		n->last_end = end;
	clock_see(&n->range, r->span.start_ns, r->span.dur_ns, r->row);
	return trace_append(&n->trace, &r->span);
}

/* False: the row tells no time. */
static bool read_times(struct nsys_row *r, const struct nsys_table *t)
{
	int64_t start = database_int(r->cells, 0), end = database_int(r->cells, 1);

	r->span = (struct event){.start_ns = sb_add_sat(start, r->n->base_ns), .link = -1};
	if (start != SB_NULL && end == SB_NULL && t->open_ends) {
		r->span.dur_ns = -1;
		nsys_note(r, NSYS_OPEN_RANGE);
		return true;
	}
	if (start == SB_NULL || end == SB_NULL || __builtin_sub_overflow(end, start, &r->span.dur_ns)) {
		nsys_note(r, NSYS_BAD_TIME);
		return false;
	}
	if (start == 0 && end == 0) {
		nsys_note(r, NSYS_NO_TIME);
		return false;
	}
	if (r->span.dur_ns < 0) {
		nsys_note(r, NSYS_NEGATIVE);
		r->span.dur_ns = 0;
	}
	return true;
}

int nsys_spans(struct nsys *n, const struct nsys_table *t, struct sb_error *err)
{
	DATABASE_ROWS_AUTO cells = NULL;
	char name[64];
	struct nsys_row r = {.n = n, .table = nsys_find(n->db, t->name, name, sizeof(name))};
	bool more = true;
	int rc;

	if (!r.table)
		return SB_OK;
	n->range.table = t->name;
	rc = nsys_select(n->db, t->name, t->columns, &cells, err);
	if (rc != SB_OK)
		return rc;
	r.cells = cells;
	for (;;) {
		rc = database_next(cells, &more, err);
		if (rc != SB_OK || !more)
			return rc;
		r.row++;
		n->event_count++;
		if ((t->wanted && !t->wanted(cells)) || !read_times(&r, t))
			continue;
		rc = t->take(&r);
		if (rc != SB_OK)
			return sb_fail_at(err, rc, rc == SB_ELIMIT ? "too_many_events" : "no_memory", n->path,
			                  0, -1, "the rows of %s do not fit into memory: %s", r.table,
			                  sb_strerror(rc));
	}
}
