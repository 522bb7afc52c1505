#include "planner/strategy/keep.h"

#include <math.h>
#include <string.h>

void keep_init(struct keep *k)
{
	k->top_count = k->degrees_count = k->front_count = 0;
	k->best = k->discarded = INFINITY;
}

bool same_degrees(const struct strategy *a, const struct strategy *b)
{
	return a->dp == b->dp && a->tp == b->tp && a->cp == b->cp && a->pp == b->pp && a->ep == b->ep;
}

static void insert(struct kept *list, int *count, const struct kept *x)
{
	int i = *count;

	for (; i > 0 && list[i - 1].bound > x->bound; i--)
		list[i] = list[i - 1];
	list[i] = *x;
	(*count)++;
}

static void offer_top(struct keep *k, const struct kept *x)
{
	if (k->top_count == KEEP_TOP) {
		if (x->bound >= k->top[KEEP_TOP - 1].bound) {
			k->discarded = fmin(k->discarded, x->bound);
			return;
		}
		k->top_count--;
		k->discarded = fmin(k->discarded, k->top[KEEP_TOP - 1].bound);
	}
	insert(k->top, &k->top_count, x);
}

static void offer_degrees(struct keep *k, const struct kept *x)
{
	int i;

	if (k->degrees_count == KEEP_DEGREES && x->bound >= k->degrees[KEEP_DEGREES - 1].bound)
		return;
	for (i = 0; i < k->degrees_count; i++) {
		if (same_degrees(&k->degrees[i].strategy, &x->strategy))
			break;
	}
	if (i < k->degrees_count) {
		if (x->bound >= k->degrees[i].bound)
			return;
		memmove(&k->degrees[i], &k->degrees[i + 1],
		        (size_t)(k->degrees_count - i - 1) * sizeof(k->degrees[0]));
		k->degrees_count--;
	} else if (k->degrees_count == KEEP_DEGREES) {
		k->degrees_count--;
	}
	insert(k->degrees, &k->degrees_count, x);
}

static void offer_front(struct keep *k, const struct kept *x)
{
	int low = 0, high = k->front_count, end;

	while (low < high) { /* first point that needs more memory than x */
		int mid = (low + high) / 2;

		if (k->front[mid].memory > x->memory)
			high = mid;
		else
			low = mid + 1;
	}
	if (low > 0 && k->front[low - 1].bound <= x->bound)
		return;
	if (low > 0 && k->front[low - 1].memory == x->memory)
		low--;
	for (end = low; end < k->front_count && k->front[end].bound >= x->bound; end++)
		;
	if (end == low && k->front_count == KEEP_FRONT)
		return;
	memmove(&k->front[low + 1], &k->front[end], (size_t)(k->front_count - end) * sizeof(k->front[0]));
	k->front_count += 1 - (end - low);
	k->front[low] = *x;
}

void keep_offer(struct keep *k, const struct strategy *s, double bound, double memory)
{
	struct kept x = {*s, bound, memory};

	offer_top(k, &x);
	offer_degrees(k, &x);
	offer_front(k, &x);
	k->best = fmin(k->best, bound);
}
