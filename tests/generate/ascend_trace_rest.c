#include "tests/generate/ascend_trace.h"
#include <inttypes.h>
#include <stdio.h>

/* torch_npu alone records the collector. */
static bool shows_garbage(const struct trace_writer *w)
{
	return !w->msprof && w->o->layout != ASCEND_MINDSPORE;
}

static void call_row(struct trace_writer *w, int64_t index)
{
	const struct ascend_call *c = &w->r->calls[index];
	char name[80];

	if (c->kind == CALL_GARBAGE) {
		if (!shows_garbage(w))
			return;
		trace_span(w, "GC", GARBAGE_PID, HOST_PID, c->start, c->dur);
		out_text(w->out, ", \"cat\": \"GC\", \"args\": {}}");
		return;
	}
	if (w->o->level == 0)
		return;
	snprintf(name, sizeof(name), "AscendCL@%.60s", ascend_call_name(c));
	trace_cann(w, name, "acl", "0", 700000000 + index, c->kind == CALL_COMPILE ? DEQUEUE_TID : HOST_PID,
	           c->start, c->dur);
}

static void copy_row(struct trace_writer *w, int64_t index)
{
	const struct ascend_copy *c = &w->r->copies[index];

	if (w->o->level > 0)
		trace_cann(w, "AscendCL@aclrtMemcpyAsync", "acl", "0", 600000000 + index, HOST_PID, c->launch,
		           c->launch_dur);
	trace_span(w, "MEMCPY_ASYNC", DEVICE_PID, ASCEND_STREAM, c->start, c->dur);
	out_fmt(
	    w->out,
	    ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"MEMCPY_ASYNC\", \"Physic Stream Id\": "
	    "%d, \"Task Id\": %" PRId64 ", \"Batch Id\": 0, \"Subtask Id\": 4294967295, \"connection_id\": "
	    "%" PRId64 ", \"data size(Byte)\": %" PRId64
	    ", \"bandwidth(GB/s)\": %.6f, \"memcpy direction\": \"host to "
	    "device\"}}",
	    ASCEND_STREAM, 9000 + index, 600000000 + index, c->bytes, (double)c->bytes / (double)c->dur);
}

void trace_other_work(struct trace_writer *w)
{
	for (int64_t i = 0; i < w->r->call_count; i++)
		call_row(w, i);
	for (int64_t i = 0; i < w->r->copy_count; i++)
		copy_row(w, i);
}

static void counter(struct trace_writer *w, const char *name, int64_t ts, int64_t pid)
{
	trace_row(w);
	out_fmt(w->out, "\"name\": \"%s\", ", name);
	trace_time(w, ts);
	out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": 0, \"args\": {", pid);
}

void trace_counters(struct trace_writer *w)
{
	int64_t end = w->r->host;
	int64_t i = 0, base = w->o->faults.size[FAULT_ALLOCATION] > 0 ? 65200000 : 40000000;
	int mhz = ascend_megahertz(w->o, w->r);

	for (int64_t t = ascend_start_ns + w->r->shift; t < end; t += 1000000, i++) {
		counter(w, "AI Core Freq", t, FREQUENCY_PID);
		out_fmt(w->out, "\"MHz\": %d}, \"ph\": \"C\"}", mhz);
		counter(w, "APP/HBM", t, MEMORY_PID);
		out_fmt(w->out, "\"KB\": %" PRId64 ".0}, \"ph\": \"C\"}", base + i % 16 * 1024);
	}
}

static void name_process(struct trace_writer *w, int64_t pid, const char *name, const char *label, int sort)
{
	trace_row(w);
	out_fmt(w->out,
	        "\"name\": \"process_name\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"name\": \"%s\"}, \"ph\": "
	        "\"M\"}",
	        pid, name);
	trace_row(w);
	out_fmt(w->out,
	        "\"name\": \"process_labels\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"labels\": \"%s\"}, "
	        "\"ph\": \"M\"}",
	        pid, label);
	trace_row(w);
	out_fmt(w->out,
	        "\"name\": \"process_sort_index\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"sort_index\": %d}, "
	        "\"ph\": \"M\"}",
	        pid, sort);
}

static void name_thread(struct trace_writer *w, int64_t pid, int64_t tid, const char *name)
{
	trace_row(w);
	out_fmt(w->out,
	        "\"name\": \"thread_name\", \"pid\": %" PRId64 ", \"tid\": %" PRId64
	        ", \"args\": {\"name\": \"%s\"}, \"ph\": "
	        "\"M\"}",
	        pid, tid, name);
}

static void group_names(struct trace_writer *w, int group)
{
	int lane = group * ASCEND_LINK_LANES;
	char text[40];

	snprintf(text, sizeof(text), "Group %d Communication", group);
	name_thread(w, LINK_PID, lane, text);
	for (int i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "Plane %d", i);
		name_thread(w, LINK_PID, lane + i + 1, text);
		snprintf(text, sizeof(text), "Stream %d", ASCEND_LINK_STREAM + lane + i);
		name_thread(w, DEVICE_PID, ASCEND_LINK_STREAM + lane + i, text);
	}
}

void trace_names(struct trace_writer *w)
{
	static const char *const lanes[] = {"Computing", "Communication", "Communication(Not Overlapped)",
	                                    "Free"};

	if (!w->msprof) {
		name_process(w, HOST_PID, w->o->layout == ASCEND_MINDSPORE ? "MindSpore" : "Python", "CPU",
		             0);
		name_thread(w, HOST_PID, HOST_PID, "Thread 3100412");
		name_thread(w, HOST_PID, DEQUEUE_TID, "Thread 3100955");
	}
	if (w->o->level > 0) {
		name_process(w, CANN_PID, "CANN", "CPU", 7);
		name_thread(w, CANN_PID, DEQUEUE_TID, "Thread 3100955");
		name_thread(w, CANN_PID, HOST_PID, "Thread 3100412");
	}
	if (shows_garbage(w) && w->o->faults.given[FAULT_GARBAGE_COLLECTION]) {
		name_process(w, GARBAGE_PID, "Python GC", "CPU", 2);
		name_thread(w, GARBAGE_PID, HOST_PID, "Thread 3100412");
	}
	name_process(w, DEVICE_PID, "Ascend Hardware", "NPU", 13);
	name_thread(w, DEVICE_PID, ASCEND_STREAM, "Stream 2");
	name_process(w, LINK_PID, w->o->level > 0 ? "Communication" : "HCCL", "NPU", 15);
	group_names(w, 0);
	if (w->o->shape == ASCEND_EXPERTS)
		group_names(w, 1);
	name_process(w, FREQUENCY_PID, "AI Core Freq", "NPU", 14);
	name_process(w, MEMORY_PID, "NPU MEM", "NPU", 17);
	name_process(w, OVERLAP_PID, "Overlap Analysis", "NPU", 23);
	for (int i = 0; i < 4; i++)
		name_thread(w, OVERLAP_PID, i, lanes[i]);
}
