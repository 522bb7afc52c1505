#include "planner/methods/mist_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/space.h"

const int64_t mist_micro_batches[MIST_SHAPES_MAX] = {1, 2, 4};
static const double coarse[] = {0, .25, .375, .5, .75, 1}, fine[] = {0, .25, .375, .5, .625, .75, .875, 1};
#define COARSE 6
#define FINE 8
#define WAYS (3 * COARSE * COARSE * FINE * FINE)

int mist_ways_open(struct mist_ways *w)
{
	*w = (struct mist_ways){.way = calloc(MIST_SHAPES_MAX * WAYS, sizeof(*w->way)),
	                        .of = calloc(MIST_SHAPES_MAX * WAYS, sizeof(*w->of))};
	return w->way && w->of ? SB_OK : SB_ENOMEM;
}

void mist_ways_free(struct mist_ways *w)
{
	free(w->way);
	free(w->of);
}

bool mist_shape_fits(const struct mist_problem *p, int64_t stages, int64_t micro_batches, int64_t micro_batch,
                     struct mist_stage *out)
{
	const struct cluster *c = &p->cost->cluster;
	int64_t devices = cluster_devices(c) / stages, share = p->cost->sequences / micro_batches;
	struct strategy s = strategy_default(&p->cost->model, c);

	if (share % micro_batch != 0 || devices % (share / micro_batch) != 0)
		return false;
	*out = (struct mist_stage){
	    .micro_batch = micro_batch, .dp = share / micro_batch, .tp = devices / (share / micro_batch)};
	if (out->tp > c->devices_per_node || c->devices_per_node % out->tp != 0)
		return false;
	s.dp = out->dp;
	s.tp = out->tp;
	s.pp = stages;
	s.micro_batch = micro_batch;
	s.attention = p->attention;
	return strategy_fit(&p->cost->model, c, &s, p->cost->sequences) == FIT_OK;
}

/* No layer is quicker than its compute, whatever is sharded or checkpointed. */
static void bound_of(const struct mist_problem *p, const struct mist_stage *stage, struct mist_pair *io)
{
	struct mist_shape x = mist_shape_of(p, io->stages, stage, io->micro_batches);
	double all;

	io->least = x.compute[0] + x.compute[1] + x.exposed[0] + x.exposed[1];
	all = (double)p->cost->model.layers * io->least;
	io->bound = (double)(io->micro_batches - 1) * all / (double)io->stages + all;
}

static int by_bound(const void *a, const void *b)
{
	const struct mist_pair *x = a, *y = b;

	return (x->bound > y->bound) - (x->bound < y->bound);
}

/* Adds the pair of a shape, or lowers its bound. */
static void add_pair(const struct mist_problem *p, int64_t stages, int64_t dp, int64_t micro_batch,
                     struct mist_pair *pairs, int *count)
{
	int64_t share = dp * micro_batch;
	struct mist_stage stage;
	struct mist_pair new = {.stages = stages};

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
	if (*count < MIST_PAIRS_MAX)
		pairs[(*count)++] = new;
}

int mist_pairs(const struct mist_problem *p, struct mist_pair *pairs)
{
	const struct cluster *c = &p->cost->cluster;
	int64_t devices = cluster_devices(c), node = c->devices_per_node;
	struct values stages, tensor;
	int count = 0;

	divisors(devices, &stages);
	divisors(node, &tensor);
	for (int i = 0; i < stages.count && stages.value[i] <= p->cost->model.layers &&
	                stages.value[i] <= MIST_STAGES_MAX;
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

struct mist_sizes mist_sizes_of(const struct mist_problem *p, int64_t stages)
{
	int64_t layers = p->cost->model.layers, even = layers / stages;
	/* beside an even cut that does not come out even, 2 further than it are 2 layers on either side */
	int64_t first = even - 2 + (layers % stages > 0), last = even + 2;

	if (stages == 1)
		return (struct mist_sizes){layers, 1};
	first = first > 1 ? first : 1;
	last = last < layers ? last : layers;
	return (struct mist_sizes){first, last - first + 1};
}

/* The ways of one shape, the plainest first: equal ones keep to it. */
static void list_ways(const struct mist_problem *p, struct mist_ways *w, int shape,
                      const struct mist_stage *stage, int64_t stages)
{
	int shards = stage->dp > 1 ? 3 : 1;
	int coarse_count = p->offload ? COARSE : 1, fine_count = p->offload ? FINE : 1;

	for (int i = 0; i < shards * coarse_count * coarse_count * fine_count * fine_count; i++) {
		struct mist_way *way = &w->way[w->count];
		int rest = i;

		way->stage = *stage;
		way->stage.offload[MIST_ACTIVATIONS] = fine[rest % fine_count];
		rest /= fine_count;
		way->stage.offload[MIST_OPTIMIZER] = fine[rest % fine_count];
		rest /= fine_count;
		way->stage.offload[MIST_GRADIENTS] = coarse[rest % coarse_count];
		rest /= coarse_count;
		way->stage.offload[MIST_WEIGHTS] = coarse[rest % coarse_count];
		rest /= coarse_count;
		way->stage.shard[MIST_OPTIMIZER] = true;
		way->stage.shard[MIST_GRADIENTS] = rest >= 1;
		way->stage.shard[MIST_WEIGHTS] = rest >= 2;
		if (way->stage.offload[MIST_WEIGHTS] > 0 && way->stage.offload[MIST_GRADIENTS] <= 0)
			continue;
		if (p->allowed && !p->allowed(p->self, &way->stage, stages))
			continue;
		way->layer = mist_layer_of(p, &w->shape[shape], &way->stage);
		w->of[w->count++] = shape;
	}
}

void mist_ways_of(const struct mist_problem *p, int64_t stages, int64_t micro_batches, struct mist_ways *w)
{
	w->shapes = 0;
	w->count = 0;
	for (int b = 0; b < MIST_SHAPES_MAX; b++) {
		struct mist_stage stage;

		if (!mist_shape_fits(p, stages, micro_batches, mist_micro_batches[b], &stage))
			continue;
		w->shape[w->shapes] = mist_shape_of(p, stages, &stage, micro_batches);
		list_ways(p, w, w->shapes, &stage, stages);
		w->shapes++;
	}
}

static double both(const struct stage_option *o)
{
	return o->stable + o->delta;
}

void mist_pick(struct mist_picks *x, struct stage_option o, int64_t way, int64_t checkpointed)
{
	int at = x->count, end;

	while (at > 0 && x->option[at - 1].stable > o.stable)
		at--;
	if ((at > 0 && both(&x->option[at - 1]) <= both(&o)) ||
	    (at < x->count && x->option[at].stable <= o.stable && both(&x->option[at]) <= both(&o)))
		return;
	for (end = at; end < x->count && both(&x->option[end]) >= both(&o);)
		end++;
	if (end == at && x->count == MIST_PICKS_MAX) {
		x->thinned = true;
		return;
	}
	if (end != at + 1) {
		size_t rest = (size_t)(x->count - end);

		memmove(&x->option[at + 1], &x->option[end], rest * sizeof(x->option[0]));
		memmove(&x->way[at + 1], &x->way[end], rest * sizeof(x->way[0]));
		memmove(&x->checkpointed[at + 1], &x->checkpointed[end], rest * sizeof(x->checkpointed[0]));
	}
	x->option[at] = o;
	x->way[at] = way;
	x->checkpointed[at] = checkpointed;
	x->count += 1 - (end - at);
}
