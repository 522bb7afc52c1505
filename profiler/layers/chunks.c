#include <stdlib.h>

#include "profiler/layers/rank.h"

/* More chunks a device were seen in no schedule. */
#define CHUNKS_MAX 16

/* What stands before the first layer of a pass, or behind the last. */
struct end {
	uint64_t what;
	double seconds;
};

static int by_what(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return (x->what > y->what) - (x->what < y->what);
}

static struct end end_of(const struct layer_ops *o, const double *seconds, size_t first, size_t end)
{
	struct end e = {TOKEN_START, 0};

	for (size_t i = first; i < end; i++) {
		if (o->items[i].kind != LAYER_COMPUTE)
			continue;
		e.what = token_of(e.what, &o->items[i].token, sizeof(o->items[i].token));
		e.seconds += seconds[i];
	}
	return e;
}

/* One chunk of a stage has the head or the tail and takes longest there, the others do not: as many times as
 * its passes fit into all, so many chunks there are. Of one chunk all ends are alike; what comes once a step,
 * as the clearing of gradients does, is no chunk's: interleaved schedules have as many micro-batches as
 * stages, or more. */
static int64_t chunks_by(struct end *ends, size_t n, size_t steps)
{
	double most = -1;
	size_t heavy = 0;

	qsort(ends, n, sizeof(*ends), by_what);
	for (size_t from = 0, to = 0; from < n; from = to) {
		double sum = 0;

		for (; to < n && ends[to].what == ends[from].what; to++)
			sum += ends[to].seconds;
		if (to - from >= 2 * steps && sum / (double)(to - from) > most) {
			most = sum / (double)(to - from);
			heavy = to - from;
		}
	}
	return heavy > 0 && n % heavy == 0 && n / heavy <= CHUNKS_MAX ? (int64_t)(n / heavy) : 1;
}

/* Names tell which layers a pass runs: each chunk begins with another one. */
static int64_t chunks_by_name(const struct layer_ops *o, const struct layer_cut *cut, uint64_t signature,
                              struct end *room)
{
	size_t n = 0, different = 0;

	for (size_t i = 0; i < cut->pass_count; i++) {
		const struct layer_pass *p = &cut->passes[i];

		if (p->phase == PHASE_FORWARD && p->signature == signature)
			room[n++].what = o->items[cut->ranges[p->range_first].first].scope;
	}
	qsort(room, n, sizeof(*room), by_what);
	for (size_t i = 0; i < n; i++)
		different += i == 0 || room[i].what != room[i - 1].what;
	return different <= CHUNKS_MAX && different > 0 && n % different == 0 ? (int64_t)different : 1;
}

int layer_chunks_find(const struct layer_ops *o, const double *seconds, const struct layer_cut *cut,
                      uint64_t signature, int64_t *out)
{
	struct end *ends = malloc((2 * cut->pass_count + 1) * sizeof(*ends));
	size_t n = 0, steps = 0;
	int64_t step = 0, by_head, by_tail;

	if (!ends)
		return SB_ENOMEM;
	for (size_t i = 0; i < cut->pass_count; i++) {
		const struct layer_pass *p = &cut->passes[i];
		const struct layer_range *r = &cut->ranges[p->range_first];

		if (p->phase != PHASE_FORWARD || p->signature != signature)
			continue;
		steps += steps == 0 || p->step != step;
		step = p->step;
		ends[n] = end_of(o, seconds, p->first, r[0].first);
		ends[cut->pass_count + n] = end_of(o, seconds, r[p->range_count - 1].end, p->end);
		n++;
	}
	by_head = chunks_by(ends, n, steps);
	by_tail = chunks_by(ends + cut->pass_count, n, steps);
	*out = by_head > by_tail ? by_head : by_tail;
	if (cut->named)
		*out = chunks_by_name(o, cut, signature, ends);
	free(ends);
	return SB_OK;
}
