#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/compare.h"
#include "profiler/kernel_family.h"

#define FAMILY_MAX 512

/* An operator of one side. */
struct entry {
	const char *name;
	uint32_t unit;   /* id in the comparison's strings, as are all below */
	uint32_t family; /* 0 = none */
	enum operator_class klass;
	double count, ns;
	bool used;
};
struct entries {
	struct entry *items;
	size_t count;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	if (x->klass != y->klass)
		return x->klass < y->klass ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Calls and time count a step of a device. */
static double divisor_of(double steps, size_t devices)
{
	double d = (steps > 0 ? steps : 1) * (double)(devices > 0 ? devices : 1);

	return d;
}

static int fill(const struct operator_table *t, double divisor, struct sb_strings *strings,
                struct entries *out)
{
	const struct operator_query all = {.rank = SB_NULL, .step = SB_NULL, .sort = OPERATOR_BY_NAME};
	struct operator_line *lines = NULL;
	size_t n = 0, merged = 0;
	int rc = operators_select(t, &all, &lines, &n);

	if (rc != SB_OK)
		return rc;
	out->items = calloc(n + 1, sizeof(*out->items));
	if (!out->items)
		rc = SB_ENOMEM;
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		const struct operator_row *r = &lines[i].row;
		struct entry *e = &out->items[i];
		size_t len;
		const char *unit = sb_strings_get(t->strings, r->unit, &len);

		rc = sb_strings_add(strings, unit, len, &e->unit);
		e->name = sb_strings_get(t->strings, r->name, NULL);
		e->klass = r->klass;
		e->count = (double)r->count / divisor;
		e->ns = (double)r->total_ns / divisor;
	}
	free(lines);
	if (rc != SB_OK)
		return rc;
	qsort(out->items, n, sizeof(*out->items), by_key);
	/* one name may stand with and without a type */
	for (size_t i = 0; i < n; i++) {
		if (merged > 0 && by_key(&out->items[merged - 1], &out->items[i]) == 0) {
			out->items[merged - 1].count += out->items[i].count;
			out->items[merged - 1].ns += out->items[i].ns;
		} else {
			out->items[merged++] = out->items[i];
		}
	}
	out->count = merged;
	return SB_OK;
}

static enum compare_label label_of(const struct compare_operator *o)
{
	double larger = fmax(o->base_ns, o->target_ns);

	if (o->base_names == 0)
		return COMPARE_ADDED;
	if (o->target_names == 0)
		return COMPARE_REMOVED;
	if (fabs(o->target_ns - o->base_ns) <= COMPARE_EQUAL_SHARE * larger)
		return COMPARE_EQUAL;
	return o->target_ns > o->base_ns ? COMPARE_MORE : COMPARE_LESS;
}

static void join_side(struct compare_operator *o, const struct entry *e, bool base)
{
	*(base ? &o->base_names : &o->target_names) += 1;
	*(base ? &o->base_count : &o->target_count) += e->count;
	*(base ? &o->base_ns : &o->target_ns) += e->ns;
}

static int append(struct comparison *io, const char *name, const struct entry *of,
                  struct compare_operator **out)
{
	struct compare_operator *o;
	int rc = sb_grow(&io->operators, io->operator_count, sizeof(*o));

	if (rc != SB_OK)
		return rc;
	o = &io->operators[io->operator_count];
	*o = (struct compare_operator){.unit = of->unit, .klass = of->klass};
	rc = sb_strings_add(io->strings, name, strlen(name), &o->name);
	if (rc == SB_OK)
		io->operator_count++;
	*out = o;
	return rc;
}

/* Those that both sides call the same. */
static int match_names(struct entries *a, struct entries *b, struct comparison *io)
{
	size_t i = 0, k = 0;
	int rc = SB_OK;

	while (rc == SB_OK && i < a->count && k < b->count) {
		int order = by_key(&a->items[i], &b->items[k]);

		if (order == 0) {
			struct compare_operator *o = NULL;

			rc = append(io, a->items[i].name, &a->items[i], &o);
			if (rc == SB_OK) {
				join_side(o, &a->items[i], true);
				join_side(o, &b->items[k], false);
			}
			a->items[i].used = b->items[k].used = true;
		}
		i += order <= 0;
		k += order >= 0;
	}
	return rc;
}

/* Moves what is left to the front, with its family; by family, class and unit. */
static int by_family(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->klass != y->klass)
		return x->klass < y->klass ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int keep_rest(struct entries *e, struct sb_strings *strings)
{
	size_t n = 0;

	for (size_t i = 0; i < e->count; i++) {
		struct entry x = e->items[i];
		char family[FAMILY_MAX];
		int rc;

		if (x.used)
			continue;
		if (x.klass == OPERATOR_COMPUTE && kernel_family(x.name, family, sizeof(family)) >= 2) {
			rc = sb_strings_add(strings, family, strlen(family), &x.family);
			if (rc != SB_OK)
				return rc;
		}
		e->items[n++] = x;
	}
	e->count = n;
	qsort(e->items, n, sizeof(*e->items), by_family);
	return SB_OK;
}

static bool same_family(const struct entry *x, const struct entry *y)
{
	return x->family == y->family && x->klass == y->klass && x->unit == y->unit;
}

/* A stretch of one family on both sides is one row; of one side alone, a row each. */
static int match_families(const struct entries *a, const struct entries *b, struct comparison *io)
{
	size_t i = 0, k = 0;
	int rc = SB_OK;

	while (rc == SB_OK && (i < a->count || k < b->count)) {
		const struct entry *x = i < a->count ? &a->items[i] : NULL;
		const struct entry *y = k < b->count ? &b->items[k] : NULL;
		struct compare_operator *o = NULL;

		if (x && y && x->family && same_family(x, y)) {
			rc = append(io, sb_strings_get(io->strings, x->family, NULL), x, &o);
			if (rc != SB_OK)
				break;
			o->renamed = true;
			for (; i < a->count && same_family(x, &a->items[i]); i++)
				join_side(o, &a->items[i], true);
			for (; k < b->count && same_family(y, &b->items[k]); k++)
				join_side(o, &b->items[k], false);
		} else {
			bool base = x && (!y || by_family(x, y) <= 0);

			rc = append(io, base ? x->name : y->name, base ? x : y, &o);
			if (rc == SB_OK)
				join_side(o, base ? x : y, base);
			i += base;
			k += !base;
		}
	}
	return rc;
}

struct ordered {
	struct compare_operator row;
	const char *name;
};

static int by_difference(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	double dx = fabs(x->row.target_ns - x->row.base_ns), dy = fabs(y->row.target_ns - y->row.base_ns);
	int order;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order != 0 ? order : (x->row.unit > y->row.unit) - (x->row.unit < y->row.unit);
}

static int sort_rows(struct comparison *io)
{
	struct ordered *list = calloc(io->operator_count + 1, sizeof(*list));

	if (!list)
		return SB_ENOMEM;
	for (size_t i = 0; i < io->operator_count; i++) {
		list[i].row = io->operators[i];
		list[i].row.label = label_of(&list[i].row);
		list[i].name = sb_strings_get(io->strings, list[i].row.name, NULL);
	}
	qsort(list, io->operator_count, sizeof(*list), by_difference);
	for (size_t i = 0; i < io->operator_count; i++)
		io->operators[i] = list[i].row;
	free(list);
	return SB_OK;
}

int compare_operators(const struct compare_side *base, const struct compare_side *target,
                      struct comparison *io)
{
	struct entries a = {0}, b = {0};
	int rc = fill(base->operators, divisor_of(io->base_steps, io->base_devices), io->strings, &a);

	if (rc == SB_OK)
		rc = fill(target->operators, divisor_of(io->target_steps, io->target_devices), io->strings,
		          &b);
	if (rc == SB_OK)
		rc = match_names(&a, &b, io);
	if (rc == SB_OK)
		rc = keep_rest(&a, io->strings);
	if (rc == SB_OK)
		rc = keep_rest(&b, io->strings);
	if (rc == SB_OK)
		rc = match_families(&a, &b, io);
	if (rc == SB_OK)
		rc = sort_rows(io);
	free(a.items);
	free(b.items);
	return rc;
}
