#ifndef SB_PROFILER_READ_ASCEND_COUNTERS_H
#define SB_PROFILER_READ_ASCEND_COUNTERS_H
#include "profiler/profile.h"

/* Hardware counters of kernels: operations (aic_metrics=ArithmeticUtilization) and what went to and from the
 * device's memory (MemoryAccess; Memory as a rate). Research page ascend-formats 1.2. */
enum counter_kind { COUNTER_NONE, COUNTER_FLOPS, COUNTER_BYTES, COUNTER_RATE, COUNTER_TIME, COUNTER_CYCLES };
struct counter {
	enum counter_kind kind;
	bool vector;  /* of the vector cores, else of the cube ones */
	double scale; /* to operations, bytes, bytes per second, seconds, cycles */
};
/* What a column or a counter of a database is, by its name. A name without a unit is in the unit of
 * databases: bytes, bytes per second, ns. */
struct counter counter_of(const char *name, size_t len);

/* The counters of one kernel while its row is read. */
struct counter_sums {
	double flops, bytes;                   /* NaN = not counted */
	double rate[2], seconds[2], cycles[2]; /* of cube and vector cores */
	unsigned unreadable;                   /* bits by enum counter_kind */
};
#define COUNTERS_NONE ((struct counter_sums){NAN, NAN, {NAN, NAN}, {NAN, NAN}, {NAN, NAN}, 0})
/* A value that no counter can have (NaN, below zero) leaves the sum that it belongs to unknown. */
void counter_add(struct counter_sums *s, const struct counter *c, double value);
/* Sets flops, bytes and vector of the kernel. A rate counts for the time that its cores were at work, or for
 * the whole kernel where that is not told. Captures of 2023 label vector operators as those of the cube
 * cores: which cores had cycles, or else time, tells (research page ascend-formats 1.2). */
void counter_finish(const struct counter_sums *s, struct kernel *k);

/* The ratio of a pipe, by the pipe's name without "_ratio": true when that pipe does not reach the device's
 * memory. */
bool pipe_is_inner(const char *name);

/* Lends counters among the captures of one job: a kernel that lacks operations or bytes gets the mean of the
 * kernels of the same name, type and shapes of another capture. One capture holds one group of counters only.
 * SB_ENOMEM. */
int counters_share(struct capture **captures, size_t count);
#endif
