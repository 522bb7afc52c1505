#include "planner/pipeline/embedding_placement.h"

#include <math.h>

#define STAGES_MAX (2 * EMBEDDING_STAGES_MAX) /* a V has two a device */

/* The stages of one placement under one schedule. */
struct cut {
	struct schedule_shape shape;
	int64_t stages;
	int64_t layers[STAGES_MAX];
	double forward[STAGES_MAX], backward[STAGES_MAX], activation[STAGES_MAX];
};

static int out_of_range(struct sb_error *err, const char *field, const char *text)
{
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field, "%s", text);
}

int embedding_check(const struct embedding_problem *p, struct sb_error *err)
{
	if (p->stages < 2 || p->stages > EMBEDDING_STAGES_MAX)
		return out_of_range(err, "stages", "must lie between 2 and 256");
	if (p->micro_batches < 1 ||
	    6.0 * (double)p->stages * (double)p->micro_batches > SCHEDULE_OPERATIONS_MAX)
		return out_of_range(
		    err, "micro_batches",
		    "must be at least 1, and 6 times the stages and micro-batches at most 2^22");
	if (p->layers < p->stages)
		return out_of_range(err, "layers", "must be at least one a stage");
	return SB_OK;
}

/* What a stage has of embedding and head. */
static void add_ends(const struct embedding_problem *p, enum embedding_placement place, struct cut *c)
{
	double share = 1 / (double)p->stages;
	int64_t last = c->stages - 1;

	if (place != PLACE_SPLIT) {
		c->forward[0] += p->embedding.forward;
		c->backward[0] += p->embedding.backward;
		c->forward[last] += p->head.forward;
		c->backward[last] += p->head.backward;
		return;
	}
	for (int64_t i = 0; i <= last; i++) {
		c->forward[i] += share * (p->embedding.forward + p->head.forward);
		c->backward[i] += share * (p->embedding.backward + p->head.backward) + p->vocabulary;
	}
}

/* The stage of the device with least to do, and there that with fewest layers; of equals the first. */
static int64_t idlest(const struct cut *c, const double *load)
{
	int64_t best = 0;

	for (int64_t i = 1; i < c->stages; i++) {
		double a = load[schedule_device(&c->shape, i, false)];
		double b = load[schedule_device(&c->shape, best, false)];

		if (a < b || (a == b && c->layers[i] < c->layers[best]))
			best = i;
	}
	return best;
}

static void spread_layers(const struct embedding_problem *p, struct cut *c)
{
	double each = p->layer.forward + p->layer.backward, load[EMBEDDING_STAGES_MAX] = {0};

	for (int64_t i = 0; i < c->stages; i++)
		load[schedule_device(&c->shape, i, false)] += c->forward[i] + c->backward[i];
	for (int64_t given = 0; given < p->layers; given++) {
		int64_t i = given < c->stages ? given : idlest(c, load); /* at least one a stage */

		load[schedule_device(&c->shape, i, false)] += each;
		c->layers[i]++;
		c->forward[i] += p->layer.forward;
		c->backward[i] += p->layer.backward;
		c->activation[i] += p->activation;
	}
}

/* Everything on a device that stays there. */
static double resident(const struct embedding_problem *p, enum embedding_placement place, int64_t d,
                       int64_t layers)
{
	double bytes = p->constant + (double)layers * p->layer.bytes;
	double both = p->embedding.bytes + p->head.bytes - p->shared_bytes;

	switch (place) {
	case PLACE_SPLIT: return bytes + (both + p->logits) / (double)p->stages;
	case PLACE_BOTH_ENDS:
		bytes += d == 0 ? p->embedding.bytes : 0;
		return bytes + (d == p->stages - 1 ? p->head.bytes + p->logits : 0);
	default: return bytes + (d == 0 ? both + p->logits : 0);
	}
}

/* The rest of a plan, from the layers, the work and the peaks that it has. */
static void finish(const struct embedding_problem *p, enum embedding_placement place,
                   struct embedding_plan *out)
{
	out->exchange = place == PLACE_BOTH_ENDS && p->shared_bytes > 0 ? p->exchange : 0;
	out->step = out->makespan + out->exchange;
	for (int64_t d = 0; d < p->stages; d++) {
		out->memory[d] += resident(p, place, d, out->layers[d]);
		out->peak = fmax(out->peak, out->memory[d]);
	}
	out->fits = out->peak <= p->memory;
}

static int simulate(const struct embedding_problem *p, enum embedding_placement place, struct cut *c,
                    struct embedding_plan *out, struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO program = {0};
	double input[STAGES_MAX];
	struct schedule_times times = {
	    .forward = c->forward, .backward = input, .weight = input, .send_seconds = p->send};
	struct schedule_result r = {.busy = out->busy};
	int rc = schedule_program_build(&c->shape, &program, err);

	for (int64_t i = 0; i < c->stages; i++) {
		out->layers[schedule_device(&c->shape, i, false)] += c->layers[i];
		input[i] = c->backward[i] / 2;
	}
	if (rc == SB_OK)
		rc = schedule_simulate(&program, &times, &r, err);
	if (rc != SB_OK)
		return rc;
	schedule_peaks(&program, c->activation, out->memory);
	out->schedule = c->shape.kind;
	out->makespan = r.makespan;
	finish(p, place, out);
	return SB_OK;
}

static bool is_better(const struct embedding_plan *a, const struct embedding_plan *b)
{
	if (b->reason || a->fits != b->fits)
		return b->reason || a->fits;
	return a->fits ? a->step < b->step : a->peak < b->peak;
}

/* Tries one schedule; a placement that no schedule fits keeps its reason. */
static int try_schedule(const struct embedding_problem *p, enum embedding_placement place,
                        enum schedule_kind kind, struct embedding_plan *io, struct sb_error *err)
{
	struct cut c = {.shape = {.kind = kind,
	                          .devices = p->stages,
	                          .micro_batches = p->micro_batches,
	                          .chunks = place == PLACE_ONE_DEVICE ? 2 : 1,
	                          .slices = 1}};
	struct embedding_plan plan = {0};
	int rc;

	c.stages = schedule_stages(&c.shape);
	if (schedule_check(&c.shape, NULL) != SB_OK)
		return SB_OK;
	if (c.stages > p->layers) {
		if (io->reason)
			io->reason = "there are fewer layers than stages: a V has two a device";
		return SB_OK;
	}
	add_ends(p, place, &c);
	spread_layers(p, &c);
	rc = simulate(p, place, &c, &plan, err);
	if (rc == SB_OK && is_better(&plan, io))
		*io = plan;
	return rc;
}

/* Nobody waits: the first device runs embedding, head and its layers one after the other. */
static void stale_plan(const struct embedding_problem *p, struct embedding_plan *out)
{
	struct cut c = {.shape = {SCHEDULE_1F1B, p->stages, p->micro_batches, 1, 1}, .stages = p->stages};

	*out = (struct embedding_plan){.schedule = SCHEDULE_1F1B};
	c.forward[0] = p->embedding.forward + p->head.forward;
	c.backward[0] = p->embedding.backward + p->head.backward;
	spread_layers(p, &c);
	for (int64_t d = 0; d < p->stages; d++) {
		double flying = fmin((double)(p->stages - d), (double)p->micro_batches);

		out->layers[d] = c.layers[d];
		out->busy[d] = (double)p->micro_batches * (c.forward[d] + c.backward[d]);
		out->memory[d] = flying * c.activation[d];
		out->makespan = fmax(out->makespan, out->busy[d]);
	}
	finish(p, PLACE_STALE, out);
}

int embedding_plans(const struct embedding_problem *p, struct embedding_plan *out, struct sb_error *err)
{
	static const struct {
		enum embedding_placement place;
		enum schedule_kind kind;
	} tries[] = {{PLACE_BOTH_ENDS, SCHEDULE_1F1B},        {PLACE_BOTH_ENDS, SCHEDULE_ZB_H1},
	             {PLACE_BOTH_ENDS, SCHEDULE_ZB_H2},       {PLACE_ONE_DEVICE, SCHEDULE_ZB_V},
	             {PLACE_ONE_DEVICE, SCHEDULE_DUALPIPE_V}, {PLACE_SPLIT, SCHEDULE_1F1B},
	             {PLACE_SPLIT, SCHEDULE_ZB_H1},           {PLACE_SPLIT, SCHEDULE_ZB_H2}};
	int rc = embedding_check(p, err);

	for (int k = 0; k < EMBEDDING_PLACEMENTS; k++)
		out[k] = (struct embedding_plan){
		    .reason = k == PLACE_STALE ? "gradients of older weights are another training: allowed "
		                                 "only by stale_gradients"
		                               : "there are too few micro-batches: a V needs two a device"};
	for (size_t i = 0; rc == SB_OK && i < sizeof(tries) / sizeof(tries[0]); i++)
		rc = try_schedule(p, tries[i].place, tries[i].kind, &out[tries[i].place], err);
	if (rc == SB_OK && p->stale)
		stale_plan(p, &out[PLACE_STALE]);
	return rc;
}

int embedding_best(const struct embedding_plan *plans)
{
	int best = EMBEDDING_PLACEMENTS;

	for (int k = 0; k < EMBEDDING_PLACEMENTS; k++)
		if (!plans[k].reason && plans[k].fits &&
		    (best == EMBEDDING_PLACEMENTS || plans[k].step < plans[best].step))
			best = k;
	return best;
}
