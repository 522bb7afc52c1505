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

/* What is not known adds nothing. */
static int64_t sum(int64_t a, int64_t b)
{
	if (a == SB_NULL || b == SB_NULL)
		return a == SB_NULL ? b : a;
	return sb_add_sat(a, b);
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
	row->count = sb_add_sat(row->count, key->count);
	row->total_ns = sb_add_sat(row->total_ns, key->total_ns);
	/* SB_NULL is the least of all */
	row->min_ns = key->min_ns < row->min_ns ? key->min_ns : row->min_ns;
	row->max_ns = larger(row->max_ns, key->max_ns);
	row->graph_count = sum(row->graph_count, key->graph_count);
	row->graph_ns = sum(row->graph_ns, key->graph_ns);
	return SB_OK;
}
