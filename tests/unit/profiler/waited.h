#ifndef SB_TESTS_UNIT_PROFILER_WAITED_H
#define SB_TESTS_UNIT_PROFILER_WAITED_H
#include "tests/unit/profiler/replayed.h"

#include "profiler/event_waits.h"

/* Jobs whose streams wait for events, as CUPTI's rows tell of them. Times in us. */

/* Calls get links of their own, below those of launched(). */
static inline int64_t call_link(const struct capture *c)
{
	return 1000000 + (int64_t)c->trace.count;
}

/* A call of 1 us that records an event; returns its link. */
static inline int64_t recorded(struct capture *c, int64_t at)
{
	int64_t link = call_link(c);

	add_event(c, MAIN, EVENT_HOST_RUNTIME, "cudaEventRecord", at * US, 1 * US, link);
	return link;
}

static inline void add_wait(struct capture *c, uint32_t lane, const char *name, int64_t at, int64_t dur,
                            int64_t link, const char *stream, int64_t record)
{
	struct event_detail d = {
	    .group = stream ? text_id(c, stream) : 0, .bytes = SB_NULL, .sequence = record};

	add_event(c, lane, EVENT_DEVICE_WAIT, name, at * US, dur * US, link);
	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
}

/* A call of 1 us that makes the stream of `lane` wait for what the call `record` recorded on another one. */
static inline void waits(struct capture *c, int64_t at, uint32_t lane, const char *stream, int64_t record)
{
	int64_t link = call_link(c);

	add_event(c, MAIN, EVENT_HOST_RUNTIME, "cudaStreamWaitEvent", at * US, 1 * US, link);
	add_wait(c, lane, "Stream Wait Event", at, 1, link, stream, record);
}

/* A call with which the host waits for the event; returns its event. */
static inline uint32_t host_waits(struct capture *c, int64_t at, int64_t dur, const char *stream,
                                  int64_t record)
{
	int64_t link = call_link(c);
	uint32_t call = (uint32_t)c->trace.count;

	add_event(c, MAIN, EVENT_HOST_RUNTIME, "cudaEventSynchronize", at * US, dur * US, link);
	add_wait(c, COMPUTE, "Event Sync", at, dur, link, stream, record);
	return call;
}

/* A kernel on any stream. */
static inline uint32_t kernel(struct capture *c, int64_t launch, uint32_t lane, const char *name,
                              int64_t start, int64_t dur)
{
	return launched_from(c, MAIN, launch, lane, EVENT_KERNEL, name, start, dur);
}
static inline void find_waits(const struct capture *c, struct event_waits *out)
{
	LAUNCHES_AUTO launches = {0};

	assert_int_equal(launches_build(&c->trace, &launches), SB_OK);
	assert_int_equal(event_waits_build(&c->trace, &launches, out), SB_OK);
}

#endif
