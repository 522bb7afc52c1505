#include "profiler/activity.h"

#include <stdlib.h>

bool event_is_device_work(uint8_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION || kind == EVENT_MEMCPY ||
	       kind == EVENT_MEMSET;
}

int activity_add(struct activity *a, uint8_t kind, int64_t start_ns, int64_t dur_ns)
{
	int64_t start = interval_bound(start_ns), end = interval_end(start_ns, dur_ns);
	struct interval_set *set = &a->compute;

	if (kind == EVENT_COMMUNICATION || kind == EVENT_LANE_COMMUNICATION)
		set = &a->communication;
	else if (kind == EVENT_MEMCPY || kind == EVENT_MEMSET)
		set = &a->copy;
	if (a->first == SB_NULL || start < a->first)
		a->first = start;
	if (a->last == SB_NULL || end > a->last)
		a->last = end;
	return intervals_add(set, start, end);
}

void activity_normalise(struct activity *a)
{
	intervals_normalise(&a->compute);
	intervals_normalise(&a->communication);
	intervals_normalise(&a->copy);
}

void activity_free(struct activity *a)
{
	intervals_free(&a->compute);
	intervals_free(&a->communication);
	intervals_free(&a->copy);
}

static void present_sources(const struct capture *c, bool present[ASCEND_NOTHING])
{
	present[ASCEND_CSV] = c->step_trace_count > 0;
	for (size_t i = 0; i < c->trace.count && !present[ASCEND_LANE]; i++) {
		uint8_t kind = c->trace.kind[i];

		present[ASCEND_LANE] = kind == EVENT_LANE_COMPUTE || kind == EVENT_LANE_COMMUNICATION;
		present[ASCEND_DEVICE] =
		    present[ASCEND_DEVICE] || kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION;
	}
	/* msprof's step_trace has the reduces, but no compute beside them */
	for (size_t i = 0; i < c->kernel_count && !present[ASCEND_KERNELS]; i++)
		present[ASCEND_KERNELS] = c->kernels[i].origin != KERNEL_REDUCE;
}

static bool is_cut(const struct capture *c, size_t source)
{
	static const uint8_t FILES[ASCEND_NOTHING] = {[ASCEND_LANE] = CUT_TRACE,
	                                              [ASCEND_KERNELS] = CUT_KERNELS,
	                                              [ASCEND_CSV] = CUT_STEP_TRACES,
	                                              [ASCEND_DEVICE] = CUT_TRACE};

	return c->cut & FILES[source];
}

void ascend_source_order(const struct capture *c, enum ascend_source out[ASCEND_NOTHING])
{
	size_t n = 0;

	for (int cut = 0; cut < 2; cut++)
		for (size_t s = 0; s < ASCEND_NOTHING; s++)
			if (is_cut(c, s) == (cut == 1))
				out[n++] = (enum ascend_source)s;
}

enum ascend_source ascend_source_of(const struct capture *c)
{
	enum ascend_source order[ASCEND_NOTHING];
	bool present[ASCEND_NOTHING] = {false};

	present_sources(c, present);
	ascend_source_order(c, order);
	for (size_t i = 0; i < ASCEND_NOTHING; i++)
		if (present[order[i]])
			return order[i];
	return ASCEND_NOTHING;
}

static int add_kernels(const struct capture *c, int64_t from, int64_t to, struct activity *a)
{
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];
		int rc = SB_OK;

		if (k->start_ns >= from && k->start_ns < to)
			rc = activity_add(a, k->communication ? EVENT_COMMUNICATION : EVENT_KERNEL,
			                  k->start_ns, k->dur_ns);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static bool from_source(enum ascend_source source, uint8_t kind)
{
	if (source == ASCEND_LANE)
		return kind == EVENT_LANE_COMPUTE || kind == EVENT_LANE_COMMUNICATION;
	return kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION;
}

int ascend_activity(const struct capture *c, enum ascend_source source, int64_t from, int64_t to,
                    struct activity *out)
{
	ACTIVITY_AUTO a = ACTIVITY_NONE;
	int rc = SB_OK;

	if (source == ASCEND_KERNELS)
		rc = add_kernels(c, from, to, &a);
	for (size_t i = 0; rc == SB_OK && i < c->trace.count && source != ASCEND_KERNELS; i++) {
		const struct trace *t = &c->trace;

		if (from_source(source, t->kind[i]) && t->start_ns[i] >= from && t->start_ns[i] < to)
			rc = activity_add(&a, t->kind[i], t->start_ns[i], t->dur_ns[i]);
	}
	if (rc != SB_OK)
		return rc;
	activity_normalise(&a);
	*out = a;
	a = ACTIVITY_NONE;
	return SB_OK;
}
