#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/host_part.h"
#include "profiler/memory.h"

/* Memory of the device: calls that allocate or release it while the device waits, what the allocator holds
 * and nobody uses, and how close the job is to the end of it. */

/* What the allocators of one device show; NaN and SB_NULL = not told. */
struct device_memory {
	double fragmentation; /* of reserved, at the peak; the worst allocator */
	int64_t fragmentation_bytes;
	double fullness; /* the largest reserved peak over the capacity */
};

/* A share of nothing much is no fault: below this a pool is small whatever it holds in vain. */
#define POOL_LEAST ((int64_t)1 << 30)

static struct device_memory look(const struct capture *c, int64_t device)
{
	struct device_memory m = {NAN, SB_NULL, NAN};

	for (size_t i = 0; i < c->memory_count; i++) {
		struct memory_row r;

		if (c->memories[i].device == MEMORY_HOST ||
		    (device != SB_NULL && c->memories[i].device != device))
			continue;
		r = memory_peak(c, &c->memories[i]);
		if (r.capacity_bytes > 0 && r.reserved_peak_bytes > 0) {
			double full = (double)r.reserved_peak_bytes / (double)r.capacity_bytes;

			m.fullness = full <= m.fullness ? m.fullness : full;
		}
		if (c->memories[i].relative || r.peak_bytes < 0 || r.reserved_at_peak < POOL_LEAST ||
		    r.reserved_at_peak < r.peak_bytes)
			continue;
		double share = (double)(r.reserved_at_peak - r.peak_bytes) / (double)r.reserved_at_peak;

		if (!(share <= m.fragmentation)) {
			m.fragmentation = share;
			m.fragmentation_bytes = r.reserved_at_peak - r.peak_bytes;
		}
	}
	return m;
}

/* Sums of the table of calls, where the timeline does not show them. */
static void table_calls(const struct capture *c, int64_t *out_ns, int64_t *out_count)
{
	for (size_t i = 0; i < c->api_count; i++) {
		if (!host_allocates(trace_text(&c->trace, c->apis[i].name, NULL)))
			continue;
		*out_ns = sb_add_sat(*out_ns, c->apis[i].time_ns);
		*out_count = sb_add_sat(*out_count, c->apis[i].count);
	}
}

static void relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	uint32_t *events = NULL;
	size_t count = 0;
	int rc = host_events(v->c, HOST_ALLOCATION, &events, &count);

	if (rc != SB_OK)
		ctx->failed = rc;
	for (size_t i = 0; i < count; i++)
		finding_relief(ctx, f, v, RELIEF_EVENT, events[i], 0);
	free(events);
}

/* One finding a rank: its evidence tells which of the three it is. */
static void report(struct check_context *ctx, const struct rank_view *v, const struct device_memory *m)
{
	int64_t calls_ns = v->host.allocation_total_ns, calls = v->host.allocation_count;
	int64_t table_ns = 0, table_count = 0;
	bool slow, split, full;
	struct finding *f;

	table_calls(v->c, &table_ns, &table_count);
	calls_ns = table_ns > calls_ns ? table_ns : calls_ns;
	calls = table_count > calls ? table_count : calls;
	slow = (double)calls_ns >= limit(ctx, "allocation_us") * 1000;
	split = m->fragmentation > limit(ctx, "fragmentation_share");
	full = m->fullness > limit(ctx, "memory_limit_share");
	if (!slow && !split && !full)
		return;
	f = finding_new(ctx, "memory.allocation", v, true);
	if (slow) {
		finding_evidence(ctx, f, "allocation_calls_us", (double)calls_ns / 1000, "us",
		                 "allocation_us");
		finding_evidence(ctx, f, "allocation_calls", (double)calls, "events", NULL);
	}
	if (full)
		finding_evidence(ctx, f, "reserved_share_of_memory", m->fullness, "share",
		                 "memory_limit_share");
	if (split) {
		finding_evidence(ctx, f, "fragmentation_share", m->fragmentation, "share",
		                 "fragmentation_share");
		finding_evidence(ctx, f, "fragmentation_bytes", (double)m->fragmentation_bytes, "bytes",
		                 NULL);
	}
	/* space alone costs no time; calls do where the device waits for them */
	if (v->host.allocation_ns <= 0)
		return;
	finding_cost(ctx, f, v, v->host.allocation_ns);
	finding_gain(f, v, v->host.allocation_ns);
	finding_evidence(ctx, f, "device_idle_while_allocating_us", (double)v->host.allocation_ns / 1000,
	                 "us", NULL);
	relieve(ctx, f, v);
}

void check_allocation(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct device_memory m = look(v->c, capture_is_ascend(v->c) ? SB_NULL : v->device);

		*out_judged = *out_judged || v->host.cann_known || v->c->memory_count > 0;
		report(ctx, v, &m);
	}
}
