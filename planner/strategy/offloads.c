#include <math.h>
#include <string.h>

#include "planner/cost/offload.h"
#include "planner/strategy/weigh.h"

/* The ways to offload of a body that does not fit without. search.h has the space. */

#define SETS (1U << OFFLOADABLES)
#define WEIGHTS (1U << OFFLOAD_WEIGHTS)
#define GRADIENTS (1U << OFFLOAD_GRADIENTS)
#define OPTIMIZER (1U << OFFLOAD_OPTIMIZER)
#define ACTIVATIONS (1U << OFFLOAD_ACTIVATIONS)
#define ROUNDING 1e-12 /* of sums in another order; what fits is told by peak_memory() */

/* The fullest stage's bytes, and a node's, with each set of things on the host. */
struct sets {
	double device[SETS], host[SETS];
	struct offload_load fullest; /* of its stage, with nothing on the host */
};

/* What is only taken in part costs more the more of it goes: activations always; weights and gradients while
 * the optimizer's states stay, whose update they would spare a transfer; the states while those stay. */
static bool partly(unsigned set, int thing)
{
	return thing == OFFLOAD_ACTIVATIONS ||
	       (set & (thing == OFFLOAD_OPTIMIZER ? WEIGHTS | GRADIENTS : OPTIMIZER)) == 0;
}

/* Sets that may be quicker than a smaller one: the host updates the states where the rest of them lies. */
static bool goes_together(unsigned set)
{
	return (set & OPTIMIZER) && (set & (WEIGHTS | GRADIENTS)) && !(set & ACTIVATIONS);
}

static struct offload offload_set(unsigned set, int thing, int64_t steps)
{
	double share[OFFLOADABLES];

	for (int i = 0; i < OFFLOADABLES; i++)
		share[i] = set >> i & 1 ? 1 : i == thing ? (double)steps / OFFLOAD_STEPS : 0;
	return offload_of(share);
}

struct offload offload_whole(unsigned set)
{
	return offload_set(set, OFFLOADABLES, 0);
}

/* Bytes that leave the device for each that goes: activations are fragmented. */
static double weight_of(const struct cost_problem *p, int thing)
{
	return thing == OFFLOAD_ACTIVATIONS ? p->constants.fragmentation : 1;
}

/* Bytes of the device that the whole thing on the host wins. */
static double won(const struct cost_problem *p, const struct offload_room *room, int thing)
{
	return weight_of(p, thing) * room->bytes[thing] -
	       p->constants.fragmentation * fmin(room->bytes[thing], room->buffers[thing]);
}

/* What each stage needs with nothing on the host, in x->totals, and what it could move. */
static void list_rooms(struct weighing *w, const struct memory_model *memory, const struct body *b, int64_t m,
                       struct sets *t)
{
	*t = (struct sets){0};
	w->x->effort += b->runs * (b->cut->steps + 1); /* list_sets() takes a step a run */
	for (int64_t r = 0; r < b->runs; r++) {
		const struct stage_run *run = &runs_of(w->x, b)[r];
		struct memory_parts kept = stage_memory(&w->x->r->problem, memory, &w->s, run, m);
		double all = memory_total(&kept);

		w->x->rooms[r] = stage_offload_room(memory, &w->s, run, &kept);
		w->x->totals[r] = all;
		if (all <= t->device[0])
			continue;
		t->device[0] = all;
		t->fullest = offload_load_of(&w->s, memory, run, &kept);
	}
}

/* Of each set: what there is without, and what each of its things adds. */
static void add_up(double none, const double each[OFFLOADABLES], double out[SETS])
{
	out[0] = none;
	for (unsigned set = 1; set < SETS; set++)
		out[set] = out[set & (set - 1)] + each[__builtin_ctz(set)];
}

/* A stage's bytes on the device with each set of things on the host. */
static void device_sets(const struct cost_problem *p, double none, const struct offload_room *room,
                        double out[SETS])
{
	double each[OFFLOADABLES];

	for (int i = 0; i < OFFLOADABLES; i++)
		each[i] = -won(p, room, i);
	add_up(none, each, out);
}

static void list_sets(const struct weighing *w, const struct body *b, struct sets *t)
{
	const struct cost_problem *p = &w->x->r->problem;

	for (int64_t r = 0; r < b->runs; r++) {
		const struct offload_room *room = &w->x->rooms[r];
		double device[SETS], host[SETS];

		device_sets(p, w->x->totals[r], room, device);
		add_up(0, room->bytes, host);
		for (unsigned set = 1; set < SETS; set++) {
			t->device[set] = fmax(t->device[set], device[set]);
			t->host[set] = fmax(t->host[set], host[set]);
		}
	}
	for (unsigned set = 0; set < SETS; set++)
		t->host[set] =
		    offload_node_bytes(&p->cluster, &w->s, &(struct memory_parts){.host = t->host[set]});
}

/* Sets with which, whole on the host, the stage fits. */
static unsigned sets_that_fit(const struct weighing *w, const struct memory_model *memory,
                              const struct stage_run *run, int64_t m)
{
	const struct cost_problem *p = &w->x->r->problem;
	const struct memory_parts kept = stage_memory(p, memory, &w->s, run, m);
	const struct offload_room room = stage_offload_room(memory, &w->s, run, &kept);
	double device[SETS], most = (double)p->memory_bytes * (1 + ROUNDING);
	unsigned fits = 0;

	device_sets(p, memory_total(&kept), &room, device);
	for (unsigned set = 0; set < SETS; set++)
		fits |= (unsigned)(device[set] <= most) << set;
	return fits;
}

unsigned offload_may_fit(const struct weighing *w, const struct memory_model *memory,
                         const struct stage_run *runs, int64_t count, int64_t m)
{
	unsigned fits = (1U << SETS) - 1;

	for (int64_t r = 0; r < count && fits; r++) {
		struct stage_run none = runs[r], all = runs[r];

		memcpy(none.kept, none.layers, sizeof(none.kept));
		memset(all.kept, 0, sizeof(all.kept));
		none.each = 0;
		all.each = INT64_MAX;
		fits &= sets_that_fit(w, memory, &all, m) | sets_that_fit(w, memory, &none, m);
	}
	return fits;
}

/* The least share, in steps, with which every stage fits, from above the buffers on, which are full when
 * anything is won. */
static int64_t least_steps(const struct weighing *w, const struct body *b, unsigned set, int thing)
{
	const struct cost_problem *p = &w->x->r->problem;
	double frag = p->constants.fragmentation, most = 0;

	for (int64_t r = 0; r < b->runs; r++) {
		const struct offload_room *room = &w->x->rooms[r];
		double over = w->x->totals[r] - (double)p->memory_bytes;

		for (int i = 0; i < OFFLOADABLES; i++)
			over -= set >> i & 1 ? won(p, room, i) : 0;
		if (over > 0)
			most = fmax(most, (over + frag * room->buffers[thing]) /
			                      (weight_of(p, thing) * room->bytes[thing]));
	}
	return (int64_t)fmin(OFFLOAD_STEPS, fmax(1, ceil(OFFLOAD_STEPS * most - ROUNDING)));
}

struct offload_load offload_load_of(const struct strategy *s, const struct memory_model *memory,
                                    const struct stage_run *run, const struct memory_parts *kept)
{
	/* Where the rest is recomputed, how much is stored is not known here. */
	double stored = s->recompute_fit ? 0 : stage_stored(memory, run);

	return (struct offload_load){kept->weights, kept->gradients, stored,
	                             kept->optimizer / OFFLOAD_STATE_BYTES};
}

double offload_least(const struct weighing *w, const struct offload_load *load, int64_t m, double base)
{
	const struct cost_problem *p = &w->x->r->problem;
	struct offload_passes passes = offload_pass_seconds(p, &w->s, load);
	double update = offload_update_seconds(p, &w->s, load, 0);

	return fmax(base, search_outside(w->x, &w->s, (double)m * (passes.forward + passes.backward))) +
	       search_outside(w->x, &w->s, update) - search_outside(w->x, &w->s, 0);
}

unsigned offload_quick_enough(const struct weighing *w, const struct offload_load *load, int64_t m)
{
	struct search *x = w->x;
	struct strategy s = w->s;
	unsigned set = x->away & OPTIMIZER; /* does not move in the passes */

	for (int i = 0; i < OFFLOADABLES; i++) {
		struct offload_passes passes;

		if (!(x->away >> i & 1) || i == OFFLOAD_OPTIMIZER)
			continue;
		s.offload = offload_whole(1U << i);
		passes = offload_pass_seconds(&x->r->problem, &s, load);
		if (search_wants(x, search_outside(x, &s, (double)m * (passes.forward + passes.backward)),
		                 w->least))
			set |= 1U << i;
	}
	return set;
}

/* Takes in the body with the set on the host, and of the thing as little as fits (of none beyond the last).
 */
static void add_offload(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m,
                        const struct sets *t, unsigned set, int thing)
{
	struct search *x = w->x;
	int64_t steps = thing < OFFLOADABLES ? least_steps(w, b, set, thing) : OFFLOAD_STEPS;
	unsigned whole = thing < OFFLOADABLES ? set | 1U << thing : set;

	b->offload = offload_set(set, thing, steps);
	shape_of(&w->s, b);
	x->effort++;
	b->least = offload_least(w, &t->fullest, m, w->base);
	if (!search_wants(x, b->least, t->device[whole])) {
		reject(w, REJECT_SLOWER, w->all_placements, b->least);
		return;
	}
	for (; !add_body(w, memory, b, m, b->least); steps++) {
		if (steps >= OFFLOAD_STEPS || b->memory <= (double)x->r->problem.memory_bytes)
			return;
		b->offload = offload_set(set, thing, steps + 1);
	}
}

static double host_of(const struct weighing *w, const struct body *b, unsigned set, int thing, int64_t steps)
{
	double most = 0;

	for (int64_t r = 0; r < b->runs; r++) {
		double bytes = (double)steps / OFFLOAD_STEPS * w->x->rooms[r].bytes[thing];

		for (int i = 0; i < OFFLOADABLES; i++)
			bytes += set >> i & 1 ? w->x->rooms[r].bytes[i] : 0;
		most = fmax(most, bytes);
	}
	return offload_node_bytes(&w->x->r->problem.cluster, &w->s, &(struct memory_parts){.host = most});
}

/* The most of the thing, in steps, that the host can hold beside the set, which it can. */
static int64_t most_steps(const struct weighing *w, const struct body *b, unsigned set, int thing)
{
	int64_t holds = 0, above = OFFLOAD_STEPS + 1;

	w->x->effort += b->runs;
	while (above - holds > 1) {
		int64_t middle = (holds + above) / 2;

		if (host_of(w, b, set, thing, middle) <= w->x->host_bytes)
			holds = middle;
		else
			above = middle;
	}
	return holds;
}

/* The leanest that the host can hold, while nothing fits. */
static void note_leanest(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m,
                         const struct sets *t)
{
	struct search *x = w->x;

	for (unsigned set = 1; set < SETS; set++) {
		if ((set & ~x->away) || t->device[set] >= x->out->least_memory)
			continue;
		for (int i = 0; i < OFFLOADABLES; i++) {
			unsigned rest = set & ~(1U << i);

			if (rest == set || t->host[rest] > x->host_bytes ||
			    (t->host[set] > x->host_bytes && !partly(rest, i)))
				continue;
			b->offload = offload_set(rest, i, most_steps(w, b, rest, i));
			note_body(w, memory, b, m);
		}
	}
}

unsigned add_offloads(struct weighing *w, const struct memory_model *memory, struct body b, int64_t m)
{
	struct search *x = w->x;
	double most = (double)x->r->problem.memory_bytes, lowest = INFINITY;
	unsigned fits = 0, whole;
	struct sets t;

	shape_of(&w->s, &b);
	list_rooms(w, memory, &b, m, &t);
	x->batch_fits = x->batch_fits || t.device[0] <= most;
	if (t.device[0] <= most)
		return 1;
	list_sets(w, &b, &t);
	for (unsigned set = 1; set < SETS; set++) {
		if (set & ~x->away)
			continue;
		lowest = fmin(lowest, t.device[set]);
		if (t.device[set] <= most * (1 - ROUNDING))
			fits |= 1U << set;
	}
	x->batch_fits = x->batch_fits || lowest <= most * (1 + ROUNDING);
	if (!x->any_fits && !x->memory_only)
		note_leanest(w, memory, &b, m, &t);
	if (lowest > most * (1 + ROUNDING) || !search_wants(x, w->base, lowest))
		return fits;
	whole = offload_quick_enough(w, &t.fullest, m);
	for (unsigned set = 0; set < SETS && !(x->memory_only && x->body_count > 0); set++) {
		if (set & ~whole)
			continue;
		if (goes_together(set) && t.device[set] <= most * (1 + ROUNDING))
			add_offload(w, memory, &b, m, &t, set, OFFLOADABLES);
		for (int i = 0; t.device[set] > most * (1 - ROUNDING) && i < OFFLOADABLES; i++) {
			unsigned more = set | 1U << i;

			if (more != set && !(more & ~x->away) && partly(set, i) &&
			    t.device[more] <= most * (1 + ROUNDING))
				add_offload(w, memory, &b, m, &t, set, i);
		}
	}
	return fits;
}
