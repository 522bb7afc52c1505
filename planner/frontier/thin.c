#include "planner/frontier/thin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of a thinned graph beyond which it is not worth its copy. */
#define VALUES_MAX ((size_t)1 << 22)
#define ROUNDS 3 /* what is dropped lets neighbours drop more */

struct thinner {
	const struct option_graph *g;
	struct thin_graph *out;
	int64_t *count;            /* [nodes]: options that are left */
	int64_t *first, *incident; /* the edges of node n: incident[first[n] .. first[n + 1]] */
	double left;
};

static void thinner_free(struct thinner *t)
{
	free(t->count);
	free(t->first);
	free(t->incident);
}

void thin_free(struct thin_graph *t)
{
	/* (of a copy that was begun only, what is not there yet is NULL) */
	for (int64_t n = 0; t->left && n < t->graph.node_count; n++)
		free(t->left[n]);
	free(t->left);
	free(t->nodes);
	free(t->edges);
	free(t->values);
	*t = (struct thin_graph){0};
}

static int open_thinner(struct thinner *t)
{
	const struct option_graph *g = t->g;
	size_t nodes = (size_t)g->node_count, edges = (size_t)g->edge_count;
	int64_t *next;

	t->out->graph = *g;
	t->out->left = calloc(nodes, sizeof(*t->out->left));
	t->count = calloc(nodes, sizeof(*t->count));
	t->first = calloc(nodes + 2, sizeof(*t->first));
	t->incident = calloc(2 * edges + 1, sizeof(*t->incident));
	if (!t->out->left || !t->count || !t->first || !t->incident)
		return SB_ENOMEM;
	for (int64_t n = 0; n < g->node_count; n++) {
		t->count[n] = g->nodes[n].options;
		t->out->left[n] = calloc((size_t)t->count[n], sizeof(**t->out->left));
		if (!t->out->left[n])
			return SB_ENOMEM;
		for (int64_t o = 0; o < t->count[n]; o++)
			t->out->left[n][o] = (uint16_t)o;
	}
	/* counts one place further on: the last step moves each start to where it belongs */
	next = t->first + 1;
	for (int64_t k = 0; k < g->edge_count; k++) {
		next[g->edges[k].from + 1]++;
		next[g->edges[k].to + 1]++;
	}
	for (size_t n = 0; n < nodes; n++)
		next[n + 1] += next[n];
	for (int64_t k = 0; k < g->edge_count; k++) {
		t->incident[next[g->edges[k].from]++] = k;
		t->incident[next[g->edges[k].to]++] = k;
	}
	return SB_OK;
}

/* What b takes more than a at the least: 0 for two that are never taken. */
static double more(double a, double b)
{
	return isinf(a) ? (isinf(b) ? INFINITY : -INFINITY) : b - a;
}

/* How much less than `drop` an option takes on an edge, whatever the other end chooses. */
static void gain_on_edge(struct thinner *t, const struct option_edge *e, int64_t node, uint16_t keep,
                         uint16_t drop, double *io_time, double *io_memory)
{
	int64_t other = e->from == node ? e->to : e->from;
	size_t step = (size_t)t->g->nodes[e->to].options;
	double time = INFINITY, memory = e->memory ? INFINITY : 0;

	for (int64_t i = 0; i < t->count[other]; i++) {
		size_t o = t->out->left[other][i];
		size_t a = e->from == node ? keep * step + o : o * step + keep;
		size_t b = e->from == node ? drop * step + o : o * step + drop;

		if (isinf(e->time[b]))
			continue;
		time = fmin(time, more(e->time[a], e->time[b]));
		if (e->memory)
			memory = fmin(memory, e->memory[b] - e->memory[a]);
	}
	t->left -= (double)t->count[other];
	*io_time += time;
	*io_memory += memory;
}

/* Is a plan with `keep` never worse than the same plan with `drop`? */
static bool replaces(struct thinner *t, int64_t node, uint16_t keep, uint16_t drop)
{
	const struct option_node *n = &t->g->nodes[node];
	double time = more(n->time[keep], n->time[drop]);
	double memory = n->memory ? n->memory[drop] - n->memory[keep] : 0;

	if (isinf(n->time[drop]))
		return true;
	for (int64_t i = t->first[node]; i < t->first[node + 1] && time > -INFINITY; i++) {
		const struct option_edge *e = &t->g->edges[t->incident[i]];

		if (e->from == e->to)
			return false;
		gain_on_edge(t, e, node, keep, drop, &time, &memory);
	}
	return time >= 0 && memory >= 0;
}

static bool thin_node(struct thinner *t, int64_t node)
{
	uint16_t *left = t->out->left[node];
	int64_t before = t->count[node];

	for (int64_t d = before - 1; d >= 0 && t->left > 0 && !sb_stopped(t->g->watch); d--) {
		bool gone = false;

		for (int64_t k = 0; !gone && k < t->count[node] && t->count[node] > 1; k++)
			gone = k != d && replaces(t, node, left[k], left[d]);
		if (!gone)
			continue;
		memmove(&left[d], &left[d + 1], (size_t)(t->count[node] - 1 - d) * sizeof(*left));
		t->count[node]--;
	}
	return t->count[node] < before;
}

static size_t values_of(const struct thinner *t)
{
	size_t values = 0;

	for (int64_t n = 0; n < t->g->node_count; n++)
		values += 2 * (size_t)t->count[n];
	for (int64_t k = 0; k < t->g->edge_count; k++) {
		const struct option_edge *e = &t->g->edges[k];

		values += 2 * (size_t)t->count[e->from] * (size_t)t->count[e->to];
	}
	return values;
}

/* The values of a node or an edge (rows and columns by what is left of either), copied to *io_to. */
static const double *copy_values(const double *from, const uint16_t *rows, int64_t row_count, size_t step,
                                 const uint16_t *columns, int64_t column_count, double **io_to)
{
	double *to = *io_to;

	if (!from)
		return NULL;
	for (int64_t i = 0; i < row_count; i++) {
		for (int64_t j = 0; j < column_count; j++)
			*(*io_to)++ = from[(rows ? rows[i] * step : 0) + columns[j]];
	}
	return to;
}

static int copy_graph(struct thinner *t)
{
	const struct option_graph *g = t->g;
	struct thin_graph *x = t->out;
	double *to;

	x->nodes = calloc((size_t)g->node_count, sizeof(*x->nodes));
	x->edges = calloc((size_t)g->edge_count + 1, sizeof(*x->edges));
	x->values = to = calloc(values_of(t), sizeof(*x->values));
	if (!x->nodes || !x->edges || !x->values)
		return SB_ENOMEM;
	for (int64_t n = 0; n < g->node_count; n++) {
		const struct option_node *from = &g->nodes[n];

		x->nodes[n].options = t->count[n];
		x->nodes[n].time = copy_values(from->time, NULL, 1, 0, x->left[n], t->count[n], &to);
		x->nodes[n].memory = copy_values(from->memory, NULL, 1, 0, x->left[n], t->count[n], &to);
	}
	for (int64_t k = 0; k < g->edge_count; k++) {
		const struct option_edge *e = &g->edges[k];
		const uint16_t *rows = x->left[e->from], *columns = x->left[e->to];
		size_t step = (size_t)g->nodes[e->to].options;

		x->edges[k] = (struct option_edge){
		    e->from, e->to,
		    copy_values(e->time, rows, t->count[e->from], step, columns, t->count[e->to], &to),
		    copy_values(e->memory, rows, t->count[e->from], step, columns, t->count[e->to], &to)};
	}
	x->graph.nodes = x->nodes;
	x->graph.edges = x->edges;
	return SB_OK;
}

int thin_graph(const struct option_graph *g, double work, struct thin_graph *out)
{
	struct thinner t __attribute__((cleanup(thinner_free))) = {.g = g, .out = out, .left = work};
	bool any = true;
	int rc;

	*out = (struct thin_graph){0};
	rc = open_thinner(&t);
	for (int round = 0; rc == SB_OK && any && round < ROUNDS; round++) {
		any = false;
		for (int64_t n = 0; n < g->node_count && t.left > 0; n++)
			any = thin_node(&t, n) || any;
	}
	if (rc != SB_OK || values_of(&t) <= VALUES_MAX)
		return rc == SB_OK ? copy_graph(&t) : rc;
	thin_free(out);
	out->graph = *g;
	return SB_OK;
}
