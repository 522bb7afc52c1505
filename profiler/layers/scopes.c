#include <stdlib.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/layers/order.h"

/* Which of the host's spans are the layers. */

/* Of several types that cover nearly as much of forward the finest is taken: of a list of lists of layers the
 * layers. */
#define NEARLY 0.95

struct cover {
	double ns; /* of the forward operators in its outermost spans */
	int64_t spans, reach;
	uint64_t scope; /* of its first span */
	uint32_t lane;
	bool inner;   /* some of its spans hold other spans */
	bool several; /* its spans are of several layers */
};

struct search {
	const struct host_spans *s;
	struct layer_ops *o;
	uint32_t *order; /* operators as issued, whatever their step */
	double *before;  /* time of the forward operators before each of these */
	struct cover *classes;
};

static void search_clear(struct search *c)
{
	free(c->order);
	free(c->before);
	free(c->classes);
}

static int by_issue(const void *a, const void *b, void *self)
{
	const struct layer_op *items = self;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return sb_compare((const int64_t[]){items[x].issued, x}, (const int64_t[]){items[y].issued, y}, 2);
}

static bool is_forward(const struct layer_op *op)
{
	return op->phase == PHASE_FORWARD || op->phase == PHASE_UNKNOWN;
}

static void sum_forward(struct search *c)
{
	c->before[0] = 0;
	for (size_t i = 0; i < c->o->count; i++) {
		const struct layer_op *op = &c->o->items[c->order[i]];
		bool counts = is_forward(op) && op->kind == LAYER_COMPUTE;

		c->before[i + 1] = c->before[i] + (counts ? (double)(op->end - op->start) : 0);
	}
}

static double forward_before(const struct search *c, int64_t time)
{
	size_t at = SB_BISECT(i, 0, c->o->count, c->o->items[c->order[i]].issued < time);

	return c->before[at];
}

/* A span inside another one of its own type is a part of that. */
static bool is_nested(const struct cover *k, const struct host_span *x)
{
	return k->spans > 0 && k->lane == x->lane && x->start < k->reach;
}

static void weigh(struct search *c)
{
	for (size_t i = 0; i < c->s->layer_count; i++) {
		const struct host_span *x = &c->s->layers[i], *next = x + 1;
		struct cover *k = &c->classes[x->class];

		if (i + 1 < c->s->layer_count && next->lane == x->lane && next->start < x->end)
			k->inner = true;
		if (is_nested(k, x))
			continue;
		k->several |= k->spans > 0 && x->scope != k->scope;
		k->scope = k->spans == 0 ? x->scope : k->scope;
		k->ns += forward_before(c, x->end) - forward_before(c, x->start);
		k->spans++;
		k->lane = x->lane;
		k->reach = x->end;
	}
}

/* 0 = none. */
static uint32_t choose(const struct search *c, size_t classes)
{
	double most = 0;
	uint32_t best = 0;

	for (size_t k = 1; k < classes; k++)
		if (c->classes[k].inner && c->classes[k].several && c->classes[k].ns > most)
			most = c->classes[k].ns;
	for (size_t k = 1; k < classes && most > 0; k++) {
		const struct cover *x = &c->classes[k];

		if (x->inner && x->several && x->ns >= NEARLY * most &&
		    (best == 0 || x->spans > c->classes[best].spans))
			best = (uint32_t)k;
	}
	return best;
}

static void mark_operators(struct layer_ops *o, const struct host_span *spans, size_t n, uint32_t class)
{
	int64_t turn = INT64_MIN; /* the last of forward before this backward */

	for (size_t i = 0; i < o->count; i++) {
		struct layer_op *op = &o->items[i];
		const struct host_span *x = NULL;

		if (is_forward(op)) {
			x = host_span_at(spans, n, op->lane, op->issued);
			turn = op->issued;
		} else if (op->phase == PHASE_BACKWARD) {
			x = host_span_before(spans, n, op->lane, op->issued);
			x = x && x->start > turn ? x : NULL;
		}
		if (!x)
			continue;
		op->scope = x->scope;
		op->class = class;
		o->scopes = o->spans = true;
	}
}

static int mark(struct search *c, uint32_t class)
{
	struct host_span *spans = malloc((c->s->layer_count + 1) * sizeof(*spans));
	struct cover last = {0};
	size_t n = 0;

	if (!spans)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->s->layer_count; i++) {
		const struct host_span *x = &c->s->layers[i];

		if (x->class != class || is_nested(&last, x))
			continue;
		last = (struct cover){.spans = 1, .lane = x->lane, .reach = x->end};
		spans[n++] = *x;
	}
	mark_operators(c->o, spans, n, class);
	free(spans);
	return SB_OK;
}

int host_spans_scopes(const struct host_spans *s, struct layer_ops *o)
{
	__attribute__((cleanup(search_clear))) struct search c = {.s = s, .o = o};
	size_t classes = sb_strings_count(o->texts) + 1;
	uint32_t class;

	if (s->layer_count == 0 || o->count == 0)
		return SB_OK;
	c.order = malloc(o->count * sizeof(*c.order));
	c.before = malloc((o->count + 1) * sizeof(*c.before));
	c.classes = calloc(classes, sizeof(*c.classes));
	if (!c.order || !c.before || !c.classes)
		return SB_ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		c.order[i] = (uint32_t)i;
	qsort_r(c.order, o->count, sizeof(*c.order), by_issue, o->items);
	sum_forward(&c);
	weigh(&c);
	class = choose(&c, classes);
	return class == 0 ? SB_OK : mark(&c, class);
}
