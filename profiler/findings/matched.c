#include "profiler/findings/findings.h"

const struct rank_view *findings_member_view(const struct check_context *ctx,
                                             const struct collective_member *m)
{
	const struct capture *c = &ctx->p->captures[m->capture];
	const struct rank_view *only = NULL;
	size_t lo = 0, hi = ctx->view_count, n = 0;

	/* views stand in the order of the captures */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ctx->views[mid].c < c)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < ctx->view_count && ctx->views[lo].c == c; lo++, n++) {
		only = &ctx->views[lo];
		if (only->device == m->device)
			return only;
	}
	return n == 1 ? only : NULL;
}
