#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/batch_joint.h"
#include "api/plans/kinds.h"
#include "api/plans/strategy_json.h"

#define STRATEGIES_MAX 128 /* each is costed at three batches */

struct found {
	struct strategy strategies[STRATEGIES_MAX];
	int count;
	struct joint *joint;
};

static bool same_strategy(const struct strategy *a, const struct strategy *b)
{
	return a->dp == b->dp && a->tp == b->tp && a->tp_x == b->tp_x && a->node_devices == b->node_devices &&
	       a->cp == b->cp && a->pp == b->pp && a->vpp == b->vpp && a->ep == b->ep && a->etp == b->etp &&
	       a->micro_batch == b->micro_batch && a->zero == b->zero &&
	       a->sequence_parallel == b->sequence_parallel && a->recompute == b->recompute &&
	       a->recompute_fit == b->recompute_fit && a->last_fewer == b->last_fewer &&
	       a->first_more == b->first_more && a->recompute_bytes == b->recompute_bytes &&
	       memcmp(a->order, b->order, sizeof(a->order)) == 0;
}

static void keep_strategy(struct found *f, const struct strategy *s)
{
	for (int i = 0; i < f->count; i++)
		if (same_strategy(&f->strategies[i], s))
			return;
	if (f->count < STRATEGIES_MAX)
		f->strategies[f->count++] = *s;
}

static int visit(void *self, size_t index, const struct point_result *found)
{
	struct found *f = self;
	const struct search_result *x = found->result;

	(void)index;
	f->joint->candidates += x->candidates;
	if (found->rc != SB_OK) {
		if (found->rc == SB_EINFEASIBLE)
			f->joint->least_memory = fmin(f->joint->least_memory, x->least_memory);
		batch_reject(f->joint->rejected, found->request->problem.sequences, found);
		return SB_OK;
	}
	keep_strategy(f, &x->best.strategy);
	for (int i = 0; i < x->alternative_count; i++)
		keep_strategy(f, &x->alternatives[i].strategy);
	return SB_OK;
}

/* Seconds of a step at another batch; NaN where the strategy does not run, or does not fit. */
static int seconds_at(const struct search_request *r, const struct strategy *s, int64_t batch, double *out,
                      struct sb_error *err)
{
	struct cost_problem p = r->problem;
	struct strategy_cost c;
	int rc;

	*out = NAN;
	p.sequences = batch;
	if (strategy_fit(&p.model, &p.cluster, s, batch) != FIT_OK)
		return SB_OK;
	rc = strategy_cost(&p, s, &c, err);
	if (rc == SB_OK && c.fits)
		*out = c.step_seconds;
	return rc;
}

static int64_t multiple_near(int64_t batch, int64_t unit)
{
	return batch > unit ? batch / unit * unit : unit;
}

/* f and c through the cost model's steps near the smallest and the largest batch; then the batch that is best
 * for them, costed again. */
static int settle(const struct search_request *r, const struct strategy *s, int64_t small, int64_t large,
                  struct joint *j, struct sb_error *err)
{
	struct cost_problem at = r->problem;
	struct joint_plan *plan = &j->plans[j->count];
	double first = NAN, second = NAN;
	int rc;

	*plan = (struct joint_plan){.unit = s->dp * s->micro_batch * (s->vpp > 1 ? s->pp : 1),
	                            .most = SEQUENCES_MAX};
	small = multiple_near(small, plan->unit);
	large = multiple_near(large, plan->unit);
	if (large < 2 * small)
		large = 2 * small;
	rc = seconds_at(r, s, small, &first, err);
	if (rc == SB_OK)
		rc = seconds_at(r, s, large, &second, err);
	if (rc != SB_OK || isnan(first) || isnan(second))
		return rc;
	plan->step = joint_fit((double)small, first, (double)large, second);
	joint_settle(j, plan);
	if (plan->batch == 0)
		return SB_OK;
	rc = seconds_at(r, s, plan->batch, &plan->step_seconds, err);
	if (rc != SB_OK || isnan(plan->step_seconds))
		return rc;
	plan->seconds = joint_seconds_of(plan->step_seconds, j->noise, (double)plan->batch);
	at.sequences = plan->batch;
	plan->what = json_pack("{s:o}", "strategy", strategy_to_json(&at, s));
	j->count++;
	return plan->what ? SB_OK : sb_no_memory(err);
}

static int search(const struct search_request *r, const int64_t *batches, size_t count, struct found *f,
                  json_t **out_extra, struct sb_error *err)
{
	struct search_point points[SCALING_COUNTS_MAX] = {{0}};
	struct joint *j = f->joint;
	int rc;

	for (size_t i = 0; i < count; i++)
		points[i].sequences = batches[i];
	rc = search_points(r, points, count, visit, f, err);
	if (rc == SB_OK && f->count == 0)
		return batch_nothing_found(j->rejected, j->least_memory, out_extra, err);
	j->plans = calloc(STRATEGIES_MAX, sizeof(*j->plans));
	if (!j->plans)
		return sb_no_memory(err);
	for (int i = 0; rc == SB_OK && i < f->count; i++)
		rc = settle(r, &f->strategies[i], batches[0], batches[count - 1], j, err);
	return rc;
}

int joint_search(const json_t *request, const struct sb_watch *watch, struct joint *j, json_t **out_extra,
                 struct sb_error *err)
{
	struct search_request *r = calloc(1, sizeof(*r));
	struct found *f = calloc(1, sizeof(*f));
	int64_t batches[SCALING_COUNTS_MAX];
	size_t count = 0;
	int rc = r && f ? batch_search_from_json(request, r, batches, &count, err) : sb_no_memory(err);

	if (rc == SB_OK) {
		int64_t share = (int64_t)(STRATEGIES_MAX / count) - 1;

		f->joint = j;
		r->watch = watch;
		j->searched = true;
		j->model_error = r->problem.constants.model_error;
		r->alternatives = (int)(share < SEARCH_ALTERNATIVES ? share : SEARCH_ALTERNATIVES);
		warn_half_host(r, j->warnings);
		rc = search(r, batches, count, f, out_extra, err);
	}
	free(r);
	free(f);
	return rc;
}
