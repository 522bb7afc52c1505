#ifndef SB_PROFILER_FINDINGS_FINDINGS_H
#define SB_PROFILER_FINDINGS_FINDINGS_H
#include "profiler/activity.h"
#include "profiler/analysis.h"
#include "profiler/collectives.h"
#include "profiler/replay.h"

struct host_part;
struct gap;

/* What the checks share. A check is one function and one row of the table in analysis.c. */

/* Device idle time by what the host did meanwhile. The causes do not overlap one another. */
struct host_time {
	bool host_known;                            /* the capture shows the host */
	bool cann_known;                            /* … and its calls into CANN (Ascend, level 1 and up) */
	bool gc_known;                              /* … and the collector's lane */
	int64_t loading_ns, loading_max_ns;         /* data loader: its long calls, or all, see below */
	int64_t garbage_ns, garbage_max_ns;         /* garbage collection, over the threshold only */
	int64_t compilation_ns, synchronization_ns; /* of all calls */
	int64_t loading_count, garbage_count, compilation_count, synchronization_count, batch_norm_count;
	int64_t fetching_ns, fetching_count; /* host-to-device copies under no compute and no communication */
	int64_t pageable_count;              /* of these, those from memory that is not pinned */
	int64_t loading_calls;               /* of any length; loading_count: those over dataloader_us */
	double loading_share;                /* of the whole: the device waits for any of these calls */
	bool loading_by_share;               /* … and that is over loading_share: all calls count */
	int64_t allocation_ns;               /* idle while memory is allocated; over allocation_us only */
	int64_t allocation_total_ns, allocation_count; /* of all such calls */
	int64_t explained_ns;                          /* how much of the free time these causes take */
	int64_t queued_ns; /* idle although the next work was in the queue, and no cause known */
	int64_t silent_ns, silent_count; /* long idle times in which the host is hardly heard of */
};

/* The gaps of one device. Device wall time: total = listed + the smaller ones = host + queued + unknown. */
#define GAPS_LISTED 10
struct idle_sum {
	int64_t total_ns, gaps;
	struct interval longest[GAPS_LISTED]; /* in falling order */
	size_t longest_count;
	int64_t listed_ns; /* of the longest */
	int64_t host_ns;   /* the work that ended the gap was launched after the work before had ended */
	int64_t queued_ns; /* … was launched before: not the host's doing */
	/* short gaps of the host that no cause takes: what is left of them, how many, and how long the work
	 * was that ended them */
	int64_t starved_ns, starved, starved_work_ns;
	struct gap *starved_gaps; /* these gaps, in order of time; owned */
};

/* The host against the same host at other times, or against those of the other ranks. */
struct contention {
	double ratio;        /* own over others', of calls and operators with one name; NaN = not known */
	double kernel_ratio; /* the same of the device's work */
	int64_t names;       /* how many were compared */
	int64_t slow_names;  /* of these, how many take longer by the threshold; SB_NULL = not asked */
	int64_t slow_steps;  /* the steps that stand out; SB_NULL = compared with other ranks */
	int64_t cost_ns;
};

/* What a GPU received from other stages of a pipeline. */
struct receives {
	int64_t count;
	int64_t unnamed;    /* sends, receives or exchanges of all with all: not told apart */
	int64_t exposed_ns; /* not under compute: what Ascend's tables call Bubble */
};

/* One device of one capture: the sums that findings are judged by. Ascend: over the steps; GPUs: the whole
 * capture, whose idle time between the steps no step owns. */
struct rank_view {
	const struct capture *c;
	int64_t rank, device;
	int64_t step;     /* the number when exactly one step is covered, else SB_NULL */
	size_t steps;     /* how many steps are covered; 1 when there are none */
	int64_t total_ns; /* what shares are taken of, > 0 */
	int64_t span_ns, compute_ns, communication_ns, exposed_ns, overlap_ns, copy_exposed_ns, free_ns,
	    bubble_ns, preparing_ns; /* SB_NULL = not known */
	struct host_time host;
	struct idle_sum idle;
	struct receives receives;
	struct contention contention;
	int64_t dispatch_ns;  /* idle time that dispatch has claimed */
	int64_t awaited_ns;   /* of the exposed time, at least so much waits for other ranks */
	int64_t explained_ns; /* … and so much findings of communication have a cause for */
	bool contradicted;    /* two files tell of different steps: shares and gains are those of the table */
	bool overlap_answers; /* better overlap is the answer to most of the exposed time */
	const struct host_part *part; /* the host of the capture */
	struct interval_set waited;   /* the idle time that waits for the device take; owned */
	struct interval_set left;     /* free time that no known cause takes, nor the queue; owned */
};

struct check_context {
	const struct profile *p;
	const struct breakdown *b;
	const struct communication_report *communication;
	const struct thresholds *t;
	struct rank_view *views; /* by capture, device */
	size_t view_count;
	bool views_left_out;     /* a capture names more devices than are judged */
	struct host_part *hosts; /* by capture; empty for those without a view */
	struct finding *items;
	size_t count;
	struct relief *reliefs; /* of all findings: each has a stretch of its own */
	size_t relief_count;
	struct sb_strings *strings;
	const struct collectives *collectives; /* matched over all captures */
	struct moe_view *moe;                  /* NULL until findings_moe() (moe.h) is asked */
	const char *needs; /* static: what the check that runs needs, where it knows better than its row of
	                      the table; NULL = what the table says */
	int failed;        /* the first SB_E* of a builder below, SB_OK while all is well */
};

/* Of a capture that names more devices than VIEWS_LEAST, which no host has, only as many are judged, lowest
 * numbers first, as their number times its rows stays below VIEW_LOOKS_MAX: a file may name a device an
 * event. */
#define VIEWS_LEAST 64
#define VIEW_LOOKS_MAX ((size_t)1 << 26)
/* Fills views: one a device with known time. SB_ENOMEM. */
int views_build(struct check_context *ctx);
void views_free(struct check_context *ctx);
/* Splits the idle time of one view by what the host of its capture did. SB_ENOMEM. */
int host_time_fill(const struct thresholds *t, const struct host_part *host, struct rank_view *v);

/* Finds what the ranks wait for one another in collectives. SB_ENOMEM. */
int awaited_fill(struct check_context *ctx);
/* Compares the hosts of all captures. SB_ENOMEM. */
int contention_fill(struct check_context *ctx);
/* Free time of a view that no cause has claimed so far and that the host may have to do with. */
int64_t host_rest(const struct rank_view *v);
/* Says that idle time is not to be believed here: graphs were launched whose kernels the capture lacks. */
void doubt_idle(const struct check_context *ctx, struct finding *f, const struct rank_view *v);

/* The view of a member of a domain; NULL when its time is not known. O(log views). */
const struct rank_view *findings_member_view(const struct check_context *ctx,
                                             const struct collective_member *m);

/* Waiting for the stage before: Ascend's tables have it, on GPUs it is what receives are exposed. */
int64_t bubble_of(const struct rank_view *v);
/* Compute beside which nothing is transmitted; both times must be known. */
int64_t compute_alone_of(const struct rank_view *v);

/* Value of a threshold that exists. */
double limit(const struct check_context *ctx, const char *name);
/* A new finding for a view; code is static text. Returns NULL when memory is out, which is kept in
 * ctx->failed; the functions below then do nothing. Valid until the next finding_new(). */
struct finding *finding_new(struct check_context *ctx, const char *code, const struct rank_view *v,
                            bool portable);
/* What the finding costs in total, ns over all steps: sets share and severity. */
void finding_cost(const struct check_context *ctx, struct finding *f, const struct rank_view *v,
                  int64_t cost_ns);
/* A computed time as whole ns, at most `most`; 0 for a negative one and for NaN. */
int64_t ns_at_most(double ns, int64_t most);
/* A cost of communication, ns: what compute hides costs the step nothing, so at most the exposed part counts.
 */
int64_t exposed_at_most(const struct rank_view *v, double cost_ns);
/* The gain of removing `gain_ns` (over all steps) from the steps; never more than the cost. */
void finding_gain(struct finding *f, const struct rank_view *v, int64_t gain_ns);
/* What one event (or kernel row, or the whole host, device or links) of the view's capture would take without
 * the cause: factor = new over old duration, 0 = gone. The gain is then replayed (findings_gain()); call it
 * for the finding that was added last. */
void finding_relief(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                    enum relief_kind kind, size_t index, double factor);
/* Adds evidence; the first with a threshold must be what decided: how far it is beyond the threshold counts
 * for the confidence. threshold may be NULL. Past EVIDENCE_MAX it is dropped. */
void finding_evidence(const struct check_context *ctx, struct finding *f, const char *metric, double value,
                      const char *unit, const char *threshold);
/* Adds an operator; us may be NaN. */
void finding_operator(struct check_context *ctx, struct finding *f, const char *name, double us);
/* How many of the steps (or collectives, or ranks) that were asked one by one say the same as the whole. */
void finding_agreement(struct finding *f, size_t agree, size_t asked);
/* Lowers the confidence to at most c: where rules contradict each other, or the rule is a stand-in. What the
 * number of steps, their agreement and the margin over the threshold say is added by findings_weigh(). */
void finding_at_most(struct finding *f, enum confidence c);
/* The severity of what costs this share of the step. */
enum severity severity_of(const struct check_context *ctx, double share);
/* The share of the step that is at stake: what its check says; else what would be won or, where that is not
 * known, what the finding costs. NaN = neither. */
double finding_stake(const struct finding *f);

/* Sums by a text id of one capture, for "which operators": the largest go into a finding. */
struct tally {
	/* by text id; whole numbers, as a sum of doubles depends on the order */
	struct tally_sum {
		int64_t ns, fs; /* fs: 10^-15 s, what is less than a ns of each addend */
	} * sums;
	size_t count;
};
/* Zero for each text of the capture. SB_ENOMEM. */
int tally_init(struct tally *t, const struct capture *c);
/* Adds to one text; an unknown id and what is no time above 0 are passed over. */
void tally_add(struct tally *t, uint32_t id, double us);
/* Moves the largest into the finding, ties in order of their names. */
void tally_into(struct tally *t, struct check_context *ctx, const struct capture *c, struct finding *f);
void tally_free(struct tally *t);
#define TALLY_AUTO __attribute__((cleanup(tally_free))) struct tally

/* Severity by what is at stake, where a replay says that it is less than it seemed, and the confidence: high
 * needs three steps; it falls by one level when the deciding measure is close to its threshold, and when the
 * steps do not agree. */
void findings_weigh(struct check_context *ctx);
/* Is f the lateness of a rank, and the other finding what made it late: a cause in that rank's host that is
 * worth most of it? The same time is then behind both, and the cause is to be named. */
bool finding_follows(const struct finding *f, const struct finding *cause);
/* The gains, once all checks have run and the findings are in order of codes: of a code whose findings have
 * reliefs, all of them are replayed together, and the worst finding tells the gain; the others tell none. A
 * late rank gains what is left when the cause it is late for is gone. All gains together are at most the mean
 * step. Where no graph holds the captures, finding_gain() stays. The severity falls with what is at stake.
 * SB_ENOMEM. */
int findings_gain(struct check_context *ctx);
/* Keeps one finding a code and rank, the worst ranks of a code, and sorts by gain. */
int findings_finish(struct check_context *ctx);
/* The tree: the slowest rank's time, its parts and the findings under them. */
int tree_build(const struct check_context *ctx, struct analysis *out);

/* The checks. True in *out_judged when this profile holds what the check needs. Errors: ctx->failed. */
void check_pipeline_bubble(struct check_context *ctx, bool *out_judged);
void check_reading(struct check_context *ctx, bool *out_judged);
void check_processing(struct check_context *ctx, bool *out_judged);
void check_loading(struct check_context *ctx, bool *out_judged);
void check_fetching(struct check_context *ctx, bool *out_judged);
void check_host_bound(struct check_context *ctx, bool *out_judged);
void check_compilation(struct check_context *ctx, bool *out_judged);
void check_dispatch(struct check_context *ctx, bool *out_judged);
void check_synchronization(struct check_context *ctx, bool *out_judged);
void check_contention(struct check_context *ctx, bool *out_judged);
void check_environment(struct check_context *ctx, bool *out_judged);
void check_garbage_collection(struct check_context *ctx, bool *out_judged);
void check_frequency(struct check_context *ctx, bool *out_judged);
void check_memory_bound(struct check_context *ctx, bool *out_judged);
void check_underutilized(struct check_context *ctx, bool *out_judged);
void check_aicpu(struct check_context *ctx, bool *out_judged);
void check_affinity(struct check_context *ctx, bool *out_judged);
void check_format_conversion(struct check_context *ctx, bool *out_judged);
void check_slow_rank(struct check_context *ctx, bool *out_judged);
void check_slow_link(struct check_context *ctx, bool *out_judged);
void check_small_packets(struct check_context *ctx, bool *out_judged);
void check_alignment(struct check_context *ctx, bool *out_judged);
void check_link_contention(struct check_context *ctx, bool *out_judged);
void check_retransmission(struct check_context *ctx, bool *out_judged);
void check_configuration(struct check_context *ctx, bool *out_judged);
void check_moe_imbalance(struct check_context *ctx, bool *out_judged);
void check_moe_all_to_all(struct check_context *ctx, bool *out_judged);
void check_allocation(struct check_context *ctx, bool *out_judged);
/* After all others of communication: what they account for is not its matter. */
void check_poor_overlap(struct check_context *ctx, bool *out_judged);
/* Runs last: time that no other finding accounts for. */
void check_unexplained(struct check_context *ctx, bool *out_judged);
#endif
