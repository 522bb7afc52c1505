/* oracles/pipeline: the least simulated time, against full enumeration (a_partition, b_recompute) and against
 * the plans that SAPP found with the same schedule and memory (e_sapp_runs). */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/json.h"
#include "planner/pipeline/makespan.h"

#define STAGES_MAX 64
#define LAYERS_MAX 32

static double number(const json_t *o, const char *member, double missing)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? json_number_value(v) : missing;
}

static double item(const json_t *o, const char *member, size_t i)
{
	return json_number_value(json_array_get(json_object_get(o, member), i));
}

/* Each layer is a body of its own; kinds that the oracle does not have are not offered. */
struct layers {
	struct pipeline_body bodies[LAYERS_MAX];
	double memory[STAGES_MAX], send[LAYERS_MAX];
};

static struct pipeline_problem read_layers(const json_t *i, struct layers *l)
{
	static const struct {
		const char *name;
		enum pipeline_recompute as;
	} kinds[] = {{"none", KEEP_ALL}, {"select", REDO_SELECT}, {"full", REDO_FULL}};
	const json_t *act = json_object_get(i, "act"), *rec = json_object_get(i, "rec");
	int64_t n = integer(i, "n", 0);
	struct pipeline_problem p = {.shape = {.kind = SCHEDULE_1F1B,
	                                       .devices = integer(i, "p", 0),
	                                       .micro_batches = integer(i, "m", 0),
	                                       .chunks = 1,
	                                       .slices = 1},
	                             .bodies = l->bodies,
	                             .memory = l->memory,
	                             .constant = number(i, "const", 0)};

	n = n > 0 ? n : (int64_t)json_array_size(json_object_get(i, "f"));
	assert_true(n > 0 && n <= LAYERS_MAX);
	p.body_count = n;
	for (int64_t j = 0; j < n; j++) {
		struct pipeline_body *b = &l->bodies[j];

		*b = (struct pipeline_body){.count = 1,
		                            .forward = item(i, "f", (size_t)j),
		                            .parameters = item(i, "par", (size_t)j),
		                            .weight = NAN,
		                            .overlapped = NAN};
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			b->backward[r] = b->activation[r] = NAN;
		for (size_t k = 0; k < (act ? 3 : 1); k++) {
			b->activation[kinds[k].as] = item(act, kinds[k].name, (size_t)j);
			b->backward[kinds[k].as] =
			    item(i, "b", (size_t)j) + item(rec, kinds[k].name, (size_t)j);
		}
		l->send[j] = item(i, "x", (size_t)j);
	}
	if (json_object_get(i, "x"))
		p.cut_send = l->send;
	if (!p.shape.devices)
		p.shape.devices = (int64_t)json_array_size(json_object_get(i, "cap"));
	for (size_t d = 0; d < STAGES_MAX; d++)
		l->memory[d] = json_object_get(i, "cap") ? item(i, "cap", d) : INFINITY;
	return p;
}

/* The optimum of all cases of a file, by one of its objectives; null: infeasible, or not enumerated. */
static void check_optima(const char *file, const char *objective, bool null_is_infeasible)
{
	JSON_AUTO all = load(file);
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		const char *id = json_string_value(json_object_get(c, "id"));
		const json_t *best = json_object_get(json_object_get(c, "optimal"), objective);
		struct pipeline_stage plan[STAGES_MAX * LAYERS_MAX];
		struct layers l;
		struct pipeline_problem p = read_layers(json_object_get(c, "instance"), &l);
		struct pipeline_proof proof = {0};
		struct pipeline_score score = {0};
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct sb_error err = {0};
		int rc = pipeline_least_makespan(&p, plan, &proof, &err);

		if (!json_is_object(best)) {
			assert_int_equal(rc, null_is_infeasible ? SB_EINFEASIBLE : SB_OK);
			continue;
		}
		if (rc != SB_OK)
			fail_msg("%s: %s", id, err.text);
		assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
		assert_int_equal(pipeline_score(scorer, plan, &score, NULL, NULL), SB_OK);
		if (!score.fits || fabs(score.makespan - number(best, "optimal_value", NAN)) > 1e-6)
			fail_msg("%s: %f, and the optimum is %f", id, score.makespan,
			         number(best, "optimal_value", NAN));
		assert_true(proof.optimal && proof.lower_bound <= score.makespan * (1 + 1e-9));
	}
	assert_true(i >= 5);
}

static void all_cuts_of_a_partition(void **state)
{
	(void)state;
	check_optima("oracles/pipeline/a_partition.json", "A4_1f1b_makespan", false);
}

static void all_cuts_and_recomputing(void **state)
{
	(void)state;
	check_optima("oracles/pipeline/b_recompute.json", "B3_1f1b_makespan", true);
}

/* One run of SAPP: its layers, as SAPP itself took them, and its plan. */
struct run {
	const json_t *json;
	const char *name;
	struct pipeline_body body;
	double memory[STAGES_MAX];
	struct pipeline_problem p;
	struct pipeline_stage plan[STAGES_MAX];
	double end;
};

static const char *const kinds[PIPELINE_RECOMPUTES] = {"NONE", "SLCT", "COMM", "BOTH", "FULL"};

static const char *name_of(const json_t *layers, const char *type, int64_t *out_count)
{
	const json_t *l;
	size_t i;

	json_array_foreach(layers, i, l)
	{
		if (strcmp(json_string_value(json_object_get(l, "type")), type) != 0)
			continue;
		*out_count = integer(l, "nb_layer", 0);
		return json_string_value(json_object_get(l, "name"));
	}
	fail_msg("no layer is a %s", type);
	return NULL;
}

static struct pipeline_end end_of(const json_t *times, const json_t *layers, const char *type, double slices)
{
	int64_t count;
	const json_t *l = json_object_get(times, name_of(layers, type, &count));
	double time = number(l, "time", NAN) * slices;

	return (struct pipeline_end){time, 2 * time, number(l, "parameter_mb", NAN)};
}

/* Times and activations of a run with slices are those of one slice. */
static void read_run(const json_t *c, struct run *r)
{
	const json_t *args = json_object_get(c, "args"), *times = json_object_get(c, "layer_times");
	const json_t *file = json_object_get(c, "layers_json"),
	             *layers = json_object_get(file, "layers_description");
	int64_t chunks = integer(args, "interleave", 1), slices = integer(args, "seq_split", 1), count = 0;
	const char *body = name_of(layers, "BODY", &count);
	const json_t *l = json_object_get(times, body),
	             *plan = json_object_get(json_object_get(c, "assignment"), body);

	*r = (struct run){.json = c,
	                  .name = json_string_value(json_object_get(c, "name")),
	                  .end = number(json_object_get(c, "simulated"), "end_time", NAN)};
	r->body = (struct pipeline_body){.count = count,
	                                 .forward = number(l, "forward", NAN) * (double)slices,
	                                 .parameters = number(l, "parameter_mb", NAN),
	                                 .weight = NAN,
	                                 .overlapped = NAN};
	for (int k = 0; k < PIPELINE_RECOMPUTES; k++) {
		r->body.backward[k] = number(json_object_get(l, "backward"), kinds[k], NAN) * (double)slices;
		r->body.activation[k] =
		    number(json_object_get(l, "activation_mb"), kinds[k], NAN) * (double)slices;
	}
	r->p =
	    (struct pipeline_problem){.shape = {.kind = slices > 1    ? SCHEDULE_SEQ_1F1B
	                                                : chunks == 1 ? SCHEDULE_1F1B
	                                                : json_is_true(json_object_get(args, "less_memory"))
	                                                    ? SCHEDULE_INTERLEAVED_LESS_MEMORY
	                                                    : SCHEDULE_INTERLEAVED,
	                                        .devices = integer(args, "stages", 0),
	                                        .micro_batches = integer(args, "micro_batches", 0),
	                                        .chunks = chunks,
	                                        .slices = slices},
	                              .bodies = &r->body,
	                              .body_count = 1,
	                              .head = end_of(times, layers, "HEAD", (double)slices),
	                              .tail = end_of(times, layers, "TAIL", (double)slices),
	                              .memory = r->memory,
	                              .constant = number(file, "stage_const_mem", 0)};
	for (int d = 0; d < STAGES_MAX; d++)
		r->memory[d] = number(args, "max_memory_mb", NAN);
	assert_true(chunks * r->p.shape.devices <= STAGES_MAX);
	for (int64_t i = 0; i < chunks * r->p.shape.devices; i++)
		for (int k = 0; k < PIPELINE_RECOMPUTES; k++)
			r->plan[i].layers[k] = (int64_t)json_number_value(json_array_get(
			    json_array_get(json_object_get(plan, kinds[k]), (size_t)(i / r->p.shape.devices)),
			    (size_t)(i % r->p.shape.devices)));
}

/* SAPP simulates a run with slices as if each of its micro-batches were one slice: 1F1B of as many slices as
 * there are micro-batches, a part of the step (algorithms.md 1.5). */
static struct pipeline_problem as_sapp_simulates(const struct run *r, struct pipeline_body *body)
{
	struct pipeline_problem p = r->p;
	double slices = (double)p.shape.slices;

	*body = r->body;
	p.bodies = body;
	p.shape.slices = 1;
	if (p.shape.kind == SCHEDULE_SEQ_1F1B)
		p.shape.kind = SCHEDULE_1F1B;
	body->forward /= slices;
	for (int k = 0; k < PIPELINE_RECOMPUTES; k++) {
		body->backward[k] /= slices;
		body->activation[k] /= slices;
	}
	p.head = (struct pipeline_end){p.head.forward / slices, p.head.backward / slices, p.head.parameters};
	p.tail = (struct pipeline_end){p.tail.forward / slices, p.tail.backward / slices, p.tail.parameters};
	return p;
}

/* Our scorer gives SAPP's plan the time and the peaks that SAPP's own simulation gives it, transfers left
 * out.
 */
static void sapp_is_scored_alike(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/e_sapp_runs.json");
	const json_t *c;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		const json_t *simulated = json_object_get(c, "simulated");
		struct run r;
		struct pipeline_body body;
		struct pipeline_problem p;
		struct pipeline_score score = {0};
		PIPELINE_SCORER_AUTO scorer = NULL;
		double peaks[STAGES_MAX];

		read_run(c, &r);
		p = as_sapp_simulates(&r, &body);
		/* SAPP's order is another one only with a last group that is not full, and no run has one */
		assert_true(p.shape.chunks == 1 || p.shape.micro_batches % p.shape.devices == 0);
		assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
		assert_int_equal(pipeline_score(scorer, r.plan, &score, peaks, NULL), SB_OK);
		if (fabs(score.makespan - r.end) > 1e-9 * r.end)
			fail_msg("%s: %f, and SAPP says %f", r.name, score.makespan, r.end);
		for (int64_t d = 0; d < p.shape.devices; d++)
			if (fabs(peaks[d] - item(simulated, "peak_memory_mb", (size_t)d)) > 1e-6)
				fail_msg("%s: device %lld peaks at %f", r.name, (long long)d, peaks[d]);
		if (score.fits)
			continue;
		/* its bound of memory is none with three chunks and more (algorithms.md 1.5) */
		assert_true(p.shape.chunks >= 3);
	}
	assert_int_equal(i, 21);
}

/* On every run a plan within memory that is no slower than SAPP's, whose own may not even be within. */
static void never_slower_than_sapp(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/e_sapp_runs.json");
	const json_t *c;
	size_t i, quicker = 0;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		struct run r;
		struct pipeline_stage plan[STAGES_MAX] = {{{0}}};
		struct pipeline_proof proof = {0};
		struct pipeline_score score = {0}, theirs = {0};
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct sb_error err = {0};
		int64_t layers = 0;

		read_run(c, &r);
		if (pipeline_least_makespan(&r.p, plan, &proof, &err) != SB_OK)
			fail_msg("%s: %s", r.name, err.text);
		for (int64_t s = 0; s < schedule_stages(&r.p.shape); s++)
			layers += pipeline_stage_layers(&r.p, plan, s);
		assert_int_equal(layers, r.body.count);
		assert_int_equal(pipeline_scorer_open(&r.p, &scorer, NULL), SB_OK);
		assert_int_equal(pipeline_score(scorer, r.plan, &theirs, NULL, NULL), SB_OK);
		assert_int_equal(pipeline_score(scorer, plan, &score, NULL, NULL), SB_OK);
		if (!score.fits || score.makespan > theirs.makespan * (1 + 1e-9))
			fail_msg("%s: %f, SAPP has %f; within memory: %d", r.name, score.makespan,
			         theirs.makespan, score.fits);
		assert_true(proof.lower_bound <= score.makespan * (1 + 1e-9));
		quicker += score.makespan < theirs.makespan * (1 - 1e-9);
	}
	assert_true(quicker > 10);
}

/* systems.md 3.14: the public fixture. Its published plan takes 110610; 3780 is the least bottleneck, and no
 * device may need more than 53000 MB. */
static void public_fixture(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/e_sapp_runs.json");
	const json_t *c;
	size_t i, seen = 0;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		struct run r;
		struct pipeline_stage plan[STAGES_MAX] = {{{0}}};
		struct pipeline_proof proof = {0};
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct pipeline_score score = {0};
		double peaks[STAGES_MAX];

		read_run(c, &r);
		if (strcmp(r.name, "sapp_test_pp16_vpp1") != 0)
			continue;
		assert_int_equal(pipeline_least_makespan(&r.p, plan, &proof, NULL), SB_OK);
		assert_int_equal(pipeline_scorer_open(&r.p, &scorer, NULL), SB_OK);
		assert_int_equal(pipeline_score(scorer, plan, &score, peaks, NULL), SB_OK);
		assert_true(score.makespan <= 110610);
		for (int64_t d = 0; d < r.p.shape.devices; d++)
			assert_true(peaks[d] <= 53000);
		assert_int_equal(pipeline_least_bottleneck(&r.p, plan, &proof, NULL), SB_OK);
		assert_true(proof.optimal && fabs(proof.value - 3780) <= 1e-9 * 3780);
		assert_int_equal(pipeline_score(scorer, plan, &score, peaks, NULL), SB_OK);
		for (int64_t d = 0; d < r.p.shape.devices; d++)
			assert_true(peaks[d] <= 53000);
		seen++;
	}
	assert_int_equal(seen, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_cuts_of_a_partition), cmocka_unit_test(all_cuts_and_recomputing),
	    cmocka_unit_test(sapp_is_scored_alike),    cmocka_unit_test(never_slower_than_sapp),
	    cmocka_unit_test(public_fixture),
	};

	return cmocka_run_group_tests_name("pipelines against SAPP", tests, NULL, NULL);
}
