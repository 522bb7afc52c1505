#include "planner/pipeline/ilp_model.h"

#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/rows.h"

#define COLUMNS_MAX 50000

void ilp_model_free(struct ilp_model *m)
{
	lp_free(&m->lp);
	free(m->layers);
	free(m->forward);
	free(m->backward);
}

static bool is_offered(const struct pipeline_body *b, int r)
{
	return isfinite(b->backward[r]) && isfinite(b->activation[r]);
}

static size_t column_of(const struct ilp_model *m, int64_t stage, int64_t body, int r)
{
	return m->layers[(stage * m->p->body_count + body) * PIPELINE_RECOMPUTES + r];
}

/* Adds the layers of one body in one stage, whatever they recompute. */
static void add_layers(struct ilp_model *m, int64_t stage, int64_t body, double weight)
{
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (is_offered(&m->p->bodies[body], r))
			lp_term(&m->lp, weight, column_of(m, stage, body, r));
}

static int add_columns(struct ilp_model *m)
{
	const struct pipeline_problem *p = m->p;
	size_t cells = (size_t)(m->stages * p->body_count);

	if (cells * PIPELINE_RECOMPUTES > COLUMNS_MAX)
		return SB_ELIMIT;
	m->layers = malloc(cells * PIPELINE_RECOMPUTES * sizeof(*m->layers));
	m->forward = malloc((size_t)m->stages * sizeof(*m->forward));
	m->backward = malloc((size_t)m->stages * sizeof(*m->backward));
	if (!m->layers || !m->forward || !m->backward)
		return SB_ENOMEM;
	for (size_t i = 0; i < cells; i++) {
		const struct pipeline_body *b = &p->bodies[i % (size_t)p->body_count];

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			m->layers[i * PIPELINE_RECOMPUTES + (size_t)r] =
			    is_offered(b, r) ? lp_column(&m->lp, true, (double)b->count) : SIZE_MAX;
	}
	return SB_OK;
}

static void add_counts(struct ilp_model *m)
{
	const struct pipeline_problem *p = m->p;

	for (int64_t b = 0; b < p->body_count; b++) {
		for (int64_t i = 0; i < m->stages; i++)
			add_layers(m, i, b, 1);
		lp_end(&m->lp, "=", (double)p->bodies[b].count);
	}
	for (int64_t i = 0; i < m->stages && !p->allow_empty; i++) {
		for (int64_t b = 0; b < p->body_count; b++)
			add_layers(m, i, b, 1);
		lp_end(&m->lp, ">=", 1);
	}
}

/* A body that has begun before a stage leaves it no layers of the body before. */
static void add_order(struct ilp_model *m)
{
	const struct pipeline_problem *p = m->p;

	for (int64_t b = 1; b < p->body_count; b++) {
		size_t before = SIZE_MAX;

		for (int64_t i = 1; i < m->stages; i++) {
			size_t begun = lp_column(&m->lp, true, 1);

			add_layers(m, i - 1, b, 1);
			lp_term(&m->lp, -(double)p->bodies[b].count, begun);
			lp_end(&m->lp, "<=", 0);
			add_layers(m, i, b - 1, 1);
			lp_term(&m->lp, (double)p->bodies[b - 1].count, begun);
			lp_end(&m->lp, "<=", (double)p->bodies[b - 1].count);
			if (before != SIZE_MAX) {
				lp_term(&m->lp, 1, before);
				lp_term(&m->lp, -1, begun);
				lp_end(&m->lp, "<=", 0);
			}
			before = begun;
		}
	}
}

static void add_memory(struct ilp_model *m, const struct device *d, double left)
{
	double scale = fabs(d->room) > 0 ? fabs(d->room) : 1;

	for (size_t at = 0; at < d->peak_count && !isinf(d->room); at++) {
		for (int64_t k = 0; k < d->chunks; k++)
			for (int64_t b = 0; b < m->p->body_count; b++)
				for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
					const struct pipeline_body *body = &m->p->bodies[b];
					double units = d->peaks[at].of[k] / d->units;

					if (is_offered(body, r))
						lp_term(&m->lp,
						        (pipeline_fixed_bytes(m->p, body) +
						         units * body->activation[r]) /
						            scale,
						        column_of(m, d->stage[k], b, r));
				}
		lp_end(&m->lp, "<=", d->room / scale - left);
	}
}

static void add_times(struct ilp_model *m)
{
	const struct pipeline_problem *p = m->p;

	for (int64_t i = 0; i < m->stages; i++) {
		bool first = i == 0, last = i == m->stages - 1;
		double forward = (first ? p->head.forward : 0) + (last ? p->tail.forward : 0);
		double backward = (first ? p->head.backward : 0) + (last ? p->tail.backward : 0);

		m->forward[i] = lp_column(&m->lp, false, INFINITY);
		m->backward[i] = lp_column(&m->lp, false, INFINITY);
		for (int64_t b = 0; b < p->body_count; b++)
			add_layers(m, i, b, -p->bodies[b].forward / m->q->unit);
		lp_term(&m->lp, 1, m->forward[i]);
		lp_end(&m->lp, "=", forward / m->q->unit);
		for (int64_t b = 0; b < p->body_count; b++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
				if (is_offered(&p->bodies[b], r))
					lp_term(&m->lp, -p->bodies[b].backward[r] / m->q->unit,
					        column_of(m, i, b, r));
		lp_term(&m->lp, 1, m->backward[i]);
		lp_end(&m->lp, "=", backward / m->q->unit);
	}
}

/* A column that is no less than another one. */
static void at_least(struct ilp_model *m, size_t column, size_t than)
{
	lp_term(&m->lp, 1, column);
	lp_term(&m->lp, -1, than);
	lp_end(&m->lp, ">=", 0);
}

/* The column of the bottleneck. */
static size_t add_bottleneck(struct ilp_model *m)
{
	size_t bottleneck = lp_column(&m->lp, false, INFINITY);

	for (int64_t d = 0; d < device_count(m->p); d++) {
		const struct device *device = &m->q->devices[d];
		size_t forward = lp_column(&m->lp, false, INFINITY),
		       backward = lp_column(&m->lp, false, INFINITY);

		for (int64_t k = 0; k < device->chunks; k++) {
			at_least(m, forward, m->forward[device->stage[k]]);
			at_least(m, backward, m->backward[device->stage[k]]);
		}
		lp_term(&m->lp, 1, bottleneck);
		lp_term(&m->lp, -1, forward);
		lp_term(&m->lp, -1, backward);
		lp_end(&m->lp, ">=", 0);
	}
	return bottleneck;
}

static void add_row_terms(struct ilp_model *m, const struct pipeline_row *row)
{
	const struct pipeline_problem *p = m->p;

	/* a column stands in a row once, with the sum of its weights */
	for (int64_t i = 0; i < m->stages; i++)
		for (int64_t b = 0; b < p->body_count; b++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
				double weight = 0;

				for (size_t t = 0; t < row->count; t++) {
					const struct pipeline_term *x = &row->terms[t];

					if ((x->body < 0 || x->body == b) &&
					    (x->recompute < 0 || x->recompute == r) &&
					    rows_counts_stage(p, x, i))
						weight += x->weight;
				}
				if (is_offered(&p->bodies[b], r))
					lp_term(&m->lp, weight, column_of(m, i, b, r));
			}
}

/* A row that counts nothing is 0: bounds that forbid that forbid every plan, and a column of 0 says so. */
static void add_row(struct ilp_model *m, const struct pipeline_row *row)
{
	const double bounds[] = {row->at_least, row->at_most};

	for (int i = 0; i < 2; i++) {
		if (isinf(bounds[i]))
			continue;
		add_row_terms(m, row);
		if (m->lp.terms == 0)
			lp_term(&m->lp, 1, lp_column(&m->lp, false, 0));
		lp_end(&m->lp, i == 0 ? ">=" : "<=", bounds[i]);
	}
}

int ilp_model_build(const struct ilp_request *q, double left, struct ilp_model *m, struct sb_buf *out)
{
	size_t objective;
	int rc;

	*m = (struct ilp_model){.p = q->p, .q = q, .stages = schedule_stages(&q->p->shape)};
	lp_init(&m->lp);
	rc = add_columns(m);
	if (rc != SB_OK)
		return rc;
	add_counts(m);
	add_order(m);
	for (int64_t d = 0; d < device_count(q->p); d++)
		add_memory(m, &q->devices[d], left);
	add_times(m);
	objective = add_bottleneck(m);
	for (int64_t i = 0; i < q->p->row_count; i++)
		add_row(m, &q->p->rows[i]);
	if (q->whole)
		objective = ilp_model_whole(m, objective);
	lp_term(&m->lp, 1, objective);
	lp_end(&m->lp, ">=", q->lower_bound / q->unit * (1 - PIPELINE_ROUNDING));
	return lp_text(&m->lp, objective, out);
}
