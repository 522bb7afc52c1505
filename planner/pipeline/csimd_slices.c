#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* TeraPipe: with K equal stages a pass of k slices takes sum t_i + (K - 1) max t_i, exactly, and so with m
 * sequences m sum t_i + (K - 1) max t_i. Stages that differ are taken for as many of the slowest as they are
 * long together, and the plans that come of it scored by the flow shop itself. */

#define ROUNDS 8
#define CELLS ((int64_t)1 << 25) /* layer times that one table of slices may ask for */
#define UNITS_LEAST 8
#define LOOKS 2000

struct slicing {
	const struct csimd_problem *p;
	int64_t unit, units, sequences;
	double *seconds; /* [from * units + to - 1]: both passes of the slice from one unit up to another */
	double *least;   /* [units + 1] */
	int32_t *choice, *best; /* [units + 1]: where the last slice begins */
	int64_t weighed;
};

/* Tokens in front of a unit. */
static int64_t tokens(const struct slicing *s, int64_t unit)
{
	int64_t t = unit * s->unit;

	return t < s->p->samples ? t : s->p->samples;
}

/* All slices, of the layers from one up to another. */
static void tabulate(struct slicing *s, int64_t from, int64_t to)
{
	int64_t n = s->units, first = 0;

	/* open_slicing() made it. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	memset(s->seconds, 0, (size_t)(n * n) * sizeof(*s->seconds));
	for (size_t r = 0; r < s->p->row_count; r++) {
		const struct csimd_layers *row = &s->p->rows[r];
		int64_t a = from > first ? from : first, b = first + row->count;
		double layers = (double)((to < b ? to : b) - a);

		first += row->count;
		for (int64_t i = 0; i < n && layers > 0 && !sb_stopped(s->p->watch); i++)
			for (int64_t j = i + 1; j <= n; j++)
				for (int d = 0; d < CSIMD_PASSES; d++)
					s->seconds[i * n + j - 1] +=
					    layers * csimd_time_at(&row->time, (enum csimd_pass)d,
					                           tokens(s, j) - tokens(s, i), tokens(s, i));
	}
}

/* The least sum of slices none of which takes longer than `most`; INFINITY: there are none. *out_got: the
 * longest of them. */
static double least_sum(struct slicing *s, double most, double *out_got)
{
	int64_t n = s->units;

	s->least[0] = 0;
	s->weighed++;
	for (int64_t j = 1; j <= n; j++) {
		s->least[j] = INFINITY;
		for (int64_t i = 0; i < j; i++) {
			double t = s->seconds[i * n + j - 1];

			if (t <= most && s->least[i] + t < s->least[j]) {
				s->least[j] = s->least[i] + t;
				s->choice[j] = (int32_t)i;
			}
		}
	}
	*out_got = 0;
	for (int64_t j = n; j > 0 && s->least[n] < INFINITY; j = s->choice[j])
		*out_got = fmax(*out_got, s->seconds[s->choice[j] * n + j - 1]);
	return s->least[n];
}

/* Takes in a box of the longest slice: nothing in it is better than the least sum below its upper end with
 * its lower one. */
static int look(struct slicing *s, double fill, struct csimd_nodes *nodes, struct csimd_node box,
                double *best)
{
	double value;

	if (box.low[0] > box.high[0])
		return SB_OK;
	box.work = least_sum(s, box.high[0], &box.got[0]);
	if (!(box.work < INFINITY))
		return SB_OK;
	value = (double)s->sequences * box.work + fill * box.got[0];
	if (value < *best) {
		*best = value;
		memcpy(s->best, s->choice, (size_t)(s->units + 1) * sizeof(*s->best));
	}
	box.bound = (double)s->sequences * box.work + fill * box.low[0];
	return csimd_nodes_push(nodes, &box);
}

/* The least of sequences * sum + fill * longest; s->best. *out_bound: what no slices can be below, the same
 * but for rounding unless there were too many boxes. */
static int best_slices(struct slicing *s, double fill, double *out_bound)
{
	CSIMD_NODES_AUTO nodes = {0};
	struct csimd_node n = {.high = {INFINITY}}, half;
	double best = INFINITY;
	int64_t end = s->weighed + LOOKS;
	int rc = look(s, fill, &nodes, n, &best);

	*out_bound = best;
	while (rc == SB_OK && csimd_nodes_pop(&nodes, &n) && n.bound < best * (1 - CSIMD_ROUNDING)) {
		double mid = n.low[0] + (n.got[0] - n.low[0]) / 2;

		if (s->weighed >= end || sb_stopped(s->p->watch)) {
			*out_bound = n.bound;
			return SB_OK;
		}
		if (!(n.got[0] > n.low[0]))
			continue;
		half = n;
		half.high[0] = mid;
		rc = look(s, fill, &nodes, half, &best);
		half = n;
		half.low[0] = nextafter(mid, INFINITY);
		half.high[0] = nextafter(n.got[0], 0);
		if (rc == SB_OK)
			rc = look(s, fill, &nodes, half, &best);
	}
	*out_bound = best;
	return rc;
}

/* The best slices as the plan's runs. */
static void to_runs(const struct slicing *s, struct csimd_plan *plan)
{
	int64_t count = 0;

	for (int64_t j = s->units; j > 0; j = s->best[j])
		count++;
	plan->run_count = (size_t)count;
	plan->micro_batches = count;
	for (int64_t j = s->units; j > 0; j = s->best[j])
		plan->runs[--count] = (struct csimd_run){tokens(s, j) - tokens(s, s->best[j]), 1};
}

/* The rows with the mean of their slices' times as the time of any piece. */
static void to_means(const struct csimd_problem *p, const struct csimd_plan *plan, int64_t pieces,
                     struct csimd_layers *rows, double *seconds)
{
	static const int64_t one[] = {1};

	for (size_t r = 0; r < p->row_count; r++) {
		double *of = seconds + 2 * r;
		int64_t context = 0;

		rows[r] = p->rows[r];
		/* the same bytes for another count of samples */
		rows[r].activation *= (double)p->samples * (double)p->sequences / (double)pieces;
		rows[r].time = (struct csimd_time){.points = 1, .samples = one, .seconds = {of, of + 1}};
		for (size_t i = 0; i < plan->run_count; i++) {
			int64_t tokens_here = plan->runs[i].samples;

			for (int d = 0; d < CSIMD_PASSES; d++)
				of[d] += csimd_time_at(&p->rows[r].time, (enum csimd_pass)d, tokens_here,
				                       context) /
				         (double)plan->micro_batches;
			context += tokens_here;
		}
	}
}

/* The division for given slices: as for equal pieces of their mean time. SB_EINFEASIBLE. */
static int divide(const struct csimd_problem *p, struct csimd_plan *plan, int64_t *weighed)
{
	size_t rows = p->row_count, layers = (size_t)p->layers;
	struct csimd_layers *means = calloc(rows, sizeof(*means));
	double *seconds = calloc(2 * (rows + layers), sizeof(*seconds)), *send = seconds + 2 * rows;
	CSIMD_COSTS_AUTO c = {0};
	CSIMD_SCRATCH_AUTO s = {0};
	struct csimd_division d = {.cuts = plan->cuts};
	struct csimd_problem mean = *p;
	int64_t steps = CELLS;
	int rc = means && seconds ? SB_OK : SB_ENOMEM;

	mean.rows = means;
	mean.samples = mean.samples_max = p->sequences * plan->micro_batches;
	mean.sequences = 1;
	if (rc == SB_OK)
		to_means(p, plan, mean.samples, means, seconds);
	for (int64_t i = 0; rc == SB_OK && p->send_fixed && i < csimd_links(p); i++)
		send[i] = p->send_fixed[i] +
		          (p->send_per_sample[i] * (double)p->samples / (double)plan->micro_batches);
	if (p->send_fixed)
		mean.send_fixed = send;
	if (p->send_fixed)
		mean.send_per_sample = send + layers; /* zeros */
	if (rc == SB_OK)
		rc = csimd_costs_fill(&c, &mean, mean.samples);
	if (rc == SB_OK)
		rc = csimd_scratch_open(&c, &s);
	if (rc == SB_OK)
		rc = csimd_best_division(&c, INFINITY, &s, &steps, &d);
	*weighed += d.weighed;
	free(means);
	free(seconds);
	return rc == SB_OK && !(d.makespan < INFINITY) ? SB_EINFEASIBLE : rc;
}

/* The slowest stage for the plan's slices, and how many of it all machines together are, but itself. */
static int64_t slowest(const struct csimd_problem *p, const struct csimd_plan *plan, double *scratch,
                       double *out_fill)
{
	int64_t n = 2 * p->stages - 1, best = 0, context = 0;
	double *sums = scratch + n, all = 0;

	memset(sums, 0, (size_t)n * sizeof(*sums));
	for (size_t i = 0; i < plan->run_count; i++) {
		struct csimd_piece piece = {plan->runs[i].samples, context};

		for (int d = 0; d < CSIMD_PASSES; d++) {
			csimd_machines(p, plan->cuts, &piece, (enum csimd_pass)d, scratch);
			for (int64_t k = 0; k < n; k++)
				sums[k] += scratch[k];
		}
		context += piece.samples;
	}
	for (int64_t k = 0; k < n; k++) {
		all += sums[k];
		if (k % 2 == 0 && sums[k] > sums[2 * best])
			best = k / 2;
	}
	*out_fill = sums[2 * best] > 0 ? all / sums[2 * best] - 1 : 0;
	return best;
}

struct joint {
	struct slicing s;
	struct csimd_plan plan; /* the one that is worked on */
	struct csimd_plan best;
	double *scratch;
	int64_t candidates;
	double bound; /* of slices for the only division */
};

static int make_plan(int64_t stages, const struct slicing *s, struct csimd_plan *out)
{
	*out = (struct csimd_plan){.sequences = s->sequences, .sliced = true, .makespan = INFINITY};
	out->cuts = calloc((size_t)stages + 1, sizeof(*out->cuts));
	out->runs = calloc((size_t)s->units + 1, sizeof(*out->runs));
	return out->cuts && out->runs ? SB_OK : SB_ENOMEM;
}

static void score(struct joint *x)
{
	struct csimd_plan *p = &x->plan;

	p->makespan = csimd_makespan(x->s.p, p);
	x->candidates++;
	if (!(p->makespan < x->best.makespan))
		return;
	memcpy(x->best.cuts, p->cuts, (size_t)(x->s.p->stages + 1) * sizeof(*p->cuts));
	memcpy(x->best.runs, p->runs, p->run_count * sizeof(*p->runs));
	x->best.run_count = p->run_count;
	x->best.micro_batches = p->micro_batches;
	x->best.makespan = p->makespan;
}

/* Best division for the slices, best slices for the slowest stage, and again while it helps; from `count`
 * equal slices. */
static int from_start(struct joint *x, int64_t count)
{
	const struct csimd_problem *p = x->s.p;
	double before = INFINITY, fill;
	int rc = SB_OK;

	for (int64_t i = 0, at = 0; i < count; i++) {
		int64_t end = (i + 1) * x->s.units / count;

		x->plan.runs[i] = (struct csimd_run){tokens(&x->s, end) - tokens(&x->s, at), 1};
		at = end;
	}
	x->plan.run_count = (size_t)count;
	x->plan.micro_batches = count;
	for (int round = 0; rc == SB_OK && round < ROUNDS; round++) {
		int64_t stage;

		rc = divide(p, &x->plan, &x->candidates);
		if (rc != SB_OK)
			break;
		score(x);
		stage = slowest(p, &x->plan, x->scratch, &fill);
		tabulate(&x->s, x->plan.cuts[stage], x->plan.cuts[stage + 1]);
		rc = best_slices(&x->s, fill, &x->bound);
		to_runs(&x->s, &x->plan);
		score(x);
		if (!(x->plan.makespan < before * (1 - CSIMD_ROUNDING)))
			break;
		before = x->plan.makespan;
		rc = sb_watch_rc(p->watch);
	}
	return rc;
}

/* The slowest stage works all slices, and they sum up to no less than the best slices of all layers do. Where
 * every stage is the same single layer without links, the slices' own bound is that of the plan. */
static double bound_of(const struct csimd_problem *p, struct joint *x)
{
	double speeds = 0, got;
	bool only = p->row_count == 1 && p->layers == p->stages && !p->send_fixed && !p->speeds &&
	            p->rows[0].time.points == 0 && x->s.unit == 1;

	if (only)
		return x->bound;
	for (int64_t k = 0; k < p->stages; k++)
		speeds += p->speeds ? p->speeds[k] : 1;
	if (x->s.unit > 1)
		return 0; /* slices that end between two units are not bound by it */
	tabulate(&x->s, 0, p->layers);
	return (double)x->s.sequences * least_sum(&x->s, INFINITY, &got) / speeds;
}

static int open_slicing(const struct csimd_problem *p, int64_t unit, struct slicing *s, struct sb_error *err)
{
	int64_t each = p->sequences * ((int64_t)p->row_count + 4 * p->stages), units;
	int64_t most = (int64_t)sqrt((double)CELLS / (double)p->row_count);
	size_t n;

	most = most < CSIMD_SLICE_UNITS ? most : CSIMD_SLICE_UNITS;
	most = most < CELLS / each ? most : CELLS / each;
	if (unit == 0)
		unit = most > 0 ? (p->samples + most - 1) / most : p->samples;
	units = (p->samples + unit - 1) / unit;
	if (units > most || (units < UNITS_LEAST && units < p->samples && most < UNITS_LEAST))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "too_large", "samples",
		                     "so many sequences, layers and stages leave room for %lld slices",
		                     (long long)most);
	n = (size_t)units;
	*s = (struct slicing){.p = p, .unit = unit, .units = units, .sequences = p->sequences};
	s->seconds = calloc(n * n, sizeof(*s->seconds));
	s->least = calloc(n + 1, sizeof(*s->least));
	s->choice = calloc(n + 1, sizeof(*s->choice));
	s->best = calloc(n + 1, sizeof(*s->best));
	return s->seconds && s->least && s->choice && s->best ? SB_OK : SB_ENOMEM;
}

static int open_joint(const struct csimd_problem *p, int64_t unit, struct joint *x, struct sb_error *err)
{
	int rc = open_slicing(p, unit, &x->s, err);

	if (rc == SB_OK)
		rc = make_plan(p->stages, &x->s, &x->plan);
	if (rc == SB_OK)
		rc = make_plan(p->stages, &x->s, &x->best);
	x->scratch = malloc(4 * (size_t)p->stages * sizeof(*x->scratch));
	return rc == SB_OK && !x->scratch ? SB_ENOMEM : rc;
}

static void joint_clear(struct joint *x)
{
	free(x->s.seconds);
	free(x->s.least);
	free(x->s.choice);
	free(x->s.best);
	free(x->scratch);
	csimd_plan_clear(&x->plan);
	csimd_plan_clear(&x->best);
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): the cleanup attribute frees them */
int csimd_solve_slices(const struct csimd_problem *p, int64_t unit, struct csimd_result *out,
                       int64_t *out_unit, struct sb_error *err)
{
	__attribute__((cleanup(joint_clear))) struct joint x = {.bound = 0};
	int rc = open_joint(p, unit, &x, err);

	for (int64_t k = 1, i = 0; rc == SB_OK && i < 3 && k <= x.s.units; i++, k = i * p->stages)
		rc = from_start(&x, k);
	if (rc == SB_EINFEASIBLE)
		return csimd_infeasible(p, err);
	if (rc != SB_OK)
		return rc == SB_ENOMEM ? sb_fail(err, rc, "no_memory", "out of memory") : rc;
	*out = (struct csimd_result){.plan = x.best, .candidates = x.candidates + x.s.weighed};
	out->lower_bound = fmin(bound_of(p, &x), x.best.makespan);
	out->optimal = out->lower_bound >= x.best.makespan * (1 - 1e-9);
	*out_unit = x.s.unit;
	x.best = (struct csimd_plan){0};
	return SB_OK;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */
