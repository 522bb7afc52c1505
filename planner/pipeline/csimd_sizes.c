#include "planner/pipeline/csimd_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every division with every tuple of sizes, where both are few. */

#define SAMPLES_MAX 24
#define DIVISIONS_MAX 2000
#define ASK 1024
#define MACHINES_MAX 31 /* 16 stages and their links */

struct sizes {
	struct csimd_search_state *x;
	int64_t largest, machines;
	int64_t *cuts;
	/* [samples] of a machine: its time for one micro-batch of so many, and the least for so many in any
	 * micro-batches; of each machine the least of one micro-batch on all those behind it. */
	double time[CSIMD_PASSES][MACHINES_MAX][SAMPLES_MAX + 1];
	double least[CSIMD_PASSES][MACHINES_MAX][SAMPLES_MAX + 1];
	double behind[CSIMD_PASSES][MACHINES_MAX];
	int64_t size[SAMPLES_MAX], best_size[SAMPLES_MAX];
	int64_t best_count, *best_cuts;
	double best;
	unsigned turns; /* of the innermost loop, too quick for a question each */
};

struct ends {
	double of[CSIMD_PASSES][MACHINES_MAX];
};

static void tabulate(struct sizes *s)
{
	const struct csimd_problem *p = s->x->p;
	double column[MACHINES_MAX];

	s->x->steps -= s->largest * ((int64_t)p->row_count + 64);
	for (int d = 0; d < CSIMD_PASSES; d++) {
		double behind = 0;

		for (int64_t b = 1; b <= s->largest; b++) {
			csimd_machines(p, s->cuts, &(struct csimd_piece){b, 0}, (enum csimd_pass)d, column);
			for (int64_t i = 0; i < s->machines; i++)
				s->time[d][i][b] = column[i];
		}
		for (int64_t i = s->machines; i-- > 0;) {
			double once = INFINITY;

			s->behind[d][i] = behind;
			s->least[d][i][0] = 0;
			for (int64_t n = 1; n <= p->samples; n++) {
				double least = INFINITY;

				for (int64_t b = 1; b <= n && b <= s->largest; b++)
					least = fmin(least, s->time[d][i][b] + s->least[d][i][n - b]);
				s->least[d][i][n] = least;
			}
			for (int64_t b = 1; b <= s->largest; b++)
				once = fmin(once, s->time[d][i][b]);
			behind += once;
		}
	}
}

/* Whether what is left can still end before the best. */
static bool hopeful(const struct sizes *s, const struct ends *e, int64_t left)
{
	double bound = 0;

	for (int d = 0; d < CSIMD_PASSES; d++) {
		double end = 0;

		for (int64_t i = 0; i < s->machines; i++)
			end = fmax(end, e->of[d][i] + s->least[d][i][left] + s->behind[d][i]);
		bound += end;
	}
	return bound < s->best * (1 - CSIMD_ROUNDING);
}

static void found(struct sizes *s, const struct ends *e, int64_t count)
{
	double makespan = e->of[0][s->machines - 1] + e->of[1][s->machines - 1];

	if (!(makespan < s->best * (1 - CSIMD_ROUNDING)))
		return;
	s->best = makespan;
	s->best_count = count;
	memcpy(s->best_size, s->size, sizeof(s->size));
	memcpy(s->best_cuts, s->cuts, (size_t)(s->x->p->stages + 1) * sizeof(*s->cuts));
}

/* NOLINTBEGIN(misc-no-recursion): each level is a micro-batch, or a stage */

/* One more micro-batch, of every size. */
static void next_size(struct sizes *s, const struct ends *before, int64_t count, int64_t left)
{
	int64_t wanted = s->x->p->micro_batches;

	if (left == 0 && (wanted == 0 || count == wanted)) {
		found(s, before, count);
		return;
	}
	for (int64_t b = 1; b <= left && b <= s->largest && s->x->steps > 0; b++) {
		int64_t more = wanted - count - 1;
		struct ends e = *before;

		if (wanted > 0 && (more < 0 || left - b < more || left - b > more * s->largest))
			continue;
		s->x->steps -= 8 * s->machines;
		if (++s->turns % ASK == 0)
			csimd_ask(s->x->p, &s->x->steps);
		for (int d = 0; d < CSIMD_PASSES; d++)
			for (int64_t i = 0; i < s->machines; i++)
				e.of[d][i] = fmax(e.of[d][i], i > 0 ? e.of[d][i - 1] : 0) + s->time[d][i][b];
		s->size[count] = b;
		if (hopeful(s, &e, left - b))
			next_size(s, &e, count + 1, left - b);
	}
}

static void next_cut(struct sizes *s, int64_t stage)
{
	const struct csimd_problem *p = s->x->p;
	struct ends none = {{{0}}};

	if (stage == p->stages) {
		if (!csimd_costs_fit(&s->x->costs, s->cuts))
			return;
		s->x->candidates++;
		tabulate(s);
		if (hopeful(s, &none, p->samples))
			next_size(s, &none, 0, p->samples);
		return;
	}
	for (int64_t j = s->cuts[stage - 1] + 1; j <= p->layers - (p->stages - stage); j++) {
		s->cuts[stage] = j;
		next_cut(s, stage + 1);
	}
}

/* NOLINTEND(misc-no-recursion) */

static int take(const struct sizes *s, struct csimd_plan *plan)
{
	struct csimd_run *runs = calloc((size_t)s->best_count, sizeof(*runs));
	size_t n = 0;

	if (!runs)
		return SB_ENOMEM;
	for (int64_t j = 0; j < s->best_count; j++) {
		if (n > 0 && runs[n - 1].samples == s->best_size[j])
			runs[n - 1].count++;
		else
			runs[n++] = (struct csimd_run){s->best_size[j], 1};
	}
	free(plan->runs);
	memcpy(plan->cuts, s->best_cuts, (size_t)(s->x->p->stages + 1) * sizeof(*plan->cuts));
	plan->runs = runs;
	plan->run_count = n;
	plan->micro_batches = s->best_count;
	plan->makespan = s->best;
	return SB_OK;
}

int64_t csimd_divisions(int64_t layers, int64_t stages, int64_t most)
{
	int64_t places = layers - 1, cuts = stages - 1 < layers - stages ? stages - 1 : layers - stages;
	double n = 1;

	for (int64_t i = 1; i <= cuts && n <= (double)most; i++)
		n = n * (double)(places - cuts + i) / (double)i;
	return n > (double)most ? most + 1 : (int64_t)(n + 0.5);
}

int csimd_every_size(struct csimd_search_state *x, struct csimd_plan *plan, bool *out_all)
{
	const struct csimd_problem *p = x->p;
	struct sizes *s;
	size_t cuts = (size_t)p->stages + 1;
	int rc = SB_OK;

	*out_all = false;
	if (p->samples > SAMPLES_MAX || 2 * p->stages - 1 > MACHINES_MAX ||
	    csimd_divisions(p->layers, p->stages, DIVISIONS_MAX) > DIVISIONS_MAX)
		return SB_OK;
	s = calloc(1, sizeof(*s) + 2 * cuts * sizeof(*s->cuts));
	if (!s)
		return SB_ENOMEM;
	s->x = x;
	s->largest = p->samples_max < p->samples ? p->samples_max : p->samples;
	s->machines = 2 * p->stages - 1;
	s->cuts = (int64_t *)(s + 1);
	s->best_cuts = s->cuts + cuts;
	s->best = plan->makespan;
	s->cuts[p->stages] = p->layers;
	next_cut(s, 1);
	if (s->best_count > 0)
		rc = take(s, plan);
	*out_all = x->steps > 0;
	free(s);
	return rc;
}
