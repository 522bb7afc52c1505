#include <math.h>
#include <stdlib.h>

#include "api/plans/gantt.h"
#include "api/plans/pipeline.h"

/* A stored plan, once more as it was scored; the arrays are its own. */
struct drawing {
	struct pipeline_input in;
	struct pipeline_stage *plan;
	struct pipeline_scorer *scorer;
	double *activation, *fixed, *recompute;
};

static void drawing_clear(struct drawing *d)
{
	pipeline_scorer_free(&d->scorer);
	pipeline_input_clear(&d->in);
	free(d->plan);
	free(d->activation);
	free(d->fixed);
	free(d->recompute);
}

/* How much longer the backward of a stage is because it recomputes; NaN = not known: a body always does. */
static double recompute_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t stage)
{
	double sum = 0;

	for (int64_t i = 0; i < p->body_count; i++) {
		const struct pipeline_body *b = &p->bodies[i];

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			double n = (double)plan[stage * p->body_count + i].layers[r];

			if (n > 0)
				sum += n * (b->backward[r] - b->backward[KEEP_ALL]);
		}
	}
	return sum;
}

/* Memory as pipeline_peaks() counts it; without the sizes of the layers units in flight are all that is
 * known. */
static int fill(struct drawing *d, struct gantt *g)
{
	const struct pipeline_problem *p = &d->in.problem;
	int64_t stages = schedule_stages(&p->shape), slices = p->shape.slices;
	bool known = true, early = schedule_facts(p->shape.kind)->recomputes;

	d->activation = calloc((size_t)stages, sizeof(*d->activation));
	d->fixed = calloc((size_t)p->shape.devices, sizeof(*d->fixed));
	d->recompute = calloc((size_t)(stages * slices), sizeof(*d->recompute));
	if (!d->activation || !d->fixed || !d->recompute)
		return SB_ENOMEM;
	for (int64_t i = 0; i < stages; i++) {
		double again = recompute_of(p, d->plan, i);

		known = known && !isnan(again);
		d->activation[i] = pipeline_load(p, d->plan, i).activation / (double)slices;
		for (int64_t k = 0; k < slices; k++)
			d->recompute[i * slices + k] = again / (double)slices;
	}
	for (int64_t i = 0; i < p->shape.devices; i++) {
		d->fixed[i] = p->constant;
		for (int64_t k = 0; k < p->shape.chunks; k++) {
			struct pipeline_load l = pipeline_load(p, d->plan, schedule_stage(&p->shape, i, k));

			d->fixed[i] += l.parameters + (early ? l.rebuilt : 0);
		}
	}
	if (!d->in.unsized) {
		g->activation = d->activation;
		g->fixed = d->fixed;
		g->cap = p->memory;
	}
	g->recompute = known ? d->recompute : NULL;
	return SB_OK;
}

int pipeline_draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	__attribute__((cleanup(drawing_clear))) struct drawing d = {0};
	struct gantt g = {0};
	double makespan;
	int rc = pipeline_of_document(plan, &d.in, &d.plan, err);

	if (rc == SB_EINVAL)
		return sb_fail(err, SB_ENOENT, "no_schedule", "this plan holds no cut that could be drawn");
	if (rc == SB_OK)
		rc = pipeline_scorer_open(&d.in.problem, &d.scorer, err);
	if (rc == SB_OK)
		rc = pipeline_makespan(d.scorer, d.plan, &makespan, err);
	if (rc != SB_OK)
		return rc;
	if (fill(&d, &g) != SB_OK)
		return sb_no_memory(err);
	g.program = pipeline_program(d.scorer);
	g.times = pipeline_times(d.scorer);
	return gantt_write(&g, view, out, err);
}
