#ifndef SB_API_PLANS_STRATEGY_AMP_H
#define SB_API_PLANS_STRATEGY_AMP_H
#include "api/plans/strategy_methods.h"
#include "planner/methods/amp.h"

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
	enum recompute recompute; /* what seconds() counts */
};
/* tables: the embedding's and the head's parameters are reduced too (APSS leaves them out). *out keeps its
 * address while its problem is used; amp_input_free() frees what it holds. SB_EINVAL, SB_EIMPOSSIBLE,
 * SB_ENOMEM. */
int amp_input_from_json(const json_t *request, bool tables, struct amp_input *out, struct sb_error *err);
void amp_input_free(struct amp_input *in);
#define AMP_INPUT_AUTO __attribute__((cleanup(amp_input_free))) struct amp_input
/* Are there times for this tensor degree? */
bool amp_has_times(const struct amp_input *in, int64_t tp);
/* The candidate as a strategy of ours, cut into stages (borrowed). */
struct strategy amp_strategy(const struct amp_input *in, const struct amp_candidate *c,
                             const int64_t *stages);
#endif
