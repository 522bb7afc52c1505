#include "profiler/read/memory_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int memory_series(struct capture *c, int64_t device, uint32_t component, struct memory_series **out)
{
	struct memory_series fresh = {.device = device, .component = component, .capacity_bytes = SB_NULL};

	/* records of one series follow each other, or take turns with few others */
	for (size_t i = c->memory_count; i-- > 0;) {
		if (c->memories[i].device == device && c->memories[i].component == component) {
			*out = &c->memories[i];
			return SB_OK;
		}
	}
	*out = NULL;
	if (c->memory_count == MEMORY_SERIES_MAX)
		return SB_OK;
	if (sb_grow(&c->memories, c->memory_count, sizeof(fresh)) != SB_OK)
		return SB_ENOMEM;
	c->memories[c->memory_count] = fresh;
	*out = &c->memories[c->memory_count++];
	return SB_OK;
}

int memory_add(struct memory_series *s, int64_t time_ns, int64_t allocated, int64_t reserved)
{
	if (!s)
		return SB_OK;
	if (sb_grow(&s->points, s->count, sizeof(*s->points)) != SB_OK)
		return SB_ENOMEM;
	s->points[s->count++] = (struct memory_point){time_ns, allocated, reserved};
	return SB_OK;
}

int memory_allocated(struct capture *c, const struct allocation *a)
{
	if (sb_grow(&c->allocations, c->allocation_count, sizeof(*a)) != SB_OK)
		return SB_ENOMEM;
	c->allocations[c->allocation_count++] = *a;
	return SB_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct memory_point *x = a, *y = b;
	const int64_t left[] = {x->time_ns, x->allocated, x->reserved};
	const int64_t right[] = {y->time_ns, y->allocated, y->reserved};

	return sb_compare(left, right, 3);
}

static int by_start(const void *a, const void *b)
{
	const struct allocation *x = a, *y = b;
	const int64_t left[] = {x->start_ns, x->end_ns, x->bytes, x->name, x->device};
	const int64_t right[] = {y->start_ns, y->end_ns, y->bytes, y->name, y->device};

	return sb_compare(left, right, 5);
}

static bool holds_nothing(const struct memory_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->points[i].allocated > 0 || s->points[i].reserved > 0)
			return false;
	return true;
}

/* Mostly they are in order already. */
static void sort_points(struct memory_series *s)
{
	for (size_t i = 1; i < s->count; i++) {
		if (s->points[i].time_ns < s->points[i - 1].time_ns) {
			qsort(s->points, s->count, sizeof(*s->points), by_time);
			return;
		}
	}
}

/* The framework's allocator first, the modules of the driver last. */
static int64_t order_of(const struct capture *c, const struct memory_series *s)
{
	const char *name = trace_text(&c->trace, s->component, NULL);

	if (*name == '\0' || strcmp(name, "PTA") == 0 || strcmp(name, "MindSpore") == 0)
		return 0;
	if (strncmp(name, "module ", 7) == 0)
		return 3;
	return s->count > 0 && s->points[0].allocated == SB_NULL ? 2 : 1;
}

static bool in_order(const struct capture *c, const struct memory_series *x, const struct memory_series *y)
{
	/* the host's memory behind that of all devices */
	const int64_t left[] = {x->device == MEMORY_HOST, x->device, order_of(c, x)};
	const int64_t right[] = {y->device == MEMORY_HOST, y->device, order_of(c, y)};
	int order = sb_compare(left, right, 3);

	return order < 0 || (order == 0 && strcmp(trace_text(&c->trace, x->component, NULL),
	                                          trace_text(&c->trace, y->component, NULL)) <= 0);
}

/* A handful of series, by insertion: the texts of their components lie with the capture. */
static void sort_series(struct capture *c)
{
	for (size_t i = 1; i < c->memory_count; i++) {
		const struct memory_series s = c->memories[i];
		size_t at = i;

		for (; at > 0 && !in_order(c, &c->memories[at - 1], &s); at--)
			c->memories[at] = c->memories[at - 1];
		c->memories[at] = s;
	}
}

void memory_finish(struct capture *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->memory_count; i++) {
		struct memory_series *s = &c->memories[i];

		if (holds_nothing(s)) {
			free(s->points);
			continue;
		}
		sort_points(s);
		c->memories[kept++] = *s;
	}
	c->memory_count = kept;
	sort_series(c);
	if (c->allocation_count > 0)
		qsort(c->allocations, c->allocation_count, sizeof(*c->allocations), by_start);
}

static int append_points(struct memory_series *to, const struct memory_series *from)
{
	int rc = SB_OK;

	for (size_t i = 0; i < from->count && rc == SB_OK; i++)
		rc = memory_add(to, from->points[i].time_ns, from->points[i].allocated,
		                from->points[i].reserved);
	return rc;
}

static int join_series(struct capture *dst, struct memory_series *s, bool in_parts)
{
	size_t had = dst->memory_count;
	struct memory_series *to = NULL;
	int rc = memory_series(dst, s->device, s->component, &to);

	if (rc != SB_OK || !to)
		return rc;
	if (dst->memory_count > had) {
		*to = *s;
		s->points = NULL;
		s->count = 0;
		return SB_OK;
	}
	/* else the database beside the text files tells the same once more */
	return in_parts ? append_points(to, s) : SB_OK;
}

int memory_join(struct capture *dst, struct capture *src, bool in_parts)
{
	int rc = SB_OK;

	for (size_t i = 0; i < src->memory_count && rc == SB_OK; i++)
		rc = join_series(dst, &src->memories[i], in_parts);
	if (rc != SB_OK || (dst->allocation_count > 0 && !in_parts))
		return rc;
	for (size_t i = 0; i < src->allocation_count && rc == SB_OK; i++)
		rc = memory_allocated(dst, &src->allocations[i]);
	return rc;
}
