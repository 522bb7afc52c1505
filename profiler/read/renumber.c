#include <stdlib.h>

#include "profiler/read/merge.h"

/* The new numbers of a capture's texts. */
struct renumber {
	const struct sb_strings *from;
	struct sb_strings *to;
	uint32_t *map; /* old id to new, 0 = none yet (and "" stays 0) */
	size_t count;
	int rc;
};

static void take(void *self, uint32_t *id)
{
	struct renumber *r = self;
	const char *text;
	size_t len;

	if (*id == 0 || *id >= r->count || r->rc != SB_OK)
		return;
	if (r->map[*id] == 0) {
		text = sb_strings_get(r->from, *id, &len);
		r->rc = sb_strings_add(r->to, text, len, &r->map[*id]);
	}
	*id = r->map[*id];
}

static void each_of_trace(struct trace *t, text_visitor visit, void *self)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		visit(self, &t->lanes[i].process);
		visit(self, &t->lanes[i].thread);
	}
	for (size_t i = 0; i < t->count; i++)
		visit(self, &t->name[i]);
	for (size_t i = 0; i < t->detail_count; i++) {
		visit(self, &t->details[i].type);
		visit(self, &t->details[i].group);
		visit(self, &t->details[i].ranks);
	}
}

static void each_of_kernel(struct kernel *k, text_visitor visit, void *self)
{
	uint32_t *const ids[] = {&k->name,         &k->type,           &k->core,          &k->state,
	                         &k->input_shapes, &k->input_types,    &k->input_formats, &k->output_shapes,
	                         &k->output_types, &k->output_formats, &k->pipe};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		visit(self, ids[i]);
}

void capture_each_text(struct capture *c, text_visitor visit, void *self)
{
	each_of_trace(&c->trace, visit, self);
	for (size_t i = 0; i < c->kernel_count; i++)
		each_of_kernel(&c->kernels[i], visit, self);
	for (size_t i = 0; i < c->communication_count; i++) {
		visit(self, &c->communications[i].name);
		visit(self, &c->communications[i].group);
	}
	for (size_t i = 0; i < c->api_count; i++) {
		visit(self, &c->apis[i].level);
		visit(self, &c->apis[i].name);
	}
	for (size_t i = 0; i < c->op_statistic_count; i++) {
		visit(self, &c->op_statistics[i].name);
		visit(self, &c->op_statistics[i].type);
		visit(self, &c->op_statistics[i].core);
	}
	for (size_t i = 0; i < c->queue_count; i++) {
		visit(self, &c->queues[i].name);
		visit(self, &c->queues[i].file);
	}
	for (size_t i = 0; i < c->group_use_count; i++) {
		visit(self, &c->group_uses[i].group);
		visit(self, &c->group_uses[i].use);
	}
	visit(self, &c->forward_start);
	visit(self, &c->backward_end);
}

int capture_move_texts(struct capture *c, struct sb_strings *to)
{
	struct renumber r = {.from = c->trace.strings, .to = to, .count = sb_strings_count(c->trace.strings)};

	r.map = calloc(r.count, sizeof(*r.map));
	if (!r.map)
		return SB_ENOMEM;
	capture_each_text(c, take, &r);
	free(r.map);
	return r.rc;
}

int capture_renumber(struct capture *c)
{
	SB_STRINGS_AUTO to = NULL;
	struct sb_strings *old = c->trace.strings;
	int rc = sb_strings_new(&to);

	if (rc == SB_OK)
		rc = capture_move_texts(c, to);
	if (rc != SB_OK)
		return rc;
	c->trace.strings = to;
	to = old;
	return SB_OK;
}
