#ifndef SB_PROFILER_READ_ANALYSIS_ROWS_H
#define SB_PROFILER_READ_ANALYSIS_ROWS_H
#include "profiler/read/ascend.h"
#include "profiler/read/database.h"
#include "profiler/read/id_map.h"

/* Rows that analysis.db and cluster_analysis.db have alike. Times of steps are us. Communication operators
 * have one row a packet size (CommAnalyzerBandwidth, ClusterCommunicationBandwidth): the rows of one operator
 * come together again; times there are ms, sizes MB of 10^6 bytes. */

/* Where the operators of a capture stand in its array. Zero-initialised = empty. */
struct link_table {
	struct id_map at;
};
void link_table_free(struct link_table *t);
#define LINK_TABLE_AUTO __attribute__((cleanup(link_table_free))) struct link_table

/* The step in a text: "50", "step50"; "step", "None" and "" name none (SB_NULL). False for anything else. */
bool analysis_step_number(const char *text, size_t len, int64_t *out_step);
/* The columns of struct step_trace from `computing` on, as analysis_step_columns() lists them, from column
 * `from` of a row. False when ascend_step_negative() or `computing` is missing. */
bool analysis_step(const struct database_rows *rows, int from, struct step_trace *out);
/* The list of these columns for a SELECT: NULL stands for those that the table has not. */
void analysis_step_columns(struct database *db, const char *table, char *out, size_t size);
/* The first of two columns that the table has, else "NULL", for the list of a SELECT. */
const char *analysis_column(struct database *db, const char *table, const char *column, const char *other);

/* What an operator is found by. */
struct link_operator {
	const char *name, *group;
	size_t name_len, group_len;
	int64_t step; /* 0 to 2^32-2, SB_NULL = none */
	bool p2p;
};
/* The operator of a capture, made when it is new (borrowed until the next one is made). SB_ENOMEM, SB_ELIMIT.
 */
int link_table_operator(struct link_table *t, struct capture *cap, const struct link_operator *key,
                        struct communication_op **out_op);
/* Elapse, transit, wait, synchronisation and idle time and the start from six columns, the first of which is
 * `from`. */
void link_table_times(struct read_context *ctx, const char *path, const struct database_rows *rows, int from,
                      struct communication_op *op);
/* Link, size, transit time, ratio of large packets, packet size, count and time from seven columns. A row
 * that cannot be used is left out with a warning. SB_ENOMEM. */
int link_table_row(struct read_context *ctx, const char *path, const struct database_rows *rows, int from,
                   struct communication_op *op);
#endif
