#include <stdbool.h>

#include "planner/export/pipeline.h"

static bool is_even(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	for (int64_t i = 1; i < schedule_stages(&p->shape); i++)
		if (pipeline_stage_layers(p, plan, i) != pipeline_stage_layers(p, plan, 0))
			return false;
	return true;
}

/* "E" stands before the first stage's layers, "L" behind the last one's; equal middle stages are told once.
 */
static void layout(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out)
{
	int64_t stages = schedule_stages(&p->shape), run;

	sb_buf_adds(out, "--pipeline-model-parallel-layout \"E");
	for (int64_t i = 0; i < stages; i += run) {
		int64_t n = pipeline_stage_layers(p, plan, i);

		run = 1;
		while (i > 0 && i + run < stages - 1 && pipeline_stage_layers(p, plan, i + run) == n)
			run++;
		sb_buf_adds(out, run > 1 ? "(" : "");
		if (n > 0)
			sb_buf_addf(out, n > 1 ? "t*%lld" : "t", (long long)n);
		sb_buf_adds(out, i + run < stages ? "|" : "");
		if (run > 1)
			sb_buf_addf(out, ")*%lld", (long long)run);
	}
	sb_buf_adds(out, "L\"\n");
}

static void cut(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out)
{
	sb_buf_addf(out, "--num-layers %lld\n--pipeline-model-parallel-size %lld\n",
	            (long long)pipeline_layers(p), (long long)p->shape.devices);
	if (!is_even(p, plan))
		layout(p, plan, out);
	else if (p->shape.chunks > 1)
		sb_buf_addf(out, "--num-layers-per-virtual-pipeline-stage %lld\n",
		            (long long)pipeline_stage_layers(p, plan, 0));
}

/* Megatron recomputes the first layers of every stage, as many in each ("block"), or a part of all layers. */
static void recomputing(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                        struct sb_buf *out)
{
	int64_t most = 0, stages = schedule_stages(&p->shape), parts = 0, selected = 0;
	bool equal = true;

	for (int64_t i = 0; i < stages; i++) {
		struct pipeline_stage s = pipeline_stage_sum(p, plan, i);

		most = s.layers[REDO_FULL] > most ? s.layers[REDO_FULL] : most;
		selected += s.layers[REDO_SELECT];
		parts += s.layers[REDO_COMM] + s.layers[REDO_BOTH];
	}
	for (int64_t i = 0; i < stages; i++) {
		int64_t n = pipeline_stage_layers(p, plan, i);

		equal = equal && pipeline_stage_sum(p, plan, i).layers[REDO_FULL] == (n < most ? n : most);
	}
	if (most > 0)
		sb_buf_addf(out,
		            "--recompute-granularity full\n--recompute-method block\n"
		            "--recompute-num-layers %lld\n",
		            (long long)most);
	else if (selected + parts > 0)
		sb_buf_adds(out, "--recompute-granularity selective\n");
	if (most > 0 && !equal)
		sb_buf_adds(out,
		            "# the stages of the plan recompute different numbers of layers: Megatron takes "
		            "one for all, here the largest\n");
	if (parts > 0)
		sb_buf_adds(out, "# Megatron cannot recompute communication alone\n");
	if (most > 0 ? selected + parts > 0 : selected > 0 && selected < pipeline_layers(p))
		sb_buf_adds(out,
		            "# some layers of the plan recompute a part: Megatron does it for all layers or "
		            "for none\n");
}

int megatron_pipeline(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out,
                      struct sb_error *err)
{
	const struct schedule_facts *facts = schedule_facts(p->shape.kind);

	if (facts->vee || facts->two_way)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_such_schedule",
		               "Megatron places the chunks of a device round after round: it has no %s",
		               facts->name);
	cut(p, plan, out);
	recomputing(p, plan, out);
	if (p->shape.kind != SCHEDULE_1F1B && p->shape.kind != SCHEDULE_INTERLEAVED)
		sb_buf_addf(out, "# Megatron has no schedule %s: it runs 1F1B%s\n", facts->name,
		            p->shape.chunks > 1 ? ", interleaved" : "");
	return out->status == SB_OK ? SB_OK : sb_fail(err, out->status, "no_memory", "out of memory");
}
