#include <stdlib.h>

#include "profiler/read/signalbox_impl.h"

/* An element of "memory" as it is read. */
struct memory_item {
	int64_t device, time_ns, allocated, reserved, capacity;
	uint32_t allocator;
};

enum { MEMORY_DEVICE, MEMORY_ALLOCATOR, MEMORY_TIME, MEMORY_ALLOCATED, MEMORY_RESERVED, MEMORY_CAPACITY };
static const struct word MEMORY_WORDS[] = {WORD("device", MEMORY_DEVICE),
                                           WORD("allocator", MEMORY_ALLOCATOR),
                                           WORD("time_ns", MEMORY_TIME),
                                           WORD("allocated_bytes", MEMORY_ALLOCATED),
                                           WORD("reserved_bytes", MEMORY_RESERVED),
                                           WORD("capacity_bytes", MEMORY_CAPACITY)};

static int take_memory(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                       struct sb_error *err)
{
	struct memory_item *m = item;

	(void)err;
	switch (member) {
	case MEMORY_DEVICE:
		m->device = v->token == JPULL_NULL ? MEMORY_HOST : signalbox_optional(s, v, 0);
		break;
	case MEMORY_ALLOCATOR: return signalbox_text(s, v, &m->allocator);
	case MEMORY_TIME: m->time_ns = signalbox_optional(s, v, INT64_MIN + 1); break;
	case MEMORY_ALLOCATED: m->allocated = signalbox_optional(s, v, 0); break;
	case MEMORY_RESERVED: m->reserved = signalbox_optional(s, v, 0); break;
	default: m->capacity = signalbox_optional(s, v, 0); break;
	}
	return SB_OK;
}

int signalbox_memory_item(struct signalbox *s, int64_t offset, struct sb_error *err)
{
	static const struct shape SHAPE = {MEMORY_WORDS, sizeof(MEMORY_WORDS) / sizeof(MEMORY_WORDS[0]),
	                                   take_memory};
	struct memory_item m = {MEMORY_HOST, SB_NULL, SB_NULL, SB_NULL, SB_NULL, 0};
	struct memory_series *series = NULL;
	int rc = signalbox_object(s, &SHAPE, &m, err);

	if (rc != SB_OK)
		return rc;
	if (m.device == SB_NULL || m.device > INT32_MAX || m.time_ns == SB_NULL ||
	    (m.allocated == SB_NULL && m.reserved == SB_NULL)) {
		jpull_note(&s->flaws.bad_memory, offset);
		return SB_OK;
	}
	rc = memory_series(&s->memory, m.device, m.allocator, &series);
	if (rc == SB_OK && series && m.capacity > 0)
		series->capacity_bytes = m.capacity;
	return rc == SB_OK ? memory_add(series, m.time_ns, m.allocated, m.reserved) : rc;
}

/* A minute around the events: what lies outside has no time that can be right. */
#define MARGIN_NS (INT64_C(60) * 1000000000)

/* How many records were left out. */
static size_t keep_between(struct memory_series *m, int64_t origin_ns, int64_t first, int64_t last)
{
	size_t kept = 0, count = m->count;

	for (size_t i = 0; i < count; i++) {
		m->points[i].time_ns = sb_add_sat(m->points[i].time_ns, origin_ns);
		if (m->points[i].time_ns >= first && m->points[i].time_ns <= last)
			m->points[kept++] = m->points[i];
	}
	m->count = kept;
	return count - kept;
}

void signalbox_take_memory(struct signalbox *s, struct capture *c)
{
	struct warnings *warnings = &s->ctx->profile->warnings;
	int64_t first = INT64_MAX, last = -INT64_MAX;
	size_t lost = 0;

	for (size_t i = 0; i < c->trace.count; i++) {
		int64_t end = sb_add_sat(c->trace.start_ns[i], c->trace.dur_ns[i]);

		first = c->trace.start_ns[i] < first ? c->trace.start_ns[i] : first;
		last = end > last ? end : last;
	}
	c->memories = s->memory.memories;
	c->memory_count = s->memory.memory_count;
	s->memory.memories = NULL;
	s->memory.memory_count = 0;
	for (size_t i = 0; i < c->memory_count; i++)
		lost += keep_between(&c->memories[i], s->origin_ns, sb_sub_sat(first, MARGIN_NS),
		                     sb_add_sat(last, MARGIN_NS));
	if (lost > 0) {
		warnings_add(warnings, "bad_value", s->path, 0, -1,
		             "A record of memory lies more than a minute outside of the events: it was left "
		             "out.");
		warnings_repeat(warnings, "bad_value", s->path, lost - 1);
	}
	memory_finish(c);
}
