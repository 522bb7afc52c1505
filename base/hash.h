#ifndef SB_BASE_HASH_H
#define SB_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

/* Hashes for tables in memory whose keys come from strangers. Each table has its own random seed: who could
 * work out keys that fall into one place would make reading quadratic. The folded multiplication is that of
 * wyhash (Wang Yi, "Modern Non-Cryptographic Hash Function and Pseudorandom Number Generator", 2019). Never
 * let what is answered depend on a hash, nor on the order of a table: it differs from run to run. */

/* A seed for one table; never 0, so that 0 can stand for "not drawn yet". */
uint64_t sb_hash_seed(void);

__extension__ typedef unsigned __int128 sb_product;

/* Adds one word to a hash that started as the table's seed. */
static inline uint64_t sb_hash_word(uint64_t h, uint64_t word, uint64_t seed)
{
	sb_product product = (sb_product)(h ^ word) * (seed | 1);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The hash of a key of numbers, its upper bits the best, for a table in which a new entry takes the place of
 * another of the same hash: who finds such keys wins nothing but that both are worked out again. */
static inline uint64_t sb_hash_key(const int64_t *words, size_t count)
{
	uint64_t h = 0;

	for (size_t i = 0; i < count; i++)
		h = (h ^ (uint64_t)words[i]) * 0x9e3779b97f4a7c15U;
	return h;
}

/* The hash of bytes. */
uint64_t sb_hash_bytes(const char *data, size_t len, uint64_t seed);
#endif
