#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/bottleneck.h"
#include "planner/pipeline/frontier.h"
#include "planner/pipeline/ilp.h"
#include "planner/pipeline/improve.h"
#include "planner/pipeline/rows.h"
#include "planner/pipeline/runs.h"
#include "planner/pipeline/whole.h"

int pipeline_search_open(const struct pipeline_problem *p, struct pipeline_search *out, struct sb_error *err)
{
	struct pipeline_search s = {.p = p, .devices = NULL};
	int rc = devices_open(p, &s.devices, err);

	if (rc == SB_OK && cells_open(p, &s.cells) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		*out = s;
	else
		pipeline_search_free(&s);
	return rc;
}

void pipeline_search_free(struct pipeline_search *s)
{
	if (s->p)
		devices_free(s->devices, device_count(s->p));
	cells_free(&s->cells);
	*s = (struct pipeline_search){.p = NULL};
}

/* Is there room at all? With several bodies as if each layer was as light as the lightest. */
static int check_room(const struct pipeline_search *s, struct sb_error *err)
{
	int64_t sum = 0, layers = pipeline_layers(s->p);
	int rc = pipeline_check_layers(s->p, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < device_count(s->p); d++) {
		int64_t most = device_capacity(s->p, &s->devices[d]);

		if (most < 0)
			return sb_fail(err, SB_EINFEASIBLE, "infeasible",
			               "the memory of device %lld does not hold the least that its stages "
			               "must",
			               (long long)d);
		sum += most;
	}
	if (sum < layers)
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "all devices together hold %lld of %lld layers, all recomputed",
		               (long long)sum, (long long)layers);
	return SB_OK;
}

int pipeline_search_fail(int rc, bool proved, struct sb_error *err)
{
	switch (rc) {
	case SB_OK: return SB_OK;
	case SB_EINFEASIBLE:
		return sb_fail(err, rc, proved ? "infeasible" : PIPELINE_NONE_FOUND, "%s",
		               proved ? "no way to share the layers out keeps every device within its memory"
		                      : "no way was found to keep every device within its memory");
	case SB_ELIMIT: return sb_fail(err, rc, "too_large", "there is too much to try");
	default: return sb_fail(err, rc, "no_memory", "out of memory");
	}
}

/* Where too much is to be tried: the best of small steps, and what the ILP makes of it if there is one. */
static int approach(struct pipeline_search *s, struct pipeline_stage *out, struct pipeline_proof *proof,
                    struct sb_error *err)
{
	double lower = frontier_lower_bound(s->p), value = NAN;
	int64_t tried = 0;
	int rc = improve_plan(s->p, s->devices, s->cells, IMPROVE_BOTTLENECK, true, out, &value, &tried);

	if (rc != SB_OK)
		return pipeline_search_fail(rc, false, err);
	*proof = (struct pipeline_proof){"bottleneck", value, fmin(lower, value),
	                                 value <= lower * (1 + PIPELINE_ROUNDING), tried};
	return proof->optimal ? SB_OK : ilp_better(s, false, out, proof, err);
}

int ilp_better(struct pipeline_search *s, bool whole, struct pipeline_stage *out,
               struct pipeline_proof *proof, struct sb_error *err)
{
	size_t cells = (size_t)schedule_stages(&s->p->shape) * (size_t)s->p->body_count;
	struct pipeline_stage *other = calloc(cells, sizeof(*other));
	struct pipeline_proof told = {.value = NAN};
	int rc = SB_ECONFLICT;

	if (!other)
		return pipeline_search_fail(SB_ENOMEM, false, err);
	if (s->p->lp)
		rc = ilp_solve(s->p, s->devices, whole, proof->lower_bound, ILP_SECONDS_MORE, other, &told,
		               NULL);
	/* what it has when it stops depends on the machine: only what is proved counts */
	if (rc == SB_OK && told.optimal) {
		for (size_t i = 0; i < cells && told.value < proof->value; i++)
			out[i] = other[i];
		proof->value = fmin(proof->value, told.value);
		proof->lower_bound = proof->value;
		proof->optimal = true;
		proof->candidates += told.candidates;
	}
	free(other);
	/* it is not needed: what was found before stands */
	return SB_OK;
}

int pipeline_search_bottleneck(struct pipeline_search *s, struct pipeline_stage *out,
                               struct pipeline_proof *proof, struct sb_error *err)
{
	const struct pipeline_problem *p = s->p;
	double bottleneck = NAN;
	int64_t tried = 0;
	int rc = check_room(s, err);

	if (rc != SB_OK)
		return rc;
	rc = p->shape.chunks == 1 && p->body_count > 1
	         ? runs_solve(p, s->devices, s->cells, out, &tried)
	         : frontier_solve(p, s->devices, s->cells, out, &bottleneck, &tried);
	if (rc == SB_ELIMIT)
		return approach(s, out, proof, err);
	if (rc != SB_OK)
		return pipeline_search_fail(rc, true, err);
	bottleneck = pipeline_bottleneck(p, out);
	*proof = (struct pipeline_proof){"bottleneck", bottleneck, bottleneck, true, tried};
	if (cells_thinned(s->cells)) {
		proof->optimal = bottleneck <= frontier_lower_bound(p) * (1 + PIPELINE_ROUNDING);
		proof->lower_bound = fmin(bottleneck, frontier_lower_bound(p));
	}
	return SB_OK;
}

int pipeline_least_bottleneck(const struct pipeline_problem *p, struct pipeline_stage *out,
                              struct pipeline_proof *out_proof, struct sb_error *err)
{
	PIPELINE_SEARCH_AUTO s = {.p = NULL};
	int rc = pipeline_search_open(p, &s, err);

	return rc == SB_OK ? pipeline_search_bottleneck(&s, out, out_proof, err) : rc;
}

int pipeline_least_whole(const struct pipeline_problem *p, struct pipeline_stage *out,
                         struct pipeline_proof *out_proof, struct sb_error *err)
{
	PIPELINE_SEARCH_AUTO s = {.p = NULL};
	double value = NAN, lower;
	int64_t tried = 0;
	int rc = pipeline_search_open(p, &s, err);

	if (rc == SB_OK)
		rc = pipeline_search_bottleneck(&s, out, out_proof, err);
	if (rc != SB_OK)
		return rc;
	lower = whole_lower_bound(p, out_proof->lower_bound);
	rc = improve_plan(p, s.devices, s.cells, IMPROVE_WHOLE, false, out, &value, &tried);
	if (rc != SB_OK)
		return pipeline_search_fail(rc, false, err);
	*out_proof = (struct pipeline_proof){"whole", value, fmin(lower, value),
	                                     value <= lower * (1 + PIPELINE_ROUNDING), tried};
	return out_proof->optimal ? SB_OK : ilp_better(&s, true, out, out_proof, err);
}
