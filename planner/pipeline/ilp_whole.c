#include <math.h>

#include "planner/pipeline/ilp_model.h"
#include "planner/pipeline/whole.h"

/* The column of what the stages of a chunk wait, each for the longest before it. */
static size_t add_waiting(struct ilp_model *m, int64_t first, int64_t step)
{
	size_t longest = SIZE_MAX, waited = SIZE_MAX;

	for (int64_t s = 0; s < m->p->shape.devices; s++) {
		size_t forward = m->forward[first + s * step], now = lp_column(&m->lp, false, INFINITY);
		size_t sum = lp_column(&m->lp, false, INFINITY);

		lp_term(&m->lp, 1, now);
		lp_term(&m->lp, -1, forward);
		lp_end(&m->lp, ">=", 0);
		if (s > 0) {
			lp_term(&m->lp, 1, now);
			lp_term(&m->lp, -1, longest);
			lp_end(&m->lp, ">=", 0);
			lp_term(&m->lp, 1, sum);
			lp_term(&m->lp, -1, waited);
			lp_end(&m->lp, ">=", 0);
			lp_term(&m->lp, 1, sum);
			lp_term(&m->lp, -1, waited);
			lp_term(&m->lp, -1, longest);
			lp_term(&m->lp, 1, forward);
			lp_end(&m->lp, ">=", 0);
		}
		longest = now;
		waited = sum;
	}
	return waited;
}

static size_t add_short(struct ilp_model *m)
{
	const struct schedule_shape *shape = &m->p->shape;
	size_t most = lp_column(&m->lp, false, INFINITY), most_last = lp_column(&m->lp, false, INFINITY);
	size_t objective = lp_column(&m->lp, false, INFINITY);
	int64_t last = m->stages - shape->devices;

	for (int64_t i = 0; i < m->stages; i++) {
		lp_term(&m->lp, 1, i < last ? most : most_last);
		lp_term(&m->lp, -1, m->backward[i]);
		if (i >= last)
			lp_term(&m->lp, -whole_phase(shape, i - last) / (double)shape->micro_batches,
			        m->forward[i]);
		lp_end(&m->lp, ">=", 0);
	}
	lp_term(&m->lp, 1, most_last);
	lp_term(&m->lp, -1, most);
	lp_end(&m->lp, ">=", 0);
	lp_term(&m->lp, 1, objective);
	lp_term(&m->lp, -1, most);
	lp_term(&m->lp, -1, most_last);
	lp_end(&m->lp, ">=", 0);
	return objective;
}

size_t ilp_model_whole(struct ilp_model *m, size_t bottleneck)
{
	const struct pipeline_problem *p = m->p;
	int64_t devices = p->shape.devices, chunks = m->stages / devices;
	double divisor = whole_divisor(&p->shape), batches = (double)p->shape.micro_batches;
	double ends = p->head.forward + p->head.backward + p->tail.forward + p->tail.backward;
	size_t objective, waited[SCHEDULE_CHUNKS_MAX];

	if (whole_is_short(&p->shape))
		return add_short(m);
	for (int64_t k = 0; k < chunks; k++)
		waited[k] =
		    k < chunks - 1 ? add_waiting(m, k * devices, 1) : add_waiting(m, m->stages - 1, -1);
	objective = lp_column(&m->lp, false, INFINITY);
	lp_term(&m->lp, 1, objective);
	lp_term(&m->lp, -fmax(0, batches - 2), bottleneck);
	for (int64_t k = 0; k < chunks; k++)
		lp_term(&m->lp, -batches / divisor, waited[k]);
	for (int64_t i = 0; i < m->stages; i++) {
		int64_t k = i / devices;
		double share = 1 + (k < chunks - 1 ? whole_share(&p->shape, k) : 0);

		lp_term(&m->lp, -share / divisor, m->forward[i]);
		lp_term(&m->lp, -share / divisor, m->backward[i]);
	}
	lp_end(&m->lp, ">=", -ends / divisor / m->q->unit);
	return objective;
}
