#include "planner/pipeline/makespan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/makespan_search.h"
#define TURNS 100
#define WORK 1e7

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
}

/* The plan of least bottleneck is the first one. */
static int start(struct cuts *x, struct pipeline_stage *plan, struct sb_error *err)
{
	struct pipeline_proof proof;
	int rc = pipeline_least_bottleneck(x->s->p, plan, &proof, err);

	if (rc != SB_OK)
		return rc;
	rc = draft_of_plan(x->s, plan, x->draft);
	if (rc != SB_OK)
		return no_memory(err);
	cuts_keep(x, x->draft, draft_time(x->s, x->draft, INFINITY));
	cuts_begin(x);
	return cuts_even(x) == SB_OK ? SB_OK : no_memory(err);
}

/* All devices together have all the work to do. */
static double work_bound(const struct drafts *s)
{
	double sum = s->p->head.forward + s->p->head.backward + s->p->tail.forward + s->p->tail.backward;

	for (int64_t i = 0; i < s->p->body_count; i++) {
		const struct pipeline_body *b = &s->p->bodies[i];
		double fastest = INFINITY, saved = b->forward + b->backward[KEEP_ALL] - b->overlapped;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			if (!isnan(b->activation[r]))
				fastest = fmin(fastest, b->backward[r]);
		sum += (double)b->count * (b->forward + fastest - (s->pairs && saved > 0 ? saved : 0));
	}
	return sum * (double)s->p->shape.micro_batches / (double)s->p->shape.devices;
}

static int search_whole(struct cuts *x)
{
	int rc = cuts_by_price(x, TURNS);

	for (int i = 0; i < x->kept_count && rc == SB_OK; i++)
		rc = cuts_near(x, i);
	if (rc != SB_OK || x->bound >= x->time[0] * (1 - PIPELINE_ROUNDING))
		return rc;
	cuts_bound(x);
	return cuts_all(x, WORK);
}

static struct pipeline_proof proof_of(const struct cuts *x)
{
	const struct drafts *s = x->s;
	/* what is not known of the ways to recompute, or of their parts, may be quicker than any of these */
	bool known = x->relaxed && !s->guessed && (!x->relaxed->thinned || x->relaxed->single);
	double time = x->time[0], bound = known ? fmax(x->bound, work_bound(s)) : work_bound(s);

	if (bound >= time * (1 - PIPELINE_ROUNDING))
		return (struct pipeline_proof){"makespan", time, time, true, s->weighed};
	return (struct pipeline_proof){"makespan", time, bound, false, s->weighed};
}

int pipeline_least_makespan(const struct pipeline_problem *p, struct pipeline_stage *out,
                            struct pipeline_proof *out_proof, struct sb_error *err)
{
	DRAFTS_AUTO s = NULL;
	RELAX_AUTO r = {0};
	CUTS_AUTO x = {0};
	int rc = drafts_open(p, &s, err);

	if (rc != SB_OK)
		return rc;
	if (cuts_open(s, &x) != SB_OK)
		return no_memory(err);
	rc = start(&x, out, err);
	if (rc != SB_OK)
		return rc;
	rc = relax_open(s, x.time[0], &r);
	if (rc == SB_OK) {
		x.relaxed = &r;
		rc = search_whole(&x);
	} else if (rc == SB_ELIMIT) {
		rc = cuts_near(&x, 0);
	}
	if (rc == SB_OK)
		rc = draft_to_plan(s, x.kept[0], out);
	if (rc != SB_OK)
		return no_memory(err);
	*out_proof = proof_of(&x);
	return SB_OK;
}
