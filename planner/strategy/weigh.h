#ifndef SB_PLANNER_STRATEGY_WEIGH_H
#define SB_PLANNER_STRATEGY_WEIGH_H
#include "planner/cost/offload.h"
#include "planner/strategy/walk.h"

/* The weighing of one layout. Private to the search. */

struct weighing {
	struct search *x;
	struct strategy s;
	const struct pipeline *pipeline;
	struct node_range nodes; /* that this walk is of; most < least: none */
	int64_t orders;
	int64_t all_placements;      /* of both, those of equal cost counted one by one */
	int64_t fewest;              /* of each node used while bodies are listed, 0: all */
	double least;                /* bytes of a device below those of any strategy of the division */
	struct parts_work none, all; /* of no layers and of all recomputed in the way at hand, in any order */
	double base;                 /* seconds below those of any with the recomputation at hand */
};

/* How many ZeRO levels, from 0, the strategy's degrees may have: 0 alone where nothing is held twice, neither
 * by replicas nor, of the experts, by tensor ranks. Few stacks run 2 and 3 in a pipeline
 * (torchtitan's FSDP2 does; Megatron-LM, DeepSpeed and MindFormers do not): only where the request names the
 * level. */
int zero_levels(const struct search_request *r, const struct strategy *s);
/* Counts `count` strategies like w->s as left out. */
void reject(struct weighing *w, enum rejection why, int64_t count, double seconds);
/* Gives the strategy the body's shape. */
void shape_of(struct strategy *s, const struct body *b);
const struct stage_run *runs_of(const struct search *x, const struct body *b);
/* Takes in a body, its offload given, if it fits; b->memory is known then in any case. */
bool add_body(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m, double quick);
/* Counts what it needs, for the least memory. */
void note_body(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m);
/* Takes in the ways to offload of a body that does not fit without. Returns the sets of things with which,
 * whole on the host, it fits: a bit each. */
unsigned add_offloads(struct weighing *w, const struct memory_model *memory, struct body b, int64_t m);
/* The shares of such a set. */
struct offload offload_whole(unsigned set);
/* Seconds below those of w->s, which offloads what it does of that load of one of its stages. base: seconds
 * below those without. */
double offload_least(const struct weighing *w, const struct offload_load *load, int64_t m, double base);
/* What may be whole on the host, as such a set: of each thing alone the passes do not take too long. */
unsigned offload_quick_enough(const struct weighing *w, const struct offload_load *load, int64_t m);
/* Sets beside which, whole on the host, each stage fits with all of its layers recomputed, or with none. */
unsigned offload_may_fit(const struct weighing *w, const struct memory_model *memory,
                         const struct stage_run *runs, int64_t count, int64_t m);
/* What w->s could move of a stage that needs `kept` when nothing is on the host. */
struct offload_load offload_load_of(const struct strategy *s, const struct memory_model *memory,
                                    const struct stage_run *run, const struct memory_parts *kept);
/* Lists the bodies of w->s with m micro-batches that fit in memory: w->x->bodies. quick: seconds below those
 * of any of them. */
void list_bodies(struct weighing *w, int64_t m, double quick);
/* Weighs the listed bodies in every placement of the division. */
void weigh_placements(struct weighing *w, struct division *d, int64_t m);
#endif
