#include <stdlib.h>

#include "base/hash.h"
#include "profiler/activity.h"
#include "profiler/read/kineto_impl.h"

static uint32_t hash(const struct kineto_seen *seen, const struct event *s)
{
	uint64_t h = sb_hash_word(seen->seed >> 32, (uint64_t)s->start_ns, seen->seed);

	h = sb_hash_word(h, (uint64_t)s->dur_ns, seen->seed);
	h = sb_hash_word(h, (uint64_t)s->link, seen->seed);
	return (uint32_t)sb_hash_word(h, (uint64_t)s->name << 32 | s->lane, seen->seed);
}

static bool same(const struct event *a, const struct event *b)
{
	return a->start_ns == b->start_ns && a->dur_ns == b->dur_ns && a->link == b->link &&
	       a->name == b->name && a->lane == b->lane && a->kind == b->kind;
}

/* In whole microseconds, two rows of no length may well be two. */
static bool counts(const struct event *s)
{
	return s->dur_ns > 0 && event_is_device_work((uint8_t)s->kind);
}

static void place(struct kineto_seen *s, struct kineto_slot slot)
{
	size_t at = slot.hash & (s->size - 1);

	while (s->slots[at].event)
		at = (at + 1) & (s->size - 1);
	s->slots[at] = slot;
}

static int grow(struct kineto_seen *s)
{
	struct kineto_slot *old = s->slots;
	size_t size = s->size;

	s->slots = calloc(size ? 2 * size : 1024, sizeof(*s->slots));
	if (!s->slots) {
		s->slots = old;
		return SB_ENOMEM;
	}
	s->size = size ? 2 * size : 1024;
	for (size_t i = 0; i < size; i++)
		if (old[i].event)
			place(s, old[i]);
	free(old);
	return SB_OK;
}

/* The span will be appended as (or is) the event with this index. */
static int insert(struct kineto_seen *s, const struct event *span, size_t index)
{
	if (index >= UINT32_MAX)
		return SB_OK;
	if (4 * s->count >= 3 * s->size) {
		int rc = grow(s);

		if (rc != SB_OK)
			return rc;
	}
	place(s, (struct kineto_slot){(uint32_t)index + 1, hash(s, span)});
	s->count++;
	return SB_OK;
}

static bool find(const struct kineto *k, const struct event *span)
{
	const struct kineto_seen *s = &k->seen;
	uint32_t h = hash(s, span);

	for (size_t at = h & (s->size - 1); s->size > 0 && s->slots[at].event;
	     at = (at + 1) & (s->size - 1)) {
		if (s->slots[at].hash != h)
			continue;
		struct event e = trace_event(&k->trace, s->slots[at].event - 1);

		if (same(&e, span))
			return true;
	}
	return false;
}

static int insert_all(struct kineto *k)
{
	int rc = SB_OK;

	k->seen.needed = true;
	k->seen.seed = sb_hash_seed();
	for (size_t i = 0; i < k->trace.count && rc == SB_OK; i++) {
		struct event e = trace_event(&k->trace, i);

		if (counts(&e))
			rc = insert(&k->seen, &e, i);
	}
	return rc;
}

/* Is the span later than all before it on its lane? Then it is new. */
static int is_latest(struct kineto_seen *s, const struct event *span, bool *out)
{
	if (span->lane >= s->lane_count) {
		size_t n = ((size_t)span->lane + 1) * 2;
		int64_t *latest = realloc(s->latest, n * sizeof(*latest));

		if (!latest)
			return SB_ENOMEM;
		for (size_t i = s->lane_count; i < n; i++)
			latest[i] = INT64_MIN;
		s->latest = latest;
		s->lane_count = n;
	}
	*out = span->start_ns > s->latest[span->lane];
	if (*out)
		s->latest[span->lane] = span->start_ns;
	return SB_OK;
}

int kineto_repeated(struct kineto *k, const struct event *span, bool *out)
{
	bool latest = false;
	int rc;

	*out = false;
	if (!counts(span))
		return SB_OK;
	rc = is_latest(&k->seen, span, &latest);
	if (rc == SB_OK && !latest && !k->seen.needed)
		rc = insert_all(k);
	if (rc != SB_OK || !k->seen.needed)
		return rc;
	*out = !latest && find(k, span);
	return *out ? SB_OK : insert(&k->seen, span, k->trace.count);
}
