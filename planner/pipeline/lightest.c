#include "planner/pipeline/lightest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool keep_least(struct pipeline_body *b)
{
	int least = -1, offered = 0;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		if (isnan(b->backward[r]) || isnan(b->activation[r]))
			continue;
		offered++;
		if (least < 0 || b->activation[r] < b->activation[least])
			least = r;
	}
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (r != least)
			b->backward[r] = NAN; /* what it would keep is still known */
	return offered > 1;
}

int lightest_open(const struct pipeline_problem *p, struct lightest_problem *out)
{
	size_t bodies = (size_t)p->body_count;
	struct lightest_problem l = {.p = *p, .bodies = malloc((bodies + 1) * sizeof(*l.bodies))};

	if (!l.bodies)
		return SB_ENOMEM;
	memcpy(l.bodies, p->bodies, bodies * sizeof(*l.bodies));
	for (size_t b = 0; b < bodies; b++)
		l.simpler |= keep_least(&l.bodies[b]);
	l.p.bodies = l.bodies;
	*out = l;
	return SB_OK;
}

void lightest_free(struct lightest_problem *l)
{
	free(l->bodies);
	*l = (struct lightest_problem){0};
}
