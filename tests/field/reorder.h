#ifndef SB_TESTS_FIELD_REORDER_H
#define SB_TESTS_FIELD_REORDER_H
#include "tests/field/set.h"

#include <jansson.h>
#include <sqlite3.h>

/* Files with their events, rows or members in another order, whatever they are. */

struct keyed {
	int64_t ts, dur;
	size_t at;
};

static inline int keyed_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	const int64_t left[] = {x->ts, x->dur, (int64_t)x->at}, right[] = {y->ts, y->dur, (int64_t)y->at};

	return sb_compare(left, right, 3);
}

static inline void draw_order(size_t *order, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t k = draw(seed, i), swap = order[i - 1];

		order[i - 1] = order[k];
		order[k] = swap;
	}
}

/* An order of the events in which those of equal start and length stand as they did. */
static inline size_t *order_of_events(const struct text *t, const struct places *p, uint64_t *seed)
{
	size_t *order = calloc(p->count + 1, sizeof(*order));
	struct keyed *was = calloc(p->count + 1, sizeof(*was)), *is = calloc(p->count + 1, sizeof(*is));

	assert_true(order && was && is);
	draw_order(order, p->count, seed);
	for (size_t i = 0; i < p->count; i++) {
		const struct place *e = &p->items[i];
		const char *data = t->data + e->from;

		was[i] = (struct keyed){ns_of(data, e->to - e->from, "\"ts\":"),
		                        ns_of(data, e->to - e->from, "\"dur\":"), i};
	}
	for (size_t i = 0; i < p->count; i++)
		is[i] = (struct keyed){was[order[i]].ts, was[order[i]].dur, i};
	qsort(was, p->count, sizeof(*was), keyed_compare);
	qsort(is, p->count, sizeof(*is), keyed_compare);
	for (size_t i = 0; i < p->count; i++)
		order[is[i].at] = was[i].at;
	free(was);
	free(is);
	return order;
}

/* The pieces of a text in an order, with `between` in front of all but the first. */
static inline struct text in_order(const struct text *t, const struct places *p, const size_t *order,
                                   char between)
{
	struct text out = {.data = malloc(t->len + 2 * p->count + 2)};
	size_t tail = p->items[p->count - 1].to;

	assert_non_null(out.data);
	out.len = p->items[0].from;
	memcpy(out.data, t->data, out.len);
	for (size_t i = 0; i < p->count; i++) {
		const struct place *e = &p->items[order[i]];

		if (i > 0)
			out.data[out.len++] = between;
		memcpy(out.data + out.len, t->data + e->from, e->to - e->from);
		out.len += e->to - e->from;
	}
	memcpy(out.data + out.len, t->data + tail, t->len - tail);
	out.len += t->len - tail;
	return out;
}

/* Records behind the header, without their line ends. */
static inline struct places records_of(const struct text *t)
{
	struct places p = {.items = calloc(t->len + 1, sizeof(*p.items))};
	size_t at, fields;

	assert_non_null(p.items);
	for (at = after_record(t, 0, &fields); at < t->len; p.count++) {
		p.items[p.count].from = at;
		at = after_record(t, at, &fields);
		p.items[p.count].to = t->data[at - 1] == '\n' ? at - 1 : at;
	}
	return p;
}

static inline struct text database_reordered(const struct text *t, uint64_t *seed)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *names = NULL;
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_malloc64(t->len);
	char sql[20000];
	int len = 0;

	assert_non_null(bytes);
	memcpy(bytes, t->data, t->len);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_deserialize(db, "main", bytes, (sqlite3_int64)t->len, (sqlite3_int64)t->len,
	                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
	                 SQLITE_OK);
	sqlite3_prepare_v2(db,
	                   "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
	                   -1, &names, NULL);
	while (sqlite3_step(names) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(names, 0);

		len +=
		    snprintf(sql + len, sizeof(sql) - (size_t)len,
		             "CREATE TABLE other AS SELECT * FROM \"%.80s\" ORDER BY (rowid * %u) %% 1048573;"
		             "DROP TABLE \"%.80s\"; ALTER TABLE other RENAME TO \"%.80s\";",
		             name, 7919 + 2 * (unsigned)draw(seed, 10000), name, name);
		assert_true((size_t)len < sizeof(sql));
	}
	sqlite3_finalize(names);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	bytes = sqlite3_serialize(db, "main", &size, 0);
	struct text out = {malloc((size_t)size), (size_t)size};

	assert_true(bytes && out.data);
	memcpy(out.data, bytes, out.len);
	sqlite3_free(bytes);
	sqlite3_close(db);
	return out;
}

/* The members of an object, and of those in it. */
static inline json_t *members_reordered(const json_t *v, uint64_t *seed)
{
	size_t n = json_object_size(v), i = 0;
	json_t *out;
	const char **keys;
	size_t *order;

	if (!json_is_object(v))
		return json_deep_copy(v);
	out = json_object();
	keys = calloc(n + 1, sizeof(*keys));
	order = calloc(n + 1, sizeof(*order));
	assert_true(out && keys && order);
	for (void *it = json_object_iter((json_t *)(uintptr_t)v); it; i++) {
		keys[i] = json_object_iter_key(it);
		it = json_object_iter_next((json_t *)(uintptr_t)v, it);
	}
	draw_order(order, n, seed);
	for (i = 0; i < n; i++)
		json_object_set_new(out, keys[order[i]],
		                    members_reordered(json_object_get(v, keys[order[i]]), seed));
	free((void *)keys);
	free(order);
	return out;
}

static inline struct text json_reordered(const struct text *t, uint64_t *seed)
{
	json_t *was = json_loadb(t->data, t->len, 0, NULL), *is;
	struct text out;

	assert_non_null(was);
	is = members_reordered(was, seed);
	out.data = json_dumps(is, JSON_REAL_PRECISION(17));
	assert_non_null(out.data);
	out.len = strlen(out.data);
	json_decref(was);
	json_decref(is);
	return out;
}

static inline struct text reordered(const struct text *t, uint64_t *seed)
{
	struct places p;
	struct text out;
	size_t *order;
	bool events = memmem(t->data, t->len < 100000 ? t->len : 100000, "\"ph\"", 4);

	if (t->len > 15 && memcmp(t->data, "SQLite format 3", 15) == 0)
		return database_reordered(t, seed);
	if (t->data[0] == '{' && !events)
		return json_reordered(t, seed);
	p = events ? find_events(t) : records_of(t);
	assert_true(p.count > 0);
	if (events) {
		order = order_of_events(t, &p, seed);
	} else {
		order = calloc(p.count + 1, sizeof(*order));
		assert_non_null(order);
		draw_order(order, p.count, seed);
	}
	out = in_order(t, &p, order, events ? ',' : '\n');
	free(order);
	free(p.items);
	return out;
}
#endif
