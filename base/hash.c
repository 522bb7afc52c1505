#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

/* Spreads the differences of the last word over all bits. */
#define LAST_WORD UINT64_C(0xC4CEB9FE1A85EC53)

uint64_t sb_hash_seed(void)
{
	uint64_t seed = 0;

	/* Before the kernel has gathered any chance, an address is better than nothing. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed * LAST_WORD;
	return seed ? seed : 1;
}

uint64_t sb_hash_bytes(const char *data, size_t len, uint64_t seed)
{
	uint64_t h = seed >> 32 ^ len, word;

	for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		h = sb_hash_word(h, word, seed);
	}
	word = 0;
	if (len > 0)
		memcpy(&word, data, len);
	h = sb_hash_word(h, word, seed);
	return h ^ (h * LAST_WORD) >> 29;
}
