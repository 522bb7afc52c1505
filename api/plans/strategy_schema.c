#include <stddef.h>

#include "api/plans/problem.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"
#include "api/plans/strategy_overlap.h"

static json_t *positive_number(void)
{
	return json_pack("{s:s,s:i}", "type", "number", "exclusiveMinimum", 0);
}

static void integers(json_t *properties, const char *const *names, int low)
{
	for (; *names; names++)
		json_object_set_new(properties, *names, schema_integer(low, INT64_MAX));
}

static json_t *moe_schema(void)
{
	static const char *const required[] = {"experts", "top_k", "ffn_hidden", NULL};
	static const char *const more[] = {"shared_ffn_hidden", "every", NULL};
	static const char *const from_zero[] = {"shared_experts", "first_dense", NULL};
	json_t *p = json_object();

	integers(p, required, 1);
	integers(p, more, 1);
	integers(p, from_zero, 0);
	for (int i = 0; i < 2; i++) {
		json_t *group = schema_integer(1, INT64_MAX);

		json_object_set_new(
		    group, "description",
		    json_string("a token's experts lie in topk_group of n_group equal groups, and "
		                "it goes once to each node that has some"));
		json_object_set_new(p, i ? "topk_group" : "n_group", group);
	}
	json_object_set_new(
	    p, "imbalance",
	    schema_number(1, 65536, "tokens of the busiest expert rank over the mean; default 1"));
	json_object_set_new(p, "router_bias", schema_boolean("a bias for each expert in the router"));
	return schema_object(p, required);
}

static json_t *mla_schema(void)
{
	static const char *const required[] = {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
	                                       "v_head_dim", NULL};
	static const char *const all[] = {"q_lora_rank",      "kv_lora_rank", "qk_nope_head_dim",
	                                  "qk_rope_head_dim", "v_head_dim",   NULL};
	json_t *p = json_object();

	integers(p, all, 0);
	return schema_object(p, required);
}

static json_t *name_or(json_t *object)
{
	return schema_either(
	    json_pack("{s:s,s:s}", "type", "string", "description", "a preset or a stored name"), object);
}

static void document_members(json_t *p)
{
	json_object_set_new(p, "name", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "source", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "description", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "preset", json_object());
}

json_t *model_schema(void)
{
	static const char *const required[] = {"layers", "hidden",  "heads", "ffn_hidden",
	                                       "vocab",  "seq_len", NULL};
	static const char *const more[] = {"kv_heads", "head_dim", NULL};
	static const char *const dtypes[] = {"bf16", "fp16", NULL};
	const char *style = "default: true for a plain FFN without experts (GPT-2's block), else false";
	json_t *p = json_object();

	integers(p, required, 1);
	json_object_set_new(json_object_get(p, "vocab"), "description",
	                    json_string("as the launcher holds it: Megatron pads to a multiple of 128 x tp"));
	integers(p, more, 1);
	json_object_set_new(p, "gated_ffn",
	                    schema_boolean("three FFN matrices instead of two; default false"));
	json_object_set_new(p, "tied_embedding", schema_boolean(style));
	json_object_set_new(p, "biases", schema_boolean(style));
	json_object_set_new(p, "layer_norm", schema_boolean(style));
	json_object_set_new(p, "learned_positions", schema_boolean(style));
	json_object_set_new(p, "dropout", schema_boolean(style));
	json_object_set_new(
	    p, "causal",
	    schema_boolean("false: an encoder, whose tokens attend to all others and not only "
	                   "to those before them; default true"));
	json_object_set_new(p, "dtype", schema_words(dtypes));
	json_object_set_new(p, "moe", moe_schema());
	json_object_set_new(p, "mla", mla_schema());
	document_members(p);
	return name_or(schema_object(p, required));
}

static json_t *device_schema(void)
{
	static const char *const required[] = {"peak_flops", "memory_bytes", "memory_bandwidth", NULL};
	json_t *p =
	    json_pack("{s:{s:s},s:o,s:o,s:o}", "name", "type", "string", "peak_flops", positive_number(),
	              "memory_bytes", schema_integer(1, INT64_MAX), "memory_bandwidth", positive_number());

	return name_or(schema_object(p, required));
}

static json_t *link_schema(void)
{
	static const char *const required[] = {"scope", "bytes_per_second", NULL};
	static const char *const scopes[] = {"node", "supernode", "cluster", NULL};
	json_t *mesh = schema_integer(1, 1 << 16);
	json_t *p = json_pack("{s:o,s:o,s:{s:s,s:i},s:o,s:o}", "scope", schema_words(scopes),
	                      "bytes_per_second", positive_number(), "latency_seconds", "type", "number",
	                      "minimum", 0, "devices", schema_integer(1, INT64_MAX), "mesh_links", mesh);

	json_object_set_new(
	    mesh, "description",
	    json_string("scope node, a full mesh: the links of a device, one to each other of its "
	                "node, that bytes_per_second is all of; a group of n uses n - 1"));
	return schema_object(p, required);
}

json_t *cluster_schema(void)
{
	static const char *const counts[] = {"nodes", "devices_per_node", NULL};
	json_t *p = json_object(), *object;

	integers(p, counts, 1);
	json_object_set_new(p, "device", device_schema());
	json_object_set_new(p, "links", json_pack("{s:s,s:o}", "type", "array", "items", link_schema()));
	json_object_set_new(p, "efficiency",
	                    json_pack("{s:s}", "description",
	                              "the share of peak_flops that matrix products reach, or an object with "
	                              "compute, memory, node, supernode, cluster"));
	json_object_set_new(p, "host_memory_bytes", schema_integer(1, INT64_MAX));
	json_object_set_new(p, "host_link_bytes_per_second", positive_number());
	json_object_set_new(p, "host_link_devices", schema_integer(1, INT64_MAX));
	json_object_set_new(p, "host_memory_bandwidth", positive_number());
	document_members(p);
	object = schema_object(p, NULL);
	/* {preset, nodes} takes the rest from the preset */
	json_object_set_new(object, "anyOf",
	                    json_pack("[{s:[s,s,s]},{s:[s],s:{s:{s:s}}}]", "required", "nodes",
	                              "devices_per_node", "device", "required", "preset", "properties",
	                              "preset", "type", "string"));
	return name_or(object);
}

static json_t *offload_schema(void)
{
	static const char *const none[] = {"none", NULL};
	json_t *shares = json_object();

	for (int i = 0; offload_members[i]; i++)
		json_object_set_new(shares, offload_members[i],
		                    json_pack("{s:s,s:i,s:i}", "type", "number", "minimum", 0, "maximum", 1));
	return schema_either(schema_words(none), schema_object(shares, NULL));
}

static json_t *stages_schema(void)
{
	static const char *const required[] = {"layers", NULL};
	json_t *chunk = schema_object(json_pack("{s:o,s:o}", "first_layer", schema_integer(0, INT64_MAX),
	                                        "layers", schema_integer(0, INT64_MAX)),
	                              required);
	json_t *stage = json_pack(
	    "{s:o,s:o,s:o,s:o,s:o}", "first_layer", schema_integer(0, INT64_MAX), "layers",
	    schema_integer(0, INT64_MAX), "recompute", schema_words(recompute_words), "recompute_layers",
	    schema_integer(0, INT64_MAX), "chunks",
	    json_pack("{s:s,s:s,s:o}", "type", "array", "description",
	              "with vpp above 1: of every stage, or of none for an even cut", "items", chunk));

	return json_pack("{s:s,s:o}", "type", "array", "items", schema_object(stage, required));
}

json_t *strategy_schema(void)
{
	static const char *const degrees[] = {
	    "dp",  "tp",          "tp_x",         "tp_y",          "cp", "pp", "vpp", "ep",
	    "etp", "micro_batch", "devices_used", "micro_batches", NULL};
	json_t *p = json_object();

	integers(p, degrees, 1);
	json_object_set_new(p, "devices_per_node",
	                    json_pack("{s:s,s:i,s:I,s:s}", "type", "integer", "minimum", 1, "maximum",
	                              (json_int_t)STRATEGY_MAX_DEGREE, "description",
	                              "that are used of each node, the others idle; default: all"));
	json_object_set_new(p, "zero",
	                    json_pack("{s:s,s:i,s:i}", "type", "integer", "minimum", 0, "maximum", 3));
	json_object_set_new(p, "sequence_parallel", schema_boolean("default false"));
	json_object_set_new(p, "overlap_gradients",
	                    schema_boolean("as \"gradients\" in overlap; default: true from zero 1 on"));
	overlap_schema(p);
	json_object_set_new(p, "schedule", schema_words(schedule_words));
	json_object_set_new(p, "recompute", schema_words(recompute_words));
	json_object_set_new(p, "attention", schema_words(attention_words));
	json_object_set_new(p, "gradient_dtype", schema_words(dtype_words));
	json_object_set_new(p, "offload", offload_schema());
	json_object_set_new(p, "order",
	                    json_pack("{s:s,s:{s:[s,s,s,s]},s:s}", "type", "array", "items", "enum", "tp",
	                              "cp", "dp", "pp", "description", "innermost first"));
	json_object_set_new(
	    p, "node_order",
	    json_pack("{s:s,s:{s:s},s:s}", "type", "array", "items", "type", "integer", "description",
	              "of plans of the method amp: the nodes in the order of ranks, as a list "
	              "of hosts has them; the cost model has all nodes alike"));
	json_object_set_new(p, "stages", stages_schema());
	return schema_object(p, NULL);
}

json_t *request_schema(json_t *own, const char *required)
{
	const char *const names[] = {"model", "cluster", "batch", required, NULL};
	static const char *const batch[] = {"global_sequences", NULL};
	json_t *p = json_object(), *calibration = json_object();

	for (int i = 0; calibration_members[i]; i++)
		json_object_set_new(calibration, calibration_members[i],
		                    json_pack("{s:s}", "type", "number"));
	json_object_set_new(p, "model", model_schema());
	json_object_set_new(p, "cluster", cluster_schema());
	json_object_set_new(
	    p, "batch",
	    schema_object(json_pack("{s:o,s:o}", "global_sequences", schema_integer(1, INT64_MAX), "micro",
	                            schema_integer(1, INT64_MAX)),
	                  batch));
	json_object_set_new(p, "calibration", schema_object(calibration, NULL));
	json_object_set_new(
	    p, "constraints",
	    schema_object(json_pack("{s:o}", "memory_bytes", schema_integer(1, INT64_MAX)), NULL));
	json_object_update(p, own);
	json_decref(own);
	return schema_object(p, names);
}
