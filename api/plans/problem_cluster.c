#include "api/plans/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "planner/presets/presets.h"

static const char *const scopes[] = {"node", "supernode", "cluster", NULL};

static int read_device(const json_t *value, const struct place *at, struct cluster *c,
                       const struct device_preset **out_preset, struct sb_error *err)
{
	static const char *const members[] = {"name", "peak_flops", "memory_bytes", "memory_bandwidth", NULL};
	struct device *d = &c->device;
	const char *name = "";
	int rc;

	*out_preset = NULL;
	if (json_is_string(value)) {
		*out_preset = device_preset(json_string_value(value));
		if (!*out_preset)
			return parse_fail(err, SB_EINVAL, "unknown_device", at, NULL,
			                  "is no device preset (GET /v1/devices lists them); a device of "
			                  "your own is an object: {name, peak_flops, memory_bytes, "
			                  "memory_bandwidth}");
		*d = (*out_preset)->device;
		return SB_OK;
	}
	rc = parse_members(value, at, members, err);
	if (rc == SB_OK)
		rc = parse_text(value, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = parse_number(value, at, "peak_flops", REQUIRED, 1e9, 1e19, &d->peak_flops, err);
	if (rc == SB_OK)
		rc = parse_integer(value, at, "memory_bytes", REQUIRED, 1, (int64_t)1 << 50, &d->memory_bytes,
		                   err);
	if (rc == SB_OK)
		rc = parse_number(value, at, "memory_bandwidth", REQUIRED, 1e6, 1e17, &d->memory_bandwidth,
		                  err);
	d->family = device_family_of(name);
	d->flash_attention = d->family != FAMILY_VOLTA;
	return rc;
}

static int read_link(const json_t *o, const struct place *at, struct cluster *c, bool seen[LINK_SCOPES],
                     struct sb_error *err)
{
	static const char *const members[] = {"scope",   "bytes_per_second", "latency_seconds",
	                                      "devices", "mesh_links",       NULL};
	int scope = 0, rc = parse_members(o, at, members, err);
	int64_t devices = 0;

	if (rc == SB_OK)
		rc = parse_word(o, at, "scope", REQUIRED, scopes, &scope, err);
	if (rc == SB_OK && seen[scope])
		return parse_fail(err, SB_EIMPOSSIBLE, "duplicate", at, "scope", "is given twice");
	if (rc == SB_OK)
		rc = parse_number(o, at, "bytes_per_second", REQUIRED, 1e3, 1e16,
		                  &c->links[scope].bytes_per_second, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "latency_seconds", OPTIONAL, 0, 10, &c->links[scope].latency_seconds,
		                  err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "devices", scope == LINK_SUPERNODE ? REQUIRED : OPTIONAL, 1,
		                   1 << 27, &devices, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "mesh_links", OPTIONAL, 1, 1 << 16, &c->links[scope].mesh_links,
		                   err);
	if (rc != SB_OK)
		return rc;
	if (scope == LINK_SUPERNODE)
		c->supernode_devices = devices;
	seen[scope] = true;
	return SB_OK;
}

static int read_links(const json_t *o, const struct place *at, const struct device_preset *preset,
                      struct cluster *c, struct sb_error *err)
{
	const json_t *links = parse_given(o, "links");
	struct place here = place_member(at, "links");
	bool seen[LINK_SCOPES] = {false};
	int rc = SB_OK;

	if (links) {
		if (!json_is_array(links))
			return parse_fail(err, SB_EINVAL, "wrong_type", at, "links", "must be a list");
		for (size_t i = 0; rc == SB_OK && i < json_array_size(links); i++) {
			struct place p = place_index(&here, i);

			rc = read_link(json_array_get(links, i), &p, c, seen, err);
		}
		return rc;
	}
	if (!preset)
		return parse_fail(err, SB_EINVAL, "missing_member", at, "links",
		                  "is missing (only a device preset brings its own)");
	c->links[LINK_NODE].bytes_per_second = preset->node_link;
	c->links[LINK_NODE].mesh_links = preset->mesh_links;
	c->links[LINK_CLUSTER].bytes_per_second = preset->cluster_link;
	return SB_OK;
}

/* A number is the share of peak_flops that matrix products reach; an object names the shares one by one. */
static int read_efficiency(const json_t *o, const struct place *at, struct cluster *c, struct sb_error *err)
{
	static const char *const members[] = {"compute", "memory", "node", "supernode", "cluster", NULL};
	const json_t *e = parse_given(o, "efficiency");
	struct place here = place_member(at, "efficiency");
	int rc;

	if (!e)
		return SB_OK;
	if (json_is_number(e))
		return parse_number(o, at, "efficiency", OPTIONAL, 0.001, 1, &c->compute_efficiency, err);
	rc = parse_members(e, &here, members, err);
	if (rc == SB_OK)
		rc = parse_number(e, &here, "compute", OPTIONAL, 0.001, 1, &c->compute_efficiency, err);
	if (rc == SB_OK)
		rc = parse_number(e, &here, "memory", OPTIONAL, 0.001, 1, &c->memory_efficiency, err);
	for (int i = 0; rc == SB_OK && i < LINK_SCOPES; i++)
		rc = parse_number(e, &here, scopes[i], OPTIONAL, 0.001, 1, &c->link_efficiency[i], err);
	return rc;
}

static int read_host(const json_t *o, const struct place *at, struct cluster *c, struct sb_error *err)
{
	int rc = parse_integer(o, at, "host_memory_bytes", OPTIONAL, 1, (int64_t)1 << 50,
	                       &c->host_memory_bytes, err);

	if (rc == SB_OK)
		rc = parse_number(o, at, "host_link_bytes_per_second", OPTIONAL, 1e3, 1e16,
		                  &c->host_link_bytes_per_second, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "host_link_devices", OPTIONAL, 1, 1024, &c->host_link_devices, err);
	return rc == SB_OK ? parse_number(o, at, "host_memory_bandwidth", OPTIONAL, 1e6, 1e17,
	                                  &c->host_memory_bandwidth, err)
	                   : rc;
}

/* Whether the rates of the host are those that a preset of this name assumes. */
static bool host_assumed(const json_t *o, const struct cluster *c)
{
	const char *name = json_string_value(json_object_get(o, "name"));
	struct cluster known = {.host_assumed = false};

	return name && host_preset(name, &known) && known.host_assumed &&
	       (c->host_link_bytes_per_second == known.host_link_bytes_per_second ||
	        (known.host_memory_bandwidth > 0 && c->host_memory_bandwidth == known.host_memory_bandwidth));
}

static int check(const struct cluster *c, const struct place *at, struct sb_error *err)
{
	struct sb_error why = {0};
	struct place p = *at;
	int rc = cluster_check(c, &why);

	if (rc == SB_OK)
		return SB_OK;
	snprintf(p.pointer, sizeof(p.pointer), "%.80s%s%.30s", at->pointer, why.field[0] ? "/" : "",
	         why.field);
	return parse_fail(err, rc, why.word, &p, NULL, why.text);
}

int cluster_from_json(const json_t *value, const struct place *at, struct cluster *out, struct sb_error *err)
{
	static const char *const members[] = {"nodes",
	                                      "devices_per_node",
	                                      "device",
	                                      "links",
	                                      "efficiency",
	                                      "host_memory_bytes",
	                                      "host_link_bytes_per_second",
	                                      "host_link_devices",
	                                      "host_memory_bandwidth",
	                                      "preset",
	                                      "name",
	                                      "source",
	                                      "description",
	                                      NULL};
	struct place device = place_member(at, "device");
	const struct device_preset *preset = NULL;
	struct cluster c = {.compute_efficiency = NAN, .memory_efficiency = NAN};
	int rc = parse_members(value, at, members, err);

	for (int i = 0; i < LINK_SCOPES; i++) {
		c.links[i].latency_seconds = NAN;
		c.link_efficiency[i] = NAN;
	}
	if (rc == SB_OK)
		rc = parse_integer(value, at, "nodes", REQUIRED, 1, 1 << 17, &c.nodes, err);
	if (rc == SB_OK)
		rc =
		    parse_integer(value, at, "devices_per_node", REQUIRED, 1, 1024, &c.devices_per_node, err);
	if (rc == SB_OK && !parse_given(value, "device"))
		return parse_missing(err, value, at, "device");
	if (rc == SB_OK)
		rc = read_device(json_object_get(value, "device"), &device, &c, &preset, err);
	if (rc == SB_OK)
		rc = read_links(value, at, preset, &c, err);
	if (rc == SB_OK)
		rc = read_efficiency(value, at, &c, err);
	if (rc == SB_OK)
		rc = read_host(value, at, &c, err);
	if (rc == SB_OK)
		rc = check(&c, at, err);
	if (rc == SB_OK)
		c.host_assumed = host_assumed(value, &c);
	if (rc == SB_OK)
		*out = c;
	return rc;
}

void warn_network_assumed(const json_t *request, json_t *answer)
{
	const json_t *value = json_object_get(request, "cluster");
	const char *name = json_string_value(json_object_get(value, "name"));
	struct place at = place_of("/cluster");
	struct cluster_preset known;
	struct cluster c;

	if (name && cluster_preset(name, &known) && known.network_assumed &&
	    cluster_from_json(value, &at, &c, NULL) == SB_OK && c.nodes > 1 &&
	    c.links[LINK_CLUSTER].bytes_per_second == known.cluster.links[LINK_CLUSTER].bytes_per_second)
		json_warn(
		    json_object_get(answer, "warnings"), "network_assumed",
		    "the rate of the network between the nodes of this cluster preset is not verified: give "
		    "links, with the bytes_per_second of scope cluster, where you know it");
}

/* Appends a link; a level that does not exist, or is not known, is left out. */
static void add_link(json_t *links, enum link_scope scope, double rate, int64_t mesh_links, int64_t devices)
{
	json_t *l;

	if (rate <= 0)
		return;
	l = json_object();
	json_object_set_new(l, "scope", json_string(scopes[scope]));
	json_object_set_new(l, "bytes_per_second", json_real(rate));
	if (mesh_links > 0)
		json_object_set_new(l, "mesh_links", json_integer(mesh_links));
	if (scope == LINK_SUPERNODE)
		json_object_set_new(l, "devices", json_integer(devices));
	json_array_append_new(links, l);
}

json_t *device_to_json(const struct device_preset *p)
{
	json_t *o = json_object(), *links = json_array();

	json_object_set_new(o, "peak_flops", json_real(p->device.peak_flops));
	json_object_set_new(o, "memory_bytes", json_integer(p->device.memory_bytes));
	json_object_set_new(o, "memory_bandwidth", json_real(p->device.memory_bandwidth));
	add_link(links, LINK_NODE, p->node_link, p->mesh_links, 0);
	add_link(links, LINK_CLUSTER, p->cluster_link, 0, 0);
	json_object_set_new(o, "links", links);
	return o;
}

/* What is known of the host. */
static void add_host(json_t *o, const struct cluster *c)
{
	if (c->host_memory_bytes > 0)
		json_object_set_new(o, "host_memory_bytes", json_integer(c->host_memory_bytes));
	if (c->host_link_bytes_per_second > 0)
		json_object_set_new(o, "host_link_bytes_per_second",
		                    json_real(c->host_link_bytes_per_second));
	if (c->host_link_devices > 0)
		json_object_set_new(o, "host_link_devices", json_integer(c->host_link_devices));
	if (c->host_memory_bandwidth > 0)
		json_object_set_new(o, "host_memory_bandwidth", json_real(c->host_memory_bandwidth));
}

json_t *cluster_to_json(const struct cluster *c, const char *device)
{
	json_t *o = json_object(), *links = json_array();

	json_object_set_new(o, "nodes", json_integer(c->nodes));
	json_object_set_new(o, "devices_per_node", json_integer(c->devices_per_node));
	json_object_set_new(o, "device", json_string(device));
	for (int i = 0; i < LINK_SCOPES; i++)
		add_link(links, (enum link_scope)i, c->links[i].bytes_per_second, c->links[i].mesh_links,
		         c->supernode_devices);
	json_object_set_new(o, "links", links);
	add_host(o, c);
	return o;
}
