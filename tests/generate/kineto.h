#ifndef SB_TESTS_GENERATE_KINETO_H
#define SB_TESTS_GENERATE_KINETO_H
#include "tests/generate/random.h"
#include "tests/generate/spans.h"
#include <stdbool.h>
#include <stdint.h>

/* A made-up data-parallel training job on GPUs, as the PyTorch profiler (Kineto) would write it down. */
enum kineto_fault {
	KINETO_HEALTHY,
	KINETO_POOR_OVERLAP,  /* collectives start only when the backward pass is over */
	KINETO_HOST_BOUND,    /* tiny kernels, slow operators: the device waits for launches */
	KINETO_SLOW_RANK,     /* rank 1 computes 1.4 times as long, the others wait for it */
	KINETO_SMALL_PACKETS, /* many collectives of 64 KiB */
	KINETO_LOADER,        /* each step starts with a long wait for data */
	KINETO_SYNC,          /* .item() after every fourth operator */
	KINETO_UNDERUTILIZED  /* kernels of four blocks */
};

struct kineto_rank;
struct kineto_options {
	int64_t events; /* elements of traceEvents, per rank */
	int64_t steps, ranks;
	uint64_t seed;
	bool old;  /* the dialect of 2021: whole microseconds, "Operator", text thread ids */
	bool gzip; /* adds .gz to the names when several ranks are written */
	enum kineto_fault fault;
	const char *name; /* a name for the first operator of each step, or NULL */
	const char *path; /* a file for one rank, a directory for several */
	const char *truth;
	const char *format, *suffix; /* in the truth; of file names when several ranks are written */
	/* Writes one rank with exactly `events` events; returns its size before compression. */
	int64_t (*write)(const struct kineto_options *o, const struct kineto_rank *r, const char *path);
};

enum unit_kind { UNIT_COMPUTE, UNIT_COLLECTIVE, UNIT_COPY_IN, UNIT_COPY_OUT, UNIT_CLEAR };
enum unit_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER };

/* One operator with what it launched: host span, launch call, device span. Times in ns. */
struct unit {
	int64_t op, launch, device, device_dur, bytes;
	int64_t op_dur, launch_dur, sync_dur; /* sync_dur > 0: a synchronising call follows the launch */
	int32_t pair;                         /* id that joins a forward and its backward operator, or 0 */
	int16_t step, work;                   /* index of the step; row of the table of works */
	uint8_t kind, phase;
	bool extra, memory; /* a runtime call that launches nothing; an allocation mark */
};

struct work {
	const char *outer, *inner, *kernel; /* operator, the operator inside it, what runs on the device */
	int64_t low, high;                  /* ns on the device */
	int blocks, threads, occupancy;
};
extern const struct work kineto_forward[], kineto_backward[], kineto_optimizer[];
extern const int kineto_forward_count, kineto_backward_count, kineto_optimizer_count;
const struct work *kineto_work(const struct unit *u);

struct kineto_step {
	int64_t start, end; /* host window */
	int64_t load;       /* how long the step waited for data */
};

struct kineto_rank {
	int64_t rank;
	struct random random, shared; /* shared draws the same on every rank: what the shapes decide */
	int64_t host, compute, link;  /* where each clock stands */
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

/* Plays the job; ranks[] has options->ranks zeroed elements. The caller frees units and steps of each. */
void kineto_play(const struct kineto_options *o, struct kineto_rank *ranks);
/* Writes one rank's trace of exactly options->events events; returns its size before compression. */
int64_t kineto_write(const struct kineto_options *o, const struct kineto_rank *r, const char *path);
/* Plays and writes what the options ask for. */
int kineto_main(const struct kineto_options *o);
/* The whole subcommand: fills in the options of the command line, of those letters that are its own. */
int kineto_run(int argc, char **argv, const char *own, struct kineto_options *o);
#endif
