#include "planner/pipeline/device.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/pipeline/rows.h"

int64_t device_count(const struct pipeline_problem *p)
{
	return schedule_facts(p->shape.kind)->two_way ? p->shape.devices / 2 : p->shape.devices;
}

/* The other device has the same stages the other way round. */
static int add_turned(struct device *d, const struct schedule_program *program, int64_t other)
{
	struct in_flight *more = NULL;
	size_t n = 0;
	int rc = schedule_in_flight(program, other, &more, &n);

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		uint32_t first = more[i].of[0];

		more[i].of[0] = more[i].of[1];
		more[i].of[1] = first;
		rc = sb_grow(&d->peaks, d->peak_count, sizeof(*d->peaks));
		if (rc == SB_OK)
			d->peaks[d->peak_count++] = more[i];
	}
	free(more);
	return rc;
}

int device_open(const struct pipeline_problem *p, const struct schedule_program *program, int64_t d,
                struct device *out)
{
	bool two_way = schedule_facts(p->shape.kind)->two_way;
	int64_t other = p->shape.devices - 1 - d, last = schedule_stages(&p->shape) - 1;
	struct device x = {.chunks = p->shape.chunks,
	                   .units = (double)p->shape.slices,
	                   .room =
	                       (two_way ? fmin(p->memory[d], p->memory[other]) : p->memory[d]) - p->constant};
	int rc = schedule_in_flight(program, d, &x.peaks, &x.peak_count);

	if (rc != SB_OK)
		return rc;
	for (int64_t k = 0; k < x.chunks; k++) {
		x.stage[k] = schedule_stage(&p->shape, d, k);
		rows_bound_stage(p, x.stage[k], &x.least[k], &x.most[k]);
		if (x.stage[k] == 0) {
			x.end_forward[k] += p->head.forward;
			x.end_backward[k] += p->head.backward;
			x.room -= p->head.parameters;
		}
		if (x.stage[k] == last) {
			x.end_forward[k] += p->tail.forward;
			x.end_backward[k] += p->tail.backward;
			x.room -= p->tail.parameters;
		}
	}
	/* pipeline_fixed_bytes() */
	for (size_t i = 0; i < x.peak_count && schedule_facts(p->shape.kind)->recomputes; i++)
		x.peaks[i].of[0]--;
	if (rc == SB_OK && two_way)
		rc = add_turned(&x, program, other);
	if (rc == SB_OK)
		*out = x;
	else
		device_free(&x);
	return rc;
}

void device_free(struct device *d)
{
	free(d->peaks);
	*d = (struct device){0};
}

int devices_open(const struct pipeline_problem *p, struct device **out, struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO program = {0};
	int64_t count = device_count(p);
	int rc = schedule_program_build(&p->shape, &program, err);
	struct device *list;

	if (rc == SB_OK)
		rc = pipeline_check_recompute(p, err);

	if (rc != SB_OK)
		return rc;
	list = calloc((size_t)count, sizeof(*list));
	rc = list ? SB_OK : SB_ENOMEM;
	for (int64_t d = 0; d < count && rc == SB_OK; d++)
		rc = device_open(p, &program, d, &list[d]);
	if (rc == SB_OK) {
		*out = list;
		return SB_OK;
	}
	devices_free(list, count);
	return rc == SB_ELIMIT ? sb_fail(err, rc, "too_many_chunks", "a device has more than %d chunks",
	                                 SCHEDULE_CHUNKS_MAX)
	                       : sb_fail(err, rc, "no_memory", "out of memory");
}

void devices_free(struct device *list, int64_t count)
{
	for (int64_t d = 0; list && d < count; d++)
		device_free(&list[d]);
	free(list);
}

struct lightest device_lightest(const struct pipeline_problem *p)
{
	struct lightest l = {INFINITY, INFINITY};

	for (int64_t b = 0; b < p->body_count; b++) {
		if (p->bodies[b].count > 0)
			l.parameters = fmin(l.parameters, pipeline_fixed_bytes(p, &p->bodies[b]));
		for (int r = 0; r < PIPELINE_RECOMPUTES && p->bodies[b].count > 0; r++)
			if (!isnan(p->bodies[b].backward[r]))
				l.activation = fmin(l.activation, p->bodies[b].activation[r]);
	}
	return l;
}

bool device_fits(const struct device *d, const double *activation, double parameters)
{
	double rest = d->room - parameters, slack = PIPELINE_ROUNDING * fabs(d->room);

	if (isinf(d->room))
		return d->room > 0;
	if (rest + slack < 0)
		return false;
	for (size_t i = 0; i < d->peak_count; i++) {
		double sum = 0;

		for (int64_t k = 0; k < d->chunks; k++)
			sum += d->peaks[i].of[k] * activation[k];
		if (sum > (rest + slack) * d->units)
			return false;
	}
	return true;
}

double device_room(const struct device *d, double parameters)
{
	double rest = d->room - parameters + PIPELINE_ROUNDING * fabs(d->room);
	uint32_t most = 0;

	if (isinf(d->room))
		return d->room;
	for (size_t i = 0; i < d->peak_count; i++)
		most = d->peaks[i].of[0] > most ? d->peaks[i].of[0] : most;
	return most > 0 ? rest * d->units / most : rest < 0 ? -INFINITY : INFINITY;
}

/* How many layers of each chunk there are while they are counted. */
struct count {
	const struct device *d;
	struct lightest lightest;
	int64_t all; /* layers of the model */
	int64_t layers[SCHEDULE_CHUNKS_MAX];
	int64_t total, best;
};

/* No more than this fit in all, whatever chunks from k on hold: each layer takes up at least what one of the
 * lightest chunk does, at every moment that can be the peak. */
static double most_in_all(const struct count *c, int64_t k)
{
	double most = INFINITY;

	for (size_t i = 0; i < c->d->peak_count; i++) {
		const uint32_t *of = c->d->peaks[i].of;
		double rest = c->d->room + PIPELINE_ROUNDING * fabs(c->d->room) -
		              (double)c->total * c->lightest.parameters;
		uint32_t lightest = of[k];

		for (int64_t j = 0; j < k; j++)
			rest -= of[j] * (double)c->layers[j] * c->lightest.activation / c->d->units;
		for (int64_t j = k + 1; j < c->d->chunks; j++)
			lightest = of[j] < lightest ? of[j] : lightest;
		most = fmin(
		    most, rest / (c->lightest.parameters + lightest * c->lightest.activation / c->d->units));
	}
	return (double)c->total + floor(most);
}

static bool fits_so_far(const struct count *c, int64_t chosen)
{
	double activation[SCHEDULE_CHUNKS_MAX];
	int64_t total = 0;

	for (int64_t k = 0; k < c->d->chunks; k++) {
		int64_t n = k < chosen ? c->layers[k] : c->d->least[k];

		activation[k] = (double)n * c->lightest.activation;
		total += n;
	}
	return device_fits(c->d, activation, (double)total * c->lightest.parameters);
}

/* NOLINTBEGIN(misc-no-recursion): each level is a chunk */
static void count_most(struct count *c, int64_t k)
{
	if (k == c->d->chunks) {
		c->best = c->total > c->best ? c->total : c->best;
		return;
	}
	if (most_in_all(c, k) <= (double)c->best)
		return;
	for (int64_t n = c->d->least[k]; n <= c->d->most[k] && c->total + n <= c->all && c->best < c->all;
	     n++) {
		c->layers[k] = n;
		if (!fits_so_far(c, k + 1))
			break;
		c->total += n;
		count_most(c, k + 1);
		c->total -= n;
	}
}
/* NOLINTEND(misc-no-recursion) */

int64_t device_capacity(const struct pipeline_problem *p, const struct device *d)
{
	struct count c = {.d = d, .lightest = device_lightest(p), .all = pipeline_layers(p), .best = -1};

	count_most(&c, 0);
	return c.best;
}
