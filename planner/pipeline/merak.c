#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/methods.h"

/* Each layer is kept whole, or recomputed as far as it can be: the shares of the two are what Merak's stages
 * differ in. */
static void keep_or_redo(struct pipeline_body *b)
{
	int least = KEEP_ALL;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (!isnan(b->backward[r]) &&
		    (isnan(b->activation[least]) || b->activation[r] < b->activation[least]))
			least = r;
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (r != least && r != KEEP_ALL)
			b->backward[r] = b->activation[r] = NAN;
}

int plan_merak(const struct pipeline_problem *p, enum pipeline_objective objective,
               struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	struct pipeline_problem q = *p;
	struct pipeline_body *bodies = malloc(((size_t)p->body_count + 1) * sizeof(*bodies));
	int rc;

	if (!bodies)
		return sb_no_memory(err);
	memcpy(bodies, p->bodies, (size_t)p->body_count * sizeof(*bodies));
	for (int64_t b = 0; b < p->body_count; b++)
		keep_or_redo(&bodies[b]);
	q.bodies = bodies;
	rc = plan_autopipe(&q, objective, out, proof, err);
	free(bodies);
	return rc;
}
