#ifndef SB_PROFILER_FINDINGS_CONTENTION_H
#define SB_PROFILER_FINDINGS_CONTENTION_H
#include <stddef.h>
#include <stdint.h>

#include "profiler/profile.h"

/* How long the calls of one name take on each of the captures. contention*.c only. */

/* A ratio of fewer names is chance. */
#define NAMES_LEAST 5
/* Sums of one name: [0] in ordinary steps, [1] in those that stand out. */
struct name_sum {
	double ns[2];
	uint32_t count[2];
};

/* One name of one capture among those of all. */
struct named_mean {
	uint32_t name, capture;
	double mean;
};

struct name_means {
	struct named_mean *items;
	size_t count;
};

/* Adds the means of all names of one capture. SB_ENOMEM, SB_ELIMIT. */
int name_means_add(struct name_means *m, struct sb_strings *names, const struct capture *c, uint32_t capture,
                   const struct name_sum *sums, size_t texts);
/* How much longer the names of each capture take than the median of the other captures' same names: the
 * median over the names, how many these are, and how many take `slow` times as long or more (may be NULL);
 * NaN with fewer than NAMES_LEAST. Sorts. SB_ENOMEM. */
int name_means_compare(struct name_means *m, size_t captures, double slow, double *by_capture_ratio,
                       size_t *by_capture_names, size_t *by_capture_slow);
#endif
