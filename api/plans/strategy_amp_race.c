#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/strategy_amp.h"
#include "planner/methods/partition.h"
#include "planner/strategy/space.h"

void amp_race_free(struct amp_race *x)
{
	for (int i = 0; i < AMP_KEPT_MAX; i++)
		free(x->kept[i].stages);
	free(x->trial.stages);
	free(x->other.stages);
	free(x->room);
}

static int race_open(struct amp_input *in, struct amp_race *x)
{
	size_t layers = (size_t)in->problem.layers;

	*x = (struct amp_race){.in = in,
	                       .wanted = in->request.alternatives + 1,
	                       .bound = INFINITY,
	                       .least_memory = INFINITY,
	                       .effort = PARTITION_EFFORT};
	x->room = calloc(layers, sizeof(*x->room));
	x->trial.stages = calloc(layers, sizeof(*x->trial.stages));
	x->other.stages = calloc(layers, sizeof(*x->other.stages));
	for (int i = 0; i < x->wanted; i++) {
		x->kept[i].stages = calloc(layers, sizeof(*x->kept[i].stages));
		if (!x->kept[i].stages)
			return SB_ENOMEM;
	}
	return x->room && x->trial.stages && x->other.stages ? SB_OK : SB_ENOMEM;
}

static void swap(struct amp_weighed *a, struct amp_weighed *b)
{
	struct amp_weighed c = *a;

	*a = *b;
	*b = c;
}

/* Takes `other` in among the fastest; equal ones keep their order. */
static void keep(struct amp_race *x)
{
	int at = x->count;
	struct amp_weighed last;

	while (at > 0 && x->kept[at - 1].cost.seconds > x->other.cost.seconds)
		at--;
	if (at == x->wanted)
		return;
	if (x->count < x->wanted)
		x->count++;
	last = x->kept[x->count - 1];
	memmove(&x->kept[at + 1], &x->kept[at], (size_t)(x->count - 1 - at) * sizeof(x->kept[0]));
	x->kept[at] = x->other;
	x->other = last; /* its stages are free for the next one */
}

static bool tried(const struct amp_input *in, int recompute)
{
	return allowed_value(&in->request, ONLY_RECOMPUTE, recompute) &&
	       !(recompute == RECOMPUTE_SELECTIVE && in->profile_count > 0);
}

/* No cut of the candidate fits. The leanest even cut is kept as an example. */
static void too_large(struct amp_race *x, const struct amp_candidate *c)
{
	double bytes;

	partition_even(x->in->problem.layers, c->pp, x->trial.stages);
	bytes = amp_fullest_bytes(&x->in->problem, c, x->trial.stages);
	if (x->over == 0 || bytes < x->fullest_bytes) {
		x->fullest = x->in->held;
		x->fullest_bytes = bytes;
	}
	x->over++;
}

/* Cuts a candidate in each way to recompute: AMP knows neither memory nor recomputation, but a plan that
 * cannot be run is of no use. */
static int weigh(struct amp_race *x, const struct amp_candidate *c, const struct amp_wires *w)
{
	struct amp_input *in = x->in;
	struct amp_weighed *t = &x->trial;
	double bound = INFINITY;
	bool cut_off = false, squeezed = true;

	x->other.cost.seconds = INFINITY;
	/* what is recomputed besides costs time: where the fastest cut fits without, that is the best */
	for (int r = 0; squeezed && r < RECOMPUTES; r++) {
		int rc;

		if (!tried(in, r))
			continue;
		in->recompute = (enum recompute)r;
		cut_off = x->count == x->wanted &&
		          amp_least(&in->problem, c, x->room) >= x->kept[x->count - 1].cost.seconds;
		if (cut_off) /* nor with more recomputed */
			break;
		amp_hold(in, c);
		t->candidate = *c;
		t->recompute = in->recompute;
		rc = amp_cut(&in->problem, c, w, &x->effort, t->stages, &t->cost);
		if (rc != SB_OK)
			return rc;
		bound = fmin(bound, t->cost.lower_bound);
		squeezed = t->cost.squeezed;
		if (t->cost.seconds < x->other.cost.seconds)
			swap(t, &x->other);
	}
	x->bound = fmin(x->bound, bound);
	if (isfinite(x->other.cost.seconds))
		keep(x);
	else if (isfinite(bound))
		x->undecided++;
	else if (!cut_off)
		too_large(x, c);
	return SB_OK;
}

/* What the leanest cut of a candidate needs, however it recomputes. */
static int weigh_memory(struct amp_race *x, const struct amp_candidate *c, const struct amp_wires *w)
{
	(void)w;
	for (int r = 0; r < RECOMPUTES; r++) {
		int rc;

		if (!tried(x->in, r))
			continue;
		x->in->recompute = (enum recompute)r;
		amp_hold(x->in, c);
		rc = amp_least_bytes(&x->in->problem, c, &x->effort, &x->least_memory);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static bool wanted(const struct amp_input *in, const struct amp_candidate *c)
{
	const struct search_request *r = &in->request;
	const struct {
		enum constraint constraint;
		int64_t value;
	} fixed[] = {{ONLY_TP, c->tp}, {ONLY_DP, c->dp}, {ONLY_PP, c->pp}, {ONLY_MICRO_BATCH, c->micro_batch},
	             {ONLY_TP_X, 1},   {ONLY_CP, 1},     {ONLY_VPP, 1},    {ONLY_EP, 1},
	             {ONLY_ETP, 1}};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!allowed_value(r, fixed[i].constraint, fixed[i].value))
			return false;
	}
	return amp_has_times(in, c->tp);
}

typedef int candidate_work(struct amp_race *x, const struct amp_candidate *c, const struct amp_wires *w);

/* Does the work for every candidate that the request and the model allow. */
static int run(struct amp_race *x, const struct amp_candidate *all, int64_t count, candidate_work *work)
{
	const struct cost_problem *p = &x->in->request.problem;
	const struct amp_candidate *last = NULL;
	AMP_WIRES_AUTO w = {0};

	x->candidates = 0;
	memset(x->rejected, 0, sizeof(x->rejected));
	for (int64_t i = 0; i < count; i++) {
		const struct amp_candidate *c = &all[i];
		struct strategy s = amp_strategy(x->in, c, NULL);
		enum misfit f;
		int rc = SB_OK;

		if (!wanted(x->in, c) || (s.zero >= 2 && c->pp > 1))
			continue;
		x->candidates++;
		f = strategy_fit(&p->model, &p->cluster, &s, p->sequences);
		if (f != FIT_OK) {
			x->unfit[f] = s;
			x->rejected[f]++;
			continue;
		}
		if (!last || last->tp != c->tp || last->dp != c->dp) {
			amp_wires_free(&w);
			rc = amp_wires_of(&x->in->problem, c, &w);
			last = c;
		}
		if (rc == SB_OK)
			rc = work(x, c, &w);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int run_all(struct amp_race *x, const struct amp_candidate *all, int64_t count)
{
	int rc = run(x, all, count, weigh);

	if (rc != SB_OK || x->count > 0 || x->over == 0 || x->undecided > 0)
		return rc;
	x->effort = PARTITION_EFFORT;
	return run(x, all, count, weigh_memory);
}

int amp_race_run(struct amp_input *in, struct amp_race *x, struct sb_error *err)
{
	struct amp_candidate *all = calloc(AMP_CANDIDATES_MAX, sizeof(*all));
	int64_t count = 0;
	int rc = race_open(in, x);

	if (rc == SB_OK && all)
		count = amp_candidates(&in->problem, all);
	if (count > AMP_CANDIDATES_MAX)
		rc = sb_fail(err, SB_EIMPOSSIBLE, "search_too_large", "there are more than %d candidates",
		             AMP_CANDIDATES_MAX);
	else if (rc != SB_OK || !all || run_all(x, all, count) != SB_OK)
		rc = sb_no_memory(err);
	free(all);
	if (rc != SB_OK || x->count > 0)
		return rc;
	if (x->undecided > 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "search_too_large",
		               "the search ended before it found a candidate that fits in memory");
	if (x->over == 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "the constraints leave no candidate that the model allows");
	return SB_OK;
}
