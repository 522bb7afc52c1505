#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"

/* Chunks of layers that a device shows. */
static int64_t rows_of(const struct schedule_shape *s)
{
	return schedule_stages(s) / s->devices;
}

/* Layers of a body (-1: of all) that recompute so (-1: in any way), [[per device] per chunk]. */
static json_t *layers_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t body,
                         int recompute)
{
	json_t *rows = json_array();

	for (int64_t k = 0; k < rows_of(&p->shape); k++) {
		json_t *row = json_array();

		for (int64_t d = 0; d < p->shape.devices; d++) {
			int64_t stage = schedule_stage(&p->shape, d, k), n = 0;

			for (int64_t b = 0; b < p->body_count; b++)
				for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
					if ((body < 0 || b == body) && (recompute < 0 || r == recompute))
						n += plan[stage * p->body_count + b].layers[r];
			json_array_append_new(row, json_integer((json_int_t)n));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* What the body offers; body -1: what any of them does. */
static json_t *recompute_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, int64_t body)
{
	json_t *o = json_object();

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		bool offered = false;

		for (int64_t b = 0; b < p->body_count; b++)
			offered = offered || ((body < 0 || b == body) && !isnan(p->bodies[b].activation[r]));
		if (offered)
			json_object_set_new(o, pipeline_recompute_words[r], layers_of(p, plan, body, r));
	}
	return o;
}

/* The problem with the schedule of a plan. */
static struct pipeline_problem problem_of(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	struct pipeline_problem p = in->problem;

	p.shape = c->shape;
	return p;
}

static json_t *solution_of(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	const struct pipeline_problem of = problem_of(in, c), *p = &of;
	const struct pipeline_stage *plan = c->plan;
	json_t *types = NULL;

	if (p->body_count > 1)
		types = json_array();
	for (int64_t b = 0; types && b < p->body_count; b++)
		json_array_append_new(types, json_pack("{s:s?,s:o,s:o}", "name", in->names[b], "layers",
		                                       layers_of(p, plan, b, -1), "recompute",
		                                       recompute_of(p, plan, b)));
	return json_pack("{s:o,s:o,s:o*,s:s,s:I}", "layers", layers_of(p, plan, -1, -1), "recompute",
	                 recompute_of(p, plan, -1), "types", types, "schedule",
	                 schedule_facts(p->shape.kind)->name, "interleave", (json_int_t)rows_of(&p->shape));
}

static json_t *predicted_of(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	const struct pipeline_problem *p = &in->problem;
	json_t *bytes = in->unsized ? json_null() : json_array();

	for (int64_t d = 0; !in->unsized && d < p->shape.devices; d++)
		json_array_append_new(bytes, json_whole_or_real(c->peaks[d]));
	return json_pack("{s:o,s:o,s:o,s:o}", "bottleneck", json_whole_or_real(c->score.bottleneck),
	                 "makespan", json_whole_or_real(c->score.makespan), "bubble_share",
	                 json_real_or_null(c->score.bubble_share), "memory_bytes", bytes);
}

json_t *pipeline_choice_to_json(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	return json_pack("{s:o,s:o}", "solution", solution_of(in, c), "predicted", predicted_of(in, c));
}

static bool is_same_shape(const struct schedule_shape *a, const struct schedule_shape *b)
{
	return a->kind == b->kind && a->chunks == b->chunks;
}

/* The first reason that counts: a slower stage, where the stages are alike; more waiting; more to compute. */
static void why(const struct pipeline_choice *chosen, const struct pipeline_choice *other, char *out,
                size_t room)
{
	const struct pipeline_score *a = &chosen->score, *b = &other->score;
	double work_a = a->makespan * (1 - a->bubble_share), work_b = b->makespan * (1 - b->bubble_share);

	if (b->makespan <= a->makespan)
		(void)snprintf(out, room,
		               b->makespan < a->makespan ? "it takes %.6g instead of %.6g"
		                                         : "it takes the same time",
		               b->makespan, a->makespan);
	else if (is_same_shape(&chosen->shape, &other->shape) &&
	         b->bottleneck > a->bottleneck * (1 + PIPELINE_ROUNDING))
		(void)snprintf(out, room,
		               "its slowest stage takes %.6g a micro-batch, forward and backward, instead of "
		               "%.6g",
		               b->bottleneck, a->bottleneck);
	else if (b->bubble_share > a->bubble_share)
		(void)snprintf(out, room, "its stages wait for %.3g%% of the time instead of %.3g%%",
		               100 * b->bubble_share, 100 * a->bubble_share);
	else
		(void)snprintf(out, room, "it computes %.3g%% more, as it recomputes more",
		               work_a > 0 ? 100 * (work_b / work_a - 1) : 0.0);
}

/* More layers of the other plan, all bodies together. NULL for plans of other schedules, and
 * when out of memory. */
static json_t *diff_of(const struct pipeline_input *in, const struct pipeline_choice *chosen,
                       const struct pipeline_choice *other)
{
	const struct pipeline_problem p = problem_of(in, chosen);
	size_t cells = (size_t)schedule_stages(&p.shape) * (size_t)p.body_count;
	struct pipeline_stage *more;
	json_t *o;

	if (!is_same_shape(&chosen->shape, &other->shape))
		return NULL;
	more = malloc(cells * sizeof(*more));
	if (!more)
		return NULL;
	for (size_t i = 0; i < cells; i++)
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			more[i].layers[r] = other->plan[i].layers[r] - chosen->plan[i].layers[r];
	o = json_pack("{s:o,s:o}", "layers", layers_of(&p, more, -1, -1), "recompute",
	              recompute_of(&p, more, -1));
	free(more);
	return o;
}

json_t *pipeline_alternative_to_json(const struct pipeline_input *in, const struct pipeline_choice *chosen,
                                     const struct pipeline_choice *other)
{
	bool pace = in->objective == PIPELINE_BOTTLENECK;
	double a = pace ? chosen->score.bottleneck : chosen->score.makespan;
	double b = pace ? other->score.bottleneck : other->score.makespan;
	char reason[160];

	why(chosen, other, reason, sizeof(reason));
	return json_pack("{s:s,s:o,s:o,s:f,s:s,s:o*}", "method", other->method, "solution",
	                 solution_of(in, other), "predicted", predicted_of(in, other), "loses_by",
	                 a > 0 ? b / a - 1 : 0.0, "reason", reason, "diff", diff_of(in, chosen, other));
}

static double most_bytes(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	double most = 0;

	for (int64_t d = 0; d < in->problem.shape.devices; d++)
		most = fmax(most, c->peaks[d]);
	return most;
}

json_t *pipeline_frontier_to_json(const struct pipeline_input *in, const struct pipeline_choice *list,
                                  size_t count)
{
	json_t *frontier = json_array();
	double least = INFINITY;

	for (size_t i = 0; !in->unsized && i < count; i++) {
		double bytes = most_bytes(in, &list[i]);

		if (bytes >= least)
			continue;
		least = bytes;
		json_array_append_new(frontier, json_pack("{s:o,s:o,s:o}", "seconds",
		                                          json_whole_or_real(list[i].score.makespan), "bytes",
		                                          json_whole_or_real(bytes), "solution",
		                                          solution_of(in, &list[i])));
	}
	return frontier;
}

json_t *pipeline_warnings_to_json(const struct pipeline_input *in, const struct pipeline_choice *c)
{
	json_t *list = json_array();
	bool halved = false;

	for (int64_t b = 0; b < in->problem.body_count; b++)
		halved = halved || isnan(in->problem.bodies[b].weight);
	if (halved && schedule_facts(c->shape.kind)->splits)
		json_array_append_new(list, json_pack("{s:s,s:s}", "code", "backward_halved", "detail",
		                                      "this schedule splits the backward, and a type of "
		                                      "layers tells no weight_gradient: half of what "
		                                      "recomputes nothing counts as that"));
	return list;
}

/* A bound is shown where it is one of a time that is predicted: the methods of others have estimates of their
 * own, which may lie above the simulated time. Without a bound nothing is known of the distance to the
 * optimum. */
json_t *pipeline_quality_to_json(const struct pipeline_proof *proof, double seconds)
{
	bool bounded = !isnan(proof->lower_bound), predicted = strcmp(proof->objective, "makespan") == 0 ||
	                                                       strcmp(proof->objective, "bottleneck") == 0;
	double gap = proof->value > 0 ? (proof->value - proof->lower_bound) / proof->value : 0;

	return json_pack("{s:o,s:s,s:o,s:o,s:o,s:I,s:f,s:n}", "optimal",
	                 bounded ? json_boolean(proof->optimal) : json_null(), "objective", proof->objective,
	                 "value", json_whole_or_real(proof->value), "lower_bound",
	                 json_real_or_null(predicted ? proof->lower_bound : NAN), "gap",
	                 json_real_or_null(bounded ? gap : NAN), "candidates", (json_int_t)proof->candidates,
	                 "search_seconds", seconds, "model_error");
}
