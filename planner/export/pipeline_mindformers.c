#include <stdbool.h>

#include "planner/export/pipeline.h"

/* What is listed of each stage. */
enum list { OFFSET, RECOMPUTE, SELECT, COMM };

/* All three lists count from a stage's first layer on: a select and a comm of two layers cannot be told apart
 * from one layer that does both. Then all of them do both, which keeps less than either. */
static bool is_blurred(const struct pipeline_stage *s)
{
	return s->layers[REDO_SELECT] > 0 && s->layers[REDO_COMM] > 0;
}

static int64_t listed(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t stage,
                      enum list list)
{
	const struct pipeline_stage s = pipeline_stage_sum(p, plan, stage);
	int64_t both = s.layers[REDO_FULL] + s.layers[REDO_BOTH];

	switch (list) {
	case OFFSET:
		return pipeline_stage_layers(p, plan, stage) -
		       pipeline_layers(p) / schedule_stages(&p->shape);
	case RECOMPUTE: return s.layers[REDO_FULL];
	case SELECT: return both + s.layers[REDO_SELECT] + (is_blurred(&s) ? s.layers[REDO_COMM] : 0);
	default: return both + s.layers[REDO_COMM] + (is_blurred(&s) ? s.layers[REDO_SELECT] : 0);
	}
}

/* name: [[per device], ...] */
static void rows(const struct pipeline_problem *p, const struct pipeline_stage *plan, const char *name,
                 enum list list, struct sb_buf *out)
{
	sb_buf_addf(out, "%s: [", name);
	for (int64_t k = 0; k < p->shape.chunks; k++) {
		sb_buf_adds(out, k ? ", [" : "[");
		for (int64_t d = 0; d < p->shape.devices; d++)
			sb_buf_addf(out, "%s%lld", d ? ", " : "",
			            (long long)listed(p, plan, schedule_stage(&p->shape, d, k), list));
		sb_buf_adds(out, "]");
	}
	sb_buf_adds(out, "]\n");
}

static bool any_blurred(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	for (int64_t i = 0; i < schedule_stages(&p->shape); i++) {
		const struct pipeline_stage s = pipeline_stage_sum(p, plan, i);

		if (is_blurred(&s))
			return true;
	}
	return false;
}

/* Of layers of several types in one stage the lists take the first ones: those of the first types must
 * recompute no less than the others. */
static bool is_in_order(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	for (int64_t i = 0; i < schedule_stages(&p->shape); i++) {
		int weakest = PIPELINE_RECOMPUTES;

		for (int64_t b = 0; b < p->body_count; b++) {
			const struct pipeline_stage *s = &plan[i * p->body_count + b];
			int before = weakest;

			for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
				if (s->layers[r] > 0 && r > before)
					return false;
				if (s->layers[r] > 0 && r < weakest)
					weakest = r;
			}
		}
	}
	return true;
}

/* What MindSpore calls a schedule (set_auto_parallel_context, pipeline_scheduler); NULL = it has none such.
 */
static const char *scheduler_of(enum schedule_kind kind)
{
	switch (kind) {
	case SCHEDULE_GPIPE: return "gpipe";
	case SCHEDULE_1F1B:
	case SCHEDULE_INTERLEAVED: return "1f1b";
	case SCHEDULE_SEQ_1F1B: return "seqpipe";
	case SCHEDULE_ZB_V: return "zero_bubble_v";
	default: return NULL;
	}
}

static void scheduling(const struct schedule_shape *s, struct sb_buf *out)
{
	const char *scheduler = scheduler_of(s->kind);

	sb_buf_addf(out, "parallel_config:\n  pipeline_stage: %lld\n  micro_batch_num: %lld\n",
	            (long long)s->devices, (long long)s->micro_batches);
	if (s->slices > 1)
		sb_buf_addf(out, "  seq_split_num: %lld\n", (long long)s->slices);
	sb_buf_addf(out, "parallel:\n  pipeline_config:\n    pipeline_interleave: %s\n",
	            s->chunks > 1 || s->slices > 1 ? "true" : "false");
	if (scheduler)
		sb_buf_addf(out, "    pipeline_scheduler: '%s'\n", scheduler);
	else
		sb_buf_addf(out, "    # MindSpore has no name for the schedule %s\n",
		            schedule_facts(s->kind)->name);
}

int mindformers_yaml(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out,
                     struct sb_error *err)
{
	const struct schedule_facts *facts = schedule_facts(p->shape.kind);

	if (facts->two_way)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_such_schedule",
		               "MindFormers has no schedule of two directions");
	scheduling(&p->shape, out);
	sb_buf_addf(out, "model:\n  model_config:\n    num_layers: %lld\n    pp_interleave_num: %lld\n",
	            (long long)pipeline_layers(p), (long long)p->shape.chunks);
	rows(p, plan, "    offset", OFFSET, out);
	sb_buf_adds(out, "recompute_config:\n");
	if (any_blurred(p, plan))
		sb_buf_adds(out,
		            "  # where the plan has layers that recompute select and others comm, all of "
		            "them do both here\n");
	if (!is_in_order(p, plan))
		sb_buf_adds(out,
		            "  # MindFormers recomputes the first layers of each stage: the plan has some of "
		            "other types there\n");
	rows(p, plan, "  recompute", RECOMPUTE, out);
	rows(p, plan, "  select_recompute", SELECT, out);
	rows(p, plan, "  select_comm_recompute", COMM, out);
	return out->status == SB_OK ? SB_OK : sb_fail(err, out->status, "no_memory", "out of memory");
}
