#include <math.h>
#include <string.h>

#include "base/search.h"
#include "planner/pipeline/relax.h"

/* Of a run's points the one that is cheapest by these prices. */
static int32_t cheapest(const struct hull *h, double backward, double activation)
{
	return SB_BISECT(i, 0, h->count - 1,
	                 backward * (h->backward[i + 1] - h->backward[i]) <
	                     activation * (h->activation[i] - h->activation[i + 1]));
}

/* The prices of the runs of low to high layers from `first` on in a stage, their hops left out. */
static void price_runs(struct relaxation *r, const struct price *price, int64_t stage, int64_t first,
                       int64_t low, int64_t high)
{
	const struct drafts *s = r->s;
	const struct device *d = &s->devices[s->device[stage]];
	const struct price w = *price;
	const double end_forward = d->end_forward[s->chunk[stage]];
	const double end_backward = d->end_backward[s->chunk[stage]];
	const double activation = r->single ? 0 : r->activation_price[stage];
	const double parameter = r->single ? 0 : r->parameter_price[stage];
	const double forward = r->forward[first], saved = s->saved[first], weighs = s->weight[first];
	const double parameters = r->parameters[first];
	const bool splits = s->splits;
	const double *restrict least = &r->least[relax_cell(r, stage, first, 0)];
	double *restrict value = &r->value[relax_cell(r, stage, first, 0)];

	for (int64_t n = low; n <= high; n++) {
		int64_t end = first + n;
		double backward = least[n], weight = 0;
		double sum = w.forward * (r->forward[end] - forward + end_forward) -
		             w.saved * (s->saved[end] - saved) / 2;

		if (isinf(backward)) {
			value[n] = INFINITY;
			continue;
		}
		if (activation > 0) {
			const struct hull *h = &r->hulls[relax_hull(r, first, n)];
			int32_t at = cheapest(h, w.backward, activation);

			backward = h->backward[at] + end_backward;
			sum += activation * h->activation[at];
		}
		if (parameter > 0)
			sum += parameter * (r->parameters[end] - parameters);
		if (splits)
			weight = fmin(s->weight[end] - weighs + end_backward / 2, fmin(least[n], backward));
		value[n] = sum + w.backward * (backward - weight) + w.weight * weight;
	}
}

static void fill_values(struct relaxation *r, const struct price *price)
{
	int64_t layers = r->s->layers, last = r->s->stages - 1;
	bool one = r->s->p->body_count == 1;

	for (int64_t i = 0; i <= last; i++) {
		struct relax_range range = relax_range(r, i);
		const double *same = &r->value[relax_cell(r, i, range.low, 0)];

		for (int64_t j = range.low; j <= range.high; j++) {
			int64_t most = layers - j < r->most ? layers - j : r->most;
			double *value = &r->value[relax_cell(r, i, j, 0)];

			if (one && j > range.low)
				memcpy(&value[range.least], &same[range.least],
				       (size_t)(most - range.least + 1) * sizeof(*value));
			else
				price_runs(r, &price[i], i, j, range.least, most);
		}
	}
}

/* Ways to each point from those to the points before. */
static void walk_ahead(struct relaxation *r, const struct price *price)
{
	int64_t layers = r->s->layers, last = r->s->stages - 1;
	size_t points = relax_point(r, last + 1, layers) + 1;

	for (size_t i = 0; i < points; i++)
		r->ahead[i] = INFINITY;
	r->ahead[0] = 0;
	for (int64_t i = 0; i <= last; i++) {
		struct relax_range range = relax_range(r, i);

		for (int64_t j = range.low; j <= range.high; j++) {
			int64_t most = layers - j < r->most ? layers - j : r->most;
			double here = r->ahead[relax_point(r, i, j)];
			size_t cell = relax_cell(r, i, j, 0), to = relax_point(r, i + 1, j);
			const double *hop = &r->hop[relax_point(r, i, j)];

			for (int64_t n = isinf(here) ? most + 1 : range.least; n <= most; n++) {
				double sum = here + r->value[cell + (size_t)n] + price[i].send * hop[n];

				if (sum >= r->ahead[to + (size_t)n] || r->struck[cell + (size_t)n])
					continue;
				r->ahead[to + (size_t)n] = sum;
				r->from[to + (size_t)n] = (int32_t)n;
			}
		}
	}
}

static void walk_behind(struct relaxation *r, const struct price *price)
{
	int64_t layers = r->s->layers, last = r->s->stages - 1;
	size_t points = relax_point(r, last + 1, layers) + 1;

	for (size_t i = 0; i < points; i++)
		r->behind[i] = INFINITY;
	r->behind[points - 1] = 0;
	for (int64_t i = last; i >= 0; i--) {
		struct relax_range range = relax_range(r, i);

		for (int64_t j = range.low; j <= range.high; j++) {
			int64_t most = layers - j < r->most ? layers - j : r->most;
			size_t cell = relax_cell(r, i, j, 0), to = relax_point(r, i + 1, j);
			const double *hop = &r->hop[relax_point(r, i, j)];
			double least = INFINITY;

			for (int64_t n = range.least; n <= most; n++) {
				double sum = r->behind[to + (size_t)n] + r->value[cell + (size_t)n] +
				             price[i].send * hop[n];

				if (sum < least && !r->struck[cell + (size_t)n])
					least = sum;
			}
			r->behind[relax_point(r, i, j)] = least;
		}
	}
}

/* What all devices' memory is worth. */
static double worth_of_memory(const struct relaxation *r)
{
	double sum = 0;

	for (int64_t d = 0; d < r->s->device_count; d++)
		for (size_t q = r->moment[d]; q < r->moment[d + 1]; q++)
			if (r->memory_price[q] > 0)
				sum += r->memory_price[q] * r->s->devices[d].room * (1 + PIPELINE_ROUNDING);
	return sum;
}

double relax_price(struct relaxation *r, const struct price *price)
{
	fill_values(r, price);
	walk_ahead(r, price);
	return r->ahead[relax_point(r, r->s->stages, r->s->layers)] - worth_of_memory(r);
}

int relax_draft(struct relaxation *r, const struct price *price, struct draft_stage *out)
{
	struct drafts *s = r->s;
	int64_t end = s->layers;
	int rc = SB_OK;

	for (int64_t i = s->stages - 1; i >= 0 && rc == SB_OK; i--) {
		int64_t count = r->from[relax_point(r, i + 1, end)], first = end - count, way;
		struct cell_ways w;

		rc = cells_ways(s->cells, first, count, &w);
		if (rc != SB_OK)
			break;
		way = cells_way_within(&w,
		                       stage_limit(&r->limits[i], r->parameters[end] - r->parameters[first]));
		if (!r->single && r->activation_price[i] > 0) {
			const struct hull *h = &r->hulls[relax_hull(r, first, count)];

			way = h->way[cheapest(h, price[i].backward, r->activation_price[i])];
		}
		rc = draft_set(s, i, first, count, way, &out[i]);
		end = first;
	}
	return rc;
}

void relax_behind(struct relaxation *r, const struct price *price)
{
	memset(r->activation_price, 0, (size_t)r->s->stages * sizeof(*r->activation_price));
	memset(r->parameter_price, 0, (size_t)r->s->stages * sizeof(*r->parameter_price));
	fill_values(r, price);
	walk_behind(r, price);
}

bool relax_strike(struct relaxation *r, const struct price *price, double bound)
{
	int64_t layers = r->s->layers, last = r->s->stages - 1;
	/* a draft that is quicker by less is as quick */
	double most = bound * (1 - PIPELINE_ROUNDING);

	relax_behind(r, price);
	walk_ahead(r, price);
	for (int64_t i = 0; i <= last; i++) {
		struct relax_range range = relax_range(r, i);

		for (int64_t j = range.low; j <= range.high; j++) {
			int64_t high = layers - j < r->most ? layers - j : r->most;
			double here = r->ahead[relax_point(r, i, j)];
			size_t cell = relax_cell(r, i, j, 0), to = relax_point(r, i + 1, j);
			const double *hop = &r->hop[relax_point(r, i, j)];

			for (int64_t n = range.least; n <= high; n++)
				if (here + r->value[cell + (size_t)n] + price[i].send * hop[n] +
				        r->behind[to + (size_t)n] >=
				    most)
					r->struck[cell + (size_t)n] = 1;
		}
	}
	return r->ahead[relax_point(r, last + 1, layers)] >= most;
}

/* What a moment needs beyond the room of its device. */
static double missing(struct relaxation *r, const struct draft_stage *draft, const struct device *d, size_t q)
{
	double sum = -d->room;

	for (int64_t k = 0; k < d->chunks; k++) {
		const struct draft_stage *x = &draft[d->stage[k]];
		struct cell_ways w;

		if (cells_ways(r->s->cells, x->first, x->count, &w) != SB_OK)
			return 0;
		sum += r->parameters[x->first + x->count] - r->parameters[x->first] +
		       d->peaks[q].of[k] / d->units * w.activation[x->way];
	}
	return sum;
}

static void spread_memory_price(struct relaxation *r)
{
	const struct drafts *s = r->s;

	for (int64_t i = 0; i < s->stages; i++) {
		const struct device *d = &s->devices[s->device[i]];
		double activation = 0, parameters = 0;

		for (size_t q = 0; q < d->peak_count; q++) {
			double price = r->memory_price[r->moment[s->device[i]] + q];

			parameters += price;
			activation += price * d->peaks[q].of[s->chunk[i]] / d->units;
		}
		r->activation_price[i] = activation;
		r->parameter_price[i] = parameters;
	}
}

/* A subgradient step of Polyak's length. */
void relax_turn_memory(struct relaxation *r, const struct draft_stage *draft, double step)
{
	const struct drafts *s = r->s;
	double squares = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (int64_t d = 0; d < s->device_count; d++) {
			for (size_t q = 0; q < s->devices[d].peak_count; q++) {
				double *price = &r->memory_price[r->moment[d] + q];
				double more = missing(r, draft, &s->devices[d], q);

				if (isinf(more) || (more <= 0 && *price <= 0))
					continue;
				if (pass == 0)
					squares += more * more;
				else if (squares > 0)
					*price = fmax(0, *price + step * more / squares);
			}
		}
	}
	spread_memory_price(r);
}
