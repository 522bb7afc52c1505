#ifndef SB_PROFILER_LAYERS_RANK_H
#define SB_PROFILER_LAYERS_RANK_H
#include "profiler/layers/cut.h"

/* The layers of one rank, with all that was measured of them. */

/* Measurements; the median counts. */
struct samples {
	double *items;
	size_t count;
};
int samples_add(struct samples *s, double value);
/* NaN without any. Sorts them. */
double samples_median(struct samples *s);
/* Leaves the largest one of so many. */
void samples_keep_upper(struct samples *s, int64_t of);
void samples_join(struct samples *to, struct samples *from, int *rc);

/* Layers of one type that follow one another. */
struct rank_row {
	uint64_t type;
	uint32_t name; /* text id of the set given; 0 = not told */
	int64_t count, operators;
	int64_t each; /* layers that one of them holds: more than 1 where types alternate */
	bool repeats;
	struct samples forward, backward, activation;
};
struct rank_layers {
	struct rank_row *rows;
	size_t count;
	size_t layers; /* of all rows */
	struct samples head_forward, head_backward, tail_forward, tail_backward, micro_batches;
	int64_t chunks; /* that the stage holds, as far as head or tail tell it; 1 = one */
	int64_t stage, ranks, first_rank;
	uint64_t signature; /* of all rows */
	bool named, exchanges;
	bool unmatched, no_backward, open, differ;
};

/* The layers of one capture. count 0 = none. *out is to be freed by rank_layers_free() also after a failure.
 * SB_ENOMEM, SB_ELIMIT. */
int rank_layers_find(const struct profile *p, uint32_t capture, struct sb_strings *texts,
                     struct rank_layers *out);
/* Adds what was measured of the same layers on another rank, which is empty then. */
int rank_layers_join(struct rank_layers *to, struct rank_layers *from);
void rank_layers_free(struct rank_layers *r);

/* ---- chunks.c ---- */

/* How many chunks of the model an interleaved pipeline gave the rank, where head or tail tell it: 1 on stages
 * in the middle. signature: of the forward passes. SB_ENOMEM. */
int layer_chunks_find(const struct layer_ops *o, const double *seconds, const struct layer_cut *cut,
                      uint64_t signature, int64_t *out);

/* ---- stages.c ---- */

/* The stage of each capture, from who sends first to whom; SB_NULL for all where that does not tell. out: one
 * a capture. SB_ENOMEM, SB_ELIMIT. */
int layer_stages_find(const struct profile *p, int64_t *out);
#endif
