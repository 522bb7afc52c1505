#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/read/kineto_impl.h"
#include "profiler/read/memory_rows.h"

/* Which operators hold the memory of a device at its peak: the allocations that are not released by then,
 * each by the innermost operator of its thread at that time. */

struct live {
	int64_t ts_ns, bytes, address;
	int64_t best_ns; /* duration of the operator found so far */
	uint32_t lane, order, name;
};

static int by_address(const void *a, const void *b)
{
	const struct kineto_memory *x = *(const struct kineto_memory *const *)a,
	                           *y = *(const struct kineto_memory *const *)b;
	const int64_t left[] = {x->address, x->ts_ns, x->order}, right[] = {y->address, y->ts_ns, y->order};

	return sb_compare(left, right, 3);
}

static int by_place(const void *a, const void *b)
{
	const struct live *x = a, *y = b;
	const int64_t left[] = {x->lane, x->ts_ns, x->order}, right[] = {y->lane, y->ts_ns, y->order};

	return sb_compare(left, right, 3);
}

/* The last change of each address up to the peak tells whether it is held there. */
static int find_live(struct kineto_memory *m, size_t n, struct live **out, size_t *out_count)
{
	const struct kineto_memory **sorted = calloc(n + 1, sizeof(struct kineto_memory *));
	size_t peak = 0, known = 0, kept = 0;
	struct live *live = NULL;
	int rc = sorted ? SB_OK : SB_ENOMEM;

	for (size_t i = 1; i < n; i++)
		peak = m[i].allocated > m[peak].allocated ? i : peak;
	for (size_t i = 0; i <= peak && sorted; i++)
		if (m[i].address != SB_NULL)
			sorted[known++] = &m[i];
	if (known > 0)
		qsort((void *)sorted, known, sizeof(struct kineto_memory *), by_address);
	for (size_t i = 0; i < known && rc == SB_OK; i++) {
		const struct kineto_memory *x = sorted[i];

		if ((i + 1 < known && sorted[i + 1]->address == x->address) || x->bytes <= 0 ||
		    x->lane == UINT32_MAX)
			continue;
		rc = sb_grow(&live, kept, sizeof(*live));
		if (rc == SB_OK)
			live[kept++] = (struct live){.ts_ns = x->ts_ns,
			                             .bytes = x->bytes,
			                             .best_ns = INT64_MAX,
			                             .lane = x->lane,
			                             .order = x->order};
	}
	free((void *)sorted);
	*out = live;
	*out_count = kept;
	return rc;
}

/* Operators nest some ten deep; more steps than this are no real trace. */
#define STEPS_MAX 50000000

static void name_live(const struct trace *t, struct live *live, size_t n)
{
	int64_t steps = 0;

	for (size_t i = 0; i < t->count && n > 0; i++) {
		int64_t end = sb_add_sat(t->start_ns[i], t->dur_ns[i] > 0 ? t->dur_ns[i] : 0);
		size_t lo;

		if (t->kind[i] != EVENT_HOST_OP)
			continue;
		lo = SB_BISECT(k, 0, n,
		               live[k].lane < t->lane[i] ||
		                   (live[k].lane == t->lane[i] && live[k].ts_ns < t->start_ns[i]));
		for (; lo < n && live[lo].lane == t->lane[i] && live[lo].ts_ns <= end && steps < STEPS_MAX;
		     lo++, steps++) {
			if (t->dur_ns[i] < live[lo].best_ns) {
				live[lo].best_ns = t->dur_ns[i];
				live[lo].name = t->name[i];
			}
		}
	}
}

int kineto_attribute(struct kineto *k, struct kineto_memory *m, size_t n, struct capture *c)
{
	struct live *live = NULL;
	size_t count = 0;
	int rc = m[0].device < 0 ? SB_OK : find_live(m, n, &live, &count);

	if (rc == SB_OK && count > 0) {
		qsort(live, count, sizeof(*live), by_place);
		name_live(&k->trace, live, count);
	}
	for (size_t i = 0; i < count && rc == SB_OK; i++) {
		const struct allocation a = {.start_ns = live[i].ts_ns,
		                             .end_ns = SB_NULL,
		                             .bytes = live[i].bytes,
		                             .name = live[i].name,
		                             .device = m[0].device};

		if (a.name != 0)
			rc = memory_allocated(c, &a);
	}
	free(live);
	return rc;
}
