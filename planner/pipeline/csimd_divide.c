#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <stdlib.h>

int csimd_scratch_open(const struct csimd_costs *c, struct csimd_scratch *out)
{
	size_t n = (size_t)c->p->layers + 1, k = (size_t)c->p->stages;
	struct csimd_scratch s = {.cuts = calloc(k + 1, sizeof(*s.cuts)),
	                          .least = malloc(2 * n * sizeof(*s.least)),
	                          .queue = malloc(n * sizeof(*s.queue)),
	                          .choice = c->uniform ? NULL : malloc(k * n * sizeof(*s.choice)),
	                          .machines = malloc(8 * k * sizeof(*s.machines))};

	*out = s;
	return s.cuts && s.least && s.queue && s.machines && (c->uniform || s.choice) ? SB_OK : SB_ENOMEM;
}

void csimd_scratch_clear(struct csimd_scratch *s)
{
	free(s->cuts);
	free(s->least);
	free(s->queue);
	free(s->choice);
	free(s->machines);
	*s = (struct csimd_scratch){0};
}

int64_t csimd_divide_steps(const struct csimd_costs *c)
{
	int64_t n = c->p->layers, log = 1;

	while (n >> log)
		log++;
	return c->p->stages * (c->uniform ? 16 * log + 64 : 32 * n);
}

static double speed_of(const struct csimd_problem *p, int64_t stage)
{
	return p->speeds ? p->speeds[stage] : 1;
}

/* Of both passes, of the layers before i. */
static double work_before(const struct csimd_costs *c, int64_t i)
{
	return c->once[CSIMD_FORWARD][i] + c->once[CSIMD_BACKWARD][i];
}

/* Whether the layers from i up to j can be the stage: true for fewer of them too, since sums of rounded
 * numbers do not fall. */
static bool fits(const struct csimd_costs *c, const struct csimd_bound *bound, int64_t stage, int64_t i,
                 int64_t j)
{
	for (int d = 0; d < CSIMD_PASSES; d++)
		if (csimd_weight(c, (enum csimd_pass)d, stage, i, j) > bound->of[d])
			return false;
	return !c->p->memory || c->bytes[j] - c->bytes[i] <= c->p->memory[stage];
}

static bool link_fits(const struct csimd_costs *c, const struct csimd_bound *bound, int64_t stage, int64_t j)
{
	for (int d = 0; d < CSIMD_PASSES; d++)
		if (csimd_link_weight(c, (enum csimd_pass)d, stage, j) > bound->of[d])
			return false;
	return true;
}

/* Any layer that fits somewhere fits everywhere, so to take all one can is never wrong. */
static bool fill(const struct csimd_costs *c, const struct csimd_bound *bound, int64_t *cuts)
{
	const struct csimd_problem *p = c->p;

	cuts[0] = 0;
	for (int64_t s = 0; s < p->stages; s++) {
		int64_t from = cuts[s], low = from, high = p->layers - (p->stages - s - 1);

		while (low < high) { /* low fits, what lies beyond high does not */
			int64_t mid = low + (high - low + 1) / 2;

			if (fits(c, bound, s, from, mid))
				low = mid;
			else
				high = mid - 1;
		}
		if (low == from)
			return false;
		cuts[s + 1] = low;
	}
	return cuts[p->stages] == p->layers;
}

/* Least work of the first j layers in stage + 1 stages, from that of those before, for every j. */
static void extend(const struct csimd_costs *c, const struct csimd_bound *bound, int64_t stage,
                   struct csimd_scratch *s, const double *before, double *now)
{
	const struct csimd_problem *p = c->p;
	int64_t last = p->layers - (p->stages - stage - 1), low = stage, head = 0, tail = 0;
	int32_t *choice = s->choice + stage * (p->layers + 1);
	double speed = speed_of(p, stage);

#define KEY(i) (before[i] - work_before(c, i) / speed)
	for (int64_t j = 0; j <= p->layers; j++)
		now[j] = INFINITY;
	for (int64_t j = stage + 1; j <= last; j++) {
		if (before[j - 1] < INFINITY) {
			while (tail > head && KEY(s->queue[tail - 1]) >= KEY(j - 1))
				tail--;
			s->queue[tail++] = (int32_t)(j - 1);
		}
		while (low < j && !fits(c, bound, stage, low, j))
			low++;
		while (head < tail && s->queue[head] < low)
			head++;
		if (head == tail || (j < p->layers && !link_fits(c, bound, stage, j)))
			continue;
		choice[j] = s->queue[head];
		now[j] = work_before(c, j) / speed + KEY(s->queue[head]) +
		         (j < p->layers ? c->link_work[csimd_link(p, stage, j)] : 0);
	}
#undef KEY
}

static bool least_work(const struct csimd_costs *c, const struct csimd_bound *bound, struct csimd_scratch *s)
{
	int64_t n = c->p->layers;
	double *before = s->least, *now = s->least + n + 1;

	for (int64_t j = 0; j <= n; j++)
		before[j] = j == 0 ? 0 : INFINITY;
	for (int64_t k = 0; k < c->p->stages; k++) {
		double *swap = before;

		extend(c, bound, k, s, before, now);
		before = now;
		now = swap;
	}
	if (!(before[n] < INFINITY))
		return false;
	s->cuts[c->p->stages] = n;
	for (int64_t k = c->p->stages; k-- > 0;)
		s->cuts[k] = s->choice[k * (n + 1) + s->cuts[k + 1]];
	return true;
}

bool csimd_divide(const struct csimd_costs *c, const struct csimd_bound *bound, struct csimd_scratch *s,
                  double *out_work, struct csimd_bound *out_got)
{
	const struct csimd_problem *p = c->p;
	struct csimd_bound got = {{0, 0}};
	double work = 0;

	if (!(c->uniform ? fill(c, bound, s->cuts) : least_work(c, bound, s)))
		return false;
	for (int64_t k = 0; k < p->stages; k++) {
		int64_t from = s->cuts[k], to = s->cuts[k + 1];
		double speed = speed_of(p, k);
		bool link = p->send_fixed && k + 1 < p->stages;

		work += (work_before(c, to) - work_before(c, from)) / speed +
		        (link ? c->link_work[csimd_link(p, k, to)] : 0);
		for (int d = 0; d < CSIMD_PASSES; d++)
			got.of[d] =
			    fmax(got.of[d], fmax(csimd_weight(c, (enum csimd_pass)d, k, from, to),
			                         link ? csimd_link_weight(c, (enum csimd_pass)d, k, to) : 0));
	}
	*out_work = work;
	*out_got = got;
	return true;
}

double csimd_least_bound(const struct csimd_costs *c, enum csimd_pass pass, struct csimd_scratch *s)
{
	struct csimd_bound bound = {{INFINITY, INFINITY}}, got;
	double low = 0, high, work;

	if (!csimd_divide(c, &bound, s, &work, &got))
		return INFINITY;
	high = got.of[pass];
	/* the mean is a bound, but for rounding */
	low = fmin(high, c->to[pass][c->p->layers] / (double)c->p->stages / speed_of(c->p, 0)) * (1 - 1e-15);
	while (high - low > 1e-15 * high) {
		double mid = low + (high - low) / 2;

		if (mid <= low || mid >= high)
			break;
		bound.of[pass] = mid;
		if (csimd_divide(c, &bound, s, &work, &got))
			high = got.of[pass];
		else
			low = mid;
	}
	return high;
}
