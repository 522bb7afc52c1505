#ifndef SB_TESTS_UNIT_PLANNER_SMALL_PIPELINES_H
#define SB_TESTS_UNIT_PLANNER_SMALL_PIPELINES_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/pipeline.h"

/* Problems so small that all of their plans can be weighed. */

#define SMALL_STAGES 6
#define SMALL_BODIES 4
#define SMALL_LAYERS 7

struct small {
	struct pipeline_problem p;
	struct pipeline_body bodies[SMALL_BODIES];
	double memory[SMALL_STAGES], cut_send[SMALL_LAYERS], link_send[SMALL_STAGES];
	uint64_t seed;
};

static inline int64_t small_pick(struct small *x, int64_t low, int64_t high)
{
	x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((x->seed >> 33) % (uint64_t)(high - low + 1));
}

/* Whole numbers, so that sums are exact. */
static inline void small_body(struct small *x, struct pipeline_body *b, int64_t count)
{
	double forward = (double)small_pick(x, 1, 9);

	*b = (struct pipeline_body){.count = count,
	                            .forward = forward,
	                            .parameters = (double)small_pick(x, 0, 30),
	                            .weight = NAN,
	                            .overlapped = NAN};
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		b->backward[r] = b->activation[r] = NAN;
	b->backward[KEEP_ALL] = (double)small_pick(x, 1, 20);
	b->activation[KEEP_ALL] = (double)small_pick(x, 20, 60);
	b->backward[REDO_FULL] = b->backward[KEEP_ALL] + forward;
	b->activation[REDO_FULL] = (double)small_pick(x, 1, 9);
	if (small_pick(x, 0, 1)) {
		b->backward[REDO_SELECT] = b->backward[KEEP_ALL] + (double)small_pick(x, 0, 2);
		b->activation[REDO_SELECT] = (double)small_pick(x, 8, (int64_t)b->activation[KEEP_ALL]);
	}
}

/* One body or several, with or without hops, ends and bounds. */
static inline void small_problem(struct small *x, struct schedule_shape shape)
{
	int64_t layers = small_pick(x, 3, SMALL_LAYERS - 1), bodies = small_pick(x, 1, 3), left = layers;

	x->p = (struct pipeline_problem){.shape = shape,
	                                 .bodies = x->bodies,
	                                 .body_count = bodies,
	                                 .memory = x->memory,
	                                 .constant = (double)small_pick(x, 0, 20),
	                                 .allow_empty = small_pick(x, 0, 3) == 0,
	                                 .blocking = small_pick(x, 0, 3) == 0,
	                                 .send_seconds = (double)small_pick(x, 0, 3)};
	for (int64_t b = 0; b < bodies; b++) {
		int64_t count = b == bodies - 1 ? left : small_pick(x, 1, left - (bodies - 1 - b));

		small_body(x, &x->bodies[b], count);
		left -= count;
	}
	x->p.head = (struct pipeline_end){(double)small_pick(x, 0, 9), (double)small_pick(x, 0, 9),
	                                  (double)small_pick(x, 0, 60)};
	x->p.tail = (struct pipeline_end){(double)small_pick(x, 0, 9), (double)small_pick(x, 0, 9),
	                                  (double)small_pick(x, 0, 60)};
	for (int d = 0; d < SMALL_STAGES; d++) {
		x->memory[d] = small_pick(x, 0, 5) == 0 ? INFINITY : (double)small_pick(x, 80, 380);
		x->link_send[d] = (double)small_pick(x, 0, 12);
	}
	for (int i = 0; i < SMALL_LAYERS; i++)
		x->cut_send[i] = (double)small_pick(x, 0, 30);
	if (small_pick(x, 0, 1))
		x->p.cut_send = x->cut_send;
	if (small_pick(x, 0, 2) == 0)
		x->p.link_send = x->link_send;
}

/* Calls `weigh` with every plan, whether it fits or not. */
struct small_walk {
	const struct pipeline_problem *p;
	void (*weigh)(struct small_walk *w);
	struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES];
	void *context;
};

/* The next layer goes into one stage, in one way. */
static inline void small_layers(struct small_walk *w, int64_t stage, int64_t body, int64_t used)
{
	const struct pipeline_problem *p = w->p;
	int64_t last = schedule_stages(&p->shape) - 1;

	if (body < p->body_count && used == p->bodies[body].count) {
		small_layers(w, stage, body + 1, 0);
		return;
	}
	if (body == p->body_count) {
		for (int64_t i = 0; i <= last && !p->allow_empty; i++)
			if (pipeline_stage_layers(p, w->plan, i) == 0)
				return;
		w->weigh(w);
		return;
	}
	for (int64_t i = stage; i <= last; i++) {
		/* one order of a stage's layers of a body stands for all: ways by rising number */
		struct pipeline_stage *at = &w->plan[i * p->body_count + body];
		int low = PIPELINE_RECOMPUTES - 1;

		while (low > 0 && at->layers[low] == 0)
			low--;
		for (int r = low; r < PIPELINE_RECOMPUTES; r++) {
			if (isnan(p->bodies[body].backward[r]))
				continue;
			at->layers[r]++;
			small_layers(w, i, body, used + 1);
			at->layers[r]--;
		}
	}
}

static inline void small_walk(struct small_walk *w)
{
	memset(w->plan, 0, sizeof(w->plan));
	small_layers(w, 0, 0, 0);
}

static inline bool small_fits(const struct pipeline_problem *p, const double *peaks)
{
	for (int64_t d = 0; d < p->shape.devices; d++)
		if (peaks[d] > p->memory[d])
			return false;
	return true;
}

/* Every layer is in the plan, those of a body in one run, the bodies in their order. */
static inline void small_check_plan(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	int64_t stages = schedule_stages(&p->shape), reached = 0;

	for (int64_t b = 0; b < p->body_count; b++) {
		int64_t held = 0;

		for (int64_t i = 0; i < stages; i++) {
			int64_t here = 0;

			for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
				assert_true(plan[i * p->body_count + b].layers[r] >= 0);
				here += plan[i * p->body_count + b].layers[r];
			}
			if (here > 0) {
				assert_true(i >= reached);
				reached = i;
			}
			held += here;
		}
		assert_int_equal(held, p->bodies[b].count);
	}
	for (int64_t i = 0; i < stages && !p->allow_empty; i++)
		assert_true(pipeline_stage_layers(p, plan, i) > 0);
}
#endif
