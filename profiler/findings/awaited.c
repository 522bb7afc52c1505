#include "profiler/findings/findings.h"

/* What ranks wait for one another in collectives. One ends on all ranks together, so whoever was in it longer
 * than the last to come waited by just that much, whatever the clocks say. */

static int64_t shortest(const struct collectives *m, const struct collective_set *set)
{
	int64_t least = INT64_MAX;

	for (size_t k = set->first; k < set->first + set->count; k++)
		least = m->items[k].dur_ns < least ? m->items[k].dur_ns : least;
	return least;
}

static void add_set(const struct check_context *ctx, const struct collectives *m,
                    const struct collective_set *set)
{
	int64_t least = shortest(m, set);

	for (size_t k = set->first; k < set->first + set->count; k++) {
		const struct collective *x = &m->items[k];
		const struct rank_view *v = findings_member_view(ctx, &m->members[x->member]);

		if (v)
			ctx->views[v - ctx->views].awaited_ns =
			    sb_add_sat(v->awaited_ns, sb_sub_sat(x->dur_ns, least));
	}
}

int awaited_fill(struct check_context *ctx)
{
	const struct collectives *m = ctx->collectives;

	if (ctx->view_count < 2)
		return SB_OK;
	for (size_t i = 0; i < m->set_count; i++)
		if (!m->sets[i].pair)
			add_set(ctx, m, &m->sets[i]);
	for (size_t i = 0; i < ctx->view_count; i++) {
		struct rank_view *v = &ctx->views[i];

		if (v->exposed_ns == SB_NULL || v->overlap_ns == SB_NULL) {
			v->awaited_ns = 0;
			continue;
		}
		/* some of it may have been under compute */
		v->awaited_ns = sb_sub_sat(v->awaited_ns, v->overlap_ns);
		if (v->awaited_ns < 0)
			v->awaited_ns = 0;
		if (v->awaited_ns > v->exposed_ns)
			v->awaited_ns = v->exposed_ns;
	}
	return SB_OK;
}
