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

static void take(struct renumber *r, uint32_t *id)
{
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

static void take_trace(struct renumber *r, struct trace *t)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		take(r, &t->lanes[i].process);
		take(r, &t->lanes[i].thread);
	}
	for (size_t i = 0; i < t->count; i++)
		take(r, &t->name[i]);
	for (size_t i = 0; i < t->detail_count; i++) {
		take(r, &t->details[i].type);
		take(r, &t->details[i].group);
		take(r, &t->details[i].ranks);
	}
}

static void take_kernel(struct renumber *r, struct kernel *k)
{
	uint32_t *const ids[] = {&k->name,         &k->type,           &k->core,          &k->state,
	                         &k->input_shapes, &k->input_types,    &k->input_formats, &k->output_shapes,
	                         &k->output_types, &k->output_formats, &k->pipe};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		take(r, ids[i]);
}

/* All texts of a capture: lanes, events and details of the trace, then the tables. The one place that knows
 * where they are. */
static void take_all(struct renumber *r, struct capture *c)
{
	take_trace(r, &c->trace);
	for (size_t i = 0; i < c->kernel_count; i++)
		take_kernel(r, &c->kernels[i]);
	for (size_t i = 0; i < c->communication_count; i++) {
		take(r, &c->communications[i].name);
		take(r, &c->communications[i].group);
	}
	for (size_t i = 0; i < c->api_count; i++) {
		take(r, &c->apis[i].level);
		take(r, &c->apis[i].name);
	}
	for (size_t i = 0; i < c->op_statistic_count; i++) {
		take(r, &c->op_statistics[i].name);
		take(r, &c->op_statistics[i].type);
		take(r, &c->op_statistics[i].core);
	}
	for (size_t i = 0; i < c->queue_count; i++) {
		take(r, &c->queues[i].name);
		take(r, &c->queues[i].file);
	}
	for (size_t i = 0; i < c->group_use_count; i++) {
		take(r, &c->group_uses[i].group);
		take(r, &c->group_uses[i].use);
	}
	for (size_t i = 0; i < c->environment_count; i++) {
		take(r, &c->environment[i].name);
		take(r, &c->environment[i].value);
	}
	for (size_t i = 0; i < c->fill_count; i++)
		take(r, &c->fills[i].name);
	for (size_t i = 0; i < c->memory_count; i++)
		take(r, &c->memories[i].component);
	for (size_t i = 0; i < c->allocation_count; i++)
		take(r, &c->allocations[i].name);
	take(r, &c->forward_start);
	take(r, &c->backward_end);
}

int capture_move_texts(struct capture *c, struct sb_strings *to)
{
	struct renumber r = {.from = c->trace.strings, .to = to, .count = sb_strings_count(c->trace.strings)};

	r.map = calloc(r.count, sizeof(*r.map));
	if (!r.map)
		return SB_ENOMEM;
	take_all(&r, c);
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
