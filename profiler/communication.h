#ifndef SB_PROFILER_COMMUNICATION_H
#define SB_PROFILER_COMMUNICATION_H
#include "profiler/profile.h"

/* Communication by operator and rank, and by domain. Texts are owned by the report's string set. */
struct communication_row {
	int64_t rank, step;   /* SB_NULL = unknown */
	uint32_t name, group; /* group 0 = none */
	int64_t
	    count; /* 1 for communication.json; Kineto: collectives of one name, group and step together */
	double elapse_us, transit_us, wait_us; /* NaN = the source cannot give it */
	int64_t bytes; /* SB_NULL = unknown; SDMA = HCCS + PCIE + SIO is never added to its parts */
	const struct link *links; /* borrowed from the profile */
	size_t link_count;
};

/* A set of ranks that synchronise. */
struct domain {
	uint32_t group;
	uint32_t parallelism; /* what the group is for: "tp", "dp", …, in the framework's word; 0 = not known,
	                         or the captures contradict each other */
	int64_t *ranks;       /* those seen in the profile, ascending; owned */
	size_t rank_count;
	double r_wait;     /* 1 - mean(T)/max(T) over the ranks' summed transmission times (Hermes 5.4); NaN =
	                      unknown */
	int64_t slow_rank; /* the rank of the largest T when r_wait passes the threshold, else SB_NULL */
};

struct communication_report {
	struct communication_row *rows; /* by rank and step, then in order of time, name and group */
	size_t row_count;
	struct domain *domains;
	size_t domain_count;
	struct sb_strings *strings;
};

/* Sums the collectives of all captures. r_wait_threshold: value of the threshold "r_wait" (thresholds.c). The
 * report borrows the links from p and is to be freed by communication_free(). SB_ENOMEM; SB_ELIMIT with too
 * many texts. */
int communication_compute(const struct profile *p, double r_wait_threshold, struct communication_report *out,
                          struct sb_error *err);
/* What an operator of communication.json moved, over all links: SDMA is the sum of HCCS, PCIE and SIO, so the
 * larger of the two sides counts, with RDMA. SB_NULL = no link tells. */
int64_t communication_bytes(const struct communication_op *op);
void communication_free(struct communication_report *r);
#define COMMUNICATION_AUTO __attribute__((cleanup(communication_free))) struct communication_report
#endif
