#ifndef SB_PLANNER_STRATEGY_COST_H
#define SB_PLANNER_STRATEGY_COST_H
#include "planner/cost/memory.h"

/* The cost of one strategy, in two steps: a bound that is cheap and never above the result, and the result
 * itself, from a simulation of the schedule. */

/* What one micro-batch costs: the same for every pipeline that is cut from these layers. */
struct layer_costs {
	struct layer_time layer[LAYER_KINDS], embedding, head;
	struct layer_time
	    kept[LAYER_KINDS]; /* a layer that is not recomputed although the strategy recomputes */
	struct memory_model memory;
	double send; /* between stages, one way */
};
/* What one device sends to the next stage, one micro-batch, one way: each tensor rank its own part of the
 * tensor. Without sequence parallelism the receivers gather the parts, which the seconds hold (Narayanan et
 * al. 2021, section 4.1). */
double stage_send_bytes(const struct cost_problem *p, const struct strategy *s);
double stage_send_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g);
/* For a fitting strategy: seconds of its layers and ends, all layers recomputed as it says; the rest 0. */
struct layer_costs layer_work_of(const struct cost_problem *p, const struct strategy *s,
                                 const struct groups *g);
/* For a fitting strategy; seconds and bytes. */
struct layer_costs layer_costs_of(const struct cost_problem *p, const struct strategy *s,
                                  const struct groups *g);

/* Where the step's time goes on the slowest stage; the parts sum to step_seconds. */
struct breakdown_seconds {
	double compute, recompute, tensor_parallel, context_parallel, expert_parallel, pipeline_send, bubble,
	    gradient_exchange, optimizer, offload, other;
};

struct strategy_cost {
	double step_seconds;
	double bound_seconds;               /* lower bound under the same model */
	struct breakdown_seconds breakdown; /* of the busiest stage; of DualPipe the device of its number */
	int64_t busiest_stage;
	struct memory_parts memory; /* of the fullest stage */
	int64_t fullest_stage;
	double host_bytes; /* of a node's host memory (offload_node_bytes()) */
	bool host_fits;
	bool fits;      /* the devices, and the hosts */
	bool simulated; /* exactly; else the steady state was extrapolated */
	double tokens_per_second, mfu, hfu;
};

/* Seconds of one stage of a run. */
struct stage_time {
	double forward, backward;           /* of its layers, the sends included */
	double head_forward, head_backward; /* what the first or last stage adds */
	double exchange;                    /* gradient reduction and weight gathering that nothing hides */
	double optimizer;
	double offload,
	    offload_update; /* of them, what waits for the host: of the passes, of the optimizer */
	double sends;       /* of both passes, what waits for the neighbours */
	/* With strategy.overlap_expert and overlap_sends: what a micro-batch's exchange with experts takes
	 * more when it has no partner (in forward and backward where `paired` is not set), and its sends
	 * before the pipeline is full and when it empties. One micro-batch on every stage is such a one,
	 * on the way through the pipeline and back (alone_seconds()). */
	double alone_expert, alone_sends;
	bool paired;
	bool taken;    /* others have the windows of its passes */
	double weight; /* of backward and head_backward, the gradients of the weights */
};
/* Seconds that a micro-batch keeps the stage at work. */
static inline double stage_work(const struct stage_time *t)
{
	return t->forward + t->backward + t->head_forward + t->head_backward;
}
/* One stage of a run: seconds of one micro-batch, and of what comes once a step. */
struct stage_time stage_seconds(const struct cost_problem *p, const struct layer_costs *l,
                                const struct strategy *s, const struct groups *g,
                                const struct stage_run *run);
struct pass_time {
	double forward, backward;
};
/* Chunk j of the first stage of a run, whose seconds are t: of these what its layers are of the stage's, and
 * its own sends. Embedding and head left out. */
struct pass_time chunk_seconds(const struct cost_problem *p, const struct layer_costs *l,
                               const struct strategy *s, const struct stage_run *run,
                               const struct stage_time *t, int64_t j);

/* What a step takes more than its simulation for the passes that hide nothing. Megatron's last stage begins
 * with (vpp - 1) pp + 1 passes without a partner, once the first micro-batch has come through pp - 1 others,
 * and ends alike: pp x vpp passes each way, a micro-batch on every stage; seconds. */
double alone_seconds(const struct stage_time *t);
/* A lower bound of the simulated step: for every stage, the first micro-batch must reach it, it must do its
 * work, and the last must flow back; plus the exchange, and the slowest optimizer. */
double bound_seconds(const struct cost_problem *p, const struct layer_costs *l, const struct strategy *s,
                     const struct groups *g, const struct stage_run *runs, int64_t count,
                     int64_t micro_batches);
/* An upper bound of it, where whole groups of pp micro-batches fill an interleaved pipeline. Straight: every
 * micro-batch waits for the slowest stage (cost-model section 10, the uneven form). Interleaved: chunks all
 * as long as the longest one take the uniform form of that section; the ends, which lengthen one chunk of
 * the first and of the last stage, add to the longest path no more than all that they do. */
double upper_seconds(const struct cost_problem *p, const struct layer_costs *l, const struct strategy *s,
                     const struct groups *g, const struct stage_run *runs, int64_t count,
                     int64_t micro_batches);
/* When each stage of a pipeline has finished its passes: out_end[pp]. forward, backward: seconds of each
 * chunk, [vpp][pp]. *out_simulated: exactly; else the steady state was extrapolated. SB_ENOMEM. */
int pipeline_ends(const struct strategy *s, int64_t micro_batches, const double *forward,
                  const double *backward, double *out_end, bool *out_simulated, struct sb_error *err);
/* What belongs to no stage of a step on those devices: stragglers, which make all of it longer; and, once
 * a step, what all devices agree on before the update, and host work. */
struct outside {
	double factor, once;
};
struct outside outside_of(const struct cost_problem *p, struct ranks_used used);
/* A step's seconds with it. */
double cost_outside(const struct cost_problem *p, const struct strategy *s, double seconds);
/* The fullest stage's memory; of the host, what a device keeps there on the stage that keeps the most. */
struct memory_parts peak_memory(const struct cost_problem *p, const struct layer_costs *l,
                                const struct strategy *s, const struct stage_run *runs, int64_t count,
                                int64_t micro_batches, int64_t *out_stage);

/* The runs of a strategy with recompute_fit: each stage recomputes as few of its first layers as make it fit
 * in p->memory_bytes (or s->recompute_bytes), all of them when none do. Takes the strategy's runs, writes at
 * most pp runs. With only_fitting it ends with 0 as soon as a stage does not fit either way. */
int64_t strategy_fit_runs(const struct cost_problem *p, const struct memory_model *m,
                          const struct strategy *s, int64_t micro_batches, const struct stage_run *runs,
                          int64_t count, bool only_fitting, struct stage_run *out);
/* So of the first stage alone, a run of one: does it fit, and with how many bytes? */
bool strategy_fit_first(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                        int64_t micro_batches, struct stage_run *first, double *out_bytes);
/* The runs of any strategy, those with recompute_fit included. out_runs has room for 2 * pp. */
int64_t strategy_costed_runs(const struct cost_problem *p, const struct memory_model *m,
                             const struct strategy *s, struct stage_run *out_runs);
/* Layers that each stage recomputes, pp counts. SB_ENOMEM. */
int strategy_recomputed(const struct cost_problem *p, const struct strategy *s, int64_t *out,
                        struct sb_error *err);

/* Costs a fitting strategy in full. SB_ENOMEM. */
int strategy_cost(const struct cost_problem *p, const struct strategy *s, struct strategy_cost *out,
                  struct sb_error *err);
#endif
