#include <stdlib.h>
#include <string.h>

#include "profiler/layers/cut.h"

/* More layers that alternate were seen in no model: five local ones and a global one are six. */
#define ALTERNATING_MAX 8

static int by_token(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t layer_tokens(const struct layer_op *ops, const struct layer_range *r, uint64_t *out)
{
	size_t n = 0;

	for (size_t i = r->first; i < r->end; i++)
		if (ops[i].kind == LAYER_COMPUTE)
			out[n++] = ops[i].token;
	qsort(out, n, sizeof(*out), by_token);
	return n;
}

double layer_alike(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	size_t same = 0, i = 0, k = 0;

	while (i < n && k < m) {
		if (a[i] < b[k]) {
			i++;
		} else if (a[i] > b[k]) {
			k++;
		} else {
			same++;
			i++;
			k++;
		}
	}
	return n + m > 0 ? (double)same / (double)(n > m ? n : m) : 1;
}

/* The places of the first token that stands exactly `times` times; false when none does. sorted: all of them.
 */
static bool landmarks(const uint64_t *tokens, const uint64_t *sorted, size_t n, size_t times, size_t *out)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *at = bsearch(&tokens[i], sorted, n, sizeof(*sorted), by_token);
		size_t low = (size_t)(at - sorted), high = low, found = 0;

		while (low > 0 && low + times > high && sorted[low - 1] == tokens[i])
			low--;
		while (high < n && high - low <= times && sorted[high] == tokens[i])
			high++;
		if (high - low != times)
			continue;
		for (size_t k = i; k < n; k++)
			if (tokens[k] == tokens[i])
				out[found++] = k;
		return found == times;
	}
	return false;
}

/* Is each piece from landmark to landmark, round the end, like the one before? copy: room for two pieces. */
static bool pieces_alike(const uint64_t *tokens, size_t n, const size_t *at, size_t times, uint64_t *copy)
{
	size_t before = 0;

	for (size_t k = 0; k < times; k++) {
		size_t len = (k + 1 < times ? at[k + 1] : at[0] + n) - at[k];
		uint64_t *now = copy + (k % 2) * n;

		for (size_t i = 0; i < len; i++)
			now[i] = tokens[(at[k] + i) % n];
		qsort(now, len, sizeof(*now), by_token);
		if (k > 0 && layer_alike(copy + (1 - k % 2) * n, before, now, len) < LAYERS_ALTERNATING)
			return false;
		before = len;
	}
	return true;
}

int layers_alternating(const struct layer_op *ops, const struct layer_range *r, int64_t *out)
{
	uint64_t *tokens = malloc((4 * (r->end - r->first) + 1) * sizeof(*tokens)), *sorted;
	size_t n = 0, at[ALTERNATING_MAX];

	*out = 1;
	if (!tokens)
		return SB_ENOMEM;
	for (size_t i = r->first; i < r->end; i++)
		if (ops[i].kind == LAYER_COMPUTE)
			tokens[n++] = ops[i].token;
	sorted = tokens + n;
	layer_tokens(ops, r, sorted);
	for (size_t times = ALTERNATING_MAX; times > 1 && *out == 1; times--)
		if (n / times >= LAYERS_LEAST_OPERATORS && landmarks(tokens, sorted, n, times, at) &&
		    pieces_alike(tokens, n, at, times, sorted + n))
			*out = (int64_t)times;
	free(tokens);
	return SB_OK;
}
