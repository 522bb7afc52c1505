#include "planner/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_OPERATIONS (1 << 26)

struct simulation {
	const struct schedule_problem *p;
	double *forward_end, *backward_end; /* [(stage * chunks + chunk) * micro_batches + micro_batch] */
	double *clock;                      /* of each stage */
	int64_t *done;                      /* operations finished on each stage */
	int64_t *alive, *peak;
};

struct operation {
	bool forward;
	int64_t micro_batch, chunk;
};

static void free_simulation(struct simulation *s)
{
	free(s->forward_end);
	free(s->backward_end);
	free(s->clock);
	free(s->done);
	free(s->alive);
	free(s->peak);
}

double schedule_operations(const struct schedule_problem *p)
{
	return 2 * (double)p->stages * (double)p->micro_batches * (double)p->chunks;
}

/* The k-th forward (or backward) of a stage: groups of `stages` micro-batches take turns on the chunks; the
 * last group may be short. */
static struct operation unit(const struct schedule_problem *p, int64_t k, bool forward)
{
	int64_t turn = p->stages * p->chunks, group = k / turn, in = k % turn;
	int64_t size = p->micro_batches - group * p->stages;
	struct operation o = {.forward = forward};

	if (p->chunks == 1) {
		o.micro_batch = k;
		return o;
	}
	if (size > p->stages)
		size = p->stages;
	o.micro_batch = group * p->stages + in % size;
	o.chunk = forward ? in / size : p->chunks - 1 - in / size;
	return o;
}

static int64_t warm_up(const struct schedule_problem *p, int64_t stage)
{
	int64_t all = p->micro_batches * p->chunks, n;

	if (p->kind == SCHEDULE_GPIPE)
		return all;
	n = p->chunks == 1 ? p->stages - 1 - stage
	                   : 2 * (p->stages - 1 - stage) + (p->chunks - 1) * p->stages;
	return n < all ? n : all;
}

/* The i-th operation of a stage: warm-up forwards, then forward and backward in turn, then backwards. */
static struct operation operation_at(const struct schedule_problem *p, int64_t stage, int64_t i)
{
	int64_t warm = warm_up(p, stage), steady = p->micro_batches * p->chunks - warm;

	if (i < warm)
		return unit(p, i, true);
	if (i < warm + 2 * steady)
		return unit(p, (i - warm) % 2 == 0 ? warm + (i - warm) / 2 : (i - warm) / 2,
		            (i - warm) % 2 == 0);
	return unit(p, i - warm - steady, false);
}

static double *slot(const struct simulation *s, double *table, int64_t stage, int64_t chunk, int64_t mb)
{
	return &table[(stage * s->p->chunks + chunk) * s->p->micro_batches + mb];
}

/* When the input of an operation is there; NaN while its producer has not run. */
static double input_ready(const struct simulation *s, int64_t stage, struct operation o)
{
	const struct schedule_problem *p = s->p;
	double send = p->stages > 1 ? p->send_seconds : 0;
	int64_t last = p->stages - 1;

	if (o.forward) {
		if (stage == 0 && o.chunk == 0)
			return 0;
		if (stage > 0)
			return *slot(s, s->forward_end, stage - 1, o.chunk, o.micro_batch) + send;
		return *slot(s, s->forward_end, last, o.chunk - 1, o.micro_batch) + send;
	}
	if (stage == last && o.chunk == p->chunks - 1)
		return *slot(s, s->forward_end, stage, o.chunk, o.micro_batch);
	if (stage < last)
		return *slot(s, s->backward_end, stage + 1, o.chunk, o.micro_batch) + send;
	return *slot(s, s->backward_end, 0, o.chunk + 1, o.micro_batch) + send;
}

static bool step(struct simulation *s, int64_t stage)
{
	const struct schedule_problem *p = s->p;
	struct operation o = operation_at(p, stage, s->done[stage]);
	double ready = input_ready(s, stage, o);
	int64_t cell = stage * p->chunks + o.chunk;

	if (isnan(ready))
		return false;
	s->clock[stage] = fmax(s->clock[stage], ready) + (o.forward ? p->forward[cell] : p->backward[cell]);
	*slot(s, o.forward ? s->forward_end : s->backward_end, stage, o.chunk, o.micro_batch) =
	    s->clock[stage];
	s->alive[stage] += o.forward ? 1 : -1;
	if (s->alive[stage] > s->peak[stage])
		s->peak[stage] = s->alive[stage];
	s->done[stage]++;
	return true;
}

static int run(struct simulation *s, struct sb_error *err)
{
	int64_t each = 2 * s->p->micro_batches * s->p->chunks, left = s->p->stages;

	while (left > 0) {
		bool moved = false;

		left = 0;
		for (int64_t i = 0; i < s->p->stages; i++) {
			while (s->done[i] < each && step(s, i))
				moved = true;
			left += s->done[i] < each;
		}
		if (left > 0 && !moved)
			return sb_fail(err, SB_EIMPOSSIBLE, "deadlock", "the schedule's order deadlocks");
	}
	return SB_OK;
}

static double *unknown_times(int64_t n)
{
	double *t = calloc((size_t)n, sizeof(*t));

	for (int64_t i = 0; t && i < n; i++)
		t[i] = NAN;
	return t;
}

static int simulate(struct simulation *s, struct schedule_result *out, struct sb_error *err)
{
	const struct schedule_problem *p = s->p;
	int64_t cells = p->stages * p->chunks * p->micro_batches;
	int rc;

	s->forward_end = unknown_times(cells);
	s->backward_end = unknown_times(cells);
	s->clock = calloc((size_t)p->stages, sizeof(*s->clock));
	s->done = calloc((size_t)p->stages, sizeof(*s->done));
	s->alive = calloc((size_t)p->stages, sizeof(*s->alive));
	s->peak = calloc((size_t)p->stages, sizeof(*s->peak));
	if (!s->forward_end || !s->backward_end || !s->clock || !s->done || !s->alive || !s->peak)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	rc = run(s, err);
	if (rc != SB_OK)
		return rc;
	out->makespan = 0;
	for (int64_t i = 0; i < p->stages; i++) {
		out->makespan = fmax(out->makespan, s->clock[i]);
		if (out->stage_end)
			out->stage_end[i] = s->clock[i];
		if (out->peak_units)
			out->peak_units[i] = s->peak[i];
	}
	return SB_OK;
}

int schedule_simulate(const struct schedule_problem *p, struct schedule_result *out, struct sb_error *err)
{
	struct simulation s = {.p = p};
	int rc;

	if (p->stages < 1 || p->micro_batches < 1 || p->chunks < 1 ||
	    (p->chunks > 1 && p->kind != SCHEDULE_INTERLEAVED))
		return sb_fail(err, SB_EINVAL, "out_of_range", "the schedule's sizes do not fit its kind");
	if (schedule_operations(p) > MAX_OPERATIONS)
		return sb_fail(err, SB_ELIMIT, "too_large", "the schedule has more than 2^26 operations");
	rc = simulate(&s, out, err);
	free_simulation(&s);
	return rc;
}
