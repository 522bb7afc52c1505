#include "profiler/read/kineto_impl.h"

#define SECOND INT64_C(1000000000)
#define FAR (86400 * SECOND)
#define CLAMPED_FROM (60 * SECOND)

void kineto_see(struct kineto *k, const struct event *span, int64_t offset)
{
	struct kineto_range *r = &k->range;
	int64_t end = sb_add_sat(span->start_ns, span->dur_ns > 0 ? span->dur_ns : 0);

	if (r->count == 0 || span->start_ns < r->first) {
		r->first = span->start_ns;
		r->first_offset = offset;
	}
	if (r->count == 0 || end > r->last) {
		r->last = end;
		r->last_offset = offset;
	}
	if (span->start_ns == 0 && r->zero_offset < 0)
		r->zero_offset = offset;
	if (span->start_ns > 0 && (r->first_positive == 0 || span->start_ns < r->first_positive))
		r->first_positive = span->start_ns;
	r->count++;
}

/* Host and device may have clocks of their own. */
enum side { SIDE_HOST, SIDE_DEVICE, SIDE_COUNT, SIDE_NONE = SIDE_COUNT };

static enum side side_of(const struct trace *t, size_t i)
{
	if (t->kind[i] == EVENT_OTHER)
		return SIDE_NONE;
	return kineto_on_device((enum event_kind)t->kind[i]) ? SIDE_DEVICE : SIDE_HOST;
}

static size_t count_up_to(const struct trace *t, unsigned sides, int64_t time)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += (sides >> side_of(t, i) & 1) && t->start_ns[i] <= time;
	return n;
}

/* The (lower) median start of the sides, by halving the range of values: needs no memory and no order. */
static int64_t median(const struct trace *t, unsigned sides)
{
	size_t half = (count_up_to(t, sides, INT64_MAX) + 1) / 2;
	int64_t low = INT64_MIN, high = INT64_MAX;

	while (low < high) {
		int64_t mid = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);

		if (count_up_to(t, sides, mid) >= half)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct jumps {
	int64_t centre[SIDE_COUNT];
	size_t count[SIDE_COUNT], far[SIDE_COUNT];
	bool clamped; /* what starts at exactly 0 does not belong there */
};

static bool is_far(const struct jumps *j, const struct trace *t, size_t i)
{
	enum side side = side_of(t, i);
	int64_t start = t->start_ns[i], end = sb_add_sat(start, t->dur_ns[i] > 0 ? t->dur_ns[i] : 0);

	if (side == SIDE_NONE)
		return false;
	return (j->clamped && start == 0) || start < sb_add_sat(j->centre[side], -FAR) ||
	       end > sb_add_sat(j->centre[side], FAR);
}

static void count_far(struct jumps *j, const struct trace *t)
{
	for (int side = 0; side < SIDE_COUNT; side++)
		j->count[side] = j->far[side] = 0;
	for (size_t i = 0; i < t->count; i++) {
		enum side side = side_of(t, i);

		if (side == SIDE_NONE)
			continue;
		j->count[side]++;
		j->far[side] += is_far(j, t, i);
	}
}

/* Measures from the median of everything, or, where most of a side lies elsewhere, from that side's own. */
static void find_centres(struct jumps *j, const struct trace *t)
{
	int64_t all = median(t, 1u << SIDE_HOST | 1u << SIDE_DEVICE);

	for (int side = 0; side < SIDE_COUNT; side++)
		j->centre[side] = all;
	count_far(j, t);
	for (int side = 0; side < SIDE_COUNT; side++)
		if (2 * j->far[side] > j->count[side])
			j->centre[side] = median(t, 1u << side);
	count_far(j, t);
}

/* Details and steps are in the order of their events: they follow in step. */
static void leave_out(struct kineto *k, const struct jumps *j, const bool *drop)
{
	struct trace *t = &k->trace;
	size_t to = 0, detail = 0, details = 0, step = 0, steps = 0;

	for (size_t i = 0; i < t->count; i++) {
		bool out = is_far(j, t, i) && drop[side_of(t, i)];

		for (; detail < t->detail_count && t->details[detail].event == i; detail++) {
			if (out)
				continue;
			t->details[details] = t->details[detail];
			t->details[details++].event = (uint32_t)to;
		}
		for (; step < k->step_count && k->steps[step].event == i; step++)
			if (!out)
				k->steps[steps++] = (struct kineto_step){k->steps[step].number, (uint32_t)to};
		if (!out)
			trace_move_event(t, to++, i);
	}
	t->count = to;
	t->detail_count = details;
	k->step_count = steps;
}

static void tell(struct kineto *k, const struct jumps *j, size_t count, int64_t offset, bool left_out)
{
	struct warnings *w = &k->ctx->profile->warnings;

	warnings_add(w, "clock_jump", k->path, 0, offset,
	             "%zu of %zu spans lie more than a day from the rest, or at 0; the farthest one in the "
	             "event at byte %lld. %s",
	             count, j->count[SIDE_HOST] + j->count[SIDE_DEVICE], (long long)offset,
	             left_out ? "They were left out."
	                      : "They are too many to be left out: check the clocks.");
	warnings_repeat(w, "clock_jump", k->path, count - 1);
}

void kineto_drop_jumps(struct kineto *k)
{
	const struct kineto_range *r = &k->range;
	struct jumps j = {.clamped = r->zero_offset >= 0 && r->first_positive > CLAMPED_FROM};
	bool drop[SIDE_COUNT];
	size_t count = 0, kept = 0;
	int64_t offset;

	if (r->count == 0 || (!j.clamped && sb_sub_sat(r->last, r->first) <= FAR))
		return;
	find_centres(&j, &k->trace);
	for (int side = 0; side < SIDE_COUNT; side++) {
		size_t most = j.count[side] / 10;

		drop[side] = j.far[side] <= (most > 0 ? most : 1);
		*(drop[side] ? &count : &kept) += j.far[side];
	}
	offset = r->zero_offset;
	if (!j.clamped)
		offset = sb_sub_sat(r->last, j.centre[SIDE_HOST]) > sb_sub_sat(j.centre[SIDE_HOST], r->first)
		             ? r->last_offset
		             : r->first_offset;
	if (count > 0)
		tell(k, &j, count, offset, true);
	else if (kept > 0 || sb_add_sat(j.centre[SIDE_HOST], -FAR) > j.centre[SIDE_DEVICE] ||
	         sb_add_sat(j.centre[SIDE_DEVICE], -FAR) > j.centre[SIDE_HOST])
		tell(k, &j, kept > 0 ? kept : j.count[SIDE_DEVICE], offset, false);
	if (count > 0)
		leave_out(k, &j, drop);
}
