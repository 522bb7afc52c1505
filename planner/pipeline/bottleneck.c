#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/frontier.h"
#include "planner/pipeline/runs.h"

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
}

/* Is there room at all? With several bodies as if each layer was as light as the lightest. */
static int check_room(const struct pipeline_problem *p, const struct device *devices, struct sb_error *err)
{
	int64_t sum = 0, layers = pipeline_layers(p);
	int rc = pipeline_check_layers(p, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < device_count(p); d++) {
		int64_t most = device_capacity(p, &devices[d]);

		if (most < 0)
			return sb_fail(err, SB_EINFEASIBLE, "infeasible",
			               "the memory of device %lld does not hold one layer a stage",
			               (long long)d);
		sum += most;
	}
	if (sum < layers)
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "the memory of all devices holds %lld of %lld layers, all recomputed",
		               (long long)sum, (long long)layers);
	return SB_OK;
}

int pipeline_least_bottleneck(const struct pipeline_problem *p, struct pipeline_stage *out,
                              struct pipeline_proof *out_proof, struct sb_error *err)
{
	struct device *devices = NULL;
	CELLS_AUTO cells = NULL;
	double bottleneck = NAN;
	int64_t tried = 0;
	int rc = devices_open(p, &devices, err);

	if (rc != SB_OK)
		return rc;
	rc = check_room(p, devices, err);
	if (rc == SB_OK && cells_open(p, &cells) != SB_OK)
		rc = no_memory(err);
	if (rc == SB_OK) {
		rc = p->shape.chunks == 1 && p->body_count > 1
		         ? runs_solve(p, devices, cells, out, &tried)
		         : frontier_solve(p, devices, cells, out, &bottleneck, &tried);
		if (rc == SB_EINFEASIBLE)
			rc = sb_fail(err, rc, "infeasible",
			             "no way to share the layers out keeps every device within its memory");
		else if (rc == SB_ELIMIT)
			rc = sb_fail(err, rc, "too_large", "there is too much to try for an exact answer");
		else if (rc != SB_OK)
			rc = no_memory(err);
	}
	devices_free(devices, device_count(p));
	if (rc != SB_OK)
		return rc;
	bottleneck = pipeline_bottleneck(p, out);
	*out_proof = (struct pipeline_proof){"bottleneck", bottleneck, bottleneck, true, tried};
	return SB_OK;
}
