#ifndef SB_PLANNER_METHODS_AMP_H
#define SB_PLANNER_METHODS_AMP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"

/* AMP's space and cost (NeurIPS 2022; research pages search-algorithms section 5 and systems 3.15), which
 * APSS takes over. Tensor degrees divide a node, data degrees the rest and the batch, micro-batches what is
 * left of the batch; the ranks lie tensor, data, pipeline, innermost first, over the nodes in their order,
 * or as amp_places.h finds it best. A step takes
 *
 *   (micro-batches - 1) x slowest stage + all layers + the sends + the slowest stage's all-reduce
 *
 * where a cut sends its activations over the slowest link of a replica, on the mean of the replicas, and an
 * all-reduce over d ranks takes 2 (d - 1) / d x parameters / the slowest link of its ring. Neither is hidden
 * under compute. Elements, not bytes: a link carries elements a second. */

struct amp_layer {
	double parameters; /* divided by the tensor degree */
	double table;      /* likewise, of an embedding: a stage counts the largest of its own only */
	double sent;       /* elements that one sequence sends behind this layer */
	bool sent_split;   /* ... divided by the tensor degree */
};
struct amp_problem {
	int64_t nodes, devices_per_node;
	const double *between,
	    *inside; /* [nodes]: elements a second of a device, to other nodes, and in it */
	int64_t layers;
	const struct amp_layer *layer; /* [layers] */
	int64_t sequences;             /* global batch */
	/* out[layers]: seconds of each layer, forward and backward, of one micro-batch of so many sequences.
	 */
	void (*seconds)(const void *self, int64_t tp, int64_t micro_batch, double *out);
	/* Bytes of a device of a stage that holds the layers from first to before end; never less of more
	 * layers. NULL = memory is not asked for. */
	double (*bytes)(const void *self, int64_t stage, int64_t first, int64_t end);
	double capacity; /* bytes that it may have */
	const void *self;
	bool last_hop;                /* as published: an all-reduce sees only the last link of its ring */
	const struct sb_watch *watch; /* stopped, all of this ends early; NULL: never */
};
struct amp_candidate {
	int64_t tp, dp, pp, micro_batch, micro_batches;
};
struct amp_cost {
	double seconds;  /* the sum of the others */
	double pipeline; /* (micro_batches - 1) x slowest stage + all layers */
	double sends;    /* of the cuts */
	double all_reduce;
	double lower_bound; /* no cut of this candidate's layers is below it; NaN of a given one */
	bool squeezed;      /* faster cuts do not fit in memory */
};

#define AMP_CANDIDATES_MAX 8192
#define AMP_DEVICES_MAX ((int64_t)1 << 20)

/* All candidates with no more stages than layers, tensor degree by tensor degree; out holds
 * AMP_CANDIDATES_MAX. Returns how many there are, which may be more than were written. */
int64_t amp_candidates(const struct amp_problem *p, struct amp_candidate *out);

/* Where the ranks lie. */
struct amp_placement {
	bool pipelines_inside; /* tensor, pipeline, data, innermost first */
	const int32_t *node;   /* [nodes]: the nodes in the order of ranks; NULL: as they are numbered */
};

/* The seconds of one element over the links of a pair of degrees, the same for all its micro-batches. */
struct amp_wires {
	double *cut;    /* [pp - 1]: seconds an element of cut j, mean of the replicas */
	double *reduce; /* [pp]: seconds a parameter of the stage */
};
/* out is to be freed by amp_wires_free(). at: NULL = AMP's default. Takes devices / tp steps. SB_ENOMEM. */
int amp_wires_of(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_placement *at,
                 struct amp_wires *out);
void amp_wires_free(struct amp_wires *w);
#define AMP_WIRES_AUTO __attribute__((cleanup(amp_wires_free))) struct amp_wires

/* The cost of a candidate cut into these stages (pp counts). SB_ENOMEM. */
int amp_cost_of(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
                const int64_t *stages, struct amp_cost *out);
/* No cut of the candidate takes less; quickly. room: for [layers]. */
double amp_least(const struct amp_problem *p, const struct amp_candidate *c, double *room);
/* The stages of least cost among those that fit, exactly where no stage holds two tables, unless the effort
 * ends; for one micro-batch an even cut where that fits, as in AMP: whatever the cut, such a pipeline runs
 * stage after stage. AMP's own cut leaves the all-reduce out and forgets the sends of its incumbent.
 * out->seconds is INFINITY where none fits, or none was found for want of effort: then out->lower_bound is
 * finite. *effort: steps of the search that are left, lessened by what it took. SB_ENOMEM. */
int amp_cut(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
            int64_t *effort, int64_t *out_stages, struct amp_cost *out);
/* What the fullest stage of a cut needs. */
double amp_fullest_bytes(const struct amp_problem *p, const struct amp_candidate *c, const int64_t *stages);
/* Lessens *io_bytes to what the fullest stage needs at least, whatever the cut, to a byte; leaves it where
 * every cut needs as much, or the effort ends. SB_ENOMEM. */
int amp_least_bytes(const struct amp_problem *p, const struct amp_candidate *c, int64_t *effort,
                    double *io_bytes);
#endif
