#include <string.h>

#include "profiler/timeline_parts.h"

void timeline_sums_init(struct timeline_sums *s, uint32_t kinds)
{
	memset(s, 0, sizeof(*s));
	if (kinds & (kinds - 1)) {
		for (uint32_t k = 0; k < EVENT_KIND_COUNT; k++) {
			if (!(kinds >> k & 1))
				continue;
			s->kind[++s->kinds] = (uint8_t)k;
			s->slot[k] = (uint8_t)s->kinds;
		}
	}
	for (size_t i = 0; i <= s->kinds; i++)
		s->of[i].reach = INT64_MIN;
}

static void add(struct timeline_sum *s, int64_t start, int64_t end)
{
	int64_t from = start > s->reach ? start : s->reach;

	if (end > from)
		s->busy += (uint64_t)end - (uint64_t)from;
	if (end > s->reach)
		s->reach = end;
	s->count++;
}

void timeline_sums_add(struct timeline_sums *s, int64_t start, int64_t dur, uint8_t kind)
{
	int64_t end = sb_add_sat(start, dur);

	add(&s->of[0], start, end);
	if (s->slot[kind])
		add(&s->of[s->slot[kind]], start, end);
}

void timeline_mark_put(const struct timeline_sums *s, int64_t *row)
{
	row[MARK_BUSY] = (int64_t)s->of[0].busy;
	row[MARK_REACH] = s->of[0].reach;
	row += MARK_KINDS;
	for (size_t i = 1; i <= s->kinds; i++, row += MARK_KIND_WORDS) {
		row[0] = (int64_t)s->of[i].busy;
		row[1] = s->of[i].reach;
		row[2] = (int64_t)s->of[i].count;
	}
}

void timeline_mark_get(const int64_t *row, uint64_t count, struct timeline_sums *s)
{
	s->of[0] = (struct timeline_sum){(uint64_t)row[MARK_BUSY], row[MARK_REACH], count};
	row += MARK_KINDS;
	for (size_t i = 1; i <= s->kinds; i++, row += MARK_KIND_WORDS)
		s->of[i] = (struct timeline_sum){(uint64_t)row[0], row[1], (uint64_t)row[2]};
}
