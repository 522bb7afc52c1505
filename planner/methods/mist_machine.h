#ifndef SB_PLANNER_METHODS_MIST_MACHINE_H
#define SB_PLANNER_METHODS_MIST_MACHINE_H
#include <stdbool.h>
#include <stdint.h>

#include "planner/cost/collectives.h"

/* Mist's model of a machine (EuroSys 2025; research page systems 3.2): how long transfers take, and how much
 * four streams slow each other. The fitted constants are those of its repository (Dazz993/Mist, d69e530,
 * hardware blocks of its tuned configurations). */

enum mist_stream { MIST_COMPUTE, MIST_COLLECTIVE, MIST_TO_DEVICE, MIST_TO_HOST, MIST_STREAMS };
#define MIST_FACTORS 28

/* Seconds of streams that start together. factors: of all four streams; of three (without the last, without
 * the third, ..); of two. While exactly those run, each is slowed down by its own factor, until the first of
 * them ends. Never below the longest; never above the sum, for they could run one after another. */
double mist_overlap_seconds(const double *factors, const double *seconds);

struct mist_rate {
	double gib_per_second, seconds; /* seconds: added to each transfer; 0 bytes take none */
};
#define MIST_NODES 3
#define MIST_INSIDE 4
struct mist_machine {
	const char *name;
	/* Groups of 1, 2, 4 nodes by 1, 2, 4, 8 devices in each. (Mist's row for 8 nodes holds a
	 * placeholder.) */
	struct mist_rate group[MIST_NODES][MIST_INSIDE];
	struct mist_rate to_device, to_host;
	double factors[MIST_FACTORS];
};
/* Published machines: "l4-24g", "a100-40g"; NULL = there are no constants of it. */
const struct mist_machine *mist_machine_of(const char *device);

enum mist_collective { MIST_GATHER, MIST_SCATTER, MIST_REDUCE };
/* The machine of a network of ours: its rates over the same groups, Mist's host link where none is known (NAN
 * or 0 bytes per second), and the factors of its A100. */
struct mist_machine mist_machine_from(const struct network *n, int64_t devices_per_node,
                                      double host_bytes_per_second);

/* A collective over a group of nodes x inside ranks; 0 for one rank. Groups that are not listed take the rate
 * of the next smaller one. */
double mist_collective_seconds(const struct mist_machine *m, enum mist_collective kind, int64_t nodes,
                               int64_t inside, double bytes);
/* One stage to the next: across nodes or inside one. */
double mist_send_seconds(const struct mist_machine *m, bool across, double bytes);
/* To the device or to the host. */
double mist_swap_seconds(const struct mist_rate *r, double bytes);
#endif
