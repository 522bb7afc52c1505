#include "planner/export/pipeline.h"

struct pipeline_stage pipeline_stage_sum(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                                         int64_t stage)
{
	struct pipeline_stage all = {{0}};

	for (int64_t b = 0; b < p->body_count; b++)
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			all.layers[r] += plan[stage * p->body_count + b].layers[r];
	return all;
}

int pipeline_assign(const struct pipeline_problem *p, const int64_t *by_recompute, struct pipeline_stage *out,
                    struct sb_error *err)
{
	int64_t stages = schedule_stages(&p->shape), given = 0, body = 0, left = p->bodies[0].count;

	for (int64_t i = 0; i < stages * PIPELINE_RECOMPUTES; i++)
		given += by_recompute[i];
	if (given != pipeline_layers(p))
		return sb_fail(err, SB_EIMPOSSIBLE, "wrong_layers",
		               "the plan holds %lld layers, and the model has %lld", (long long)given,
		               (long long)pipeline_layers(p));
	for (int64_t i = 0; i < stages; i++) {
		for (int r = PIPELINE_RECOMPUTES - 1; r >= 0; r--) {
			for (int64_t n = by_recompute[i * PIPELINE_RECOMPUTES + r]; n > 0;) {
				int64_t taken = n < left ? n : left;

				out[i * p->body_count + body].layers[r] += taken;
				n -= taken;
				left -= taken;
				if (left == 0 && body + 1 < p->body_count)
					left = p->bodies[++body].count;
			}
		}
	}
	return SB_OK;
}
