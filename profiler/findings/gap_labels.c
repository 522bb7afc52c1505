#include <string.h>

#include "profiler/findings/call_site.h"
#include "profiler/findings/host_part.h"

/* What the host did in the longest gaps: the most particular event that overlaps a fifth of the gap
 * (advisor-rules 2.6). */

#define OVERLAP_LEAST 0.2

struct label {
	struct interval gap;
	uint32_t event; /* CALL_SITE_NONE = none */
};

static bool is_label(const struct trace *t, size_t i)
{
	uint8_t kind = t->kind[i];

	if (kind != EVENT_HOST_OP && kind != EVENT_HOST_RUNTIME && kind != EVENT_HOST_PYTHON &&
	    kind != EVENT_HOST_ANNOTATION)
		return false;
	return strncmp(trace_text(t, t->name[i], NULL), "ProfilerStep", 12) != 0;
}

static void look(struct label *labels, size_t count, const struct trace *t, size_t i)
{
	int64_t start = interval_bound(t->start_ns[i]), end = interval_end(t->start_ns[i], t->dur_ns[i]);

	for (size_t k = 0; k < count; k++) {
		struct label *l = &labels[k];
		int64_t from = start > l->gap.start ? start : l->gap.start;
		int64_t to = end < l->gap.end ? end : l->gap.end;

		if (to <= from || (double)(to - from) < OVERLAP_LEAST * (double)(l->gap.end - l->gap.start))
			continue;
		if (l->event != CALL_SITE_NONE && t->dur_ns[l->event] <= t->dur_ns[i])
			continue;
		if (is_label(t, i))
			l->event = (uint32_t)i;
	}
}

void show_gaps(struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	struct label labels[GAPS_LISTED];
	const struct trace *t = &v->c->trace;
	size_t count = v->idle.longest_count;
	int64_t least = INT64_MAX;

	for (size_t k = 0; k < count; k++) {
		int64_t length = v->idle.longest[k].end - v->idle.longest[k].start;

		labels[k] = (struct label){v->idle.longest[k], CALL_SITE_NONE};
		least = length < least ? length : least;
	}
	for (size_t i = 0; count > 0 && i < t->count; i++)
		if (t->kind[i] >= EVENT_HOST_OP && (double)t->dur_ns[i] >= OVERLAP_LEAST * (double)least)
			look(labels, count, t, i);
	for (size_t k = 0; k < count; k++) {
		char text[CALL_SITE_TEXT_MAX];
		struct call_site s = {.event = labels[k].event,
		                      .op = labels[k].event,
		                      .frames = {CALL_SITE_NONE, CALL_SITE_NONE},
		                      .inner = CALL_SITE_NONE};
		int64_t length = labels[k].gap.end - labels[k].gap.start;

		if (labels[k].event == CALL_SITE_NONE)
			continue;
		call_site_text(t, &s, text);
		finding_operator(ctx, f, text, (double)length / 1000);
	}
}

void show_dynamic(const struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	const struct capture *c = v->c;
	size_t dynamic = 0, known = 0;

	for (size_t i = 0; i < c->kernel_count; i++) {
		const char *state = trace_text(&c->trace, c->kernels[i].state, NULL);

		dynamic += strcmp(state, "dynamic") == 0;
		known += strcmp(state, "dynamic") == 0 || strcmp(state, "static") == 0;
	}
	if (known > 0)
		finding_evidence(ctx, f, "dynamic_shape_operators_share", (double)dynamic / (double)known,
		                 "share", NULL);
}
