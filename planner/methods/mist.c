#include "planner/methods/mist_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/space.h"

/* Stage options after which the search settles for what it has: about two
 * seconds. */
#define EFFORT ((int64_t)1 << 25)

struct search {
	const struct mist_problem *p;
	struct mist_plan plan; /* of the pair that is at work; without stages: none was found */
	double limit;          /* seconds: plans that take as long are of no use */
	int64_t candidates;
	struct mist_ways ways;
	struct mist_picks *picks; /* [stages * MIST_SIZES_MAX] */
	struct stage_options *options;
	const struct stage_options **choices;
	int64_t *sizes;
	struct stage_choice *chosen;
	double least;  /* seconds of a layer, whatever is done to it; of the pair that is at work */
	int64_t steps; /* of the choices between stages */
	double left;   /* no plan that was passed over for want of effort is below it */
};

void mist_plan_free(struct mist_plan *p)
{
	free(p->stage);
	p->stage = NULL;
}

static void search_free(struct search *s)
{
	mist_plan_free(&s->plan);
	mist_ways_free(&s->ways);
	free(s->picks);
	free(s->options);
	free(s->choices);
	free(s->sizes);
	free(s->chosen);
}

static int search_open(const struct mist_problem *p, double limit, struct search *s)
{
	size_t layers =
	    (size_t)(p->cost->model.layers < MIST_STAGES_MAX ? p->cost->model.layers : MIST_STAGES_MAX);

	*s = (struct search){.p = p, .limit = limit, .left = INFINITY};
	s->picks = calloc(layers * MIST_SIZES_MAX, sizeof(*s->picks));
	s->options = calloc(layers * MIST_SIZES_MAX, sizeof(*s->options));
	s->choices = calloc(layers, sizeof(*s->choices));
	s->sizes = calloc(layers, sizeof(*s->sizes));
	s->chosen = calloc(layers, sizeof(*s->chosen));
	return mist_ways_open(&s->ways) == SB_OK && s->picks && s->options && s->choices && s->sizes &&
	               s->chosen
	           ? SB_OK
	           : SB_ENOMEM;
}

/* Takes a way in where a plan with it can still be the best. */
static void take(const struct search *s, const struct mist_shape *shape, int64_t i, int64_t layers,
                 int64_t way, int64_t checkpointed, struct mist_picks *out)
{
	struct stage_option o = mist_stage_seconds(shape, &s->ways.way[way].layer, i, layers, checkpointed);
	double others = (double)(s->p->cost->model.layers - layers) * s->least;

	if ((double)shape->micro_batches * o.stable + others + fmin(0, o.delta) < s->limit)
		mist_pick(out, o, way, checkpointed);
}

/* All ways of stage i. Time and memory are linear in the checkpointed layers, from the first on: the fewest
 * that fit, and all where those fit, are the ends of what pays. False when none fits. */
static bool weigh_stage(struct search *s, int64_t i, int64_t layers, struct mist_picks *out)
{
	bool any = false;

	out->count = 0;
	out->thinned = false;
	for (int64_t n = 0; n < s->ways.count; n++) {
		const struct mist_shape *shape = &s->ways.shape[s->ways.of[n]];
		const struct mist_layer *l = &s->ways.way[n].layer;
		int64_t least = mist_least_checkpointed(shape, l, i, layers);

		if (least < 0)
			continue;
		any = true;
		take(s, shape, i, layers, n, least, out);
		/* with nothing left to be saved, the layer that is run again is too much */
		if (least < layers && mist_stage_bytes(shape, l, i, layers, layers) <= shape->capacity)
			take(s, shape, i, layers, n, layers, out);
	}
	s->candidates += s->ways.count;
	return any;
}

/* Does stage i have the same options as the one before it? Only where neither
 * is an end, and as much is in flight. */
static bool as_before(const struct mist_pair *pair, int64_t i)
{
	return i > 1 && i < pair->stages - 1 && pair->stages - i >= pair->micro_batches;
}

/* The options of all stages. False when one of them fits in no way, or nobody waits any more. */
static bool weigh_stages(struct search *s, const struct mist_pair *pair)
{
	for (int64_t i = 0; i < pair->stages && !sb_stopped(s->p->watch); i++) {
		struct mist_picks *x = &s->picks[i * MIST_SIZES_MAX];
		struct mist_sizes sizes = mist_sizes_of(s->p, pair->stages);
		bool any = as_before(pair, i);

		s->choices[i] = &s->options[i * MIST_SIZES_MAX];
		s->sizes[i] = sizes.count;
		for (int64_t k = 0; k < sizes.count; k++) {
			if (as_before(pair, i))
				x[k] = s->picks[(i - 1) * MIST_SIZES_MAX + k];
			else if (weigh_stage(s, i, sizes.first + k, &x[k]))
				any = true;
			s->options[i * MIST_SIZES_MAX + k] =
			    (struct stage_options){sizes.first + k, x[k].count, x[k].option};
		}
		if (!any)
			return false;
	}
	return !sb_stopped(s->p->watch);
}

static int keep(struct search *s, const struct mist_pair *pair, double seconds)
{
	struct mist_stage *stage = calloc((size_t)pair->stages, sizeof(*stage));

	if (!stage)
		return SB_ENOMEM;
	for (int64_t i = 0; i < pair->stages; i++) {
		const struct stage_choice *c = &s->chosen[i];
		const struct mist_picks *x = &s->picks[i * MIST_SIZES_MAX + c->size];
		int64_t n = x->way[c->option];
		int64_t layers = s->options[i * MIST_SIZES_MAX + c->size].layers;

		stage[i] = s->ways.way[n].stage;
		stage[i].layers = layers;
		stage[i].checkpointed = x->checkpointed[c->option];
		stage[i].stable = x->option[c->option].stable;
		stage[i].delta = x->option[c->option].delta;
		stage[i].bytes = mist_stage_bytes(&s->ways.shape[s->ways.of[n]], &s->ways.way[n].layer, i,
		                                  layers, stage[i].checkpointed);
	}
	mist_plan_free(&s->plan);
	s->plan = (struct mist_plan){
	    .stages = pair->stages, .micro_batches = pair->micro_batches, .stage = stage, .seconds = seconds};
	s->limit = seconds;
	return SB_OK;
}

/* Solves a pair with what may still be the best; *out_thinned: some of that was left out. */
static int solve_once(struct search *s, const struct mist_pair *pair, bool *out_thinned)
{
	struct stage_program program = {
	    pair->stages, s->p->cost->model.layers, pair->micro_batches, s->choices, s->sizes, s->p->watch};
	struct stage_result r;
	int rc;

	*out_thinned = false;
	if (!weigh_stages(s, pair))
		return SB_OK;
	for (int64_t i = 0; i < pair->stages * MIST_SIZES_MAX; i++)
		*out_thinned = *out_thinned || s->picks[i].thinned;
	rc = stage_program_solve(&program, STAGE_PROGRAM_EFFORT - s->steps, s->limit, s->chosen, &r, NULL);
	if (rc != SB_OK)
		return rc;
	s->steps += r.steps;
	if (!r.optimal)
		s->left = fmin(s->left, r.lower_bound);
	return r.feasible ? keep(s, pair, r.seconds) : SB_OK;
}

/* Where sets had to be thinned, what was found leaves less to be weighed the next time. */
static int solve_pair(struct search *s, const struct mist_pair *pair)
{
	bool thinned = true;
	double before;

	mist_plan_free(&s->plan);
	mist_ways_of(s->p, pair->stages, pair->micro_batches, &s->ways);
	s->least = pair->least;
	do {
		int rc;

		before = s->limit;
		rc = solve_once(s, pair, &thinned);
		if (rc != SB_OK)
			return rc;
	} while (thinned && s->limit < before);
	if (thinned)
		s->left = fmin(s->left, pair->bound);
	return SB_OK;
}

static bool exhausted(const struct search *s)
{
	return s->candidates >= EFFORT || s->steps >= STAGE_PROGRAM_EFFORT || sb_stopped(s->p->watch);
}

/* The least step that takes less than the limit; out->stage stays NULL where there is none. */
static int search_below(const struct mist_problem *p, double limit, struct mist_plan *out)
{
	struct search s __attribute__((cleanup(search_free)));
	struct mist_pair pairs[MIST_PAIRS_MAX];
	int count = mist_pairs(p, pairs), rc = search_open(p, limit, &s);

	*out = (struct mist_plan){.seconds = INFINITY, .least_memory = INFINITY};
	for (int i = 0; rc == SB_OK && i < count && pairs[i].bound < s.limit; i++) {
		if (exhausted(&s)) {
			s.left = fmin(s.left, pairs[i].bound);
			break;
		}
		rc = solve_pair(&s, &pairs[i]);
		if (rc == SB_OK && s.plan.stage) {
			mist_plan_free(out);
			*out = s.plan;
			s.plan.stage = NULL;
		}
	}
	out->candidates = s.candidates;
	out->lower_bound = fmin(out->seconds, s.left);
	out->optimal = out->lower_bound >= out->seconds;
	out->least_memory = INFINITY;
	return rc;
}

int mist_search(const struct mist_problem *p, struct mist_plan *out, struct sb_error *err)
{
	if (search_below(p, INFINITY, out) != SB_OK)
		return sb_no_memory(err);
	if (out->stage)
		return SB_OK;
	if (mist_least_memory(p, &out->least_memory) != SB_OK)
		return sb_no_memory(err);
	if (!isfinite(out->least_memory))
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "no stages, degrees and micro-batches of 1, 2 or 4 divide "
		               "the devices and the batch");
	if (out->least_memory <= (double)p->cost->memory_bytes)
		return sb_fail(err, SB_EIMPOSSIBLE, "search_too_large",
		               "the search ended before it found a plan that fits");
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no plan fits: the leanest needs %.0f bytes a device", ceil(out->least_memory));
}

/* Takes a plan in among the fastest of `wanted`; what is too slow is freed. */
static void insert(struct mist_plan *plans, int wanted, int *count, struct mist_plan *plan)
{
	int at = *count;

	while (at > 0 && plans[at - 1].seconds > plan->seconds)
		at--;
	if (*count == wanted)
		mist_plan_free(&plans[wanted - 1]);
	else
		++*count;
	memmove(&plans[at + 1], &plans[at], (size_t)(*count - 1 - at) * sizeof(*plans));
	plans[at] = *plan;
	plan->stage = NULL;
}

int mist_alternatives(const struct mist_problem *p, const struct mist_plan *best, double slack, int wanted,
                      struct mist_plan *out, int *out_count)
{
	struct search s __attribute__((cleanup(search_free)));
	struct mist_pair pairs[MIST_PAIRS_MAX];
	double limit = best->seconds * slack;
	int count = mist_pairs(p, pairs), rc = search_open(p, limit, &s);

	*out_count = 0;
	for (int i = 0; rc == SB_OK && wanted > 0 && i < count && pairs[i].bound < limit && !exhausted(&s);
	     i++) {
		if (pairs[i].stages == best->stages && pairs[i].micro_batches == best->micro_batches)
			continue;
		s.limit = limit;
		rc = solve_pair(&s, &pairs[i]);
		if (rc == SB_OK && s.plan.stage)
			insert(out, wanted, out_count, &s.plan);
		if (*out_count == wanted)
			limit = out[wanted - 1].seconds;
	}
	return rc;
}

double mist_fullest(const struct mist_plan *plan)
{
	double most = 0;

	for (int64_t i = 0; i < plan->stages; i++)
		most = fmax(most, plan->stage[i].bytes);
	return most;
}

int mist_frontier(const struct mist_problem *p, const struct mist_plan *best, double slack, int wanted,
                  struct mist_plan *out, int *out_count)
{
	struct cost_problem cost = *p->cost;
	struct mist_problem q = *p;
	double most = mist_fullest(best), least, last = most;
	int64_t candidates = 0;
	int rc = mist_least_memory(p, &least);

	*out_count = 0;
	q.cost = &cost;
	for (int k = 1; rc == SB_OK && k <= wanted && candidates < EFFORT; k++) {
		struct mist_plan *x = &out[*out_count];

		cost.memory_bytes = (int64_t)ceil(most - (most - least) * k / wanted);
		if ((double)cost.memory_bytes >= last)
			continue;
		rc = search_below(&q, best->seconds * slack, x);
		candidates += x->candidates;
		if (!x->stage) /* what is leaner still is slower still */
			break;
		last = mist_fullest(x);
		++*out_count;
	}
	return rc;
}

struct mist_parts mist_parts_of(const struct mist_plan *plan)
{
	double largest = 0, tail = -INFINITY, sum = 0;

	for (int64_t i = 0; i < plan->stages; i++) {
		const struct mist_stage *s = &plan->stage[i];

		tail = fmax(tail, s->delta - sum);
		largest = fmax(largest, s->stable);
		sum += s->stable;
	}
	return (struct mist_parts){(double)(plan->micro_batches - 1) * largest, sum, tail};
}

void mist_evaluate(const struct mist_problem *p, struct mist_plan *io, bool *out_fits)
{
	struct mist_parts parts;

	*out_fits = true;
	for (int64_t i = 0; i < io->stages; i++) {
		struct mist_stage *s = &io->stage[i];
		struct mist_shape shape = mist_shape_of(p, io->stages, s, io->micro_batches);
		struct mist_layer layer = mist_layer_of(p, &shape, s);
		struct stage_option o = mist_stage_seconds(&shape, &layer, i, s->layers, s->checkpointed);

		s->stable = o.stable;
		s->delta = o.delta;
		s->bytes = mist_stage_bytes(&shape, &layer, i, s->layers, s->checkpointed);
		*out_fits = *out_fits && s->bytes <= shape.capacity;
	}
	parts = mist_parts_of(io);
	io->seconds = parts.steady + parts.fill + parts.ends;
}
