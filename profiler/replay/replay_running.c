#include "base/grow.h"
#include "profiler/replay/graph.h"

/* By end, then by number. */
static bool before(const struct replay_nodes *n, uint32_t a, uint32_t b)
{
	int64_t x = replay_end(n, a), y = replay_end(n, b);

	return x != y ? x < y : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t x = *a;

	*a = *b;
	*b = x;
}

int replay_running_add(struct replay_running *r, uint32_t node)
{
	size_t i = r->count;

	if (sb_grow(&r->items, r->count, sizeof(*r->items)) != SB_OK)
		return SB_ENOMEM;
	r->items[r->count++] = node;
	for (; i > 0 && before(r->nodes, r->items[i], r->items[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&r->items[i], &r->items[(i - 1) / 2]);
	return SB_OK;
}

static uint32_t take_first(struct replay_running *r)
{
	uint32_t first = r->items[0];
	size_t i = 0;

	r->items[0] = r->items[--r->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->count)
			return first;
		if (child + 1 < r->count && before(r->nodes, r->items[child + 1], r->items[child]))
			child++;
		if (!before(r->nodes, r->items[child], r->items[i]))
			return first;
		swap(&r->items[i], &r->items[child]);
		i = child;
	}
}

static uint32_t lane_of(const struct replay_running *r, uint32_t node)
{
	return r->lanes[node - r->first];
}

void replay_running_until(struct replay_running *r, int64_t time)
{
	while (r->count > 0 && replay_end(r->nodes, r->items[0]) <= time) {
		uint32_t node = take_first(r), lane = lane_of(r, node);
		struct replay_ended *e = &r->devices[r->device_of_lane[lane]];

		if (e->last && lane_of(r, e->last - 1) != lane)
			e->other = e->last;
		e->last = node + 1;
		r->last = node;
	}
}

uint32_t replay_running_other(const struct replay_running *r, uint32_t lane)
{
	const struct replay_ended *e = &r->devices[r->device_of_lane[lane]];
	uint32_t found = e->last && lane_of(r, e->last - 1) == lane ? e->other : e->last;

	return found ? found - 1 : REPLAY_NONE;
}
