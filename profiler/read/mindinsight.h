#ifndef SB_PROFILER_READ_MINDINSIGHT_H
#define SB_PROFILER_READ_MINDINSIGHT_H
#include "profiler/read/ascend.h"

/* Files of MindInsight's profiler, 2020 to 2023, and those of its successor that hold the same (research page
 * ascend-formats, section 2). Most of them lie in one folder for all ranks: the {id} in a file's name, a
 * device or a rank, says whose it is. */

extern const struct format_reader MINDINSIGHT_STEPS_READER;    /* step_trace_raw_{id}_detail_time.csv */
extern const struct format_reader MINDINSIGHT_POINTS_READER;   /* step_trace_point_info*.json */
extern const struct format_reader MINDINSIGHT_INFO_READER;     /* profiler_info_{id}.json */
extern const struct format_reader MINDINSIGHT_PIPELINE_READER; /* minddata_pipeline_raw_{id}.csv */
extern const struct format_reader MINDINSIGHT_OPERATOR_READER; /* pipeline_profiling_{id}.json */
extern const struct format_reader
    MINDINSIGHT_QUEUE_READER; /* device_queue_, dataset_iterator_profiling_{id}.txt */
extern const struct format_reader MINDINSIGHT_GET_NEXT_READER;  /* minddata_aicpu_{id}.txt */
extern const struct format_reader MINDINSIGHT_TYPES_READER;     /* aicore_intermediate_{id}_type.csv */
extern const struct format_reader MINDINSIGHT_DETAILS_READER;   /* aicore_intermediate_{id}_detail.csv */
extern const struct format_reader MINDINSIGHT_FRAMEWORK_READER; /* framework_raw_{id}.csv */
extern const struct format_reader MINDINSIGHT_AICPU_READER;     /* aicpu_intermediate_{id}.csv */
extern const struct format_reader MINDINSIGHT_HCCL_READER;      /* hccl_raw_{id}.csv */
extern const struct format_reader MINDINSIGHT_CLUSTER_READER;   /* ascend_cluster_analyse_*.csv */
extern const struct format_reader MINDINSIGHT_TIMELINE_READER;  /* ascend_timeline_display_{id}.json */

/* The process names of the lanes that these files bring, and of the operators' units. */
#define MINDINSIGHT_STEP_TRACE "Step trace"
#define MINDINSIGHT_COMMUNICATION "Communication"

/* The capture of the file that `in` reads: that of its *_ascend_ms directory, else that of its folder and
 * {id}; a file with another name is a capture of its own. SB_ENOMEM and the like, with err filled. */
int mindinsight_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                        struct sb_error *err);
/* The {id} in the source of such a capture, SB_NULL when it has none. */
int64_t mindinsight_id(const char *source);

/* "10 ns ticks" as ns; SB_NULL when it is no number, or negative. */
int64_t mindinsight_ticks(const char *text, size_t len);
/* Decimal milliseconds as ns; SB_NULL when it is no number, or negative. */
int64_t mindinsight_ms(const char *text, size_t len);

/* Once all files of a capture are there: what two of its files tell twice counts once, the timeline is put on
 * the clock of the step trace, and operators get the types that the framework's table gives them. SB_ENOMEM.
 */
int mindinsight_finish(struct read_context *ctx, struct capture *c);
/* Its parts. Of two files with the queues of the operators one counts. */
void mindinsight_unite_queues(struct capture *c);
/* Puts the timeline and the step trace on one clock, or takes the latter's events and windows away.
 * SB_ENOMEM.
 */
int mindinsight_align(struct read_context *ctx, struct capture *c);
/* Once all captures are finished: files without an {id} hold for every capture of their folder, and the
 * queues beside an *_ascend_ms directory belong to its capture. Captures that were used up are freed and
 * leave the list, which comes back in the order of the sources. SB_ENOMEM: the list is as it was. */
int mindinsight_share(struct capture **list, size_t *count);
/* Once all files of an Ascend capture are there: the format of those that MindSpore wrote, and the rank of a
 * directory rank-{R}_{stamp}_ascend_ms where no file told it. */
void mindspore_finish(struct capture *c);
/* Why a file of this profiler is not read; NULL when its name is none of theirs. */
const char *mindinsight_unused(const struct sniff *s);
#endif
