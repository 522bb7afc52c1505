#include "profiler/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/activity.h"

const struct monitor_rule MONITOR_DEFAULT = {.limit = 0.10, .window = 20, .warm_up = 1};

/* The last steps that count: in order of time, and sorted. */
struct base {
	int64_t ring[MONITOR_WINDOW_MAX], sorted[MONITOR_WINDOW_MAX];
	size_t count, next, window;
};

static size_t place_of(const struct base *b, int64_t v)
{
	size_t i = 0;

	while (i < b->count && b->sorted[i] < v)
		i++;
	return i;
}

static void push(struct base *b, int64_t v)
{
	size_t at;

	if (b->count == b->window) {
		at = place_of(b, b->ring[b->next]);
		b->count--;
		memmove(&b->sorted[at], &b->sorted[at + 1], (b->count - at) * sizeof(b->sorted[0]));
	}
	at = place_of(b, v);
	memmove(&b->sorted[at + 1], &b->sorted[at], (b->count - at) * sizeof(b->sorted[0]));
	b->sorted[at] = v;
	b->count++;
	b->ring[b->next] = v;
	b->next = (b->next + 1) % b->window;
}

static double median(const struct base *b)
{
	size_t half = b->count / 2;

	return b->count % 2 ? (double)b->sorted[half]
	                    : ((double)b->sorted[half - 1] + (double)b->sorted[half]) / 2;
}

size_t monitor_steps(const struct monitor_rule *rule, const int64_t *dur_ns, const bool *excluded,
                     size_t count, bool *out_slow)
{
	struct base b = {.window = rule->window};
	size_t slow = 0;

	if (b.window == 0 || b.window > MONITOR_WINDOW_MAX)
		b.window = MONITOR_WINDOW_MAX;
	for (size_t i = 0; i < count; i++) {
		out_slow[i] = false;
		if (i < rule->warm_up || (excluded && excluded[i]) || dur_ns[i] <= 0)
			continue;
		out_slow[i] =
		    b.count >= MONITOR_BASE_LEAST && (double)dur_ns[i] > (1 + rule->limit) * median(&b);
		slow += out_slow[i];
		push(&b, dur_ns[i]);
	}
	return slow;
}

static bool is_checkpoint(const char *name)
{
	static const char *const words[] = {"checkpoint", "torch.save", "save_model", "ModelCheckpoint",
	                                    "serialization.py("};

	/* activation checkpointing is work of every step */
	if (strcasestr(name, "recompute") || strstr(name, "utils/checkpoint.py") ||
	    strstr(name, "CheckpointFunction"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]))
			return i < 4 || strstr(name, ": save") != NULL;
	return false;
}

/* Only what a person or a framework annotates: operators of that name are parts of the model. */
static int find_checkpoints(const struct capture *c, bool *excluded)
{
	STEP_WINDOWS_AUTO windows = {0};
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings);
	uint8_t *known = calloc(texts + 1, 1); /* 0 = not looked at, 1 = no, 2 = yes */
	int rc = known ? step_windows_build(c, &windows) : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < t->count; i++) {
		uint32_t id = t->name[i] < texts ? t->name[i] : (uint32_t)texts;
		uint32_t step;

		if (t->kind[i] != EVENT_HOST_ANNOTATION && t->kind[i] != EVENT_HOST_PYTHON)
			continue;
		if (!known[id])
			known[id] = is_checkpoint(trace_text(t, t->name[i], NULL)) ? 2 : 1;
		if (known[id] == 1)
			continue;
		step = step_windows_at(&windows, t->start_ns[i]);
		if (step != NO_STEP)
			excluded[step] = true;
	}
	free(known);
	return rc;
}

int monitor_capture(const struct monitor_rule *rule, const struct capture *c, bool **out_slow,
                    size_t *out_count)
{
	size_t n = c->step_count > 0 ? c->step_count : c->iteration_count;
	int64_t *dur = calloc(n + 1, sizeof(*dur));
	bool *excluded = calloc(n + 1, sizeof(*excluded)), *slow = calloc(n + 1, sizeof(*slow));
	int rc = dur && excluded && slow ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK && c->step_count > 0)
		rc = find_checkpoints(c, excluded);
	for (size_t i = 0; rc == SB_OK && i < n; i++)
		dur[i] = c->step_count == 0                ? c->iterations[i].total_ns
		         : c->steps[i].start_ns == SB_NULL ? 0
		                                           : c->steps[i].dur_ns;
	if (rc == SB_OK)
		(void)monitor_steps(rule, dur, excluded, n, slow);
	free(dur);
	free(excluded);
	if (rc != SB_OK || n == 0) {
		free(slow);
		slow = NULL;
	}
	*out_count = n;
	*out_slow = slow;
	return rc;
}
