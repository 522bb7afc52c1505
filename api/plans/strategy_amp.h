#ifndef SB_API_PLANS_STRATEGY_AMP_H
#define SB_API_PLANS_STRATEGY_AMP_H
#include "api/plans/strategy_methods.h"
#include "planner/frontier/plans.h"
#include "planner/methods/amp_places.h"

/* What the strategy methods `amp` and `apss` share: the request as AMP's problem. */

/* One table of measured layers: forward seconds of one sequence at one tensor degree. */
struct amp_profile {
	int64_t tp;
	double *seconds; /* [layers], the embedding within the first and the head within the last */
};
#define AMP_PROFILES_MAX 16

struct amp_input {
	struct search_request request;
	bool attention_given;
	struct amp_problem problem; /* its seconds() asks this input */
	double *between, *inside;
	struct amp_layer *layer;
	struct amp_profile profiles[AMP_PROFILES_MAX];
	int profile_count; /* 0 = the cost model's own times */
	bool links_given;
	bool places;              /* looks for the best placement (APSS has AMP's default alone) */
	enum recompute recompute; /* what seconds() and bytes() count */
	/* What bytes() weighs: amp_hold(). */
	struct strategy held;
	struct memory_model memory;
};
/* apss: as there, placements are not looked for, and the embedding's and the head's parameters are not
 * reduced. *out keeps its address while its problem is used; amp_input_free() frees what it holds. SB_EINVAL,
 * SB_EIMPOSSIBLE, SB_ENOMEM. */
int amp_input_from_json(const json_t *request, bool apss, struct amp_input *out, struct sb_error *err);
void amp_input_free(struct amp_input *in);
#define AMP_INPUT_AUTO __attribute__((cleanup(amp_input_free))) struct amp_input
/* Are there times for this tensor degree? */
bool amp_has_times(const struct amp_input *in, int64_t tp);
/* From here on the problem's bytes() are those of this candidate, by our own cost model. */
void amp_hold(struct amp_input *in, const struct amp_candidate *c);
/* The candidate as a strategy of ours, cut into stages (borrowed). */
struct strategy amp_strategy(const struct amp_input *in, const struct amp_candidate *c,
                             const int64_t *stages);

/* ---- strategy_amp_race.c ---- */

#define AMP_KEPT_MAX (SEARCH_ALTERNATIVES + 1)

/* A candidate with its cut and its placement. */
struct amp_weighed {
	struct amp_candidate candidate;
	enum recompute recompute;
	struct amp_cost cost;
	bool pipelines_inside;
	int64_t *stages; /* [layers], the first pp of them used */
	int32_t *nodes;  /* [nodes], in the order of ranks */
};
/* Room for its lists. SB_ENOMEM; amp_weighed_free() in any case. */
int amp_weighed_open(const struct amp_input *in, struct amp_weighed *out);
void amp_weighed_free(struct amp_weighed *w);
/* As a strategy of ours; its cut is borrowed. in->recompute becomes its own. */
struct strategy amp_weighed_strategy(struct amp_input *in, const struct amp_weighed *w);

/* All candidates against each other. */
struct amp_race {
	struct amp_input *in;
	struct amp_weighed kept[AMP_KEPT_MAX]; /* the fastest that fit, ascending */
	int count, wanted;
	struct amp_weighed trial, other; /* at work: how a candidate recomputes, and the best way so far */
	double *room;                    /* [layers] */
	int64_t candidates, rejected[MISFITS];
	int64_t over, undecided;                 /* of which no cut fits, and that ended for want of effort */
	struct strategy unfit[MISFITS], fullest; /* examples; fullest: of those that do not fit */
	double fullest_bytes;
	double bound;        /* nothing is faster */
	double least_memory; /* bytes, INFINITY unless nothing fits: of the leanest cut of any candidate */
	int64_t effort;
	struct plan_front front; /* AMP's seconds against our bytes, within SEARCH_SLACK of the fastest */
	struct amp_weighed on_front[PLAN_FRONT_MAX];
};
/* *out keeps the address of `in`; amp_race_free() frees what it holds. SB_ENOMEM, SB_EIMPOSSIBLE. */
int amp_race_run(struct amp_input *in, struct amp_race *out, struct sb_error *err);
void amp_race_free(struct amp_race *x);

typedef int amp_work(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places);
/* Does the work for every candidate that the request and the model allow. SB_ENOMEM. */
int amp_race_each(struct amp_race *x, const struct amp_candidate *all, int64_t count, amp_work *work);
/* Cuts a candidate in the way to recompute that x->in has, into x->trial, if it may take less than `enough`
 * seconds. SB_ENOMEM. */
int amp_race_cut(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places,
                 double enough);
/* May the candidates recompute in this way? */
bool amp_race_tries(const struct amp_input *in, int recompute);

/* ---- strategy_amp_front.c ---- */

/* Fills the frontier of a race that has been run. SB_ENOMEM. */
int amp_race_front(struct amp_race *x, const struct amp_candidate *all, int64_t count);
#endif
