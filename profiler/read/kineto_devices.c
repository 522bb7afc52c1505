#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/read/kineto_impl.h"

/* What is known of a process, by the string id of its pid. */
struct process {
	enum { PROCESS_OTHER, PROCESS_HOST, PROCESS_DEVICE } kind;
	int32_t device;
	bool streams;     /* has threads named after streams: these are the work */
	bool operations;  /* has a thread "XLA Ops": on a TPU, that is the work */
	bool all_streams; /* TensorFlow's "stream:all", a sum of the others */
};

/* "/device:GPU:3", also behind a task and before a stream; -1 when it is none. */
static int32_t device_number(const char *name)
{
	const char *p = strcasestr(name, "device:");
	size_t n;
	int64_t number;

	if (!p || strncasecmp(p + 7, "CPU", 3) == 0)
		return -1;
	p = strchr(p + 7, ':');
	n = p ? strspn(p + 1, "0123456789") : 0;
	if (n == 0 || n > 8 || sb_parse_int(p + 1, n, &number) != SB_OK)
		return -1;
	return (int32_t)number;
}

static struct process process_of(const char *name)
{
	struct process p = {.device = device_number(name)};

	if (p.device >= 0)
		p.kind = PROCESS_DEVICE;
	else if (strncasecmp(name, "/host:", 6) == 0 || strcasestr(name, "device:CPU"))
		p.kind = PROCESS_HOST;
	p.streams = p.kind == PROCESS_DEVICE && strcasestr(name, "/stream:");
	p.all_streams = p.streams && strcasestr(name, "/stream:all");
	return p;
}

static bool starts(const char *text, const char *with)
{
	return strncasecmp(text, with, strlen(with)) == 0;
}

/* Views that the exporters derive from the streams: the same time once more. */
static bool derived(const char *thread)
{
	static const char *const NAMES[] = {
	    "Steps",         "XLA Modules",          "XLA Ops",        "XLA TraceMe",
	    "Async XLA Ops", "XLA Async Ops",        "TensorFlow Ops", "TensorFlow Name Scope",
	    "Framework Ops", "Framework Name Scope", "Source",         "Launch Stats"};

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (starts(thread, NAMES[i]))
			return true;
	return false;
}

static const char *thread_name(const struct kineto *k, const struct lane *l)
{
	uint32_t name = l->thread;

	(void)id_map_get(&k->lanes.names, (struct id_key){l->process, l->thread, true}, &name);
	return sb_strings_get(k->trace.strings, name, NULL);
}

static bool is_work(const struct process *p, const char *thread)
{
	if (p->all_streams)
		return false;
	if (p->streams)
		return strcasestr(thread, "stream") || !derived(thread);
	return p->operations ? starts(thread, "XLA Ops") : !derived(thread);
}

/* By the names of CUPTI's records and of XLA's operations. */
static int work_kind(struct kineto *k, uint32_t name, uint8_t *out)
{
	static const char *const COLLECTIVES[] = {"all-reduce", "all-gather",           "reduce-scatter",
	                                          "all-to-all", "collective-permute",   "send",
	                                          "recv",       "collective-broadcast", "ragged-all-to-all"};
	const char *text = sb_strings_get(k->trace.strings, name, NULL);
	bool collective = false;
	int rc = kineto_is_collective(k, text, name, &collective);

	for (size_t i = 0; i < sizeof(COLLECTIVES) / sizeof(COLLECTIVES[0]); i++)
		collective = collective || starts(text, COLLECTIVES[i]);
	*out = collective               ? EVENT_COMMUNICATION
	       : starts(text, "memcpy") ? EVENT_MEMCPY
	       : starts(text, "memset") ? EVENT_MEMSET
	                                : EVENT_KERNEL;
	return rc;
}

static int settle_event(struct kineto *k, const struct process *p, bool work, size_t i)
{
	struct trace *t = &k->trace;

	if (t->kind[i] != EVENT_OTHER)
		return SB_OK;
	if (p->kind == PROCESS_HOST) {
		t->kind[i] = t->link[i] >= 0 ? EVENT_HOST_RUNTIME : EVENT_HOST_OP;
	} else if (p->kind == PROCESS_DEVICE) {
		t->kind[i] = EVENT_DEVICE_ANNOTATION;
		return work ? work_kind(k, t->name[i], &t->kind[i]) : SB_OK;
	}
	return SB_OK;
}

static bool learn(const struct kineto *k, struct process *processes)
{
	bool any = false;

	for (size_t i = 0; i < k->trace.lane_count; i++) {
		const struct lane *l = &k->trace.lanes[i];
		struct process *p = &processes[l->process];
		uint32_t name = 0;

		if (p->kind == PROCESS_OTHER &&
		    id_map_get(&k->lanes.names, (struct id_key){l->process, 0, false}, &name))
			*p = process_of(sb_strings_get(k->trace.strings, name, NULL));
		if (p->kind != PROCESS_DEVICE)
			continue;
		any = true;
		p->streams = p->streams || starts(thread_name(k, l), "stream");
		p->operations = p->operations || starts(thread_name(k, l), "XLA Ops");
	}
	return any;
}

int kineto_devices(struct kineto *k)
{
	struct trace *t = &k->trace;
	struct process *processes = calloc(sb_strings_count(t->strings) + 1, sizeof(*processes));
	bool *work = calloc(t->lane_count + 1, sizeof(*work));
	int rc = processes && work ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK && learn(k, processes)) {
		for (size_t i = 0; i < t->lane_count; i++) {
			const struct process *p = &processes[t->lanes[i].process];

			if (p->kind != PROCESS_DEVICE)
				continue;
			t->lanes[i].device = p->device;
			work[i] = is_work(p, thread_name(k, &t->lanes[i]));
		}
		for (size_t i = 0; i < t->count && rc == SB_OK; i++)
			rc = settle_event(k, &processes[t->lanes[t->lane[i]].process], work[t->lane[i]], i);
	}
	free(processes);
	free(work);
	return rc;
}
