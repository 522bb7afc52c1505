#ifndef SB_PLANNER_SCHEDULE_SCHEDULE_H
#define SB_PLANNER_SCHEDULE_SCHEDULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Pipeline schedules: the order in which each device runs its operations, and an event simulation of it. A
 * schedule is a list a device; each operation starts as soon as the device is free and its inputs are there.
 * So times are exact for any stage times, and peaks follow from the order alone. */

enum schedule_kind {
	SCHEDULE_GPIPE,
	SCHEDULE_1F1B,
	SCHEDULE_EAGER_1F1B,  /* more forwards first, so that transfers hide (AlpaComm, MLSys 2023, section 4)
	                       */
	SCHEDULE_INTERLEAVED, /* Megatron's order (Narayanan et al., SC21, section 2.2) */
	SCHEDULE_INTERLEAVED_LESS_MEMORY, /* the same with the warm-up of 1F1B (MindSpore) */
	SCHEDULE_ZB_H1,                   /* zero bubble (Qi et al., ICLR 2024) */
	SCHEDULE_ZB_H2,
	SCHEDULE_ZB_V,       /* two chunks, the second way back (Qi et al., NeurIPS 2024) */
	SCHEDULE_DUALPIPE,   /* two directions at once, two copies of the weights (DeepSeek-V3, section 3.2.1)
	                      */
	SCHEDULE_DUALPIPE_V, /* the same pairs on a V of two chunks, one copy */
	SCHEDULE_TERAPIPE,   /* GPipe of slices of the sequence (Li et al., ICML 2021) */
	SCHEDULE_SEQ_1F1B,   /* 1F1B of slices (Sun et al., 2024) */
	/* 1F1B where a stage recomputes while the gradient is still on its way (Merak's shifted critical
	 * path; algorithms.md 7) */
	SCHEDULE_1F1B_EARLY_RECOMPUTE,
	SCHEDULE_KINDS
};

/* What a kind is like. */
struct schedule_facts {
	const char *name; /* public: "1f1b", "zb-v", … */
	int64_t chunks;   /* a device holds; 0 = as many as asked for, at least 2 */
	bool sliced;      /* sequences are cut into slices */
	bool splits;      /* the gradients of the weights come apart from those of the inputs */
	bool pairs;       /* some forwards run overlapped with a backward */
	bool vee;         /* the second chunk's stages go from the last device back to the first */
	bool two_way;     /* half of the micro-batches go from the last device to the first */
	bool recomputes;  /* what a backward computes again comes before it, as an operation of its own */
};
/* Static; NULL for a number that is no kind. */
const struct schedule_facts *schedule_facts(enum schedule_kind kind);
/* The kind of a public name; SB_ENOENT. */
int schedule_kind_of(const char *name, enum schedule_kind *out);

struct schedule_shape {
	enum schedule_kind kind;
	int64_t devices, micro_batches;
	int64_t chunks; /* of a device, 1 where the kind has none */
	int64_t slices; /* of a sequence, 1 where the kind has none */
};
/* Stages of the model: one a chunk of a device; with two directions each device holds two of them. */
int64_t schedule_stages(const struct schedule_shape *s);
/* The device that runs a stage; of the two directions of a two-way schedule the first or the second. */
int64_t schedule_device(const struct schedule_shape *s, int64_t stage, bool second_way);
/* The stage that a device runs as its chunk; of two directions chunk 0 is its stage of the first one. */
int64_t schedule_stage(const struct schedule_shape *s, int64_t device, int64_t chunk);
/* The chunk that a stage is of a device that runs it. */
int64_t schedule_chunk(const struct schedule_shape *s, int64_t device, int64_t stage);
/* Does the order of SCHEDULE_INTERLEAVED come to its end with so many micro-batches? Where they are more than
 * the devices and no multiple of them, some last groups deadlock: equal to the simulation of every shape up
 * to 24 devices and 9 chunks, whatever the times. Sizes of at least 1. */
bool schedule_interleaves(int64_t devices, int64_t chunks, int64_t micro_batches);
/* SB_EIMPOSSIBLE, with the field (stages, micro_batches, chunks, slices) and the reason, for sizes that the
 * kind does not fit: below 1, too few micro-batches for its pattern, a last group with which its order
 * deadlocks, an odd number of stages for two directions, more than SCHEDULE_OPERATIONS_MAX operations. */
int schedule_check(const struct schedule_shape *s, struct sb_error *err);

#define SCHEDULE_OPERATIONS_MAX (1 << 22)
/* Operations of all devices, a pair counted once a half. */
double schedule_operations(const struct schedule_shape *s);

enum schedule_op_kind {
	OP_FORWARD,
	OP_BACKWARD,       /* all of it */
	OP_BACKWARD_INPUT, /* the gradient of the input alone: what the stage before waits for */
	OP_WEIGHT,         /* the gradient of the weights */
	OP_RECOMPUTE,      /* what the backward behind it needs again: it waits for no gradient */
	OP_PAIR            /* a forward and another micro-batch's whole backward, overlapped */
};

struct schedule_op {
	uint32_t micro_batch, other_micro_batch; /* other: of a pair's backward */
	uint16_t stage, other_stage;
	uint16_t slice;
	uint8_t kind; /* enum schedule_op_kind */
};

/* The lists of all devices behind one another: those of device d are ops[first[d]] and on to
 * ops[first[d + 1]]. */
struct schedule_program {
	struct schedule_shape shape;
	struct schedule_op *ops;
	size_t *first; /* devices + 1 */
};
/* Lists every operation of the schedule. *out is to be freed by schedule_program_free(). As schedule_check();
 * SB_ENOMEM. */
int schedule_program_build(const struct schedule_shape *s, struct schedule_program *out,
                           struct sb_error *err);
void schedule_program_free(struct schedule_program *p);
#define SCHEDULE_PROGRAM_AUTO __attribute__((cleanup(schedule_program_free))) struct schedule_program

/* Times in seconds, or in any one unit. */
struct schedule_times {
	/* Of one micro-batch's slice, [stage * slices + slice]. Where the kind splits the backward, backward
	 * is its input's part alone and weight the other one; else weight may be NULL, and counts as part of
	 * the backward where it is given. */
	const double *forward, *backward, *weight;
	/* Where the kind recomputes early: that part of a backward, apart from it; NULL = none. */
	const double *recompute;
	/* Of one pair, [stage of its forward]; NULL = the sum of its parts. */
	const double *overlapped;
	/* From the device of a stage to that of the next and back, [stage]; none between two chunks of one
	 * device. NULL = send_seconds everywhere. */
	const double *send;
	double send_seconds;
	/* A transfer keeps both of its devices busy, the sender behind the operation and the receiver before
	 * its own; else it only delays the arrival. */
	bool blocking;
};

struct schedule_result {
	double makespan;
	/* Arrays of the caller, one a device; each may be NULL. busy: in operations, blocking transfers left
	 * out. */
	double *start, *end, *busy;
	/* When each operation began, in the order of the program; the caller's array, may be NULL. */
	double *op_start;
};

/* SB_EIMPOSSIBLE when the order deadlocks; SB_ENOMEM. */
int schedule_simulate(const struct schedule_program *p, const struct schedule_times *t,
                      struct schedule_result *out, struct sb_error *err);
/* When each device ends if no transfer takes time: what schedule_simulate() has, to the last bit. Without a
 * program, and some fifty times as fast, for SCHEDULE_1F1B and for SCHEDULE_INTERLEAVED with micro_batches a
 * multiple of the devices. forward, backward: as in schedule_times. out_end: one a device. As
 * schedule_check(); SB_ENOMEM. */
int schedule_ends(const struct schedule_shape *s, const double *forward, const double *backward,
                  double *out_end, struct sb_error *err);
/* How long one operation of the program takes. */
double schedule_op_seconds(const struct schedule_program *p, const struct schedule_times *t, size_t op);

/* The largest sum of live activations of each device, in the order of its list: a unit lives from its forward
 * to the end of its whole backward, or of the gradient of its weights. activation: of one slice, [stage];
 * NULL = 1 each. out: one a device. */
void schedule_peaks(const struct schedule_program *p, const double *activation, double *out);

/* What a device holds, over time: a staircase whose level lasts until the next point. */
struct schedule_level {
	double time, held;
};
/* The live activations of one device within from..to, as schedule_peaks() counts them: a unit is there from
 * the start of its forward to the end of what frees it. op_start: of the whole program. Where more than
 * `most` changes lie in view, each of most / 2 columns of time keeps its highest level and its last, and the
 * view its first: the largest is exact. out: room for most + 2 points. Returns how many there are. */
size_t schedule_levels(const struct schedule_program *p, const struct schedule_times *t,
                       const double *op_start, const double *activation, int64_t device, double from,
                       double to, size_t most, struct schedule_level *out);

/* Units in flight, chunk by chunk. */
#define SCHEDULE_CHUNKS_MAX 64
struct in_flight {
	uint32_t of[SCHEDULE_CHUNKS_MAX];
};
/* The moments that can be a device's peak, whatever a unit of each chunk weighs: the vectors of units in
 * flight that no other one reaches in every chunk. So the peak is the largest of their products with the
 * chunks' activations. *out was grown by sb_grow(), and is the caller's to free(). SB_ELIMIT with more than
 * SCHEDULE_CHUNKS_MAX chunks; SB_ENOMEM. */
int schedule_in_flight(const struct schedule_program *p, int64_t device, struct in_flight **out,
                       size_t *out_count);
#endif
