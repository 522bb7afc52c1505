#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/read/kineto_impl.h"

#define CATEGORY_MAX 31

static bool ends_with(const char *text, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	return len > n && memcmp(text + len - n, tail, n) == 0;
}

enum event_kind kineto_category(const char *cat, size_t len)
{
#define CATEGORY(text, kind)                                                                                 \
	{                                                                                                    \
		text, sizeof(text) - 1, kind                                                                 \
	}
	static const struct {
		const char *name;
		size_t len;
		enum event_kind kind;
	} CATEGORIES[] = {
	    CATEGORY("cpu_op", EVENT_HOST_OP),
	    CATEGORY("python_function", EVENT_HOST_PYTHON),
	    CATEGORY("cuda_runtime", EVENT_HOST_RUNTIME),
	    CATEGORY("kernel", EVENT_KERNEL),
	    CATEGORY("operator", EVENT_HOST_OP),
	    CATEGORY("gpu_memcpy", EVENT_MEMCPY),
	    CATEGORY("gpu_memset", EVENT_MEMSET),
	    CATEGORY("cuda_driver", EVENT_HOST_RUNTIME),
	    CATEGORY("user_annotation", EVENT_HOST_ANNOTATION),
	    CATEGORY("gpu_user_annotation", EVENT_DEVICE_ANNOTATION),
	    CATEGORY("runtime", EVENT_HOST_RUNTIME),
	    CATEGORY("driver", EVENT_HOST_RUNTIME),
	    CATEGORY("memcpy", EVENT_MEMCPY),
	    CATEGORY("memset", EVENT_MEMSET),
	    CATEGORY("mtia_ccp_events", EVENT_KERNEL),
	    CATEGORY("cuda_event", EVENT_DEVICE_OTHER),
	    CATEGORY("concurrent_kernel", EVENT_KERNEL),
	    /* what a backend says of its collectives: on a device, or (without one) calls of the host */
	    CATEGORY("collective_comm", EVENT_COMMUNICATION),
	    /* Gaudi's kernels have the category of all kernels: these are the calls around them */
	    CATEGORY("hpu_op", EVENT_HOST_RUNTIME),
	};
#undef CATEGORY
	char lower[CATEGORY_MAX];

	if (len == 0 || len > CATEGORY_MAX)
		return EVENT_OTHER;
	for (size_t i = 0; i < sizeof(CATEGORIES) / sizeof(CATEGORIES[0]); i++) {
		if (CATEGORIES[i].len == len && strncasecmp(CATEGORIES[i].name, cat, len) == 0)
			return CATEGORIES[i].kind;
	}
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)(cat[i] >= 'A' && cat[i] <= 'Z' ? cat[i] | 0x20 : cat[i]);
	/* every accelerator has its own: hip_runtime, xpu_driver, mtia_runtime, privateuse1_runtime … */
	if (ends_with(lower, len, "_runtime") || ends_with(lower, len, "_driver"))
		return EVENT_HOST_RUNTIME;
	if (ends_with(lower, len, "_sync"))
		return EVENT_DEVICE_WAIT;
	if (ends_with(lower, len, "_memcpy"))
		return EVENT_MEMCPY;
	if (ends_with(lower, len, "_memset"))
		return EVENT_MEMSET;
	if (ends_with(lower, len, "_user_annotation"))
		return EVENT_DEVICE_ANNOTATION;
	return EVENT_OTHER;
}

bool kineto_on_device(enum event_kind kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION || kind == EVENT_MEMCPY ||
	       kind == EVENT_MEMSET || kind == EVENT_DEVICE_WAIT || kind == EVENT_DEVICE_OTHER ||
	       kind == EVENT_DEVICE_ANNOTATION;
}

/* The libraries' marks: NVIDIA, AMD, Huawei, Intel, Microsoft, and the operator names of Huawei's. */
bool kineto_collective_name(const char *name)
{
	static const char *const MARKS[] = {"nccl", "rccl", "hccl", "oneccl", "msccl", "hcom_", NULL};

	for (size_t i = 0; MARKS[i]; i++) {
		if (strcasestr(name, MARKS[i]))
			return true;
	}
	return false;
}

enum mark { MARK_UNSEEN, MARK_NONE, MARK_COLLECTIVE };

/* Kernel names are long and few: each is searched once. */
int kineto_is_collective(struct kineto *k, const char *text, uint32_t name, bool *out)
{
	if (name >= k->mark_count) {
		size_t n = ((size_t)name + 1) * 2;
		uint8_t *p = realloc(k->marks, n);

		if (!p)
			return SB_ENOMEM;
		memset(p + k->mark_count, MARK_UNSEEN, n - k->mark_count);
		k->marks = p;
		k->mark_count = n;
	}
	if (k->marks[name] == MARK_UNSEEN)
		k->marks[name] = kineto_collective_name(text) ? MARK_COLLECTIVE : MARK_NONE;
	*out = k->marks[name] == MARK_COLLECTIVE;
	return SB_OK;
}

int kineto_kind(struct kineto *k, const struct chrome_event *e, uint32_t name, enum event_kind *out_kind)
{
	enum event_kind kind = kineto_category(e->cat.text, e->cat.len);
	bool collective = false;
	int rc;

	/* MTIA puts its copies into the kernel category */
	if (kind == EVENT_KERNEL && strncasecmp(e->cat.text, "mtia", 4) == 0 &&
	    strncmp(e->name.text, "dma", 3) == 0)
		kind = EVENT_MEMCPY;
	if (kind == EVENT_COMMUNICATION && e->args[ARG_DEVICE].len == 0 && e->args[ARG_STREAM].len == 0)
		kind = EVENT_HOST_ANNOTATION;
	if (kind == EVENT_KERNEL) {
		rc = kineto_is_collective(k, e->name.text, name, &collective);
		if (rc != SB_OK)
			return rc;
		if (collective)
			kind = EVENT_COMMUNICATION;
	}
	*out_kind = kind;
	return SB_OK;
}

bool kineto_has_work(const struct sniff *s)
{
	const char *end = s->head + s->len, *p = s->head;

	while (p < end && (p = memmem(p, (size_t)(end - p), "\"cat\"", 5)) != NULL) {
		const char *close;
		enum event_kind kind;

		for (p += 5; p < end && (*p == ':' || strchr(" \t\r\n", *p)); p++)
			if (*p == '\0')
				return false;
		if (p == end || *p != '"' || !(close = memchr(p + 1, '"', (size_t)(end - p - 1))))
			continue;
		kind = kineto_category(p + 1, (size_t)(close - p - 1));
		if (kind == EVENT_HOST_RUNTIME || kineto_on_device(kind))
			return true;
		p = close;
	}
	return false;
}
