#include "planner/schedule/orders.h"

/* The weights' gradients run `delay` micro-batches behind: they fill what would be the bubble of the
 * cool-down (schedules.md, "Program orders"). */
void order_zb_h(struct schedule_list *l)
{
	const struct schedule_shape *s = l->shape;
	int64_t reach = s->kind == SCHEDULE_ZB_H1 ? 1 : 2, m = s->micro_batches;
	int64_t warm = reach * (s->devices - 1 - l->device), delay = reach * l->device;
	int64_t forward = 0, weight = 0;

	for (; forward < warm && forward < m; forward++)
		list_add(l, OP_FORWARD, l->device, forward, 0);
	for (int64_t backward = 0; backward < m; backward++) {
		if (forward < m)
			list_add(l, OP_FORWARD, l->device, forward++, 0);
		list_add(l, OP_BACKWARD_INPUT, l->device, backward, 0);
		if (backward - weight >= delay)
			list_add(l, OP_WEIGHT, l->device, weight++, 0);
	}
	while (weight < m)
		list_add(l, OP_WEIGHT, l->device, weight++, 0);
}

/* How far each chunk has come. */
struct vee {
	struct schedule_list *l;
	int64_t forward[2], backward[2], weight[2];
};

static void forward(struct vee *v, int chunk)
{
	list_add(v->l, OP_FORWARD, schedule_stage(v->l->shape, v->l->device, chunk), v->forward[chunk]++, 0);
}

static void backward(struct vee *v, int chunk)
{
	list_add(v->l, OP_BACKWARD_INPUT, schedule_stage(v->l->shape, v->l->device, chunk),
	         v->backward[chunk]++, 0);
}

static void weight(struct vee *v, int chunk)
{
	list_add(v->l, OP_WEIGHT, schedule_stage(v->l->shape, v->l->device, chunk), v->weight[chunk]++, 0);
}

static void turn_back(struct vee *v)
{
	forward(v, 1);
	backward(v, 1);
	weight(v, 1);
}

void order_zb_v(struct schedule_list *l)
{
	struct vee v = {.l = l};
	int64_t r = l->device, left = l->shape->devices - r, m = l->shape->micro_batches;

	for (int64_t i = 0; i < 2 * left - 1; i++)
		forward(&v, 0);
	for (int64_t i = 0; i < r; i++) {
		forward(&v, 1);
		forward(&v, 0);
	}
	for (int64_t i = 0; i < left; i++)
		turn_back(&v);
	while (v.forward[1] < v.forward[0] || v.forward[0] < m) {
		if (v.forward[0] < m)
			forward(&v, 0);
		backward(&v, 0);
		weight(&v, 0);
		turn_back(&v);
	}
	for (int64_t i = 0; i < r; i++) {
		backward(&v, 0);
		backward(&v, 1);
	}
	for (int64_t i = 0; i < left; i++) {
		backward(&v, 0);
		weight(&v, 0);
	}
	while (v.weight[1] < m)
		weight(&v, 1);
	while (v.weight[0] < m)
		weight(&v, 0);
}
