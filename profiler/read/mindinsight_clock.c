#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* The step trace counts from the start of the device, the timeline from its own first event. Where both show
 * the same communication operators, they tell how far the two lie apart. */

#define NOISE_NS 1000 /* the timeline's times went through a double */

/* The operators of one name, in the step trace and in the timeline. */
struct pair {
	int64_t first[2], last[2];
	size_t count[2];
};

struct clocks {
	struct capture *c;
	uint8_t *of_lane;   /* 0: step trace, 1: timeline */
	struct pair *pairs; /* by name */
	size_t text_count;
	size_t events[2];
};

static void clocks_free(struct clocks *k)
{
	free(k->of_lane);
	free(k->pairs);
}

static int clocks_init(struct clocks *k)
{
	struct trace *t = &k->c->trace;

	k->text_count = sb_strings_count(t->strings);
	k->of_lane = calloc(t->lane_count + 1, 1);
	k->pairs = calloc(k->text_count, sizeof(*k->pairs));
	if (!k->of_lane || !k->pairs)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++)
		k->of_lane[i] = strcmp(trace_text(t, t->lanes[i].process, NULL), MINDINSIGHT_STEP_TRACE) != 0;
	for (size_t i = 0; i < t->count; i++) {
		int side = k->of_lane[t->lane[i]];
		struct pair *p = &k->pairs[t->name[i]];

		k->events[side]++;
		if (t->kind[i] != EVENT_COMMUNICATION)
			continue;
		if (p->count[side] == 0 || t->start_ns[i] < p->first[side])
			p->first[side] = t->start_ns[i];
		if (p->count[side] == 0 || t->start_ns[i] > p->last[side])
			p->last[side] = t->start_ns[i];
		p->count[side]++;
	}
	return SB_OK;
}

static int64_t apart(int64_t a, int64_t b)
{
	return sb_add_sat(a, -b);
}

/* The earliest operator that both show equally often, over the same time. False: there is none. */
static bool find_offset(const struct clocks *k, int64_t *out)
{
	const struct pair *best = NULL;

	for (size_t i = 0; i < k->text_count; i++) {
		const struct pair *p = &k->pairs[i];
		int64_t off;

		if (p->count[0] == 0 || p->count[0] != p->count[1])
			continue;
		off = apart(apart(p->last[0], p->first[0]), apart(p->last[1], p->first[1]));
		if (off >= -NOISE_NS && off <= NOISE_NS && (!best || p->first[0] < best->first[0]))
			best = p;
	}
	if (best)
		*out = apart(best->first[0], best->first[1]);
	return best != NULL;
}

/* Takes the events out that drop() is true for, with their details. */
static void take_out(struct clocks *k, bool (*drop)(const struct clocks *, size_t))
{
	struct trace *t = &k->c->trace;
	size_t kept = 0, d = 0, details = 0;

	for (size_t i = 0; i < t->count; i++) {
		bool out = drop(k, i);

		for (; d < t->detail_count && t->details[d].event <= i; d++) {
			if (out || t->details[d].event < i)
				continue;
			t->details[details] = t->details[d];
			t->details[details++].event = (uint32_t)kept;
		}
		if (!out)
			trace_move_event(t, kept++, i);
	}
	t->count = kept;
	t->detail_count = details;
}

static bool told_twice(const struct clocks *k, size_t i)
{
	const struct trace *t = &k->c->trace;

	return k->of_lane[t->lane[i]] == 1 && t->kind[i] == EVENT_COMMUNICATION &&
	       k->pairs[t->name[i]].count[0] > 0;
}

static bool of_step_trace(const struct clocks *k, size_t i)
{
	return k->of_lane[k->c->trace.lane[i]] == 0;
}

static void shift(struct clocks *k, int64_t offset)
{
	struct trace *t = &k->c->trace;

	for (size_t i = 0; i < t->count; i++)
		if (k->of_lane[t->lane[i]] == 1)
			t->start_ns[i] = sb_add_sat(t->start_ns[i], offset);
}

static void part(struct read_context *ctx, struct clocks *k)
{
	struct capture *c = k->c;

	warnings_add(&ctx->profile->warnings, "clock_unknown", c->source, 0, -1,
	             "The timeline counts from its first event, the step trace from the device's start, and "
	             "they share no operator: no event is put into a step.");
	/* the timeline has the communication, too */
	take_out(k, of_step_trace);
	for (size_t i = 0; i < c->step_count; i++)
		c->steps[i].start_ns = SB_NULL;
}

static void settle(struct read_context *ctx, struct clocks *k)
{
	bool windows = false;
	int64_t offset;

	for (size_t i = 0; i < k->c->step_count && !windows; i++)
		windows = k->c->steps[i].start_ns != SB_NULL;
	if (k->events[1] == 0 || !windows)
		return;
	if (!find_offset(k, &offset)) {
		part(ctx, k);
		return;
	}
	take_out(k, told_twice);
	shift(k, offset);
}

int mindinsight_align(struct read_context *ctx, struct capture *c)
{
	struct clocks k = {.c = c};
	int rc = clocks_init(&k);

	if (rc == SB_OK)
		settle(ctx, &k);
	clocks_free(&k);
	return rc;
}
