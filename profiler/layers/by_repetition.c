#include "profiler/layers/cut_parts.h"

static void list_computing(struct cutter *c, const struct stretch *s)
{
	c->op_count = 0;
	c->before[0] = 0;
	for (size_t i = s->first; i < s->end; i++) {
		if (c->o->items[i].kind != LAYER_COMPUTE)
			continue;
		c->ops[c->op_count] = i;
		c->tokens[c->op_count] = c->o->items[i].token;
		c->before[c->op_count + 1] = c->before[c->op_count] + c->seconds[i];
		c->op_count++;
	}
}

static uint32_t end_of(const struct cutter *c, const struct layer_body *b)
{
	uint32_t end = b->first + b->count * b->period;

	return end < c->op_count ? end : (uint32_t)c->op_count;
}

/* The operator behind the n-th that computes, collectives before it included with the layer before. */
static size_t op_at(const struct cutter *c, const struct stretch *s, size_t n)
{
	return n < c->op_count ? c->ops[n] : s->end;
}

static int add_body(struct cutter *c, const struct stretch *s, const struct layer_body *b)
{
	int rc = SB_OK;

	for (uint32_t i = 0; i < b->count && rc == SB_OK; i++) {
		struct layer_range r = {.first = op_at(c, s, b->first + i * b->period),
		                        .end = op_at(c, s, b->first + (i + 1) * b->period),
		                        .repeats = true,
		                        .rounded = b->rounded && i + 1 == b->count};

		rc = cutter_add(c, &r);
	}
	return rc;
}

static bool is_gradient(const struct cutter *c, const struct layer_body *b)
{
	for (uint32_t i = 0; i < b->period && b->first + i < c->op_count; i++)
		if (c->o->items[c->ops[b->first + i]].gradient)
			return true;
	return false;
}

/* Do bodies [0, n) and [n, 2 n) have the same counts, the other way round? */
static bool is_mirrored(const struct layer_body *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i].count != b[2 * n - 1 - i].count)
			return false;
	return n > 0;
}

static double body_weight(const struct cutter *c, const struct layer_bodies *b)
{
	double sum = 0;

	for (size_t i = 0; i < b->count; i++)
		sum += c->before[end_of(c, &b->items[i])] - c->before[b->items[i].first];
	return sum;
}

/* How many of the first bodies the next ones mirror, at most: those are forward then. */
static size_t mirrored_bodies(const struct layer_bodies *b)
{
	size_t n = b->count / 2;

	while (n > 0 && !is_mirrored(b->items, n))
		n--;
	return n;
}

/* The bodies of [low, high). Where neither source nor names tell forward from backward, the optimizer's are
 * those behind the bodies that mirror each other. */
static int find_bodies(const struct cutter *c, const struct stretch *s, uint32_t low, uint32_t high,
                       struct layer_bodies *out)
{
	int rc = layer_bodies_find(c->tokens, c->before, low, high, out);

	if (rc == SB_OK && s->phase == PHASE_UNKNOWN && !c->gradients && mirrored_bodies(out) > 0)
		out->count = 2 * mirrored_bodies(out);
	return rc;
}

/* How many bodies from `from` on are of one pass: those with gradients, or those without; where no name tells
 * gradients, half of those that mirror each other, or all. */
static size_t bodies_of_pass(const struct cutter *c, const struct layer_bodies *b, size_t from)
{
	size_t n = 1;

	if (!c->gradients)
		return mirrored_bodies(b) > 0 ? mirrored_bodies(b) : b->count;
	while (from + n < b->count && is_gradient(c, &b->items[from + n]) == is_gradient(c, &b->items[from]))
		n++;
	return n;
}

static bool is_backward(const struct cutter *c, const struct layer_bodies *b, size_t from)
{
	return c->gradients ? is_gradient(c, &b->items[from]) : from > 0;
}

/* Where a pass ends whose last body ends at `from`, and the next one's first begins at `to`: at the first
 * gradient when it is forward, behind the last one when it is backward. */
static uint32_t turn_of(const struct cutter *c, uint32_t from, uint32_t to, bool backward)
{
	uint32_t turn = from;

	for (uint32_t i = from; i < to; i++) {
		bool gradient = c->o->items[c->ops[i]].gradient;

		if (gradient && !backward)
			return i;
		if (gradient)
			turn = i + 1;
	}
	return backward ? turn : to;
}

/* No forward stands behind the last backward of a step: what repeats there is the optimizer. */
static bool is_optimizer(const struct cutter *c, const struct stretch *s, size_t from)
{
	return c->gradients && !s->handed_on && (from > 0 || s->taken_over);
}

/* The passes of the bodies of [low, high), one behind the other. What stands behind the last layer of the
 * last one may be the optimizer. */
static int add_passes(struct cutter *c, const struct stretch *s, const struct layer_bodies *b, uint32_t low,
                      uint32_t high)
{
	int rc = SB_OK;

	for (size_t from = 0, to = 0; from < b->count && rc == SB_OK; from = to) {
		bool backward = is_backward(c, b, from);
		struct layer_pass p =
		    cutter_pass(c, op_at(c, s, low), s->end, backward ? PHASE_BACKWARD : PHASE_FORWARD);
		bool last;

		to = from + bodies_of_pass(c, b, from);
		last = to == b->count;
		if (last && !backward && is_optimizer(c, s, from))
			break;
		for (size_t i = from; i < to && rc == SB_OK; i++)
			rc = add_body(c, s, &b->items[i]);
		low = turn_of(c, end_of(c, &b->items[to - 1]), last ? high : b->items[to].first, backward);
		p.end = last && !backward ? op_at(c, s, high) : op_at(c, s, low);
		p.open_behind = last && backward && !s->handed_on;
		if (rc == SB_OK)
			rc = cutter_close(c, &p);
	}
	return rc;
}

/* Do bodies hold enough of [low, high) to be its layers? */
static bool are_layers(const struct cutter *c, const struct layer_bodies *b, uint32_t low, uint32_t high)
{
	return b->count > 0 && body_weight(c, b) >= LAYERS_LEAST_SHARE * (c->before[high] - c->before[low]);
}

static int add_pass(struct cutter *c, const struct stretch *s, const struct layer_bodies *b, uint32_t low,
                    uint32_t high)
{
	struct layer_pass p = cutter_pass(c, op_at(c, s, low), op_at(c, s, high), s->phase);
	int rc = SB_OK;

	for (size_t i = 0; i < b->count && rc == SB_OK; i++)
		rc = add_body(c, s, &b->items[i]);
	return rc == SB_OK ? cutter_close(c, &p) : rc;
}

/* Forward and as much backward behind it. */
static bool is_micro_batch(const struct cutter *c, const struct layer_bodies *b)
{
	size_t forward = b->count > 0 ? bodies_of_pass(c, b, 0) : 0;

	return forward > 0 && !is_backward(c, b, 0) && 2 * forward <= b->count &&
	       is_mirrored(b->items, forward);
}

/* Cuts each period of a repetition whose period holds layers: they are micro-batches, or iterations. both:
 * only when it holds forward and backward. */
static int cut_periods(struct cutter *c, const struct stretch *s, const struct layer_body *all, bool both,
                       bool *out_done)
{
	struct layer_bodies inner = {0};
	uint32_t low = all->first, high = low + all->period;
	int rc = find_bodies(c, s, low, high, &inner);

	*out_done = rc == SB_OK && are_layers(c, &inner, low, high) && (!both || is_micro_batch(c, &inner));
	for (uint32_t k = 0; *out_done && rc == SB_OK && k < all->count && high <= c->op_count; k++) {
		rc = s->phase == PHASE_UNKNOWN ? add_passes(c, s, &inner, low, high)
		                               : add_pass(c, s, &inner, low, high);
		for (size_t i = 0; i < inner.count; i++)
			inner.items[i].first += all->period;
		low = high;
		high += all->period;
	}
	layer_bodies_free(&inner);
	return rc;
}

/* What repeats from the first operator to the last of a capture without steps is the iteration: there is no
 * model without a head or a tail of some weight. */
#define ENDS_LEAST 0.1

static bool is_iteration(const struct cutter *c, const struct layer_bodies *b)
{
	const struct layer_body *x = &b->items[0];
	double period;

	if (b->count != 1 || c->backward || c->o->items[0].step != SB_NULL)
		return false;
	period = c->before[x->first + x->period] - c->before[x->first];
	return c->all - body_weight(c, b) < ENDS_LEAST * period;
}

int cut_by_repetition(struct cutter *c, const struct stretch *s)
{
	struct layer_bodies b = {0};
	bool done = false;
	int rc;

	list_computing(c, s);
	rc = find_bodies(c, s, 0, (uint32_t)c->op_count, &b);
	for (size_t i = 0; i < b.count && rc == SB_OK && !done && s->phase == PHASE_UNKNOWN; i++)
		rc = cut_periods(c, s, &b.items[i], true, &done);
	if (rc == SB_OK && !done && is_iteration(c, &b))
		rc = cut_periods(c, s, &b.items[0], false, &done);
	else if (rc == SB_OK && !done && are_layers(c, &b, 0, (uint32_t)c->op_count))
		rc = s->phase == PHASE_UNKNOWN ? add_passes(c, s, &b, 0, (uint32_t)c->op_count)
		                               : add_pass(c, s, &b, 0, (uint32_t)c->op_count);
	layer_bodies_free(&b);
	return rc;
}
