#include "planner/intra/oases.h"

#include <math.h>
#include <stdlib.h>

const char *const oases_schedule_words[] = {"default_checkpoint", "optim_comm_checkpoint",
                                            "overlap_checkpoint", "oases", NULL};

enum { FIRST, ATTENTION, MLP, LAST };

/* The forward of one half with a collective of the other, and the backward with what it recomputes. */
static double forward(enum oases_schedule s, double compute, double communication)
{
	return s >= OASES_OVERLAP ? fmax(compute, communication) : compute + communication;
}

static double backward(enum oases_schedule s, double again, double compute, double communication)
{
	switch (s) {
	case OASES_DEFAULT: return again + compute + 2 * communication;
	case OASES_OPTIM_COMM: return again + compute + communication;
	case OASES_OVERLAP: return fmax(again, communication) + fmax(compute, communication);
	default: return fmax(again + compute, communication);
	}
}

static double both(enum oases_schedule s, const struct oases_degree *d, int kind)
{
	return forward(s, d->forward[kind], d->communication) +
	       backward(s, d->forward[kind], d->backward[kind], d->communication);
}

/* What the last collectives take that nothing runs beside. */
static double tail(enum oases_schedule s, const struct oases_degree *d)
{
	bool again = s == OASES_DEFAULT || s == OASES_OVERLAP;

	return (again ? 3 : 2) * d->communication;
}

/* From degree a to b, the node after it being of that kind: the halves gather or split their samples. */
static double change(const struct oases_degree *a, const struct oases_degree *b, int kind)
{
	double more = (double)b->degree / (double)a->degree;

	if (a->degree == b->degree)
		return 0;
	if (more > 1)
		return more * a->communication + fmin(a->communication, b->forward[kind]);
	return b->communication / more + fmin(a->communication, b->backward[kind]);
}

void oases_published_bytes(int64_t hidden, int64_t sequence, struct oases_degree *io)
{
	double h = (double)hidden, t = (double)io->degree;
	double stored = 12 * (double)io->sequences * (double)sequence * h;

	io->bytes[0] = stored + 20 * (4 * h * h / t + 6 * h);
	io->bytes[1] = stored + 20 * (8 * h * h / t + 7 * h);
}

/* What the last half's collectives take of which the overlapping counts nothing: they end the pass alone. */
static double unhidden(enum oases_schedule s, const struct oases_degree *d)
{
	return s < OASES_OVERLAP ? 0
	                         : fmin(d->forward[1], d->communication) +
	                               fmin(d->backward[0] + d->forward[0], d->communication);
}

static void fill_costs(const struct oases_problem *p, struct oases_graph *g)
{
	for (int64_t k = 0; k < p->degree_count; k++) {
		const struct oases_degree *d = &p->degrees[k];
		/* the published cost of a node counts the block after it at the node's own degree */
		double inner = both(p->schedule, d, 0) + both(p->schedule, d, 1);

		g->time[ATTENTION][k] = inner + d->extra[0];
		g->time[MLP][k] = inner + d->extra[1];
		g->time[FIRST][k] =
		    d->extra[0] + d->first_seconds + (p->published ? d->forward[0] + d->backward[0] : inner);
		g->time[LAST][k] = d->extra[1] + d->last_seconds +
		                   (p->published ? both(p->schedule, d, 0) + tail(p->schedule, d)
		                                 : inner + unhidden(p->schedule, d));
		g->memory[FIRST][k] = d->bytes[0] + d->first_bytes;
		g->memory[ATTENTION][k] = d->bytes[0];
		g->memory[MLP][k] = d->bytes[1];
		g->memory[LAST][k] = d->bytes[1] + d->runtime_bytes;
		for (int64_t i = 0; i < p->degree_count; i++)
			for (int kind = 0; kind < 2; kind++)
				g->edge[kind][i * p->degree_count + k] = change(&p->degrees[i], d, kind);
	}
}

int oases_graph_open(const struct oases_problem *p, struct oases_graph *out)
{
	int64_t n = 2 * p->layers;

	*out = (struct oases_graph){0};
	out->nodes = calloc((size_t)n, sizeof(*out->nodes));
	out->edges = calloc((size_t)n, sizeof(*out->edges));
	if (!out->nodes || !out->edges)
		return SB_ENOMEM;
	fill_costs(p, out);
	for (int64_t i = 0; i < n; i++) {
		int place = i == 0 ? FIRST : i == n - 1 ? LAST : i % 2 == 0 ? ATTENTION : MLP;

		out->nodes[i] = (struct option_node){p->degree_count, out->time[place], out->memory[place]};
		out->edges[i] = (struct option_edge){i, i + 1, out->edge[(i + 1) % 2], NULL};
	}
	out->graph = (struct option_graph){out->nodes, out->edges, n, n - 1, 0, NULL};
	return SB_OK;
}

void oases_graph_free(struct oases_graph *g)
{
	free(g->nodes);
	free(g->edges);
	*g = (struct oases_graph){0};
}

/* Sums of the first nodes, all at one degree: [degree * (nodes + 1) + nodes]. */
static void sum_up(const struct option_graph *g, double *time, double *memory)
{
	int64_t n = g->node_count;

	for (int64_t k = 0; k < g->nodes[0].options; k++) {
		double *t = time + k * (n + 1), *m = memory + k * (n + 1);

		for (int64_t i = 0; i < n; i++) {
			t[i + 1] = t[i] + g->nodes[i].time[k];
			m[i + 1] = m[i] + g->nodes[i].memory[k];
		}
	}
}

int oases_best_cut(const struct oases_graph *g, double memory, struct oases_cut *out)
{
	int64_t n = g->graph.node_count, degrees = g->nodes[0].options;
	double *time = calloc((size_t)(degrees * (n + 1)), 2 * sizeof(*time));
	double *bytes = time + degrees * (n + 1);
	struct oases_cut best = {.time = INFINITY}, c;

	if (!time)
		return SB_ENOMEM;
	sum_up(&g->graph, time, bytes);
	for (c.first = 0; c.first < degrees; c.first++) {
		for (c.second = 0; c.second < degrees; c.second++) {
			for (c.cut = 1; c.cut <= n / 2; c.cut++) {
				int64_t a = c.first * (n + 1), b = c.second * (n + 1), at = 2 * c.cut;

				if ((c.first == c.second) != (at == n))
					continue;
				c.time = time[a + at] + time[b + n] - time[b + at];
				c.memory = bytes[a + at] + bytes[b + n] - bytes[b + at];
				c.time += at < n ? g->edge[0][c.first * degrees + c.second] : 0;
				if (c.memory <= memory && c.time < best.time)
					best = c;
			}
		}
	}
	free(time);
	*out = best;
	return isinf(best.time) ? SB_EINFEASIBLE : SB_OK;
}
