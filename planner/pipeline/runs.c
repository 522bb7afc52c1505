#include "planner/pipeline/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "planner/pipeline/frontier.h"

/* The search for a bottleneck ends when it is known to this share. */
#define EXACT 1e-11
/* Each of the first rounds allows this much more than the one before: the nearer to the optimum, the fewer
 * runs are looked at. */
#define MORE 1.05
#define ROUNDS 16

struct solver {
	const struct pipeline_problem *p;
	const struct device *devices;
	struct cells *cells;
	int64_t layers, stages, least; /* layers of a stage: 0 or 1 */
	/* Sums over the layers before: in their fastest ways, and of what keeps least. */
	double *fastest, *fastest_keeps, *least_keeps;
	int64_t *low, *high; /* the cuts before each stage that can be part of a plan, [stages + 1] */
	bool *reached;       /* cuts in these windows, [stages + 1][layers + 1] */
	int64_t tried;
	int rc;
};

static void solver_free(struct solver *s)
{
	free(s->fastest);
	free(s->fastest_keeps);
	free(s->least_keeps);
	free(s->low);
	free(s->high);
	free(s->reached);
}

/* The way of a run as a stage that recomputes least within memory, and its time; INFINITY = it does not fit,
 * or takes longer than the bound. What no mix could change is asked first: ways are costly. */
static double time_of(struct solver *s, int64_t stage, int64_t first, int64_t end, double bound,
                      size_t *out_way)
{
	const struct device *d = &s->devices[stage];
	double parameters = cells_parameters(s->cells, first, end - first);
	double time = d->end_forward[0] + d->end_backward[0] + cells_forward(s->cells, first, end - first);
	double room = device_room(d, parameters);
	struct cell_ways ways;
	int64_t way;

	*out_way = 0;
	s->tried++;
	bound += PIPELINE_ROUNDING * bound;
	if (!(time + s->fastest[end] - s->fastest[first] <= bound) ||
	    s->least_keeps[end] - s->least_keeps[first] > room + PIPELINE_ROUNDING * fabs(room))
		return INFINITY;
	if (s->fastest_keeps[end] - s->fastest_keeps[first] <= room)
		return time + s->fastest[end] - s->fastest[first];
	if (s->rc == SB_OK)
		s->rc = cells_ways(s->cells, first, end - first, &ways);
	way = s->rc == SB_OK ? cells_way_within(&ways, room) : -1;
	if (way < 0 || time + ways.backward[way] > bound)
		return INFINITY;
	*out_way = (size_t)way;
	return time + ways.backward[way];
}

static bool is_stage(struct solver *s, int64_t stage, int64_t first, int64_t end, double bound)
{
	size_t way;

	return !isinf(time_of(s, stage, first, end, bound, &way));
}

/* The farthest end of a stage; below its first layer when not even none fits. */
static int64_t farthest(struct solver *s, int64_t stage, int64_t first, int64_t low, int64_t high,
                        double bound)
{
	while (low < high) {
		int64_t middle = high - (high - low) / 2;

		if (is_stage(s, stage, first, middle, bound))
			low = middle;
		else
			high = middle - 1;
	}
	return low == first && !is_stage(s, stage, first, first, bound) ? first - 1 : low;
}

/* Between which cuts each stage must begin: the last stages need their layers too. False: no plan. */
static bool find_windows(struct solver *s, double bound)
{
	s->high[0] = s->low[0] = 0;
	for (int64_t i = 0; i < s->stages; i++) {
		int64_t most = s->layers - (s->stages - 1 - i) * s->least;

		s->high[i + 1] = farthest(s, i, s->high[i], s->high[i], most, bound);
		if (s->high[i + 1] < s->high[i])
			return false;
	}
	if (s->high[s->stages] < s->layers)
		return false;
	s->low[s->stages] = s->layers;
	for (int64_t i = s->stages - 1; i > 0; i--) {
		s->low[i] =
		    SB_BISECT(cut, i * s->least, s->low[i + 1], !is_stage(s, i, cut, s->low[i + 1], bound));
	}
	return s->rc == SB_OK;
}

static bool *reached_of(const struct solver *s, int64_t stage)
{
	return &s->reached[stage * (s->layers + 1)];
}

/* From every cut that is reached, the next stage reaches all cuts up to its farthest. False: not the last
 * one. */
static bool reach_all(struct solver *s, double bound)
{
	memset(s->reached, 0, (size_t)((s->stages + 1) * (s->layers + 1)) * sizeof(*s->reached));
	reached_of(s, 0)[0] = true;
	for (int64_t i = 0; i < s->stages; i++) {
		int64_t done = -1; /* cuts up to here are marked */

		for (int64_t from = s->low[i]; from <= s->high[i]; from++) {
			int64_t to, begin = from + s->least;

			if (!reached_of(s, i)[from])
				continue;
			to = farthest(s, i, from, from > done ? from : done, s->high[i + 1], bound);
			for (int64_t j = begin > done ? begin : done + 1; j <= to; j++)
				reached_of(s, i + 1)[j] = true;
			done = to > done ? to : done;
		}
	}
	return s->rc == SB_OK && reached_of(s, s->stages)[s->layers];
}

static bool is_possible(struct solver *s, double bound)
{
	return find_windows(s, bound) && reach_all(s, bound);
}

static int find_bottleneck(struct solver *s, double *out)
{
	double low = frontier_lower_bound(s->p), upper = frontier_upper_bound(s->p), high = low;

	for (int round = 0; !is_possible(s, high); round++) {
		if (s->rc != SB_OK)
			return s->rc;
		if (!(high < upper) || (round == 0 && !find_windows(s, upper)))
			return SB_EINFEASIBLE;
		low = high;
		high = fmin(upper, fmax(high * (round < ROUNDS ? MORE : 2), upper * 1e-6));
	}
	while (high - low > EXACT * high && s->rc == SB_OK) {
		double middle = low + (high - low) / 2;

		if (is_possible(s, middle))
			high = middle;
		else
			low = middle;
	}
	*out = high;
	return s->rc == SB_OK && !is_possible(s, high) ? SB_EINFEASIBLE : s->rc;
}

/* The least recomputing of the first stages up to each cut. */
static int add_stage(struct solver *s, int64_t stage, double bound, const double *before, double *now,
                     int32_t *from)
{
	for (int64_t end = s->low[stage + 1]; end <= s->high[stage + 1]; end++) {
		int64_t last = end - s->least < s->high[stage] ? end - s->least : s->high[stage];

		if (!reached_of(s, stage + 1)[end])
			continue;
		for (int64_t first = last; first >= s->low[stage] && s->rc == SB_OK; first--) {
			double time, extra;
			size_t way;

			if (isinf(before[first]))
				continue;
			time = time_of(s, stage, first, end, bound, &way);
			if (isinf(time))
				break;
			extra = time - s->devices[stage].end_forward[0] - s->devices[stage].end_backward[0] -
			        cells_forward(s->cells, first, end - first);
			if (before[first] + extra < now[end]) {
				now[end] = before[first] + extra;
				from[end] = (int32_t)first;
			}
		}
	}
	return s->rc;
}

static int choose_cuts(struct solver *s, double bound, int32_t *from, double *sums)
{
	int64_t row = s->layers + 1;

	for (int64_t i = 0; i < 2 * row; i++)
		sums[i] = i == 0 ? 0 : INFINITY;
	for (int64_t i = 0; i < s->stages && s->rc == SB_OK; i++) {
		double *before = &sums[i % 2 * row], *now = &sums[(i + 1) % 2 * row];

		for (int64_t l = 0; l < row; l++)
			now[l] = INFINITY;
		(void)add_stage(s, i, bound, before, now, &from[i * row]);
	}
	return s->rc;
}

static int write_plan(struct solver *s, double bound, struct pipeline_stage *out)
{
	int64_t row = s->layers + 1, end = s->layers;
	int32_t *from = calloc((size_t)(s->stages * row), sizeof(*from));
	double *sums = malloc((size_t)(2 * row) * sizeof(*sums));
	int rc = from && sums ? choose_cuts(s, bound, from, sums) : SB_ENOMEM;

	for (int64_t i = s->stages - 1; i >= 0 && rc == SB_OK; i--) {
		int64_t first = from[i * row + end];
		size_t way;

		(void)time_of(s, i, first, end, bound, &way);
		rc = s->rc != SB_OK
		         ? s->rc
		         : cells_stage(s->cells, first, end - first, way, &out[i * s->p->body_count]);
		end = first;
	}
	free(from);
	free(sums);
	return rc;
}

/* The fastest way of one layer, and what of it keeps least. */
static int sum_up(struct solver *s)
{
	int rc = SB_OK;

	for (int64_t l = 0; l < s->layers && rc == SB_OK; l++) {
		struct cell_ways w;

		rc = cells_ways(s->cells, l, 1, &w);
		if (rc == SB_OK && w.count == 0)
			rc = SB_EINFEASIBLE;
		if (rc != SB_OK)
			continue;
		s->fastest[l + 1] = s->fastest[l] + w.backward[0];
		s->fastest_keeps[l + 1] = s->fastest_keeps[l] + w.activation[0];
		s->least_keeps[l + 1] = s->least_keeps[l] + w.activation[w.count - 1];
	}
	return rc;
}

static int solver_open(struct solver *s)
{
	size_t row = (size_t)s->layers + 1, stages = (size_t)s->stages + 1;

	s->fastest = calloc(row, sizeof(*s->fastest));
	s->fastest_keeps = calloc(row, sizeof(*s->fastest_keeps));
	s->least_keeps = calloc(row, sizeof(*s->least_keeps));
	s->low = calloc(stages, sizeof(*s->low));
	s->high = calloc(stages, sizeof(*s->high));
	s->reached = calloc(stages * row, sizeof(*s->reached));
	if (!s->fastest || !s->fastest_keeps || !s->least_keeps || !s->low || !s->high || !s->reached)
		return SB_ENOMEM;
	return sum_up(s);
}

int runs_solve(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
               struct pipeline_stage *out, int64_t *out_tried)
{
	__attribute__((cleanup(solver_free))) struct solver s = {.p = p,
	                                                         .devices = devices,
	                                                         .cells = cells,
	                                                         .layers = pipeline_layers(p),
	                                                         .stages = schedule_stages(&p->shape),
	                                                         .least = p->allow_empty ? 0 : 1};
	double bottleneck = NAN;
	int rc = solver_open(&s);

	if (rc == SB_OK)
		rc = find_bottleneck(&s, &bottleneck);
	if (rc == SB_OK)
		rc = write_plan(&s, bottleneck, out);
	if (rc == SB_OK)
		*out_tried = s.tried;
	return rc;
}
