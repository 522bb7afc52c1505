#include <stdlib.h>

#include "base/hash.h"
#include "profiler/operators_parts.h"

void collector_free(struct collector *c)
{
	operators_free(&c->table);
	free(c->slots);
}

static uint64_t hash_row(const struct collector *c, const struct operator_row *r)
{
	const uint64_t parts[] = {(uint64_t)r->rank, (uint64_t)r->step, (uint64_t)r->name << 32 | r->type,
	                          (uint64_t)r->unit << 8 | r->klass};
	uint64_t h = c->seed >> 32;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		h = sb_hash_word(h, parts[i], c->seed);
	return h;
}

static bool same_row(const struct operator_row *a, const struct operator_row *b)
{
	return a->rank == b->rank && a->step == b->step && a->name == b->name && a->type == b->type &&
	       a->unit == b->unit && a->klass == b->klass;
}

static uint32_t *slot_of(const struct collector *c, const struct operator_row *key)
{
	size_t mask = c->slot_count - 1, i = hash_row(c, key) & mask;

	while (c->slots[i] && !same_row(&c->table.rows[c->slots[i] - 1], key))
		i = (i + 1) & mask;
	return &c->slots[i];
}

static int grow(struct collector *c)
{
	size_t capacity = c->capacity ? 2 * c->capacity : 256;
	struct operator_row *rows;
	uint32_t *slots;

	if (capacity > UINT32_MAX / 4)
		return SB_ELIMIT;
	if (!c->seed)
		c->seed = sb_hash_seed();
	rows = realloc(c->table.rows, capacity * sizeof(*rows));
	if (!rows)
		return SB_ENOMEM;
	c->table.rows = rows;
	slots = calloc(2 * capacity, sizeof(*slots));
	if (!slots)
		return SB_ENOMEM;
	free(c->slots);
	c->slots = slots;
	c->slot_count = 2 * capacity;
	c->capacity = capacity;
	for (size_t i = 0; i < c->table.count; i++)
		*slot_of(c, &rows[i]) = (uint32_t)i + 1;
	return SB_OK;
}

/* Unknown where one of them is. */
static int64_t larger(int64_t a, int64_t b)
{
	if (a == SB_NULL || b == SB_NULL)
		return SB_NULL;
	return a > b ? a : b;
}

int64_t operator_sum(int64_t a, int64_t b)
{
	if (a == SB_NULL || b == SB_NULL)
		return a == SB_NULL ? b : a;
	return sb_add_sat(a, b);
}

void operator_row_add(struct operator_row *to, const struct operator_row *from)
{
	to->count = sb_add_sat(to->count, from->count);
	to->total_ns = sb_add_sat(to->total_ns, from->total_ns);
	/* SB_NULL is the least of all */
	to->min_ns = from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
	to->max_ns = larger(to->max_ns, from->max_ns);
	to->graph_count = operator_sum(to->graph_count, from->graph_count);
	to->graph_ns = operator_sum(to->graph_ns, from->graph_ns);
}

int collector_add(struct collector *c, const struct operator_row *key)
{
	uint32_t *slot;
	struct operator_row *row;

	if (c->table.count == c->capacity) {
		int rc = grow(c);

		if (rc != SB_OK)
			return rc;
	}
	slot = slot_of(c, key);
	if (!*slot) {
		c->table.rows[c->table.count++] = *key;
		*slot = (uint32_t)c->table.count;
		return SB_OK;
	}
	row = &c->table.rows[*slot - 1];
	operator_row_add(row, key);
	return SB_OK;
}
