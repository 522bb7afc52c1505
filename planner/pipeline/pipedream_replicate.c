#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/pipeline/pipedream.h"
#include "planner/pipeline/pipeline.h"

/* Cells of the tables, and splits that are tried: about a tenth of a second. */
#define CELLS_MAX (1 << 22)
#define SPLITS_MAX (1 << 25)

/* The best for layers i to j on some machines of a level. */
struct best {
	double time;
	int32_t split;    /* last layer before the last stage; -1 = one stage */
	int32_t machines; /* of the last stage */
};

struct search {
	const struct pipedream_problem *p;
	struct best *of[PIPEDREAM_LEVELS_MAX]; /* [(first * layers + last) * machines + machines - 1] */
	double *time, *weights, *parameters, *activation; /* of all layers before one */
	int64_t candidates;
};

static void search_free(struct search *s)
{
	for (int l = 0; l < PIPEDREAM_LEVELS_MAX; l++)
		free(s->of[l]);
	free(s->time);
	free(s->weights);
	free(s->parameters);
	free(s->activation);
}

static double *sums(const double *of, int64_t n)
{
	double *sum = malloc(((size_t)n + 1) * sizeof(*sum));

	if (sum)
		sum[0] = 0;
	for (int64_t i = 0; sum && i < n; i++)
		sum[i + 1] = sum[i] + of[i];
	return sum;
}

static struct best *best_of(const struct search *s, int64_t level, int64_t first, int64_t last,
                            int64_t machines)
{
	int64_t all = s->p->levels[level].machines;

	return &s->of[level][(first * s->p->layers + last) * all + machines - 1];
}

/* Of these layers on one machine of a level. */
static double time_below(const struct search *s, int64_t level, int64_t first, int64_t last)
{
	if (level == 0)
		return s->time[last + 1] - s->time[first];
	return best_of(s, level - 1, first, last, s->p->levels[level - 1].machines)->time;
}

/* A stage in copies, with so many machines of its level behind it. shared: by how many machines the exchange
 * of weights is shared. */
static double stage_time(const struct search *s, int64_t level, int64_t first, int64_t last, int64_t copies,
                         int64_t behind, double shared)
{
	double weights = s->weights[last + 1] - s->weights[first], m = (double)copies;
	double parameters = s->parameters[last + 1] - s->parameters[first];
	double activation = s->activation[last + 1] - s->activation[first];
	double under_way = ceil((double)behind / m);

	if (parameters + under_way * weights + (1 + under_way) * activation >
	    s->p->memory * (1 + PIPELINE_ROUNDING))
		return INFINITY;
	return (time_below(s, level, first, last) +
	        4 * (m - 1) * weights / (s->p->levels[level].bandwidth * m) / shared) /
	       m;
}

/* Both cuts of a stage; that of the last layer of all is none. */
static double cut_time(const struct search *s, int64_t level, int64_t split, int64_t last, int64_t copies)
{
	double rate = s->p->levels[level].bandwidth * (double)copies, most;

	if (!s->p->output)
		return 0;
	most = 2 * s->p->output[split] / rate;
	return last + 1 < s->p->layers ? fmax(most, 2 * s->p->output[last] / rate) : most;
}

static struct best find(struct search *s, int64_t level, int64_t first, int64_t last, int64_t machines)
{
	int64_t all = s->p->levels[level].machines;
	double shared = level > 0 ? (double)s->p->levels[level - 1].machines : 1;
	struct best b = {stage_time(s, level, first, last, machines, all - machines, shared), -1,
	                 (int32_t)machines};

	for (int64_t split = first; split < last; split++) {
		for (int64_t copies = 1; copies < machines; copies++) {
			double time = best_of(s, level, first, split, machines - copies)->time;

			s->candidates++;
			if (time >= b.time)
				continue;
			time = fmax(time, stage_time(s, level, split + 1, last, copies, all - machines, 1));
			time = fmax(time, cut_time(s, level, split, last, copies));
			if (time < b.time)
				b = (struct best){time, (int32_t)split, (int32_t)copies};
		}
	}
	return b;
}

/* All runs of layers, since any can be a stage of the level above; of the outermost level those from the
 * first layer on. */
static int fill_level(struct search *s, int64_t level)
{
	int64_t n = s->p->layers, all = s->p->levels[level].machines;
	int64_t firsts = level + 1 < s->p->level_count ? n : 1;
	int rc = SB_OK;

	s->of[level] = malloc((size_t)(firsts * n * all) * sizeof(struct best));
	if (!s->of[level])
		return SB_ENOMEM;
	for (int64_t first = 0; first < firsts; first++)
		for (int64_t last = first; last < n && rc == SB_OK; last++) {
			for (int64_t m = 1; m <= all; m++)
				*best_of(s, level, first, last, m) = find(s, level, first, last, m);
			rc = sb_watch_rc(s->p->watch);
		}
	return rc;
}

/* Takes up the stages of some layers at a level, each with the copies of the levels above. */
/* NOLINTBEGIN(misc-no-recursion): a level each, and the layers before a split */
static int add_stages(const struct search *s, int64_t level, int64_t first, int64_t last, int64_t machines,
                      const struct pipedream_stage *above, struct pipedream_plan *out)
{
	const struct best *b = best_of(s, level, first, last, machines);
	int64_t from = b->split < 0 ? first : b->split + 1;
	struct pipedream_stage x = *above;
	int rc = SB_OK;

	if (b->split >= 0)
		rc = add_stages(s, level, first, b->split, machines - b->machines, above, out);
	x.replicas[level] = b->machines;
	if (rc == SB_OK && level > 0)
		return add_stages(s, level - 1, from, last, s->p->levels[level - 1].machines, &x, out);
	if (rc == SB_OK)
		rc = sb_grow(&out->stages, (size_t)out->stage_count, sizeof(*out->stages));
	x.first = from;
	x.count = last + 1 - from;
	if (rc == SB_OK)
		out->stages[out->stage_count++] = x;
	return rc;
}
/* NOLINTEND(misc-no-recursion) */

static int check_size(const struct pipedream_problem *p, struct sb_error *err)
{
	double cells = 0, splits = 0, n = (double)p->layers;

	for (int64_t l = 0; l < p->level_count; l++) {
		double m = (double)p->levels[l].machines, firsts = l + 1 < p->level_count ? n : 1;

		cells += firsts * n * m;
		splits += firsts * n * n * m * m / (firsts > 1 ? 12 : 4);
	}
	if (cells <= CELLS_MAX && splits <= SPLITS_MAX)
		return SB_OK;
	return sb_fail(err, SB_ELIMIT, "too_large",
	               "layers and machines are too many for this method: %.3g splits would have to be tried",
	               splits);
}

static int solve(struct search *s, struct pipedream_plan *out)
{
	const struct pipedream_problem *p = s->p;
	int64_t top = p->level_count - 1, all = p->levels[top].machines;
	int rc = SB_OK;

	s->time = sums(p->time, p->layers);
	s->weights = sums(p->weights, p->layers);
	s->parameters = sums(p->parameters, p->layers);
	s->activation = sums(p->activation, p->layers);
	if (!s->time || !s->weights || !s->parameters || !s->activation)
		return SB_ENOMEM;
	for (int64_t l = 0; l < p->level_count && rc == SB_OK; l++)
		rc = fill_level(s, l);
	if (rc != SB_OK)
		return rc;
	out->bottleneck = best_of(s, top, 0, p->layers - 1, all)->time;
	out->candidates = s->candidates;
	if (isinf(out->bottleneck))
		return SB_EINFEASIBLE;
	return add_stages(s, top, 0, p->layers - 1, all, &(struct pipedream_stage){0}, out);
}

/* One stage of all layers at every level. */
static double data_parallel(const struct pipedream_problem *p)
{
	double time = 0, weights = 0, held = 0, shared = 1;

	for (int64_t i = 0; i < p->layers; i++) {
		time += p->time[i];
		weights += p->weights[i];
		held += p->parameters[i] + p->activation[i];
	}
	if (held > p->memory * (1 + PIPELINE_ROUNDING))
		return INFINITY;
	for (int64_t l = 0; l < p->level_count; l++) {
		double m = (double)p->levels[l].machines;

		time = (time + 4 * (m - 1) * weights / (p->levels[l].bandwidth * m) / shared) / m;
		shared = m;
	}
	return time;
}

int pipedream_replicate(const struct pipedream_problem *p, struct pipedream_plan *out, struct sb_error *err)
{
	__attribute__((cleanup(search_free))) struct search s = {.p = p};
	PIPEDREAM_PLAN_AUTO plan = {0};
	int rc = check_size(p, err);

	if (rc != SB_OK)
		return rc;
	rc = solve(&s, &plan);
	if (rc == SB_EINFEASIBLE)
		return sb_fail(err, rc, "infeasible", "no stages fit the memory of the machines");
	if (rc == SB_ECANCELED)
		return sb_fail(err, rc, "canceled", "the search was canceled");
	if (rc != SB_OK)
		return sb_no_memory(err);
	plan.data_parallel = data_parallel(p);
	*out = plan;
	plan = (struct pipedream_plan){0};
	return SB_OK;
}

void pipedream_plan_free(struct pipedream_plan *plan)
{
	free(plan->stages);
	*plan = (struct pipedream_plan){0};
}

int pipedream_least_memory(const struct pipedream_problem *p, double *out_bytes, struct sb_error *err)
{
	struct pipedream_problem q = *p;
	double low = -1, high = 0;
	int rc = SB_OK;

	/* one stage on all machines */
	for (int64_t i = 0; i < p->layers; i++)
		high += p->parameters[i] + p->activation[i];
	high = ceil(high);
	while (rc == SB_OK && high - low > 1 + PIPELINE_ROUNDING * high) {
		PIPEDREAM_PLAN_AUTO plan = {0};

		q.memory = floor(low + (high - low) / 2);
		rc = pipedream_replicate(&q, &plan, err);
		if (rc == SB_OK)
			high = q.memory;
		if (rc == SB_EINFEASIBLE) {
			low = q.memory;
			rc = SB_OK;
		}
	}
	if (rc == SB_OK)
		*out_bytes = high;
	return rc;
}
