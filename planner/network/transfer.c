#include <math.h>

#include "planner/network/tiling.h"

static double broadcast(const struct transfer_network *n, const struct piece *p, int64_t chunks)
{
	return (double)(chunks + p->hosts) * link_seconds(&n->nic, p->bytes / (double)chunks);
}

static int64_t best_chunks(const struct transfer_network *n, const struct piece *p)
{
	double most = fmin(TRANSFER_CHUNKS_MAX, fmax(p->bytes, 1));
	double send = p->bytes / n->nic.bytes_per_second;
	double least = sqrt((double)p->hosts * send / n->nic.latency_seconds);
	int64_t chunks;

	if (!(least < most)) /* also without latency */
		return (int64_t)most;
	chunks = (int64_t)fmax(least, 1);
	return chunks < (int64_t)most && broadcast(n, p, chunks + 1) < broadcast(n, p, chunks) ? chunks + 1
	                                                                                       : chunks;
}

double transfer_seconds(const struct transfer_network *n, const struct piece *p, enum transfer how,
                        int64_t *out_chunks)
{
	double w = (double)p->widest;

	*out_chunks = 1;
	if (p->hosts == 0)
		return 0;
	switch (how) {
	case TRANSFER_SEND: return (double)p->devices * link_seconds(&n->nic, p->bytes);
	case TRANSFER_GATHER:
		return (double)p->hosts * link_seconds(&n->nic, p->bytes) +
		       (p->widest > 1 ? link_seconds(&n->local, p->bytes * (w - 1) / w) : 0);
	default:
		*out_chunks = n->chunks > 0 ? n->chunks : best_chunks(n, p);
		return broadcast(n, p, *out_chunks);
	}
}

enum transfer transfer_best(const struct transfer_network *n, const struct piece *p)
{
	enum transfer best = TRANSFER_SEND;
	int64_t chunks;

	for (int how = TRANSFER_GATHER; how < TRANSFERS; how++)
		if (transfer_seconds(n, p, (enum transfer)how, &chunks) <
		    transfer_seconds(n, p, best, &chunks))
			best = (enum transfer)how;
	return best;
}

double transfer_bytes(const struct piece *p, enum transfer how)
{
	return p->bytes * (double)(how == TRANSFER_SEND ? p->devices : p->hosts);
}
