#ifndef SB_PROFILER_READ_ASCEND_LINKS_H
#define SB_PROFILER_READ_ASCEND_LINKS_H
#include "profiler/read/ascend.h"

/* Parts of the reader of communication.json. */
struct communication_reading {
	struct read_context *ctx;
	struct stream *in;
	struct jpull *j;
	struct capture *cap;
	struct sb_error *err;
};

/* The next value, decimal milliseconds, as microseconds; NaN when it is no number. */
int communication_us(struct communication_reading *r, double *out);
/* A time as its writer computed it: what the difference of two equal ones is below 0, less than half a
 * nanosecond, is 0. */
double communication_difference(double us);
/* The next value, "Communication Bandwidth Info": the links with their packets. */
int communication_links(struct communication_reading *r, struct communication_op *op);
/* The static text that stands for a link's name in struct link; NULL when it is none of the five. */
const char *communication_link_name(const char *text, size_t len);
/* The next value, times and links of one operator on one rank, into op. */
int communication_body(struct communication_reading *r, struct communication_op *op);
/* Is the operator a send or a receive by its name? They have been seen among the collectives, too. */
bool communication_is_pair(const char *name, size_t len);
/* An operator of which nothing is known but the step. */
struct communication_op communication_op_empty(int64_t step, bool point_to_point);
/* Name and group of an operator from its key, "hcom_allReduce__586_0_1@17522688603477080586". */
int communication_name(struct communication_reading *r, struct communication_op *op, const char *key,
                       size_t len);
/* Frees what an operator that belongs to no capture owns. */
void communication_op_free(struct communication_op *op);
/* Appends the operator to the capture; what it owns is freed when that fails. */
int communication_add(struct communication_reading *r, struct communication_op *op);
/* Puts the operators of a capture in order: step, start, name, group; their links and packets, too. An order
 * of rows in a database or of members in JSON says nothing. SB_ENOMEM. */
int communications_sort(struct capture *c);
/* The number of "step50"; SB_NULL for "step". */
int64_t communication_step(const struct jpull_value *key);
#endif
