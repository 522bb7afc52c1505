#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"
#include "profiler/read/ascend_kind.h"
#include "profiler/read/call_stack.h"
#include "profiler/read/clock.h"
#include "profiler/read/msprof.h"

/* trace_view.json (research page ascend-formats 1.12). Lanes are known by the names of their processes, which
 * may come after the events: kinds are settled at the end of the file. */

#define NO_LANE UINT32_MAX
#define KEY_PART_MAX 96          /* a longer pid or tid is cut: real ones are numbers */
#define NO_CONNECTION UINT32_MAX /* 0 is none, too */

/* What is known of a pid, or of a pid and tid together. */
struct place {
	uint32_t lane;  /* of a pid and tid */
	uint32_t name;  /* string id of the capture, 0 = none yet */
	int32_t device; /* of a pid */
};

struct reading {
	struct read_context *ctx;
	struct stream *in;
	struct capture *cap;
	struct sb_strings *keys; /* pids, and pids with tids */
	struct place *places;    /* by key id */
	size_t place_count;
	struct lane_keys {
		uint32_t pid, both;
	} * lanes;
	char last[2 * KEY_PART_MAX + 1]; /* the key of the event before, which mostly is that of the next */
	size_t last_len;
	uint32_t last_lane;
	struct clock_range range;
};

static int sniff(const struct sniff *s)
{
	static const char *const marks[] = {
	    "\"Ascend Hardware\"",  "\"Overlap Analysis\"", "AscendCL@",
	    "\"Dequeue@",           "torch_to_npu",         "enqueue_to_dequeue",
	    "\"Physic Stream Id\"", "\"HostToDevice\"",     "torch_npu/",
	    "\"Iteration ID\"",     "\"FP_BP Time"};
	char first = sniff_first(s);
	bool events = sniff_has(s, "\"ph\""), marked = false;

	if (first != '[' && first != '{')
		return SNIFF_NO;
	/* only Kineto has these in front of its events */
	if (sniff_has(s, "\"schemaVersion\"") || sniff_has(s, "\"deviceProperties\""))
		return SNIFF_NO;
	for (size_t i = 0; events && i < sizeof(marks) / sizeof(marks[0]); i++)
		marked = marked || sniff_has(s, marks[i]);
	if (!marked && kineto_has_work(s))
		return SNIFF_NO;
	if (path_is(s->path, "trace_view", ".json") ||
	    (msprof_path(s->path) && path_is(s->path, "msprof_", ".json")))
		return events ? SNIFF_SURE : SNIFF_PATH;
	/* a bare list with times as text is how this exporter writes, and Kineto does not */
	return marked || (events && first == '[' && (sniff_has(s, "\"ts\": \"") || sniff_has(s, "\"ts\":\"")))
	           ? SNIFF_CONTENT
	           : SNIFF_NO;
}

static int add_place(struct reading *r, const char *key, size_t len, uint32_t *out_id)
{
	uint32_t id;
	int rc = sb_strings_add(r->keys, key, len, &id);

	if (rc != SB_OK)
		return rc;
	while (r->place_count <= id) {
		if (sb_grow(&r->places, r->place_count, sizeof(*r->places)) != SB_OK)
			return SB_ENOMEM;
		r->places[r->place_count++] = (struct place){.lane = NO_LANE, .device = -1};
	}
	*out_id = id;
	return SB_OK;
}

static size_t part_len(const struct chrome_text *t)
{
	return t->len < KEY_PART_MAX ? t->len : KEY_PART_MAX;
}

/* pid, NUL, tid. */
static size_t make_key(const struct chrome_event *e, char *out)
{
	size_t a = part_len(&e->pid), b = part_len(&e->tid);

	memcpy(out, e->pid.text, a);
	out[a] = '\0';
	memcpy(out + a + 1, e->tid.text, b);
	return a + 1 + b;
}

static int new_lane(struct reading *r, const struct chrome_event *e, uint32_t both, uint32_t *out_lane)
{
	struct sb_strings *strings = r->cap->trace.strings;
	struct lane lane = {.device = -1};
	struct lane_keys keys = {.both = both};
	int rc = add_place(r, e->pid.text, part_len(&e->pid), &keys.pid);

	if (rc == SB_OK)
		rc = sb_strings_add(strings, e->pid.text, part_len(&e->pid), &lane.process);
	if (rc == SB_OK)
		rc = sb_strings_add(strings, e->tid.text, part_len(&e->tid), &lane.thread);
	if (rc == SB_OK)
		rc = sb_grow(&r->lanes, r->cap->trace.lane_count, sizeof(*r->lanes));
	if (rc == SB_OK)
		rc = trace_add_lane(&r->cap->trace, &lane, out_lane);
	if (rc == SB_OK)
		r->lanes[*out_lane] = keys;
	return rc;
}

static int lane_of(struct reading *r, const struct chrome_event *e, uint32_t *out_lane)
{
	char key[2 * KEY_PART_MAX + 1];
	size_t len = make_key(e, key);
	uint32_t id;
	int rc;

	if (r->last_len == len && memcmp(key, r->last, len) == 0) {
		*out_lane = r->last_lane;
		return SB_OK;
	}
	rc = add_place(r, key, len, &id);
	if (rc != SB_OK)
		return rc;
	if (r->places[id].lane == NO_LANE) {
		uint32_t lane;

		rc = new_lane(r, e, id, &lane);
		if (rc != SB_OK)
			return rc;
		r->places[id].lane = lane;
	}
	memcpy(r->last, key, len);
	r->last_len = len;
	*out_lane = r->last_lane = r->places[id].lane;
	return SB_OK;
}

/* "NPU 3" names the device; "NPU" does not. */
static int32_t device_of(const struct chrome_text *labels)
{
	int64_t v;

	if (labels->len < 5 || memcmp(labels->text, "NPU ", 4) != 0 ||
	    sb_parse_int(labels->text + 4, labels->len - 4, &v) != SB_OK || v < 0 || v > INT32_MAX)
		return -1;
	return (int32_t)v;
}

static int read_metadata(struct reading *r, const struct chrome_event *e)
{
	const struct chrome_text *name = &e->args[ARG_NAME];
	char key[2 * KEY_PART_MAX + 1];
	size_t len = make_key(e, key);
	bool process = chrome_is(&e->name, "process_name"), thread = chrome_is(&e->name, "thread_name");
	uint32_t id;
	int rc;

	if (!process && !thread && !chrome_is(&e->name, "process_labels"))
		return SB_OK;
	rc = add_place(r, key, thread ? len : part_len(&e->pid), &id);
	if (rc != SB_OK)
		return rc;
	if (!process && !thread)
		r->places[id].device = device_of(&e->args[ARG_LABELS]);
	else if (name->token == JPULL_STRING || name->token == JPULL_NUMBER)
		rc = sb_strings_add(r->cap->trace.strings, name->text, name->len, &r->places[id].name);
	return rc;
}

static int add_text(struct reading *r, const struct chrome_text *t, uint32_t *out_id)
{
	if (t->token != JPULL_STRING || chrome_is(t, "INVALID_TYPE") || chrome_is(t, "N/A"))
		return SB_OK;
	return sb_strings_add(r->cap->trace.strings, t->text, t->len, out_id);
}

static int add_detail(struct reading *r, const struct chrome_event *e, enum event_kind first)
{
	struct event_detail d = {.bytes = SB_NULL, .sequence = SB_NULL};
	int rc = SB_OK;

	switch (first) {
	case EVENT_HOST_OP: return call_stack_add(&r->cap->trace, &e->args[ARG_STACK]);
	case EVENT_KERNEL: rc = add_text(r, &e->args[ARG_TASK_TYPE], &d.type); break;
	case EVENT_MEMCPY:
		d.bytes = chrome_int(&e->args[ARG_DATA_SIZE]);
		rc = add_text(r, &e->args[ARG_DIRECTION], &d.type);
		break;
	case EVENT_COMMUNICATION_TASK:
		d.bytes = chrome_int(&e->args[ARG_SIZE]);
		/* the waits and records of a plane move nothing */
		if (d.bytes == 0)
			return SB_OK;
		rc = add_text(r, &e->args[ARG_LINK], &d.type);
		if (rc == SB_OK && d.type == 0)
			rc = add_text(r, &e->args[ARG_TRANSPORT], &d.type);
		break;
	case EVENT_COMMUNICATION:
		d.bytes = ascend_data_bytes(chrome_int(&e->args[ARG_COUNT]), e->args[ARG_DATA_TYPE].text);
		rc = ascend_collective(r->cap->trace.strings, e->name.text, &d);
		break;
	default: return SB_OK;
	}
	if (d.bytes < 0)
		d.bytes = SB_NULL;
	if (rc != SB_OK || (d.type == 0 && d.group == 0 && d.bytes == SB_NULL))
		return rc;
	return trace_append_detail(&r->cap->trace, &d);
}

static int add_step(struct reading *r, const struct chrome_event *e)
{
	/* the second one is msprof's */
	const char *mark = chrome_is(&e->cat, "Iteration Time") ? "Iteration " : "ProfilerStep#";
	size_t n = strlen(mark);
	struct step s = {.start_ns = e->ts_ns, .dur_ns = e->dur_ns};

	if (e->name.len <= n || memcmp(e->name.text, mark, n) != 0 ||
	    sb_parse_int(e->name.text + n, e->name.len - n, &s.number) != SB_OK || s.number < 0)
		return SB_OK;
	if (sb_grow(&r->cap->steps, r->cap->step_count, sizeof(s)) != SB_OK)
		return SB_ENOMEM;
	r->cap->steps[r->cap->step_count++] = s;
	return SB_OK;
}

static int read_span(struct reading *r, const struct chrome_event *e)
{
	struct event v = {.start_ns = e->ts_ns, .dur_ns = e->dur_ns, .kind = ascend_first_kind(e)};
	int rc;

	if (e->ts != CHROME_TIME_OK || e->dur == CHROME_TIME_BAD) {
		chrome_warn(r->ctx, r->in, e, "bad_value",
		            "The time of an event cannot be used: the event is left out.");
		return SB_OK;
	}
	if (e->dur == CHROME_TIME_MISSING)
		chrome_warn(r->ctx, r->in, e, "missing_duration",
		            "An event without a duration counts as one of 0.");
	if (e->dur_ns < 0) {
		chrome_warn(r->ctx, r->in, e, "negative_duration",
		            "An event with a negative duration is left out.");
		return SB_OK;
	}
	v.link = chrome_int(&e->args[ARG_CONNECTION]);
	if (v.link <= 0 || v.link == NO_CONNECTION)
		v.link = -1;
	rc = sb_strings_add(r->cap->trace.strings, e->name.text, e->name.len, &v.name);
	if (rc == SB_OK)
		rc = lane_of(r, e, &v.lane);
	if (rc == SB_OK)
		rc = trace_append(&r->cap->trace, &v);
	if (rc == SB_OK)
		rc = add_detail(r, e, v.kind);
	clock_see(&r->range, v.start_ns, v.dur_ns, e->offset);
	return rc == SB_OK ? add_step(r, e) : rc;
}

static int read_counter(struct reading *r, const struct chrome_event *e)
{
	const struct chrome_text *v = &e->args[ARG_MHZ];
	double mhz;

	if (!chrome_is(&e->name, "AI Core Freq") || e->ts != CHROME_TIME_OK ||
	    sb_parse_double(v->text, v->len, &mhz) != SB_OK)
		return SB_OK;
	return capture_add_clock(r->cap, e->ts_ns, mhz, -1);
}

/* Names of lanes, and the final kinds. */
static int settle(struct reading *r)
{
	struct trace *t = &r->cap->trace;
	enum ascend_process *process = calloc(t->lane_count + 1, sizeof(*process));

	if (!process)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct lane_keys *keys = &r->lanes[i];
		const struct place *pid = &r->places[keys->pid], *both = &r->places[keys->both];

		if (pid->name) {
			t->lanes[i].process = pid->name;
			process[i] = ascend_process_of(trace_text(t, pid->name, NULL));
		}
		if (both->name)
			t->lanes[i].thread = both->name;
		if (process[i] != ASCEND_PROCESS_HOST && process[i] != ASCEND_PROCESS_CANN)
			t->lanes[i].device = pid->device;
	}
	for (size_t i = 0; i < t->count; i++) {
		uint32_t lane = t->lane[i];

		t->kind[i] =
		    (uint8_t)ascend_final_kind((enum event_kind)t->kind[i], trace_text(t, t->name[i], NULL),
		                               process[lane], trace_text(t, t->lanes[lane].thread, NULL));
	}
	free(process);
	return SB_OK;
}

/* The args of host events are call stacks and shapes: long, and few of them are used. */
static bool skip_args(void *self, const struct chrome_event *e)
{
	(void)self;
	return e->cat.len > 0 && e->ph != 'M' && !call_stack_wanted(e->name.text, e->name.len);
}

static void settle_clock(struct reading *r)
{
	const struct clock_file f = {
	    .warnings = &r->ctx->profile->warnings, .path = r->in->path, .unit = CLOCK_BYTE};

	clock_settle(r->cap, &r->range, &f);
}

static int read_events(struct reading *r, struct sb_error *err)
{
	const struct chrome_options options = {.args = ASCEND_ARGS, .skip_args = skip_args};
	CHROME_AUTO c = NULL;
	const struct chrome_event *e;
	struct sb_error got = {.offset = -1};
	int rc;

	if (chrome_open(r->in, &r->ctx->profile->warnings, &options, &c) != SB_OK)
		return sb_no_memory(err);
	for (;;) {
		rc = chrome_next(c, &e, &got);
		if (rc != SB_OK || !e)
			break;
		if (e->ph == 'X')
			rc = read_span(r, e);
		else if (e->ph == 'M')
			rc = read_metadata(r, e);
		else if (e->ph == 'C')
			rc = read_counter(r, e);
		if (rc == SB_ELIMIT)
			return sb_fail_at(err, SB_EFORMAT, "too_many_events", r->in->path, 0, e->offset,
			                  "the trace holds too many events or names");
		if (rc != SB_OK)
			return sb_fail(err, rc, "no_memory", "out of memory");
	}
	r->cap->event_count = (int64_t)chrome_counts(c)->events;
	if (rc == SB_EFORMAT || chrome_counts(c)->cut)
		r->cap->cut |= CUT_TRACE;
	rc = ascend_json_end(r->ctx, r->in, rc, r->cap->trace.count > 0, &got, err);
	if (rc != SB_OK)
		return rc;
	if (settle(r) != SB_OK)
		return sb_no_memory(err);
	settle_clock(r);
	return SB_OK;
}

static void free_reading(struct reading *r)
{
	sb_strings_free(&r->keys);
	free(r->places);
	free(r->lanes);
}

static int read_trace(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(free_reading))) struct reading r = {.ctx = ctx, .in = in};
	int rc = ascend_capture(ctx, in, &r.cap, err);

	if (rc != SB_OK)
		return rc;
	if (sb_strings_new(&r.keys) != SB_OK)
		return sb_no_memory(err);
	return read_events(&r, err);
}

const struct format_reader ASCEND_TRACE_READER = {
    .name = "trace_view.json", .format = FORMAT_ASCEND_TEXT, .sniff = sniff, .read = read_trace};
