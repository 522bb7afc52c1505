#include "planner/strategy/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/schedule.h"
#include "planner/strategy/front.h"

#define MOST_NODES_FACTOR 64
#define MOST_NODES 65536
#define NODE_AT_ONCE 16  /* devices of a node: up to as many all numbers are walked through at once */
#define PASSES_A_STEP 32 /* simulated in about the time that a step of the walk takes */

const char *rejection_word(enum rejection r)
{
	static const char *const words[REJECTIONS] = {
	    [REJECT_MEMORY] = "memory",
	    [REJECT_HOST] = "host_memory",
	    [REJECT_SLOWER] = "slower",
	    [REJECT_HEADS] = "heads_division",
	    [REJECT_WIDTH] = "width_division",
	    [REJECT_SEQUENCE] = "sequence_division",
	    [REJECT_ATTENTION] = "attention_kernel",
	    [REJECT_INTERLEAVE] = "interleaving",
	    [REJECT_ZERO] = "zero_with_pipeline",
	    [REJECT_EXPERTS] = "expert_division",
	};

	return words[r];
}

static int gave_up(const struct search *x, struct sb_error *err)
{
	if (x->stopped)
		return sb_fail(err, SB_ECANCELED, "canceled", "the search was stopped");
	return sb_fail(err, SB_EIMPOSSIBLE, "search_too_large",
	               "the space of strategies is too large to search: constrain some degrees");
}

int search_settle(struct search *x, int room, struct sb_error *err)
{
	struct choice c;

	while (x->keep->top_count > KEEP_TOP - room && keep_next(x->keep, x->reached, &c.strategy)) {
		const struct strategy *s = &c.strategy;
		double passes =
		    2 * (double)(s->pp * s->vpp) * (double)strategy_micro_batches(s, x->r->problem.sequences);
		int rc = strategy_cost(&x->r->problem, s, &c.cost, err);

		x->effort += 1 + (int64_t)(fmin(passes, SCHEDULE_OPERATIONS_MAX) / PASSES_A_STEP);
		if (rc != SB_OK)
			return rc;
		search_exhausted(x); /* asks whether to stop */
		if (x->stopped)
			return gave_up(x, err);
		if (c.cost.step_seconds < x->reached) {
			x->reached = c.cost.step_seconds;
			x->out->best = c;
		}
	}
	return SB_OK;
}

/* Degrees that only trade data against sequence ranks do the same work in the same time: one of them says it
 * all. */
static bool as_before(const struct kept *list, int i)
{
	return i > 0 && list[i].bound - list[i - 1].bound <= 1e-9 * list[i].bound;
}

static int settle_alternatives(struct search *x, struct sb_error *err)
{
	struct search_result *out = x->out;
	struct choice found[KEEP_DEGREES];
	int count = 0;

	for (int i = 0; i < x->keep->degrees_count && count < x->r->alternatives + 2; i++) {
		struct choice c = {.strategy = x->keep->degrees[i].strategy};
		int rc;

		if (same_degrees(&c.strategy, &out->best.strategy) || as_before(x->keep->degrees, i))
			continue;
		rc = strategy_cost(&x->r->problem, &c.strategy, &c.cost, err);
		if (rc != SB_OK)
			return rc;
		found[count++] = c;
	}
	sort_choices(found, count);
	for (int i = 0; i < count && i < x->r->alternatives && i < SEARCH_ALTERNATIVES; i++)
		out->alternatives[out->alternative_count++] = found[i];
	return SB_OK;
}

static int nothing_found(const struct search_result *out, struct sb_error *err)
{
	if (out->costed == 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "the constraints leave no strategy that the model and the cluster allow");
	return sb_fail(err, SB_EINFEASIBLE, "infeasible",
	               "no strategy fits in memory: the leanest needs %.0f bytes a device",
	               ceil(out->least_memory));
}

/* Wide nodes whole first: on each number of their devices there are too many ways to lie to begin with. */
static bool walk_nodes(struct search *x)
{
	if (x->memory_only || x->r->problem.cluster.devices_per_node <= NODE_AT_ONCE)
		return search_walk(x);
	x->node_walk = NODES_WHOLE;
	if (!search_walk(x))
		return false;
	x->node_walk = NODES_IN_PART;
	return search_walk(x);
}

/* First what offloads nothing, then what does. */
static int walk_all(struct search *x, bool *out_whole, struct sb_error *err)
{
	int rc = SB_OK;

	*out_whole = walk_nodes(x);
	if (!*out_whole || x->offloadable == 0 || (x->memory_only && x->any_fits))
		return SB_OK;
	if (!x->memory_only)
		rc = search_settle(x, KEEP_TOP, err);
	x->without = x->reached;
	x->away = x->offloadable;
	if (rc == SB_OK)
		*out_whole = walk_nodes(x);
	return rc;
}

/* What is known of the best once nothing of what was looked at may be faster. */
static void prove(const struct search *x, bool whole)
{
	struct search_result *out = x->out;

	out->cut_short = !whole;
	out->values_left_out = x->left_out;
	out->optimal = whole && !x->left_out;
	out->lower_bound = out->optimal                 ? x->reached
	                   : x->unlisted || x->left_out ? NAN
	                                                : fmin(x->reached, x->open);
}

int strategy_search(const struct search_request *r, struct search_result *out, struct sb_error *err)
{
	SEARCH_AUTO x = {.r = r, .out = out, .reached = INFINITY};
	bool whole;
	int rc;

	memset(out, 0, sizeof(*out));
	out->least_memory = INFINITY;
	rc = search_prepare(&x, err);
	if (rc != SB_OK)
		return rc;
	rc = walk_all(&x, &whole, err);
	out->effort = x.effort;
	if (rc != SB_OK)
		return rc;
	if (x.stopped || (!whole && isinf(x.reached) && x.keep->top_count == 0))
		return gave_up(&x, err);
	if (x.out_of_memory)
		return sb_no_memory(err);
	if (!x.any_fits)
		return nothing_found(out, err);
	rc = search_settle(&x, KEEP_TOP, err);
	prove(&x, whole);
	if (rc == SB_OK)
		rc = search_frontier(&x, err);
	out->frontier_in_part = out->frontier_in_part || !out->optimal;
	return rc == SB_OK ? settle_alternatives(&x, err) : rc;
}

static int fits_on(const struct search_request *r, int64_t nodes, int64_t *effort, bool *out_fits,
                   struct sb_error *err)
{
	struct search_request larger = *r;
	struct search_result ignored = {.least_memory = 0}; /* nothing is worth noting */
	SEARCH_AUTO x = {
	    .r = &larger, .out = &ignored, .reached = INFINITY, .memory_only = true, .effort = *effort};
	bool whole;
	int rc;

	larger.problem.cluster.nodes = nodes;
	if (cluster_check(&larger.problem.cluster, NULL) != SB_OK) {
		*out_fits = false;
		return SB_OK;
	}
	larger.problem.network = network_of(&larger.problem.cluster, &larger.problem.constants);
	rc = search_prepare(&x, err);
	if (rc != SB_OK)
		return rc;
	rc = walk_all(&x, &whole, err);
	*effort = x.effort;
	*out_fits = x.any_fits;
	return rc == SB_OK && x.out_of_memory ? sb_no_memory(err) : rc;
}

int strategy_nearest_nodes(const struct search_request *r, int64_t *effort, int64_t *out_nodes,
                           struct sb_error *err)
{
	int64_t low = r->problem.cluster.nodes, high = low;
	bool fits = false;

	while (!fits && high < MOST_NODES && high < MOST_NODES_FACTOR * r->problem.cluster.nodes) {
		int rc;

		low = high;
		high *= 2;
		rc = fits_on(r, high, effort, &fits, err);
		if (rc != SB_OK)
			return rc;
	}
	while (fits && high - low > 1) {
		int64_t mid = low + (high - low) / 2;
		bool here;
		int rc = fits_on(r, mid, effort, &here, err);

		if (rc != SB_OK)
			return rc;
		/* what was not searched to its end tells nothing */
		if (search_exhausted(&(struct search){.r = r, .effort = *effort}))
			fits = false;
		if (here)
			high = mid;
		else
			low = mid;
	}
	*out_nodes = fits ? high : 0;
	return SB_OK;
}

int strategy_nearest_host(const struct search_request *r, int64_t *effort, int64_t *out_bytes,
                          struct sb_error *err)
{
	struct search_request known = *r;
	struct search_result ignored = {.least_memory = 0};
	SEARCH_AUTO x = {.r = &known,
	                 .out = &ignored,
	                 .reached = INFINITY,
	                 .memory_only = true,
	                 .host_wanted = true,
	                 .effort = *effort};
	bool whole = false;
	int rc;

	*out_bytes = 0;
	if (known.problem.cluster.host_link_bytes_per_second <= 0)
		known.problem.cluster.host_link_bytes_per_second = 1; /* its speed does not matter here */
	rc = search_prepare(&x, err);
	if (rc == SB_OK)
		rc = walk_all(&x, &whole, err);
	*effort = x.effort;
	if (rc == SB_OK && whole && isfinite(x.least_host))
		*out_bytes = (int64_t)ceil(x.least_host);
	return rc == SB_OK && x.out_of_memory ? sb_no_memory(err) : rc;
}

int strategy_nearest_constraints(const struct search_request *r, int64_t *effort, bool out_frees[CONSTRAINTS],
                                 struct sb_error *err)
{
	struct search_request freer = *r;
	int rc = SB_OK;

	for (int i = 0; i < CONSTRAINTS; i++) {
		out_frees[i] = false;
		if (r->only[i].count == 0 || rc != SB_OK)
			continue;
		freer.only[i].count = 0;
		rc = fits_on(&freer, r->problem.cluster.nodes, effort, &out_frees[i], err);
		freer.only[i].count = r->only[i].count;
	}
	return rc;
}
