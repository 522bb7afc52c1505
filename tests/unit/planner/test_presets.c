#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/presets/presets.h"

/* Parameter counts as published. "weights" is the sum over the tensors of the published weights, to the
 * parameter; other sources round, and are here only with three digits or more. */
static const struct {
	const char *name, *source;
	double published;
} counts[] = {
    {"gpt2-124m", "weights", 124439808},
    {"gpt2-355m", "weights", 354823168},
    {"gpt2-774m", "weights", 774030080},
    {"gpt2-1.5b", "weights", 1557611200},
    {"gpt3-125m", "arXiv:2005.14165 table D.1", 125e6},
    {"gpt3-350m", "arXiv:2005.14165 table D.1", 356e6},
    {"gpt3-760m", "arXiv:2005.14165 table D.1", 760e6},
    {"gpt3-1.3b", "arXiv:2005.14165 table D.1", 1320e6},
    {"gpt3-2.7b", "arXiv:2005.14165 table D.1", 2650e6},
    {"gpt3-6.7b", "arXiv:2005.14165 table D.1", 6660e6},
    {"gpt3-13b", "arXiv:2005.14165 table D.1", 12850e6},
    {"gpt3-175b", "arXiv:2005.14165 table D.1", 174600e6},
    {"megatron-18b", "arXiv:2104.04473 table 1", 18.4e9},
    {"megatron-39b", "arXiv:2104.04473 table 1", 39.1e9},
    {"megatron-76b", "arXiv:2104.04473 table 1", 76.1e9},
    {"megatron-145b", "arXiv:2104.04473 table 1", 145.6e9},
    {"megatron-310b", "arXiv:2104.04473 table 1", 310.1e9},
    {"megatron-530b", "arXiv:2104.04473 table 1", 529.6e9},
    {"megatron-1t", "arXiv:2104.04473 table 1", 1008.0e9},
    {"megascale-175b", "arXiv:2402.15627 table 1", 175e9},
    {"megascale-530b", "arXiv:2402.15627 table 1", 530e9},
    {"llama-7b", "weights", 6738415616},
    {"llama-13b", "weights", 13015864320},
    {"llama-33b", "weights", 32528943616},
    {"llama-65b", "weights", 65285660672},
    {"llama2-7b", "weights", 6738415616},
    {"llama2-13b", "weights", 13015864320},
    {"llama2-70b", "weights", 68976648192},
    {"llama3-8b", "weights", 8030261248},
    {"llama3-70b", "weights", 70553706496},
    {"llama3-405b", "weights", 405853388800},
    {"llama3.2-1b", "weights", 1235814400},
    {"llama3.2-3b", "weights", 3212749824},
    {"mistral-7b", "weights", 7241732096},
    {"mixtral-8x7b", "weights", 46702792704},
    {"mixtral-8x22b", "weights", 140630071296},
    {"deepseek-7b", "weights", 6910365696},
    {"deepseek-moe-16b", "weights", 16375728128},
    {"deepseek-v2-lite", "weights", 15706484224},
    {"deepseek-v2", "weights", 235741434880},
    {"deepseek-v3", "weights without the module of layer 61", 671026419200},
    {"qwen1.5-0.5b", "weights", 463987712},
    {"qwen1.5-1.8b", "weights", 1836828672},
    {"qwen1.5-4b", "weights", 3950369280},
    {"qwen1.5-7b", "weights", 7721324544},
    {"qwen1.5-14b", "weights", 14167290880},
    {"qwen1.5-32b", "weights", 32512218112},
    {"qwen1.5-72b", "weights", 72287920128},
    {"qwen1.5-110b", "weights", 111209914368},
    {"qwen1.5-moe-a2.7b", "weights", 14315784192},
    {"qwen2-0.5b", "weights", 494032768},
    {"qwen2-1.5b", "weights", 1543714304},
    {"qwen2-7b", "weights", 7615616512},
    {"qwen2-72b", "weights", 72706203648},
    {"qwen2-57b-a14b", "arXiv:2407.10671 table 1", 57.4e9},
    {"qwen2.5-0.5b", "weights", 494032768},
    {"qwen2.5-1.5b", "weights", 1543714304},
    {"qwen2.5-3b", "weights", 3085938688},
    {"qwen2.5-7b", "weights", 7615616512},
    {"qwen2.5-14b", "weights", 14770033664},
    {"qwen2.5-32b", "weights", 32763876352},
    {"qwen2.5-72b", "weights", 72706203648},
    {"qwen3-0.6b", "weights, the tied head once", 596049920},
    {"qwen3-1.7b", "weights, the tied head once", 1720574976},
    {"qwen3-4b", "weights", 4022468096},
    {"qwen3-8b", "weights", 8190735360},
    {"qwen3-14b", "weights", 14768307200},
    {"qwen3-32b", "weights", 32762123264},
    {"qwen3-30b-a3b", "weights", 30532122624},
    {"qwen3-235b-a22b", "weights", 235093634560},
    {"qwen3-coder-480b-a35b", "weights", 480154875392},
    {"pangu-sigma-1t", "arXiv:2303.10845", 1.085e12},
    {"pangu-ultra-moe-718b", "arXiv:2505.04519", 718e9},
    /* Of 105e9 the module for the second token has 2.32e9: a layer of experts (192 + 1) x 3 x 2560 x 1536,
     * latent attention 29.5e6, and 2 x 2560 x 2560 that join the two inputs. */
    {"telechat3-105b-a4.7b", "arXiv:2512.24157, less its multi-token prediction", 105e9 - 2.32e9},
    /* The pooler is a matrix and a bias: 768 x 769, 1024 x 1025. */
    {"bert-base", "weights of the encoder, less the pooler", 109482240 - 590592},
    {"bert-large", "weights of the encoder, less the pooler", 335141888 - 1049600},
    {"internvl1.5-26b-vision", "model card of InternViT-6B-448px-V1-5", 5540e6},
    {"internvl1.5-26b-language", "weights of InternLM2-20B", 19861149696},
    /* 675e6 with the merger: 5120 x 5120 + 5120 x 3584 */
    {"qwen2-vl-7b-vision", "arXiv:2409.12191 table 1, less the merger", 675e6 - 44.6e6},
    {"qwen2-vl-7b-language", "weights of Qwen2-7B", 7615616512},
    {"vit-g14-vision", "arXiv:2106.04560 table 2", 1011e6},
    {"vit-gg14-vision", "arXiv:2106.04560 table 2", 1843e6},
};

static void test_parameters_are_as_published(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct model_preset *p = model_preset(counts[i].name);
		double ratio;

		if (!p)
			fail_msg("no preset %s", counts[i].name);
		ratio = (double)model_parameters(&p->model) / counts[i].published;
		if (fabs(ratio - 1) > 0.005)
			fail_msg("%s has %.4f of its published parameters (%s)", counts[i].name, ratio,
			         counts[i].source);
	}
}

/* What a name says of its own size: the first -NUMBER followed by m, b or t; 0 when it says none. */
static double named_size(const char *name)
{
	for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
		char *end;
		double n = strtod(dash + 1, &end);

		if (end == dash + 1)
			continue;
		if (*end == 'm' || *end == 'b' || *end == 't')
			return n * (*end == 'm' ? 1e6 : *end == 'b' ? 1e9 : 1e12);
	}
	return 0;
}

static bool has_count(const char *name)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (strcmp(counts[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Half of a model of encoder and decoder: its name says the size of both. */
static bool is_half(const char *name)
{
	return strstr(name, "-encoder") || strstr(name, "-decoder");
}

/* Where only a rounded size was published, the name has it, and a wrong digit in a shape shows; TED's name
 * counts its base alone. */
static void test_a_name_is_near_its_size(void **state)
{
	const struct model_preset *p;
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; (p = model_preset_at(i)); i++) {
		double size = named_size(p->name);

		if (size == 0 || has_count(p->name) || strncmp(p->name, "ted-", 4) == 0 || is_half(p->name))
			continue;
		seen++;
		if (fabs((double)model_parameters(&p->model) / size - 1) > 0.04)
			fail_msg("%s has %.4g parameters", p->name, (double)model_parameters(&p->model));
	}
	assert_true(seen >= 10);
}

/* Encoder and decoder share one embedding. T5: the sum over its weights, of which the third norm of 24 layers
 * and two tables of relative positions are left out here; Z-code M3: "10 billion parameters" of its abstract.
 */
static void test_halves_are_a_whole(void **state)
{
	static const struct {
		const char *name;
		double published, tolerance;
	} rows[] = {{"t5-large", 737668096, 1e-4},
	            {"t5-3b", 2851598336, 1e-4},
	            {"t5-11b", 11307321344, 1e-4},
	            {"zcode-m3-10b", 10e9, 0.04}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char encoder[64], decoder[64];
		const struct model *e, *d;
		int64_t sum;

		snprintf(encoder, sizeof(encoder), "%s-encoder", rows[i].name);
		snprintf(decoder, sizeof(decoder), "%s-decoder", rows[i].name);
		e = &model_preset(encoder)->model;
		d = &model_preset(decoder)->model;
		sum = model_parameters(e) + model_parameters(d) - e->vocab * e->hidden;
		if (fabs((double)sum / rows[i].published - 1) > rows[i].tolerance)
			fail_msg("%s has %lld parameters", rows[i].name, (long long)sum);
	}
}

/* MegaScale-Omni tells the sizes of its models A to D and nothing else of them (arXiv:2605.08962). */
static void test_omni_has_its_sizes(void **state)
{
	static const struct {
		const char *name;
		double told;
	} rows[] = {{"megascale-omni-a-vision", 1e9},   {"megascale-omni-a-language", 12e9},
	            {"megascale-omni-b-vision", 2.4e9}, {"megascale-omni-b-language", 70e9},
	            {"megascale-omni-c-vision", 10e9},  {"megascale-omni-c-language", 70e9},
	            {"megascale-omni-d-vision", 10e9},  {"megascale-omni-d-language", 175e9}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(fabs((double)model_parameters(&model_preset(rows[i].name)->model) / rows[i].told -
		                 1) < 0.04);
}

/* Parameters a token passes through, as published. DeepSeek-V2-Lite 2.4e9 and V2 21e9, Qwen1.5-MoE 2.7e9,
 * Qwen2-57B-A14B 14e9, Qwen3 3.3e9 and 22e9, Pangu Ultra MoE 39e9, TeleChat3 4.7e9: two digits, and some
 * count without the embedding. */
static void test_active_parameters(void **state)
{
	static const struct {
		const char *name;
		double published;
	} rows[] = {
	    {"deepseek-moe-16b", 2.8e9},     {"deepseek-v2-lite", 2.4e9},     {"deepseek-v2", 21e9},
	    {"qwen1.5-moe-a2.7b", 2.7e9},    {"qwen2-57b-a14b", 14e9},        {"qwen3-30b-a3b", 3.3e9},
	    {"qwen3-235b-a22b", 22e9},       {"qwen3-coder-480b-a35b", 35e9}, {"pangu-ultra-moe-718b", 39e9},
	    {"telechat3-105b-a4.7b", 4.7e9}, {"mixtral-8x22b", 39e9}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct model *m = &model_preset(rows[i].name)->model;
		double all = (double)model_active_parameters(m);
		double least = all - (double)(m->vocab * m->hidden);

		if (least > rows[i].published * 1.04 || all < rows[i].published * 0.96)
			fail_msg("%s: %.4g to %.4g active parameters", rows[i].name, least, all);
	}
}

static void test_models_are_sound(void **state)
{
	const struct model_preset *p;
	struct sb_error err;
	size_t n = 0;

	(void)state;
	for (; (p = model_preset_at(n)); n++) {
		struct model m = p->model;

		assert_true(strlen(p->name) < 64);
		assert_true(strlen(p->source) > 0);
		model_defaults(&m);
		assert_memory_equal(&m, &p->model, sizeof(m)); /* a preset leaves nothing to be filled in */
		assert_int_equal(model_check(&m, &err), SB_OK);
		assert_ptr_equal(model_preset(p->name), p); /* no name twice */
	}
	assert_null(model_preset_at(n + 1));
	assert_null(model_preset_at(SIZE_MAX));
	assert_null(model_preset("no-such-model"));
}

/* BERT, the towers of multimodal models and ViT attend to all tokens, and nothing else does. */
static void test_encoders_are_told(void **state)
{
	const struct model_preset *p;

	(void)state;
	for (size_t i = 0; (p = model_preset_at(i)); i++) {
		bool encoder = strncmp(p->name, "bert-", 5) == 0 || strstr(p->name, "-vision") ||
		               strstr(p->name, "-encoder");

		if (p->model.bidirectional != encoder)
			fail_msg("%s", p->name);
	}
}

static void test_hardware_is_sound(void **state)
{
	const struct device_preset *d;
	struct cluster_preset c, again;
	struct sb_error err;

	(void)state;
	for (size_t i = 0; (d = device_preset_at(i)); i++) {
		assert_ptr_equal(device_preset(d->name), d);
		assert_true(strlen(d->source) > 0);
		assert_true(d->device.peak_flops > 1e13 && d->device.peak_flops < 1e16);
		assert_true(d->device.memory_bandwidth > 1e11 && d->device.memory_bandwidth < 1e14);
		assert_true(d->node_link > 0 && d->cluster_link < d->node_link);
	}
	for (size_t i = 0; cluster_preset_at(i, &c); i++) {
		assert_int_equal(cluster_check(&c.cluster, &err), SB_OK);
		assert_true(c.cluster.links[LINK_CLUSTER].bytes_per_second >
		            0); /* more nodes can be asked for */
		assert_non_null(device_preset(c.device));
		assert_true(strlen(c.source) > 0);
		assert_true(cluster_preset(c.name, &again));
		assert_string_equal(again.source, c.source);
	}
	assert_false(cluster_preset("no-such-cluster", &c));
	assert_null(device_preset("no-such-device"));
	assert_null(device_preset_at(SIZE_MAX));
}

/* Data sheets print bandwidth in both directions and FLOP with sparsity: these rows are each half of that. */
static void test_devices_are_dense_and_one_way(void **state)
{
	static const struct {
		const char *name;
		double sparse, both_ways; /* as printed */
	} sheets[] = {{"a100-80g", 624e12, 600e9}, {"h100-80g", 1979e12, 900e9}, {"h200", 1979e12, 900e9},
	              {"b200", 4500e12, 1800e9},   {"gb200", 5000e12, 1800e9},   {"l4-24g", 242e12, 64e9}};

	(void)state;
	for (size_t i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++) {
		const struct device_preset *d = device_preset(sheets[i].name);

		assert_true(fabs(d->device.peak_flops / sheets[i].sparse - 0.5) < 0.001);
		assert_true(2 * d->node_link == sheets[i].both_ways);
	}
}

/* The host is known whole or not at all, and every figure has its source. Copies over PCIe 4.0 reach 25 GB/s
 * on an A100 (cost-model, section 11); two of a DGX A100 share a switch. 2 x 8 channels of DDR4-3200 have 8
 * bytes x 3.2e9 each. */
static void test_hosts_are_sound(void **state)
{
	struct cluster_preset c;

	(void)state;
	for (size_t i = 0; cluster_preset_at(i, &c); i++) {
		bool known = c.host_source != NULL;

		assert_true((c.cluster.host_memory_bytes > 0) == known);
		assert_true((c.cluster.host_link_bytes_per_second > 0) == known);
		/* no less than the devices' own memory, and slower than it */
		if (known) {
			assert_true(c.cluster.host_memory_bytes >=
			            c.cluster.devices_per_node * c.cluster.device.memory_bytes);
			assert_true(c.cluster.host_link_bytes_per_second <
			            c.cluster.links[LINK_NODE].bytes_per_second);
		}
	}
	assert_true(cluster_preset("dgx-a100-80g", &c));
	assert_true(fabs(c.cluster.host_link_bytes_per_second / 25e9 - 1) < 0.02);
	assert_int_equal(c.cluster.host_link_devices, 2);
	assert_true(fabs(c.cluster.host_memory_bandwidth / (0.8 * 16 * 8 * 3.2e9) - 1) < 1e-9);
	/* the memory's share is no measured one; Mist measured L4's link, of whose memory nothing is said */
	assert_true(c.cluster.host_assumed);
	assert_true(cluster_preset("l4-8", &c) && !c.cluster.host_assumed);
}

static void test_family_of_a_name(void **state)
{
	(void)state;
	assert_int_equal(device_family_of("NVIDIA A100-SXM4-80GB"), FAMILY_AMPERE);
	assert_int_equal(device_family_of("NVIDIA GeForce RTX 3090"), FAMILY_AMPERE);
	assert_int_equal(device_family_of("NVIDIA B200"), FAMILY_HOPPER);
	assert_int_equal(device_family_of("Ascend910B4"), FAMILY_ASCEND);
	assert_int_equal(device_family_of(""), FAMILY_GENERIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parameters_are_as_published),
	    cmocka_unit_test(test_a_name_is_near_its_size),
	    cmocka_unit_test(test_halves_are_a_whole),
	    cmocka_unit_test(test_omni_has_its_sizes),
	    cmocka_unit_test(test_active_parameters),
	    cmocka_unit_test(test_models_are_sound),
	    cmocka_unit_test(test_encoders_are_told),
	    cmocka_unit_test(test_hardware_is_sound),
	    cmocka_unit_test(test_devices_are_dense_and_one_way),
	    cmocka_unit_test(test_hosts_are_sound),
	    cmocka_unit_test(test_family_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
