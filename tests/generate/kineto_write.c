#include "tests/generate/kineto_rows.h"
#include "tests/generate/stack.h"
#include <inttypes.h>
#include <stdio.h>

static void step_rows(struct writer *w, int64_t step)
{
	const struct kineto_step *s = &w->r->steps[step];
	const char *cat = w->o->old ? "Operator" : "user_annotation";
	char name[40];

	snprintf(name, sizeof(name), "ProfilerStep#%" PRId64, KINETO_FIRST_STEP + step);
	row_span(w, cat, name, KINETO_PID, KINETO_MAIN, s->start, s->end - s->start);
	out_fmt(w->out, "\"External id\": %" PRId64 ", \"Ev Idx\": 0", 90000000 + step);
	row_close(w);
	row_span(w, cat, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", KINETO_PID,
	         KINETO_MAIN, s->start + 1000, s->load);
	out_fmt(w->out, "\"External id\": %" PRId64 ", \"Ev Idx\": 0", 91000000 + step);
	row_close(w);
}

/* The twin of a step on the device's row: first to last kernel, a little wider. It covers idle time too. */
static void step_twin(struct writer *w, int64_t step, int64_t *at)
{
	int64_t first = INT64_MAX;
	int64_t last = 0;
	char name[40];

	for (; *at < w->r->count && w->r->units[*at].step == step; ++*at) {
		const struct unit *u = &w->r->units[*at];

		if (kineto_is_link(u))
			continue;
		first = u->device < first ? u->device : first;
		last = u->device + u->device_dur > last ? u->device + u->device_dur : last;
	}
	snprintf(name, sizeof(name), "ProfilerStep#%" PRId64, KINETO_FIRST_STEP + step);
	row_span(w, "gpu_user_annotation", name, kineto_device(w->r), KINETO_STREAM, first - 1,
	         last - first + 2);
	out_fmt(w->out, "\"External id\": %" PRId64, 90000000 + step);
	row_close(w);
}

static void early_rows(struct writer *w)
{
	for (int i = 0; i < KINETO_EARLY; i++) {
		row_span(w, w->o->old ? "Kernel" : "kernel", kineto_optimizer[0].kernel, kineto_device(w->r),
		         KINETO_STREAM, w->r->early + 2 * (int64_t)i * KINETO_EARLY_NS, KINETO_EARLY_NS);
		out_fmt(w->out,
		        "\"device\": %" PRId64 ", \"context\": 1, \"stream\": %d, \"correlation\": %d",
		        kineto_device(w->r), KINETO_STREAM, 4000 + i);
		row_close(w);
	}
}

static const char *call_cat(const struct kineto_call *c, bool old)
{
	switch (c->kind) {
	case CALL_GARBAGE: return "python_function";
	case CALL_COMPILE: return "cuda_driver";
	default: return old ? "Runtime" : "cuda_runtime";
	}
}

static void rows_calls(struct writer *w)
{
	for (int64_t i = 0; i < w->r->call_count; i++) {
		const struct kineto_call *c = &w->r->calls[i];

		row_span(w, call_cat(c, w->o->old), kineto_call_name(c), KINETO_PID, KINETO_MAIN, c->start,
		         c->dur);
		out_fmt(w->out, "\"cbid\": 22, \"correlation\": %" PRId64,
		        c->kind == CALL_GRAPH ? KINETO_GRAPH + c->step : 60000000 + i);
		row_close(w);
	}
}

static void meta(struct writer *w, const char *what, int64_t pid, const char *tid, const char *value)
{
	row_open(w);
	out_fmt(w->out, "\"name\": \"%s\", \"ph\": \"M\", \"ts\": ", what);
	row_time(w, kineto_start_ns);
	out_fmt(w->out,
	        ", \"pid\": %" PRId64 ", \"tid\": %s,\n    \"args\": {\n      \"name\": \"%s\"\n    }\n  }",
	        pid, tid, value);
}

static void tail_rows(struct writer *w)
{
	bool old = w->o->old;
	int64_t device = kineto_device(w->r);
	int64_t start = kineto_start_ns - 1000000;
	int64_t end = w->r->host + 100000000;

	meta(w, "process_name", KINETO_PID, "0", "python3");
	meta(w, "process_name", device, "0", "python3");
	meta(w, "thread_name", KINETO_PID, old ? "\"41007\"" : "41007", "thread 41007 (python3)");
	meta(w, "thread_name", KINETO_PID, old ? "\"41388\"" : "41388", "thread 41388 (pt_autograd_0)");
	meta(w, "thread_name", device, old ? "\"stream 7\"" : "7", "stream 7 ");
	meta(w, "thread_name", device, old ? "\"stream 20\"" : "20", "stream 20 ");
	meta(w, "thread_name", device, old ? "\"stream 24\"" : "24", "stream 24 ");
	if (w->o->prefetch)
		meta(w, "thread_name", device, "28", "stream 28 ");
	row_begin(w, "X", "Trace", "PyTorch Profiler (0)");
	out_fmt(w->out,
	        ", \"pid\": \"%s\", \"tid\": \"PyTorch Profiler\",\n    \"ts\": ", old ? "Traces" : "Spans");
	row_time(w, start);
	out_text(w->out, ", \"dur\": ");
	row_dur(w, end - start);
	out_text(w->out, ",\n    \"args\": {\n      \"Op count\": 0");
	row_close(w);
	row_begin(w, "i", "", "Iteration Start: PyTorch Profiler");
	out_text(w->out,
	         ", \"s\": \"g\", \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\",\n    \"ts\": ");
	row_time(w, start);
	out_text(w->out, "\n  }");
	row_begin(w, "i", "", "Record Window End");
	out_text(w->out, ", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\",\n    \"ts\": ");
	row_time(w, end);
	out_text(w->out, "\n  }");
}

static void group(struct writer *w, enum unit_kind kind)
{
	struct kineto_group g = kineto_group_of(w->o, w->r->rank, kind);

	out_fmt(w->out,
	        "{\"pg_name\": \"%s\", \"pg_desc\": \"%s\", \"backend_config\": \"cuda:nccl\", \"pg_size\": "
	        "%" PRId64 ", \"ranks\": [",
	        g.name, g.description, g.count);
	kineto_ranks(w->out, &g);
	out_text(w->out, "]}");
}

static void device_properties(struct writer *w)
{
	out_text(w->out, "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
	for (int i = 0; i < 8; i++)
		out_fmt(
		    w->out,
		    "%s\n    {\n      \"id\": %d, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": "
		    "%" PRId64 ",\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      "
		    "\"maxThreadsPerBlock\": 1024, "
		    "\"maxThreadsPerMultiprocessor\": 2048,\n      \"regsPerBlock\": 65536, \"warpSize\": "
		    "32,\n      "
		    "\"sharedMemPerBlock\": 49152, \"numSms\": 132\n    }",
		    i ? "," : "", i, KINETO_CAPACITY);
	out_text(w->out, "\n  ],\n");
	if (w->o->old)
		return;
	out_fmt(
	    w->out,
	    "  \"cupti_version\": 24, \"cuda_runtime_version\": 12060, \"cuda_driver_version\": 12080,\n  "
	    "\"record_shapes\": 1, \"with_stack\": 1, \"profile_memory\": 1,\n  \"distributedInfo\": "
	    "{\"backend\": "
	    "\"nccl\", \"rank\": %" PRId64 ", \"world_size\": %" PRId64
	    ", \"pg_count\": %d, \"pg_config\": [",
	    w->r->rank, kineto_world(w->o), w->o->shape == KINETO_PIPELINE ? 2 : 1);
	group(w, UNIT_COLLECTIVE);
	if (w->o->shape == KINETO_PIPELINE) {
		out_text(w->out, ", ");
		group(w, UNIT_SEND);
	}
	out_text(w->out, "], \"nccl_version\": \"2.21.5\"},\n");
}

/* What is still missing to the wanted number of events: frames of the Python stack, or allocation marks in
 * the old dialect. */
static void fill_rows(struct writer *w, int64_t left)
{
	int64_t each = left / w->r->count;
	int64_t more = left % w->r->count;
	int64_t id = 0;

	for (int64_t i = 0; i < w->r->count; i++)
		for (int64_t d = each + (i < more) - 1; d >= 0; d--) {
			if (w->o->old)
				row_memory(w, &w->r->units[i], i);
			else
				row_frame(w, &w->r->units[i], id++, d);
		}
}

/* Events that one unit takes, filling not counted. */
static int64_t rows_of(const struct kineto_options *o, const struct unit *u)
{
	bool old = o->old;

	if (u->graph)
		return u->hidden ? 0 : 2;
	return 6 + (u->pair != 0) + (u->extra ? 2 - old : 0) + u->memory + (u->sync_dur != 0) +
	       kineto_event_rows(u) + (kineto_has_stack(o, u) ? STACK_FRAMES : 0);
}

/* Also counts the rows that will be written, where nobody asked for a number of them. */
static int64_t missing(struct writer *w)
{
	int64_t rows =
	    10 + (w->o->prefetch > 0) + KINETO_EARLY + w->o->steps * (w->o->old ? 2 : 3) + w->r->call_count;

	for (int64_t i = 0; i < w->r->count; i++)
		rows += rows_of(w->o, &w->r->units[i]);
	if (!w->o->events)
		w->left = rows;
	if (rows > w->left)
		out_die("these options need %" PRId64 " events at least", rows);
	return w->left - rows;
}

static void stack_rows(struct writer *w, const struct unit *u, int64_t index)
{
	for (int64_t depth = STACK_FRAMES - 1; depth >= 0; depth--) {
		int64_t margin = 5 * (depth + 1);

		row_span(w, "python_function", stack_frames(u->loss)[depth], KINETO_PID, KINETO_MAIN,
		         u->op - margin, u->op_dur + 2 * margin);
		out_fmt(w->out, "\"Python id\": %" PRId64 ", \"Ev Idx\": 0",
		        80000000 + index * STACK_FRAMES + depth);
		row_close(w);
	}
}

/* The order of Kineto: operators, frames, then calls and device rows, metadata last. */
int64_t kineto_write(const struct kineto_options *o, const struct kineto_rank *r, const char *path)
{
	OUT_AUTO out = out_open(path, o->gzip);
	struct writer w = {.out = out, .o = o, .r = r, .left = o->events};
	int64_t left = missing(&w);
	int64_t at = 0;

	device_properties(&w);
	out_text(out, "  \"traceEvents\": [");
	for (int64_t step = 0; step < o->steps; step++)
		step_rows(&w, step);
	for (int64_t i = 0; i < r->count; i++) {
		bool first = i == 0 || r->units[i].step != r->units[i - 1].step;

		if (r->units[i].graph)
			continue;
		rows_operator(&w, &r->units[i], i, first && o->name);
		if (r->units[i].memory)
			row_memory(&w, &r->units[i], i);
		if (kineto_has_stack(o, &r->units[i]))
			stack_rows(&w, &r->units[i], i);
	}
	fill_rows(&w, left);
	early_rows(&w);
	rows_calls(&w);
	for (int64_t i = 0; i < r->count; i++) {
		rows_events(&w, &r->units[i], i);
		rows_launch(&w, &r->units[i], i);
	}
	for (int64_t step = 0; step < o->steps && !o->old; step++)
		step_twin(&w, step, &at);
	tail_rows(&w);
	if (w.left != 0)
		out_die("the count of events is off by %" PRId64, w.left);
	out_text(out, "\n  ]");
	if (!o->old)
		out_fmt(out,
		        ",\n  \"traceName\": \"rank%" PRId64
		        ".pt.trace.json\",\n  \"displayTimeUnit\": \"ms\",\n  "
		        "\"baseTimeNanoseconds\": %" PRId64,
		        r->rank, kineto_base_ns);
	out_text(out, "\n}\n");
	return out_bytes(out);
}
