#ifndef SB_PLANNER_NETWORK_GRADIENT_FUSION_H
#define SB_PLANNER_NETWORK_GRADIENT_FUSION_H
#include <stdbool.h>
#include <stdint.h>

#include "planner/network/collective_curve.h"

/* Which gradients to reduce together, so that the last all-reduce ends first: adaptive gradient fusion of the
 * Hermes paper (USENIX ATC 2025, 5.1.3 and appendix E).
 *
 * Backward makes gradient j at the time r_j, the sum of its operators up to there. A segment of neighbouring
 * gradients is one all-reduce. It starts when its last gradient is there and the all-reduce before it has
 * ended, and takes f(bytes of the segment):
 *     e_comm,1 = e_comp,1 + f(v_1),   e_comm,k = max(e_comp,k, e_comm,k-1) + f(v_k). */

struct fusion_gradient {
	int64_t bytes;
	double backward_seconds; /* of the backward operators since the gradient before */
};
struct fusion_problem {
	const struct fusion_gradient *gradients; /* in the order in which backward makes them */
	size_t count;
	struct collective_curve cost;
	int64_t max_segment_bytes; /* a larger gradient goes alone; INT64_MAX: no bound */
};
#define FUSION_GRADIENTS_MAX 100000
#define FUSION_BYTES_MAX ((int64_t)1 << 40)
#define FUSION_SECONDS_MAX 1e6

struct fusion_segment {
	size_t first, count;
};
/* A segmentation, in order and without holes. */
struct fusion_plan {
	struct fusion_segment *segments;
	size_t count;
};
/* NULL-safe. */
void fusion_plan_clear(struct fusion_plan *p);
#define FUSION_PLAN_AUTO __attribute__((cleanup(fusion_plan_clear))) struct fusion_plan

struct fusion_time {
	double end_seconds;     /* of the last all-reduce, from the start of backward */
	double compute_seconds; /* of backward; what follows it is exposed communication */
	double communication_seconds;
	int64_t largest_bytes; /* of a segment */
};
/* One all-reduce of a plan. */
struct fusion_event {
	int64_t bytes;
	double ready_seconds, start_seconds, end_seconds;
};

/* SB_EIMPOSSIBLE with err->field "gradients", "gradients/INDEX/bytes", "gradients/INDEX/backward_seconds" or
 * "max_segment_bytes". The other functions take a problem that has passed. */
int fusion_check(const struct fusion_problem *p, struct sb_error *err);
/* The recurrence itself, for any segmentation: what every answer is scored by. out_events, when not NULL, has
 * room for one event a segment. SB_EINVAL for what is no segmentation of the gradients, or breaks
 * max_segment_bytes. */
int fusion_evaluate(const struct fusion_problem *p, const struct fusion_plan *plan, struct fusion_time *out,
                    struct fusion_event *out_events);

/* The optimum. Let E_j be the least end of the last all-reduce over all segmentations of the first j
 * gradients. E_0 = 0,   E_j = min over i < j of max(r_j, E_i) + f(v_i+1 + ... + v_j). This is exact for any f
 * >= 0: what follows a prefix depends on its end alone, and never ends earlier when that end is later (max
 * and + do not fall). f need not be subadditive. Where f does not fall either, as our curves, E does not fall
 * in j: take the best segmentation of the first j+1 gradients and leave the last one out; no size and no time
 * grows. So the i with E_i <= r_j are a prefix, which grows with j, and of them the largest wins (all start
 * at r_j, it has the fewest bytes). Of the others, those whose size lies on one line of f compare by E_i -
 * slope * V_i, which is the same for all j; as j grows each i wanders from line to line once. A queue with
 * the minimum in front for each line: O(n * lines) time, O(n + lines) memory. At equal ends the longest last
 * segment is taken; afterwards neighbours are joined where that does not make the end later. *out_weighed:
 * how many last segments were weighed. SB_ENOMEM. */
int fusion_optimal(const struct fusion_problem *p, struct fusion_plan *out, int64_t *out_weighed);
/* The paper's greedy search: forward, the next gradient joins the open segment when the fused all-reduce ends
 * no later than the all-reduce after it would start if it stayed apart (max of r and the end of the apart
 * ones; for the last gradient: no later than it would end apart). Else the segment is closed. O(n log lines).
 */
int fusion_greedy(const struct fusion_problem *p, struct fusion_plan *out);
/* Buckets as the usual frameworks fill them: one is closed when it holds at least bucket_bytes. 1: every
 * gradient alone; INT64_MAX: all in one. */
int fusion_buckets(const struct fusion_problem *p, int64_t bucket_bytes, struct fusion_plan *out);
/* The best size of such buckets among 2^k and 3 * 2^k bytes from 1 KiB on (of equals the largest), and its
 * time. SB_ENOENT when none keeps max_segment_bytes. */
int fusion_best_bucket(const struct fusion_problem *p, int64_t *out_bytes, struct fusion_time *out);

/* ---- from a profile (fusion_measured.c) ---- */

/* An all-reduce of gradients as it ran, times from any one origin. One may hold several gradients already: it
 * is taken as one, to be joined further. */
struct fusion_measured {
	int64_t bytes;
	double ready_seconds; /* when its gradients were there (its launch, or the end of the kernel that made
	                         the last of them); NAN: not known */
	double start_seconds, end_seconds;
};
/* Turns the all-reduces of one rank's backward, by start, into gradients (out: room for count) and cost rows
 * (out_rows: the same; rows of one size are means to the planner). A row without a ready time that started
 * after the one before had ended was ready at its start; the others in a busy stretch are spread evenly
 * between known neighbours, from backward_start to backward_end. Ready times are made to not fall, and none
 * is after its start. SB_EIMPOSSIBLE for times that are no numbers, or run backwards. */
int fusion_from_measured(const struct fusion_measured *rows, size_t count, double backward_start,
                         double backward_end, struct fusion_gradient *out, struct curve_row *out_rows,
                         struct sb_error *err);
#endif
