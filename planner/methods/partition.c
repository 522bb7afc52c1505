#include "planner/methods/partition.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-12 /* of sums of up to PARTITION_LAYERS_MAX layers */

/* Ranges that wait to be looked into: each halves a range of doubles, so that few are ever open at once. */
#define RANGES_MAX 256

/* Of bounds on the slowest stage. The cheapest cuts cost low_cuts at the low end, whose own slowest stage is
 * no longer, and high_cuts at the high end, which is the slowest stage of that cut. */
struct range {
	double low, low_cuts, high, high_cuts;
};

struct solver {
	const struct partition_problem *p;
	double *prefix, *weights; /* [layers + 1], sums of the first layers' seconds and weights */
	double *before, *here;    /* least cost of the cuts of the first i layers in j stages */
	int64_t *queue;           /* candidates of the sliding window's minimum */
	int16_t *from;            /* [stages][layers + 1]: where the stage before ends */
	int64_t *cut, *best;      /* [stages] counts */
	double exchange_most;     /* that a stage may take to exchange */
	double exchange_least;    /* no cut exchanges sooner */
	double found, exchanged;  /* the least without its exchange, within exchange_most */
	double bound;             /* nothing that was passed over for want of effort is below it, likewise */
	struct partition *out;
	int64_t effort;
	struct range ranges[RANGES_MAX];
	int range_count;
};

static void solver_free(struct solver *s)
{
	free(s->prefix);
	free(s->weights);
	free(s->before);
	free(s->here);
	free(s->queue);
	free(s->from);
	free(s->cut);
	free(s->best);
}

static double stage(const struct solver *s, int64_t first, int64_t end)
{
	return s->prefix[end] - s->prefix[first];
}

static double exchange(const struct solver *s, int64_t j, int64_t first, int64_t end)
{
	return s->p->weight ? (s->weights[end] - s->weights[first]) * s->p->exchange_seconds[j] : 0;
}

/* The first layer from which stage j may reach up to layer i. */
static int64_t earliest(const struct partition_problem *p, int64_t j, int64_t i)
{
	return p->earliest ? p->earliest[j * (p->layers + 1) + i] : 0;
}

static double cut_at(const struct partition_problem *p, int64_t layer, int64_t j)
{
	if (p->cut_seconds)
		return p->cut_seconds[layer * (p->stages - 1) + j];
	return p->cut_size ? p->cut_size[layer] * p->cut_rate[j] : 0;
}

/* As if the weights came out even for all stages; a stage whose exchange takes no time could hold them all.
 */
static double least_exchange(const struct solver *s)
{
	double rate = 0;

	for (int64_t j = 0; s->p->weight && j < s->p->stages; j++)
		rate += 1 / s->p->exchange_seconds[j];
	return s->p->weight ? s->weights[s->p->layers] / rate * (1 - ROUNDING) : 0;
}

static int solver_open(const struct partition_problem *p, int64_t effort, struct partition *out,
                       struct solver *s)
{
	size_t places = (size_t)p->layers + 1, stages = (size_t)p->stages;

	assert(p->stages >= 1 && p->stages <= p->layers && p->layers <= PARTITION_LAYERS_MAX);
	*s = (struct solver){.p = p, .out = out, .effort = effort > 0 ? effort : PARTITION_EFFORT};
	s->prefix = calloc(places, sizeof(*s->prefix));
	s->weights = calloc(places, sizeof(*s->weights));
	s->before = calloc(places, sizeof(*s->before));
	s->here = calloc(places, sizeof(*s->here));
	s->queue = calloc(places, sizeof(*s->queue));
	s->from = calloc(places * stages, sizeof(*s->from));
	s->cut = calloc(stages, sizeof(*s->cut));
	s->best = calloc(stages, sizeof(*s->best));
	if (!s->prefix || !s->weights || !s->before || !s->here || !s->queue || !s->from || !s->cut ||
	    !s->best)
		return SB_ENOMEM;
	for (int64_t i = 0; i < p->layers; i++) {
		s->prefix[i + 1] = s->prefix[i] + p->seconds[i];
		s->weights[i + 1] = s->weights[i] + (p->weight ? p->weight[i] : 0);
	}
	s->exchange_least = least_exchange(s);
	return SB_OK;
}

/* One row: the first i layers in j + 1 stages, none longer than `most`. The end k of the stage before only
 * moves forward with i, so that the least over it is that of a sliding window. */
static void next_row(struct solver *s, int64_t j, double most)
{
	const struct partition_problem *p = s->p;
	int16_t *from = s->from + j * (p->layers + 1);
	int64_t head = 0, tail = 0;

	s->here[0] = INFINITY;
	for (int64_t i = 1; i <= p->layers; i++) {
		int64_t k = i - 1;

		if (k >= j) {
			double cost = s->before[k] + cut_at(p, k - 1, j - 1);

			s->before[k] = cost;
			while (tail > head && s->before[s->queue[tail - 1]] >= cost)
				tail--;
			s->queue[tail++] = k;
		}
		while (tail > head &&
		       (s->queue[head] < earliest(p, j, i) || stage(s, s->queue[head], i) > most ||
		        exchange(s, j, s->queue[head], i) > s->exchange_most))
			head++;
		s->here[i] = tail > head ? s->before[s->queue[head]] : INFINITY;
		from[i] = (int16_t)(tail > head ? s->queue[head] : 0);
	}
}

/* The cheapest cuts with no stage longer than `most`, left in s->cut: INFINITY when there are none. */
static double cheapest(struct solver *s, double most, double *out_slowest, double *out_exchange)
{
	const struct partition_problem *p = s->p;
	int64_t end = p->layers;

	s->out->steps += p->layers * p->stages;
	for (int64_t i = 0; i <= p->layers; i++)
		s->before[i] = i > 0 && earliest(p, 0, i) == 0 && stage(s, 0, i) <= most &&
		                       exchange(s, 0, 0, i) <= s->exchange_most
		                   ? 0
		                   : INFINITY;
	for (int64_t j = 1; j < p->stages; j++) {
		double *row;

		next_row(s, j, most);
		row = s->before;
		s->before = s->here;
		s->here = row;
	}
	*out_slowest = *out_exchange = 0;
	if (!isfinite(s->before[p->layers]))
		return INFINITY;
	for (int64_t j = p->stages - 1; j >= 0; j--) {
		int64_t first = j > 0 ? s->from[j * (p->layers + 1) + end] : 0;

		s->cut[j] = end - first;
		*out_slowest = fmax(*out_slowest, stage(s, first, end));
		*out_exchange = fmax(*out_exchange, exchange(s, j, first, end));
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

/* The slowest stage is longer than this: than any layer, and than an equal share, but for rounding. */
static double shortest_slowest(const struct solver *s)
{
	double longest = stage(s, 0, s->p->layers) / (double)s->p->stages;

	for (int64_t i = 0; i < s->p->layers; i++)
		longest = fmax(longest, stage(s, i, i + 1));
	return longest * (1 - ROUNDING) - DBL_MIN;
}

static double value(const struct solver *s, double slowest, double cuts)
{
	return (double)(s->p->micro_batches - 1) * slowest + stage(s, 0, s->p->layers) + cuts;
}

/* Without its exchange, a cut is of no use from here on. */
static double useless_from(const struct solver *s)
{
	return fmin(s->found, s->out->seconds - s->exchange_least);
}

/* Tries a bound; keeps the cut where it is the best. */
static double try_bound(struct solver *s, double most, double *out_slowest)
{
	double exchanged, cuts = cheapest(s, most, out_slowest, &exchanged);
	double all = value(s, *out_slowest, cuts);

	if (isfinite(cuts) && all < s->found) {
		s->found = all;
		s->exchanged = exchanged;
	}
	if (isfinite(cuts) && all + exchanged < s->out->seconds) {
		s->out->seconds = all + exchanged;
		memcpy(s->best, s->cut, (size_t)s->p->stages * sizeof(*s->best));
	}
	return cuts;
}

static void look_later(struct solver *s, double low, double low_cuts, double high, double high_cuts)
{
	/* where the cuts are as cheap at the low end already, longer stages do not pay */
	if (!(low < high) || low_cuts <= high_cuts)
		return;
	if (s->range_count < RANGES_MAX)
		s->ranges[s->range_count++] = (struct range){low, low_cuts, high, high_cuts};
	else
		s->bound = fmin(s->bound, value(s, low, high_cuts));
}

/* Halves one range. */
static void look_into(struct solver *s, const struct range *r)
{
	double first = next_stage(s, r->low), useless = useless_from(s), top, middle, slowest, cuts;

	if (first >= r->high || value(s, first, r->high_cuts) >= useless)
		return;
	if (s->out->steps >= s->effort || sb_stopped(s->p->watch)) {
		s->bound = fmin(s->bound, value(s, first, r->high_cuts));
		return;
	}
	/* a slower stage than this cannot pay, whatever the cuts */
	top = r->low + (useless - value(s, r->low, r->high_cuts)) / (double)(s->p->micro_batches - 1);
	middle = fmax(first, r->low + (fmin(r->high, top) - r->low) / 2);
	if (middle >= r->high)
		middle = first;
	cuts = try_bound(s, middle, &slowest);
	look_later(s, r->low, r->low_cuts, isfinite(cuts) ? slowest : r->low, cuts);
	look_later(s, middle, cuts, r->high, r->high_cuts);
}

/* The least within exchange_most, as far as it is of use. */
static void search(struct solver *s)
{
	double slowest, cuts;

	s->found = s->bound = INFINITY;
	cuts = try_bound(s, INFINITY, &slowest); /* the least that cuts cost at all */
	if (isfinite(cuts))
		look_later(s, shortest_slowest(s), INFINITY, slowest, cuts);
	while (s->range_count > 0) {
		struct range r = s->ranges[--s->range_count];

		look_into(s, &r);
	}
}

int partition_any(const struct partition_problem *p, int64_t *out_layers, bool *out_any)
{
	int64_t row = p->layers + 1, end = p->layers;
	int16_t
	    *last; /* [stages][layers + 1]: the latest end, up to i, of the first j + 1 stages; -1 = none */

	*out_any = !p->earliest;
	if (!p->earliest) {
		partition_even(p->layers, p->stages, out_layers);
		return SB_OK;
	}
	last = malloc((size_t)(p->stages * row) * sizeof(*last));
	if (!last)
		return SB_ENOMEM;
	for (int64_t j = 0; j < p->stages; j++) {
		last[j * row] = -1;
		for (int64_t i = 1; i < row; i++) {
			int64_t before = j > 0 ? last[(j - 1) * row + i - 1] : 0;
			bool here = before >= 0 && before >= earliest(p, j, i);

			last[j * row + i] = here ? (int16_t)i : last[j * row + i - 1];
		}
	}
	*out_any = last[p->stages * row - 1] == p->layers;
	for (int64_t j = p->stages - 1; *out_any && j >= 0; j--) {
		int64_t first = j > 0 ? last[(j - 1) * row + end - 1] : 0;

		out_layers[j] = end - first;
		end = first;
	}
	free(last);
	return SB_OK;
}

/* Where there is no effort for a search: a cut that is allowed, and a bound that needs none. */
static void settle(const struct partition_problem *p, const int64_t *layers, struct partition *out)
{
	double all = 0, longest = 0;

	for (int64_t i = 0; i < p->layers; i++) {
		all += p->seconds[i];
		longest = fmax(longest, p->seconds[i]);
	}
	out->seconds = partition_seconds(p, layers);
	out->lower_bound = (double)(p->micro_batches - 1) * fmax(longest, all / (double)p->stages) + all;
	out->lower_bound = fmin(out->seconds, out->lower_bound * (1 - ROUNDING));
}

int partition_least(const struct partition_problem *p, int64_t effort, int64_t *out_layers,
                    struct partition *out, struct sb_error *err)
{
	struct solver s __attribute__((cleanup(solver_free))) = {0};
	double left = INFINITY;
	bool any;
	int rc = partition_any(p, out_layers, &any);

	if (rc != SB_OK)
		return sb_no_memory(err);
	*out = (struct partition){.seconds = INFINITY, .lower_bound = INFINITY, .optimal = !any};
	if (!any)
		return SB_OK;
	if ((effort > 0 && p->layers * p->stages > effort) || sb_stopped(p->watch)) {
		settle(p, out_layers, out);
		return SB_OK;
	}
	rc = solver_open(p, effort, out, &s);
	if (rc != SB_OK)
		return sb_no_memory(err);
	memcpy(s.best, out_layers, (size_t)p->stages * sizeof(*s.best));
	out->seconds = partition_seconds(p, s.best);
	s.exchange_most = INFINITY;
	for (;;) {
		search(&s);
		left = fmin(left, s.bound);
		/* what exchanges as long as the found one, or longer, is no better than that */
		if (!isfinite(s.found) || s.found + s.exchange_least >= out->seconds ||
		    s.exchanged <= s.exchange_least)
			break;
		if (out->steps >= s.effort || sb_stopped(p->watch)) {
			left = fmin(left, s.found);
			break;
		}
		s.exchange_most = nextafter(s.exchanged, 0);
	}
	out->lower_bound = fmin(out->seconds, left + s.exchange_least);
	out->optimal = out->lower_bound >= out->seconds;
	memcpy(out_layers, s.best, (size_t)p->stages * sizeof(*out_layers));
	return SB_OK;
}

struct partition_parts partition_parts_of(const struct partition_problem *p, const int64_t *layers)
{
	struct partition_parts out = {0};
	double slowest = 0;
	int64_t next = 0;

	for (int64_t j = 0; j < p->stages; j++) {
		double sum = 0, weight = 0;

		for (int64_t i = 0; i < layers[j]; i++, next++) {
			sum += p->seconds[next];
			weight += p->weight ? p->weight[next] * p->exchange_seconds[j] : 0;
		}
		if (j + 1 < p->stages)
			out.cuts += cut_at(p, next - 1, j);
		slowest = fmax(slowest, sum);
		out.pipeline += sum;
		out.exchange = fmax(out.exchange, weight);
	}
	out.pipeline += (double)(p->micro_batches - 1) * slowest;
	return out;
}

double partition_seconds(const struct partition_problem *p, const int64_t *layers)
{
	struct partition_parts parts = partition_parts_of(p, layers);

	return parts.pipeline + parts.cuts + parts.exchange;
}

void partition_even(int64_t layers, int64_t stages, int64_t *out_layers)
{
	for (int64_t j = 0; j < stages; j++)
		out_layers[j] = layers / stages + (j < layers % stages ? 1 : 0);
}
