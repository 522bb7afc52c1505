#ifndef SB_BASE_RANDOM_H
#define SB_BASE_RANDOM_H
#include <stdint.h>

/* The next of a row of numbers that look random and are the same everywhere for the same first state:
 * splitmix64 (Steele et al., OOPSLA 2014). Not for secrets. */
static inline uint64_t sb_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
#endif
