#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/pipeline.h"

struct pipeline_load pipeline_load(const struct pipeline_problem *p, int64_t stage,
                                   const struct pipeline_stage *s)
{
	const struct pipeline_body *b = &p->body;
	struct pipeline_load l = {0};

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		if (s->layers[r] == 0)
			continue;
		l.forward += (double)s->layers[r] * b->forward;
		l.backward += (double)s->layers[r] * b->backward[r];
		l.activation += (double)s->layers[r] * b->activation[r];
		l.parameters += (double)s->layers[r] * b->parameters;
	}
	if (stage == 0) {
		l.forward += p->head.forward;
		l.backward += p->head.backward;
		l.parameters += p->head.parameters;
	}
	if (stage == schedule_stages(&p->shape) - 1) {
		l.forward += p->tail.forward;
		l.backward += p->tail.backward;
		l.parameters += p->tail.parameters;
	}
	return l;
}

double pipeline_bottleneck(const struct pipeline_problem *p, const struct pipeline_stage *stages)
{
	double most = 0;

	for (int64_t d = 0; d < p->shape.devices; d++) {
		double forward = 0, backward = 0;

		for (int64_t k = 0; k < p->shape.chunks; k++) {
			int64_t i = schedule_stage(&p->shape, d, k);
			struct pipeline_load l = pipeline_load(p, i, &stages[i]);

			forward = fmax(forward, l.forward);
			backward = fmax(backward, l.backward);
		}
		most = fmax(most, forward + backward);
	}
	return most;
}

int pipeline_peaks(const struct pipeline_problem *p, const struct pipeline_stage *stages, double *out,
                   struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO program = {0};
	size_t n = (size_t)schedule_stages(&p->shape);
	double *activation = malloc(n * sizeof(*activation));
	int rc = activation ? schedule_program_build(&p->shape, &program, err)
	                    : sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");

	if (rc == SB_OK) {
		for (size_t i = 0; i < n; i++)
			activation[i] = pipeline_load(p, (int64_t)i, &stages[i]).activation;
		schedule_peaks(&program, activation, out);
		for (int64_t d = 0; d < p->shape.devices; d++) {
			out[d] += p->constant;
			for (int64_t k = 0; k < p->shape.chunks; k++) {
				int64_t i = schedule_stage(&p->shape, d, k);

				out[d] += pipeline_load(p, i, &stages[i]).parameters;
			}
		}
	}
	free(activation);
	return rc;
}
