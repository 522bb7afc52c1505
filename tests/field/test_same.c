/* What must not change the answers of Ascend's, Nsight Systems' and our own files: the order of rows and
 * events, the name, compression (issue "every input"). Seeds are fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "tests/field/same.h"
#include "tests/field/set.h"

static const struct sample {
	const char *folder, *name;
	enum { TABLE, EVENTS, DATABASE, OTHER } kind;
} SAMPLES[] = {
    {"samples/ascend/pt_text_L0_rank0", "kernel_details.csv", TABLE},
    {"samples/ascend/pt_text_L0_rank0", "trace_view.json", EVENTS},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "kernel_details.csv", TABLE},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "step_trace_time.csv", TABLE},
    {"samples/ascend/pt_text_L1_rank0/ASCEND_PROFILER_OUTPUT", "communication.json", OTHER},
    {"samples/ascend/mpa_fixtures", "kernel_details_wide.csv", TABLE},
    {"samples/ascend/mpa_fixtures", "trace_view_timeline_advice.json", EVENTS},
    {"samples/ascend/mpa_fixtures", "cluster_step_trace_time.csv", TABLE},
    {"samples/ascend/mpa_fixtures", "cluster_communication.json", OTHER},
    {"samples/ascend/cluster_16ranks_pp2", "cluster_step_trace_time.csv", TABLE},
    {"samples/ascend/mindinsight_era", "step_trace_raw_1_detail_time.csv", TABLE},
    {"samples/ascend/raw_msprof", "op_summary_1.csv", TABLE},
    {"samples/ascend/raw_msprof", "msprof_0.db", DATABASE},
    {"samples/ascend/pt_db_L2_rank0", "ascend_pytorch_profiler_0.db", DATABASE},
    {"samples/ascend/pt_db_L2_rank0", "analysis.db", DATABASE},
    {"samples/nsys", "mock.sqlite", DATABASE},
    {"samples/nsys", "healthy_1pct.sqlite", DATABASE},
};

/* Records behind the header, each with its line end. */
static struct places find_records(const struct text *t)
{
	struct places p = {.items = calloc(t->len + 1, sizeof(*p.items))};
	size_t at, fields;

	assert_non_null(p.items);
	for (at = after_record(t, 0, &fields); at < t->len; p.count++) {
		p.items[p.count].from = at;
		at = after_record(t, at, &fields);
		p.items[p.count].to = at;
	}
	return p;
}

static struct text shuffled_table(const struct text *t, uint64_t *seed)
{
	struct places p = find_records(t);
	struct text out = {.data = malloc(t->len + 2)};
	size_t at, fields;

	assert_non_null(out.data);
	for (size_t i = p.count; i > 1; i--) {
		size_t k = draw(seed, i);
		struct place swap = p.items[i - 1];

		p.items[i - 1] = p.items[k];
		p.items[k] = swap;
	}
	out.len = after_record(t, 0, &fields);
	memcpy(out.data, t->data, out.len);
	for (at = 0; at < p.count; at++) {
		memcpy(out.data + out.len, t->data + p.items[at].from, p.items[at].to - p.items[at].from);
		out.len += p.items[at].to - p.items[at].from;
		if (out.data[out.len - 1] != '\n')
			out.data[out.len++] = '\n';
	}
	free(p.items);
	return out;
}

static void run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
}

/* The same tables with their rows in another order: by a multiple of the row's number. */
static struct text shuffled_database(const struct text *t, uint64_t seed)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *names = NULL;
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_malloc64(t->len);
	SB_BUF_AUTO sql;
	char text[600];

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	memcpy(bytes, t->data, t->len);
	assert_int_equal(sqlite3_deserialize(db, "main", bytes, (sqlite3_int64)t->len, (sqlite3_int64)t->len,
	                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
	                 SQLITE_OK);
	sb_buf_init(&sql, 1 << 20);
	sqlite3_prepare_v2(db,
	                   "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
	                   -1, &names, NULL);
	while (sqlite3_step(names) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(names, 0);

		snprintf(text, sizeof(text),
		         "CREATE TABLE shuffled AS SELECT * FROM \"%.100s\" ORDER BY (rowid * %u) %% 1048573;"
		         "DROP TABLE \"%.100s\"; ALTER TABLE shuffled RENAME TO \"%.100s\";",
		         name, 7919 + 2 * (unsigned)seed, name, name);
		sb_buf_adds(&sql, text);
	}
	sqlite3_finalize(names);
	run(db, sql.data);
	bytes = sqlite3_serialize(db, "main", &size, 0);
	assert_true(bytes && size > 0);
	struct text out = {malloc((size_t)size), (size_t)size};

	assert_non_null(out.data);
	memcpy(out.data, bytes, out.len);
	sqlite3_free(bytes);
	sqlite3_close(db);
	return out;
}

static struct text other_order(const struct sample *s, const struct text *t, uint64_t *seed)
{
	if (s->kind == TABLE)
		return shuffled_table(t, seed);
	if (s->kind == DATABASE)
		return shuffled_database(t, *seed);
	struct places p = find_events(t);
	struct text out = shuffled(t, &p, seed);

	free(p.items);
	return out;
}

/* What a database that was given an order of its own may change: nothing that is told. */
static void check_order(const struct sample *s, const struct text *t, uint64_t *seed)
{
	ANSWER_AUTO a = {0};

	ask("sample", t->data, t->len, &a);
	for (int i = 0; i < 3; i++) {
		ANSWER_AUTO b = {0};
		struct text other = other_order(s, t, seed);
		char where[256];

		snprintf(where, sizeof(where), "%s/%s shuffled", s->folder, s->name);
		ask("sample", other.data, other.len, &b);
		free(other.data);
		same_answers(where, &a, &b);
	}
}

static void test_orders(void **state)
{
	uint64_t seed = 11;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++) {
		struct text t;

		if (SAMPLES[i].kind == OTHER)
			continue;
		t = load(SAMPLES[i].folder, SAMPLES[i].name);
		check_order(&SAMPLES[i], &t, &seed);
		free(t.data);
	}
}

static void test_names_and_dress(void **state)
{
	uint64_t seed = 12;

	(void)state;
	free(shared_path("samples/ascend"));
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++) {
		const struct sample *s = &SAMPLES[i];
		struct text t = load(s->folder, s->name);
		ANSWER_AUTO named = {0};
		ANSWER_AUTO a = {0};

		ask("sample", t.data, t.len, &a);
		check_dress(s->name, &t, &a, &seed);
		/* the name may tell the rank, and nothing else */
		ask(s->name, t.data, t.len, &named);
		same_breakdown(s->name, &a.b, &named.b);
		same_operators(s->name, &a.o, &named.o);
		free(t.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders),
	                                   cmocka_unit_test(test_names_and_dress)};

	return cmocka_run_group_tests_name("same", tests, NULL, NULL);
}
