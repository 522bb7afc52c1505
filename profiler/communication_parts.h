#ifndef SB_PROFILER_COMMUNICATION_PARTS_H
#define SB_PROFILER_COMMUNICATION_PARTS_H
#include "profiler/activity.h"
#include "profiler/communication.h"

/* The parts that communication.c is made of; for nobody else. */

struct communication_parts {
	struct communication_report report;
};
/* Appends a copy of the row. SB_ENOMEM. */
int communication_add_row(struct communication_parts *parts, const struct communication_row *row);
/* A text of the capture as a text of the report. SB_ENOMEM, SB_ELIMIT. */
int communication_text(struct communication_parts *parts, const struct capture *c, uint32_t id,
                       uint32_t *out);
/* Rows of a capture that has no communication.json: the collectives of its timeline. */
int communication_trace_rows(struct communication_parts *parts, const struct capture *c);
/* The domains of the finished rows. */
int communication_domains(struct communication_parts *parts, double r_wait_threshold);
/* Tells the domains what they are for. SB_ENOMEM, SB_ELIMIT. */
int communication_parallelism(struct communication_parts *parts, const struct profile *p);
/* Sorts SB_NULL behind everything. */
int64_t null_last(int64_t v);
#endif
