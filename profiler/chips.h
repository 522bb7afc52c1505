#ifndef SB_PROFILER_CHIPS_H
#define SB_PROFILER_CHIPS_H
#include <stddef.h>
#include <stdint.h>

/* What the chips can do: the one table of hardware data of the profiler. A number that no source tells is
 * NaN (of cores: 0). */

/* By which numbers a matrix unit calculates; each has a peak of its own. */
enum precision {
	PRECISION_UNKNOWN,
	PRECISION_FP16, /* and bf16 */
	PRECISION_TF32, /* fp32 operands, rounded on the way in */
	PRECISION_FP32,
	PRECISION_FP8,
	PRECISION_INT8,
	PRECISION_COUNT
};

/* A link from one device to another. */
struct chip_link {
	const char *name;          /* as captures name it: HCCS, PCIE, RDMA, NVLink, xGMI; NULL ends a list */
	double bytes_per_second;   /* of one transfer, one direction */
	double large_packet_bytes; /* packets above this reach the link's rate */
};

/* One device as a capture counts devices: of a package with two dies, each is one. */
struct chip {
	const char *name;               /* as in the market */
	double peaks[PRECISION_COUNT];  /* dense, of the matrix units, FLOP/s */
	double memory_bytes_per_second; /* of the device's memory */
	double memory_bytes;
	double vector_fp16; /* of the vector cores where they are separate, FLOP/s; half of it in fp32 */
	double clock_mhz;   /* nominal clock under load; the peaks are reached at it */
	int cores;          /* AI Cores (cube), SMs, CUs; 0 = not known */
	int vector_cores;   /* Ascend, where they are separate; 0 = not known or none */
	const struct chip_link *links;
};

/* The chip by its name as captures spell it ("Ascend910B3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI250X");
 * case, maker and dashes do not matter. NULL when it is not known. */
const struct chip *chip_find(const char *name);
/* The dense peak, FLOP/s; NaN for a NULL chip and where it is not known. */
double chip_peak(const struct chip *c, enum precision p);
/* A link of a chip by its name; NULL when either is not known. */
const struct chip_link *chip_link(const struct chip *c, const char *name);
/* Its rate, bytes per second from one device to another in one direction; NaN when not known. */
double chip_link_rate(const struct chip *c, const char *name);
/* The name of a precision for people: "fp16", …; "unknown". */
const char *precision_name(enum precision p);
#endif
