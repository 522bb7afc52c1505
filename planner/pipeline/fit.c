#include "planner/pipeline/fit.h"

#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"

struct fitter {
	const struct pipeline_problem *p;
	struct cells *cells;
	struct device *devices;
	int64_t count;
	int64_t *first; /* layer of each stage */
};

void fitter_free(struct fitter **at)
{
	struct fitter *f = *at;

	if (!f)
		return;
	devices_free(f->devices, f->count);
	cells_free(&f->cells);
	free(f->first);
	free(f);
	*at = NULL;
}

int fitter_open(const struct pipeline_problem *p, struct fitter **out, struct sb_error *err)
{
	FITTER_AUTO f = calloc(1, sizeof(*f));
	int rc = f ? devices_open(p, &f->devices, err) : SB_ENOMEM;

	if (rc != SB_OK && f)
		return rc;
	if (f) {
		f->p = p;
		f->count = device_count(p);
		f->first = malloc((size_t)schedule_stages(&p->shape) * sizeof(*f->first));
	}
	if (!f || !f->first || cells_open(p, &f->cells) != SB_OK)
		return sb_no_memory(err);
	*out = f;
	f = NULL;
	return SB_OK;
}

/* The stages of one device while their ways are chosen. */
struct fitting {
	const struct device *d;
	struct cell_ways ways[SCHEDULE_CHUNKS_MAX];
	size_t at[SCHEDULE_CHUNKS_MAX]; /* the way of each chunk */
	double room;
};

/* The moment that takes up most. */
static const struct in_flight *peak_of(const struct fitting *x, double *out)
{
	const struct in_flight *peak = NULL;

	*out = 0;
	for (size_t i = 0; i < x->d->peak_count; i++) {
		double sum = 0;

		for (int64_t k = 0; k < x->d->chunks; k++)
			sum += x->d->peaks[i].of[k] / x->d->units * x->ways[k].activation[x->at[k]];
		if (!peak || sum > *out) {
			peak = &x->d->peaks[i];
			*out = sum;
		}
	}
	return peak;
}

/* The chunk whose next way frees most at that moment for its time; -1 = all recompute what they can. */
static int64_t next_chunk(const struct fitting *x, const struct in_flight *peak)
{
	int64_t best = -1;
	double most = -1;

	for (int64_t k = 0; k < x->d->chunks; k++) {
		const struct cell_ways *w = &x->ways[k];
		size_t at = x->at[k];
		double freed;

		if (at + 1 >= w->count)
			continue;
		freed = peak->of[k] * (w->activation[at] - w->activation[at + 1]) /
		        (w->backward[at + 1] - w->backward[at]);
		if (freed > most) {
			best = k;
			most = freed;
		}
	}
	return best;
}

static bool fit_device(struct fitting *x)
{
	for (;;) {
		double sum;
		const struct in_flight *peak = peak_of(x, &sum);
		int64_t k;

		if (!peak || sum <= x->room)
			return true;
		k = next_chunk(x, peak);
		if (k < 0)
			return false;
		x->at[k]++;
	}
}

int fitter_plan(struct fitter *f, const int64_t *layers, struct pipeline_stage *out, int64_t *out_device)
{
	int64_t first = 0;

	for (int64_t i = 0; i < schedule_stages(&f->p->shape); i++) {
		f->first[i] = first;
		first += layers[i];
	}
	for (int64_t d = 0; d < f->count; d++) {
		struct fitting x = {.d = &f->devices[d],
		                    .room = f->devices[d].room * (1 + PIPELINE_ROUNDING / 2)};
		int rc = SB_OK;

		for (int64_t k = 0; k < x.d->chunks && rc == SB_OK; k++) {
			int64_t stage = x.d->stage[k];

			rc = cells_ways(f->cells, f->first[stage], layers[stage], &x.ways[k]);
			x.room -= cells_parameters(f->cells, f->first[stage], layers[stage]);
		}
		*out_device = rc == SB_OK && !fit_device(&x) ? d : -1;
		for (int64_t k = 0; k < x.d->chunks && rc == SB_OK; k++) {
			int64_t stage = x.d->stage[k];

			rc = cells_stage(f->cells, f->first[stage], layers[stage], x.at[k],
			                 &out[stage * f->p->body_count]);
		}
		if (rc != SB_OK || *out_device >= 0)
			return rc;
	}
	return SB_OK;
}
