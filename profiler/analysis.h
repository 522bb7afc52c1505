#ifndef SB_PROFILER_ANALYSIS_H
#define SB_PROFILER_ANALYSIS_H
#include "profiler/advice.h"
#include "profiler/breakdown.h"
#include "profiler/collectives.h"
#include "profiler/communication.h"
#include "profiler/thresholds.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

#define EVIDENCE_MAX 12
struct evidence {
	const char *metric; /* static text, snake case */
	double value;
	const char *unit;   /* static text */
	double threshold;   /* NaN = none */
	enum origin origin; /* of the threshold */
};

#define FINDING_OPERATORS_MAX 10
struct finding {
	const char *code; /* "component.cause" of api.md: static text */
	enum severity severity;
	enum confidence confidence;
	int64_t rank, step;   /* SB_NULL = all / whole capture */
	double share_of_step; /* 0..1, NaN = not known */
	bool portable;        /* holds on hardware other than Ascend too */
	struct evidence evidence[EVIDENCE_MAX];
	size_t evidence_count;
	int64_t gain_ns; /* estimated time saved per step, SB_NULL = no estimate */
	double speedup;  /* step / (step - gain), NaN = no estimate */
	const char
	    *gain_method; /* static text, e.g. "cost removed from the step, no replay"; NULL = no estimate */
	uint32_t operators[FINDING_OPERATORS_MAX]; /* names, ids of the analysis' string set */
	double operator_us[FINDING_OPERATORS_MAX]; /* what the operator contributes, us; NaN = not known */
	size_t operator_count;
	/* while the checks run: what the finding rests on */
	size_t relief_first, relief_count; /* its stretch of the context's reliefs */
	size_t steps;                      /* that were seen, >= 1 */
	size_t view;                       /* of the context's; SIZE_MAX = none of them */
	int64_t kept_ns;      /* of what the reliefs take away, a step, this stays all the same */
	int64_t gain_most_ns; /* a step cannot gain more; SB_NULL = no bound but its cost */
	double stake;         /* share of the step that is at stake where that is not the gain; NaN = it is */
	double agreement;     /* share of them that say the same, NaN = not asked one by one */
	int64_t total_ns;     /* of all these steps */
};

struct not_evaluated {
	const char *code;
	const char *needs; /* what would answer it, a phrase */
};

/* A node of the tree: step → components → causes. Children follow in `first_child`/`next` order. */
struct tree_node {
	char id[64];
	char label[64];
	int64_t time_ns;           /* SB_NULL = unknown */
	double share;              /* of the root; NaN = unknown */
	int32_t first_child, next; /* indices, -1 = none */
};

/* Ascend by the format or the chip's name, AMD by the chip's name; other GPUs count as NVIDIA's. An empty
 * profile too. */
enum platform profile_platform(const struct profile *p);

struct analysis {
	enum platform platform;
	struct finding *findings; /* by gain, those without an estimate last, then share, code, rank */
	size_t count;
	struct not_evaluated *not_evaluated;
	size_t not_evaluated_count;
	struct tree_node *tree; /* tree[0] is the root; empty when there is no time to split */
	size_t tree_count;
	/* verdict: the finding at warning or above with most at stake; component NULL when healthy */
	const char *component, *cause;
	enum confidence confidence;
	double share_of_step;
	struct sb_strings *strings;
};

/* Runs every check of findings/ over the profile and what was computed from it, by the thresholds of t;
 * matched: its collectives. Pure and deterministic. *out is to be freed by analysis_free(); it borrows
 * nothing but static texts. SB_ENOMEM.
 */
int analysis_run(const struct profile *p, const struct breakdown *b, const struct communication_report *c,
                 const struct collectives *matched, const struct thresholds *t, struct analysis *out,
                 struct sb_error *err);
void analysis_free(struct analysis *a);
/* The words of the API. */
const char *severity_name(enum severity s);
const char *confidence_name(enum confidence c);
#define ANALYSIS_AUTO __attribute__((cleanup(analysis_free))) struct analysis

#endif
