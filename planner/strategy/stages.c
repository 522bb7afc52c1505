#include "planner/strategy/stages.h"

#include <math.h>
#include <stdlib.h>

/* Room for one number of each stage, three times. */
struct rows {
	double *forward, *backward, *end;
};

/* What comes once a step. */
struct once {
	double *exchange; /* [pp] */
	double optimizer; /* the slowest */
	double alone;     /* alone_seconds() of all stages */
};

/* Costs one stage as one of a pipeline of its like. */
static void cost_stage(const struct cost_problem *p, const struct strategy *s, const struct stage_run *run,
                       int64_t i, struct rows *x, struct once *o, struct memory_parts *out_memory)
{
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = layer_costs_of(p, s, &g);
	struct stage_time t = stage_seconds(p, &l, s, &g, run);

	x->forward[i] = t.forward + t.head_forward;
	x->backward[i] = t.backward + t.head_backward;
	o->exchange[i] = t.exchange;
	o->optimizer = fmax(o->optimizer, t.optimizer);
	o->alone += alone_seconds(&t);
	*out_memory = stage_memory(p, &l.memory, s, run, strategy_micro_batches(s, p->sequences));
}

int stages_cost(const struct cost_problem *p, const struct strategy *strategy, const struct stage_run *run,
                struct memory_parts *out_memory, struct stages_cost *out, struct sb_error *err)
{
	int64_t stages = strategy->pp;
	double *room = calloc(4 * (size_t)stages, sizeof(*room)), passes = 0, most = -1;
	struct rows x = {room, room + stages, room + 2 * stages};
	struct once o = {.exchange = room + 3 * stages};
	int rc = room ? SB_OK : sb_no_memory(err);

	*out = (struct stages_cost){0};
	for (int64_t i = 0; rc == SB_OK && i < stages; i++)
		cost_stage(p, &strategy[i], &run[i], i, &x, &o, &out_memory[i]);
	if (rc == SB_OK)
		rc = pipeline_ends(strategy, strategy_micro_batches(strategy, p->sequences), x.forward,
		                   x.backward, x.end, &out->simulated, err);
	for (int64_t i = 0; rc == SB_OK && i < stages; i++) {
		passes = fmax(passes, x.end[i] + o.exchange[i]);
		if (memory_total(&out_memory[i]) > most) {
			most = memory_total(&out_memory[i]);
			out->fullest_stage = i;
		}
	}
	if (rc == SB_OK)
		out->step_seconds = cost_outside(p, strategy, passes + o.alone + o.optimizer);
	free(room);
	return rc;
}
