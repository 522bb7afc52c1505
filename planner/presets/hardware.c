#include "planner/presets/presets.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* One 200 or 400 Gb/s adapter a device. */
#define GBIT_200 25e9
#define GBIT_400 50e9
#define NVLINK3 "NVLink3 12 x 25 GB/s each way, one 200 Gb/s adapter a device"
#define NVLINK4 "NVLink4 18 x 25 GB/s each way, one 400 Gb/s adapter a device"
#define NVLINK5 "NVLink5 18 x 50 GB/s each way, one 400 Gb/s adapter a device"
#define DIES "two dies, which programs see as a device each (-die)"
#define CLOUDMATRIX "CloudMatrix384 (arXiv:2506.12708): "

static const struct device_preset devices[] = {
    {"v100-16g",
     "NVIDIA V100 SXM2 data sheet; NVLink2 6 x 25 GB/s each way",
     {125e12, 900e9, 16000000000, FAMILY_VOLTA, false},
     150e9,
     0,
     0},
    {"v100-32g",
     "NVIDIA V100 SXM2 data sheet; NVLink2 6 x 25 GB/s each way",
     {125e12, 900e9, 32000000000, FAMILY_VOLTA, false},
     150e9,
     0,
     0},
    {"t4-16g",
     "NVIDIA T4 data sheet; PCIe 3.0 x16",
     {65e12, 320e9, 16000000000, FAMILY_VOLTA, false},
     16e9,
     0,
     0},
    {"rtx3090-24g",
     "NVIDIA GA102 white paper: 71 TF with sums in 32 bits (142 TF with sums in 16 are not what training "
     "does); PCIe 4.0 x16",
     {71e12, 936e9, 24000000000, FAMILY_AMPERE, true},
     32e9,
     0,
     0},
    {"l4-24g",
     "NVIDIA L4 data sheet, half of its figure with sparsity; PCIe 4.0 x16",
     {121e12, 300e9, 24000000000, FAMILY_AMPERE, true},
     32e9,
     0,
     0},
    {"a100-40g",
     "NVIDIA A100 SXM data sheet; " NVLINK3,
     {312e12, 1555e9, 40000000000, FAMILY_AMPERE, true},
     300e9,
     GBIT_200,
     0},
    {"a100-80g",
     "NVIDIA A100 SXM data sheet; " NVLINK3,
     {312e12, 2039e9, 80000000000, FAMILY_AMPERE, true},
     300e9,
     GBIT_200,
     0},
    {"a800-80g",
     "NVIDIA A800 SXM: A100 with NVLink at 400 GB/s both ways",
     {312e12, 2039e9, 80000000000, FAMILY_AMPERE, true},
     200e9,
     GBIT_200,
     0},
    {"h20-96g",
     "NVIDIA publishes no data sheet; figures of resellers that agree: 148 TF, 96 GB at 4.0 TB/s; " NVLINK4,
     {148e12, 4000e9, 96000000000, FAMILY_HOPPER, true},
     450e9,
     GBIT_400,
     0},
    {"h100-80g",
     "NVIDIA H100 SXM data sheet; " NVLINK4,
     {989e12, 3350e9, 80000000000, FAMILY_HOPPER, true},
     450e9,
     GBIT_400,
     0},
    {"h800",
     "DeepSeek, ISCA 2025 (arXiv:2505.09343): NVLink 400 GB/s both ways, one 400 Gb/s adapter a device",
     {989e12, 3350e9, 80000000000, FAMILY_HOPPER, true},
     200e9,
     GBIT_400,
     0},
    {"h200",
     "NVIDIA H200 SXM data sheet; " NVLINK4,
     {989e12, 4800e9, 141000000000, FAMILY_HOPPER, true},
     450e9,
     GBIT_400,
     0},
    {"b200",
     "NVIDIA Blackwell data sheet, HGX B200: half of its 4.5 PF with sparsity; " NVLINK5,
     {2250e12, 7700e9, 180000000000, FAMILY_HOPPER, true},
     900e9,
     GBIT_400,
     0},
    {"gb200",
     "NVIDIA Blackwell data sheet, GB200 NVL72: half of its 5 PF with sparsity; " NVLINK5,
     {2500e12, 8000e9, 186000000000, FAMILY_HOPPER, true},
     900e9,
     GBIT_400,
     0},
    {"mi210-64g",
     "AMD Instinct MI210 data sheet; 3 Infinity Fabric links x 50 GB/s each way, a full mesh of 4",
     {181e12, 1638e9, 64000000000, FAMILY_GENERIC, true},
     150e9,
     0,
     3},
    {"mi250-128g",
     "AMD Instinct MI250 data sheet; 6 Infinity Fabric links x 50 GB/s each way; " DIES,
     {362.1e12, 3276e9, 128000000000, FAMILY_GENERIC, true},
     300e9,
     0,
     0},
    {"mi250-die",
     "one of the two dies of an MI250: half of its data sheet",
     {181e12, 1638e9, 64000000000, FAMILY_GENERIC, true},
     150e9,
     0,
     0},
    {"mi300x-192g",
     "AMD Instinct MI300X data sheet; 7 Infinity Fabric links x 64 GB/s each way, a full mesh of 8",
     {1307.4e12, 5300e9, 192000000000, FAMILY_GENERIC, true},
     448e9,
     GBIT_400,
     7},
    {"ascend-910a",
     "Huawei figures in arXiv:2104.12369 (fp16 256 TF, 32 GB); HCCS 3 x 30 GB/s one way in two meshes of 4 "
     "that "
     "PCIe 4.0 joins: for the 8 of a node, one link's 30 GB/s; 100 Gb/s RoCE; the 1.2 TB/s of its memory are "
     "not "
     "verified",
     {256e12, 1200e9, 32000000000, FAMILY_ASCEND, false},
     30e9,
     12.5e9,
     0},
    {"ascend-910b",
     "secondary sources; B3 part (313 TF), 280 to 400 TF by SKU; HCCS 7 links x 28 GB/s one way, a "
     "full mesh of 8; 200 Gb/s RoCE",
     {313e12, 1600e9, 64000000000, FAMILY_ASCEND, true},
     196e9,
     GBIT_200,
     7},
    {"ascend-910c",
     CLOUDMATRIX "376 TF and 64 GB a die, UB 392 GB/s one way, RDMA 400 Gb/s; " DIES,
     {752e12, 3200e9, 128000000000, FAMILY_ASCEND, true},
     392e9,
     GBIT_400,
     0},
    {"ascend-910c-die",
     CLOUDMATRIX "one die: 376 TF, 64 GB, UB 196 GB/s one way, half of RDMA's 400 Gb/s",
     {376e12, 1600e9, 64000000000, FAMILY_ASCEND, true},
     196e9,
     GBIT_200,
     0},
};

/* Clusters of one node or one supernode of a device; a request may ask for more nodes. Bytes per second of
 * the cluster's network for one device; 0 = the device's own adapter. network_assumed: no source says that
 * this network is the cluster's. */
static const struct {
	const char *name, *source, *device;
	int64_t nodes, devices_per_node, supernode_devices;
	double supernode_link, cluster_link;
	bool network_assumed;
} clusters[] = {
    {"dgx-v100-16g", "DGX-1: 8 devices, four 100 Gb/s adapters a node", "v100-16g", 1, 8, 0, 0, 6.25e9,
     false},
    {"dgx-v100-32g", "DGX-1V: 8 devices, four 100 Gb/s adapters a node", "v100-32g", 1, 8, 0, 0, 6.25e9,
     false},
    {"t4-4", "AWS g4dn.12xlarge: 4 devices, 50 Gb/s a node", "t4-16g", 1, 4, 0, 0, 1.5625e9, false},
    {"rtx3090-8", "Servers of Merak and Oases: 8 devices over PCIe; their 100 Gb/s a node are not verified",
     "rtx3090-24g", 1, 8, 0, 0, 1.5625e9, true},
    {"l4-8", "Google Cloud g2-standard-96: 8 devices, 100 Gb/s a node", "l4-24g", 1, 8, 0, 0, 1.5625e9,
     false},
    {"dgx-a100-40g", "DGX A100: 8 devices, 8 x 200 Gb/s", "a100-40g", 1, 8, 0, 0, 0, false},
    {"dgx-a100-80g", "DGX A100 (Selene): 8 devices, 8 x 200 Gb/s", "a100-80g", 1, 8, 0, 0, 0, false},
    {"hgx-a800-80g", "HGX A800: 8 devices; 8 x 200 Gb/s as in DGX A100, not verified", "a800-80g", 1, 8, 0, 0,
     0, true},
    {"hgx-h20", "HGX H20: 8 devices; 8 x 400 Gb/s as in DGX H100, not verified", "h20-96g", 1, 8, 0, 0, 0,
     true},
    {"dgx-h100", "DGX H100: 8 devices, 8 x 400 Gb/s", "h100-80g", 1, 8, 0, 0, 0, false},
    {"dgx-h200", "DGX H200: 8 devices, 8 x 400 Gb/s", "h200", 1, 8, 0, 0, 0, false},
    {"h800-8", "HGX H800, the nodes of DeepSeek-V3: 8 devices, 8 x 400 Gb/s", "h800", 1, 8, 0, 0, 0, false},
    {"dgx-b200", "DGX B200: 8 devices, 8 x 400 Gb/s", "b200", 1, 8, 0, 0, 0, false},
    {"gb200-nvl72", "GB200 NVL72: one NVLink domain of 72", "gb200", 1, 72, 0, 0, 0, false},
    {"gb200-nvl72-hosts", "GB200 NVL72 as its 18 hosts of 4, which is what starts processes", "gb200", 18, 4,
     72, 900e9, 0, false},
    {"mi210-4", "4 devices in one Infinity Fabric hive; a network of 100 Gb/s a node is chosen here",
     "mi210-64g", 1, 4, 0, 0, 3.125e9, true},
    {"mi250-8", "4 x MI250, 8 dies; a network of 2 x 200 Gb/s a node is chosen here", "mi250-die", 1, 8, 0, 0,
     6.25e9, true},
    {"mi300x-8", "AMD Instinct MI300X platform: 8 devices; 8 x 400 Gb/s as is usual", "mi300x-192g", 1, 8, 0,
     0, 0, true},
    {"atlas-910a", "Atlas 800 (9000): 8 devices, 8 x 100 Gb/s", "ascend-910a", 1, 8, 0, 0, 0, false},
    {"atlas-910b", "Atlas 800T A2: 8 devices, 8 x 200 Gb/s", "ascend-910b", 1, 8, 0, 0, 0, false},
    {"cloudmatrix384", CLOUDMATRIX "48 nodes of 8, one UB supernode", "ascend-910c", 48, 8, 384, 380e9, 0,
     false},
    {"cloudmatrix384-dies", CLOUDMATRIX "48 nodes of 16 dies, one UB supernode", "ascend-910c-die", 48, 16,
     768, 190e9, 0, false},
};

const struct device_preset *device_preset_at(size_t i)
{
	return i < sizeof(devices) / sizeof(devices[0]) ? &devices[i] : NULL;
}

const struct device_preset *device_preset(const char *name)
{
	const struct device_preset *p;

	for (size_t i = 0; (p = device_preset_at(i)); i++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

bool cluster_preset_at(size_t i, struct cluster_preset *out)
{
	const struct device_preset *d;
	struct cluster c;

	if (i >= sizeof(clusters) / sizeof(clusters[0]))
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
	c.links[LINK_NODE].mesh_links = d->mesh_links;
	c.links[LINK_SUPERNODE].bytes_per_second = clusters[i].supernode_link;
	c.links[LINK_CLUSTER].bytes_per_second =
	    clusters[i].cluster_link > 0 ? clusters[i].cluster_link : d->cluster_link;
	*out = (struct cluster_preset){clusters[i].name,
	                               clusters[i].source,
	                               clusters[i].device,
	                               host_preset(clusters[i].name, &c),
	                               clusters[i].network_assumed,
	                               c};
	return true;
}

bool cluster_preset(const char *name, struct cluster_preset *out)
{
	for (size_t i = 0; cluster_preset_at(i, out); i++) {
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
	} parts[] = {{"a100", FAMILY_AMPERE},    {"a800", FAMILY_AMPERE},   {"h100", FAMILY_HOPPER},
	             {"h800", FAMILY_HOPPER},    {"h200", FAMILY_HOPPER},   {"h20", FAMILY_HOPPER},
	             {"b200", FAMILY_HOPPER},    {"3090", FAMILY_AMPERE},   {"v100", FAMILY_VOLTA},
	             {"tesla t4", FAMILY_VOLTA}, {"ascend", FAMILY_ASCEND}, {"910", FAMILY_ASCEND}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (contains(name, parts[i].part))
			return parts[i].family;
	}
	return FAMILY_GENERIC;
}
