/* oracles/pipeline/a_partition.json and b_recompute.json: cuts of unlike layers with transfers, and cuts with
 * recomputing under memory; each layer is a body of its own. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/json.h"
#include "planner/pipeline/methods.h"

#define LAYERS_MAX 32
#define STAGES_MAX 8

struct instance {
	struct pipeline_problem p;
	struct pipeline_body bodies[LAYERS_MAX];
	double memory[STAGES_MAX], send[LAYERS_MAX];
};

static double at(const json_t *o, const char *member, size_t i)
{
	return json_number_value(json_array_get(json_object_get(o, member), i));
}

static void read_instance(const json_t *i, enum schedule_kind kind, struct instance *x)
{
	int64_t layers = integer(i, "n", 0);

	*x = (struct instance){.p = {.shape = {kind, integer(i, "p", 0), integer(i, "m", 0), 1, 1},
	                             .bodies = x->bodies,
	                             .body_count = layers,
	                             .memory = x->memory}};
	assert_true(layers <= LAYERS_MAX && x->p.shape.devices <= STAGES_MAX);
	for (size_t l = 0; l < (size_t)layers; l++) {
		struct pipeline_body *b = &x->bodies[l];

		*b = (struct pipeline_body){
		    .count = 1, .forward = at(i, "f", l), .weight = NAN, .overlapped = NAN};
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			b->backward[r] = b->activation[r] = NAN;
		b->backward[KEEP_ALL] = at(i, "b", l);
		b->activation[KEEP_ALL] = 0;
	}
	for (int d = 0; d < STAGES_MAX; d++)
		x->memory[d] = INFINITY;
}

static void read_transfers(const json_t *i, struct instance *x)
{
	for (size_t l = 0; l + 1 < (size_t)x->p.body_count; l++)
		x->send[l] = at(i, "x", l);
	x->p.cut_send = x->send;
}

static void read_memory(const json_t *i, struct instance *x)
{
	static const struct {
		const char *name;
		enum pipeline_recompute kind;
	} kinds[] = {{"none", KEEP_ALL}, {"select", REDO_SELECT}, {"full", REDO_FULL}};
	const json_t *act = json_object_get(i, "act"), *rec = json_object_get(i, "rec");

	for (size_t l = 0; l < (size_t)x->p.body_count; l++) {
		x->bodies[l].parameters = at(i, "par", l);
		for (size_t k = 0; k < 3; k++) {
			x->bodies[l].activation[kinds[k].kind] = at(act, kinds[k].name, l);
			x->bodies[l].backward[kinds[k].kind] = at(i, "b", l) + at(rec, kinds[k].name, l);
		}
	}
	x->p.constant = (double)integer(i, "const", 0);
	for (size_t d = 0; d < (size_t)x->p.shape.devices; d++)
		x->memory[d] = at(i, "cap", d);
}

/* The method's own value is the oracle's; null = nothing fits. */
static void compare(const char *id, const struct instance *x, const char *method, const json_t *optimal)
{
	struct pipeline_stage plan[STAGES_MAX * LAYERS_MAX] = {{{0}}};
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct pipeline_proof proof;
	struct pipeline_score score;
	struct sb_error err = {0};
	const json_t *value = json_object_get(optimal, "optimal_value");
	int rc = pipeline_method_of(method)->plan(&x->p, PIPELINE_MAKESPAN, plan, &proof, &err);

	assert_non_null(optimal);
	if (!json_is_number(value)) {
		assert_int_equal(rc, SB_EINFEASIBLE);
		return;
	}
	if (rc != SB_OK)
		fail_msg("%s, %s: %s", id, method, err.text);
	if (proof.value != json_number_value(value) || !proof.optimal || proof.lower_bound != proof.value)
		fail_msg("%s, %s: %.6f, and the optimum is %.6f", id, method, proof.value,
		         json_number_value(value));
	assert_int_equal(pipeline_scorer_open(&x->p, &scorer, NULL), SB_OK);
	assert_int_equal(pipeline_score(scorer, plan, &score, NULL, NULL), SB_OK);
	assert_true(score.fits);
}

static void cuts_with_transfers(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/a_partition.json");
	const json_t *c;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		const char *id = json_string_value(json_object_get(c, "id"));
		const json_t *optimal = json_object_get(c, "optimal");
		struct instance x;

		read_instance(json_object_get(c, "instance"), SCHEDULE_1F1B, &x);
		read_transfers(json_object_get(c, "instance"), &x);
		compare(id, &x, "pipedream", json_object_get(optimal, "A2_overlap_minmax"));
		x.p.blocking = true;
		compare(id, &x, "pipedream", json_object_get(optimal, "A1_serial_minmax"));
		x.p.blocking = false;
		x.p.shape.kind = SCHEDULE_GPIPE;
		compare(id, &x, "alpa", json_object_get(optimal, "A3_gpipe_latency"));
	}
	assert_int_equal(i, 6);
}

static void cuts_with_recomputing(void **state)
{
	JSON_AUTO all = load("oracles/pipeline/b_recompute.json");
	const json_t *c;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(all, "cases"), i, c)
	{
		const char *id = json_string_value(json_object_get(c, "id"));
		const json_t *optimal = json_object_get(c, "optimal");
		struct instance x;

		read_instance(json_object_get(c, "instance"), SCHEDULE_1F1B, &x);
		read_memory(json_object_get(c, "instance"), &x);
		compare(id, &x, "pipedream", json_object_get(optimal, "B1_minmax"));
		compare(id, &x, "adapipe", json_object_get(optimal, "B2_adapipe"));
	}
	assert_int_equal(i, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cuts_with_transfers),
	    cmocka_unit_test(cuts_with_recomputing),
	};

	return cmocka_run_group_tests_name("pipeline cuts", tests, NULL, NULL);
}
