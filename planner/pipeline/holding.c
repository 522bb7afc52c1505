#include "planner/pipeline/holding.h"

#include <math.h>

#include "base/search.h"

int holding_set(struct holding *h, struct cells *c, int64_t k, int64_t first, int64_t count)
{
	struct held *x = &h->chunk[k];

	x->first = first;
	x->count = count;
	x->forward = h->device->end_forward[k] + cells_forward(c, first, count);
	x->end_backward = h->device->end_backward[k];
	x->parameters = cells_parameters(c, first, count);
	return cells_ways(c, first, count, &x->ways);
}

double held_backward(const struct held *x)
{
	return x->ways.count > 0 ? x->end_backward + x->ways.backward[0] : INFINITY;
}

static double parameters_of(const struct holding *h, int64_t chunks)
{
	double sum = 0;

	for (int64_t k = 0; k < chunks; k++)
		sum += h->chunk[k].parameters;
	return sum;
}

bool holding_fits(const struct holding *h, int64_t chosen, struct lightest rest)
{
	double activation[SCHEDULE_CHUNKS_MAX];
	const struct device *d = h->device;
	double parameters = parameters_of(h, chosen);

	for (int64_t k = 0; k < d->chunks; k++) {
		const struct cell_ways *w = &h->chunk[k].ways;
		double least = (double)d->least[k];

		if (k < chosen && w->count == 0)
			return false;
		if (k < chosen) {
			activation[k] = w->activation[w->count - 1];
			continue;
		}
		activation[k] = least > 0 ? least * rest.activation : 0;
		parameters += least > 0 ? least * rest.parameters : 0;
	}
	return device_fits(d, activation, parameters);
}

/* Which way takes at most so long in backward and keeps least; -1 = none. */
static int64_t way_by_time(const struct held *x, double backward)
{
	double budget = backward - x->end_backward + PIPELINE_ROUNDING * backward;
	size_t at = SB_BISECT(i, 0, x->ways.count, x->ways.backward[i] <= budget);

	return (int64_t)at - 1;
}

/* Does it fit when each chunk's backward takes at most this long, and keeps as little as it can? */
static bool fits_within(const struct holding *h, double parameters, double backward,
                        double activation[SCHEDULE_CHUNKS_MAX])
{
	for (int64_t k = 0; k < h->device->chunks; k++) {
		int64_t way = way_by_time(&h->chunk[k], backward);

		if (way < 0)
			return false;
		activation[k] = h->chunk[k].ways.activation[way];
	}
	return device_fits(h->device, activation, parameters);
}

static bool suffices(const struct holding *h, double parameters, double least, double backward)
{
	double activation[SCHEDULE_CHUNKS_MAX];

	return backward >= least && fits_within(h, parameters, backward, activation);
}

/* The least backward of the largest chunk with which all fits: it is one that some chunk takes exactly. */
static double least_backward(const struct holding *h, double bound)
{
	double activation[SCHEDULE_CHUNKS_MAX], least = 0, found = INFINITY;
	double parameters = parameters_of(h, h->device->chunks);

	for (int64_t k = 0; k < h->device->chunks; k++)
		least = fmax(least, held_backward(&h->chunk[k]));
	if (fits_within(h, parameters, least, activation))
		return least;
	if (!fits_within(h, parameters, bound, activation))
		return INFINITY;
	for (int64_t k = 0; k < h->device->chunks; k++) {
		const struct held *x = &h->chunk[k];
		size_t at = SB_BISECT(i, 0, x->ways.count,
		                      !suffices(h, parameters, least, x->end_backward + x->ways.backward[i]));

		if (at < x->ways.count)
			found = fmin(found, x->end_backward + x->ways.backward[at]);
	}
	return found;
}

static double longest_forward(const struct holding *h)
{
	double forward = 0;

	for (int64_t k = 0; k < h->device->chunks; k++)
		forward = fmax(forward, h->chunk[k].forward);
	return forward;
}

double holding_bottleneck(const struct holding *h, double bound)
{
	double forward = longest_forward(h), all;

	if (bound < forward)
		return INFINITY;
	all = forward + least_backward(h, bound - forward);
	return all <= bound * (1 + PIPELINE_ROUNDING) ? all : INFINITY;
}

/* The ways of the chunks, one after the other: those that recompute least come first. */
struct choice {
	struct holding *h;
	double backward; /* that each chunk may take */
	double parameters;
	size_t way[SCHEDULE_CHUNKS_MAX];
	double activation[SCHEDULE_CHUNKS_MAX]; /* chosen, or the least that can be */
	double best;
};

/* NOLINTBEGIN(misc-no-recursion): each level is a chunk */
static void choose_way(struct choice *c, int64_t k, double extra)
{
	const struct device *d = c->h->device;
	const struct held *x = &c->h->chunk[k];
	double budget, least;

	if (k == d->chunks) {
		c->best = extra;
		for (int64_t j = 0; j < d->chunks; j++)
			c->h->chunk[j].way = c->way[j];
		return;
	}
	budget = c->backward - x->end_backward + PIPELINE_ROUNDING * c->backward;
	least = c->activation[k];
	for (size_t i = 0; i < x->ways.count; i++) {
		double more = x->ways.backward[i] - x->ways.backward[0];

		/* equal ones come down to the first that was found */
		if (x->ways.backward[i] > budget || extra + more >= c->best * (1 - PIPELINE_ROUNDING))
			break;
		c->activation[k] = x->ways.activation[i];
		c->way[k] = i;
		if (device_fits(d, c->activation, c->parameters))
			choose_way(c, k + 1, extra + more);
	}
	c->activation[k] = least;
}
/* NOLINTEND(misc-no-recursion) */

double holding_extra(struct holding *h, double bottleneck, double best)
{
	struct choice c = {.h = h,
	                   .backward = bottleneck - longest_forward(h),
	                   .parameters = parameters_of(h, h->device->chunks),
	                   .best = best};

	if (c.backward < -PIPELINE_ROUNDING * bottleneck)
		return INFINITY;
	if (fits_within(h, c.parameters, c.backward, c.activation))
		choose_way(&c, 0, 0);
	return c.best < best ? c.best : INFINITY;
}
