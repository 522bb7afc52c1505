#include "planner/pipeline/csimd.h"

#include <math.h>
#include <stdlib.h>

void csimd_plan_clear(struct csimd_plan *p)
{
	free(p->cuts);
	free(p->runs);
	*p = (struct csimd_plan){0};
}

/* What a layer of a row weighs in the sum of its stage. */
struct weight {
	enum { OF_FORWARD, OF_BACKWARD, OF_BYTES } kind; /* the first two are enum csimd_pass */
	int64_t samples, context;
};

static double weigh(const struct csimd_layers *row, const struct weight *w)
{
	if (w->kind == OF_BYTES)
		return row->parameters + row->activation * (double)w->samples;
	return csimd_time_at(&row->time, (enum csimd_pass)w->kind, w->samples, w->context);
}

/* The sums of all stages, at out[stride * stage]. Rows and stages both run from left to right. */
static void add_up(const struct csimd_problem *p, const int64_t *cuts, const struct weight *w, double *out,
                   int64_t stride)
{
	int64_t first = 0, s = 0;

	for (int64_t i = 0; i < p->stages; i++)
		out[stride * i] = 0;
	for (size_t r = 0; r < p->row_count; r++) {
		double each = weigh(&p->rows[r], w);
		int64_t at = first, end = first + p->rows[r].count;

		while (at < end) {
			int64_t stop;

			while (cuts[s + 1] <= at)
				s++;
			stop = end < cuts[s + 1] ? end : cuts[s + 1];
			out[stride * s] += each * (double)(stop - at);
			at = stop;
		}
		first = end;
	}
}

int64_t csimd_link(const struct csimd_problem *p, int64_t stage, int64_t j)
{
	return p->send_by_link ? stage : j - 1;
}

void csimd_machines(const struct csimd_problem *p, const int64_t *cuts, const struct csimd_piece *piece,
                    enum csimd_pass pass, double *machines)
{
	struct weight w = {pass == CSIMD_FORWARD ? OF_FORWARD : OF_BACKWARD, piece->samples, piece->context};

	add_up(p, cuts, &w, machines, 2);
	for (int64_t s = 0; s < p->stages; s++) {
		int64_t link = csimd_link(p, s, cuts[s + 1]);

		if (p->speeds)
			machines[2 * s] /= p->speeds[s];
		if (s + 1 < p->stages)
			machines[2 * s + 1] = p->send_fixed ? p->send_fixed[link] + p->send_per_sample[link] *
			                                                                (double)piece->samples
			                                    : 0;
	}
}

void csimd_memory(const struct csimd_problem *p, const int64_t *cuts, double *out)
{
	struct weight w = {OF_BYTES, p->samples * p->sequences, 0};

	add_up(p, cuts, &w, out, 1);
}

double csimd_pass(const double *first, double first_count, const double *rest, double rest_count, int64_t n,
                  double *scratch)
{
	double *tail = scratch, *longest = scratch + n, done = 0, most = 0, end = 0;

	for (int64_t i = n; i-- > 0;) {
		tail[i] = rest[i] + (i + 1 < n ? tail[i + 1] : 0);
		longest[i] = fmax(rest[i], i + 1 < n ? longest[i + 1] : 0);
	}
	if (!(first_count > 0))
		return tail[0] + (rest_count - 1) * longest[0];
	for (int64_t i = 0; i < n; i++) {
		done += first[i];
		most = fmax(most, first[i]);
		end = fmax(end, done + (first_count - 1) * most + tail[i] + (rest_count - 1) * longest[i]);
	}
	return end;
}

/* One more piece through all machines. */
static void advance(const double *times, size_t n, double *end)
{
	end[0] += times[0];
	for (size_t i = 1; i < n; i++)
		end[i] = fmax(end[i], end[i - 1]) + times[i];
}

static double one_pass(const struct csimd_problem *p, const struct csimd_plan *plan, enum csimd_pass pass,
                       double *times, double *end)
{
	size_t n = (size_t)(2 * p->stages - 1);

	for (size_t i = 0; i < n; i++)
		end[i] = 0;
	for (int64_t k = 0; k < plan->sequences; k++) {
		struct csimd_piece piece = {0, 0};

		for (size_t r = 0; r < plan->run_count; r++) {
			piece.samples = plan->runs[r].samples;
			for (int64_t j = 0; j < plan->runs[r].count; j++) {
				if (j == 0 || plan->sliced)
					csimd_machines(p, plan->cuts, &piece, pass, times);
				advance(times, n, end);
				piece.context += plan->sliced ? piece.samples : 0;
			}
		}
	}
	return end[n - 1];
}

double csimd_makespan(const struct csimd_problem *p, const struct csimd_plan *plan)
{
	size_t n = (size_t)(2 * p->stages - 1);
	double *times = malloc(2 * n * sizeof(*times)), sum = 0;

	if (!times)
		return NAN;
	for (int pass = 0; pass < CSIMD_PASSES; pass++)
		sum += one_pass(p, plan, (enum csimd_pass)pass, times, times + n);
	free(times);
	return sum;
}
