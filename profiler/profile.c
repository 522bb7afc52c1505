#include "profiler/profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const struct format_facts FORMATS[FORMAT_COUNT] = {
    [FORMAT_KINETO] = {.name = "kineto", .writer = "PyTorch and JAX (Kineto traces)", .rules = RULES_GPU},
    [FORMAT_ASCEND_TEXT] = {.name = "ascend-pytorch-text",
                            .writer = "PyTorch on Ascend",
                            .rules = RULES_ASCEND},
    [FORMAT_ASCEND_DB] = {.name = "ascend-pytorch-db", .writer = "PyTorch on Ascend", .rules = RULES_ASCEND},
    [FORMAT_MINDSPORE_TEXT] = {.name = "mindspore-text", .writer = "MindSpore", .rules = RULES_ASCEND},
    [FORMAT_MINDSPORE_DB] = {.name = "mindspore-db", .writer = "MindSpore", .rules = RULES_ASCEND},
    [FORMAT_MSPROF_TEXT] = {.name = "msprof-text",
                            .writer = "msprof",
                            .rules = RULES_ASCEND,
                            .in_parts = true},
    [FORMAT_MSPROF_DB] = {.name = "msprof-db", .writer = "msprof", .rules = RULES_ASCEND},
    [FORMAT_MINDINSIGHT] = {.name = "mindinsight",
                            .writer = "MindInsight",
                            .rules = RULES_ASCEND,
                            .in_parts = true,
                            .sparse_timeline = true,
                            .node_names = true,
                            .exact_steps = true},
    [FORMAT_CLUSTER_ANALYSIS] = {.name = "ascend-cluster-analysis",
                                 .writer = "msprof-analyze",
                                 .rules = RULES_ASCEND,
                                 .whole_cluster = true},
    [FORMAT_NSYS] = {.name = "nsys-sqlite",
                     .writer = "Nsight Systems (exported to SQLite)",
                     .rules = RULES_GPU,
                     .nsys_options = true},
    [FORMAT_SIGNALBOX] = {.name = "signalbox-v1",
                          .writer = "any framework (signalbox-v1)",
                          .rules = RULES_GPU},
};

const struct format_facts *capture_format_facts(enum capture_format f)
{
	static const struct format_facts none = {.name = "unknown", .writer = "unknown", .rules = RULES_GPU};

	return (unsigned)f < FORMAT_COUNT ? &FORMATS[f] : &none;
}

const char *capture_format_name(enum capture_format f)
{
	return capture_format_facts(f)->name;
}

bool capture_is_ascend(const struct capture *c)
{
	return capture_format_facts(c->format)->rules == RULES_ASCEND;
}

const char *capture_environment(const struct capture *c, const char *name)
{
	for (size_t i = 0; i < c->environment_count; i++)
		if (strcmp(trace_text(&c->trace, c->environment[i].name, NULL), name) == 0)
			return trace_text(&c->trace, c->environment[i].value, NULL);
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	const int64_t left[] = {x->start_ns == SB_NULL, x->start_ns, x->number, x->dur_ns};
	const int64_t right[] = {y->start_ns == SB_NULL, y->start_ns, y->number, y->dur_ns};

	return sb_compare(left, right, 4);
}

void steps_sort(struct step *steps, size_t count)
{
	if (count > 0)
		qsort(steps, count, sizeof(*steps), by_start);
}

static struct warning *find(struct warnings *w, const char *code, const char *file)
{
	/* a repeated one is mostly among the last */
	for (size_t i = w->count; i-- > 0;) {
		struct warning *x = &w->items[i];

		if (strncmp(x->code, code, sizeof(x->code) - 1) == 0 &&
		    strncmp(x->file, file, sizeof(x->file) - 1) == 0)
			return x;
	}
	return NULL;
}

void warnings_add(struct warnings *w, const char *code, const char *file, int64_t line, int64_t offset,
                  const char *fmt, ...)
{
	struct warning *x;
	va_list ap;

	if (!file)
		file = "";
	x = find(w, code, file);
	if (x) {
		x->count++;
		return;
	}
	if (w->count == WARNINGS_MAX || sb_grow(&w->items, w->count, sizeof(*x)) != SB_OK) {
		w->dropped++;
		return;
	}
	x = &w->items[w->count++];
	memset(x, 0, sizeof(*x));
	snprintf(x->code, sizeof(x->code), "%s", code);
	snprintf(x->file, sizeof(x->file), "%s", file);
	x->line = line;
	x->offset = offset;
	x->count = 1;
	va_start(ap, fmt);
	vsnprintf(x->detail, sizeof(x->detail), fmt, ap);
	va_end(ap);
}

void warnings_join(struct warnings *w, const struct warnings *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct warning *x = &from->items[i];

		warnings_add(w, x->code, x->file, x->line, x->offset, "%s", x->detail);
		if (x->count > 1)
			warnings_repeat(w, x->code, x->file, x->count - 1);
	}
	w->dropped += from->dropped;
}

void warnings_repeat(struct warnings *w, const char *code, const char *file, uint64_t more)
{
	struct warning *x = find(w, code, file ? file : "");

	if (x)
		x->count += more;
}

struct kernel kernel_unknown(void)
{
	return (struct kernel){.step = SB_NULL,
	                       .start_ns = SB_NULL,
	                       .wait_ns = SB_NULL,
	                       .block_dim = -1,
	                       .pipe_ratio = NAN,
	                       .inner_ratio = NAN,
	                       .flops = NAN,
	                       .bytes = NAN,
	                       .stream = -1};
}

int capture_add_kernel(struct capture *c, const struct kernel *k)
{
	if (sb_grow(&c->kernels, c->kernel_count, sizeof(*k)) != SB_OK)
		return SB_ENOMEM;
	c->kernels[c->kernel_count++] = *k;
	return SB_OK;
}

int capture_add_clock(struct capture *c, int64_t time_ns, double mhz, int32_t device)
{
	if (time_ns == SB_NULL || !(mhz > 0) || !isfinite((float)mhz))
		return SB_OK;
	if (sb_grow(&c->clocks, c->clock_count, sizeof(*c->clocks)) != SB_OK)
		return SB_ENOMEM;
	c->clocks[c->clock_count++] = (struct clock_sample){time_ns, device, (float)mhz};
	return SB_OK;
}

int capture_add_step_trace(struct capture *c, const struct step_trace *t)
{
	if (sb_grow(&c->step_traces, c->step_trace_count, sizeof(*t)) != SB_OK)
		return SB_ENOMEM;
	c->step_traces[c->step_trace_count++] = *t;
	return SB_OK;
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->communication_count; i++) {
		struct communication_op *op = &c->communications[i];

		for (size_t k = 0; k < op->link_count; k++)
			free(op->links[k].packets);
	}
	free(c->communications);
	free(c->source);
	free(c->steps);
	free(c->kernels);
	free(c->step_traces);
	free(c->apis);
	free(c->op_statistics);
	free(c->iterations);
	for (size_t i = 0; i < c->queue_count; i++)
		free(c->queues[i].samples);
	free(c->queues);
	free(c->group_uses);
	for (size_t i = 0; i < c->memory_count; i++)
		free(c->memories[i].points);
	free(c->memories);
	free(c->allocations);
	free(c->environment);
	free(c->host_works);
	free(c->work_kernels);
	free(c->fills);
	free(c->clocks);
	trace_free(&c->trace);
	*c = (struct capture){.rank = SB_NULL, .world_size = SB_NULL, .stage = SB_NULL};
}

void capture_discard(struct capture **c)
{
	if (*c)
		capture_free(*c);
	free(*c);
	*c = NULL;
}

void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++)
		capture_free(&p->captures[i]);
	free(p->captures);
	free(p->warnings.items);
	free(p->left_out);
	*p = (struct profile){0};
}
