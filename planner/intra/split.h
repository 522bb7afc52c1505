#ifndef SB_PLANNER_INTRA_SPLIT_H
#define SB_PLANNER_INTRA_SPLIT_H
#include "planner/cost/compute.h"

/* How an operator can be split over the devices of a cluster: at each level of the network, so many parts of
 * its rows, columns and contraction; the rest are copies (search-algorithms.md 4, TAPS). Devices of one level
 * are alike, so that counts at each level say all: which links a collective uses follows from them. */

#define SPLIT_OPTIONS_MAX 256

/* A product (rows x contraction) x (contraction x columns) with a weight, or, with contraction 0, work on
 * each element of (rows x columns). A dimension is split into parts that divide its units: whole sequences,
 * heads. */
struct split_operator {
	int64_t rows, columns, contraction;
	int64_t row_units, column_units;
	double flops; /* of work without a weight, forward, beside touching each element */
};

/* The devices, level by level, and what is computed on them. */
struct split_mesh {
	struct cost_problem cost;  /* cluster, constants and network; no model */
	int64_t size[LINK_SCOPES]; /* domains of the level below in one domain */
	int64_t element_bytes;
	bool training; /* backward, gradients and the optimizer's state count too */
};
/* The mesh of a cluster. */
struct split_mesh split_mesh_of(const struct cluster *c, const struct constants *k);

enum split_dimension { SPLIT_ROWS, SPLIT_COLUMNS, SPLIT_CONTRACTION, SPLIT_DIMENSIONS };
/* Parts of each dimension at each level. */
struct split {
	int64_t parts[SPLIT_DIMENSIONS][LINK_SCOPES];
};
/* All ways to split an operator; returns how many there are, of which the first SPLIT_OPTIONS_MAX are
 * written. */
int64_t split_options(const struct split_operator *o, const struct split_mesh *m, struct split *out);

struct split_cost {
	double seconds; /* of communication, over the links that it goes over */
	double bytes;   /* that a device sends, over whichever links */
	double compute; /* seconds */
	double memory; /* bytes of a device: weights with their state, and the output kept for the backward */
};
/* An operator: partial sums are reduced at once; with training, those of the input's gradient and, over the
 * copies of a weight, of its gradient too. */
struct split_cost split_operator_cost(const struct split_operator *o, const struct split_mesh *m,
                                      const struct split *s);
/* Changing the output of `from` for the input of `to`: what is split on is taken as a part for free, what is
 * split elsewhere goes all to all, the rest is gathered; with training its gradient goes back. */
struct split_cost split_change_cost(const struct split_operator *from, const struct split_mesh *m,
                                    const struct split *a, const struct split_operator *to,
                                    const struct split *b);
/* Whether the devices of more than one domain of the innermost level take part in splitting a dimension. */
bool split_spans(const struct split *s, enum split_dimension d);
#endif
