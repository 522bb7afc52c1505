#include "planner/pipeline/straight.h"

#include <math.h>
#include <stdlib.h>

struct straight {
	const struct pipeline_problem *p;
	struct cells *cells;
	int64_t layers;
	double *in_flight; /* micro-batches, of each device at its peak */
};

const struct pipeline_problem *straight_problem(const struct straight *s)
{
	return s->p;
}

int64_t straight_layers(const struct straight *s)
{
	return s->layers;
}

bool straight_thinned(const struct straight *s)
{
	return cells_thinned(s->cells);
}

void straight_free(struct straight **at)
{
	struct straight *s = *at;

	if (!s)
		return;
	cells_free(&s->cells);
	free(s->in_flight);
	free(s);
	*at = NULL;
}

int straight_open(const struct pipeline_problem *p, struct straight **out, struct sb_error *err)
{
	STRAIGHT_AUTO s = calloc(1, sizeof(*s));
	SCHEDULE_PROGRAM_AUTO program = {0};
	int rc = schedule_program_build(&p->shape, &program, err);
	double early; /* pipeline_fixed_bytes() */

	if (rc == SB_OK)
		rc = pipeline_check_recompute(p, err);
	if (rc != SB_OK)
		return rc;
	if (p->shape.chunks > 1)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "chunks",
		                     "must be 1: this method knows one stage a device");
	if (s)
		s->in_flight = malloc((size_t)p->shape.devices * sizeof(*s->in_flight));
	if (!s || !s->in_flight || cells_open(p, &s->cells) != SB_OK)
		return sb_no_memory(err);
	s->p = p;
	s->layers = pipeline_layers(p);
	schedule_peaks(&program, NULL, s->in_flight);
	early = schedule_facts(p->shape.kind)->recomputes ? 1 : 0;
	for (int64_t d = 0; d < p->shape.devices; d++)
		s->in_flight[d] = (s->in_flight[d] - early) / (double)p->shape.slices;
	*out = s;
	s = NULL;
	return SB_OK;
}

static void add_end(struct straight_stage *x, const struct pipeline_end *e)
{
	x->forward += e->forward;
	x->backward += e->backward;
	x->peak += e->parameters;
}

/* Each slice of a micro-batch takes the hop. */
static void add_hops(const struct straight *s, int64_t stage, struct straight_stage *x)
{
	int64_t end = x->first + x->count;
	double slices = (double)s->p->shape.slices, before = 0, behind = 0;

	if (stage > 0)
		before = slices * pipeline_hop(s->p, stage - 1, x->first, s->layers - x->first);
	if (stage + 1 < s->p->shape.devices)
		behind = slices * pipeline_hop(s->p, stage, end, s->layers - end);
	if (s->p->blocking)
		x->toll = before + behind;
	else
		x->hop = behind;
}

struct straight_stage straight_quickest(const struct straight *s, int64_t stage, int64_t first, int64_t count)
{
	const struct pipeline_problem *p = s->p;
	struct straight_stage x = {.first = first,
	                           .count = count,
	                           .forward = cells_forward(s->cells, first, count),
	                           .peak = p->constant + cells_parameters(s->cells, first, count)};
	double activation;

	cells_quickest(s->cells, first, count, &x.backward, &activation);
	x.peak += s->in_flight[stage] * activation;
	if (stage == 0)
		add_end(&x, &p->head);
	if (stage == p->shape.devices - 1)
		add_end(&x, &p->tail);
	return x;
}

/* The least recomputing with which it fits. */
static int recompute(struct straight *s, int64_t stage, double memory, struct straight_stage *x,
                     bool *out_fits)
{
	double in_flight = s->in_flight[stage], backward, activation;
	struct cell_ways ways;
	int64_t way;
	int rc = cells_ways(s->cells, x->first, x->count, &ways);

	if (rc != SB_OK)
		return rc;
	cells_quickest(s->cells, x->first, x->count, &backward, &activation);
	x->peak -= s->in_flight[stage] * activation;
	x->backward -= backward;
	way = in_flight > 0 ? cells_way_within(&ways, (memory - x->peak) / in_flight) : -1;
	*out_fits = way >= 0;
	if (way < 0)
		return SB_OK;
	x->way = (size_t)way;
	x->backward += ways.backward[way];
	x->peak += s->in_flight[stage] * ways.activation[way];
	return SB_OK;
}

int straight_stage(struct straight *s, int64_t stage, int64_t first, int64_t count,
                   struct straight_stage *out, bool *out_fits)
{
	struct straight_stage x = straight_quickest(s, stage, first, count);
	/* half of the rounding that a plan is allowed: the sum of its peak is another one */
	double memory = s->p->memory[stage] * (1 + PIPELINE_ROUNDING / 2);
	int rc = SB_OK;

	*out_fits = x.peak <= memory;
	if (!*out_fits)
		rc = recompute(s, stage, memory, &x, out_fits);
	if (rc != SB_OK || !*out_fits)
		return rc;
	add_hops(s, stage, &x);
	*out = x;
	return SB_OK;
}

int straight_write(struct straight *s, const struct straight_stage *stages, struct pipeline_stage *out)
{
	int rc = SB_OK;

	for (int64_t i = 0; i < s->p->shape.devices && rc == SB_OK; i++)
		rc = cells_stage(s->cells, stages[i].first, stages[i].count, stages[i].way,
		                 &out[i * s->p->body_count]);
	return rc;
}
