#include "planner/pipeline/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/search.h"
#include "planner/pipeline/ways.h"

/* Pairs of ways that may be looked at before runs of several bodies keep only a few: some tenths of a second.
 */
#define WORK_MAX 3e7
/* Calls of cells_ways() between two questions whether anybody waits: they are too quick for one each. */
#define ASK 256

/* What a run of layers is in its quickest way. */
struct sums {
	double forward, parameters, backward, activation;
};

/* Layers of one body. */
struct one_body {
	int64_t first;            /* its first layer */
	struct sums before, each; /* of all layers before, and of one of its own */
	struct ways one;          /* of one layer; the part is the kind of recomputing */
	struct ways *of;          /* of[n] layers, as far as they were asked for */
	size_t known;
};

/* A run over several bodies. */
struct several {
	uint64_t key; /* 0 = free */
	struct ways ways;
};

struct cells {
	const struct pipeline_problem *p;
	struct one_body *bodies;
	struct several *table; /* open addressing, a power of two; never full */
	size_t size, used;
	uint64_t seed;
	double work; /* that is left */
	bool thinned;
	unsigned turns; /* of cells_ways() */
	bool stopped;
};

static struct sums sum(struct sums a, double n, struct sums b)
{
	return (struct sums){a.forward + n * b.forward, a.parameters + n * b.parameters,
	                     a.backward + n * b.backward, a.activation + n * b.activation};
}

static int open_body(const struct pipeline_body *b, struct one_body *out)
{
	struct way list[PIPELINE_RECOMPUTES];
	size_t n = 0;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (isfinite(b->backward[r]) && isfinite(b->activation[r]))
			list[n++] = (struct way){b->backward[r], b->activation[r], 0, (uint16_t)r};
	return ways_choose(list, n, &out->one);
}

int cells_open(const struct pipeline_problem *p, struct cells **out)
{
	CELLS_AUTO c = calloc(1, sizeof(*c));
	int rc = SB_OK;

	if (!c)
		return SB_ENOMEM;
	c->p = p;
	c->work = WORK_MAX;
	c->seed = sb_hash_seed();
	c->bodies = calloc((size_t)p->body_count + 1, sizeof(*c->bodies));
	if (!c->bodies)
		return SB_ENOMEM;
	for (int64_t b = 0; b < p->body_count && rc == SB_OK; b++) {
		const struct pipeline_body *body = &p->bodies[b];
		struct one_body *x = &c->bodies[b];

		rc = open_body(body, x);
		x->each = (struct sums){body->forward, pipeline_fixed_bytes(p, body), NAN, NAN};
		if (x->one.count > 0) {
			x->each.backward = x->one.backward[0];
			x->each.activation = x->one.activation[0];
		}
		x[1].first = x->first + body->count;
		x[1].before = sum(x->before, (double)body->count, x->each);
	}
	if (rc != SB_OK)
		return rc;
	*out = c;
	c = NULL;
	return SB_OK;
}

void cells_free(struct cells **at)
{
	struct cells *c = *at;

	if (!c)
		return;
	for (int64_t b = 0; c->bodies && b < c->p->body_count; b++) {
		for (size_t n = 0; n < c->bodies[b].known; n++)
			ways_free(&c->bodies[b].of[n]);
		free(c->bodies[b].of);
		ways_free(&c->bodies[b].one);
	}
	for (size_t i = 0; i < c->size; i++)
		ways_free(&c->table[i].ways);
	free(c->table);
	free(c->bodies);
	free(c);
	*at = NULL;
}

/* The body that a layer is of. */
static int64_t body_of(const struct cells *c, int64_t layer)
{
	return SB_BISECT(i, 1, c->p->body_count, c->bodies[i].first <= layer) - 1;
}

/* A run over the bodies a to b: what of a is in it, all of those between, and what of b is in it. */
static struct sums sums_of_run(const struct cells *c, int64_t first, int64_t count)
{
	int64_t a = body_of(c, first), b = body_of(c, first + count - 1);
	const struct one_body *x = &c->bodies[a], *y = &c->bodies[b];
	struct sums all = {0};

	if (count <= 0)
		return all;
	if (a == b)
		return sum(all, (double)count, x->each);
	all = sum(y->before, -1, x[1].before);
	all = sum(all, (double)(x[1].first - first), x->each);
	return sum(all, (double)(first + count - y->first), y->each);
}

double cells_forward(const struct cells *c, int64_t first, int64_t count)
{
	return sums_of_run(c, first, count).forward;
}

double cells_parameters(const struct cells *c, int64_t first, int64_t count)
{
	return sums_of_run(c, first, count).parameters;
}

void cells_quickest(const struct cells *c, int64_t first, int64_t count, double *out_backward,
                    double *out_activation)
{
	struct sums s = sums_of_run(c, first, count);

	*out_backward = s.backward;
	*out_activation = s.activation;
}

/* n layers of one body are n - 1 and one more. Borrowed. */
static int ways_of_body(struct one_body *b, int64_t n, struct ways *out)
{
	double free_of_bounds = INFINITY; /* each layer is added once */
	int rc = SB_OK;

	while (b->known <= (size_t)n && rc == SB_OK) {
		rc = sb_grow(&b->of, b->known, sizeof(*b->of));
		if (rc == SB_OK)
			rc = b->known == 0 ? ways_none(&b->of[0])
			                   : ways_merge(&b->of[b->known - 1], &b->one, &free_of_bounds,
			                                &b->of[b->known]);
		b->known += rc == SB_OK;
	}
	if (rc == SB_OK)
		*out = b->of[n];
	return rc;
}

static struct several *place_of(struct several *table, size_t size, uint64_t key, uint64_t seed)
{
	size_t i = (size_t)sb_hash_word(seed, key, seed) & (size - 1);

	while (table[i].key != 0 && table[i].key != key)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static int make_room(struct cells *c)
{
	size_t size = c->size == 0 ? 64 : c->size * 2;
	struct several *table;

	if (c->used < c->size / 2)
		return SB_OK;
	table = calloc(size, sizeof(*table));
	if (!table)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->size; i++)
		if (c->table[i].key != 0)
			*place_of(table, size, c->table[i].key, c->seed) = c->table[i];
	free(c->table);
	c->table = table;
	c->size = size;
	return SB_OK;
}

/* The ways up to a layer of body b, given those up to the body's first. */
static int add_body(struct cells *c, int64_t first, int64_t b, int64_t end, struct ways *ways)
{
	uint64_t key =
	    (uint64_t)first * ((uint64_t)c->bodies[c->p->body_count].first + 1) + (uint64_t)(end - first);
	struct ways part, sum;
	struct several *at;
	int rc = make_room(c);

	if (rc != SB_OK)
		return rc;
	at = place_of(c->table, c->size, key, c->seed);
	if (at->key == 0) {
		rc = ways_of_body(&c->bodies[b], end - c->bodies[b].first, &part);
		if (rc == SB_OK)
			rc = ways_merge(ways, &part, &c->work, &sum);
		if (rc != SB_OK)
			return rc;
		*at = (struct several){key, sum};
		c->used++;
	}
	*ways = at->ways;
	return SB_OK;
}

/* A run is its layers up to the last body, and those of the last body: put together body by body. Borrowed.
 */
static int ways_of_run(struct cells *c, int64_t first, int64_t count, struct ways *out)
{
	int64_t end = first + count, from = body_of(c, first), to = body_of(c, end - 1);
	int rc = ways_of_body(&c->bodies[from], (from == to ? end : c->bodies[from + 1].first) - first, out);

	for (int64_t b = from + 1; b <= to && rc == SB_OK; b++)
		if (c->p->bodies[b].count > 0)
			rc = add_body(c, first, b, b == to ? end : c->bodies[b + 1].first, out);
	return rc;
}

int cells_ways(struct cells *c, int64_t first, int64_t count, struct cell_ways *out)
{
	static const double zero = 0;
	struct ways w;
	int rc;

	if (++c->turns % ASK == 0)
		c->stopped = c->stopped || sb_stopped(c->p->watch);
	if (c->stopped)
		return SB_ECANCELED;
	if (count <= 0) {
		*out = (struct cell_ways){&zero, &zero, 1, false};
		return SB_OK;
	}
	rc = ways_of_run(c, first, count, &w);
	c->thinned = c->thinned || (rc == SB_OK && w.thinned);
	if (rc == SB_OK)
		*out = (struct cell_ways){w.backward, w.activation, w.count, w.thinned};
	return rc;
}

bool cells_thinned(const struct cells *c)
{
	return c->thinned;
}

int64_t cells_way_within(const struct cell_ways *w, double activation)
{
	size_t at = SB_BISECT(i, 0, w->count, !(w->activation[i] <= activation));

	return at < w->count ? (int64_t)at : -1;
}

int cells_stage(struct cells *c, int64_t first, int64_t count, size_t way, struct pipeline_stage *out)
{
	memset(out, 0, (size_t)c->p->body_count * sizeof(*out));
	while (count > 0) {
		int64_t b = body_of(c, first + count - 1), part = first + count - c->bodies[b].first;
		bool several = c->bodies[b].first > first;
		struct ways w;
		size_t of_part = way;
		int rc = ways_of_run(c, first, count, &w);

		if (rc != SB_OK)
			return rc;
		if (several) {
			of_part = w.origin[way].part;
			way = w.origin[way].before;
		} else {
			part = count;
		}
		for (int64_t n = part; n > 0; n--) {
			struct way_origin o = c->bodies[b].of[n].origin[of_part];

			out[b].layers[c->bodies[b].one.origin[o.part].part]++;
			of_part = o.before;
		}
		count -= part;
	}
	return SB_OK;
}
