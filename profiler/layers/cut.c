#include "profiler/layers/cut.h"

#include <stdlib.h>

#include "profiler/layers/cut_parts.h"

static void cutter_clear(struct cutter *c)
{
	free(c->ops);
	free(c->tokens);
	free(c->sorted[0]);
	free(c->sorted[1]);
	free(c->before);
}

static int cutter_open(struct cutter *c)
{
	size_t n = c->o->count + 1;

	for (size_t i = 0; i < c->o->count; i++) {
		const struct layer_op *op = &c->o->items[i];

		c->gradients |= op->kind == LAYER_COMPUTE && op->gradient;
		c->backward |= op->phase == PHASE_BACKWARD;
	}
	c->backward |= c->gradients;
	c->all = layer_sum(c->seconds, 0, c->o->count);
	c->ops = malloc(n * sizeof(*c->ops));
	c->tokens = malloc(n * sizeof(*c->tokens));
	c->sorted[0] = malloc(n * sizeof(*c->tokens));
	c->sorted[1] = malloc(n * sizeof(*c->tokens));
	c->before = malloc(n * sizeof(*c->before));
	return c->ops && c->tokens && c->sorted[0] && c->sorted[1] && c->before ? SB_OK : SB_ENOMEM;
}

static bool is_scoped(const struct layer_ops *o, const struct stretch *s)
{
	uint64_t first = 0;

	for (size_t i = s->first; i < s->end; i++) {
		if (o->items[i].scope == 0)
			continue;
		if (first != 0 && o->items[i].scope != first)
			return true;
		first = o->items[i].scope;
	}
	return false;
}

static int cut_stretch(struct cutter *c, const struct stretch *s)
{
	if (s->phase == PHASE_OPTIMIZER || s->first >= s->end)
		return SB_OK;
	if (s->phase == PHASE_UNKNOWN || !is_scoped(c->o, s))
		return cut_by_repetition(c, s);
	c->out->named = true;
	return cut_by_name(c, s);
}

/* The pieces of a stretch between exchanges. */
static int cut_pieces(struct cutter *c, struct stretch s)
{
	const struct layer_op *ops = c->o->items;
	size_t end = s.end;
	int rc = SB_OK;

	for (size_t k = s.first; k < end && rc == SB_OK && c->exchanges_part; k++) {
		if (ops[k].kind != LAYER_EXCHANGE)
			continue;
		rc = cut_stretch(c, &(struct stretch){s.first, k, s.phase, s.taken_over, true});
		s.first = k + 1;
		s.taken_over = true;
	}
	return rc == SB_OK ? cut_stretch(c, &s) : rc;
}

/* Stretches of one phase in one step. */
static int cut_all(struct cutter *c)
{
	const struct layer_op *ops = c->o->items;
	size_t end;
	int rc = SB_OK;

	for (size_t first = 0; first < c->o->count && rc == SB_OK; first = end) {
		end = first;
		while (end < c->o->count && ops[end].step == ops[first].step &&
		       ops[end].phase == ops[first].phase)
			end++;
		rc = cut_pieces(c, (struct stretch){.first = first, .end = end, .phase = ops[first].phase});
	}
	return rc;
}

int layer_cut_find(const struct layer_ops *o, const double *seconds, struct layer_cut *out)
{
	__attribute__((cleanup(cutter_clear))) struct cutter c = {
	    .o = o, .seconds = seconds, .out = out, .exchanges_part = true};
	int rc = cutter_open(&c);

	*out = (struct layer_cut){0};
	if (rc == SB_OK)
		rc = cut_all(&c);
	/* exchanges inside of layers, as a ring of attention has them, leave no layer whole */
	if (rc == SB_OK && out->pass_count == 0) {
		c.exchanges_part = false;
		rc = cut_all(&c);
	}
	return rc;
}

void layer_cut_free(struct layer_cut *c)
{
	free(c->ranges);
	free(c->passes);
	*c = (struct layer_cut){0};
}
