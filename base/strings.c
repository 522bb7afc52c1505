#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

struct sb_strings {
	char *bytes;     /* every text, each followed by a NUL */
	uint32_t *start; /* start[id]; start[count] is the end */
	uint64_t *hash;  /* hash[id], so that growing the table need not read the texts */
	uint32_t *table; /* open addressing, id + 1, 0 = free */
	size_t len, cap, count, id_cap, table_size;
	uint64_t seed;
};

#define MAX_BYTES ((size_t)INT32_MAX)

int sb_strings_new(struct sb_strings **out)
{
	struct sb_strings *s = calloc(1, sizeof(*s));
	uint32_t id;

	if (!s)
		return SB_ENOMEM;
	s->seed = sb_hash_seed();
	if (sb_strings_add(s, "", 0, &id) != SB_OK) {
		sb_strings_free(&s);
		return SB_ENOMEM;
	}
	*out = s;
	return SB_OK;
}

void sb_strings_free(struct sb_strings **s)
{
	if (!*s)
		return;
	free((*s)->bytes);
	free((*s)->start);
	free((*s)->hash);
	free((*s)->table);
	free(*s);
	*s = NULL;
}

static int grow_table(struct sb_strings *s)
{
	size_t size = s->table_size ? s->table_size * 2 : 16;
	uint32_t *t = calloc(size, sizeof(*t));

	if (!t)
		return SB_ENOMEM;
	for (size_t id = 0; id < s->count; id++) {
		size_t i = s->hash[id] & (size - 1);

		while (t[i])
			i = (i + 1) & (size - 1);
		t[i] = (uint32_t)id + 1;
	}
	free(s->table);
	s->table = t;
	s->table_size = size;
	return SB_OK;
}

static int grow_ids(struct sb_strings *s)
{
	size_t cap = s->id_cap ? s->id_cap * 2 : 8;
	uint32_t *start = realloc(s->start, (cap + 1) * sizeof(*start));
	uint64_t *hash;

	if (!start)
		return SB_ENOMEM;
	s->start = start;
	hash = realloc(s->hash, cap * sizeof(*hash));
	if (!hash)
		return SB_ENOMEM;
	s->hash = hash;
	s->id_cap = cap;
	return SB_OK;
}

static int grow_bytes(struct sb_strings *s, size_t need)
{
	size_t cap = s->cap ? s->cap : 64;
	char *p;

	while (cap < need)
		cap *= 2;
	p = realloc(s->bytes, cap);
	if (!p)
		return SB_ENOMEM;
	s->bytes = p;
	s->cap = cap;
	return SB_OK;
}

/* The slot of a text: its id + 1, or 0 at the free place where it belongs. */
static size_t find_slot(const struct sb_strings *s, const char *text, size_t len, uint64_t h)
{
	size_t i = h & (s->table_size - 1);

	for (; s->table[i]; i = (i + 1) & (s->table_size - 1)) {
		uint32_t id = s->table[i] - 1;
		size_t n = s->start[id + 1] - s->start[id] - 1;

		if (s->hash[id] == h && n == len && memcmp(s->bytes + s->start[id], text, len) == 0)
			break;
	}
	return i;
}

int sb_strings_add(struct sb_strings *s, const char *text, size_t len, uint32_t *out_id)
{
	uint64_t h = sb_hash_bytes(text, len, s->seed);
	size_t slot;

	if (s->count * 2 >= s->table_size && grow_table(s) != SB_OK)
		return SB_ENOMEM;
	slot = find_slot(s, text, len, h);
	if (s->table[slot]) {
		*out_id = s->table[slot] - 1;
		return SB_OK;
	}
	if (len >= MAX_BYTES - s->len || s->count >= (size_t)INT32_MAX)
		return SB_ELIMIT;
	if (s->count == s->id_cap && grow_ids(s) != SB_OK)
		return SB_ENOMEM;
	if (s->len + len + 1 > s->cap && grow_bytes(s, s->len + len + 1) != SB_OK)
		return SB_ENOMEM;
	if (len > 0)
		memcpy(s->bytes + s->len, text, len);
	s->bytes[s->len + len] = '\0';
	s->start[s->count] = (uint32_t)s->len;
	s->hash[s->count] = h;
	s->len += len + 1;
	s->table[slot] = (uint32_t)s->count + 1;
	*out_id = (uint32_t)s->count++;
	s->start[s->count] = (uint32_t)s->len;
	return SB_OK;
}

uint32_t sb_strings_find(const struct sb_strings *s, const char *text, size_t len)
{
	size_t slot = find_slot(s, text, len, sb_hash_bytes(text, len, s->seed));

	return s->table[slot] ? s->table[slot] - 1 : 0;
}

const char *sb_strings_get(const struct sb_strings *s, uint32_t id, size_t *len)
{
	if (id >= s->count)
		id = 0;
	if (len)
		*len = s->start[id + 1] - s->start[id] - 1;
	return s->bytes + s->start[id];
}

size_t sb_strings_count(const struct sb_strings *s)
{
	return s->count;
}
