#include "planner/pipeline/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int64_t device_count(const struct pipeline_problem *p)
{
	return schedule_facts(p->shape.kind)->two_way ? p->shape.devices / 2 : p->shape.devices;
}

/* The other device has the same stages the other way round. */
static int add_turned(struct device *d, const struct schedule_program *program, int64_t other)
{
	struct in_flight *more = NULL;
	size_t n = 0;
	int rc = schedule_in_flight(program, other, &more, &n);

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		uint32_t first = more[i].of[0];

		more[i].of[0] = more[i].of[1];
		more[i].of[1] = first;
		rc = sb_grow(&d->peaks, d->peak_count, sizeof(*d->peaks));
		if (rc == SB_OK)
			d->peaks[d->peak_count++] = more[i];
	}
	free(more);
	return rc;
}

int device_open(const struct pipeline_problem *p, const struct schedule_program *program, int64_t d,
                struct device *out)
{
	bool two_way = schedule_facts(p->shape.kind)->two_way;
	int64_t other = p->shape.devices - 1 - d, last = schedule_stages(&p->shape) - 1;
	struct device x = {.chunks = p->shape.chunks,
	                   .room =
	                       (two_way ? fmin(p->memory[d], p->memory[other]) : p->memory[d]) - p->constant};
	int rc = schedule_in_flight(program, d, &x.peaks, &x.peak_count);

	if (rc != SB_OK)
		return rc;
	for (int64_t k = 0; k < x.chunks; k++) {
		x.stage[k] = schedule_stage(&p->shape, d, k);
		x.least[k] = p->allow_empty ? 0 : 1;
		if (x.stage[k] == 0) {
			x.end_forward[k] += p->head.forward;
			x.end_backward[k] += p->head.backward;
			x.room -= p->head.parameters;
		}
		if (x.stage[k] == last) {
			x.end_forward[k] += p->tail.forward;
			x.end_backward[k] += p->tail.backward;
			x.room -= p->tail.parameters;
		}
	}
	if (rc == SB_OK && two_way)
		rc = add_turned(&x, program, other);
	if (rc == SB_OK)
		*out = x;
	else
		device_free(&x);
	return rc;
}

void device_free(struct device *d)
{
	free(d->peaks);
	*d = (struct device){0};
}

/* A walk over all ways to share layers out over the chunks. */
struct walk {
	const struct pipeline_problem *p;
	const struct device *d;
	const struct mixes *m;
	double bound; /* of the bottleneck */
	struct device_option *out;
	int32_t layers[SCHEDULE_CHUNKS_MAX];
	int64_t total, best;
	double forward; /* the largest of the chunks */
};

/* Do the chunks fit in memory with these activations? */
static bool fits(const struct walk *w, const double *activation, int64_t layers)
{
	double rest = w->d->room - (double)layers * w->p->bodies[0].parameters;
	double slack = PIPELINE_ROUNDING * fabs(w->d->room);

	if (isinf(w->d->room))
		return w->d->room > 0;
	for (size_t i = 0; i < w->d->peak_count; i++) {
		double sum = 0;

		for (int64_t k = 0; k < w->d->chunks; k++)
			sum += w->d->peaks[i].of[k] * activation[k];
		if (sum > rest + slack)
			return false;
	}
	return true;
}

/* The same when every layer keeps as little as can be, those of chunks still to come at their least. */
static bool fits_at_least(const struct walk *w, int64_t chosen)
{
	double activation[SCHEDULE_CHUNKS_MAX];
	int64_t total = 0;

	for (int64_t k = 0; k < w->d->chunks; k++) {
		int64_t n = k < chosen ? w->layers[k] : w->d->least[k];

		activation[k] = (double)n * w->m->least;
		total += n;
	}
	return fits(w, activation, total);
}

static double base_backward(const struct walk *w, int64_t k)
{
	return w->d->end_backward[k] + w->layers[k] * w->m->fastest;
}

/* Does it fit when each chunk's backward takes at most this long, and keeps as little as it can? */
static bool fits_within(const struct walk *w, double backward)
{
	double activation[SCHEDULE_CHUNKS_MAX];

	for (int64_t k = 0; k < w->d->chunks; k++) {
		double budget = backward - base_backward(w, k) + PIPELINE_ROUNDING * backward;
		const struct mix *x = mixes_within(w->m, w->layers[k], budget);

		if (!x)
			return false;
		activation[k] = x->activation;
	}
	return fits(w, activation, w->total);
}

/* The least backward of the largest chunk with which all fits: it is one that some chunk takes exactly. */
static double least_backward(const struct walk *w, double bound)
{
	double least = 0, found = INFINITY;

	for (int64_t k = 0; k < w->d->chunks; k++)
		least = fmax(least, base_backward(w, k));
	if (fits_within(w, least))
		return least;
	if (!fits_within(w, bound))
		return INFINITY;
	for (int64_t k = 0; k < w->d->chunks; k++) {
		const struct mix *list = w->m->of[w->layers[k]];
		size_t lo = 0, hi = w->m->count[w->layers[k]];

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			double backward = base_backward(w, k) + list[mid].extra;

			if (backward >= least && fits_within(w, backward))
				hi = mid;
			else
				lo = mid + 1;
		}
		if (lo < w->m->count[w->layers[k]])
			found = fmin(found, base_backward(w, k) + list[lo].extra);
	}
	return found;
}

static void take_bottleneck(struct walk *w)
{
	struct device_option *o = &w->out[w->total];
	double bound = fmin(w->bound, o->bottleneck) - w->forward, backward;

	backward = bound > 0 ? least_backward(w, bound) : INFINITY;
	if (w->forward + backward >= o->bottleneck ||
	    w->forward + backward > w->bound * (1 + PIPELINE_ROUNDING))
		return;
	o->bottleneck = w->forward + backward;
	memcpy(o->layers, w->layers, sizeof(o->layers));
}

/* The mixes of the chunks, one after the other: those that recompute least come first. */
struct choice {
	const struct walk *w;
	double backward; /* that each chunk may take */
	const struct mix *mix[SCHEDULE_CHUNKS_MAX];
	double activation[SCHEDULE_CHUNKS_MAX]; /* chosen, or the least that can be */
	struct device_option *best;
};

/* NOLINTBEGIN(misc-no-recursion): each level is a chunk */
static void choose_mix(struct choice *c, int64_t k, double extra)
{
	const struct walk *w = c->w;
	double budget, least;
	int64_t n;

	if (k == w->d->chunks) {
		c->best->extra = extra;
		memcpy(c->best->mix, c->mix, sizeof(c->best->mix));
		memcpy(c->best->layers, w->layers, sizeof(c->best->layers));
		return;
	}
	n = w->layers[k];
	budget = c->backward - base_backward(w, k) + PIPELINE_ROUNDING * c->backward;
	least = c->activation[k];
	for (size_t i = 0; i < w->m->count[n]; i++) {
		const struct mix *x = &w->m->of[n][i];

		/* equal ones come down to the first that was found */
		if (x->extra > budget || extra + x->extra >= c->best->extra * (1 - PIPELINE_ROUNDING))
			break;
		c->activation[k] = x->activation;
		c->mix[k] = x;
		if (fits(w, c->activation, w->total))
			choose_mix(c, k + 1, extra + x->extra);
	}
	c->activation[k] = least;
}
/* NOLINTEND(misc-no-recursion) */

static void take_extra(struct walk *w)
{
	struct choice c = {.w = w, .backward = w->bound - w->forward, .best = &w->out[w->total]};

	if (!(c.backward > 0))
		return;
	for (int64_t k = 0; k < w->d->chunks; k++) {
		double budget = c.backward - base_backward(w, k) + PIPELINE_ROUNDING * c.backward;
		const struct mix *x = mixes_within(w->m, w->layers[k], budget);

		if (!x)
			return;
		c.activation[k] = x->activation;
	}
	if (fits(w, c.activation, w->total))
		choose_mix(&c, 0, 0);
}

/* NOLINTBEGIN(misc-no-recursion): each level is a chunk */
static void share_out(struct walk *w, int64_t k, void (*take)(struct walk *w))
{
	double before = w->forward;

	if (k == w->d->chunks) {
		take(w);
		return;
	}
	for (int64_t n = w->d->least[k]; n <= w->m->most && w->total + n <= w->p->bodies[0].count; n++) {
		w->layers[k] = (int32_t)n;
		w->forward = fmax(before, w->d->end_forward[k] + (double)n * w->p->bodies[0].forward);
		if (w->forward + base_backward(w, k) > w->bound * (1 + PIPELINE_ROUNDING) ||
		    !fits_at_least(w, k + 1))
			break;
		w->total += n;
		share_out(w, k + 1, take);
		w->total -= n;
	}
	w->forward = before;
}

/* No more than this fit in all, whatever chunks from k on hold: each layer takes up at least what one of the
 * lightest chunk does, at every moment that can be the peak. */
static double most_in_all(const struct walk *w, int64_t k)
{
	double most = INFINITY;

	for (size_t i = 0; i < w->d->peak_count; i++) {
		const uint32_t *of = w->d->peaks[i].of;
		double rest =
		    w->d->room * (1 + PIPELINE_ROUNDING) - (double)w->total * w->p->bodies[0].parameters;
		uint32_t lightest = of[k];

		for (int64_t c = 0; c < k; c++)
			rest -= of[c] * w->layers[c] * w->m->least;
		for (int64_t c = k + 1; c < w->d->chunks; c++)
			lightest = of[c] < lightest ? of[c] : lightest;
		most = fmin(most, rest / (w->p->bodies[0].parameters + lightest * w->m->least));
	}
	return (double)w->total + floor(most);
}

static void count_most(struct walk *w, int64_t k)
{
	if (k == w->d->chunks) {
		w->best = w->total > w->best ? w->total : w->best;
		return;
	}
	if (most_in_all(w, k) <= (double)w->best)
		return;
	for (int64_t n = w->d->least[k];
	     w->total + n <= w->p->bodies[0].count && w->best < w->p->bodies[0].count; n++) {
		w->layers[k] = (int32_t)n;
		if (!fits_at_least(w, k + 1))
			break;
		w->total += n;
		count_most(w, k + 1);
		w->total -= n;
	}
}
/* NOLINTEND(misc-no-recursion) */

int64_t device_capacity(const struct pipeline_problem *p, const struct device *d, const struct mixes *m)
{
	struct walk w = {.p = p, .d = d, .m = m, .best = -1};

	count_most(&w, 0);
	return w.best;
}

void device_bottlenecks(const struct pipeline_problem *p, const struct device *d, const struct mixes *m,
                        double bound, struct device_option *out)
{
	struct walk w = {.p = p, .d = d, .m = m, .bound = bound, .out = out};

	for (int64_t n = 0; n <= p->bodies[0].count; n++)
		out[n].bottleneck = INFINITY;
	share_out(&w, 0, take_bottleneck);
}

void device_extras(const struct pipeline_problem *p, const struct device *d, const struct mixes *m,
                   double bottleneck, struct device_option *out)
{
	struct walk w = {.p = p, .d = d, .m = m, .bound = bottleneck, .out = out};

	for (int64_t n = 0; n <= p->bodies[0].count; n++)
		out[n].extra = INFINITY;
	share_out(&w, 0, take_extra);
}
