#include "planner/frontier/plans.h"

#include <string.h>

#include "base/search.h"

/* The first point of at least so many seconds. */
static int place_of(const struct plan_front *f, double seconds)
{
	return SB_BISECT(i, 0, f->count, f->point[i].seconds < seconds);
}

bool plan_front_wants(const struct plan_front *f, double seconds, double bytes)
{
	int at = place_of(f, seconds);

	if (at < f->count && f->point[at].seconds == seconds)
		at++;
	/* of those that are no slower the last one needs least */
	return at == 0 || f->point[at - 1].bytes > bytes;
}

/* Drops the points from first to before end. */
static void drop(struct plan_front *f, int first, int end)
{
	for (int i = first; i < end; i++)
		f->used[f->point[i].slot] = false;
	memmove(f->point + first, f->point + end, (size_t)(f->count - end) * sizeof(f->point[0]));
	f->count -= end - first;
}

static void leave_evenly(struct plan_front *f, int wanted)
{
	int have = f->count, next = 0;

	for (int i = 0; i < wanted; i++) {
		int from = wanted > 1 ? i * (have - 1) / (wanted - 1) : 0;

		for (; next < from; next++)
			f->used[f->point[next].slot] = false;
		f->point[i] = f->point[next++];
	}
	f->count = wanted;
	for (; next < have; next++)
		f->used[f->point[next].slot] = false;
}

int plan_front_add(struct plan_front *f, double seconds, double bytes)
{
	int at, end, slot = 0;

	if (f->count == PLAN_FRONT_MAX)
		leave_evenly(f, PLAN_FRONT_MAX / 2);
	at = end = place_of(f, seconds);
	while (end < f->count && f->point[end].bytes >= bytes)
		end++;
	drop(f, at, end);
	while (f->used[slot])
		slot++;
	memmove(f->point + at + 1, f->point + at, (size_t)(f->count - at) * sizeof(f->point[0]));
	f->point[at] = (struct plan_point){seconds, bytes, slot};
	f->used[slot] = true;
	f->count++;
	return slot;
}

void plan_front_trim(struct plan_front *f, double seconds, int wanted)
{
	int end = place_of(f, seconds);

	if (end < f->count && f->point[end].seconds == seconds)
		end++;
	drop(f, end, f->count);
	if (f->count > wanted)
		leave_evenly(f, wanted);
}
