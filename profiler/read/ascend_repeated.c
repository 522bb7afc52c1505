#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profiler/read/ascend.h"
#include "profiler/read/id_map.h"

/* A stream does the same work twice at one time for no reason but that it was written twice: an export that
 * was run again beside the first, a file joined with itself. */

/* A set of rows by what makes them equal. */
struct seen {
	uint32_t *slots; /* row + 1, 0 = free */
	size_t mask;
	uint64_t seed;
};

static void seen_free(struct seen *s)
{
	free(s->slots);
}

static int seen_init(struct seen *s, size_t rows)
{
	size_t size = 16;

	while (size < 2 * rows)
		size *= 2;
	s->slots = calloc(size, sizeof(*s->slots));
	s->mask = size - 1;
	s->seed = sb_hash_seed();
	return s->slots ? SB_OK : SB_ENOMEM;
}

/* Where to look first. All that makes two rows equal counts: else the many kernels that stand in one
 * microsecond of a damaged file would all be compared with each other. */
static size_t place(const struct seen *s, const uint64_t *parts, size_t count)
{
	uint64_t h = s->seed >> 32;

	for (size_t i = 0; i < count; i++)
		h = sb_hash_word(h, parts[i], s->seed);
	return (size_t)h & s->mask;
}

static bool is_work(const struct trace *t, size_t i)
{
	uint8_t kind = t->kind[i];

	return t->dur_ns[i] > 0 &&
	       (kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION || kind == EVENT_MEMCPY ||
	        kind == EVENT_MEMSET || (kind >= EVENT_LANE_COMPUTE && kind <= EVENT_LANE_FREE));
}

/* Each file counts its lanes on its own. */
static bool same_lane(const struct trace *t, uint32_t a, uint32_t b)
{
	const struct lane *x = &t->lanes[a], *y = &t->lanes[b];

	return a == b || (x->process == y->process && x->thread == y->thread && x->device == y->device);
}

static bool same_event(const struct trace *t, size_t a, size_t b)
{
	return t->start_ns[a] == t->start_ns[b] && t->dur_ns[a] == t->dur_ns[b] && t->name[a] == t->name[b] &&
	       t->link[a] == t->link[b] && same_lane(t, t->lane[a], t->lane[b]);
}

/* Adds an event; true when its like is there. */
static bool event_seen(struct seen *s, const struct trace *t, size_t i)
{
	const struct lane *lane = &t->lanes[t->lane[i]];
	const uint64_t parts[] = {(uint64_t)t->start_ns[i], (uint64_t)t->dur_ns[i], (uint64_t)t->link[i],
	                          (uint64_t)t->name[i] << 32 | (uint32_t)lane->device,
	                          (uint64_t)lane->process << 32 | lane->thread};
	size_t at = place(s, parts, sizeof(parts) / sizeof(parts[0]));

	for (; s->slots[at]; at = (at + 1) & s->mask)
		if (same_event(t, s->slots[at] - 1, i))
			return true;
	s->slots[at] = (uint32_t)i + 1;
	return false;
}

/* The lane that stands for all lanes of the same names and device, for each lane. */
static int find_twins(const struct trace *t, uint32_t *twin)
{
	struct id_map first = {0};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < t->lane_count; i++) {
		const struct lane *l = &t->lanes[i];
		const struct id_key key = {l->process, l->thread, (uint32_t)l->device};

		twin[i] = (uint32_t)i;
		if (!id_map_get(&first, key, &twin[i]))
			rc = id_map_put(&first, key, (uint32_t)i);
	}
	id_map_free(&first);
	return rc;
}

/* As the exporters write a lane: each piece of work starts later than the one before it, so that none can be
 * there twice. */
static bool work_rises(const struct trace *t, const uint32_t *twin, int64_t *last)
{
	for (size_t i = 0; i < t->lane_count; i++)
		last[i] = INT64_MIN;
	for (size_t i = 0; i < t->count; i++) {
		int64_t *before = &last[twin[t->lane[i]]];

		if (!is_work(t, i))
			continue;
		if (t->start_ns[i] <= *before)
			return false;
		*before = t->start_ns[i];
	}
	return true;
}

static int cannot_repeat(const struct trace *t, bool *out_cannot)
{
	uint32_t *twin = calloc(t->lane_count + 1, sizeof(*twin));
	int64_t *last = calloc(t->lane_count + 1, sizeof(*last));
	int rc = twin && last ? find_twins(t, twin) : SB_ENOMEM;

	if (rc == SB_OK)
		*out_cannot = work_rises(t, twin, last);
	free(twin);
	free(last);
	return rc;
}

/* Drops what stands twice; how much in *out_dropped. */
static int drop_events(struct trace *t, uint64_t *out_dropped)
{
	__attribute__((cleanup(seen_free))) struct seen s = {0};
	size_t work = 0, kept = 0, detail = 0, details = 0;
	bool cannot = false;

	if (cannot_repeat(t, &cannot) != SB_OK)
		return SB_ENOMEM;
	if (cannot)
		return SB_OK;
	for (size_t i = 0; i < t->count; i++)
		work += is_work(t, i);
	if (seen_init(&s, work) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		bool drop;

		/* events of before have moved to where the set looks for them */
		trace_move_event(t, kept, i);
		drop = is_work(t, kept) && event_seen(&s, t, kept);
		for (; detail < t->detail_count && t->details[detail].event <= i; detail++) {
			if (drop || t->details[detail].event != i)
				continue;
			t->details[details] = t->details[detail];
			t->details[details++].event = (uint32_t)kept;
		}
		kept += !drop;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	*out_dropped = t->count - kept;
	t->count = kept;
	t->detail_count = details;
	return SB_OK;
}

static bool same_kernel(const struct kernel *a, const struct kernel *b)
{
	return a->start_ns == b->start_ns && a->dur_ns == b->dur_ns && a->wait_ns == b->wait_ns &&
	       a->name == b->name && a->type == b->type && a->core == b->core && a->step == b->step &&
	       a->input_shapes == b->input_shapes && a->block_dim == b->block_dim && a->origin == b->origin &&
	       a->device == b->device;
}

/* The place of a kernel, or of its like. */
static size_t kernel_place(const struct seen *s, const struct kernel *k)
{
	const uint64_t parts[] = {(uint64_t)k->start_ns,
	                          (uint64_t)k->dur_ns,
	                          (uint64_t)k->wait_ns,
	                          (uint64_t)k->step,
	                          (uint64_t)k->name << 32 | k->type,
	                          (uint64_t)k->core << 32 | k->input_shapes,
	                          (uint64_t)(uint32_t)k->block_dim << 32 | (uint32_t)k->origin};

	return place(s, parts, sizeof(parts) / sizeof(parts[0]));
}

/* As the exporters write them: nothing can be there twice then. */
static bool starts_rise(const struct capture *c)
{
	for (size_t i = 1; i < c->kernel_count; i++)
		if (c->kernels[i].start_ns <= c->kernels[i - 1].start_ns)
			return false;
	return true;
}

static int drop_kernels(struct capture *c, uint64_t *out_dropped)
{
	__attribute__((cleanup(seen_free))) struct seen s = {0};
	size_t kept = 0;

	*out_dropped = 0;
	if (starts_rise(c))
		return SB_OK;
	if (seen_init(&s, c->kernel_count) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];
		size_t at = kernel_place(&s, k);

		while (k->dur_ns > 0 && s.slots[at] && !same_kernel(&c->kernels[s.slots[at] - 1], k))
			at = (at + 1) & s.mask;
		if (k->dur_ns > 0 && s.slots[at])
			continue;
		if (k->dur_ns > 0)
			s.slots[at] = (uint32_t)kept + 1;
		if (kept != i)
			c->kernels[kept] = *k;
		kept++;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	*out_dropped = c->kernel_count - kept;
	c->kernel_count = kept;
	return SB_OK;
}

int ascend_drop_repeated(struct read_context *ctx, struct capture *c)
{
	uint64_t events = 0, kernels = 0;

	if (c->kernel_count >= UINT32_MAX || drop_events(&c->trace, &events) != SB_OK ||
	    drop_kernels(c, &kernels) != SB_OK)
		return SB_ENOMEM;
	if (events + kernels == 0)
		return SB_OK;
	warnings_add(
	    &ctx->profile->warnings, "duplicate_event", c->source, 0, -1,
	    "Work of the device stands in the capture twice (same stream, time and name): it counts once.");
	warnings_repeat(&ctx->profile->warnings, "duplicate_event", c->source, events + kernels - 1);
	return SB_OK;
}

struct row_of_step {
	int64_t step;
	size_t row;
};

static int by_step(const void *a, const void *b)
{
	const struct row_of_step *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

int ascend_drop_repeated_steps(struct read_context *ctx, struct capture *c)
{
	size_t n = c->step_trace_count, kept = 0;
	struct row_of_step *rows = malloc((n + 1) * sizeof(*rows));
	bool *repeated = calloc(n + 1, sizeof(*repeated));

	for (size_t i = 0; rows && i < n; i++)
		rows[i] = (struct row_of_step){c->step_traces[i].step, i};
	if (rows && repeated)
		qsort(rows, n, sizeof(*rows), by_step);
	for (size_t i = 1; rows && repeated && i < n; i++)
		repeated[rows[i].row] = rows[i].step == rows[i - 1].step;
	for (size_t i = 0; rows && repeated && i < n; i++)
		if (!repeated[i])
			c->step_traces[kept++] = c->step_traces[i];
	if (kept < n && rows && repeated) {
		warnings_add(
		    &ctx->profile->warnings, "duplicate_step", c->source, 0, -1,
		    "A step stands in the step table more than once, of several devices perhaps: its "
		    "first row counts.");
		warnings_repeat(&ctx->profile->warnings, "duplicate_step", c->source, n - kept - 1);
		c->step_trace_count = kept;
	}
	n = rows && repeated;
	free(rows);
	free(repeated);
	return n ? SB_OK : SB_ENOMEM;
}
