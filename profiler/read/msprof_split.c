#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/msprof.h"

/* A process that drives several devices has one PROF_*, whose tables hold the rows of all of them: each
 * device becomes a capture of its own, as from a database. Which devices there are is known only once all
 * files are put together. */

/* More than any host has: what lies above stays with the first device. */
#define DEVICES_MAX 64

static uint64_t devices_of(const struct capture *c)
{
	uint64_t set = 0;

	for (size_t i = 0; i < c->kernel_count; i++) {
		uint16_t n = c->kernels[i].device;

		if (n > 0 && n <= DEVICES_MAX)
			set |= UINT64_C(1) << (n - 1);
	}
	for (size_t i = 0; i < c->trace.lane_count; i++) {
		int32_t n = c->trace.lanes[i].device;

		if (n >= 0 && n < DEVICES_MAX)
			set |= UINT64_C(1) << n;
	}
	return set;
}

/* What names no device, or one that cannot be, belongs to the first one. */
static bool is_of(uint64_t set, int64_t named, int device)
{
	bool known = named >= 0 && named < DEVICES_MAX && (set >> named & 1);

	return known ? named == device : (set & ((UINT64_C(1) << device) - 1)) == 0;
}

/* Rows of a table without anything of their own. SB_ENOMEM. */
static int copy_rows(void *out, const void *rows, size_t count, size_t size)
{
	void *copy = count > 0 ? malloc(count * size) : NULL;

	if (count > 0 && !copy)
		return SB_ENOMEM;
	if (copy)
		memcpy(copy, rows, count * size);
	memcpy(out, &copy, sizeof(copy));
	return SB_OK;
}

/* The texts keep their ids. */
static int copy_texts(struct sb_strings *to, const struct sb_strings *from)
{
	size_t count = sb_strings_count(from);
	int rc = SB_OK;

	for (uint32_t i = 1; rc == SB_OK && i < count; i++) {
		size_t len;
		const char *text = sb_strings_get(from, i, &len);
		uint32_t id;

		rc = sb_strings_add(to, text, len, &id);
	}
	return rc;
}

/* Events of the host are in each: they are what launched the device's work. */
static int copy_trace(struct trace *to, const struct trace *from, uint64_t set, int device)
{
	size_t detail = 0;
	uint32_t id;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < from->lane_count; i++)
		rc = trace_add_lane(to, &from->lanes[i], &id);
	for (size_t i = 0; rc == SB_OK && i < from->count; i++) {
		int32_t named = from->lanes[from->lane[i]].device;
		const struct event e = trace_event(from, i);
		bool mine = named < 0 || is_of(set, named, device);

		if (mine)
			rc = trace_append(to, &e);
		for (; detail < from->detail_count && from->details[detail].event <= i; detail++)
			if (rc == SB_OK && mine && from->details[detail].event == i)
				rc = trace_append_detail(to, &from->details[detail]);
	}
	return rc;
}

static int copy_kernels(struct capture *to, const struct capture *from, uint64_t set, int device)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < from->kernel_count; i++) {
		if (!is_of(set, (int64_t)from->kernels[i].device - 1, device))
			continue;
		rc = capture_add_kernel(to, &from->kernels[i]);
	}
	return rc;
}

static int copy_device(struct capture *to, const struct capture *from, uint64_t set, int device)
{
	size_t len = strlen(from->source) + 16;
	int rc = trace_init(&to->trace);

	to->format = from->format;
	to->rank = to->world_size = to->stage = SB_NULL;
	memcpy(to->chip, from->chip, sizeof(to->chip));
	to->source = malloc(len);
	if (!to->source)
		return SB_ENOMEM;
	snprintf(to->source, len, "%s#%d", from->source, device);
	if (rc == SB_OK)
		rc = copy_texts(to->trace.strings, from->trace.strings);
	if (rc == SB_OK)
		rc = copy_trace(&to->trace, &from->trace, set, device);
	if (rc == SB_OK)
		rc = copy_kernels(to, from, set, device);
	if (rc == SB_OK)
		rc = copy_rows(&to->steps, from->steps, from->step_count, sizeof(*from->steps));
	if (rc == SB_OK)
		to->step_count = from->step_count;
	if (rc == SB_OK)
		rc = copy_rows(&to->apis, from->apis, from->api_count, sizeof(*from->apis));
	if (rc == SB_OK)
		to->api_count = from->api_count;
	to->event_count = (int64_t)to->trace.count;
	return rc;
}

/* The queues are the host's: they stay with the first device. */
static void replace(struct capture *c, struct capture *by)
{
	by->queues = c->queues;
	by->queue_count = c->queue_count;
	c->queues = NULL;
	c->queue_count = 0;
	capture_free(c);
	*c = *by;
	free(by);
}

static int split(struct capture *c, uint64_t set, struct capture **list, size_t *count)
{
	int rc = SB_OK;

	for (int device = 0; rc == SB_OK && device < DEVICES_MAX; device++) {
		if (!(set >> device & 1))
			continue;
		list[*count] = calloc(1, sizeof(**list));
		if (!list[*count])
			return SB_ENOMEM;
		rc = copy_device(list[(*count)++], c, set, device);
	}
	return rc;
}

int msprof_split(struct capture *c, struct capture ***out_more, size_t *out_count)
{
	uint64_t set = devices_of(c);
	struct capture **list;
	size_t count = 0;
	int rc;

	/* a rank of PyTorch's profiler has one device */
	if ((set & (set - 1)) == 0 || ascend_directory(c->source) > 0)
		return SB_OK;
	list = calloc(DEVICES_MAX, sizeof(struct capture *));
	if (!list)
		return SB_ENOMEM;
	rc = split(c, set, list, &count);
	if (rc != SB_OK) {
		for (size_t i = 0; i < count; i++)
			capture_discard(&list[i]);
		free(list);
		return rc;
	}
	replace(c, list[0]);
	memmove(list, list + 1, (count - 1) * sizeof(struct capture *));
	*out_more = list;
	*out_count = count - 1;
	return SB_OK;
}
