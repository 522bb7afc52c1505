#include "api/plans/kinds.h"
#include "api/plans/strategy_methods.h"
#include "planner/strategy/space.h"

/* PanGu-alpha's five dimensions (research page search-algorithms, section 12): data, operator-level model,
 * pipeline, optimizer and rematerialisation, with the model ranks inside one server. */

static const int64_t one[] = {1}, none[] = {0}, optimizer[] = {0, 1};
static const int64_t rematerialisation[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};

/* What both the request and the method allow; false when that is nothing. */
static bool restrict_to(struct search_request *r, enum constraint c, const int64_t *values, int count)
{
	struct allowed both = {0};

	for (int i = 0; i < count && both.count < ALLOWED_MAX; i++) {
		if (allowed_value(r, c, values[i]))
			both.value[both.count++] = values[i];
	}
	r->only[c] = both;
	return both.count > 0;
}

static int restrict_all(struct search_request *r, struct sb_error *err)
{
	const struct {
		const char *field;
		enum constraint constraint;
		const int64_t *values;
		int count;
	} rows[] = {{"/constraints/tp_x", ONLY_TP_X, one, 1},
	            {"/constraints/cp", ONLY_CP, one, 1},
	            {"/constraints/ep", ONLY_EP, one, 1},
	            {"/constraints/etp", ONLY_ETP, one, 1},
	            {"/constraints/vpp", ONLY_VPP, one, 1},
	            {"/constraints/sequence_parallel", ONLY_SEQUENCE_PARALLEL, none, 1},
	            {"/constraints/zero", ONLY_ZERO, optimizer, 2},
	            {"/constraints/recompute", ONLY_RECOMPUTE, rematerialisation, 2}};
	const struct cost_problem *p = &r->problem;
	struct values ranks;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!restrict_to(r, rows[i].constraint, rows[i].values, rows[i].count))
			return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", rows[i].field,
			                     "PanGu's five dimensions have none of these values");
	}
	r->only[ONLY_OFFLOAD] = (struct allowed){1, {OFFLOADABLES}};
	/* They need not divide the server, of which only some devices may be used. */
	divisors(p->model.heads, &ranks);
	while (ranks.value[ranks.count - 1] > p->cluster.devices_per_node)
		ranks.count--;
	if (!restrict_to(r, ONLY_TP, ranks.value, ranks.count))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "outside_of_method", "/constraints/tp",
		                     "PanGu's model ranks divide the heads and fit in one server");
	return SB_OK;
}

int strategy_pangu(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                   struct sb_error *err)
{
	struct search_request r = {.watch = watch};
	bool attention_given = false;
	int rc = strategy_request_from_json(request, &r, &attention_given, err);

	if (rc == SB_OK)
		rc = restrict_all(&r, err);
	if (rc == SB_OK)
		rc = strategy_search_answer(&r, attention_given, out, out_extra, err);
	if (rc == SB_OK)
		json_warn(json_object_get(*out, "warnings"), "restricted",
		          "five dimensions only: data, model inside a server, pipeline, optimizer (zero 0 or "
		          "1) and "
		          "full recomputation; cp, ep, vpp, sequence parallelism, zero 2 and 3, selective "
		          "recomputation and offload are left out: method exact searches them too");
	return rc;
}
