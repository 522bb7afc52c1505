#ifndef SB_PROFILER_FINDINGS_SLOW_RANK_H
#define SB_PROFILER_FINDINGS_SLOW_RANK_H
#include "profiler/findings/findings.h"

/* Inside of slow_rank*.c: who keeps a domain waiting, by what was measured best. */

#define NOBODY SIZE_MAX

/* What one rank of a domain spent in its collectives, ns: in one step or in all. NaN = not known. */
struct rank_times {
	double length;                         /* waiting included */
	double wait, synchronization, transit; /* of communication.json */
};

/* The collectives that all ranks of a domain share, summed. */
struct rank_sums {
	size_t n; /* ranks */
	const struct rank_view **views;
	struct rank_times *all, *step;
	size_t *last_in; /* by rank: collectives that were shortest there, by a margin */
	size_t compared; /* collectives of which one was */
	size_t *wait_votes, *length_votes, *transit_votes; /* by rank: steps that name it */
	size_t steps;
	double *scratch; /* 2 n numbers */
	double *host_ns; /* by view: host time, NaN = not asked for yet; shared by all domains */
	bool missing;    /* the group has ranks that the profile does not have */
};

/* What the rules say of one domain: indices into the sums, or NOBODY. */
struct opinion {
	size_t late_by_wait;   /* msprof: the rank that waits least, where somebody waits much */
	size_t late_by_length; /* Dixon's test, or the gap where there are too few ranks for it */
	size_t slow_sender;    /* Hermes 5.4: transmits longest, R_wait over its threshold */
	double wait_ratio;     /* the largest of all ranks; NaN = not known */
	double r_wait;         /* NaN = not known */
	bool waits_for_sender; /* somebody waits, and not before the transmission: so the ends are unequal */
	bool outlier;          /* late_by_length is one by Dixon's test */
};

/* The opinion on one step or on all. */
struct opinion slow_rank_ask(const struct check_context *ctx, const struct rank_times *times, size_t n,
                             double *scratch);
/* Who is last by lengths alone: the shortest stands for the last to arrive. outlier may be NULL. */
size_t slow_rank_shortest(const struct check_context *ctx, const double *lengths, size_t n, double *scratch,
                          bool *outlier);
/* Reports what was found of a domain, if anything. */
void slow_rank_report(struct check_context *ctx, const struct rank_sums *s, const struct opinion *o);
/* The ranks that a verdict compares: all of a domain or stage. */
struct compared {
	const struct rank_view *const *views;
	size_t n, late;
	double *scratch, *host_ns; /* as in struct rank_sums */
};
/* Why a rank is late, seen on the rank itself. */
enum late_cause {
	LATE_UNKNOWN, /* the profile does not show it */
	LATE_UNSEEN,  /* it would be seen, and is not there */
	LATE_DEVICE,
	LATE_HOST
};
struct late_reason {
	enum late_cause cause;
	double compute_over_others;    /* compute time over the median of the others'; NaN = not known */
	double compute_over_others_ns; /* … and above it */
	double idle_over_others_ns;    /* idle, copying and preparing time above the median of the others' */
};
/* Does its compute or its idle time explain the lost_ns of the others? */
struct late_reason slow_rank_reason(const struct compared *k, double lost_ns);
/* What the late rank computes and idles longer than the others, ns; infinite where that is not known. */
double slow_rank_excess(const struct late_reason *why);
/* Adds what the reason says: evidence, and the relief of its device or host as fast as the others'. */
void slow_rank_relieve(struct check_context *ctx, struct finding *f, const struct compared *k,
                       const struct late_reason *why, double lost_ns);
/* How much longer the others took than the late one, ns, as far as the step shows it: mean and median. */
void slow_rank_lost(const struct compared *k, const double *lengths, double *out_mean, double *out_median);
/* The least sure source: the communication of the step tables, for ranks whose collectives were hardly
 * compared: covered_ns, by view. */
void slow_rank_by_tables(struct check_context *ctx, const double *covered_ns, double *host_ns,
                         bool *out_judged);
#endif
