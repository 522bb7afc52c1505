#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/activity.h"
#include "profiler/read/call_stack.h"
#include "profiler/read/kineto_impl.h"
#include "profiler/read/memory_rows.h"
#include "profiler/read/merge.h"

static const char *const WANTED[] = {
    [ARG_NAME] = "name",
    [ARG_CORRELATION] = "correlation",
    [ARG_DEVICE] = "device",
    [ARG_STREAM] = "stream",
    [ARG_BYTES] = "bytes",
    [ARG_MEMORY_BYTES] = "Bytes",
    [ARG_COPY_KIND] = "kind",
    [ARG_COLLECTIVE] = "Collective name",
    [ARG_DTYPE] = "dtype",
    [ARG_IN_ELEMENTS] = "In msg nelems",
    [ARG_OUT_ELEMENTS] = "Out msg nelems",
    [ARG_GROUP] = "Process Group Name",
    [ARG_RANKS] = "Process Group Ranks",
    [ARG_SEQUENCE] = "Seq",
    [ARG_COMMUNICATOR] = "Comms Id",
    [ARG_CORRELATION_ID] = "correlation_id",
    [ARG_STEP_NUMBER] = "step_num",
    [ARG_INPUT_DIMS] = "Input Dims",
    [ARG_INPUT_TYPE] = "Input type",
    [ARG_CONCRETE_INPUTS] = "Concrete Inputs",
    [ARG_BLOCKS] = "blocks per SM",
    [ARG_OCCUPANCY] = "est. achieved occupancy %",
    [ARG_STACK] = "Call stack",
    [ARG_ALLOCATED] = "Total Allocated",
    [ARG_RESERVED] = "Total Reserved",
    [ARG_DEVICE_TYPE] = "Device Type",
    [ARG_DEVICE_ID] = "Device Id",
    [ARG_ADDRESS] = "Addr",
    [ARG_RECORD] = "wait_on_cuda_event_record_corr_id",
    [ARG_RECORD_STREAM] = "wait_on_stream",
    [ARG_COUNT] = NULL,
};

static void kineto_free(struct kineto *k)
{
	trace_free(&k->trace);
	free(k->steps);
	free(k->works);
	free(k->fills);
	id_map_free(&k->fill_places);
	free(k->marks);
	free(k->pairs.marks);
	free(k->memory.items);
	free(k->head.capacities);
	id_map_free(&k->pairs.places);
	free(k->seen.slots);
	free(k->seen.latest);
	kineto_lanes_free(&k->lanes);
}

/* Most events are host operators and Python frames, whose long args nobody asks for. */
static bool skip_args(void *self, const struct chrome_event *e)
{
	enum event_kind kind;

	(void)self;
	if (e->cat.token == JPULL_END)
		return false;
	kind = kineto_category(e->cat.text, e->cat.len);
	if (kind == EVENT_HOST_OP)
		return !kineto_wants_shapes(e->name.text, e->name.len) &&
		       !call_stack_wanted(e->name.text, e->name.len);
	return kind != EVENT_HOST_RUNTIME && !kineto_on_device(kind) && !kineto_is_memory(e);
}

static int add_step(struct kineto *k, int64_t number)
{
	if (sb_grow(&k->steps, k->step_count, sizeof(*k->steps)) != SB_OK)
		return SB_ENOMEM;
	k->steps[k->step_count++] = (struct kineto_step){number, (uint32_t)k->trace.count};
	return SB_OK;
}

/* "ProfilerStep#12" on the host. The twin on the device row has the same name but only covers its kernels.
 * JAX and TensorFlow put the number into the args. */
static bool is_step(const struct chrome_event *e, enum event_kind kind, int64_t *out_number)
{
	static const char MARK[] = "ProfilerStep#";
	size_t n = sizeof(MARK) - 1;

	if (kineto_on_device(kind))
		return false;
	if (e->cat.token == JPULL_END && e->args[ARG_STEP_NUMBER].len > 0) {
		*out_number = chrome_int(&e->args[ARG_STEP_NUMBER]);
		return *out_number != SB_NULL;
	}
	return e->name.len > n && memcmp(e->name.text, MARK, n) == 0 &&
	       sb_parse_int(e->name.text + n, e->name.len - n, out_number) == SB_OK;
}

static int64_t duration(struct kineto *k, const struct chrome_event *e)
{
	if (e->ph == 'B')
		return -1;
	if (e->dur != CHROME_TIME_OK)
		jpull_note(&k->no_dur, e->offset);
	else if (e->dur_ns < 0)
		jpull_note(&k->negative_dur, e->offset);
	return e->dur == CHROME_TIME_OK && e->dur_ns > 0 ? e->dur_ns : 0;
}

int64_t kineto_correlation(const struct chrome_text *t)
{
	int64_t v = chrome_int(t);

	return v <= 0 || v == UINT32_MAX ? -1 : v;
}

static int64_t correlation_of(const struct chrome_event *e)
{
	const struct chrome_text *t = &e->args[ARG_CORRELATION];

	return kineto_correlation(t->len > 0 ? t : &e->args[ARG_CORRELATION_ID]);
}

static int describe(struct kineto *k, const struct chrome_event *e, struct event *span)
{
	int rc = sb_strings_add(k->trace.strings, e->name.text, e->name.len, &span->name);

	if (rc == SB_OK)
		rc = kineto_kind(k, e, span->name, &span->kind);
	if (rc == SB_OK)
		rc = kineto_lane(k, e, span->kind, &span->lane);
	/* what has no category is told by its process, whose name may come later */
	if (rc == SB_OK &&
	    (span->kind == EVENT_HOST_RUNTIME || kineto_on_device(span->kind) || e->cat.token == JPULL_END))
		span->link = correlation_of(e);
	return rc;
}

static int keep_span(struct kineto *k, const struct chrome_event *e, struct event *span)
{
	int64_t number;
	int rc = SB_OK;

	if (is_step(e, span->kind, &number)) {
		/* of old an operator like any other, which it is not */
		span->kind = EVENT_HOST_ANNOTATION;
		rc = add_step(k, number);
	}
	if (rc == SB_OK && e->ph == 'B')
		rc = kineto_mark(k, e, (uint32_t)k->trace.count);
	if (rc == SB_OK)
		rc = trace_append(&k->trace, span);
	if (rc == SB_OK && (span->kind != EVENT_OTHER || e->cat.token == JPULL_END))
		clock_see(&k->range, span->start_ns, span->dur_ns, e->offset);
	if (rc == SB_OK && span->kind == EVENT_HOST_OP)
		rc = kineto_work(k, e);
	if (rc == SB_OK && span->kind == EVENT_KERNEL)
		return kineto_fill(k, e, span);
	return rc == SB_OK ? kineto_detail(k, e, span->kind) : rc;
}

static int add_span(struct kineto *k, const struct chrome_event *e)
{
	struct event span = {.start_ns = e->ts_ns, .link = -1};
	bool repeated = false;
	int rc;

	if (e->ts != CHROME_TIME_OK) {
		jpull_note(&k->bad_ts, e->offset);
		return SB_OK;
	}
	span.dur_ns = duration(k, e);
	rc = describe(k, e, &span);
	if (rc == SB_OK)
		rc = kineto_repeated(k, &span, &repeated);
	if (rc == SB_OK && repeated) {
		jpull_note(&k->repeated, e->offset);
		return SB_OK;
	}
	return rc == SB_OK ? keep_span(k, e, &span) : rc;
}

static int add_event(struct kineto *k, const struct chrome_event *e)
{
	switch (e->ph) {
	case 'X':
	case 'B': return add_span(k, e);
	case 'E': return kineto_mark(k, e, KINETO_END);
	case 'M': return kineto_metadata(k, e);
	case 'i': return kineto_is_memory(e) ? kineto_memory(k, e) : SB_OK;
	case 'I':
	case 'R':
	case 's':
	case 't':
	case 'f':
	case 'C': break; /* instants, flows and counters are no spans */
	default: jpull_note(&k->skipped, e->offset); break;
	}
	return SB_OK;
}

#define CANCEL_EVERY 4096

static int read_events(struct kineto *k, struct stream *in, struct sb_error *err)
{
	struct chrome_options options = {.args = WANTED,
	                                 .lists = 1u << ARG_INPUT_DIMS | 1u << ARG_INPUT_TYPE |
	                                          1u << ARG_CONCRETE_INPUTS,
	                                 .self = k,
	                                 .skip_args = skip_args,
	                                 .member = kineto_member};
	CHROME_AUTO c = NULL;
	const struct chrome_event *e = NULL;
	int rc = chrome_open(in, &k->ctx->profile->warnings, &options, &c);

	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "There is no memory left to read the trace.");
	for (uint64_t n = 0;; n++) {
		rc = chrome_next(c, &e, err);
		k->event_count = (int64_t)n;
		if (rc != SB_OK || !e)
			return rc;
		if (n % CANCEL_EVERY == 0 && read_canceled(k->ctx->hooks))
			return sb_fail(err, SB_ECANCELED, "canceled", "Reading was canceled.");
		rc = add_event(k, e);
		if (rc != SB_OK)
			return sb_fail_at(err, rc, rc == SB_ELIMIT ? "too_many_events" : "no_memory", k->path,
			                  0, e->offset, "The events do not fit into memory: %s.",
			                  sb_strerror(rc));
	}
}

/* The base may stand behind the events. */
static void add_base(struct kineto *k)
{
	int64_t base = k->head.base_ns;

	for (size_t i = 0; base != 0 && i < k->trace.count; i++)
		k->trace.start_ns[i] = sb_add_sat(k->trace.start_ns[i], base);
}

/* Steps and works follow their events. */
static void drop_steps(struct kineto *k, const struct clock_judge *j)
{
	size_t out = 0, step = 0, kept = 0, work = 0, works = 0;

	for (size_t i = 0; i < k->trace.count; i++) {
		bool event_out = clock_event_is_out(j, &k->trace, i);

		for (; step < k->step_count && k->steps[step].event == i; step++)
			if (!event_out)
				k->steps[kept++] =
				    (struct kineto_step){k->steps[step].number, (uint32_t)(i - out)};
		for (; work < k->work_count && k->works[work].event == i; work++) {
			if (event_out)
				continue;
			k->works[works] = k->works[work];
			k->works[works++].event = (uint32_t)(i - out);
		}
		out += event_out;
	}
	k->step_count = kept;
	k->work_count = works;
}

static void drop_jumps(struct kineto *k)
{
	const struct clock_file f = {
	    .warnings = &k->ctx->profile->warnings, .path = k->path, .unit = CLOCK_BYTE, .clamps = true};
	struct clock_judge j;

	if (!clock_judge_trace(&k->trace, &k->range, &f, &j))
		return;
	drop_steps(k, &j);
	clock_drop_events(&j, &k->trace);
}

/* What can be told only when all events are there. */
static int finish(struct kineto *k)
{
	int rc = kineto_join_marks(k);

	if (rc == SB_OK)
		rc = kineto_devices(k);
	if (rc != SB_OK)
		return rc;
	drop_jumps(k);
	kineto_close_spans(k);
	kineto_report_host_only(k);
	add_base(k);
	kineto_name_lanes(k);
	return SB_OK;
}

static int take_steps(const struct kineto *k, struct capture *c)
{
	c->steps = calloc(k->step_count + 1, sizeof(*c->steps));
	if (!c->steps)
		return SB_ENOMEM;
	for (size_t i = 0; i < k->step_count; i++)
		c->steps[i] = (struct step){k->steps[i].number, k->trace.start_ns[k->steps[i].event],
		                            k->trace.dur_ns[k->steps[i].event]};
	c->step_count = k->step_count;
	steps_sort(c->steps, c->step_count);
	return SB_OK;
}

static void guess_rank(struct kineto *k)
{
	if (k->head.rank != SB_NULL)
		return;
	k->head.rank = kineto_rank_of_name(k->path);
	k->head.rank_from = RANK_NAME;
	if (k->head.rank != SB_NULL)
		warnings_add(&k->ctx->profile->warnings, "rank_from_name", k->path, 0, -1,
		             "The trace does not tell its rank: %lld was taken from the file name.",
		             (long long)k->head.rank);
}

/* Hands everything over to the capture. */
static int deliver(struct kineto *k)
{
	struct capture *c = NULL;
	int rc = k->ctx->capture(k->ctx, k->path, FORMAT_KINETO, &c);

	if (rc != SB_OK)
		return rc;
	free(c->steps);
	rc = take_steps(k, c);
	if (rc == SB_OK)
		rc = kineto_take_memory(k, c);
	if (rc != SB_OK)
		return rc;
	trace_free(&c->trace);
	c->trace = k->trace;
	c->host_works = k->works;
	c->host_work_count = k->work_count;
	c->fills = k->fills;
	c->fill_count = k->fill_count;
	k->works = NULL;
	k->fills = NULL;
	c->rank = k->head.rank;
	c->rank_from = k->head.rank_from;
	c->world_size = k->head.world_size;
	c->event_count = k->event_count;
	memcpy(c->chip, k->head.chip, sizeof(c->chip));
	k->trace = (struct trace){0};
	/* puts the series in order of their texts, which are the trace's */
	memory_finish(c);
	return SB_OK;
}

static int kineto_read(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(kineto_free))) struct kineto k = {
	    .ctx = ctx, .path = in->path, .head = {.rank = SB_NULL, .world_size = SB_NULL}};
	int rc = trace_init(&k.trace);

	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "There is no memory left to read the trace.");
	rc = read_events(&k, in, err);
	if (rc != SB_OK)
		return rc;
	kineto_report(&k);
	if (k.trace.count == 0)
		return sb_fail_at(err, SB_EFORMAT, "no_events", k.path, 0, -1,
		                  "The file is written like a trace, but holds no span (ph X) with a time.");
	guess_rank(&k);
	rc = finish(&k);
	if (rc == SB_OK)
		rc = deliver(&k);
	return rc == SB_OK
	           ? rc
	           : sb_fail(err, rc, "no_memory", "The trace could not be kept: %s.", sb_strerror(rc));
}

const struct format_reader KINETO_READER = {
    .name = "kineto trace", .format = FORMAT_KINETO, .sniff = kineto_sniff, .read = kineto_read};
