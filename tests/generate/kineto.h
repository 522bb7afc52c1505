#ifndef SB_TESTS_GENERATE_KINETO_H
#define SB_TESTS_GENERATE_KINETO_H
#include "tests/generate/faults.h"
#include "tests/generate/random.h"
#include "tests/generate/spans.h"
#include <stdbool.h>
#include <stdint.h>

/* A made-up data-parallel training job on GPUs, as the PyTorch profiler (Kineto) would write it down. */
/* Data parallel, two pipeline stages (of the lower and of the upper half of the ranks), or experts on all
 * ranks. */
enum kineto_shape { KINETO_DATA, KINETO_PIPELINE, KINETO_EXPERTS };

struct kineto_rank;
struct kineto_options {
	int64_t events;   /* elements of traceEvents, per rank; 0: as many as `units` take */
	int64_t units;    /* operators a step, at least; 0: as many as fit the events */
	int64_t layers;   /* of forward and backward; 0: as many operators as fit, the last layer cut off */
	int64_t noise;    /* percent by which a kernel's time varies */
	int64_t culprit;  /* the rank that one of all has the fault of */
	int64_t skew;     /* ms by which the clocks of ranks differ */
	int64_t prefetch; /* us that each copy on a stream of its own takes, ordered by events; 0: none */
	bool graphs;      /* the forward pass is one graph, and one kernel in ten is recorded */
	enum kineto_shape shape;
	int64_t steps, ranks;
	uint64_t seed;
	bool old;  /* the dialect of 2021: whole microseconds, "Operator", text thread ids */
	bool gzip; /* adds .gz to the names when several ranks are written */
	struct faults faults;
	const char *name; /* a name for the first operator of each step, or NULL */
	const char *path; /* a file for one rank, a directory for several */
	const char *truth;
	const char *format, *suffix; /* in the truth; of file names when several ranks are written */
	/* Writes one rank with exactly `events` events; returns its size before compression. */
	int64_t (*write)(const struct kineto_options *o, const struct kineto_rank *r, const char *path);
};

enum unit_kind {
	UNIT_COMPUTE,
	UNIT_COLLECTIVE,
	UNIT_ALL_TO_ALL,
	UNIT_SEND,
	UNIT_RECEIVE,
	UNIT_COPY_IN,
	UNIT_COPY_OUT,
	UNIT_CLEAR,
	UNIT_PREFETCH
};
/* Small: elementwise work on the input that could be one operator. */
enum unit_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_SMALL, PHASE_EXPERTS };

/* One operator with what it launched: host span, launch call, device span. Times in ns. */
struct unit {
	int64_t op, launch, device, device_dur, bytes;
	int64_t size;                         /* rows of its input, or the length of a sequence */
	int64_t op_dur, launch_dur, sync_dur; /* sync_dur > 0: a synchronising call follows the launch */
	int32_t behind;     /* index + 1 of the unit for whose event its stream waits, or 0 */
	int32_t pair;       /* id that joins a forward and its backward operator, or 0 */
	int16_t step, work; /* index of the step; row of the table of works */
	uint8_t kind, phase;
	bool graph, hidden; /* launched by the step's graph; not recorded */
	bool extra, memory; /* a runtime call that launches nothing; an allocation mark */
	bool recorded;      /* an event is recorded behind it */
	bool loss;          /* the copy of the loss that is printed */
};

struct work {
	const char *outer, *inner, *kernel; /* operator, the operator inside it, what runs on the device */
	int64_t low, high;                  /* ns on the device */
	int blocks, threads, occupancy;
};
extern const struct work kineto_forward[], kineto_backward[], kineto_optimizer[], kineto_small[];
extern const int kineto_forward_count, kineto_backward_count, kineto_optimizer_count, kineto_small_count;
const struct work *kineto_work(const struct unit *u);
/* The unit.size that keeps the device near its peak for ns, and the shapes as JSON. */
int64_t kineto_size(const struct work *w, int64_t ns);
void kineto_dims(const struct unit *u, char *text, int64_t size);
bool kineto_is_attention(const struct work *w);
/* Attention or a product of matrices: all else is as fast as the memory. */
bool kineto_is_dense(const struct work *w);
bool kineto_is_link(const struct unit *u);
/* A call of the host that launches nothing. */
enum kineto_call_kind { CALL_GARBAGE, CALL_FREE, CALL_TAKE, CALL_GRAPH, CALL_COMPILE };
struct kineto_call {
	int64_t start, dur;
	enum kineto_call_kind kind;
	int64_t step;
};

struct kineto_step {
	int64_t start, end; /* host window */
	int64_t load;       /* how long the step waited for data */
};

struct kineto_rank {
	int64_t rank;
	struct random random, shared; /* shared draws the same on every rank: what the shapes decide */
	struct random extra[FAULTS], also[FAULTS];   /* the same two for what only a fault brings */
	int64_t host, compute, link, exchange, side; /* where each clock stands */
	int64_t last,
	    holds; /* index + 1: the last on the compute stream, and what its next has to wait for */
	int64_t fence,
	    fetched;   /* index + 1: the kernel that frees the next prefetch's room, and the last one */
	int64_t shift; /* ns that its clock is ahead */
	struct kineto_call *calls;
	int64_t call_count, call_cap;
	int64_t launches;
	int64_t queue[1024]; /* start times of the last launches: a full queue blocks the host */
	struct unit *units;
	int64_t count, cap;
	struct kineto_step *steps;
	int64_t early; /* kernels whose launch was not recorded */
};
enum { KINETO_EARLY = 3, KINETO_EARLY_NS = 20000, KINETO_FIRST_STEP = 10 };

/* Epoch of the relative times, and the moment the first step starts. */
extern const int64_t kineto_base_ns, kineto_start_ns;

int64_t kineto_later(int64_t a, int64_t b);
/* What only a fault brings draws elsewhere: the rest of the job goes on as if it were not there. The second
 * call goes back. */
void kineto_swap_draws(struct kineto_rank *r, enum fault fault);
/* ns as drawn; whole microseconds in the old dialect. */
int64_t kineto_draw(const struct kineto_options *o, struct kineto_rank *r, int64_t low, int64_t high);
int64_t kineto_round(const struct kineto_options *o, int64_t ns);
struct unit *kineto_unit(struct kineto_rank *r, enum unit_kind kind, enum unit_phase phase, int64_t step);
/* The stream of the unit waits for the event recorded behind another one; behind: index + 1, or 0 for none.
 */
void kineto_wait(struct kineto_rank *r, struct unit *u, int64_t behind);
/* A copy on a stream of its own, into room that a kernel four before still reads. */
void kineto_prefetch(const struct kineto_options *o, struct kineto_rank *r, int64_t step);
/* Index + 1 of the rank's last collective so far, 0 without one. */
int64_t kineto_last_collective(const struct kineto_rank *r);
/* The host side of an operator: where it starts, and when its launch call returns. */
void kineto_issue(const struct kineto_options *o, struct kineto_rank *r, struct unit *u);
/* Who communicates: `count` ranks from `first` on, each `stride` further. */
struct kineto_group {
	char name[24];
	const char *description;
	int64_t first, count, stride;
};
/* The group of a rank for units of a kind. */
struct kineto_group kineto_group_of(const struct kineto_options *o, int64_t rank, enum unit_kind kind);
/* The name of the operation as the profiler notes it: "allreduce", "recv" … */
const char *kineto_collective_name(const struct unit *u);
/* One collective of each group: it starts on each rank when that rank is ready, and ends on all together. */
void kineto_collective(const struct kineto_options *o, struct kineto_rank *ranks, enum unit_kind kind,
                       int64_t step, int64_t transit);
/* What the ranks of one stage of a pipeline send to those of the other. A rank waits for it from when it is
 * ready itself. */
void kineto_hand_on(const struct kineto_options *o, struct kineto_rank *ranks, bool to_second, int64_t step);
/* The rank that one of all has the fault of. */
int64_t kineto_culprit(const struct kineto_options *o);
/* Another machine's clock: everything the rank wrote down is off by the same. */
void kineto_shift(const struct kineto_options *o, struct kineto_rank *r);
const char *kineto_call_name(const struct kineto_call *c);

/* Plays the job; ranks[] has options->ranks zeroed elements. The caller frees units and steps of each. */
void kineto_play(const struct kineto_options *o, struct kineto_rank *ranks);
/* Writes one rank's trace of exactly options->events events; returns its size before compression. */
int64_t kineto_write(const struct kineto_options *o, const struct kineto_rank *r, const char *path);
/* Plays and writes what the options ask for. */
int kineto_main(const struct kineto_options *o);
/* The whole subcommand: fills in the options of the command line, of those letters that are its own. */
int kineto_run(int argc, char **argv, enum fault_dialect dialect, const char *own, struct kineto_options *o);
#endif
