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

/* How many of the bodies are forward, when as many behind them are backward: 0 = it is not to be told. */
static size_t forward_bodies(const struct cutter *c, const struct layer_bodies *b)
{
	size_t forward = 0;

	while (forward < b->count && !is_gradient(c, &b->items[forward]))
		forward++;
	if (forward < b->count)
		return 2 * forward <= b->count && is_mirrored(b->items, forward) ? forward : 0;
	/* no name tells: the most that mirror each other; behind them is the optimizer */
	for (forward = b->count / 2; forward > 0 && !is_mirrored(b->items, forward);)
		forward--;
	return forward;
}

/* Forward and backward of one micro-batch in [low, high), with what its bodies are. Where forward ends is
 * where its first gradient is computed; what stands behind the last layer of backward may be the optimizer.
 */
static int add_both(struct cutter *c, const struct stretch *s, const struct layer_bodies *b, size_t forward,
                    uint32_t low, uint32_t high, bool open)
{
	uint32_t turn = end_of(c, &b->items[forward - 1]);
	struct layer_pass p = cutter_pass(c, op_at(c, s, low), s->end, PHASE_FORWARD);
	int rc = SB_OK;

	while (turn < b->items[forward].first && !c->o->items[c->ops[turn]].gradient)
		turn++;
	p.end = op_at(c, s, turn);
	p.open_before = open && low > 0;
	for (size_t i = 0; i < forward && rc == SB_OK; i++)
		rc = add_body(c, s, &b->items[i]);
	if (rc == SB_OK)
		rc = cutter_close(c, &p);
	if (rc != SB_OK)
		return rc;
	p = cutter_pass(c, op_at(c, s, turn), op_at(c, s, high), PHASE_BACKWARD);
	p.open_behind = true;
	for (size_t i = forward; i < 2 * forward && rc == SB_OK; i++)
		rc = add_body(c, s, &b->items[i]);
	return rc == SB_OK ? cutter_close(c, &p) : rc;
}

static double body_weight(const struct cutter *c, const struct layer_bodies *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += c->before[end_of(c, &b->items[i])] - c->before[b->items[i].first];
	return sum;
}

/* A repetition whose period holds the layers of forward and of backward is one of micro-batches. */
static int cut_micro_batches(struct cutter *c, const struct stretch *s, const struct layer_body *all,
                             bool *out_done)
{
	struct layer_bodies inner = {0};
	uint32_t last = all->first + all->period;
	int rc = layer_bodies_find(c->tokens, c->before, all->first, last, &inner);
	size_t forward = rc == SB_OK ? forward_bodies(c, &inner) : 0;
	bool whole = forward > 0 && body_weight(c, &inner, 2 * forward) >=
	                                LAYERS_LEAST_SHARE * (c->before[last] - c->before[all->first]);

	for (uint32_t k = 0; whole && rc == SB_OK && k < all->count; k++) {
		uint32_t low = all->first + k * all->period;

		rc = add_both(c, s, &inner, forward, low, low + all->period, true);
		for (size_t i = 0; i < inner.count; i++)
			inner.items[i].first += all->period;
	}
	layer_bodies_free(&inner);
	*out_done = whole;
	return rc;
}

/* Forward and backward are not told apart by the source. */
static int cut_unphased(struct cutter *c, const struct stretch *s, const struct layer_bodies *b)
{
	size_t forward = forward_bodies(c, b);
	bool done = false;
	int rc = SB_OK;

	for (size_t i = 0; i < b->count && rc == SB_OK && !done; i++)
		rc = cut_micro_batches(c, s, &b->items[i], &done);
	if (rc != SB_OK || done || forward == 0 ||
	    body_weight(c, b, 2 * forward) <
	        LAYERS_LEAST_SHARE * c->before[end_of(c, &b->items[2 * forward - 1])])
		return rc;
	return add_both(c, s, b, forward, 0, (uint32_t)c->op_count, false);
}

int cut_by_repetition(struct cutter *c, const struct stretch *s)
{
	struct layer_bodies b = {0};
	struct layer_pass p = cutter_pass(c, s->first, s->end, s->phase);
	int rc;

	list_computing(c, s);
	rc = layer_bodies_find(c->tokens, c->before, 0, c->op_count, &b);
	if (rc == SB_OK && s->phase == PHASE_UNKNOWN)
		rc = cut_unphased(c, s, &b);
	else if (rc == SB_OK && body_weight(c, &b, b.count) >= LAYERS_LEAST_SHARE * c->before[c->op_count]) {
		for (size_t i = 0; i < b.count && rc == SB_OK; i++)
			rc = add_body(c, s, &b.items[i]);
		if (rc == SB_OK)
			rc = cutter_close(c, &p);
	}
	layer_bodies_free(&b);
	return rc;
}
