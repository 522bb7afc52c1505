#include <stdlib.h>

#include "profiler/findings/host_part.h"

static void add(int64_t *sum, int64_t v)
{
	*sum = *sum == SB_NULL || v == SB_NULL ? SB_NULL : sb_add_sat(*sum, v);
}

static void add_row(struct rank_view *v, const struct breakdown_row *r)
{
	add(&v->span_ns, r->span_ns);
	add(&v->compute_ns, r->compute_ns);
	add(&v->communication_ns, r->communication_ns);
	add(&v->exposed_ns, r->exposed_ns);
	add(&v->overlap_ns, r->overlap_ns);
	add(&v->copy_exposed_ns, r->copy_exposed_ns);
	add(&v->free_ns, r->free_ns);
	add(&v->bubble_ns, r->bubble_ns);
	add(&v->preparing_ns, r->preparing_ns);
}

/* The rows of one device: steps first, the whole capture last. */
static void fill(struct rank_view *v, const struct breakdown_row *rows, size_t n)
{
	bool ascend = capture_is_ascend(v->c), steps_known = true;
	int64_t step_ns = 0;
	size_t used = 0;

	v->steps = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		if (ascend && (rows[i].span_ns == SB_NULL || rows[i].span_ns <= 0))
			continue;
		v->step = rows[i].step;
		v->steps++;
		if (!ascend)
			continue;
		add_row(v, &rows[i]);
		used++;
		steps_known = steps_known && rows[i].step_ns != SB_NULL && rows[i].step_ns > 0;
		add(&step_ns, rows[i].step_ns);
	}
	if (v->steps != 1)
		v->step = SB_NULL;
	if (used == 0) {
		add_row(v, &rows[n - 1]);
		steps_known = false;
	}
	if (v->steps == 0)
		v->steps = 1;
	/* without a span (rows of a table that name no step) nothing can be a share of it */
	v->total_ns = v->span_ns == SB_NULL ? 0 : v->span_ns;
	if (v->bubble_ns != SB_NULL && v->span_ns != SB_NULL)
		v->total_ns = sb_add_sat(v->total_ns, v->bubble_ns);
	/* a table that says more than the step takes by another file is of another run */
	v->contradicted = steps_known && ascend_source_of(v->c) == ASCEND_CSV &&
	                  v->total_ns > sb_add_sat(step_ns, step_ns / 10);
	/* work may run past the end of the host's step: the longer of the two is what a step costs */
	if (steps_known && step_ns > v->total_ns)
		v->total_ns = step_ns;
}

/* Checks look through a capture once a device. */
static size_t most_views(const struct capture *c)
{
	size_t rows = c->trace.count + c->kernel_count, most = VIEW_LOOKS_MAX / (rows + 1);

	return most > VIEWS_LEAST ? most : VIEWS_LEAST;
}

/* The devices of one capture: rows [from, to). */
static int build_capture(struct check_context *ctx, const struct host_part *host, size_t from, size_t to)
{
	const struct breakdown_row *rows = ctx->b->rows;
	size_t last = ctx->view_count + most_views(host->c);

	for (size_t end = from; from < to && ctx->view_count < last; from = end) {
		struct rank_view v = {
		    .c = host->c, .rank = rows[from].rank, .device = rows[from].device, .step = SB_NULL};
		int rc;

		while (end < to && rows[end].device == rows[from].device)
			end++;
		fill(&v, &rows[from], end - from);
		if (v.total_ns <= 0)
			continue;
		rc = host_time_fill(ctx->t, host, &v);
		/* also after a failure: the context frees what it owns */
		ctx->views[ctx->view_count++] = v;
		if (rc != SB_OK)
			return rc;
	}
	ctx->views_left_out = ctx->views_left_out || from < to;
	return SB_OK;
}

void views_free(struct check_context *ctx)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		intervals_free(&ctx->views[i].waited);
		intervals_free(&ctx->views[i].left);
		free(ctx->views[i].idle.starved_gaps);
	}
	free(ctx->views);
	ctx->views = NULL;
	ctx->view_count = 0;
}

int views_build(struct check_context *ctx)
{
	const struct breakdown *b = ctx->b;
	int rc = SB_OK;

	ctx->views = calloc(b->count + 1, sizeof(*ctx->views));
	ctx->hosts = calloc(ctx->p->count + 1, sizeof(*ctx->hosts));
	if (!ctx->views || !ctx->hosts)
		return SB_ENOMEM;
	for (size_t from = 0, to = 0; rc == SB_OK && from < b->count; from = to) {
		struct host_part *host = &ctx->hosts[b->rows[from].capture];

		while (to < b->count && b->rows[to].capture == b->rows[from].capture)
			to++;
		host_part_free(host);
		rc = host_part_fill(ctx->t, &ctx->p->captures[b->rows[from].capture], host);
		if (rc == SB_OK)
			rc = build_capture(ctx, host, from, to);
	}
	if (rc == SB_OK)
		rc = awaited_fill(ctx);
	return rc == SB_OK ? contention_fill(ctx) : rc;
}
