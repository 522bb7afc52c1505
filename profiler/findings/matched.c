#include "profiler/findings/findings.h"

#include "base/search.h"

const struct rank_view *findings_member_view(const struct check_context *ctx,
                                             const struct collective_member *m)
{
	const struct capture *c = &ctx->p->captures[m->capture];
	const struct rank_view *only = NULL;
	/* views stand in the order of the captures */
	size_t n = 0, lo = SB_BISECT(i, 0, ctx->view_count, ctx->views[i].c < c);

	for (; lo < ctx->view_count && ctx->views[lo].c == c; lo++, n++) {
		only = &ctx->views[lo];
		if (only->device == m->device)
			return only;
	}
	return n == 1 ? only : NULL;
}
