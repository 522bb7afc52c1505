#include "tests/generate/ascend_trace.h"
#include "tests/generate/stack.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void trace_time(struct trace_writer *w, int64_t ns)
{
	out_text(w->out, w->old ? "\"ts\": " : "\"ts\": \"");
	out_us(w->out, ns - w->shift);
	out_text(w->out, w->old ? "" : "\"");
}

void trace_row(struct trace_writer *w)
{
	out_text(w->out, w->rows++ ? ", {" : "{");
}

void trace_span(struct trace_writer *w, const char *name, int64_t pid, int64_t tid, int64_t start,
                int64_t dur)
{
	trace_row(w);
	out_text(w->out, "\"ph\": \"X\", \"name\": ");
	out_json(w->out, name);
	out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", ", pid, tid);
	trace_time(w, start);
	out_text(w->out, ", \"dur\": ");
	out_us(w->out, dur);
}

static void flow(struct trace_writer *w, char ph, const char *cat, const char *name, int64_t id, bool text,
                 int64_t pid, int64_t tid, int64_t ts)
{
	if (w->msprof && cat[0] == 'a')
		return;
	trace_row(w);
	out_fmt(w->out,
	        "\"ph\": \"%c\", \"bp\": \"e\", \"name\": \"%s\", \"id\": %s%" PRId64 "%s, \"pid\": %" PRId64
	        ", \"tid\": "
	        "%" PRId64 ", ",
	        ph, name, text ? "\"" : "", id, text ? "\"" : "", pid, tid);
	trace_time(w, ts);
	out_fmt(w->out, ", \"cat\": \"%s\"}", cat);
}

static void python_span(struct trace_writer *w, const char *name, const char *cat, int64_t tid, int64_t start,
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
	trace_span(w, name, HOST_PID, tid, start, dur);
	out_fmt(
	    w->out,
	    ", \"cat\": \"%s\", \"args\": {\"Sequence number\": -1, \"Fwd thread id\": 0, \"Input Dims\": "
	    "\"%s\", \"Input type\": \"c10::BFloat16;\\r\\nc10::BFloat16\", \"Call "
	    "stack\": \"%s\"}}",
	    cat, w->dims ? w->dims : "",
	    w->stack ? w->stack : "train.py(141): training_step;\\r\\ntrain.py(57): <module>");
}

static void step_rows(struct trace_writer *w)
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

static void queue_rows(struct trace_writer *w, const char *op, int64_t id, const struct ascend_kernel *k)
{
	char name[80];

	if (w->msprof)
		return;
	trace_span(w, "Enqueue", HOST_PID, HOST_PID, k->op + 1000, 1500);
	out_fmt(w->out, ", \"cat\": \"enqueue\", \"args\": {\"correlation_id\": %" PRId64 "}}", id);
	flow(w, 's', "async_task_queue", "enqueue_to_dequeue", id, false, HOST_PID, HOST_PID, k->op + 1000);
	snprintf(name, sizeof(name), "Dequeue@%.60s", op);
	trace_span(w, name, HOST_PID, DEQUEUE_TID, k->task, k->task_dur);
	out_fmt(w->out, ", \"cat\": \"dequeue\", \"args\": {\"correlation_id\": %" PRId64 "}}", id);
	flow(w, 'f', "async_task_queue", "enqueue_to_dequeue", id, false, HOST_PID, DEQUEUE_TID, k->task);
}

void trace_cann(struct trace_writer *w, const char *name, const char *level, const char *item, int64_t id,
                int64_t tid, int64_t start, int64_t dur)
{
	trace_span(w, name, CANN_PID, tid, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"Thread Id\": %" PRId64
	        ", \"Mode\": \"launch\", \"level\": \"%s\", \"id\": \"0\", "
	        "\"item_id\": ",
	        tid, level);
	out_json(w->out, item);
	out_fmt(w->out, ", \"connection_id\": %" PRId64 "}}", id);
}

static const char *task_type(const struct ascend_work *k)
{
	/* The exporter calls vector cores AI_CORE in this file. */
	return k->core[0] == 'A' && k->core[3] == 'V' ? "AI_CORE" : k->core;
}

static void kernel_rows(struct trace_writer *w, int64_t index)
{
	const struct ascend_kernel *k = &w->r->kernels[index];
	const struct ascend_work *work = &ascend_works[k->work];
	char name[600], dims[500], stack[400];
	int64_t id = 900 + index;

	ascend_kernel_name(w->o, w->r, index, name, sizeof(name));
	ascend_dims(w->o, k, "\\r\\n", dims, sizeof(dims));
	w->dims = dims;
	python_span(w, k->first && w->o->name ? w->o->name : work->op, "cpu_op", HOST_PID, k->op, k->op_dur);
	w->dims = NULL;
	queue_rows(w, work->op, id, k);
	if (w->o->level > 0) {
		trace_cann(w, "Node@launch", "node", name, id, DEQUEUE_TID, k->launch, k->launch_dur);
		flow(w, 's', "HostToDevice", "HostToDevice", id, true, CANN_PID, DEQUEUE_TID, k->launch);
		flow(w, 'f', "HostToDevice", "HostToDevice", id, true, DEVICE_PID, ASCEND_STREAM, k->start);
		if (k->sync)
			trace_cann(w, "AscendCL@aclrtSynchronizeStreamWithTimeout", "acl", "0",
			           id + 100000000, HOST_PID, k->sync_start, k->sync);
	}
	if (k->sync) {
		stack_text(k->loss, ";\\r\\n", stack, sizeof(stack));
		w->stack = stack;
		python_span(w, "aten::item", "cpu_op", HOST_PID, k->sync_start, k->sync);
		w->stack = NULL;
	}
	flow(w, 's', "async_npu", "torch_to_npu", k->start, false, HOST_PID, HOST_PID, k->op);
	trace_span(w, name, DEVICE_PID, ASCEND_STREAM, k->start, k->dur);
	out_fmt(w->out,
	        ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": %d, "
	        "\"Task Id\": "
	        "%" PRId64 ", \"Batch Id\": 0, \"Subtask Id\": 4294967295, \"connection_id\": %" PRId64 "}}",
	        task_type(work), ASCEND_STREAM, 11000 + index % 50000, id);
	flow(w, 'f', "async_npu", "torch_to_npu", k->start, false, DEVICE_PID, ASCEND_STREAM, k->start);
}

/* A task of a communication operator, on its plane and once more on the hardware's stream. */
static void plane_task(struct trace_writer *w, const struct ascend_link *l, const char *name,
                       const char *hardware, int plane, int64_t start, int64_t dur, int64_t bytes)
{
	int64_t lane = (l->experts ? ASCEND_LINK_LANES : 0) + plane;

	trace_span(w, name, LINK_PID, lane + 1, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"notify_id\": \"18446744073709551615\", \"stream id\": %" PRId64
	        ", \"task type\": "
	        "\"%s\", \"src "
	        "rank\": %" PRId64 ", \"dst rank\": %d, \"transport type\": \"%s\", \"size(Byte)\": %" PRId64
	        ", \"data "
	        "type\": "
	        "\"INVALID_TYPE\", \"link type\": \"%s\", \"bandwidth(GB/s)\": %.6f}}",
	        ASCEND_LINK_STREAM + lane, name, w->r->rank, (int)((w->r->rank + 1 + plane) % 8),
	        bytes ? l->rdma ? "RDMA" : "SDMA" : "LOCAL", bytes,
	        bytes ? l->rdma ? "ROCE" : "HCCS" : "INVALID_TYPE",
	        bytes ? (double)bytes / (double)dur : 0.0);
	trace_span(w, hardware, DEVICE_PID, ASCEND_LINK_STREAM + lane, start, dur);
	out_fmt(w->out,
	        ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": %" PRId64
	        ", "
	        "\"Task Id\": "
	        "807, \"Batch Id\": 0, \"Subtask Id\": 0}}",
	        hardware, ASCEND_LINK_STREAM + lane);
}

static void plane_rows(struct trace_writer *w, const struct ascend_link *l)
{
	int planes = l->kind[0] == 'r' || l->rdma ? 1 : 7;
	int64_t late = l->wait - l->arrival, at = l->start + l->arrival;

	if (l->arrival)
		plane_task(w, l, "Notify_Wait", "Notify Wait", 0, l->start, l->arrival, 0);
	if (late)
		plane_task(w, l, "Notify_Wait", "Notify Wait", 0, at + l->transit, late, 0);
	for (int plane = 0; plane < planes; plane++) {
		at = l->start + l->arrival;
		for (int p = 0; p < l->packet_kinds; p++) {
			int64_t each = l->packets[p].count / planes;

			for (int64_t i = 0; i < each; i++) {
				int64_t ns = l->packets[p].ns / l->packets[p].count;

				plane_task(w, l, l->rdma ? "RDMASend" : "Memcpy", l->rdma ? "RDMA" : "SDMA",
				           plane, at, ns, l->packets[p].bytes);
				at += ns;
			}
		}
	}
}

static void link_rows(struct trace_writer *w, int64_t index)
{
	const struct ascend_link *l = &w->r->links[index];
	int64_t id = 500000000 + index, lane = l->experts ? ASCEND_LINK_LANES : 0;
	char name[80];

	python_span(w, ascend_link_op(l), "cpu_op", HOST_PID, l->launch, l->launch_dur);
	if (w->o->level > 0) {
		snprintf(name, sizeof(name), "hcom_%s_", l->kind);
		trace_cann(w, "HcclOp@hcom", "hccl", name, id, DEQUEUE_TID, l->launch, l->launch_dur);
		flow(w, 's', "HostToDevice", "HostToDevice", (id << 32) + 4294967295, true, CANN_PID,
		     DEQUEUE_TID, l->launch);
		flow(w, 'f', "HostToDevice", "HostToDevice", (id << 32) + 4294967295, true, LINK_PID, lane,
		     l->start);
	}
	flow(w, 's', "async_npu", "torch_to_npu", l->start, false, HOST_PID, HOST_PID, l->launch);
	trace_span(w, l->text, LINK_PID, lane, l->start, l->dur);
	out_fmt(w->out,
	        ", \"args\": {\"connection_id\": %" PRId64
	        ", \"model id\": 4294967295, \"data_type\": \"BFP16\", "
	        "\"alg_type\": \"MESH-RING\", \"count\": 20971520}}",
	        id);
	flow(w, 'f', "async_npu", "torch_to_npu", l->start, false, LINK_PID, lane, l->start);
	plane_rows(w, l);
}

static void lane(struct trace_writer *w, const struct spans *s, const char *name, int tid)
{
	for (int64_t i = 0; i < s->count; i++) {
		trace_span(w, name, OVERLAP_PID, tid, s->items[i].start, s->items[i].end - s->items[i].start);
		out_text(w->out, "}");
	}
}

static void write_rows(struct trace_writer *w)
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
	trace_other_work(w);
	trace_counters(w);
	/* The names come last, as they may: a reader has to cope. */
	trace_names(w);
	out_text(w->out, "]");
}

void ascend_write_trace(const struct ascend_options *o, struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "trace_view.json", false);
	struct trace_writer w = {.out = out, .o = o, .r = r};

	write_rows(&w);
	r->trace_events = w.rows;
}

int64_t ascend_write_msprof(const struct ascend_options *o, const struct ascend_rank *r, struct out *out,
                            bool old, int64_t shift)
{
	struct trace_writer w = {.out = out, .o = o, .r = r, .msprof = true, .old = old, .shift = shift};

	write_rows(&w);
	return w.rows;
}
