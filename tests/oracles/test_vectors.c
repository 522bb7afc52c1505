/* The parts of the cost model against what other tools computed, from $SIGNALBOX_SHARED. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/plans/parse.h"
#include "planner/cost/memory.h"
#include "planner/model.h"
#include "planner/schedule/schedule.h"

/* A list of chunks a stage, as the simulator orders them: chunk by chunk. */
static void read_times(const json_t *list, double *out)
{
	size_t stages = json_array_size(list);

	for (size_t i = 0; i < stages; i++) {
		const json_t *row = json_array_get(list, i);

		for (size_t k = 0; k < json_array_size(row); k++)
			out[k * stages + i] = json_number_value(json_array_get(row, k));
	}
}

/* Exact makespans and peaks, from an independent simulation. */
static void test_schedule_vectors(void **state)
{
	JSON_AUTO file = load("oracles/strategy/vectors.json");
	size_t i;
	json_t *c;

	(void)state;
	json_array_foreach(json_object_get(json_object_get(file, "pipeline_schedules"), "cases"), i, c)
	{
		double forward[64], backward[64], peak[16];
		int64_t chunks = integer(c, "v", 0);
		const struct schedule_shape s = {.kind = chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B,
		                                 .devices = integer(c, "p", 0),
		                                 .micro_batches = integer(c, "m", 0),
		                                 .chunks = chunks,
		                                 .slices = 1};
		const struct schedule_times t = {.forward = forward,
		                                 .backward = backward,
		                                 .send_seconds =
		                                     json_number_value(json_object_get(c, "p2p"))};
		struct schedule_result r = {.makespan = 0};
		double want = json_number_value(json_object_get(c, "makespan"));
		SCHEDULE_PROGRAM_AUTO p = {0};

		read_times(json_object_get(c, "F"), forward);
		read_times(json_object_get(c, "B"), backward);
		assert_int_equal(schedule_program_build(&s, &p, NULL), SB_OK);
		assert_int_equal(schedule_simulate(&p, &t, &r, NULL), SB_OK);
		if (fabs(r.makespan - want) > 2e-3)
			fail_msg("case %zu: %.4f, want %.4f", i, r.makespan, want);
		schedule_peaks(&p, NULL, peak);
		for (int64_t k = 0; k < s.devices; k++)
			assert_true(peak[k] == json_number_value(json_array_get(
			                           json_object_get(c, "peak_live_chunks"), (size_t)k)));
	}
	assert_true(i >= 60);
}

/* One named group ("t", or "d*c") in a rank order, as axes with ascending strides. */
static int axes_of(const json_t *c, const char *group, struct axis *out, int64_t *out_devices)
{
	const json_t *sizes = json_object_get(c, "sizes");
	int64_t stride = 1;
	int count = 0;
	size_t i;
	json_t *d;

	json_array_foreach(json_object_get(c, "order_innermost_first"), i, d)
	{
		const char *name = json_string_value(d);
		int64_t size = integer(sizes, name, 1);

		if (strstr(group, name))
			out[count++] = (struct axis){size, stride};
		stride *= size;
	}
	*out_devices = stride;
	return count;
}

static void test_geometry_vectors(void **state)
{
	JSON_AUTO file = load("oracles/strategy/vectors.json");
	size_t i;
	int checked = 0;
	json_t *c;

	(void)state;
	json_array_foreach(json_object_get(json_object_get(file, "group_geometry"), "cases"), i, c)
	{
		const char *group;
		json_t *want;

		json_object_foreach(json_object_get(c, "groups"), group, want)
		{
			struct axis axes[4];
			int64_t devices;
			int count = axes_of(c, group, axes, &devices);
			struct spread s =
			    group_spread(axes, count, devices, integer(c, "devices_per_domain", 0), NULL);

			if (s.domains != integer(want, "domains", 0) ||
			    s.least != integer(want, "min_ranks_per_domain", 0) ||
			    s.most != integer(want, "max_ranks_per_domain", 0))
				fail_msg("case %zu group %s: %lld domains, %lld to %lld ranks", i, group,
				         (long long)s.domains, (long long)s.least, (long long)s.most);
			checked++;
		}
	}
	assert_true(checked >= 40);
}

/* Weight bytes of one layer on one rank, as another tool counts them: to the byte (it has no biases). */
static void test_calculon_weights(void **state)
{
	JSON_AUTO file = load("oracles/strategy/calculon_points.json");
	int checked = 0;
	size_t i;
	json_t *c;

	(void)state;
	json_array_foreach(json_object_get(file, "points"), i, c)
	{
		const json_t *m = json_object_get(c, "model"), *x = json_object_get(c, "execution");
		struct model model = {.layers = integer(m, "num_blocks", 1),
		                      .hidden = integer(m, "hidden", 1),
		                      .heads = integer(m, "attn_heads", 1),
		                      .head_dim = integer(m, "attn_size", 1),
		                      .ffn_hidden = integer(m, "feedforward", 1),
		                      .layer_norm = true};
		int64_t tp = integer(x, "tensor_par", 1), bytes;
		struct parameters p;
		double want =
		    json_number_value(json_object_get(json_object_get(c, "predicted"), "block_weight_space"));

		model_defaults(&model);
		p = model_layer_parameters(&model, LAYER_DENSE);
		if (p.tensor % tp != 0 || json_is_true(json_object_get(x, "weight_offload")))
			continue;
		bytes = 2 * (p.tensor / tp + p.replicated);
		if ((double)bytes != want)
			fail_msg("%s: %lld, want %.0f", json_string_value(json_object_get(c, "id")),
			         (long long)bytes, want);
		checked++;
	}
	assert_true(checked > 20);
}

/* FLOP of the matrix products of one layer and micro-batch on one rank, as that tool counts them: exact. */
static void test_calculon_flops(void **state)
{
	/* The later names are those of products that overlap with their exchange. */
	static const char *const products[] = {"AttnBlock_Query",  "AttnBlock_Key",    "AttnBlock_Value",
	                                       "AttnBlock_MLP",    "MlpBlock_Mlp1",    "MlpBlock_Mlp2",
	                                       "AttnBlock_QKV_AG", "AttnBlock_MLP_RS", "MlpBlock_Mlp1_AG",
	                                       "MlpBlock_Mlp2_RS"};
	static const char *const core[] = {"AttnBlock_Multihead_Key_Query", "AttnBlock_Multihead_Attn"};
	JSON_AUTO file = load("oracles/strategy/calculon_points.json");
	int checked = 0;
	size_t i, k;
	json_t *c, *part;

	(void)state;
	json_array_foreach(json_object_get(file, "points"), i, c)
	{
		const json_t *m = json_object_get(c, "model"), *x = json_object_get(c, "execution");
		struct model model = {.layers = integer(m, "num_blocks", 1),
		                      .hidden = integer(m, "hidden", 1),
		                      .heads = integer(m, "attn_heads", 1),
		                      .head_dim = integer(m, "attn_size", 1),
		                      .ffn_hidden = integer(m, "feedforward", 1),
		                      .seq_len = integer(m, "seq_size", 1)};
		double share = (double)integer(x, "microbatch_size", 1) / (double)integer(x, "tensor_par", 1);
		double linear = 0, scores = 0;
		struct layer_flops f;

		if (strcmp(json_string_value(json_object_get(x, "attention_type")), "multihead") != 0)
			continue;
		model_defaults(&model);
		f = model_layer_flops(&model, LAYER_DENSE);
		json_array_foreach(json_object_get(c, "per_layer_brief"), k, part)
		{
			const char *name = json_string_value(json_object_get(part, "name"));
			double flops = json_number_value(json_object_get(part, "fw_flops"));

			for (size_t j = 0; j < sizeof(products) / sizeof(products[0]); j++)
				linear += strcmp(name, products[j]) == 0 ? flops : 0;
			for (size_t j = 0; j < sizeof(core) / sizeof(core[0]); j++)
				scores += strcmp(name, core[j]) == 0 ? flops : 0;
		}
		if (f.linear * share != linear || f.scores * share != scores)
			fail_msg("%s: %.0f and %.0f, want %.0f and %.0f",
			         json_string_value(json_object_get(c, "id")), f.linear * share,
			         f.scores * share, linear, scores);
		checked++;
	}
	assert_true(checked > 30);
}

static double first_stage_gib(const struct model *m, const json_t *plan, bool sp, enum recompute r)
{
	struct strategy s = {.tp = integer(plan, "tp", 1),
	                     .cp = 1,
	                     .micro_batch = integer(plan, "micro_batch", 1),
	                     .sequence_parallel = sp,
	                     .recompute = r};
	int64_t pp = integer(plan, "pp", 1), vpp = integer(plan, "vpp", 1);
	int64_t chunks = chunks_in_flight(
	    pp, vpp, integer(plan, "global_batch", 1) / (s.micro_batch * integer(plan, "dp", 1)), 0);

	return (double)chunks * (double)m->layers / (double)(pp * vpp) *
	       layer_activation_bytes(m, &s, LAYER_DENSE) / 1073741824.0;
}

/* Korthikanti et al. 2022: figure 1 to the byte, figure 7 as far as a plot can be read (1.5 points). */
static void test_korthikanti_memory(void **state)
{
	JSON_AUTO file = load("validation/korthikanti_memory.json");
	int exact = 0, plotted = 0;
	size_t i;
	json_t *row;

	(void)state;
	json_array_foreach(json_object_get(file, "rows"), i, row)
	{
		const json_t *m = json_object_get(row, "model"), *plan = json_object_get(row, "plan");
		const json_t *measured = json_object_get(row, "measured");
		const char *mode = json_string_value(json_object_get(plan, "mode"));
		const char *how = json_string_value(json_object_get(plan, "recompute"));
		struct model model = {.layers = integer(m, "layers", 1),
		                      .hidden = integer(m, "hidden", 1),
		                      .heads = integer(m, "heads", 1),
		                      .ffn_hidden = integer(m, "ffn", 1),
		                      .seq_len = integer(m, "seq", 1),
		                      .dropout = true};
		bool sp = mode ? strncmp(mode, "seq", 3) == 0
		               : json_is_true(json_object_get(plan, "sequence_parallel"));
		enum recompute r = RECOMPUTE_NONE;
		double got;

		model_defaults(&model);
		if (mode ? strstr(mode, "sel") != NULL : strncmp(how, "sel", 3) == 0)
			r = RECOMPUTE_SELECTIVE;
		if (strcmp(mode ? mode : how, "full") == 0)
			r = RECOMPUTE_FULL;
		got = first_stage_gib(&model, plan, sp, r);
		if (mode) {
			double percent = 100 * got / first_stage_gib(&model, plan, false, RECOMPUTE_NONE);
			double want =
			    json_number_value(json_object_get(measured, "activation_percent_of_TP_baseline"));

			if (fabs(percent - want) > 1.5)
				fail_msg("%s: %.2f %%, want %.2f %%",
				         json_string_value(json_object_get(row, "id")), percent, want);
			plotted++;
		} else {
			double want = json_number_value(json_object_get(measured, "activations_GiB"));
			double kept = 18.0 * (double)model_layer_parameters(&model, LAYER_DENSE).tensor *
			              (double)model.layers /
			              (double)(integer(plan, "tp", 1) * integer(plan, "pp", 1)) /
			              1073741824.0;

			assert_true(got == want);
			assert_true(kept ==
			            json_number_value(json_object_get(measured, "params_and_optimizer_GiB")));
			exact++;
		}
	}
	assert_true(exact >= 6 && plotted >= 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_schedule_vectors),   cmocka_unit_test(test_geometry_vectors),
	    cmocka_unit_test(test_calculon_weights),   cmocka_unit_test(test_calculon_flops),
	    cmocka_unit_test(test_korthikanti_memory),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
