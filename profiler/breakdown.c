#include "profiler/breakdown.h"

#include <stdlib.h>

#include "base/grow.h"
#include "profiler/breakdown_parts.h"

struct breakdown_row row_empty(const struct profile *p, size_t capture, int64_t device, uint32_t step)
{
	const struct capture *c = &p->captures[capture];
	struct breakdown_row row = {.rank = c->rank,
	                            .device = device,
	                            .step = SB_NULL,
	                            .step_ns = SB_NULL,
	                            .span_ns = SB_NULL,
	                            .busy_ns = SB_NULL,
	                            .compute_ns = SB_NULL,
	                            .communication_ns = SB_NULL,
	                            .exposed_ns = SB_NULL,
	                            .overlap_ns = SB_NULL,
	                            .copy_ns = SB_NULL,
	                            .copy_exposed_ns = SB_NULL,
	                            .free_ns = SB_NULL,
	                            .bubble_ns = SB_NULL,
	                            .preparing_ns = SB_NULL,
	                            .capture = capture};

	if (step != NO_STEP) {
		const struct step *s = &c->steps[step];

		row.step = s->number;
		/* a step that only a table knows has no duration; one without a window may have one */
		if (s->dur_ns >= 0)
			row.step_ns = s->dur_ns;
	}
	return row;
}

int rows_add(struct row_list *l, const struct breakdown_row *row)
{
	if (sb_grow(&l->rows, l->count, sizeof(*l->rows)) != SB_OK)
		return SB_ENOMEM;
	l->rows[l->count++] = *row;
	return SB_OK;
}

static void free_rows(struct row_list *l)
{
	free(l->rows);
}

int breakdown_compute(const struct profile *p, struct warnings *warnings, struct breakdown *out,
                      struct sb_error *err)
{
	__attribute__((cleanup(free_rows))) struct row_list list = {0};

	for (size_t i = 0; i < p->count; i++) {
		int rc = capture_is_ascend(&p->captures[i]) ? breakdown_ascend(p, i, warnings, &list)
		                                            : breakdown_gpu(p, i, &list);

		if (rc != SB_OK)
			return sb_fail(err, rc, "breakdown", "the breakdown of %s failed: %s",
			               p->captures[i].source ? p->captures[i].source : "a capture",
			               sb_strerror(rc));
	}
	out->rows = list.rows;
	out->count = list.count;
	list = (struct row_list){0};
	return SB_OK;
}

void breakdown_free(struct breakdown *b)
{
	free(b->rows);
	*b = (struct breakdown){0};
}
