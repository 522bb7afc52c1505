#include <stdlib.h>

#include "profiler/read/kineto_impl.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t hash(int64_t start, int64_t dur, int64_t link, uint32_t name, uint32_t lane)
{
	uint64_t h = mix(0, (uint64_t)start);

	h = mix(h, (uint64_t)dur << 32 ^ (uint64_t)link);
	return mix(h, (uint64_t)name << 32 | lane);
}

static int grow(struct kineto *k)
{
	struct kineto_seen *s = &k->seen;
	const struct trace *t = &k->trace;
	size_t size = s->size ? 2 * s->size : 1024;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return SB_ENOMEM;
	for (size_t i = 0; i < s->size; i++) {
		if (s->slots[i] == 0)
			continue;
		uint32_t e = s->slots[i] - 1;
		size_t at =
		    hash(t->start_ns[e], t->dur_ns[e], t->link[e], t->name[e], t->lane[e]) & (size - 1);

		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->size = size;
	return SB_OK;
}

static bool same(const struct trace *t, uint32_t e, const struct event *span)
{
	return t->start_ns[e] == span->start_ns && t->dur_ns[e] == span->dur_ns && t->kind[e] == span->kind &&
	       t->link[e] == span->link && t->name[e] == span->name && t->lane[e] == span->lane;
}

int kineto_repeated(struct kineto *k, const struct event *span, bool *out)
{
	struct kineto_seen *s = &k->seen;
	size_t at;

	*out = false;
	/* in whole microseconds, two rows of no length may well be two */
	if (span->dur_ns <= 0 || (span->kind != EVENT_KERNEL && span->kind != EVENT_COMMUNICATION &&
	                          span->kind != EVENT_MEMCPY && span->kind != EVENT_MEMSET))
		return SB_OK;
	if (2 * s->count >= s->size) {
		int rc = grow(k);

		if (rc != SB_OK)
			return rc;
	}
	at = hash(span->start_ns, span->dur_ns, span->link, span->name, span->lane) & (s->size - 1);
	while (s->slots[at]) {
		if (same(&k->trace, s->slots[at] - 1, span)) {
			*out = true;
			return SB_OK;
		}
		at = (at + 1) & (s->size - 1);
	}
	if (k->trace.count < UINT32_MAX - 1) {
		s->slots[at] = (uint32_t)k->trace.count + 1;
		s->count++;
	}
	return SB_OK;
}
