#ifndef SB_PLANNER_INTRA_OASES_H
#define SB_PLANNER_INTRA_OASES_H
#include "planner/frontier/option_graph.h"

/* Oases: which tensor degree each attention and each MLP block has, when the batch runs in two halves and one
 * half's communication under the other half's compute (systems.md 3.1; the published cost, S. Li et al., TPDS
 * 36(9), 2025). A chain of two nodes a layer; seconds of one step without the optimizer, bytes of a device.
 */

#define OASES_DEGREES_MAX 21
#define OASES_LAYERS_MAX (OPTION_NODES_MAX / 2)

/* How a step is run; all recompute the forward in the backward. */
enum oases_schedule {
	OASES_DEFAULT,    /* nothing overlaps, and recomputing communicates again */
	OASES_OPTIM_COMM, /* outputs of collectives are kept: recomputing does not communicate */
	OASES_OVERLAP,    /* halves overlap; recomputing communicates, under the other half too */
	OASES_FULL,       /* halves overlap, and recomputing does not communicate */
	OASES_SCHEDULES
};
extern const char *const oases_schedule_words[];

/* What one degree takes, measured at half of its local batch. */
struct oases_degree {
	int64_t degree, sequences;      /* sequences: its whole local batch */
	double forward[2], backward[2]; /* of an attention block, of an MLP block */
	double communication;           /* of either, one collective */
	double bytes[2];                /* weights with their state, and what is kept, of a block */
	double extra[2];                /* seconds that a block adds to a step beside that */
	double first_seconds, last_seconds, first_bytes; /* of what stands before and after the layers */
	double runtime_bytes; /* beside weights and activations, at the whole local batch */
};
struct oases_problem {
	int64_t layers;
	/* The published cost leaves out what the first block recomputes, and takes the last one for an
	 * attention block; else each block counts once. */
	bool published;
	const struct oases_degree *degrees; /* ascending */
	int64_t degree_count;
	enum oases_schedule schedule;
};

struct oases_graph {
	struct option_graph graph; /* option = place in degrees */
	struct option_node *nodes;
	struct option_edge *edges;
	double time[4][OASES_DEGREES_MAX], memory[4][OASES_DEGREES_MAX];
	double edge[2][OASES_DEGREES_MAX * OASES_DEGREES_MAX];
};
/* Sets the bytes of a degree as published: three tensors of 32 bits kept, 20 bytes a parameter. */
void oases_published_bytes(int64_t hidden, int64_t sequence, struct oases_degree *io);
/* The problem as a chain; it keeps no pointer to the problem, but must not be moved. SB_ENOMEM. */
int oases_graph_open(const struct oases_problem *p, struct oases_graph *out);
void oases_graph_free(struct oases_graph *g);
#define OASES_GRAPH_AUTO __attribute__((cleanup(oases_graph_free))) struct oases_graph

/* What the published run time can run: two degrees, the layers before `cut` at the first. The fastest one
 * within the memory. cut = layers: one degree only. SB_EINFEASIBLE: none fits; SB_ENOMEM. */
struct oases_cut {
	int64_t first, second; /* places in degrees */
	int64_t cut;
	double time, memory;
};
int oases_best_cut(const struct oases_graph *g, double memory, struct oases_cut *out);
#endif
