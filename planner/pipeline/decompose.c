#include "planner/pipeline/decompose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/least_squares.h"

/* The choice of the moments of the peaks goes round at most so often. */
#define ROUNDS_MAX 50

enum { UNKNOWN_PARAMETERS, UNKNOWN_ACTIVATION, UNKNOWN_CONSTANT = UNKNOWN_ACTIVATION + PIPELINE_RECOMPUTES };
#define UNKNOWNS (UNKNOWN_CONSTANT + 1)
_Static_assert(UNKNOWNS <= LEAST_SQUARES_COLUMNS_MAX, "one column an unknown");

/* A run with what its device's place and order say. */
struct row {
	const struct dry_run *run;
	const struct in_flight *moments; /* that can be the peak; borrowed */
	size_t moment_count, moment;     /* the one that is taken for it */
	bool head, tail;
};

struct decomposition {
	const struct schedule_shape *shape;
	struct row *rows;
	size_t count;
	struct in_flight **moments; /* of each device that has a run */
	size_t *moment_count;
	bool fitted[UNKNOWNS];
	double value[UNKNOWNS]; /* 0 where it is not fitted */
	size_t equations, unknowns;
	double *a, *b;
};

static void decomposition_clear(struct decomposition *d)
{
	for (int64_t i = 0; d->moments && i < d->shape->devices; i++)
		free(d->moments[i]);
	free(d->moments);
	free(d->moment_count);
	free(d->rows);
	free(d->a);
	free(d->b);
}

static bool is_middle(const struct row *r)
{
	return !r->head && !r->tail;
}

static double layers_of(const struct dry_run *run, int64_t chunk)
{
	double sum = 0;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		sum += (double)run->layers[chunk][r];
	return sum;
}

/* What a run has of each unknown at a moment. */
static void coefficients(const struct decomposition *d, const struct row *r, const struct in_flight *at,
                         double out[UNKNOWNS])
{
	memset(out, 0, UNKNOWNS * sizeof(*out));
	out[UNKNOWN_CONSTANT] = 1;
	for (int64_t k = 0; k < d->shape->chunks; k++) {
		out[UNKNOWN_PARAMETERS] += layers_of(r->run, k);
		for (int t = 0; t < PIPELINE_RECOMPUTES; t++)
			out[UNKNOWN_ACTIVATION + t] += (double)at->of[k] * (double)r->run->layers[k][t];
	}
}

static double peak_at(const struct decomposition *d, const struct row *r, size_t moment)
{
	double c[UNKNOWNS], sum = 0;

	coefficients(d, r, &r->moments[moment], c);
	for (int u = 0; u < UNKNOWNS; u++)
		sum += c[u] * d->value[u];
	return sum;
}

/* Takes the moment of the most for the peak. Returns whether it is another one. */
static bool choose(const struct decomposition *d, struct row *r)
{
	size_t best = r->moment;

	for (size_t i = 0; i < r->moment_count; i++)
		if (peak_at(d, r, i) > peak_at(d, r, best))
			best = i;
	if (best == r->moment)
		return false;
	r->moment = best;
	return true;
}

static int place(struct decomposition *d, const struct schedule_program *program, struct row *r)
{
	const struct schedule_shape *s = d->shape;
	int64_t device = r->run->device, last = schedule_stages(s) - 1;
	int rc = SB_OK;

	for (int way = 0; way < (schedule_facts(s->kind)->two_way ? 2 : 1); way++) {
		r->head = r->head || schedule_device(s, 0, way) == device;
		r->tail = r->tail || schedule_device(s, last, way) == device;
	}
	if (!d->moments[device])
		rc = schedule_in_flight(program, device, &d->moments[device], &d->moment_count[device]);
	r->moments = d->moments[device];
	r->moment_count = d->moment_count[device];
	return rc;
}

static int open_rows(struct decomposition *d, const struct dry_run *runs, size_t count, struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO program = {0};
	size_t devices = (size_t)d->shape->devices;
	int rc = schedule_program_build(d->shape, &program, err);

	if (rc != SB_OK)
		return rc;
	d->rows = calloc(count + 1, sizeof(*d->rows));
	d->moments = calloc(devices, sizeof(struct in_flight *));
	d->moment_count = calloc(devices, sizeof(*d->moment_count));
	d->a = malloc((count + 1) * UNKNOWNS * sizeof(*d->a));
	d->b = malloc((count + 1) * sizeof(*d->b));
	if (!d->rows || !d->moments || !d->moment_count || !d->a || !d->b)
		return sb_no_memory(err);
	for (d->count = 0; rc == SB_OK && d->count < count; d->count++) {
		struct row *r = &d->rows[d->count];

		r->run = &runs[d->count];
		rc = place(d, &program, r);
		d->equations += is_middle(r);
	}
	return rc == SB_OK ? SB_OK : sb_fail(err, rc, "in_flight", "%s", sb_strerror(rc));
}

static const char *const UNKNOWN_NAMES[UNKNOWNS] = {"the parameters of a layer",
                                                    "the activation of layers that recompute nothing",
                                                    "the activation of layers that recompute select",
                                                    "the activation of layers that recompute comm",
                                                    "the activation of layers that recompute both",
                                                    "the activation of layers that recompute full",
                                                    "the constant"};

static bool holds(const struct decomposition *d, const struct row *r, int recompute)
{
	for (int64_t k = 0; k < d->shape->chunks; k++)
		if (r->run->layers[k][recompute] > 0)
			return true;
	return false;
}

/* What an end holds beyond its layers cannot be told while one of these is not known. */
static int check_ends(const struct decomposition *d, struct sb_error *err)
{
	for (size_t i = 0; i < d->count; i++) {
		for (int t = 0; t < PIPELINE_RECOMPUTES; t++) {
			char field[32];

			if (d->fitted[UNKNOWN_ACTIVATION + t] || !holds(d, &d->rows[i], t))
				continue;
			snprintf(field, sizeof(field), "%zu", i);
			return sb_fail_field(err, SB_EIMPOSSIBLE, "not_told", field,
			                     "no run of a stage without head and tail tells %s",
			                     UNKNOWN_NAMES[UNKNOWN_ACTIVATION + t]);
		}
	}
	return SB_OK;
}

/* Which figures the runs of the middle hold. */
static int choose_unknowns(struct decomposition *d, enum fit_constant constant, struct sb_error *err)
{
	d->fitted[UNKNOWN_PARAMETERS] = true;
	for (size_t i = 0; i < d->count; i++)
		for (int t = 0; is_middle(&d->rows[i]) && t < PIPELINE_RECOMPUTES; t++)
			d->fitted[UNKNOWN_ACTIVATION + t] |= holds(d, &d->rows[i], t);
	for (int u = 0; u < UNKNOWN_CONSTANT; u++)
		d->unknowns += d->fitted[u];
	d->fitted[UNKNOWN_CONSTANT] = constant == CONSTANT_FITTED ||
	                              (constant == CONSTANT_WHERE_RUNS_ALLOW && d->equations > d->unknowns);
	d->unknowns += d->fitted[UNKNOWN_CONSTANT];
	if (d->equations < d->unknowns)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "too_few_runs", "",
		                     "%zu figures need as many runs of stages that hold neither head nor "
		                     "tail; there are %zu",
		                     d->unknowns, d->equations);
	return check_ends(d, err);
}

static int not_apart(const struct decomposition *d, size_t dependent, struct sb_error *err)
{
	bool constant = d->fitted[UNKNOWN_CONSTANT], equal = true;
	double first = NAN;

	for (size_t i = 0; i < d->count; i++) {
		double layers = 0;

		for (int64_t k = 0; k < d->shape->chunks; k++)
			layers += layers_of(d->rows[i].run, k);
		if (!is_middle(&d->rows[i]))
			continue;
		first = isnan(first) ? layers : first;
		equal = equal && layers == first;
	}
	if (constant && equal)
		return sb_fail_field(
		    err, SB_EIMPOSSIBLE, "not_told_apart", "",
		    "all runs hold as many layers, so that they do not tell the constant from "
		    "the parameters: runs with other numbers are needed, or no constant");
	return sb_fail_field(err, SB_EIMPOSSIBLE, "not_told_apart", "",
	                     "the runs do not tell %s apart from the other figures: runs with other numbers "
	                     "of layers or other stages are needed",
	                     UNKNOWN_NAMES[dependent]);
}

/* What is left of sums of peaks that cancel out is rounding. */
static double without_dust(const struct decomposition *d, double bytes)
{
	double most = 0;

	for (size_t i = 0; i < d->count; i++)
		most = fmax(most, d->rows[i].run->peak);
	return fabs(bytes) <= 1e-12 * most ? 0 : bytes;
}

static int fit(struct decomposition *d, struct sb_error *err)
{
	size_t column[UNKNOWNS], columns = 0, rows = 0, dependent = 0;
	double c[UNKNOWNS], x[UNKNOWNS];

	for (size_t u = 0; u < UNKNOWNS; u++)
		if (d->fitted[u])
			column[columns++] = u;
	for (size_t i = 0; i < d->count; i++) {
		const struct row *r = &d->rows[i];

		if (!is_middle(r))
			continue;
		coefficients(d, r, &r->moments[r->moment], c);
		for (size_t k = 0; k < columns; k++)
			d->a[rows * columns + k] = c[column[k]];
		d->b[rows++] = r->run->peak;
	}
	if (least_squares(d->a, d->b, rows, columns, x, &dependent) != SB_OK)
		return not_apart(d, column[dependent], err);
	for (size_t k = 0; k < columns; k++)
		d->value[column[k]] = without_dust(d, x[k]);
	return SB_OK;
}

/* Which moment is the peak follows from the figures, and they from it. The first guess: all activations are
 * as large. */
static int settle(struct decomposition *d, bool *out_settled, struct sb_error *err)
{
	bool changed = true;
	int rc = SB_OK;

	for (int t = 0; t < PIPELINE_RECOMPUTES; t++)
		d->value[UNKNOWN_ACTIVATION + t] = d->fitted[UNKNOWN_ACTIVATION + t];
	for (size_t i = 0; i < d->count; i++)
		choose(d, &d->rows[i]);
	for (int round = 0; rc == SB_OK && changed && round < ROUNDS_MAX; round++) {
		rc = fit(d, err);
		changed = false;
		for (size_t i = 0; rc == SB_OK && i < d->count; i++)
			changed |= choose(d, &d->rows[i]);
	}
	*out_settled = !changed;
	return rc;
}

/* Least squares are the least for the moments that were taken. Others could do better still, unless there are
 * none or every peak is met. */
static bool is_closest(const struct decomposition *d)
{
	bool single = true, met = true;

	for (size_t i = 0; i < d->count; i++) {
		const struct row *r = &d->rows[i];

		if (!is_middle(r))
			continue;
		single = single && r->moment_count < 2;
		met =
		    met && fabs(peak_at(d, r, r->moment) - r->run->peak) <= PIPELINE_ROUNDING * r->run->peak;
	}
	return single || met;
}

/* The mean of what the runs of one end have beyond their layers; NaN without a run. */
static double beyond(const struct decomposition *d, bool head, bool tail)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct row *r = &d->rows[i];

		if (r->head != head || r->tail != tail)
			continue;
		sum += r->run->peak - peak_at(d, r, r->moment);
		n++;
	}
	return n > 0 ? without_dust(d, sum / (double)n) : NAN;
}

static void tell(const struct decomposition *d, struct layer_memory *out, double *predicted)
{
	out->constant = d->fitted[UNKNOWN_CONSTANT] ? d->value[UNKNOWN_CONSTANT] : NAN;
	out->parameters = d->value[UNKNOWN_PARAMETERS];
	for (int t = 0; t < PIPELINE_RECOMPUTES; t++)
		out->activation[t] =
		    d->fitted[UNKNOWN_ACTIVATION + t] ? d->value[UNKNOWN_ACTIVATION + t] : NAN;
	out->head = beyond(d, true, false);
	out->tail = beyond(d, false, true);
	out->ends = beyond(d, true, true);
	out->equations = d->equations;
	out->unknowns = d->unknowns;
	for (size_t i = 0; i < d->count; i++) {
		const struct row *r = &d->rows[i];
		double end = r->head && r->tail ? out->ends : r->head ? out->head : r->tail ? out->tail : 0;
		double share;

		predicted[i] = peak_at(d, r, r->moment) + end;
		share = fabs(predicted[i] - r->run->peak) / r->run->peak;
		out->worst_share = share > out->worst_share ? share : out->worst_share;
	}
}

int layer_memory_decompose(const struct schedule_shape *shape, const struct dry_run *runs, size_t count,
                           enum fit_constant constant, struct layer_memory *out, double *predicted,
                           struct sb_error *err)
{
	__attribute__((cleanup(decomposition_clear))) struct decomposition d = {.shape = shape};
	struct layer_memory m = {0};
	int rc = open_rows(&d, runs, count, err);

	if (rc == SB_OK)
		rc = choose_unknowns(&d, constant, err);
	if (rc == SB_OK)
		rc = settle(&d, &m.settled, err);
	if (rc != SB_OK)
		return rc;
	m.closest = m.settled && is_closest(&d);
	tell(&d, &m, predicted);
	*out = m;
	return SB_OK;
}
