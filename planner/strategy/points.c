#include <math.h>
#include <stdint.h>

#include "planner/strategy/front.h"

/* Points of time and memory: which belong on a frontier. */

static bool comes_before(const struct strategy_cost *a, const struct strategy_cost *b)
{
	if (a->step_seconds != b->step_seconds)
		return a->step_seconds < b->step_seconds;
	return memory_total(&a->memory) < memory_total(&b->memory);
}

void sort_choices(struct choice *list, int count)
{
	for (int i = 1; i < count; i++) {
		struct choice c = list[i];
		int k = i;

		for (; k > 0 && comes_before(&c.cost, &list[k - 1].cost); k--)
			list[k] = list[k - 1];
		list[k] = c;
	}
}

int undominated(struct choice *list, int count)
{
	double slowest;
	int64_t least = INT64_MAX;
	int kept = 0;

	sort_choices(list, count);
	slowest = SEARCH_SLACK * list[0].cost.step_seconds;
	for (int i = 0; i < count; i++) {
		int64_t memory = memory_bytes_of(&list[i].cost.memory);

		if (memory >= least || list[i].cost.step_seconds > slowest)
			continue;
		least = memory;
		/* The same time, but for rounding: the leaner one. */
		if (kept > 0 &&
		    list[i].cost.step_seconds <= (1 + SAME_TIME) * list[kept - 1].cost.step_seconds)
			kept--;
		list[kept++] = list[i];
	}
	return kept;
}

/* Keeps the first, the last, and in between what needs at least so much less than the one kept before; of the
 * others the first few. Returns how many; writes them where out is not NULL. */
static int spread(const struct choice *list, int count, double apart, int others, struct choice *out)
{
	int kept = 0;
	double last = INFINITY;

	for (int i = 0; i < count; i++) {
		double memory = memory_total(&list[i].cost.memory);

		if (i == 0 || i == count - 1 || last - memory > apart)
			last = memory;
		else if (others-- <= 0)
			continue;
		if (out)
			out[kept] = list[i];
		kept++;
	}
	return kept;
}

int thin_choices(struct choice *list, int count, int wanted)
{
	double low = 0, high;

	if (count <= wanted || wanted < 2)
		return count < wanted ? count : wanted;
	high = memory_total(&list[0].cost.memory) - memory_total(&list[count - 1].cost.memory);
	for (int i = 0; i < 50; i++) {
		double mid = (low + high) / 2;

		if (spread(list, count, mid, 0, NULL) <= wanted)
			high = mid;
		else
			low = mid;
	}
	return spread(list, count, high, wanted - spread(list, count, high, 0, NULL), list);
}
