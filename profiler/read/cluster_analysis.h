#ifndef SB_PROFILER_READ_CLUSTER_ANALYSIS_H
#define SB_PROFILER_READ_CLUSTER_ANALYSIS_H
#include "profiler/read/reader.h"

/* What the readers of a cluster analysis share (cluster_analysis_output: text or cluster_analysis.db;
 * research page ascend-formats 4). One file holds all ranks: each rank has a capture of its own. */

extern const struct format_reader CLUSTER_STEPS_READER;         /* cluster_step_trace_time.csv */
extern const struct format_reader CLUSTER_COMMUNICATION_READER; /* cluster_communication.json */
extern const struct format_reader CLUSTER_GROUPS_READER;        /* communication_group.json */

/* Is it a matrix of links rather than a list of operators? */
bool cluster_matrix(const struct sniff *s);

/* The capture of a rank, with that rank set. It goes by the directory of the file and the rank, so that all
 * files of one analysis, text or database, fill the same captures. SB_ENOMEM, told in err. */
int cluster_capture(struct read_context *ctx, const char *path, int64_t rank, struct capture **out,
                    struct sb_error *err);

#define CLUSTER_GROUP_MAX 96
/* The name of a communication group that is given by its ranks: "(0,1)" and "(0, 1)" are both "(0, 1)". A
 * long list is cut to its first ranks, how many there are, and a checksum, since each rank keeps the name.
 * Anything that is no list of ranks ("p2p") stays as it is, cut at size - 1 bytes. */
void cluster_group_name(const char *text, size_t len, char *out, size_t size);

/* The next rank of a list such as "(0, 1, 2, 3)", from *at on, which it moves; SB_NULL at the end. Whatever
 * is no digit stands between ranks; a number that is no rank ends the list. */
int64_t cluster_next_rank(const char *text, size_t len, size_t *at);
#endif
