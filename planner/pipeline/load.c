#include <math.h>

#include "planner/pipeline/pipeline.h"

int64_t pipeline_layers(const struct pipeline_problem *p)
{
	int64_t n = 0;

	for (int64_t b = 0; b < p->body_count; b++)
		n += p->bodies[b].count;
	return n;
}

int pipeline_check_layers(const struct pipeline_problem *p, struct sb_error *err)
{
	int64_t layers = pipeline_layers(p), stages = schedule_stages(&p->shape);

	if (p->allow_empty || layers >= stages)
		return SB_OK;
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "%lld layers cannot fill %lld stages with at least one each", (long long)layers,
	               (long long)stages);
}

int64_t pipeline_stage_layers(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                              int64_t stage)
{
	int64_t n = 0;

	for (int64_t b = 0; b < p->body_count; b++)
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			n += plan[stage * p->body_count + b].layers[r];
	return n;
}

double pipeline_fixed_bytes(const struct pipeline_problem *p, const struct pipeline_body *b)
{
	return b->parameters + (schedule_facts(p->shape.kind)->recomputes ? b->activation[KEEP_ALL] : 0);
}

int pipeline_check_recompute(const struct pipeline_problem *p, struct sb_error *err)
{
	if (!schedule_facts(p->shape.kind)->recomputes)
		return SB_OK;
	for (int64_t b = 0; b < p->body_count; b++) {
		double whole = p->bodies[b].activation[KEEP_ALL];

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			if (isnan(whole) || p->bodies[b].activation[r] > whole)
				return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "layers",
				                     "must keep most without recomputing, with this "
				                     "schedule");
	}
	return SB_OK;
}

bool pipeline_is_whole(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	int64_t stages = schedule_stages(&p->shape);

	for (int64_t b = 0; b < p->body_count; b++) {
		int64_t left = p->bodies[b].count;

		for (int64_t i = 0; i < stages; i++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
				left -= plan[i * p->body_count + b].layers[r];
		if (left != 0)
			return false;
	}
	for (int64_t i = 0; i < stages; i++)
		if (!p->allow_empty && pipeline_stage_layers(p, plan, i) < 1)
			return false;
	return true;
}

static void add_end(struct pipeline_load *l, const struct pipeline_end *e)
{
	l->forward += e->forward;
	l->backward += e->backward;
	l->weight += e->backward / 2;
	l->overlapped += e->forward + e->backward;
	l->parameters += e->parameters;
}

struct pipeline_load pipeline_load(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                                   int64_t stage)
{
	struct pipeline_load l = {0};

	for (int64_t i = 0; i < p->body_count; i++) {
		const struct pipeline_body *b = &p->bodies[i];
		double weight = isnan(b->weight) ? b->backward[KEEP_ALL] / 2 : b->weight;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			double n = (double)plan[stage * p->body_count + i].layers[r];

			if (n == 0)
				continue;
			l.forward += n * b->forward;
			l.backward += n * b->backward[r];
			l.weight += n * (isnan(weight) ? b->backward[r] / 2 : weight);
			l.overlapped += n * (isnan(b->overlapped)
			                         ? b->forward + b->backward[r]
			                         : b->overlapped + b->backward[r] - b->backward[KEEP_ALL]);
			l.activation += n * b->activation[r];
			l.parameters += n * b->parameters;
			l.recompute += n * fmax(0, b->backward[r] - b->backward[KEEP_ALL]);
			l.rebuilt += n * fmax(0, b->activation[KEEP_ALL] - b->activation[r]);
		}
	}
	if (stage == 0)
		add_end(&l, &p->head);
	if (stage == schedule_stages(&p->shape) - 1)
		add_end(&l, &p->tail);
	return l;
}

double pipeline_bottleneck(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	double most = 0;

	for (int64_t d = 0; d < p->shape.devices; d++) {
		double forward = 0, backward = 0;

		for (int64_t k = 0; k < p->shape.chunks; k++) {
			struct pipeline_load l = pipeline_load(p, plan, schedule_stage(&p->shape, d, k));

			forward = fmax(forward, l.forward);
			backward = fmax(backward, l.backward);
		}
		most = fmax(most, forward + backward);
	}
	return most;
}
