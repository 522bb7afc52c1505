#include "profiler/launches.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/search.h"

/* Of one link by start; of one start in the order of the file. */
static int by_link(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return sb_compare((const int64_t[]){x->link, x->start, x->event},
	                  (const int64_t[]){y->link, y->start, y->event}, 3);
}

static bool is_launch(const struct trace *t, size_t i)
{
	return t->kind[i] == EVENT_HOST_RUNTIME && t->link[i] >= 0;
}

/* Launches are written in order of their correlation as a rule: then there is nothing to sort. */
static void sort_launches(struct launches *l)
{
	bool sorted = true;

	for (size_t i = 1; i < l->count && sorted; i++)
		sorted = by_link(&l->items[i - 1], &l->items[i]) <= 0;
	if (!sorted)
		qsort(l->items, l->count, sizeof(*l->items), by_link);
}

static int find_launches(const struct trace *t, struct launches *out)
{
	struct launches l = {0};
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += is_launch(t, i);
	l.items = malloc((n + 1) * sizeof(*l.items));
	if (!l.items)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (is_launch(t, i))
			l.items[l.count++] = (struct launch){t->link[i], t->start_ns[i], (uint32_t)i};
	sort_launches(&l);
	*out = l;
	return SB_OK;
}

int launches_keep(struct trace *t)
{
	struct launches l;
	int rc = find_launches(t, &l);

	if (rc != SB_OK)
		return rc;
	free(t->launches);
	t->launches = l.items;
	t->launch_count = l.count;
	t->launches_of = t->count;
	return SB_OK;
}

int launches_build(const struct trace *t, struct launches *out)
{
	if (!t->launches || t->launches_of != t->count)
		return find_launches(t, out);
	*out = (struct launches){.items = t->launches, .count = t->launch_count, .borrowed = true};
	return SB_OK;
}

/* Where the launches with this link end, if there are any: at least one begins before it. Correlations are
 * given out by counting, so the place is guessed, and looked for outwards from there in growing strides. */
static size_t end_of_link(const struct launches *l, int64_t link)
{
	const struct launch *items = l->items;
	double first = (double)items[0].link, span = (double)items[l->count - 1].link - first;
	double share = span > 0 ? ((double)link - first) / span : 0;
	size_t lo = share < 1 ? (size_t)(share * (double)(l->count - 1)) : l->count - 1, hi = lo, stride = 1;

	if (items[lo].link <= link) {
		for (; stride < l->count - lo && items[lo + stride].link <= link; stride *= 2)
			lo += stride;
		hi = stride < l->count - lo ? lo + stride : l->count;
	} else {
		for (; stride < hi && items[hi - stride].link > link; stride *= 2)
			hi -= stride;
		lo = stride < hi ? hi - stride : 0;
	}
	return SB_BISECT(i, lo, hi, items[i].link <= link);
}

const struct launch *launches_find(const struct launches *l, int64_t link)
{
	size_t end;

	if (link < 0 || l->count == 0 || link < l->items[0].link)
		return NULL;
	end = end_of_link(l, link);
	/* the last one with this link */
	return end > 0 && l->items[end - 1].link == link ? &l->items[end - 1] : NULL;
}

int64_t launches_start(const struct launches *l, int64_t link)
{
	const struct launch *found = launches_find(l, link);

	return found ? found->start : SB_NULL;
}

void launches_free(struct launches *l)
{
	if (!l->borrowed)
		free(l->items);
	*l = (struct launches){0};
}
