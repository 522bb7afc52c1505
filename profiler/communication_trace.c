#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/communication_parts.h"
#include "profiler/kernel_name.h"

/* A collective on the timeline, on its way to the row of its step, name and group. */
struct collective {
	int64_t step, dur, bytes, count;
	uint32_t name, group;
	size_t at;
};

static int by_row(const void *a, const void *b)
{
	const struct collective *x = a, *y = b;
	int64_t left[] = {null_last(x->step), x->name, x->group, (int64_t)x->at};
	int64_t right[] = {null_last(y->step), y->name, y->group, (int64_t)y->at};

	return sb_compare(left, right, 4);
}

/* By first appearance inside a step. */
static int by_appearance(const void *a, const void *b)
{
	const struct collective *x = a, *y = b;
	int64_t left[] = {null_last(x->step), (int64_t)x->at}, right[] = {null_last(y->step), (int64_t)y->at};

	return sb_compare(left, right, 2);
}

/* The collective's own name where the source gives one, else the type of its kernel. */
static int name_of(struct communication_parts *parts, const struct capture *c, size_t event,
                   const struct event_detail *d, uint32_t *out)
{
	char type[1024];
	size_t len;
	const char *text;

	if (d && d->type)
		return communication_text(parts, c, d->type, out);
	text = trace_text(&c->trace, c->trace.name[event], &len);
	len = kernel_type(text, len, type, sizeof(type));
	return sb_strings_add(parts->report.strings, type, len, out);
}

/* An event of the timeline, on its way to its place among the others. */
struct appearance {
	int64_t start, dur;
	const char *name, *type, *group;
	const struct event_detail *detail; /* may be NULL */
	size_t event;
};

/* By time; the order of the events in the file says nothing. */
static int by_start(const void *a, const void *b)
{
	const struct appearance *x = a, *y = b;
	const int64_t left[] = {x->start, x->dur}, right[] = {y->start, y->dur};
	int order = sb_compare(left, right, 2);

	if (order == 0)
		order = strcmp(x->type, y->type);
	if (order == 0)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->group, y->group);
}

static void find(const struct trace *t, struct appearance *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d;

		if (t->kind[i] != EVENT_COMMUNICATION)
			continue;
		d = trace_detail(t, (uint32_t)i);
		out[n++] = (struct appearance){.start = t->start_ns[i],
		                               .dur = t->dur_ns[i],
		                               .name = trace_text(t, t->name[i], NULL),
		                               .type = trace_text(t, d ? d->type : 0, NULL),
		                               .group = trace_text(t, d ? d->group : 0, NULL),
		                               .detail = d,
		                               .event = i};
	}
	qsort(out, n, sizeof(*out), by_start);
}

static int collect(struct communication_parts *parts, const struct capture *c, const struct appearance *found,
                   struct collective *items, size_t n)
{
	LAUNCHES_AUTO launches = {0};
	STEP_WINDOWS_AUTO windows = {0};
	int rc = launches_build(&c->trace, &launches);

	if (rc == SB_OK)
		rc = step_windows_build(c, &windows);
	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		size_t event = found[i].event;
		const struct event_detail *d = found[i].detail;

		items[i] = (struct collective){.step = collective_step(c, &launches, &windows, event),
		                               .dur = c->trace.dur_ns[event],
		                               .count = 1,
		                               .bytes = d && d->bytes >= 0 ? d->bytes : SB_NULL,
		                               .at = i};
		rc = name_of(parts, c, event, d, &items[i].name);
		if (rc == SB_OK)
			rc = communication_text(parts, c, d ? d->group : 0, &items[i].group);
	}
	return rc;
}

static int add_rows(struct communication_parts *parts, const struct capture *c, struct collective *items,
                    size_t n)
{
	size_t merged = 0;

	qsort(items, n, sizeof(*items), by_row);
	for (size_t i = 0; i < n; i++) {
		struct collective *to = merged > 0 ? &items[merged - 1] : NULL;

		if (to && to->step == items[i].step && to->name == items[i].name &&
		    to->group == items[i].group) {
			to->dur = sb_add_sat(to->dur, items[i].dur);
			/* one unknown size makes the sum unknown */
			to->bytes = to->bytes == SB_NULL || items[i].bytes == SB_NULL
			                ? SB_NULL
			                : sb_add_sat(to->bytes, items[i].bytes);
			to->count++;
		} else {
			items[merged++] = items[i];
		}
	}
	qsort(items, merged, sizeof(*items), by_appearance);
	for (size_t i = 0; i < merged; i++) {
		struct communication_row row = {.rank = c->rank,
		                                .step = items[i].step,
		                                .name = items[i].name,
		                                .group = items[i].group,
		                                .count = items[i].count,
		                                .elapse_us = (double)items[i].dur / 1000,
		                                .transit_us = NAN,
		                                .wait_us = NAN,
		                                .bytes = items[i].bytes};
		int rc = communication_add_row(parts, &row);

		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int communication_trace_rows(struct communication_parts *parts, const struct capture *c)
{
	struct collective *items;
	struct appearance *found;
	size_t n = 0;
	int rc = SB_ENOMEM;

	for (size_t i = 0; i < c->trace.count; i++)
		n += c->trace.kind[i] == EVENT_COMMUNICATION;
	if (n == 0)
		return SB_OK;
	items = calloc(n, sizeof(*items));
	found = calloc(n, sizeof(*found));
	if (items && found) {
		find(&c->trace, found);
		rc = collect(parts, c, found, items, n);
		if (rc == SB_OK)
			rc = add_rows(parts, c, items, n);
	}
	free(items);
	free(found);
	return rc;
}
