#ifndef SB_PLANNER_PIPELINE_RELAX_H
#define SB_PLANNER_PIPELINE_RELAX_H
#include "planner/pipeline/draft.h"

/* Inside planner/pipeline only. Bounds from below for the makespan of all cuts at once.
 *
 * A path through the schedule prices each stage by itself, and no draft is quicker than its price along it;
 * nor than along a mean of paths. The cheapest cut by a price is a shortest way through the layers, stage by
 * stage (dynamic programming). What ties several chunks of one device together, its memory, is priced as well
 * (Lagrange multipliers), so that all chunks stay apart from each other.
 *
 * A cell is a stage with a run of layers: those of stage i that begin with layer j and are n. */
struct hull {
	/* ways of a run that are cheapest at some price of backward against activation */
	double *backward, *activation;
	int32_t *way;
	int32_t count;
};
struct relaxation {
	struct drafts *s;
	int64_t most; /* layers of a stage; more make the device busy for longer than the best draft takes */
	bool thinned; /* not all ways of all cells are known */
	bool single;  /* one chunk a device: the least backward of each cell is known, and memory is kept */
	double *forward, *parameters; /* of all layers before each */
	double *hop;                  /* [stage * (layers + 1) + layers up to its end] */
	double *least;                /* [cell]: backward, the end included; INFINITY = it cannot be */
	double *value;                /* [cell]: by the last price */
	uint8_t *struck;              /* [cell]: no draft that is quicker than a bound has it */
	struct stage_limit *limits;   /* [stage] */
	struct hull *hulls;           /* [first * (most + 1) + count]; with one type of layers first is 0 */
	double *ahead,
	    *behind;          /* [stage * (layers + 1) + layers]: the cheapest way to there, from there on */
	int32_t *from;        /* how many layers the last stage of the way to there has */
	double *memory_price; /* [moment of all devices]: of a byte */
	size_t *moment;       /* the first one of each device; device_count + 1 */
	double *activation_price, *parameter_price; /* [stage]; as the memory's prices have it */
};

/* bound: the makespan of a draft. SB_ELIMIT when there are too many cells; SB_ENOMEM. */
int relax_open(struct drafts *s, double bound, struct relaxation *out);
void relax_free(struct relaxation *r);
#define RELAX_AUTO __attribute__((cleanup(relax_free))) struct relaxation
size_t relax_cell(const struct relaxation *r, int64_t stage, int64_t first, int64_t count);
size_t relax_point(const struct relaxation *r, int64_t stage, int64_t layers);
size_t relax_hull(const struct relaxation *r, int64_t first, int64_t count);
/* The layers that a stage can begin with, and how many it must hold. */
struct relax_range {
	int64_t low, high, least;
};
struct relax_range relax_range(const struct relaxation *r, int64_t stage);
/* The least price of all cuts without struck cells, the memory's price included: no draft is quicker.
 * INFINITY: there is none. */
double relax_price(struct relaxation *r, const struct price *price);
/* The cut that the last price found. out: its ways are those of the price, whatever memory they need.
 * SB_ENOMEM. */
int relax_draft(struct relaxation *r, const struct price *price, struct draft_stage *out);
/* Turns the memory's prices after a draft that the price found: what is missing becomes dearer. step: the
 * seconds that the bound may be below. */
void relax_turn_memory(struct relaxation *r, const struct draft_stage *draft, double step);
/* The least price from each stage and layer on to the end, without memory's price, into `behind`. */
void relax_behind(struct relaxation *r, const struct price *price);
/* Strikes all cells that no draft quicker than `bound` can have by this price. True: no cut is left. */
bool relax_strike(struct relaxation *r, const struct price *price, double bound);
#endif
