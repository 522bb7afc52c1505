#include <stdlib.h>

#include "base/search.h"
#include "profiler/findings/links.h"

static double factor_of(const struct link_factors *f, size_t row)
{
	return f->rows ? f->rows[row] : f->whole;
}

/* The first member of a capture or of a later one. */
static size_t first_member(const struct collectives *m, size_t capture)
{
	return SB_BISECT(i, 0, m->member_count, m->members[i].capture < capture);
}

void link_relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                  const struct link_factors *factors)
{
	size_t capture = (size_t)(v->c - ctx->p->captures);
	const struct collectives *m = ctx->collectives;
	bool any = false;

	for (size_t i = first_member(m, capture);
	     factors->rows && i < m->member_count && m->members[i].capture == capture; i++) {
		if (findings_member_view(ctx, &m->members[i]) != v)
			continue;
		for (size_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
			const struct collective *x = &m->items[m->member_items[k]];

			if (x->operation == COLLECTIVE_NONE || x->source == COLLECTIVE_OPERATION)
				continue;
			any = true;
			finding_relief(ctx, f, v,
			               x->source == COLLECTIVE_EVENT ? RELIEF_EVENT : RELIEF_KERNEL, x->index,
			               factors->rows[x->operation]);
		}
	}
	if (!any)
		finding_relief(ctx, f, v, RELIEF_LINK, 0, factors->whole);
}

/* The last collective of a step. */
struct last {
	int64_t step;
	double start_ns, left_ns;
};

static int by_step(const void *a, const void *b)
{
	const struct last *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* of equal starts the longer comes last, so that the order of the file does not show */
	return (x->left_ns > y->left_ns) - (x->left_ns < y->left_ns);
}

int64_t link_gain(const struct rank_view *v, const struct link_factors *factors, double lost_ns)
{
	const struct capture *c = v->c;
	int64_t most = exposed_at_most(v, lost_ns), stays;
	struct last *all = calloc(c->communication_count + 1, sizeof(*all));
	double left = 0;
	size_t n = 0;

	/* without memory for it the bound is the wider one */
	for (size_t i = 0; all && i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		if (op->start_ns > 0 && !op->point_to_point)
			all[n++] = (struct last){op->step, op->start_ns,
			                         positive(op->transit_us) * 1000 * factor_of(factors, i)};
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), by_step);
	for (size_t i = 0; i < n; i++)
		left += i + 1 == n || all[i + 1].step != all[i].step ? all[i].left_ns : 0;
	free(all);
	stays = exposed_at_most(v, left);
	return v->exposed_ns != SB_NULL && most > v->exposed_ns - stays ? v->exposed_ns - stays : most;
}
