#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "profiler/chips.h"
#include "profiler/findings/bus.h"
#include "profiler/findings/size_time.h"

/* Many small collectives on GPUs, whose traces tell no packets: by the sizes of the collectives. */

#define SATURATED 4 /* latencies that a transfer must last for its rate to be 80 % of the link's */

struct sized {
	int64_t bytes, ns;
	uint32_t event;
};
struct sizes {
	struct sized *items;
	size_t count;
};

static int by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	const int64_t left[] = {x->bytes, x->ns, x->event}, right[] = {y->bytes, y->ns, y->event};

	return sb_compare(left, right, 3);
}

static void sizes_free(struct sizes *s)
{
	free(s->items);
}

static int collect(const struct rank_view *v, struct sizes *s)
{
	const struct trace *t = &v->c->trace;

	for (size_t i = 0; i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];

		if (d->event >= t->count || t->kind[d->event] != EVENT_COMMUNICATION || d->bytes <= 0 ||
		    (v->device != SB_NULL && t->lanes[t->lane[d->event]].device >= 0 &&
		     t->lanes[t->lane[d->event]].device != v->device))
			continue;
		if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
			return SB_ENOMEM;
		s->items[s->count++] = (struct sized){d->bytes, t->dur_ns[d->event], d->event};
	}
	if (s->count > 0)
		qsort(s->items, s->count, sizeof(*s->items), by_size);
	return SB_OK;
}

/* The shortest of each size: the longer ones waited for another rank. */
static struct size_time line_of(const struct rank_view *v, const struct sizes *s)
{
	struct size_fit fit = {0};
	struct size_time t;

	for (size_t i = 0; i < s->count; i++)
		if (i == 0 || s->items[i].bytes != s->items[i - 1].bytes)
			size_fit_add(&fit, (double)s->items[i].bytes, (double)s->items[i].ns / 1000, 1);
	t = size_fit_line(&fit);
	/* an all-reduce sends almost twice its bytes */
	return t.known ? t : size_fit_at_rate(&fit, chip_link_rate(chip_find(v->c->chip), "NVLink") / 2);
}

static void report(struct check_context *ctx, const struct rank_view *v, const struct sizes *s, size_t small,
                   const struct size_time *line, double limit_bytes)
{
	struct finding *f;
	double bytes = 0, us = 0, now, fused, ratio = NAN;

	for (size_t i = 0; i < small; i++) {
		bytes += (double)s->items[i].bytes;
		us += (double)s->items[i].ns / 1000;
	}
	now = size_time_us(line, (double)small, bytes);
	fused = size_time_us(line, fmin(ceil(bytes / limit_bytes), (double)small), bytes);
	if (now > 0)
		ratio = fmin(fused / now, 1);
	f = finding_new(ctx, "communication.small_packets", v, true);
	/* what they took beyond that they waited */
	finding_cost(ctx, f, v, exposed_at_most(v, fmin(us, isnan(now) ? us : now) * 1000));
	finding_evidence(ctx, f, "large_collective_share", 1 - (double)small / (double)s->count, "share",
	                 "large_packet_share");
	finding_evidence(ctx, f, "mean_collective_bytes", bytes / (double)small, "bytes", NULL);
	finding_evidence(ctx, f, "saturating_bytes", limit_bytes, "bytes", NULL);
	finding_evidence(ctx, f, "small_collectives_a_step", (double)small / (double)v->steps, "events",
	                 "small_collectives_a_step");
	if (isnan(ratio)) {
		finding_at_most(f, CONFIDENCE_MEDIUM);
		return;
	}
	finding_gain(f, v, exposed_at_most(v, fmin(us, now) * (1 - ratio) * 1000));
	for (size_t i = 0; i < small && ctx->failed == SB_OK; i++)
		finding_relief(ctx, f, v, RELIEF_EVENT, s->items[i].event, ratio);
	finding_evidence(ctx, f, "fused_over_now", ratio, "ratio", NULL);
}

static void judge(struct check_context *ctx, const struct rank_view *v, const struct sizes *s)
{
	struct size_time line = line_of(v, s);
	double limit_bytes = limit(ctx, "small_collective_bytes"), small_ns = 0, all_ns = 0;
	size_t small = 0;

	if (line.known && line.us_per_byte > 0 && line.latency_us > 0)
		limit_bytes = fmax(limit_bytes, SATURATED * line.latency_us / line.us_per_byte);
	for (size_t i = 0; i < s->count; i++) {
		bool is_small = (double)s->items[i].bytes < limit_bytes;

		small += is_small;
		small_ns += is_small ? (double)s->items[i].ns : 0;
		all_ns += (double)s->items[i].ns;
	}
	/* few of them, or little time in them: fusing would gain nothing */
	if ((double)small < limit(ctx, "small_collectives_a_step") * (double)v->steps ||
	    1 - (double)small / (double)s->count >= limit(ctx, "large_packet_share") ||
	    small_ns < 0.5 * all_ns || v->exposed_ns == SB_NULL ||
	    (double)v->exposed_ns <= limit(ctx, "exposed_share") * (double)v->total_ns)
		return;
	report(ctx, v, s, small, &line, limit_bytes);
}

void check_small_collectives(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];
		__attribute__((cleanup(sizes_free))) struct sizes s = {0};

		if (v->c->communication_count > 0 || capture_is_ascend(v->c))
			continue;
		ctx->failed = collect(v, &s);
		if (ctx->failed != SB_OK || s.count == 0)
			continue;
		*out_judged = true;
		judge(ctx, v, &s);
	}
}
