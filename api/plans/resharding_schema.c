#include "api/plans/link_rate.h"
#include "api/plans/resharding.h"
#include "api/plans/schema.h"

static json_t *sizes_schema(int64_t most)
{
	return schema_list(TILING_AXES_MAX, schema_integer(1, most), NULL);
}

static json_t *layout_schema(void)
{
	static const char *const needs[] = {"mesh", "devices_per_host", "sharding", NULL};
	json_t *axis = json_pack("{s:[s,s],s:i,s:i}", "type", "integer", "null", "minimum", 0, "maximum",
	                         TILING_AXES_MAX - 1);
	json_t *axes = json_pack("{s:s,s:i,s:o}", "type", "array", "maxItems", TILING_AXES_MAX, "items",
	                         schema_integer(0, TILING_AXES_MAX - 1));
	json_t *p = json_object();

	json_object_set_new(p, "mesh", sizes_schema(TILING_DEVICES_MAX));
	json_object_set_new(p, "devices_per_host", schema_integer(1, TILING_DEVICES_MAX));
	json_object_set_new(p, "first_host", schema_integer(0, TILING_DEVICES_MAX));
	json_object_set_new(p, "sharding",
	                    schema_list(TILING_AXES_MAX, schema_either(axis, axes),
	                                "for each axis of the tensor: null (whole everywhere), an axis of "
	                                "the mesh, or a list of them, the outer one first"));
	return schema_object(p, needs);
}

static json_t *task_schema(void)
{
	static const char *const needs[] = {"senders", "receivers", NULL};
	json_t *p = json_pack("{s:{s:s}}", "name", "type", "string");

	json_object_set_new(p, "bytes", schema_integer(0, RESHARDING_BYTES_MAX));
	json_object_set_new(p, "seconds", schema_number(0, RESHARDING_SECONDS_MAX, "instead of bytes"));
	json_object_set_new(p, "senders",
	                    schema_list(RESHARD_HOSTS_MAX, schema_integer(0, RESHARD_HOSTS_MAX - 1),
	                                "the hosts that hold the piece: one of them sends it"));
	json_object_set_new(p, "receivers",
	                    schema_list(RESHARD_HOSTS_MAX, schema_integer(0, RESHARD_HOSTS_MAX - 1), NULL));
	return schema_object(p, needs);
}

json_t *resharding_schema(void)
{
	static const char *const tensor_needs[] = {"shape", "element_bytes", NULL};
	json_t *p = json_object(), *o;

	json_object_set_new(p, "tensor",
	                    schema_object(json_pack("{s:o,s:o}", "shape", sizes_schema(RESHARDING_BYTES_MAX),
	                                            "element_bytes", schema_integer(1, 64)),
	                                  tensor_needs));
	json_object_set_new(p, "from", layout_schema());
	json_object_set_new(p, "to", layout_schema());
	json_object_set_new(p, "nic", link_rate_schema());
	json_object_set_new(p, "local", link_rate_schema());
	json_object_set_new(p, "tasks", schema_list(RESHARD_TASKS_MAX, task_schema(), NULL));
	json_object_set_new(p, "transfer", schema_words(transfer_words));
	json_object_set_new(p, "chunks", schema_integer(1, TRANSFER_CHUNKS_MAX));
	o = schema_object(p, NULL);
	json_object_set_new(o, "oneOf",
	                    json_pack("[{s:[s,s,s,s]},{s:[s]}]", "required", "tensor", "from", "to", "nic",
	                              "required", "tasks"));
	return o;
}
