#include <stdlib.h>

#include "base/search.h"
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

uint32_t step_windows_at(const struct step_windows *w, int64_t time)
{
	size_t at = SB_BISECT(i, 0, w->count, w->items[i].start <= time);

	return at > 0 && time < w->items[at - 1].end ? w->items[at - 1].step : NO_STEP;
}

int64_t collective_step(const struct capture *c, const struct launches *l, const struct step_windows *w,
                        size_t event)
{
	const struct trace *t = &c->trace;
	int64_t start = capture_is_ascend(c) ? t->start_ns[event] : launches_start(l, t->link[event]);
	uint32_t step = start == SB_NULL ? NO_STEP : step_windows_at(w, start);

	return step == NO_STEP ? SB_NULL : c->steps[step].number;
}

void step_windows_free(struct step_windows *w)
{
	free(w->items);
	*w = (struct step_windows){0};
}
