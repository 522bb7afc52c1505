#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_links.h"
#include "profiler/read/memory_rows.h"
#include "profiler/read/merge.h"
#include "profiler/read/mindinsight.h"
#include "profiler/read/msprof.h"

struct numbers {
	int64_t *items;
	size_t count;
};

static void numbers_free(struct numbers *n)
{
	free(n->items);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* A value equal to the one added last is not added again: rows of one step mostly follow each other. */
static int numbers_add(struct numbers *n, int64_t value)
{
	if (value == SB_NULL || (n->count > 0 && n->items[n->count - 1] == value))
		return SB_OK;
	if (sb_grow(&n->items, n->count, sizeof(value)) != SB_OK)
		return SB_ENOMEM;
	n->items[n->count++] = value;
	return SB_OK;
}

static void numbers_sort(struct numbers *n)
{
	if (n->count > 0)
		qsort(n->items, n->count, sizeof(*n->items), by_value);
}

/* The steps that tables name: those of the step table, else those of the kernels. */
static int table_steps(const struct capture *c, struct numbers *out)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < c->step_trace_count; i++)
		rc = numbers_add(out, c->step_traces[i].step);
	for (size_t i = 0; rc == SB_OK && i < c->kernel_count; i++)
		rc = numbers_add(out, c->kernels[i].step);
	numbers_sort(out);
	return rc;
}

static int add_steps(struct capture *c)
{
	__attribute__((cleanup(numbers_free))) struct numbers known = {0}, named = {0};
	int rc = table_steps(c, &named);

	for (size_t i = 0; rc == SB_OK && i < c->step_count; i++)
		rc = numbers_add(&known, c->steps[i].number);
	if (rc != SB_OK)
		return rc;
	numbers_sort(&known);
	for (size_t i = 0; i < named.count; i++) {
		struct step s = {.number = named.items[i], .start_ns = SB_NULL, .dur_ns = SB_NULL};

		if (i > 0 && named.items[i] == named.items[i - 1])
			continue;
		if (known.count > 0 &&
		    bsearch(&s.number, known.items, known.count, sizeof(s.number), by_value))
			continue;
		if (sb_grow(&c->steps, c->step_count, sizeof(s)) != SB_OK)
			return SB_ENOMEM;
		c->steps[c->step_count++] = s;
	}
	steps_sort(c->steps, c->step_count);
	return SB_OK;
}

/* Rows of a database have ids of their own: what is equal there are two. */
static bool text_format(enum capture_format f)
{
	return f == FORMAT_ASCEND_TEXT || f == FORMAT_MINDSPORE_TEXT || f == FORMAT_MSPROF_TEXT;
}

/* What most answers are made from is missing: the user should know before he wonders. */
static void hint_little(struct read_context *ctx, const struct capture *c)
{
	const char *only = NULL;

	if (c->trace.count > 0 || c->kernel_count > 0 || c->step_trace_count > 0 || c->iteration_count > 0 ||
	    c->queue_count > 0)
		return;
	if (c->api_count > 0)
		only = c->communication_count > 0 ? "api_statistic.csv and communication.json"
		                                  : "api_statistic.csv";
	else if (c->communication_count > 0)
		only = "operators of communication";
	else if (c->memory_count + c->allocation_count > 0)
		only = "records of memory";
	if (only && text_format(c->format))
		warnings_add(
		    &ctx->profile->warnings, "little_data", c->source, 0, -1,
		    "The capture holds %s only: breakdown and operators are null; send trace_view.json "
		    "or kernel_details.csv (msprof: op_summary) with it.",
		    only);
}

/* A timeline of the host alone, or one that was taken for Ascend's and is not. */
static void hint_host_only(struct read_context *ctx, const struct capture *c)
{
	if (c->trace.count == 0 || c->kernel_count > 0 || c->step_trace_count > 0 ||
	    trace_has_device_work(&c->trace))
		return;
	warnings_add(&ctx->profile->warnings, "no_device_activity", c->source, 0, -1,
	             "The timeline holds no work of a device, only the host's: device times are unknown. Was "
	             "the profiler told to record the device (ProfilerActivity.NPU)?");
}

int ascend_finish(struct read_context *ctx, struct capture *c, struct sb_error *err)
{
	mindspore_finish(c);
	if (text_format(c->format) && ascend_drop_repeated(ctx, c) != SB_OK)
		return sb_no_memory(err);
	if (c->format != FORMAT_MINDINSIGHT && c->step_trace_count > 1 &&
	    ascend_drop_repeated_steps(ctx, c) != SB_OK)
		return sb_no_memory(err);
	if (c->format == FORMAT_MINDINSIGHT && mindinsight_finish(ctx, c) != SB_OK)
		return sb_no_memory(err);
	if (c->format == FORMAT_MSPROF_TEXT)
		msprof_finish(c);
	memory_finish(c);
	if (communications_sort(c) != SB_OK || add_steps(c) != SB_OK || capture_renumber(c) != SB_OK)
		return sb_no_memory(err);
	hint_little(ctx, c);
	if (text_format(c->format))
		hint_host_only(ctx, c);
	if (c->trace.count == 0)
		c->event_count = (int64_t)c->kernel_count;
	return SB_OK;
}
