#ifndef SB_PLANNER_PIPELINE_MAKESPAN_SEARCH_H
#define SB_PLANNER_PIPELINE_MAKESPAN_SEARCH_H
#include "planner/pipeline/relax.h"

/* Inside planner/pipeline only: the parts of the search of makespan.h. */

#define CUTS_KEPT 4   /* drafts that are improved */
#define CUTS_PATHS 32 /* paths of drafts met that others are held against before they are simulated */

struct cuts {
	struct drafts *s;
	struct relaxation *relaxed;          /* NULL: there are too many cells */
	struct draft_stage *kept[CUTS_KEPT]; /* the quickest drafts met, of different cuts */
	double time[CUTS_KEPT];
	int kept_count;
	/* First those through what one device does; then the longest ones of the last drafts met, in turn. */
	struct price *paths;           /* [path * stages + stage] */
	int64_t path_room, first_turn; /* how many there can be; the first one that is not of a device */
	int64_t path_count, next_path;
	double bound;                    /* no draft is quicker */
	struct draft_stage *draft, *try; /* room */
	struct price *price;             /* mean of the paths of the game */
	struct draft_stage *mean;        /* of its drafts */
};

/* SB_ENOMEM. */
int cuts_open(struct drafts *s, struct cuts *out);
void cuts_free(struct cuts *x);
#define CUTS_AUTO __attribute__((cleanup(cuts_free))) struct cuts
/* Keeps a draft that fits, and was simulated, if it is among the quickest. */
void cuts_keep(struct cuts *x, const struct draft_stage *draft, double time);
/* Keeps the longest path of the last simulation. */
void cuts_keep_path(struct cuts *x);
/* A path kept, the newest one is 1. */
const struct price *cuts_path(const struct cuts *x, int64_t age);
/* Paths through what each device does, and their mean as the price to begin with. SB_ENOMEM. */
int cuts_begin(struct cuts *x);
/* Is a draft as slow as `bound` or slower along some path kept? */
bool cuts_is_slow(struct cuts *x, const struct draft_stage *draft, double bound);
/* Cuts into stages of as many layers each: what is over is spread out, or goes to the first chunks, or to the
 * last. SB_ENOMEM. */
int cuts_even(struct cuts *x);
/* The game of cuts against paths: drafts to keep, and the bound. Ends when the bound reaches `beat`.
 * SB_ENOMEM. */
int cuts_by_price(struct cuts *x, int turns, double beat);
/* Moves layers between the stages of a kept draft, and recomputing between those of a device, as long as it
 * gets quicker and the work allows. SB_ENOMEM. */
int cuts_near(struct cuts *x, int kept, double work);
/* Raises the bound as far as single stages can: what they cannot hold, so others must (bisection). */
void cuts_bound(struct cuts *x, double work);
/* Goes through all drafts that may be quicker than the best, as far as the work allows: operations simulated
 * and prices of stages. If that was all, the best is the quickest there is. SB_ENOMEM. */
int cuts_all(struct cuts *x, double work);
#endif
