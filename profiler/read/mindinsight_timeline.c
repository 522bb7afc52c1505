#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/chrome.h"
#include "profiler/read/mindinsight.h"

/* ascend_timeline_display_{id}.json: a list of events without categories, whose times begin at 0. What an
 * event is follows from the number of its process, and from that of its thread in two of them. */

#define KEY_PART_MAX 64

enum process {
	PROCESS_AICPU = 9000,
	PROCESS_COMMUNICATION = 10000,
	PROCESS_HOST = 11000,
	PROCESS_OVERLAP = 12000
};
enum thread {
	THREAD_COMPUTATION = 7999,
	THREAD_PURE,
	THREAD_COMMUNICATION,
	THREAD_FREE,
	THREAD_STEPS = 100000
};

struct reading {
	struct read_context *ctx;
	struct stream *in;
	struct capture *cap;
	struct sb_strings *keys; /* pid and tid; the ids follow those of the lanes */
	uint32_t aicore, aicpu;
	struct clock_range range;
};

static void reading_free(struct reading *r)
{
	sb_strings_free(&r->keys);
}

static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "ascend_timeline_display_", ".json") ||
	             path_is(s->path, "timeline_display_", ".json");

	/* a list in which no event has a category is no other profiler's */
	if (sniff_first(s) != '[' || !sniff_has(s, "\"ph\"") || sniff_has(s, "\"cat\""))
		return SNIFF_NO;
	if (sniff_has(s, "\"fullname\""))
		return SNIFF_SURE;
	return named ? SNIFF_CONTENT : SNIFF_NO;
}

static const char *process_name(int64_t pid)
{
	switch (pid) {
	case PROCESS_AICPU: return "AI CPU";
	case PROCESS_COMMUNICATION: return MINDINSIGHT_COMMUNICATION;
	case PROCESS_HOST: return "Host CPU";
	case PROCESS_OVERLAP: return "Overlap Analysis";
	default: return "AI Core";
	}
}

static enum event_kind kind_of(int64_t pid, int64_t tid, const char *name)
{
	/* steps and scopes lie over what runs in them */
	if (tid >= THREAD_STEPS)
		return EVENT_DEVICE_ANNOTATION;
	if (pid == PROCESS_OVERLAP) {
		switch (tid) {
		case THREAD_COMPUTATION: return EVENT_LANE_COMPUTE;
		case THREAD_PURE: return EVENT_LANE_EXPOSED;
		case THREAD_COMMUNICATION: return EVENT_LANE_COMMUNICATION;
		case THREAD_FREE: return EVENT_LANE_FREE;
		default: return EVENT_OTHER;
		}
	}
	if (pid == PROCESS_COMMUNICATION)
		return EVENT_COMMUNICATION;
	if (pid == PROCESS_HOST)
		return EVENT_OTHER;
	/* set up once, long before the first step */
	return strncmp(name, "InitData", 8) == 0 ? EVENT_DEVICE_OTHER : EVENT_KERNEL;
}

static int new_lane(struct reading *r, const struct chrome_event *e, int64_t pid, uint32_t *out_lane)
{
	struct trace *t = &r->cap->trace;
	struct lane lane = {.device = pid >= 0 && pid < PROCESS_AICPU ? (int32_t)pid : -1};
	const char *process = process_name(pid);
	int rc = sb_strings_add(t->strings, process, strlen(process), &lane.process);

	if (rc == SB_OK)
		rc = sb_strings_add(t->strings, e->tid.text,
		                    e->tid.len < KEY_PART_MAX ? e->tid.len : KEY_PART_MAX, &lane.thread);
	return rc == SB_OK ? trace_add_lane(t, &lane, out_lane) : rc;
}

static int lane_of(struct reading *r, const struct chrome_event *e, int64_t pid, uint32_t *out_lane)
{
	char key[2 * KEY_PART_MAX + 1];
	size_t a = e->pid.len < KEY_PART_MAX ? e->pid.len : KEY_PART_MAX;
	size_t b = e->tid.len < KEY_PART_MAX ? e->tid.len : KEY_PART_MAX;
	size_t known = sb_strings_count(r->keys);
	uint32_t id;
	int rc;

	memcpy(key, e->pid.text, a);
	key[a] = '\0';
	memcpy(key + a + 1, e->tid.text, b);
	rc = sb_strings_add(r->keys, key, a + 1 + b, &id);
	if (rc == SB_OK && id == known)
		return new_lane(r, e, pid, out_lane);
	*out_lane = id - 1;
	return rc;
}

static int read_event(struct reading *r, const struct chrome_event *e)
{
	int64_t pid = chrome_int(&e->pid);
	struct event v = {.start_ns = e->ts_ns,
	                  .dur_ns = e->dur_ns,
	                  .link = -1,
	                  .kind = kind_of(pid, chrome_int(&e->tid), e->name.text)};
	struct event_detail d = {.bytes = SB_NULL, .sequence = SB_NULL};
	int rc;

	if (e->ts != CHROME_TIME_OK || e->dur != CHROME_TIME_OK) {
		chrome_warn(r->ctx, r->in, e, "bad_value",
		            "The time of an event cannot be used: the event is left out.");
		return SB_OK;
	}
	if (e->dur_ns < 0) {
		chrome_warn(r->ctx, r->in, e, "negative_duration",
		            "An event with a negative duration is left out.");
		return SB_OK;
	}
	rc = sb_strings_add(r->cap->trace.strings, e->name.text, e->name.len, &v.name);
	if (rc == SB_OK)
		rc = lane_of(r, e, pid, &v.lane);
	if (rc == SB_OK)
		rc = trace_append(&r->cap->trace, &v);
	clock_see(&r->range, v.start_ns, v.dur_ns, e->offset);
	if (rc != SB_OK || v.kind != EVENT_KERNEL)
		return rc;
	d.type = pid == PROCESS_AICPU ? r->aicpu : r->aicore;
	return trace_append_detail(&r->cap->trace, &d);
}

/* Their formats and shapes are not used. */
static bool skip_args(void *self, const struct chrome_event *e)
{
	(void)self;
	(void)e;
	return true;
}

static int read_events(struct reading *r, struct sb_error *err)
{
	const struct chrome_options options = {.skip_args = skip_args};
	const struct clock_file f = {
	    .warnings = &r->ctx->profile->warnings, .path = r->in->path, .unit = CLOCK_BYTE};
	struct sb_error got = {.offset = -1};
	CHROME_AUTO c = NULL;
	const struct chrome_event *e;
	int rc;

	if (chrome_open(r->in, &r->ctx->profile->warnings, &options, &c) != SB_OK)
		return sb_no_memory(err);
	for (;;) {
		rc = chrome_next(c, &e, &got);
		if (rc != SB_OK || !e)
			break;
		if (e->ph != 'X')
			continue;
		rc = read_event(r, e);
		if (rc != SB_OK)
			return rc == SB_ELIMIT
			           ? sb_fail_at(err, SB_EFORMAT, "too_many_events", r->in->path, 0, e->offset,
			                        "the trace holds too many events or names")
			           : sb_fail(err, rc, "no_memory", "out of memory");
	}
	rc = ascend_json_end(r->ctx, r->in, rc, r->cap->trace.count > 0, &got, err);
	if (rc == SB_OK)
		clock_settle(r->cap, &r->range, &f);
	return rc;
}

static int read_timeline(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(reading_free))) struct reading r = {.ctx = ctx, .in = in};
	int rc = mindinsight_capture(ctx, in, &r.cap, err);

	if (rc != SB_OK)
		return rc;
	if (sb_strings_new(&r.keys) != SB_OK ||
	    sb_strings_add(r.cap->trace.strings, "AI_CORE", 7, &r.aicore) != SB_OK ||
	    sb_strings_add(r.cap->trace.strings, "AI_CPU", 6, &r.aicpu) != SB_OK)
		return sb_no_memory(err);
	return read_events(&r, err);
}

const struct format_reader MINDINSIGHT_TIMELINE_READER = {.name = "ascend_timeline_display_*.json",
                                                          .format = FORMAT_MINDINSIGHT,
                                                          .sniff = sniff,
                                                          .read = read_timeline};
