#ifndef SB_PROFILER_READ_ID_MAP_H
#define SB_PROFILER_READ_ID_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash map from three numbers (string ids, a device) to one. Zero-initialised = empty. One owner. */
struct id_key {
	uint32_t a, b, c;
};

struct id_map {
	struct id_slot {
		struct id_key key;
		uint32_t value;
		bool used;
	} * slots;
	size_t size, count;
	uint64_t seed; /* of the hash, drawn with the first key */
};

/* The value of a key: false when it is not there. */
bool id_map_get(const struct id_map *m, struct id_key key, uint32_t *out_value);
/* Sets the value of a key. SB_ENOMEM. */
int id_map_put(struct id_map *m, struct id_key key, uint32_t value);
void id_map_free(struct id_map *m);
#endif
