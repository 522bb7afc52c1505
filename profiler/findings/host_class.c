#include <stdlib.h>
#include <string.h>

#include "profiler/findings/host_part.h"
#include "profiler/kernel_name.h"

/* A call that allocates memory of the device or gives it back: the driver works, and a release waits for the
 * device. Allocations from a stream's pool do neither. */
bool host_allocates(const char *name)
{
	static const char *const calls[] = {"cudaMalloc",        "cudaFree",
	                                    "hipMalloc",         "hipFree",
	                                    "cuMemAlloc",        "cuMemFree",
	                                    "cuMemAlloc_v2",     "cuMemFree_v2",
	                                    "cudaMallocManaged", "cudaMallocPitch",
	                                    "aclrtFree",         "aclMallocMemInner",
	                                    "aclrtFreePhysical", NULL};
	const char *at = strchr(name, '@');

	name = at ? at + 1 : name;
	if (strncmp(name, "aclrtMalloc", 11) == 0)
		return strcmp(name, "aclrtMallocHost") != 0;
	for (size_t i = 0; calls[i]; i++)
		if (strcmp(name, calls[i]) == 0)
			return true;
	return false;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool has_one_of(const char *name, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Calls that return when the device has caught up: the runtimes' own, their copies that are not "Async", and
 * the operators that bring a value to the host. */
static bool is_wait(const char *name)
{
	static const char *const parts[] = {"DeviceSynchronize", "StreamSynchronize", "EventSynchronize",
	                                    "CtxSynchronize",    "SynchronizeStream", "SynchronizeDevice",
	                                    "SynchronizeEvent"};
	static const char *const names[] = {"aten::item",          "aten::_local_scalar_dense",
	                                    "cudaMemcpy",          "cudaMemcpy2D",
	                                    "hipMemcpy",           "hipMemcpyWithStream",
	                                    "cuMemcpyDtoH",        "cuMemcpyDtoH_v2",
	                                    "hipMemcpyDtoH",       "cuMemcpyHtoD",
	                                    "cuMemcpyHtoD_v2",     "hipMemcpyHtoD",
	                                    "AscendCL@aclrtMemcpy"};

	return has_one_of(name, parts, COUNT(parts)) || is_one_of(name, names, COUNT(names));
}

/* Compilers at work: CANN's, PyTorch's (Dynamo marks its phases, Inductor and Triton are seen as frames), and
 * the loading of what they made. */
static bool is_compilation(const char *name)
{
	static const char *const parts[] = {
	    "aclopCompileAndExecute", "(dynamo_timed)",      "cuModuleLoad",         "cuLibraryLoadData",
	    "hipModuleLoad",          "nvrtcCompileProgram", "hiprtcCompileProgram", "cudnnFindConvolution"};
	static const struct {
		const char *file, *function;
	} frames[] = {{"_dynamo/convert_frame.py(", "): _compile"},
	              {"_inductor/compile_fx.py(", "): compile_fx_inner"},
	              {"triton/compiler/compiler.py(", "): compile"},
	              {"triton/runtime/autotuner.py(", "): _bench"},
	              {"torch/utils/cpp_extension.py(", "): _jit_compile"}};

	if (has_one_of(name, parts, COUNT(parts)))
		return true;
	for (size_t i = 0; i < COUNT(frames); i++) {
		size_t len = strlen(name), tail = strlen(frames[i].function);

		if (strstr(name, frames[i].file) && len > tail &&
		    strcmp(name + len - tail, frames[i].function) == 0)
			return true;
	}
	return false;
}

enum host_class host_class_of(const char *name)
{
	static const char *const collections[] = {"Python GC", "<built-in function collect>",
	                                          "<built-in method collect of module object>"};

	if (name_has(name, "dataloader"))
		return HOST_LOADING;
	if (is_compilation(name))
		return HOST_COMPILATION;
	if (host_allocates(name))
		return HOST_ALLOCATION;
	if (is_wait(name))
		return HOST_SYNCHRONIZATION;
	if (name_has(name, "syncbatchnorm"))
		return HOST_BATCH_NORM;
	return is_one_of(name, collections, COUNT(collections)) ? HOST_GARBAGE : HOST_NONE;
}

static bool is_graph_launch(const char *name)
{
	return strstr(name, "GraphLaunch") != NULL;
}

/* A graph that was launched before the end of the device's work must have left some. */
static int64_t last_start(const struct trace *t)
{
	int64_t last = SB_NULL;

	for (size_t i = 0; i < t->count; i++)
		if (event_is_device_work(t->kind[i]) && (last == SB_NULL || t->start_ns[i] > last))
			last = t->start_ns[i];
	return last;
}

/* Of ten graphs one may be missing at the edges of a capture. */
#define UNRECORDED_SHARE_MAX 0.1

int graph_launches_count(const struct trace *t, const struct launches *l, struct graph_launches *out)
{
	int64_t last = SB_NULL;
	uint8_t *seen;

	*out = (struct graph_launches){0};
	for (size_t i = 0; i < l->count; i++)
		out->count += is_graph_launch(trace_text(t, t->name[l->items[i].event], NULL));
	if (out->count == 0)
		return SB_OK;
	last = last_start(t);
	if (last == SB_NULL)
		return SB_OK;
	seen = calloc(l->count + 1, 1);
	if (!seen)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		const struct launch *at =
		    event_is_device_work(t->kind[i]) ? launches_find(l, t->link[i]) : NULL;

		if (at)
			seen[at - l->items] = 1;
	}
	for (size_t i = 0; i < l->count; i++)
		out->unrecorded += !seen[i] && l->items[i].start < last &&
		                   is_graph_launch(trace_text(t, t->name[l->items[i].event], NULL));
	free(seen);
	out->unreliable = (double)out->unrecorded > UNRECORDED_SHARE_MAX * (double)out->count;
	return SB_OK;
}
