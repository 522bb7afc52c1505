#include "planner/strategy/keep.h"

#include <math.h>
#include <string.h>

#include "base/search.h"

#define CLEAR_EVERY 64 /* families taken in since few of them could be cleared */

void keep_init(struct keep *k)
{
	k->top_count = k->degrees_count = k->front_count = k->family_count = k->uncleared = 0;
	k->best = INFINITY;
	k->left_out = false;
}

bool same_degrees(const struct strategy *a, const struct strategy *b)
{
	return a->dp == b->dp && a->tp == b->tp && a->tp_x == b->tp_x && a->cp == b->cp && a->pp == b->pp &&
	       a->ep == b->ep;
}

static void insert(struct kept *list, int *count, const struct kept *x)
{
	int i = *count;

	for (; i > 0 && list[i - 1].bound > x->bound; i--)
		list[i] = list[i - 1];
	list[i] = *x;
	(*count)++;
}

bool keep_next(struct keep *k, double reached, struct strategy *out)
{
	if (k->top_count == 0 || k->top[0].bound >= reached) {
		k->top_count = 0;
		return false;
	}
	*out = k->top[0].strategy;
	memmove(&k->top[0], &k->top[1], (size_t)(--k->top_count) * sizeof(k->top[0]));
	return true;
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

/* The first point of the front that needs more memory. */
static int above(const struct keep *k, double memory)
{
	return SB_BISECT(i, 0, k->front_count, k->front[i].memory <= memory);
}

static bool dominated(const struct keep *k, int at, double bound)
{
	return at > 0 && k->front[at - 1].least <= (1 + SAME_TIME) * bound;
}

bool keep_wants(const struct keep *k, double reached, double bound, double memory)
{
	if (bound > SEARCH_SLACK * reached)
		return false;
	if (bound < reached || k->degrees_count < KEEP_DEGREES || bound < k->degrees[KEEP_DEGREES - 1].bound)
		return true;
	return !dominated(k, above(k, memory), bound);
}

static void offer_front(struct keep *k, const struct kept *x)
{
	int at = above(k, x->memory), left = at;

	if (dominated(k, at, x->bound))
		return;
	/* With no room to wait for the simulation, the bounds must tell. */
	if (k->front_count == KEEP_FRONT) {
		k->left_out = true;
		return;
	}
	memmove(&k->front[at + 1], &k->front[at], (size_t)(k->front_count - at) * sizeof(k->front[0]));
	k->front_count++;
	k->front[at] = *x;
	for (int i = at; i < k->front_count; i++) {
		struct kept *f = &k->front[left];

		if (i > at && dominated(k, left, k->front[i].bound))
			continue;
		*f = k->front[i];
		f->least = left > 0 ? fmin(k->front[left - 1].least, f->upper) : f->upper;
		left++;
	}
	k->front_count = left;
}

void keep_offer(struct keep *k, const struct strategy *s, double bound, double upper, double memory)
{
	struct kept x = {*s, bound, memory, upper, upper};

	insert(k->top, &k->top_count, &x);
	offer_degrees(k, &x);
	offer_front(k, &x);
	k->best = fmin(k->best, bound);
}

bool keep_wants_family(const struct keep *k, double reached, double bound, double memory)
{
	return bound <= SEARCH_SLACK * reached && !dominated(k, above(k, memory), bound);
}

/* Leaves out what is not wanted any more. */
static void clear_families(struct keep *k, double reached)
{
	int left = 0;

	for (int i = 0; i < k->family_count; i++) {
		if (keep_wants_family(k, reached, k->families[i].bound, k->families[i].memory))
			k->families[left++] = k->families[i];
	}
	k->family_count = left;
}

void keep_family(struct keep *k, double reached, const struct strategy *s, double bound, double memory)
{
	int at;

	if (!keep_wants_family(k, reached, bound, memory))
		return;
	if (k->family_count == KEEP_FAMILIES && k->uncleared++ % CLEAR_EVERY == 0)
		clear_families(k, reached);
	at = k->family_count;
	if (at == KEEP_FAMILIES) {
		k->left_out = true;
		at = 0;
		for (int i = 1; i < KEEP_FAMILIES; i++)
			at = k->families[i].bound > k->families[at].bound ? i : at;
		if (k->families[at].bound <= bound)
			return;
	} else {
		k->family_count++;
	}
	k->families[at] = (struct family){.strategy = *s, .bound = bound, .memory = memory, .fitted = -1};
	k->families[at].strategy.recompute_fit = true;
}
