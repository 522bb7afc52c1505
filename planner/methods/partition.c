#include "planner/methods/partition.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds on the slowest stage that wait to be looked into: each halves a range of doubles, so that few are
 * ever open at once. */
#define RANGES_MAX 256

struct range {
	double low,
	    low_cuts; /* a bound that was tried, and what its cuts cost: less is not to be had below */
	double high, high_cuts; /* likewise: the slowest stage of a cut that was found */
};

struct solver {
	const struct partition_problem *p;
	double *prefix;        /* [layers + 1] */
	double *before, *here; /* least cost of the cuts of the first i layers in j stages */
	int64_t *queue;        /* candidates of the sliding window's minimum */
	int16_t *from;         /* [stages][layers + 1]: where the stage before ends */
	int64_t *cut, *best;   /* [stages] counts */
	struct partition *out;
	int64_t effort;
	struct range ranges[RANGES_MAX];
	int range_count;
};

static void solver_free(struct solver *s)
{
	free(s->prefix);
	free(s->before);
	free(s->here);
	free(s->queue);
	free(s->from);
	free(s->cut);
	free(s->best);
}

static int solver_open(const struct partition_problem *p, int64_t effort, struct partition *out,
                       struct solver *s)
{
	size_t places = (size_t)p->layers + 1, stages = (size_t)p->stages;

	assert(p->stages >= 1 && p->stages <= p->layers && p->layers <= PARTITION_LAYERS_MAX);
	*s = (struct solver){.p = p, .out = out, .effort = effort > 0 ? effort : PARTITION_EFFORT};
	s->prefix = calloc(places, sizeof(*s->prefix));
	s->before = calloc(places, sizeof(*s->before));
	s->here = calloc(places, sizeof(*s->here));
	s->queue = calloc(places, sizeof(*s->queue));
	s->from = calloc(places * stages, sizeof(*s->from));
	s->cut = calloc(stages, sizeof(*s->cut));
	s->best = calloc(stages, sizeof(*s->best));
	if (!s->prefix || !s->before || !s->here || !s->queue || !s->from || !s->cut || !s->best)
		return SB_ENOMEM;
	for (int64_t i = 0; i < p->layers; i++)
		s->prefix[i + 1] = s->prefix[i] + p->seconds[i];
	return SB_OK;
}

static double stage(const struct solver *s, int64_t first, int64_t end)
{
	return s->prefix[end] - s->prefix[first];
}

static double cut_at(const struct partition_problem *p, int64_t layer, int64_t cut)
{
	return p->cut_seconds ? p->cut_seconds[layer * (p->stages - 1) + cut] : 0;
}

/* One row: the first i layers in `stages` stages, none longer than `most`. The end k of the stage before
 * only moves forward with i, so that the least over it is that of a sliding window. */
static void next_row(struct solver *s, int64_t stages, double most)
{
	const struct partition_problem *p = s->p;
	int16_t *from = s->from + (stages - 1) * (p->layers + 1);
	int64_t head = 0, tail = 0;

	s->here[0] = INFINITY;
	for (int64_t i = 1; i <= p->layers; i++) {
		int64_t k = i - 1;

		if (k >= stages - 1) {
			double cost = s->before[k] + cut_at(p, k - 1, stages - 2);

			s->before[k] = cost;
			while (tail > head && s->before[s->queue[tail - 1]] >= cost)
				tail--;
			s->queue[tail++] = k;
		}
		while (tail > head && stage(s, s->queue[head], i) > most)
			head++;
		s->here[i] = tail > head ? s->before[s->queue[head]] : INFINITY;
		from[i] = (int16_t)(tail > head ? s->queue[head] : 0);
	}
}

/* The cheapest cuts with no stage longer than `most`: INFINITY when there are none. *out_slowest: the slowest
 * stage of the cut, which is left in s->cut. */
static double cheapest(struct solver *s, double most, double *out_slowest)
{
	const struct partition_problem *p = s->p;
	int64_t end = p->layers;

	s->out->steps += p->layers * p->stages;
	for (int64_t i = 0; i <= p->layers; i++)
		s->before[i] = i > 0 && stage(s, 0, i) <= most ? 0 : INFINITY;
	for (int64_t j = 2; j <= p->stages; j++) {
		double *row;

		next_row(s, j, most);
		row = s->before;
		s->before = s->here;
		s->here = row;
	}
	*out_slowest = 0;
	if (!isfinite(s->before[p->layers]))
		return INFINITY;
	for (int64_t j = p->stages; j >= 1; j--) {
		int64_t first = j > 1 ? s->from[(j - 1) * (p->layers + 1) + end] : 0;

		s->cut[j - 1] = end - first;
		*out_slowest = fmax(*out_slowest, stage(s, first, end));
		end = first;
	}
	return s->before[p->layers];
}

/* The shortest possible stage that is longer than `than`. */
static double next_stage(const struct solver *s, double than)
{
	double least = INFINITY;
	int64_t end = 1;

	for (int64_t first = 0; first < s->p->layers; first++) {
		while (end <= s->p->layers && (end <= first || stage(s, first, end) <= than))
			end++;
		if (end > s->p->layers)
			break;
		least = fmin(least, stage(s, first, end));
	}
	return least;
}

static double value(const struct solver *s, double slowest, double cuts)
{
	return (double)(s->p->micro_batches - 1) * slowest + stage(s, 0, s->p->layers) + cuts;
}

/* Tries a bound; keeps the cut where it is the best. */
static double try_bound(struct solver *s, double most, double *out_slowest)
{
	double cuts = cheapest(s, most, out_slowest);

	if (isfinite(cuts) && value(s, *out_slowest, cuts) < s->out->seconds) {
		s->out->seconds = value(s, *out_slowest, cuts);
		memcpy(s->best, s->cut, (size_t)s->p->stages * sizeof(*s->best));
	}
	return cuts;
}

static void look_later(struct solver *s, double low, double low_cuts, double high, double high_cuts)
{
	struct range r = {low, low_cuts, high, high_cuts};

	/* nothing cheaper than at `high`, and no slower stage pays, unless its cuts are cheaper */
	if (low < high && low_cuts > high_cuts && s->range_count < RANGES_MAX)
		s->ranges[s->range_count++] = r;
	else if (low < high && low_cuts > high_cuts)
		s->out->lower_bound = fmin(s->out->lower_bound, value(s, low, high_cuts));
}

/* Halves one range. Its cuts cost no less than high_cuts, and its stages are longer than low. */
static void look_into(struct solver *s, const struct range *r)
{
	double first = next_stage(s, r->low), middle, slowest, cuts;

	if (first >= r->high || value(s, first, r->high_cuts) >= s->out->seconds)
		return;
	if (s->out->steps >= s->effort) {
		s->out->lower_bound = fmin(s->out->lower_bound, value(s, first, r->high_cuts));
		return;
	}
	middle = fmax(first, r->low + (r->high - r->low) / 2);
	if (middle >= r->high)
		middle = first;
	cuts = try_bound(s, middle, &slowest);
	look_later(s, r->low, r->low_cuts, isfinite(cuts) ? slowest : r->low, cuts);
	look_later(s, middle, cuts, r->high, r->high_cuts);
}

int partition_least(const struct partition_problem *p, int64_t effort, int64_t *out_layers,
                    struct partition *out, struct sb_error *err)
{
	struct solver s __attribute__((cleanup(solver_free)));
	double slowest, cuts;
	int rc;

	*out = (struct partition){.seconds = INFINITY, .lower_bound = INFINITY};
	rc = solver_open(p, effort, out, &s);
	if (rc != SB_OK)
		return sb_no_memory(err);
	/* any cut will do that keeps below the whole chain: this one costs least, and no stage is below 0 */
	cuts = try_bound(&s, INFINITY, &slowest);
	look_later(&s, -1, INFINITY, slowest, cuts);
	while (s.range_count > 0) {
		struct range r = s.ranges[--s.range_count];

		look_into(&s, &r);
	}
	out->optimal = out->lower_bound >= out->seconds;
	out->lower_bound = fmin(out->lower_bound, out->seconds);
	memcpy(out_layers, s.best, (size_t)p->stages * sizeof(*out_layers));
	return SB_OK;
}

double partition_seconds(const struct partition_problem *p, const int64_t *layers)
{
	double slowest = 0, all = 0, cuts = 0;
	int64_t next = 0;

	for (int64_t j = 0; j < p->stages; j++) {
		double sum = 0;

		for (int64_t i = 0; i < layers[j]; i++)
			sum += p->seconds[next++];
		if (j + 1 < p->stages)
			cuts += cut_at(p, next - 1, j);
		slowest = fmax(slowest, sum);
		all += sum;
	}
	return (double)(p->micro_batches - 1) * slowest + all + cuts;
}

void partition_even(int64_t layers, int64_t stages, int64_t *out_layers)
{
	for (int64_t j = 0; j < stages; j++)
		out_layers[j] = layers / stages + (j < layers % stages ? 1 : 0);
}
