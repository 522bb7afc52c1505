#include "planner/frontier/weighted.h"

#include <math.h>
#include <stdlib.h>

#include "planner/frontier/bucket.h"

#define CHOICES_MAX ((size_t)1 << 25) /* 64 MiB */
#define WORK_MAX 1e15                 /* exactly counted, and never done */

/* What was decided of a node: its option for each choice of its neighbours', or one for all by guess. */
struct decision {
	uint16_t node, near[ELIMINATE_NEIGHBOURS_MAX], guess;
	int64_t near_count;
	uint16_t *option; /* [cells]; NULL: the guess */
};

struct weighted {
	const struct option_graph *g;
	const struct weighted_sum *sum;
	struct pareto_work *work;
	bool dry; /* only the work is asked for */
	struct tables tables;
	struct order order;
	struct decision *decisions; /* the first eliminated first */
	int64_t decided, guessed;
	size_t choices;
	double time[OPTIONS_MAX], memory[OPTIONS_MAX]; /* of each option of the node, at one cell */
};

static void weighted_free(struct weighted *w)
{
	for (int64_t i = 0; i < w->decided; i++)
		free(w->decisions[i].option);
	free(w->decisions);
	tables_free(&w->tables);
	order_free(&w->order);
	free(w);
}

static void add_table(struct weighted *w, const struct bucket_table *u, size_t options)
{
	const struct table *x = &w->tables.items[u->table];
	const double *time = x->time + u->base;
	/* (what was made here is rounded already) */
	bool rounds = w->g->memory_step > 0 && !x->values;

	for (size_t o = 0; o < options; o++)
		w->time[o] += time[o * u->step];
	for (size_t o = 0; x->memory && !rounds && o < options; o++)
		w->memory[o] += x->memory[u->base + o * u->step];
	for (size_t o = 0; x->memory && rounds && o < options; o++)
		w->memory[o] += option_memory(w->g, x->memory, u->base + o * u->step);
}

/* Whether option o is better than the best so far: not one that can never be. */
static bool better(const struct weighted *w, size_t o, size_t best, double value, double least)
{
	if (value != least)
		return value < least;
	if (w->memory[o] != w->memory[best])
		return w->memory[o] < w->memory[best];
	return w->time[o] < w->time[best];
}

/* The best option at the cell where the bucket stands; its point into the table's cell. */
static uint16_t fill_cell(struct weighted *w, const struct bucket *b, struct table *x, size_t cell)
{
	size_t options = (size_t)w->g->nodes[b->node].options, best = 0;
	double least = INFINITY;

	for (size_t o = 0; o < options; o++)
		w->time[o] = w->memory[o] = 0;
	for (size_t i = 0; i < b->count; i++)
		add_table(w, &b->tables[i], options);
	for (size_t o = 0; o < options; o++) {
		double value = w->sum->memory * w->memory[o] + w->sum->time * w->time[o];

		if (isinf(w->time[o]) || !better(w, o, best, value, least))
			continue;
		best = o;
		least = value;
	}
	x->values[cell] = isinf(least) ? INFINITY : w->time[best];
	x->values[x->cells + cell] = isinf(least) ? 0 : w->memory[best];
	return (uint16_t)best;
}

static int fill_table(struct weighted *w, struct bucket *b, struct table *x, struct decision *d)
{
	double each = (double)b->count * (double)w->g->nodes[b->node].options;
	int rc = SB_OK;

	d->option = malloc(x->cells * sizeof(*d->option));
	if (!d->option)
		return SB_ENOMEM;
	for (size_t cell = 0; rc == SB_OK && cell < x->cells; cell++) {
		rc = pareto_spend(w->work, each);
		d->option[cell] = fill_cell(w, b, x, cell);
		bucket_next(b);
	}
	return rc;
}

/* The node is gone: its neighbours cost other work. */
static void leave(struct weighted *w, int64_t node, const uint16_t *near, int64_t count)
{
	order_remove(&w->order, node);
	for (int64_t i = 0; i < count; i++)
		bucket_weigh(&w->tables, &w->order, near[i], w->sum->cells_most);
}

static int eliminate_node(struct weighted *w, int64_t node)
{
	struct decision *d = &w->decisions[w->decided++];
	BUCKET_AUTO b;
	uint32_t table = 0;
	struct table *x;
	int rc = bucket_open(&b, &w->tables, node);

	if (rc == SB_OK)
		rc =
		    tables_add(&w->tables, w->dry ? TABLE_SHAPE : TABLE_POINTS, b.near, b.near_count, &table);
	if (rc != SB_OK)
		return rc;
	*d = (struct decision){.node = (uint16_t)node, .near_count = b.near_count};
	for (int64_t i = 0; i < b.near_count; i++)
		d->near[i] = b.near[i];
	x = &w->tables.items[table];
	w->choices += x->cells;
	if (w->choices > CHOICES_MAX)
		return SB_ELIMIT;
	if (w->dry)
		rc = pareto_spend(w->work,
		                  (double)x->cells * (double)b.count * (double)w->g->nodes[node].options);
	else
		rc = fill_table(w, &b, x, d);
	for (size_t i = 0; i < b.count; i++)
		tables_drop(&w->tables, b.tables[i].table);
	leave(w, node, b.near, b.near_count);
	return rc;
}

static double cell_memory(const struct weighted *w, const struct table *x, size_t cell)
{
	return x->values ? x->memory[cell] : option_memory(w->g, x->memory, cell);
}

/* The option that is best when each neighbour goes along, of one table: into time, as weighted sums. */
static void add_least(struct weighted *w, const struct table *x, int64_t node)
{
	size_t options = (size_t)w->g->nodes[node].options, stride = tables_stride(x, node);

	for (size_t o = 0; o < options; o++)
		w->memory[o] = INFINITY;
	for (size_t c = 0; c < x->cells; c++) {
		size_t o = c / stride % options;

		if (!isinf(x->time[c]))
			w->memory[o] = fmin(w->memory[o], w->sum->memory * cell_memory(w, x, c) +
			                                      w->sum->time * x->time[c]);
	}
	for (size_t o = 0; o < options; o++)
		w->time[o] += w->memory[o];
}

/* One table without the node, at its option. */
static int slice(struct weighted *w, uint32_t from, int64_t node, uint16_t option)
{
	uint16_t rest[ELIMINATE_NEIGHBOURS_MAX];
	int64_t count = tables_rest(&w->tables.items[from], node, rest);
	size_t options = (size_t)w->g->nodes[node].options, cell = 0;
	uint32_t to;
	int rc = tables_add(&w->tables, w->dry ? TABLE_SHAPE : TABLE_POINTS, rest, count, &to);
	const struct table *x = &w->tables.items[from];
	size_t stride = tables_stride(x, node);

	for (size_t c = 0; rc == SB_OK && !w->dry && c < x->cells; c++) {
		struct table *y = &w->tables.items[to];

		if (c / stride % options != option)
			continue;
		y->values[cell] = x->time[c];
		y->values[y->cells + cell++] = cell_memory(w, x, c);
	}
	tables_drop(&w->tables, from);
	return rc;
}

/* Settles a node that is too much to eliminate. */
static int guess(struct weighted *w, int64_t node)
{
	const struct table_list *l = &w->tables.of[node];
	uint16_t *near = calloc((size_t)w->g->node_count, sizeof(*near));
	int64_t count = near ? tables_neighbours(&w->tables, node, near, w->g->node_count) : 0;
	uint16_t best = 0;
	int rc = near ? SB_OK : SB_ENOMEM;

	for (int64_t o = 0; o < w->g->nodes[node].options; o++)
		w->time[o] = 0;
	for (size_t i = 0; rc == SB_OK && i < l->count; i++) {
		const struct table *x = &w->tables.items[l->tables[i]];

		rc = pareto_spend(w->work, (double)x->cells);
		if (rc == SB_OK && !w->dry)
			add_least(w, x, node);
	}
	for (uint16_t o = 1; o < w->g->nodes[node].options; o++)
		if (w->time[o] < w->time[best])
			best = o;
	w->decisions[w->decided++] = (struct decision){.node = (uint16_t)node, .guess = best};
	for (size_t i = 0; rc == SB_OK && i < l->count; i++)
		rc = slice(w, l->tables[i], node, best);
	leave(w, node, near, count);
	w->guessed++;
	free(near);
	return rc;
}

static int eliminate_all(struct weighted *w)
{
	int rc = tables_open(&w->tables, w->g);

	if (rc == SB_OK)
		rc = order_open(&w->order, w->g->node_count);
	w->decisions = calloc((size_t)w->g->node_count + 1, sizeof(*w->decisions));
	if (rc != SB_OK || !w->decisions)
		return SB_ENOMEM;
	for (int64_t n = 0; n < w->g->node_count; n++)
		bucket_weigh(&w->tables, &w->order, n, w->sum->cells_most);
	while (rc == SB_OK && w->order.left > 0) {
		int64_t node = order_first(&w->order);

		if (isinf(order_cost(&w->order, node)))
			rc = guess(w, order_busiest(&w->order));
		else
			rc = eliminate_node(w, node);
		if (rc == SB_OK)
			rc = sb_watch_rc(w->g->watch);
	}
	return rc;
}

/* What is left are tables over nothing, one a part of the graph that was never joined; the options follow
 * from them backwards. */
static void settle(const struct weighted *w, uint16_t *options, struct weighted_plan *out)
{
	*out = (struct weighted_plan){.guessed = w->guessed};
	for (size_t i = 0; i < w->tables.count; i++) {
		const struct table *x = &w->tables.items[i];

		if (x->gone)
			continue;
		out->time += x->time[0];
		out->memory += x->memory[0];
	}
	for (int64_t i = w->decided - 1; i >= 0; i--) {
		const struct decision *d = &w->decisions[i];
		size_t cell = 0;

		for (int64_t k = 0; k < d->near_count; k++)
			cell = cell * (size_t)w->g->nodes[d->near[k]].options + options[d->near[k]];
		options[d->node] = d->option ? d->option[cell] : d->guess;
	}
}

static int solve(const struct option_graph *g, const struct weighted_sum *sum, struct pareto_work *work,
                 uint16_t *options, struct weighted_plan *out)
{
	struct weighted *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return SB_ENOMEM;
	w->g = g;
	w->sum = sum;
	w->work = work;
	w->dry = !options;
	rc = eliminate_all(w);
	if (rc == SB_OK && options)
		settle(w, options, out);
	weighted_free(w);
	return rc;
}

int weighted_least(const struct option_graph *g, const struct weighted_sum *sum, struct pareto_work *work,
                   uint16_t *options, struct weighted_plan *out)
{
	return solve(g, sum, work, options, out);
}

int weighted_work(const struct option_graph *g, double cells_most, double *out)
{
	const struct weighted_sum sum = {.cells_most = cells_most};
	struct pareto_work work = {.left = WORK_MAX, .watch = g->watch};
	int rc = solve(g, &sum, &work, NULL, NULL);

	*out = rc == SB_ELIMIT ? INFINITY : WORK_MAX - work.left;
	return rc == SB_ELIMIT ? SB_OK : rc;
}
