#ifndef SB_PROFILER_PROFILE_H
#define SB_PROFILER_PROFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/num.h"
#include "profiler/trace.h"

/* A profile as read: one upload, one or more ranks of one capture. Plain data; the readers fill it, the
 * analyses only read it. String ids (uint32_t) belong to the capture's trace.strings. Null integers are
 * SB_NULL, null doubles are NaN. */

/* What was tolerated while reading. The detail is a full sentence. */
struct warning {
	char code[40]; /* truncated, bad_value, missing_file, negative_duration, … */
	char detail[240];
	char file[256]; /* path inside the upload */
	int64_t line;   /* 0 = unknown */
	int64_t offset; /* -1 = unknown */
	uint64_t count; /* how often this happened in this file; the position is the first one's */
};

/* At most WARNINGS_MAX are kept; a repeated (code, file) only raises its count. */
#define WARNINGS_MAX 200
struct warnings {
	struct warning *items;
	size_t count;
	uint64_t dropped;
};

/* One framework step (ProfilerStep#N, or a row of step_trace_time.csv). */
struct step {
	int64_t number;   /* N; SB_NULL for a capture without steps */
	int64_t start_ns; /* host window; SB_NULL when only the CSV knows the step */
	int64_t dur_ns;
};

/* Which table a kernel comes from. Of several that tell the same, the first here is used (msprof_finish()).
 */
enum kernel_origin {
	KERNEL_ROW,   /* kernel_details, op_summary or a database */
	KERNEL_TASK,  /* task_time: no shapes, no communication */
	KERNEL_REDUCE /* step_trace: communication only */
};

/* One row of kernel_details.csv. */
struct kernel {
	int64_t step;                      /* SB_NULL = none */
	int64_t start_ns, dur_ns, wait_ns; /* wait may be SB_NULL */
	uint32_t name, type, core, state;  /* type and state 0 = N/A; core as in the file */
	uint32_t input_shapes, input_types, input_formats, output_shapes, output_types, output_formats;
	int32_t block_dim;  /* -1 = unknown */
	float pipe_ratio;   /* the largest of all pipe ratios (mac, scalar, mte1..3, fixpipe, vec); NaN = no
	                       counters */
	float inner_ratio;  /* the largest of those that do not reach the device's memory (mac, vec, scalar,
	                       mte1); NaN = no counters */
	uint32_t pipe;      /* string id: column of the largest of all, e.g. "aiv_mte2" */
	float flops, bytes; /* of this call, by counters: floating-point operations, and what went to and from
	                       the device's memory; NaN = not counted */
	int32_t stream;     /* of the device; -1 = not told, as for collectives */
	bool communication : 1; /* an HCCL / COMMUNICATION row: overlaps the others */
	bool vector : 1;        /* by counters only the vector cores were at work, whatever `core` says */
	uint8_t origin;         /* enum kernel_origin */
	uint16_t device;        /* the number + 1; 0 = not told */
};

/* What a host operator had to do, from the shapes and types of its inputs (profiler/flops.h). The kernels
 * that it launches do it. */
struct host_work {
	uint32_t event;    /* index into the trace */
	uint8_t precision; /* enum precision of its operands */
	bool whole;        /* attention of which the capture does not tell whether it is causal: FLOP of the
	                      whole square */
	bool tf32;         /* a kernel's name says that it multiplies so */
	double flops;
	double bytes;     /* each operand read or written once: a lower bound; NaN = not known */
	double kernel_ns; /* of all its kernels on the timeline */
};

/* A kernel of the timeline that a host operator with known work launched (gpu_works.h). */
struct work_kernel {
	uint32_t event; /* index into the trace */
	uint32_t work;  /* index into host_works */
};

/* How far a kernel fills the device, over all its calls: sums of (value times ns). GPUs. */
struct kernel_fill {
	uint32_t name;
	double ns;           /* of the calls that tell it */
	double blocks_ns;    /* blocks per SM, at most 1: the share of the SMs that have work */
	double occupancy_ns; /* estimated achieved occupancy, 0..1 */
};

/* The clock of a device's cores from this time on. */
struct clock_sample {
	int64_t time_ns;
	int32_t device; /* -1 = not told */
	float mhz;
};

/* One packet size of one link of one communication operator. */
struct packet {
	int64_t bytes;
	int64_t count;
	double total_us;
};

#define LINKS_MAX 5 /* RDMA, HCCS, PCIE, SDMA, SIO */
struct link {
	const char *name; /* one of the five: static text */
	int64_t bytes;
	double transit_us;
	double large_packet_ratio; /* NaN = not given */
	struct packet *packets;    /* owned */
	size_t packet_count;
};

/* One operator of communication.json ("Total Op Info" left out). The times there are floating-point
 * milliseconds with digits below the nanosecond, so they stay doubles here; the start has lost its last
 * digits already. */
struct communication_op {
	int64_t step;   /* SB_NULL = "step" without a number */
	uint32_t name;  /* without the @group */
	uint32_t group; /* 0 = none */
	bool point_to_point;
	double start_ns; /* good for order alone: a double keeps times of day to 256 ns; NaN = not given */
	double elapse_us, transit_us, wait_us, synchronization_us, idle_us; /* NaN = not given */
	struct link links[LINKS_MAX];
	size_t link_count;
};

/* One row of step_trace_time.csv, ns. */
struct step_trace {
	int64_t step; /* SB_NULL = empty */
	int64_t computing, exposed, overlapped, communication, free, stage, bubble,
	    preparing; /* SB_NULL = no column */
};

/* One row of api_statistic.csv. */
struct api_row {
	uint32_t level, name;
	int64_t time_ns, count;
};

/* A sum over the calls of an operator or of a type of operators (op_statistic.csv, MindInsight's tables). The
 * operators are answered from it only where a capture has no events. */
struct op_statistic {
	uint32_t name;       /* of the operator; 0 = the sum of a whole type */
	uint32_t type, core; /* 0 = not known */
	int64_t count, total_ns;
	int64_t min_ns, max_ns; /* of one call; SB_NULL = not given */
};

/* One training iteration as MindInsight's step trace has it: total = interval + forward_backward + tail. */
struct iteration {
	int64_t step;
	int64_t start_ns; /* on the device's clock, which starts with it; SB_NULL = not given */
	int64_t total_ns;
	int64_t interval_ns; /* from the end of the iteration before to the first forward operator */
	int64_t forward_backward_ns, tail_ns; /* SB_NULL = not given, as for the two above */
};

/* The queues of an input pipeline, by Hermes' names (5.1). MindSpore's names lie one further back: its
 * "device queue" is the one on the host that feeds the device. */
enum queue_kind {
	QUEUE_OPERATOR, /* behind an operator of the data pipeline; the Data Queue behind its reader */
	QUEUE_HOST,     /* Host Queue: processed data (device_queue, dataset_iterator) */
	QUEUE_DEVICE    /* Device Queue: what has reached the device (get_next) */
};

/* One look at a queue. */
struct queue_sample {
	int64_t step;                      /* SB_NULL = not told */
	int64_t size;                      /* elements; SB_NULL = not told */
	int64_t get_ns, push_ns, total_ns; /* to get an element, to push it on, and all of it; SB_NULL = not
	                                     told */
};

struct queue {
	enum queue_kind kind;
	uint32_t name;                  /* "device_queue", "get_next", … or the operator's type */
	uint32_t file;                  /* the file it was found in, without its folder */
	int64_t operator_id, parent_id; /* of the data pipeline; the parent takes what this one gives */
	int64_t workers, capacity;
	int64_t interval_ns;          /* between samples; SB_NULL = not given, as for the four above */
	struct queue_sample *samples; /* owned */
	size_t sample_count;
};

/* One record of an allocator: bytes in use, and bytes it holds of the device; SB_NULL = not told. */
struct memory_point {
	int64_t time_ns, allocated, reserved;
};

/* The memory of one device as one allocator counts it, by time. */
struct memory_series {
	int64_t device;     /* MEMORY_HOST = the host's; SB_NULL = unknown */
	uint32_t component; /* "PTA", "APP", … as the source says; 0 = the framework's */
	bool relative; /* allocated counts from the capture's start: what was there before is not in it */
	int64_t capacity_bytes;      /* of the device; SB_NULL = the capture does not tell */
	struct memory_point *points; /* owned */
	size_t count;
};
#define MEMORY_HOST (-1)

/* One allocation by a framework's operator. */
struct allocation {
	int64_t start_ns, end_ns; /* end SB_NULL = still held when the capture ended */
	int64_t bytes;
	uint32_t name; /* of the operator */
	int32_t device;
};

/* What a communication group is for, where a file tells it. One group may have several rows. */
struct group_use {
	uint32_t group; /* as the operators name it */
	uint32_t use;   /* "tp", "pp", "dp_cp", "default_group" …: the framework's word */
};

/* One environment variable of the job, as the profiler noted it. */
struct environment {
	uint32_t name, value; /* value 0: looked for, and not set */
};

/* What wrote a capture. Of two captures of one directory that both hold events, the format that stands first
 * here is used. */
enum capture_format {
	FORMAT_KINETO,
	FORMAT_ASCEND_TEXT,
	FORMAT_ASCEND_DB,
	FORMAT_MINDSPORE_TEXT,
	FORMAT_MINDSPORE_DB,
	FORMAT_MSPROF_TEXT,
	FORMAT_MSPROF_DB,
	FORMAT_MINDINSIGHT,
	FORMAT_CLUSTER_ANALYSIS,
	FORMAT_NSYS,
	FORMAT_SIGNALBOX,
	FORMAT_COUNT
};

/* What told the rank of a capture, the safest first. */
enum rank_source {
	RANK_INSIDE,   /* the file with the events says it */
	RANK_INFO,     /* profiler_info_{rank}.json */
	RANK_METADATA, /* profiler_metadata.json */
	RANK_MAP,      /* RANK_DEVICE_MAP of a database */
	RANK_NAME /* only the name of a file or directory: never enough to tell two captures to be one rank */
};

/* By which definitions the device time of a capture is judged (api.md, "Breakdown"). */
enum capture_rules { RULES_GPU, RULES_ASCEND };

/* Parts of a capture, as bits. */
enum capture_cut { CUT_TRACE = 1, CUT_KERNELS = 2, CUT_STEP_TRACES = 4 };

/* One rank of the profile. */
struct capture {
	char *source; /* path inside the upload: the file, or the *_ascend_pt directory */
	enum capture_format format;
	int64_t rank; /* SB_NULL = unknown */
	enum rank_source rank_from;
	int64_t world_size;  /* SB_NULL = unknown */
	int64_t stage;       /* of the pipeline, from 0; SB_NULL = unknown */
	int64_t event_count; /* of all phases, metadata and flows included; kernel rows where there is no
	                        timeline */
	char chip[64];       /* "" = not named in the capture */
	struct trace trace;  /* empty (count 0) when the capture has no timeline */
	struct step *steps;
	size_t step_count; /* by start */
	struct kernel *kernels;
	size_t kernel_count;
	struct communication_op *communications;
	size_t communication_count;
	struct step_trace *step_traces;
	size_t step_trace_count;
	struct api_row *apis;
	size_t api_count;
	struct op_statistic *op_statistics;
	size_t op_statistic_count;
	struct iteration *iterations;
	size_t iteration_count;
	struct queue *queues;
	size_t queue_count;
	struct group_use *group_uses;
	size_t group_use_count;
	struct memory_series *memories; /* by device and component */
	size_t memory_count;
	struct allocation *allocations; /* all there were, or those held at the peak */
	size_t allocation_count;
	struct environment *environment;
	size_t environment_count;
	struct host_work *host_works;
	size_t host_work_count; /* by event */
	struct work_kernel *work_kernels;
	size_t work_kernel_count; /* by event */
	struct kernel_fill *fills;
	size_t fill_count; /* by name */
	struct clock_sample *clocks;
	size_t clock_count;                   /* in any order */
	uint32_t forward_start, backward_end; /* operators that bound the iterations' parts; 0 = not known */
	uint8_t cut;    /* CUT_*: parts whose file ended too early, so that others may know
	                   more */
	bool mindspore; /* a file of MindSpore's own says that it wrote the capture */
};

/* A file of the upload that was not used, and why. */
struct left_out {
	char file[256];
	char reason[120];
};

struct profile {
	struct capture *captures; /* by rank, unknown ranks last, then by source */
	size_t count;
	struct warnings warnings;
	struct left_out *left_out; /* at most LEFT_OUT_MAX */
	size_t left_out_count;
	uint64_t left_out_total; /* those past the bound, too */
};
#define LEFT_OUT_MAX 200

/* What the captures of a format are like: one row each in profile.c, so that nothing else asks for the format
 * itself. */
struct format_facts {
	const char *name;   /* public: "kineto", "ascend-pytorch-text", … */
	const char *writer; /* in the words of its users: "PyTorch on Ascend", …; two formats may have one */
	enum capture_rules rules;
	bool nsys_options; /* options of nsys say what is recorded, and PyTorch's do not */
	bool in_parts;     /* several files hold parts of one table or timeline: they are joined */
	/* The timeline shows but a part: no copies, and often only some operators. Step tables and sums know
	 * the rest, and count although there are events. */
	bool sparse_timeline;
	bool node_names;    /* kernels are called by the nodes of the graph: the type is part of the name */
	bool exact_steps;   /* the step table is not rounded as step_trace_time.csv is */
	bool whole_cluster; /* one folder tells of all ranks; a rank's own capture is better */
};
/* Static; for a number that is no format, facts of which none is true, and the name "unknown". */
const struct format_facts *capture_format_facts(enum capture_format f);
const char *capture_format_name(enum capture_format f);
/* Is the device time of this capture judged by Ascend's definitions? */
bool capture_is_ascend(const struct capture *c);
/* The value of an environment variable: "" where it was looked for and not set, NULL where the capture does
 * not tell. Borrowed. */
const char *capture_environment(const struct capture *c, const char *name);
/* Orders steps by start, number and duration; those without a window come last. */
void steps_sort(struct step *steps, size_t count);
/* Adds a warning; text is printf-like. Never fails: past the bound only `dropped` grows. */
void warnings_add(struct warnings *w, const char *code, const char *file, int64_t line, int64_t offset,
                  const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Adds all warnings of `from` to w, as if they had been added one by one. */
void warnings_join(struct warnings *w, const struct warnings *from);
/* Raises the count of a warning that is there already by `more`. */
void warnings_repeat(struct warnings *w, const char *code, const char *file, uint64_t more);
/* Frees everything the profile owns, and sets it to zero. */
void profile_free(struct profile *p);
/* A kernel of which nothing is known yet: it has no length. */
struct kernel kernel_unknown(void);
/* Appends a copy of the row. SB_ENOMEM. */
int capture_add_kernel(struct capture *c, const struct kernel *k);
int capture_add_step_trace(struct capture *c, const struct step_trace *t);
/* Appends a sample of the clock; what is no time or no clock is passed over. SB_ENOMEM. */
int capture_add_clock(struct capture *c, int64_t time_ns, double mhz, int32_t device);
/* Frees what a capture owns. */
void capture_free(struct capture *c);
/* Frees a capture that was allocated, and what it owns; NULL-safe, and NULL afterwards. */
void capture_discard(struct capture **c);
#define PROFILE_AUTO __attribute__((cleanup(profile_free))) struct profile
#endif
