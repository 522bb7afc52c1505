#ifndef SB_PLANNER_NETWORK_TILING_H
#define SB_PLANNER_NETWORK_TILING_H
#include "planner/network/link_rate.h"
#include "planner/network/resharding.h"

/* The pieces of a tensor that is sharded on one mesh of devices and must be sharded on another one, and what
 * it takes to move one of them (AlpaComm, MLSys 2023, section 3.1). */

#define TILING_AXES_MAX 8
#define TILING_DEVICES_MAX 65536

struct tensor {
	int axes;
	int64_t shape[TILING_AXES_MAX];
	int64_t element_bytes;
};
/* Devices numbered row by row; device d sits on host first_host + d / devices_per_host. */
struct mesh {
	int axes;
	int64_t shape[TILING_AXES_MAX];
	int64_t devices_per_host, first_host;
};
/* Of each axis of the tensor the axes of the mesh that it is cut over, the outer one first; over none: it is
 * whole everywhere. An axis of n elements over k devices is cut into tiles of ceil(n / k), as in GSPMD: where
 * k does not divide n the last ones hold less, or nothing. */
struct sharding {
	int count[TILING_AXES_MAX];
	int over[TILING_AXES_MAX][TILING_AXES_MAX];
};
struct layout {
	struct mesh mesh;
	struct sharding sharding;
};

/* One piece: what one tile here and one tile there have in common. */
struct piece {
	int64_t low[TILING_AXES_MAX], high[TILING_AXES_MAX]; /* elements from low up to below high */
	double bytes;
	/* who needs it over the network: the hosts of its task, their devices, and the most of them on a host
	 */
	int64_t hosts, devices, widest;
};
/* The pieces in the order of their elements, with the task of each; tasks[i].seconds is 0 and to be set. */
struct tiling {
	struct piece *pieces;
	struct reshard_task *tasks;
	size_t count;
	uint32_t hosts;
	uint32_t *ends; /* what the tasks borrow */
};
/* A host that holds a piece passes it on to its own devices without the network: it is no receiver. *out is
 * to be freed by tiling_free(), also after a failure. SB_EIMPOSSIBLE with err->field "tensor/shape",
 * "from/mesh", "from/sharding", "from/devices_per_host", "from/first_host", or the same of "to"; SB_ENOMEM.
 */
int tiling_build(const struct tensor *t, const struct layout *from, const struct layout *to,
                 struct tiling *out, struct sb_error *err);
void tiling_free(struct tiling *t);
#define TILING_AUTO __attribute__((cleanup(tiling_free))) struct tiling

/* ---- what a piece costs (transfer.c) ---- */

struct transfer_network {
	struct link_rate nic, local; /* between hosts, of one host; between the devices of a host */
	int64_t chunks;              /* of a broadcast; 0 = as many as are best */
};
#define TRANSFER_CHUNKS_MAX 1024

enum transfer {
	TRANSFER_SEND,      /* to each device that needs it, one after the other */
	TRANSFER_GATHER,    /* each device of a host gets its share, and the host's devices gather the rest */
	TRANSFER_BROADCAST, /* in chunks from host to host: each passes on what it has got */
	TRANSFERS
};
/* Seconds of a piece to h hosts with d devices, w of them on the fullest host, t = latency + bytes / rate:
 *   send: d * t;   gather: h * t + the gathering of (w - 1) / w of it on a host;
 *   broadcast in K chunks: (K + h) * (latency + bytes / K / rate), which is t * (1 + h / K) without latency.
 * The number of chunks that was taken in *out_chunks, 1 for the other two. Unless it is given it is that of
 * the least time, sqrt(h * bytes / rate / latency), at most TRANSFER_CHUNKS_MAX and one a byte. 0 without
 * hosts. */
double transfer_seconds(const struct transfer_network *n, const struct piece *p, enum transfer how,
                        int64_t *out_chunks);
/* The fastest of the three, ties to the first. */
enum transfer transfer_best(const struct transfer_network *n, const struct piece *p);
/* Bytes that a piece sends over the network. */
double transfer_bytes(const struct piece *p, enum transfer how);
#endif
