#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/device.h"
#include "planner/pipeline/lightest.h"
#include "planner/pipeline/straight.h"

/* The lightest problem without bounds. */
struct least_problem {
	struct pipeline_problem p;
	struct lightest_problem lightest;
	double *memory, *peaks;
	struct pipeline_stage *plan;
};

static void least_free(struct least_problem *l)
{
	lightest_free(&l->lightest);
	free(l->memory);
	free(l->peaks);
	free(l->plan);
}

static void set_memory(struct least_problem *l, double bytes)
{
	for (int64_t d = 0; d < l->p.shape.devices; d++)
		l->memory[d] = bytes;
}

static int least_open(const struct pipeline_problem *p, struct least_problem *l)
{
	size_t bodies = (size_t)p->body_count;

	if (lightest_open(p, &l->lightest) != SB_OK)
		return SB_ENOMEM;
	l->p = l->lightest.p;
	/* rows ask for no memory, and a bound by bisection is no work for an ILP */
	l->p.row_count = 0;
	l->p.lp = NULL;
	l->memory = malloc((size_t)p->shape.devices * sizeof(*l->memory));
	l->peaks = malloc((size_t)p->shape.devices * sizeof(*l->peaks));
	l->plan = calloc((size_t)schedule_stages(&p->shape) * bodies + 1, sizeof(*l->plan));
	if (!l->memory || !l->peaks || !l->plan)
		return SB_ENOMEM;
	set_memory(l, INFINITY);
	l->p.memory = l->memory;
	return SB_OK;
}

static void fuller(const struct straight *s, int64_t stage, const struct straight_stage *at,
                   const double *behind, double *out)
{
	(void)s;
	(void)stage;
	out[0] = fmax(behind[0], at->peak);
}

static double fullest(const struct straight *s, const double *label)
{
	(void)s;
	return label[0];
}

static double fullest_at_least(const struct straight *s, const double *label, double work, int64_t stages)
{
	(void)s;
	(void)work;
	(void)stages;
	return label[0];
}

/* One stage a device: the cut whose fullest device is the least full. */
static int least_of_cuts(const struct least_problem *l, double *out, struct sb_error *err)
{
	static const struct straight_rule rule = {"memory", 1, fuller, fullest, fullest_at_least};
	STRAIGHT_AUTO s = NULL;
	struct straight_stage *stages = malloc((size_t)l->p.shape.devices * sizeof(*stages));
	struct pipeline_proof proof;
	int rc = stages ? straight_open(&l->p, &s, err) : sb_no_memory(err);

	if (rc == SB_OK)
		rc = straight_search(s, &rule, stages, &proof, err);
	if (rc == SB_OK)
		*out = proof.value;
	free(stages);
	return rc;
}

/* What the fullest device of a plan takes; the plan is one within the memory that is set. */
static int peak_of_plan(struct least_problem *l, double *out, struct sb_error *err)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct pipeline_proof proof;
	int rc;

	memset(l->plan, 0, (size_t)schedule_stages(&l->p.shape) * (size_t)l->p.body_count * sizeof(*l->plan));
	rc = pipeline_least_bottleneck(&l->p, l->plan, &proof, err);
	if (rc == SB_OK)
		rc = pipeline_scorer_open(&l->p, &scorer, err);
	if (rc != SB_OK)
		return rc;
	pipeline_peaks(scorer, l->plan, l->peaks);
	*out = 0;
	for (int64_t d = 0; d < l->p.shape.devices; d++)
		*out = fmax(*out, l->peaks[d]);
	return SB_OK;
}

/* Do the devices hold all layers of one body, each with this memory? */
static bool is_room(const struct least_problem *l, struct device *devices, const double *taken, double bytes)
{
	int64_t sum = 0;

	for (int64_t d = 0; d < device_count(&l->p); d++) {
		int64_t most;

		devices[d].room = bytes + taken[d];
		most = device_capacity(&l->p, &devices[d]);
		if (most < 0)
			return false;
		sum += most;
	}
	return sum >= pipeline_layers(&l->p);
}

/* With one body the devices alone say whether there is a plan: none is made before the last. */
static int narrow(struct least_problem *l, double *high, struct sb_error *err)
{
	struct device *devices = NULL;
	double low = 0, peak;
	int rc;

	set_memory(l, 0);
	rc = devices_open(&l->p, &devices, err);
	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < device_count(&l->p); d++)
		l->peaks[d] = devices[d].room;
	for (int i = 0; i < 100 && *high - low > PIPELINE_ROUNDING / 2 * *high; i++) {
		double middle = low + (*high - low) / 2;

		if (is_room(l, devices, l->peaks, middle))
			*high = middle;
		else
			low = middle;
	}
	devices_free(devices, device_count(&l->p));
	set_memory(l, *high);
	rc = peak_of_plan(l, &peak, err);
	if (rc == SB_OK)
		*high = peak;
	return rc;
}

/* Each plan that is found is itself a bound: so the end is the peak of a plan, not a number near to it. */
static int least_of_plans(struct least_problem *l, double *out, struct sb_error *err)
{
	double low = 0, high = 0, peak = 0;
	int rc = peak_of_plan(l, &high, err);

	if (rc == SB_OK && l->p.body_count == 1)
		rc = narrow(l, &high, err);
	for (int i = 0;
	     l->p.body_count > 1 && i < 100 && rc == SB_OK && high - low > PIPELINE_ROUNDING * high; i++) {
		double middle = low + (high - low) / 2;

		set_memory(l, middle);
		rc = peak_of_plan(l, &peak, err);
		if (rc == SB_OK)
			high = fmin(high, peak);
		else if (rc == SB_EINFEASIBLE)
			low = middle;
		if (rc == SB_EINFEASIBLE)
			rc = SB_OK;
	}
	if (rc == SB_OK)
		*out = high;
	return rc;
}

int pipeline_least_memory(const struct pipeline_problem *p, double *out, struct sb_error *err)
{
	__attribute__((cleanup(least_free))) struct least_problem l = {0};
	int rc = schedule_check(&p->shape, err);

	if (rc != SB_OK)
		return rc;
	if (least_open(p, &l) != SB_OK)
		return sb_no_memory(err);
	return p->shape.chunks == 1 ? least_of_cuts(&l, out, err) : least_of_plans(&l, out, err);
}
