#ifndef SB_TESTS_FIELD_SAME_H
#define SB_TESTS_FIELD_SAME_H
#include "tests/field/answer.h"
#include "tests/field/reorder.h"

/* What must not change the answers: order, name, compression. */

static inline void ask(const char *name, const char *data, size_t len, struct answer *out)
{
	struct sb_error err = {0};
	struct read_input input = {.path = name, .fd = fd_of(data, len), .length = (int64_t)len};

	if (profile_read(&input, 1, NULL, NULL, &out->p, &err) != SB_OK)
		fail_msg("%s: %s", name, err.text);
	close(input.fd);
	answer_compute(out);
}

static inline void same_breakdown(const char *where, const struct breakdown *a, const struct breakdown *b)
{
	same(where, "count of rows", (int64_t)b->count, (int64_t)a->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct breakdown_row *x = &a->rows[i], *y = &b->rows[i];

		same(where, "device", y->device, x->device);
		same(where, "step", y->step, x->step);
		same(where, "step length", y->step_ns, x->step_ns);
		same(where, "span", y->span_ns, x->span_ns);
		same(where, "busy", y->busy_ns, x->busy_ns);
		same(where, "compute", y->compute_ns, x->compute_ns);
		same(where, "communication", y->communication_ns, x->communication_ns);
		same(where, "overlap", y->overlap_ns, x->overlap_ns);
		same(where, "copies", y->copy_ns, x->copy_ns);
		same(where, "exposed copies", y->copy_exposed_ns, x->copy_exposed_ns);
		same(where, "free", y->free_ns, x->free_ns);
	}
}

/* Report HTA#89: the path does not depend on the order of the events. */
static inline void same_paths(const char *where, const struct critical_paths *a,
                              const struct critical_paths *b)
{
	same(where, "count of paths", (int64_t)b->count, (int64_t)a->count);
	for (size_t i = 0; i < a->count; i++) {
		same(where, "works of the path", (int64_t)b->items[i].works, (int64_t)a->items[i].works);
		same(where, "span of the path", b->items[i].span_ns, a->items[i].span_ns);
		for (int k = 0; k < PATH_PARTS; k++)
			same(where, path_part_name((enum path_part)k), b->items[i].part_ns[k],
			     a->items[i].part_ns[k]);
	}
}

/* Texts of both tables are in the order of their bytes, so equal tables have equal ids. */
static inline void same_operators(const char *where, const struct operator_table *a,
                                  const struct operator_table *b)
{
	same(where, "count of operators", (int64_t)b->count, (int64_t)a->count);
	same(where, "count of texts", (int64_t)sb_strings_count(b->strings),
	     (int64_t)sb_strings_count(a->strings));
	for (size_t i = 0; i < a->count; i++) {
		const struct operator_row *x = &a->rows[i], *y = &b->rows[i];

		assert_string_equal(sb_strings_get(b->strings, y->name, NULL),
		                    sb_strings_get(a->strings, x->name, NULL));
		assert_string_equal(sb_strings_get(b->strings, y->type, NULL),
		                    sb_strings_get(a->strings, x->type, NULL));
		same(where, "operator's step", y->step, x->step);
		same(where, "calls", y->count, x->count);
		same(where, "total", y->total_ns, x->total_ns);
		same(where, "shortest", y->min_ns, x->min_ns);
		same(where, "longest", y->max_ns, x->max_ns);
		same(where, "calls of graphs", y->graph_count, x->graph_count);
	}
}

static inline void same_communication(const char *where, const struct communication_report *a,
                                      const struct communication_report *b)
{
	same(where, "count of collectives", (int64_t)b->row_count, (int64_t)a->row_count);
	for (size_t i = 0; i < a->row_count; i++) {
		const struct communication_row *x = &a->rows[i], *y = &b->rows[i];

		if (x->step != y->step || x->count != y->count || x->bytes != y->bytes ||
		    x->elapse_us != y->elapse_us ||
		    strcmp(sb_strings_get(a->strings, x->name, NULL),
		           sb_strings_get(b->strings, y->name, NULL)) != 0 ||
		    strcmp(sb_strings_get(a->strings, x->group, NULL),
		           sb_strings_get(b->strings, y->group, NULL)) != 0)
			fail_msg("%s: row %zu of collectives differs", where, i);
	}
}

static inline void same_findings(const char *where, const struct analysis *a, const struct analysis *b)
{
	same(where, "count of findings", (int64_t)b->count, (int64_t)a->count);
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->findings[i].code, b->findings[i].code) != 0)
			fail_msg("%s: %s, not %s", where, b->findings[i].code, a->findings[i].code);
		same(where, "step of the finding", b->findings[i].step, a->findings[i].step);
		same(where, "gain", b->findings[i].gain_ns, a->findings[i].gain_ns);
	}
}

static inline void same_answers(const char *where, const struct answer *a, const struct answer *b)
{
	same(where, "captures", (int64_t)b->p.count, (int64_t)a->p.count);
	same(where, "rank", b->p.captures[0].rank, a->p.captures[0].rank);
	same(where, "events", b->p.captures[0].event_count, a->p.captures[0].event_count);
	same_breakdown(where, &a->b, &b->b);
	same_paths(where, &a->paths, &b->paths);
	same_operators(where, &a->o, &b->o);
	same_communication(where, &a->c, &b->c);
	same_findings(where, &a->a, &b->a);
}

static inline struct text shuffled(const struct text *t, const struct places *p, uint64_t *seed)
{
	size_t *order = calloc(p->count + 1, sizeof(*order));
	struct text out;

	assert_non_null(order);
	draw_order(order, p->count, seed);
	out = in_order(t, p, order, ',');
	free(order);
	return out;
}

static inline void check_dress(const char *name, const struct text *t, const struct answer *a, uint64_t *seed)
{
	size_t middle = draw(seed, t->len);
	struct text one = gzip_of(t->data, t->len), first = gzip_of(t->data, middle),
	            second = gzip_of(t->data + middle, t->len - middle);
	struct text two = {.data = malloc(first.len + second.len), .len = first.len + second.len};
	char where[256];

	assert_non_null(two.data);
	memcpy(two.data, first.data, first.len);
	memcpy(two.data + first.len, second.data, second.len);
	const struct {
		const char *name;
		const struct text *text;
	} DRESSES[] = {{"upload", t}, {"profile.json", &one}, {"x.csv", &two}, {"y.json.gz", t}};

	for (size_t i = 0; i < sizeof(DRESSES) / sizeof(DRESSES[0]); i++) {
		ANSWER_AUTO b = {0};

		snprintf(where, sizeof(where), "%.150s as %s, %zu bytes in front", name, DRESSES[i].name,
		         middle);
		ask(DRESSES[i].name, DRESSES[i].text->data, DRESSES[i].text->len, &b);
		same_answers(where, a, &b);
	}
	free(one.data);
	free(first.data);
	free(second.data);
	free(two.data);
}
#endif
