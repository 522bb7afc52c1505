#include <stdlib.h>
#include <string.h>

#include "storage/internal.h"

/* What is read again and again between two changes of the database: dashboards ask every few seconds. An
 * entry is as good as the number of commits at which its query began, so no change needs to know what it
 * touches. */

#define TEXT_MAX ((size_t)64 << 10)

static struct cache_slot *slot_of(struct store *s, const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (const char *p = key; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
	return &s->cache.slots[(h ^ h >> 32) % CACHE_SLOTS];
}

bool cache_get(struct store *s, const char *key, struct store_plan *out, size_t *out_len)
{
	const struct cache_slot *slot = slot_of(s, key);
	bool hit;

	pthread_mutex_lock(&s->cache.lock);
	hit = slot->plan.text && slot->commits == atomic_load(&s->commits) && strcmp(slot->key, key) == 0;
	if (hit) {
		*out = slot->plan;
		*out_len = slot->len;
		out->text = malloc(slot->len + 1);
		if (out->text)
			memcpy(out->text, slot->plan.text, slot->len + 1);
		hit = out->text != NULL;
	}
	pthread_mutex_unlock(&s->cache.lock);
	return hit;
}

void cache_put(struct store *s, const char *key, uint64_t commits, const struct store_plan *plan, size_t len)
{
	struct cache_slot *slot = slot_of(s, key);
	char *copy;

	if (len > TEXT_MAX || strlen(key) >= sizeof(slot->key))
		return;
	copy = malloc(len + 1);
	if (!copy)
		return;
	memcpy(copy, plan->text, len + 1);
	pthread_mutex_lock(&s->cache.lock);
	free(slot->plan.text);
	slot->plan = *plan;
	slot->plan.text = copy;
	slot->len = len;
	slot->commits = commits;
	memcpy(slot->key, key, strlen(key) + 1);
	pthread_mutex_unlock(&s->cache.lock);
}

void cache_clear(struct store *s)
{
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		store_plan_clear(&s->cache.slots[i].plan);
}
