#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Processes of the trace: the host's id times 1024 and a number for the kind, as the exporter builds them. */
enum { HOST_PID = 3100412, DEQUEUE_TID = 3100955 };
static const int64_t cann_pid = HOST_PID * INT64_C(1024) + 96;
static const int64_t device_pid = HOST_PID * INT64_C(1024) + 288;
static const int64_t frequency_pid = HOST_PID * INT64_C(1024) + 320;
static const int64_t link_pid = HOST_PID * INT64_C(1024) + 352;
static const int64_t memory_pid = HOST_PID * INT64_C(1024) + 416;
static const int64_t overlap_pid = HOST_PID * INT64_C(1024) + 608;

struct writer {
	struct out *out;
	const struct ascend_options *o;
	const struct ascend_rank *r;
	int64_t rows;
	bool msprof;   /* without the framework */
	bool old;      /* times as numbers */
	int64_t shift; /* ns between the epoch and the clock that the file counts by */
};

static void time_of(struct writer *w, int64_t ns)
{
	out_text(w->out, w->old ? "\"ts\": " : "\"ts\": \"");
	out_us(w->out, ns - w->shift);
	out_text(w->out, w->old ? "" : "\"");
}

static void row(struct writer *w)
{
	out_text(w->out, w->rows++ ? ", {" : "{");
}

static void span(struct writer *w, const char *name, int64_t pid, int64_t tid, int64_t start, int64_t dur)
{
	row(w);
	out_text(w->out, "\"ph\": \"X\", \"name\": ");
	out_json(w->out, name);
	out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", ", pid, tid);
	time_of(w, start);
	out_text(w->out, ", \"dur\": ");
	out_us(w->out, dur);
}

static void flow(struct writer *w, char ph, const char *cat, const char *name, int64_t id, bool text,
                 int64_t pid, int64_t tid, int64_t ts)
{
	if (w->msprof && cat[0] == 'a')
		return;
	row(w);
	out_fmt(w->out,
	        "\"ph\": \"%c\", \"bp\": \"e\", \"name\": \"%s\", \"id\": %s%" PRId64 "%s, \"pid\": %" PRId64
	        ", \"tid\": "
	        "%" PRId64 ", ",
	        ph, name, text ? "\"" : "", id, text ? "\"" : "", pid, tid);
	time_of(w, ts);
	out_fmt(w->out, ", \"cat\": \"%s\"}", cat);
}

static void python_span(struct writer *w, const char *name, const char *cat, int64_t tid, int64_t start,
                        int64_t dur)
{
	char text[96];

	if (w->msprof)
		return;
	/* MindSpore calls its operators otherwise, and its loader is another one */
	if (w->o->layout == ASCEND_MINDSPORE && strncmp(name, "enumerate(", 10) == 0) {
		name = "Dataset::DatasetIterator::GetNext";
	} else if (w->o->layout == ASCEND_MINDSPORE && strncmp(name, "aten::", 6) == 0 &&
	           strcmp(name, "aten::item") != 0) {
		snprintf(text, sizeof(text), "PynativeFramework::%.60s", name + 6);
		name = text;
	}
	span(w, name, HOST_PID, tid, start, dur);
	out_fmt(
	    w->out,
	    ", \"cat\": \"%s\", \"args\": {\"Sequence number\": -1, \"Fwd thread id\": 0, \"Input Dims\": "
	    "\"8192,4096;\\r\\n4096,4096\", \"Input type\": \"c10::BFloat16;\\r\\nc10::BFloat16\", \"Call "
	    "stack\": "
	    "\"train.py(141): training_step;\\r\\ntrain.py(57): <module>\"}}",
	    cat);
}

static void step_rows(struct writer *w)
{
	char name[40];

	for (int64_t i = 0; i < w->o->steps; i++) {
		const struct ascend_step *s = &w->r->steps[i];

		snprintf(name, sizeof(name), "ProfilerStep#%" PRId64, ASCEND_FIRST_STEP + i);
		python_span(w, name, "cpu_op", HOST_PID, s->start, s->end - s->start);
		python_span(w, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "cpu_op",
		            HOST_PID, s->start + 2000, s->load);
	}
}

static void queue_rows(struct writer *w, const char *op, int64_t id, int64_t at, int64_t launch)
{
	char name[80];

	if (w->msprof)
		return;
	span(w, "Enqueue", HOST_PID, HOST_PID, at, 1500);
	out_fmt(w->out, ", \"cat\": \"enqueue\", \"args\": {\"correlation_id\": %" PRId64 "}}", id);
	flow(w, 's', "async_task_queue", "enqueue_to_dequeue", id, false, HOST_PID, HOST_PID, at);
	snprintf(name, sizeof(name), "Dequeue@%.60s", op);
	span(w, name, HOST_PID, DEQUEUE_TID, launch - 800, 5800);
	out_fmt(w->out, ", \"cat\": \"dequeue\", \"args\": {\"correlation_id\": %" PRId64 "}}", id);
	flow(w, 'f', "async_task_queue", "enqueue_to_dequeue", id, false, HOST_PID, DEQUEUE_TID,
	     launch - 800);
}

static void cann_row(struct writer *w, const char *name, const char *level, const char *item, int64_t id,
                     int64_t start, int64_t dur)
{
	span(w, name, cann_pid, DEQUEUE_TID, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"Thread Id\": %d, \"Mode\": \"launch\", \"level\": \"%s\", \"id\": \"0\", "
	        "\"item_id\": ",
	        DEQUEUE_TID, level);
	out_json(w->out, item);
	out_fmt(w->out, ", \"connection_id\": %" PRId64 "}}", id);
}

static const char *task_type(const struct ascend_work *k)
{
	/* The exporter calls vector cores AI_CORE in this file. */
	return k->core[0] == 'A' && k->core[3] == 'V' ? "AI_CORE" : k->core;
}

static void kernel_rows(struct writer *w, int64_t index)
{
	const struct ascend_kernel *k = &w->r->kernels[index];
	const struct ascend_work *work = &ascend_works[k->work];
	char name[600];
	int64_t id = 900 + index;

	ascend_kernel_name(w->o, w->r, index, name, sizeof(name));
	python_span(w, k->first && w->o->name ? w->o->name : work->op, "cpu_op", HOST_PID, k->op, k->op_dur);
	queue_rows(w, work->op, id, k->op + 1000, k->launch);
	if (w->o->level > 0) {
		cann_row(w, "Node@launch", "node", name, id, k->launch, k->launch_dur);
		flow(w, 's', "HostToDevice", "HostToDevice", id, true, cann_pid, DEQUEUE_TID, k->launch);
		flow(w, 'f', "HostToDevice", "HostToDevice", id, true, device_pid, ASCEND_STREAM, k->start);
		if (k->sync)
			cann_row(w, "AscendCL@aclrtSynchronizeStreamWithTimeout", "acl", "0", id + 100000000,
			         k->op + k->op_dur, k->sync);
	}
	if (k->sync)
		python_span(w, "aten::item", "cpu_op", HOST_PID, k->op + k->op_dur, k->sync);
	flow(w, 's', "async_npu", "torch_to_npu", k->start, false, HOST_PID, HOST_PID, k->op);
	span(w, name, device_pid, ASCEND_STREAM, k->start, k->dur);
	out_fmt(w->out,
	        ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": %d, "
	        "\"Task Id\": "
	        "%" PRId64 ", \"Batch Id\": 0, \"Subtask Id\": 4294967295, \"connection_id\": %" PRId64 "}}",
	        task_type(work), ASCEND_STREAM, 11000 + index % 50000, id);
	flow(w, 'f', "async_npu", "torch_to_npu", k->start, false, device_pid, ASCEND_STREAM, k->start);
}

/* A task of a communication operator, on its plane and once more on the hardware's stream. */
static void plane_task(struct writer *w, const char *name, const char *hardware, int plane, int64_t start,
                       int64_t dur, int64_t bytes)
{
	span(w, name, link_pid, plane + 1, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"notify_id\": \"18446744073709551615\", \"stream id\": %d, \"task type\": "
	        "\"%s\", \"src "
	        "rank\": %" PRId64 ", \"dst rank\": %d, \"transport type\": \"%s\", \"size(Byte)\": %" PRId64
	        ", \"data "
	        "type\": "
	        "\"INVALID_TYPE\", \"link type\": \"%s\", \"bandwidth(GB/s)\": %.6f}}",
	        ASCEND_LINK_STREAM + plane, name, w->r->rank, (int)((w->r->rank + 1 + plane) % 8),
	        bytes ? "SDMA" : "LOCAL", bytes, bytes ? "HCCS" : "INVALID_TYPE",
	        bytes ? (double)bytes / (double)dur : 0.0);
	span(w, hardware, device_pid, ASCEND_LINK_STREAM + plane, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": %d, "
	        "\"Task Id\": "
	        "807, \"Batch Id\": 0, \"Subtask Id\": 0}}",
	        hardware, ASCEND_LINK_STREAM + plane);
}

static void plane_rows(struct writer *w, const struct ascend_link *l)
{
	bool send = l->kind[0] == 'r';
	int64_t at;

	if (l->wait)
		plane_task(w, "Notify_Wait", "Notify Wait", 0, l->start, l->wait, 0);
	for (int plane = 0; plane < (send ? 1 : 7); plane++) {
		at = l->start + l->wait;
		for (int p = 0; p < l->packet_kinds; p++) {
			int64_t each = l->packets[p].count / (send ? 1 : 7);

			for (int64_t i = 0; i < each; i++) {
				int64_t ns = l->packets[p].ns / l->packets[p].count;

				plane_task(w, "Memcpy", "SDMA", plane, at, ns, l->packets[p].bytes);
				at += ns;
			}
		}
	}
}

static void link_rows(struct writer *w, int64_t index)
{
	const struct ascend_link *l = &w->r->links[index];
	int64_t id = 500000000 + index;
	char name[80];

	python_span(w, l->kind[0] == 'r' ? "c10d::recv_" : "c10d::allreduce_", "cpu_op", HOST_PID, l->launch,
	            l->launch_dur);
	if (w->o->level > 0) {
		snprintf(name, sizeof(name), "hcom_%s_", l->kind);
		cann_row(w, "HcclOp@hcom", "hccl", name, id, l->launch, l->launch_dur);
		flow(w, 's', "HostToDevice", "HostToDevice", (id << 32) + 4294967295, true, cann_pid,
		     DEQUEUE_TID, l->launch);
		flow(w, 'f', "HostToDevice", "HostToDevice", (id << 32) + 4294967295, true, link_pid, 0,
		     l->start);
	}
	flow(w, 's', "async_npu", "torch_to_npu", l->start, false, HOST_PID, HOST_PID, l->launch);
	span(w, l->text, link_pid, 0, l->start, l->dur);
	out_fmt(w->out,
	        ", \"args\": {\"connection_id\": %" PRId64
	        ", \"model id\": 4294967295, \"data_type\": \"BFP16\", "
	        "\"alg_type\": \"MESH-RING\", \"count\": 20971520}}",
	        id);
	flow(w, 'f', "async_npu", "torch_to_npu", l->start, false, link_pid, 0, l->start);
	plane_rows(w, l);
}

static void lane(struct writer *w, const struct spans *s, const char *name, int tid)
{
	for (int64_t i = 0; i < s->count; i++) {
		span(w, name, overlap_pid, tid, s->items[i].start, s->items[i].end - s->items[i].start);
		out_text(w->out, "}");
	}
}

static void counter(struct writer *w, const char *name, int64_t ts, int64_t pid)
{
	row(w);
	out_fmt(w->out, "\"name\": \"%s\", ", name);
	time_of(w, ts);
	out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": 0, \"args\": {", pid);
}

static void counters(struct writer *w)
{
	int64_t end = w->r->host;
	int64_t i = 0;

	for (int64_t t = ascend_start_ns; t < end; t += 1000000, i++) {
		counter(w, "AI Core Freq", t, frequency_pid);
		out_text(w->out, "\"MHz\": 1800}, \"ph\": \"C\"}");
		counter(w, "APP/HBM", t, memory_pid);
		out_fmt(w->out, "\"KB\": %" PRId64 ".0}, \"ph\": \"C\"}", 40000000 + i % 16 * 1024);
	}
}

static void name_process(struct writer *w, int64_t pid, const char *name, const char *label, int sort)
{
	row(w);
	out_fmt(w->out,
	        "\"name\": \"process_name\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"name\": \"%s\"}, \"ph\": "
	        "\"M\"}",
	        pid, name);
	row(w);
	out_fmt(w->out,
	        "\"name\": \"process_labels\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"labels\": \"%s\"}, "
	        "\"ph\": \"M\"}",
	        pid, label);
	row(w);
	out_fmt(w->out,
	        "\"name\": \"process_sort_index\", \"pid\": %" PRId64
	        ", \"tid\": 0, \"args\": {\"sort_index\": %d}, "
	        "\"ph\": \"M\"}",
	        pid, sort);
}

static void name_thread(struct writer *w, int64_t pid, int64_t tid, const char *name)
{
	row(w);
	out_fmt(w->out,
	        "\"name\": \"thread_name\", \"pid\": %" PRId64 ", \"tid\": %" PRId64
	        ", \"args\": {\"name\": \"%s\"}, \"ph\": "
	        "\"M\"}",
	        pid, tid, name);
}

static void names(struct writer *w)
{
	static const char *const lanes[] = {"Computing", "Communication", "Communication(Not Overlapped)",
	                                    "Free"};
	char text[40];

	if (!w->msprof) {
		name_process(w, HOST_PID, w->o->layout == ASCEND_MINDSPORE ? "MindSpore" : "Python", "CPU",
		             0);
		name_thread(w, HOST_PID, HOST_PID, "Thread 3100412");
		name_thread(w, HOST_PID, DEQUEUE_TID, "Thread 3100955");
	}
	if (w->o->level > 0) {
		name_process(w, cann_pid, "CANN", "CPU", 7);
		name_thread(w, cann_pid, DEQUEUE_TID, "Thread 3100955");
	}
	name_process(w, device_pid, "Ascend Hardware", "NPU", 13);
	name_thread(w, device_pid, ASCEND_STREAM, "Stream 2");
	name_process(w, link_pid, w->o->level > 0 ? "Communication" : "HCCL", "NPU", 15);
	name_thread(w, link_pid, 0, "Group 0 Communication");
	for (int i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "Plane %d", i);
		name_thread(w, link_pid, i + 1, text);
		snprintf(text, sizeof(text), "Stream %d", ASCEND_LINK_STREAM + i);
		name_thread(w, device_pid, ASCEND_LINK_STREAM + i, text);
	}
	name_process(w, frequency_pid, "AI Core Freq", "NPU", 14);
	name_process(w, memory_pid, "NPU MEM", "NPU", 17);
	name_process(w, overlap_pid, "Overlap Analysis", "NPU", 23);
	for (int i = 0; i < 4; i++)
		name_thread(w, overlap_pid, i, lanes[i]);
}

static void write_rows(struct writer *w)
{
	const struct ascend_rank *r = w->r;

	out_text(w->out, "[");
	step_rows(w);
	for (int64_t i = 0; i < r->kernel_count; i++)
		kernel_rows(w, i);
	for (int64_t i = 0; i < r->link_count; i++)
		link_rows(w, i);
	lane(w, &r->computing, "Computing", 0);
	lane(w, &r->communication, "Communication", 1);
	lane(w, &r->exposed, w->old ? "Not OverLapped" : "Communication(Not Overlapped)", 2);
	lane(w, &r->gaps, "Free", 3);
	counters(w);
	/* The names come last, as they may: a reader has to cope. */
	names(w);
	out_text(w->out, "]");
}

void ascend_write_trace(const struct ascend_options *o, struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "trace_view.json", false);
	struct writer w = {.out = out, .o = o, .r = r};

	write_rows(&w);
	r->trace_events = w.rows;
}

int64_t ascend_write_msprof(const struct ascend_options *o, const struct ascend_rank *r, struct out *out,
                            bool old, int64_t shift)
{
	struct writer w = {.out = out, .o = o, .r = r, .msprof = true, .old = old, .shift = shift};

	write_rows(&w);
	return w.rows;
}
