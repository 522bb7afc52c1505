#include <stdlib.h>
#include <string.h>

#include "profiler/timeline_parts.h"

#define BIT(kind) (UINT32_C(1) << (kind))
#define ANNOTATION_KINDS (BIT(EVENT_DEVICE_ANNOTATION) | BIT(EVENT_HOST_ANNOTATION))
#define DEVICE_KINDS                                                                                         \
	(BIT(EVENT_KERNEL) | BIT(EVENT_COMMUNICATION) | BIT(EVENT_MEMCPY) | BIT(EVENT_MEMSET) |              \
	 BIT(EVENT_DEVICE_WAIT) | BIT(EVENT_DEVICE_OTHER) | BIT(EVENT_COMMUNICATION_TASK) |                  \
	 BIT(EVENT_DEVICE_ANNOTATION))
#define COMMUNICATION_KINDS (BIT(EVENT_COMMUNICATION) | BIT(EVENT_COMMUNICATION_TASK))
#define OVERLAP_KINDS                                                                                        \
	(BIT(EVENT_LANE_COMPUTE) | BIT(EVENT_LANE_COMMUNICATION) | BIT(EVENT_LANE_EXPOSED) |                 \
	 BIT(EVENT_LANE_FREE))

enum timeline_lane_kind timeline_lane_kind(uint32_t kinds, int32_t device)
{
	if (kinds & OVERLAP_KINDS)
		return TIMELINE_OVERLAP;
	if ((kinds & ~ANNOTATION_KINDS) == 0)
		return TIMELINE_ANNOTATION;
	if ((kinds & COMMUNICATION_KINDS) &&
	    !(kinds & ~(COMMUNICATION_KINDS | BIT(EVENT_DEVICE_WAIT) | BIT(EVENT_DEVICE_OTHER))))
		return TIMELINE_COMMUNICATION;
	return (kinds & DEVICE_KINDS) || device >= 0 ? TIMELINE_DEVICE : TIMELINE_HOST;
}

bool timeline_is_host(uint32_t kinds, int32_t device)
{
	return !(kinds & (DEVICE_KINDS | OVERLAP_KINDS)) && device < 0;
}

/* Annotations cover work and idle time alike: on the lane of the work, it would always seem busy. So each
 * lane of the trace becomes up to two. */
static size_t slot_of(const struct trace *t, size_t event)
{
	return 2 * (size_t)t->lane[event] + !(BIT(t->kind[event]) & ANNOTATION_KINDS);
}

/* What the lanes are ordered by. */
struct lane_key {
	size_t slot;
	uint32_t kinds;
	int32_t device;
	bool host;
	const char *process, *thread;
	size_t process_len, thread_len;
	int64_t first_start;
	size_t count;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Runs of digits count as numbers: stream 7 before stream 20. */
static int compare_text(const char *a, size_t n, const char *b, size_t m)
{
	size_t i = 0, k = 0;

	while (i < n && k < m) {
		size_t x = i, y = k;
		int c;

		if (!is_digit(a[i]) || !is_digit(b[k])) {
			if (a[i] != b[k])
				return (unsigned char)a[i] < (unsigned char)b[k] ? -1 : 1;
			i++;
			k++;
			continue;
		}
		while (x < n && a[x] == '0')
			x++;
		while (y < m && b[y] == '0')
			y++;
		for (i = x; i < n && is_digit(a[i]);)
			i++;
		for (k = y; k < m && is_digit(b[k]);)
			k++;
		if (i - x != k - y)
			return i - x < k - y ? -1 : 1;
		c = memcmp(a + x, b + y, i - x);
		if (c != 0)
			return c;
	}
	return (i < n) - (k < m);
}

static int compare_lanes(const void *left, const void *right)
{
	const struct lane_key *a = left, *b = right;
	const int64_t hosts[] = {a->host, a->device}, other_hosts[] = {b->host, b->device};
	const int64_t rest[] = {(int64_t)(a->slot % 2), a->first_start, (int64_t)a->count, (int64_t)a->slot};
	const int64_t other_rest[] = {(int64_t)(b->slot % 2), b->first_start, (int64_t)b->count,
	                              (int64_t)b->slot};
	int c = sb_compare(hosts, other_hosts, 2);

	if (c == 0)
		c = compare_text(a->process, a->process_len, b->process, b->process_len);
	if (c == 0)
		c = compare_text(a->thread, a->thread_len, b->thread, b->thread_len);
	return c != 0 ? c : sb_compare(rest, other_rest, 4);
}

/* Lanes that hold events, in their order. */
static size_t order_lanes(const struct trace *t, struct lane_key *keys)
{
	size_t n = 0;

	for (size_t i = 0; i < 2 * t->lane_count; i++)
		keys[i] = (struct lane_key){.slot = i, .first_start = INT64_MAX};
	for (size_t i = 0; i < t->count; i++) {
		struct lane_key *k = &keys[slot_of(t, i)];

		k->count++;
		k->kinds |= BIT(t->kind[i]);
		if (t->start_ns[i] < k->first_start)
			k->first_start = t->start_ns[i];
	}
	for (size_t i = 0; i < 2 * t->lane_count; i++) {
		const struct lane *lane = &t->lanes[i / 2];
		struct lane_key k = keys[i];

		if (k.count == 0)
			continue;
		k.device = lane->device;
		k.host = timeline_is_host(k.kinds, k.device);
		k.process = trace_text(t, lane->process, &k.process_len);
		k.thread = trace_text(t, lane->thread, &k.thread_len);
		keys[n++] = k;
	}
	qsort(keys, n, sizeof(*keys), compare_lanes);
	return n;
}

/* next: by slot, where the next event goes. */
static int order(const struct trace *t, struct timeline_order *o, struct lane_key *keys, size_t *next)
{
	size_t first = 0;
	int rc = SB_OK;

	o->lane_count = order_lanes(t, keys);
	for (size_t i = 0; i < o->lane_count; i++) {
		o->lanes[i] = (struct timeline_ordered){(uint32_t)(keys[i].slot / 2), keys[i].kinds, first,
		                                        keys[i].count};
		next[keys[i].slot] = first;
		first += keys[i].count;
	}
	for (size_t i = 0; i < t->count; i++)
		o->events[next[slot_of(t, i)]++] = (uint32_t)i;
	for (size_t i = 0; rc == SB_OK && i < o->lane_count; i++)
		rc = trace_sort(t, o->events + o->lanes[i].first, o->lanes[i].count);
	return rc;
}

int timeline_order(const struct trace *t, struct timeline_order *out)
{
	struct lane_key *keys = calloc(2 * t->lane_count + 1, sizeof(*keys));
	size_t *next = calloc(2 * t->lane_count + 1, sizeof(*next));
	TIMELINE_ORDER_AUTO o = {.events = malloc((t->count + 1) * sizeof(*o.events)),
	                         .lanes = calloc(2 * t->lane_count + 1, sizeof(*o.lanes))};
	int rc = SB_ENOMEM;

	if (keys && next && o.events && o.lanes)
		rc = order(t, &o, keys, next);
	free(keys);
	free(next);
	if (rc == SB_OK) {
		*out = o;
		o = (struct timeline_order){0};
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return rc;
}

void timeline_order_free(struct timeline_order *o)
{
	free(o->events);
	free(o->lanes);
	*o = (struct timeline_order){0};
}
