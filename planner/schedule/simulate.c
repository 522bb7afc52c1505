#include <math.h>
#include <stdlib.h>

#include "planner/schedule/schedule.h"

#define NOBODY UINT32_MAX

/* What an operation waits for and gives is a unit: one slice of one micro-batch on one stage. */
struct simulation {
	const struct schedule_program *p;
	const struct schedule_times *t;
	int64_t stages;
	uint32_t turned; /* micro-batches from here on go the second way */
	/* When each unit's forward, and the gradient of its input, was there; NaN = not yet. Of a blocking
	 * transfer it is when the sending began. */
	double *forward, *backward;
	uint16_t *device; /* of each stage, the first way; then the second way's */
	double *clock;    /* of each device */
	size_t *at;       /* the operation each device has come to */
	/* Devices that can go on, and who waits for each: a device waits for one other at a time. */
	uint32_t *ready, *waiter, *next;
	size_t ready_count;
	struct schedule_result *out;
};

static void simulation_free(struct simulation *s)
{
	free(s->forward);
	free(s->backward);
	free(s->device);
	free(s->clock);
	free(s->at);
	free(s->ready);
	free(s->waiter);
	free(s->next);
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static size_t unit_of(const struct simulation *s, int64_t stage, uint32_t micro_batch, int64_t slice)
{
	const struct schedule_shape *h = &s->p->shape;

	return ((size_t)stage * (size_t)h->micro_batches + micro_batch) * (size_t)h->slices + (size_t)slice;
}

static int64_t device_of(const struct simulation *s, int64_t stage, uint32_t micro_batch)
{
	return s->device[stage + (micro_batch >= s->turned ? s->stages : 0)];
}

/* From the device of the stage `link` to that of the next one, or back. */
static double send_time(const struct simulation *s, int64_t link)
{
	return s->t->send ? s->t->send[link] : s->t->send_seconds;
}

/* What has to be there before an operation begins. */
struct inputs {
	double ready;  /* when it is there, transfers that keep nobody busy included */
	double sent;   /* blocking: when the last sending began; NaN = nothing is sent */
	double send;   /* blocking: how long receiving takes */
	int64_t waits; /* for this device; -1 = for none: all is there */
};

/* Takes up what one unit gives, made on the device `from` and needed on `to`. link: the stage before the two.
 */
static void take(const struct simulation *s, struct inputs *in, double made, int64_t from, int64_t to,
                 int64_t link)
{
	double send = from == to ? 0 : send_time(s, link);

	if (isnan(made)) {
		in->waits = from;
	} else if (s->t->blocking && from != to) {
		in->sent = in->sent > made ? in->sent : made;
		in->send += send;
	} else {
		in->ready = later(in->ready, made + send);
	}
}

static void take_forward(const struct simulation *s, struct inputs *in, int64_t stage, uint32_t mb,
                         int64_t slice)
{
	int64_t device = device_of(s, stage, mb);

	if (stage > 0)
		take(s, in, s->forward[unit_of(s, stage - 1, mb, slice)], device_of(s, stage - 1, mb), device,
		     stage - 1);
	/* a later slice looks back at the keys and values of the earlier ones */
	if (slice > 0)
		take(s, in, s->forward[unit_of(s, stage, mb, slice - 1)], device, device, stage);
}

static void take_backward(const struct simulation *s, struct inputs *in, int64_t stage, uint32_t mb,
                          int64_t slice)
{
	int64_t device = device_of(s, stage, mb);

	take(s, in, s->forward[unit_of(s, stage, mb, slice)], device, device, stage);
	if (stage + 1 < s->stages)
		take(s, in, s->backward[unit_of(s, stage + 1, mb, slice)], device_of(s, stage + 1, mb),
		     device, stage);
	if (slice + 1 < s->p->shape.slices)
		take(s, in, s->backward[unit_of(s, stage, mb, slice + 1)], device, device, stage);
}

static struct inputs inputs_of(const struct simulation *s, const struct schedule_op *o)
{
	struct inputs in = {.ready = 0, .sent = NAN, .waits = -1};

	switch (o->kind) {
	case OP_FORWARD: take_forward(s, &in, o->stage, o->micro_batch, o->slice); break;
	case OP_PAIR:
		take_forward(s, &in, o->stage, o->micro_batch, 0);
		take_backward(s, &in, o->other_stage, o->other_micro_batch, 0);
		break;
	case OP_WEIGHT: /* its backward stands before it in the same list, */
	case OP_RECOMPUTE: /* and so does its forward */ break;
	default: take_backward(s, &in, o->stage, o->micro_batch, o->slice); break;
	}
	return in;
}

double schedule_op_seconds(const struct schedule_program *p, const struct schedule_times *t, size_t op)
{
	const struct schedule_op *o = &p->ops[op];
	size_t at = (size_t)o->stage * (size_t)p->shape.slices + o->slice;
	double whole;

	switch (o->kind) {
	case OP_FORWARD: return t->forward[at];
	case OP_BACKWARD_INPUT: return t->backward[at];
	case OP_WEIGHT: return t->weight ? t->weight[at] : 0;
	case OP_RECOMPUTE: return t->recompute ? t->recompute[at] : 0;
	case OP_BACKWARD: return t->backward[at] + (t->weight ? t->weight[at] : 0);
	default:
		whole = t->backward[o->other_stage] + (t->weight ? t->weight[o->other_stage] : 0);
		if (!t->overlapped)
			return t->forward[at] + whole;
		return t->overlapped[at];
	}
}

/* Does another device need what this one makes? */
static bool is_sent(const struct simulation *s, int64_t stage, uint32_t mb, bool forward)
{
	int64_t other = forward ? stage + 1 : stage - 1;

	return other >= 0 && other < s->stages && device_of(s, other, mb) != device_of(s, stage, mb);
}

/* Tells that a unit is there from now on; a blocking transfer keeps the device for as long as it takes. */
static void give(const struct simulation *s, const struct schedule_op *o, double *clock)
{
	double end = *clock;
	bool forward = o->kind == OP_FORWARD || o->kind == OP_PAIR;
	bool backward = o->kind == OP_BACKWARD || o->kind == OP_BACKWARD_INPUT || o->kind == OP_PAIR;
	int64_t stage = o->kind == OP_PAIR ? o->other_stage : o->stage;
	uint32_t mb = o->kind == OP_PAIR ? o->other_micro_batch : o->micro_batch;

	if (forward) {
		s->forward[unit_of(s, o->stage, o->micro_batch, o->slice)] = end;
		if (s->t->blocking && is_sent(s, o->stage, o->micro_batch, true))
			*clock += send_time(s, o->stage);
	}
	if (backward) {
		s->backward[unit_of(s, stage, mb, o->slice)] = end;
		if (s->t->blocking && is_sent(s, stage, mb, false))
			*clock += send_time(s, stage - 1);
	}
}

/* Runs the next operation of a device; the device that it waits for instead, or -1. */
static int64_t step(struct simulation *s, int64_t device)
{
	size_t i = s->at[device];
	const struct schedule_op *o = &s->p->ops[i];
	struct inputs in = inputs_of(s, o);
	double *clock = &s->clock[device], begin = *clock, took;

	if (in.waits >= 0)
		return in.waits;
	if (!isnan(in.sent))
		begin = later(begin, in.sent) + in.send;
	begin = later(begin, in.ready);
	took = schedule_op_seconds(s->p, s->t, i);
	*clock = begin + took;
	if (s->out->op_start)
		s->out->op_start[i] = begin;
	if (s->out->start && i == s->p->first[device])
		s->out->start[device] = begin;
	if (s->out->busy)
		s->out->busy[device] += took;
	if (s->out->end)
		s->out->end[device] = *clock;
	s->out->makespan = later(s->out->makespan, *clock);
	give(s, o, clock);
	s->at[device]++;
	return -1;
}

static int run(struct simulation *s, struct sb_error *err)
{
	int64_t devices = s->p->shape.devices;

	for (int64_t d = devices - 1; d >= 0; d--) {
		s->waiter[d] = NOBODY;
		s->ready[s->ready_count++] = (uint32_t)d;
	}
	while (s->ready_count > 0) {
		uint32_t d = s->ready[--s->ready_count];
		size_t before = s->at[d];
		int64_t waits = -1;

		while (s->at[d] < s->p->first[d + 1] && waits < 0)
			waits = step(s, d);
		if (s->at[d] > before) {
			for (uint32_t w = s->waiter[d]; w != NOBODY; w = s->next[w])
				s->ready[s->ready_count++] = w;
			s->waiter[d] = NOBODY;
		}
		if (waits >= 0) {
			s->next[d] = s->waiter[waits];
			s->waiter[waits] = d;
		}
	}
	for (int64_t d = 0; d < devices; d++)
		if (s->at[d] < s->p->first[d + 1])
			return sb_fail(err, SB_EIMPOSSIBLE, "deadlock", "the schedule's order deadlocks");
	return SB_OK;
}

static double *unknown_times(size_t n)
{
	double *t = malloc((n + 1) * sizeof(*t));

	for (size_t i = 0; t && i < n; i++)
		t[i] = NAN;
	return t;
}

int schedule_simulate(const struct schedule_program *p, const struct schedule_times *t,
                      struct schedule_result *out, struct sb_error *err)
{
	size_t devices = (size_t)p->shape.devices, stages = (size_t)schedule_stages(&p->shape);
	size_t units = stages * (size_t)p->shape.micro_batches * (size_t)p->shape.slices;
	__attribute__((cleanup(simulation_free))) struct simulation s = {
	    .p = p,
	    .t = t,
	    .stages = (int64_t)stages,
	    .forward = unknown_times(units),
	    .backward = unknown_times(units),
	    .turned = (uint32_t)(p->shape.micro_batches / 2),
	    .device = malloc(2 * stages * sizeof(*s.device)),
	    .clock = calloc(devices, sizeof(*s.clock)),
	    .at = malloc(devices * sizeof(*s.at)),
	    .ready = malloc(devices * sizeof(*s.ready)),
	    .waiter = malloc(devices * sizeof(*s.waiter)),
	    .next = malloc(devices * sizeof(*s.next)),
	    .out = out};

	if (!s.forward || !s.backward || !s.device || !s.clock || !s.at || !s.ready || !s.waiter || !s.next)
		return sb_no_memory(err);
	out->makespan = 0;
	for (size_t i = 0; i < 2 * stages; i++)
		s.device[i] = (uint16_t)schedule_device(&p->shape, (int64_t)(i % stages), i >= stages);
	for (size_t d = 0; d < devices; d++) {
		s.at[d] = p->first[d];
		if (out->start)
			out->start[d] = 0;
		if (out->busy)
			out->busy[d] = 0;
		if (out->end)
			out->end[d] = 0;
	}
	return run(&s, err);
}
