#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/pipeline.h"

struct pipeline_scorer {
	const struct pipeline_problem *p;
	struct schedule_program program;
	struct schedule_times times;
	/* What the times borrow; then room for one simulation. */
	/* apart: the part of a backward that is an operation of its own. */
	double *forward, *backward, *apart, *overlapped, *send, *activation, *busy;
};

void pipeline_scorer_free(struct pipeline_scorer **at)
{
	struct pipeline_scorer *s = *at;

	if (!s)
		return;
	schedule_program_free(&s->program);
	free(s->forward);
	free(s->backward);
	free(s->apart);
	free(s->overlapped);
	free(s->send);
	free(s->activation);
	free(s->busy);
	free(s);
	*at = NULL;
}

static bool any_overlapped(const struct pipeline_problem *p)
{
	for (int64_t b = 0; b < p->body_count; b++)
		if (!isnan(p->bodies[b].overlapped))
			return true;
	return false;
}

static int make_room(struct pipeline_scorer *s, size_t stages, size_t parts)
{
	s->forward = malloc(parts * sizeof(*s->forward));
	s->backward = malloc(parts * sizeof(*s->backward));
	s->apart = malloc(parts * sizeof(*s->apart));
	s->overlapped = malloc(stages * sizeof(*s->overlapped));
	s->send = malloc(stages * sizeof(*s->send));
	s->activation = malloc(stages * sizeof(*s->activation));
	s->busy = malloc((size_t)s->p->shape.devices * sizeof(*s->busy));
	return s->forward && s->backward && s->apart && s->overlapped && s->send && s->activation && s->busy
	           ? SB_OK
	           : SB_ENOMEM;
}

int pipeline_scorer_open(const struct pipeline_problem *p, struct pipeline_scorer **out, struct sb_error *err)
{
	PIPELINE_SCORER_AUTO s = calloc(1, sizeof(*s));
	const struct schedule_facts *facts = schedule_facts(p->shape.kind);
	size_t stages;
	int rc;

	if (!s)
		return sb_no_memory(err);
	s->p = p;
	rc = schedule_program_build(&p->shape, &s->program, err);
	if (rc != SB_OK)
		return rc;
	stages = (size_t)schedule_stages(&p->shape);
	if (make_room(s, stages, stages * (size_t)p->shape.slices) != SB_OK)
		return sb_no_memory(err);
	s->times =
	    (struct schedule_times){.forward = s->forward,
	                            .backward = s->backward,
	                            .weight = facts->splits ? s->apart : NULL,
	                            .recompute = facts->recomputes ? s->apart : NULL,
	                            .overlapped = facts->pairs && any_overlapped(p) ? s->overlapped : NULL,
	                            .send = p->cut_send || p->link_send ? s->send : NULL,
	                            .send_seconds = p->send_seconds,
	                            .blocking = p->blocking};
	*out = s;
	s = NULL;
	return SB_OK;
}

double pipeline_hop(const struct pipeline_problem *p, int64_t stage, int64_t before, int64_t behind)
{
	int64_t cuts = before + behind - 1, from, to;
	int64_t cut = before - 1 < 0 ? 0 : before - 1 < cuts ? before - 1 : cuts - 1;
	double seconds = p->cut_send && cuts > 0 ? p->cut_send[cut] : p->send_seconds;

	from = schedule_device(&p->shape, stage, false);
	to = schedule_device(&p->shape, stage + 1, false);
	if (p->link_send && from != to) {
		int64_t low = from < to ? from : to, high = from < to ? to : from;

		/* the way round from the last device to the first goes back over all links */
		for (int64_t d = low; d < high; d++)
			seconds += p->link_send[d];
	}
	return seconds;
}

static void fill_times(struct pipeline_scorer *s, const struct pipeline_stage *plan)
{
	const struct pipeline_problem *p = s->p;
	int64_t stages = schedule_stages(&p->shape), slices = p->shape.slices, layers = 0,
	        all = pipeline_layers(p);

	for (int64_t i = 0; i < stages; i++) {
		struct pipeline_load l = pipeline_load(p, plan, i);
		double apart = s->times.weight      ? fmin(l.weight, l.backward)
		               : s->times.recompute ? l.recompute
		                                    : 0;

		for (int64_t k = 0; k < slices; k++) {
			s->forward[i * slices + k] = l.forward / (double)slices;
			s->backward[i * slices + k] = (l.backward - apart) / (double)slices;
			s->apart[i * slices + k] = apart / (double)slices;
		}
		/* half of what its own pair would save */
		s->overlapped[i] = (l.forward + l.backward - l.overlapped) / 2;
		layers += pipeline_stage_layers(p, plan, i);
		if (s->times.send)
			s->send[i] = i + 1 < stages ? pipeline_hop(p, i, layers, all - layers) : 0;
	}
}

/* A pair is the forward of one stage of a device and the backward of its other one. */
static void fill_pairs(struct pipeline_scorer *s)
{
	const struct schedule_shape *h = &s->p->shape;
	int64_t devices = schedule_facts(h->kind)->two_way ? h->devices / 2 : h->devices;

	for (int64_t d = 0; d < devices; d++) {
		int64_t a = schedule_stage(h, d, 0), b = schedule_stage(h, d, 1);
		double saved = s->overlapped[a] + s->overlapped[b];

		s->overlapped[a] = s->forward[a] + s->backward[b] + s->apart[b] - saved;
		s->overlapped[b] = s->forward[b] + s->backward[a] + s->apart[a] - saved;
	}
}

static int simulate(struct pipeline_scorer *s, const struct pipeline_stage *plan, double *busy, double *out,
                    struct sb_error *err)
{
	struct schedule_result r = {.busy = busy};
	int rc;

	fill_times(s, plan);
	if (s->times.overlapped)
		fill_pairs(s);
	rc = schedule_simulate(&s->program, &s->times, &r, err);
	*out = r.makespan;
	return rc;
}

int pipeline_makespan(struct pipeline_scorer *s, const struct pipeline_stage *plan, double *out,
                      struct sb_error *err)
{
	return simulate(s, plan, NULL, out, err);
}

void pipeline_peaks(const struct pipeline_scorer *s, const struct pipeline_stage *plan, double *out)
{
	const struct pipeline_problem *p = s->p;
	/* it runs right before a backward, when as many micro-batches are in flight as ever */
	bool early = schedule_facts(p->shape.kind)->recomputes;

	for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
		s->activation[i] = pipeline_load(p, plan, i).activation / (double)p->shape.slices;
	schedule_peaks(&s->program, s->activation, out);
	for (int64_t d = 0; d < p->shape.devices; d++) {
		out[d] += p->constant;
		for (int64_t k = 0; k < p->shape.chunks; k++) {
			struct pipeline_load l = pipeline_load(p, plan, schedule_stage(&p->shape, d, k));

			out[d] += l.parameters + (early ? l.rebuilt : 0);
		}
	}
}

int pipeline_score(struct pipeline_scorer *s, const struct pipeline_stage *plan, struct pipeline_score *out,
                   double *peaks, struct sb_error *err)
{
	int64_t devices = s->p->shape.devices;
	double *peak = peaks ? peaks : s->busy, busy = 0;
	int rc = simulate(s, plan, s->busy, &out->makespan, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < devices; d++)
		busy += s->busy[d];
	out->bottleneck = pipeline_bottleneck(s->p, plan);
	out->bubble_share = out->makespan > 0 ? 1 - busy / (double)devices / out->makespan : NAN;
	out->fits = true;
	pipeline_peaks(s, plan, peak);
	for (int64_t d = 0; d < devices; d++)
		out->fits = out->fits && peak[d] <= s->p->memory[d] * (1 + PIPELINE_ROUNDING);
	return SB_OK;
}

const struct schedule_times *pipeline_times(const struct pipeline_scorer *s)
{
	return &s->times;
}

const struct schedule_program *pipeline_program(const struct pipeline_scorer *s)
{
	return &s->program;
}
