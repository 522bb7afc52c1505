#ifndef SB_API_PLANS_CBC_H
#define SB_API_PLANS_CBC_H
#include "base/watch.h"
#include "planner/pipeline/lp.h"

/* COIN-OR's CBC, if it is installed: the program `cbc` of the search path, run as a process of its own with
 * its input and its answer in a new folder of $TMPDIR or /tmp, which goes again. It is stopped at a number of
 * nodes, so that an answer does not depend on the machine, and at a time, so that it comes. self: a struct
 * cbc, or NULL. */
extern const struct lp_solver cbc_solver;
struct cbc {
	const struct sb_watch *watch; /* it is ended (SB_ECANCELED) when that says so; NULL: never */
};
/* Is it there? */
bool cbc_is_installed(void);
/* Reads its answer: the first line says how it ended, then a line a column that is not 0. values: zeroed.
 * SB_EIO for what is none. */
int cbc_read_solution(const char *text, size_t columns, struct lp_result *out, struct sb_error *err);
#endif
