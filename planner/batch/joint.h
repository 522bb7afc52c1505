#ifndef SB_PLANNER_BATCH_JOINT_H
#define SB_PLANNER_BATCH_JOINT_H
#include <stdint.h>

/* The batch with which a target is reached soonest: a step of B samples takes f + c B seconds, and the target
 * S_min (1 + B_noise / B) steps (McCandlish et al., 2018, eq. 2.11 with E_min = S_min B_noise). */

struct joint_step {
	double fixed;      /* f, seconds: bubble, exposed all-reduce, start-up; >= 0 */
	double per_sample; /* c, seconds; > 0 */
};
/* f + c B through two measured steps; f is at least 0 (then c passes through the larger). */
struct joint_step joint_fit(double batch, double seconds, double larger_batch, double larger_seconds);
/* B* = sqrt(f B_noise / c): no whole number, and 0 without fixed seconds. */
double joint_best_batch(const struct joint_step *s, double noise);
/* Seconds to the target for each of its least steps: (1 + B_noise / B) (f + c B). At B* it is
 * (sqrt(c B_noise) + sqrt(f))^2. */
double joint_seconds(const struct joint_step *s, double noise, double batch);
/* The same with a step's seconds that are known. */
double joint_seconds_of(double step_seconds, double noise, double batch);
/* The multiple of `unit` within [low, high] that is best under the step's line; 0 when there is none. The
 * cost has one valley, so it is one of the two beside B*, or the end nearest to it. */
int64_t joint_round(const struct joint_step *s, double noise, int64_t unit, int64_t low, int64_t high);
#endif
