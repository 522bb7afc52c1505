#include "profiler/layers/repeats.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/num.h"

/* The sequence is halved again and again. A repetition that crosses the middle of a part compares a token
 * with the one a period on, right at the middle or a period before it: how far that goes on to both sides is
 * the length of common prefixes and suffixes, found for all periods at once (the Z algorithm). */

struct search {
	const uint64_t *tokens;
	size_t n;
	struct repeat *items;
	size_t count;
	/* of the part at hand: of its right half, and of its left half backwards, the common prefix of it and
	 * of itself from each place on, and of it and of the whole part from each place of the other half */
	uint32_t *right, *left, *right_in_left, *left_in_right;
};

/* A sequence read forwards (step 1) or backwards (-1). */
struct view {
	const uint64_t *at;
	ptrdiff_t step;
	size_t n;
};

static uint64_t token(const struct view *v, size_t i)
{
	return v->at[(ptrdiff_t)i * v->step];
}

/* z[i]: how long v and v from i on are the same. */
static void match_itself(const struct view *v, uint32_t *z)
{
	size_t from = 0, to = 0;

	for (size_t i = 1; i < v->n; i++) {
		size_t k = i < to ? z[i - from] : 0;

		k = k < to - i || i >= to ? k : to - i;
		while (i + k < v->n && token(v, k) == token(v, i + k))
			k++;
		z[i] = (uint32_t)k;
		if (i + k > to) {
			from = i;
			to = i + k;
		}
	}
}

/* out[i]: how long v and text from i on are the same, for the first `places`. z: of v, as above. */
static void match_text(const struct view *v, const uint32_t *z, const struct view *text, size_t places,
                       uint32_t *out)
{
	size_t from = 0, to = 0;

	for (size_t i = 0; i < places; i++) {
		size_t k = i < to && i > from && i - from < v->n ? z[i - from] : 0;

		if (i < to && k > to - i)
			k = to - i;
		while (k < v->n && i + k < text->n && token(v, k) == token(text, i + k))
			k++;
		out[i] = (uint32_t)k;
		if (i + k > to) {
			from = i;
			to = i + k;
		}
	}
}

static int add(struct search *s, size_t first, size_t end, size_t period)
{
	const uint64_t *t = s->tokens;

	/* one that goes on beyond the part is found, whole, where the part was halved */
	if ((first > 0 && t[first - 1] == t[first - 1 + period]) || (end < s->n && t[end] == t[end - period]))
		return SB_OK;
	if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
		return SB_ENOMEM;
	s->items[s->count++] = (struct repeat){(uint32_t)first, (uint32_t)(end - first), (uint32_t)period};
	return SB_OK;
}

static int cross(struct search *s, size_t low, size_t middle, size_t high)
{
	size_t u = middle - low, v = high - middle;
	const struct view right = {s->tokens + middle, 1, v}, left = {s->tokens + middle - 1, -1, u};
	const struct view whole = {s->tokens + low, 1, u + v}, turned = {s->tokens + high - 1, -1, u + v};
	int rc = SB_OK;

	match_itself(&right, s->right);
	match_itself(&left, s->left);
	match_text(&right, s->right, &whole, u, s->right_in_left);
	match_text(&left, s->left, &turned, v, s->left_in_right);
	/* the middle token is the same as the one a period on */
	for (size_t p = 1; p < v && rc == SB_OK; p++) {
		size_t after = s->right[p], before = s->left_in_right[v - p];

		if (after > 0 && before > 0 && before + after >= p)
			rc = add(s, middle - before, middle + p + after, p);
	}
	/* or not, but what lies a period before it goes on to it */
	for (size_t p = 1; p < u && rc == SB_OK; p++) {
		size_t after = s->right_in_left[u - p], before = s->left[p];

		if (after > 0 && after <= p && before + after >= p)
			rc = add(s, middle - p - before, middle + after, p);
	}
	/* the left half and its copy */
	if (rc == SB_OK && u > 0 && s->right_in_left[0] == u)
		rc = add(s, low, middle + u, u);
	return rc;
}

static int find_in(struct search *s, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	int rc;

	if (high - low < 2)
		return SB_OK;
	rc = find_in(s, low, middle);
	if (rc == SB_OK)
		rc = find_in(s, middle, high);
	return rc == SB_OK ? cross(s, low, middle, high) : rc;
}

static int by_place(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	return sb_compare((const int64_t[]){x->first, -(int64_t)x->length, x->period},
	                  (const int64_t[]){y->first, -(int64_t)y->length, y->period}, 3);
}

/* Of one stretch the least period stays: it is found with the multiples of that, too. */
static void keep_least(struct search *s)
{
	size_t kept = 0;

	if (s->count > 0)
		qsort(s->items, s->count, sizeof(*s->items), by_place);
	for (size_t i = 0; i < s->count; i++)
		if (kept == 0 || s->items[i].first != s->items[kept - 1].first ||
		    s->items[i].length != s->items[kept - 1].length)
			s->items[kept++] = s->items[i];
	s->count = kept;
}

int repeats_find(const uint64_t *tokens, size_t n, struct repeat **out, size_t *out_count)
{
	struct search s = {.tokens = tokens, .n = n};
	uint32_t *room;
	int rc = SB_OK;

	if (n > INT32_MAX)
		return SB_ELIMIT;
	room = malloc((2 * n + 4) * sizeof(*room));
	if (!room)
		return SB_ENOMEM;
	/* halves: the left one is never the longer */
	s.right = room;
	s.left = s.right + n / 2 + 1;
	s.right_in_left = s.left + n / 2 + 1;
	s.left_in_right = s.right_in_left + n / 2 + 1;
	rc = find_in(&s, 0, n);
	free(room);
	if (rc != SB_OK) {
		free(s.items);
		return rc;
	}
	keep_least(&s);
	*out = s.items;
	*out_count = s.count;
	return SB_OK;
}
