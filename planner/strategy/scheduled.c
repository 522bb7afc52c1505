#include "planner/strategy/scheduled.h"

#include <math.h>
#include <stdlib.h>

#include "planner/schedule/schedule.h"

/* A pipeline's stages, and the devices that run them. */
struct pipeline_order {
	const struct stage_run *runs;
	const struct stage_time *times; /* of each run; NULL where seconds do not matter */
	int64_t *run;                   /* of each stage */
	int64_t stages;
	int held;             /* stages of a device: the second is the first one's mirror */
	double micro_batches; /* of each of them */
	struct schedule_program program;
	double *room;
};

static void order_free(struct pipeline_order *o)
{
	free(o->run);
	free(o->room);
	schedule_program_free(&o->program);
}
#define ORDER_AUTO __attribute__((cleanup(order_free))) struct pipeline_order

#define ROWS 6 /* numbers of each stage or device */

static int order_init(const struct cost_problem *p, const struct strategy *s, const struct stage_run *runs,
                      int64_t count, struct pipeline_order *o, struct sb_error *err)
{
	struct schedule_shape shape = strategy_schedule_shape(s, strategy_micro_batches(s, p->sequences));
	size_t stages = (size_t)s->pp;

	o->runs = runs;
	o->stages = s->pp;
	o->held = schedule_facts(shape.kind)->two_way ? 2 : 1;
	o->micro_batches = (double)shape.micro_batches / o->held;
	o->run = malloc(stages * sizeof(*o->run));
	o->room = calloc(ROWS * stages, sizeof(*o->room));
	if (!o->run || !o->room)
		return sb_no_memory(err);
	for (int64_t r = 0; r < count; r++)
		for (int64_t i = runs[r].first; i < runs[r].first + runs[r].count; i++)
			o->run[i] = r;
	return schedule_program_build(&shape, &o->program, err);
}

static double *row(const struct pipeline_order *o, int n)
{
	return o->room + (int64_t)n * o->stages;
}

/* The stage that a device holds as its k-th. */
static int64_t held_stage(const struct pipeline_order *o, int64_t device, int k)
{
	return k == 0 ? device : o->stages - 1 - device;
}

static const struct stage_time *time_of(const struct pipeline_order *o, int64_t stage)
{
	return &o->times[o->run[stage]];
}

static void device_memory(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                          const struct pipeline_order *o, int64_t device, double peak,
                          struct memory_parts *out)
{
	*out = (struct memory_parts){.activations = peak};
	for (int k = 0; k < o->held; k++) {
		struct stage_run one = o->runs[o->run[held_stage(o, device, k)]];
		struct memory_parts m;

		one.first = held_stage(o, device, k);
		one.count = 1;
		m = stage_memory(p, &l->memory, s, &one, 0);
		out->weights += m.weights / (s->zero >= 3 ? o->held : 1);
		out->gradients += m.gradients / (s->zero >= 2 ? o->held : 1);
		out->optimizer += m.optimizer / (s->zero >= 1 ? o->held : 1);
		out->workspace = fmax(out->workspace, m.workspace);
	}
	out->workspace += (p->constants.fragmentation - 1) * peak;
}

static void all_memory(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                       const struct pipeline_order *o, struct memory_parts *out)
{
	double *stored = row(o, 0), *peaks = row(o, 1);

	for (int64_t i = 0; i < o->stages; i++)
		stored[i] = stage_stored(&l->memory, &o->runs[o->run[i]]);
	stored[0] += l->memory.first_stored;
	schedule_peaks(&o->program, stored, peaks);
	for (int64_t d = 0; d < o->stages; d++)
		device_memory(p, s, l, o, d, peaks[d], &out[d]);
}

int scheduled_memory(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                     const struct stage_run *runs, int64_t count, struct memory_parts *out,
                     struct sb_error *err)
{
	ORDER_AUTO o = {0};
	int rc = order_init(p, s, runs, count, &o, err);

	if (rc == SB_OK)
		all_memory(p, s, l, &o, out);
	return rc;
}

/* What a forward pass of one stage beside a backward pass of another wins. */
static double pair_won(const struct pipeline_order *o, int64_t stage, int64_t other)
{
	const struct stage_time *a = time_of(o, stage), *b = time_of(o, other);

	return ((a->taken ? 0 : a->alone_expert) + (b->taken ? 0 : b->alone_expert)) / 2;
}

/* The seconds of each stage's passes, and what each device's pairs win in all. */
static struct schedule_times fill_times(const struct pipeline_order *o, double *won)
{
	double *forward = row(o, 0), *backward = row(o, 1), *weight = row(o, 2), *overlapped = row(o, 3);

	for (int64_t i = 0; i < o->stages; i++) {
		const struct stage_time *t = time_of(o, i);

		forward[i] = t->forward + t->head_forward;
		weight[i] = t->weight;
		backward[i] = t->backward + t->head_backward - t->weight;
	}
	for (int64_t i = 0; i < o->stages; i++) {
		int64_t other = o->stages - 1 - i;

		overlapped[i] = forward[i] + backward[other] + weight[other] - pair_won(o, i, other);
	}
	for (int64_t d = 0; d < o->stages; d++) {
		won[d] = 0;
		for (size_t i = o->program.first[d]; i < o->program.first[d + 1]; i++) {
			const struct schedule_op *op = &o->program.ops[i];

			if (op->kind == OP_PAIR)
				won[d] += pair_won(o, op->stage, op->other_stage);
		}
	}
	return (struct schedule_times){
	    .forward = forward, .backward = backward, .weight = weight, .overlapped = overlapped};
}

/* Seconds of a device, in one step. */
struct device_time {
	double work, exchange, optimizer, alone;
};

static struct device_time device_time(const struct pipeline_order *o, const struct strategy *s,
                                      int64_t device, double won)
{
	struct device_time x = {.work = -won};

	for (int k = 0; k < o->held; k++) {
		const struct stage_time *t = time_of(o, held_stage(o, device, k));

		x.work += o->micro_batches * stage_work(t);
		x.exchange += t->exchange;
		x.optimizer += t->optimizer / (s->zero >= 1 ? o->held : 1);
		x.alone += alone_seconds(t) / o->held;
	}
	return x;
}

static void add_layers(const struct layer_costs *l, const struct stage_run *run, double times,
                       double parts[LAYER_PARTS])
{
	for (int i = 0; i < LAYER_PARTS; i++) {
		for (int k = 0; k < LAYER_KINDS; k++)
			parts[i] += times * ((double)(run->layers[k] - run->kept[k]) * l->layer[k].parts[i] +
			                     (double)run->kept[k] * l->kept[k].parts[i]);
	}
}

static void add_end(const struct layer_time *end, double times, double parts[LAYER_PARTS])
{
	for (int i = 0; i < LAYER_PARTS; i++)
		parts[i] += times * end->parts[i];
}

static struct breakdown_seconds split_device(const struct layer_costs *l, const struct pipeline_order *o,
                                             int64_t device, const struct device_time *x, double won,
                                             double passes)
{
	double parts[LAYER_PARTS] = {0}, m = o->micro_batches, alone = 0, sends = 0, inside = 0;

	for (int k = 0; k < o->held; k++) {
		int64_t stage = held_stage(o, device, k);
		const struct stage_time *t = time_of(o, stage);

		add_layers(l, &o->runs[o->run[stage]], m, parts);
		if (stage == 0)
			add_end(&l->embedding, m, parts);
		if (stage == o->stages - 1)
			add_end(&l->head, m, parts);
		alone += m * t->alone_expert;
		sends += m * t->sends;
	}
	for (int i = 0; i < LAYER_PARTS; i++)
		inside += parts[i];
	return (struct breakdown_seconds){.compute = parts[PART_COMPUTE],
	                                  .recompute = parts[PART_RECOMPUTE],
	                                  .tensor_parallel = parts[PART_TENSOR],
	                                  .context_parallel = parts[PART_CONTEXT],
	                                  .expert_parallel = parts[PART_EXPERT] + alone - won,
	                                  .pipeline_send = sends + x->alone,
	                                  .gradient_exchange =
	                                      x->exchange + fmax(0, x->work - (inside + alone - won + sends)),
	                                  .bubble = fmax(0, passes - x->work - x->alone - x->exchange)};
}

static int simulated(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                     const struct pipeline_order *o, struct strategy_cost *io, struct sb_error *err)
{
	double *won = row(o, 4), *end = row(o, 5), passes = 0, busy = -1, optimizer = 0, alone = 0;
	const struct schedule_times times = fill_times(o, won);
	struct schedule_result result = {.end = end};
	struct device_time x;
	int rc = schedule_simulate(&o->program, &times, &result, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t d = 0; d < o->stages; d++) {
		x = device_time(o, s, d, won[d]);
		passes = fmax(passes, end[d] + x.exchange);
		optimizer = fmax(optimizer, x.optimizer);
		alone += alone_seconds(time_of(o, d));
		if (x.work > busy) {
			busy = x.work;
			io->busiest_stage = d;
		}
	}
	passes += alone;
	x = device_time(o, s, io->busiest_stage, won[io->busiest_stage]);
	io->simulated = true;
	io->bound_seconds = cost_outside(p, s, busy + optimizer);
	io->step_seconds = fmax(cost_outside(p, s, passes + optimizer), io->bound_seconds);
	io->breakdown = split_device(l, o, io->busiest_stage, &x, won[io->busiest_stage], passes);
	io->breakdown.optimizer = optimizer;
	io->breakdown.other = fmax(0, io->step_seconds - passes - optimizer);
	return SB_OK;
}

int scheduled_cost(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                   const struct stage_run *runs, const struct stage_time *times, int64_t count,
                   struct strategy_cost *io, struct sb_error *err)
{
	ORDER_AUTO o = {.times = times};
	struct memory_parts *memory = malloc((size_t)s->pp * sizeof(*memory));
	int rc = memory ? order_init(p, s, runs, count, &o, err) : sb_no_memory(err);

	if (rc == SB_OK)
		rc = simulated(p, s, l, &o, io, err);
	if (rc == SB_OK)
		all_memory(p, s, l, &o, memory);
	for (int64_t d = 0; rc == SB_OK && d < s->pp; d++) {
		if (d == 0 || memory_total(&memory[d]) > memory_total(&io->memory)) {
			io->memory = memory[d];
			io->fullest_stage = d;
		}
	}
	free(memory);
	return rc;
}
