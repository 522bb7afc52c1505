#include "planner/methods/mist_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/space.h"

#define SIZES_MAX 5 /* layers within 2 of an even cut */
#define STAGES_MAX 256
#define PAIRS_MAX 1024
/* Stage options after which the search settles for what it has: about two
 * seconds. */
#define EFFORT ((int64_t)1 << 25)

/* A number of stages and of micro-batches, and what no plan of it undercuts. */
struct pair {
	int64_t stages, micro_batches;
	double bound, least; /* of the step; of a layer */
};

struct search {
	const struct mist_problem *p;
	struct mist_plan *out;
	struct mist_ways ways;
	struct mist_picks *picks; /* [stages * SIZES_MAX] */
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
	mist_ways_free(&s->ways);
	free(s->picks);
	free(s->options);
	free(s->choices);
	free(s->sizes);
	free(s->chosen);
}

static int search_open(const struct mist_problem *p, struct mist_plan *out, struct search *s)
{
	size_t layers = (size_t)(p->cost->model.layers < STAGES_MAX ? p->cost->model.layers : STAGES_MAX);

	*s = (struct search){.p = p, .out = out, .left = INFINITY};
	s->picks = calloc(layers * SIZES_MAX, sizeof(*s->picks));
	s->options = calloc(layers * SIZES_MAX, sizeof(*s->options));
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

	if ((double)shape->micro_batches * o.stable + others + fmin(0, o.delta) < s->out->seconds)
		mist_pick(out, o, way, checkpointed);
}

/* All ways of stage i. Time and memory are linear in the checkpointed layers:
 * the fewest that fit, and all, are the ends of what pays. Returns the
 * leanest's bytes. */
static double weigh_stage(struct search *s, int64_t i, int64_t layers, struct mist_picks *out)
{
	double leanest = INFINITY;

	out->count = 0;
	out->thinned = false;
	for (int64_t n = 0; n < s->ways.count; n++) {
		const struct mist_shape *shape = &s->ways.shape[s->ways.of[n]];
		const struct mist_layer *l = &s->ways.way[n].layer;
		int64_t least = mist_least_checkpointed(shape, l, i, layers);

		if (least < 0) {
			leanest = fmin(leanest, mist_stage_bytes(shape, l, i, layers, layers));
			continue;
		}
		leanest = 0;
		take(s, shape, i, layers, n, least, out);
		if (least < layers)
			take(s, shape, i, layers, n, layers, out);
	}
	s->out->candidates += s->ways.count;
	return leanest;
}

/* Does stage i have the same options as the one before it? Only where neither
 * is an end, and as much is in flight. */
static bool as_before(const struct pair *pair, int64_t i)
{
	return i > 1 && i < pair->stages - 1 && pair->stages - i >= pair->micro_batches;
}

/* The options of all stages. False when one of them fits in no way. */
static bool weigh_stages(struct search *s, const struct pair *pair)
{
	int64_t layers = s->p->cost->model.layers;
	double even = (double)layers / (double)pair->stages, fullest = 0;

	for (int64_t i = 0; i < pair->stages; i++) {
		double leanest = INFINITY;

		s->choices[i] = &s->options[i * SIZES_MAX];
		s->sizes[i] = 0;
		for (int64_t n = pair->stages == 1 ? layers : 1; n <= layers; n++) {
			struct mist_picks *x = &s->picks[i * SIZES_MAX + s->sizes[i]];

			if (fabs((double)n - even) > 2)
				continue;
			if (as_before(pair, i)) {
				*x = s->picks[(i - 1) * SIZES_MAX + s->sizes[i]];
				leanest = 0;
			} else {
				leanest = fmin(leanest, weigh_stage(s, i, n, x));
			}
			s->options[i * SIZES_MAX + s->sizes[i]++] =
			    (struct stage_options){n, x->count, x->option};
		}
		fullest = fmax(fullest, leanest);
	}
	if (fullest > 0)
		s->out->least_memory = fmin(s->out->least_memory, fullest);
	return fullest <= 0;
}

static int keep(struct search *s, const struct pair *pair, double seconds)
{
	struct mist_stage *stage = calloc((size_t)pair->stages, sizeof(*stage));

	if (!stage)
		return SB_ENOMEM;
	for (int64_t i = 0; i < pair->stages; i++) {
		const struct stage_choice *c = &s->chosen[i];
		const struct mist_picks *x = &s->picks[i * SIZES_MAX + c->size];
		int64_t n = x->way[c->option];
		int64_t layers = s->options[i * SIZES_MAX + c->size].layers;

		stage[i] = s->ways.way[n].stage;
		stage[i].layers = layers;
		stage[i].checkpointed = x->checkpointed[c->option];
		stage[i].stable = x->option[c->option].stable;
		stage[i].delta = x->option[c->option].delta;
		stage[i].bytes = mist_stage_bytes(&s->ways.shape[s->ways.of[n]], &s->ways.way[n].layer, i,
		                                  layers, stage[i].checkpointed);
	}
	mist_plan_free(s->out);
	s->out->stage = stage;
	s->out->stages = pair->stages;
	s->out->micro_batches = pair->micro_batches;
	s->out->seconds = seconds;
	return SB_OK;
}

/* Solves a pair with what may still be the best; *out_thinned: some of that was left out. */
static int solve_once(struct search *s, const struct pair *pair, bool *out_thinned)
{
	struct stage_program program = {pair->stages, s->p->cost->model.layers, pair->micro_batches,
	                                s->choices, s->sizes};
	struct stage_result r;
	int rc;

	*out_thinned = false;
	if (!weigh_stages(s, pair))
		return SB_OK;
	for (int64_t i = 0; i < pair->stages * SIZES_MAX; i++)
		*out_thinned = *out_thinned || s->picks[i].thinned;
	rc = stage_program_solve(&program, STAGE_PROGRAM_EFFORT - s->steps, s->out->seconds, s->chosen, &r,
	                         NULL);
	if (rc != SB_OK)
		return rc;
	s->steps += r.steps;
	if (!r.optimal)
		s->left = fmin(s->left, r.lower_bound);
	return r.feasible ? keep(s, pair, r.seconds) : SB_OK;
}

/* Where sets had to be thinned, what was found leaves less to be weighed the next time. */
static int solve_pair(struct search *s, const struct pair *pair)
{
	bool thinned = true;
	double before;

	mist_ways_of(s->p, pair->stages, pair->micro_batches, &s->ways);
	s->least = pair->least;
	do {
		int rc;

		before = s->out->seconds;
		rc = solve_once(s, pair, &thinned);
		if (rc != SB_OK)
			return rc;
	} while (thinned && s->out->seconds < before);
	if (thinned)
		s->left = fmin(s->left, pair->bound);
	return SB_OK;
}

/* No layer is quicker than its compute, whatever is sharded or checkpointed. */
static void bound_of(const struct mist_problem *p, const struct mist_stage *stage, struct pair *io)
{
	struct mist_shape x = mist_shape_of(p, io->stages, stage, io->micro_batches);
	double all;

	io->least = x.compute[0] + x.compute[1] + x.exposed[0] + x.exposed[1];
	all = (double)p->cost->model.layers * io->least;
	io->bound = (double)(io->micro_batches - 1) * all / (double)io->stages + all;
}

static int by_bound(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->bound > y->bound) - (x->bound < y->bound);
}

/* Adds the pair of a shape, or lowers its bound. */
static void add_pair(const struct mist_problem *p, int64_t stages, int64_t dp, int64_t micro_batch,
                     struct pair *pairs, int *count)
{
	int64_t share = dp * micro_batch;
	struct mist_stage stage;
	struct pair new = {.stages = stages};

	if (p->cost->sequences % share != 0)
		return;
	new.micro_batches = p->cost->sequences / share;
	if (!mist_shape_fits(p, stages, new.micro_batches, micro_batch, &stage))
		return;
	bound_of(p, &stage, &new);
	for (int i = 0; i < *count; i++) {
		if (pairs[i].stages == stages && pairs[i].micro_batches == new.micro_batches) {
			pairs[i].bound = fmin(pairs[i].bound, new.bound);
			pairs[i].least = fmin(pairs[i].least, new.least);
			return;
		}
	}
	if (*count < PAIRS_MAX)
		pairs[(*count)++] = new;
}

static int list_pairs(const struct mist_problem *p, struct pair *pairs)
{
	const struct cluster *c = &p->cost->cluster;
	int64_t devices = cluster_devices(c), node = c->devices_per_node;
	struct values stages, tensor;
	int count = 0;

	divisors(devices, &stages);
	divisors(node, &tensor);
	for (int i = 0;
	     i < stages.count && stages.value[i] <= p->cost->model.layers && stages.value[i] <= STAGES_MAX;
	     i++) {
		int64_t each = devices / stages.value[i];

		if (each % node != 0 && node % each != 0) /* meshes are parts of a node, or whole nodes */
			continue;
		for (int t = 0; t < tensor.count; t++) {
			for (int b = 0; each % tensor.value[t] == 0 && b < MIST_SHAPES_MAX; b++)
				add_pair(p, stages.value[i], each / tensor.value[t], mist_micro_batches[b],
				         pairs, &count);
		}
	}
	qsort(pairs, (size_t)count, sizeof(*pairs), by_bound);
	return count;
}

static int run(struct search *s, const struct pair *pairs, int count)
{
	for (int i = 0; i < count; i++) {
		int rc;

		if (pairs[i].bound >= s->out->seconds)
			break;
		if (s->out->candidates >= EFFORT || s->steps >= STAGE_PROGRAM_EFFORT) {
			s->left = fmin(s->left, pairs[i].bound);
			break;
		}
		rc = solve_pair(s, &pairs[i]);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int mist_search(const struct mist_problem *p, struct mist_plan *out, struct sb_error *err)
{
	struct search s __attribute__((cleanup(search_free)));
	struct pair pairs[PAIRS_MAX];
	int count, rc;

	*out = (struct mist_plan){.seconds = INFINITY, .least_memory = INFINITY};
	rc = search_open(p, out, &s);
	if (rc != SB_OK)
		return sb_no_memory(err);
	count = list_pairs(p, pairs);
	if (run(&s, pairs, count) != SB_OK)
		return sb_no_memory(err);
	if (!isfinite(out->seconds) && isfinite(out->least_memory))
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "no plan fits: the leanest needs %.0f bytes a device",
		               ceil(out->least_memory));
	if (!isfinite(out->seconds))
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "no stages, degrees and micro-batches of 1, 2 or 4 divide "
		               "the devices and the batch");
	out->lower_bound = fmin(out->seconds, s.left);
	out->optimal = out->lower_bound >= out->seconds;
	return SB_OK;
}

void mist_evaluate(const struct mist_problem *p, struct mist_plan *io, bool *out_fits)
{
	double sum = 0, largest = 0, delta = -INFINITY;

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
		delta = fmax(delta, o.delta - sum);
		largest = fmax(largest, o.stable);
		sum += o.stable;
	}
	io->seconds = (double)(io->micro_batches - 1) * largest + sum + delta;
}
