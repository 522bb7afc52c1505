#include "tests/generate/spans.h"
#include "tests/generate/out.h"
#include <stdlib.h>

void spans_add(struct spans *s, int64_t start, int64_t end)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->items = out_alloc(s->items, s->cap, sizeof(*s->items));
	}
	s->items[s->count++] = (struct span){start, end};
}

void spans_free(struct spans *s)
{
	free(s->items);
	*s = (struct spans){0};
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a;
	const struct span *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void spans_merge(struct spans *s)
{
	int64_t kept = 0;

	if (s->count == 0)
		return;
	qsort(s->items, (size_t)s->count, sizeof(*s->items), by_start);
	for (int64_t i = 1; i < s->count; i++) {
		struct span *last = &s->items[kept];

		if (s->items[i].start <= last->end) {
			if (s->items[i].end > last->end)
				last->end = s->items[i].end;
		} else {
			s->items[++kept] = s->items[i];
		}
	}
	s->count = kept + 1;
}

int64_t spans_total(const struct spans *s)
{
	int64_t total = 0;

	for (int64_t i = 0; i < s->count; i++)
		total += s->items[i].end - s->items[i].start;
	return total;
}

void spans_minus(const struct spans *a, const struct spans *b, struct spans *out)
{
	int64_t j = 0;

	for (int64_t i = 0; i < a->count; i++) {
		int64_t at = a->items[i].start;
		int64_t end = a->items[i].end;

		while (j < b->count && b->items[j].end <= at)
			j++;
		for (int64_t k = j; k < b->count && b->items[k].start < end; k++) {
			if (b->items[k].start > at)
				spans_add(out, at, b->items[k].start);
			if (b->items[k].end > at)
				at = b->items[k].end;
		}
		if (at < end)
			spans_add(out, at, end);
	}
}

void spans_gaps(const struct spans *s, struct spans *out)
{
	for (int64_t i = 1; i < s->count; i++)
		spans_add(out, s->items[i - 1].end, s->items[i].start);
}
