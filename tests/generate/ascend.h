#ifndef SB_TESTS_GENERATE_ASCEND_H
#define SB_TESTS_GENERATE_ASCEND_H
#include "tests/generate/random.h"
#include "tests/generate/spans.h"
#include "tests/generate/truth.h"
#include <stdbool.h>
#include <stdint.h>

/* A made-up data-parallel training job on Ascend NPUs, as the PyTorch profiler there would write it down: one
 * directory *_ascend_pt a rank. All files of a rank agree to the nanosecond. */
enum ascend_fault {
	ASCEND_HEALTHY,
	ASCEND_POOR_OVERLAP,      /* communication starts when computing is over */
	ASCEND_SMALL_PACKETS,     /* packets of 1 MiB at a quarter of the rate */
	ASCEND_ALIGNMENT,         /* one packet size in each operator is no multiple of 512 bytes */
	ASCEND_FORMAT_CONVERSION, /* TransData before and after every third kernel */
	ASCEND_AICPU,             /* operators of 300 us and more on the AI CPU */
	ASCEND_SLOW_RANK,         /* rank 1 computes 1.5 times as long, the others wait for it */
	ASCEND_HOST_BOUND,        /* the device waits for launches between kernels */
	ASCEND_LOADER,            /* each step starts with a long wait for data */
	ASCEND_SYNC,              /* a synchronising call after every eighth kernel */
	ASCEND_UNDERUTILIZED,     /* every pipe of every kernel is below half */
	ASCEND_BUBBLE             /* pipeline stages: long receive operators */
};

/* How the databases are laid out: as the samples of 2025 are, with older or with newer names of columns, or
 * as MindStudio Insight leaves one that it has opened. Or the text as MindSpore's profiler writes it: its own
 * directories, lanes and names, and the data pipeline. */
enum ascend_layout { ASCEND_PLAIN, ASCEND_OLD, ASCEND_NEW, ASCEND_INSIGHT, ASCEND_MINDSPORE };

struct ascend_options {
	int64_t ranks, steps, kernels; /* kernels of one step and rank */
	int level;                     /* 0, 1 or 2 */
	uint64_t seed;
	enum ascend_fault fault;
	bool db; /* databases instead of text */
	enum ascend_layout layout;
	const char *name; /* a name for the first operator of each step, or NULL */
	const char *path; /* a directory */
	const char *truth;
};

struct ascend_work {
	const char *type, *core, *op; /* operator type, accelerator core, PyTorch operator */
	const char *shapes, *in_formats, *out_formats;
	int64_t low, high; /* ns */
	int blocks;
};

struct ascend_kernel {
	int64_t op, op_dur, launch, launch_dur; /* host: PyTorch operator and launch call */
	int64_t start, dur;                     /* device */
	int64_t step;                           /* index */
	int64_t sync;                           /* ns of a synchronising call behind it, 0 for none */
	int work;                               /* row of the table of works */
	bool first;                             /* first of its step */
};

struct ascend_packets {
	int64_t bytes, count, ns; /* of one packet, how many, summed time */
};

struct ascend_link {
	const char *name; /* hcom_allReduce__… */
	const char *kind; /* allReduce or receive */
	int64_t launch, launch_dur;
	int64_t start, dur, wait, transit; /* dur = wait + transit + idle */
	int64_t step;
	int packet_kinds;
	struct ascend_packets packets[2];
	char text[64];
};

struct ascend_step {
	int64_t start, end; /* host window */
	int64_t load;
	struct truth_row lane;    /* from the Overlap lane: what step_trace_time.csv holds */
	struct truth_row kernels; /* the same without the gap to the next step */
};

struct ascend_rank {
	int64_t rank;
	struct random random, shared; /* shared draws the same on every rank: what the shapes decide */
	int64_t host, compute, link;
	struct ascend_kernel *kernels;
	int64_t kernel_count, kernel_cap;
	struct ascend_link *links;
	int64_t link_count, link_cap;
	struct ascend_step *steps;
	struct spans computing, communication, exposed, gaps; /* the Overlap lane */
	struct truth_row whole;
	int64_t trace_events;
	char *directory;
};

enum { ASCEND_FIRST_STEP = 10, ASCEND_STREAM = 2, ASCEND_LINK_STREAM = 4 };
extern const int64_t ascend_start_ns;
/* The communication group of a rank: ranks [first, end), and its hash. */
int64_t ascend_group_first(const struct ascend_options *o, const struct ascend_rank *r);
int64_t ascend_group_end(const struct ascend_options *o, const struct ascend_rank *r);
const char *ascend_group_name(const struct ascend_options *o, const struct ascend_rank *r);
extern const struct ascend_work ascend_works[];
extern const int ascend_plain_works, ascend_trans_work, ascend_aicpu_work;
/* Name of a kernel as the device rows have it, into name. */
void ascend_kernel_name(const struct ascend_options *o, const struct ascend_rank *r, int64_t index,
                        char *name, int64_t size);

/* Plays the job and fills the lanes and the truth. ranks[] has options->ranks zeroed elements. */
void ascend_play(const struct ascend_options *o, struct ascend_rank *ranks);
/* The files of one rank, into ASCEND_PROFILER_OUTPUT of its directory. */
void ascend_write_trace(const struct ascend_options *o, struct ascend_rank *r);
void ascend_write_tables(const struct ascend_options *o, const struct ascend_rank *r);
void ascend_write_communication(const struct ascend_options *o, const struct ascend_rank *r);
/* The timeline as msprof exports it, without the framework: old has times as numbers and the lane names of
 * 2022; shift is taken off all times. Returns the number of events. */
int64_t ascend_write_msprof(const struct ascend_options *o, const struct ascend_rank *r, struct out *out,
                            bool old, int64_t shift);
/* The columns of a step table from Computing to the communication without receiving, each behind a comma. */
void ascend_step_cells(struct out *out, const struct truth_row *t);
/* What communication.json has of one operator. */
void ascend_write_body(struct out *out, const struct ascend_link *l);
/* The expected values of all ranks, into the file of options->truth. */
void ascend_write_truth(const struct ascend_options *o, const struct ascend_rank *ranks, const char *format);
/* Frees what playing and writing left in a rank. */
void ascend_rank_free(struct ascend_rank *r);
/* Ratios of the pipes of a kernel, thousandths: cube: mac, scalar, mte1, mte2, fixpipe; vector: vec, scalar,
 * mte2, mte3. False when it has no counters (AI CPU: all are 0). */
bool ascend_pipe_ratios(const struct ascend_options *o, const struct ascend_kernel *k, int cube[5],
                        int vector[4]);
/* The same run as databases: ascend_pytorch_profiler_{rank}.db and analysis.db. */
void ascend_write_databases(const struct ascend_options *o, const struct ascend_rank *r);
/* Opens a file of the rank: directory/ASCEND_PROFILER_OUTPUT/name, or directory/name when top is set. */
struct out *ascend_open(const struct ascend_rank *r, const char *name, bool top);
/* The whole subcommand. */
int ascend_main(const struct ascend_options *o);
#endif
