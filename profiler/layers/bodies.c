#include <stdlib.h>

#include "base/grow.h"
#include "profiler/layers/cut.h"
#include "profiler/layers/repeats.h"

struct search {
	const double *before;
	const struct repeat *repeats;
	size_t repeat_count;
	double least;
	struct layer_bodies found;
};

/* A repetition cut to a stretch. */
struct part {
	uint32_t low, high, period;
};

static uint32_t count_of(const struct part *p)
{
	return p->high > p->low ? (p->high - p->low) / p->period : 0;
}

static double weight_of(const struct search *s, const struct part *p)
{
	return s->before[p->low + count_of(p) * p->period] - s->before[p->low];
}

/* Where a type of layers is looked for: in [low, high), with a whole layer before `before` and one behind
 * `behind`, so that it is not just a piece of its neighbour. */
struct stretch {
	uint32_t low, high, before, behind;
};

static bool stands_alone(const struct part *p, const struct stretch *w)
{
	return p->low + p->period <= w->before && p->high >= w->behind + p->period;
}

/* The heaviest repetition of a stretch; of equals the first, which is the longest there. */
static bool heaviest(const struct search *s, const struct stretch *w, struct part *out)
{
	const uint32_t low = w->low, high = w->high;
	double most = 0;

	for (size_t i = 0; i < s->repeat_count; i++) {
		const struct repeat *r = &s->repeats[i];
		struct part p = {r->first > low ? r->first : low,
		                 r->first + r->length < high ? r->first + r->length : high, r->period};

		if (p.period >= LAYERS_LEAST_OPERATORS && count_of(&p) >= 2 && stands_alone(&p, w) &&
		    weight_of(s, &p) > most) {
			most = weight_of(s, &p);
			*out = p;
		}
	}
	return most > 0 && most >= s->least;
}

/* Takes the heaviest, then what is left on both sides. A repetition may begin later by what is left over
 * behind its last whole period: the types before it have as much of it as gives them whole layers. *io_end:
 * where the last body ended. Each body is a share of all, so that there are few of them. */
static int take(struct search *s, const struct stretch *w, uint32_t *io_end)
{
	struct part p = {0, 0, 1};
	struct stretch left, right;
	uint32_t end = w->low;
	int rc;

	if (w->low >= w->high || !heaviest(s, w, &p))
		return SB_OK;
	left = (struct stretch){w->low, p.low + (p.high - p.low) % p.period, p.low, w->behind};
	rc = take(s, &left, &end);
	if (rc != SB_OK)
		return rc;
	right = (struct stretch){.high = w->high, .before = w->before, .behind = p.high};
	p.low = end > p.low ? end : p.low;
	if (sb_grow(&s->found.items, s->found.count, sizeof(*s->found.items)) != SB_OK)
		return SB_ENOMEM;
	s->found.items[s->found.count++] =
	    (struct layer_body){p.low, p.period, count_of(&p), (p.high - p.low) % p.period, false};
	right.low = *io_end = p.low + count_of(&p) * p.period;
	return take(s, &right, io_end);
}

/* Where more than half of a period is left over behind the last layer, that is one more, some of whose
 * operators differ: a tail does not look so much like a layer. */
static void round_up(struct layer_bodies *b)
{
	struct layer_body *last = b->count > 0 ? &b->items[b->count - 1] : NULL;

	if (last && 2 * last->rest > last->period) {
		last->count++;
		last->rounded = true;
	}
}

/* A type with a fraction of the heaviest one's operators is a piece of what lies between two types. */
static void drop_pieces(struct search *s)
{
	double most = 0, period = 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->found.count; i++) {
		const struct layer_body *x = &s->found.items[i];
		double w = s->before[x->first + x->count * x->period] - s->before[x->first];

		if (w > most) {
			most = w;
			period = x->period;
		}
	}
	for (size_t i = 0; i < s->found.count; i++)
		if (s->found.items[i].period > LAYERS_TYPE_LEAST * period)
			s->found.items[kept++] = s->found.items[i];
	s->found.count = kept;
}

int layer_bodies_find(const uint64_t *tokens, const double *before, size_t low, size_t high,
                      struct layer_bodies *out)
{
	struct repeat *repeats = NULL;
	struct search s = {.before = before + low};
	uint32_t n = (uint32_t)(high - low), end = 0;
	int rc = repeats_find(tokens + low, high - low, &repeats, &s.repeat_count);

	if (rc != SB_OK)
		return rc;
	s.repeats = repeats;
	s.least = LAYERS_TYPE_SHARE * (before[high] - before[low]);
	rc = take(&s, &(struct stretch){0, n, n, 0}, &end);
	free(repeats);
	if (rc != SB_OK) {
		layer_bodies_free(&s.found);
		return rc;
	}
	drop_pieces(&s);
	round_up(&s.found);
	for (size_t i = 0; i < s.found.count; i++)
		s.found.items[i].first += (uint32_t)low;
	*out = s.found;
	return SB_OK;
}

void layer_bodies_free(struct layer_bodies *b)
{
	free(b->items);
	*b = (struct layer_bodies){0};
}
