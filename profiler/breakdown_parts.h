#ifndef SB_PROFILER_BREAKDOWN_PARTS_H
#define SB_PROFILER_BREAKDOWN_PARTS_H
#include "profiler/activity.h"
#include "profiler/breakdown.h"

/* The parts that breakdown.c is made of; for nobody else. */

struct row_list {
	struct breakdown_row *rows;
	size_t count;
};
/* A row whose quantities are all SB_NULL; step = index into capture.steps, or NO_STEP for the whole capture.
 */
struct breakdown_row row_empty(const struct profile *p, size_t capture, int64_t device, uint32_t step);
/* Appends a copy of the row. SB_ENOMEM. */
int rows_add(struct row_list *l, const struct breakdown_row *row);
/* Adds the rows of one capture that is a timeline of GPUs, or of the host alone. SB_ENOMEM. */
int breakdown_gpu(const struct profile *p, size_t capture, struct row_list *out);
/* Adds the rows of one Ascend capture. SB_ENOMEM. */
int breakdown_ascend(const struct profile *p, size_t capture, struct warnings *warnings,
                     struct row_list *out);
/* MindInsight: does its timeline show this step, or all of them (NO_STEP)? */
bool mindinsight_covers(const struct capture *c, uint32_t step, const struct activity *a);
/* Fills a row from a row of step_trace_time.csv. Adds a warning, for the table is rounded. */
void row_of_csv(const struct capture *c, const struct step_trace *s, struct warnings *warnings,
                struct breakdown_row *row);
/* The same for the whole capture, from all rows of the table: the span between steps stays unknown. */
void capture_of_csv(const struct capture *c, struct warnings *warnings, struct breakdown_row *row);
#endif
