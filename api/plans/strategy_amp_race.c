#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/strategy_amp.h"
#include "planner/methods/partition.h"
#include "planner/strategy/space.h"

int amp_weighed_open(const struct amp_input *in, struct amp_weighed *out)
{
	out->stages = calloc((size_t)in->problem.layers, sizeof(*out->stages));
	out->nodes = calloc((size_t)in->problem.nodes, sizeof(*out->nodes));
	return out->stages && out->nodes ? SB_OK : SB_ENOMEM;
}

void amp_weighed_free(struct amp_weighed *w)
{
	free(w->stages);
	free(w->nodes);
	*w = (struct amp_weighed){0};
}

struct strategy amp_weighed_strategy(struct amp_input *in, const struct amp_weighed *w)
{
	static const enum dimension inside[DIMS] = {DIM_TP, DIM_CP, DIM_PP, DIM_DP};
	struct strategy s;

	in->recompute = w->recompute;
	s = amp_strategy(in, &w->candidate, w->stages);
	if (w->pipelines_inside)
		memcpy(s.order, inside, sizeof(inside));
	return s;
}

void amp_race_free(struct amp_race *x)
{
	for (int i = 0; i < AMP_KEPT_MAX; i++)
		amp_weighed_free(&x->kept[i]);
	for (int i = 0; i < PLAN_FRONT_MAX; i++)
		amp_weighed_free(&x->on_front[i]);
	amp_weighed_free(&x->trial);
	amp_weighed_free(&x->other);
	free(x->room);
}

static int race_open(struct amp_input *in, struct amp_race *x)
{
	int rc;

	*x = (struct amp_race){.in = in,
	                       .wanted = in->request.alternatives + 1,
	                       .bound = INFINITY,
	                       .least_memory = INFINITY,
	                       .effort = PARTITION_EFFORT};
	x->room = calloc((size_t)in->problem.layers, sizeof(*x->room));
	rc = x->room ? amp_weighed_open(in, &x->trial) : SB_ENOMEM;
	if (rc == SB_OK)
		rc = amp_weighed_open(in, &x->other);
	for (int i = 0; rc == SB_OK && i < x->wanted; i++)
		rc = amp_weighed_open(in, &x->kept[i]);
	return rc;
}

static void swap(struct amp_weighed *a, struct amp_weighed *b)
{
	struct amp_weighed c = *a;

	*a = *b;
	*b = c;
}

/* Takes a candidate that is slower on another placement out of those that are kept; false: it is as fast. */
static bool drop_slower(struct amp_race *x, const struct amp_weighed *by)
{
	for (int i = 0; i < x->count; i++) {
		struct amp_weighed w = x->kept[i];

		if (memcmp(&w.candidate, &by->candidate, sizeof(w.candidate)) != 0)
			continue;
		if (w.cost.seconds <= by->cost.seconds)
			return false;
		x->count--;
		memmove(&x->kept[i], &x->kept[i + 1], (size_t)(x->count - i) * sizeof(w));
		x->kept[x->count] = w; /* its lists stay */
		break;
	}
	return true;
}

/* Takes `other` in among the fastest; equal ones keep their order. */
static void keep(struct amp_race *x)
{
	struct amp_weighed last;
	int at;

	if (!drop_slower(x, &x->other))
		return;
	for (at = x->count; at > 0 && x->kept[at - 1].cost.seconds > x->other.cost.seconds;)
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

bool amp_race_tries(const struct amp_input *in, int recompute)
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

int amp_race_cut(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places,
                 double enough)
{
	struct amp_input *in = x->in;
	struct amp_weighed *t = &x->trial;
	int place, rc;

	amp_hold(in, c);
	t->candidate = *c;
	t->recompute = in->recompute;
	rc = amp_place_cut(&in->problem, c, places, enough, &x->effort, t->stages, &t->cost, &place);
	if (rc != SB_OK)
		return rc;
	t->pipelines_inside = places->place[place].at.pipelines_inside;
	memcpy(t->nodes, places->place[place].node, (size_t)in->problem.nodes * sizeof(*t->nodes));
	return SB_OK;
}

/* Cuts a candidate in each way to recompute: AMP knows neither memory nor recomputation, but a plan that
 * cannot be run is of no use. */
static int weigh(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places)
{
	struct amp_input *in = x->in;
	struct amp_weighed *t = &x->trial;
	double bound = INFINITY, enough;
	bool cut_off = false, squeezed = true;

	x->other.cost.seconds = INFINITY;
	/* what is recomputed besides costs time: where the fastest cut fits without, that is the best */
	for (int r = 0; squeezed && r < RECOMPUTES; r++) {
		int rc;

		if (!amp_race_tries(in, r))
			continue;
		in->recompute = (enum recompute)r;
		enough = x->count == x->wanted ? x->kept[x->count - 1].cost.seconds : INFINITY;
		cut_off = isfinite(enough) && amp_least(&in->problem, c, x->room) >= enough;
		if (cut_off) /* nor with more recomputed */
			break;
		rc = amp_race_cut(x, c, places, enough);
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
static int weigh_memory(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places)
{
	(void)places;
	for (int r = 0; r < RECOMPUTES; r++) {
		int rc;

		if (!amp_race_tries(x->in, r))
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

int amp_race_each(struct amp_race *x, const struct amp_candidate *all, int64_t count, amp_work *work)
{
	const struct cost_problem *p = &x->in->request.problem;
	const struct amp_candidate *last = NULL;
	struct amp_places *places = calloc(1, sizeof(*places));
	int rc = places ? SB_OK : SB_ENOMEM;

	x->candidates = 0;
	memset(x->rejected, 0, sizeof(x->rejected));
	for (int64_t i = 0; rc == SB_OK && i < count && !sb_stopped(x->in->problem.watch); i++) {
		const struct amp_candidate *c = &all[i];
		struct strategy s = amp_strategy(x->in, c, NULL);
		enum misfit f;

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
			amp_places_free(places);
			rc = amp_places_of(&x->in->problem, c, x->in->places, places);
			last = c;
		}
		if (rc == SB_OK)
			rc = work(x, c, places);
	}
	if (places)
		amp_places_free(places);
	free(places);
	return rc;
}

/* First on AMP's default placement alone, so that looking for better ones, which may take all of the effort,
 * loses no plan that has none, and knows what they must beat. */
static int weigh_all(struct amp_race *x, const struct amp_candidate *all, int64_t count)
{
	bool places = x->in->places;
	int rc;

	x->in->places = false;
	rc = amp_race_each(x, all, count, weigh);
	x->in->places = places;
	if (rc != SB_OK || !places || x->count == 0)
		return rc;
	x->effort = PARTITION_EFFORT;
	x->bound = INFINITY;
	x->over = x->undecided = 0;
	return amp_race_each(x, all, count, weigh);
}

static int run_all(struct amp_race *x, const struct amp_candidate *all, int64_t count)
{
	int rc = weigh_all(x, all, count);

	if (rc == SB_OK && x->count > 0)
		return amp_race_front(x, all, count);
	if (rc != SB_OK || x->over == 0 || x->undecided > 0)
		return rc;
	x->effort = PARTITION_EFFORT;
	return amp_race_each(x, all, count, weigh_memory);
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
