#include <stdlib.h>

#include "profiler/collectives.h"
#include "profiler/layers/rank.h"

/* Which stage of a pipeline each capture is, where no file tells: of two that exchange, the one that sends to
 * the other before it receives from it is the stage before. */

/* No pipeline is longer. */
#define CHAIN_MAX 256

/* One capture's first exchange with another. */
struct hand_over {
	uint32_t from, to;      /* captures */
	int64_t sent, received; /* on the clock of `from`; INT64_MAX = never */
};

static int by_pair(const void *a, const void *b)
{
	const struct hand_over *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Both ends of each pair of a send and its receive. */
static size_t list_pairs(const struct collectives *c, struct hand_over *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->set_count; i++) {
		const struct collective_set *set = &c->sets[i];

		if (!set->pair || set->count != 2)
			continue;
		for (size_t k = 0; k < 2; k++) {
			const struct collective *own = &c->items[set->first + k];
			const struct collective *other = &c->items[set->first + 1 - k];
			struct hand_over h = {c->members[own->member].capture,
			                      c->members[other->member].capture, INT64_MAX, INT64_MAX};

			if (own->sends == other->sends || h.from == h.to || own->start_ns == SB_NULL)
				continue;
			*(own->sends ? &h.sent : &h.received) = own->start_ns;
			out[n++] = h;
		}
	}
	return n;
}

/* Joins those of one pair. Returns how many are left. */
static size_t join_pairs(struct hand_over *h, size_t n)
{
	size_t kept = 0;

	qsort(h, n, sizeof(*h), by_pair);
	for (size_t i = 0; i < n; i++) {
		struct hand_over *last = kept > 0 ? &h[kept - 1] : NULL;

		if (!last || by_pair(last, &h[i]) != 0) {
			h[kept++] = h[i];
			continue;
		}
		last->sent = h[i].sent < last->sent ? h[i].sent : last->sent;
		last->received = h[i].received < last->received ? h[i].received : last->received;
	}
	return kept;
}

/* The length of the longest chain that leads to each capture. False for a ring: no stage is the first then,
 * as where the chunks of a device are not next to one another. */
static bool follow(const struct hand_over *h, size_t n, size_t captures, int64_t *stages)
{
	bool changed = true;

	for (size_t round = 0; changed && round <= captures && round < CHAIN_MAX; round++) {
		changed = false;
		for (size_t i = 0; i < n; i++) {
			if (h[i].sent >= h[i].received || stages[h[i].to] > stages[h[i].from])
				continue;
			stages[h[i].to] = stages[h[i].from] + 1;
			changed = true;
		}
	}
	return !changed;
}

int layer_stages_find(const struct profile *p, int64_t *out)
{
	COLLECTIVES_AUTO c = {0};
	struct hand_over *h;
	size_t n;
	int rc = collectives_match(p, &c);

	if (rc != SB_OK)
		return rc;
	h = malloc((2 * c.set_count + 1) * sizeof(*h));
	if (!h)
		return SB_ENOMEM;
	n = join_pairs(h, list_pairs(&c, h));
	for (size_t i = 0; i < p->count; i++)
		out[i] = 0;
	if (n == 0 || !follow(h, n, p->count, out))
		for (size_t i = 0; i < p->count; i++)
			out[i] = SB_NULL;
	free(h);
	return SB_OK;
}
