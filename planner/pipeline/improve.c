#include "planner/pipeline/improve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/holding.h"
#include "planner/pipeline/rows.h"
#include "planner/pipeline/whole.h"

/* Stages that are weighed again: about a second. */
#define STEPS_MAX 2e5

/* What is better comes first: fewer layers on devices that do not fit, less value, less spread. */
struct score {
	int64_t unfit;
	double value, spread;
};

struct improver {
	const struct pipeline_problem *p;
	const struct device *devices;
	struct cells *cells;
	enum improve_by by;
	int64_t count, stages;
	int64_t *least, *most;      /* layers, [stages] */
	int64_t *cut;               /* [stages + 1] */
	size_t *way;                /* [stages] */
	double *bottleneck;         /* [devices]; INFINITY = it does not fit */
	struct pipeline_load *load; /* [stages]: times only */
	double steps;
	int64_t tried;
	int rc;
};

static void improver_free(struct improver *m)
{
	free(m->least);
	free(m->most);
	free(m->cut);
	free(m->way);
	free(m->bottleneck);
	free(m->load);
}

/* The best ways of one device for its cuts. */
static void weigh_device(struct improver *m, int64_t d)
{
	struct holding h = {.device = &m->devices[d]};
	bool fits = true;

	m->steps += (double)h.device->chunks;
	for (int64_t k = 0; k < h.device->chunks && m->rc == SB_OK; k++) {
		int64_t i = h.device->stage[k];

		m->rc = holding_set(&h, m->cells, k, m->cut[i], m->cut[i + 1] - m->cut[i]);
		fits = fits && h.chunk[k].ways.count > 0;
	}
	m->bottleneck[d] = INFINITY;
	if (m->rc != SB_OK || !fits)
		return;
	if (m->by != IMPROVE_WHOLE)
		m->bottleneck[d] = holding_bottleneck(&h, INFINITY);
	else if (!isinf(holding_extra(&h, INFINITY, INFINITY)))
		m->bottleneck[d] = 0;
	for (int64_t k = 0; k < h.device->chunks; k++) {
		const struct held *x = &h.chunk[k];

		m->way[h.device->stage[k]] = x->way;
		m->load[h.device->stage[k]] = (struct pipeline_load){
		    .forward = x->forward, .backward = x->end_backward + x->ways.backward[x->way]};
	}
}

static struct score score_of(const struct improver *m)
{
	struct score s = {0};

	for (int64_t d = 0; d < m->count; d++) {
		if (isinf(m->bottleneck[d])) {
			for (int64_t k = 0; k < m->devices[d].chunks; k++)
				s.unfit +=
				    m->cut[m->devices[d].stage[k] + 1] - m->cut[m->devices[d].stage[k]] + 1;
			continue;
		}
		s.value = fmax(s.value, m->bottleneck[d]);
		s.spread += m->bottleneck[d] * m->bottleneck[d];
	}
	if (m->by == IMPROVE_WHOLE)
		s.value = whole_value(m->p, m->load);
	return s;
}

static bool is_better(const struct score *a, const struct score *b)
{
	if (a->unfit != b->unfit)
		return a->unfit < b->unfit;
	if (fabs(a->value - b->value) > PIPELINE_ROUNDING * fabs(b->value))
		return a->value < b->value;
	return a->spread < b->spread * (1 - PIPELINE_ROUNDING);
}

/* Moves one layer from a stage to another: all stages between pass one on. */
static void move(struct improver *m, int64_t from, int64_t to)
{
	int64_t low = from < to ? from : to, high = from < to ? to : from;

	for (int64_t i = low + 1; i <= high; i++)
		m->cut[i] += from < to ? -1 : 1;
	for (int64_t d = 0; d < m->count; d++) {
		bool touched = false;

		for (int64_t k = 0; k < m->devices[d].chunks; k++)
			touched =
			    touched || (m->devices[d].stage[k] >= low && m->devices[d].stage[k] <= high);
		if (touched)
			weigh_device(m, d);
	}
}

static bool try_move(struct improver *m, int64_t from, int64_t to, struct score *best)
{
	struct score s;

	if (from == to || m->cut[from + 1] - m->cut[from] <= m->least[from] ||
	    m->cut[to + 1] - m->cut[to] >= m->most[to])
		return false;
	m->tried++;
	move(m, from, to);
	s = score_of(m);
	if (m->rc == SB_OK && is_better(&s, best)) {
		*best = s;
		return true;
	}
	move(m, to, from);
	return false;
}

static void climb(struct improver *m, struct score *best)
{
	bool better = true;

	while (better) {
		better = false;
		for (int64_t from = 0; from < m->stages; from++)
			for (int64_t to = 0; to < m->stages && m->rc == SB_OK && m->steps < STEPS_MAX; to++)
				better = try_move(m, from, to, best) || better;
	}
}

/* Each stage takes its share of the time that is left, and leaves the others their least. */
static void cut_evenly(struct improver *m)
{
	int64_t layers = pipeline_layers(m->p), at = 0, others = 0;

	for (int64_t i = 0; i < m->stages; i++)
		others += m->least[i];
	for (int64_t i = 0; i < m->stages; i++) {
		double share = cells_forward(m->cells, at, layers - at) / (double)(m->stages - i);
		int64_t first = at, most;

		others -= m->least[i];
		most = layers - others < first + m->most[i] ? layers - others : first + m->most[i];
		m->cut[i] = first;
		at += m->least[i];
		while (at < most &&
		       (i == m->stages - 1 || cells_forward(m->cells, first, at + 1 - first) <= share))
			at++;
	}
	m->cut[m->stages] = layers;
}

static void cut_as(struct improver *m, const struct pipeline_stage *plan)
{
	for (int64_t i = 0; i < m->stages; i++)
		m->cut[i + 1] = m->cut[i] + pipeline_stage_layers(m->p, plan, i);
}

/* Of the ways that keep to a bottleneck those that recompute least. */
static void recompute_least(struct improver *m, double bottleneck)
{
	for (int64_t d = 0; d < m->count && m->rc == SB_OK; d++) {
		struct holding h = {.device = &m->devices[d]};

		for (int64_t k = 0; k < h.device->chunks && m->rc == SB_OK; k++) {
			int64_t i = h.device->stage[k];

			m->rc = holding_set(&h, m->cells, k, m->cut[i], m->cut[i + 1] - m->cut[i]);
		}
		if (m->rc == SB_OK && !isinf(holding_extra(&h, bottleneck, INFINITY)))
			for (int64_t k = 0; k < h.device->chunks; k++)
				m->way[h.device->stage[k]] = h.chunk[k].way;
	}
}

static int write_plan(struct improver *m, double value, struct pipeline_stage *out)
{
	if (m->by != IMPROVE_WHOLE)
		recompute_least(m, value);
	for (int64_t i = 0; i < m->stages && m->rc == SB_OK; i++)
		m->rc = cells_stage(m->cells, m->cut[i], m->cut[i + 1] - m->cut[i], m->way[i],
		                    &out[i * m->p->body_count]);
	return m->rc;
}

int improve_plan(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
                 enum improve_by by, bool fresh, struct pipeline_stage *out, double *out_value,
                 int64_t *out_tried)
{
	size_t stages = (size_t)schedule_stages(&p->shape);
	__attribute__((cleanup(improver_free))) struct improver m = {
	    .p = p,
	    .devices = devices,
	    .cells = cells,
	    .by = by,
	    .count = device_count(p),
	    .stages = (int64_t)stages,
	    .least = calloc(stages, sizeof(*m.least)),
	    .most = calloc(stages, sizeof(*m.most)),
	    .cut = calloc(stages + 1, sizeof(*m.cut)),
	    .way = calloc(stages, sizeof(*m.way)),
	    .load = calloc(stages, sizeof(*m.load)),
	    .bottleneck = calloc((size_t)p->shape.devices, sizeof(*m.bottleneck))};
	struct score best;

	if (!m.least || !m.most || !m.cut || !m.way || !m.load || !m.bottleneck)
		return SB_ENOMEM;
	for (int64_t i = 0; i < m.stages; i++)
		rows_bound_stage(p, i, &m.least[i], &m.most[i]);
	if (fresh)
		cut_evenly(&m);
	else
		cut_as(&m, out);
	for (int64_t d = 0; d < m.count; d++)
		weigh_device(&m, d);
	best = score_of(&m);
	if (by != IMPROVE_RECOMPUTE)
		climb(&m, &best);
	if (m.rc == SB_OK && best.unfit > 0)
		return SB_EINFEASIBLE;
	if (m.rc != SB_OK || write_plan(&m, best.value, out) != SB_OK)
		return m.rc;
	*out_value = best.value;
	*out_tried = m.tried;
	return SB_OK;
}
