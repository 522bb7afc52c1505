#include <string.h>

#include "planner/presets/presets.h"

/* One direction of 16 lanes, and a socket's channels. */
#define PCIE_3 15.75e9
#define PCIE_4 31.5e9
#define PCIE_5 63e9
#define DDR4_2400_X4 76.8e9
#define DDR4_3200_X8 204.8e9
#define DDR5_4800_X8 307.2e9
#define DDR5_5600_X8 358.4e9
/* What copies reach of PCIe: 25 of 31.5 GB/s on an A100 (research page cost-model, section 11). Of other
 * links as much is assumed, and of the memory's channels the share that constants.c has for a device's
 * memory. */
#define REACHED 0.8

#define DGX_V100 "host: DGX-1 data sheet, 512 GB, 2 x 4 channels of DDR4-2400, PCIe 3.0 x16 for two devices"
#define DGX_A100 ", 2 x 8 channels of DDR4-3200, PCIe 4.0 x16 for the two devices of a switch"
#define GRACE                                                                                                \
	"host: GB200 data sheet, a Grace of 480 GB and 512 GB/s for two devices, NVLink-C2C 900 GB/s both "  \
	"ways"

static const struct {
	const char *cluster, *source;
	int64_t memory_bytes;
	double link; /* as it is reached */
	int64_t link_devices;
	double bandwidth; /* of the channels */
	bool measured;    /* all that is given of the rates */
} hosts[] = {
    {"dgx-v100-16g", DGX_V100, 512000000000, REACHED *PCIE_3, 2, 2 * DDR4_2400_X4, false},
    {"dgx-v100-32g", DGX_V100, 512000000000, REACHED *PCIE_3, 2, 2 * DDR4_2400_X4, false},
    {"l4-8", "host: 384 GB of a g2-standard-96; to and from it 5.75 GB/s as Mist measured on L4",
     384000000000, 5.7546e9, 0, 0, true},
    {"dgx-a100-40g", "host: DGX A100 data sheet, 1 TB" DGX_A100, 1000000000000, REACHED *PCIE_4, 2,
     2 * DDR4_3200_X8, false},
    {"dgx-a100-80g", "host: DGX A100 data sheet, 2 TB" DGX_A100, 2000000000000, REACHED *PCIE_4, 2,
     2 * DDR4_3200_X8, false},
    {"dgx-h100", "host: DGX H100 data sheet, 2 TB, 2 x 8 channels of DDR5-4800, PCIe 5.0 x16 a device",
     2000000000000, REACHED *PCIE_5, 1, 2 * DDR5_4800_X8, false},
    {"dgx-h200", "host: DGX H200 data sheet, 2 TB, 2 x 8 channels of DDR5-4800, PCIe 5.0 x16 a device",
     2000000000000, REACHED *PCIE_5, 1, 2 * DDR5_4800_X8, false},
    {"dgx-b200", "host: DGX B200 data sheet, 2 TB, 2 x 8 channels of DDR5-5600, PCIe 5.0 x16 a device",
     2000000000000, REACHED *PCIE_5, 1, 2 * DDR5_5600_X8, false},
    {"gb200-nvl72", GRACE, 36 * 480000000000, REACHED * 450e9, 2, 36 * 512e9, false},
    {"gb200-nvl72-hosts", GRACE, 2 * 480000000000, REACHED * 450e9, 2, 2 * 512e9, false},
    {"atlas-910a",
     "host: 2 TB as in PanGu's clusters (arXiv:2104.12369), PCIe at the 20 GB/s that Huawei's advisor "
     "expects; "
     "the bandwidth of its memory is not known",
     2000000000000, 20e9, 1, 0, false},
};

const char *host_preset(const char *cluster, struct cluster *io)
{
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (strcmp(hosts[i].cluster, cluster) != 0)
			continue;
		io->host_memory_bytes = hosts[i].memory_bytes;
		io->host_link_bytes_per_second = hosts[i].link;
		io->host_link_devices = hosts[i].link_devices;
		io->host_memory_bandwidth = REACHED * hosts[i].bandwidth;
		io->host_assumed = !hosts[i].measured;
		return hosts[i].source;
	}
	return NULL;
}
