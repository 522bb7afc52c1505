#ifndef SB_PLANNER_PIPELINE_STRAIGHT_H
#define SB_PLANNER_PIPELINE_STRAIGHT_H
#include "planner/pipeline/cells.h"

/* Plans of schedules with one stage a device, and an exact search over their cuts. Given its layers, each
 * stage recomputes as little as fits the memory of its device: no objective here gains from more. */

struct straight;
/* *out is to be freed by straight_free(); it borrows the problem. SB_EIMPOSSIBLE, with the field, for a
 * schedule that cannot be or has several stages a device; SB_ELIMIT; SB_ENOMEM. */
int straight_open(const struct pipeline_problem *p, struct straight **out, struct sb_error *err);
void straight_free(struct straight **s);
#define STRAIGHT_AUTO __attribute__((cleanup(straight_free))) struct straight *
const struct pipeline_problem *straight_problem(const struct straight *s);
int64_t straight_layers(const struct straight *s);
/* Were there too many ways to recompute some layers to know them all (cells_thinned())? */
bool straight_thinned(const struct straight *s);

/* A stage of a plan, its end included. */
struct straight_stage {
	int64_t first, count; /* layers */
	double forward, backward;
	double hop;  /* behind it, where a transfer only delays; else 0 */
	double toll; /* where transfers block: what each pass loses to the hops before and behind it */
	double peak; /* bytes */
	size_t way;  /* of its cell */
};
/* *out_fits: false = these layers do not fit the device. SB_ENOMEM. */
int straight_stage(struct straight *s, int64_t stage, int64_t first, int64_t count,
                   struct straight_stage *out, bool *out_fits);
/* The same in the quickest way, whether it fits or not: no stage of these layers takes less. Without hops. */
struct straight_stage straight_quickest(const struct straight *s, int64_t stage, int64_t first,
                                        int64_t count);
/* The plan of these stages; one a device. SB_ENOMEM. */
int straight_write(struct straight *s, const struct straight_stage *stages, struct pipeline_stage *out);

/* A rule is what a method minimises, told from the last stage on: a label says all that the stages before
 * need to know of those behind, in numbers that only grow with every time of a stage and of what is behind
 * it. So of two labels for the same layers the one that is nowhere larger is enough. */
#define STRAIGHT_NUMBERS 3
struct straight_rule {
	const char *objective; /* of the proof */
	int numbers;           /* of a label; 0 each before the last stage */
	/* out: the label with a stage in front of what is behind. */
	void (*extend)(const struct straight *s, int64_t stage, const struct straight_stage *at,
	               const double *behind, double *out);
	/* Of the label of a whole plan. */
	double (*value)(const struct straight *s, const double *label);
	/* That no plan with this label goes below, whose layers before it take `work` at least, in `stages`
	 * stages; grows with the label. */
	double (*bound)(const struct straight *s, const double *label, double work, int64_t stages);
};
/* The cut of least value; out: one stage a device. Exact (algorithms.md 6 and 8: the Pareto sets of the DP
 * over stage and first layer), unless the proof says that a set, or the ways of a stage, grew past their
 * bound. Takes
 * O(stages * layers * layers a stage * labels). SB_EINFEASIBLE with the reason; SB_ELIMIT; SB_ENOMEM. */
int straight_search(struct straight *s, const struct straight_rule *rule, struct straight_stage *out,
                    struct pipeline_proof *out_proof, struct sb_error *err);
/* The largest load of a stage or a link (PipeDream; algorithms.md 5). */
extern const struct straight_rule straight_slowest;
/* A method that does nothing but search by one rule. */
int straight_plan(const struct pipeline_problem *p, const struct straight_rule *rule,
                  struct pipeline_stage *out, struct pipeline_proof *out_proof, struct sb_error *err);
#endif
