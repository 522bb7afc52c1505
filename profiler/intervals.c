#include "profiler/intervals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/search.h"

#define BOUND ((INT64_C(1) << 62) - 1)

int64_t interval_bound(int64_t t)
{
	if (t > BOUND)
		return BOUND;
	return t < -BOUND ? -BOUND : t;
}

int64_t interval_end(int64_t start, int64_t dur)
{
	/* both are at most 2^62 - 1 in size: the sum fits */
	return interval_bound(interval_bound(start) + interval_bound(dur));
}

static int reserve(struct interval_set *s, size_t capacity)
{
	struct interval *items;

	if (capacity <= s->capacity)
		return SB_OK;
	if (capacity > SIZE_MAX / sizeof(*items))
		return SB_ENOMEM;
	items = realloc(s->items, capacity * sizeof(*items));
	if (!items)
		return SB_ENOMEM;
	s->items = items;
	s->capacity = capacity;
	return SB_OK;
}

int intervals_add(struct interval_set *s, int64_t start, int64_t end)
{
	start = interval_bound(start);
	end = interval_bound(end);
	if (end <= start)
		return SB_OK;
	if (s->count > 0) {
		struct interval *last = &s->items[s->count - 1];

		/* back-to-back work of one stream is the common case: it costs no memory */
		if (start >= last->start && start <= last->end) {
			if (end > last->end)
				last->end = end;
			return SB_OK;
		}
	}
	if (s->count == s->capacity) {
		int rc = reserve(s, s->capacity ? s->capacity + s->capacity / 2 + 1 : 16);

		if (rc != SB_OK)
			return rc;
	}
	s->items[s->count++] = (struct interval){start, end};
	return SB_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

void intervals_normalise(struct interval_set *s)
{
	size_t n = 0;

	for (size_t i = 1; i < s->count; i++) {
		if (s->items[i].start < s->items[i - 1].start) {
			qsort(s->items, s->count, sizeof(*s->items), by_start);
			break;
		}
	}
	for (size_t i = 0; i < s->count; i++) {
		if (n > 0 && s->items[i].start <= s->items[n - 1].end) {
			if (s->items[i].end > s->items[n - 1].end)
				s->items[n - 1].end = s->items[i].end;
		} else {
			s->items[n++] = s->items[i];
		}
	}
	s->count = n;
}

int64_t intervals_total(const struct interval_set *s)
{
	int64_t total = 0;

	for (size_t i = 0; i < s->count; i++)
		total += s->items[i].end - s->items[i].start;
	return total;
}

/* Walks the intersection piece by piece; *i and *j are the places in the two sets, 0 at first. */
static int next_common(const struct interval_set *a, const struct interval_set *b, size_t *i, size_t *j,
                       struct interval *out)
{
	while (*i < a->count && *j < b->count) {
		const struct interval *x = &a->items[*i], *y = &b->items[*j];
		int64_t start = x->start > y->start ? x->start : y->start;
		int64_t end = x->end < y->end ? x->end : y->end;

		if (x->end < y->end)
			(*i)++;
		else
			(*j)++;
		if (start < end) {
			*out = (struct interval){start, end};
			return 1;
		}
	}
	return 0;
}

int64_t intervals_common(const struct interval_set *a, const struct interval_set *b)
{
	struct interval piece;
	int64_t total = 0;
	size_t i = 0, j = 0;

	while (next_common(a, b, &i, &j, &piece))
		total += piece.end - piece.start;
	return total;
}

int intervals_intersection(const struct interval_set *a, const struct interval_set *b,
                           struct interval_set *out)
{
	INTERVALS_AUTO both = {0};
	struct interval piece;
	size_t i = 0, j = 0;

	while (next_common(a, b, &i, &j, &piece))
		if (intervals_add(&both, piece.start, piece.end) != SB_OK)
			return SB_ENOMEM;
	*out = both;
	both = (struct interval_set){0};
	return SB_OK;
}

int intervals_union(const struct interval_set *a, const struct interval_set *b, struct interval_set *out)
{
	INTERVALS_AUTO u = {0};
	size_t i = 0, j = 0;
	int rc = reserve(&u, a->count + b->count);

	while (rc == SB_OK && (i < a->count || j < b->count)) {
		const struct interval *next;

		if (j == b->count || (i < a->count && a->items[i].start <= b->items[j].start))
			next = &a->items[i++];
		else
			next = &b->items[j++];
		rc = intervals_add(&u, next->start, next->end);
	}
	if (rc != SB_OK)
		return rc;
	*out = u;
	u = (struct interval_set){0};
	return SB_OK;
}

int intervals_difference(const struct interval_set *a, const struct interval_set *b, struct interval_set *out)
{
	INTERVALS_AUTO rest = {0};
	size_t j = 0;

	for (size_t i = 0; i < a->count; i++) {
		int64_t at = a->items[i].start, end = a->items[i].end;

		while (j < b->count && b->items[j].end <= at)
			j++;
		for (size_t k = j; at < end; k++) {
			int64_t stop = k < b->count && b->items[k].start < end ? b->items[k].start : end;
			int rc = intervals_add(&rest, at, stop);

			if (rc != SB_OK)
				return rc;
			if (stop == end)
				break;
			at = b->items[k].end;
			j = k;
		}
	}
	*out = rest;
	rest = (struct interval_set){0};
	return SB_OK;
}

/* The first of a set whose end (or start) is at `time` or later. */
static size_t first_from(const struct interval_set *s, int64_t time, bool ends)
{
	return SB_BISECT(i, 0, s->count, (ends ? s->items[i].end : s->items[i].start) < time);
}

size_t intervals_begun(const struct interval_set *s, int64_t time)
{
	return first_from(s, time, false);
}

size_t intervals_ended(const struct interval_set *s, int64_t time)
{
	return time == INT64_MAX ? s->count : first_from(s, time + 1, true);
}

int covered_of(struct interval_set *io_set, struct covered *out)
{
	struct covered c = {.set = *io_set};
	int64_t sum = 0;

	*io_set = (struct interval_set){0};
	c.before = malloc((c.set.count + 1) * sizeof(*c.before));
	if (!c.before) {
		covered_free(&c);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < c.set.count; i++) {
		c.before[i] = sum;
		sum += c.set.items[i].end - c.set.items[i].start;
	}
	*out = c;
	return SB_OK;
}

static int64_t covered_until(const struct covered *c, int64_t time)
{
	size_t begun = intervals_begun(&c->set, time);
	const struct interval *last;

	if (begun == 0)
		return 0;
	last = &c->set.items[begun - 1];
	return c->before[begun - 1] + (last->end < time ? last->end : time) - last->start;
}

int64_t covered_ns(const struct covered *c, int64_t start, int64_t end)
{
	return covered_until(c, end) - covered_until(c, start);
}

void covered_free(struct covered *c)
{
	intervals_free(&c->set);
	free(c->before);
	*c = (struct covered){0};
}

void intervals_free(struct interval_set *s)
{
	free(s->items);
	*s = (struct interval_set){0};
}
