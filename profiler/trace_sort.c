#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/trace.h"

/* A slice that is not in order is cut into parts by time, until a part fits the processor's cache; that is
 * sorted by copies of its keys. Looking each key up in the columns would miss the cache n log n times. */
#define SMALL 4096
#define PARTS_LOG 11
#define PARTS ((size_t)1 << PARTS_LOG)

struct key {
	int64_t start, dur;
	uint32_t event, name;
	const char *text;
	uint32_t text_len;
	uint8_t kind;
};

struct sorting {
	const struct trace *t;
	uint32_t *spare;  /* as long as the whole slice */
	struct key *keys; /* SMALL */
};

static int compare_keys(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	const int64_t x[] = {a->start, b->dur, a->kind}, y[] = {b->start, a->dur, b->kind};
	int c = sb_compare(x, y, 3);

	if (c == 0 && a->name != b->name) {
		/* by text: the ids follow the order of the file */
		size_t n = a->text_len < b->text_len ? a->text_len : b->text_len;

		c = memcmp(a->text, b->text, n);
		if (c == 0)
			c = (a->text_len > b->text_len) - (a->text_len < b->text_len);
	}
	return c != 0 ? c : (a->event > b->event) - (a->event < b->event);
}

static struct key key_of(const struct trace *t, uint32_t event)
{
	struct key k = {t->start_ns[event], t->dur_ns[event], event, t->name[event], NULL, 0, t->kind[event]};
	size_t len;

	k.text = trace_text(t, k.name, &len);
	k.text_len = (uint32_t)len;
	return k;
}

static int compare_events(const void *left, const void *right, void *sorting)
{
	const struct trace *t = ((const struct sorting *)sorting)->t;
	struct key a = key_of(t, *(const uint32_t *)left), b = key_of(t, *(const uint32_t *)right);

	return compare_keys(&a, &b);
}

/* In order by start alone, without two events of one start? Then nothing else has to be looked at. */
static bool is_sorted(struct sorting *s, const uint32_t *events, size_t count)
{
	const int64_t *start = s->t->start_ns;

	for (size_t i = 1; i < count; i++) {
		if (start[events[i - 1]] >= start[events[i]] &&
		    compare_events(&events[i - 1], &events[i], s) > 0)
			return false;
	}
	return true;
}

static void sort_small(const struct sorting *s, uint32_t *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		s->keys[i] = key_of(s->t, events[i]);
	qsort(s->keys, count, sizeof(*s->keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		events[i] = s->keys[i].event;
}

static void sort_slice(struct sorting *s, uint32_t *events, size_t count);

/* Moves the events into parts of equal time. ends: of the parts, then. */
static void split(const struct sorting *s, uint32_t *events, size_t count, int64_t least, unsigned shift,
                  size_t ends[PARTS + 1])
{
	const int64_t *start = s->t->start_ns;

	memset(ends, 0, (PARTS + 1) * sizeof(*ends));
	for (size_t i = 0; i < count; i++)
		ends[1 + (((uint64_t)start[events[i]] - (uint64_t)least) >> shift)]++;
	for (size_t p = 1; p <= PARTS; p++)
		ends[p] += ends[p - 1];
	memcpy(s->spare, events, count * sizeof(*events));
	for (size_t i = 0; i < count; i++)
		events[ends[((uint64_t)start[s->spare[i]] - (uint64_t)least) >> shift]++] = s->spare[i];
}

/* NOLINTBEGIN(misc-no-recursion): each level divides the time */
/* Each level divides the time by PARTS, so there are at most 64 / PARTS_LOG + 1. */
static void sort_large(struct sorting *s, uint32_t *events, size_t count)
{
	const int64_t *start = s->t->start_ns;
	int64_t least = start[events[0]], most = least;
	size_t ends[PARTS + 1], at = 0;
	unsigned shift = 0;

	for (size_t i = 1; i < count; i++) {
		least = start[events[i]] < least ? start[events[i]] : least;
		most = start[events[i]] > most ? start[events[i]] : most;
	}
	if (least == most) {
		qsort_r(events, count, sizeof(*events), compare_events, s);
		return;
	}
	while (((uint64_t)most - (uint64_t)least) >> shift >= PARTS)
		shift++;
	split(s, events, count, least, shift, ends);
	for (size_t p = 0; p < PARTS; p++) {
		sort_slice(s, events + at, ends[p] - at);
		at = ends[p];
	}
}

static void sort_slice(struct sorting *s, uint32_t *events, size_t count)
{
	if (count < 2 || is_sorted(s, events, count))
		return;
	if (count <= SMALL)
		sort_small(s, events, count);
	else
		sort_large(s, events, count);
}
/* NOLINTEND(misc-no-recursion) */

int trace_sort(const struct trace *t, uint32_t *events, size_t count)
{
	struct sorting s = {.t = t};
	int rc = SB_OK;

	if (is_sorted(&s, events, count))
		return SB_OK;
	s.keys = malloc(SMALL * sizeof(*s.keys));
	s.spare = count > SMALL ? malloc(count * sizeof(*s.spare)) : NULL;
	if (s.keys && (s.spare || count <= SMALL))
		sort_slice(&s, events, count);
	else
		rc = SB_ENOMEM;
	free(s.keys);
	free(s.spare);
	return rc;
}
