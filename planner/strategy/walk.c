#include "planner/strategy/walk.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

#define CHUNKS_A_STEP 5 /* of a stage gone through in about the time that a step of the walk takes */
#define ASK_EFFORT ((int64_t)1 << 16) /* steps between two questions whether to stop: some 10 ms */

void search_free(struct search *x)
{
	free(x->keep);
	free(x->pipelines);
	free(x->cuts);
	free(x->runs);
	free(x->fitted);
	free(x->least);
	free(x->layouts);
	free(x->divisions);
	free(x->classes);
	free(x->uses);
	free(x->placements.at);
	free(x->network.known);
	free(x->bodies);
	free(x->known_at.at);
	free(x->known);
	free(x->works_at.at);
	free(x->works);
	free(x->cut_least);
	free(x->plain);
	free(x->rooms);
	free(x->totals);
}

static int add_cut(struct search *x, const struct strategy *s, struct pipeline *q, struct sb_error *err)
{
	const struct model *m = &x->r->problem.model;
	struct cut c = {s->vpp, s->last_fewer, s->first_more, x->run_count, 0, m->layers, 1};

	if (x->run_room < x->run_count + s->pp) {
		int64_t room = 2 * (x->run_count + s->pp);
		struct stage_run *grown = realloc(x->runs, (size_t)room * sizeof(*grown));

		if (!grown)
			return sb_no_memory(err);
		x->runs = grown;
		x->run_room = room;
	}
	if (sb_grow(&x->cuts, (size_t)x->cut_count, sizeof(*x->cuts)) != SB_OK)
		return sb_no_memory(err);
	c.runs = strategy_runs(m, s, &x->runs[x->run_count]);
	for (int64_t r = 0; r < c.runs; r++)
		if (x->runs[x->run_count + r].uneven)
			c.steps = 1 + s->vpp / CHUNKS_A_STEP;
	for (int64_t i = 0; i < s->pp - 1; i++) {
		int64_t n = strategy_slice_layers(s, m->layers, i);

		c.chunk = n < c.chunk ? n : c.chunk;
	}
	q->straight += s->vpp == 1;
	if (s->vpp > 1) {
		q->least_chunk = q->interleaves && q->least_chunk < c.chunk ? q->least_chunk : c.chunk;
		q->interleaves = true;
	}
	x->cuts[x->cut_count++] = c;
	x->run_count += c.runs;
	return SB_OK;
}

/* The longest slice of an even cut. */
static int64_t longest_slice(const struct model *m, int64_t pp, int64_t vpp)
{
	return (m->layers + pp * vpp - 1) / (pp * vpp);
}

/* Is a cut tried that leaves some of the slices between the first and the last longer than others? Not where
 * fewer chunks are as short; and with experts, whose cuts are many, only without chunks. */
static bool may_differ(const struct model *m, const struct strategy *s)
{
	return s->vpp == 1 ||
	       (!m->has_moe && longest_slice(m, s->pp, s->vpp - 1) > longest_slice(m, s->pp, s->vpp));
}

/* A cut with those lengths of its first slice that leave the other slices before the last equally long: with
 * others one of these is no shorter. Of two slices the last one's length says it. And what does not divide.
 */
static int add_lengthened(struct search *x, struct strategy *s, struct pipeline *q, struct sb_error *err)
{
	const struct model *m = &x->r->problem.model;
	int64_t slices = s->pp * s->vpp, rest = m->layers - (m->layers / slices - s->last_fewer);
	int rc = SB_OK;

	for (int64_t k = 0; rc == SB_OK && k <= (slices > 2 ? most_first_more(m) : 0); k++) {
		bool equal = slices == 1 || (rest - k >= slices - 1 && (rest - k) % (slices - 1) == 0);

		s->first_more = k;
		if (equal || (k == 0 && (may_differ(m, s) || (rest + 1) % (slices - 1) == 0)))
			rc = add_cut(x, s, q, err);
	}
	s->first_more = 0;
	return rc;
}

/* Could the last stage, with the head, be the longest were the last slice a layer longer? Else the other
 * stages grow for nothing. */
static bool shorter_pays(const struct model *m, const struct strategy *s)
{
	int64_t last = strategy_stage_layers(s, m->layers, s->pp - 1) + 1 + most_last_fewer(m);

	for (int64_t i = 0; i < s->pp - 1; i++)
		if (strategy_stage_layers(s, m->layers, i) >= last)
			return false;
	return true;
}

/* All lengths of the last slice: of a chunk it may be none. */
static int add_shortened(struct search *x, struct strategy *s, struct pipeline *q, struct sb_error *err)
{
	const struct model *m = &x->r->problem.model;
	int64_t share = m->layers / (s->pp * s->vpp), least = s->vpp > 1 ? 0 : 1;
	int rc = SB_OK;

	for (int64_t k = 0; rc == SB_OK && k <= (s->pp > 1 ? most_last_fewer(m) : 0); k++) {
		s->last_fewer = k;
		if (k == 0 || (share - k >= least && (s->vpp == 1 || shorter_pays(m, s))))
			rc = add_lengthened(x, s, q, err);
	}
	s->last_fewer = 0;
	return rc;
}

static int add_pipeline(struct search *x, int64_t pp, struct sb_error *err)
{
	const struct model *m = &x->r->problem.model;
	struct strategy s = strategy_default(m, &x->r->problem.cluster);
	struct pipeline *q = &x->pipelines[x->pipeline_count];
	int rc = SB_OK;

	*q = (struct pipeline){.pp = pp, .first_cut = x->cut_count};
	s.pp = pp;
	for (s.vpp = 1; rc == SB_OK && strategy_slices_fit(pp, s.vpp, m->layers); s.vpp++) {
		if ((s.vpp == 1 || pp > 1) && allowed_value(x->r, ONLY_VPP, s.vpp))
			rc = add_shortened(x, &s, q, err);
	}
	q->cuts = x->cut_count - q->first_cut;
	x->pipeline_count++;
	return rc;
}

static int prepare_pipelines(struct search *x, struct sb_error *err)
{
	struct values pp;
	int most = 0, rc = SB_OK;
	size_t runs = 1;

	pipeline_values(x->r, &pp);
	x->left_out = x->left_out || pp.left_out;
	x->pipelines = calloc((size_t)pp.count + 1, sizeof(*x->pipelines));
	if (!x->pipelines)
		return sb_no_memory(err);
	for (int i = 0; rc == SB_OK && i < pp.count; i++) {
		rc = add_pipeline(x, pp.value[i], err);
		most = x->pipelines[i].cuts > most ? x->pipelines[i].cuts : most;
	}
	for (int i = 0; i < x->cut_count; i++)
		runs = (size_t)x->cuts[i].runs > runs ? (size_t)x->cuts[i].runs : runs;
	x->plain = malloc(((size_t)most * 4 + 1) * sizeof(*x->plain));
	x->cut_least = malloc(((size_t)most + 1) * sizeof(*x->cut_least));
	x->rooms = malloc(runs * sizeof(*x->rooms));
	x->totals = malloc(runs * sizeof(*x->totals));
	return rc == SB_OK && (!x->cut_least || !x->plain || !x->rooms || !x->totals) ? sb_no_memory(err)
	                                                                              : rc;
}

/* The least seconds of one micro-batch by size and sequence parallelism, whatever the experts do: compute
 * alone, every expert on a device of its own, which reads the fewest weights. */
static void find_least(struct search *x, struct strategy *s, struct work (*least)[2])
{
	s->dp = s->pp = 1;
	s->ep = x->ep.value[x->ep.count - 1];
	for (int b = 0; b < x->batch.count; b++) {
		s->micro_batch = x->batch.value[b];
		least[b][0] = least[b][1] = (struct work){INFINITY, INFINITY};
		if (!allowed_value(x->r, ONLY_MICRO_BATCH, s->micro_batch))
			continue;
		for (int sp = 0; sp < 2; sp++) {
			s->sequence_parallel = sp;
			for (int i = 0; sequence_parallel_allowed(x->r, s) && i < x->etp.count; i++) {
				const struct work *w;

				s->etp = x->etp.value[i];
				x->effort++;
				w = &search_least_work(x, s, false)->of;
				least[b][sp].all = fmin(least[b][sp].all, w->all);
				least[b][sp].layer = fmin(least[b][sp].layer, w->layer);
			}
		}
	}
}

/* What is listed must be gone through, too. */
static bool listed_enough(struct search *x)
{
	x->unlisted = x->unlisted || search_exhausted(x) || x->effort > x->list_until;
	return x->unlisted;
}

/* Every pipeline and number of replicas beside one tp, tp_x and cp. */
static int add_layouts(struct search *x, struct strategy *s, int row, struct sb_error *err)
{
	const struct cost_problem *p = &x->r->problem;
	int64_t devices = cluster_devices(&p->cluster);
	struct work(*least)[2];

	if (sb_grow(&x->least, (size_t)row, sizeof(*x->least)) != SB_OK)
		return sb_no_memory(err);
	least = x->least[row].of;
	find_least(x, s, least);
	x->effort += (int64_t)x->pipeline_count * x->batch.count / 24;
	for (int i = 0; i < x->pipeline_count * x->batch.count; i++) {
		struct layout y = {
		    s->tp, s->tp_x, s->cp, x->batch.value[i % x->batch.count], i / x->batch.count,
		    row,   INFINITY};
		int64_t share = p->sequences / y.dp;
		double heaviest;

		s->pp = x->pipelines[y.pipeline].pp;
		s->dp = y.dp;
		if (s->pp * s->tp * s->cp > devices || s->dp > devices / (s->pp * s->tp * s->cp) ||
		    !allowed_value(x->r, ONLY_DP, s->dp))
			continue;
		heaviest = (double)((p->model.layers + s->pp - 1) / s->pp);
		for (int b = 0; b < x->batch.count && x->batch.value[b] <= share; b++) {
			double m = (double)(share / x->batch.value[b]);

			for (int sp = 0; share % x->batch.value[b] == 0 && sp < 2; sp++)
				y.bound = fmin(y.bound, m * fmax(least[b][sp].all / (double)s->pp,
				                                 least[b][sp].layer * heaviest));
		}
		x->effort += 2 + x->batch.count / 12; /* the sort is part of it */
		if (isinf(y.bound))
			continue;
		y.bound = search_outside(x, s, y.bound);
		if (sb_grow(&x->layouts, x->layout_count, sizeof(*x->layouts)) != SB_OK)
			return sb_no_memory(err);
		x->layouts[x->layout_count++] = y;
		if (listed_enough(x))
			return SB_OK;
	}
	return SB_OK;
}

static int by_bound(const void *a, const void *b)
{
	const struct layout *x = a, *y = b;

	if (x->bound != y->bound)
		return x->bound < y->bound ? -1 : 1;
	if (x->tp != y->tp)
		return x->tp < y->tp ? -1 : 1;
	if (x->tp_x != y->tp_x)
		return x->tp_x < y->tp_x ? -1 : 1;
	if (x->cp != y->cp)
		return x->cp < y->cp ? -1 : 1;
	if (x->pipeline != y->pipeline)
		return x->pipeline < y->pipeline ? -1 : 1;
	return x->dp < y->dp ? -1 : x->dp > y->dp;
}

static int prepare_layouts(struct search *x, struct sb_error *err)
{
	struct strategy s = search_default(x->r);
	struct tensor_values tensor;
	struct values cp;
	int row = 0, rc = SB_OK;

	tensor_values(x->r, x->out, &tensor);
	x->left_out = x->left_out || tensor.tp.left_out;
	for (int i = 0; rc == SB_OK && i < tensor.tp.count; i++) {
		s.tp = tensor.tp.value[i];
		s.tp_x = tensor.x[i];
		context_values(x->r, &s, x->out, &cp);
		for (int k = 0; rc == SB_OK && k < cp.count && !listed_enough(x); k++) {
			s.cp = cp.value[k];
			rc = add_layouts(x, &s, row++, err);
		}
	}
	if (x->layout_count > 0)
		qsort(x->layouts, x->layout_count, sizeof(*x->layouts), by_bound);
	return rc;
}

/* What may be offloaded: nothing to a host that is not known. */
static void prepare_offload(struct search *x)
{
	const struct cluster *c = &x->r->problem.cluster;

	x->host_bytes = x->host_wanted ? 0 : (double)c->host_memory_bytes;
	x->least_host = INFINITY;
	x->without = INFINITY;
	for (int i = 0; i < OFFLOADABLES; i++) {
		if (allowed_value(x->r, ONLY_OFFLOAD, i) && c->host_link_bytes_per_second > 0 &&
		    (c->host_memory_bytes > 0 || x->host_wanted))
			x->offloadable |= 1U << i;
	}
}

static int64_t effort_of(const struct search *x)
{
	return x->r->effort > 0 ? x->r->effort : SEARCH_EFFORT;
}

int search_prepare(struct search *x, struct sb_error *err)
{
	int rc;

	prepare_offload(x);

	x->swift = x->r->problem;
	x->swift.network.bounds = true;
	x->swift.model.moe.imbalance = 1; /* on one expert rank there is none */
	for (int l = 0; l < x->swift.network.levels; l++)
		x->swift.network.latency[l] = 0;
	x->inner_faster = network_inner_faster(&x->swift.network, 1);
	x->inner_twice = network_inner_faster(&x->swift.network, 2);
	x->modes = recompute_modes(x->r);
	divisors(x->r->problem.sequences, &x->batch);
	expert_values(x->r, &x->ep, &x->etp);
	x->left_out = x->batch.left_out || x->ep.left_out || x->etp.left_out;
	x->list_until = x->effort + (effort_of(x) - x->effort) / 2;
	x->open = INFINITY;
	x->keep = malloc(sizeof(*x->keep));
	x->known_at.at = calloc(KNOWN_COSTS, sizeof(*x->known_at.at));
	x->known = malloc(KNOWN_COSTS * sizeof(*x->known));
	x->works_at.at = calloc(KNOWN_WORK, sizeof(*x->works_at.at));
	x->works = malloc(KNOWN_WORK * sizeof(*x->works));
	x->divisions = malloc(((size_t)x->ep.count * (size_t)x->etp.count + 1) * sizeof(*x->divisions));
	x->network = x->r->problem.network;
	x->network.known = calloc(1, sizeof(*x->network.known));
	if (!x->network.known || !x->keep || !x->known_at.at || !x->known || !x->works_at.at || !x->works ||
	    !x->divisions)
		return sb_no_memory(err);
	keep_init(x->keep);
	rc = prepare_pipelines(x, err);
	return rc == SB_OK && x->ep.count > 0 && x->etp.count > 0 ? prepare_layouts(x, err) : rc;
}

bool search_exhausted(struct search *x)
{
	if (x->effort >= x->ask_at) {
		x->ask_at = x->effort + ASK_EFFORT;
		x->stopped = x->stopped || sb_stopped(x->r->watch);
	}
	return x->stopped || x->effort > effort_of(x);
}

bool search_wants(const struct search *x, double bound, double memory)
{
	return x->memory_only || (bound < x->without && keep_wants(x->keep, x->reached, bound, memory));
}

bool search_walk(struct search *x)
{
	/* No other walk comes for what is behind. */
	bool last = (x->away || !x->offloadable) && x->node_walk != NODES_WHOLE;

	x->open = x->layout_count > 0 ? x->layouts[0].bound : INFINITY;
	for (size_t i = 0; i < x->layout_count; i++) {
		const struct layout *y = &x->layouts[i];

		if (search_exhausted(x))
			return false;
		if (last)
			x->open = y->bound;
		if (x->memory_only && x->any_fits)
			return true;
		if (y->bound >= x->without)
			break;
		if (!x->memory_only && y->bound > SEARCH_SLACK * x->reached)
			cut_off_layout(x, y);
		else
			weigh_layout(x, y);
	}
	return !search_exhausted(x) && !x->unlisted;
}
