#include "planner/pipeline/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "planner/pipeline/counts.h"

/* Each of the first rounds allows this much more than the one before: little, as what has to be tried grows
 * fast with it. */
#define MORE 1.05
#define ROUNDS 16
/* The search for a bottleneck ends when it is known to this share. */
#define EXACT 1e-11
/* Runs tried, and places where bodies begin: about a second. */
#define STEPS_MAX 3e6
#define PLACES_MAX 1e4

/* What a device can hold, for each way that bodies lie on its stages. */
struct tables {
	struct table **of;
	size_t count;
};

struct solver {
	struct table_problem tp;
	int64_t count, stages;
	struct tables *tables;            /* of each device, for this bound */
	struct table **now;               /* of each device, for this place */
	int64_t begins[TABLE_BODIES_MAX]; /* the stage of a body's first layer */
	double bound;
	struct counts counts;
	int64_t tried;
};

static void forget(struct solver *s)
{
	for (int64_t d = 0; s->tables && d < s->count; d++) {
		for (size_t i = 0; i < s->tables[d].count; i++) {
			table_free(s->tables[d].of[i]);
			free(s->tables[d].of[i]);
		}
		free(s->tables[d].of);
		s->tables[d] = (struct tables){0};
	}
}

static void solver_free(struct solver *s)
{
	forget(s);
	free(s->tables);
	free(s->now);
	counts_free(&s->counts);
}

static double least_backward(const struct pipeline_body *b)
{
	double least = INFINITY;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (isfinite(b->backward[r]) && isfinite(b->activation[r]))
			least = fmin(least, b->backward[r]);
	return least;
}

static double work_of_ends(const struct pipeline_problem *p)
{
	return p->head.forward + p->head.backward + p->tail.forward + p->tail.backward;
}

double frontier_lower_bound(const struct pipeline_problem *p)
{
	double work = work_of_ends(p), longest = 0;

	for (int64_t b = 0; b < p->body_count; b++) {
		double each = p->bodies[b].forward + least_backward(&p->bodies[b]);

		if (p->bodies[b].count == 0)
			continue;
		work += (double)p->bodies[b].count * each;
		longest = fmax(longest, each);
	}
	return fmax(work / (double)schedule_stages(&p->shape), longest);
}

double frontier_upper_bound(const struct pipeline_problem *p)
{
	double work = work_of_ends(p);

	for (int64_t b = 0; b < p->body_count; b++) {
		double most = 0;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			if (isfinite(p->bodies[b].backward[r]))
				most = fmax(most, p->bodies[b].backward[r]);
		work += (double)p->bodies[b].count * (p->bodies[b].forward + most);
	}
	return work;
}

/* With one body, a device must hold at least what all others cannot. */
static int64_t need_of(const struct solver *s, int64_t device)
{
	int64_t need = s->tp.p->bodies[0].count;

	for (int64_t d = 0; d < s->count; d++) {
		struct table x = {.device = d};

		table_box(&s->tp, s->bound, &x);
		need -= d == device ? 0 : x.most[0];
	}
	return need;
}

/* Which bodies a stage can hold, given where they begin. */
static struct span span_of(const struct solver *s, int64_t stage)
{
	struct span x = {0, 0};

	for (int64_t b = 1; b < s->tp.p->body_count; b++) {
		x.low = s->begins[b] < stage ? b : x.low;
		x.high = s->begins[b] <= stage ? b : x.high;
	}
	return x;
}

/* The table of a device at this place; it is filled when it is needed. */
static int find_table(struct solver *s, int64_t d)
{
	const struct device *device = &s->tp.devices[d];
	struct tables *list = &s->tables[d];
	struct table t = {.device = d}, *made;

	for (int64_t k = 0; k < device->chunks; k++)
		t.span[k] = span_of(s, device->stage[k]);
	for (size_t i = 0; i < list->count; i++) {
		if (memcmp(list->of[i]->span, t.span, sizeof(t.span)) == 0) {
			s->now[d] = list->of[i];
			return SB_OK;
		}
	}
	made = malloc(sizeof(*made));
	if (!made || sb_grow(&list->of, list->count, sizeof(struct table *)) != SB_OK) {
		free(made);
		return SB_ENOMEM;
	}
	table_box(&s->tp, s->bound, &t);
	t.need = s->tp.p->body_count == 1 ? need_of(s, d) : 0;
	*made = t;
	s->now[d] = list->of[list->count++] = made;
	return SB_OK;
}

/* Goes to a place; *out: can the boxes of the devices hold just all layers? */
static int go_to(struct solver *s, bool *out)
{
	int rc = SB_OK;

	for (int64_t d = 0; d < s->count && rc == SB_OK; d++)
		rc = find_table(s, d);
	*out = rc == SB_OK;
	for (int64_t b = 0; b < s->tp.p->body_count && *out; b++) {
		int64_t all = s->tp.first[b + 1] - s->tp.first[b], least = 0, most = 0;

		for (int64_t d = 0; d < s->count; d++) {
			least += s->now[d]->least[b];
			most += s->now[d]->most[b];
		}
		*out = least <= all && all <= most;
	}
	return rc;
}

/* The next place, by rising stages; false behind the last one. */
static bool next_place(struct solver *s)
{
	for (int64_t b = s->tp.p->body_count - 1; b > 0; b--) {
		if (++s->begins[b] >= s->stages)
			continue;
		for (int64_t i = b + 1; i < s->tp.p->body_count; i++)
			s->begins[i] = s->begins[b];
		return true;
	}
	memset(s->begins, 0, sizeof(s->begins));
	return false;
}

/* The least bottleneck at this place, if it is below *best. */
static int look_here(struct solver *s, double lower, double *best)
{
	double high = fmin(s->bound, *best * (1 - EXACT)), low = lower;
	bool holds;
	int rc = go_to(s, &holds);

	for (int64_t d = 0; d < s->count && rc == SB_OK && holds; d++)
		if (!s->now[d]->bottleneck)
			rc = table_bottlenecks(&s->tp, s->now[d], s->bound);
	if (rc == SB_OK && holds)
		rc = counts_within(&s->counts, s->now, high * (1 + PIPELINE_ROUNDING), &holds);
	if (rc != SB_OK || !holds)
		return rc;
	s->tried++;
	while (high - low > EXACT * high && rc == SB_OK) {
		double middle = low + (high - low) / 2;

		rc = counts_within(&s->counts, s->now, middle, &holds);
		if (holds)
			high = middle;
		else
			low = middle;
	}
	*best = high;
	return rc;
}

/* All places within a bound, then within a larger one. */
static int find_bottleneck(struct solver *s, double *out)
{
	double lower = frontier_lower_bound(s->tp.p), upper = frontier_upper_bound(s->tp.p);
	int rc = SB_OK;

	s->bound = lower;
	for (int round = 0; rc == SB_OK; round++) {
		*out = INFINITY;
		do
			rc = look_here(s, lower, out);
		while (rc == SB_OK && next_place(s));
		if (rc != SB_OK || !isinf(*out))
			return rc;
		if (!(s->bound < upper))
			return SB_EINFEASIBLE;
		s->bound = fmin(upper, fmax(s->bound * (round < ROUNDS ? MORE : 2), upper * 1e-6));
		forget(s);
	}
	return rc;
}

static int write_plan(struct solver *s, double bottleneck, const size_t *taken, struct pipeline_stage *out)
{
	int rc = SB_OK;

	for (int64_t d = 0; d < s->count && rc == SB_OK; d++) {
		struct holding h = {0};

		rc = table_choose(&s->tp, s->now[d], bottleneck, taken[d], &h);
		for (int64_t k = 0; k < s->tp.devices[d].chunks && rc == SB_OK; k++)
			rc = cells_stage(s->tp.cells, h.chunk[k].first, h.chunk[k].count, h.chunk[k].way,
			                 &out[s->tp.devices[d].stage[k] * s->tp.p->body_count]);
	}
	return rc;
}

/* The plan of least extra at this place, if it is below *best. */
static int recompute_least(struct solver *s, double bottleneck, size_t *taken, double *best,
                           struct pipeline_stage *out)
{
	double extra = INFINITY;
	bool holds;
	int rc = go_to(s, &holds);

	for (int64_t d = 0; d < s->count && rc == SB_OK && holds; d++)
		holds = s->now[d]->bottleneck != NULL;
	if (rc == SB_OK && holds)
		rc = counts_within(&s->counts, s->now, bottleneck * (1 + PIPELINE_ROUNDING), &holds);
	for (int64_t d = 0; d < s->count && rc == SB_OK && holds; d++)
		if (!s->now[d]->extra)
			rc = table_extras(&s->tp, s->now[d], bottleneck);
	if (rc == SB_OK && holds)
		rc = counts_least_extra(&s->counts, s->now, taken, &extra);
	if (rc != SB_OK || extra >= *best)
		return rc;
	*best = extra;
	return write_plan(s, bottleneck, taken, out);
}

static int choose_plan(struct solver *s, double bottleneck, struct pipeline_stage *out)
{
	size_t *taken = malloc((size_t)s->count * sizeof(*taken));
	double best = INFINITY;
	int rc = taken ? SB_OK : SB_ENOMEM;

	s->tp.steps = s->counts.work = 0;
	while (rc == SB_OK) {
		rc = recompute_least(s, bottleneck, taken, &best, out);
		if (best == 0 || !next_place(s))
			break;
	}
	free(taken);
	/* the bottleneck is proved; that nothing recomputes less is not, with so much to try */
	return rc == SB_ELIMIT && !isinf(best) ? SB_OK : rc;
}

static int solver_open(struct solver *s)
{
	const struct pipeline_problem *p = s->tp.p;
	double places = 1;

	if (p->body_count > TABLE_BODIES_MAX)
		return SB_ELIMIT;
	s->stages = schedule_stages(&p->shape);
	s->count = device_count(p);
	for (int64_t b = 0; b < p->body_count; b++) {
		s->tp.first[b + 1] = s->tp.first[b] + p->bodies[b].count;
		s->tp.least_backward[b] = least_backward(&p->bodies[b]);
		places *= b == 0 ? 1 : (double)s->stages;
	}
	if (places > PLACES_MAX)
		return SB_ELIMIT;
	s->tables = calloc((size_t)s->count, sizeof(*s->tables));
	s->now = calloc((size_t)s->count, sizeof(struct table *));
	if (!s->tables || !s->now)
		return SB_ENOMEM;
	return counts_open(&s->tp, s->count, &s->counts);
}

int frontier_solve(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
                   struct pipeline_stage *out, double *out_bottleneck, int64_t *out_tried)
{
	__attribute__((cleanup(solver_free))) struct solver s = {.tp = {.p = p,
	                                                                .devices = devices,
	                                                                .cells = cells,
	                                                                .lightest = device_lightest(p),
	                                                                .steps_max = STEPS_MAX}};
	double bottleneck = INFINITY;
	int rc = solver_open(&s);

	if (rc == SB_OK)
		rc = find_bottleneck(&s, &bottleneck);
	if (rc == SB_OK)
		rc = choose_plan(&s, bottleneck, out);
	if (rc != SB_OK)
		return rc;
	*out_bottleneck = bottleneck;
	*out_tried = s.tried;
	return SB_OK;
}
