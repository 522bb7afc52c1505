#ifndef SB_PLANNER_METHODS_AMP_PLACES_H
#define SB_PLANNER_METHODS_AMP_PLACES_H
#include "planner/methods/amp.h"

/* AMP's device placement: which ranks lie on which nodes, where the links of the nodes differ. AMP lays each
 * stage as a rectangle over devices and nodes, and anneals over such tilings. Here a placement is an order of
 * the nodes and one of two orders of the ranks (data or pipeline ranks next to the tensor ranks): what a
 * launcher can start, by its host list and its rank order. Tilings that lay some stages one way and some the
 * other are left out.
 *
 * Nodes with the same links are alike. All orders of unlike nodes are tried where these are few; else
 * annealing from the order of the request and from those that sort the nodes by their links, with a fixed
 * seed. Of what was tried those stay that no other one beats at every cut and every stage. */

#define AMP_PLACES_MAX 128

struct amp_place {
	struct amp_placement at; /* at.node is node */
	int32_t *node;
	struct amp_wires wires;
	double rough; /* seconds of a sequence's sends and of the exchange of an even cut */
};
struct amp_places {
	struct amp_place place[AMP_PLACES_MAX]; /* as they were found: AMP's default, if it is left, first */
	int count;
	bool all; /* nothing that is not here is better */
	/* By pipelines_inside: no placement with this order of the ranks has a quicker link at any cut or
	 * stage. Empty where there is none, and both where there is one placement in all. */
	struct amp_wires least[2];
};
/* Where there is one replica or one stage, both orders of the ranks are the same. */
static inline int amp_rank_orders(const struct amp_candidate *c)
{
	return c->dp > 1 && c->pp > 1 ? 2 : 1;
}
/* Of a pair of degrees. search: false = AMP's default placement alone. SB_ENOMEM. */
int amp_places_of(const struct amp_problem *p, const struct amp_candidate *c, bool search,
                  struct amp_places *out);
void amp_places_free(struct amp_places *x);
/* Fills x->least. For amp_places_of(). SB_ENOMEM. */
int amp_places_least(const struct amp_problem *p, const struct amp_candidate *c, struct amp_places *x);

/* amp_cut() on the placement that takes least: *out_place, the first of equal ones. Placements that cannot
 * take less than `enough` are passed over; out->seconds is INFINITY where that leaves none. What was left
 * out, for that or for want of effort, is not below out->lower_bound. SB_ENOMEM. */
int amp_place_cut(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_places *x,
                  double enough, int64_t *effort, int64_t *out_stages, struct amp_cost *out, int *out_place);
#endif
