#ifndef SB_TESTS_GENERATE_FAULTS_H
#define SB_TESTS_GENERATE_FAULTS_H
#include "tests/generate/out.h"
#include <stdbool.h>

/* What ails a made-up job: the finding codes of the API, each with a size. No draw of a simulator depends on
 * a fault or its size: the same job with size 0 is the same job without the fault, to the nanosecond. */
enum fault {
	FAULT_POOR_OVERLAP,
	FAULT_BUBBLE,
	FAULT_READING,
	FAULT_PROCESSING,
	FAULT_FETCHING,
	FAULT_LOADING,
	FAULT_HOST_BOUND,
	FAULT_COMPILATION,
	FAULT_DISPATCH,
	FAULT_SYNCHRONIZATION,
	FAULT_GARBAGE_COLLECTION,
	FAULT_CONTENTION,
	FAULT_ENVIRONMENT,
	FAULT_FREQUENCY,
	FAULT_MEMORY_BOUND,
	FAULT_UNDERUTILIZED,
	FAULT_AICPU,
	FAULT_AFFINITY,
	FAULT_FORMAT_CONVERSION,
	FAULT_SLOW_RANK,
	FAULT_SLOW_LINK,
	FAULT_LINK_CONTENTION,
	FAULT_RETRANSMISSION,
	FAULT_SMALL_PACKETS,
	FAULT_ALIGNMENT,
	FAULT_CONFIGURATION,
	FAULT_ALLOCATION,
	FAULT_IMBALANCE,
	FAULT_ALL_TO_ALL,
	FAULTS
};

/* Which dialects can show a fault at all. */
enum fault_dialect {
	IN_KINETO = 1,
	IN_NSYS = 2,
	IN_SIGNALBOX = 4,
	IN_ASCEND = 8, /* text */
	IN_DATABASE = 16,
	IN_MINDSPORE = 32,
	IN_MSPROF = 64,
	IN_CLUSTER = 128,
	IN_MINDINSIGHT = 256
};

struct faults {
	bool given[FAULTS];  /* size 0 too: the job has the shape that can show it */
	double size[FAULTS]; /* 0 = not there */
};

/* CODE[=SIZE][,CODE[=SIZE]...], or "healthy". Ends the program when a code is unknown, or one that `dialect`
 * cannot show. */
void faults_parse(const char *text, enum fault_dialect dialect, struct faults *out);
/* Every code with the meaning of its size, its usual size and its dialects, as text on standard error. */
void faults_usage(void);
/* The same for programs, on standard output: code, usual size and dialects of each, parted by tabs. */
void faults_list(void);
/* A JSON array of the faults that were asked for. */
void faults_write(struct out *out, const struct faults *f);
/* Which of six small operators is the nth of those that one was split into: no part of a chain is the part
 * before it again, as in what is split in real jobs (the update of an optimizer, a loss, a position code). */
int faults_small(int n);
/* A size in ms as whole ns. */
int64_t faults_ms(const struct faults *f, enum fault which);
/* A length that is 1 + size times as long. */
int64_t faults_longer(const struct faults *f, enum fault which, int64_t ns);
/* How many of `count` events that come evenly fall on the index-th of n places, as a whole number. */
int64_t faults_due(double count, int64_t index, int64_t n);
#endif
