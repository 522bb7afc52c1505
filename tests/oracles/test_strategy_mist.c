/* oracles/strategy/vectors.json, stage_milp: Mist's choice between stages, by brute force; and
 * mist_tuned_plans.json, the plans that Mist found. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/json.h"
#include "planner/methods/mist.h"

#define STAGES_MAX 8
#define LAYERS_MAX 16
#define OPTIONS_MAX 8

struct program {
	struct stage_program p;
	struct stage_option options[STAGES_MAX][LAYERS_MAX][OPTIONS_MAX];
	struct stage_options choices[STAGES_MAX][LAYERS_MAX];
	const struct stage_options *lists[STAGES_MAX];
	int64_t sizes[STAGES_MAX];
};

static void read_program(const json_t *c, struct program *x)
{
	const json_t *stages = json_object_get(c, "options_t_D"), *stage, *size, *option;
	size_t i, n, k;

	*x = (struct program){.p = {.stages = integer(c, "stages", 0),
	                            .layers = integer(c, "layers", 0),
	                            .micro_batches = integer(c, "micro_batches", 0),
	                            .choices = x->lists,
	                            .sizes = x->sizes}};
	assert_true(x->p.stages <= STAGES_MAX && x->p.layers <= LAYERS_MAX);
	json_array_foreach(stages, i, stage)
	{
		x->lists[i] = x->choices[i];
		x->sizes[i] = (int64_t)json_array_size(stage);
		json_array_foreach(stage, n, size)
		{
			assert_true(json_array_size(size) <= OPTIONS_MAX);
			x->choices[i][n] = (struct stage_options){
			    (int64_t)n + 1, (int64_t)json_array_size(size), x->options[i][n]};
			json_array_foreach(size, k, option) x->options[i][n][k] =
			    (struct stage_option){json_number_value(json_array_get(option, 0)),
			                          json_number_value(json_array_get(option, 1))};
		}
	}
}

static void stage_programs(void **state)
{
	JSON_AUTO all = load("oracles/strategy/vectors.json");
	static struct program x;
	const json_t *c;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(json_object_get(all, "stage_milp"), "cases"), i, c)
	{
		const json_t *layers = json_object_get(c, "layers_per_stage"),
		             *options = json_object_get(c, "option_per_stage");
		double want = json_number_value(json_object_get(c, "objective"));
		struct stage_choice ours[STAGES_MAX], theirs[STAGES_MAX];
		struct stage_result out;
		int64_t sum = 0;

		read_program(c, &x);
		assert_int_equal(stage_program_solve(&x.p, 0, INFINITY, ours, &out, NULL), SB_OK);
		assert_true(out.feasible && out.optimal);
		for (int64_t s = 0; s < x.p.stages; s++) {
			theirs[s] =
			    (struct stage_choice){json_integer_value(json_array_get(layers, (size_t)s)) - 1,
			                          json_integer_value(json_array_get(options, (size_t)s))};
			sum += x.choices[s][ours[s].size].layers;
		}
		assert_int_equal(sum, x.p.layers);
		assert_true(fabs(stage_program_seconds(&x.p, theirs) - want) < 1e-9);
		if (fabs(out.seconds - want) > 1e-9 || fabs(stage_program_seconds(&x.p, ours) - want) > 1e-9)
			fail_msg("case %zu: %g, and the optimum is %g", i, out.seconds, want);
	}
	assert_int_equal(i, 15);
}

/* GPT and Llama by their names (layers, width, heads). */
static struct model model_of(const json_t *plan)
{
	static const struct {
		const char *name;
		int64_t layers, hidden, heads;
	} rows[] = {{"1.3b", 24, 2048, 16},
	            {"2.7b", 32, 2560, 32},
	            {"7b", 32, 4096, 32},
	            {"13b", 40, 5120, 40},
	            {"22b", 48, 6144, 48}};
	const char *name = json_string_value(json_object_get(plan, "model"));
	bool llama = strcmp(json_string_value(json_object_get(plan, "family")), "llama") == 0;
	struct model m = {.vocab = integer(plan, "vocab", 0), .seq_len = integer(plan, "seq", 0)};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) == 0) {
			m.layers = rows[i].layers;
			m.hidden = rows[i].hidden;
			m.heads = rows[i].heads;
		}
	}
	assert_true(m.layers > 0);
	m.gated_ffn = llama;
	m.biases = m.layer_norm = m.learned_positions = !llama;
	m.ffn_hidden = llama ? (8 * m.hidden / 3 + 255) / 256 * 256 : 4 * m.hidden;
	model_defaults(&m);
	return m;
}

struct setting {
	struct cost_problem cost;
	struct mist_problem problem;
};

static void open_setting(const json_t *plan, struct setting *x)
{
	bool a100 = strncmp(json_string_value(json_object_get(plan, "device")), "a100", 4) == 0;
	struct cluster c = {
	    .nodes = integer(plan, "nodes", 0),
	    .devices_per_node = integer(plan, "gpus_per_node", 0),
	    .links = {[LINK_NODE] = {a100 ? 300e9 : 32e9, NAN, 0}, [LINK_CLUSTER] = {3e9, NAN, 0}},
	    .compute_efficiency = NAN,
	    .memory_efficiency = NAN,
	    .link_efficiency = {NAN, NAN, NAN}};

	c.device = a100 ? (struct device){.peak_flops = 312e12,
	                                  .memory_bandwidth = 1555e9,
	                                  .memory_bytes = 40LL << 30,
	                                  .family = FAMILY_AMPERE,
	                                  .flash_attention = true}
	                : (struct device){.peak_flops = 121e12,
	                                  .memory_bandwidth = 300e9,
	                                  .memory_bytes = 24LL << 30,
	                                  .family = FAMILY_AMPERE,
	                                  .flash_attention = true};
	*x = (struct setting){.cost = {.model = model_of(plan),
	                               .cluster = c,
	                               .constants = constants_for(&c),
	                               .sequences = integer(plan, "global_batch", 0),
	                               /* capacities of Mist's hardware blocks, GiB */
	                               .memory_bytes = (int64_t)((a100 ? 40 : 22.488) * 1073741824)}};
	x->cost.network = network_of(&x->cost.cluster, &x->cost.constants);
	x->problem = (struct mist_problem){.cost = &x->cost,
	                                   .machine = *mist_machine_of(a100 ? "a100-40g" : "l4-24g"),
	                                   .attention = json_is_true(json_object_get(plan, "flash_attention"))
	                                                    ? ATTENTION_FLASH
	                                                    : ATTENTION_UNFUSED,
	                                   .gradient_bytes = 2,
	                                   .offload = true};
}

/* *out_listed: are all its shares on the host among those that a search tries? */
static void read_stages(const json_t *plan, struct mist_plan *out, bool *out_listed)
{
	const json_t *layers = json_object_get(plan, "layer_partitions"), *row;
	size_t i;

	out->stages = (int64_t)json_array_size(layers);
	out->micro_batches = integer(plan, "gradient_accumulation", 0);
	out->stage = calloc((size_t)out->stages, sizeof(*out->stage));
	assert_non_null(out->stage);
	*out_listed = true;
	json_array_foreach(json_object_get(plan, "stage_strategies"), i, row)
	{
		struct mist_stage *s = &out->stage[i];

		assert_int_equal(json_array_size(row), 10);
		s->layers = json_integer_value(json_array_get(layers, i));
		s->checkpointed =
		    json_integer_value(json_array_get(json_object_get(plan, "checkpointed_layers"), i));
		s->micro_batch = json_integer_value(json_array_get(row, 0));
		s->dp = json_integer_value(json_array_get(row, 1));
		s->tp = json_integer_value(json_array_get(row, 2));
		for (size_t k = 0; k < MIST_STATES; k++)
			s->shard[k] = json_integer_value(json_array_get(row, 3 + k)) == 1;
		for (size_t k = 0; k <= MIST_ACTIVATIONS; k++) {
			s->offload[k] = json_number_value(json_array_get(row, 6 + k));
			*out_listed = *out_listed && s->offload[k] != .125;
		}
	}
	assert_int_equal(i, out->stages);
}

/* Every published plan can be said and costed; one that fits by our sizes is never better than what is found.
 */
static void tuned_plans(void **state)
{
	JSON_AUTO all = load("oracles/strategy/mist_tuned_plans.json");
	const json_t *plan;
	size_t i;
	int compared = 0, alike = 0;

	(void)state;
	json_array_foreach(json_object_get(all, "plans"), i, plan)
	{
		static struct setting x;
		MIST_PLAN_AUTO theirs = {0};
		MIST_PLAN_AUTO ours = {0};
		bool listed, fits;

		open_setting(plan, &x);
		read_stages(plan, &theirs, &listed);
		mist_evaluate(&x.problem, &theirs, &fits);
		assert_true(theirs.seconds > 0);
		assert_int_equal(mist_search(&x.problem, &ours, NULL), SB_OK);
		assert_true(ours.optimal);
		alike += ours.stages == theirs.stages && ours.micro_batches == theirs.micro_batches;
		if (!listed || !fits)
			continue;
		compared++;
		if (ours.seconds > theirs.seconds * (1 + 1e-9))
			fail_msg("%s: %.4f s, and Mist's plan takes %.4f s",
			         json_string_value(json_object_get(plan, "id")), ours.seconds,
			         theirs.seconds);
	}
	assert_int_equal(i, 25);
	assert_true(compared > 0);
	print_message("%d plans fit and were compared; %d have Mist's stages and micro-batches\n", compared,
	              alike);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stage_programs),
	    cmocka_unit_test(tuned_plans),
	};

	return cmocka_run_group_tests_name("Mist", tests, NULL, NULL);
}
