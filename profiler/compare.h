#ifndef SB_PROFILER_COMPARE_H
#define SB_PROFILER_COMPARE_H
#include "profiler/analysis.h"
#include "profiler/breakdown.h"
#include "profiler/loading.h"
#include "profiler/operators.h"

/* Two profiles side by side, from what was stored of them. All is a step of one device, in ns: captures of
 * different length, with different numbers of steps and ranks, are compared by their means. */

enum compare_part {
	COMPARE_STEP,
	COMPARE_SPAN,
	COMPARE_BUSY,
	COMPARE_COMPUTE,
	COMPARE_COMMUNICATION,
	COMPARE_EXPOSED,
	COMPARE_OVERLAP,
	COMPARE_COPY,
	COMPARE_COPY_EXPOSED,
	COMPARE_FREE,
	COMPARE_BUBBLE,
	COMPARE_PREPARING,
	COMPARE_OUTSIDE, /* of the step what compute, exposed communication and copies, and idle time leave
	                    over */
	COMPARE_LOADING, /* time in the data loader, on the host: beside the others, not a part of the span */
	COMPARE_PARTS
};
/* The API's name: "step_us", "communication_exposed_us", …; and the words of a sentence: "compute", …. */
const char *compare_part_name(enum compare_part p);
const char *compare_part_words(enum compare_part p);

struct compare_times {
	double ns[COMPARE_PARTS]; /* NaN = not known */
};

/* A finding of a side: the worst one of its code. Texts are borrowed. */
struct compare_finding {
	const char *code, *severity, *confidence;
	double share; /* of the step; NaN = not known */
};

/* One profile. All is borrowed. */
struct compare_side {
	const struct breakdown *breakdown;
	const struct operator_table *operators;
	const struct loading_report *loading;
	const struct compare_finding *findings; /* by code, each once */
	size_t finding_count;
};

struct compare_rank {
	int64_t rank, device; /* SB_NULL = unknown */
	struct compare_times base, target;
};

enum compare_label { COMPARE_EQUAL, COMPARE_MORE, COMPARE_LESS, COMPARE_ADDED, COMPARE_REMOVED };
const char *compare_label_name(enum compare_label l);

struct compare_operator {
	uint32_t name, unit; /* in the comparison's strings */
	enum operator_class klass;
	bool renamed;                      /* kernels of one family that have other names on the two sides */
	uint32_t base_names, target_names; /* how many were joined; 1, or 0 where there is none */
	double base_count, target_count;   /* calls a step of a device */
	double base_ns, target_ns;         /* a step of a device */
	enum compare_label label;
};

struct compare_change {
	const char *code;
	const struct compare_finding *base, *target; /* NULL = not there */
};

struct comparison {
	struct compare_times base, target;   /* means of all devices */
	double base_steps, target_steps;     /* mean number a device; 0: whole captures were taken */
	size_t base_devices, target_devices; /* rows that the means are of */
	struct compare_rank *ranks;          /* those on both sides, by rank and device */
	size_t rank_count;
	struct compare_operator *operators; /* by the size of the difference */
	size_t operator_count;
	struct compare_change *findings; /* by code */
	size_t finding_count;
	struct sb_strings *strings;
};

/* Below this share a difference is called equal (product rule: under 2% of the span is never the verdict). */
#define COMPARE_EQUAL_SHARE 0.02

/* Times a step: of a device's whole-capture row, over its steps; where that covers much more than the steps
 * do (a capture that began long before), the mean of its steps instead. The step is the mean of its host
 * windows, or the span where that is longer (the host runs ahead) or there are none. Operators match by
 * class, unit and type (name where there is no type); what is then left on both sides by kernel_family().
 * SB_ENOMEM, SB_ELIMIT. */
int compare_profiles(const struct compare_side *base, const struct compare_side *target,
                     struct comparison *out);
void comparison_free(struct comparison *c);
#define COMPARISON_AUTO __attribute__((cleanup(comparison_free))) struct comparison

/* ---- verdict (compare_verdict.c) ---- */

#define COMPARE_CHANGES_MAX 3
struct compare_verdict {
	char sentence[600];
	double speedup;                                 /* base step / target step; NaN = not known */
	enum compare_part changes[COMPARE_CHANGES_MAX]; /* that make the difference, the largest first */
	size_t change_count;
};
/* What made the step shorter or longer: the parts of the span with at least a tenth of the difference, and
 * the data loader where it changed as they did. */
void compare_verdict(const struct comparison *c, struct compare_verdict *out);

/* ---- for compare.c ---- */
int compare_operators(const struct compare_side *base, const struct compare_side *target,
                      struct comparison *io);
int compare_findings(const struct compare_side *base, const struct compare_side *target,
                     struct comparison *io);
#endif
