#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <stdlib.h>

#define ARRAYS 13

static bool all_equal(const double *of, int64_t n)
{
	for (int64_t i = 1; of && i < n; i++)
		if (of[i] != of[0])
			return false;
	return true;
}

int64_t csimd_links(const struct csimd_problem *p)
{
	return p->send_by_link ? p->stages - 1 : p->layers - 1;
}

static int open_room(struct csimd_costs *c, const struct csimd_problem *p)
{
	size_t n = (size_t)p->layers + 1;
	double *at = calloc(ARRAYS * n, sizeof(*at));

	if (!at)
		return SB_ENOMEM;
	*c = (struct csimd_costs){.p = p,
	                          .uniform = !p->send_fixed && all_equal(p->speeds, p->stages) &&
	                                     all_equal(p->memory, p->stages),
	                          .share = all_equal(p->speeds, p->stages) ? 1 : 0,
	                          .of_first = {at, at + n},
	                          .of_rest = {at + 2 * n, at + 3 * n},
	                          .to = {at + 4 * n, at + 5 * n},
	                          .from = {at + 11 * n, at + 12 * n},
	                          .once = {at + 6 * n, at + 7 * n},
	                          .bytes = at + 8 * n,
	                          .link_work = at + 9 * n,
	                          .link_weight = at + 10 * n,
	                          .room = at};
	return SB_OK;
}

void csimd_costs_clear(struct csimd_costs *c)
{
	free(c->room);
	*c = (struct csimd_costs){0};
}

static void add_layers(struct csimd_costs *c, const struct csimd_layers *row, int64_t at)
{
	double first[CSIMD_PASSES], rest[CSIMD_PASSES], to[CSIMD_PASSES], from[CSIMD_PASSES];
	double bytes = row->parameters + row->activation * (double)c->p->samples * (double)c->p->sequences;

	for (int d = 0; d < CSIMD_PASSES; d++) {
		enum csimd_pass pass = (enum csimd_pass)d;

		rest[d] = csimd_time_at(&row->time, pass, c->rest, 0);
		first[d] = c->first_count > 0 ? csimd_time_at(&row->time, pass, c->first, 0) : rest[d];
		to[d] = c->first_count * first[d] + (c->rest_count - 1) * rest[d];
		from[d] = to[d] - c->share * (first[d] - fmin(first[d], rest[d]));
	}
	for (int64_t i = at; i < at + row->count; i++) {
		for (int d = 0; d < CSIMD_PASSES; d++) {
			c->of_first[d][i + 1] = c->of_first[d][i] + first[d];
			c->of_rest[d][i + 1] = c->of_rest[d][i] + rest[d];
			c->once[d][i + 1] = c->once[d][i] + fmin(first[d], rest[d]);
			c->to[d][i + 1] = c->to[d][i] + to[d];
			c->from[d][i + 1] = c->from[d][i] + from[d];
		}
		c->bytes[i + 1] = c->bytes[i] + bytes;
	}
}

int csimd_costs_fill(struct csimd_costs *c, const struct csimd_problem *p, int64_t micro_batches)
{
	int64_t more = p->samples % micro_batches, at = 0;

	if (!c->room && open_room(c, p) != SB_OK)
		return SB_ENOMEM;
	c->rest = p->samples / micro_batches;
	c->first = c->rest + 1;
	c->first_count = (double)more;
	c->rest_count = (double)(micro_batches - more);
	for (size_t r = 0; r < p->row_count; r++) {
		add_layers(c, &p->rows[r], at);
		at += p->rows[r].count;
	}
	for (int64_t i = 0; p->send_fixed && i < csimd_links(p); i++) {
		double rest = p->send_fixed[i] + p->send_per_sample[i] * (double)c->rest;
		double first = p->send_fixed[i] + p->send_per_sample[i] * (double)c->first;

		c->link_work[i] = CSIMD_PASSES * rest;
		c->link_weight[i] = c->first_count * first + (c->rest_count - 1) * rest;
	}
	return SB_OK;
}

void csimd_costs_share(struct csimd_costs *c, double share)
{
	for (int d = 0; d < CSIMD_PASSES; d++)
		for (int64_t i = 0; i < c->p->layers; i++) {
			double first = c->of_first[d][i + 1] - c->of_first[d][i];
			double once = c->once[d][i + 1] - c->once[d][i], to = c->to[d][i + 1] - c->to[d][i];

			/* never less than nothing by rounding: it must not fall */
			c->from[d][i + 1] = c->from[d][i] + fmax(0, to - share * (first - once));
		}
}

double csimd_costs_makespan(const struct csimd_costs *c, const int64_t *cuts, double *scratch)
{
	const struct csimd_problem *p = c->p;
	int64_t n = 2 * p->stages - 1;
	double *first = scratch, *rest = scratch + n, sum = 0;

	for (int d = 0; d < CSIMD_PASSES; d++) {
		for (int64_t s = 0; s < p->stages; s++) {
			int64_t from = cuts[s], to = cuts[s + 1], link;
			double speed = p->speeds ? p->speeds[s] : 1;

			first[2 * s] = (c->of_first[d][to] - c->of_first[d][from]) / speed;
			rest[2 * s] = (c->of_rest[d][to] - c->of_rest[d][from]) / speed;
			if (s + 1 == p->stages)
				continue;
			link = csimd_link(p, s, to);
			rest[2 * s + 1] = c->link_work[link] / CSIMD_PASSES;
			first[2 * s + 1] =
			    c->first_count > 0
			        ? (c->link_weight[link] - (c->rest_count - 1) * rest[2 * s + 1]) /
			              c->first_count
			        : 0;
		}
		sum += csimd_pass(first, c->first_count, rest, c->rest_count, n, scratch + 2 * n);
	}
	return sum;
}

bool csimd_costs_fit(const struct csimd_costs *c, const int64_t *cuts)
{
	for (int64_t s = 0; c->p->memory && s < c->p->stages; s++)
		if (c->bytes[cuts[s + 1]] - c->bytes[cuts[s]] > c->p->memory[s])
			return false;
	return true;
}

double csimd_weight(const struct csimd_costs *c, enum csimd_pass pass, int64_t stage, int64_t i, int64_t j)
{
	return (c->to[pass][j] - c->from[pass][i]) / (c->p->speeds ? c->p->speeds[stage] : 1);
}

double csimd_link_weight(const struct csimd_costs *c, enum csimd_pass pass, int64_t stage, int64_t j)
{
	return c->link_weight[csimd_link(c->p, stage, j)] +
	       (c->to[pass][j] - c->from[pass][j]) / (c->p->speeds ? c->p->speeds[stage] : 1);
}
