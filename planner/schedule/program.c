#include <stdlib.h>

#include "planner/schedule/orders.h"

void list_add(struct schedule_list *l, enum schedule_op_kind kind, int64_t stage, int64_t micro_batch,
              int64_t slice)
{
	l->ops[l->count++] = (struct schedule_op){.kind = (uint8_t)kind,
	                                          .stage = (uint16_t)stage,
	                                          .micro_batch = (uint32_t)micro_batch,
	                                          .slice = (uint16_t)slice};
}

void list_add_pair(struct schedule_list *l, int64_t stage, int64_t micro_batch, int64_t other_stage,
                   int64_t other_micro_batch)
{
	l->ops[l->count++] = (struct schedule_op){.kind = OP_PAIR,
	                                          .stage = (uint16_t)stage,
	                                          .micro_batch = (uint32_t)micro_batch,
	                                          .other_stage = (uint16_t)other_stage,
	                                          .other_micro_batch = (uint32_t)other_micro_batch};
}

static void (*order_of(enum schedule_kind kind))(struct schedule_list *l)
{
	switch (kind) {
	case SCHEDULE_ZB_H1:
	case SCHEDULE_ZB_H2: return order_zb_h;
	case SCHEDULE_ZB_V: return order_zb_v;
	case SCHEDULE_DUALPIPE:
	case SCHEDULE_DUALPIPE_V: return order_dualpipe;
	default: return order_in_turn;
	}
}

int schedule_program_build(const struct schedule_shape *s, struct schedule_program *out, struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO p = {.shape = *s};
	int rc = schedule_check(s, err);

	if (rc != SB_OK)
		return rc;
	p.ops = malloc(((size_t)schedule_operations(s) + 1) * sizeof(*p.ops));
	p.first = malloc(((size_t)s->devices + 1) * sizeof(*p.first));
	if (!p.ops || !p.first)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees them */
		return sb_no_memory(err);
	p.first[0] = 0;
	for (int64_t d = 0; d < s->devices; d++) {
		struct schedule_list l = {&p.shape, d, p.ops + p.first[d], 0};

		order_of(s->kind)(&l);
		p.first[d + 1] = p.first[d] + l.count;
	}
	*out = p;
	p = (struct schedule_program){0};
	return SB_OK;
}

void schedule_program_free(struct schedule_program *p)
{
	free(p->ops);
	free(p->first);
	*p = (struct schedule_program){0};
}
