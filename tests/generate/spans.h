#ifndef SB_TESTS_GENERATE_SPANS_H
#define SB_TESTS_GENERATE_SPANS_H
#include <stdint.h>

/* The generator's own bookkeeping of busy time. It shares no code with the program under test on purpose:
 * what it computes is the expected value of tests. */
struct span {
	int64_t start, end; /* ns, half open */
};

struct spans {
	struct span *items;
	int64_t count, cap;
};

void spans_add(struct spans *s, int64_t start, int64_t end);
void spans_free(struct spans *s);
/* Sorts and melts overlapping and touching spans into disjoint ones. */
void spans_merge(struct spans *s);
/* The summed length of merged spans. */
int64_t spans_total(const struct spans *s);
/* The parts of a that no span of b covers; both merged; *out is merged too. */
void spans_minus(const struct spans *a, const struct spans *b, struct spans *out);
/* The gaps between the first start and the last end of merged spans. */
void spans_gaps(const struct spans *s, struct spans *out);
#define SPANS_AUTO __attribute__((cleanup(spans_free))) struct spans
#endif
