#include "profiler/read/clock.h"

#include <stdio.h>
#include <string.h>

#include "profiler/read/kineto_impl.h"

#define SECOND INT64_C(1000000000)
#define FAR (86400 * SECOND)
#define CLAMPED_FROM (60 * SECOND)
#define NO_SIDE CLOCK_SIDES

/* The times of a trace, or of a table of kernels. */
struct times {
	const char *start, *dur; /* of the first; the others follow, `stride` bytes apart */
	size_t stride, count;
	const uint8_t *kinds; /* NULL: all on the device */
};

struct count {
	size_t all[CLOCK_SIDES], far[CLOCK_SIDES];
};

static int64_t read_time(const char *first, size_t stride, size_t i)
{
	int64_t v;

	memcpy(&v, first + i * stride, sizeof(v));
	return v;
}

static enum clock_side side_of(uint8_t kind)
{
	switch ((enum event_kind)kind) {
	case EVENT_OTHER: return NO_SIDE;
	case EVENT_COMMUNICATION_TASK:
	case EVENT_LANE_COMPUTE:
	case EVENT_LANE_COMMUNICATION:
	case EVENT_LANE_EXPOSED:
	case EVENT_LANE_FREE: return CLOCK_DEVICE;
	default: return kineto_on_device((enum event_kind)kind) ? CLOCK_DEVICE : CLOCK_HOST;
	}
}

static enum clock_side side_at(const struct times *t, size_t i)
{
	if (t->kinds)
		return side_of(t->kinds[i]);
	return read_time(t->start, t->stride, i) == SB_NULL ? NO_SIDE : CLOCK_DEVICE;
}

static size_t count_up_to(const struct times *t, unsigned sides, int64_t time)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += (sides >> side_at(t, i) & 1) && read_time(t->start, t->stride, i) <= time;
	return n;
}

/* The (lower) median start of the sides, by halving the range of values: needs no memory and no order. */
static int64_t median(const struct times *t, unsigned sides)
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

static bool is_far(const struct clock_judge *j, enum clock_side side, int64_t start, int64_t dur)
{
	int64_t end = sb_add_sat(start, dur > 0 ? dur : 0);

	return (j->clamped && start == 0) || start < sb_add_sat(j->centre[side], -FAR) ||
	       end > sb_add_sat(j->centre[side], FAR);
}

static void count_far(const struct clock_judge *j, const struct times *t, struct count *out)
{
	*out = (struct count){{0}, {0}};
	for (size_t i = 0; i < t->count; i++) {
		enum clock_side side = side_at(t, i);

		if (side == NO_SIDE)
			continue;
		out->all[side]++;
		out->far[side] +=
		    is_far(j, side, read_time(t->start, t->stride, i), read_time(t->dur, t->stride, i));
	}
}

/* Measures from the median of everything, or, where most of a side lies elsewhere, from that side's own. */
static void find_centres(struct clock_judge *j, const struct times *t, struct count *out)
{
	int64_t all = median(t, 1u << CLOCK_HOST | 1u << CLOCK_DEVICE);

	for (int side = 0; side < CLOCK_SIDES; side++)
		j->centre[side] = all;
	count_far(j, t, out);
	for (int side = 0; side < CLOCK_SIDES; side++)
		if (2 * out->far[side] > out->all[side])
			j->centre[side] = median(t, 1u << side);
	count_far(j, t, out);
}

/* The span that lies farthest, as its place is said. */
static void tell(const struct clock_judge *j, const struct clock_range *r, const struct clock_file *f,
                 size_t count, size_t all, bool left_out)
{
	bool last = sb_sub_sat(r->last, j->centre[CLOCK_HOST]) > sb_sub_sat(j->centre[CLOCK_HOST], r->first);
	int64_t at = j->clamped ? r->zero_at : last ? r->last_at : r->first_at;
	const char *table = last ? r->last_table : r->first_table;
	char place[100];

	if (f->unit == CLOCK_BYTE)
		snprintf(place, sizeof(place), "in the event at byte %lld", (long long)at);
	else if (f->unit == CLOCK_LINE)
		snprintf(place, sizeof(place), "in line %lld", (long long)at);
	else
		snprintf(place, sizeof(place), "in row %lld of table %s", (long long)at, table ? table : "");
	warnings_add(f->warnings, "clock_jump", f->path, f->unit == CLOCK_LINE ? at : 0,
	             f->unit == CLOCK_BYTE ? at : -1,
	             "%zu of %zu spans lie more than a day from the rest, or at 0; the farthest one %s. %s",
	             count, all, place,
	             left_out ? "They were left out."
	                      : "They are too many to be left out: check the clocks.");
	warnings_repeat(f->warnings, "clock_jump", f->path, count - 1);
}

static bool may_drop(const struct clock_judge *j, size_t far, size_t all)
{
	size_t most = all / 10 > 0 ? all / 10 : 1;

	/* of two that lie apart nobody knows which is right */
	return far <= most && (j->clamped || 2 * far < all);
}

static bool judge(const struct times *t, const struct clock_range *r, const struct clock_file *f,
                  struct clock_judge *out)
{
	struct clock_judge j = {.clamped = f->clamps && r->zero && r->first_positive > CLAMPED_FROM};
	size_t dropped = 0, kept = 0, all;
	struct count n;

	if (r->count == 0 || (!j.clamped && sb_sub_sat(r->last, r->first) <= FAR))
		return false;
	find_centres(&j, t, &n);
	for (int side = 0; side < CLOCK_SIDES; side++) {
		j.drop[side] = may_drop(&j, n.far[side], n.all[side]);
		*(j.drop[side] ? &dropped : &kept) += n.far[side];
	}
	all = n.all[CLOCK_HOST] + n.all[CLOCK_DEVICE];
	/* steps are the host's, where it is not there they are measured by the device's clock */
	if (n.all[CLOCK_HOST] == 0) {
		j.drop[CLOCK_HOST] = j.drop[CLOCK_DEVICE];
		j.centre[CLOCK_HOST] = j.centre[CLOCK_DEVICE];
	}
	if (dropped > 0)
		tell(&j, r, f, dropped, all, true);
	else if (kept > 0)
		tell(&j, r, f, kept, all, false);
	else if (n.all[CLOCK_DEVICE] > 0 &&
	         (sb_add_sat(j.centre[CLOCK_HOST], -FAR) > j.centre[CLOCK_DEVICE] ||
	          sb_add_sat(j.centre[CLOCK_DEVICE], -FAR) > j.centre[CLOCK_HOST]))
		tell(&j, r, f, n.all[CLOCK_DEVICE], all, false);
	*out = j;
	return dropped > 0;
}

bool clock_judge_trace(const struct trace *t, const struct clock_range *r, const struct clock_file *f,
                       struct clock_judge *out)
{
	const struct times times = {.start = (const char *)t->start_ns,
	                            .dur = (const char *)t->dur_ns,
	                            .stride = sizeof(*t->start_ns),
	                            .count = t->count,
	                            .kinds = t->kind};

	return judge(&times, r, f, out);
}

static struct times times_of_table(const struct capture *c, bool of_steps)
{
	if (of_steps && c->step_count > 0)
		return (struct times){.start = (const char *)&c->steps->start_ns,
		                      .dur = (const char *)&c->steps->dur_ns,
		                      .stride = sizeof(*c->steps),
		                      .count = c->step_count};
	if (!of_steps && c->kernel_count > 0)
		return (struct times){.start = (const char *)&c->kernels->start_ns,
		                      .dur = (const char *)&c->kernels->dur_ns,
		                      .stride = sizeof(*c->kernels),
		                      .count = c->kernel_count};
	return (struct times){.count = 0};
}

static bool judge_table(const struct capture *c, const struct clock_range *r, const struct clock_file *f,
                        struct clock_judge *out)
{
	const struct times times = times_of_table(c, f->of_steps);

	return times.count > 0 && judge(&times, r, f, out);
}

bool clock_is_out(const struct clock_judge *j, enum clock_side side, int64_t start, int64_t dur)
{
	return j->drop[side] && is_far(j, side, start, dur);
}

bool clock_event_is_out(const struct clock_judge *j, const struct trace *t, size_t i)
{
	enum clock_side side = side_of(t->kind[i]);

	return side != NO_SIDE && clock_is_out(j, side, t->start_ns[i], t->dur_ns[i]);
}

void clock_drop_events(const struct clock_judge *j, struct trace *t)
{
	size_t to = 0, detail = 0, details = 0;

	for (size_t i = 0; i < t->count; i++) {
		bool out = clock_event_is_out(j, t, i);

		for (; detail < t->detail_count && t->details[detail].event == i; detail++) {
			if (out)
				continue;
			t->details[details] = t->details[detail];
			t->details[details++].event = (uint32_t)to;
		}
		if (!out)
			trace_move_event(t, to++, i);
	}
	t->count = to;
	t->detail_count = details;
}

static void drop_kernels(const struct clock_judge *j, struct capture *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->kernel_count; i++)
		if (c->kernels[i].start_ns == SB_NULL ||
		    !clock_is_out(j, CLOCK_DEVICE, c->kernels[i].start_ns, c->kernels[i].dur_ns))
			c->kernels[kept++] = c->kernels[i];
	c->kernel_count = kept;
}

static void drop_iterations(const struct clock_judge *j, struct capture *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->iteration_count; i++)
		if (c->iterations[i].start_ns == SB_NULL ||
		    !clock_is_out(j, CLOCK_HOST, c->iterations[i].start_ns, c->iterations[i].total_ns))
			c->iterations[kept++] = c->iterations[i];
	c->iteration_count = kept;
}

void clock_drop_steps(const struct clock_judge *j, struct step *steps, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (steps[i].start_ns == SB_NULL ||
		    !clock_is_out(j, CLOCK_HOST, steps[i].start_ns, steps[i].dur_ns))
			steps[kept++] = steps[i];
	*count = kept;
}

void clock_settle(struct capture *c, const struct clock_range *r, const struct clock_file *f)
{
	struct clock_judge j = {.clamped = false};
	bool out = c->trace.count > 0 && !f->of_steps ? clock_judge_trace(&c->trace, r, f, &j)
	                                              : judge_table(c, r, f, &j);

	if (!out)
		return;
	clock_drop_events(&j, &c->trace);
	drop_kernels(&j, c);
	drop_iterations(&j, c);
	clock_drop_steps(&j, c->steps, &c->step_count);
}
