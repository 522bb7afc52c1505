#include <stdlib.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/findings/host_part.h"
#include "profiler/monitor.h"

/* Garbage collection of the language (Hermes, Table 2 and the large-scale case): seen, or conjectured. */

/* The steps that stand out, and those of them with a collection. */
static void tell_steps(struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	const struct event_list *list = &v->part->events_of[HOST_GARBAGE];
	STEP_WINDOWS_AUTO windows = {0};
	bool *slow = NULL, *hit;
	size_t n = 0, slow_steps = 0, both = 0, with = 0;
	struct monitor_rule rule = MONITOR_DEFAULT;

	rule.limit = limit(ctx, "step_fluctuation");
	ctx->failed = monitor_capture(&rule, v->c, &slow, &n);
	hit = calloc(n + 1, sizeof(*hit));
	if (ctx->failed == SB_OK)
		ctx->failed = hit ? step_windows_build(v->c, &windows) : SB_ENOMEM;
	for (size_t i = 0; ctx->failed == SB_OK && i < list->count; i++) {
		uint32_t step = step_windows_at(&windows, v->c->trace.start_ns[list->items[i]]);

		if (step != NO_STEP)
			hit[step] = true;
	}
	for (size_t i = 0; ctx->failed == SB_OK && i < n; i++) {
		slow_steps += slow[i];
		with += hit[i];
		both += slow[i] && hit[i];
	}
	free(slow);
	free(hit);
	if (ctx->failed != SB_OK || with == 0)
		return;
	finding_evidence(ctx, f, "steps_with_collections", (double)with, "steps", NULL);
	finding_evidence(ctx, f, "slow_steps", (double)slow_steps, "steps", NULL);
	finding_evidence(ctx, f, "slow_steps_with_collections", (double)both, "steps", NULL);
}

/* The collections of all ranks together: where each rank collects in a step of its own, all wait in all of
 * them (Hermes, the large-scale case). */
struct spread {
	int64_t *steps; /* numbers, rising, each once */
	size_t count;
};

static void spread_free(struct spread *s)
{
	free(s->steps);
}

static int by_number(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

static int spread_add(struct spread *s, const struct host_part *host)
{
	const struct event_list *list = &host->events_of[HOST_GARBAGE];
	const struct capture *c = host->c;
	STEP_WINDOWS_AUTO windows = {0};
	uint32_t before = NO_STEP;
	int rc = step_windows_build(c, &windows);

	for (size_t i = 0; i < list->count && rc == SB_OK; i++) {
		uint32_t step = step_windows_at(&windows, c->trace.start_ns[list->items[i]]);

		if (step == NO_STEP || step == before)
			continue;
		rc = sb_grow(&s->steps, s->count, sizeof(*s->steps));
		if (rc == SB_OK)
			s->steps[s->count++] = c->steps[step].number;
		before = step;
	}
	return rc;
}

static int spread_find(const struct check_context *ctx, struct spread *s)
{
	size_t kept = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < ctx->p->count && ctx->view_count > 1 && rc == SB_OK; i++)
		if (ctx->hosts[i].c && ctx->hosts[i].seen.garbage_count > 0)
			rc = spread_add(s, &ctx->hosts[i]);
	if (s->count > 0)
		qsort(s->steps, s->count, sizeof(*s->steps), by_number);
	for (size_t i = 0; i < s->count; i++)
		if (kept == 0 || s->steps[kept - 1] != s->steps[i])
			s->steps[kept++] = s->steps[i];
	s->count = kept;
	return rc;
}

static void seen(struct check_context *ctx, const struct rank_view *v, const struct spread *spread)
{
	const struct event_list *list = &v->part->events_of[HOST_GARBAGE];
	struct finding *f = finding_new(ctx, "cpu.garbage_collection", v, true);

	finding_cost(ctx, f, v, v->host.garbage_ns);
	finding_gain(f, v, v->host.garbage_ns);
	finding_evidence(ctx, f, "longest_collection_us", (double)v->host.garbage_max_ns / 1000, "us",
	                 "garbage_collection_us");
	finding_evidence(ctx, f, "collections", (double)v->host.garbage_count, "events", NULL);
	finding_evidence(ctx, f, "device_idle_while_collecting_us", (double)v->host.garbage_ns / 1000, "us",
	                 NULL);
	/* what only its lane tells to be a collection is no time of the host's that could be replayed */
	for (size_t i = 0; i < list->count; i++)
		if (v->c->trace.kind[list->items[i]] >= EVENT_HOST_OP)
			finding_relief(ctx, f, v, RELIEF_EVENT, list->items[i], 0);
	tell_steps(ctx, f, v);
	if (spread->count > 0)
		finding_evidence(ctx, f, "steps_with_collections_on_any_rank", (double)spread->count, "steps",
		                 NULL);
}

/* The host falls silent for long while the device idles: a collection, maybe. One such time is told only. */
static void conjectured(struct check_context *ctx, const struct rank_view *v)
{
	const struct host_time *h = &v->host;
	struct finding *f = finding_new(ctx, "cpu.garbage_collection", v, true);

	finding_cost(ctx, f, v, h->silent_ns);
	finding_gain(f, v, h->silent_ns);
	finding_at_most(f, CONFIDENCE_LOW);
	if (f && h->silent_count < SILENCES_LEAST)
		f->severity = SEVERITY_INFO;
	if (v->part->graphs.unreliable)
		doubt_idle(ctx, f, v);
	finding_evidence(ctx, f, "mean_idle_of_silent_host_us",
	                 (double)h->silent_ns / (double)h->silent_count / 1000, "us", "conjectured_gc_us");
	finding_evidence(ctx, f, "conjectured_collections", (double)h->silent_count, "events", NULL);
}

void check_garbage_collection(struct check_context *ctx, bool *out_judged)
{
	__attribute__((cleanup(spread_free))) struct spread spread = {0};

	ctx->failed = spread_find(ctx, &spread);
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];

		*out_judged = *out_judged || v->host.gc_known || v->host.garbage_count > 0;
		if (v->host.garbage_count > 0)
			seen(ctx, v, &spread);
		else if (v->host.silent_count > 0)
			conjectured(ctx, v);
	}
}
