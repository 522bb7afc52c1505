#include "planner/intra/split.h"

#include <math.h>

#include "base/num.h"

/* 16-bit weight and gradient, 32-bit weight and two moments: mixed precision Adam. */
#define TRAINED_BYTES 16

struct split_mesh split_mesh_of(const struct cluster *c, const struct constants *k)
{
	struct split_mesh m = {.cost = {.cluster = *c, .constants = *k, .network = network_of(c, k)},
	                       .element_bytes = 2,
	                       .training = true};
	int64_t below = 1, devices = cluster_devices(c);

	for (int l = 0; l < LINK_SCOPES; l++)
		m.size[l] = 1;
	for (int l = 0; l < m.cost.network.levels; l++) {
		int64_t domain = m.cost.network.domain[l] < devices ? m.cost.network.domain[l] : devices;

		m.size[l] = domain / below;
		below = domain;
	}
	return m;
}

static int64_t parts_of(const struct split *s, enum split_dimension d)
{
	int64_t n = 1;

	for (int l = 0; l < LINK_SCOPES; l++)
		n *= s->parts[d][l];
	return n;
}

bool split_spans(const struct split *s, enum split_dimension d)
{
	return parts_of(s, d) > s->parts[d][0];
}

static bool divides(const struct split_operator *o, const struct split *s)
{
	return o->row_units % parts_of(s, SPLIT_ROWS) == 0 &&
	       o->column_units % parts_of(s, SPLIT_COLUMNS) == 0 &&
	       (o->contraction == 0 ? parts_of(s, SPLIT_CONTRACTION) == 1
	                            : o->contraction % parts_of(s, SPLIT_CONTRACTION) == 0);
}

struct lister {
	const struct split_operator *o;
	const struct split_mesh *m;
	struct split *out, now;
	int64_t count;
};

/* All ways from this dimension of this level on, with `left` devices of the level to give away. */
static void list(struct lister *x, int level, int dimension, int64_t left)
{
	if (level == x->m->cost.network.levels) {
		if (x->count < SPLIT_OPTIONS_MAX)
			x->out[x->count] = x->now;
		x->count++;
		return;
	}
	if (dimension == SPLIT_DIMENSIONS) {
		list(x, level + 1, 0, level + 1 < LINK_SCOPES ? x->m->size[level + 1] : 1);
		return;
	}
	for (int64_t parts = 1; parts <= left && x->count <= SPLIT_OPTIONS_MAX; parts++) {
		if (left % parts != 0)
			continue;
		x->now.parts[dimension][level] = parts;
		if (divides(x->o, &x->now))
			list(x, level, dimension + 1, left / parts);
		x->now.parts[dimension][level] = 1;
	}
}

int64_t split_options(const struct split_operator *o, const struct split_mesh *m, struct split *out)
{
	struct lister x = {.o = o, .m = m, .out = out};

	for (int d = 0; d < SPLIT_DIMENSIONS; d++)
		for (int l = 0; l < LINK_SCOPES; l++)
			x.now.parts[d][l] = 1;
	list(&x, 0, 0, m->size[0]);
	return x.count;
}

/* The ranks that a collective joins, given how many of each level. */
static struct group group_of(const struct split_mesh *m, const int64_t *at_level)
{
	struct group g = {.ranks = 1};

	for (int l = 0; l < m->cost.network.levels; l++) {
		g.ranks *= at_level[l];
		g.inside[l] = g.ranks;
	}
	return g;
}

static void add_all_reduce(const struct split_mesh *m, const int64_t *at_level, double bytes,
                           struct split_cost *io)
{
	struct group g = group_of(m, at_level);

	io->seconds += all_reduce_seconds(&m->cost.network, &g, bytes);
	io->bytes += 2 * bytes * (double)(g.ranks - 1) / (double)g.ranks;
}

struct split_cost split_operator_cost(const struct split_operator *o, const struct split_mesh *m,
                                      const struct split *s)
{
	double rows = (double)o->rows / (double)parts_of(s, SPLIT_ROWS);
	double columns = (double)o->columns / (double)parts_of(s, SPLIT_COLUMNS);
	double inner = (double)o->contraction / (double)parts_of(s, SPLIT_CONTRACTION);
	double e = (double)m->element_bytes, passes = m->training ? 3 : 1;
	const struct constants *k = &m->cost.constants;
	const struct device *d = &m->cost.cluster.device;
	struct split_cost c = {.memory = m->training ? rows * columns * e : 0};

	if (o->contraction == 0) {
		double share = rows * columns / ((double)o->rows * (double)o->columns);

		c.compute = passes * fmax(share * o->flops / (d->peak_flops * k->gemm_share),
		                          2 * rows * columns * e / (d->memory_bandwidth * k->memory_share));
		return c;
	}
	c.memory += inner * columns * (m->training ? TRAINED_BYTES : e);
	c.compute = gemm_seconds(&m->cost, rows, columns, inner);
	add_all_reduce(m, s->parts[SPLIT_CONTRACTION], rows * columns * e, &c);
	if (!m->training)
		return c;
	c.compute +=
	    gemm_seconds(&m->cost, rows, inner, columns) + gemm_seconds(&m->cost, inner, columns, rows);
	add_all_reduce(m, s->parts[SPLIT_COLUMNS], rows * inner * e, &c);
	add_all_reduce(m, s->parts[SPLIT_ROWS], inner * columns * e, &c);
	return c;
}

/* One way: the tensor lies in `from` parts of rows and columns, and is wanted in `to`. */
static void add_change(const struct split_mesh *m, double bytes, const int64_t *const from[2],
                       const int64_t *const to[2], struct split_cost *io)
{
	int64_t exchanged[LINK_SCOPES], gathered[LINK_SCOPES];
	double held = bytes;
	struct group g;

	for (int l = 0; l < LINK_SCOPES; l++) {
		int64_t given = 1, taken = 1;

		for (int d = 0; d < 2; d++) {
			int64_t same = sb_gcd(from[d][l], to[d][l]);

			given *= from[d][l] / same;
			taken *= to[d][l] / same;
			held /= (double)from[d][l];
		}
		exchanged[l] = sb_gcd(given, taken);
		gathered[l] = given / exchanged[l];
	}
	g = group_of(m, exchanged);
	io->seconds += all_to_all_seconds(&m->cost.network, &g, held);
	io->bytes += held * (double)(g.ranks - 1) / (double)g.ranks;
	g = group_of(m, gathered);
	io->seconds += all_gather_seconds(&m->cost.network, &g, held * (double)g.ranks);
	io->bytes += held * (double)(g.ranks - 1);
}

struct split_cost split_change_cost(const struct split_operator *from, const struct split_mesh *m,
                                    const struct split *a, const struct split_operator *to,
                                    const struct split *b)
{
	enum split_dimension across = to->contraction > 0 ? SPLIT_CONTRACTION : SPLIT_COLUMNS;
	const int64_t *const one[2] = {a->parts[SPLIT_ROWS], a->parts[SPLIT_COLUMNS]};
	const int64_t *const other[2] = {b->parts[SPLIT_ROWS], b->parts[across]};
	double bytes = (double)from->rows * (double)from->columns * (double)m->element_bytes;
	struct split_cost c = {0};

	add_change(m, bytes, one, other, &c);
	if (m->training)
		add_change(m, bytes, other, one, &c);
	return c;
}
