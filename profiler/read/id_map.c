#include "profiler/read/id_map.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"

static size_t place(const struct id_map *m, struct id_key k)
{
	uint64_t h = sb_hash_word(m->seed >> 32 ^ k.c, (uint64_t)k.a << 32 | k.b, m->seed);

	return (size_t)sb_hash_word(h, k.c, m->seed) & (m->size - 1);
}

static bool same(struct id_key x, struct id_key y)
{
	return x.a == y.a && x.b == y.b && x.c == y.c;
}

static struct id_slot *find(const struct id_map *m, struct id_key key)
{
	size_t i = place(m, key);

	while (m->slots[i].used && !same(m->slots[i].key, key))
		i = (i + 1) & (m->size - 1);
	return &m->slots[i];
}

bool id_map_get(const struct id_map *m, struct id_key key, uint32_t *out_value)
{
	const struct id_slot *s = m->size ? find(m, key) : NULL;

	if (!s || !s->used)
		return false;
	*out_value = s->value;
	return true;
}

static int grow(struct id_map *m)
{
	struct id_map n = {.size = m->size ? m->size * 2 : 64,
	                   .count = m->count,
	                   .seed = m->seed ? m->seed : sb_hash_seed()};

	n.slots = calloc(n.size, sizeof(*n.slots));
	if (!n.slots)
		return SB_ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		if (m->slots[i].used)
			*find(&n, m->slots[i].key) = m->slots[i];
	}
	free(m->slots);
	*m = n;
	return SB_OK;
}

int id_map_put(struct id_map *m, struct id_key key, uint32_t value)
{
	struct id_slot *s;

	if (m->count * 2 >= m->size && grow(m) != SB_OK)
		return SB_ENOMEM;
	s = find(m, key);
	if (!s->used)
		m->count++;
	*s = (struct id_slot){.key = key, .value = value, .used = true};
	return SB_OK;
}

void id_map_free(struct id_map *m)
{
	free(m->slots);
	*m = (struct id_map){0};
}
