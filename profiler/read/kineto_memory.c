#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/read/kineto_impl.h"
#include "profiler/read/memory_rows.h"

/* The instants "[memory]": one for each allocation (Bytes above 0) and release of the framework. Since 2021
 * they also tell what is in use and what is held after it; before that only the change is known. */

static const char MARK[] = "[memory]";

bool kineto_is_memory(const struct chrome_event *e)
{
	return (e->ph == 'i' || e->ph == 0) && e->name.len == sizeof(MARK) - 1 &&
	       memcmp(e->name.text, MARK, e->name.len) == 0;
}

/* Bytes that can be, else SB_NULL. */
static int64_t bytes_of(const struct chrome_text *t)
{
	int64_t v = chrome_int(t);

	return v >= 0 ? v : SB_NULL;
}

int kineto_memory(struct kineto *k, const struct chrome_event *e)
{
	struct kineto_memory m = {.ts_ns = e->ts_ns,
	                          .bytes = chrome_int(&e->args[ARG_MEMORY_BYTES]),
	                          .allocated = bytes_of(&e->args[ARG_ALLOCATED]),
	                          .reserved = bytes_of(&e->args[ARG_RESERVED]),
	                          .address = chrome_int(&e->args[ARG_ADDRESS]),
	                          .order = (uint32_t)k->memory.count,
	                          .device = -1,
	                          .lane = UINT32_MAX};
	int64_t type = chrome_int(&e->args[ARG_DEVICE_TYPE]), device = chrome_int(&e->args[ARG_DEVICE_ID]);

	if (e->ts != CHROME_TIME_OK || m.bytes == SB_NULL || k->memory.count >= UINT32_MAX)
		return SB_OK;
	/* 0 is the CPU; 1 CUDA, 6 HIP, 20 a backend of its own, … */
	if (type != 0 && device >= 0 && device <= INT32_MAX)
		m.device = (int32_t)device;
	kineto_known_lane(k, e, &m.lane);
	if (sb_grow(&k->memory.items, k->memory.count, sizeof(m)) != SB_OK)
		return SB_ENOMEM;
	k->memory.items[k->memory.count++] = m;
	return SB_OK;
}

static int by_device(const void *a, const void *b)
{
	const struct kineto_memory *x = a, *y = b;
	const int64_t left[] = {x->device, x->ts_ns, x->order}, right[] = {y->device, y->ts_ns, y->order};

	return sb_compare(left, right, 3);
}

/* A minute around the spans: what lies outside has no time that can be right. */
#define MARGIN_NS (INT64_C(60) * 1000000000)

static void drop_strays(struct kineto *k)
{
	const struct trace *t = &k->trace;
	int64_t first = INT64_MAX, last = -INT64_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		int64_t end = sb_add_sat(t->start_ns[i], t->dur_ns[i] > 0 ? t->dur_ns[i] : 0);

		first = t->start_ns[i] < first ? t->start_ns[i] : first;
		last = end > last ? end : last;
	}
	for (size_t i = 0; i < k->memory.count; i++) {
		const struct kineto_memory *m = &k->memory.items[i];

		if (t->count == 0 ||
		    (m->ts_ns >= sb_sub_sat(first, MARGIN_NS) && m->ts_ns <= sb_add_sat(last, MARGIN_NS)))
			k->memory.items[kept++] = *m;
	}
	k->memory.count = kept;
}

/* The records of one device; sums up the changes where the totals are not told. */
static int make_series(struct kineto *k, struct kineto_memory *m, size_t n, struct capture *c)
{
	struct memory_series *s = NULL;
	bool told = true;
	int64_t sum = 0;
	int rc = memory_series(c, m[0].device, 0, &s);

	for (size_t i = 0; i < n; i++)
		told = told && m[i].allocated != SB_NULL;
	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		sum = sb_add_sat(sum, m[i].bytes);
		/* what is released here may have been there before the capture */
		sum = sum < 0 ? 0 : sum;
		if (!told)
			m[i].allocated = sum;
		rc = memory_add(s, m[i].ts_ns, m[i].allocated, m[i].reserved);
	}
	if (rc == SB_OK && s) {
		s->relative = !told;
		if (m[0].device >= 0 && (size_t)m[0].device < k->head.capacity_count)
			s->capacity_bytes = k->head.capacities[m[0].device];
	}
	return rc;
}

int kineto_take_memory(struct kineto *k, struct capture *c)
{
	int rc = SB_OK;

	for (size_t i = 0; i < k->memory.count; i++)
		k->memory.items[i].ts_ns = sb_add_sat(k->memory.items[i].ts_ns, k->head.base_ns);
	drop_strays(k);
	if (k->memory.count == 0)
		return SB_OK;
	qsort(k->memory.items, k->memory.count, sizeof(*k->memory.items), by_device);
	for (size_t from = 0, to = 0; from < k->memory.count && rc == SB_OK; from = to) {
		struct kineto_memory *m = k->memory.items;

		while (to < k->memory.count && m[to].device == m[from].device)
			to++;
		rc = make_series(k, &m[from], to - from, c);
		if (rc == SB_OK)
			rc = kineto_attribute(k, &m[from], to - from, c);
	}
	return rc;
}
