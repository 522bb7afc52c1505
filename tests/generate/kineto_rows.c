#include "tests/generate/kineto_rows.h"
#include <inttypes.h>

int64_t kineto_correlation(const struct unit *u, int64_t index)
{
	return u->graph ? KINETO_GRAPH + u->step : 5000 + index;
}

int64_t kineto_device(const struct kineto_rank *r)
{
	return r->rank % 8;
}

int64_t kineto_stream(const struct unit *u)
{
	if (u->kind == UNIT_PREFETCH)
		return KINETO_SIDE;
	return u->kind == UNIT_COLLECTIVE ? KINETO_LINK : kineto_is_link(u) ? KINETO_EXCHANGE : KINETO_STREAM;
}

int64_t kineto_world(const struct kineto_options *o)
{
	return o->ranks > 1 ? o->ranks : 8;
}

void row_time(struct writer *w, int64_t ns)
{
	if (w->o->old)
		out_int(w->out, ns / 1000);
	else
		out_us(w->out, ns - kineto_base_ns);
}

void row_dur(struct writer *w, int64_t ns)
{
	if (w->o->old)
		out_int(w->out, ns / 1000);
	else
		out_us(w->out, ns);
}

void row_open(struct writer *w)
{
	out_text(w->out, w->begun ? ",\n  {\n    " : "\n  {\n    ");
	w->begun = true;
	w->left--;
}

void row_begin(struct writer *w, const char *ph, const char *cat, const char *name)
{
	row_open(w);
	out_text(w->out, "\"ph\": \"");
	out_text(w->out, ph);
	if (*cat) {
		out_text(w->out, "\", \"cat\": \"");
		out_text(w->out, cat);
	}
	out_text(w->out, "\", \"name\": ");
	out_json(w->out, name);
}

/* A thread of the host, or (device >= 0) a stream of a device. */
static void place(struct writer *w, int64_t pid, int64_t tid)
{
	if (!w->o->old)
		out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ",\n    \"ts\": ", pid, tid);
	else if (pid == KINETO_PID)
		out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": \"%" PRId64 "\",\n    \"ts\": ", pid, tid);
	else
		out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": \"stream %" PRId64 "\",\n    \"ts\": ", pid,
		        tid);
}

void row_span(struct writer *w, const char *cat, const char *name, int64_t pid, int64_t tid, int64_t start,
              int64_t dur)
{
	row_begin(w, "X", cat, name);
	place(w, pid, tid);
	row_time(w, start);
	out_text(w->out, ", \"dur\": ");
	row_dur(w, dur);
	out_text(w->out, ",\n    \"args\": {\n      ");
}

void row_close(struct writer *w)
{
	out_text(w->out, "\n    }\n  }");
}

static void flow(struct writer *w, char ph, int64_t id, int64_t pid, int64_t tid, int64_t ts, const char *cat,
                 const char *name)
{
	row_open(w);
	out_fmt(w->out, "\"ph\": \"%c\", \"id\": %" PRId64, ph, id);
	if (w->o->old && pid != KINETO_PID)
		out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": \"stream %" PRId64 "\", \"ts\": ", pid,
		        tid);
	else
		out_fmt(w->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ", pid, tid);
	row_time(w, ts);
	out_fmt(w->out, ",\n    \"cat\": \"%s\", \"name\": \"%s\"%s\n  }", cat, name,
	        ph == 'f' ? ", \"bp\": \"e\"" : "");
}

static int64_t thread_of(const struct unit *u)
{
	return u->phase == PHASE_BACKWARD ? KINETO_AUTOGRAD : KINETO_MAIN;
}

void rows_operator(struct writer *w, const struct unit *u, int64_t index, bool named)
{
	const struct work *k = kineto_work(u);
	int64_t tid = thread_of(u);
	bool old = w->o->old;
	const char *cat = old ? "Operator" : "cpu_op";
	char dims[160];
	int64_t inner = u->op + 1000;

	kineto_dims(u, dims, sizeof(dims));
	row_span(w, cat, named ? w->o->name : k->outer, KINETO_PID, tid, u->op, u->op_dur);
	out_fmt(w->out, "\"External id\": %" PRId64 ", ", 2 * index + 1);
	if (old)
		out_fmt(w->out,
		        "\"Trace name\": \"PyTorch Profiler\", \"Trace iteration\": 0, \"Input Dims\": %s, "
		        "\"Input type\": [\"float\", \"Scalar\", \"\"]",
		        dims);
	else
		out_fmt(w->out,
		        "\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": "
		        "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"], \"Input Strides\": [[4096, 1], "
		        "[1, 4096], []], "
		        "\"Input Dims\": %s, \"Ev Idx\": %" PRId64,
		        dims, 2 * index);
	if (u->pair)
		out_fmt(w->out, ", \"Sequence number\": %d, \"Fwd thread id\": %d", u->pair,
		        u->phase == PHASE_BACKWARD ? 1 : 0);
	row_close(w);
	row_span(w, kineto_is_link(u) && !old ? "user_annotation" : cat, k->inner, KINETO_PID, tid, inner,
	         u->op + u->op_dur - inner - (old ? 0 : 500));
	out_fmt(w->out, "\"External id\": %" PRId64 ", \"Input Dims\": %s, \"Ev Idx\": %" PRId64,
	        2 * index + 2, dims, 2 * index + 1);
	row_close(w);
	if (u->pair)
		flow(w, u->phase == PHASE_BACKWARD ? 'f' : 's', u->pair, KINETO_PID, tid, u->op,
		     old ? "forward_backward" : "fwdbwd", old ? "fwd_bwd" : "fwdbwd");
}

static const char *call_name(const struct unit *u)
{
	switch (u->kind) {
	case UNIT_COPY_IN:
	case UNIT_PREFETCH:
	case UNIT_COPY_OUT: return "cudaMemcpyAsync";
	case UNIT_CLEAR: return "cudaMemsetAsync";
	default: return kineto_is_link(u) ? "cudaLaunchKernelExC" : "cudaLaunchKernel";
	}
}

static void runtime_row(struct writer *w, const struct unit *u, const char *name, int64_t start, int64_t dur,
                        int64_t id, int64_t index)
{
	bool old = w->o->old;

	row_span(w, old ? "Runtime" : "cuda_runtime", name, KINETO_PID, thread_of(u), start, dur);
	out_fmt(w->out, "\"%s id\": %" PRId64 ", \"cbid\": 211, \"correlation\": %" PRId64,
	        old ? "external" : "External", 2 * index + 2, id);
	row_close(w);
}

void kineto_ranks(struct out *out, const struct kineto_group *g)
{
	for (int64_t i = 0; i < g->count; i++)
		out_fmt(out, "%s%" PRId64, i ? ", " : "", g->first + i * g->stride);
}

static void kernel_args(struct writer *w, const struct unit *u, const struct work *k)
{
	struct kineto_group g = kineto_group_of(w->o, w->r->rank, (enum unit_kind)u->kind);
	double slower = 1 + w->o->faults.size[FAULT_UNDERUTILIZED];
	bool thin = slower > 1 && u->kind == UNIT_COMPUTE;
	/* one block on each multiprocessor that has one: as many as the work takes longer are idle */
	int blocks = thin ? (int)(132 / slower) + 1 : k->blocks;

	out_fmt(w->out,
	        ",\n      \"queued\": 0, \"registers per thread\": 64, \"shared memory\": 16384, \"blocks "
	        "per SM\": "
	        "%.6f, \"warps per SM\": %.6f,\n      \"grid\": [%d, 1, 1], \"block\": [%d, 1, 1], \"est. "
	        "achieved "
	        "occupancy %%\": %d",
	        blocks / 132.0, blocks * k->threads / 32.0 / 132.0, blocks, k->threads,
	        thin ? (int)(k->occupancy / slower) : k->occupancy);
	if (!kineto_is_link(u) || w->o->old)
		return;
	out_fmt(w->out,
	        ",\n      \"Collective name\": \"%s\", \"In msg nelems\": %" PRId64
	        ", \"Out msg nelems\": %" PRId64 ", "
	        "\"Group "
	        "size\": %" PRId64
	        ", \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
	        "\"Process Group Name\": \"%s\", \"Process Group Description\": \"%s\", \"Process Group "
	        "Ranks\": "
	        "\"[",
	        kineto_collective_name(u), u->bytes / 2, u->bytes / 2, g.count, g.name, g.description);
	kineto_ranks(w->out, &g);
	out_text(w->out, "]\"");
}

static const char *device_cat(const struct unit *u, bool old)
{
	switch (u->kind) {
	case UNIT_COPY_IN:
	case UNIT_PREFETCH:
	case UNIT_COPY_OUT: return old ? "Memcpy" : "gpu_memcpy";
	case UNIT_CLEAR: return old ? "Memset" : "gpu_memset";
	default: return old ? "Kernel" : "kernel";
	}
}

static void device_row(struct writer *w, const struct unit *u, int64_t index)
{
	const struct work *k = kineto_work(u);
	int64_t device = kineto_device(w->r);
	int64_t stream = kineto_stream(u);

	row_span(w, device_cat(u, w->o->old), k->kernel, device, stream, u->device, u->device_dur);
	out_fmt(w->out,
	        "\"%s id\": %" PRId64 ", \"device\": %" PRId64 ", \"context\": 1, \"stream\": %" PRId64
	        ", \"correlation\": %" PRId64,
	        w->o->old ? "external" : "External", 2 * index + 2, device, stream,
	        kineto_correlation(u, index));
	if (k->threads)
		kernel_args(w, u, k);
	else
		out_fmt(w->out, ",\n      \"bytes\": %" PRId64 ", \"memory bandwidth (GB/s)\": %.6f",
		        u->bytes, (double)u->bytes / (double)u->device_dur);
	row_close(w);
	flow(w, 'f', kineto_correlation(u, index), device, stream, u->device, w->o->old ? "async" : "ac2g",
	     w->o->old ? "launch" : "ac2g");
}

void rows_launch(struct writer *w, const struct unit *u, int64_t index)
{
	bool old = w->o->old;
	int64_t lone = 50000000 + index;

	if (u->graph) {
		if (!u->hidden)
			device_row(w, u, index);
		return;
	}
	runtime_row(w, u, call_name(u), u->launch, u->launch_dur, kineto_correlation(u, index), index);
	flow(w, 's', kineto_correlation(u, index), KINETO_PID, thread_of(u), u->launch,
	     old ? "async" : "ac2g", old ? "launch" : "ac2g");
	device_row(w, u, index);
	if (u->sync_dur)
		runtime_row(w, u, "cudaStreamSynchronize", u->launch + u->launch_dur, u->sync_dur, lone + 1,
		            index);
	if (!u->extra)
		return;
	runtime_row(w, u, "cudaStreamIsCapturing", u->op + 1000, 1000, lone, index);
	if (!old)
		flow(w, 'f', lone, KINETO_PID, thread_of(u), u->op + 1000, "ac2g", "ac2g");
}

int64_t kineto_event_rows(const struct unit *u)
{
	return u->recorded + 2 * (u->behind != 0);
}

/* Between two operators there are 6 us: the record stands behind the first, the wait before the second. */
void rows_events(struct writer *w, const struct unit *u, int64_t index)
{
	int64_t device = kineto_device(w->r), start = u->op - 2500;

	if (u->recorded)
		runtime_row(w, u, "cudaEventRecord", u->op + u->op_dur + 1000, 1500, KINETO_RECORD + index,
		            index);
	if (!u->behind)
		return;
	runtime_row(w, u, "cudaStreamWaitEvent", start, 1500, KINETO_WAIT + index, index);
	row_span(w, "cuda_sync", "Stream Wait Event", device, kineto_stream(u), start + 500, 1000);
	out_fmt(w->out,
	        "\"cuda_sync_kind\": \"Stream Wait Event\", \"wait_on_stream\": %" PRId64
	        ", \"wait_on_cuda_event_record_corr_id\": %d, \"wait_on_cuda_event_id\": %d,\n      "
	        "\"stream\": %" PRId64 ", \"correlation\": %" PRId64 ", \"device\": %" PRId64
	        ", \"context\": 1",
	        kineto_stream(&w->r->units[u->behind - 1]), KINETO_RECORD + u->behind - 1, u->behind % 64,
	        kineto_stream(u), KINETO_WAIT + index, device);
	row_close(w);
}

int64_t kineto_allocated(int64_t index)
{
	return INT64_C(42949672960) + (index % 2 ? 0 : INT64_C(2097152));
}

void row_memory(struct writer *w, const struct unit *u, int64_t index)
{
	row_begin(w, "i", w->o->old ? "" : "cpu_instant_event", "[memory]");
	out_text(w->out, ", \"s\": \"t\"");
	place(w, KINETO_PID, thread_of(u));
	row_time(w, u->op + 1000);
	out_fmt(w->out,
	        ",\n    \"args\": {\n      \"Device Type\": 1, \"Device Id\": %" PRId64
	        ", \"Bytes\": %" PRId64,
	        kineto_device(w->r), index % 2 ? -INT64_C(2097152) : INT64_C(2097152));
	if (!w->o->old)
		out_fmt(w->out,
		        ", \"Addr\": %" PRId64 ", \"Total Allocated\": %" PRId64
		        ", \"Total Reserved\": %" PRId64 ", \"Ev Idx\": %" PRId64,
		        INT64_C(139637976727552) + index % 512 * 2097152, kineto_allocated(index),
		        KINETO_RESERVED, index);
	row_close(w);
}

bool kineto_has_stack(const struct kineto_options *o, const struct unit *u)
{
	return !o->old && o->faults.given[FAULT_SYNCHRONIZATION] && u->sync_dur > 0;
}

void row_frame(struct writer *w, const struct unit *u, int64_t id, int64_t depth)
{
	static const char *const frames[] = {"nn.Module: Linear_0",
	                                     "torch/nn/modules/module.py(1553): _call_impl",
	                                     "torch/nn/modules/module.py(1562): _wrapped_call_impl",
	                                     "model/block.py(88): forward",
	                                     "train.py(141): training_step",
	                                     "torch/utils/_contextlib.py(115): decorate_context"};
	/* Narrow enough that the frames of neighbours never cross. */
	int64_t margin = 40 * (depth < 22 ? depth + 1 : 22);

	row_span(w, "python_function", frames[depth % 6], KINETO_PID, thread_of(u), u->op - margin,
	         u->op_dur + 2 * margin);
	if (id % 64 == 0)
		out_text(w->out, "\"Python parent id\": null");
	else
		out_fmt(w->out, "\"Python parent id\": %" PRId64, (id - 1));
	out_fmt(w->out, ", \"Python id\": %" PRId64 ", \"Ev Idx\": %" PRId64, id, (id + 10));
	row_close(w);
}
