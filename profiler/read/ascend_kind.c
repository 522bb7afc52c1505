#include "profiler/read/ascend_kind.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

const char *const ASCEND_ARGS[ARG_COUNT_OF + 1] = {
    [ARG_TASK_TYPE] = "Task Type",
    [ARG_CONNECTION] = "connection_id",
    [ARG_DATA_SIZE] = "data size(Byte)",
    [ARG_DIRECTION] = "memcpy direction",
    [ARG_PLANE_TASK] = "task type",
    [ARG_TRANSPORT] = "transport type",
    [ARG_LINK] = "link type",
    [ARG_SIZE] = "size(Byte)",
    [ARG_COUNT] = "count",
    [ARG_DATA_TYPE] = "data_type",
    [ARG_LEVEL] = "level",
    [ARG_NAME] = "name",
    [ARG_LABELS] = "labels",
    [ARG_MHZ] = "MHz",
    [ARG_STACK] = "Call stack",
    [ARG_COUNT_OF] = NULL,
};

struct named_kind {
	const char *name;
	enum event_kind kind;
};

static const struct named_kind CATEGORIES[] = {
    {"cpu_op", EVENT_HOST_OP},     {"python_function", EVENT_HOST_PYTHON},     {"enqueue", EVENT_HOST_QUEUE},
    {"dequeue", EVENT_HOST_QUEUE}, {"user_annotation", EVENT_HOST_ANNOTATION}, {"gc", EVENT_HOST_ANNOTATION},
};

static const struct named_kind OVERLAP_ROWS[] = {
    {"Computing", EVENT_LANE_COMPUTE},
    {"Communication", EVENT_LANE_COMMUNICATION},
    {"Communication(Not Overlapped)", EVENT_LANE_EXPOSED},
    /* msprof of 2022 wrote it like this */
    {"Communication(Not OverLapped)", EVENT_LANE_EXPOSED},
    {"Not OverLapped", EVENT_LANE_EXPOSED},
    {"Not Overlapped", EVENT_LANE_EXPOSED},
    {"Free", EVENT_LANE_FREE},
};

static const struct {
	const char *name;
	enum ascend_process process;
} PROCESSES[] = {
    {"Python", ASCEND_PROCESS_HOST},
    {"Python GC", ASCEND_PROCESS_HOST},
    {"MindSpore", ASCEND_PROCESS_HOST},
    {"CANN", ASCEND_PROCESS_CANN},
    {"AscendCL", ASCEND_PROCESS_CANN},
    {"Ascend Hardware", ASCEND_PROCESS_HARDWARE},
    {"HCCL", ASCEND_PROCESS_COMMUNICATION},
    {"Communication", ASCEND_PROCESS_COMMUNICATION},
    {"Overlap Analysis", ASCEND_PROCESS_OVERLAP},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum ascend_process ascend_process_of(const char *name)
{
	for (size_t i = 0; i < COUNT(PROCESSES); i++) {
		if (strcmp(name, PROCESSES[i].name) == 0)
			return PROCESSES[i].process;
	}
	return ASCEND_PROCESS_OTHER;
}

static enum event_kind overlap_kind(const char *name)
{
	for (size_t i = 0; i < COUNT(OVERLAP_ROWS); i++) {
		if (strcmp(name, OVERLAP_ROWS[i].name) == 0)
			return OVERLAP_ROWS[i].kind;
	}
	return EVENT_OTHER;
}

/* Few names have it: this spares them the longer searches. */
static bool has_wait(const char *text)
{
	for (; *text; text++)
		if ((*text | 0x20) == 'w' && strncasecmp(text, "wait", 4) == 0)
			return true;
	return false;
}

/* A row of a stream by its name alone. */
static enum event_kind hardware_by_name(const char *name)
{
	if (starts(name, "MEMCPY_ASYNC"))
		return EVENT_MEMCPY;
	if (starts(name, "MEMSET_ASYNC"))
		return EVENT_MEMSET;
	if (has_wait(name) && (strcasestr(name, "EVENT_WAIT") || strcasestr(name, "Notify Wait") ||
	                       strcasestr(name, "Notify_Wait")))
		return EVENT_DEVICE_WAIT;
	return EVENT_OTHER;
}

enum event_kind ascend_hardware_kind(const char *type, const char *name)
{
	static const char *const kernels[] = {"AI_CORE", "AI_VECTOR_CORE", "AI_CPU",  "AICPU",
	                                      "MIX_AIC", "MIX_AIV",        "DSA_SQE", "KERNEL",
	                                      "AIV_SQE", "AI_CORE_MIX"};
	enum event_kind named = hardware_by_name(name);

	if (named != EVENT_OTHER)
		return named;
	if (has_wait(type))
		return EVENT_DEVICE_WAIT;
	/* exporters of 2023 wrote "Other" for every kernel of the vector and cube cores */
	if (starts(type, "KERNEL_") || strcasecmp(type, "Other") == 0)
		return EVENT_KERNEL;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		if (strcmp(type, kernels[i]) == 0)
			return EVENT_KERNEL;
	}
	return EVENT_DEVICE_OTHER;
}

static bool is_runtime(const struct chrome_event *e)
{
	static const char *const marks[] = {"AscendCL@", "Runtime@", "Node@", "Model@", "HcclOp", "ACL@"};

	for (size_t i = 0; i < COUNT(marks); i++) {
		if (starts(e->name.text, marks[i]))
			return true;
	}
	return e->args[ARG_LEVEL].token != JPULL_END;
}

enum event_kind ascend_first_kind(const struct chrome_event *e)
{
	for (size_t i = 0; i < COUNT(CATEGORIES); i++) {
		if (e->cat.len > 0 && strcasecmp(e->cat.text, CATEGORIES[i].name) == 0)
			return starts(e->name.text, "ProfilerStep#") ? EVENT_HOST_ANNOTATION
			                                             : CATEGORIES[i].kind;
	}
	if (e->args[ARG_TASK_TYPE].token != JPULL_END)
		return ascend_hardware_kind(e->args[ARG_TASK_TYPE].text, e->name.text);
	if (e->args[ARG_PLANE_TASK].token != JPULL_END || e->args[ARG_TRANSPORT].token != JPULL_END)
		return EVENT_COMMUNICATION_TASK;
	if (starts(e->name.text, "hcom_"))
		return EVENT_COMMUNICATION;
	if (is_runtime(e))
		return EVENT_HOST_RUNTIME;
	return overlap_kind(e->name.text);
}

static enum event_kind host_kind(enum event_kind first, const char *name)
{
	/* MindSpore: only who asks for a batch waits; the other operators of the data pipeline run on threads
	 * of their own */
	if (starts(name, "GetNext") || (starts(name, "Dataset::") && strstr(name, "Iterator")))
		return EVENT_HOST_LOADING;
	switch (first) {
	case EVENT_HOST_OP:
	case EVENT_HOST_PYTHON:
	case EVENT_HOST_QUEUE:
	case EVENT_HOST_ANNOTATION: return first;
	default: return EVENT_HOST_OP;
	}
}

static enum event_kind stream_kind(enum event_kind first, const char *name)
{
	enum event_kind named;

	switch (first) {
	case EVENT_KERNEL:
	case EVENT_MEMCPY:
	case EVENT_MEMSET:
	case EVENT_DEVICE_WAIT:
	case EVENT_DEVICE_OTHER: return first;
	default: break;
	}
	/* a row without its task type */
	named = hardware_by_name(name);
	return named == EVENT_OTHER ? EVENT_KERNEL : named;
}

static enum event_kind communication_kind(enum event_kind first, const char *thread)
{
	if (starts(thread, "Plane"))
		return EVENT_COMMUNICATION_TASK;
	if (starts(thread, "Group") || strstr(thread, "Communication"))
		return EVENT_COMMUNICATION;
	return first == EVENT_COMMUNICATION ? EVENT_COMMUNICATION : EVENT_COMMUNICATION_TASK;
}

enum event_kind ascend_final_kind(enum event_kind first, const char *name, enum ascend_process process,
                                  const char *thread)
{
	enum event_kind by_name;

	switch (process) {
	case ASCEND_PROCESS_UNKNOWN: return first;
	case ASCEND_PROCESS_HOST: return host_kind(first, name);
	case ASCEND_PROCESS_CANN: return EVENT_HOST_RUNTIME;
	case ASCEND_PROCESS_HARDWARE: return stream_kind(first, name);
	case ASCEND_PROCESS_COMMUNICATION: return communication_kind(first, thread);
	case ASCEND_PROCESS_OVERLAP:
		by_name = overlap_kind(name);
		return by_name == EVENT_OTHER ? overlap_kind(thread) : by_name;
	case ASCEND_PROCESS_OTHER: break;
	}
	return EVENT_OTHER;
}

int64_t ascend_data_bytes(int64_t count, const char *type)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"INT8", 1},  {"UINT8", 1},  {"INT16", 2}, {"UINT16", 2}, {"FP16", 2},
	             {"BFP16", 2}, {"BF16", 2},   {"INT32", 4}, {"UINT32", 4}, {"FP32", 4},
	             {"INT64", 8}, {"UINT64", 8}, {"FP64", 8}};
	int64_t bytes;

	for (size_t i = 0; i < COUNT(types); i++) {
		if (count >= 0 && strcmp(type, types[i].name) == 0 &&
		    !__builtin_mul_overflow(count, types[i].bytes, &bytes))
			return bytes;
	}
	return SB_NULL;
}

int ascend_collective(struct sb_strings *strings, const char *name, struct event_detail *d)
{
	const char *mark = strstr(name, "__"), *from = starts(name, "hcom_") ? name + 5 : name;
	size_t group, number;
	int rc;

	if (!mark)
		return SB_OK;
	rc = sb_strings_add(strings, from, mark > from ? (size_t)(mark - from) : 0, &d->type);
	group = strspn(mark + 2, "0123456789");
	if (rc == SB_OK && group > 0)
		rc = sb_strings_add(strings, mark + 2, group, &d->group);
	if (group == 0 || mark[2 + group] != '_')
		return rc;
	number = strspn(mark + 3 + group, "0123456789");
	if (sb_parse_int(mark + 3 + group, number, &d->sequence) != SB_OK)
		d->sequence = SB_NULL;
	return rc;
}

size_t ascend_pipe_name(const char *text, size_t len)
{
	static const char *const pipes[] = {"mac", "scalar", "mte1", "mte2", "mte3", "fixpipe", "vec"};
	size_t skip = len > 4 && (memcmp(text, "aic_", 4) == 0 || memcmp(text, "aiv_", 4) == 0) ? 4 : 0;
	size_t end = len;

	if (len < 6 || memcmp(text + len - 6, "_ratio", 6) != 0)
		return 0;
	end -= 6;
	if (end > skip + 4 && memcmp(text + end - 4, "_exe", 4) == 0)
		end -= 4;
	for (size_t i = 0; i < COUNT(pipes); i++) {
		size_t n = strlen(pipes[i]);

		if (end - skip == n && memcmp(text + skip, pipes[i], n) == 0)
			return end;
	}
	return 0;
}
