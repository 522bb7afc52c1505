#include "planner/pipeline/rows.h"

#include <math.h>

bool rows_counts_stage(const struct pipeline_problem *p, const struct pipeline_term *t, int64_t stage)
{
	int64_t device = schedule_device(&p->shape, stage, false);

	if (t->device >= 0 && t->device != device)
		return false;
	return t->chunk < 0 || schedule_stage(&p->shape, device, t->chunk) == stage;
}

static double sum_of(const struct pipeline_problem *p, const struct pipeline_row *row,
                     const struct pipeline_stage *plan)
{
	double sum = 0;

	for (size_t t = 0; t < row->count; t++) {
		const struct pipeline_term *x = &row->terms[t];

		for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
			for (int64_t b = 0; b < p->body_count && rows_counts_stage(p, x, i); b++)
				for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
					if ((x->body < 0 || x->body == b) &&
					    (x->recompute < 0 || x->recompute == r))
						sum +=
						    x->weight * (double)plan[i * p->body_count + b].layers[r];
	}
	return sum;
}

bool rows_hold(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	for (int64_t i = 0; i < p->row_count; i++) {
		const struct pipeline_row *row = &p->rows[i];
		double sum = sum_of(p, row, plan), slack = PIPELINE_ROUNDING * fabs(sum);

		if (sum < row->at_least - slack || sum > row->at_most + slack)
			return false;
	}
	return true;
}

/* Is it a row of one stage's layers, whatever they recompute? */
static bool is_of_stage(const struct pipeline_problem *p, const struct pipeline_row *row, int64_t stage)
{
	const struct pipeline_term *t = row->terms;

	return row->count == 1 && p->body_count == 1 && t->weight > 0 && t->recompute < 0 && t->device >= 0 &&
	       (t->chunk >= 0 || schedule_stages(&p->shape) <= p->shape.devices) &&
	       rows_counts_stage(p, t, stage);
}

void rows_bound_stage(const struct pipeline_problem *p, int64_t stage, int64_t *out_least, int64_t *out_most)
{
	double least = p->allow_empty ? 0 : 1, most = (double)pipeline_layers(p);

	for (int64_t i = 0; i < p->row_count; i++) {
		const struct pipeline_row *row = &p->rows[i];

		if (!is_of_stage(p, row, stage))
			continue;
		least = fmax(least, ceil(row->at_least / row->terms->weight - PIPELINE_ROUNDING));
		most = fmin(most, floor(row->at_most / row->terms->weight + PIPELINE_ROUNDING));
	}
	/* more than all: no plan can */
	*out_least = (int64_t)fmin(least, (double)pipeline_layers(p) + 1);
	*out_most = (int64_t)fmax(most, -1);
}

void rows_forbid(const struct pipeline_problem *p, struct pipeline_body *bodies)
{
	for (int64_t i = 0; i < p->row_count; i++) {
		const struct pipeline_row *row = &p->rows[i];
		bool forbids = row->at_most == 0;

		for (size_t t = 0; t < row->count; t++)
			forbids = forbids && row->terms[t].weight > 0;
		for (size_t t = 0; forbids && t < row->count; t++) {
			const struct pipeline_term *x = &row->terms[t];

			for (int64_t b = 0; b < p->body_count; b++)
				if ((x->body < 0 || x->body == b) && x->device < 0 && x->chunk < 0 &&
				    x->recompute >= 0)
					/* its backward still tells what splitting and pairs make of the
					 * others */
					bodies[b].activation[x->recompute] = NAN;
		}
	}
}
