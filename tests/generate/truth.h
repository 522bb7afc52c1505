#ifndef SB_TESTS_GENERATE_TRUTH_H
#define SB_TESTS_GENERATE_TRUTH_H
#include "tests/generate/out.h"
#include "tests/generate/spans.h"

/* The expected breakdown, whole nanoseconds; a negative value means that the source cannot give it: null. */
struct truth_row {
	int64_t step_ns, span_ns, busy_ns, compute_ns, communication_ns, communication_exposed_ns, overlap_ns;
	int64_t copy_ns, copy_exposed_ns, free_ns, bubble_ns, preparing_ns;
};

/* The rule for GPUs: unions of the three kinds, exposed = not under compute (copies: not under either), free
 * = span - busy. Merges the given spans. step, bubble and preparing stay null. */
struct truth_row truth_measure(struct spans *work, struct spans *link, struct spans *copies);
void truth_write_row(struct out *out, const struct truth_row *row);

/* Count and times by name. */
struct truth_name {
	const char *name; /* borrowed */
	int64_t count, total, low, high;
};
struct truth_tally {
	struct truth_name *items;
	int64_t count, cap;
};
void truth_tally_add(struct truth_tally *t, const char *name, int64_t ns);
void truth_tally_free(struct truth_tally *t);
/* A JSON array, longest total first; equal totals in the order of first appearance. */
void truth_write_tally(struct out *out, struct truth_tally *t);
#define TRUTH_TALLY_AUTO __attribute__((cleanup(truth_tally_free))) struct truth_tally
#endif
