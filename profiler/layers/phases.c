#include <stdlib.h>

#include "base/grow.h"
#include "profiler/layers/order.h"

/* What is forward and what is backward, where single operators are told wrong. */

/* Stretches of fewer operators than this share of the longest are no passes: what lies side by side of them
 * is one, of the phase of most. Frameworks do not mark all that autograd runs, and hooks run in the middle of
 * it. */
#define STRETCH_LEAST (1.0 / 16)

/* Operators of one phase. */
struct stretch {
	size_t first, end;
	uint8_t phase;
};
struct stretches {
	struct stretch *items;
	size_t count;
};

static int add_stretch(struct stretches *s, size_t first, size_t end, uint8_t phase)
{
	if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
		return SB_ENOMEM;
	s->items[s->count++] = (struct stretch){first, end, phase};
	return SB_OK;
}

/* Collectives have the phase of what is around them: their launches may come from a thread of their own. */
static int list_stretches(const struct layer_op *ops, size_t first, size_t end, struct stretches *out)
{
	size_t from = first;
	int phase = -1, rc = SB_OK;

	for (size_t i = first; i < end && rc == SB_OK; i++) {
		if (ops[i].kind != LAYER_COMPUTE || ops[i].phase == phase)
			continue;
		if (phase >= 0)
			rc = add_stretch(out, from, i, (uint8_t)phase);
		from = phase >= 0 ? i : from;
		phase = ops[i].phase;
	}
	return rc == SB_OK && phase >= 0 ? add_stretch(out, from, end, (uint8_t)phase) : rc;
}

static size_t length_of(const struct stretch *s)
{
	return s->end - s->first;
}

/* Joins the brief stretches from `from` on that lie side by side. Returns where they end. */
static size_t join_brief(const struct stretches *s, size_t from, double brief, struct stretch *out)
{
	size_t of[PHASE_OPTIMIZER] = {0}, to = from;

	while (to < s->count && s->items[to].phase != PHASE_OPTIMIZER &&
	       (double)length_of(&s->items[to]) < brief) {
		of[s->items[to].phase] += length_of(&s->items[to]);
		to++;
	}
	if (to == from) {
		*out = s->items[from];
		return from + 1;
	}
	*out = (struct stretch){s->items[from].first, s->items[to - 1].end, PHASE_UNKNOWN};
	for (uint8_t k = PHASE_UNKNOWN; k < PHASE_OPTIMIZER; k++)
		if (of[k] > of[out->phase])
			out->phase = k;
	return to;
}

static bool is_unknown(const struct stretches *s, size_t at)
{
	return at < s->count && s->items[at].phase == PHASE_UNKNOWN;
}

static void settle_step(struct layer_op *ops, const struct stretches *s)
{
	size_t longest = 0, next;

	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].phase != PHASE_OPTIMIZER && length_of(&s->items[i]) > longest)
			longest = length_of(&s->items[i]);
	for (size_t i = 0; i < s->count; i = next) {
		double brief = STRETCH_LEAST * (double)longest;
		struct stretch x;

		next = join_brief(s, i, brief, &x);
		/* beside a graph of which nothing is told it is the graph's head or tail */
		if ((double)length_of(&x) < brief && x.phase != PHASE_OPTIMIZER &&
		    (is_unknown(s, next) || (i > 0 && is_unknown(s, i - 1))))
			x.phase = PHASE_UNKNOWN;
		for (size_t k = x.first; k < x.end; k++)
			ops[k].phase = x.phase;
	}
}

int layer_phases_settle(struct layer_ops *o)
{
	struct stretches s = {0};
	size_t end;
	int rc = SB_OK;

	for (size_t first = 0; first < o->count && rc == SB_OK; first = end) {
		end = first;
		while (end < o->count && o->items[end].step == o->items[first].step)
			end++;
		s.count = 0;
		rc = list_stretches(o->items, first, end, &s);
		if (rc == SB_OK)
			settle_step(o->items, &s);
	}
	free(s.items);
	return rc;
}
