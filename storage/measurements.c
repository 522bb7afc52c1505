#include <string.h>

#include "base/num.h"
#include "storage/internal.h"

static struct value number_or_null(int64_t n)
{
	return n == SB_NULL ? TEXT(NULL) : NUMBER(n);
}

static int put_row(struct conn *c, void *arg, struct sb_error *err)
{
	static const char SQL[] =
	    "INSERT INTO measurements (plan, profile, created_us, steps, measured_ns, predicted_ns,"
	    " measured_bytes, predicted_bytes)"
	    " SELECT plans.seq, profiles.seq, ?3, ?4, ?5, ?6, ?7, ?8 FROM plans, profiles"
	    " WHERE plans.id = ?1 AND profiles.id = ?2"
	    " ON CONFLICT (plan, profile) DO UPDATE SET created_us = ?3, steps = ?4, measured_ns = ?5,"
	    " predicted_ns = ?6, measured_bytes = ?7, predicted_bytes = ?8";
	const struct store_measurement *m = arg;
	int changes = 0,
	    rc = conn_change(c, SQL,
	                     VALUES(TEXT(m->plan), TEXT(m->profile), NUMBER(m->created_us), NUMBER(m->steps),
	                            NUMBER(m->measured_ns), NUMBER(m->predicted_ns),
	                            number_or_null(m->measured_bytes), number_or_null(m->predicted_bytes)),
	                     &changes, err);

	return rc == SB_OK && changes == 0
	           ? sb_fail(err, SB_ENOENT, "not_found", "there is no such plan or profile")
	           : rc;
}

int store_measurement_put(struct store *s, const struct store_measurement *m, struct sb_error *err)
{
	struct store_measurement copy = *m;

	return writer_do(s->writer, put_row, &copy, err);
}

static int64_t column_or_null(sqlite3_stmt *st, int at)
{
	return sqlite3_column_type(st, at) == SQLITE_NULL ? SB_NULL : sqlite3_column_int64(st, at);
}

static int read_row(sqlite3_stmt *st, void *item, struct sb_error *err)
{
	struct store_measurement *m = item;

	(void)err;
	*m = (struct store_measurement){.seq = sqlite3_column_int64(st, 0),
	                                .created_us = sqlite3_column_int64(st, 3),
	                                .steps = sqlite3_column_int64(st, 4),
	                                .measured_ns = sqlite3_column_int64(st, 5),
	                                .predicted_ns = sqlite3_column_int64(st, 6),
	                                .measured_bytes = column_or_null(st, 7),
	                                .predicted_bytes = column_or_null(st, 8)};
	column_copy(st, 1, m->plan, sizeof(m->plan));
	column_copy(st, 2, m->profile, sizeof(m->profile));
	return SB_OK;
}

int store_measurement_list(struct store *s, const char *plan, size_t limit, struct store_measurement **out,
                           size_t *out_count, struct sb_error *err)
{
	static const char SQL[] =
	    "SELECT m.seq, plans.id, profiles.id, m.created_us, m.steps, m.measured_ns, m.predicted_ns,"
	    " m.measured_bytes, m.predicted_bytes FROM measurements m"
	    " JOIN plans ON plans.seq = m.plan JOIN profiles ON profiles.seq = m.profile"
	    " WHERE ?1 IS NULL OR plans.id = ?1 ORDER BY m.seq DESC LIMIT ?2";
	QUERY_AUTO q = {0};
	int rc = query_begin(s, SQL, VALUES(TEXT(plan), NUMBER((int64_t)limit)), &q, err);

	return rc == SB_OK ? query_list(&q, sizeof(**out), read_row, NULL, out, out_count, err) : rc;
}
