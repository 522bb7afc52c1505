#ifndef SB_TESTS_GENERATE_ASCEND_H
#define SB_TESTS_GENERATE_ASCEND_H
#include "tests/generate/faults.h"
#include "tests/generate/random.h"
#include "tests/generate/spans.h"
#include "tests/generate/truth.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A made-up data-parallel training job on Ascend NPUs, as the PyTorch profiler there would write it down: one
 * directory *_ascend_pt a rank. All files of a rank agree to the nanosecond. */
/* How the databases are laid out: as the samples of 2025 are, with older or with newer names of columns, or
 * as MindStudio Insight leaves one that it has opened. Or the text as MindSpore's profiler writes it: its own
 * directories, lanes and names, and the data pipeline. */
enum ascend_layout { ASCEND_PLAIN, ASCEND_OLD, ASCEND_NEW, ASCEND_INSIGHT, ASCEND_MINDSPORE };

/* Data parallel, two pipeline stages, or experts on all ranks. */
enum ascend_shape { ASCEND_DATA, ASCEND_PIPELINE, ASCEND_EXPERTS };

struct ascend_options {
	int64_t ranks, steps, kernels; /* kernels of one step and rank */
	int64_t noise;                 /* percent by which a kernel's time varies */
	int64_t culprit;               /* the rank that one of all has the fault of */
	int64_t reduces;               /* all-reduces of a step before the last */
	int64_t packet_ns;             /* what a packet costs besides its bytes */
	int64_t skew;                  /* ms by which the clocks of ranks differ */
	enum ascend_shape shape;
	int level; /* 0, 1 or 2 */
	uint64_t seed;
	struct faults faults;
	bool db; /* databases instead of text */
	int64_t
	    padding;  /* percent of rows beyond the routed ones that experts compute; -1 = as many as come */
	bool scatter; /* every rank collects garbage, each elsewhere in its step */
	bool uneven;  /* small packets are of two sizes, as those of real gradients are */
	enum ascend_layout layout;
	const char *name; /* a name for the first operator of each step, or NULL */
	const char *path; /* a directory */
	const char *truth;
};

struct ascend_work {
	const char *type, *core, *op; /* operator type, accelerator core, PyTorch operator */
	const char *shapes, *output, *in_formats, *out_formats;
	int64_t low, high; /* ns */
	int blocks;
};

struct ascend_kernel {
	int64_t op, op_dur, launch, launch_dur; /* host: PyTorch operator and launch call */
	int64_t task, task_dur;                 /* on the thread that launches */
	int64_t start, dur;                     /* device */
	int64_t step;                           /* index */
	int64_t sync_start, sync;               /* a synchronising call behind it, sync 0 for none */
	bool loss;                              /* … which prints the loss */
	int64_t tokens;                         /* of a grouped product, else 0 */
	int work;                               /* row of the table of works */
	bool first;                             /* first of its step */
};

struct ascend_packets {
	int64_t bytes, count, ns; /* of one packet, how many, summed time */
};

struct ascend_link {
	const char *name; /* hcom_allReduce__… */
	const char *kind; /* allReduce, alltoallv or receive */
	bool rdma,
	    experts; /* between nodes; of the group that exchanges tokens, which has lanes of its own */
	int64_t op, op_dur, launch, launch_dur; /* host: PyTorch operator and call into CANN */
	int64_t start, dur, wait, transit;      /* dur = wait + transit + idle */
	int64_t arrival;                        /* the part of wait before the transfer */
	int64_t step;
	int packet_kinds;
	struct ascend_packets packets[2];
	char text[64];
};

/* What the host does besides operators. */
enum ascend_call_kind { CALL_GARBAGE, CALL_COMPILE, CALL_FREE, CALL_TAKE };
struct ascend_call {
	int64_t start, dur;
	enum ascend_call_kind kind;
};

/* A copy from host to device: its call, and what the device does. */
struct ascend_copy {
	int64_t launch, launch_dur, start, dur, bytes;
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
	struct random extra[FAULTS], also[FAULTS]; /* the same two for what only a fault brings */
	int64_t host, queue; /* the thread of Python, and the one that takes its tasks and launches them */
	int64_t compute, link, exchange;
	int64_t shift; /* ns that its clock is ahead */
	struct ascend_kernel *kernels;
	int64_t kernel_count, kernel_cap;
	struct ascend_link *links;
	int64_t link_count, link_cap;
	struct ascend_call *calls;
	int64_t call_count, call_cap;
	struct ascend_copy *copies;
	int64_t copy_count, copy_cap;
	struct ascend_step *steps;
	struct spans computing, communication, exposed, gaps; /* the Overlap lane */
	struct truth_row whole;
	int64_t trace_events;
	char *directory;
};

enum { ASCEND_FIRST_STEP = 10, ASCEND_STREAM = 2, ASCEND_LINK_STREAM = 4, ASCEND_LINK_LANES = 8 };
extern const int64_t ascend_start_ns;
/* The communication group of a rank: ranks [first, end), and its hash. */
int64_t ascend_group_first(const struct ascend_options *o, const struct ascend_rank *r);
int64_t ascend_group_end(const struct ascend_options *o, const struct ascend_rank *r);
const char *ascend_group_name(const struct ascend_options *o, const struct ascend_rank *r);
/* The same of the group that an operator belongs to. */
const char *ascend_link_group(const struct ascend_options *o, const struct ascend_rank *r,
                              const struct ascend_link *l);
extern const struct ascend_work ascend_works[];
extern const int ascend_plain_works, ascend_trans_work, ascend_aicpu_work, ascend_work_count;
extern const int ascend_grouped_work, ascend_small_work, ascend_gate_work;
/* The input shapes of a kernel as the tables have them, without the quotes. */
void ascend_shapes(const struct ascend_options *o, const struct ascend_kernel *k, char *text, int64_t size);
/* The same as the framework writes them: `end` stands behind each semicolon. */
void ascend_dims(const struct ascend_options *o, const struct ascend_kernel *k, const char *end, char *text,
                 size_t size);
enum { ASCEND_CULPRIT = 1, ASCEND_REDUCES = 3, ASCEND_PACKET_NS = 113690 };
int64_t ascend_culprit(const struct ascend_options *o);
/* The PyTorch operator and the CANN call of a communication operator. */
const char *ascend_link_op(const struct ascend_link *l);
/* The clock of a rank's cores, MHz. */
int ascend_megahertz(const struct ascend_options *o, const struct ascend_rank *r);
/* The name of a call without its level. */
const char *ascend_call_name(const struct ascend_call *c);
/* The variables that the capture has noted down, as a JSON object. */
void ascend_write_environment(const struct ascend_options *o, struct out *out);
/* Name of a kernel as the device rows have it, into name. */
void ascend_kernel_name(const struct ascend_options *o, const struct ascend_rank *r, int64_t index,
                        char *name, int64_t size);

int64_t ascend_later(int64_t a, int64_t b);
/* ns on the host of a rank: as drawn, and longer where a fault makes the host slow. */
int64_t ascend_host(const struct ascend_options *o, struct ascend_rank *r, int64_t low, int64_t high);
/* One collective of ranks [begin, end): it starts on each when that rank is ready, and ends on all together.
 * kind is allReduce or alltoallv; last: nothing is left to compute beside it. */
void ascend_collective(const struct ascend_options *o, struct ascend_rank *ranks, int64_t begin, int64_t end,
                       int64_t step, const char *kind, bool last);
/* A receive operator of a pipeline stage; peer is the rank that sends, or NULL. */
void ascend_receive(const struct ascend_options *o, struct ascend_rank *r, int64_t step,
                    const struct ascend_rank *peer);
/* Fills lanes and truth of a rank that was played. */
void ascend_measure(const struct ascend_options *o, struct ascend_rank *r);
/* The step's mean over ranks and steps, ns. */
int64_t ascend_mean_step(const struct ascend_options *o, const struct ascend_rank *ranks);

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
#define ASCEND_OPTIONS                                                                                       \
	{                                                                                                    \
		.ranks = 1, .steps = 3, .kernels = 160, .level = 1, .seed = 1, .noise = 1,                   \
		.culprit = ASCEND_CULPRIT, .reduces = ASCEND_REDUCES, .packet_ns = ASCEND_PACKET_NS,         \
		.padding = -1                                                                                \
	}
/* Words of --shape, ended by NULL; and the shape that shows the faults asked for, where none was given. */
extern const char *const ascend_shape_names[];
void ascend_default(struct ascend_options *o);
/* The whole subcommand. */
int ascend_main(const struct ascend_options *o);
#endif
