#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/replay/graph.h"

/* The clocks of host and device differ by tens of us at most (ascend-formats, 1.12). */
#define SHIFT_MAX_NS 1000000

enum name_class { NAME_UNSEEN, NAME_OTHER, NAME_BLOCKING, NAME_STREAM_WAIT, NAME_ENQUEUE, NAME_DEQUEUE };

struct listing {
	const struct trace *t;
	const struct launches *launches;
	const struct event_waits *waits; /* by id */
	uint8_t *names;                  /* enum name_class, by text */
	uint64_t *used;                  /* a bit an event: a launch of device work */
	uint64_t *through;               /* … that lasted until its work was over */
	size_t first;                    /* of the host's events; SIZE_MAX = none */
	struct replay_entries *out;
};

static bool has_bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static enum name_class name_class_of(const char *name)
{
	static const char *const blocking[] = {"DeviceSynchronize", "StreamSynchronize", "EventSynchronize",
	                                       "CtxSynchronize",    "SynchronizeStream", "SynchronizeDevice",
	                                       "SynchronizeEvent"};
	static const char *const whole[] = {
	    "aten::item", "aten::_local_scalar_dense", "cudaMemcpy", "cudaMemcpy2D", "cudaFree", "hipMemcpy",
	    "hipFree",    "AscendCL@aclrtMemcpy"};

	for (size_t i = 0; i < sizeof(blocking) / sizeof(blocking[0]); i++)
		if (strstr(name, blocking[i]))
			return NAME_BLOCKING;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (strcmp(name, whole[i]) == 0)
			return NAME_BLOCKING;
	if (strstr(name, "StreamWaitEvent"))
		return NAME_STREAM_WAIT;
	if (strncmp(name, "Enqueue", 7) == 0)
		return NAME_ENQUEUE;
	return strncmp(name, "Dequeue", 7) == 0 ? NAME_DEQUEUE : NAME_OTHER;
}

static enum name_class class_of(struct listing *l, size_t event)
{
	uint8_t *known = &l->names[l->t->name[event]];

	if (*known == NAME_UNSEEN)
		*known = (uint8_t)name_class_of(trace_text(l->t, l->t->name[event], NULL));
	return (enum name_class) * known;
}

static enum node_kind kind_of(uint8_t kind)
{
	return kind == EVENT_KERNEL          ? NODE_COMPUTE
	       : kind == EVENT_COMMUNICATION ? NODE_COMMUNICATION
	                                     : NODE_COPY;
}

static int64_t start_of(const struct listing *l, size_t event)
{
	return interval_bound(l->t->start_ns[event]);
}

static int64_t end_of(const struct listing *l, size_t event)
{
	return interval_end(l->t->start_ns[event], l->t->dur_ns[event]);
}

/* Did the call wait for the work that it launched? A copy from memory that is not pinned, or a kernel when
 * launches are made to block. A short kernel may be over before its launch returns without that. */
static bool lasts_through(const struct listing *l, size_t call, size_t work)
{
	const struct trace *t = l->t;

	return end_of(l, work) <= end_of(l, call) &&
	       (kind_of(t->kind[work]) == NODE_COPY || t->dur_ns[work] >= t->dur_ns[call] / 5 * 4);
}

/* Marks the launches of device work, and how far host times must go back for all of them to come first. */
static size_t mark_launches(struct listing *l)
{
	const struct trace *t = l->t;
	size_t work = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct launch *by;

		if (!event_is_device_work(t->kind[i]))
			continue;
		work++;
		by = launches_find(l->launches, t->link[i]);
		if (!by)
			continue;
		int64_t early = start_of(l, by->event) - start_of(l, i);

		if (early > l->out->host_shift && early <= SHIFT_MAX_NS)
			l->out->host_shift = early;
		set_bit(l->used, by->event);
		if (lasts_through(l, by->event, i))
			set_bit(l->through, by->event);
	}
	return work;
}

static int add(struct listing *l, int64_t at, size_t event, enum node_kind kind, enum entry_what what)
{
	struct replay_entries *e = l->out;

	if (sb_grow(&e->items, e->count, sizeof(*e->items)) != SB_OK)
		return SB_ENOMEM;
	if (kind == NODE_HOST)
		at -= e->host_shift;
	e->items[e->count++] = (struct replay_entry){at, (uint32_t)event, (uint8_t)kind, (uint8_t)what};
	return SB_OK;
}

static int add_stream_wait(struct listing *l, size_t event)
{
	struct replay_entries *e = l->out;
	size_t known;

	/* what waits is known by its id */
	if (event_waits_of(l->waits, (uint32_t)event, &known))
		return SB_OK;
	if (sb_grow(&e->waits, e->wait_count, sizeof(*e->waits)) != SB_OK)
		return SB_ENOMEM;
	e->waits[e->wait_count++] = start_of(l, event) - e->host_shift;
	return SB_OK;
}

static int add_host(struct listing *l, size_t i)
{
	const struct trace *t = l->t;
	enum name_class class = class_of(l, i);
	bool launch = has_bit(l->used, i);
	bool blocked = class == NAME_BLOCKING || t->kind[i] == EVENT_HOST_WAIT;
	int rc = SB_OK;

	/* a Python frame of that name is no call */
	if (t->kind[i] == EVENT_HOST_PYTHON || t->kind[i] == EVENT_HOST_ANNOTATION)
		return SB_OK;
	if (launch) {
		rc = add(l, start_of(l, i), i, NODE_HOST, ENTRY_LAUNCH);
		blocked = blocked || has_bit(l->through, i);
	}
	if (rc == SB_OK && blocked)
		rc = add(l, end_of(l, i), i, NODE_HOST, ENTRY_BLOCKED);
	if (rc == SB_OK && class == NAME_STREAM_WAIT)
		rc = add_stream_wait(l, i);
	if (rc == SB_OK && t->kind[i] == EVENT_HOST_QUEUE && class == NAME_ENQUEUE)
		rc = add(l, start_of(l, i), i, NODE_HOST, ENTRY_HAND_OVER);
	if (rc == SB_OK && t->kind[i] == EVENT_HOST_QUEUE && class == NAME_DEQUEUE)
		rc = add(l, start_of(l, i), i, NODE_HOST, ENTRY_TASK);
	return rc;
}

static int list_events(struct listing *l, size_t most, bool *out_fits)
{
	const struct trace *t = l->t;
	int rc = SB_OK;

	*out_fits = mark_launches(l) <= most;
	l->first = SIZE_MAX;
	for (size_t i = 0; i < t->count && rc == SB_OK && *out_fits; i++) {
		bool host = t->kind[i] >= EVENT_HOST_OP && t->kind[i] <= EVENT_HOST_GARBAGE;

		if (event_is_device_work(t->kind[i]))
			rc = add(l, start_of(l, i), i, kind_of(t->kind[i]), ENTRY_WORK);
		else if (host && t->kind[i] != EVENT_HOST_GARBAGE)
			rc = add_host(l, i);
		/* frames of Python may have begun long before anybody looked */
		if (host && t->kind[i] != EVENT_HOST_PYTHON &&
		    (l->first == SIZE_MAX || t->start_ns[i] < t->start_ns[l->first]))
			l->first = i;
		*out_fits = l->out->count < most;
	}
	if (rc == SB_OK && l->first != SIZE_MAX)
		rc = add(l, start_of(l, l->first), l->first, NODE_HOST, ENTRY_BEGIN);
	return rc;
}

static int list_rows(const struct capture *c, size_t most, struct replay_entries *out, bool *out_fits)
{
	*out_fits = c->kernel_count <= most;
	for (size_t i = 0; i < c->kernel_count && *out_fits; i++) {
		const struct kernel *k = &c->kernels[i];

		if (k->start_ns == SB_NULL || k->dur_ns < 0)
			continue;
		if (sb_grow(&out->items, out->count, sizeof(*out->items)) != SB_OK)
			return SB_ENOMEM;
		out->items[out->count++] =
		    (struct replay_entry){interval_bound(k->start_ns), (uint32_t)i,
		                          k->communication ? NODE_COMMUNICATION : NODE_COMPUTE, ENTRY_WORK};
	}
	return SB_OK;
}

/* By time; of equal times the host first, so that a launch comes before its work. */
static int by_time(const void *a, const void *b)
{
	const struct replay_entry *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if ((x->kind == NODE_HOST) != (y->kind == NODE_HOST))
		return x->kind == NODE_HOST ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static int by_start(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

static int list_timeline(const struct capture *c, const struct launches *launches,
                         const struct event_waits *waits, size_t most, struct replay_entries *out,
                         bool *out_fits)
{
	struct listing l = {.t = &c->trace, .launches = launches, .waits = waits, .out = out};
	int rc = SB_ENOMEM;

	l.names = calloc(sb_strings_count(c->trace.strings) + 1, 1);
	l.used = calloc(c->trace.count / 64 + 1, sizeof(*l.used));
	l.through = calloc(c->trace.count / 64 + 1, sizeof(*l.through));
	if (l.names && l.used && l.through)
		rc = list_events(&l, most, out_fits);
	free(l.names);
	free(l.used);
	free(l.through);
	return rc;
}

bool replay_from_timeline(const struct capture *c)
{
	for (size_t i = 0; i < c->trace.count; i++)
		if (event_is_device_work(c->trace.kind[i]))
			return true;
	return false;
}

void replay_entries_sort(struct replay_entries *e)
{
	if (e->count > 0)
		qsort(e->items, e->count, sizeof(*e->items), by_time);
}

int replay_entries(const struct capture *c, const struct launches *l, const struct event_waits *w,
                   size_t most, struct replay_entries *out, bool *out_fits)
{
	struct replay_entries e = {0};
	int rc = l ? list_timeline(c, l, w, most, &e, out_fits) : list_rows(c, most, &e, out_fits);

	if (rc != SB_OK || !*out_fits) {
		replay_entries_free(&e);
		return rc;
	}
	replay_entries_sort(&e);
	if (l)
		replay_full_queues(c, l, &e);
	if (e.wait_count > 0)
		qsort(e.waits, e.wait_count, sizeof(*e.waits), by_start);
	*out = e;
	return SB_OK;
}

void replay_entries_free(struct replay_entries *e)
{
	free(e->items);
	free(e->waits);
	*e = (struct replay_entries){0};
}
