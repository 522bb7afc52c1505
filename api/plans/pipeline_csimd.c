#include "api/plans/pipeline_csimd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "planner/schedule/schedule.h"

#define SIZES_SHOWN 10000       /* micro-batches; more are told as runs alone */
#define SIMULATED_MAX (1 << 19) /* forwards of all stages */
#define STEPPED_MAX (1 << 24)   /* micro-batches times machines */
#define AGREE 1e-6              /* of two ways to come to a makespan */

/* What a plan comes to. */
struct outcome {
	double makespan, bottleneck, bubble_share;
	const char *by; /* what the makespan is from */
	double *memory; /* of each stage; the outcome's own */
};

/* ---- scoring ---- */

static int64_t pieces_of(const struct csimd_plan *p)
{
	return p->sequences * p->micro_batches;
}

/* The simulator's links are never busy. Ours make no difference to that while no transfer takes longer than
 * the slowest stage, with pieces that are all alike: they never wait for a link then. */
static bool simulator_says_it(const struct csimd_problem *p, const struct csimd_plan *plan, double *machines)
{
	struct csimd_piece piece = {plan->runs[0].samples, 0};

	if ((double)pieces_of(plan) * (double)p->stages > SIMULATED_MAX || p->stages > UINT16_MAX)
		return false;
	if (plan->sliced)
		return !p->send_fixed && plan->micro_batches <= UINT16_MAX;
	if (plan->run_count > 1)
		return false;
	for (int d = 0; d < CSIMD_PASSES; d++) {
		double stage = 0, link = 0;

		csimd_machines(p, plan->cuts, &piece, (enum csimd_pass)d, machines);
		for (int64_t i = 0; i < 2 * p->stages - 1; i++) {
			double *most = i % 2 == 0 ? &stage : &link;

			*most = fmax(*most, machines[i]);
		}
		if (link > stage)
			return false;
	}
	return true;
}

/* Times of every slice, or of the micro-batches: [stage * slices + slice], forward, then backward, then the
 * links.
 */
static void fill_times(const struct csimd_problem *p, const struct csimd_plan *plan, int64_t slices,
                       double *machines, double *times)
{
	struct csimd_piece piece = {0, 0};
	int64_t k = 0;

	for (size_t i = 0; i < plan->run_count; i++) {
		for (int64_t j = 0; j < (plan->sliced ? plan->runs[i].count : 1); j++, k++) {
			piece.samples = plan->runs[i].samples;
			for (int d = 0; d < CSIMD_PASSES; d++) {
				double *of = times + d * p->stages * slices,
				       *send = times + CSIMD_PASSES * p->stages * slices;

				csimd_machines(p, plan->cuts, &piece, (enum csimd_pass)d, machines);
				for (int64_t s = 0; s < p->stages; s++) {
					of[s * slices + k] = machines[2 * s];
					send[s] = s + 1 < p->stages ? machines[2 * s + 1] : 0;
				}
			}
			piece.context += piece.samples;
		}
	}
}

static int simulate(const struct csimd_problem *p, const struct csimd_plan *plan, double *machines,
                    double *out_makespan, struct sb_error *err)
{
	int64_t slices = plan->sliced ? plan->micro_batches : 1, cells = p->stages * slices;
	struct schedule_shape shape = {.kind = plan->sliced ? SCHEDULE_TERAPIPE : SCHEDULE_GPIPE,
	                               .devices = p->stages,
	                               .micro_batches = plan->sliced ? plan->sequences : plan->micro_batches,
	                               .chunks = 1,
	                               .slices = slices};
	SCHEDULE_PROGRAM_AUTO program = {0};
	struct schedule_result r = {0};
	double *room = calloc((size_t)(CSIMD_PASSES * cells + p->stages), sizeof(*room));
	int rc;

	if (!room)
		return sb_no_memory(err);
	fill_times(p, plan, slices, machines, room);
	struct schedule_times t = {
	    .forward = room, .backward = room + cells, .send = room + CSIMD_PASSES * cells};

	rc = schedule_program_build(&shape, &program, err);
	if (rc == SB_OK)
		rc = schedule_simulate(&program, &t, &r, err);
	free(room);
	*out_makespan = r.makespan;
	return rc;
}

/* The slowest stage with its largest micro-batch, and how much of the time the stages work. */
static void weigh(const struct csimd_problem *p, const struct csimd_plan *plan, double *room,
                  struct outcome *out)
{
	double *machines[] = {room, room + 2 * p->stages}, work = 0;
	struct csimd_piece piece = {0, 0};

	for (size_t i = 0; i < plan->run_count; i++) {
		piece.samples = plan->runs[i].samples;
		for (int64_t j = 0; j < (plan->sliced ? plan->runs[i].count : 1); j++) {
			double times = (double)(plan->sliced ? plan->sequences : plan->runs[i].count);

			for (int d = 0; d < CSIMD_PASSES; d++)
				csimd_machines(p, plan->cuts, &piece, (enum csimd_pass)d, machines[d]);
			for (int64_t s = 0; s < p->stages; s++) {
				double both = machines[0][2 * s] + machines[1][2 * s];

				out->bottleneck = fmax(out->bottleneck, both);
				work += times * both;
			}
			piece.context += piece.samples;
		}
	}
	out->bubble_share = out->makespan > 0 ? 1 - work / (double)p->stages / out->makespan : NAN;
}

/* Scores a plan apart from what its search says of it. */
static int score(const struct csimd_input *in, const struct csimd_plan *plan, struct outcome *out,
                 struct sb_error *err)
{
	const struct csimd_problem *p = &in->problem;
	double *room = calloc(4 * (size_t)p->stages, sizeof(*room));
	int rc = SB_OK;

	*out = (struct outcome){.makespan = plan->makespan, .by = "closed form"};
	out->memory = calloc((size_t)p->stages, sizeof(*out->memory));
	if (!room || !out->memory) {
		free(room);
		return sb_no_memory(err);
	}
	if (simulator_says_it(p, plan, room)) {
		out->by = "simulator";
		rc = simulate(p, plan, room, &out->makespan, err);
	} else if ((double)pieces_of(plan) * 2 * (double)p->stages <= STEPPED_MAX) {
		out->by = "recurrence";
		out->makespan = csimd_makespan(p, plan);
	}
	if (rc == SB_OK && !(fabs(out->makespan - plan->makespan) <= AGREE * plan->makespan))
		rc = sb_fail(err, SB_EIO, "internal", "the %s says %.17g, the search %.17g", out->by,
		             out->makespan, plan->makespan);
	weigh(p, plan, room, out);
	csimd_memory(p, plan->cuts, out->memory);
	for (int64_t s = 0; s < p->stages; s++)
		out->memory[s] += in->constant;
	free(room);
	return rc;
}

/* ---- the answer ---- */

static json_t *sizes_to_json(const struct csimd_plan *plan)
{
	json_t *list;

	if (plan->micro_batches > SIZES_SHOWN)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < plan->run_count; i++)
		for (int64_t j = 0; j < plan->runs[i].count; j++)
			json_array_append_new(list, json_integer((json_int_t)plan->runs[i].samples));
	return list;
}

static json_t *runs_to_json(const struct csimd_plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->run_count; i++)
		json_array_append_new(list,
		                      json_pack("{s:I,s:I}", "samples", (json_int_t)plan->runs[i].samples,
		                                "count", (json_int_t)plan->runs[i].count));
	return list;
}

static json_t *solution_to_json(const struct csimd_problem *p, const struct csimd_plan *plan, int64_t unit)
{
	json_t *row = json_array();

	for (int64_t s = 0; s < p->stages; s++)
		json_array_append_new(row, json_integer((json_int_t)(plan->cuts[s + 1] - plan->cuts[s])));
	if (plan->sliced)
		return json_pack("{s:[o],s:s,s:I,s:o,s:o*}", "layers", row, "schedule", "terapipe",
		                 "micro_batches", (json_int_t)plan->sequences, "slices", sizes_to_json(plan),
		                 "slice_unit", unit > 0 ? json_integer((json_int_t)unit) : NULL);
	return json_pack("{s:[o],s:s,s:I,s:o,s:o}", "layers", row, "schedule", "gpipe", "micro_batches",
	                 (json_int_t)plan->micro_batches, "micro_batch_sizes", sizes_to_json(plan),
	                 "micro_batch_runs", runs_to_json(plan));
}

static json_t *predicted_to_json(const struct csimd_input *in, const struct outcome *o)
{
	json_t *bytes = in->weighed ? json_array() : json_null();

	for (int64_t s = 0; in->weighed && s < in->problem.stages; s++)
		json_array_append_new(bytes, json_whole_or_real(o->memory[s]));
	return json_pack("{s:o,s:o,s:o,s:o,s:s}", "bottleneck", json_whole_or_real(o->bottleneck), "makespan",
	                 json_whole_or_real(o->makespan), "bubble_share", json_real_or_null(o->bubble_share),
	                 "memory_bytes", bytes, "scored_by", o->by);
}

/* What `optimal` and the bound are of. */
static const char *space_of(const struct csimd_input *in)
{
	if (in->slices)
		return "divisions with slices of whole units";
	if (in->sizes == CSIMD_FREE)
		return in->problem.micro_batches > 0 ? "divisions with that many micro-batches of any sizes"
		                                     : "divisions with micro-batches of any sizes";
	return in->problem.micro_batches > 0 ? "divisions with that many micro-batches of equal sizes"
	                                     : "divisions with any number of micro-batches of equal sizes";
}

static json_t *quality_to_json(const struct csimd_input *in, const struct csimd_result *r,
                               const struct outcome *o, double seconds)
{
	double bound = fmin(r->lower_bound, o->makespan);

	return json_pack("{s:b,s:s,s:s,s:o,s:f,s:f,s:I,s:f,s:n}", "optimal", r->optimal, "objective",
	                 "makespan", "space", space_of(in), "value", json_whole_or_real(o->makespan),
	                 "lower_bound", bound, "gap",
	                 o->makespan > 0 ? (o->makespan - bound) / o->makespan : 0.0, "candidates",
	                 (json_int_t)r->candidates, "search_seconds", seconds, "model_error");
}

/* How much longer than the chosen plan. */
static double loss(double other, double chosen)
{
	return chosen > 0 ? other / chosen - 1 : 0;
}

static bool fits(const struct csimd_input *in, const struct outcome *o)
{
	for (int64_t s = 0; in->memory && s < in->problem.stages; s++)
		if (o->memory[s] > in->memory[s] + in->constant)
			return false;
	return true;
}

/* Another whole plan. */
static int add_plan(const struct csimd_input *in, const struct outcome *chosen, const char *method,
                    const struct csimd_plan *plan, const char *reason, json_t *list, struct sb_error *err)
{
	struct outcome o;
	char text[160];
	int rc = score(in, plan, &o, err);

	if (rc == SB_OK) {
		(void)snprintf(text, sizeof(text), "%s%s", reason,
		               fits(in, &o) ? "" : "; and it does not fit the memory");
		json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:f,s:s}", "method", method, "solution",
		                                      solution_to_json(&in->problem, plan, 0), "predicted",
		                                      predicted_to_json(in, &o), "loses_by",
		                                      loss(o.makespan, chosen->makespan), "reason", text));
	}
	free(o.memory);
	return rc;
}

/* Even and random division, each with as many micro-batches as stages. */
static int add_baselines(const struct csimd_input *in, const struct outcome *chosen, json_t *list,
                         struct sb_error *err)
{
	struct csimd_baselines b = {0};
	char text[160];
	int rc = csimd_compare(&in->problem, &b);

	if (rc != SB_OK)
		return sb_no_memory(err);
	rc = add_plan(in, chosen, "even", &b.even,
	              "equal numbers of layers, and as many micro-batches as stages unless given", list, err);
	(void)snprintf(text, sizeof(text), "the mean of %s%lld divisions with the same micro-batches",
	               b.random_sampled ? "" : "all ", (long long)b.random_divisions);
	json_array_append_new(list,
	                      json_pack("{s:s,s:n,s:{s:o},s:f,s:s}", "method", "random", "solution",
	                                "predicted", "makespan", json_whole_or_real(b.random_mean),
	                                "loses_by", loss(b.random_mean, chosen->makespan), "reason", text));
	csimd_plan_clear(&b.even);
	return rc;
}

/* The same division with whole sequences. */
static int add_unsliced(const struct csimd_input *in, const struct csimd_plan *plan,
                        const struct outcome *chosen, json_t *list, struct sb_error *err)
{
	struct csimd_run whole = {in->problem.samples, 1};
	struct csimd_plan one = *plan;

	one.runs = &whole;
	one.run_count = 1;
	one.micro_batches = 1;
	one.makespan = csimd_makespan(&in->problem, &one);
	return add_plan(in, chosen, "unsliced", &one, "every sequence as a whole", list, err);
}

/* Whether a size of the plan lies outside of what a table was measured for. */
static bool extrapolates(const struct csimd_problem *p, const struct csimd_plan *plan)
{
	for (size_t r = 0; r < p->row_count; r++) {
		const struct csimd_time *t = &p->rows[r].time;

		for (size_t i = 0; t->points > 0 && i < plan->run_count; i++)
			if (plan->runs[i].samples < t->samples[0] ||
			    plan->runs[i].samples > t->samples[t->points - 1])
				return true;
	}
	return false;
}

static json_t *warnings_of(const struct csimd_input *in, const struct csimd_result *r)
{
	json_t *list = json_array();

	if (extrapolates(&in->problem, &r->plan))
		json_array_append_new(
		    list, json_pack("{s:s,s:s}", "code", "extrapolated", "detail",
		                    "the plan has sizes outside of a layer's table: below its first its time "
		                    "counts, beyond its last the line through the last two"));
	return list;
}

static int answer(const struct csimd_input *in, const struct csimd_result *r, int64_t unit, double start,
                  json_t **out, struct sb_error *err)
{
	struct outcome o;
	double seconds = plan_clock() - start;
	json_t *others = json_array();
	int rc = score(in, &r->plan, &o, err);

	if (rc == SB_OK)
		rc = in->slices ? add_unsliced(in, &r->plan, &o, others, err)
		                : add_baselines(in, &o, others, err);
	if (rc == SB_OK) {
		*out =
		    json_pack("{s:o,s:o,s:o,s:O,s:[],s:[],s:o}", "solution",
		              solution_to_json(&in->problem, &r->plan, unit), "predicted",
		              predicted_to_json(in, &o), "quality", quality_to_json(in, r, &o, seconds),
		              "alternatives", others, "frontier", "rejected", "warnings", warnings_of(in, r));
		rc = *out ? SB_OK : sb_no_memory(err);
	}
	json_decref(others);
	free(o.memory);
	return rc;
}

int csimd_solve(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err)
{
	CSIMD_INPUT_AUTO in = {0};
	struct csimd_result r = {0};
	double start = plan_clock();
	int64_t unit = 0;
	struct place root = place_of("");
	struct sb_error why = {0};
	int rc = csimd_from_json(request, &in, err);

	in.problem.watch = watch;
	if (rc == SB_OK) {
		rc = in.slices ? csimd_solve_slices(&in.problem, in.slice_unit, &r, &unit, &why)
		               : csimd_solve_plan(&in.problem, (enum csimd_sizes)in.sizes,
		                                  (enum csimd_search)in.search, &r, &why);
		if (rc != SB_OK)
			parse_fail(err, rc, why.word, &root, why.field[0] ? why.field : NULL, why.text);
	}
	if (sb_stopped(watch))
		rc = SB_ECANCELED;
	if (rc == SB_EINFEASIBLE)
		*out_extra = plan_least_memory(csimd_least_memory(&in.problem) + in.constant);
	if (rc == SB_OK)
		rc = answer(&in, &r, unit, start, out, err);
	csimd_plan_clear(&r.plan);
	return rc;
}
