#include "planner/frontier/eliminate.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/frontier/bucket.h"

/* What writing a step costs, in points gone through. */
#define JOIN_WORK 4

struct elimination {
	const struct option_graph *g;
	struct pareto_work *work;
	struct tables tables;
	struct order order; /* nodes that are left, the cheapest to eliminate first */
	int64_t guessed;
	struct pareto_set cell, product[2];
	struct pareto_point single; /* a product of sets of one point */
};

static void close_all(struct elimination *e)
{
	tables_free(&e->tables);
	order_free(&e->order);
	pareto_set_free(&e->cell);
	pareto_set_free(&e->product[0]);
	pareto_set_free(&e->product[1]);
}

static void weigh(struct elimination *e, int64_t node)
{
	bucket_weigh(&e->tables, &e->order, node, ELIMINATE_CELLS_MAX);
}

static int join_steps(struct elimination *e, uint32_t one, uint32_t *io)
{
	int rc;

	if (one == 0 || *io == 0) {
		*io += one;
		return SB_OK;
	}
	rc = pareto_spend(e->work, JOIN_WORK);
	return rc == SB_OK ? pareto_record(e->work->arena, (struct pareto_step){*io, one, PARETO_JOIN, 0}, io)
	                   : rc;
}

/* The product of the node's tables at one option: `by` plus each of the points. No points: it cannot be. */
static int multiply(struct elimination *e, const struct bucket *b, uint32_t option, struct pareto_point *by,
                    const struct pareto_point **out, size_t *out_count)
{
	static const struct pareto_point nothing;
	int turn = 0, rc = SB_OK;

	*by = (struct pareto_point){.option = option};
	*out = &nothing;
	*out_count = 1;
	for (size_t i = 0; rc == SB_OK && i < b->count; i++) {
		const struct bucket_table *u = &b->tables[i];
		struct pareto_point room;
		size_t n;
		const struct pareto_point *set = tables_cell(&e->tables, &e->tables.items[u->table],
		                                             u->base + option * u->step, &room, &n);

		if (n == 0) {
			*out_count = 0;
			return SB_OK;
		}
		if (n == 1) {
			by->memory += set->memory;
			by->time += set->time;
			rc = join_steps(e, set->back, &by->back);
		} else if (*out == &nothing) {
			*out = set;
			*out_count = n;
		} else {
			rc = pareto_product(e->work, *out, *out_count, set, n, &e->product[turn]);
			*out = e->product[turn].points;
			*out_count = e->product[turn].count;
			turn = 1 - turn;
		}
	}
	if (rc == SB_OK && by->back != 0 && *out_count == 1) {
		e->single = **out;
		rc = join_steps(e, by->back, &e->single.back);
		*out = &e->single;
	} else if (rc == SB_OK && by->back != 0) {
		struct pareto_point back = {.back = by->back};

		rc = pareto_product(e->work, *out, *out_count, &back, 1, &e->product[turn]);
		*out = e->product[turn].points;
		*out_count = e->product[turn].count;
	}
	return rc;
}

/* The set of the cell at which the bucket stands: the union over the node's options. */
static int fill_cell(struct elimination *e, const struct bucket *b)
{
	uint32_t options = (uint32_t)e->g->nodes[b->node].options;
	int rc = pareto_set_reserve(&e->cell, 1);

	e->cell.count = 0;
	for (uint32_t o = 0; rc == SB_OK && o < options; o++) {
		const struct pareto_point *set;
		struct pareto_point by;
		size_t n;

		rc = pareto_spend(e->work, (double)b->count);
		if (rc == SB_OK)
			rc = multiply(e, b, o, &by, &set, &n);
		if (rc == SB_OK && n > 0)
			rc = pareto_add(e->work, &e->cell, set, n, &by);
	}
	if (rc == SB_OK)
		rc = pareto_spend(e->work, JOIN_WORK * (double)e->cell.count);
	for (size_t i = 0; rc == SB_OK && i < e->cell.count; i++) {
		struct pareto_point *p = &e->cell.points[i];
		struct pareto_step step = {p->back, 0, (uint16_t)b->node, (uint16_t)p->option};

		rc = pareto_record(e->work->arena, step, &p->back);
		p->option = 0;
	}
	return rc;
}

static int eliminate_node(struct elimination *e, int64_t node)
{
	BUCKET_AUTO b;
	uint32_t table = 0;
	int rc = bucket_open(&b, &e->tables, node);

	if (rc == SB_OK)
		rc = tables_add(&e->tables, TABLE_SETS, b.near, b.near_count, &table);
	for (size_t cell = 0; rc == SB_OK && cell < e->tables.items[table].cells; cell++) {
		rc = fill_cell(e, &b);
		if (rc == SB_OK)
			rc = tables_append(&e->tables, table, cell, e->cell.points, e->cell.count);
		bucket_next(&b);
	}
	for (size_t i = 0; rc == SB_OK && i < b.count; i++)
		tables_drop(&e->tables, b.tables[i].table);
	order_remove(&e->order, node);
	for (int64_t i = 0; rc == SB_OK && i < b.near_count; i++)
		weigh(e, b.near[i]);
	return rc;
}

/* The option that is best when each neighbour of it goes along. sum, low: room for each option. */
static uint32_t guess_option(struct elimination *e, int64_t node, double *sum, double *low)
{
	const struct table_list *l = &e->tables.of[node];
	size_t options = (size_t)e->g->nodes[node].options;
	uint32_t best = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct table *x = &e->tables.items[l->tables[i]];
		size_t stride = tables_stride(x, node);

		for (size_t o = 0; o < options; o++)
			low[o] = INFINITY;
		for (size_t c = 0; c < x->cells; c++) {
			struct pareto_point room;
			size_t n, o = c / stride % options;
			const struct pareto_point *p = tables_cell(&e->tables, x, c, &room, &n);

			if (n > 0)
				low[o] = fmin(low[o], p[n - 1].time);
		}
		e->work->left -= (double)x->cells;
		for (size_t o = 0; o < options; o++)
			sum[o] += low[o];
	}
	for (uint32_t o = 1; o < options; o++)
		if (sum[o] < sum[best])
			best = o;
	return best;
}

/* One table without the node, at its option. */
static int slice(struct elimination *e, uint32_t from, int64_t node, uint32_t option)
{
	uint16_t rest[ELIMINATE_NEIGHBOURS_MAX];
	int64_t count = tables_rest(&e->tables.items[from], node, rest);
	size_t stride = tables_stride(&e->tables.items[from], node), cells = e->tables.items[from].cells;
	size_t cell = 0;
	uint32_t to;
	int rc = tables_add(&e->tables, TABLE_SETS, rest, count, &to);

	for (size_t c = 0; rc == SB_OK && c < cells; c++) {
		struct pareto_point room;
		const struct pareto_point *p;
		size_t n;

		if (c / stride % (size_t)e->g->nodes[node].options != option)
			continue;
		p = tables_cell(&e->tables, &e->tables.items[from], c, &room, &n);
		rc = tables_append(&e->tables, to, cell++, p, n);
	}
	tables_drop(&e->tables, from);
	return rc;
}

/* Settles a node that is too much to eliminate. */
static int guess(struct elimination *e, int64_t node)
{
	uint16_t *near = calloc((size_t)e->g->node_count, sizeof(*near));
	int64_t count = near ? tables_neighbours(&e->tables, node, near, e->g->node_count) : 0;
	double *sums = calloc((size_t)e->g->nodes[node].options, 2 * sizeof(*sums));
	struct pareto_point point = {0};
	uint32_t option = 0, table;
	int rc = near && sums ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK) {
		option = guess_option(e, node, sums, sums + e->g->nodes[node].options);
		rc = pareto_record(e->work->arena,
		                   (struct pareto_step){0, 0, (uint16_t)node, (uint16_t)option}, &point.back);
	}
	if (rc == SB_OK)
		rc = tables_add(&e->tables, TABLE_SETS, NULL, 0, &table);
	if (rc == SB_OK)
		rc = tables_append(&e->tables, table, 0, &point, 1);
	for (size_t i = 0; rc == SB_OK && i < e->tables.of[node].count; i++)
		rc = slice(e, e->tables.of[node].tables[i], node, option);
	order_remove(&e->order, node);
	for (int64_t i = 0; rc == SB_OK && i < count; i++)
		weigh(e, near[i]);
	e->guessed++;
	free(near);
	free(sums);
	return rc == SB_OK && e->work->left < 0 ? SB_ELIMIT : rc;
}

/* What is left are tables over nothing, one a part of the graph that was never joined. */
static int finish(struct elimination *e, struct pareto_set *out)
{
	struct pareto_point nothing = {0};
	int rc = pareto_set_reserve(out, 1);

	if (rc != SB_OK)
		return rc;
	out->points[0] = nothing;
	out->count = 1;
	for (size_t i = 0; rc == SB_OK && i < e->tables.count; i++) {
		const struct table *x = &e->tables.items[i];
		struct pareto_set product = {0};

		if (x->gone)
			continue;
		rc = pareto_product(e->work, out->points, out->count, x->points, x->start[1], &product);
		pareto_set_free(out);
		*out = product;
	}
	return rc;
}

int eliminate(const struct option_graph *g, struct pareto_work *work, struct pareto_set *out,
              int64_t *out_guessed)
{
	struct elimination e = {.g = g, .work = work};
	int rc = tables_open(&e.tables, g);

	if (rc == SB_OK)
		rc = order_open(&e.order, g->node_count);
	for (int64_t n = 0; rc == SB_OK && n < g->node_count; n++)
		weigh(&e, n);
	while (rc == SB_OK && e.order.left > 0) {
		int64_t node = order_first(&e.order);

		if (isinf(order_cost(&e.order, node)))
			rc = guess(&e, order_busiest(&e.order));
		else
			rc = eliminate_node(&e, node);
		if (rc == SB_OK)
			rc = sb_watch_rc(g->watch);
	}
	if (rc == SB_OK)
		rc = finish(&e, out);
	*out_guessed = e.guessed;
	close_all(&e);
	return rc;
}
