#ifndef SB_PLANNER_BATCH_COPUS_H
#define SB_PLANNER_BATCH_COPUS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Batch size and parallel plan together, as the gradient noise grows in training (COPUS): of a table of
 * configurations that fit, the one with the most goodput = throughput * statistical efficiency, and a change
 * only when it pays. */

struct copus_row {
	double batch;      /* samples, > 0 */
	double throughput; /* samples a second, > 0 */
};
struct copus_rule {
	double reference_batch; /* where the statistical efficiency is 1 */
	bool square_root;       /* the learning rate grows with sqrt(batch), and progress with it (Adam) */
	double threshold;       /* a change must gain this share: 0.1 */
	double reconfiguration; /* seconds of a change; NaN: not known */
};
#define COPUS_THRESHOLD 0.1 /* of the paper */

/* (phi + B0) / (phi + B): progress of a sample in a batch of B against one in B0 (Pollux, OSDI 2021, eq. 6).
 */
double copus_efficiency(double phi, double reference, double batch);
/* throughput * efficiency, times sqrt(B / B0) with the square-root rule: useful samples a second. */
double copus_goodput(const struct copus_row *row, const struct copus_rule *rule, double phi);
/* The row with the most goodput at phi; of equals the first. */
size_t copus_best(const struct copus_row *rows, size_t count, const struct copus_rule *rule, double phi);

/* Up to `to` the row is the best of all. */
struct copus_interval {
	double from, to; /* noise scales; the last ends at INFINITY */
	size_t row;
};
/* Which row is the best at which noise scale from 0 on. (phi + B) / (throughput * sqrt(B)) is a line in phi,
 * and the best row the lowest of them: so the intervals are the lower envelope of lines, O(n log n). out:
 * room for count; *out_count of them. SB_ENOMEM. */
int copus_intervals(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                    struct copus_interval *out, size_t *out_count);

struct copus_point {
	double phi;     /* NaN: not known, nothing changes */
	double seconds; /* that it lasts; NaN: not known */
};
enum copus_reason {
	COPUS_START,
	COPUS_BEST,   /* what runs is the best */
	COPUS_SWITCH, /* to the best */
	COPUS_THRESHOLD_NOT_MET,
	COPUS_NOT_PAID, /* the change costs more than what is left of the run gives back */
	COPUS_UNKNOWN,  /* no noise scale */
	COPUS_REASONS
};
const char *copus_reason_word(enum copus_reason r);
struct copus_step {
	size_t row, best;             /* what runs, and what would be the best */
	double goodput, best_goodput; /* NaN without a noise scale */
	double gain;                  /* of the best against what ran before */
	double break_even; /* seconds after which a change has paid; NaN: no change to weigh, or not known */
	enum copus_reason reason;
};
/* Seconds after which a change has paid: reconfiguration * old / (new - old). */
double copus_break_even(double reconfiguration, double old_goodput, double new_goodput);
/* What runs at each point. current: the row that runs now; SIZE_MAX: none, then the first known point starts
 * with its best. A change is made when it gains at least the threshold and, where all that is left has its
 * seconds, breaks even within them. */
void copus_schedule(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                    const struct copus_point *points, size_t point_count, size_t current,
                    struct copus_step *out);
/* The mean goodput of a schedule over the points whose noise is known, by their seconds where all have some,
 * else each the same. A change costs the reconfiguration's seconds (0 when not known, or the points have
 * none). */
double copus_mean(double reconfiguration, const struct copus_point *points, const struct copus_step *steps,
                  size_t count);
/* The row with the highest mean that runs at all points. *out_mean: that mean. */
size_t copus_fixed(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                   const struct copus_point *points, size_t point_count, double *out_mean);
#endif
