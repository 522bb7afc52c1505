#include "planner/presets/presets.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct device_preset devices[] = {
    {"v100-32g",
     "NVIDIA V100 SXM2 data sheet; NVLink2 6 x 25 GB/s each way",
     {125e12, 900e9, 32000000000, FAMILY_VOLTA, false},
     150e9,
     0},
    {"t4-16g",
     "NVIDIA T4 data sheet; PCIe 3.0 x16",
     {65e12, 320e9, 16000000000, FAMILY_VOLTA, false},
     16e9,
     0},
    {"a100-40g",
     "NVIDIA A100 SXM data sheet; NVLink3 12 x 25 GB/s each way, one 200 Gb/s adapter a device",
     {312e12, 1555e9, 40000000000, FAMILY_AMPERE, true},
     300e9,
     25e9},
    {"a100-80g",
     "NVIDIA A100 SXM data sheet; NVLink3 12 x 25 GB/s each way, one 200 Gb/s adapter a device",
     {312e12, 2039e9, 80000000000, FAMILY_AMPERE, true},
     300e9,
     25e9},
    {"a800-80g",
     "NVIDIA A800 SXM: A100 with NVLink at 400 GB/s both ways",
     {312e12, 2039e9, 80000000000, FAMILY_AMPERE, true},
     200e9,
     25e9},
    {"l4-24g", "NVIDIA L4 data sheet; PCIe only", {121e12, 300e9, 24000000000, FAMILY_AMPERE, true}, 16e9, 0},
    {"h100-80g",
     "NVIDIA H100 SXM data sheet; NVLink4 18 x 25 GB/s each way, one 400 Gb/s adapter a device",
     {989e12, 3350e9, 80000000000, FAMILY_HOPPER, true},
     450e9,
     50e9},
    {"h800",
     "DeepSeek, ISCA 2025 (arXiv:2505.09343): NVLink 400 GB/s both ways, one 400 Gb/s adapter a device",
     {989e12, 3350e9, 80000000000, FAMILY_HOPPER, true},
     200e9,
     50e9},
    {"h200", "NVIDIA H200 SXM data sheet", {989e12, 4800e9, 141000000000, FAMILY_HOPPER, true}, 450e9, 50e9},
    {"b200",
     "NVIDIA B200/GB200 data sheet (2.25 to 2.5 PF by SKU); NVLink5 900 GB/s each way",
     {2500e12, 8000e9, 186000000000, FAMILY_HOPPER, true},
     900e9,
     50e9},
    {"ascend-910a",
     "Huawei figures in arXiv:2104.12369 (fp16 256 TF, 32 GB); HCCS 30 GB/s a link one way, 100 Gb/s RoCE",
     {256e12, 1200e9, 32000000000, FAMILY_ASCEND, false},
     30e9,
     12.5e9},
    {"ascend-910b",
     "secondary sources; B3 part (313 TF), 280 to 400 TF by SKU; HCCS full mesh 196 GB/s one way, 200 Gb/s "
     "RoCE",
     {313e12, 1600e9, 64000000000, FAMILY_ASCEND, true},
     196e9,
     25e9},
    {"ascend-910c",
     "CloudMatrix384 (arXiv:2506.12708): two dies of 376 TF and 64 GB, UB 392 GB/s one way, RDMA 400 Gb/s",
     {752e12, 3200e9, 128000000000, FAMILY_ASCEND, true},
     392e9,
     50e9},
    {.name = NULL},
};

/* Clusters of one node or one supernode of a device; a request may ask for more nodes. */
static const struct {
	const char *name, *source, *device;
	int64_t nodes, devices_per_node, supernode_devices;
	double supernode_link;
} clusters[] = {
    {"dgx-v100-32g", "DGX-1V: 8 devices, four 100 Gb/s adapters a node", "v100-32g", 1, 8, 0, 0},
    {"dgx-a100-40g", "DGX A100: 8 devices, 8 x 200 Gb/s", "a100-40g", 1, 8, 0, 0},
    {"dgx-a100-80g", "DGX A100 (Selene): 8 devices, 8 x 200 Gb/s", "a100-80g", 1, 8, 0, 0},
    {"dgx-h100", "DGX H100: 8 devices, 8 x 400 Gb/s", "h100-80g", 1, 8, 0, 0},
    {"dgx-h200", "DGX H200: 8 devices, 8 x 400 Gb/s", "h200", 1, 8, 0, 0},
    {"h800-8", "DeepSeek-V3 nodes: 8 devices, 8 x 400 Gb/s", "h800", 1, 8, 0, 0},
    {"gb200-nvl72", "GB200 NVL72: one NVLink domain of 72", "b200", 1, 72, 0, 0},
    {"atlas-910a", "Atlas 800 (9000): 8 devices, 8 x 100 Gb/s", "ascend-910a", 1, 8, 0, 0},
    {"atlas-910b", "Atlas 800T A2: 8 devices, 8 x 200 Gb/s", "ascend-910b", 1, 8, 0, 0},
    {"cloudmatrix384", "CloudMatrix384 (arXiv:2506.12708): 48 nodes of 8, one UB supernode", "ascend-910c",
     48, 8, 384, 380e9},
};

static const char *const cluster_names[] = {
    "dgx-v100-32g", "dgx-a100-40g", "dgx-a100-80g", "dgx-h100",       "dgx-h200", "h800-8",
    "gb200-nvl72",  "atlas-910a",   "atlas-910b",   "cloudmatrix384", NULL};

const char *const *cluster_preset_names(void)
{
	return cluster_names;
}

const struct device_preset *device_preset(const char *name)
{
	for (const struct device_preset *p = devices; p->name; p++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

bool cluster_preset_at(int i, struct cluster_preset *out)
{
	const struct device_preset *d;
	struct cluster c;

	if (i < 0 || (size_t)i >= sizeof(clusters) / sizeof(clusters[0]))
		return false;
	d = device_preset(clusters[i].device);
	c = (struct cluster){.nodes = clusters[i].nodes,
	                     .devices_per_node = clusters[i].devices_per_node,
	                     .supernode_devices = clusters[i].supernode_devices,
	                     .device = d->device,
	                     .compute_efficiency = NAN,
	                     .memory_efficiency = NAN};
	for (int l = 0; l < LINK_SCOPES; l++) {
		c.links[l].latency_seconds = NAN;
		c.link_efficiency[l] = NAN;
	}
	c.links[LINK_NODE].bytes_per_second = d->node_link;
	c.links[LINK_SUPERNODE].bytes_per_second = clusters[i].supernode_link;
	/* Four 100 Gb/s adapters for eight devices where the device has none of its own. */
	c.links[LINK_CLUSTER].bytes_per_second = d->cluster_link > 0 ? d->cluster_link : 6.25e9;
	*out = (struct cluster_preset){clusters[i].name, clusters[i].source, clusters[i].device, c};
	return true;
}

bool cluster_preset(const char *name, struct cluster_preset *out)
{
	for (int i = 0; cluster_preset_at(i, out); i++) {
		if (strcmp(out->name, name) == 0)
			return true;
	}
	return false;
}

static bool contains(const char *name, const char *part)
{
	size_t n = strlen(part);

	for (; *name; name++) {
		size_t i = 0;

		while (i < n && name[i] && tolower((unsigned char)name[i]) == part[i])
			i++;
		if (i == n)
			return true;
	}
	return false;
}

enum device_family device_family_of(const char *name)
{
	static const struct {
		const char *part;
		enum device_family family;
	} parts[] = {{"a100", FAMILY_AMPERE}, {"a800", FAMILY_AMPERE},   {"h100", FAMILY_HOPPER},
	             {"h800", FAMILY_HOPPER}, {"h200", FAMILY_HOPPER},   {"h20", FAMILY_HOPPER},
	             {"v100", FAMILY_VOLTA},  {"ascend", FAMILY_ASCEND}, {"910", FAMILY_ASCEND}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (contains(name, parts[i].part))
			return parts[i].family;
	}
	return FAMILY_GENERIC;
}
