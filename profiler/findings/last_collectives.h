#ifndef SB_PROFILER_FINDINGS_LAST_COLLECTIVES_H
#define SB_PROFILER_FINDINGS_LAST_COLLECTIVES_H
#include "profiler/findings/findings.h"

/* The last collective of each step on one device; ns over all steps. */
struct last_collectives {
	/* What they take under no compute; all they take where no timeline tells; 0 where collectives are not
	 * told one by one. A last one's gradients come with the last piece of compute, so that nothing is
	 * left for it to run under (Hermes, appendix E: e_comm,n >= e_comp,n + f(v_n)). */
	int64_t exposed_ns;
	/* Compute beside which nothing is transmitted, from the first collective of each step to the last:
	 * where there is none, collectives follow one another, and only less communication helps. SB_NULL =
	 * not told. */
	int64_t idle_link_ns;
};
/* By the first source that has any: the timeline, the kernel table, communication.json (without sends and
 * receives). O(events + n log n). SB_ENOMEM. */
int last_collectives_find(const struct rank_view *v, struct last_collectives *out);
#endif
