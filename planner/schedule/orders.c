#include "planner/schedule/orders.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The k-th forward (or backward) of an interleaved schedule: groups of as many micro-batches as there are
 * devices take turns on the chunks; the last group may be short. */
static void add_interleaved(struct schedule_list *l, int64_t k, bool forward)
{
	const struct schedule_shape *s = l->shape;
	int64_t turn = s->devices * s->chunks, group = k / turn, in = k % turn;
	int64_t size = least(s->micro_batches - group * s->devices, s->devices);
	int64_t chunk = forward ? in / size : s->chunks - 1 - in / size;

	list_add(l, forward ? OP_FORWARD : OP_BACKWARD, schedule_stage(l->shape, l->device, chunk),
	         group * s->devices + in % size, 0);
}

/* The backward takes the slices of a sequence from the last to the first: each needs what the later ones give
 * to its keys and values. */
static void add_sliced(struct schedule_list *l, int64_t k, bool forward)
{
	int64_t slices = l->shape->slices, slice = k % slices;

	if (!forward && schedule_facts(l->shape->kind)->recomputes)
		list_add(l, OP_RECOMPUTE, l->device, k / slices, slices - 1 - slice);
	list_add(l, forward ? OP_FORWARD : OP_BACKWARD, l->device, k / slices,
	         forward ? slice : slices - 1 - slice);
}

static void add(struct schedule_list *l, int64_t k, bool forward)
{
	if (l->shape->chunks > 1)
		add_interleaved(l, k, forward);
	else
		add_sliced(l, k, forward);
}

/* Forwards before the first backward (schedules.md, "Program orders"; eager: systems.md 3.6). */
static int64_t warm_up(const struct schedule_shape *s, int64_t device, int64_t all)
{
	int64_t behind = s->devices - 1 - device;

	switch (s->kind) {
	case SCHEDULE_1F1B:
	case SCHEDULE_1F1B_EARLY_RECOMPUTE: return behind;
	case SCHEDULE_EAGER_1F1B: return 2 * behind;
	case SCHEDULE_INTERLEAVED: return (s->chunks - 1) * s->devices + 2 * behind;
	case SCHEDULE_INTERLEAVED_LESS_MEMORY: return (s->chunks - 1) * s->devices + behind;
	case SCHEDULE_SEQ_1F1B: return behind - 1 + s->slices;
	default: return all;
	}
}

void order_in_turn(struct schedule_list *l)
{
	const struct schedule_shape *s = l->shape;
	int64_t all = s->micro_batches * s->chunks * s->slices, warm = least(warm_up(s, l->device, all), all);

	for (int64_t i = 0; i < warm; i++)
		add(l, i, true);
	for (int64_t i = warm; i < all; i++) {
		add(l, i, true);
		add(l, i - warm, false);
	}
	for (int64_t i = all - warm; i < all; i++)
		add(l, i, false);
}
