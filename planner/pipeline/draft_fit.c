#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/draft.h"

/* Ways of a chunk that are weighed when memory is short; of more, every so many. */
#define STEPS 256

/* Rounding alone passes no bound. */
static double room_of(const struct device *d)
{
	return isinf(d->room) ? d->room : d->room + PIPELINE_ROUNDING / 2 * fabs(d->room);
}

/* How much of a chunk is in flight, in micro-batches. */
static double flying(const struct device *d, size_t moment, int64_t k)
{
	return d->peaks[moment].of[k] / d->units;
}

static double activation_of(struct drafts *s, const struct draft_stage *x)
{
	struct cell_ways ways;

	return cells_ways(s->cells, x->first, x->count, &ways) == SB_OK ? ways.activation[x->way] : INFINITY;
}

double draft_limit(struct drafts *s, const struct draft_stage *draft, int64_t stage, double parameters)
{
	const struct device *d = &s->devices[s->device[stage]];
	double rest = room_of(d) - parameters, limit = INFINITY, keeps[SCHEDULE_CHUNKS_MAX];

	for (int64_t k = 0; k < d->chunks; k++) {
		int64_t i = d->stage[k];

		keeps[k] = 0;
		if (i == stage)
			continue;
		if (i < stage) {
			keeps[k] = activation_of(s, &draft[i]);
			rest -= cells_parameters(s->cells, draft[i].first, draft[i].count);
		} else {
			keeps[k] = (double)d->least[k] * s->lightest.activation;
			rest -= (double)d->least[k] * s->lightest.parameters;
		}
	}
	if (rest < 0)
		return -INFINITY;
	for (size_t q = 0; q < d->peak_count; q++) {
		double own = flying(d, q, s->chunk[stage]), left = rest;

		for (int64_t k = 0; k < d->chunks; k++)
			left -= flying(d, q, k) * keeps[k];
		if (left < 0)
			return -INFINITY;
		if (own > 0)
			limit = fmin(limit, left / own);
	}
	return limit;
}

static int by_own(const void *a, const void *b)
{
	const struct limit_moment *x = a, *y = b;

	if (x->own != y->own)
		return x->own < y->own ? -1 : 1;
	return (x->others > y->others) - (x->others < y->others);
}

/* Only moments on the upper hull ever bind: rest - others falls with own in a straight line. */
static size_t keep_hull(struct limit_moment *m, size_t count)
{
	size_t kept = 0;

	qsort(m, count, sizeof(*m), by_own);
	for (size_t i = 0; i < count; i++) {
		while (kept > 0 && m[kept - 1].others <= m[i].others)
			kept--;
		while (kept > 1 &&
		       (m[kept - 1].others - m[kept - 2].others) * (m[i].own - m[kept - 2].own) <=
		           (m[i].others - m[kept - 2].others) * (m[kept - 1].own - m[kept - 2].own))
			kept--;
		m[kept++] = m[i];
	}
	return kept;
}

int stage_limit_open(struct drafts *s, int64_t stage, struct stage_limit *out)
{
	const struct device *d = &s->devices[s->device[stage]];
	struct stage_limit l = {.room = room_of(d)};

	l.moments = calloc(d->peak_count + 1, sizeof(*l.moments));
	if (!l.moments)
		return SB_ENOMEM;
	for (int64_t k = 0; k < d->chunks; k++) {
		bool own = d->stage[k] == stage;

		l.parameters += own ? 0 : (double)d->least[k] * s->lightest.parameters;
		for (size_t q = 0; q < d->peak_count; q++) {
			if (own)
				l.moments[q].own = flying(d, q, k);
			else
				l.moments[q].others +=
				    flying(d, q, k) * (double)d->least[k] * s->lightest.activation;
		}
	}
	l.count = keep_hull(l.moments, d->peak_count);
	*out = l;
	return SB_OK;
}

double stage_limit(const struct stage_limit *l, double parameters)
{
	double rest = l->room - parameters - l->parameters, limit = INFINITY;

	if (rest < 0)
		return -INFINITY;
	for (size_t q = 0; q < l->count; q++) {
		const struct limit_moment *m = &l->moments[q];

		if (rest < m->others)
			return -INFINITY;
		if (m->own > 0)
			limit = fmin(limit, (rest - m->others) / m->own);
	}
	return limit;
}

void stage_limit_free(struct stage_limit *l)
{
	free(l->moments);
	l->moments = NULL;
}

/* The stages of one device while their ways are chosen. */
struct fit {
	struct drafts *s;
	const struct device *d;
	struct cell_ways ways[SCHEDULE_CHUNKS_MAX];
	double price[SCHEDULE_CHUNKS_MAX]; /* of a unit of backward */
	int64_t way[SCHEDULE_CHUNKS_MAX];
	double rest; /* bytes for activations */
};

/* What a moment needs beyond the room. */
static double missing(const struct fit *f, size_t moment)
{
	double sum = -f->rest;

	f->s->work += (double)f->d->chunks;
	for (int64_t k = 0; k < f->d->chunks; k++)
		sum += flying(f->d, moment, k) * f->ways[k].activation[f->way[k]];
	return sum;
}

/* One chunk recomputes more: the one, and as much more, that costs least for what it frees in that moment. */
static bool recompute_more(struct fit *f, size_t moment, double needed)
{
	double best = INFINITY;
	int64_t chunk = -1, way = 0;

	for (int64_t k = 0; k < f->d->chunks; k++) {
		const struct cell_ways *w = &f->ways[k];
		double units = flying(f->d, moment, k);

		f->s->work += 2 * (double)(w->count < STEPS ? w->count : STEPS);
		for (size_t i = (size_t)f->way[k] + 1; units > 0 && i < w->count; i += 1 + w->count / STEPS) {
			double freed = units * (w->activation[f->way[k]] - w->activation[i]);
			double cost =
			    f->price[k] * (w->backward[i] - w->backward[f->way[k]]) / fmin(freed, needed);

			if (cost >= best)
				continue;
			best = cost;
			chunk = k;
			way = (int64_t)i;
		}
		/* what is left out above may be all that helps */
		if (chunk < 0 && units > 0 && f->way[k] + 1 < (int64_t)w->count) {
			chunk = k;
			way = (int64_t)w->count - 1;
		}
	}
	if (chunk >= 0)
		f->way[chunk] = way;
	return chunk >= 0;
}

/* Each chunk recomputes no more than the others force it to; the dearest first. */
static void recompute_less(struct fit *f)
{
	bool done[SCHEDULE_CHUNKS_MAX] = {false};

	for (int64_t n = 0; n < f->d->chunks; n++) {
		int64_t chunk = -1, way;
		double limit = INFINITY;

		for (int64_t k = 0; k < f->d->chunks; k++)
			if (!done[k] && (chunk < 0 || f->price[k] > f->price[chunk]))
				chunk = k;
		done[chunk] = true;
		for (size_t q = 0; q < f->d->peak_count; q++) {
			double units = flying(f->d, q, chunk);

			if (units > 0)
				limit = fmin(limit, f->ways[chunk].activation[f->way[chunk]] -
				                        missing(f, q) / units);
		}
		way = cells_way_within(&f->ways[chunk], limit);
		if (way >= 0 && way < f->way[chunk])
			f->way[chunk] = way;
	}
}

static bool fit_ways(struct fit *f)
{
	/* each turn takes some chunk a step on; with rounding there may be one more */
	for (int turn = 0; turn < 2 * STEPS * SCHEDULE_CHUNKS_MAX; turn++) {
		size_t worst = 0;
		double most = -INFINITY;

		for (size_t q = 0; q < f->d->peak_count; q++) {
			double here = missing(f, q);

			if (here > most) {
				most = here;
				worst = q;
			}
		}
		if (most <= 0) {
			recompute_less(f);
			return true;
		}
		if (!recompute_more(f, worst, most))
			return false;
	}
	return false;
}

int draft_fit(struct drafts *s, struct draft_stage *draft, int64_t device, const struct price *price,
              bool *out_fits)
{
	const struct device *d = &s->devices[device];
	struct fit f = {.s = s, .d = d, .rest = room_of(d)};
	int rc = SB_OK;

	for (int64_t k = 0; k < d->chunks && rc == SB_OK; k++) {
		const struct draft_stage *x = &draft[d->stage[k]];

		/* what is on no path now may be on the next one */
		f.price[k] = price[d->stage[k]].backward + 1e-3 * (double)s->p->shape.micro_batches;
		f.rest -= cells_parameters(s->cells, x->first, x->count);
		rc = cells_ways(s->cells, x->first, x->count, &f.ways[k]);
	}
	if (rc != SB_OK)
		return rc;
	*out_fits = f.rest >= 0 && (isinf(f.rest) || fit_ways(&f));
	for (int64_t k = 0; k < d->chunks && rc == SB_OK && *out_fits; k++) {
		struct draft_stage *x = &draft[d->stage[k]];

		rc = draft_set(s, d->stage[k], x->first, x->count, f.way[k], x);
	}
	return rc;
}
