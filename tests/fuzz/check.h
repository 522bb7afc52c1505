#ifndef SB_TESTS_FUZZ_CHECK_H
#define SB_TESTS_FUZZ_CHECK_H
#include <stdbool.h>
#include <stdlib.h>

#include "profiler/trace.h"

/* What holds whatever the input was. */

static inline void must(bool ok)
{
	if (!ok)
		abort();
}

/* Every index of a trace lies inside, and no event has a negative length. */
static inline void check_trace(const struct trace *t)
{
	size_t texts = sb_strings_count(t->strings);

	for (size_t i = 0; i < t->lane_count; i++)
		must(t->lanes[i].process < texts && t->lanes[i].thread < texts);
	for (size_t i = 0; i < t->count; i++)
		must(t->dur_ns[i] >= 0 && t->lane[i] < t->lane_count && t->name[i] < texts &&
		     t->kind[i] < EVENT_KIND_COUNT && t->link[i] >= -1);
	for (size_t i = 0; i < t->detail_count; i++)
		must(t->details[i].event < t->count && t->details[i].type < texts &&
		     t->details[i].group < texts && t->details[i].ranks < texts &&
		     (i == 0 || t->details[i].event > t->details[i - 1].event));
}
#endif
