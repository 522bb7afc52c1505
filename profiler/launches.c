#include <stdlib.h>
#include <string.h>

#include "profiler/activity.h"

static int by_window_start(const void *a, const void *b)
{
	const struct step_window *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* The windows that are open while sweeping over time; the top began last. */
struct sweep {
	const struct step_window *windows;
	uint32_t *stack;
	size_t depth;
	struct step_windows *pieces; /* room for two pieces a window */
	int64_t at;
};

/* Hands the time up to `until` to the windows that are open. */
static void sweep_to(struct sweep *s, int64_t until)
{
	while (s->depth > 0 && s->at < until) {
		const struct step_window *top = &s->windows[s->stack[s->depth - 1]];
		int64_t end = top->end < until ? top->end : until;

		if (end > s->at) {
			s->pieces->items[s->pieces->count++] = (struct step_window){s->at, end, top->step};
			s->at = end;
		}
		if (top->end <= until)
			s->depth--;
	}
	s->at = until;
}

static size_t collect_windows(const struct capture *c, struct step_window *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->step_count; i++) {
		const struct step *s = &c->steps[i];

		if (s->start_ns != SB_NULL && s->dur_ns > 0)
			out[n++] = (struct step_window){interval_bound(s->start_ns),
			                                interval_end(s->start_ns, s->dur_ns), (uint32_t)i};
	}
	qsort(out, n, sizeof(*out), by_window_start);
	return n;
}

int step_windows_build(const struct capture *c, struct step_windows *out)
{
	STEP_WINDOWS_AUTO pieces = {0};
	struct step_window *windows = calloc(c->step_count + 1, sizeof(*windows));
	uint32_t *stack = calloc(c->step_count + 1, sizeof(*stack));
	size_t n = 0;

	pieces.items = calloc(2 * c->step_count + 1, sizeof(*pieces.items));
	if (!windows || !stack || !pieces.items) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees the pieces */
		free(windows);
		free(stack);
		/* cppcheck-suppress memleak ; freed by the cleanup attribute */
		return SB_ENOMEM;
	}
	n = collect_windows(c, windows);
	struct sweep s = {.windows = windows, .stack = stack, .pieces = &pieces};

	for (size_t i = 0; i < n; i++) {
		sweep_to(&s, windows[i].start);
		stack[s.depth++] = (uint32_t)i;
	}
	sweep_to(&s, INT64_MAX);
	free(windows);
	free(stack);
	*out = pieces;
	pieces = (struct step_windows){0};
	return SB_OK;
}

/* How many of the sorted items, each of which begins with its int64_t key, are at most `key`. */
static size_t at_most(const void *items, size_t count, size_t element, int64_t key)
{
	const char *base = items;
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int64_t x;

		memcpy(&x, base + mid * element, sizeof(x));
		if (x <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t step_windows_at(const struct step_windows *w, int64_t time)
{
	size_t lo = at_most(w->items, w->count, sizeof(*w->items), time);

	return lo > 0 && time < w->items[lo - 1].end ? w->items[lo - 1].step : NO_STEP;
}

void step_windows_free(struct step_windows *w)
{
	free(w->items);
	*w = (struct step_windows){0};
}

static int by_link(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return sb_compare((const int64_t[]){x->link, x->start}, (const int64_t[]){y->link, y->start}, 2);
}

static bool is_launch(const struct trace *t, size_t i)
{
	return t->kind[i] == EVENT_HOST_RUNTIME && t->link[i] >= 0;
}

/* Sorts by link. Launches are written in order of their correlation as a rule, so sorting is seldom needed;
 * where it is, equal links keep the order of the file by their place. */
static int sort_launches(struct launches *l)
{
	bool sorted = true;

	for (size_t i = 1; i < l->count && sorted; i++)
		sorted = by_link(&l->items[i - 1], &l->items[i]) <= 0;
	/* glibc's qsort is a stable merge sort, but the standard does not say so: a stable bottom-up merge */
	if (sorted)
		return SB_OK;
	struct launch *from = l->items, *to = calloc(l->count, sizeof(*to));

	if (!to)
		return SB_ENOMEM;
	for (size_t width = 1; width < l->count; width *= 2) {
		struct launch *swap = from;

		for (size_t lo = 0; lo < l->count; lo += 2 * width) {
			size_t mid = lo + width < l->count ? lo + width : l->count;
			size_t hi = lo + 2 * width < l->count ? lo + 2 * width : l->count;
			size_t a = lo, b = mid;

			for (size_t k = lo; k < hi; k++) {
				bool left = a < mid && (b == hi || by_link(&from[a], &from[b]) <= 0);

				to[k] = left ? from[a++] : from[b++];
			}
		}
		from = to;
		to = swap;
	}
	l->items = from;
	free(to);
	return SB_OK;
}

int launches_build(const struct trace *t, struct launches *out)
{
	LAUNCHES_AUTO l = {0};
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < t->count; i++)
		n += is_launch(t, i);
	l.items = calloc(n + 1, sizeof(*l.items));
	if (!l.items)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (is_launch(t, i))
			l.items[l.count++] = (struct launch){t->link[i], t->start_ns[i], (uint32_t)i};
	rc = sort_launches(&l);
	if (rc != SB_OK)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return rc;
	*out = l;
	l = (struct launches){0};
	return SB_OK;
}

const struct launch *launches_find(const struct launches *l, int64_t link)
{
	/* the last one with this link */
	size_t lo = at_most(l->items, l->count, sizeof(*l->items), link);

	return link >= 0 && lo > 0 && l->items[lo - 1].link == link ? &l->items[lo - 1] : NULL;
}

int64_t launches_start(const struct launches *l, int64_t link)
{
	const struct launch *found = launches_find(l, link);

	return found ? found->start : SB_NULL;
}

void launches_free(struct launches *l)
{
	free(l->items);
	*l = (struct launches){0};
}
