#include "profiler/layers/cut.h"

#include <stdlib.h>

#include "base/grow.h"
#include "profiler/layers/cut_parts.h"

/* Stretches of fewer operators than this share of the longest are no passes: what lies side by side of them
 * is one, of the phase of most. Frameworks do not mark all that autograd runs, and hooks run in the middle of
 * it. */
#define STRETCH_LEAST (1.0 / 16)

static void cutter_clear(struct cutter *c)
{
	free(c->items);
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
	c->ops = malloc(n * sizeof(*c->ops));
	c->tokens = malloc(n * sizeof(*c->tokens));
	c->sorted[0] = malloc(n * sizeof(*c->tokens));
	c->sorted[1] = malloc(n * sizeof(*c->tokens));
	c->before = malloc(n * sizeof(*c->before));
	return c->ops && c->tokens && c->sorted[0] && c->sorted[1] && c->before ? SB_OK : SB_ENOMEM;
}

static int add_stretch(struct cutter *c, size_t first, size_t end, uint8_t phase)
{
	if (sb_grow(&c->items, c->count, sizeof(*c->items)) != SB_OK)
		return SB_ENOMEM;
	c->items[c->count++] = (struct stretch){first, end, phase};
	return SB_OK;
}

/* Collectives have the phase of what is around them: their launches may come from a thread of their own. */
static int by_phase(struct cutter *c, size_t first, size_t end)
{
	const struct layer_op *ops = c->o->items;
	size_t from = first;
	int phase = -1, rc = SB_OK;

	for (size_t i = first; i < end && rc == SB_OK; i++) {
		if (ops[i].kind != LAYER_COMPUTE || ops[i].phase == phase)
			continue;
		if (phase >= 0)
			rc = add_stretch(c, from, i, (uint8_t)phase);
		from = phase >= 0 ? i : from;
		phase = ops[i].phase;
	}
	return rc == SB_OK && phase >= 0 ? add_stretch(c, from, end, (uint8_t)phase) : rc;
}

static size_t length_of(const struct stretch *s)
{
	return s->end - s->first;
}

/* Joins the brief stretches from `from` on that lie side by side. Returns where they end. */
static size_t join_brief(const struct cutter *c, size_t from, double brief, struct stretch *out)
{
	size_t of[PHASE_OPTIMIZER] = {0}, to = from;

	while (to < c->count && c->items[to].phase != PHASE_OPTIMIZER &&
	       (double)length_of(&c->items[to]) < brief) {
		of[c->items[to].phase] += length_of(&c->items[to]);
		to++;
	}
	if (to == from) {
		*out = c->items[from];
		return from + 1;
	}
	*out = (struct stretch){c->items[from].first, c->items[to - 1].end, PHASE_UNKNOWN};
	for (uint8_t k = PHASE_UNKNOWN; k < PHASE_OPTIMIZER; k++)
		if (of[k] > of[out->phase])
			out->phase = k;
	return to;
}

static void smooth(struct cutter *c)
{
	size_t longest = 0, kept = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].phase != PHASE_OPTIMIZER && length_of(&c->items[i]) > longest)
			longest = length_of(&c->items[i]);
	for (size_t i = 0; i < c->count;) {
		struct stretch x, *last = kept > 0 ? &c->items[kept - 1] : NULL;

		i = join_brief(c, i, STRETCH_LEAST * (double)longest, &x);
		if (last && x.phase == last->phase)
			last->end = x.end;
		else
			c->items[kept++] = x;
	}
	c->count = kept;
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

static int cut_step(struct cutter *c, size_t first, size_t end)
{
	const struct layer_op *ops = c->o->items;
	int rc;

	c->count = 0;
	rc = by_phase(c, first, end);
	smooth(c);
	for (size_t i = 0; i < c->count && rc == SB_OK; i++) {
		struct stretch s = c->items[i];

		for (size_t k = s.first; k < c->items[i].end && rc == SB_OK && c->exchanges_part; k++) {
			if (ops[k].kind != LAYER_EXCHANGE)
				continue;
			rc = cut_stretch(c, &(struct stretch){s.first, k, s.phase});
			s.first = k + 1;
		}
		if (rc == SB_OK)
			rc = cut_stretch(c, &s);
	}
	return rc;
}

static int cut_steps(struct cutter *c)
{
	const struct layer_op *ops = c->o->items;
	size_t end;
	int rc = SB_OK;

	for (size_t first = 0; first < c->o->count && rc == SB_OK; first = end) {
		end = first;
		while (end < c->o->count && ops[end].step == ops[first].step)
			end++;
		rc = cut_step(c, first, end);
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
		rc = cut_steps(&c);
	/* exchanges inside of layers, as a ring of attention has them, leave no layer whole */
	if (rc == SB_OK && out->pass_count == 0) {
		c.exchanges_part = false;
		rc = cut_steps(&c);
	}
	return rc;
}

void layer_cut_free(struct layer_cut *c)
{
	free(c->ranges);
	free(c->passes);
	*c = (struct layer_cut){0};
}
