#include "planner/frontier/eliminate.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/frontier/order.h"
#include "planner/frontier/tables.h"

/* What writing a step costs, in points gone through. */
#define JOIN_WORK 4

/* A table of the node that is being eliminated, at the neighbours' options of the moment. */
struct used {
	uint32_t table;
	size_t base, step; /* cell of the node's option o: base + o x step */
	int64_t
	    place[ELIMINATE_NEIGHBOURS_MAX]; /* of the table's nodes among the neighbours; -1 = the node */
};

struct elimination {
	const struct option_graph *g;
	const struct eliminate_aim *aim;
	struct pareto_work *work;
	struct tables tables;
	struct order order; /* nodes that are left, the cheapest to eliminate first */
	int64_t guessed;
	struct used *used;
	size_t used_count;
	struct pareto_set cell, product[2];
	struct pareto_point single; /* a product of sets of one point */
};

static void close_all(struct elimination *e)
{
	tables_free(&e->tables);
	order_free(&e->order);
	free(e->used);
	pareto_set_free(&e->cell);
	pareto_set_free(&e->product[0]);
	pareto_set_free(&e->product[1]);
}

/* Points that eliminating a node goes through at the least, were all sets of one point. */
static void weigh(struct elimination *e, int64_t node)
{
	uint16_t near[ELIMINATE_NEIGHBOURS_MAX];
	int64_t count = tables_neighbours(&e->tables, node, near, ELIMINATE_NEIGHBOURS_MAX);
	double cells = 1;

	for (int64_t i = 0; i < count && i < ELIMINATE_NEIGHBOURS_MAX; i++)
		cells *= (double)e->g->nodes[near[i]].options;
	if (count > ELIMINATE_NEIGHBOURS_MAX || cells > ELIMINATE_CELLS_MAX)
		cells = INFINITY;
	order_set(&e->order, node, cells * (double)e->g->nodes[node].options, count);
}

/* The tables that hold a node, each with its place among the neighbours. */
static int collect(struct elimination *e, int64_t node, const uint16_t *near, int64_t near_count)
{
	const struct table_list *l = &e->tables.of[node];

	free(e->used);
	e->used_count = l->count;
	e->used = calloc(l->count + 1, sizeof(*e->used));
	if (!e->used)
		return SB_ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		const struct table *x = &e->tables.items[l->tables[i]];
		struct used *u = &e->used[i];

		u->table = l->tables[i];
		for (int64_t k = 0; k < x->node_count; k++) {
			u->place[k] = -1;
			if (x->nodes[k] == node)
				u->step = x->stride[k];
			for (int64_t n = 0; n < near_count; n++)
				if (near[n] == x->nodes[k])
					u->place[k] = n;
		}
	}
	return SB_OK;
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
static int multiply(struct elimination *e, uint32_t option, struct pareto_point *by,
                    const struct pareto_point **out, size_t *out_count)
{
	static const struct pareto_point nothing;
	int turn = 0, rc = SB_OK;

	*by = (struct pareto_point){.option = option};
	*out = &nothing;
	*out_count = 1;
	for (size_t i = 0; rc == SB_OK && i < e->used_count; i++) {
		const struct used *u = &e->used[i];
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

/* Whether a point is better than another for a weighted aim. */
static bool better(const struct eliminate_aim *aim, const struct pareto_point *a,
                   const struct pareto_point *b)
{
	double x = aim->memory * a->memory + aim->time * a->time;
	double y = aim->memory * b->memory + aim->time * b->time;

	if (x != y)
		return x < y;
	return a->memory != b->memory ? a->memory < b->memory : a->time < b->time;
}

/* The set of the cell at which the used tables stand: the union over the node's options. */
static int fill_cell(struct elimination *e, int64_t node)
{
	int rc = pareto_set_reserve(&e->cell, 1);

	e->cell.count = 0;
	for (uint32_t o = 0; rc == SB_OK && o < (uint32_t)e->g->nodes[node].options; o++) {
		const struct pareto_point *set;
		struct pareto_point by;
		size_t n;

		rc = pareto_spend(e->work, (double)e->used_count);
		if (rc == SB_OK)
			rc = multiply(e, o, &by, &set, &n);
		if (rc != SB_OK || n == 0)
			continue;
		if (e->aim->weighted) {
			by.memory += set->memory;
			by.time += set->time;
			by.back = set->back;
			if (e->cell.count == 0 || better(e->aim, &by, &e->cell.points[0]))
				e->cell.points[0] = by;
			e->cell.count = 1;
		} else {
			rc = pareto_add(e->work, &e->cell, set, n, &by);
		}
	}
	if (rc == SB_OK)
		rc = pareto_spend(e->work, JOIN_WORK * (double)e->cell.count);
	for (size_t i = 0; rc == SB_OK && i < e->cell.count; i++) {
		struct pareto_point *p = &e->cell.points[i];
		struct pareto_step step = {p->back, 0, (uint16_t)node, (uint16_t)p->option};

		rc = pareto_record(e->work->arena, step, &p->back);
		p->option = 0;
	}
	return rc;
}

static void place_tables(struct elimination *e, const int64_t *at)
{
	for (size_t i = 0; i < e->used_count; i++) {
		struct used *u = &e->used[i];
		const struct table *x = &e->tables.items[u->table];

		u->base = 0;
		for (int64_t k = 0; k < x->node_count; k++)
			if (u->place[k] >= 0)
				u->base += x->stride[k] * (size_t)at[u->place[k]];
	}
}

/* To the next options of the neighbours; the last one turns fastest, as the cells of a table lie. */
static void turn(const struct option_graph *g, const uint16_t *near, int64_t count, int64_t *at)
{
	for (int64_t i = count - 1; i >= 0; i--) {
		if (++at[i] < g->nodes[near[i]].options)
			return;
		at[i] = 0;
	}
}

static int eliminate_node(struct elimination *e, int64_t node)
{
	uint16_t near[ELIMINATE_NEIGHBOURS_MAX];
	int64_t at[ELIMINATE_NEIGHBOURS_MAX] = {0};
	int64_t count = tables_neighbours(&e->tables, node, near, ELIMINATE_NEIGHBOURS_MAX);
	uint32_t table = 0;
	int rc = collect(e, node, near, count);

	if (rc == SB_OK)
		rc = tables_add(&e->tables, near, count, &table);
	for (size_t cell = 0; rc == SB_OK && cell < e->tables.items[table].cells; cell++) {
		place_tables(e, at);
		rc = fill_cell(e, node);
		if (rc == SB_OK)
			rc = tables_append(&e->tables, table, cell, e->cell.points, e->cell.count);
		turn(e->g, near, count, at);
	}
	for (size_t i = 0; i < e->used_count; i++)
		tables_drop(&e->tables, e->used[i].table);
	order_remove(&e->order, node);
	for (int64_t i = 0; rc == SB_OK && i < count; i++)
		weigh(e, near[i]);
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
		size_t k = 0;

		while (x->nodes[k] != node)
			k++;
		for (size_t o = 0; o < options; o++)
			low[o] = INFINITY;
		for (size_t c = 0; c < x->cells; c++) {
			struct pareto_point room;
			size_t n, o = c / x->stride[k] % options;
			const struct pareto_point *p = tables_cell(&e->tables, x, c, &room, &n);

			if (n > 0)
				low[o] = fmin(low[o], e->aim->memory * p[n - 1].memory +
				                          e->aim->time * p[n - 1].time);
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
	int64_t count = 0;
	size_t cell = 0, cells = e->tables.items[from].cells, stride = 0;
	uint32_t to;
	int rc;

	for (int64_t k = 0; k < e->tables.items[from].node_count; k++) {
		if (e->tables.items[from].nodes[k] == node)
			stride = e->tables.items[from].stride[k];
		else
			rest[count++] = e->tables.items[from].nodes[k];
	}
	rc = tables_add(&e->tables, rest, count, &to);
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
		rc = tables_add(&e->tables, NULL, 0, &table);
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

int eliminate(const struct option_graph *g, const struct eliminate_aim *aim, struct pareto_work *work,
              struct pareto_set *out, int64_t *out_guessed)
{
	struct elimination e = {.g = g, .aim = aim, .work = work};
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
