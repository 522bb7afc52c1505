#include "planner/intra/segments.h"

#include <string.h>

struct repetition {
	size_t first, period, turns;
};

/* What is repeated over most operators, of equals with the shortest turn. */
static struct repetition longest(const uint32_t *o, size_t from, size_t to)
{
	struct repetition best = {.period = 1};

	for (size_t period = 2; period <= (to - from) / 2; period++) {
		size_t run = 0;

		/* run: operators in a row that are equal to those one period later */
		for (size_t i = from; i + period < to; i++) {
			run = o[i] == o[i + period] ? run + 1 : 0;
			if (run / period > 0 && (run / period + 1) * period > best.turns * best.period)
				best = (struct repetition){i + 1 - run, period, run / period + 1};
		}
	}
	return best;
}

struct cutter {
	const uint32_t *operators;
	struct operator_segment *out;
	size_t count;
};

static void add(struct cutter *c, size_t first, size_t count)
{
	struct operator_segment *s = &c->out[c->count];

	if (count == 0)
		return;
	*s = (struct operator_segment){first, count, c->count};
	for (size_t k = 0; k < c->count; k++) {
		if (c->out[k].kind != k || c->out[k].count != count ||
		    memcmp(c->operators + c->out[k].first, c->operators + first,
		           count * sizeof(*c->operators)) != 0)
			continue;
		s->kind = k;
		break;
	}
	c->count++;
}

/* What is repeated is half of all at the least, so this goes no deeper than log2 of the operators. */
static void cut(struct cutter *c, size_t from, size_t to)
{
	struct repetition r = longest(c->operators, from, to);

	if (r.turns < 2 || 2 * r.turns * r.period < to - from) {
		add(c, from, to - from);
		return;
	}
	cut(c, from, r.first);
	for (size_t i = 0; i < r.turns; i++)
		add(c, r.first + i * r.period, r.period);
	cut(c, r.first + r.turns * r.period, to);
}

size_t segments_find(const uint32_t *operators, size_t n, struct operator_segment *out)
{
	struct cutter c = {.operators = operators, .out = out};

	cut(&c, 0, n);
	return c.count;
}
