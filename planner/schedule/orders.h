#ifndef SB_PLANNER_SCHEDULE_ORDERS_H
#define SB_PLANNER_SCHEDULE_ORDERS_H
#include "planner/schedule/schedule.h"

/* Inside planner/schedule only: the list of one device while it is written. There is room for all of its
 * operations, so that adding one cannot fail. */
struct schedule_list {
	const struct schedule_shape *shape;
	int64_t device;
	struct schedule_op *ops;
	size_t count;
};

void list_add(struct schedule_list *l, enum schedule_op_kind kind, int64_t stage, int64_t micro_batch,
              int64_t slice);
void list_add_pair(struct schedule_list *l, int64_t stage, int64_t micro_batch, int64_t other_stage,
                   int64_t other_micro_batch);

/* `warm` forwards, then forwards and backwards in turn, then the rest of the backwards; the i-th of each is
 * the schedule's own (orders.c). GPipe, 1F1B, interleaved and sliced schedules. */
void order_in_turn(struct schedule_list *l);
/* ZB-H1, ZB-H2 (order_zero_bubble.c). */
void order_zb_h(struct schedule_list *l);
/* ZB-V. */
void order_zb_v(struct schedule_list *l);
/* DualPipe and DualPipeV (order_dualpipe.c). */
void order_dualpipe(struct schedule_list *l);
#endif
