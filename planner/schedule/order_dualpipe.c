#include "planner/schedule/orders.h"

/* The public step counts of DualPipe and DualPipeV (schedules.md, "Program orders"). "Chunk 1" is the way
 * back of a V, or the other direction: there the devices of the second half run the lists of the first with
 * the directions changed, and each direction has half of the micro-batches. */
struct dual {
	struct schedule_list *l;
	int64_t stage[2], base[2]; /* of each chunk; base: its first micro-batch */
	int64_t forward[2], backward[2];
	size_t weighed; /* split backwards before this place of the list have had their weights */
};

static void forward(struct dual *d, int chunk)
{
	list_add(d->l, OP_FORWARD, d->stage[chunk], d->base[chunk] + d->forward[chunk]++, 0);
}

static void backward(struct dual *d, int chunk, bool split)
{
	list_add(d->l, split ? OP_BACKWARD_INPUT : OP_BACKWARD, d->stage[chunk],
	         d->base[chunk] + d->backward[chunk]++, 0);
}

/* Of the split backward that has waited longest. */
static void weight(struct dual *d)
{
	const struct schedule_op *o;

	while (d->l->ops[d->weighed].kind != OP_BACKWARD_INPUT)
		d->weighed++;
	o = &d->l->ops[d->weighed++];
	list_add(d->l, OP_WEIGHT, o->stage, o->micro_batch, 0);
}

static void pair(struct dual *d, int chunk)
{
	int other = 1 - chunk;

	list_add_pair(d->l, d->stage[chunk], d->base[chunk] + d->forward[chunk]++, d->stage[other],
	              d->base[other] + d->backward[other]++);
}

/* r: the device's place on its way; last: the place where the way ends; m: micro-batches a direction. */
static void fill(struct dual *d, int64_t r, int64_t last)
{
	for (int64_t i = 0; i < 2 * (last - r); i++)
		forward(d, 0);
	for (int64_t i = 0; i <= r; i++) {
		forward(d, 0);
		forward(d, 1);
	}
	for (int64_t i = 0; i < last - r; i++) {
		backward(d, 1, true);
		weight(d);
		forward(d, 1);
	}
}

static void steady(struct dual *d, int64_t r, int64_t last, int64_t m)
{
	for (int64_t i = 0; i < m - 2 * (last + 1) + r + 1; i++) {
		/* the last device has no backward yet to run beside its forward */
		if (i == 0 && r == last) {
			forward(d, 0);
			backward(d, 1, false);
		} else {
			pair(d, 0);
		}
		pair(d, 1);
	}
	for (int64_t i = 0; i < last - r; i++) {
		backward(d, 1, false);
		pair(d, 1);
	}
}

/* From the middle on the weights wait, so that the device before gets its input's gradient sooner. */
static void drain(struct dual *d, int64_t r, int64_t last)
{
	bool split = false;

	for (int64_t i = 0; i <= r; i++) {
		bool middle = i == (r + 1) / 2;

		split = split || (middle && r % 2 == 1);
		backward(d, 1, split);
		split = split || (middle && r % 2 == 0);
		backward(d, 0, split);
	}
	for (int64_t i = 0; i < last - r; i++) {
		weight(d);
		backward(d, 0, true);
	}
	for (int64_t i = 0; i <= r; i++)
		weight(d);
}

void order_dualpipe(struct schedule_list *l)
{
	const struct schedule_shape *s = l->shape;
	bool two_way = schedule_facts(s->kind)->two_way;
	int64_t places = two_way ? s->devices / 2 : s->devices;
	bool turned = l->device >= places;
	int64_t r = turned ? s->devices - 1 - l->device : l->device;
	int64_t m = two_way ? s->micro_batches / 2 : s->micro_batches;
	struct dual d = {.l = l};

	for (int chunk = 0; chunk < 2; chunk++) {
		/* of two directions the one that begins on this half comes first */
		int way = turned ? 1 - chunk : chunk;

		d.stage[chunk] = schedule_stage(s, l->device, way);
		d.base[chunk] = two_way && way == 1 ? m : 0;
	}
	fill(&d, r, places - 1);
	steady(&d, r, places - 1, m);
	drain(&d, r, places - 1);
}
