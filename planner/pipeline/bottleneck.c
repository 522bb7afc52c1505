#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/device.h"

/* Each try allows this much more than the one before. */
#define MORE 1.25

struct solver {
	const struct pipeline_problem *p;
	struct schedule_program program;
	struct device *devices;
	int64_t count;
	struct mixes mixes;
	struct device_option *options; /* [device * (layers + 1) + layers of the device] */
	double bottleneck;
};

static void solver_free(struct solver *s)
{
	schedule_program_free(&s->program);
	for (int64_t d = 0; s->devices && d < s->count; d++)
		device_free(&s->devices[d]);
	free(s->devices);
	mixes_free(&s->mixes);
	free(s->options);
}

static struct device_option *options_of(const struct solver *s, int64_t device)
{
	return &s->options[device * (s->p->bodies[0].count + 1)];
}

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
}

static int solver_open(struct solver *s, struct sb_error *err)
{
	const struct pipeline_problem *p = s->p;
	int rc = schedule_program_build(&p->shape, &s->program, err);

	if (rc != SB_OK)
		return rc;
	s->count = device_count(p);
	s->devices = calloc((size_t)s->count, sizeof(*s->devices));
	s->options = malloc((size_t)s->count * ((size_t)p->bodies[0].count + 1) * sizeof(*s->options));
	if (!s->devices || !s->options)
		return no_memory(err);
	for (int64_t d = 0; d < s->count && rc == SB_OK; d++)
		rc = device_open(p, &s->program, d, &s->devices[d]);
	if (rc == SB_OK)
		rc = mixes_build(p->bodies, 1, &s->mixes);
	if (rc == SB_ELIMIT)
		return sb_fail(err, rc, "too_many_chunks", "a device has more than %d chunks",
		               SCHEDULE_CHUNKS_MAX);
	return rc == SB_OK ? SB_OK : no_memory(err);
}

/* Is there room at all? */
static int check_room(const struct solver *s, struct sb_error *err)
{
	int64_t sum = 0, layers = s->p->bodies[0].count;
	int rc = pipeline_check_layers(s->p, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < s->count; d++) {
		int64_t most = device_capacity(s->p, &s->devices[d], &s->mixes);

		if (most < 0)
			return sb_fail(err, SB_EINFEASIBLE, "infeasible",
			               "the memory of device %lld does not hold one layer a stage",
			               (long long)d);
		sum += most;
	}
	if (sum < layers)
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "the memory of all devices holds %lld of %lld layers, all recomputed",
		               (long long)sum, (long long)layers);
	return SB_OK;
}

/* The most layers that a device holds within a bottleneck; -1 = it cannot hold the least it must. */
static int64_t held_within(const struct solver *s, int64_t device, double bottleneck)
{
	const struct device_option *o = options_of(s, device);

	for (int64_t n = s->p->bodies[0].count; n >= 0; n--)
		if (o[n].bottleneck <= bottleneck)
			return n;
	return -1;
}

static bool holds_all(const struct solver *s, double bottleneck)
{
	int64_t sum = 0;

	for (int64_t d = 0; d < s->count; d++) {
		int64_t n = held_within(s, d, bottleneck);

		if (n < 0)
			return false;
		sum += n;
	}
	return sum >= s->p->bodies[0].count;
}

/* All devices' options that end within a bound, until they hold all layers. */
static int open_options(struct solver *s, struct sb_error *err)
{
	const struct pipeline_body *b = s->p->bodies;
	double each = b->forward + s->mixes.fastest;
	double work = (double)b->count * each + s->p->head.forward + s->p->head.backward +
	              s->p->tail.forward + s->p->tail.backward;
	/* some stage has its share of the work, or more */
	double bound = work / (double)schedule_stages(&s->p->shape);

	for (int again = 0; again<400; again++, bound = bound> 0 ? bound * MORE : 1e-300) {
		double most = each > 0 ? floor(bound / each) + 1 : (double)b->count;

		mixes_free(&s->mixes);
		if (mixes_build(b, (int64_t)fmin(most, (double)b->count), &s->mixes) != SB_OK)
			return no_memory(err);
		for (int64_t d = 0; d < s->count; d++)
			device_bottlenecks(s->p, &s->devices[d], &s->mixes, bound, options_of(s, d));
		if (holds_all(s, DBL_MAX))
			return SB_OK;
	}
	return sb_fail(err, SB_EINFEASIBLE, "infeasible", "no bottleneck was found that holds all layers");
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The optimum is the bottleneck of some device's option: the first of all that holds all layers. */
static int find_bottleneck(struct solver *s, struct sb_error *err)
{
	size_t all = (size_t)s->count * ((size_t)s->p->bodies[0].count + 1), n = 0, lo = 0, hi;
	double *values = malloc(all * sizeof(*values));

	if (!values)
		return no_memory(err);
	for (size_t i = 0; i < all; i++)
		if (!isinf(s->options[i].bottleneck))
			values[n++] = s->options[i].bottleneck;
	qsort(values, n, sizeof(*values), rising);
	for (hi = n - 1; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (holds_all(s, values[mid]))
			hi = mid;
		else
			lo = mid + 1;
	}
	s->bottleneck = values[lo];
	free(values);
	return SB_OK;
}

/* How many layers each device takes, so that all of them together recompute least: sums over devices of what
 * each number of layers costs it. taken: one a device. */
static int share_out(const struct solver *s, int64_t *taken, struct sb_error *err)
{
	int64_t layers = s->p->bodies[0].count;
	size_t row = (size_t)layers + 1;
	double *cost = malloc((size_t)(s->count + 1) * row * sizeof(*cost));
	int32_t *from = malloc((size_t)s->count * row * sizeof(*from));
	int64_t left = layers;

	if (!cost || !from) {
		free(cost);
		free(from);
		return no_memory(err);
	}
	for (int64_t l = 0; l <= layers; l++)
		cost[l] = l == 0 ? 0 : INFINITY;
	for (int64_t d = 0; d < s->count; d++) {
		const struct device_option *o = options_of(s, d);
		const double *before = &cost[(size_t)d * row];
		double *now = &cost[(size_t)(d + 1) * row];

		for (int64_t l = 0; l <= layers; l++) {
			now[l] = INFINITY;
			for (int64_t n = 0; n <= l; n++) {
				if (isinf(o[n].extra) || before[l - n] + o[n].extra >= now[l])
					continue;
				now[l] = before[l - n] + o[n].extra;
				from[(size_t)d * row + (size_t)l] = (int32_t)n;
			}
		}
	}
	for (int64_t d = s->count - 1; d >= 0; d--) {
		taken[d] = from[(size_t)d * row + (size_t)left];
		left -= taken[d];
	}
	free(cost);
	free(from);
	return SB_OK;
}

static int write_plan(const struct solver *s, struct pipeline_stage *out, struct sb_error *err)
{
	int64_t *taken = malloc((size_t)s->count * sizeof(*taken));
	int rc = taken ? share_out(s, taken, err) : no_memory(err);

	for (int64_t d = 0; rc == SB_OK && d < s->count; d++) {
		const struct device_option *o = &options_of(s, d)[taken[d]];

		for (int64_t k = 0; k < s->devices[d].chunks; k++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
				out[s->devices[d].stage[k]].layers[r] = o->mix[k]->layers[r];
	}
	free(taken);
	return rc;
}

int pipeline_least_bottleneck(const struct pipeline_problem *p, struct pipeline_stage *out,
                              double *out_bottleneck, struct sb_error *err)
{
	__attribute__((cleanup(solver_free))) struct solver s = {.p = p};
	int rc = solver_open(&s, err);

	if (rc == SB_OK)
		rc = check_room(&s, err);
	if (rc == SB_OK)
		rc = open_options(&s, err);
	if (rc == SB_OK)
		rc = find_bottleneck(&s, err);
	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < s.count; d++)
		device_extras(p, &s.devices[d], &s.mixes, s.bottleneck, options_of(&s, d));
	rc = write_plan(&s, out, err);
	if (rc == SB_OK)
		*out_bottleneck = pipeline_bottleneck(p, out);
	return rc;
}
