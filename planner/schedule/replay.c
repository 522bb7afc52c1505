#include "planner/schedule/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define NOTHING UINT32_MAX
/* of both ways */
#define TASK_KINDS ((size_t)2 * (OP_PAIR + 1))

/* Operations that always take equally long: those of one kind on one stage of one device. */
struct task {
	size_t example; /* one of them in the program */
	double count, took;
	uint16_t device;
};

/* An operation, in an order in which each comes after all that it waits for. What it waits for are steps. */
struct step {
	uint32_t task, before; /* before: on the same device */
	uint32_t input[2];     /* from other devices: of the forward, of the backward */
	uint16_t hop[2];       /* the stage behind which each was sent; as many as there are: none was */
	uint16_t sent[2];      /* the stages behind which it sends: its forward, its backward */
	uint16_t device;
};

struct schedule_replay {
	const struct schedule_program *p;
	int64_t stages;
	size_t count, task_count;
	struct step *steps;
	struct task *tasks;
	bool blocking;
	/* of each step; then of what never was: before all others, and at 0 */
	double *end, *clock; /* clock: what it sends included, where that keeps the device busy */
	double *send;        /* of each stage; then 0 */
	double *spare;       /* of each device: how long it may still wait */
	uint32_t *last;      /* step of each device */
};

void schedule_replay_free(struct schedule_replay **at)
{
	struct schedule_replay *r = *at;

	if (!r)
		return;
	free(r->steps);
	free(r->tasks);
	free(r->end);
	free(r->clock);
	free(r->send);
	free(r->spare);
	free(r->last);
	free(r);
	*at = NULL;
}

/* While a replay is built. */
struct build {
	struct schedule_replay *r;
	double *start;                /* of each operation when all take 1 and no transfer takes time */
	uint32_t *order, *first;      /* operations by their start */
	uint32_t *forward, *backward; /* the step that gives each unit */
	uint32_t *task;               /* of each way, kind and unit */
};

static void build_free(struct build *b)
{
	free(b->start);
	free(b->order);
	free(b->first);
	free(b->forward);
	free(b->backward);
	free(b->task);
}

static int build_start(struct build *b, struct sb_error *err)
{
	const struct schedule_program *p = b->r->p;
	size_t parts = (size_t)b->r->stages * (size_t)p->shape.slices;
	double *one = malloc((parts + 1) * sizeof(*one)), *two = malloc((parts + 1) * sizeof(*two));
	/* a pair takes 1 as well */
	struct schedule_times t = {.forward = one, .backward = one, .weight = NULL, .overlapped = one};
	struct schedule_result result = {.op_start = b->start};
	int rc = SB_ENOMEM;

	for (size_t i = 0; one && two && i < parts; i++)
		one[i] = two[i] = 1;
	if (schedule_facts(p->shape.kind)->splits)
		t.weight = two;
	if (one && two)
		rc = schedule_simulate(p, &t, &result, err);
	free(one);
	free(two);
	return rc;
}

/* By their start, which is whole and below twice the number of operations. */
static int build_order(struct build *b)
{
	size_t n = b->r->count, slots = 2 * n + 2;

	b->first = calloc(slots, sizeof(*b->first));
	if (!b->first)
		return SB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		b->first[(size_t)b->start[i] + 1]++;
	for (size_t s = 1; s < slots; s++)
		b->first[s] += b->first[s - 1];
	for (size_t i = 0; i < n; i++)
		b->order[b->first[(size_t)b->start[i]]++] = (uint32_t)i;
	return SB_OK;
}

static size_t unit_of(const struct schedule_replay *r, int64_t stage, uint32_t micro_batch, int64_t slice)
{
	const struct schedule_shape *h = &r->p->shape;

	return ((size_t)stage * (size_t)h->micro_batches + micro_batch) * (size_t)h->slices + (size_t)slice;
}

static bool turned(const struct schedule_replay *r, uint32_t micro_batch)
{
	return schedule_facts(r->p->shape.kind)->two_way &&
	       micro_batch >= (uint32_t)(r->p->shape.micro_batches / 2);
}

static uint32_t task_of(struct build *b, const struct schedule_op *o, size_t op, uint16_t device)
{
	struct schedule_replay *r = b->r;
	size_t parts = (size_t)r->stages * (size_t)r->p->shape.slices;
	size_t key = ((turned(r, o->micro_batch) ? 1u : 0u) * (OP_PAIR + 1u) + o->kind) * parts +
	             (size_t)o->stage * (size_t)r->p->shape.slices + o->slice;

	if (b->task[key] == NOTHING) {
		b->task[key] = (uint32_t)r->task_count;
		r->tasks[r->task_count++] = (struct task){.example = op, .device = device};
	}
	r->tasks[b->task[key]].count++;
	return b->task[key];
}

/* The hop that a unit goes over to another device; none: the number of stages. */
static uint16_t hop_of(const struct schedule_replay *r, int64_t stage, int64_t to, uint32_t mb)
{
	const struct schedule_shape *h = &r->p->shape;
	bool way = turned(r, mb);

	if (to < 0 || to >= r->stages || schedule_device(h, to, way) == schedule_device(h, stage, way))
		return (uint16_t)r->stages;
	return (uint16_t)(to < stage ? to : stage);
}

static void add_step(struct build *b, size_t at, size_t op, uint16_t device)
{
	struct schedule_replay *r = b->r;
	const struct schedule_op *o = &r->p->ops[op];
	bool pair = o->kind == OP_PAIR, forward = pair || o->kind == OP_FORWARD;
	int64_t back_stage = pair ? o->other_stage : o->stage;
	uint32_t back = pair ? o->other_micro_batch : o->micro_batch;
	uint16_t none = (uint16_t)r->stages;
	struct step s = {.task = task_of(b, o, op, device),
	                 .before = r->last[device],
	                 .input = {(uint32_t)r->count, (uint32_t)r->count},
	                 .hop = {none, none},
	                 .sent = {none, none},
	                 .device = device};

	/* an input that comes from the same device stands before in its list */
	if (forward) {
		s.hop[0] = hop_of(r, o->stage, o->stage - 1, o->micro_batch);
		if (s.hop[0] != none)
			s.input[0] = b->forward[unit_of(r, o->stage - 1, o->micro_batch, o->slice)];
		s.sent[0] = hop_of(r, o->stage, o->stage + 1, o->micro_batch);
		b->forward[unit_of(r, o->stage, o->micro_batch, o->slice)] = (uint32_t)at;
	}
	if (pair || o->kind == OP_BACKWARD || o->kind == OP_BACKWARD_INPUT) {
		s.hop[1] = hop_of(r, back_stage, back_stage + 1, back);
		if (s.hop[1] != none)
			s.input[1] = b->backward[unit_of(r, back_stage + 1, back, o->slice)];
		s.sent[1] = hop_of(r, back_stage, back_stage - 1, back);
		b->backward[unit_of(r, back_stage, back, o->slice)] = (uint32_t)at;
	}
	r->last[device] = (uint32_t)at;
	r->steps[at] = s;
}

static void build_steps(struct build *b, size_t parts)
{
	struct schedule_replay *r = b->r;
	const struct schedule_program *p = r->p;

	for (size_t i = 0; i < TASK_KINDS * parts; i++)
		b->task[i] = NOTHING;
	for (int64_t d = 0; d < p->shape.devices; d++)
		r->last[d] = (uint32_t)r->count + 1;
	for (size_t i = 0; i < r->count; i++) {
		size_t device = SB_BISECT(d, 0, (size_t)p->shape.devices - 1, p->first[d + 1] <= b->order[i]);

		add_step(b, i, b->order[i], (uint16_t)device);
	}
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): the cleanup attributes free them */
int schedule_replay_open(const struct schedule_program *p, struct schedule_replay **out, struct sb_error *err)
{
	SCHEDULE_REPLAY_AUTO r = calloc(1, sizeof(*r));
	__attribute__((cleanup(build_free))) struct build b = {.r = r};
	size_t devices = (size_t)p->shape.devices, stages = (size_t)schedule_stages(&p->shape);
	size_t parts = stages * (size_t)p->shape.slices, units = parts * (size_t)p->shape.micro_batches;
	size_t kinds = TASK_KINDS * parts;
	int rc;

	if (!r)
		return sb_no_memory(err);
	r->p = p;
	r->stages = (int64_t)stages;
	r->count = p->first[devices];
	r->steps = malloc((r->count + 1) * sizeof(*r->steps));
	r->tasks = calloc(kinds + 1, sizeof(*r->tasks));
	r->end = malloc((r->count + 2) * sizeof(*r->end));
	r->clock = malloc((r->count + 2) * sizeof(*r->clock));
	r->send = malloc((stages + 1) * sizeof(*r->send));
	r->spare = malloc((devices + 1) * sizeof(*r->spare));
	r->last = malloc((devices + 1) * sizeof(*r->last));
	b.start = malloc((r->count + 1) * sizeof(*b.start));
	b.order = malloc((r->count + 1) * sizeof(*b.order));
	b.forward = malloc((units + 1) * sizeof(*b.forward));
	b.backward = malloc((units + 1) * sizeof(*b.backward));
	b.task = malloc((kinds + 1) * sizeof(*b.task));
	if (!r->steps || !r->tasks || !r->end || !r->clock || !r->send || !r->spare || !r->last || !b.start ||
	    !b.order || !b.forward || !b.backward || !b.task)
		return sb_no_memory(err);
	rc = build_start(&b, err);
	if (rc == SB_OK)
		rc = build_order(&b);
	if (rc != SB_OK)
		return rc == SB_ENOMEM ? sb_fail(err, rc, "no_memory", "out of memory") : rc;
	build_steps(&b, parts);
	*out = r;
	r = NULL;
	return SB_OK;
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */

static void begin_run(struct schedule_replay *r, const struct schedule_times *t, double bound)
{
	/* sums in another order may differ in their last digits */
	double room = bound * (1 + 1e-12);

	r->blocking = t->blocking;
	r->send[r->stages] = 0;
	for (int64_t i = 0; i < r->stages; i++)
		r->send[i] = t->send ? t->send[i] : t->send_seconds;
	for (int64_t d = 0; d < r->p->shape.devices; d++)
		r->spare[d] = room;
	for (size_t i = 0; i < r->task_count; i++) {
		struct task *task = &r->tasks[i];

		task->took = schedule_op_seconds(r->p, t, task->example);
		r->spare[task->device] -= task->count * task->took;
	}
	r->end[r->count] = -INFINITY;
	r->end[r->count + 1] = r->clock[r->count + 1] = 0;
}

/* False: some device has waited too long. */
static bool run(struct schedule_replay *r)
{
	double *end = r->end, *spare = r->spare;

	for (size_t i = 0; i < r->count; i++) {
		const struct step *s = &r->steps[i];
		double free = end[s->before], a = end[s->input[0]] + r->send[s->hop[0]],
		       b = end[s->input[1]] + r->send[s->hop[1]], begin = free;

		begin = a > begin ? a : begin;
		begin = b > begin ? b : begin;
		spare[s->device] -= begin - free;
		if (spare[s->device] < 0)
			return false;
		end[i] = begin + r->tasks[s->task].took;
	}
	return true;
}

static bool run_blocking(struct schedule_replay *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct step *s = &r->steps[i];
		double free = r->clock[s->before], a = r->end[s->input[0]], b = r->end[s->input[1]],
		       begin = free;

		begin = a > begin ? a : begin;
		begin = b > begin ? b : begin;
		begin += r->send[s->hop[0]] + r->send[s->hop[1]];
		r->spare[s->device] -= begin - free;
		if (r->spare[s->device] < 0)
			return false;
		r->end[i] = begin + r->tasks[s->task].took;
		r->clock[i] = r->end[i] + r->send[s->sent[0]] + r->send[s->sent[1]];
	}
	return true;
}

double schedule_replay(struct schedule_replay *r, const struct schedule_times *t, double bound)
{
	double most = 0;

	begin_run(r, t, bound);
	for (int64_t d = 0; d < r->p->shape.devices; d++)
		if (r->spare[d] < 0)
			return INFINITY;
	if (!(t->blocking ? run_blocking(r) : run(r)))
		return INFINITY;
	for (int64_t d = 0; d < r->p->shape.devices; d++)
		most = r->end[r->last[d]] > most ? r->end[r->last[d]] : most;
	return most;
}

static void visit(const struct schedule_op *o, struct schedule_visits *out)
{
	int64_t back = o->kind == OP_PAIR ? o->other_stage : o->stage;

	if (o->kind == OP_RECOMPUTE)
		return;
	if (o->kind == OP_FORWARD || o->kind == OP_PAIR)
		out[o->stage].forward++;
	if (o->kind == OP_PAIR)
		out[o->stage].pair++;
	if (o->kind != OP_FORWARD && o->kind != OP_WEIGHT)
		out[back].backward++;
	if (o->kind != OP_FORWARD && o->kind != OP_BACKWARD_INPUT)
		out[back].weight++;
}

static void visit_hops(const struct schedule_replay *r, const uint16_t hop[2], struct schedule_visits *out)
{
	for (int i = 0; i < 2; i++)
		if (hop[i] < r->stages)
			out[hop[i]].send++;
}

/* What a step waited for longest; -1: for its device. */
static int waited_for(const struct schedule_replay *r, const struct step *s)
{
	double latest = r->blocking ? r->clock[s->before] : r->end[s->before];
	int from = -1;

	for (int i = 0; i < 2; i++) {
		double there = r->end[s->input[i]] + (r->blocking ? 0 : r->send[s->hop[i]]);

		if (there <= latest)
			continue;
		latest = there;
		from = i;
	}
	return from;
}

void schedule_replay_path(const struct schedule_replay *r, struct schedule_visits *out)
{
	uint32_t at = (uint32_t)r->count + 1;

	memset(out, 0, (size_t)r->stages * sizeof(*out));
	for (int64_t d = 0; d < r->p->shape.devices; d++)
		if (r->end[r->last[d]] > r->end[at])
			at = r->last[d];
	while (at < r->count) {
		const struct step *s = &r->steps[at];
		int from = waited_for(r, s);

		visit(&r->p->ops[r->tasks[s->task].example], out);
		at = from < 0 ? s->before : s->input[from];
		if (r->blocking) {
			visit_hops(r, s->hop, out);
			if (from < 0 && at < r->count)
				visit_hops(r, r->steps[at].sent, out);
		} else if (from >= 0) {
			out[s->hop[from]].send++;
		}
	}
}
