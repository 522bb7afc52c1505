#ifndef SB_TESTS_GENERATE_MSPROF_H
#define SB_TESTS_GENERATE_MSPROF_H
#include "tests/generate/ascend.h"
#include "tests/generate/options.h"

/* The job of ascend.h as other tools write it down: raw msprof output, and the output of a cluster analysis.
 */

/* The options that both have. */
void msprof_options(int argc, char **argv, enum fault_dialect dialect, const char *own,
                    struct ascend_options *o);
/* Plays the job; frees what ascend_play() left in the ranks, and the ranks. */
struct ascend_rank *msprof_play(const struct ascend_options *o);
void msprof_free(const struct ascend_options *o, struct ascend_rank *ranks);
#endif
