#ifndef SB_PROFILER_INTERVALS_H
#define SB_PROFILER_INTERVALS_H
#include <stddef.h>
#include <stdint.h>

/* Half-open intervals [start, end) in ns. A set is sorted and disjoint; touching intervals are merged. */
struct interval {
	int64_t start, end;
};
struct interval_set {
	struct interval *items; /* owned */
	size_t count, capacity;
};

/* A time cut to +-(2^62 - 1) ns, so that no difference of two times overflows. */
int64_t interval_bound(int64_t t);
/* The end of an event, cut likewise. */
int64_t interval_end(int64_t start, int64_t dur);
/* Adds an interval to a list that is not normalised yet; empty ones are dropped, times are cut by
 * interval_bound(). SB_ENOMEM. */
int intervals_add(struct interval_set *s, int64_t start, int64_t end);
/* Sorts and merges: afterwards the list is a set. O(n log n), O(n) when sorted already. */
void intervals_normalise(struct interval_set *s);
/* Total length of a set. */
int64_t intervals_total(const struct interval_set *s);
/* Length of the intersection of two sets. O(n + m). */
int64_t intervals_common(const struct interval_set *a, const struct interval_set *b);
/* What is in both, as a new set, freed by intervals_free(). SB_ENOMEM. */
int intervals_intersection(const struct interval_set *a, const struct interval_set *b,
                           struct interval_set *out);
/* The union of two sets as a new set, freed by intervals_free(). SB_ENOMEM. */
int intervals_union(const struct interval_set *a, const struct interval_set *b, struct interval_set *out);
/* What is in a and not in b, as a new set, freed by intervals_free(). SB_ENOMEM. */
int intervals_difference(const struct interval_set *a, const struct interval_set *b,
                         struct interval_set *out);
/* How many of a set's intervals begin before a time. O(log n). */
size_t intervals_begun(const struct interval_set *s, int64_t time);
/* How many of a set's intervals end at or before a time. O(log n). */
size_t intervals_ended(const struct interval_set *s, int64_t time);
void intervals_free(struct interval_set *s);
#define INTERVALS_AUTO __attribute__((cleanup(intervals_free))) struct interval_set

/* A set that is asked often how much of some time it covers. */
struct covered {
	struct interval_set set; /* owned */
	int64_t *before;         /* ns covered before each, owned */
};
/* Takes the set over, whatever comes of it. SB_ENOMEM. */
int covered_of(struct interval_set *io_set, struct covered *out);
/* How much of [start, end), start <= end, is covered. O(log n). */
int64_t covered_ns(const struct covered *c, int64_t start, int64_t end);
void covered_free(struct covered *c);
#define COVERED_AUTO __attribute__((cleanup(covered_free))) struct covered
#endif
