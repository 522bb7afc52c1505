#ifndef SB_TESTS_UNIT_PROFILER_REPLAYED_H
#define SB_TESTS_UNIT_PROFILER_REPLAYED_H
#include "tests/unit/profiler/fixture.h"

#include "profiler/replay.h"

/* Jobs made by hand, and what a replay makes of them. Times in us here. */

#define US INT64_C(1000)

static inline struct capture *gpu_rank(struct profile *p, int64_t rank)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, rank);

	add_lane(c, "python", "main", -1);  /* 0 */
	add_lane(c, "gpu", "stream 7", 0);  /* 1 */
	add_lane(c, "gpu", "stream 20", 0); /* 2 */
	add_lane(c, "python", "autograd", -1);
	return c;
}

enum { MAIN, COMPUTE, LINK, AUTOGRAD };

static inline uint32_t host(struct capture *c, uint32_t lane, const char *name, int64_t start, int64_t dur)
{
	add_event(c, lane, EVENT_HOST_RUNTIME, name, start * US, dur * US, -1);
	return (uint32_t)(c->trace.count - 1);
}

/* A launch call of 2 us and its work; returns the event of the work. */
static inline uint32_t launched_from(struct capture *c, uint32_t thread, int64_t launch, uint32_t lane,
                                     enum event_kind kind, const char *name, int64_t start, int64_t dur)
{
	int64_t link = (int64_t)c->trace.count + 1;

	add_event(c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", launch * US, 2 * US, link);
	add_event(c, lane, kind, name, start * US, dur * US, link);
	return (uint32_t)(c->trace.count - 1);
}

static inline uint32_t launched(struct capture *c, int64_t launch, uint32_t lane, int64_t start, int64_t dur)
{
	return launched_from(c, MAIN, launch, lane, lane == LINK ? EVENT_COMMUNICATION : EVENT_KERNEL,
	                     lane == LINK ? "ncclDevKernel_AllReduce" : "gemm", start, dur);
}

/* What the whole job takes with the changes, ns. */
static inline int64_t replayed(const struct profile *p, const struct relief *reliefs, size_t n,
                               struct replay_span *spans)
{
	REPLAY_AUTO g = NULL;
	struct replay_result r = {0}, plain = {0};

	assert_int_equal(replay_build(p, &g, NULL), SB_OK);
	assert_non_null(g);
	assert_int_equal(replay_run(g, NULL, 0, &plain, NULL, NULL), SB_OK);
	assert_int_equal(plain.replayed_ns, plain.measured_ns);
	assert_int_equal(replay_run(g, reliefs, n, &r, spans, NULL), SB_OK);
	assert_int_equal(r.measured_ns, plain.measured_ns);
	return r.replayed_ns;
}

/* The same with one change. */
static inline int64_t changed(const struct profile *p, enum relief_kind kind, uint32_t capture,
                              uint32_t index, double factor)
{
	const struct relief r = {kind, capture, index, (float)factor};

	return replayed(p, &r, 1, NULL);
}

/* Within one in two hundred: typical lags are kept to a sixteenth of a power of two. */
static inline void is_about(int64_t ns, int64_t us)
{
	int64_t off = ns > us * US ? ns - us * US : us * US - ns;

	if (off > us * US / 200)
		fail_msg("%lld ns is not about %lld us", (long long)ns, (long long)us);
}
#endif
