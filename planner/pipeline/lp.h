#ifndef SB_PLANNER_PIPELINE_LP_H
#define SB_PLANNER_PIPELINE_LP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A linear program with whole numbers, as text in CPLEX's LP format, and somebody who solves it: planners run
 * no programs. Columns are named x0, x1, …; the objective is minimised. */

enum lp_status {
	LP_OPTIMAL,   /* proved */
	LP_STOPPED,   /* at a limit, with the best that was found */
	LP_NOTHING,   /* at a limit, with nothing */
	LP_INFEASIBLE /* proved */
};
struct lp_result {
	enum lp_status status;
	double objective;
	double bound;   /* that no solution goes below; NaN = unknown */
	double *values; /* the caller's, [columns] */
};
struct lp_solver {
	void *self;
	/* Stops after so many seconds. SB_ECONFLICT: there is no solver on this machine; SB_EIO, with the
	 * reason, when it failed; SB_ENOMEM. */
	int (*solve)(void *self, const char *text, size_t length, size_t columns, double seconds,
	             struct lp_result *out, struct sb_error *err);
};

/* What writes one. A failure sticks, as in struct sb_buf. */
struct lp {
	struct sb_buf rows, bounds, whole;
	size_t columns, row_count, terms; /* terms: of the row that is open */
};
void lp_init(struct lp *lp);
void lp_free(struct lp *lp);
#define LP_AUTO __attribute__((cleanup(lp_free))) struct lp
/* A new column from 0 to `most` (INFINITY = no bound). */
size_t lp_column(struct lp *lp, bool whole, double most);
/* Adds to the open row; 0 adds nothing. */
void lp_term(struct lp *lp, double weight, size_t column);
/* Ends the open row: "<=", ">=" or "=". A row without terms is left out. */
void lp_end(struct lp *lp, const char *relation, double right);
/* The text, whose objective is one column. *out is to be freed by free(). SB_ELIMIT: too long; SB_ENOMEM. */
int lp_text(struct lp *lp, size_t objective, struct sb_buf *out);
#endif
