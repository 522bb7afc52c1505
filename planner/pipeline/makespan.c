#include "planner/pipeline/makespan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/makespan_search.h"

const struct pipeline_effort PIPELINE_THOROUGH = {
    .turns = 200, .kept = CUTS_KEPT, .near_work = 3e7, .all_work = 1e7};
const struct pipeline_effort PIPELINE_CLOSER = {.turns = 60, .kept = 2, .near_work = 1e7};
const struct pipeline_effort PIPELINE_QUICK = {.turns = 24, .kept = 1, .near_work = 3e6};

/* Without rows, and without an ILP: that takes seconds, and this is only where the search begins. */
static int start_from_bottleneck(struct cuts *x, struct pipeline_stage *plan, struct sb_error *err)
{
	struct pipeline_problem p = *x->s->p;
	struct pipeline_proof proof;
	int rc;

	p.row_count = 0;
	p.lp = NULL;
	rc = pipeline_least_bottleneck(&p, plan, &proof, err);

	if (rc != SB_OK)
		return rc;
	if (draft_of_plan(x->s, plan, x->draft) != SB_OK)
		return sb_no_memory(err);
	cuts_keep(x, x->draft, draft_time(x->s, x->draft, INFINITY));
	return SB_OK;
}

/* Stages times layers from which on the least bottleneck takes longer than a quick look should. */
#define LARGE 16384

/* Even cuts, and the plan of least bottleneck. Where none fits, and that was too much to look for, there is
 * none yet: err says so. */
static int start(struct cuts *x, bool quick, struct pipeline_stage *plan, struct sb_error *err)
{
	bool large = quick && x->s->stages * x->s->layers > LARGE;
	int rc = SB_OK;

	if (cuts_even(x) != SB_OK)
		return sb_no_memory(err);
	if (!large || x->kept_count == 0)
		rc = start_from_bottleneck(x, plan, err);
	if (rc != SB_OK && rc != SB_ELIMIT && (rc == SB_ENOMEM || x->kept_count == 0))
		return rc;
	return cuts_begin(x) == SB_OK ? SB_OK : sb_no_memory(err);
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

static int search(struct cuts *x, const struct pipeline_effort *effort, double beat)
{
	int rc = cuts_by_price(x, effort->turns, beat);

	for (int i = 0; i < x->kept_count && i < effort->kept && rc == SB_OK && x->bound < beat; i++)
		rc = cuts_near(x, i, effort->near_work);
	if (rc != SB_OK || effort->all_work <= 0 || x->kept_count == 0 ||
	    x->bound >= fmin(beat, x->time[0]) * (1 - PIPELINE_ROUNDING))
		return rc;
	cuts_bound(x, 2 * effort->all_work);
	return cuts_all(x, effort->all_work);
}

static struct pipeline_proof proof_of(const struct cuts *x, double time)
{
	const struct drafts *s = x->s;
	/* what is not known of the ways to recompute, or of their parts, may be quicker than any of these */
	bool known = x->relaxed && !s->guessed && (!x->relaxed->thinned || x->relaxed->single);
	double bound = known ? fmax(x->bound, work_bound(s)) : work_bound(s);

	if (bound >= time * (1 - PIPELINE_ROUNDING))
		return (struct pipeline_proof){"makespan", time, time, true, s->weighed};
	return (struct pipeline_proof){"makespan", time, bound, false, s->weighed};
}

/* The time of the plan: that of its draft, unless that was guessed. */
static int time_of(const struct cuts *x, const struct pipeline_stage *plan, double *out, struct sb_error *err)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	int rc;

	*out = x->time[0];
	if (!x->s->guessed)
		return SB_OK;
	rc = pipeline_scorer_open(x->s->p, &scorer, err);
	return rc == SB_OK ? pipeline_makespan(scorer, plan, out, err) : rc;
}

/* While no plan is known none is thought to take so many times the work of its devices. */
#define LONGEST 8

static int search_from_start(struct cuts *x, struct relaxation *r, const struct pipeline_effort *effort,
                             double beat)
{
	int rc = relax_open(x->s, fmin(x->time[0], LONGEST * work_bound(x->s)), r);

	if (rc == SB_OK) {
		x->relaxed = r;
		rc = search(x, effort, beat);
	} else if (rc == SB_ELIMIT) {
		rc = x->kept_count > 0 ? cuts_near(x, 0, effort->near_work) : SB_OK;
	}
	return rc;
}

int pipeline_search_makespan(const struct pipeline_problem *p, const struct pipeline_effort *effort,
                             double beat, struct pipeline_stage *out, struct pipeline_proof *out_proof,
                             struct sb_error *err)
{
	DRAFTS_AUTO s = NULL;
	RELAX_AUTO r = {0};
	CUTS_AUTO x = {0};
	double time;
	int rc = drafts_open(p, &s, err);

	if (rc != SB_OK)
		return rc;
	if (cuts_open(s, &x) != SB_OK)
		return sb_no_memory(err);
	rc = start(&x, effort->all_work <= 0, out, err);
	if (rc != SB_OK)
		return rc;
	rc = search_from_start(&x, &r, effort, beat);
	if (rc == SB_OK && x.kept_count == 0)
		return sb_fail(err, SB_ELIMIT, "too_much", "no plan was found, and all are too many to try");
	if (rc == SB_OK)
		rc = draft_to_plan(s, x.kept[0], out);
	if (rc != SB_OK)
		return sb_no_memory(err);
	rc = time_of(&x, out, &time, err);
	if (rc == SB_OK)
		*out_proof = proof_of(&x, time);
	return rc;
}

int pipeline_least_makespan(const struct pipeline_problem *p, struct pipeline_stage *out,
                            struct pipeline_proof *out_proof, struct sb_error *err)
{
	return pipeline_search_makespan(p, &PIPELINE_THOROUGH, INFINITY, out, out_proof, err);
}
