#ifndef SB_TESTS_GENERATE_RANDOM_H
#define SB_TESTS_GENERATE_RANDOM_H
#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014). */
struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A whole number from low to high, both included. */
static inline int64_t random_between(struct random *r, int64_t low, int64_t high)
{
	return low + (int64_t)(random_next(r) % (uint64_t)(high - low + 1));
}
#endif
