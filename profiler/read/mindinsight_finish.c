#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/kernel_name.h"
#include "profiler/read/mindinsight.h"

static int by_step(const void *a, const void *b)
{
	const struct iteration *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if ((x->start_ns == SB_NULL) != (y->start_ns == SB_NULL))
		return x->start_ns == SB_NULL ? 1 : -1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* of two without a start the one that tells the parts */
	if ((x->tail_ns == SB_NULL) != (y->tail_ns == SB_NULL))
		return x->tail_ns == SB_NULL ? 1 : -1;
	return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

/* The step trace and the tables of the cluster tell the same iterations. */
static void unite_iterations(struct capture *c)
{
	size_t kept = 0;

	if (c->iteration_count > 0)
		qsort(c->iterations, c->iteration_count, sizeof(*c->iterations), by_step);
	for (size_t i = 0; i < c->iteration_count; i++) {
		const struct iteration *x = &c->iterations[i];

		if (kept > 0 && c->iterations[kept - 1].step == x->step &&
		    (x->start_ns == SB_NULL || x->start_ns == c->iterations[kept - 1].start_ns))
			continue;
		c->iterations[kept++] = *x;
	}
	c->iteration_count = kept;
}

static int steps_of_iterations(struct capture *c)
{
	free(c->steps);
	c->steps = NULL;
	c->step_count = 0;
	for (size_t i = 0; i < c->iteration_count; i++) {
		const struct iteration *x = &c->iterations[i];
		struct step s = {.number = x->step, .start_ns = x->start_ns, .dur_ns = x->total_ns};

		if (sb_grow(&c->steps, c->step_count, sizeof(s)) != SB_OK)
			return SB_ENOMEM;
		c->steps[c->step_count++] = s;
	}
	return SB_OK;
}

/* The smallest name of a file with queues of operators. */
static uint32_t first_file(const struct capture *c)
{
	uint32_t best = 0;

	for (size_t i = 0; i < c->queue_count; i++) {
		const struct queue *q = &c->queues[i];

		if (q->kind != QUEUE_OPERATOR || q->file == best)
			continue;
		if (best == 0 ||
		    strcmp(trace_text(&c->trace, q->file, NULL), trace_text(&c->trace, best, NULL)) < 0)
			best = q->file;
	}
	return best;
}

void mindinsight_unite_queues(struct capture *c)
{
	uint32_t file = first_file(c);
	size_t kept = 0;

	for (size_t i = 0; i < c->queue_count; i++) {
		struct queue *q = &c->queues[i];

		if (q->kind == QUEUE_OPERATOR && q->file != file)
			free(q->samples);
		else
			c->queues[kept++] = *q;
	}
	c->queue_count = kept;
}

#define TYPE_MAX 256

/* The type of an operator that the framework's table does not know. */
static int type_of_name(struct capture *c, struct op_statistic *s)
{
	char type[TYPE_MAX];
	size_t len;
	const char *name = trace_text(&c->trace, s->name, &len);

	len = graph_operator_type(name, len, type, sizeof(type));
	return sb_strings_add(c->trace.strings, type, len, &s->type);
}

/* Rows without calls come from the framework's table: they give the others their types, and go. */
static int join_types(struct capture *c)
{
	uint32_t *type_of = calloc(sb_strings_count(c->trace.strings), sizeof(*type_of));
	size_t kept = 0;
	int rc = type_of ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < c->op_statistic_count; i++) {
		const struct op_statistic *s = &c->op_statistics[i];

		if (s->count == 0 && type_of[s->name] == 0)
			type_of[s->name] = s->type;
	}
	for (size_t i = 0; rc == SB_OK && i < c->op_statistic_count; i++) {
		struct op_statistic s = c->op_statistics[i];

		if (s.count == 0)
			continue;
		if (s.name != 0 && s.type == 0)
			s.type = type_of[s.name];
		if (s.name != 0 && s.type == 0)
			rc = type_of_name(c, &s);
		c->op_statistics[kept++] = s;
	}
	if (rc == SB_OK)
		c->op_statistic_count = kept;
	free(type_of);
	return rc;
}

static void rank_of_name(struct read_context *ctx, struct capture *c)
{
	int64_t id = mindinsight_id(c->source);
	char folder[256];
	const char *mark = strrchr(c->source, '(');

	if (c->rank != SB_NULL || id == SB_NULL || !mark)
		return;
	c->rank = id;
	c->rank_from = RANK_NAME;
	snprintf(folder, sizeof(folder), "%.*s", (int)(mark - c->source - 1), c->source);
	warnings_add(
	    &ctx->profile->warnings, "rank_from_name", folder, 0, -1,
	    "Ranks are taken from the numbers in the names of the files, which may be those of devices.");
}

int mindinsight_finish(struct read_context *ctx, struct capture *c)
{
	int rc;

	unite_iterations(c);
	mindinsight_unite_queues(c);
	rank_of_name(ctx, c);
	rc = steps_of_iterations(c);
	if (rc == SB_OK)
		rc = join_types(c);
	if (rc == SB_OK)
		rc = mindinsight_align(ctx, c);
	c->event_count = (int64_t)c->trace.count;
	return rc;
}
