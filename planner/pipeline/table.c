#include "planner/pipeline/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_MAX (1 << 20)

void table_free(struct table *t)
{
	free(t->bottleneck);
	free(t->extra);
	t->bottleneck = t->extra = NULL;
}

static int64_t layers_of(const struct table_problem *tp, int64_t body)
{
	return tp->first[body + 1] - tp->first[body];
}

/* The most layers of a body that a chunk holds within the bound, if it holds nothing else. */
static int64_t most_of(const struct table_problem *tp, const struct device *d, int64_t k, int64_t body,
                       double bound)
{
	double each = tp->p->bodies[body].forward + tp->least_backward[body];
	double rest = bound * (1 + PIPELINE_ROUNDING) - d->end_forward[k] - d->end_backward[k];
	int64_t most = layers_of(tp, body) < d->most[k] ? layers_of(tp, body) : d->most[k];

	if (rest < 0)
		return 0;
	return rest >= each * (double)most ? most : (int64_t)(rest / each);
}

void table_box(const struct table_problem *tp, double bound, struct table *t)
{
	const struct device *d = &tp->devices[t->device];

	memset(t->least, 0, sizeof(t->least));
	memset(t->most, 0, sizeof(t->most));
	for (int64_t k = 0; k < d->chunks; k++) {
		struct span s = t->span[k];

		t->most[s.low] += most_of(tp, d, k, s.low, bound);
		if (s.low == s.high) {
			t->least[s.low] += d->least[k];
			continue;
		}
		t->least[s.high]++;
		t->most[s.high] += most_of(tp, d, k, s.high, bound);
		for (int64_t b = s.low + 1; b < s.high; b++) {
			t->least[b] += layers_of(tp, b);
			t->most[b] += layers_of(tp, b);
		}
	}
	t->size = 1;
	for (int64_t b = 0; b < tp->p->body_count; b++) {
		if (t->most[b] > layers_of(tp, b))
			t->most[b] = layers_of(tp, b);
		t->stride[b] = t->size;
		t->size *= (size_t)t->most[b] + 1;
	}
}

/* A walk over all ways to share layers out over the chunks. */
struct walk {
	struct table_problem *tp;
	const struct table *t;
	double bound; /* of the bottleneck */
	void (*take)(struct walk *w);
	double *out;
	size_t wanted;          /* the index of one count alone */
	struct holding *chosen; /* of it */
	struct holding h;
	const int64_t *most;
	int64_t more[SCHEDULE_CHUNKS_MAX + 1]; /* layers that the chunks from k on can hold at most */
	int64_t held[TABLE_BODIES_MAX], total; /* by the chunks so far */
	size_t index;
	int rc;
};

static void take_bottleneck(struct walk *w)
{
	double *best = &w->out[w->index];

	*best = fmin(*best, holding_bottleneck(&w->h, fmin(w->bound, *best)));
}

static void take_extra(struct walk *w)
{
	double *best = &w->out[w->index];

	*best = fmin(*best, holding_extra(&w->h, w->bound, *best));
}

static void take_one(struct walk *w)
{
	double extra = w->index == w->wanted ? holding_extra(&w->h, w->bound, *w->out) : INFINITY;

	if (isinf(extra))
		return;
	*w->out = extra;
	*w->chosen = w->h;
}

static void share_out(struct walk *w, int64_t k, double forward);

static void hold(struct walk *w, int64_t body, int64_t n)
{
	w->held[body] += n;
	w->total += n;
	w->index = (size_t)((int64_t)w->index + n * (int64_t)w->t->stride[body]);
}

/* Tries a run as chunk k, then all that the next chunks can hold. False: it cannot be, nor can a longer one.
 */
static bool try_run(struct walk *w, int64_t k, int64_t first, int64_t count, double forward)
{
	const struct held *x = &w->h.chunk[k];

	if (w->rc == SB_OK && ++w->tp->steps > w->tp->steps_max)
		w->rc = SB_ELIMIT;
	if (w->rc == SB_OK)
		w->rc = holding_set(&w->h, w->tp->cells, k, first, count);
	if (w->rc != SB_OK)
		return false;
	forward = fmax(forward, x->forward);
	if (!(forward + held_backward(x) <= w->bound * (1 + PIPELINE_ROUNDING)) ||
	    !holding_fits(&w->h, k + 1, w->tp->lightest))
		return false;
	share_out(w, k + 1, forward);
	return true;
}

static void try_one_body(struct walk *w, int64_t k, double forward)
{
	int64_t b = w->t->span[k].low, most = w->most[b] - w->held[b], n = w->h.device->least[k];
	bool on = true;

	/* what is not held here must be held by the chunks behind */
	if (n < w->t->need - w->total - w->more[k + 1])
		n = w->t->need - w->total - w->more[k + 1];
	for (; on && n <= most && n <= w->h.device->most[k]; n++) {
		hold(w, b, n);
		on = try_run(w, k, w->tp->first[b], n, forward);
		hold(w, b, -n);
	}
}

static void try_frontier(struct walk *w, int64_t k, double forward)
{
	struct span s = w->t->span[k];
	int64_t between = w->tp->first[s.high] - w->tp->first[s.low + 1];
	bool on = true;

	for (int64_t b = s.low + 1; b < s.high; b++)
		hold(w, b, layers_of(w->tp, b));
	for (int64_t i = 0; on && i <= w->most[s.low] - w->held[s.low]; i++) {
		hold(w, s.low, i);
		for (int64_t n = 1; on && n <= w->most[s.high] - w->held[s.high]; n++) {
			hold(w, s.high, n);
			on = try_run(w, k, w->tp->first[s.low + 1] - i, i + between + n, forward);
			hold(w, s.high, -n);
			if (!on && n > 1) {
				on = true;
				break;
			}
		}
		hold(w, s.low, -i);
	}
	for (int64_t b = s.low + 1; b < s.high; b++)
		hold(w, b, -layers_of(w->tp, b));
}

/* NOLINTBEGIN(misc-no-recursion): each level is a chunk */
static void share_out(struct walk *w, int64_t k, double forward)
{
	if (k == w->h.device->chunks)
		w->take(w);
	else if (w->t->span[k].low == w->t->span[k].high)
		try_one_body(w, k, forward);
	else
		try_frontier(w, k, forward);
}
/* NOLINTEND(misc-no-recursion) */

static int walk(struct walk *w)
{
	const struct device *d = w->h.device;

	for (int64_t k = d->chunks - 1; k >= 0; k--) {
		struct span s = w->t->span[k];

		w->more[k] = w->more[k + 1];
		for (int64_t b = s.low; b <= s.high; b++)
			w->more[k] += b == s.low || b == s.high ? most_of(w->tp, d, k, b, w->bound)
			                                        : layers_of(w->tp, b);
	}
	share_out(w, 0, 0);
	return w->rc;
}

static int fill(struct table_problem *tp, struct table *t, double bound, void (*take)(struct walk *w),
                double **out)
{
	struct walk w = {.tp = tp,
	                 .t = t,
	                 .bound = bound,
	                 .take = take,
	                 .h = {.device = &tp->devices[t->device]},
	                 .most = t->most};

	if (t->size > COUNTS_MAX)
		return SB_ELIMIT;
	if (!*out)
		*out = malloc(t->size * sizeof(**out));
	if (!*out)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		(*out)[i] = INFINITY;
	w.out = *out;
	return walk(&w);
}

int table_bottlenecks(struct table_problem *tp, struct table *t, double bound)
{
	return fill(tp, t, bound, take_bottleneck, &t->bottleneck);
}

int table_extras(struct table_problem *tp, struct table *t, double bottleneck)
{
	return fill(tp, t, bottleneck, take_extra, &t->extra);
}

int table_choose(struct table_problem *tp, const struct table *t, double bottleneck, size_t index,
                 struct holding *out)
{
	double best = INFINITY;
	int64_t most[TABLE_BODIES_MAX];
	struct walk w = {.tp = tp,
	                 .t = t,
	                 .bound = bottleneck,
	                 .take = take_one,
	                 .out = &best,
	                 .wanted = index,
	                 .chosen = out,
	                 .h = {.device = &tp->devices[t->device]},
	                 .most = most};

	for (int64_t b = 0; b < tp->p->body_count; b++)
		most[b] = (int64_t)(index / t->stride[b] % ((size_t)t->most[b] + 1));
	return walk(&w);
}
